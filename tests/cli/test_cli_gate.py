"""A file of gates to begin with, and the limits that ship, as a user meets them."""

import csv
import json
import re
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fakes.browser import BROWSER, dump_dom
from helpers.commands import command, done, printed, refused
from helpers.made_runs import Manner, drawn_calls, made_run
from helpers.on_lines import health_at
from helpers.voices import voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.gate_file import DEFAULTS, read_gates
from fdbcore.analysis.survey import survey
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.health.measured_lines import measured_lines
from fdbcore.recording.files import HEALTH, META, QUANTITIES, read_json, write_json
from fdbcore.recording.run import CORPUS
from fdbcore.report.call.screen import run_screen


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 calls, one turn in eight of which B cuts off; it answers the others after 0.8 s."""
    path = tmp_path_factory.mktemp("gate") / "run"
    return made_run(path, drawn_calls(60, 3, lambda number: Manner(premature=0.125)))


@pytest.fixture(scope="module")
def starter(run: Path) -> str:
    """The file to begin with, and what is said on making it."""
    made = done("gate", "init", run, "--out", run / "gates.toml")
    assert made.stdout.splitlines() == [
        str(run / "gates.toml"),
        f"Next: fdbcore report {run} --gate {run / 'gates.toml'}",
    ]
    return (run / "gates.toml").read_text()


@pytest.fixture(scope="module")
def decided(run: Path, starter: str) -> dict[str, Any]:
    """That file, decided on the run, whose page and tables then say so."""
    command("report", run, "--quiet")
    assert not {"verdict", "missed"} & {*(run / "calls.csv").read_text().splitlines()[0].split(",")}
    assert listed(run)["gates"] is None
    found: dict[str, Any] = printed("report", run, "--gate", run / "gates.toml", "--no-audio", code=1)["gates"]
    return found


def listed(run: Path) -> dict[str, Any]:
    """The data of the list of calls on the page of a run."""
    html = (run / "index.html").read_text()
    found: dict[str, Any] = json.loads(re.findall(r'id="data">(.*?)</script>', html, re.DOTALL)[0])
    return found


def test_every_shipped_limit_is_of_a_measure_and_has_its_source() -> None:
    gates = read_gates(Path(DEFAULTS)).gates
    assert all(gate.measure in MEASURES and not gate.needs_baseline for gate in gates)
    assert all(re.search(r"\(20\d\d\)|arXiv|^Ours: ", gate.source) for gate in gates)
    assert all(gate.at_most == (MEASURES[gate.measure].better == "less") for gate in gates)


def test_the_starter_file_has_the_limits_that_ship_with_their_sources(decided: dict[str, Any], starter: str) -> None:
    shipped = read_gates(Path(DEFAULTS)).gates
    assert [(gate["gate"], gate["source"]) for gate in decided["results"]] == [
        (each.text, each.source) for each in shipped
    ]
    assert [gate["status"] for gate in decided["results"]] == [
        "passed",
        "passed",
        "failed",
        "cannot tell",
        "not measured",
    ]
    assert [table["check"] for table in tomllib.loads(starter)["gates"]] == [each.text for each in shipped]


def test_the_starter_file_says_what_the_run_has(decided: dict[str, Any], starter: str) -> None:
    values = re.findall(r"^# This run: ([A-Z ]+)\. (.*)$", starter, re.MULTILINE)
    assert [status for status, _ in values] == ["PASS", "PASS", "FAIL", "UNDECIDED", "NOT MEASURED"]
    assert values[2][1].startswith(f"{100 * decided['results'][2]['value']:.1f} % [")
    assert "60 calls" in values[2][1]
    assert "Take this gate out" in values[4][1]


def test_a_file_that_exists_is_kept(run: Path, tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text("mine")
    assert "exists already, and is kept" in refused("gate", "init", run, "--out", tmp_path / "gates.toml")
    assert (tmp_path / "gates.toml").read_text() == "mine"


def test_what_is_no_run_leaves_no_file(tmp_path: Path) -> None:
    command("gate", "init", tmp_path / "nothing", "--out", tmp_path / "gates.toml", code=2)
    assert not (tmp_path / "gates.toml").exists()


def test_who_names_a_run_alone_is_told_the_command_that_decides(run: Path) -> None:
    assert "gates are decided by: fdbcore report RUN --gate FILE" in refused("gate", run)


def test_a_run_in_one_sentence_names_what_failed_and_counts_its_calls(run: Path, decided: dict[str, Any]) -> None:
    told = command("report", run, "--gate", DEFAULTS, "--no-audio")
    lines = " ".join(told.stdout.split())
    failed = f"{MEASURES['premature_per_turn'].label} {100 * decided['results'][2]['value']:.1f} %, at most 5 %"
    assert f"Fail: 1 of 5 gates failed ({failed}), 1 undecided, 1 not measured. Of 60 calls: " in lines
    statuses = [call["status"] for call in decided["calls"]]
    counts = {name: statuses.count(status) for name, status in (("fail", "failed"), ("undecided", "cannot tell"))}
    assert all(f"{count} {name}" in lines for name, count in counts.items() if count)
    assert sum(counts.values()) + statuses.count("passed") == 60
    assert f"Fail: 1 of 5 gates failed ({failed})" in (run / "compare.html").read_text()


def test_every_call_has_its_verdict_in_the_table_and_on_the_page(run: Path, decided: dict[str, Any]) -> None:
    with (run / "calls.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    on_page = {call["name"]: call["gates"] for call in listed(run)["calls"]}
    words = {"failed": "fail", "cannot tell": "undecided", "passed": "pass", "not measured": "not measured"}
    for call in decided["calls"]:
        row, shown = rows[call["call"]], on_page[call["call"]]
        assert (row["verdict"], shown["is"]) == (words[call["status"]], call["status"])
        assert row["missed"].split("; ") == ([*call["failed"], *call["cannot_tell"]] or [""])
        assert len(shown["why"]) == len(call["failed"]) + len(call["cannot_tell"])
    assert {row["verdict"] for row in rows.values()} == {"fail", "undecided", "pass"}


def test_the_page_of_a_run_says_the_sentence_and_marks_figures(run: Path, decided: dict[str, Any]) -> None:
    html = (run / "index.html").read_text()
    assert re.search(r'class="verdict-line limit failed"><span aria-hidden="true">✕</span> Fail: 1 of 5 gates', html)
    marks = re.findall(r'<dd class="limit ([\w-]+)"><span aria-hidden="true">(.)</span> ([^<]+)</dd>', html)
    assert [(css, sign, text.replace("\N{NO-BREAK SPACE}", " ")) for css, sign, text in marks] == [
        ("passed", "✓", "pass: at most 1.5 s"),
        ("passed", "✓", "pass: p90 at most 3.5 s"),
        ("failed", "✕", "fail: at most 5 %"),
        ("cannot-tell", "?", "undecided: at most 5 %"),
        ("not-measured", "–", "not measured: at least 90 %"),
    ]


def test_the_page_of_a_call_says_its_verdict_and_marks_its_figures(run: Path, decided: dict[str, Any]) -> None:
    words = {"failed": "✕</span> Fail: ", "cannot tell": "?</span> Undecided: ", "passed": "✓</span> Pass: no figure"}
    label = MEASURES["premature_per_turn"].label
    for status, start in words.items():
        call = next(call for call in decided["calls"] if call["status"] == status)
        html = (run / call["call"] / "report.html").read_text()
        (line,) = re.findall(r'<p class="verdict-line limit ([\w-]+)"><span aria-hidden="true">([^\n]+)', html)
        assert line[0] == status.replace(" ", "-")
        assert line[1].startswith(start)
        tiles = [text for css, text in re.findall(r'<dd class="limit ([\w-]+)">(.*?)</dd>', html) if css != "passed"]
        missed = len(call["failed"]) + len(call["cannot_tell"])
        assert len([text for text in tiles if "not measured" not in text]) == missed
        if status == "failed":
            assert any("fail: " in text and label in text and "at most" in text for text in tiles)
            assert re.search(rf"Fail: .*{label} \d+ of \d+, at most 5 %", line[1])


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_a_browser_marks_the_cells_of_the_calls_by_sign_and_word(
    run: Path, decided: dict[str, Any], tmp_path: Path
) -> None:
    dom = dump_dom((run / "index.html").as_uri(), tmp_path / "profile")
    rows = [row for row in re.findall(r"<tr>.*?</tr>", dom, re.DOTALL) if 'data-label="verdict"' in row]
    calls = {call["name"]: call["gates"] for call in listed(run)["calls"]}
    assert [call["status"] for call in decided["calls"]] == [gates["is"] for gates in calls.values()]
    signs = {"failed": "✕", "cannot tell": "?", "passed": "✓"}
    assert len(rows) == len(calls) == 60
    for row in rows:
        name = re.findall(r">(call\d+)</", row)[0]
        (verdict,) = re.findall(r'<td data-label="verdict" class="limit [\w-]+"><span [^>]*>(.)</span> (\w+)</td>', row)
        assert verdict[0] == signs[calls[name]["is"]]
        ((sign, word),) = re.findall(
            r'<td data-label="premature responses" class="limit [\w-]+"><span [^>]*>(.)</span> '
            r"(?:<a [^>]+>)?\d+(?:</a>)?/<a [^>]+>\d+</a>"
            r'<span class="visually-hidden">, (\w+)</span>',
            row,
        )
        status = calls[name]["of"][2]
        assert (sign, word) == (signs[status], {"failed": "fail", "cannot tell": "undecided", "passed": "pass"}[status])


@pytest.fixture(scope="module")
def silenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 German calls of a sound system; of 20 English ones B goes silent in 2, and leaves the last turn in 3."""
    calls = drawn_calls(20, 5, prefix="de", language="de") + drawn_calls(20, 6, prefix="en", language="en")
    for number in range(2):
        b = calls[20 + number].activity[1]
        b[len(b) // 4 :] = False
    for number in range(2, 5):
        a, b = calls[20 + number].activity
        b[np.flatnonzero(a)[-1] :] = False
    return made_run(tmp_path_factory.mktemp("silenced") / "run", calls)


def test_a_gate_on_answer_times_says_how_many_answers_are_missing(tmp_path: Path) -> None:
    """Of each call's four turns one is answered after 11 s, which is no answer and in no answer time."""
    (tmp_path / "calls").mkdir()
    for number in range(10):
        late = "29-30" if number else "17.5-18"
        drawing = f"A 0.5-2 5-7 10-12 16-17 | B {2.5 + number / 100}-4 7.5-9 {12.5 + number % 2}-14 {late}"
        write(tmp_path / "calls" / f"c{number}.wav", voices(drawing, 1.0))
    command("replay", tmp_path / "calls", "--vad", "energy", "--out", tmp_path / "run")
    gates = tmp_path / "gates.toml"
    gates.write_text('gates = ["response_latency_ms.median <= 1200"]')
    told = " ".join(command("report", tmp_path / "run", "--gate", gates).stdout.split())
    assert "Pass, but: 9 of 40 had no response, and no latency." in told


def test_a_gate_that_passes_beside_a_silent_system_says_so_before_the_others(silenced: Path, tmp_path: Path) -> None:
    gates, junit, comment = tmp_path / "gates.toml", tmp_path / "gates.xml", tmp_path / "comment.md"
    of = ", ".join(f'{{check = "premature_per_turn <= 0.5", where = {{language = "{each}"}}}}' for each in ("de", "en"))
    gates.write_text(f"gates = [{of}]")
    arguments = ("report", silenced, "--gate", gates, "--no-audio")
    told = done(*arguments, "--junit", junit, "--comment", comment)
    what = "the call ends with A unanswered in 3 of 20 calls; B fell silent in 2 of 20 calls"
    lines = " ".join(told.stdout.split())
    assert f"Pass, but: {what}. All 2 gates passed. Of 40 calls" in lines
    line = r"PASS premature_per_turn <= 0.5 where language = (\w\w)( !! pass, but: .*?;.*?calls)?"
    first, second = re.findall(line, lines)
    assert (first, second) == (("en", f" !! pass, but: {what}"), ("de", ""))
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    assert [case.get("name", "")[-2:] for case in cases] == ["en", "de"]
    outs = [case.findtext("system-out", "").split("\n")[0] for case in cases]
    assert (outs[0], "pass, but" in outs[1]) == (f"pass, but: {what}", False)
    assert comment.read_text().startswith(f"### ✓ Pass, but: {what}. All 2 gates passed.")
    cells = [row.split(" | ")[0] for row in comment.read_text().splitlines()[-4:-2]]
    assert cells == [f"| ✓ pass, but: {what}", "| ✓ pass"]
    html = (silenced / "compare.html").read_text()
    listed_gates = re.findall(r'<li class="(passed[^"]*)">.*?language = (\w\w)', html)
    assert listed_gates == [("passed doubted", "en"), ("passed", "de")]
    assert f"<p>pass, but: {what}</p>" in html
    assert (
        f'class="verdict-line limit passed doubted"><span aria-hidden="true">✓</span> Pass, but: {what}.'
        in (silenced / "index.html").read_text()
    )
    results = printed(*arguments)["gates"]["results"]
    assert [(each["where"]["language"], each["status"], each.get("but")) for each in results] == [
        ("de", "passed", None),
        ("en", "passed", what.split("; ")),
    ]
    gates.write_text(f'gates = [{of}, {{check = "premature_per_turn >= 0.5"}}]')
    assert command(*arguments, "--quiet", "--comment", comment).exit_code == 1
    assert f"- **passed, but**: {what}\n" in comment.read_text()


def test_calls_that_no_figure_counts_stand_beside_a_pass(tmp_path: Path) -> None:
    """A gate sees scored calls alone: ten that cut A off, and were left out, make it pass."""
    run = made_run(tmp_path / "run", drawn_calls(20, 7))
    gates = tmp_path / "gates.toml"
    gates.write_text('gates = ["premature_per_turn <= 0.5"]')
    for call in read_json(run / CORPUS)["calls"][:10]:
        path = run / call["name"]
        outcome = {"kind": "invalid", "side": None, "reason": "sides out of step"}
        write_json(path / META, read_json(path / META) | {"outcome": outcome})
        (path / QUANTITIES).unlink(missing_ok=True)
    said = command("report", run, "--gate", gates, "--no-audio").stdout
    assert "!! pass, but: 10 of 20 calls not scored" in " ".join(said.split())


def test_bad_input_stands_beside_a_pass(tmp_path: Path) -> None:
    (clean, *_) = measured_lines()["silero"].lines
    run = made_run(tmp_path / "run", drawn_calls(20, 7))
    gates = tmp_path / "gates.toml"
    gates.write_text('gates = ["premature_per_turn <= 0.5"]')
    assert "but:" not in command("report", run, "--gate", gates, "--no-audio").stdout
    for name, verdict in (("call0003", "bad"), ("call0005", "warn")):
        finding = {"id": "clipping", "side": "A", "severity": verdict, "text": "A is clipped", "means": ""}
        found = {"verdict": verdict, "findings": [finding | {"figures": {}, "spans": []}]}
        write_json(run / name / HEALTH, health_at(clean, clean) | found)
        (run / name / QUANTITIES).unlink()
    assert "!! pass, but: bad input in 1 of 20 calls" in command("report", run, "--gate", gates, "--no-audio").stdout


def test_a_run_says_how_many_calls_end_with_a_unanswered(silenced: Path) -> None:
    lengths_s = []
    for number in range(2, 5):
        a, _ = drawn_calls(20, 6)[number].activity
        lengths_s.append((len(a) - 1 - np.flatnonzero(a)[-1]) / 100)
    text = f"3 of 40 calls end with A unanswered; {np.median(lengths_s):.0f} s of silence recorded after it (median)"
    told = command("report", silenced, "--no-audio").stdout
    assert text in " ".join(told.split())
    assert f"<summary>{text}</summary>" in (silenced / "index.html").read_text()
    few = run_screen(survey(Run(silenced, [call for call in Run(silenced).calls if "en0001" <= call.name <= "en0004"])))
    assert text.replace("40", "4") in " ".join(few.split())
