"""Groups of calls on the page of a run: the figures, p values and lines are those of the one comparison."""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import done, scored
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.summaries import summarise
from fdbcore.report.format import amount, limits, p_value
from fdbcore.report.svg.charts import TrendPoint, trend


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    calls = [
        MadeCall(call.name, call.activity, {"version": f"v{version}", "caller": f"kim{k % 12}", "day": day})
        for version, day, latency_s in ((2, "2026-11-02T10:00", 0.4), (9, "2026-11-03", 0.5), (10, "2026-11-09", 1.2))
        for k, call in enumerate(drawn_calls(12, version, lambda _, s=latency_s: Manner(s), f"v{version}-"))  # type: ignore[misc]
    ]
    path = made_run(tmp_path_factory.mktemp("run") / "run", calls)
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


def test_each_group_has_its_calls_and_its_figures_with_intervals(run: Path) -> None:
    table = rows(breakdown((run / "index.html").read_text(), "version"))[:3]
    assert [row[:2] for row in table] == [["v2", "12"], ["v9", "12"], ["v10", "12"]]
    calls = Run(run).calls
    for row in table:
        own = summarise([call.quantities for call in calls if call.columns["version"] == row[0]])
        latency, answered = own["response_latency_ms"], own["answered_per_turn"]
        assert row[2] == f"{amount(latency['median'], 'ms')}|{limits(latency['ci95'], 'ms')}"
        assert row[3] == f"{amount(answered['mean'], 'share')}|{limits(answered['ci95'], 'share')}"


def test_every_two_groups_are_compared_as_the_command_compares_them(run: Path, tmp_path: Path) -> None:
    part = breakdown((run / "index.html").read_text(), "version")
    differences = scored(run, "--by", "version", "--out", tmp_path)["differences"]
    assert {(each["a"], each["b"]) for each in differences} == {("v9", "v2"), ("v10", "v2"), ("v10", "v9")}
    for a, b in (("v9", "v2"), ("v10", "v2"), ("v10", "v9")):
        (pair,) = re.findall(rf"<bdi>{a}</bdi> against <bdi>{b}</bdi></b>: (.*?)</details>", part, re.DOTALL)
        told = {row[0]: row for row in rows(pair)}
        (latency,) = [e for e in differences if (e["measure"], e["a"], e["b"]) == ("response_latency_ms", a, b)]
        assert told["response latency"][1] == latency["verdict"]
        assert told["response latency"][5] == p_value(latency["p_holm"])
    assert re.search(r"<bdi>v10</bdi> against <bdi>v9</bdi></b>: worse in response latency", part)


def test_the_page_says_what_the_cluster_was_and_names_a_better_one(run: Path) -> None:
    html = " ".join(unescape((run / "index.html").read_text()).split())
    assert "Intervals and p values count each call by itself" in html
    assert f"fdbcore score {os.path.relpath(run)} --by version --cluster caller" in html


def test_times_make_a_line_of_days(run: Path) -> None:
    part = breakdown((run / "index.html").read_text(), "day")
    assert [row[0] for row in rows(part)[:3]] == ["2026-11-02", "2026-11-03", "2026-11-09"]
    svg = part[part.index("<svg") : part.index("</svg>")]
    x = [float(value) for value in re.findall(r'<circle[^>]*cx="([\d.]+)"', svg)]
    assert (x[1] - x[0]) / (x[2] - x[0]) == pytest.approx(1 / 7, abs=0.01)
    assert "12 calls" in svg


def test_a_column_that_names_single_calls_is_no_group(tmp_path: Path) -> None:
    calls = [MadeCall(c.name, c.activity, {"id": f"x{k}", "one": "same"}) for k, c in enumerate(drawn_calls(6, 1))]
    path = made_run(tmp_path / "run", calls)
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
