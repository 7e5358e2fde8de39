"""The figures that the paper measured, to show beside one's own."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import PublishedRow

CAUTION: Final = (
    "Where acts are annotated by acts.ja.txt, as in the shipped set and by --annotator, it decides borders that the "
    "paper leaves open (advice that was asked for is a Suggestion, 「分かりません」 a Commissive, and so on): such "
    "scores cannot be compared with the paper's."
)
"""The warning that stands beside these rows."""


def published() -> list[PublishedRow]:
    """The rows of the paper's Table 1: set, system, and measures with mean and, if the paper gives it, SD.

    The paper does not say how many records its sets have, nor which SD it gives, so its rows have no interval.
    """
    text = (files("fdbcore.suites.dialogue_acts") / "data" / "published.json").read_text(encoding="utf-8")
    rows: list[PublishedRow] = json.loads(text)["rows"]
    return rows
