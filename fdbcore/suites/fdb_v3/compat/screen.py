"""The known defects of the published measures, as text: a line for each that is shown."""

from __future__ import annotations

from fdbcore.report.terminal import filled
from fdbcore.suites.fdb_v3.compat.terms import TERMS
from fdbcore.types.scorecard import Scorecard


def defects(card: Scorecard, width: int) -> list[str]:
    """Lines of at most `width` columns. In brackets: the recordings that a measure is taken over."""
    shown = {scale.id for scale in card.scales}
    lines = ["as published, with its known defects [over which recordings]:"]
    for term in TERMS:
        if f"compat_{term.name}" in shown:
            lines += filled(f"  {term.title} [{term.over}]: {term.defect}", width, "    ").splitlines()
    return lines
