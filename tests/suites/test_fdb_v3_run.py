"""`fdbcore run --suite fdb-v3`: recordings with tools in lockstep, when a call is over, and what its scores say."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.commands import command, done, printed
from helpers.patience import wait_until
from helpers.smoke import run, run_words, some
from helpers.v3_items import row_of
from jsonschema import Draft202012Validator
from oracles import fdb_v3 as oracle

import fdbcore as library
from fdbcore.registry import INSTRUCTED
from fdbcore.runs.plan import PlannedSystem, prompted
from fdbcore.runtime.address import query_of
from fdbcore.suites.fdb_v3.playing import instructions, side_a
from fdbcore.suites.fdb_v3.scenarios import SMOKE
from fdbcore.suites.fdb_v3.suite import SUITE
from fdbcore.suites.schemas import schema

WANTED = ("travel_01", "shop_08", "finance_09")
SYSTEMS = {"right": "rehearsed:", "stale": "rehearsed:?fault=stale", "silent": "rehearsed:?fault=silent"}


def events(call: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (call / "events.jsonl").read_text().splitlines()]


def meta(call: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((call / "meta.json").read_text())
    return content


def speech(call: Path, side: str) -> list[tuple[int, int]]:
    found = json.loads((call / "derived" / "turns.json").read_text())["events"]
    return [(e["start_tick"], e["end_tick"]) for e in found if (e["kind"], e["side"]) == ("speech_end", side)]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of three systems, and what was printed."""
    folder = tmp_path_factory.mktemp("held")
    data = some(folder / "fdb3.json", WANTED)
    result = run(f"{data}?latency=slow&quiet_s=3&most_s=16", folder / "RUN", SYSTEMS, "--transcriber", "self-reported")
    return folder / "RUN", result.output


@pytest.fixture(scope="module")
def document(held: tuple[Path, str]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((held[0].with_name("RUN-scores") / "scores.json").read_text())
    return content


def test_a_call_ends_after_the_answer_and_otherwise_after_the_longest_wait(held: tuple[Path, str]) -> None:
    out, _ = held
    for name in WANTED:
        answered, silent = out / f"{name}-right", out / f"{name}-silent"
        longest = speech(answered, "A")[-1][1] + 1600
        assert meta(answered)["n_ticks"] == min(speech(answered, "B")[-1][1] + 300, longest)
        assert meta(silent)["n_ticks"] == speech(silent, "A")[-1][1] + 1600
        assert meta(answered)["settings"]["ends"] == {"quiet_s": 3.0, "most_s": 16.0}
        assert meta(answered)["tools"]["latency"] == "slow"
    assert json.loads((out / "run.json").read_text())["plan"]["ends"] == {"quiet_s": 3.0, "most_s": 16.0}


def test_a_replay_finds_the_same(held: tuple[Path, str], tmp_path: Path) -> None:
    call = held[0] / "shop_08-right"
    again = library.replay(call, out=tmp_path)
    kept = json.loads((call / "derived" / "turns.json").read_text())["events"]
    assert [event.to_json() for event in again.turn_events] == kept


def test_the_published_measures_are_those_of_a_plain_script(held: tuple[Path, str], document: dict[str, Any]) -> None:
    out, _ = held
    records = {each["id"]: each for each in json.loads(SMOKE.read_text())["record"]}
    for system in SYSTEMS:
        logs = []
        for name in WANTED:
            call, record = out / f"{name}-{system}", records[name]
            words = call / "derived" / "words_B.json"
            heard = json.loads(words.read_text())["transcripts"][0]["words"] if words.is_file() else []
            logs.append(
                {
                    "expected": record["as_released"],
                    "actual": [
                        {"function": e["name"], "args": e["arguments"], "t": e["tick"] / 100}
                        for e in events(call)
                        if e["kind"] == "tool_call" and e["stage"] == "complete"
                    ],
                    "transcript": " ".join(word["text"] for word in heard),
                    "chunks": [[word["start_ms"] / 1000, word["end_ms"] / 1000] for word in heard],
                    "user_chunks": [[w["start_tick"] / 100, w["end_tick"] / 100] for w in record["words"]],
                    "verdicts": None,
                    "response": None,
                    "filler": None,
                    "key": None,
                }
            )
        expected = oracle.report(logs)
        row = row_of(document, system)
        found = {name.removeprefix("compat_"): each for name, each in row["measures"].items() if "compat_" in name}
        latencies = {each["measure"]: each for each in document["latencies"] if each["system"] == system}
        for name, (total, n) in expected["sums"].items():
            if n:
                assert (found[name]["n"], found[name]["value"]) == (n, pytest.approx(total / n)), (system, name)
            else:
                assert name not in found
        for name, summary in expected["latencies"].items():
            if summary is None:
                assert name not in found
            else:
                beside = latencies[f"compat_{name}"]
                told = [found[name]["n"], found[name]["value"], found[name]["sd"]]
                told += [beside[each] for each in ("least_s", "most_s", "upper_median_s")]
                assert told == pytest.approx(list(summary.values())), (system, name)
        wanted = {f"compat_{name}": count for name, count in expected["failures"].items() if count}
        assert {name: n for name, n in row["counts"].items() if "compat" in name} == wanted


def test_the_scorecard_tells_the_systems_apart(held: tuple[Path, str], document: dict[str, Any]) -> None:
    Draft202012Validator(schema("fdb_v3/fdb_v3")).validate(document)
    assert document["problems"] == []
    outcomes = {(item["system"], item["record"]): item["failure"] for item in document["items"]}
    assert {outcomes["right", name] for name in WANTED} == {None}
    assert {outcomes["silent", name] for name in WANTED} == {"silent"}
    assert "stale_value" in {outcomes["stale", name] for name in WANTED}
    assert {item["condition"] for item in document["items"]} == {"tools: slow"}
    told = " ".join(held[1].split())
    assert "silent fails 3 of 3: silent 3" in told
    assert "p is 0.25 at least; it takes 6." in told  # three clusters


def test_a_picture_shows_speech_and_calls_on_one_axis(document: dict[str, Any]) -> None:
    (case,) = (c for c in SUITE.card(document).cases if (c.system, c.id) == ("right", "shop_08"))
    views = SUITE.card(document).views
    drawn = views.picture(case)
    figure = ElementTree.fromstring(drawn[drawn.index("<svg") : drawn.index("</svg>") + 6])
    bars = {
        name: [each for each in figure.iter("{http://www.w3.org/2000/svg}rect") if each.get("class") == name]
        for name in ("user", "system", "call")
    }
    item = case.item
    for name, spans in (
        ("user", item["user_speech"]),
        ("system", item["system_speech"]),
        ("call", [(call["start_s"], call["end_s"]) for call in item["calls"]]),
    ):
        assert len(bars[name]) == len(spans) > 0
        starts = [float(bar.attrib["x"]) for bar in bars[name]]
        scale = [(x - 64) / start for x, (start, _) in zip(starts, spans, strict=True)]
        assert scale == pytest.approx([scale[0]] * len(scale), rel=1e-2)
    assert "add_to_cart(product_id=&#34;PROD1&#34;" in drawn
    (row,) = views.remarks(case).rows
    assert [each.name for each in row.remarks] == [call["name"] for call in item["calls"]]


def test_the_calls_of_a_release_last_as_long_as_its_files(tmp_path: Path) -> None:
    data = some(tmp_path / "fdb3.json", WANTED[:1])
    (record,) = json.loads(data.read_text())["record"]
    settings = "ends=file&tail_s=1.5&latency=as-released&faults=error@1"
    run(f"{data}?{settings}", tmp_path / "RUN", {"right": "rehearsed:"}, code=0)
    call = tmp_path / "RUN" / WANTED[0]
    assert meta(call)["n_ticks"] == pytest.approx(record["audio"]["length_s"] * 100 + 150, abs=1)
    assert "ends" not in meta(call)["settings"]
    assert next(e["result"]["status"] for e in events(call) if e["kind"] == "tool_result") == "error"
    document = json.loads((tmp_path / "RUN-scores" / "scores.json").read_text())
    assert {row["condition"] for row in document["rows"]} == {"tools: as-released, faults: error@1"}


def test_a_system_that_hangs_up_does_not_cut_the_users_file(tmp_path: Path) -> None:
    data = some(tmp_path / "fdb3.json", WANTED[:1])
    content = json.loads(data.read_text())
    (record,) = content["record"]
    end = record.pop("user_end_tick")
    data.write_text(json.dumps(content))  # so the user's end is that of the speech in the call
    line = '[[line]]\nsay = "Yes."\nat_s = 0.2\n'
    (tmp_path / "hasty.toml").write_text(f'tail_s = 0.1\nvoice = "espeak-ng:en-us"\n\n{line}')
    systems = {"hasty": f"scripted:{tmp_path / 'hasty.toml'}"}
    run(f"{data}?ends=file&tail_s=1.5", tmp_path / "RUN", systems, code=0)
    call = tmp_path / "RUN" / WANTED[0]
    assert meta(call)["n_ticks"] == pytest.approx(record["audio"]["length_s"] * 100 + 150, abs=1)
    assert meta(call)["outcome"]["kind"] == "done"
    assert speech(call, "A")[-1][1] == pytest.approx(end, abs=30)


def test_without_words_what_needs_them_is_unscored(held: tuple[Path, str], tmp_path: Path) -> None:
    done("score", "--suite", "fdb-v3", held[0], "--out", tmp_path / "S")
    document = json.loads((tmp_path / "S" / "scores.json").read_text())
    right, silent = (row_of(document, name)["measures"] for name in ("right", "silent"))
    assert "compat_turn_take" not in right
    assert (right["compat_passed"]["value"], right["compat_passed"]["n"]) == (1.0, 3)
    assert (silent["compat_turn_take"]["value"], silent["compat_turn_take"]["n"]) == (0.0, 3)


def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    data, out = str(some(tmp_path / "fdb3.json", WANTED)), tmp_path / "RUN"
    words = run_words(data, out, {"right": "rehearsed:"})
    killed = subprocess.Popen(
        [sys.executable, "-m", "fdbcore.cli", *words], start_new_session=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def ended() -> list[Path]:
        return [path for path in out.glob("*/meta.json") if "outcome" in path.read_text()]

    wait_until(ended)
    result = ended()
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    first = {path: json.loads(path.read_text())["created"] for path in result}
    run(data, out, {"right": "rehearsed:"}, code=0)
    assert {path: json.loads(path.read_text())["created"] for path in result} == first
    run(data, tmp_path / "WHOLE", {"right": "rehearsed:"}, code=0)
    kinds = [json.loads((tmp_path / f"{name}-scores" / "scores.json").read_text()) for name in ("RUN", "WHOLE")]
    for each in kinds:
        for item in each["items"]:
            del item["call"]
    assert kinds[0]["items"] == kinds[1]["items"]
    assert kinds[0]["rows"] == kinds[1]["rows"]


def with_fault(folder: Path, fault: Mapping[str, Any]) -> Path:
    """A set of two records, the first of them with a fault."""
    path = some(folder / "fdb3.json", WANTED[:2])
    content = json.loads(path.read_text())
    content["record"][0] |= fault
    path.write_text(json.dumps(content))
    return path


BEYOND = {"start_tick": 99_990, "end_tick": 99_999}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"id": "../../evil"}, "id: expected a name without slashes or a leading dot, got '../../evil'"),
        ({"id": ".."}, "id: expected a name without slashes or a leading dot, got '..'"),
        ({"user_end_tick": -5}, "user_end_tick: expected 0 to "),
        ({"user_end_tick": 99_999}, "the end of the recording, got 99999"),
        ({"words": [{"text": "um", **BEYOND}]}, "um: expected 0 <= start_tick < end_tick <= "),
        ({"spans": [{"kind": "FILLER", **BEYOND}], "disfluencies": ["FILLER"]}, "FILLER: expected 0 <= start_tick"),
        ({"repaired": [{"function": "fly", "args": {}}]}, "repaired 1: function: expected one of search_flights, "),
        ({"as_released": [{"function": "fly", "args": {}}]}, "as_released 1: function: expected one of "),
        (
            {"repaired": [{"function": "track_order", "args": {"order_id": "1", "mood": "calm"}}]},
            "repaired 1: args: expected arguments of order_id, got 'mood'",
        ),
        ({"audio": {"path": "gone.wav", "rate_hz": 16_000, "channels": 1}}, "expected a file at gone.wav, found none"),
    ],
)
def test_an_impossible_label_is_a_fault_and_is_not_played(tmp_path: Path, fault: Mapping[str, Any], said: str) -> None:
    path = with_fault(tmp_path, fault)
    checked = command("scenarios", "validate", path, code=1)
    (line,) = checked.stderr.splitlines()
    assert said in line
    side = side_a(str(path))
    assert [user.name for user in side.users] == [json.loads(path.read_text())["record"][1]["id"]]
    (problem,) = side.problems
    assert said in f"{problem.where}: {problem.reason}".replace("left out: ", "")


def test_a_run_names_what_it_leaves_out(tmp_path: Path) -> None:
    path = with_fault(tmp_path, {"id": "../../evil"})
    result = run(f"{path}?quiet_s=1", tmp_path / "RUN", {"right": "rehearsed:"}, "--no-score")
    assert re.search(
        r"\.\./\.\./evil: left out:.*got '\.\./\.\./evil'", result.stderr
    )  # a long path may cut its middle
    assert not list(tmp_path.glob("**/*evil*"))
    content = json.loads(path.read_text())
    content["record"] = content["record"][:1]
    path.write_text(json.dumps(content))
    result = run(str(path), tmp_path / "NONE", {"right": "rehearsed:"}, code=2)
    assert "expected recordings, got none that can be used: " in result.stderr.splitlines()[-1]


def test_each_line_is_a_condition_of_its_own(tmp_path: Path) -> None:
    data = f"{some(tmp_path / 'fdb3.json', WANTED[:1])}?quiet_s=1"
    lines = ("--line", "clean", "--line", "noise:20", "--line", "telephone")
    run(data, tmp_path / "RUN", {"right": "rehearsed:"}, *lines, code=0)
    made = json.loads((tmp_path / "RUN-scores" / "scores.json").read_text())
    conditions = ["tools: instant", "tools: instant, line noise:20", "tools: instant, line telephone"]
    whole = [row for row in made["rows"] if not row["subset"]]
    assert sorted(row["condition"] for row in whole) == conditions
    assert sorted((item["line"] or "", item["condition"]) for item in made["items"]) == [
        *zip(("", "noise:20", "telephone"), conditions, strict=True)
    ]
    assert ({row["n"] for row in whole}, made["passes"]) == ({1}, [])
    Draft202012Validator(schema("fdb_v3/fdb_v3")).validate(made)


def test_systems_of_one_name_that_differ_are_warned_of(tmp_path: Path) -> None:
    data = f"{some(tmp_path / 'fdb3.json', WANTED[:1])}?quiet_s=1"
    for name, address in {"ONE": "rehearsed:", "AGAIN": "rehearsed:", "OTHER": "rehearsed:?fault=silent"}.items():
        run(data, tmp_path / name, {"x": address}, "--no-score")

    def warnings(*runs: str) -> list[str]:
        paths = [str(tmp_path / name) for name in runs]
        out = tmp_path / "-".join(runs)
        found: list[str] = printed("score", "--suite", "fdb-v3", *paths, "--out", out, code=None)["warnings"]
        return found

    assert warnings("ONE", "AGAIN") == []
    (said,) = warnings("ONE", "AGAIN", "OTHER")
    assert said.startswith("x: systems of this name differ, and are scored as one: ")
    assert f"{tmp_path / 'ONE'}, {tmp_path / 'OTHER'} " in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("smoke?mood=calm", "fdb-v3: expected settings of quiet_s, most_s, ends, prompt, channel, "),
        ("smoke?latency=never", "latency: expected"),
        ("smoke?quiet_s=0", "quiet_s: expected a number"),
        ("smoke?ends=soon", "ends: expected quiet or file, got 'soon'"),
        ("nowhere", "nowhere: expected a file of recorded scenarios, or a folder of recordings: there is none"),
        ("smoke?quiet_s=3&quiet_s=4", "quiet_s: expected it once, got it twice"),
    ],
)
def test_wrong_settings_are_one_line(tmp_path: Path, data: str, said: str) -> None:
    result = run(data, tmp_path / "RUN", {"right": "rehearsed:"})
    assert result.exit_code != 0
    assert said in result.stderr.splitlines()[-1]
    assert not (tmp_path / "RUN").exists()


def test_a_folder_that_is_missing_is_told_as_missing(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    for words, said in (
        (["score", "--suite", "fdb-v3", gone], "released folder, got no such folder"),
        (["scenarios", "import", gone, "--out", f"{gone}.json"], "input.opus, got no such folder"),
        (["replay", gone], "expected an audio file or a folder, got no such file or folder"),
    ):
        result = command(*words)
        assert result.exit_code != 0
        assert f"{gone}: expected " in result.output
        assert said in result.output


def test_systems_with_instructions_get_ours_unless_they_have_their_own(tmp_path: Path) -> None:
    users = side_a(str(some(tmp_path / "fdb3.json", WANTED)))
    told = prompted(
        [
            PlannedSystem("a", "openai-realtime:gpt-realtime?voice=marin"),
            PlannedSystem("b", "gemini-live:some?instructions=Sing."),
            PlannedSystem("c", "moshi://127.0.0.1:1"),
        ],
        users,
    )
    ours = instructions()
    given = [query_of(each.address.partition("?")[2]).get("instructions") for each in told]
    assert given == [ours, "Sing.", None]
    assert side_a(f"{tmp_path / 'fdb3.json'}?prompt=none").instructions is None
    assert {"openai-realtime", "cascaded", "ultravox"} < INSTRUCTED
