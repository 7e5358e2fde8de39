"""The JSON document of one recording: what `fdbcore replay --json` prints, and what the HTML report draws.

Its schema is `static/replay.schema.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fdbcore.labels import kept_labels
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.moments import moments
from fdbcore.measures.opportunities import opportunities
from fdbcore.measures.suspects import with_suspects
from fdbcore.recording import Recording
from fdbcore.report.certificate import held
from fdbcore.report.marks import marks_of
from fdbcore.types import ticks_to_s

DOCUMENT_SCHEMA: Final = "fdbcore.replay/2"


def document(recording: Recording, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that is known of a recording and its scores, as JSON values."""
    unscored = scores.get("unscored")
    dialogue = Dialogue.of(recording)
    events = with_suspects(dialogue.events, Dialogue.with_echo(recording).events)
    unanswered = [event for event in opportunities(dialogue).missed if event.kind == "pause"]
    return {
        "schema": DOCUMENT_SCHEMA,
        "recording": _described(recording),
        "settings": recording.meta["settings"],
        "health": recording.health,
        "events": [
            event.to_json()
            | ({"suspect": True} if suspect else {})
            | ({"unanswered": True} if not suspect and event in unanswered else {})
            for event, suspect in events
        ],
        "measures": scores["measures"],
        "curves": scores["curves"],
        "moments": [] if unscored else _moments(recording, dialogue),
        "labels": _labels(recording),
        "findings": scores["findings"],
        "warnings": scores["warnings"],
        "unscored": unscored,
        "timing": recording.meta.get("timing"),
        "held": held(recording),
        "marks": marks_of(recording),
    }


def told_first(content: Mapping[str, Any]) -> list[str]:
    """What must be known before any number, of a document or of scores: the findings, then the warnings."""
    return [*(finding["text"] for finding in content["findings"]), *content["warnings"]]


def _moments(recording: Recording, dialogue: Dialogue) -> list[dict[str, Any]]:
    return [moment.to_json() for moment in moments(dialogue, kept_labels(recording))]


def _described(recording: Recording) -> dict[str, Any]:
    known = ("created", "status", "reason", "source", "parties", "settings_sha256", "versions", "platform")
    return {
        "name": recording.name,
        "n_ticks": recording.n_ticks,
        "length_s": ticks_to_s(recording.n_ticks),
        **{key: recording.meta.get(key) for key in known},
    }


def _labels(recording: Recording) -> dict[str, Any] | None:
    labels = kept_labels(recording)
    if labels is None:
        return None
    return {"source": labels.source, "counts": labels.counts(), "labels": [label.to_json() for label in labels.labels]}
