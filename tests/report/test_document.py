"""The JSON document keeps to its published schema and loses nothing."""

import json
import tracemalloc
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from fakes.recordings import drawn_recording, sample_recording
from helpers.schema import validator
from jsonschema import ValidationError
from msgspec import convert

from fdbcore.analysis.score import score
from fdbcore.measures.reading import Reading
from fdbcore.report.call.document import document, page_document
from fdbcore.report.call.sections import events
from fdbcore.report.html.templates import embedded_pieces
from fdbcore.types import TurnEvent, TurnSettings

VALIDATOR = validator("replay")

DRAWINGS = {
    "every kind of event": "A 0-3 3.5-7 20-22 24-26.6 | B 2.5-5 8-9 22.1-22.4 26-29",
    "no answer": "A 0-2 13-15 |",
    "nobody speaks": "A | B 0-0.03",
}


def document_of(recording: Reading) -> dict[str, Any]:
    """The document as a reader of the file gets it."""
    written: dict[str, Any] = json.loads(json.dumps(document(recording, score(recording)), allow_nan=False))
    return written


@pytest.mark.parametrize("name", DRAWINGS)
def test_documents_keep_to_the_schema(name: str, tmp_path: Path) -> None:
    VALIDATOR.validate(document_of(drawn_recording(tmp_path / "call", DRAWINGS[name])))


def test_the_sample_keeps_to_the_schema(tmp_path: Path) -> None:
    VALIDATOR.validate(document_of(sample_recording(tmp_path / "sample")))


def test_the_schema_refuses_what_is_not_in_it(tmp_path: Path) -> None:
    content = document_of(drawn_recording(tmp_path / "call", DRAWINGS["every kind of event"]))
    assert {event["kind"] for event in content["events"]} >= {"gap", "pause", "overlap_within", "intrusion", "turn"}
    intrusion = next(event for event in content["events"] if event["kind"] == "intrusion")
    del intrusion["outcome"]
    with pytest.raises(ValidationError, match="outcome"):
        VALIDATOR.validate(content)


def test_the_events_can_be_read_back(tmp_path: Path) -> None:
    recording = sample_recording(tmp_path / "sample")
    events = document_of(recording)["events"]
    assert convert(events, list[TurnEvent]) == recording.turn_events


def test_a_page_goes_through_its_events_one_by_one(tmp_path: Path) -> None:
    """Those of a day are 100,000, of which 40 MiB would be JSON values."""
    turns = " ".join(f"{start}-{start + 0.8}" for start in range(0, 500, 2))
    recording = drawn_recording(tmp_path / "call", f"A {turns} |")
    scores = score(recording)
    held, content = document(recording, scores), page_document(recording, scores)
    assert held == {**content, "events": held["events"]}
    assert "".join(embedded_pieces(content)) == "".join(embedded_pieces(held))
    for use in (lambda: deque(embedded_pieces(content), maxlen=0), lambda: events(content["events"], TurnSettings())):
        tracemalloc.start()
        use()
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < 100 * len(held["events"])
