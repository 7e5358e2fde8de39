"""A side that is muted at the start: what the other one hears, what is recorded and told, and what is measured."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import numpy as np
import pytest
from fakes.parties import Caller, LoudVad, Speaker
from helpers.commands import done
from helpers.drawn import activity
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import wavfile

import fdbcore
from fdbcore.clock import MonotonicClock, VirtualClock
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import opportunities_in
from fdbcore.measures.quantities import Ratio, Values
from fdbcore.measures.reading import Reading
from fdbcore.measures.timing import timing_quantities
from fdbcore.protocols import Clock
from fdbcore.recording.files import ACTIVITY, AUDIO, EVENTS, TURNS
from fdbcore.recording.meta import KnownMeta
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.session.loop import run
from fdbcore.session.turns import detect_turns
from fdbcore.types import FRAME_SAMPLES, Pcm, TurnSettings

META: KnownMeta = {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}
Speaks = st.lists(st.booleans(), min_size=1, max_size=60)


def held(path: Path, a: Speaker, b: Speaker, mutes_ticks: int, clock: Clock | None = None) -> Recording:
    a.mutes_ticks = mutes_ticks
    with RecordingWriter(path, META, keep_audio=True) as recording:
        run(a, b, clock or VirtualClock(), (LoudVad(), LoudVad()), TurnSettings(), recording)
    return Recording(path)


def frames(recording: Recording) -> Pcm:
    """The recorded frames, int16 (n_ticks, 480, 2)."""
    _, audio = wavfile.read(recording.path / AUDIO)
    found: Pcm = audio.reshape(-1, FRAME_SAMPLES, 2)
    return found


def muted(recording: Recording) -> list[dict[str, Any]]:
    return [event for event in recording.events if event["kind"] == "muted"]


@settings(max_examples=30)
@given(Speaks, Speaks, st.integers(0, 80))
def test_only_the_first_ticks_of_the_muted_side_change(a: list[bool], b: list[bool], mutes_ticks: int) -> None:
    n_ticks = max(len(a), len(b))
    with TemporaryDirectory() as folder:
        opener, opened = Speaker(a), Speaker(b)
        recording = held(Path(folder) / "muted", opener, opened, mutes_ticks)
        whole = frames(held(Path(folder) / "whole", Speaker(a), Speaker(b), 0))
        found, told = frames(recording), muted(recording)
    assert len(found) == len(opener.heard) == len(opened.heard) == n_ticks
    assert not found[:mutes_ticks, :, 1].any()
    assert np.array_equal(found[mutes_ticks:, :, 1], whole[mutes_ticks:, :, 1])
    assert np.array_equal(found[..., 0], whole[..., 0])
    assert np.array_equal(np.array(opener.heard), found[..., 1])
    assert np.array_equal(np.array(opened.heard), whole[..., 0])  # who is muted hears as before

    until = min(mutes_ticks, n_ticks)
    lost = sum(b[:until])  # a tick is silent, or has the constant 1000
    peak_dbfs = round(20 * math.log10(1000 / 32768), 1) if lost else None
    fields = {"from_tick": 0, "to_tick": until, "loud_ms": 10 * lost, "loudest_dbfs": peak_dbfs}
    assert told == ([{"tick": until - 1, "side": "B", "kind": "muted", **fields}] if until else [])


def test_a_silent_side_and_side_a_may_be_muted_too(tmp_path: Path) -> None:
    b = Speaker([True] * 30)
    b.mutes_ticks = 10
    recording = held(tmp_path, Speaker([False] * 30), b, 20)
    assert [(each["side"], each["to_tick"], each["loud_ms"]) for each in muted(recording)] == [
        ("A", 10, 0),
        ("B", 20, 200),
    ]


def test_real_time_gives_the_same_bytes(tmp_path: Path) -> None:
    def parties() -> tuple[Speaker, Speaker]:
        return Speaker([tick % 40 < 25 for tick in range(120)]), Speaker([tick % 50 > 10 for tick in range(120)])

    fast = held(tmp_path / "fast", *parties(), 70)
    real = held(tmp_path / "real", *parties(), 70, MonotonicClock())
    for name in (AUDIO, EVENTS, TURNS, ACTIVITY):
        assert (fast.path / name).read_bytes() == (real.path / name).read_bytes()


def test_a_replay_gives_the_same_events_and_measures(tmp_path: Path) -> None:
    a, b = activity("A 0.5-3 6-8 10-12 | B 0.2-1.8 3.5-5 8.4-9.5 12.3-14", tail_s=1)
    opener = Caller(a.tolist())
    opener.mutes_ticks = 400
    live_settings = LiveSettings(vad="energy", realtime=False)
    converse(opener, Caller(b.tolist()), tmp_path / "live" / "call", live_settings, {}, Event())
    live = Reading(tmp_path / "live" / "call")
    replayed = fdbcore.replay(live.path, out=tmp_path / "again")
    assert replayed.meta["held"]["same"] is True, replayed.meta["held"]["differences"]
    assert replayed.turn_events == live.turn_events
    assert muted(replayed) == muted(live) != []
    assert replayed.dialogue.muted_ticks == live.dialogue.muted_ticks == 400
    assert timing_quantities(replayed.dialogue) == timing_quantities(live.dialogue)
    shown = " ".join(done("replay", live.path, "--out", tmp_path / "told").output.split())
    assert "B's first sound was muted" in shown
    assert "muted B until 0:04, since A opens the call; no figure counts this time; 2.10 s of sound are lost" in shown
    assert "the same turn events and activity as in the original call, bit for bit" in shown


def dialogue(text: str, muted_ticks: int = 400) -> Dialogue:
    """A drawn dialogue; B says nothing before muted_ticks, as it would be recorded."""
    a, b = activity(text)
    b[:muted_ticks] = False
    return Dialogue(detect_turns(a, b), len(a), TurnSettings(), line="held", muted_ticks=muted_ticks)


@pytest.mark.parametrize(
    ("text", "answered", "premature", "missed"),
    [
        ("A 0.5-5 8-10 | B 5.5-7 10.5-12", 2, 0, 0),
        ("A 0.5-2 8-10 | B 2.3-3.5 10.5-12", 1, 0, 0),  # nobody heard the answer to the first
        ("A 0.5-2 18-20 | B 20.5-22", 1, 0, 0),  # nor knows whether there was one
        ("A 0.5-3 8-10 | B 3.3-6 10.5-12", 1, 0, 0),  # its end alone is heard
        ("A 0.5-6 8-10 | B 0-6.5 10.5-12", 1, 0, 0),  # it began before it is heard, nobody knows when
        ("A 0.5-6 8-10 | B 5-7 10.5-12", 1, 1, 0),
        ("A 0.5-6 20-22 | B 22.5-24", 1, 0, 1),
    ],
)
def test_what_begins_while_b_is_muted_is_no_opportunity(text: str, answered: int, premature: int, missed: int) -> None:
    found = opportunities_in(dialogue(text))
    assert (len(found.answered), len(found.premature), len(found.missed)) == (answered, premature, missed)


def test_the_time_in_which_b_is_muted_is_neither_its_silence_nor_measured() -> None:
    found = timing_quantities(dialogue("A 0.5-2 9-11 | B 2.2-3.7 6-8 11.5-14"))  # 17 s
    first, lapses, share_a, share_b = (
        found[name] for name in ("b_initial_silence_s", "lapse_s", "a_talk_share", "b_talk_share")
    )
    assert isinstance(first, Values)
    assert isinstance(lapses, Values)
    assert isinstance(share_a, Ratio)
    assert isinstance(share_b, Ratio)
    assert first.values == [2.0]
    assert lapses.values == []
    assert (share_a.total, share_a.exposure) == (200, 1300)
    assert (share_b.total, share_b.exposure) == (450, 1300)
    unknown = timing_quantities(dialogue("A 0.5-2 9-11 | B 3-5 11.5-14"))["b_initial_silence_s"]
    assert isinstance(unknown, Values)
    assert (unknown.values, unknown.excluded) == ([], {"censored": 1})


@pytest.mark.parametrize(
    "text",
    [
        "A 0.5-6 9-11 | B 0-5 11.5-14",  # both speak when B is heard again
        "A 0.5-6 9-11 | B 0-5 5.6-8 11.5-14",
        "A 3-4.1 9-11 | B 4.05-8 10.5-14",
        "A 0.5-2 9-11 | B 2.2-6 11.5-14",
        "A 0.5-3 3.6-8 | B 4.5-5 9-14",
    ],
)
def test_speech_after_the_muted_time_counts_alike_wherever_it_began(text: str) -> None:
    a, b = (side[400:] for side in activity(text))
    found = timing_quantities(dialogue(text))
    minutes = len(a) / 6000
    for name, track in (("a_ipu", a), ("b_ipu", b), ("overlap", a & b)):
        number, seconds = found[f"{name}_per_min"], found[f"{name}_s_per_min"]
        assert isinstance(number, Ratio)
        assert isinstance(seconds, Ratio)
        assert (number.total, number.exposure) == (np.diff(track.astype(int), prepend=0).clip(0).sum(), minutes)
        assert seconds.total == pytest.approx(track.sum() / 100)
        assert seconds.exposure == minutes
        assert sum(end - start for start, end in seconds.spans or ()) == track.sum()
    for name, track in (("a_talk_share", a), ("b_talk_share", b)):
        share = found[name]
        assert isinstance(share, Ratio)
        assert (share.total, share.exposure) == (track.sum(), len(track))


@given(st.lists(st.tuples(st.integers(40, 300), st.integers(20, 300)), min_size=2, max_size=6), st.integers(430, 900))
def test_whoever_speaks_later_is_measured_as_if_nobody_was_muted(turns: list[tuple[int, int]], starts: int) -> None:
    """Nothing begins before the end of the muted time: only the time itself is not measured."""
    a, b = np.zeros(6000, np.bool_), np.zeros(6000, np.bool_)
    at = starts
    for number, (length, gap) in enumerate(turns):
        (a, b)[number % 2][at : at + length] = True
        at += length + gap
    events = detect_turns(a, b)
    with_mute = timing_quantities(Dialogue(events, 6000, TurnSettings(), line="held", muted_ticks=400))
    without = timing_quantities(Dialogue(events, 6000, TurnSettings(), line="held"))
    for name, found in with_mute.items():
        if isinstance(found, Ratio) and found.unit in ("1/min", "s/min"):
            assert found.total == without[name].total  # type: ignore[union-attr]
        elif name == "b_initial_silence_s":
            assert isinstance(found, Values)
            assert found.values == [pytest.approx(each - 4) for each in without[name].values]  # type: ignore[union-attr]
        elif not isinstance(found, Ratio):
            assert found == without[name]
