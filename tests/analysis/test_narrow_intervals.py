"""Where an interval may be too narrow, every screen and page says so; one session by itself has none."""

from html import unescape
from pathlib import Path

import pytest
from helpers.made_runs import Manner, drawn_calls, made_run

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import Unit, rescored
from fdbcore.analysis.narrow_intervals import interval_warnings
from fdbcore.analysis.score import read_scores
from fdbcore.analysis.statements import statements
from fdbcore.analysis.summaries import Summary
from fdbcore.analysis.survey import Survey, survey
from fdbcore.report.call.document import document
from fdbcore.report.call.screen import run_screen
from fdbcore.report.call.sections import intervals
from fdbcore.report.groups.phrases import resampled
from fdbcore.report.run.page import write_index
from fdbcore.report.run.screen import corpus_screen
from fdbcore.runtime.executor import ThisProcess

FEW = "with fewer than 10 an interval may be too narrow"


def run_of(folder: Path, calls: int) -> Survey:
    return survey(Run(made_run(folder / "run", drawn_calls(calls, 1, lambda _: Manner()))))


def told(run: Survey) -> list[str]:
    """The screen of a few sessions, that of many, and the page; white space as one blank."""
    texts = run_screen(run), corpus_screen(run, 90), write_index(run).read_text(encoding="utf-8")
    return [" ".join(unescape(text).split()) for text in texts]


def test_few_calls_show_no_interval_without_its_caution(tmp_path: Path) -> None:
    run = run_of(tmp_path, 3)
    assert run.measures["response_latency_ms"]["ci95"] is not None
    for text in told(run):
        assert f"nly 3 calls: {FEW}" in text


def test_enough_calls_have_no_caution_of_their_number(tmp_path: Path) -> None:
    for text in told(run_of(tmp_path, 12)):
        assert "too narrow" not in text.replace("With fewer than 10 calls it may be too narrow", "")


def test_one_session_has_no_interval_anywhere(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1)
    recording = run.rows[0].call.recording
    content = document(recording, read_scores(recording))
    for measures in (run.measures, content["measures"]):
        assert measures["answered_per_turn"]["n"]
        assert {name for name, summary in measures.items() if summary["ci95"]} == set()
    screen, of_many, index = told(run)
    assert not any(f"{mark} [" in text for text in (screen, of_many) for mark in "%s")
    page = intervals(content["measures"])
    for text in (index, page):
        assert "There are no intervals: one call cannot show how calls differ." in text
    group, _ = rescored(run.corpus, ThisProcess())
    assert resampled(statements(group, Unit())) == "no intervals: one call cannot show how calls differ"
    assert FEW not in " ".join((screen, of_many, index, page))


def summary(clusters: int, either: int | None = None) -> Summary:
    found: Summary = {
        "n": 100,
        "median": None,
        "p90": None,
        "mean": 0.5,
        "ci95": None,
        "unit": "share",
        "excluded": {},
        "clusters": clusters,
    }
    if either is not None:
        found["clusters_with_either"] = either
    return found


def test_shares_whose_events_come_in_few_calls_are_named_with_their_group() -> None:
    many = {"answered_per_turn": summary(40, 12), "premature_per_turn": summary(40, 3)}
    rare = {"answered_per_turn": summary(40, 2), "premature_per_turn": summary(40, 3)}
    never = {"answered_per_turn": summary(40, 0), "response_latency_ms": summary(40)}
    assert list(interval_warnings({"": many})) == [
        "premature responses: fewer than 10 calls decide this, so its interval may be too narrow"
    ]
    assert list(interval_warnings({"v1": many, "v2": rare, "v3": never}, "caller")) == [
        f"for {whose}, {of}: fewer than 10 values of caller decide this, so its interval may be too narrow"
        for whose, of in (("v2", "response rate"), ("v1 and v2", "premature responses"))
    ]


@pytest.mark.parametrize(("sizes", "expected"), [((4, 40), "only 4 calls in a"), ((4, 7), "only 4 calls in a, 7 in b")])
def test_few_calls_are_named_with_their_group_and_not_once_more_for_their_events(
    sizes: tuple[int, int], expected: str
) -> None:
    groups = {name: {"answered_per_turn": summary(n, 2 if n < 10 else 20)} for name, n in zip("ab", sizes, strict=True)}
    assert list(interval_warnings(groups)) == [f"{expected}: {FEW}"]
    assert list(interval_warnings({"a": {"answered_per_turn": summary(1, 1)}, "b": {}})) == []
