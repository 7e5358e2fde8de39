"""Several runs as a trend: their order, their figures, and what the latest has changed."""

import json
import re
from html import unescape
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from helpers.commands import report
from helpers.made_runs import Manner, drawn_calls, made_run
from helpers.schema import validator

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.summaries import summarise
from fdbcore.report.format import p_text
from fdbcore.types import TurnSettings


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        made_run(folder / name, drawn_calls(12, 3, lambda _, s=latency_s: Manner(s)))  # type: ignore[misc]
        for name, latency_s in (("v1", 0.5), ("v2", 0.52), ("v10", 1.1))
    ]


def document(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(*arguments, "--json").stdout)
    return found


def test_runs_stand_in_the_order_of_their_versions_with_their_own_figures(runs: list[Path]) -> None:
    found = document(runs[2], runs[0], runs[1])
    validator("trend").validate(found)
    assert [point["name"] for point in found["points"]] == ["v1", "v2", "v10"]
    for point, path in zip(found["points"], runs, strict=True):
        own = summarise([call.quantities for call in Run(path).calls])["response_latency_ms"]
        latency = point["measures"]["response_latency_ms"]
        assert (point["calls"], latency["median"]) == (12, own["median"])
        assert own["ci95"] == pytest.approx(latency["ci95"])


def test_the_latest_is_compared_as_with_a_baseline(runs: list[Path]) -> None:
    found = document(*runs)["latest"]
    expected = document(runs[2], "--baseline", runs[1])["comparisons"][0]
    assert found["measures"] == expected["measures"]
    assert found["paired_by"] == "call name"
    assert (found["a"]["name"], found["b"]["name"]) == ("v10", "v2")
    result = report(*runs)
    assert "v10 against v2: worse in response latency" in result.stdout
    assert result.stdout.splitlines()[-1] == str(runs[2] / "trend.html")


def test_a_few_late_answers_of_the_latest_are_listed_with_links(tmp_path: Path) -> None:
    """The moments that a baseline shows, on the screen and on the page: each at its second on the page of its call."""
    before = drawn_calls(60, 1, lambda _: Manner(spread=0.1, turns=2))
    late = drawn_calls(8, 2, lambda _: Manner(4.0, spread=0.1, turns=2))
    runs = [made_run(tmp_path / name, calls) for name, calls in (("v1", before), ("v2", [*late, *before[8:]]))]
    found = document(*runs)
    validator("trend").validate(found)
    assert found["latest"]["longer"] == document(runs[1], "--baseline", runs[0])["comparisons"][0]["longer"]
    (slow,) = found["latest"]["longer"]
    assert {moment["call"] for moment in slow["worst"]} == {call.name for call in late}
    (runs[1] / "call0003" / "report.html").unlink()
    screen = " ".join(report(*runs).stdout.split())
    html = (runs[1] / "trend.html").read_text()
    told = f"in 8 of 60 calls of v2 ({p_text(slow['p'])}), shorter by {slow['least_s']:.2f} s or more in 0"
    answers = next(row for row in found["latest"]["measures"] if row["measure"] == "response_latency_ms")
    assert answers["verdict"] == "no difference found"
    assert told in screen
    assert told in unescape(html)[html.index('<p class="lead">') :]
    for moment in slow["worst"]:
        assert moment["page"] in screen
        assert f'href="{moment["call"]}/report.html#t={moment["start_s"]:g}"' in html
        assert (runs[1] / moment["call"] / "report.html").is_file()


def test_notes_on_what_differs_name_the_runs(runs: list[Path], tmp_path: Path) -> None:
    other = made_run(tmp_path / "v0", drawn_calls(12, 3), settings=TurnSettings(min_silence_ms=300))
    notes = document(other, *runs, "--different-settings")["notes"]
    assert notes == ["different settings: turns min_silence_ms: v10 200, v0 300"]


def test_calls_that_are_not_scored_are_told(runs: list[Path], tmp_path: Path) -> None:
    damaged = made_run(tmp_path / "v11", drawn_calls(12, 3))
    name = Run(damaged).calls[4].name
    (damaged / name / "events.jsonl").unlink()
    told = f"v11: 1 of 12 calls not scored, in no figure: {name}"
    assert f"!! {told}" in report(*runs, damaged).stdout
    assert told in (damaged / "trend.html").read_text()


def test_the_page_draws_each_measure_over_the_runs_and_links_them(runs: list[Path]) -> None:
    assert report(runs[0]).exit_code == 0
    assert report(*runs).exit_code == 0
    html = (runs[2] / "trend.html").read_text()
    assert '<a href="../v1/index.html">v1</a>' in html
    svg = html[html.index('<div class="charts">') :].partition("</svg>")[0]
    heights = [float(y) for y in re.findall(r'<circle[^>]*cy="([\d.]+)"', svg)]
    assert len(heights) == 3
    assert heights[2] < min(heights[:2])  # slower answers stand higher
    assert svg.count("12 calls") >= 3


def test_other_names_keep_the_order_in_which_they_were_given(runs: list[Path], tmp_path: Path) -> None:
    late, early = (made_run(tmp_path / name, drawn_calls(3, 1)) for name in ("before", "after"))
    assert [point["name"] for point in document(late, early)["points"]] == ["before", "after"]


def test_what_makes_no_trend_is_one_line(runs: list[Path], tmp_path: Path) -> None:
    other = made_run(tmp_path / "other", drawn_calls(3, 1), settings=TurnSettings(min_silence_ms=300))
    for arguments, said in (
        ((runs[0], runs[1], "--gate", "defaults"), "--gate: expected one RUN, got 2, which make a trend"),
        ((runs[0], runs[0]), "expected different runs"),
        ((runs[0], tmp_path), "expected a run or a recording"),
        ((other, runs[0], runs[1]), "turns min_silence_ms"),
        ((*runs, "--cluster", "x"), "--cluster x: expected columns"),
    ):
        result = report(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in " ".join(result.stderr.split())
    told = document(other, *runs, "--different-settings")
    assert any("different settings: turns min_silence_ms" in note for note in told["notes"])


def test_a_folder_of_runs_gets_a_page_that_lists_them(runs: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    copytree(runs[0].parent, folder)
    made_run(folder / "v3", drawn_calls(4, 1), settings=TurnSettings(min_silence_ms=300))
    made_run(folder / "v4", [*drawn_calls(3, 1, system="mine"), *drawn_calls(3, 2, prefix="c", system="theirs")])
    report(folder / "v2", "--quiet", "--no-audio")
    report(folder / "v10", "--baseline", folder / "v2", "--quiet", "--no-audio")
    result = report(folder, code=0)
    assert "v10 against v2: Worse: response latency." in result.stdout
    assert result.stdout.splitlines()[-1] == str(folder / "index.html")
    html = (folder / "index.html").read_text()
    rows = re.findall(r'<th scope="row">(.*?)</th>', html)
    assert [re.sub("<[^>]*>", " ", row).split() for row in rows] == [
        ["v10"], ["v4", "mine"], ["v4", "theirs"], ["v3"], ["v2"], ["v1"],
    ]  # fmt: skip
    assert '<a href="v2/index.html#">v2</a>' in html
    assert '<a href="v10/compare.html">v10</a>' in html
    assert "Not drawn, of another system or with other settings: v3, v4." in html
    assert html.count("<svg") == html.count("<figure>") > 0
    assert report(folder, "--quiet", code=0).stdout == ""  # it is written again


def test_the_page_of_a_folder_tells_of_damaged_runs_and_keeps_files_of_others(runs: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    copytree(runs[0], folder / "v1")
    (folder / "v2").mkdir()
    (folder / "v2" / "corpus.json").write_text("{")
    damaged = report(folder, code=1)
    assert "v2 is not listed: " in damaged.stderr
    assert "v2 is not listed: " in (folder / "index.html").read_text()
    refused = report(folder, "--gate", "defaults", code=2)
    assert "--gate: expected one RUN, got " in " ".join(refused.stderr.split())
    (folder / "index.html").write_text("mine")
    assert "which is kept" in report(folder, code=2).stderr
    assert (folder / "index.html").read_text() == "mine"
    rmtree(folder / "v1")
    (folder / "index.html").unlink()
    assert report(folder, code=1).stdout == ""
    assert not (folder / "index.html").exists()
