"""The agents' own logs of a run: where the time of all its answers goes, and which logs were refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.stages import stage_table
from fdbcore.analysis.survey import Survey
from fdbcore.report import stages
from fdbcore.report.call.agent_log import refusal, why_misplaced
from fdbcore.report.format import counted
from fdbcore.report.html.values import Links

NAMED: Final = 200
"""So many refused logs are named at most."""


def section(run: Survey, link: Links, page: Callable[[Call], str | None]) -> dict[str, Any] | None:
    """The values for the section of the page; None if no call has a log.

    link: to the lists of moments. page: gives the address of a call's page.
    """
    if not run.logs:
        return None
    table, refused = stage_table(log for _, log in run.logs), _refused(run)
    return {
        "of": _of(run),
        "table": stages.section(table, link) if table else None,
        "cautions": [*(table.cautions if table else []), *_misplaced(run)],
        "what": f"no stage times for {counted(len(refused), 'call')}",
        "refused": [(call.name, page(call), why) for call, why in refused[:NAMED]],
        "more": len(refused) - NAMED,
    }


def screen_lines(run: Survey, columns: int) -> list[str]:
    """The lines for a terminal with this many columns; none if no call has a log."""
    if not run.logs:
        return []
    table, refused = stage_table(log for _, log in run.logs), _refused(run)
    told = [
        ("agents' logs", _of(run)),
        *(("!!", text) for text in [*(table.cautions if table else []), *_misplaced(run)]),
    ]
    if refused:
        (first, why), more = refused[0], f" and {len(refused) - 1:,} more" if len(refused) > 1 else ""
        told.append(("!!", f"{first.name}{more}: {why}"))
    lines = [stages.labelled(label, text, columns) for label, text in told]
    return [*lines, *(stages.screen_rows(table, columns) if table else [])]


def _of(run: Survey) -> str:
    split = sum(len(log["answers"]) for _, log in run.logs if log["events"])
    return f"{counted(split, 'answer')} of {counted(len(run.logs) - len(_refused(run)), 'call')} split at their events"


def _misplaced(run: Survey) -> list[str]:
    """The first call whose log seems to lie wrong, and how many more there are."""
    found = [(call.name, why) for call, log in run.logs if (why := why_misplaced(log)) is not None]
    more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    return [f"{name}{more}: {why}" for name, why in found[:1]]


def _refused(run: Survey) -> list[tuple[Call, str]]:
    found = ((call, refusal(log)) for call, log in run.logs)
    return [(call, why) for call, why in found if why is not None]
