"""Warnings that a reader must see before any number of a document."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from fdbcore.report import counted
from fdbcore.stats import FEWEST_ITEMS, LEVEL, POWER, detectable_difference, items_needed
from fdbcore.suites.dialogue_acts.records import Annotation, Response
from fdbcore.suites.dialogue_acts.scoring.alignment import SUM_TOLERANCE
from fdbcore.suites.dialogue_acts.scoring.comparison import Compared
from fdbcore.suites.dialogue_acts.scoring.scores import condition_of
from fdbcore.suites.dialogue_acts.sets import RecordSet
from fdbcore.types.scorecard import ScoreRow

NOBODY: Final = "nobody"
"""The annotator of a system that has no annotated reply."""
RANKING_DIFFERENCE: Final = 0.05
"""In WLCS: how far apart the paper's two systems are. A set that cannot show that is too small for a ranking."""


def cautions(
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    annotators: Mapping[str, Sequence[str]],
    rows: Sequence[ScoreRow],
    compared: Sequence[Compared],
) -> list[str]:
    """The warnings of a document, one text each, from its sets and responses, its rows and its comparisons.

    annotators: of each set.
    """
    labelled = _annotated(sets, responses)
    sets = [of for of in sets if of.records]  # turns of calls need no good replies
    return [
        *(text for of in sets for text in _too_small(of, annotators[of.name], rows, compared)),
        *(text for of in sets for name in annotators[of.name] for text in _no_ceiling(of.name, name, rows)),
        *(text for of in sets for name in annotators[of.name] for text in _above_ceiling(of.name, name, rows)),
        *(text for name, own in labelled.items() for text in _importances(name, [annotation for _, annotation in own])),
        *(text for name, own in labelled.items() for text in _quotes(name, own)),
    ]


def _too_small(
    of: RecordSet, annotators: Sequence[str], rows: Sequence[ScoreRow], compared: Sequence[Compared]
) -> Iterator[str]:
    """A warning if a set is too small for a ranking, by the spread of the differences between its systems.

    If there is only one system, or none differ, their own scores are used: their spread is that of differences between
    systems whose scores correlate by a half. Turns of recorded users are too few by the users that they are of; one
    system alone does not show how far these spread.
    """
    n, what = (len(of.records), "record") if of.clusters is None else (1 + max(of.clusters), "recorded user")
    own = [one.spread for one in compared if (one.set, one.difference.measure) == (of.name, "wlcs")]
    sd = max((spread or 0.0 for spread in own), default=0.0)
    if not sd and of.clusters is None:
        conditions = [condition_of(of.name, annotator) for annotator in annotators]
        systems = [row.measures for row in rows if row.condition in conditions and row.group == "system"]
        sd = max((row[name].sd or 0.0 for row in systems for name in ("wlcs", "uniform_wlcs")), default=0.0)
    detectable = detectable_difference(sd, n)
    if n < FEWEST_ITEMS:
        yield f"{of.name}: {counted(n, what)} {'is' if n == 1 else 'are'} too few for any comparison"
    elif detectable is not None and detectable > RANKING_DIFFERENCE:
        needed = items_needed(sd, RANKING_DIFFERENCE)
        yield (
            f"{of.name}: {counted(n, what)} are too few for a ranking. Two systems must be {detectable:.2f} "
            f"apart in WLCS for a test to tell them apart (two-sided {1 - LEVEL:.0%}, power {POWER:.0%}); "
            f"to tell {RANKING_DIFFERENCE:g} it takes about {needed:,}."
        )


def _no_ceiling(of: str, annotator: str, rows: Sequence[ScoreRow]) -> Iterator[str]:
    """A warning if an annotator never labelled the reference texts, so nobody knows how well the two agree."""
    if "ceiling" not in {row.group for row in rows if row.condition == condition_of(of, annotator)}:
        whose = "nobody has" if annotator == NOBODY else f"{annotator} has not"
        yield f"{of}: no ceiling: {whose} annotated the reference texts"


def _above_ceiling(of: str, annotator: str, rows: Sequence[ScoreRow]) -> Iterator[str]:
    """A warning for each system that is nearer to the references than their own second annotation is."""
    own = [row for row in rows if row.condition == condition_of(of, annotator)]
    ceiling = next((row.measures["wed"].value for row in own if row.group == "ceiling"), None)
    for row in own:
        wed = row.measures["wed"].value
        if row.group == "system" and wed is not None and ceiling is not None and wed < ceiling:
            yield (
                f"{of}: {row.system} has a smaller WED than the ceiling: the annotations of {annotator} vary more than "
                "this system differs"
            )


def repeated_acts(sets: Sequence[RecordSet], responses: Sequence[Response], is_merged: bool) -> Iterator[str]:
    """A warning for each set, and for the responses, in which an act follows itself. is_merged: it will be merged."""
    for name, own in _annotated(sets, responses).items():
        neighbours = (pairwise(annotation.steps) for _, annotation in own)
        if count := sum(any(left.act == right.act for left, right in pairs) for pairs in neighbours):
            done = "such steps were merged" if is_merged else "such steps are scored apart"
            yield f"{name}: in {count} of {len(own)} annotations an act follows itself; {done}"


def _annotated(sets: Sequence[RecordSet], responses: Sequence[Response]) -> dict[str, list[tuple[str, Annotation]]]:
    """The annotated texts of each set, and of the responses, with their annotations."""
    found: defaultdict[str, list[tuple[str, Annotation]]] = defaultdict(list)
    for of in sets:
        found[of.name] += [(one.text, one.annotation) for record in of.records.values() for one in record.references]
    found["responses"] += [(response.text or "", one) for response in responses for one in response.annotations]
    return found


def _importances(name: str, annotations: Sequence[Annotation]) -> Iterator[str]:
    scaled = sum(annotation.scaled_from is not None for annotation in annotations)
    sums = [math.fsum(step.importance for step in annotation.steps) for annotation in annotations]
    odd = sum(abs(total - 1) > SUM_TOLERANCE for total in sums)
    for count, what in ((scaled, "were scaled to it"), (odd, "are scored as they are")):
        if count:
            yield f"{name}: the importances of {count} of {len(sums)} annotations do not sum to 1 and {what}"


def _quotes(name: str, annotated: Sequence[tuple[str, Annotation]]) -> Iterator[str]:
    """A warning if the words that annotators quote are not in the replies."""
    are_quotes = [step.words in text for text, annotation in annotated for step in annotation.steps if step.words]
    if wrong := are_quotes.count(False):
        yield f"{name}: the words of {wrong} of {len(are_quotes)} acts are not in their reply, and are not shown"
