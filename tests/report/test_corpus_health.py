"""Input health of many calls: what was put into which call is what the tables, the page and the screen say."""

import csv
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from helpers.commands import command, printed
from helpers.faulty_audio import sample, sine, with_echo, write
from msgspec import to_builtins

from fdbcore.analysis.comparison import RunComparison, Sides
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import pooled_measures, read_quantities, read_scores
from fdbcore.analysis.survey import survey
from fdbcore.audio.wav import WavWriter
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import HEALTH, QUANTITIES, SCORES, read_json, write_json
from fdbcore.report.call.document import document
from fdbcore.report.comparison.comment import comment
from fdbcore.report.exports.formats import rttm
from fdbcore.report.run.screen import corpus_screen
from fdbcore.types import SAMPLE_RATE_HZ

BUILT = {"clean": "ok", "echo": "warn: echo A", "tone": "warn: tone B"}
ONSETS = "a_onset_in_overlap_per_b_speech_min"


@dataclass(frozen=True)
class Ran:
    run: Path
    screen: str

    def table(self, name: str) -> list[dict[str, str]]:
        with open(self.run / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def recording(self, name: str) -> Reading:
        return Reading(self.run / name)


def replay(calls: Path, run: Path) -> str:
    return command("replay", calls, "--vad", "energy", "--jobs", "1", "--out", run).stdout


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The shipped session; with echo of B in A; and with a tone after its end."""
    path = tmp_path_factory.mktemp("corpus")
    tone = np.stack([np.zeros(SAMPLE_RATE_HZ), sine((1000,), 1)], axis=1).astype(np.int16)
    built = {"clean": sample(), "echo": with_echo(sample(), 1, -22, 120), "tone": np.concatenate([sample(), tone])}
    (path / "calls").mkdir()
    for name, pcm in built.items():
        write(path / "calls" / f"{name}.wav", pcm)
    return Ran(path / "run", replay(path / "calls", path / "run"))


def test_a_row_of_calls_has_what_was_found(ran: Ran) -> None:
    assert {row["name"]: row["health"] for row in ran.table("calls.csv")} == BUILT


def test_a_measure_that_echo_would_change_has_columns_with_it(ran: Ran) -> None:
    rows = {row["name"]: row for row in ran.table("calls.csv")}
    clean, echo = rows["clean"], rows["echo"]
    assert echo[f"{ONSETS}_n"] == clean[f"{ONSETS}_n"]
    assert int(echo[f"{ONSETS}_with_echo_n"]) > int(clean[f"{ONSETS}_n"])
    assert clean[f"{ONSETS}_with_echo"] == clean[ONSETS]
    changed = {name.removesuffix("_with_echo") for name in echo if name.endswith("_with_echo")}
    assert changed == {name for call in ("echo", "tone") for name in read_quantities(ran.recording(call))[1]}


def test_quantities_are_without_echo_and_the_others_beside(ran: Ran) -> None:
    echo, clean = (ran.recording(name) for name in ("echo", "clean"))
    assert read_quantities(clean)[1] == {}
    whole, beside = read_quantities(echo)
    assert all(quantity != whole[name] for name, quantity in beside.items())
    (echo.path / "derived" / "quantities.json").rename(echo.path / "kept")
    assert read_quantities(echo) == (whole, beside)
    (echo.path / "kept").rename(echo.path / "derived" / "quantities.json")


def test_what_an_older_version_has_scored_is_scored_anew(ran: Ran) -> None:
    echo = ran.recording("echo")
    scores, whole = read_scores(echo), read_quantities(echo)
    for path, schema in ((echo.path / SCORES, "fdbcore.scores/1"), (echo.path / QUANTITIES, "fdbcore.quantities/1")):
        content = read_json(path)
        for of in ("measures", "quantities"):
            content[of] = {}
        write_json(path, content | {"schema": schema})
    assert read_quantities(Reading(echo.path)) == whole
    assert json.loads(json.dumps(read_scores(Reading(echo.path)))) == scores
    assert read_json(echo.path / QUANTITIES)["schema"] == "fdbcore.quantities/2"


def test_events_say_which_are_suspect(ran: Ran) -> None:
    rows = ran.table("events.csv")
    for name in BUILT:
        recording = ran.recording(name)
        events = document(recording, read_scores(recording))["events"]
        told = [row["suspect"] for row in rows if row["call"] == name]
        assert told == ["true" if "suspect" in event else "false" for event in events]
        assert ("true" in told) == (name in ("echo", "tone"))


def test_events_that_are_not_suspect_are_those_of_the_figures(ran: Ran) -> None:
    events = document(ran.recording("echo"), read_scores(ran.recording("echo")))["events"]
    own = [event for event in events if "suspect" not in event]
    spans = [(event["start_tick"], event["end_tick"]) for event in own if event["kind"] == "speech_end"]
    assert len(spans) == sum(read_scores(ran.recording("echo"))["measures"][f"{s}_ipu_per_min"]["n"] for s in "ab")
    lines = [line.split() for line in rttm(ran.recording("echo")).splitlines()]
    exported = [(round(100 * float(line[3])), round(100 * float(line[4]))) for line in lines]
    assert sorted(spans) == sorted((start, start + length) for start, length in exported)


def test_pooled_measures_stand_without_and_with_echo(ran: Ran) -> None:
    pooled = read_json(ran.run / "summary.json")["measures"]
    assert pooled == json.loads(json.dumps(pooled_measures([ran.recording(name) for name in BUILT])))
    n = {name: read_scores(ran.recording(name))["measures"][ONSETS]["n"] for name in BUILT}
    assert pooled[ONSETS]["n"] == sum(n.values()) == 2 * n["clean"] + n["tone"]
    assert pooled[ONSETS]["with_echo"]["n"] > pooled[ONSETS]["n"]


def test_runs_and_groups_are_compared_without_echo(ran: Ran, tmp_path: Path) -> None:
    pooled = read_json(ran.run / "summary.json")["measures"]
    expected = {name: {key: found[key] for key in found if key != "with_echo"} for name, found in pooled.items()}
    content = printed("score", ran.run, "--out", tmp_path)
    note = "echo or tones in 2 calls: no figure here counts the events that it makes: echo, tone"
    assert (content["measures"], content["input"]) == (expected, [note])
    assert f"Input: {note}" in (tmp_path / "scores.html").read_text()
    gates = tmp_path / "gates.toml"
    gates.write_text('gates = ["overlap_per_min <= baseline"]')
    old = shutil.copytree(ran.run, tmp_path / "old")
    compared = printed("report", ran.run, "--baseline", old, "--gate", gates, code=3)
    assert (compared["notes"], compared["shared"]) == ([], [f"run, as in baseline: {note}"])
    page = (ran.run / "compare.html").read_text()
    assert f'<p class="note">Run, as in baseline: {note}.</p>' in page
    assert 'role="alert"' not in page, "what both sides share explains no difference"
    assert compared["shared"][0] in comment(cast("RunComparison", compared), ran.run, "", tmp_path)
    few = Sides.of(Run(ran.run), Run(ran.run, [call for call in Run(ran.run).calls if call.name != "echo"]))
    assert [text.partition(":")[0] for text in few.notes] == ["run", "baseline"], "the run has it more often"
    assert not few.shared
    assert compared["gates"]["results"][0]["run"]["value"] == expected["overlap_per_min"]["mean"]


def test_the_worst_moments_leave_suspects_out_everywhere(ran: Ran) -> None:
    found = survey(Run(ran.run))
    for row in found.rows:
        recording = row.call.recording
        (worst, *_) = document(recording, read_scores(recording))["moments"]
        assert row.worst is not None
        assert to_builtins(row.worst) == worst
    counts = [len(document(ran.recording(n), read_scores(ran.recording(n)))["moments"]) for n in BUILT]
    assert found.found.total() == sum(counts)


def test_the_page_counts_findings_and_links_their_calls(ran: Ran) -> None:
    page = (ran.run / "index.html").read_text()
    panel = page[page.index('<section class="health warn"') :]
    panel = panel[: panel.index("</section>")]
    assert "Input health: 3 calls, 2 with a warning" in panel
    counted = re.findall(r"<strong>(\w+)</strong> (\d) of 3 calls.*?\">(\w+)</a></p>", panel)
    assert sorted(counted) == [("Echo", "1", "echo"), ("Tones", "1", "tone")]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    listed: list[dict[str, Any]] = json.loads(data[1])["calls"]
    assert {call["name"]: [id for id, _ in call["found"]] for call in listed} == {
        "clean": [],
        "echo": ["echo"],
        "tone": ["tone"],
    }


def test_the_screen_has_a_line_and_the_figures_with_echo_beside(ran: Ran) -> None:
    told = corpus_screen(survey(Run(ran.run)), 100)
    assert "health              3 calls, 2 with a warning | echo 1, tones 1\n" in told
    of_few = ran.screen.splitlines()
    assert "!! tone: B tones, 1.0 s" in of_few
    assert any(line.startswith("!! echo: echo B->A -22 dB at 120 ms") for line in of_few)
    assert ("\n  with echo" in told, "\n  with echo" in ran.screen) == (True, True)


@pytest.mark.parametrize("found", [None, "fdbcore.health/1"])
def test_a_call_that_was_not_examined_or_by_other_definitions_is_replayed(ran: Ran, found: str | None) -> None:
    path = ran.recording("clean").path / HEALTH
    if found is None:
        path.unlink()
    else:
        write_json(path, read_json(path) | {"schema": found})
    before = (ran.run / "tone" / HEALTH).stat().st_mtime_ns
    replay(ran.run.parent / "calls", ran.run)
    assert read_json(path)["schema"] == "fdbcore.health/3"
    assert (ran.run / "tone" / HEALTH).stat().st_mtime_ns == before


def test_systems_that_say_nothing_are_told_wherever_a_run_is_read(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    for name, heard in {"deaf1": (1, 0), "deaf2": (1, 0), "well": (1, 1)}.items():
        with WavWriter(tmp_path / "calls" / f"{name}.wav", channels=2) as wav:
            wav.write(sample()[: 12 * SAMPLE_RATE_HZ] * np.array(heard, np.int16))
    replay(tmp_path / "calls", tmp_path / "run")
    ran = Ran(tmp_path / "run", "")
    silent = "B never spoke: no speech found, digitally silent"
    assert {row["name"]: row["findings"] for row in ran.table("calls.csv")} == {
        "deaf1": silent,
        "deaf2": silent,
        "well": "",
    }
    assert read_json(ran.run / "summary.json")["findings"] == {"B never spoke": ["deaf1", "deaf2"]}
    index = (ran.run / "index.html").read_text()
    assert "<summary>B never spoke: 2 calls</summary>" in index
    for name in ("deaf1", "deaf2"):
        assert f'<a href="{name}/report.html#t=0">{name}</a>: {silent}</li>' in index
    assert "!!                  B never spoke: 2 calls\n" in corpus_screen(survey(Run(ran.run)), 100)
