"""Which scores, and which order of systems, move with transcriber, judge and wording: sentences, and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted, judging_took
from fdbcore.report.terminal import filled

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedJudging, StagedVariant, StagedVariantRow

ASPECTS: Final = {"transcriber": "transcriber", "judge": "judge", "rubrics": "wording of the rubrics"}


def statements(document: StagedDocument, labels: Mapping[str, str]) -> Iterator[str]:
    """A sentence a variant, and one on what judging took. labels: of measures."""
    for variant in document["variants"]:
        moved = [_moved(row, labels) for row in variant["rows"] if row["moves"]]
        turned = [
            f"{labels[order['measure']]} ({order['pacing']}: {', '.join(order['main'])}; "
            f"now {', '.join(order['other'])})"
            for order in variant["orders"]
            if order["changes"]
        ]
        orders = f"; the order of systems changes by {'; '.join(turned)}" if turned else ""
        if variant["orders"] and not turned:
            orders = "; no order of systems changes"
        yield f"Another {ASPECTS[variant['aspect']]} ({variant['other']} in place of {variant['main']}) moves " + (
            f"{'; '.join(moved) or 'no score by more than its interval'}{orders}."
        )
    if document["judging"] is not None:
        yield _took(document["judging"])


def table(document: StagedDocument, labels: Mapping[str, str], width: int) -> list[list[str]]:
    """A block of lines a variant: each score by the main setup and by the other one."""
    return [_block(variant, labels, width) for variant in document["variants"] if variant["rows"]]


def _block(variant: StagedVariant, labels: Mapping[str, str], width: int) -> list[str]:
    head = f"{ASPECTS[variant['aspect']]}: {variant['other']} in place of {variant['main']}; * its interval excludes 0"
    rows = [("", "score", "main", "other", "difference [95 %]", "n"), *(_cells(row, labels) for row in variant["rows"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return [*filled(head, width).splitlines(), *(line[:width] for line in lines)]


def _cells(row: StagedVariantRow, labels: Mapping[str, str]) -> Sequence[str]:
    return (
        f"{row['system']}, {row['pacing']}",
        labels[row["measure"]],
        f"{row['main']:.2f}",
        f"{row['other']:.2f}",
        _difference(row),
        str(row["n"]),
    )


def _moved(row: StagedVariantRow, labels: Mapping[str, str]) -> str:
    named = f"{labels[row['measure']]} of {row['system']}, {row['pacing']}"
    return f"{named} from {row['main']:.2f} to {row['other']:.2f} ({_difference(row).removesuffix(' *')})"


def _difference(row: StagedVariantRow) -> str:
    limits = "" if row["ci95"] is None else f" [{row['ci95'][0]:+.2f}, {row['ci95'][1]:+.2f}]"
    return f"{row['difference']:+.2f}{limits}{' *' if row['moves'] else ''}"


def _took(judging: StagedJudging) -> str:
    reasons = counted(judging["reasons"], "reason")
    unquoted = f" {judging['unquoted']:,} of {reasons} quote neither words nor a time." if judging["unquoted"] else ""
    return judging_took(judging, "these dialogues") + unquoted
