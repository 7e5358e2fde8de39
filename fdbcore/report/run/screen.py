"""A run with many calls on a terminal: text that fits its width, every share with its interval and n."""

from collections.abc import Iterator, Sequence
from typing import Final

from fdbcore.analysis.cautions import cautions_of
from fdbcore.analysis.settings_differences import earlier
from fdbcore.analysis.survey import Survey
from fdbcore.analysis.systems import SystemCalls, measures_by_system, systems
from fdbcore.measures.measure import MomentKind
from fdbcore.report import agent_logs
from fdbcore.report.call.screen import beside_echo, with_echo
from fdbcore.report.format import clock_text, counted, measured_text
from fdbcore.report.run import systems as system_table
from fdbcore.report.run.findings import with_calls
from fdbcore.report.run.health import line
from fdbcore.report.spots import Spots
from fdbcore.report.terminal import labelled
from fdbcore.types import ticks_to_s

MOST_COLUMNS: Final = 100
SHOWN: Final = 3
"""At most this many warnings, and this many unscored calls, are shown."""


def corpus_screen(run: Survey, columns: int) -> str:
    """The text about a run: lines of at most `columns`, without a final newline."""
    width = min(columns, MOST_COLUMNS) - 1
    compared = systems(run)
    first, lines = labelled([*_head(run), *_warnings(run)], width), labelled(_lines(run, compared), width)
    table = system_table.screen(compared, width) if compared else []
    return "\n".join([*first, *table, *lines, *agent_logs.run_screen_lines(run, width)])


def _head(run: Survey) -> Iterator[tuple[str, str]]:
    (length_s, measured_s), scored = run.lengths_s, len(run.scored)
    length = f"{clock_text(length_s)} of audio{measured_text(length_s, measured_s)}"
    told = f"{length} | {scored:,} scored, {len(run.rows) - scored:,} not"
    yield counted(len(run.rows), "call"), told


def _lines(run: Survey, compared: Sequence[SystemCalls]) -> Iterator[tuple[str, str]]:
    """The labelled lines. compared: the systems; if there are any, a table shows their figures instead."""
    left_out = [row for row in run.rows if row.call.unscored is not None]
    if run.pooled:
        yield "health", line(run)
        if not compared:
            own, counting_echo = (Spots(found).lines("run") for found in (run.measures, with_echo(run.measures)))
            yield from beside_echo(own, counting_echo)
        yield from (("!!", text) for text in cautions_of(measures_by_system(run, compared)))
        yield from _worst(run)
    for number, row in enumerate(left_out[:SHOWN]):
        yield "" if number else "not scored", f"{row.call.name}: {row.call.unscored}"
    if len(left_out) > SHOWN:
        yield "", f"and {len(left_out) - SHOWN:,} more, in calls.csv"


def _warnings(run: Survey) -> Iterator[tuple[str, str]]:
    """The warnings that a reader must see before any number, with the number of calls concerned."""
    amiss = [
        with_calls(name, [finding for _, finding in calls], len(run.scored)) for name, calls in run.amiss().items()
    ]
    warned = [f"{text}: {counted(len(calls), 'call')}" for text, calls in run.warned().items()]
    for found in (amiss, warned):
        yield from (("!!", text) for text in found[:SHOWN])
        if len(found) > SHOWN:
            yield "", f"and {len(found) - SHOWN:,} more, in calls.csv"
    yield from (("!!", text) for text in earlier(run.corpus.all_settings))


def _worst(run: Survey) -> Iterator[tuple[str, str]]:
    """The worst moment of each kind."""
    kinds: list[MomentKind] = sorted(run.worst, key=lambda kind: -run.worst[kind][0].moment.severity)
    for number, kind in enumerate(kinds):
        found = run.worst[kind][0]
        at = clock_text(ticks_to_s(found.moment.start_tick))
        more = f" (and {run.found[kind] - 1:,} more of this kind)" if run.found[kind] > 1 else ""
        yield "" if number else "worst", f"{found.call.name} {at} {found.moment.text}{more}"
