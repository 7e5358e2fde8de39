"""A measure that is registered and computed is shown by every screen, page, table, gate and comparison."""

import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.documents import document_of
from helpers.made_runs import Manner, drawn_calls, made_run
from msgspec.structs import replace

from fdbcore.cli.main import main
from fdbcore.measures import timing
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.measure import CallMeasure, Column, Drawn, ShippedLimit, ShownMoments
from fdbcore.measures.quantities import Quantity, Values
from fdbcore.measures.reading import Reading
from fdbcore.report.call.screen import screen

NEW = CallMeasure(
    "b_sigh_ms", "long sighs", -1, "ms", pools="median", compared=True, group=timing.TURNS,
    meaning="From the first breath to the last, over {short_ms}.", literature="sigh (Nobody 1999)",
    shown=ShownMoments(("slow_answer",), "B"), column=Column(9),
    drawn=(Drawn("items", "Sighs of all calls", "Over {short_ms}.", 0.1, range(3)),),
    limits=(ShippedLimit(".median <= 500", "Ours: half of its sighs are short."),),
)  # fmt: skip
CALLS = 12


@pytest.fixture
def sighing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a developer adds: the entry, and what computes it. Three sighs a call, as long as its first gap."""
    plain = timing.composition

    def composition(dialogue: Dialogue) -> dict[str, Quantity]:
        first = dialogue.uncensored("gap", side="B")[0]
        length_ms = 10.0 * ((first.end_tick or 0) - first.start_tick)
        return plain(dialogue) | {NEW.id: Values("ms", [length_ms, length_ms + 1, length_ms + 2])}

    monkeypatch.setattr(timing, "composition", composition)
    monkeypatch.setitem(MEASURES, NEW.id, NEW)


@pytest.fixture
def run(sighing: None, tmp_path: Path) -> Path:
    """A run of two systems, of which the second is slower."""
    calls = drawn_calls(CALLS, 1, lambda _: Manner(0.4, 0.1), "brisk", system="brisk")
    calls += drawn_calls(CALLS, 2, lambda _: Manner(1.6, 0.1), "tired", system="tired")
    return made_run(tmp_path / "run", calls)


def told(*arguments: object) -> str:
    result = CliRunner().invoke(main, [*map(str, arguments)], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def calls(sighing: None, tmp_path: Path) -> Path:
    """A run of calls of one system."""
    return made_run(tmp_path / "calls", drawn_calls(CALLS, 1, lambda _: Manner(1.6, 0.1), "tired"))


def test_it_has_a_line_on_the_screen_of_a_call_and_a_tile_on_its_page(calls: Path) -> None:
    reading = Reading(calls / "tired0000")
    document = document_of(reading)
    assert re.search(r"^long sighs +median \d\.\d\d s$", screen(reading, document), re.MULTILINE)
    told("report", calls, "--call", "tired0000")
    tile = tile_in((reading.path / "report.html").read_text())
    assert re.search(r"\d\.\d\d s of 3\. From the first breath to the last, over 1 s\.", tile), tile


def test_it_has_a_line_on_the_screen_of_a_run_and_a_tile_on_its_page(calls: Path) -> None:
    assert re.search(r"long sighs median \d\.\d\d s \[[\d., ]+\] \| n = 36 ", told("report", calls))
    tile = tile_in((calls / "index.html").read_text())
    assert re.search(r"\d\.\d\d s \[[\d., ]+\] of 36\. From the first breath to the last, over 1 s\.", tile), tile


def test_its_limit_ships_and_is_in_the_file_to_begin_with(calls: Path, tmp_path: Path) -> None:
    told("gate", "init", calls, "--out", tmp_path / "gates.toml")
    text = (tmp_path / "gates.toml").read_text()
    assert 'check = "b_sigh_ms.median <= 500"\nsource = "Ours: half of its sighs are short."\n# This run: FAIL.' in text


def tile_in(page: str) -> str:
    """The text of the tile of the new measure: from its name to the next name of one."""
    text = " ".join(unescape(re.sub("<[^>]*>", " ", page.partition("<body")[2])).split())
    return text.partition("Long sighs")[2][:200]


def test_it_stands_in_the_tables_of_a_call_and_in_its_glossary(run: Path) -> None:
    told("report", run, "--call", "brisk0000")
    page = unescape((run / "brisk0000" / "report.html").read_text())
    assert "long sighs" in page
    assert "From the first breath to the last, over 1 s." in page
    assert "sigh (Nobody 1999)" in page
    assert "<code>b_sigh_ms</code>" in page


def test_it_stands_in_the_tables_of_a_run(run: Path) -> None:
    screen = told("report", run)
    assert "long system sighs [95 %]" in screen
    assert '"title":"long sighs","is":"time","first":-1' in (run / "index.html").read_text().replace(": ", ":").replace(
        ", ", ","
    )
    assert "b_sigh_ms,b_sigh_ms_n" in (run / "calls.csv").read_text()
    drawing = (run / "index.html").read_text().partition("Sighs of all calls")[2].partition("</figure>")[0]
    assert f"Over 1 s. n\u00a0=\u00a0{3 * 2 * CALLS}." in unescape(drawing)


def test_groups_are_compared_by_it(run: Path) -> None:
    screen = told("score", run, "--by", "system", "--out", run)
    assert "long sighs (median, s)" in screen
    assert "brisk - tired -1." in screen.partition("long sighs")[2]


def test_a_comparison_says_which_way_it_is_better(run: Path, tmp_path: Path) -> None:
    screen = told("report", run, "--by", "system", "--figures", tmp_path / "figures")
    row = screen.partition("long sighs: ")[2]
    assert row.startswith("0.4")
    assert row.partition(" s ")[2]
    assert "better" in row.partition("Holm")[0]
    assert "long sighs" in (tmp_path / "figures" / "table.md").read_text()


def test_a_gate_decides_on_it_in_its_unit_and_names_moments(run: Path, tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text('gates = ["b_sigh_ms.p90 <= 900"]')
    screen = told("report", run, "--gate", gates, "--junit", tmp_path / "junit.xml")
    assert "FAIL b_sigh_ms.p90 <= 900" in screen
    assert "limit 0.9 s" in screen
    assert "slow response" in screen
    assert "limit 0.9 s" in (tmp_path / "junit.xml").read_text()


def test_without_an_entry_nothing_knows_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MEASURES, NEW.id)
    assert "sighs" not in told("report", run)
    monkeypatch.setitem(MEASURES, NEW.id, replace(NEW, compared=False, column=None))
    assert "sighs" not in told("score", run, "--by", "system", "--out", run)
