"""The loop: who hears what when, what is recorded, and that the clock changes nothing."""

from pathlib import Path
from threading import Event

import numpy as np
import pytest
from fakes.parties import Echo, LoudVad, Speaker
from helpers.drawn import activity
from helpers.patience import PATIENCE_S

from fdbcore.clock import MonotonicClock, VirtualClock
from fdbcore.errors import SettingsError
from fdbcore.protocols import Clock, Clocking, Endpoint
from fdbcore.recording.files import ACTIVITY, AUDIO, EVENTS, TURNS
from fdbcore.recording.meta import KnownMeta
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.session.loop import run
from fdbcore.session.turns import detect_turns
from fdbcore.types import FRAME_SAMPLES, Pcm, Side, TurnSettings

META: KnownMeta = {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}


def record(path: Path, a: Endpoint, b: Endpoint, clock: Clock | None = None) -> Recording:
    """A run of two parties on disk."""
    with RecordingWriter(path, META, keep_audio=True) as recording:
        run(a, b, clock or VirtualClock(), (LoudVad(), LoudVad()), TurnSettings(), recording)
    return Recording(path)


def stored_audio(recording: Recording) -> Pcm:
    """The samples of session.wav, int16 (n, 2)."""
    data = (recording.path / AUDIO).read_bytes()
    return np.frombuffer(data[data.index(b"data") + 8 :], dtype="<i2").reshape(-1, 2)


def test_what_a_side_says_depends_on_what_it_heard_a_tick_before(tmp_path: Path) -> None:
    speaks = [tick % 7 == 3 for tick in range(100)]
    a = Speaker(speaks)

    class Listener(Echo):
        def say(self, tick: int) -> Pcm | None:
            assert len(self.heard) == tick  # all of 0 .. tick - 1, and nothing of this tick
            return None if tick >= len(speaks) else super().say(tick)

    audio = stored_audio(record(tmp_path, a, Listener([])))
    frames = audio.reshape(100, FRAME_SAMPLES, 2)
    assert (frames[:, 0, 0] != 0).tolist() == speaks
    assert (frames[:, 0, 1] != 0).tolist() == [False, *speaks[:-1]]
    assert np.array_equal(np.concatenate(a.heard), audio[:, 1])


def test_n_ticks_give_n_frames_and_the_shorter_side_falls_silent(tmp_path: Path) -> None:
    recording = record(tmp_path, Speaker([True] * 130), Speaker([True] * 257))
    audio = stored_audio(recording)
    assert recording.n_ticks == 257
    assert len(audio) == 257 * FRAME_SAMPLES
    assert not audio[130 * FRAME_SAMPLES :, 0].any()
    assert recording.peaks.tolist() == [[1000, 1000]] * 130 + [[0, 1000]] * 127


def test_turns_and_activity_are_those_of_the_whole_session(tmp_path: Path) -> None:
    a, b = activity("A 0-1.3 2.9-4 | B 1.5-2.5 3.2-3.4", tail_s=0)
    recording = record(tmp_path, Speaker(a.tolist()), Speaker(b.tolist()))
    assert [track.tolist() for track in recording.activity] == [a.tolist(), b.tolist()]
    assert recording.turn_events == detect_turns(a, b, vad_delay_ticks=20)


def test_events_are_heard_in_the_tick_in_which_they_are_known(tmp_path: Path) -> None:
    a, b = activity("A 0-1.3 2.9-4 | B 1.5-2.5 3.2-3.4", tail_s=2.5)
    listener = Speaker(b.tolist())
    record(tmp_path, Speaker(a.tolist()), listener)
    assert [event for _, event in listener.events] == [
        event for event in detect_turns(a, b, vad_delay_ticks=20) if event.known_tick < len(a)
    ]
    assert all(event.known_tick == tick for tick, event in listener.events)


def test_real_time_gives_the_same_bytes(tmp_path: Path) -> None:
    def parties() -> tuple[Speaker, Speaker]:
        return Speaker([tick % 40 < 25 for tick in range(120)]), Speaker([tick % 50 > 30 for tick in range(120)])

    fast = record(tmp_path / "fast", *parties())
    real = record(tmp_path / "real", *parties(), MonotonicClock())
    for name in (AUDIO, EVENTS, TURNS, ACTIVITY):
        assert (fast.path / name).read_bytes() == (real.path / name).read_bytes()


def test_a_session_shorter_than_the_delay_of_the_detector(tmp_path: Path) -> None:
    recording = record(tmp_path, Speaker([True] * 8), Speaker([False] * 8))
    assert recording.activity[0].tolist() == [True] * 8
    assert all(event.censored for event in recording.turn_events if event.kind == "speech_end")


@pytest.mark.parametrize("clocking", ["burst", "realtime"])
def test_a_virtual_clock_refuses_parties_that_follow_real_time(tmp_path: Path, clocking: Clocking) -> None:
    party = Speaker([True])
    party.clocking = clocking
    with pytest.raises(SettingsError, match=clocking):
        record(tmp_path, Speaker([True]), party)


@pytest.mark.parametrize("in_turn", [True, False])
def test_parties_are_opened_at_once_unless_asked_to_be_in_turn(tmp_path: Path, in_turn: bool) -> None:
    b_is_opening, met_b = Event(), list[bool]()

    class Slow(Speaker):
        def open(self, side: Side) -> None:
            met_b.append(b_is_opening.wait(0.2 if in_turn else PATIENCE_S))

    class Quick(Speaker):
        def open(self, side: Side) -> None:
            b_is_opening.set()

    settings = LiveSettings(vad="energy", realtime=False, in_turn=in_turn)
    converse(Slow([True]), Quick([True]), tmp_path / "call", settings, {}, Event())
    assert met_b == [not in_turn]
