"""Figures of a scores document for a paper, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore.suites.dialogue_acts.page.card import language, tags_of
from fdbcore.suites.dialogue_acts.page.picture import picture
from fdbcore.suites.dialogue_acts.page.svg import standalone
from fdbcore.suites.dialogue_acts.scoring.confusion import confusion

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsDocument


def figures(document: ActsDocument) -> dict[str, str]:
    """The figures by file name: case-KIND.svg, the examples; matrix-N.svg, act by act, one per diagnosis.

    Of several sets, the examples of set N are case-KIND-N.svg.
    """
    found, tags = {}, tags_of(document)
    places = {of["name"]: number for number, of in enumerate(document["sets"], 1)}
    for case in document["cases"]:
        item = document["items"][case["item"]]
        of = f"-{places[item['set']]}" if len(places) > 1 else ""
        found[f"case-{case['case']}{of}.svg"] = standalone(picture(item, language(document, item["set"]), tags))
    for number, diagnosis in enumerate(document["diagnosis"], 1):
        found[f"matrix-{number}.svg"] = standalone(confusion(diagnosis, tags))
    return found
