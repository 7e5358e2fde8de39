"""Echo is in no figure, wherever one reads it: all places of a run say what those of the clean call say."""

import csv
import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from helpers.commands import command
from helpers.faulty_audio import sample, synthetic, with_echo, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.floor_transfers import system
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.survey import survey
from fdbcore.recording.files import read_json
from fdbcore.report.run.screen import corpus_screen
from fdbcore.report.terminal import LABEL_COLUMNS

ANSWERS: Final = ("response_latency_ms", "answered_per_turn", "premature_per_turn", "no_response_per_turn")


def done(*args: object) -> str:
    return command(*args).stdout


def text(html: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@dataclass(frozen=True)
class Places:
    """A run over a call and another one, and wherever its figures are told; screen: of the call alone."""

    run: Path
    screen: str

    @property
    def pages(self) -> tuple[str, str]:
        return (self.run / "call" / "report.html").read_text(), (self.run / "index.html").read_text()

    @property
    def row(self) -> dict[str, str]:
        with open(self.run / "calls.csv", encoding="utf-8", newline="") as file:
            return next(row for row in csv.DictReader(file) if row["name"] == "call")

    @property
    def document(self) -> dict[str, Any]:
        page = re.search(r'<script type="application/json" id="document">(.*?)</script>', self.pages[0], re.DOTALL)
        assert page
        found: dict[str, Any] = json.loads(page[1])
        return found

    def lines(self, screen: str) -> dict[str, str]:
        whole = screen.replace(f"\n{' ' * LABEL_COLUMNS}", " ").splitlines()
        return {line[:LABEL_COLUMNS].strip(): line[LABEL_COLUMNS:] for line in whole if not line.startswith(" ")}

    def tiles(self, page: str) -> list[str]:
        listed = re.findall(r'<dl class="figures">(.*?)</dl>', page, re.DOTALL)
        return [text(tile) for tile in re.findall(r"<div>(.*?)</div>", listed[0], re.DOTALL)]

    def lead(self, page: str) -> str:
        found = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)
        assert found
        return text(found[1])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Places]:
    """The shipped session, and the same with B heard again on A; each beside another dialogue."""
    path = tmp_path_factory.mktemp("figures")
    found = {}
    for name, pcm in {"clean": sample(), "echo": with_echo(sample(), 1, -20, 180)}.items():
        (path / name).mkdir()
        write(path / name / "call.wav", pcm)
        write(path / name / "other.wav", synthetic())
        screen = done("replay", path / name / "call.wav", "--vad", "energy", "--out", path / name / "alone")
        done("replay", path / name, "--vad", "energy", "--out", path / name / "run")
        done("report", path / name / "run", "--call", "call")
        found[name] = Places(path / name / "run", screen)
    return found


def test_the_truth_is_that_of_the_clean_call(runs: dict[str, Places]) -> None:
    assert runs["echo"].document["health"]["findings"][0]["text"] == "echo B->A -20 dB at 180 ms"
    assert (
        runs["clean"].lines(runs["clean"].screen)["response rate"]
        == "6/7 | response latency 0.60 s (median) | premature responses 1/7 | no response within 10 s 0/7"
    )


def test_the_screens_lead_with_the_figures_without_echo(runs: dict[str, Places]) -> None:
    echo, clean = runs["echo"], runs["clean"]
    assert echo.lines(echo.screen)["response rate"] == clean.lines(clean.screen)["response rate"]
    of_runs = {name: corpus_screen(survey(Run(ran.run)), 100) for name, ran in runs.items()}
    for label in ("response rate", "response latency", "premature responses"):
        assert echo.lines(of_runs["echo"])[label] == clean.lines(of_runs["clean"])[label]
    assert "\n  with echo" in echo.screen
    assert "\n  with echo" in of_runs["echo"]
    assert "with echo" not in clean.screen + of_runs["clean"]


def test_the_pages_lead_with_the_figures_without_echo(runs: dict[str, Places]) -> None:
    for echo, clean in zip(runs["echo"].pages, runs["clean"].pages, strict=True):
        assert runs["echo"].lead(echo) == runs["clean"].lead(clean)
        assert runs["echo"].tiles(echo)[:2] == runs["clean"].tiles(clean)[:2]
        assert ">with echo<" in echo
        assert ">with echo<" not in clean
    firsts = [ran.document["moments"][0]["text"] for ran in runs.values()]
    assert firsts == ["slow response 4.0 s"] * 2


def test_tables_screens_pages_comparisons_and_gates_agree(runs: dict[str, Places], tmp_path: Path) -> None:
    echo, clean = runs["echo"], runs["clean"]
    measures = echo.document["measures"]
    assert {name: measures[name]["n"] for name in ANSWERS} == {
        name: clean.document["measures"][name]["n"] for name in ANSWERS
    }
    pooled = read_json(echo.run / "summary.json")["measures"]
    scored = json.loads(done("score", echo.run, "--out", tmp_path, "--json"))["measures"]
    row = echo.row
    limits = tmp_path / "gates.toml"
    limits.write_text(f"gates = {json.dumps([f'{name} <= baseline' for name in measures if name in scored])}")
    told = json.loads(done("report", echo.run, "--baseline", clean.run, "--gate", limits, "--json"))
    gates = {gate["measure"]: gate["run"] for gate in told["gates"]["results"]}
    assert any("with_echo" in found for found in measures.values())
    for name, found in measures.items():
        of_all = {key: known for key, known in pooled[name].items() if key != "with_echo"}
        assert of_all == scored[name]
        assert ("with_echo" in found) == ("with_echo" in pooled[name])
        assert row[f"{name}_n"] == str(found["n"])
        if (value := _value(found)) is not None:
            assert float(row[name]) == pytest.approx(value)
        if _value(of_all) is not None:
            assert gates[name]["value"] == pytest.approx(_value(of_all))
        if "with_echo" in found:
            assert row[f"{name}_with_echo_n"] == str(found["with_echo"]["n"])


def _value(found: dict[str, Any]) -> float | None:
    value: float | None = found["mean"] if found["median"] is None else found["median"]
    return value


def test_distributions_and_curves_are_without_echo(runs: dict[str, Places]) -> None:
    echo, clean = (survey(Run(runs[name].run)) for name in ("echo", "clean"))
    ms, blurred_ms = "response_latency_ms", 30  # by an echo at the end of a turn
    assert echo.values(ms) == pytest.approx(clean.values(ms), abs=blurred_ms)
    assert [len(ms) for ms in echo.fto_ms.values()] == [len(ms) for ms in clean.fto_ms.values()]
    curves = [runs[name].document["curves"]["response"] for name in ("echo", "clean")]
    assert curves[0]["eligible"] == curves[1]["eligible"]
    assert curves[0]["latency_ms"] == pytest.approx(curves[1]["latency_ms"], abs=blurred_ms)
    drawn = [system("", CallGroup("", run.corpus.scored, run.pooled)) for run in (echo, clean)]
    assert drawn[0].latencies_ms == pytest.approx(drawn[1].latencies_ms, abs=blurred_ms)
    assert drawn[0].eligible == drawn[1].eligible


@pytest.mark.parametrize("level_db", [-2, -8, -14])
def test_a_side_that_is_nothing_but_echo_said_nothing_of_its_own(level_db: int, tmp_path: Path) -> None:
    alone = sample() * np.array([1, 0], np.int16)
    write(tmp_path / "call.wav", with_echo(alone, 0, level_db, 45))
    found = json.loads(done("replay", tmp_path / "call.wav", "--vad", "energy", "--out", tmp_path / "run", "--json"))
    assert [finding["text"] for finding in found["findings"]] == [
        f"B said nothing of its own: all of it is echo of A ({level_db} dB, 45 ms)"
    ]
    assert found["measures"]["premature_per_turn"]["count"] == 0
    told = [(finding["id"], finding["severity"]) for finding in found["health"]["findings"] if finding["side"] == "B"]
    assert ("repeats", "bad") in told
