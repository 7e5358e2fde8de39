"""`fdbcore score RUN`: the whole command, its screen at any width, and what it refuses."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from typing import cast

import pytest
from helpers.commands import command, done, printed, score, scored
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from helpers.sealed import scored_otherwise
from helpers.voices import DIALOGUE, voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import score as score_call
from fdbcore.analysis.statements import Statements
from fdbcore.analysis.survey import survey
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META, QUANTITIES, SCORES, TURNS, read_json, write_json
from fdbcore.recording.run import CORPUS
from fdbcore.report.format import NOT_CORRECTED, p_text
from fdbcore.report.groups.screen import statements_screen


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manners = {"quick": Manner(0.4, premature=0.1), "slow": Manner(1.0, pause_s=0.35), "same": Manner(1.0)}
    calls = [
        MadeCall(call.name, call.activity, {"system": name, "scenario": f"s{k % 5}"})
        for seed, (name, manner) in enumerate(manners.items())
        for k, call in enumerate(drawn_calls(10, seed, lambda _, of=manner: of, prefix=name))  # type: ignore[misc]
    ]
    return made_run(tmp_path_factory.mktemp("run") / "run", calls)


def test_the_pooled_table_is_that_of_the_run(run: Path) -> None:
    content = scored(run)
    assert content["measures"] == json.loads(json.dumps(survey(Run(run)).measures))
    assert (content["calls"], content["clusters"], content["unscored"]) == (30, 30, {})
    assert json.loads((run / "scores.json").read_text()) == content


@pytest.mark.parametrize("out", [False, True])
def test_late_answers_of_few_calls_are_listed_of_the_version_that_has_them(tmp_path: Path, out: bool) -> None:
    """On the screen and the page, at their second on the pages of their calls; these are made, unless RUN stays as it
    is."""
    before = drawn_calls(60, 1, lambda _: Manner(spread=0.1, turns=2), prefix="v1-", version="1")
    usual = drawn_calls(52, 2, lambda _: Manner(spread=0.1, turns=2), prefix="v2-", version="2")
    late = drawn_calls(8, 3, lambda _: Manner(4.0, spread=0.1, turns=2), prefix="late-", version="2")
    run = made_run(tmp_path / "run", [*before, *usual, *late])
    content = scored(run, "--by", "version", *["--out", tmp_path / "out"] if out else [])
    (pair,) = content["longer"]
    (slow,) = pair["longer"]
    assert (pair["a"]["name"], pair["paired_by"], slow["longer_in"]) == ("2", None, "a")
    assert {moment["call"] for moment in slow["worst"]} >= {call.name for call in late}
    assert slow["b"]["clusters"] == 0
    screen = " ".join(statements_screen(cast("Statements", content), 100).split())
    told = f"in {slow['a']['clusters']} of 60 calls of 2 ({p_text(slow['p'])}), 1 0 of 60"
    assert told in screen
    html = ((tmp_path / "out" if out else run) / "scores.html").read_text()
    assert told in unescape(html)
    assert html.count('<div class="told">') == html.count('"silent">no sound: ') == len(slow["worst"])
    for moment in slow["worst"]:
        assert moment["page"] in screen
        assert (run / moment["call"] / "report.html").is_file() != out
        assert (f'href="{moment["call"]}/report.html#t={moment["start_s"]:g}"' in html) != out


def test_everything_at_once_fits_any_terminal(run: Path, tmp_path: Path) -> None:
    content = scored(
        run, "--by", "system", "--cluster", "scenario", "--sensitivity", "--reference", run, "--out", tmp_path
    )
    for columns in (60, 80, 130):
        lines = statements_screen(cast("Statements", content), columns).splitlines()
        assert max(len(line) for line in lines if str(run) not in line) < columns  # a path is not broken
        joined = " ".join(" ".join(lines).split())
        latency = next(g for g in content["groups"] if g["name"] == "quick")["measures"]["response_latency_ms"]
        low, high = (limit / 1000 for limit in latency["ci95"])
        ranged = content["sensitivity"]["groups"][0]["measures"]["response_latency_ms"]
        settings = f"settings {ranged['low'] / 1000:.2f}–{ranged['high'] / 1000:.2f}"
        assert f"quick {latency['median'] / 1000:.2f} s [{low:.2f}, {high:.2f}], {settings}" in joined
        assert (
            "!! only 5 values of scenario in quick, 5 in same, 5 in slow: with fewer than 10 an interval may be "
            "too narrow" in joined
        )
        assert "!! order flips B's talk ratio:" in joined
        assert "cluster all calls with the same scenario together, 5 of 30 calls, because they resemble" in joined
        assert "paired by scenario; p is corrected for" in joined
        assert "bins of 200 ms from -2 to 4 s" in joined


def test_the_screen_says_what_differs(run: Path) -> None:
    text = " ".join(score(run, "--by", "system", "--out", run).stdout.split())
    assert "95 % intervals over 30 calls" in text
    assert "cluster each call by itself; calls that share a caller or a scenario resemble each other" in text
    assert "quick - slow -0." in text
    assert "quick is better, p" in text
    assert "no difference found, p" in text
    assert "detectable" in text
    assert "not paired; p is corrected for" in text
    assert NOT_CORRECTED in text


def test_many_groups_show_only_what_is_told_apart(tmp_path: Path) -> None:
    calls = [
        MadeCall(call.name, call.activity, {"version": str(k)})
        for k, latency_s in enumerate((0.3, 1.2, 1.2, 1.2))
        for call in drawn_calls(8, k, lambda _, s=latency_s: Manner(s), prefix=f"v{k}-")  # type: ignore[misc]
    ]
    lines = score(made_run(tmp_path / "run", calls), "--by", "version").stdout.splitlines()
    first = lines[lines.index("response latency (median, s)") : lines.index("response rate (%)")]
    assert [line.split()[:3] for line in first if " - " in line] == [[str(k), "-", "0"] for k in (1, 2, 3)]
    told = " ".join(" ".join(first).split())
    seen = r"the largest seen is -?0\.\d+ s; before correction for all pairs, a true one of"
    assert re.search(f"found in the 3 other pairs; {seen}", told), told


def test_a_folder_of_audio_is_a_reference_too(run: Path, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    for k in range(2):
        write(tmp_path / "people" / f"p{k}.wav", voices(DIALOGUE))
    content = scored(run, "--reference", tmp_path / "people", "--out", tmp_path / "out")
    assert content["reference"]["calls"] == 2
    assert content["reference"]["detectors"] == {"run": "energy", "reference": "energy"}
    assert (tmp_path / "out" / "reference" / "p1" / "meta.json").is_file()
    assert sorted(path.name for path in (tmp_path / "people").iterdir()) == ["p0.wav", "p1.wav"]


def test_a_call_that_cannot_be_scored_fails_the_command_and_leaves_the_rest(tmp_path: Path) -> None:
    path = made_run(tmp_path / "run", drawn_calls(3, 1))
    (path / "call0001" / TURNS).write_text("half")
    result = score(path)
    assert result.exit_code == 1
    assert "fdbcore score: call0001:" in result.stderr
    assert "2 calls scored, 1 not" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected a RUN, and there is none in this folder"),
        (["RUN", "--cluster", "scenari"], "--cluster scenari: expected one of system, scenario; perhaps scenario"),
        (["RUN", "--by", "x"], "--by x: expected one of system, scenario"),
        (["RUN", "--annotator", "x:y"], "--annotator needs --suite dialogue-acts"),
        (["RUN", "--by", "x", "--reference", "PEOPLE"], "--by x: expected one of system, scenario"),
        (["--suite", "dialogue-acts", "--by", "x"], "--by: expected it without --suite, for runs of calls"),
        (["RUN", "--reference", "EMPTY"], "expected a folder with audio"),
        (["RUN", "--reference", "nosuch"], "--reference nosuch: expected a run, or audio, got no such file"),
    ],
)
def test_wrong_usage_is_one_line(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "people").mkdir()
    write(tmp_path / "people" / "p.wav", voices(DIALOGUE))
    names = {"RUN": run, "EMPTY": tmp_path / "empty", "PEOPLE": tmp_path / "people"}
    result = score(*(names.get(argument, argument) for argument in arguments), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "out" / "reference").exists()


def test_sides_that_each_agree_are_told_apart_by_no_interval(tmp_path: Path) -> None:
    """Three calls against three: no test could tell them apart, and nothing says that they may be the same."""
    for name, drawing in (("own", "A 0.5-2 2.4-4 | B 5-7"), ("people", DIALOGUE)):
        (tmp_path / name).mkdir()
        for k in range(3):
            write(tmp_path / name / f"{name}{k}.wav", voices(drawing))
    command("replay", "--vad", "energy", "--quiet", "--out", tmp_path / "run", tmp_path / "own")
    said = " ".join(score(tmp_path / "run", "--reference", tmp_path / "people").stdout.split())
    assert re.search(
        r"\| reference 0.00\S*, undecided \(so few clusters that no test could find a difference\)", said
    ), said


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    result = score(tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith("fdbcore score: ")
    assert "expected a run or a recording" in result.stderr


def test_a_run_that_cannot_be_written_names_what_helps(tmp_path: Path) -> None:
    calls = drawn_calls(2, 1, lambda _: Manner(0.4))
    path = made_run(tmp_path / "run", [MadeCall(call.name, call.activity, {}) for call in calls])
    path.chmod(0o555)
    command = [sys.executable, "-m", "fdbcore.cli", "score", str(path)]
    if os.geteuid() == 0:  # root may write it all the same, unless it gives that up
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    result = subprocess.run(command, capture_output=True, text=True)
    path.chmod(0o755)
    assert result.returncode == 2
    assert result.stderr.endswith("run: cannot be written: choose another folder for the results by --out\n")


def test_another_folder_for_the_results_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    """As on a read-only disk: where nothing can be written nothing is needed, and where it can nothing changes."""
    calls = drawn_calls(2, 1, lambda _: Manner(0.4))
    path = made_run(tmp_path / "run", [MadeCall(call.name, call.activity, {}) for call in calls])
    for scores in path.glob(f"*/{SCORES}"):
        scores.write_text('{"schema": "fdbcore.scores/0"}')
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    assert json.loads(done("score", path, "--out", tmp_path / "out", "--json").stdout)["calls"] == 2
    assert (tmp_path / "out" / "scores.json").is_file()
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_calls_are_scored_again_only_if_something_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made_run(tmp_path / "run", drawn_calls(3, 1))
    again: list[str] = []

    def scoring(reading: Reading) -> None:
        again.append(reading.name)
        score_call(reading)

    monkeypatch.setattr("fdbcore.analysis.groups.score", scoring)
    expected = scored(path)["measures"]
    again.clear()
    assert scored(path)["measures"] == expected
    assert again == []
    (path / "call0001" / QUANTITIES).unlink()
    scored_otherwise(path / "call0002", lambda made: made | {"fdbcore": "0.0.9"})
    assert scored(path)["measures"] == expected
    assert again == ["call0001", "call0002"]


def test_what_is_wrong_in_its_calls_is_said_as_report_does(tmp_path: Path) -> None:
    """A call that failed counts, and a side that fell silent makes no figure worse: both must be known."""
    for number in range(2):
        write(tmp_path / "calls" / f"c{number}.wav", voices("A 1-2 5-6 9-10 13-14 17-18 | B 2.5-4", 20.0))
    run = tmp_path / "run"
    told = command("replay", tmp_path / "calls", "--vad", "energy", "--out", run)
    assert "B silent from 0:04 to the end" in told.stdout
    meta = read_json(run / "c1" / META)
    write_json(run / "c1" / META, meta | {"outcome": {"kind": "failed", "side": "B", "reason": "it hung up"}})
    (run / "c1" / QUANTITIES).unlink()  # which would not be of this meta.json
    screen = " ".join(command("score", run).stdout.split())
    assert "B fell silent in 2 calls: c0, c1" in screen
    assert "the conversation failed, and counts as far as it went, in 1 call: c1" in screen
    report = printed("report", run, "--gate", "defaults", code=1)
    assert any("B fell silent in 2 calls" in note for note in report["notes"])


def test_the_time_for_groups_grows_with_the_calls_and_no_faster(tmp_path: Path) -> None:
    took_s = [_cpu_s_of_groups(tmp_path / str(n), n) for n in (300, 1500)]
    assert took_s[1] < 7.5 * took_s[0]


def _cpu_s_of_groups(tmp_path: Path, n: int) -> float:
    """The processor's time to score `n` calls in three groups, without the first import of anything."""
    first = drawn_calls(30, 1)
    path = made_run(tmp_path / "run", first)
    corpus = read_json(path / CORPUS)
    calls = []
    for number in range(n):
        name, columns = f"n{number:04}", {"version": f"v{number % 3}", "caller": f"c{number % 200}"}
        shutil.copytree(path / first[number % 30].name, path / name, copy_function=os.link)
        calls.append(corpus["calls"][0] | {"name": name, "columns": columns})
    write_json(path / CORPUS, corpus | {"calls": calls})
    before_s = time.process_time()
    content = scored(path, "--by", "version", "--cluster", "caller", "--jobs", "1")
    took_s = time.process_time() - before_s
    assert [group["calls"] for group in content["groups"]] == [n // 3] * 3
    return took_s
