"""Views of this suite beside its scorecard: which acts go wrong, on the screen, on the page, and in figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fdbcore.report import NAME_COLUMNS, fitted, judging_took, number, render, static, wrapped, xml
from fdbcore.suites.dialogue_acts.page.card import card as card_of_replies
from fdbcore.suites.dialogue_acts.page.card import language, name_of, several_conditions
from fdbcore.suites.dialogue_acts.page.phrases import PACKAGE, PARTS, mean, page_words
from fdbcore.suites.dialogue_acts.page.picture import definitions, drawing, picture, standalone, style, view
from fdbcore.suites.dialogue_acts.scoring.diagnosis import Diagnosis
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument, read
from fdbcore.suites.dialogue_acts.scoring.scores import condition_of
from fdbcore.suites.dialogue_acts.tag_sets import NO_ACT, TagSet, paper_acts, parsed
from fdbcore.suites.dialogue_acts.turns import view as turn_view
from fdbcore.types.scorecard import PageWords, Scorecard, ScoredCase, SuiteViews

OPEN: Final = 2  # diagnoses; the others are folded
MOST: Final = 6  # acts in a list
LARGEST: Final = 3  # on the screen


def card(document: Mapping[str, Any]) -> Scorecard:
    """The scorecard; a condition is a set as one annotator labels it, or a side of calls without good replies."""
    found = read(document)
    made = turn_view.card(found) if found.turns and not found.settings.annotators else card_of_replies(found)
    return replace(made, views=ActsViews(found))


class ActsViews(SuiteViews):
    """Views of acts that are missing, redundant and swapped; pictures of alignments; the page in another language."""

    def __init__(self, document: ActsDocument) -> None:
        self._document = document
        self._tags = parsed(document.tag_set)

    def details(self, width: int) -> list[list[str]]:
        """Acts that are missing, redundant and swapped, after the tables of turns and of timing."""
        blocks, judging = turn_view.details(self._document, width), self._document.judging
        if judging:
            blocks.append(list(wrapped(judging_took(judging, "these replies"), width)))
        return [*blocks, *filter(None, [list(_diagnoses(self._document.diagnosis, width))])]

    def page_words(self) -> PageWords | None:
        """The words of the page's own in `page_language`."""
        return page_words(self._document.page_language)

    def style(self) -> str:
        """The style sheet of pictures and of `section`, for light and dark."""
        return style() + static("section.css", PACKAGE)

    def legend(self) -> str:
        """A key to the picture of an alignment, as HTML, with the patterns that pictures refer to.

        Signs are the acts with their colours, and what happened to them.
        """
        acts = [(act["name"], "", act["colour"]) for act in self._tags.acts]
        signs = [*acts, *((word, f"part {word}", "") for word in PARTS.values())]
        return render("legend.html", PACKAGE, definitions=definitions(), signs=signs)

    def picture(self, case: ScoredCase) -> str:
        """The user's request and the alignment."""
        return view(case)

    def section(self) -> str:
        """For each system: what is missing, redundant and swapped, act by act, as HTML; of calls, their turns, too."""
        document = self._document
        turns = turn_view.section(document) if document.turns or document.timing else ""
        if document.turns and not document.settings.annotators:
            return turns
        several = several_conditions(document)
        return turns + render(
            "section.html",
            PACKAGE,
            diagnosis=[
                {
                    "system": name_of(found),
                    "is_open": number < OPEN,
                    "place": f"{found.set}, {found.annotator}" if several else "",
                    "drawn": confusion(found, self._tags),
                    "lists": [
                        _ranked(PARTS[part].capitalize(), _total(document, found, part), weights)
                        for part, weights in _errors(found, "{predicted} instead of {reference}").items()
                    ],
                }
                for number, found in enumerate(document.diagnosis)
            ],
        )

    def figures(self) -> dict[str, str]:
        """The figures by file name: case-KIND.svg, the examples; matrix-N.svg, act by act, one per diagnosis.

        Of several sets, the examples of set N are case-KIND-N.svg.
        """
        document, found = self._document, {}
        places = {of.name: number for number, of in enumerate(document.sets, 1)}
        for case in document.cases:
            item = document.items[case["item"]]
            of = f"-{places[item.set]}" if len(places) > 1 else ""
            drawn = picture(item, language(document, item.set), self._tags)
            found[f"case-{case['case']}{of}.svg"] = standalone(drawn)
        for nth, diagnosis in enumerate(document.diagnosis, 1):
            found[f"matrix-{nth}.svg"] = standalone(confusion(diagnosis, self._tags))
        return found


def _diagnoses(found: Sequence[Diagnosis], width: int) -> Iterator[str]:
    for one in found:
        name, annotator = (fitted(text, NAME_COLUMNS) for text in (name_of(one), one.annotator))
        yield from wrapped(f"acts of {name}, annotated by {annotator}: weight per reply", width, 2)
        for part, weights in _errors(one, "{reference} by {predicted}").items():
            largest = sorted(weights.items(), key=lambda act: -act[1])[:LARGEST]
            text = ", ".join(f"{act} {weight:.3f}" for act, weight in largest) or "nothing"
            yield from wrapped(f"  {PARTS[part]:<11}{text}", width, 13)


def _errors(found: Diagnosis, swap: str) -> dict[str, Mapping[str, float]]:
    """The weights of acts, for each part of the distance. swap: how a swap is written."""
    swapped = {swap.format(reference=one.reference, predicted=one.predicted): one.weight for one in found.swapped}
    return {"insertion": found.missing, "deletion": found.redundant, "substitution": swapped}


def _total(document: ActsDocument, found: Diagnosis, measure: str) -> float | None:
    """The figure of the table: a sum of the acts may be another float, which rounds to another number."""
    condition, name = condition_of(found.set, found.annotator), name_of(found)
    own = (row for row in document.rows if (row.condition, row.system, row.subset) == (condition, name, ""))
    return next(own).measures[measure].value


def _ranked(title: str, total: float | None, weights: Mapping[str, float]) -> dict[str, Any]:
    listed = sorted(weights.items(), key=lambda pair: -pair[1])
    return {
        "title": title,
        "total": mean(total),
        "first": [(name, mean(value)) for name, value in listed[:MOST]],
        "more": len(listed) - MOST,
    }


CELL_WIDTH, CELL_HEIGHT, LEFT, TOP = 47, 30, 116, 44


def confusion(diagnosis: Diagnosis, tags: TagSet | None = None) -> str:
    """Act by act: rows are acts of the reference, columns the acts in their place in the reply; the figures are
    weights.
    """
    acts: Sequence[str] = diagnosis.acts
    values: Sequence[Sequence[float]] = diagnosis.matrix
    top = max((value for row in values for value in row), default=0.0)
    parts = _heads(acts, tags or paper_acts())
    for i, row in enumerate(values):
        y = TOP + i * CELL_HEIGHT
        parts.append(f'<text class="end" x="{LEFT - 8}" y="{y + 20}">{_head(acts[i], "redundant")}</text>')
        for j, value in enumerate(row):
            parts.append(_cell(acts[i], acts[j], value, top, LEFT + j * CELL_WIDTH, y))
    width, height = LEFT + len(acts) * CELL_WIDTH, TOP + len(acts) * CELL_HEIGHT
    about = f"Acts of the reference against acts of {diagnosis.system}"
    return drawing("".join(parts), width + 2, height + 2, about, "matrix")


def _heads(acts: Sequence[str], tags: TagSet) -> list[str]:
    middle = LEFT + len(acts) * CELL_WIDTH / 2
    return [
        f'<text class="caption middle" x="{number(middle)}" y="14">the reply has</text>',
        f'<text class="caption end" x="{LEFT - 8}" y="{TOP - 10}">the reference has</text>',
        *(
            f'<text class="middle small" x="{number(LEFT + (j + 0.5) * CELL_WIDTH)}" y="{TOP - 10}">'
            f"{_head(tags.by_name[act]['short'] if act in tags.by_name else act, 'missing')}</text>"
            for j, act in enumerate(acts)
        ),
    ]


def _head(act: str, none: str) -> str:
    return none if act == NO_ACT else xml(act)


def _cell(reference: str, reply: str, value: float, top: float, x: float, y: float) -> str:
    if reference == reply == NO_ACT:
        return ""
    share = value / top if top else 0.0
    css = "cell same" if reference == reply else "cell"
    size = f'width="{CELL_WIDTH - 2}" height="{CELL_HEIGHT - 2}"'
    text = f'<text class="middle small" x="{x + CELL_WIDTH / 2:g}" y="{y + 20}">{mean(value)}</text>' if value else ""
    return (
        f"<g><title>{xml(reference)} in the reference, {xml(reply)} in the reply: {mean(value)}</title>"
        f'<rect class="{css}" x="{x + 1}" y="{y + 1}" {size} fill-opacity="{0.04 + 0.7 * share:.3f}"/>'
        + (f'<rect class="frame" x="{x + 1}" y="{y + 1}" {size}/>' if reference == reply else "")
        + f"{text}</g>"
    )
