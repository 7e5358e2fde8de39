"""The picture of an alignment, read back from its SVG."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from helpers.acts_document import PAPER, Sequence_, as_item, make_item
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.report.svg.text import wrap
from fdbcore.suites.dialogue_acts.page.picture import MARGIN, ROW, WIDTH, picture, standalone, style
from fdbcore.suites.dialogue_acts.page.section import confusion
from fdbcore.suites.dialogue_acts.page.words import OPERATIONS, headline, reasons
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.suites.dialogue_acts.scoring.diagnosis import Diagnosis

SVG: Final = "{http://www.w3.org/2000/svg}"
HOSTILE: Final = '</script><script>alert("x")</script>&amp;\'<!--]]>\u202eRTL שלום\x00\x1b\ud800'


def sequences(most: int = 6) -> st.SearchStrategy[Sequence_]:
    """Acts with importances that sum to 1."""

    def scaled(pairs: list[tuple[str, int]]) -> Sequence_:
        total = sum(weight for _, weight in pairs)
        return [(act, weight / total) for act, weight in pairs]

    steps = st.tuples(st.sampled_from([str(act) for act in ACTS]), st.integers(1, 20))
    return st.lists(steps, min_size=1, max_size=most).map(scaled)


class Drawn:
    """What stands in a picture: the blocks of both rows, the links, and the pieces of the cost."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.root = ElementTree.fromstring(picture(as_item(item)))
        groups = [group for group in self.root.iter(f"{SVG}g") if "block" in group.get("class", "")]
        described = [(group.find(f"{SVG}title"), group) for group in groups]
        blocks = [group for title, group in described if title is not None]
        rows = sorted({self.height(group) for group in blocks})
        self.rows = [[group for group in blocks if self.height(group) == row] for row in rows]
        self.cost = [group for title, group in described if title is None]
        self.links = [path.get("class", "") for path in self.root.iter(f"{SVG}path") if "link" in path.get("class", "")]
        self.texts = [text.text or "" for text in self.root.iter(f"{SVG}text")]

    @staticmethod
    def fill(group: ElementTree.Element) -> ElementTree.Element:
        found = group.find(f"{SVG}rect")
        assert found is not None
        return found

    def height(self, group: ElementTree.Element) -> float:
        return float(self.fill(group).get("y", "nan"))

    def names(self, row: int) -> list[str]:
        return [(group.find(f"{SVG}title").text or "").split()[0] for group in self.rows[row]]  # type: ignore[union-attr]

    def fates(self, row: int) -> list[str]:
        return [group.get("class", "").split()[1] for group in self.rows[row]]

    def widths(self, groups: list[ElementTree.Element]) -> list[float]:
        return [float(self.fill(group).get("width", "nan")) for group in groups]


@given(sequences(), sequences())
def test_every_act_of_both_stands_in_the_picture_as_wide_as_it_is_important(
    reference: Sequence_, reply: Sequence_
) -> None:
    item = make_item(reference, reply)
    drawn = Drawn(item)
    unit = ROW / max(1.0, item["scores"]["wed"])
    for row, sequence in enumerate((reference, reply)):
        assert drawn.names(row) == [act for act, _ in sequence]
        assert drawn.widths(drawn.rows[row]) == pytest.approx([weight * unit for _, weight in sequence], abs=0.01)
    assert sum(drawn.widths(drawn.cost)) == pytest.approx(item["scores"]["wed"] * unit, abs=0.2)
    for group, width in zip(drawn.cost, drawn.widths(drawn.cost), strict=True):
        label = group.findtext(f"{SVG}text")
        assert label is None or float(label) * unit == pytest.approx(width, abs=0.0006 * ROW)
    edges = [float(Drawn.fill(group).get("x", "nan")) for row in drawn.rows for group in row]
    assert all(MARGIN <= x <= WIDTH - MARGIN for x in edges)


@given(sequences(), sequences())
def test_links_and_signs_say_what_became_of_each_act(reference: Sequence_, reply: Sequence_) -> None:
    item = make_item(reference, reply)
    drawn = Drawn(item)
    became = Counter(step["operation"] for step in item["path"])
    assert Counter(css.split()[1] for css in drawn.links) == Counter(
        {kind: count for kind, count in (("match", became["match"]), ("swap", became["substitution"])) if count}
    )
    for row, side in enumerate(("reference_index", "prediction_index")):
        expected = {
            step.get(side): OPERATIONS[step["operation"]] for step in item["path"] if step.get(side) is not None
        }
        assert drawn.fates(row) == [expected[index] for index in range(len(expected))]


def test_what_became_of_an_act_does_not_show_in_colour_alone() -> None:
    rules: dict[str, str] = {}
    for found in re.finditer(r"\.(\w+) \.over \{([^}]*)\}", style()):
        rules.setdefault(found[1], found[2])  # what follows is for the dark

    assert len({rules[fate] for fate in ("missing", "redundant", "swapped")}) == 3
    assert "dasharray" in rules["missing"]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            0,
            ["Distance (WED) 0.85 = 0.85 missing", "0.85 of the reference is missing: Commissive 0.60, Question 0.25."],
        ),
        (1, ["Distance (WED) 1.05 = 0.35 missing + 0.70 redundant", "0.70 of the reply is redundant: Request 0.70."]),
        (2, ["Distance (WED) 1.00 = 1.00 swapped", "In common, in the same order: nothing (weighted LCS 0.00)."]),
        (3, ["Distance (WED) 0.00", "Every act is there, in order, and nothing else: a distance of 0."]),
    ],
)
def test_the_words_say_why_the_score_is_what_it_is(case: int, expected: list[str]) -> None:
    reference, reply = PAPER[case]
    item = make_item(reference, reply)
    told = [headline(as_item(item)), *reasons(as_item(item))]
    assert "cheapest" not in told[-1]
    assert {*expected} <= {*told}
    said = re.sub(r"\s", "", "".join(Drawn(item).texts))
    assert all(re.sub(r"\s", "", text) in said for text in told)


def test_an_overlap_that_the_cheapest_alignment_does_not_keep_is_told() -> None:
    reference = [("Answer", 0.5), ("Inform", 0.2), ("Inform", 0.1), ("Suggestion", 0.15), ("Question", 0.05)]
    reply = [("Suggestion", 0.45), ("Inform", 0.3), ("Check-Question", 0.22), ("Request", 0.03)]
    text = reasons(as_item(make_item(reference, reply)))[-1]
    assert "0.45 of the reply (weighted LCS)" in text
    assert text.endswith("the cheapest alignment, drawn here, keeps 0.30 of the reply.")


def test_a_reply_that_was_not_given_leaves_all_missing() -> None:
    drawn = Drawn(make_item([("Commissive", 0.7), ("Inform", 0.3)], [], response_text=None))
    assert drawn.fates(0) == ["missing", "missing"]
    assert len(drawn.rows) == 1
    assert "(no reply)" in drawn.texts


def test_sums_other_than_1_stay_within_the_picture() -> None:
    item = make_item(*PAPER[1])
    item["reference"]["steps"][0]["importance"] = 1.4
    widths = Drawn(item).widths(Drawn(item).rows[0])
    assert sum(widths) <= ROW + 0.01


@given(st.text(max_size=120))
def test_any_text_is_wrapped_whole_and_well_formed(text: str) -> None:
    item = make_item(*PAPER[0], user=text, response_text=text + HOSTILE)
    root = ElementTree.fromstring(standalone(picture(as_item(item), lang='"><x')).encode("utf-8"))
    said = [found.text or "" for found in root.iter(f"{SVG}text") if found.get("class") == "said"]
    joined = [character for line in said for character in line if not unseen(character)]
    kept = [character for character in text if not unseen(character)]
    assert joined[: len(kept)] == kept


def unseen(character: str) -> bool:
    """Whether it is space, or stands for what XML cannot hold (or is that)."""
    return character.isspace() or character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cs", "Cn")


@given(st.text(alphabet="あ漢ア、。」「（）！a1 ッー", max_size=200), st.integers(4, 30))
def test_lines_fit_and_break_where_japanese_may_break(text: str, most_em: int) -> None:
    lines = wrap(text, most_em)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        wide = sum(1 if unicodedata.east_asian_width(c) in "WFA" else 0.5 for c in line)
        assert wide <= most_em + 1


def test_closing_marks_never_begin_a_line() -> None:
    text = "駅の北口の「麺処はる」が近くて、夜九時まで開いています。ご案内しましょうか？" * 3
    for most_em in range(6, 30):
        lines = wrap(text, most_em)
        assert not any(line[0] in "、。」？" for line in lines)
        assert not any(line[-1] in "「" for line in lines)


def test_a_matrix_shows_every_weight() -> None:
    acts = [*ACTS, "none"]
    values = [[(8 * i + j + 1) / 1000 for j in range(8)] for i in range(8)]
    root = ElementTree.fromstring(confusion(Diagnosis("set", HOSTILE, "x", "system", acts, values, {}, {}, [])))
    shown = [text.text for text in root.iter(f"{SVG}text") if "small" in text.get("class", "")][8:]
    assert shown == [f"{value:.3f}" for row in values for value in row][:-1]  # none against none is nothing
