"""Tables 1 and 2 of the paper, in its own form: what systems score on each set, and a case of each kind of error."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fdbcore.report import PaperTable, csv_text
from fdbcore.suites.dialogue_acts.page.phrases import acts_of, mean
from fdbcore.suites.dialogue_acts.records import Step
from fdbcore.suites.dialogue_acts.scoring.diagnosis import cases
from fdbcore.suites.dialogue_acts.scoring.document import PUBLISHED, ActsDocument
from fdbcore.types.scorecard import Figure

WITH_SD: Final = ("wlcs", "wed")
PARTS: Final = ("deletion", "insertion", "substitution")
SUMMARIES: Final = {
    "insertion": "greatest insertion cost",
    "deletion": "greatest deletion cost",
    "substitution": "greatest substitution cost",
    "smallest": "smallest distance",
}
CAPTIONS: Final = (
    "Weighted LCS and weighted edit distance (WED) of replies, and the parts of WED; SD: of single replies",
    "A case of each kind, over all sets and systems",
)


def paper_files(document: ActsDocument) -> dict[str, str]:
    """Both tables as Markdown, LaTeX (booktabs) and CSV, by file name. The CSV of Table 1 has the figures in full."""
    rows = list(_rows(document))
    first = PaperTable(
        CAPTIONS[0],
        ["Set made by", "System", "WLCS (SD)", "WED (SD)", *(part.capitalize() for part in PARTS)],
        "llrrrrr",
        [[made, system, *_cells(measures)] for made, system, _, measures in rows],
        "tab:acts-scores",
    )
    second = PaperTable(
        CAPTIONS[1],
        ["ID", "Case", "Input", "Reference", "Its acts", "Reply", "Its acts", "System"],
        "lppppppl",
        [row[:-2] for row in _case_rows(document)],
        "tab:acts-cases",
    )
    full = [[made, system, n, *_values(measures)] for made, system, n, measures in rows]
    columns = [f"{name}_{what}" for name in WITH_SD for what in ("mean", "sd")]
    return {
        "table1.md": first.markdown(),
        "table1.tex": first.latex(),
        "table1.csv": csv_text(["set_made_by", "system", "n", *columns, *PARTS], full),
        "table2.md": second.markdown(),
        "table2.tex": second.latex(),
        "table2.csv": csv_text(
            "id case input reference reference_acts reply reply_acts system set record".split(), _case_rows(document)
        ),
    }


def _rows(document: ActsDocument) -> Iterator[tuple[str, str, int | None, Mapping[str, Figure]]]:
    """The maker of the set, system, n and measures of each row: those of this document, then the published ones.

    The systems of each set stand in the order in which the first set has them.
    """
    own = [row for row in document.rows if row.group == "system" and not row.subset]
    sets, systems = dict(_sets(document)), list(dict.fromkeys(row.system for row in own))
    for row in sorted(own, key=lambda row: (sets[row.condition][0], systems.index(row.system))):
        yield sets[row.condition][1], row.system, row.n, row.measures
    for row in (row for row in document.rows if row.group == "published"):
        yield f"{row.condition.removeprefix(PUBLISHED)} (paper)", row.system, None, row.measures


def _sets(document: ActsDocument) -> Iterator[tuple[str, tuple[int, str]]]:
    """Of each condition the place of its set, and the makers of this; its name too if they made several, and its
    annotator if that is another.
    """
    makers = [", ".join(of.generators) or of.name for of in document.sets]
    for place, (of, maker) in enumerate(zip(document.sets, makers, strict=True)):
        name = maker if makers.count(maker) == 1 else f"{maker} ({of.name})"
        for condition, annotator in zip(of.conditions, of.annotators, strict=True):
            yield condition, (place, name if annotator == maker else f"{name}, annotated by {annotator}")


def _cells(measures: Mapping[str, Figure]) -> list[str]:
    wlcs, wlcs_sd, wed, wed_sd, *parts = map(mean, _values(measures))
    return [f"{wlcs} ({wlcs_sd})", f"{wed} ({wed_sd})", *parts]


def _values(measures: Mapping[str, Figure]) -> Iterator[float | None]:
    for name in WITH_SD:
        yield from (measures[name].value, measures[name].sd)
    for name in PARTS:
        yield measures[name].value


def _case_rows(document: ActsDocument) -> Iterator[list[str]]:
    for number, case in enumerate(cases(document.items), 1):
        item = document.items[case["item"]]
        cost = item.scores["wed" if case["case"] == "smallest" else case["case"]]
        asked, given = map(_acts, acts_of(item))
        texts = item.user, item.reference.text, asked, item.response.text or "", given, item.system
        yield [str(number), f"{SUMMARIES[case['case']]} ({cost:.2f})", *texts, item.set, item.id]


def _acts(steps: Sequence[Step]) -> str:
    pairs = (f"({step.act}, {step.importance:.2f})" for step in steps)
    return f"[{', '.join(pairs)}]"
