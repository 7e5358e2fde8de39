"""The queue between a party's transport and the ticks: what is said when, and that every sample is accounted for."""

import numpy as np
import pytest
from fakes.pcm_server import frames
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.clock import now_ns
from fdbcore.endpoints.frames import MOST_BEHIND_TICKS, MOST_SILENT_TICKS, PAUSE_TICKS, FrameStream, Pace
from fdbcore.endpoints.playout import MOST_AHEAD_S
from fdbcore.errors import SettingsError
from fdbcore.protocols import Clocking
from fdbcore.recording.floods import MOST_EVENTS_AT_ONCE
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, Happening, Pcm


def live(clocking: Clocking = "burst") -> FrameStream:
    """A stream whose tick 0 is now."""
    stream = FrameStream(Pace(clocking), answer_timeout_s=0.05)
    stream.start(now_ns())
    return stream


def lockstep(step_ms: int = 10) -> FrameStream:
    """A stream on a clock that never waits."""
    stream = FrameStream(Pace("input", step_ms), answer_timeout_s=0.05)
    stream.start(None)
    return stream


def said(stream: FrameStream, ticks: range) -> list[int | None]:
    """The first sample of each frame; None for no frame."""
    return [None if (frame := stream.say(tick)) is None else int(frame[0]) for tick in ticks]


def of_kind(happenings: list[Happening], kind: str) -> list[Happening]:
    return [happening for happening in happenings if happening.kind == kind]


def test_a_burst_is_said_frame_by_frame() -> None:
    stream = live()
    for frame in frames(5):
        stream.receive(frame)
    assert said(stream, range(7)) == [1, 2, 3, 4, 5, 0, 0]


def test_what_came_before_tick_0_is_dropped_and_counted() -> None:
    stream = FrameStream(Pace(), answer_timeout_s=1)
    stream.receive(frames(1)[0])
    stream.start(now_ns())
    stream.receive(frames(1, first=7)[0])
    assert said(stream, range(2)) == [7, 0]
    assert stream.measured()["dropped_samples"] == FRAME_SAMPLES
    assert stream.measured()["received_samples"] == FRAME_SAMPLES


def test_what_was_received_is_said_before_the_end() -> None:
    stream = live()
    for frame in frames(3):
        stream.receive(frame)
    stream.leave("closed by the system")
    stream.leave("and again")
    stream.receive(frames(1, first=9)[0])
    assert said(stream, range(6)) == [1, 2, 3, None, None, None]
    assert stream.left == "closed by the system"
    assert stream.hear(6, SILENT_FRAME) == []


def test_a_flush_drops_what_is_queued_and_nothing_later() -> None:
    stream = live()
    for frame in frames(10):
        stream.receive(frame)
    first = said(stream, range(2))
    stream.flush()
    stream.receive(frames(1, first=50)[0])
    assert [*first, *said(stream, range(2, 5))] == [1, 2, 50, 0, 0]
    assert [h.fields for h in of_kind([*stream.log()], "flush")] == [{"samples": 8 * FRAME_SAMPLES}]


def test_a_short_silence_is_an_underrun_and_a_long_one_a_pause() -> None:
    stream = live()
    happenings: list[Happening] = []

    def go(ticks: range) -> None:
        for tick in ticks:
            stream.say(tick)
            happenings.extend(stream.log())

    for tick, pause_ticks in ((0, 5), (100, PAUSE_TICKS + 1), (200, 1)):
        for frame in frames(2):
            stream.receive(frame)
        go(range(tick, tick + 2 + pause_ticks))
    assert [h.fields for h in of_kind(happenings, "underrun")] == [{"samples": 5 * FRAME_SAMPLES}]
    assert stream.measured()["padded_samples"] == 5 * FRAME_SAMPLES


def test_an_utterance_that_was_ended_is_followed_by_a_pause() -> None:
    stream = live()
    for frame in frames(2):
        stream.receive(frame)
    stream.end_utterance()
    said(stream, range(5))
    for frame in frames(2):
        stream.receive(frame)
    assert said(stream, range(5, 8)) == [1, 2, 0]
    assert stream.measured()["underruns"] == 0


def test_the_last_frame_after_an_underrun_is_said_once_it_is_clear_that_no_more_comes() -> None:
    stream = live()
    stream.receive(frames(1)[0])
    said(stream, range(3))
    stream.receive(frames(1, first=2)[0])
    assert 2 in said(stream, range(3, 3 + PAUSE_TICKS + 2))


@pytest.mark.parametrize("clocking", ["realtime", "input"])
def test_a_stall_does_not_delay_all_that_follows(clocking: Clocking) -> None:
    stream = live(clocking)
    for tick in range(300):
        stream.hear(tick, SILENT_FRAME)
        stream.say(tick)
    for frame in frames(300):
        stream.receive(frame)
    assert said(stream, range(300, 302)) == [299, 300]  # the newest 20 ms
    assert of_kind([*stream.log()], "slip") == [Happening(300, "slip", {"samples": 298 * FRAME_SAMPLES})]
    assert stream.measured()["heard_samples"] == 2 * FRAME_SAMPLES


def test_a_burst_is_never_cut() -> None:
    stream = live()
    for frame in frames(3000):
        stream.receive(frame)
    assert said(stream, range(3000)) == list(range(1, 3001))


@pytest.mark.parametrize("clocking", ["burst", "realtime"])
def test_a_flood_is_bounded_and_named(clocking: Clocking) -> None:
    stream = live(clocking)
    frame = frames(1)[0]
    for tick in range(400):
        for _ in range(100):
            stream.receive(frame)
        if stream.say(tick) is None:
            break
    assert stream.left == f"sent {MOST_AHEAD_S} s of audio more than was played"


def test_what_is_left_out_is_bounded_by_what_the_party_may_send_ahead() -> None:
    stream = FrameStream(Pace("realtime"), 1, most_ahead_s=5)
    stream.start(now_ns())
    frame = frames(1)[0]
    for tick in range(400):
        for _ in range(3):
            stream.receive(frame)
        if stream.say(tick) is None:
            break
    assert stream.left == "sent 5 s of audio more than was played"
    assert tick < 300


@pytest.mark.parametrize(("clocking", "left"), [("burst", None), ("realtime", "sent nothing for 10 s")])
def test_silence_is_the_right_of_those_who_send_in_bursts(clocking: Clocking, left: str | None) -> None:
    stream = live(clocking)
    assert not any(said(stream, range(MOST_SILENT_TICKS)))
    assert stream.left == left


@pytest.mark.parametrize("stream", [live("input"), lockstep()], ids=["live", "lockstep"])
def test_who_answers_more_than_it_heard_has_left(stream: FrameStream) -> None:
    stream.hear(0, SILENT_FRAME)
    for frame in frames(2):
        stream.receive(frame)
    assert stream.left == "answered 2 frames of 1 that it heard"


@pytest.mark.parametrize("step_ms", [10, 20, 80])
def test_in_lockstep_each_answer_has_its_tick(step_ms: int) -> None:
    stream, step, heard = lockstep(step_ms), step_ms // 10, frames(100)
    got = []
    for tick in range(100):
        got += said(stream, range(tick, tick + 1))
        assert stream.hear(tick, np.frombuffer(heard[tick], np.int16)) == [heard[tick]]
        if (tick + 1) % step == 0:
            for answer in heard[tick + 1 - step : tick + 1]:
                stream.receive(answer)
    assert got == [0] * step + list(range(1, 101 - step))


def test_in_lockstep_no_answer_is_the_end() -> None:
    stream = lockstep()
    assert said(stream, range(1)) == [0]
    stream.hear(0, SILENT_FRAME)
    assert said(stream, range(1, 3)) == [None, None]
    assert stream.left == "no answer to the frame of tick 0 within 0.05 s"


def test_in_lockstep_events_keep_their_place_among_the_answers() -> None:
    stream = lockstep()
    for tick in range(3):
        stream.say(tick)
        stream.hear(tick, SILENT_FRAME)
        stream.note("event", name=f"before answer {tick}")
        stream.receive(frames(1)[0])
    stream.say(3)
    assert [h.tick for h in stream.log()] == [1, 2, 3]


@pytest.mark.parametrize("stream", [live(), lockstep()], ids=["live", "lockstep"])
def test_a_flood_of_events_is_bounded_and_counted_and_the_end(stream: FrameStream) -> None:
    stream.hear(0, SILENT_FRAME)
    for number in range(50_000):
        if stream.allows(10):
            stream.note("event", name=str(number))
    for tick in range(1, 3):
        stream.say(tick)
    happenings = [*stream.log()]
    lost = sum(h.fields["count"] for h in of_kind(happenings, "events_lost"))
    kept = of_kind(happenings, "event")
    assert MOST_EVENTS_AT_ONCE <= len(kept) < 10_000
    assert len(kept) + lost == 50_000
    assert stream.left == "floods: more than 1000 events a second"


def test_missed_ticks_are_heard_as_silence() -> None:
    stream = live()
    loud: Pcm = np.full(FRAME_SAMPLES, 5, dtype=np.int16)
    sent = [stream.hear(tick, loud) for tick in (0, 1, 4)]
    silent, full = SILENT_FRAME.tobytes(), loud.tobytes()
    assert sent == [[full], [full], [silent, silent, full]]


def test_arrivals_are_logged_once_a_second() -> None:
    stream = live()
    for frame in frames(3):
        stream.receive(frame)
    logs = [of_kind([*stream.log()], "arrivals") for tick in range(200) if stream.say(tick) is not None]
    assert [bool(log) for log in logs] == [tick == 99 for tick in range(200)]
    fields = logs[99][0].fields
    assert fields["start_sample"] == [0, 480, 960]
    assert fields["samples"] == [480, 480, 480]
    assert fields["at_us"] == sorted(fields["at_us"])


@given(
    clocking=st.sampled_from(["burst", "realtime"]),
    steps=st.lists(st.tuples(st.sampled_from(["receive", "say", "say", "flush", "end"]), st.integers(1, 60))),
)
def test_every_sample_is_accounted_for(clocking: Clocking, steps: list[tuple[str, int]]) -> None:
    stream, tick, sent, heard = live(clocking), 0, 0, 0
    for action, times in steps:
        for _ in range(times):
            if action == "receive":
                sent += 1
                stream.receive(frames(1)[0])
            elif action == "say":
                frame = stream.say(tick)
                tick += 1
                assert frame is not None
                heard += int(frame.any())
                if clocking == "realtime":
                    assert stream.queued_samples <= (MOST_BEHIND_TICKS + 1) * FRAME_SAMPLES
            elif action == "flush":
                stream.flush()
            else:
                stream.end_utterance()
    measured = stream.measured()
    ends = ("heard_samples", "flushed_samples", "slipped_samples", "queued_samples")
    assert measured["received_samples"] == sent * FRAME_SAMPLES == sum(measured[name] for name in ends)
    assert measured["heard_samples"] == heard * FRAME_SAMPLES


@pytest.mark.parametrize(
    ("clocking", "step_ms", "message"),
    [
        ("tick", 10, "clocking: expected one of input, burst, realtime, got 'tick'"),
        ("input", 15, "step_ms: expected a multiple of 10"),
        ("input", True, "step_ms: expected a multiple of 10"),
        ("burst", 80, "step_ms: only a party that is clocked by its input or by real time has steps"),
    ],
)
def test_a_pace_that_cannot_be(clocking: Clocking, step_ms: int, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Pace(clocking, step_ms)
