"""What was said, in the words of the parties, on recordings whose events the test writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript
from fdbcore.types import Side, TurnEvent, TurnSettings

Line = tuple[Side, Side, str, int, int | None]


def lines(
    *events: dict[str, Any], spoken: tuple[tuple[Side, int, int], ...] = (), muted_ticks: int = 0, **parties: Any
) -> list[Line]:
    """Side, teller, text, start and end of each line, where these sides spoke in these spans of ticks."""
    turns = [TurnEvent("speech_end", side, start, end, end + 30) for side, start, end in spoken]
    meta = {"parties": parties}
    told = [{"side": "B", **event} for event in events]
    floor = [TurnEvent("turn", side, start, end, end + 30) for side, start, end in spoken]
    dialogue = Dialogue([*turns, *floor], 2000, TurnSettings(), muted_ticks=muted_ticks)
    reading = SimpleNamespace(events=told, turn_events=turns, n_ticks=2000, original_meta=meta, dialogue=dialogue)
    found = transcript(cast(Reading, reading))
    return [(line["side"], line["told_by"], line["text"], line["start_tick"], line["end_tick"]) for line in found]


def words(tick: int, of: str, text: str, **fields: object) -> dict[str, Any]:
    return {"kind": "transcript", "tick": tick, "of": of, "text": text, **fields}


def test_a_line_of_the_system_stands_where_its_audio_was_heard() -> None:
    found = lines(
        words(130, "self", "A long answer.", item="x"),
        {"kind": "interrupted", "tick": 299, "item": "x", "said_ms": 4000, "heard_ms": 1500},
        words(410, "self", "All of it.", item="y"),
        {"kind": "item", "tick": 599, "item": "y", "said_samples": 96_000},
    )
    assert found == [("B", "B", "A long answer.", 130, 299), ("B", "B", "All of it.", 400, 600)]


def test_what_it_heard_stands_at_the_speech_that_ended_since_the_line_before() -> None:
    spoken: tuple[tuple[Side, int, int], ...] = (("A", 100, 150), ("A", 170, 200), ("B", 260, 300), ("A", 400, 500))
    found = lines(
        words(250, "partner", "One two."),
        words(560, "partner", "Three."),
        words(900, "partner", "Nobody said this."),
        spoken=spoken,
    )
    assert found == [
        ("A", "B", "One two.", 100, 200),
        ("A", "B", "Three.", 400, 500),
        ("A", "B", "Nobody said this.", 900, None),
    ]


def test_a_late_transcript_stands_at_the_turn_that_its_item_names() -> None:
    turns = [
        {"kind": "system_turn", "tick": tick, "name": f"speech_{name}", "item": item, "at_ms": at_ms}
        for tick, name, item, at_ms in (
            *((110, "started", "one", 1000.0), (190, "stopped", "one", 1500.0)),
            *((240, "started", "two", 2300.0), (330, "stopped", "two", 3000.0)),
        )
    ]
    told = (words(400, "partner", "Second.", item="two"), words(420, "partner", "First.", item="one"))
    found = lines(*turns, *told, spoken=(("A", 100, 150), ("A", 230, 300)))
    assert found == [("A", "B", "First.", 100, 150), ("A", "B", "Second.", 230, 300)]


def test_pieces_make_one_line_and_a_later_form_replaces_the_one_before() -> None:
    found = lines(
        words(20, "self", "Good", start_ms=100, end_ms=300),
        words(40, "self", " day.", start_ms=350, end_ms=600),
        words(300, "self", "And then?", start_ms=2500, end_ms=2900),
        {"kind": "text", "tick": 500, "text": " Hel"},
        {"kind": "text", "tick": 508, "text": "lo"},
        words(700, "partner", "Book", item="i"),
        words(705, "partner", "Book a table.", item="i"),
        words(710, "partner", "For two.", item="i"),
        words(720, "partner", "  "),
        spoken=(("B", 15, 60),),
    )
    assert found == [
        ("B", "B", "Good day.", 10, 60),
        ("B", "B", "And then?", 250, 290),
        ("B", "B", "Hello", 500, None),
        ("A", "B", "Book a table. For two.", 700, None),
    ]


def text(tick: int, words: object, **times: object) -> dict[str, Any]:
    return {"kind": "event", "name": "text", "tick": tick, "data": {"text": words, **times}}


def test_the_texts_of_a_system_of_ones_own_lie_where_it_says_or_in_the_nearest_turn() -> None:
    spoken: tuple[tuple[Side, int, int], ...] = (("B", 100, 200), ("A", 220, 390), ("B", 400, 600), ("B", 1200, 1400))
    found = lines(
        text(95, "Before it"),  # while its audio is made
        text(110, " is said."),
        text(602, "After it was said."),
        text(650, "And more."),
        text(700, "Timed.", start_ms=12_000, end_ms=13_000.0),
        text(705, "Half timed.", start_ms=13_500),
        text(710, "Beyond the end.", start_ms=1e300, end_ms=-3),
        text(1390, "Times of another form.", start_ms="soon", end_ms=[]),
        text(1395, 5),
        text(1396, "  ", start_ms=0),
        {"kind": "event", "name": "text", "tick": 1397, "data": "no object"},
        {"kind": "event", "name": "mood", "tick": 1398, "data": {"text": "none"}},
        spoken=spoken,
    )
    assert found == [
        ("B", "B", "Before it is said.", 100, 200),
        ("B", "B", "After it was said. And more.", 400, 600),
        ("B", "B", "Timed.", 1200, 1300),
        ("B", "B", "Times of another form.", 1200, 1400),
        ("B", "B", "Half timed.", 1350, None),
        ("B", "B", "Beyond the end.", 1999, 1999),
    ]


def test_a_text_without_a_turn_lies_where_it_was_told() -> None:
    assert lines(text(40, "Nobody heard this.")) == [("B", "B", "Nobody heard this.", 40, None)]
    spoken: tuple[tuple[Side, int, int], ...] = (("B", 300, 400),)
    muted = lines(text(40, "Muted."), text(310, "Heard."), spoken=spoken, muted_ticks=200)
    assert muted == [("B", "B", "Muted.", 40, None), ("B", "B", "Heard.", 300, 400)]


def test_a_scripted_party_says_its_lines() -> None:
    party = {"kind": "scripted", "lines": [{"say": "Hello."}, {"call": "look"}, {"say": "Never said."}]}
    found = lines(
        {"kind": "line_start", "tick": 10, "side": "A", "line": 1, "cue": "at"},
        {"kind": "line_end", "tick": 60, "side": "A", "line": 1, "stopped": True},
        {"kind": "line_start", "tick": 70, "side": "A", "line": 2, "cue": "own_end"},
        {"kind": "line_end", "tick": 70, "side": "A", "line": 2, "stopped": False},
        A=party,
    )
    assert found == [("A", "A", "Hello.", 10, 60)]


def test_nobody_told_words() -> None:
    assert lines({"kind": "system_turn", "tick": 3, "name": "speech_started"}) == []
