"""The input health of a run in words: which calls have each finding, and how many."""

from collections.abc import Callable
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.line_effects import pooled_text
from fdbcore.analysis.survey import Survey, health_kinds
from fdbcore.report.format import counted
from fdbcore.report.glossary import HEALTH

NAMED: Final = 100
"""A finding names at most this many calls; the list of calls has all."""


def line(run: Survey) -> str:
    """The input health of all calls: "60 calls, 1 bad, 2 with a warning | echo 2, noise 1", "60 calls, all ok"."""
    examined = run.examined
    if not examined:
        return "not examined"
    verdicts = [health.verdict for _, health in examined]
    calls = counted(len(examined), "call") + (" examined" if len(examined) < len(run.scored) else "")
    called = {"bad": "bad", "warn": "with a warning"}
    worse = ", ".join(f"{verdicts.count(verdict):,} {told}" for verdict, told in called.items() if verdict in verdicts)
    listed = ", ".join(
        f"{HEALTH[kind.id]['name'].lower().rstrip('?')} {len(kind.calls):,}" for kind in health_kinds(examined)
    )
    return " | ".join(filter(None, [f"{calls}, {worse or 'all ok'}", listed]))


def panel(run: Survey, page: Callable[[Call], str | None]) -> dict[str, Any]:
    """The values for the panel of the page: each finding with its calls. page: gives the address of a call's page."""
    verdicts = {health.verdict for _, health in run.examined}
    return {
        "verdict": next((verdict for verdict in ("bad", "warn") if verdict in verdicts), "ok"),
        "line": line(run).split(" | ")[0],
        "lines": pooled_text(found) if (found := run.lines) else "",
        "kinds": [
            {
                "id": kind.id,
                "severity": kind.severity,
                "name": HEALTH[kind.id]["name"],
                "means": HEALTH[kind.id]["means"],
                "of": f"{len(kind.calls):,} of {counted(len(run.scored), 'call')}",
                "calls": [(call.name, page(call)) for call in kind.calls[:NAMED]],
                "more": len(kind.calls) - NAMED,
            }
            for kind in health_kinds(run.examined)
        ],
    }
