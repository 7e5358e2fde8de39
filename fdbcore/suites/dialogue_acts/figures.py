"""Figures of a scores document for a paper, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore.suites.dialogue_acts.card import language, tags_of
from fdbcore.suites.dialogue_acts.confusion import confusion
from fdbcore.suites.dialogue_acts.picture import picture
from fdbcore.suites.dialogue_acts.svg import standalone

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsDocument


def figures(document: ActsDocument) -> dict[str, str]:
    """The figures by file name: case-KIND.svg, the examples; matrix-N.svg, act by act, one per diagnosis."""
    found, tags = {}, tags_of(document)
    for case in document["cases"]:
        item = document["items"][case["item"]]
        found[f"case-{case['case']}.svg"] = standalone(picture(item, language(document, item["set"]), tags))
    for number, diagnosis in enumerate(document["diagnosis"], 1):
        found[f"matrix-{number}.svg"] = standalone(confusion(diagnosis, tags))
    return found
