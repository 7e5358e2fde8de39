"""The key figures of a call, each with a sentence that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdbcore.report.comparison import limits
from fdbcore.report.html.values import KeyFigure
from fdbcore.report.spots import Spots

if TYPE_CHECKING:
    from fdbcore.analysis.call_verdicts import CallVerdict
    from fdbcore.measures.findings import Finding


def lead(measures: Spots, findings: Sequence[Finding]) -> str:
    """The call in one sentence, after the findings about a silent side."""
    never = [f"{finding['name']}. " for finding in findings if finding["id"] in ("never_spoke", "fell_silent")]
    return "".join([*never, *measures.lines("call lead").values()])


def figures(measures: Spots, verdict: CallVerdict | None = None) -> list[KeyFigure]:
    """The key figures, each with a sentence that explains it. verdict: what gates say of the call."""
    return [tile.figure._replace(limits=limits.of_call(verdict, tile.gated)) for tile in measures.tiles("call tile")]
