"""The page of what holds of a run: each mark lies on the axis where its figure says, and texts of files are escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from helpers.commands import scored
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.statements import Statements
from fdbcore.report.groups.page import page
from fdbcore.report.html.templates import environment
from fdbcore.report.svg.forest import ForestRow, forest

FIGURES = st.floats(-1e4, 1e4, allow_subnormal=False).map(lambda value: round(value, 3))


def told(html: str) -> list[dict[str, float]]:
    """What the drawing says of each row: positions, read by the labels of its own axis."""
    ticks = [(float(x), float(value)) for x, value in re.findall(r'left:([-\d.]+)%">(-?[\d.]+)<', html)]
    (x0, first), (x1, last) = ticks[0], ticks[-1]

    def read(x: str) -> float:
        return first + (float(x) / 10 - x0) * (last - first) / (x1 - x0)

    rows = []
    for strip in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        found = re.search(r'class="interval-line" d="M([-\d.]+) \d+ H([-\d.]+)"', strip)
        value = re.search(r'class="value-mark" d="M([-\d.]+) ', strip)
        settings = re.search(r'class="settings" x="([-\d.]+)"', strip)
        assert value
        rows.append({"value": read(value[1])})
        rows[-1] |= {"low": read(found[1]), "high": read(found[2])} if found else {}
        rows[-1] |= {"settings": read(settings[1])} if settings else {}
    return rows


class Balanced(HTMLParser):
    """Fails where an end tag is not that of the last open element."""

    VOID = ("meta", "link", "path", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.unclosed: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.unclosed.pop() == tag


@given(st.lists(st.tuples(FIGURES, FIGURES, FIGURES), min_size=1, max_size=5))
def test_marks_lie_where_the_axis_says(drawn: list[tuple[float, float, float]]) -> None:
    rows = [ForestRow("x", "", "", middle, (low, high)) for low, middle, high in map(sorted, drawn)]
    html = environment().get_template("macros.html").module.forest(forest(rows, "s"))  # type: ignore[attr-defined]
    labels = re.findall(r'left:[-\d.]+%">(-?[\d.]+)<', html)
    if len(set(labels)) < 2:  # one figure alone
        assert len({value for each in drawn for value in each}) == 1
        return
    span = max(max(each) for each in drawn) - min(min(each) for each in drawn)
    for row, found in zip(rows, told(html), strict=True):
        assert row.interval
        for expected, got in ((row.value, found["value"]), (row.interval[0], found["low"])):
            assert got == pytest.approx(expected, abs=2e-3 * max(span, abs(row.value or 0), 1e-3))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manners = {"quick": Manner(0.4, premature=0.1), "<b>slow": Manner(1.0, pause_s=0.35)}
    calls = [
        MadeCall(call.name, call.activity, {"system": name})
        for seed, (name, manner) in enumerate(manners.items())
        for call in drawn_calls(10, seed, lambda _, of=manner: of, prefix=f"s{seed}")  # type: ignore[misc]
    ]
    return made_run(tmp_path_factory.mktemp("run") / "run", calls)


def section(html: str, measure: str) -> str:
    return next(part for part in html.split("<section class='measure'>") if f"<code>{measure}</code>" in part)


def test_the_page_shows_what_the_document_says(run: Path) -> None:
    content = scored(run, "--by", "system", "--sensitivity", "--reference", run)
    html = (run / "scores.html").read_text()
    varied = {group["name"]: group["measures"] for group in content["sensitivity"]["groups"]}
    for name, factor in (("response_latency_ms", 0.001), ("b_talk_share", 100.0)):
        found = told(section(html, name))
        for group, row in zip(content["groups"], found, strict=True):
            summary = group["measures"][name]
            low, high = summary["ci95"]
            value = summary["median"] if summary["median"] is not None else summary["mean"]
            expected = {"value": value, "low": low, "high": high, "settings": varied[group["name"]][name]["low"]}
            assert row == pytest.approx(
                {key: factor * each for key, each in expected.items()}, abs=0.02 * factor * value
            )
    assert "Nothing to count." in section(html, "b_stopped_within_2s_per_long_a_onset")
    assert '<p class="lead">&lt;b&gt;slow against quick: worse in response latency' in html
    assert "What counts as one: each call by itself; calls that share a caller or a scenario resemble" in html
    assert "slow is worse" in section(html, "response_latency_ms")
    assert "IPUs per min" in html.split("Compared with the reference")[1]


def test_texts_of_files_are_escaped_and_the_page_is_whole(run: Path) -> None:
    scored(run, "--by", "system")
    html = (run / "scores.html").read_text()
    assert "&lt;b&gt;slow" in html
    assert "<b>slow" not in html
    assert "Compared with the reference" not in html
    parser = Balanced()
    parser.feed(html)
    assert not parser.unclosed


def test_the_calls_are_linked_where_they_have_a_page(run: Path, tmp_path: Path) -> None:
    content = cast("Statements", scored(run, "--out", tmp_path))
    assert 'href="index.html"' not in page(content, tmp_path)
    (tmp_path / "index.html").touch()
    assert 'href="index.html"' in page(content, tmp_path)
