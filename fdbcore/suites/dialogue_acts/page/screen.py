"""What `fdbcore score --suite dialogue-acts` prints after its scorecard: which acts go wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import judging_took
from fdbcore.report.scorecard.columns import NAME_COLUMNS, fitted, wrapped
from fdbcore.suites.dialogue_acts.page.card import name_of, tags_of
from fdbcore.suites.dialogue_acts.turns import live_timing
from fdbcore.suites.dialogue_acts.turns import view as turn_view

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsDocument, Diagnosis

LARGEST: Final = 3


def details(document: ActsDocument, width: int) -> list[list[str]]:
    """Blocks of lines in at most `width` columns (60 or more)."""
    blocks = turn_view.details(document["turns"], tags_of(document).names, width) if "turns" in document else []
    if "timing" in document:
        blocks.append(live_timing.details(document["timing"], width))
    if "judging" in document:
        blocks.append(list(wrapped(judging_took(document["judging"], "these replies"), width)))
    return [*blocks, *filter(None, [list(_diagnoses(document["diagnosis"], width))])]


def _diagnoses(found: Sequence[Diagnosis], width: int) -> Iterator[str]:
    for one in found:
        name, annotator = (fitted(text, NAME_COLUMNS) for text in (name_of(one), one["annotator"]))
        yield from wrapped(f"acts of {name}, annotated by {annotator}: weight per reply", width, 2)
        swapped = {f"{swap['reference']} by {swap['predicted']}": swap["weight"] for swap in one["swapped"]}
        for label, weights in (("missing", one["missing"]), ("redundant", one["redundant"]), ("swapped", swapped)):
            largest = sorted(weights.items(), key=lambda act: -act[1])[:LARGEST]
            text = ", ".join(f"{act} {weight:.3f}" for act, weight in largest) or "nothing"
            yield from wrapped(f"  {label:<11}{text}", width, 13)
