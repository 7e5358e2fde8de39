"""The turn detector: dialogues drawn by hand, a naive oracle, and properties that hold for any activity."""

from itertools import pairwise

import numpy as np
import pytest
from helpers.drawn import Activity, activity
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from oracles.turns import naive_turns

from fdbcore.errors import FrameError
from fdbcore.session.turns import TurnDetector, detect_turns, sweep_turns
from fdbcore.types import Side, TurnEvent, TurnSettings, other_side

# Each dialogue: who speaks when (s), and what a reader of the table in fdbcore/session/turns.py must get.
DIALOGUES = {
    "a short contribution in a pause": (
        "A 0-3 3.8-6 | B 3.2-3.6",
        "pause A 3-3.8 other_spoke; intrusion B 3.2-3.6 silence kept",
    ),
    "a short answer": ("A 0-3 5-6 | B 3.4-3.8", "gap B 3-3.4 fto=0.4; turn A 0-3; gap A 3.8-5 fto=1.2; turn B 3.4-3.8"),
    "the holder ends soon after a short overlap": (
        "A 2-2.5 | B 0-2.9",
        "overlap_between A 2-2.9 fto=-0.9 stretches=2-2.5; intrusion A 2-2.5 overlap taken stop=0.9; turn B 0-2.9",
    ),
    "a backchannel": ("A 2-2.5 | B 0-5", "overlap_within A 2-2.5; intrusion A 2-2.5 overlap kept"),
    "an interruption that fails though the holder halts": (
        "A 0-3 3.5-7 | B 2.5-5",
        "pause A 3-3.5 other_spoke; overlap_within B 2.5-3; overlap_within B 3.5-5; "
        "intrusion B 2.5-5 overlap kept stop=0.5",
    ),
    "two who start at nearly the same time": (
        "A 0-3 6.1-8 | B 6-7.5",
        "gap B 3-6 fto=3; turn A 0-3; overlap_between A 6.1-7.5 fto=-1.4 stretches=6.1-7.5; "
        "intrusion A 6.1-? overlap taken simultaneous stop=1.4; turn B 6-7.5",
    ),
    "smooth alternation": (
        "A 0-2 5-7 | B 2.3-4.6",
        "gap B 2-2.3 fto=0.3; turn A 0-2; gap A 4.6-5 fto=0.4; turn B 2.3-4.6",
    ),
    "a plain pause": ("A 0-2 2.5-4 |", "pause A 2-2.5"),
    "both start in the same tick": (
        "A 1-4 | B 1-1.5",
        "overlap_within B 1-1.5; intrusion B 1-1.5 overlap kept simultaneous",
    ),
    "an answer without a gap": ("A 0-2 | B 2-4", "gap B 2-2 fto=0; turn A 0-2"),
    "two backchannels in a row": (
        "A 0-8 | B 2-2.4 2.9-3.3",
        "overlap_within B 2-2.4; intrusion B 2-2.4 overlap kept; "
        "overlap_within B 2.9-3.3; intrusion B 2.9-3.3 overlap kept",
    ),
    "a short answer that goes on": ("A 0-2 | B 2.3-2.7 3.2-5", "gap B 2-2.3 fto=0.3; turn A 0-2; pause B 2.7-3.2"),
    "no answer, then the holder goes on": ("A 0-2 13-15 |", "no_response B 2-12; pause A 2-13"),
    "an answer after the window": ("A 0-2 | B 13-15", "no_response B 2-12; gap B 2-13 fto=11; turn A 0-2"),
    "an interruption that is yielded to": (
        "A 0-3.4 | B 3-6",
        "overlap_between B 3-3.4 fto=-0.4 stretches=3-3.4; intrusion B 3-? overlap taken stop=0.4; turn A 0-3.4",
    ),
    "a terminal overlap": (
        "A 0-3.1 | B 3-5",
        "overlap_between B 3-3.1 fto=-0.1 stretches=3-3.1; intrusion B 3-? overlap taken terminal stop=0.1; "
        "turn A 0-3.1",
    ),
    "the old holder comes back shortly": (
        "A 0-3 3.5-3.8 | B 3.2-6",
        "gap B 3-3.2 fto=0.2; overlap_within A 3.5-3.8; intrusion A 3.5-3.8 overlap kept; turn A 0-3",
    ),
    "the old holder speaks when the floor changes": (
        "A 0-3 4-4.3 | B 3.2-6",
        "gap B 3-3.2 fto=0.2; turn A 0-3; overlap_within A 4-4.3; intrusion A 4-4.3 overlap kept",
    ),
    "both end in the same tick": ("A 0-4 | B 2.5-4", "overlap_within B 2.5-4; intrusion B 2.5-4 overlap kept stop=1.5"),
    "an interruption that fails": ("A 0-6 | B 2-4", "overlap_within B 2-4; intrusion B 2-4 overlap kept"),
    "a halt too short to be yielding": (
        "A 0-3 3.3-6 | B 2.5-5",
        "pause A 3-3.3 other_spoke; overlap_within B 2.5-3; overlap_within B 3.3-5; intrusion B 2.5-5 overlap kept",
    ),
    "the holder ends before a long overlap does": (
        "A 0-3.7 | B 2.5-4",
        "overlap_between B 2.5-3.7 fto=-1.2 stretches=2.5-3.7; intrusion B 2.5-4 overlap taken stop=1.2; turn A 0-3.7",
    ),
    "the holder ends first but is soon back": (
        "A 0-3.7 4.1-6 | B 2.5-4",
        "overlap_between B 2.5-3.7 fto=-1.2 stretches=2.5-3.7; intrusion B 2.5-4 overlap taken; turn A 0-3.7; "
        "gap A 4-4.1 fto=0.1; turn B 2.5-4",
    ),
    "noise and bridged silences": ("A 0-1 1.05-1.1 1.29-2 | B 0.5-0.55", ""),
}


def written(event: TurnEvent) -> str:
    """An event as a person writes it: `gap B 3-3.4 fto=0.4`."""
    words = [event.kind, event.side, f"{event.start_tick / 100:g}-"]
    words[2] += "?" if event.end_tick is None else f"{event.end_tick / 100:g}"
    words += [name for name in ("onset", "outcome") if getattr(event, name)]
    words = [getattr(event, word) if word in ("onset", "outcome") else word for word in words]
    words += [name for name in ("other_spoke", "simultaneous", "terminal") if getattr(event, name)]
    if event.fto_ticks is not None:
        words.append(f"fto={event.fto_ticks / 100:g}")
    if event.stretches is not None:
        words.append("stretches=" + ",".join(f"{start / 100:g}-{end / 100:g}" for start, end in event.stretches))
    if event.stop_ticks is not None:
        words.append(f"stop={event.stop_ticks / 100:g}")
    return " ".join(words)


def floor(events: list[TurnEvent]) -> list[str]:
    """What is known of the floor before the end of the recording."""
    return sorted(written(e) for e in events if not e.kind.startswith("speech") and not e.censored)


@pytest.mark.parametrize("name", DIALOGUES)
def test_dialogues_drawn_by_hand(name: str) -> None:
    drawing, expected = DIALOGUES[name]
    a, b = activity(drawing)
    assert floor(naive_turns(a.tolist(), b.tolist())) == sorted(filter(None, expected.split("; ")))
    assert floor(detect_turns(a, b)) == sorted(filter(None, expected.split("; ")))


def test_what_the_end_of_the_recording_decides_is_censored() -> None:
    a, b = activity("A 0-2 | B 2.3-2.8", tail_s=0)
    events = detect_turns(a, b)
    assert [written(e) for e in events if not e.censored] == [
        "speech_start A 0-?",
        "speech_end A 0-2",
        "speech_start B 2.3-?",
    ]
    assert {written(e) for e in events if e.censored} == {
        "speech_end B 2.3-2.8",
        "gap B 2-2.3 fto=0.3",
        "turn A 0-2",
        "turn B 2.3-2.8",
    }


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Activity, Activity]:
    """Two tracks of runs from one tick to several seconds, mostly near the limits that the settings draw."""
    lengths = st.one_of(
        st.integers(1, 30), st.sampled_from([5, 6, 19, 20, 49, 50, 51, 99, 100, 101]), st.integers(1, 260)
    )

    def track() -> list[bool]:
        runs = draw(st.lists(lengths, max_size=24))
        speaking = draw(st.booleans())
        return [speaking ^ bool(index % 2) for index, length in enumerate(runs) for _ in range(length)]

    a, b = track(), track()
    n = max(len(a), len(b)) + draw(st.integers(0, 150))
    return tuple(np.array(t + [False] * (n - len(t)), dtype=np.bool_) for t in (a, b))  # type: ignore[return-value]


SETTINGS = st.one_of(
    st.just(TurnSettings()),
    st.builds(
        lambda speech, silence, *rest: TurnSettings(speech * 10, max(speech, silence) * 10, *(x * 10 for x in rest)),
        *[st.integers(1, 30), st.integers(1, 60), st.integers(1, 150), st.integers(1, 150), st.integers(1, 150)],
        *[st.integers(0, 60), st.integers(0, 60), st.integers(1, 500)],
    ),
)


def order(event: TurnEvent) -> tuple[object, ...]:
    return event.known_tick, event.kind, event.side, event.start_tick, str(event)


def stream(detector: TurnDetector, a: Activity, b: Activity, delay: int = 0) -> list[TurnEvent]:
    """Push tick by tick; every event must be known in the very tick that it says."""
    events = []
    for tick, (active_a, active_b) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        new = detector.push(tick, active_a, active_b)
        assert all(event.known_tick == tick + delay and not event.censored for event in new)
        events += new
    tail = detector.finish()
    assert all(event.censored and event.known_tick >= len(a) + delay for event in tail)
    return events + tail


def check_against_oracle(tracks: tuple[Activity, Activity], settings: TurnSettings, delay: int) -> None:
    a, b = tracks
    expected = naive_turns(a.tolist(), b.tolist(), settings, delay)
    streamed = stream(TurnDetector(settings, delay), a, b, delay)
    assert sorted(streamed, key=order) == sorted(expected, key=order)
    assert detect_turns(a, b, settings, delay) == streamed


@given(conversations(), SETTINGS, st.integers(0, 30))
def test_streaming_equals_the_naive_oracle(
    tracks: tuple[Activity, Activity], settings: TurnSettings, delay: int
) -> None:
    check_against_oracle(tracks, settings, delay)


@pytest.mark.fuzz
@given(conversations(), SETTINGS, st.integers(0, 30))
def test_streaming_equals_the_naive_oracle_at_length(
    tracks: tuple[Activity, Activity], settings: TurnSettings, delay: int
) -> None:
    check_against_oracle(tracks, settings, delay)


def both_speak(events: list[TurnEvent], n: int) -> tuple[Activity, Activity]:
    """IPU tracks of both sides, from `speech_end`."""
    tracks = {"A": np.zeros(n, dtype=np.bool_), "B": np.zeros(n, dtype=np.bool_)}
    for event in events:
        if event.kind == "speech_end":
            tracks[event.side][event.start_tick : event.end_tick] = True
    return tracks["A"], tracks["B"]


@given(conversations())
def test_every_overlap_and_every_inner_silence_is_told_once(tracks: tuple[Activity, Activity]) -> None:
    events = detect_turns(*tracks)
    ipu_a, ipu_b = both_speak(events, len(tracks[0]))
    told = np.zeros(len(ipu_a), dtype=int)
    silence = np.zeros(len(ipu_a), dtype=int)
    for event in events:
        if event.kind == "overlap_within":
            told[event.start_tick : event.end_tick] += 1
        for start, end in event.stretches or ():
            told[start:end] += 1
        if event.kind in ("pause", "gap"):
            silence[event.start_tick : event.end_tick] += 1
    assert np.array_equal(told, (ipu_a & ipu_b).astype(int))
    spoken = np.flatnonzero(ipu_a | ipu_b)
    if len(spoken):
        inner = slice(spoken[0], spoken[-1] + 1)
        assert np.all(silence[inner][~(ipu_a | ipu_b)[inner]] == 1)


@given(conversations())
def test_the_floor_alternates(tracks: tuple[Activity, Activity]) -> None:
    events = detect_turns(*tracks)
    transfers = sorted((e for e in events if e.kind in ("gap", "overlap_between")), key=lambda e: e.known_tick)
    turns = sorted((e for e in events if e.kind == "turn"), key=lambda e: (e.known_tick, e.start_tick))
    assert all(one.side != two.side for one, two in pairwise(transfers))
    assert [turn.side for turn in turns[:-1]] == [other_side(transfer.side) for transfer in transfers]
    assert all(e.fto_ticks is not None and (e.fto_ticks >= 0) == (e.kind == "gap") for e in transfers)


@given(conversations())
def test_swapping_the_sides_swaps_the_events(tracks: tuple[Activity, Activity]) -> None:
    a, b = tracks
    swap: dict[Side, Side] = {"A": "B", "B": "A"}
    events, swapped = detect_turns(a, b), detect_turns(b, a)
    starts = [e.start_tick for e in events if e.kind == "speech_start"]
    if len(starts) > 1 and sorted(starts)[0] == sorted(starts)[1]:
        return  # rule 1's tie: A has the floor
    mirrored = [TurnEvent(**{name: getattr(e, name) for name in e.__slots__} | {"side": swap[e.side]}) for e in swapped]
    assert sorted(mirrored, key=order) == sorted(events, key=order)


@given(conversations(), st.data())
def test_the_past_does_not_depend_on_the_future(tracks: tuple[Activity, Activity], data: st.DataObject) -> None:
    a, b = tracks
    cut = data.draw(st.integers(0, len(a)))
    before = [e for e in detect_turns(a, b) if e.known_tick < cut]
    assert [e for e in detect_turns(a[:cut], b[:cut]) if not e.censored] == before


def test_a_sweep_is_one_detection_per_setting() -> None:
    a, b = activity(DIALOGUES["a short contribution in a pause"][0])
    many = [TurnSettings(min_silence_ms=ms) for ms in range(100, 500, 50)]
    assert sweep_turns(a, b, many) == [detect_turns(a, b, one) for one in many]


def test_json_keeps_every_event() -> None:
    a, b = activity(DIALOGUES["two who start at nearly the same time"][0])
    for event in detect_turns(a, b):
        assert convert(event.to_json(), TurnEvent) == event


def test_a_tick_out_of_order_is_refused() -> None:
    detector = TurnDetector(TurnSettings(), 20)
    detector.push(0, False, False)
    with pytest.raises(FrameError, match=r"tick: expected 1, got 3"):
        detector.push(3, False, False)
    detector.finish()
    with pytest.raises(FrameError, match="finished"):
        detector.push(1, False, False)


def test_tracks_of_unequal_length_are_refused() -> None:
    with pytest.raises(FrameError, match="same length"):
        detect_turns(np.zeros(3, dtype=np.bool_), np.zeros(4, dtype=np.bool_))
