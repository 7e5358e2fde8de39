"""What a scorecard shows whatever the suite: its JSON, its page, its drawings."""

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.acts_document import make_document
from helpers.commands import done
from helpers.schema import validator
from jsonschema import ValidationError
from msgspec import to_builtins
from msgspec.structs import replace as changed

from fdbcore.protocols.suite import Suite
from fdbcore.registry import suite
from fdbcore.report.scorecard.cases import listed
from fdbcore.report.scorecard.document import document
from fdbcore.report.scorecard.drawings import PANEL_GAP, PANEL_WIDTH, BarPart, bar, chart
from fdbcore.report.scorecard.page import page
from fdbcore.report.scorecard.screen import rows_table, screen
from fdbcore.report.scorecard.tables import narrow_tables, paper_table, rows_csv
from fdbcore.report.scorecard.verdicts import first_of, verdicts
from fdbcore.types import Problem
from fdbcore.types.scorecard import Difference, Figure, Measure, Scorecard, ScoreRow, ShownItem, Telling

SVG = "{http://www.w3.org/2000/svg}"
VALIDATOR = validator("scorecard")
LATE, LOST, TASKS = (
    Measure("late", "answer time", -1, "s", 2, main=True),
    Measure("lost", "lost calls", -1, part="calls"),
    Measure("tasks", "tasks done", 1, main=True),
)
CASE = ShownItem("day", "<one>", "c1", "book a table", {"late": 1.25}, subset="booking")


class Plain(Suite):
    """A suite that draws nothing of its own."""

    name = "plain"
    schema = "plain/1"

    def side_a(self, data: str) -> Any:
        raise NotImplementedError

    def score(self, *given: object) -> Any:
        raise NotImplementedError

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        return CARD


def row(condition: str, system: str, late: float, tasks: float | None = None, **more: Any) -> ScoreRow:
    figures = {"late": Figure(late, 0.5, (late - 0.25, late + 0.5))} | (
        {} if tasks is None else {"tasks": Figure(tasks)}
    )
    return ScoreRow(condition, "system", system, 20, figures, **more)


CARD = Scorecard(
    "How late is an answer?",
    (LATE, LOST, TASKS),
    {"day": "by day", "night": "by night"},
    [row("day", "<one>", 1.0, 0.75, note="2 hung up"), row("day", "two", 2.0), row("night", "two", 3.0)],
    [
        Difference("day", "<one>", "two", "late", 20, -1.0, (-1.5, -0.5), 0.001, 0.002, 0.4),
        Difference("day", "<one>", "two", "tasks", 20, -0.1, (-0.3, 0.1), 0.3, 0.3, 0.2),
    ],
    [Telling("most", "late", CASE)],
    ["few calls"],
    [Problem("c9", "no recording")],
    test="p by sign flips",
    notes=("answer time: from A's end to B's start",),
    statements=("<one> answers sooner.",),
    subsets=[row("day", "two", 1.5, subset="asking"), row("day", "two", 2.5, subset="booking")],
    subsets_by="task",
    cases=[CASE, replace(CASE, system="two", values={"late": 2.0}), replace(CASE, id="c2", values={})],
)


def shown(card: Scorecard = CARD) -> str:
    return page(card, Plain())


def test_the_json_keeps_to_its_schema_and_has_every_figure() -> None:
    found = json.loads(json.dumps(to_builtins(document(CARD, "plain")), allow_nan=False))
    VALIDATOR.validate(found)
    rows = {(one["condition"], one["system"], one["subset"], one["measure"]): one for one in found["rows"]}
    assert len(rows) == len(found["rows"]) == 6
    first = rows["day", "<one>", None, "late"]
    assert (first["n"], first["value"], first["sd"], first["low"], first["high"]) == (20, 1.0, 0.5, 0.75, 1.5)
    assert rows["day", "<one>", None, "tasks"]["low"] is None
    assert rows["day", "two", "booking", "late"]["value"] == 2.5
    late, tasks = found["differences"]
    assert (late["difference"], late["p_corrected"], late["better"]) == (-1.0, 0.002, "<one>")
    assert tasks["better"] is None
    assert found["telling"] == [
        {"what": "most", "measure": "late", "value": 1.25, "condition": "day", "system": "<one>", "id": "c1",
         "text": "book a table"}
    ]  # fmt: skip
    del found["rows"][0]["measure"]
    with pytest.raises(ValidationError, match="'measure' is a required property"):
        VALIDATOR.validate(found)


def test_the_dialogue_acts_keep_to_it(tmp_path: Path) -> None:
    acts = suite("dialogue-acts")
    VALIDATOR.validate(to_builtins(document(acts.card(make_document(n=5)), acts.name)))
    done("score", "--suite", "dialogue-acts", "--published", "--quiet", "--out", tmp_path / "out")
    written = json.loads((tmp_path / "out" / "scorecard.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(written)
    scores = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    wed = {
        one["system"]: [one["value"], one["low"], one["high"]]
        for one in written["rows"]
        if (one["group"], one["measure"], one["subset"]) == ("system", "wed", None)
    }
    scored = [one for one in scores["rows"] if (one["group"], one["subset"]) == ("system", "")]
    summaries = {one["system"]: one["measures"]["wed"] for one in scored}
    assert wed == {name: [summary["value"], *summary["ci95"]] for name, summary in summaries.items()}
    assert {row["n"] for row in written["rows"] if row["group"] == "published"} == {None}


@pytest.mark.parametrize(
    ("scale", "value", "p", "better"),
    [
        ("late", -0.2, 0.01, "a"),
        ("late", 0.2, 0.01, "b"),
        ("tasks", 0.2, 0.01, "a"),
        ("tasks", -0.2, 0.01, "b"),
        ("tasks", 0.2, 0.06, None),
        ("tasks", 0.2, None, None),
        ("tasks", 0.0, 0.01, None),
    ],
)
def test_the_better_system_is_named_only_where_it_can_be_told(
    scale: str, value: float, p: float | None, better: str | None
) -> None:
    assert CARD.better(Difference("day", "a", "b", scale, 9, value, None, p, p)) == better


def test_the_page_shows_every_part_and_no_text_as_markup() -> None:
    html = shown()
    for text in (
        "few calls", "left out: 1", "<code>c9</code> no recording", "&lt;one&gt; answers sooner.", "by day", "by night",
        "2 hung up", "0.75 to 1.50", "SD 0.50", "answer time s\xa0↓", "P by sign flips", "Most answer time: 1.25",
        "&lt;one&gt;, c1: book a table", "<bdi>&lt;one&gt;</bdi> is better", "cannot be told", "By task",
        "worst first (answer time)", "every system", "answer time: from A&#39;s end", "plain/1",
    ):  # fmt: skip
        assert text in html
    assert "<one>" not in html
    assert "lost calls" not in html, "no row has a figure of it"
    assert html.index(">booking<") < html.index(">asking<"), "the worst first"


def test_a_page_without_cases_differences_or_intervals_says_so_by_leaving_them_out() -> None:
    bare = [ScoreRow("day", "system", "two", 3, {"tasks": Figure(1.0)})]
    html = shown(Scorecard("Bare", (TASKS,), {"day": "by day"}, bare))
    assert "There are no two systems to compare." in html
    for text in ("Every result", "Telling cases", "Glossary", "<script", 'class="drawn"'):
        assert text not in html
        assert text in shown(replace(CARD, terms={"late": "after its time"}))


def test_the_screen_names_what_a_case_tells() -> None:
    assert "most answer time  1.25  <one> c1 book a table" in screen(CARD, 100).splitlines()


def test_the_n_of_a_figure_stands_with_it_where_it_is_not_that_of_its_row() -> None:
    figures = {"late": Figure(1.0, None, (0.75, 1.5), n=20), "lost": Figure(0.5, n=8)}
    card = Scorecard("Own", CARD.scales, {"day": "by day"}, [ScoreRow("day", "system", "two", 20, figures)])
    line = next(line for line in screen(card, 100).splitlines() if line.startswith("two "))
    assert line.split() == ["two", "20", "1.00", "[0.75,1.50]", "0.500", "(n", "8)"]
    html = shown(card)
    assert "n 8<" in html
    assert "n 20<" not in html
    (found,) = csv.DictReader(StringIO(rows_csv(card)))
    assert (found["n"], found["late_n"], found["lost_n"], found["tasks_n"]) == ("20", "20", "8", "")
    of = {one.measure: one.n for one in document(card, "plain").rows}
    assert of == {"late": 20, "lost": 8}


def test_the_screen_begins_with_what_it_comes_to() -> None:
    first, answer, *_ = screen(CARD, 100).split("\n\n")
    assert (first, answer) == ("!! few calls", "<one> answers sooner.")


def test_which_of_two_systems_is_better_is_told_with_what_it_is_better_in() -> None:
    late, tasks = CARD.differences
    told = list(verdicts(CARD, "day", ["<one>", "two"]))
    assert told == ["<one> is better than two in answer time (by 1.00 s, p 0.002)."]
    percent = (LATE, LOST, changed(TASKS, unit="%", decimals=1))
    worse = [late, changed(tasks, difference=-12.5, p_corrected=0.0001)]
    told = list(verdicts(replace(CARD, scales=percent, differences=worse), "day", ["<one>", "two"]))
    assert told[1:] == ["two is better than <one> in tasks done (by 12.5 points, p < 0.001)."]
    untold = replace(CARD, differences=[tasks])
    assert list(verdicts(untold, "day", ["<one>", "two"])) == ["Which of <one> and two is better cannot be told."]
    assert not list(verdicts(CARD, "night", ["two"]))


def test_of_many_systems_those_are_told_that_are_better_by_the_first_main_scale() -> None:
    names = ["a", "b", "c", "d", "e"]
    pairs = [(one, two) for place, one in enumerate(names) for two in names[place + 1 :]]
    apart = [Difference("day", *pair, "late", 20, -1.0, None, 0.001, 0.5 if "b" in pair else 0.01) for pair in pairs]
    found = list(verdicts(replace(CARD, differences=apart), "day", names))
    assert found == [
        "a is better than c, d and e in answer time.",
        "c is better than d and e in answer time.",
        "d is better than e in answer time.",
    ]
    alike = [changed(one, p_corrected=1.0) for one in apart]
    (told,) = verdicts(replace(CARD, differences=alike), "day", names)
    assert told == "No two of them can be told apart by answer time."


@pytest.mark.parametrize(("n", "expected"), [(1, "0"), (2, "0 and 1"), (3, "0, 1 and 2"), (5, "0, 1, 2 and 2 more")])
def test_a_list_names_the_first(n: int, expected: str) -> None:
    assert first_of(list(map(str, range(n)))) == expected


def test_differences_have_the_decimals_of_their_scale() -> None:
    in_seconds = changed(CARD.differences[0], p_corrected=0.0001, detectable=0.4321)
    known = replace(
        CARD, differences=[in_seconds], detectable="the least", terms={"Minimum detectable effect": "The least."}
    )
    printed = screen(known, 100)
    assert "p by sign flips; minimum detectable effect: the least" in printed
    assert "The least." in shown(known)
    assert re.search(r"answer time +20 +-1.00 \[-1.50,-0.50\]  0.001  < 0.001 +0.43$", printed, re.MULTILINE)
    unknown = replace(known, differences=[changed(in_seconds, detectable=None)])
    assert "detectable" not in screen(unknown, 100) + shown(unknown).lower()


def test_each_part_has_a_table_of_its_own() -> None:
    """So none is wider than a page, and what is to be known of a system stands with it once."""
    figures = {"late": Figure(1.0), "lost": Figure(3.0)}
    row = ScoreRow("day", "system", "two", 20, figures, note="2 hung up")
    html = shown(replace(CARD, rows=[row], subsets=[], differences=[], scales=(LATE, LOST)))
    main, calls = html.split("<h4>calls</h4>")
    assert "answer time s" in main
    assert "lost calls" not in main.split("<body")[1]
    assert calls.count("lost calls") >= 1
    assert html.count("2 hung up") == 1


def test_long_tables_of_subsets_are_folded() -> None:
    """So that every result follows the differences."""
    rows = [ScoreRow("day", "system", "two", 20, {"late": Figure(1.0)}, subset=f"s{n}") for n in range(13)]
    folded, opened = (shown(replace(CARD, subsets=rows[:n])) for n in (13, 12))
    assert ('<details class="subset">' in folded, '<details class="subset" open>' in opened) == (True, True)


def test_systems_stand_in_rows_and_conditions_side_by_side_before_what_is_folded() -> None:
    head = shown().partition('<h2 id="systems-title">')[2]
    table, _, folded = head.partition("<details>")
    assert [*re.findall(r'scope="col">([^<]*)<', table)] == [
        "system", "day: answer time s\xa0↓", "day: tasks done\xa0↑", "night: answer time s\xa0↓"
    ]  # fmt: skip
    cells = [re.sub(r"<[^>]*>|\s+", " ", cell).split() for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]
    assert [" ".join(cell) for cell in cells] == [
        "1.00 0.75 to 1.50", "0.750", "–", "2.00 1.75 to 2.50", "–", "3.00 2.75 to 3.50"
    ]  # fmt: skip
    assert folded.startswith("<summary><h3>by day</h3></summary>")
    alone = replace(CARD, conditions={"day": "by day"}, rows=CARD.rows[:2])
    assert "<summary><h3>by day" not in shown(alone)


def test_tables_for_a_paper_have_at_most_eight_columns_and_no_figure_twice() -> None:
    more = [Measure(f"m{number}", f"m{number}", 1, main=True) for number in range(7)]
    figures = {scale.id: Figure(float(number)) for number, scale in enumerate(more)}
    card = replace(CARD, scales=more, rows=[ScoreRow("day", "system", "two", 20, figures)])
    first, second = narrow_tables(card)
    assert (first.columns[3:], second.columns[3:]) == ([f"m{k}" for k in range(5)], ["m5", "m6"])
    assert [*first.rows[0][3:], *second.rows[0][3:]] == [f"{k}.000" for k in range(7)]
    assert (first.label, second.label) == ("tab:how-late-is-an-answer", "tab:how-late-is-an-answer-2")
    (night,) = (table for table in narrow_tables(CARD) if table.rows[0][0] == "night")
    assert night.rows == [["night", "two", "20", "3.00 [2.75, 3.50]"]]


def test_what_was_published_stands_only_where_it_has_a_figure() -> None:
    published = ScoreRow("day", "published", "paper", None, {"lost": Figure(0.5)})
    card = replace(CARD, rows=[*CARD.rows, published])
    table = rows_table(CARD.scales, [row for row in card.rows if row.condition == "day"], 100)
    assert sum(line.startswith("paper ") for line in table) == 1
    assert shown(card).count("<bdi>paper</bdi>") == 1


def test_an_outcome_stands_in_place_of_the_value() -> None:
    (plain,), (told,) = (listed(CARD, [replace(CASE, outcome=text)], {}) for text in ("", "stale value"))
    assert (plain["value"], told["value"]) == ("1.25", "stale value")


def test_medians_and_shares_are_called_what_they_are() -> None:
    scales = (changed(LATE, pools="median"), changed(LOST, pools="median"), changed(TASKS, pools="share"))
    figures = {"late": Figure(1.0, None, (0.5, 2.0)), "lost": Figure(3.0), "tasks": Figure(0.5, None, (0.2, 0.8))}
    card = Scorecard("Medians", scales, {"day": "by day"}, [ScoreRow("day", "system", "two", 20, figures)])
    printed = screen(card, 100)
    assert "median [95 % interval]" in printed
    assert "share [95 % interval]" in printed
    assert "calls (median)" in printed
    html = shown(card)
    assert "Medians and shares; intervals are of 95 %.<" in html
    assert "answer time (median) s" in html
    assert "<h4>calls (median)</h4>" in html
    (found,) = csv.DictReader(StringIO(rows_csv(card)))
    assert (found["late_median"], found["tasks_share"]) == ("1.0", "0.5")
    made = printed + html + paper_table(card).markdown()
    assert not re.search(r"\bSD\b|[Mm]eans?\b", re.sub(r"<(style|script).*?</\1>", "", made, flags=re.DOTALL))
    assert "SD: the standard deviation of single cases." in shown()


def test_a_bar_is_as_long_as_its_parts() -> None:
    marks = {"best": ("ceiling", 0.1), "x": ("baseline", 1.2)}
    drawn = bar(LATE, [BarPart("net", 0.5), BarPart("none", 0.0), BarPart("model", 0.4)], 1.5, marks)
    root = ElementTree.fromstring(drawn)
    parts = {rect.get("class"): float(rect.get("width", "nan")) for rect in root.iter(f"{SVG}rect")}
    assert parts == {"part p1": pytest.approx(238 / 3, abs=0.01), "part p3": pytest.approx(238 * 0.4 / 1.5, abs=0.01)}
    assert root.get("aria-label") == "answer time 0.90: 0.50 net, 0.00 none, 0.40 model"
    assert [path.get("class") for path in root.iter(f"{SVG}path")][1:] == ["mark ceiling", "mark other"]


def test_many_scales_stand_in_rows_that_fit_a_page() -> None:
    scales = [Measure(f"m{number}", f"scale {number}", 1, main=True) for number in range(7)]
    rows = [ScoreRow("all", "system", "a", 20, {scale.id: Figure(0.5, 0.5, (0.4, 0.6)) for scale in scales})]
    drawn = chart(scales, rows, "all")
    root = ElementTree.fromstring(drawn)
    width, height = (float(root.get(name, "nan")) for name in ("width", "height"))
    assert width <= 1072, "so no text is drawn smaller than it is"
    strips = {group.get("transform") for group in root if group.get("transform")}
    assert strips == {f"translate(0 {height * number / 3:g})" for number in range(3)}
    captions = [text.text for text in root.iter(f"{SVG}text") if str(text.text).startswith("scale")]
    assert captions == [f"scale {number}, higher is better" for number in range(7)]


def test_each_main_scale_has_a_panel_with_marks_where_the_values_are() -> None:
    rows = [row("day", name, late, tasks) for name, late, tasks in (("a", 1.0, 0.5), ("b", 2.0, None), ("c", 4.0, 1.0))]
    root = ElementTree.fromstring(chart((LATE, LOST, TASKS), rows, "by day"))
    at = [float(circle.get("cx", "nan")) for circle in root.iter(f"{SVG}circle")]
    by_row = [at[:3], at[3:]]
    assert [len(panel) for panel in by_row] == [3, 2]
    a, b, c = by_row[0]
    assert (b - a) / (c - a) == pytest.approx(1 / 3, abs=0.01)
    assert by_row[1][1] - at[0] < 2 * PANEL_WIDTH + PANEL_GAP
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert {"answer time s, lower is better", "tasks done, higher is better", "n = 20", "–"} <= set(texts)
    assert not [text for text in texts if re.search("lost", text)]
