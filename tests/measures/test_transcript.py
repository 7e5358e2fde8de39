"""What was said, in the words of the parties, on recordings whose events the test writes."""

from types import SimpleNamespace
from typing import Any, cast

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript
from fdbcore.recording.labels import KeptLabels, Label
from fdbcore.types import Side, TurnEvent, TurnSettings

Line = tuple[Side, Side, str, int, int | None]


def lines(
    *events: dict[str, Any],
    spoken: tuple[tuple[Side, int, int], ...] = (),
    muted_ticks: int = 0,
    labels: KeptLabels | None = None,
    **parties: Any,
) -> list[Line]:
    """Side, teller, text, start and end of each line, where these sides spoke in these spans of ticks, a turn each."""
    turns = [TurnEvent("speech_end", side, start, end, end + 30) for side, start, end in spoken]
    meta = {"parties": parties}
    told = [{"side": "B", **event} for event in events]
    floor = [TurnEvent("turn", side, start, end, end + 30) for side, start, end in spoken]
    dialogue = Dialogue([*turns, *floor], 2000, TurnSettings(), muted_ticks=muted_ticks)
    known = {"original_meta": meta, "dialogue": dialogue, "labels": labels}
    reading = SimpleNamespace(events=told, turn_events=turns, n_ticks=2000, **known)
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
        ("B", "B", "Times of another form.", 1300, 1350),  # which the timed ones leave
        ("B", "B", "Half timed.", 1350, None),
        ("B", "B", "Beyond the end.", 1999, None),
    ]


def test_a_text_that_ends_before_its_start_has_no_end() -> None:
    found = lines(text(400, "Back.", start_ms=2000, end_ms=1990), spoken=(("B", 100, 300),))
    assert found == [("B", "B", "Back.", 200, None)]


def test_texts_without_times_take_what_timed_ones_leave_of_their_turn() -> None:
    spoken: tuple[tuple[Side, int, int], ...] = (("B", 100, 600), ("A", 650, 700), ("B", 900, 1000))
    found = lines(
        text(110, "One."),
        text(310, "Two.", start_ms=2000, end_ms=3000),
        text(590, "Three."),
        text(1000, "Four.", start_ms=9000, end_ms=9900),  # so little is left that it is of this text, too
        text(1001, "Five."),
        text(1002, "Six."),
        spoken=spoken,
    )
    assert found == [
        ("B", "B", "One.", 100, 200),
        ("B", "B", "Two.", 200, 300),
        ("B", "B", "Three.", 300, 600),
        ("B", "B", "Four. Five. Six.", 900, 990),
    ]


def test_texts_that_overlap_or_have_no_end_leave_what_no_one_of_them_takes() -> None:
    found = lines(
        text(400, "Long.", start_ms=1000, end_ms=4000),
        text(400, "Within.", start_ms=2000, end_ms=2500),
        text(450, "Rest."),
        text(800, "From here.", start_ms=8000),
        text(990, "Before it."),
        spoken=(("B", 100, 600), ("A", 600, 700), ("B", 700, 1000)),
    )
    assert found == [
        ("B", "B", "Long.", 100, 400),
        ("B", "B", "Within.", 200, 250),
        ("B", "B", "Rest.", 400, 600),
        ("B", "B", "Before it.", 700, 800),
        ("B", "B", "From here.", 800, None),
    ]


def test_a_pause_between_texts_with_times_is_no_speech_that_they_leave() -> None:
    timed = (text(200, "One.", start_ms=1000, end_ms=2000), text(400, "Two.", start_ms=3000, end_ms=4000))
    found = lines(*timed, text(250, "Three."), spoken=(("B", 100, 200), ("B", 300, 400), ("B", 450, 500)))
    assert found == [("B", "B", "One.", 100, 200), ("B", "B", "Two.", 300, 400), ("B", "B", "Three.", 450, 500)]
    found = lines(*timed, text(260, "Three."), spoken=(("B", 100, 200), ("B", 300, 400)))
    assert found == [("B", "B", "One.", 100, 200), ("B", "B", "Three. Two.", 300, 400)]


PARTED: tuple[tuple[Side, int, int], ...] = (("B", 100, 300), ("A", 310, 350), ("B", 400, 500), ("B", 900, 1000))
"""A turn of B that a short word of A and a long pause part."""


def test_a_text_belongs_to_a_turn_that_labelled_backchannels_and_pauses_part() -> None:
    known = KeptLabels("x", [Label("A", "backchannel", 3.05, 3.6)], [])
    for tick in (90, 450, 1001):
        assert lines(text(tick, "All."), spoken=PARTED, labels=known) == [("B", "B", "All.", 100, 1000)]
    assert lines(text(1001, "Last."), spoken=PARTED) == [("B", "B", "Last.", 400, 1000)]
    assert lines(text(301, "First."), spoken=PARTED) == [("B", "B", "First.", 100, 300)]


def test_of_several_texts_of_a_parted_turn_each_has_the_parts_since_the_one_before() -> None:
    known = KeptLabels("x", [Label("A", "backchannel", 3.05, 3.6)], [])
    found = lines(text(501, "First."), text(1001, "Second."), spoken=PARTED, labels=known)
    assert found == [("B", "B", "First.", 100, 500), ("B", "B", "Second.", 900, 1000)]
    found = lines(text(95, "First."), text(395, "Second."), spoken=PARTED, labels=known)
    assert found == [("B", "B", "First.", 100, 300), ("B", "B", "Second.", 400, 1000)]


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
