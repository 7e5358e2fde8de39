"""The known defects of the published measures, as text: a line for each that is shown."""

from __future__ import annotations

from fdbcore.report.terminal import filled
from fdbcore.suites.fdb_v3.terms import PUBLISHED
from fdbcore.types.scorecard import Scorecard


def defects(card: Scorecard, width: int) -> list[str]:
    """Lines of at most `width` columns. In brackets: the recordings that a measure is taken over."""
    shown = {scale.id for scale in card.scales}
    lines = ["as published, with its known defects [over which recordings]:"]
    for each in PUBLISHED.values():
        if f"compat_{each.id}" in shown:
            lines += filled(f"  {each.label} [{each.over}]: {each.meaning}", width, "    ").splitlines()
    return lines
