"""The jitter buffer against the truth of a synthetic sender, and against its rules in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes.rtp_sender import (
    CLICK_SAMPLES,
    FIRST_CLICK,
    LOUD,
    Packet,
    Path,
    RtpSender,
    arrived,
    delayed,
    doubled,
    fake_decode,
    held,
    lossy,
    lossy_in_bursts,
    uniform_jitter,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.jitter import NaiveJitter, NaiveMinimum, packet_samples

from fdbcore._ext.jitter import CONCEALED_FLAG, SILENT_FLAG, DelayChange, JitterBuffer, JitterStats
from fdbcore._ext.packets import opus_samples
from fdbcore._ext.transit import MinimumTransit
from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_NS, Pcm

MS = 48
BASE_MS = 5.0
PACKETS_MS = [2.5, 5, 10, 20, 60]


@dataclass
class Heard:
    """What came out of a buffer, tick by tick."""

    pcm: Pcm  # (ticks, 480)
    delays: npt.NDArray[np.int64]
    flags: npt.NDArray[np.int64]
    changes: list[DelayChange]
    stats: JitterStats

    def kinds(self) -> list[str]:
        return [change.kind for change in self.changes]


def listen(packets: Sequence[Packet], origin_ns: int, seconds: float, decode: Callable[[bytes], Pcm]) -> Heard:
    """Play for `seconds` on a simulated clock: every tick exactly at its time, with what has arrived until then."""
    ticks = round(seconds * 100)
    buffer = JitterBuffer()
    heard = Heard(np.zeros((ticks, FRAME_SAMPLES), np.int16), np.zeros(ticks, int), np.zeros(ticks, int), [], buffer.stats())
    coming = iter([*packets, None])
    packet = next(coming)
    for tick in range(ticks):
        while packet is not None and packet.arrival_ns <= origin_ns + tick * TICK_NS:
            buffer.add(packet.payload, packet.ssrc, packet.sequence, packet.timestamp, int(packet.arrival_ns))
            packet = next(coming)
        if tick == 0:
            buffer.start(origin_ns)
        heard.flags[tick] = buffer.play_into(heard.pcm[tick], tick, decode)
        heard.delays[tick] = buffer.delay_samples
        heard.changes += buffer.drain()
    heard.stats = buffer.stats()
    return heard


def hear(
    sender: RtpSender, packets: Sequence[Packet], *paths: Path, jitter: Callable[[Packet], float] | None = None
) -> Heard:
    """All but the first second of what was sent, through the paths and one of 5 ms and some jitter."""
    path = delayed(BASE_MS, jitter) if jitter else delayed(BASE_MS)
    seconds = sender.content / SAMPLE_RATE_HZ - 1.5
    return listen(arrived(packets, *paths, path), origin_of(sender), seconds, fake_decode)


def origin_of(sender: RtpSender) -> int:
    return int(sender.sent_ns(SAMPLE_RATE_HZ))


def click_errors_ms(sender: RtpSender, heard: Heard) -> dict[int, float]:
    """By click: how far its recovered onset is from its arrival on the quickest path plus the delay that was logged."""
    samples = heard.pcm.reshape(-1)
    errors = {}
    for place in np.flatnonzero(samples >= FIRST_CLICK).tolist():
        click = int(samples[place]) - FIRST_CLICK
        arrival_ns = sender.sent_ns(click * CLICK_SAMPLES) + BASE_MS * 1e6 - origin_of(sender)
        errors[click] = (place - heard.delays[place // FRAME_SAMPLES]) / MS - arrival_ns / 1e6
    return errors


def clicks_of(packets: Sequence[Packet]) -> set[int]:
    """The clicks in packets that lie after the first second."""
    pcm = {packet.content: fake_decode(packet.payload) for packet in packets}
    values = np.concatenate([samples[samples >= FIRST_CLICK] for samples in pcm.values()])
    return {int(value) - FIRST_CLICK for value in values} - set(range(SAMPLE_RATE_HZ // CLICK_SAMPLES + 1))


# The map against the truth.


@pytest.mark.parametrize("packet_ms", PACKETS_MS)
@pytest.mark.parametrize("ppm", [-300, 0, 300])
def test_every_click_is_heard_at_its_arrival_plus_the_delay(packet_ms: float, ppm: float) -> None:
    sender = RtpSender(packet_ms, ppm)
    packets = sender.send(45)
    heard = hear(sender, packets)
    errors = click_errors_ms(sender, heard)
    assert len(errors) >= 43.4 * SAMPLE_RATE_HZ // CLICK_SAMPLES
    assert max(map(abs, errors.values())) < 1
    assert heard.stats.concealed_samples == heard.stats.late == heard.stats.lost == 0
    grid_ms = np.gcd(round(packet_ms * MS), FRAME_SAMPLES) / MS
    assert 20 - grid_ms - 2.6 <= heard.delays.min() / MS
    assert heard.delays.max() / MS <= 20 + 2.6
    assert set(heard.kinds()[1:]) == ({"slip"} if ppm else set())


def test_a_packet_on_the_grid_waits_at_least_10_and_under_20_ms() -> None:
    for phase_ns in range(0, TICK_NS, TICK_NS // 7):
        sender = RtpSender(first_ns=10**12 + phase_ns)
        packets = arrived(sender.send(2), delayed(BASE_MS))
        heard = listen(packets, 10**12 + 10**9, 0.5, fake_decode)
        assert 10 * MS <= heard.delays[0] < 20 * MS
        assert heard.delays[0] == heard.delays[-1]
        assert heard.changes[0].kind == "anchor"
        assert heard.changes[0].delay_samples == heard.delays[0]


@pytest.mark.parametrize("packet_ms", [10, 20])
@pytest.mark.parametrize("ppm", [-300, 0, 300])
@pytest.mark.parametrize("jitter_ms", [1, 5])
def test_the_delay_is_known_in_spite_of_jitter(packet_ms: float, ppm: float, jitter_ms: float) -> None:
    sender = RtpSender(packet_ms, ppm)
    heard = hear(sender, sender.send(30), jitter=uniform_jitter(jitter_ms, seed=3))
    errors = click_errors_ms(sender, heard)
    assert max(map(abs, errors.values())) < 1
    assert heard.stats.concealed_samples == heard.stats.late == 0


LOSSES = {
    f"{name} {chance:.0%}": path
    for chance in (0.01, 0.03, 0.1)
    for name, path in (("random", lossy(chance, 7)), ("bursts", lossy_in_bursts(chance, 4, 7)))
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("packet_ms", [10, 20, 60])
def test_loss_changes_no_delay(loss: str, packet_ms: float) -> None:
    sender = RtpSender(packet_ms)
    packets = sender.send(30)
    came = arrived(packets, LOSSES[loss])
    heard = hear(sender, came)
    assert heard.kinds() == ["anchor"]
    assert len(set(heard.delays.tolist())) == 1
    errors = click_errors_ms(sender, heard)
    assert max(map(abs, errors.values())) < 0.1
    assert set(errors) >= clicks_of([packet for packet in came if packet.content < sender.content - SAMPLE_RATE_HZ])


def test_lost_and_double_packets_are_counted_as_they_were() -> None:
    sender = RtpSender()
    packets = sender.send(20)
    came = arrived(packets, lossy_in_bursts(0.1, 3, 5), doubled(0.1, 15, 6))
    heard = hear(sender, [packets[0], *came[1:], *packets[-100:]])
    numbers = {packet.sequence for packet in came} | {packet.sequence for packet in packets[-100:]}
    played = [packet for packet in packets if packet.sequence in numbers]
    assert heard.stats.lost == len(packets) - len(played)
    assert heard.stats.late == 0


def test_concealment_lasts_60_ms_and_then_there_is_silence() -> None:
    sender = RtpSender(packet_ms=20)
    packets = [packet for packet in sender.send(5) if not 96_000 <= packet.content < 144_000]
    heard = hear(sender, packets)
    assert heard.stats.concealed_samples == 60 * MS
    assert heard.stats.silent_samples == (1000 - 60) * MS
    first = np.flatnonzero(heard.flags)[0]
    assert heard.flags[first : first + 6].tolist() == [CONCEALED_FLAG] * 6
    assert heard.flags[first + 6 : first + 100].tolist() == [SILENT_FLAG] * 94
    assert not heard.flags[first + 100 :].any()
