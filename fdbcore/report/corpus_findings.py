"""What was found in the calls of a run, each to be unfolded to the calls: who never spoke, who fell silent."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Final

from fdbcore.corpus import Call
from fdbcore.measures.findings import Finding
from fdbcore.report.survey import Survey
from fdbcore.report.words import counted
from fdbcore.types import ticks_to_s

NAMED: Final = 200
"""How many calls a finding names; the list of calls has all."""


def listed(run: Survey, page: Callable[[Call], str | None]) -> str:
    """A part of the warnings for each finding, HTML. page: the address of a call's own page, if it has been made."""
    return "".join(_kind(name, calls, page) for name, calls in run.amiss().items())


def _kind(name: str, calls: list[tuple[Call, Finding]], page: Callable[[Call], str | None]) -> str:
    items = "".join(f"<li>{_link(call, finding, page(call))}</li>" for call, finding in calls[:NAMED])
    more = f"<li>and {len(calls) - NAMED:,} more</li>" if len(calls) > NAMED else ""
    return f"<details><summary>{escape(name)}: {counted(len(calls), 'call')}</summary><ul>{items}{more}</ul></details>"


def _link(call: Call, finding: Finding, address: str | None) -> str:
    """To the moment in the call's page, or to its place in the list of calls."""
    name, text = escape(call.name), escape(finding.text)
    if address is None:
        return f'<a href="#calls-title" data-filter="{name}">{name}</a>: {text}'
    return f'<a href="{escape(address)}#t={ticks_to_s(finding.start_tick):g}">{name}</a>: {text}'
