"""The JSON document of one recording: what `fdbcore replay --json` prints, and what the HTML report draws.

Its types are in `document_types`; `fdbcore.report.schemas` publishes its schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from msgspec import to_builtins

from fdbcore.analysis.settings_differences import earlier
from fdbcore.analysis.stages import stage_table
from fdbcore.measures.heard_words import heard_lines
from fdbcore.measures.live_record import live_record
from fdbcore.measures.opportunities import opportunities_in
from fdbcore.measures.placed_lines import placed_lines
from fdbcore.measures.reading import Reading
from fdbcore.recording.reader import Recording
from fdbcore.types import ticks_to_s

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Scores
    from fdbcore.recording.agent_log_types import AgentLog
    from fdbcore.report.call.document_types import Described, Document, Event, Labels, LeftOut, Unmeasured

DOCUMENT_SCHEMA: Final = "fdbcore.replay/2"


def document(reading: Reading, scores: Scores) -> Document:
    """Everything that is known of a recording and its scores, as JSON values."""
    content = page_document(reading, scores)
    return {**content, "events": list(content["events"])}


def page_document(reading: Reading, scores: Scores) -> Document:
    """The same for a page, which embeds its events one by one: they are made each time that they are gone through.

    Those of a day take 40 MiB as JSON values.
    """
    unscored = scores.get("unscored")
    content: Document = {
        "schema": DOCUMENT_SCHEMA,
        "recording": _described(reading),
        "settings": reading.meta["settings"],
        "health": reading.health,
        "lines": to_builtins(placed_lines(reading)),
        "events": cast("list[Event]", _Events(reading)),
        "measures": scores["measures"],
        "curves": scores["curves"],
        "moments": [] if unscored else to_builtins(reading.moments),
        "labels": _labels(reading),
        "findings": scores["findings"],
        "warnings": [*scores["warnings"], *earlier([reading.meta["settings"]])],
        "unscored": unscored,
        "timing": reading.meta.get("timing"),
        "held": live_record(reading),
        "marks": _marks(reading),
    }
    if lines := heard_lines(reading):
        content["transcript"] = lines
    return content


class _Events:
    """The turn events of a recording as JSON values."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __iter__(self) -> Iterator[Event]:
        unanswered = {event for event in opportunities_in(self._reading.dialogue).missed if event.kind == "pause"}
        for event, suspect in self._reading.events_with_suspects:
            yield cast(
                "Event",
                event.to_json()
                | ({"suspect": True} if suspect else {})
                | ({"unanswered": True} if not suspect and event in unanswered else {}),
            )


def told_first(content: Document | Scores) -> list[str]:
    """What must be known before any number, of a document or of scores: the findings, then the warnings."""
    return [*(finding["text"] for finding in content["findings"]), *content["warnings"]]


def _described(recording: Recording) -> Described:
    meta = recording.meta
    return {
        "name": recording.name,
        "n_ticks": recording.n_ticks,
        "length_s": ticks_to_s(recording.n_ticks),
        **_left_out(recording),
        "created": meta.get("created"),
        "status": meta["status"],
        "reason": meta.get("reason"),
        "source": meta.get("source"),
        "parties": meta.get("parties"),
        "settings_sha256": meta.get("settings_sha256"),
        "versions": meta.get("versions"),
        "platform": meta.get("platform"),
    }


def _left_out(recording: Recording) -> Unmeasured:
    """What no measure counts, and how much is measured; empty if that is all of it."""
    if not recording.left_out:
        return {}
    spans: list[LeftOut] = [
        to_builtins(span)
        | {"start_s": ticks_to_s(span.start_tick), "end_s": ticks_to_s(span.end_tick), "text": span.text}
        for span in recording.left_out
    ]
    return {"measured_s": ticks_to_s(recording.measured_ticks), "left_out": spans}


def _marks(recording: Recording) -> AgentLog | None:
    log: AgentLog | None = recording.marks
    if log is None:
        return None
    table = stage_table([log])
    return {**log, "stages": [stage.to_json() for stage in table.stages] if table else []}


def _labels(recording: Recording) -> Labels | None:
    labels = recording.labels
    if labels is None:
        return None
    return {"source": labels.source, "counts": labels.counts(), "labels": to_builtins(labels.labels)}
