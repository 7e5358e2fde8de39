"""The page of a run: its statements, the groups of its calls, and marks where the axis says."""

import os
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from helpers.commands import done, scored
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.statements import Statements
from fdbcore.analysis.summaries import summarise
from fdbcore.report.format import amount, limits, p_value
from fdbcore.report.groups.page import page
from fdbcore.report.html.templates import environment
from fdbcore.report.svg.charts import TrendPoint, trend
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
    assert "<b>slow" not in html.replace("<b>slow response ", "")
    assert "Compared with the reference" not in html
    parser = Balanced()
    parser.feed(html)
    assert not parser.unclosed


def test_the_calls_are_linked_where_they_have_a_page(run: Path, tmp_path: Path) -> None:
    content = cast("Statements", scored(run, "--out", tmp_path))
    assert 'href="index.html"' not in page(content, tmp_path)
    (tmp_path / "index.html").touch()
    assert 'href="index.html"' in page(content, tmp_path)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    calls = [
        MadeCall(call.name, call.activity, {"version": f"v{version}", "caller": f"kim{k % 12}", "day": day})
        for version, day, latency_s in ((2, "2026-11-02T10:00", 0.4), (9, "2026-11-03", 0.5), (10, "2026-11-09", 1.2))
        for k, call in enumerate(drawn_calls(12, version, lambda _, s=latency_s: Manner(s), f"v{version}-"))  # type: ignore[misc]
    ]
    path = made_run(tmp_path_factory.mktemp("grouped") / "grouped", calls)
    done("report", path)
    return path


def breakdown(html: str, column: str) -> str:
    """The part of the page about a column."""
    found = re.search(rf"<h3>By {column}</h3>.*?(?=<details class=\"breakdown|</section>)", html, re.DOTALL)
    assert found
    return found[0]


def rows(html: str) -> list[list[str]]:
    """The texts of the cells of each row of all tables, the explanation of a cell after a bar."""
    found = []
    for row in re.findall(r"<tr>(?!<th scope=\"col\")(.*?)</tr>", html, re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        texts = (re.sub(r"<[^>]+>", "", cell.replace("<span class='meaning'>", "|")) for cell in cells)
        found.append([unescape(" ".join(text.split())) for text in texts])
    return found


def test_each_group_has_its_calls_and_its_figures_with_intervals(grouped: Path) -> None:
    table = rows(breakdown((grouped / "index.html").read_text(), "version"))[:3]
    assert [row[:2] for row in table] == [["v2", "12"], ["v9", "12"], ["v10", "12"]]
    calls = Run(grouped).calls
    for row in table:
        own = summarise([call.quantities for call in calls if call.columns["version"] == row[0]])
        latency, answered = own["response_latency_ms"], own["answered_per_turn"]
        assert row[2] == f"{amount(latency['median'], 'ms')}|{limits(latency['ci95'], 'ms')}"
        assert row[3] == f"{amount(answered['mean'], 'share')}|{limits(answered['ci95'], 'share')}"


def test_every_two_groups_are_compared_as_the_command_compares_them(grouped: Path, tmp_path: Path) -> None:
    part = breakdown((grouped / "index.html").read_text(), "version")
    differences = scored(grouped, "--by", "version", "--out", tmp_path)["differences"]
    assert {(each["a"], each["b"]) for each in differences} == {("v9", "v2"), ("v10", "v2"), ("v10", "v9")}
    for a, b in (("v9", "v2"), ("v10", "v2"), ("v10", "v9")):
        (pair,) = re.findall(rf"<bdi>{a}</bdi> against <bdi>{b}</bdi></b>: (.*?)</details>", part, re.DOTALL)
        told = {row[0]: row for row in rows(pair)}
        (latency,) = [e for e in differences if (e["measure"], e["a"], e["b"]) == ("response_latency_ms", a, b)]
        assert told["response latency"][1] == latency["verdict"]
        assert told["response latency"][5] == p_value(latency["p_holm"])
    assert re.search(r"<bdi>v10</bdi> against <bdi>v9</bdi></b>: worse in response latency", part)


def test_the_page_says_what_the_cluster_was_and_names_a_better_one(grouped: Path) -> None:
    html = " ".join(unescape((grouped / "index.html").read_text()).split())
    assert "Intervals and p values count each call by itself" in html
    assert f"fdbcore score {os.path.relpath(grouped)} --by version --cluster caller" in html


def test_times_make_a_line_of_days(grouped: Path) -> None:
    part = breakdown((grouped / "index.html").read_text(), "day")
    assert [row[0] for row in rows(part)[:3]] == ["2026-11-02", "2026-11-03", "2026-11-09"]
    svg = part[part.index("<svg") : part.index("</svg>")]
    x = [float(value) for value in re.findall(r'<circle[^>]*cx="([\d.]+)"', svg)]
    assert (x[1] - x[0]) / (x[2] - x[0]) == pytest.approx(1 / 7, abs=0.01)
    assert "12 calls" in svg


def test_a_column_that_names_single_calls_is_no_group(tmp_path: Path) -> None:
    calls = [MadeCall(c.name, c.activity, {"id": f"x{k}", "one": "same"}) for k, c in enumerate(drawn_calls(6, 1))]
    path = made_run(tmp_path / "grouped", calls)
    done("report", path)
    assert "groups-title" not in (path / "index.html").read_text()


VALUES = st.lists(st.tuples(*[st.floats(-50, 50).map(lambda value: round(value, 2))] * 3), min_size=2, max_size=9)


@given(VALUES)
def test_points_and_intervals_lie_where_the_axis_says(drawn: list[tuple[float, float, float]]) -> None:
    points = [
        TrendPoint(str(k), float(k), middle, (low, high), "", "")
        for k, (low, middle, high) in enumerate(sorted(each) for each in drawn)
    ]
    svg = trend("x", "", points).svg
    ticks = [
        (float(y), float(value))
        for y, value in re.findall(r'class="grid"[^>]*y1="([\d.]+)".*?text-anchor="end">(-?[\d.]+)<', svg)
    ]
    if len({value for _, value in ticks}) < 2:  # one figure alone
        return
    (y0, first), (y1, last) = ticks[0], ticks[-1]
    span = max(max(each) for each in drawn) - min(min(each) for each in drawn)

    def read(y: Any) -> float:
        return first + (float(y) - y0) * (last - first) / (y1 - y0)

    found = [read(y) for y in re.findall(r'<circle[^>]*cy="([\d.]+)"', svg)]
    whiskers = [(read(low), read(high)) for low, high in re.findall(r'whisker"[^>]*y1="([\d.]+)" y2="([\d.]+)"', svg)]
    assert found == pytest.approx([point.value for point in points], abs=0.02 * max(span, 0.01))
    expected = np.array([point.interval for point in points])
    assert np.array(whiskers) == pytest.approx(expected, abs=0.02 * max(span, 0.01))
