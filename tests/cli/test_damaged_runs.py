"""A run with damaged files, as anybody may hand on: each command names the call, and counts it alike."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zipfile import ZipFile

import av
import pytest
from helpers.commands import command, done
from helpers.voices import DIALOGUE, RATE_HZ, voices, write

from fdbcore.measures.reading import Reading
from fdbcore.recording.files import (
    ACTIVITY,
    EVENTS,
    HEALTH,
    LABELS,
    MARKS,
    META,
    QUANTITIES,
    SCORES,
    TURNS,
    WORDS,
    write_beside,
)
from fdbcore.recording.kept_transcripts import Transcript, keep_transcript
from fdbcore.recording.labels import Label, keep_labels
from fdbcore.recording.meta import Outcome
from fdbcore.recording.run import CORPUS
from fdbcore.runs.amend import keep_log
from fdbcore.runs.folder import RunFolder
from fdbcore.sources.agent_logs import LogFile

COUNTED = [META, EVENTS, ACTIVITY, TURNS, HEALTH, QUANTITIES, SCORES]
BESIDE = [LABELS, MARKS, WORDS["B"], "derived/A.json"]
DAMAGES: dict[str, Callable[[bytes], bytes]]
DAMAGES = {"empty": lambda data: b"", "half": lambda data: data[: len(data) // 2], "noise": lambda data: data[::-1]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `run` and `old`, of the same three calls."""
    folder = tmp_path_factory.mktemp("damaged")
    for number in range(3):
        write(folder / "in" / f"c{number}.wav", voices(DIALOGUE))
    done("replay", folder / "in", "--out", folder / "run", "--vad", "energy", "--jobs", "1", "--quiet")
    shutil.copytree(folder / "run", folder / "old")
    return folder


def told(arguments: list[str]) -> tuple[dict[str, Any], str, int]:
    """What a command prints as JSON, its errors, and its exit code."""
    found = command(*arguments, "--json")
    return json.loads(found.stdout), found.stderr, found.exit_code


def counted(run: Path, old: Path) -> list[tuple[int, str, int]]:
    """How many calls each command counts, its errors, and its exit code."""
    score, *of_score = told(["score", str(run)])
    compare, *of_compare = told(["report", str(run), "--baseline", str(old)])
    trend, *of_trend = told(["report", str(run), str(old)])
    in_trend = next(each["calls"] for each in trend["points"] if each["name"] == "run")
    in_comparison = compare["run"]["calls"] - len(compare["run"]["unscored"])
    page = command("report", run, "--quiet")
    scored = sum(row.split(",")[2] in ("done", "damaged") for row in (run / "calls.csv").read_text().splitlines()[1:])
    return [
        (score["calls"], *of_score), (in_comparison, *of_compare), (in_trend, *of_trend),
        (scored, page.stderr, page.exit_code),
    ]  # fmt: skip


@pytest.mark.parametrize(("file", "damage"), [*zip([*COUNTED, *BESIDE], 4 * [*DAMAGES], strict=False)])
def test_a_damaged_file_is_named_and_its_call_counts_alike_in_all_commands(
    file: str, damage: str, made: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    path = run / "c1" / file
    path.write_bytes(DAMAGES[damage](path.read_bytes() if path.is_file() else b'{"schema": "fdbcore.words/1"}'))
    for calls, errors, exit_code in counted(run, made / "old"):
        assert str(path) in errors
        assert (calls, exit_code) == ((2, 1) if file in COUNTED else (3, 0))


def _turn(field: str, value: object) -> Any:
    return lambda content: content["events"][0].__setitem__(field, value)


def _quantity(name: str, **values: object) -> Any:
    return lambda content: content["quantities"][name].update(values)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (TURNS, _turn("start_tick", -1)),
        (TURNS, _turn("start_tick", 10**12)),
        (TURNS, _turn("start_tick", True)),
        (TURNS, _turn("side", "C")),
        (TURNS, _turn("kind", "sneeze")),
        (QUANTITIES, _quantity("answered_per_turn", count=1.5)),
        (QUANTITIES, _quantity("answered_per_turn", count=99)),
        (QUANTITIES, _quantity("response_latency_ms", values=[1e308] * 3)),
        (QUANTITIES, _quantity("response_latency_ms", values=[True])),
        (QUANTITIES, _quantity("response_latency_ms", unit="h")),
        (QUANTITIES, lambda content: content.update(quantities={})),
        (QUANTITIES, lambda content: content["quantities"].pop("answered_per_turn")),
        (HEALTH, lambda content: content["suspect"].pop("B")),
        (HEALTH, lambda content: content.pop("sides")),
        (META, lambda content: content.update(n_ticks=10**12)),
        (META, lambda content: content.update(settings=None)),
        (META, lambda content: content.update(status="running")),
        (META, lambda content: content["settings"]["turns"].update(min_silence_ms=900)),
        (META, lambda content: content["settings"]["turns"].update({" ": 900})),
        (SCORES, lambda content: content.update(findings=[{}])),
    ],
)
def test_a_value_that_cannot_be_leaves_its_call_out_by_name(file: str, change: Any, made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    content = json.loads((run / "c1" / file).read_text())
    change(content)
    (run / "c1" / file).write_text(json.dumps(content))
    score, errors, exit_code = told(["score", str(run)])
    assert str(run / "c1" / file) in errors
    assert (score["calls"], exit_code) == (2, 1)


def test_a_recording_that_does_not_say_which_side_is_which_is_not_played(made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    shutil.copytree(made / "in", tmp_path / "in")
    content = json.loads((run / "c1" / META).read_text())
    del content["source"]["swap"]
    (run / "c1" / META).write_text(json.dumps(content))
    (run / "c1" / QUANTITIES).unlink()  # which would not be of this meta.json
    found = command("report", run, "--embed", "--call", "c1")
    assert "c1/meta.json: damaged: source: expected swap, got none" in found.output
    assert found.exit_code == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda corpus: corpus["calls"].append(corpus["calls"][0]),
        lambda corpus: corpus["calls"][0].pop("columns"),
        lambda corpus: corpus["calls"][0].update(name=["c0"]),
        lambda corpus: corpus["calls"][0].update(unscored=3),
        lambda corpus: corpus.update(calls={}),
    ],
)
def test_a_list_of_calls_of_another_form_is_refused(change: Any, made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    corpus = json.loads((run / CORPUS).read_text())
    change(corpus)
    (run / CORPUS).write_text(json.dumps(corpus))
    for arguments in (["report", str(run)], ["score", str(run)], ["export", str(run), "--format", "rttm"]):
        found = command(*arguments, code=1)
        assert f"{run / CORPUS}: damaged: " in found.stderr
        assert len(found.stderr.splitlines()) <= 4  # usage and the line


@pytest.mark.parametrize("file", [META, EVENTS, TURNS])
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_never_waited_for(
    file: str, device: str | None, made: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    path = run / "c1" / file
    path.unlink()
    os.mkfifo(path) if device is None else path.symlink_to(device)
    score, errors, exit_code = told(["score", str(run)])
    assert (score["calls"], exit_code) == (2, 1)
    assert str(run / "c1") in errors


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def _evidence(path: Path) -> None:
    """One byte of what the detector decided from is another."""
    data = bytearray(path.read_bytes())
    with ZipFile(path) as stored:
        (values, *_) = (each for each in stored.infolist() if each.filename not in ("a.npy", "b.npy", "peaks.npy"))
    data[values.header_offset + 150] ^= 255
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("file", "damage"),
    [*((file, _folder) for file in [EVENTS, TURNS, QUANTITIES, HEALTH]), (ACTIVITY, _evidence), (HEALTH, Path.unlink)],
)
def test_what_is_no_file_or_not_as_it_was_written_does_not_count_as_missing(
    file: str, damage: Callable[[Path], None], made: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    damage(run / "c1" / file)
    for calls, errors, exit_code in counted(run, made / "old"):
        assert (calls, exit_code) == (2, 1)
        assert str(run / "c1" / file) in errors


LAID: list[tuple[str, ...]]
LAID = [(TURNS,), (ACTIVITY, TURNS), (HEALTH,), (EVENTS,), (META,), (QUANTITIES,), (SCORES,), (QUANTITIES, SCORES),
        (HEALTH, QUANTITIES, SCORES), (ACTIVITY, TURNS, HEALTH, QUANTITIES, SCORES), ("",)]  # fmt: skip


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `run` and `old`, of the same three calls, which are unlike each other."""
    folder = tmp_path_factory.mktemp("unlike")
    for number, drawn in enumerate((DIALOGUE, "A 1-2 | B 2.5-4", "A 0.5-3 | B 2-4")):
        write(folder / "in" / f"c{number}.wav", voices(drawn, 7.0 + 0.01 * number))
    done("replay", folder / "in", "--out", folder / "run", "--vad", "energy", "--jobs", "1", "--quiet")
    shutil.copytree(folder / "run", folder / "old")
    return folder


@pytest.mark.parametrize("files", LAID)
def test_files_of_another_call_are_named_and_count_nowhere(
    files: tuple[str, ...], unlike: Path, tmp_path: Path
) -> None:
    shutil.copytree(unlike / "in", tmp_path / "in")
    run = shutil.copytree(unlike / "run", tmp_path / "run")
    for file in files:
        if file:
            shutil.copy(run / "c2" / file, run / "c1" / file)
        else:
            shutil.rmtree(run / "c1")
            shutil.copytree(run / "c2", run / "c1")
    for calls, errors, exit_code in counted(run, unlike / "old"):
        assert (calls, exit_code) == (2, 1)
        assert f"{run / 'c1'}/" in errors


@pytest.mark.parametrize("part", BESIDE)
def test_what_was_said_of_another_call_is_named_and_not_used(part: str, unlike: Path, tmp_path: Path) -> None:
    shutil.copytree(unlike / "in", tmp_path / "in")
    run = shutil.copytree(unlike / "run", tmp_path / "run")
    other = Reading(run / "c2")
    keep_labels(other.path, "hand.csv", [Label("A", "turn_end", 3.0, 3.0)])
    keep_transcript(other.path, Transcript("B", (), "x", {}, "", "0"), {})
    (tmp_path / "log.jsonl").write_text('{"time": 3.0, "name": "user ends"}\n')
    keep_log(other, LogFile(tmp_path / "log.jsonl", 0))
    write_beside(other.path, "derived/A.json", {"words": []})
    told(["score", str(run)])
    for name, problem in (("c2", ""), ("c1", f"{run / 'c1' / part}: damaged: of another call: not used\n")):
        if name == "c1":
            shutil.copy(run / "c2" / part, run / "c1" / part)
        for calls, errors, exit_code in counted(run, unlike / "old"):
            assert (calls, exit_code) == (3, 0)
            assert problem in errors
            assert bool(errors) == bool(problem)
    assert "turns_labelled" not in (run / "c1" / SCORES).read_text()


def exported(run: Path, out: Path) -> tuple[int, str, int]:
    """How many files of turn events are exported, the errors, and the exit code."""
    found = command("export", run, "--format", "rttm", "--out", out)
    return sum(line.endswith(".rttm") for line in found.stdout.splitlines()), found.stderr, found.exit_code


@pytest.mark.parametrize(
    "change",
    [
        lambda meta: meta.update(left_out=[{"start_tick": 0, "end_tick": 300, "by": "--from"}]),
        lambda meta: meta["source"].update(swap=True),
        lambda meta: meta["source"]["sides"]["A"].update(channel="right"),
        lambda meta: meta["source"].update(files=[]),
        lambda meta: meta["source"]["files"][0].update(sha256="0" * 64),
        lambda meta: meta.update(outcome={"kind": "invalid", "side": None, "reason": "none"}),
        lambda meta: meta.update(status="failed", reason="none"),
    ],
)
def test_a_recording_changed_since_its_call_was_scored_counts_nowhere(change: Any, made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    shutil.copytree(made / "in", tmp_path / "in")
    meta = json.loads((run / "c1" / META).read_text())
    change(meta)
    (run / "c1" / META).write_text(json.dumps(meta))
    for calls, errors, exit_code in [*counted(run, made / "old"), exported(run, tmp_path / "out")]:
        assert (calls, exit_code) == (2, 1)
        assert str(run / "c1") in errors


def test_an_earlier_recording_of_other_audio_under_the_same_path_counts_nowhere(unlike: Path, tmp_path: Path) -> None:
    run = shutil.copytree(unlike / "run", tmp_path / "run")
    shutil.copytree(unlike / "in", tmp_path / "in")
    shutil.copy(unlike / "in" / "c2.wav", tmp_path / "in" / "c1.wav")
    done("replay", tmp_path / "in", "--out", tmp_path / "before", "--vad", "energy", "--jobs", "1", "--quiet")
    shutil.rmtree(run / "c1")
    shutil.copytree(tmp_path / "before" / "c1", run / "c1")
    for calls, errors, exit_code in [*counted(run, unlike / "old"), exported(run, tmp_path / "out")]:
        assert (calls, exit_code) == (2, 1)
        assert f"{run / 'c1' / META}: damaged: of other audio than corpus.json has of ../in/c1.wav" in errors


def test_the_health_of_another_call_is_damage_without_figures_too(unlike: Path, tmp_path: Path) -> None:
    run = shutil.copytree(unlike / "run", tmp_path / "run")
    shutil.copy(run / "c2" / HEALTH, run / "c1" / HEALTH)
    (run / "c1" / QUANTITIES).unlink()
    for calls, errors, exit_code in [*counted(run, unlike / "old"), exported(run, tmp_path / "out")]:
        assert (calls, exit_code) == (2, 1)
        assert f"{run / 'c1' / HEALTH}: damaged: not the one that meta.json was written with" in errors


@pytest.mark.parametrize("status", ["done", "failed"])
def test_the_recording_says_whether_its_call_is_scored_and_not_the_list_of_calls(
    status: str, made: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    corpus = json.loads((run / CORPUS).read_text())
    corpus["calls"][1] |= {"unscored": "nobody spoke", "status": status, "reason": "nobody spoke"}
    corpus["began"] = "2999-01-01T00:00:00Z"  # so that only its audio says that the recording is of this replay
    (run / CORPUS).write_text(json.dumps(corpus))
    for calls, errors, exit_code in [*counted(run, made / "old"), exported(run, tmp_path / "out")]:
        assert (calls, "damaged" in errors, exit_code) == (3, False, 0)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one live call."""
    folder = tmp_path_factory.mktemp("live")
    clip = write(folder / "c.wav", voices("A 1-3 | B ", 4)[:, 0])
    arguments = ["run", "--system", "echo", "--clips", str(clip), "--clock", "virtual", "--vad", "energy", "--quiet"]
    done(*arguments, "--max-s", "4", "--out", folder / "run")
    return folder / "run"


@pytest.mark.parametrize("change", [{"outcome": {"kind": "invalid", "side": None, "reason": "none"}}, {"n_ticks": "?"}])
def test_a_run_without_a_whole_call_says_why_in_one_line(change: dict[str, Any], live: Path, tmp_path: Path) -> None:
    run = shutil.copytree(live, tmp_path / "run")
    (path,) = run.glob("*/meta.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for arguments in (["score"], ["report"], ["report", "--baseline", str(live)], ["report", str(live)]):
        found = command(arguments[0], run, *arguments[1:], code=1)
        (line,) = found.stderr.splitlines()
        assert f"{path}: damaged: " in line


@pytest.mark.parametrize("at", [76, 1000], ids=["header", "samples"])
def test_a_call_whose_audio_is_another_one_now_counts_nowhere(at: int, live: Path, tmp_path: Path) -> None:
    run = shutil.copytree(live, tmp_path / "run")
    (path,) = run.glob("*/session.wav")
    data = path.read_bytes()
    path.write_bytes(data[:at] + bytes(4) + data[at + 4 :] if at == 76 else data[:80] + data[:79:-1])
    for words in (
        ["score", run], ["report", run], ["report", run, "--baseline", live], ["report", run, live],
        ["transcribe", run, "--transcriber", "self-reported"], ["replay", path.parent, "--out", tmp_path / "again"],
        ["export", run, "--format", "rttm"],
    ):  # fmt: skip
        assert "session.wav: damaged: not the one that meta.json was written with" in command(*words, code=1).stderr
    path.unlink()  # without its audio, a call is whole
    assert told(["score", str(run)])[0]["calls"] == 1


def test_audio_that_is_made_for_a_browser_is_bound_to_its_call(tmp_path: Path) -> None:
    write(tmp_path / "c.wav", voices(DIALOGUE))
    with av.open(str(tmp_path / "c.mka"), "w") as file:
        stream: Any = file.add_stream("pcm_s16le", rate=RATE_HZ, layout="stereo")
        frame = av.AudioFrame.from_ndarray(voices(DIALOGUE).reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate = RATE_HZ
        file.mux([*stream.encode(frame), *stream.encode(None)])
    done("replay", tmp_path / "c.mka", "--out", tmp_path / "run", "--vad", "energy", "--quiet")
    (path,) = tmp_path.glob("run/*/session.wav")
    assert told(["score", str(tmp_path / "run")])[1:] == ("", 0)
    data = path.read_bytes()
    path.write_bytes(data[:80] + data[:79:-1])
    assert f"{path}: damaged: " in command("score", tmp_path / "run").stderr


def test_the_figures_of_a_call_that_is_to_be_held_again_stand_until_then(live: Path, tmp_path: Path) -> None:
    run = shutil.copytree(live, tmp_path / "run")
    (path,) = run.glob("*/meta.json")
    meta = json.loads(path.read_text())
    meta["outcome"] |= {"again": True, "usd": 0.01}
    path.write_text(json.dumps(meta))
    score, errors, exit_code = told(["score", str(run)])
    assert (score["calls"], errors, exit_code) == (1, "", 0)


def test_a_call_held_again_that_died_before_it_began_is_invalid_and_not_damaged(live: Path, tmp_path: Path) -> None:
    run = shutil.copytree(live, tmp_path / "run")
    (path,) = run.glob("*/meta.json")
    case: Any = SimpleNamespace(name=path.parent.name, to_json=lambda: json.loads(path.read_text())["case"])
    died: Outcome = {"kind": "invalid", "side": None, "reason": "its process died", "transient": True}
    RunFolder(run, cast("Any", None)).settle(case, died, [])
    for arguments in (["score"], ["report"], ["report", "--baseline", str(live)]):
        found = command(arguments[0], run, *arguments[1:])
        assert "damaged" not in found.output
        assert "its process died" in found.output


def test_consistent_quantities_that_the_call_does_not_have_are_damage(unlike: Path, tmp_path: Path) -> None:
    run = shutil.copytree(unlike / "run", tmp_path / "run")
    path = run / "c1" / QUANTITIES
    content = json.loads(path.read_text())
    for name in ("answered_per_turn", "premature_per_turn"):
        content["quantities"][name].update(count=6, n=6)
    content["quantities"]["response_latency_ms"]["values"] = [100.0] * 5
    path.write_text(json.dumps(content))
    for calls, errors, exit_code in counted(run, unlike / "old"):
        assert (calls, exit_code) == (2, 1)
        assert f"{path}: damaged: it and derived/scores.json are not as they were written together" in errors


def test_a_session_of_another_rate_is_no_session(tmp_path: Path) -> None:
    clip = write(tmp_path / "c.wav", voices("A 1-3 | B ", 4)[:, 0])
    arguments = ["run", "--system", "echo", "--clips", str(clip), "--clock", "virtual", "--vad", "energy", "--quiet"]
    done(*arguments, "--max-s", "4", "--out", tmp_path / "run")
    (audio,) = tmp_path.glob("run/*/session.wav")
    header = audio.read_bytes()
    at = header.index((48_000).to_bytes(4, "little"))
    audio.write_bytes(header[:at] + (16_000).to_bytes(4, "little") + header[at + 4 :])
    found = command("score", tmp_path / "run")
    assert found.exit_code != 0
    assert f"{audio}: damaged: expected int16 of two channels at 48 kHz" in " ".join(found.stderr.split())


@pytest.mark.parametrize("field", ["created", "platform", "versions"])
def test_what_no_figure_rests_on_may_be_gone(field: str, made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "run", tmp_path / "run")
    for meta in run.glob("c*/meta.json"):
        values = json.loads(meta.read_text())
        del values[field]
        meta.write_text(json.dumps(values))
    assert {(n, code) for n, _, code in counted(run, made / "old")} == {(3, 0)}
