"""Which scores, and which order of systems, move with transcriber, judge and wording: a section of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row
from fdbcore.report.scorecard.screen import interval_text
from fdbcore.suites.staged.card import LABELS, heading
from fdbcore.suites.staged.variant_screen import ASPECTS

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedOrder, StagedVariantRow


def section(document: StagedDocument) -> str:
    """For each variant a table of its scores, and one of the orders of systems, as HTML; "" if there are none."""
    if not document["variants"]:
        return ""
    variants = [
        {
            "title": f"{ASPECTS[variant['aspect']].capitalize()}: {variant['other']} in place of {variant['main']}",
            "main": variant["main"],
            "other": variant["other"],
            "rows": list(map(_row, variant["rows"])),
            "orders": list(map(_order, variant["orders"])),
        }
        for variant in document["variants"]
    ]
    return render("variants.html", __package__, variants=variants)


def _row(row: StagedVariantRow) -> Row:
    head = Cell("", heading(row["pacing"], row["examiner"]), names=(row["system"],))
    limits = "" if row["ci95"] is None else interval_text(row["ci95"], "+")
    difference = Cell(f"{row['difference']:+.2f}", limits, is_strong=True)
    verdict = "moves" if row["moves"] else "cannot be told"
    scores = (f"{row['main']:.2f}", f"{row['other']:.2f}")
    return head, [LABELS[row["measure"]], *scores, difference, str(row["n"]), verdict]


def _order(order: StagedOrder) -> Row:
    place = heading(order["pacing"], order["examiner"])
    orders = (", ".join(order["main"]), ", ".join(order["other"]))
    return Cell(LABELS[order["measure"]], place), [*orders, "changes" if order["changes"] else "the same"]
