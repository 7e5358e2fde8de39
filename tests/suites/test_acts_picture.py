"""Pictures of acts, and figures and tables of a document of acts: what they show, and that no text breaks them."""

import csv
import io
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from helpers.acts_document import PAPER, Sequence_, as_item, make_document, make_item, systems_of
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.recording.files import write_text
from fdbcore.report.scorecard import drawings
from fdbcore.report.scorecard.drawings import NAME_WIDTH, PANEL_WIDTH
from fdbcore.report.scorecard.tables import tables
from fdbcore.report.svg.text import without_controls, wrap
from fdbcore.suites.dialogue_acts.page.phrases import OPERATIONS, headline, reasons
from fdbcore.suites.dialogue_acts.page.picture import MARGIN, ROW, WIDTH, picture, standalone, style
from fdbcore.suites.dialogue_acts.page.section import confusion
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.suites.dialogue_acts.scoring.diagnosis import Diagnosis
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES
from fdbcore.suites.dialogue_acts.suite import SUITE

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


ODD_NAME: Final = '50% & $x_1$ #{a} ~^ \\end{table} <b> | `c` [d](e) *f* "g"\nnext'


def write_figures(document: dict[str, Any], folder: Path) -> list[Path]:
    """As `fdbcore score --suite --figures` writes them."""
    found = {**drawings.figures(SUITE.card(document)), **SUITE.card(document).views.figures()}
    for name, text in found.items():
        write_text(folder / name, without_controls(text))
    return [folder / name for name in found]


def markdown(document: dict[str, Any]) -> str:
    return tables(SUITE.card(document))["table.md"]


def latex(document: dict[str, Any]) -> str:
    return tables(SUITE.card(document))["table.tex"]


def renamed(name: str) -> dict[str, Any]:
    """A document one of whose systems has this name."""
    document = make_document(("plain", "other"), n=6)
    for part in ("rows", "diagnosis", "items"):
        for entry in document[part]:
            if entry["system"] == "other":
                entry["system"] = name
    return document


def test_every_figure_is_an_svg_of_its_own(tmp_path: Path) -> None:
    paths = write_figures(renamed(ODD_NAME + "\x00"), tmp_path / "figures")
    names = "case-deletion case-insertion case-smallest case-substitution matrix-1 matrix-2 matrix-3 systems-1"
    assert sorted(path.name for path in paths) == [f"{name}.svg" for name in names.split()]
    for path in paths:
        root = ElementTree.fromstring(path.read_bytes())
        assert root.find(f"{SVG}style") is not None
        ids = {element.get("id") for element in root.iter() if element.get("id")}
        assert set(re.findall(r"url\(#([^)]*)\)", path.read_text("utf-8"))) <= ids
        assert "prefers-color-scheme" not in path.read_text("utf-8")


def test_the_systems_stand_where_their_means_are(tmp_path: Path) -> None:
    document = make_document(("one", "two", "three"), n=20)
    write_figures(document, tmp_path)
    root = ElementTree.fromstring((tmp_path / "systems-1.svg").read_bytes())
    shown = [float(circle.get("cx", "nan")) for circle in root.iter(f"{SVG}circle") if circle.get("class") == "system"]
    rows = [row for row in systems_of(document) if row["group"] == "system"]
    means = sorted(row["measures"]["wed"]["value"] for row in rows)
    steps = [(high - low) / (means[-1] - means[0]) for low, high in pairwise(means)]
    drawn, others = shown[: len(means)], shown[len(means) :]
    assert len(others) == len(means)
    assert max(drawn) <= NAME_WIDTH + PANEL_WIDTH < min(others)
    assert "n = 20" in [text.text for text in root.iter(f"{SVG}text")]
    assert [(b - a) / (drawn[-1] - drawn[0]) for a, b in pairwise(drawn)] == pytest.approx(steps, abs=0.01)


def test_latex_holds_any_name_as_text() -> None:
    text = latex(renamed(ODD_NAME))
    (row,) = [line for line in text.splitlines() if r"50\%" in line]
    assert r"50\% \& \$x\_1\$ \#\{a\} \textasciitilde{}\textasciicircum{} \textbackslash{}end\{table\} " in row
    assert r"\textless{}b\textgreater{} | `c` {[}d](e)" in row
    assert row.endswith(r" \\")
    columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert columns is not None
    assert len(re.findall(r"(?<!\\)&", row)) == len(columns[1]) - 1


def test_markdown_holds_any_name_as_text() -> None:
    lines = markdown(renamed(ODD_NAME)).splitlines()
    cells = {len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")}
    assert len(cells) == 1
    assert r"\`c\` \[d\](e) \*f\*" in "".join(lines)


def test_csv_gives_back_every_figure_in_full() -> None:
    document = renamed(ODD_NAME)
    text = tables(SUITE.card(document))["table.csv"]
    rows = {row["system"]: row for row in csv.DictReader(io.StringIO(text, newline="")) if not row["subset"]}
    for row in systems_of(document):
        for name in {*MEASURES, "uniform_wed", "uniform_wlcs"} & row["measures"].keys():
            summary = row["measures"][name]
            cells = [rows[row["system"]][f"{name}_{statistic}"] for statistic in ("mean", "sd", "low", "high")]
            given = (summary["value"], summary["sd"], *(summary["ci95"] or (None, None)))
            assert [float(cell) if cell else None for cell in cells] == [*given]


@pytest.mark.parametrize("table", [markdown, latex])
def test_n_stands_in_the_caption(table: Any) -> None:
    assert "smoke: n = 6" in table(make_document(n=6)).split("tabular")[0]


def test_a_document_without_scores_has_no_figures_and_tables_without_rows() -> None:
    empty = make_document(n=2) | {"rows": [], "cases": [], "diagnosis": [], "items": [], "sets": [], "differences": []}
    assert {**drawings.figures(SUITE.card(empty)), **SUITE.card(empty).views.figures()} == {}
    assert len(tables(SUITE.card(empty))["table.csv"].splitlines()) == 1
