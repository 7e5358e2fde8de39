"""What a party says and hears: its items, as frames are played, and its uplink, against the whole signal resampled."""

import asyncio
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import resample_poly

from fdbcore.clock import now_ns
from fdbcore.endpoints.frames import FrameStream, Pace
from fdbcore.endpoints.vendors.items import Items, Said, from_pcm16
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

MS = 48


def loud(ms: int, rate_hz: int = 24_000) -> Pcm:
    pcm: Pcm = np.full(ms * rate_hz // 1000, 5000, np.int16)
    return pcm


class Line:
    """A stream whose ticks the test plays."""

    def __init__(self, rate_hz: int = 24_000, started: bool = True) -> None:
        self.stream = FrameStream(Pace("burst"), 1, 300, names_its_ends=True)
        self.items = Items(self.stream, rate_hz)
        self.tick = 0
        if started:
            self.stream.start(now_ns())

    def play(self, ticks: int) -> list[bool]:
        """Play so many ticks; whether each had sound."""
        heard = []
        for _ in range(ticks):
            frame = self.stream.say(self.tick)
            assert frame is not None
            heard.append(bool((np.abs(frame) > 1000).any()))
            self.tick += 1
        return heard


def test_an_item_is_heard_whole() -> None:
    line = Line()
    line.items.push("one", loud(95))
    line.items.end("one")
    assert line.items.played_out() == []
    assert line.play(12) == [True] * 10 + [False] * 2
    assert line.items.played_out() == [Said("one", 95 * MS, 95 * MS)]
    assert line.items.played_out() == []


@pytest.mark.parametrize("played", [0, 1, 7, 30])
def test_what_is_cut_was_heard_as_far_as_it_was_played(played: int) -> None:
    line = Line()
    line.items.push("one", loud(200))
    line.items.push("one", loud(200))
    line.play(played)
    (cut,) = line.items.cut()
    assert (cut.item, cut.heard_ms) == ("one", played * 10)
    assert cut.said_samples == pytest.approx(400 * MS, abs=2 * MS), "the resampler may keep its last millisecond"
    assert not any(line.play(5))


def test_late_audio_of_what_was_cut_is_dropped_and_the_next_item_is_heard() -> None:
    line = Line()
    line.items.push("one", loud(100))
    line.play(2)
    line.items.cut()
    line.items.push("one", loud(100))
    assert not any(line.play(5))
    assert line.items.late_samples == 100 * MS
    line.items.push("two", loud(30))
    line.items.end("two")
    assert line.play(4) == [True] * 3 + [False]
    assert [said.item for said in line.items.played_out()] == ["two"]


def test_all_that_waits_is_cut_and_what_was_heard_is_not() -> None:
    line = Line()
    for item in ("one", "two", "three"):
        line.items.push(item, loud(50))
    line.play(7)
    assert [(said.item, said.heard_ms) for said in line.items.cut()] == [("two", 20), ("three", 0)]
    assert [said.item for said in line.items.played_out()] == ["one"]
    assert line.items.cut() == []


def test_an_item_that_stalls_runs_dry_and_one_that_ended_pauses() -> None:
    stalled, paused = Line(), Line()
    for line in (stalled, paused):
        line.items.push("one", loud(50))
    paused.items.end("one")
    for line in (stalled, paused):
        line.play(100)
        line.items.push("one" if line is stalled else "two", loud(50))
        line.play(10)
    assert stalled.stream.measured()["underruns"] == 1
    assert paused.stream.measured()["underruns"] == 0


def test_what_came_before_tick_0_was_not_heard() -> None:
    line = Line(SAMPLE_RATE_HZ, started=False)
    for item in ("early", "half"):
        line.items.push(item, loud(100, SAMPLE_RATE_HZ))
    line.stream.start(now_ns())
    line.items.push("half", loud(50, SAMPLE_RATE_HZ))
    line.items.push("late", loud(20, SAMPLE_RATE_HZ))
    line.items.end("late")
    assert line.items.played_out() == [Said("early", 100 * MS, 0, 100 * MS)]
    assert line.play(8) == [True] * 7 + [False]
    assert line.items.played_out() == [Said("half", 150 * MS, 50 * MS, 100 * MS), Said("late", 20 * MS, 20 * MS)]
    assert line.stream.measured()["dropped_samples"] == 200 * MS


def test_an_item_is_found_at_once_after_many() -> None:
    """Asking for one costs no more after 400 than at first: 15 to 100 us, it was."""
    line = Line(SAMPLE_RATE_HZ)
    lasted_s = []
    for number in range(400):
        line.items.push(str(number), loud(10, SAMPLE_RATE_HZ))
        began_s = time.thread_time()
        line.items.said(str(number))
        lasted_s.append(time.thread_time() - began_s)
        line.items.end(str(number))
        line.play(1)
    assert np.median(lasted_s[-100:]) < 4 * np.median(lasted_s[:10])
    assert line.items.said("399").heard_samples == 10 * MS


def test_more_items_than_may_wait_are_told_as_such() -> None:
    line = Line(SAMPLE_RATE_HZ)
    for number in range(257):
        line.items.push(str(number), loud(1, SAMPLE_RATE_HZ))
        line.items.end(str(number))
    assert line.stream.left == "sent 256 utterances more than were played"


def test_an_odd_byte_is_dropped() -> None:
    assert from_pcm16(b"\x01\x00\x02\x00\x03").tolist() == [1, 2]
    assert from_pcm16(b"").shape == (0,)
    assert FRAME_SAMPLES == 10 * MS


@pytest.mark.live
def test_an_utterance_without_a_name_is_heard_at_once_and_ends_with_a_pause() -> None:
    async def talk() -> tuple[list[bool], list[Said]]:
        stream = FrameStream(Pace("burst"), 1, 300, names_its_ends=True)
        items = Items(stream, 8_000, named=False)
        stream.start(now_ns())
        heard, said = [], []
        for tick in range(90):
            if tick < 20 or 60 <= tick < 80:  # 10 ms at a time, as an application in real time sends it
                items.push_unnamed(loud(10, 8_000))
            frame = stream.say(tick)
            assert frame is not None
            heard.append(bool((np.abs(frame) > 1000).any()))
            await asyncio.sleep(0.01)
            said += items.played_out()
        assert stream.measured()["underruns"] == 0
        return heard, said

    heard, said = asyncio.run(talk())
    assert heard == [True] * 20 + [False] * 40 + [True] * 20 + [False] * 10, "no tail comes late"
    assert [(each.item, each.said_samples) for each in said] == [("utterance 1", 200 * MS)]


RATES_HZ = [8_000, 16_000, 24_000, 48_000]


def chirp(ticks: int) -> Pcm:
    """A tone that rises from 100 to 1,500 Hz: no two parts of it are alike."""
    seconds = np.arange(ticks * FRAME_SAMPLES) / SAMPLE_RATE_HZ
    pcm: Pcm = (8000 * np.sin(2 * np.pi * (100 + 700 * seconds / seconds[-1]) * seconds)).astype(np.int16)
    return pcm


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_the_party_hears_the_session_late_by_what_is_stated(rate_hz: int) -> None:
    uplink, pcm = Uplink(rate_hz), chirp(100)
    packets = [packet for tick in range(100) for packet in uplink.hear(tick, pcm.reshape(100, -1)[tick])]
    heard = np.frombuffer(b"".join(packets), "<i2").astype(float)
    lead_samples = round(uplink.lead_ms * rate_hz / 1000)
    assert not heard[:lead_samples].any()
    expected = resample_poly(pcm.astype(float), rate_hz, SAMPLE_RATE_HZ)[: len(heard) - lead_samples]
    assert np.abs(heard[lead_samples:] - expected).max() < 200, "within 0.2 dB of a tone of 8,000"
    assert uplink.session_ms(500 + uplink.lead_ms) == pytest.approx(500)


@settings(max_examples=20, deadline=None)
@given(heard=st.sets(st.integers(0, 59), min_size=1), rate_hz=st.sampled_from(RATES_HZ))
def test_missed_ticks_were_silent_and_each_packet_is_whole(heard: set[int], rate_hz: int) -> None:
    pcm = chirp(60).reshape(60, -1)
    last = max(heard)
    skipping, whole = Uplink(rate_hz, 20), Uplink(rate_hz, 20)
    found = [packet for tick in sorted(heard) for packet in skipping.hear(tick, pcm[tick])]
    silenced = [pcm[tick] if tick in heard else np.zeros(FRAME_SAMPLES, np.int16) for tick in range(last + 1)]
    assert found == [packet for tick, frame in enumerate(silenced) for packet in whole.hear(tick, frame)]
    assert all(len(packet) == 2 * rate_hz // 50 for packet in found)
    assert len(found) == (last + 1) // 2, "a packet leaves with its last tick"


def test_a_longer_packet_waits_longer_and_says_so() -> None:
    uplink = Uplink(48_000, packet_ms=60)
    packets = [len(uplink.hear(tick, np.zeros(FRAME_SAMPLES, np.int16))) for tick in range(12)]
    assert packets == [0, 0, 0, 0, 0, 1] * 2
    assert uplink.measured()["out_delay_samples"] == 5 * FRAME_SAMPLES
    assert uplink.measured()["sent_samples"] == 12 * FRAME_SAMPLES
