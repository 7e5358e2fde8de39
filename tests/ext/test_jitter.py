"""The jitter buffer against the truth of a synthetic sender, and against its rules in plain Python."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes.rtp_sender import (
    CLICK_SAMPLES,
    FIRST_CLICK,
    LOUD,
    NOISE,
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
    made_by,
    uniform_jitter,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.jitter import NaiveJitter, NaiveMinimum, packet_samples

from fdbcore._ext.jitter import CONCEALED_FLAG, SILENT_FLAG, DelayChange, JitterBuffer, JitterStats
from fdbcore._ext.packets import opus_samples
from fdbcore._ext.transit import MinimumTransit
from fdbcore.audio.opus import OpusDecoder, OpusEncoder
from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_NS, Pcm

MS = 48
BASE_MS = 5.0
ORIGIN_NS = int(RtpSender.first_ns + 1e9)
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
    heard = Heard(
        np.zeros((ticks, FRAME_SAMPLES), np.int16), np.zeros(ticks, int), np.zeros(ticks, int), [], buffer.stats()
    )
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
    return listen(arrived(packets, *paths, path), ORIGIN_NS, seconds, fake_decode)


def strict_decode(packet: bytes) -> Pcm:
    """As a real decoder: refuses what is garbled, and knows the silence of two bytes."""
    if packet[1:2] == b"\xff":
        raise ValueError("refused")
    return fake_decode(packet) if len(packet) != 2 else np.zeros(packet_samples(packet), np.int16)


def clicks_in(seconds: float) -> int:
    """How many clicks are in the first seconds; the number of the next one."""
    return math.ceil(seconds * SAMPLE_RATE_HZ / CLICK_SAMPLES)


def click_errors_ms(sender: RtpSender, heard: Heard) -> dict[int, float]:
    """By click: how far its recovered onset is from its arrival on the quickest path plus the delay that was logged."""
    samples = heard.pcm.reshape(-1)
    errors = {}
    for place in np.flatnonzero(samples >= FIRST_CLICK).tolist():
        click = int(samples[place]) - FIRST_CLICK
        arrival_ns = sender.sent_ns(click * CLICK_SAMPLES) + BASE_MS * 1e6 - ORIGIN_NS
        errors[click] = (place - heard.delays[place // FRAME_SAMPLES]) / MS - arrival_ns / 1e6
    return errors


def clicks_of(packets: Sequence[Packet]) -> set[int]:
    """The clicks in packets that lie after the first second."""
    samples = np.concatenate([fake_decode(packet.payload) for packet in packets])
    return set((samples[samples >= FIRST_CLICK] - FIRST_CLICK).tolist()) - set(range(clicks_in(1.0)))


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


def test_concealment_lasts_60_ms_and_then_there_is_silence_all_of_it_lost() -> None:
    sender = RtpSender(packet_ms=20)
    packets = [packet for packet in sender.send(5) if not 96_000 <= packet.content < 144_000]
    heard = hear(sender, packets)
    assert heard.stats.lost_samples == heard.stats.longest_loss_samples == SAMPLE_RATE_HZ
    assert heard.stats.paused_samples == heard.stats.unexplained_samples == 0
    assert heard.stats.concealed_samples == 60 * MS
    assert heard.stats.silent_samples == (1000 - 60) * MS
    first = np.flatnonzero(heard.flags)[0]
    assert heard.flags[first : first + 6].tolist() == [CONCEALED_FLAG] * 6
    assert heard.flags[first + 6 : first + 100].tolist() == [SILENT_FLAG] * 94
    assert not heard.flags[first + 100 :].any()


def test_packets_held_for_3_s_are_late_and_the_delay_stays() -> None:
    sender = RtpSender(packet_ms=20)
    came = arrived(sender.send(15), held(240_000, 3), delayed(BASE_MS))
    heard = listen(came, ORIGIN_NS, 13, fake_decode)
    offset = heard.changes[0].offset_samples - sender.timestamp + sender.content  # of places by content
    due_ns = {p.content: ORIGIN_NS + (p.content - offset) // FRAME_SAMPLES * TICK_NS for p in came}
    assert heard.stats.late == sum(packet.arrival_ns > due_ns[packet.content] for packet in came) > 140
    assert heard.stats.lost == 0
    assert heard.kinds() == ["anchor"]
    assert max(map(abs, click_errors_ms(sender, heard).values())) < 0.1
    assert heard.stats.lost_samples == heard.stats.longest_loss_samples == 960 * heard.stats.late


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("packet_ms", [10, 20, 60])
def test_all_that_is_lost_between_packets_that_are_heard_is_counted(loss: str, packet_ms: float) -> None:
    sender = RtpSender(packet_ms)
    packets = sender.send(30)
    came = arrived(packets, LOSSES[loss])
    heard = hear(sender, came)
    here = [p for p in packets if SAMPLE_RATE_HZ <= p.content and p.sent_ns < came[-1].sent_ns - 0.6e9]
    missing = [p for p in here if p not in came]
    lost_ms = heard.stats.lost_samples / MS
    assert lost_ms == pytest.approx(packet_ms * len(missing), abs=12 * packet_ms)  # the ends
    assert heard.stats.paused_samples == 0


@pytest.mark.parametrize("packet_ms", [10, 20])
def test_an_outage_longer_than_what_a_sequence_may_jump_is_a_loss_too(packet_ms: float) -> None:
    sender = RtpSender(packet_ms)
    packets = [p for p in sender.send(100) if not 10 <= p.content / SAMPLE_RATE_HZ < 80]
    heard = hear(sender, packets)
    assert abs(heard.stats.lost_samples - 70 * SAMPLE_RATE_HZ) <= packet_ms * MS
    assert heard.stats.longest_loss_samples == heard.stats.lost_samples
    assert heard.stats.paused_samples == heard.stats.unexplained_samples == 0


def test_of_a_loss_within_a_pause_only_the_packets_are_lost() -> None:
    sender = RtpSender(packet_ms=20)
    packets = sender.send(5)
    sender.pause(10)
    later = sender.send(5)
    heard = listen(arrived([*packets[:-3], *later], delayed(BASE_MS)), ORIGIN_NS, 18, strict_decode)
    assert heard.stats.lost_samples == heard.stats.longest_loss_samples == 3 * 20 * MS
    assert heard.stats.paused_samples == 10 * SAMPLE_RATE_HZ


def test_silence_that_no_number_explains_is_counted_apart() -> None:
    sender = RtpSender(packet_ms=20)
    ends = hear(sender, [p for p in sender.send(9) if p.content < 5 * SAMPLE_RATE_HZ])
    assert ends.stats.unexplained_samples == pytest.approx(3.5 * SAMPLE_RATE_HZ, abs=50 * MS)
    stands = RtpSender(packet_ms=20)
    packets = stands.send(5)
    stands.first_ns += 3e9
    heard = listen(arrived([*packets, *stands.send(5)], delayed(BASE_MS)), ORIGIN_NS, 11.5, fake_decode)
    assert heard.stats.unexplained_samples == pytest.approx(3 * SAMPLE_RATE_HZ, abs=50 * MS)
    other = RtpSender(packet_ms=20)
    packets = other.send(5)
    other.restart(2)
    other.first_ns += 3e9
    heard = listen(arrived([*packets, *other.send(5)], delayed(BASE_MS)), ORIGIN_NS, 11.5, fake_decode)
    assert heard.stats.unexplained_samples == pytest.approx(3 * SAMPLE_RATE_HZ, abs=50 * MS)
    assert heard.stats.lost_samples == 0


@pytest.mark.parametrize("off_s", [0.05, 0.15, 0.3, 1, 60, 3600, -0.05, -1, -3600])
@pytest.mark.parametrize("which", [[100], [100, 110], [100, 150, 250], [1], [1, 20]])
def test_a_timestamp_that_is_off_costs_its_own_packet(off_s: float, which: list[int]) -> None:
    sender = RtpSender(packet_ms=20)
    packets = sender.send(10)
    for n in which:
        off = packets[n].timestamp + round(off_s * SAMPLE_RATE_HZ)
        packets[n] = replace(packets[n], timestamp=off % 2**32)
    heard = hear(sender, packets)
    assert heard.kinds() == ["anchor"]
    assert len(set(heard.delays.tolist())) == 1
    assert heard.stats.invalid == len(which)
    assert heard.stats.lost_samples == 960 * sum(n >= 50 for n in which)  # not what lies before tick 0
    wrong = {click for n in which for click in clicks_of([packets[n]])}
    assert set(click_errors_ms(sender, heard)) >= set(range(clicks_in(1.1), clicks_in(9))) - wrong


@pytest.mark.parametrize("off_s", [1, -1, 3600])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_timestamps_that_jump_there_and_back_are_followed_at_the_cost_of_a_packet_each(n: int, off_s: float) -> None:
    sender = RtpSender(packet_ms=20)
    packets = sender.send(10)
    for k in range(100, 100 + n):
        packets[k] = replace(packets[k], timestamp=(packets[k].timestamp + round(off_s * SAMPLE_RATE_HZ)) % 2**32)
    heard = hear(sender, packets)
    assert heard.kinds() == ["anchor", "reanchor", "reanchor"]
    assert heard.stats.lost_samples <= 2 * 960
    assert heard.delays[-1] == heard.delays[0]
    wrong = clicks_of(packets[100:102] + packets[100 + n : 102 + n])
    assert set(click_errors_ms(sender, heard)) >= set(range(clicks_in(1.1), clicks_in(9))) - wrong


def test_timestamps_of_no_order_in_a_row_cost_their_own_packets() -> None:
    sender = RtpSender(packet_ms=20)
    packets = sender.send(10)
    for n, off_s in enumerate((1, 7, 0.3, -2, 900), start=100):
        packets[n] = replace(packets[n], timestamp=(packets[n].timestamp + round(off_s * SAMPLE_RATE_HZ)) % 2**32)
    heard = hear(sender, packets)
    assert heard.kinds() == ["anchor"]
    assert heard.stats.lost_samples == heard.stats.longest_loss_samples == 5 * 960


@pytest.mark.parametrize("every", [200, 3, 1])
def test_another_source_beside_the_one_that_is_heard_is_not(every: int) -> None:
    sender = RtpSender(packet_ms=20)
    packets = sender.send(10)
    others = [
        replace(packet, ssrc=77, sequence=9 + n, timestamp=123 + 960 * n, arrival_ns=packet.arrival_ns + 3e6)
        for n, packet in enumerate(packets[100:450:every])
    ]
    heard = hear(sender, arrived([*packets, *others]))
    assert heard.kinds() == ["anchor"]
    assert heard.stats.foreign == len(others)
    assert heard.stats.concealed_samples == heard.stats.late == heard.stats.lost_samples == 0
    assert set(click_errors_ms(sender, heard)) >= set(range(clicks_in(1.1), clicks_in(9)))


def test_another_source_has_the_place_of_one_that_has_ended() -> None:
    sender, other = RtpSender(packet_ms=20), RtpSender(packet_ms=20, ssrc=77, sequence=9, timestamp=123)
    packets = [packet for packet in sender.send(10) if packet.content < 5 * SAMPLE_RATE_HZ]
    heard = hear(sender, arrived([*packets, *other.send(10)]))
    assert heard.kinds() == ["anchor", "new_ssrc"]
    assert heard.changes[1].tick == pytest.approx(500, abs=10)  # a second after it
    assert set(click_errors_ms(sender, heard)) >= set(range(clicks_in(6.2), clicks_in(9)))


@pytest.mark.parametrize("trouble_ms", [25, 60, 120])
@pytest.mark.parametrize("packet_ms", [10, 20])
@pytest.mark.parametrize("level", [0, NOISE])
def test_the_delay_rises_with_jitter_and_is_back_10_s_after_it(packet_ms: float, trouble_ms: float, level: int) -> None:
    sender = RtpSender(packet_ms, level=level)
    packets = sender.send(35)
    jitter = uniform_jitter(trouble_ms, seed=2)

    def trouble(packet: Packet) -> float:
        return jitter(packet) if 5 <= packet.content / SAMPLE_RATE_HZ < 15 else 0

    heard = hear(sender, packets, jitter=trouble)
    calm = heard.delays[0]
    assert heard.delays.max() / MS > trouble_ms - 5
    assert heard.delays[2400:].max() == heard.delays[2400:].min() == calm  # from 10 s after its end
    assert heard.kinds().count("raise") == heard.kinds().count("fall") > 0
    assert heard.stats.lost == 0
    errors = click_errors_ms(sender, heard)
    assert max(abs(error) for click, error in errors.items() if not clicks_in(5) <= click < clicks_in(16)) < 1


def test_a_raise_is_kept_while_there_is_no_silence_until_it_was_not_needed_for_10_s() -> None:
    sender = RtpSender(level=LOUD)
    packets = sender.send(40)

    def trouble(packet: Packet) -> float:
        return 70 * (packet.content // FRAME_SAMPLES % 2) if 5 <= packet.content / SAMPLE_RATE_HZ < 6 else 0

    heard = hear(sender, packets, jitter=trouble)
    falls = [change.tick for change in heard.changes if change.kind == "fall"]
    assert heard.kinds() == ["anchor", *["raise"] * len(falls), *["fall"] * len(falls)]
    assert len(falls) >= 5
    assert 1450 <= falls[0] <= 1600  # trouble ends at tick 500
    assert set(np.diff(falls).tolist()) == {100}  # one a second
    assert heard.delays[-1] == heard.delays[0]
    assert heard.stats.slipped_samples == len(falls) * FRAME_SAMPLES
    errors = click_errors_ms(sender, heard)
    assert max(abs(error) for click, error in errors.items() if not clicks_in(5) <= click < clicks_in(7)) < 1


def test_a_delay_that_grows_by_drift_waits_for_silence_until_it_is_20_ms_off() -> None:
    sender = RtpSender(ppm=-300, level=LOUD)
    heard = hear(sender, sender.send(120))
    assert heard.kinds() == ["anchor", "slip", "slip", "slip"]
    assert {change.amount_samples for change in heard.changes[1:]} == {-FRAME_SAMPLES}
    assert 30 * MS - 2 <= heard.delays.max() <= 30 * MS
    assert heard.stats.late == heard.stats.concealed_samples == 0
    assert max(map(abs, click_errors_ms(sender, heard).values())) < 1


def test_a_delay_that_shrinks_by_drift_rises_by_a_frame_when_packets_come_late() -> None:
    sender = RtpSender(ppm=300, level=LOUD)
    heard = hear(sender, sender.send(100))
    assert heard.kinds() == ["anchor", "raise", "raise"]
    assert heard.delays.min() >= -1
    assert heard.stats.late == 6
    assert max(map(abs, click_errors_ms(sender, heard).values())) < 1


def test_the_delay_stays_below_200_ms() -> None:
    sender = RtpSender(packet_ms=20, ppm=-300, level=LOUD)
    heard = hear(sender, sender.send(100), jitter=uniform_jitter(400, seed=4))
    assert 170 * MS < heard.delays.max() < 200 * MS


def jump(sender: RtpSender, timestamp: int = 0, sequence: int = 0, first_ns: float = 0) -> None:
    sender.timestamp += timestamp
    sender.sequence += sequence
    sender.first_ns += first_ns


FAULTS: dict[str, Callable[[RtpSender], None]] = {
    "another source": lambda sender: sender.restart(2),
    "timestamps jump ahead": lambda sender: jump(sender, timestamp=5 * SAMPLE_RATE_HZ),
    "timestamps jump back": lambda sender: jump(sender, timestamp=-5 * SAMPLE_RATE_HZ),
    "numbers and timestamps jump": lambda sender: jump(sender, timestamp=2**30, sequence=30_000),
    "the sender stands still": lambda sender: jump(sender, first_ns=3e9),
}


@pytest.mark.parametrize("packet_ms", [10, 20, 60])
@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_of_the_sender_all_is_heard_again_with_little_delay(fault: str, packet_ms: float) -> None:
    sender = RtpSender(packet_ms)
    packets = sender.send(9)
    FAULTS[fault](sender)
    later = sender.send(9)
    heard = listen(arrived([*packets, *later], delayed(BASE_MS)), ORIGIN_NS, 16 + 3 * ("still" in fault), fake_decode)
    kind = "new_ssrc" if fault == "another source" else "reanchor"
    assert kind in heard.kinds()
    assert set(heard.kinds()) <= {"anchor", "raise", kind}
    assert 10 * MS <= heard.delays[1300] < 20 * MS
    errors = {click: error for click, error in click_errors_ms(sender, heard).items() if click >= clicks_in(9)}
    assert max(map(abs, errors.values())) < 1
    silent_ms = 300 if "back" in fault or "still" in fault else 3 * packet_ms
    assert set(errors) >= set(range(clicks_in(9 + silent_ms / 1000), clicks_in(16.9)))


def test_stopped_timestamps_are_late_and_all_is_heard_again_after_them() -> None:
    sender = RtpSender()
    packets = [*sender.send(9), *sender.send_without_timestamps(1), *sender.send(9)]
    heard = hear(sender, packets)
    assert {"raise", "reanchor"} <= set(heard.kinds()) <= {"anchor", "raise", "reanchor"}
    assert 80 <= heard.stats.late <= 120
    assert heard.stats.lost == 0
    errors = {click: error for click, error in click_errors_ms(sender, heard).items() if click >= clicks_in(10.3)}
    assert set(errors) >= set(range(clicks_in(10.3), clicks_in(18)))
    assert max(map(abs, errors.values())) < 1


@pytest.mark.parametrize("announced", [False, True])
def test_a_pause_of_the_sender_is_silence_and_no_loss(announced: bool) -> None:
    sender = RtpSender(packet_ms=20)
    packets = sender.send(5)
    if announced:  # libopus ends speech by packets of one or two bytes
        packets.append(sender.packet())
        packets[-1] = replace(packets[-1], payload=packets[-1].payload[:2])
    sender.pause(30)
    heard = listen(arrived([*packets, *sender.send(5)], delayed(BASE_MS)), ORIGIN_NS, 38, strict_decode)
    assert heard.kinds() == ["anchor"]
    assert heard.stats.lost == heard.stats.late == 0
    assert heard.stats.concealed_samples == (0 if announced else 60 * MS)
    assert heard.stats.concealed_samples + heard.stats.silent_samples == 30 * SAMPLE_RATE_HZ
    assert heard.stats.paused_samples == 30 * SAMPLE_RATE_HZ
    assert heard.stats.lost_samples == heard.stats.unexplained_samples == 0
    assert max(map(abs, click_errors_ms(sender, heard).values())) < 0.1


def test_a_peer_that_sends_nothing_is_silence() -> None:
    heard = listen([], ORIGIN_NS, 1, fake_decode)
    assert not heard.pcm.any()
    assert set(heard.flags.tolist()) == {SILENT_FLAG}
    assert heard.changes == []
    assert heard.delays.tolist() == [0] * 100
    assert heard.stats._replace(silent_samples=0) == JitterBuffer().stats()
    assert heard.stats.silent_samples == SAMPLE_RATE_HZ


def test_a_peer_that_begins_after_tick_0_is_heard_from_its_first_packet_on() -> None:
    sender = RtpSender()
    heard = listen(arrived(sender.send(5), delayed(BASE_MS)), int(sender.first_ns - 3e9), 7, fake_decode)
    assert [(change.tick, change.kind) for change in heard.changes] == [(301, "anchor")]
    assert 10 * MS <= heard.delays[-1] < 20 * MS
    assert int(heard.pcm.reshape(-1)[(300 * FRAME_SAMPLES) :].argmax()) > 0
    assert heard.stats.dropped_samples == heard.stats.concealed_samples == 0


def test_a_flood_is_bounded_and_what_follows_is_heard() -> None:
    sender = RtpSender()
    first = sender.send(3)
    flood = [replace(packet, arrival_ns=first[-1].arrival_ns + 10_000 * n) for n, packet in enumerate(sender.send(20))]
    sender.first_ns -= 19.9e9
    heard = listen(arrived([*first, *flood, *sender.send(16)], delayed(BASE_MS)), ORIGIN_NS, 17.5, fake_decode)
    assert heard.stats.lost == heard.stats.invalid == 0
    assert heard.stats.overflowed > 1500
    assert 10 * MS <= heard.delays[-1] < 20 * MS
    errors = click_errors_ms(sender, heard)
    assert set(errors) >= set(range(clicks_in(23.3), clicks_in(38.4)))
    assert max(abs(error) for click, error in errors.items() if click >= clicks_in(34)) < 1  # the path is longer again


def test_packets_may_come_while_one_is_decoded() -> None:
    """From inside `decode`, as from another thread: the rest comes in the worst of moments, and all of it is heard."""
    buffer = JitterBuffer()
    sender = RtpSender(packet_ms=5)
    coming = arrived(sender.send(5), delayed(BASE_MS))[::-1]
    tick = -1

    def deliver() -> None:
        while coming and coming[-1].arrival_ns <= ORIGIN_NS + tick * TICK_NS:
            packet = coming.pop()
            buffer.add(packet.payload, packet.ssrc, packet.sequence, packet.timestamp, int(packet.arrival_ns))

    def decode(packet: bytes) -> Pcm:
        deliver()
        return fake_decode(packet)

    deliver()
    buffer.start(ORIGIN_NS)
    pcm = np.zeros((390, FRAME_SAMPLES), np.int16)
    for tick in range(390):
        buffer.play_into(pcm[tick], tick, decode)
    heard = np.flatnonzero(pcm.reshape(-1) >= FIRST_CLICK)
    assert np.diff(heard).tolist() == [CLICK_SAMPLES] * (len(heard) - 1)
    assert len(heard) >= 18
    assert buffer.stats().late == buffer.stats().lost == buffer.stats().concealed_samples == 0


def test_real_opus_is_heard_where_it_should_be_in_spite_of_loss() -> None:
    sender = RtpSender()
    stream = np.zeros(10 * SAMPLE_RATE_HZ, np.int16)
    clicks = np.arange(2 * SAMPLE_RATE_HZ + 77, 9 * SAMPLE_RATE_HZ, 17_321)
    stream[clicks] = 20_000
    encoder = OpusEncoder()
    packets = [
        replace(packet, payload=encoder.encode(stream[packet.content :][:FRAME_SAMPLES])) for packet in sender.send(10)
    ]
    came = arrived([*packets[:110], *lossy(0.03, 11)(packets[110:])], delayed(BASE_MS))
    heard = listen(came, ORIGIN_NS, 8.5, OpusDecoder().decode)
    whole = {packet.content // FRAME_SAMPLES for packet in came}
    expected = clicks + encoder.look_ahead_samples - SAMPLE_RATE_HZ + round(BASE_MS * MS) + heard.delays[0]
    found = [n for n in range(len(clicks)) if all(clicks[n] // FRAME_SAMPLES + k in whole for k in (-1, 0, 1))]
    assert len(found) >= 15
    samples = np.abs(heard.pcm.reshape(-1).astype(int))
    for n in found:
        onset = expected[n] - 240 + int(samples[expected[n] - 240 : expected[n] + 240].argmax())
        assert abs(onset - expected[n]) <= MS
    assert heard.kinds() == ["anchor"]
    assert heard.stats.concealed_samples == FRAME_SAMPLES * heard.stats.lost > 0


def test_real_opus_of_60_ms_is_concealed_and_what_is_no_opus_is_counted() -> None:
    encoder = OpusEncoder(frame_ms=60, application="voip")
    time_s = np.arange(5 * SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ
    tone = (8000 * np.sin(2 * np.pi * 440 * time_s)).astype(np.int16)
    sender = RtpSender(packet_ms=60)
    packets = [replace(p, payload=encoder.encode(tone[p.content :][:2880])) for p in sender.send(4.8)]
    del packets[40]
    packets[60] = replace(packets[60], payload=packets[60].payload[:1] + b"\xff\xff\xff")
    heard = listen(arrived(packets, delayed(BASE_MS)), ORIGIN_NS, 3, OpusDecoder().decode)
    assert heard.stats.lost == 1
    assert heard.stats.concealed_samples in (60 * MS, 120 * MS)  # libopus decodes most garbage
    concealed = heard.pcm[np.flatnonzero(heard.flags == CONCEALED_FLAG)[0]]
    assert np.abs(concealed).max() > 2000  # the tone goes on


@given(st.binary(max_size=3).flatmap(lambda start: st.sampled_from([start, start + bytes(200), start + bytes(1600)])))
def test_the_length_of_a_packet_is_that_of_rfc_6716(payload: bytes) -> None:
    assert opus_samples(payload) == packet_samples(payload)


@pytest.mark.parametrize("frame_ms", [10, 20, 40, 60])
def test_the_length_of_a_packet_is_what_libopus_makes_of_it(frame_ms: int) -> None:
    packet = OpusEncoder(frame_ms).encode(np.zeros(frame_ms * MS, np.int16))
    assert opus_samples(packet) == len(OpusDecoder().decode(packet)) == frame_ms * MS


@given(st.lists(st.tuples(st.integers(1, 30_000), st.integers(0, 2000)), min_size=1, max_size=80), st.integers(-16, 16))
def test_minimum_transit_is_below_all_packets_of_the_last_10_s(steps: list[tuple[int, int]], drift: int) -> None:
    minimum, naive = MinimumTransit(), NaiveMinimum()
    arrivals = np.cumsum([step for step, _ in steps]).tolist()
    transits = [queued + arrival * drift // 48_000 for arrival, (_, queued) in zip(arrivals, steps, strict=True)]
    for arrival, transit in zip(arrivals, transits, strict=True):
        minimum.observe(arrival, transit)
        naive.observe(arrival, transit)
        assert minimum.at(arrival) == naive.at(arrival) <= transit
        assert minimum.at(arrival + 96_000) == naive.at(arrival + 96_000)
        assert minimum.peak_since(arrival - 240_000) == naive.peak_since(arrival - 240_000)


# What is refused.


def test_it_is_started_once() -> None:
    buffer = JitterBuffer()
    with pytest.raises(FrameError, match="tick: expected 0 or later, after start; got 0"):
        buffer.play_into(np.zeros(480, np.int16), 0, fake_decode)
    buffer.start(0)
    with pytest.raises(SettingsError, match="start: expected once"):
        buffer.start(0)


def test_ticks_ascend() -> None:
    buffer = JitterBuffer()
    buffer.start(0)
    frame = np.zeros(480, np.int16)
    buffer.play_into(frame, 7, fake_decode)
    with pytest.raises(FrameError, match="tick: expected 8 or later, after start; got 7"):
        buffer.play_into(frame, 7, fake_decode)


READ_ONLY = np.zeros(480, np.int16)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "frame", [None, b"", bytes(960), np.zeros(479, np.int16), np.zeros(480, np.float32), READ_ONLY]
)
def test_a_frame_is_480_writable_samples(frame: Any) -> None:
    buffer = JitterBuffer()
    buffer.start(0)
    with pytest.raises(FrameError, match=r"frame: expected a writable int16 \(480,\), got"):
        buffer.play_into(frame, 0, fake_decode)


# The rules, against the same in plain Python.


@dataclass(frozen=True)
class Session:
    """What a sender does and what the path does to it, in order of arrival; ticks that are missed."""

    packets: list[Packet] = field(repr=False)
    origin_ns: int
    ticks: int
    missed: frozenset[int]


@made_by
def garbled(packets: Iterable[Packet], chance: float, seed: int) -> Iterator[Packet]:
    """Some payloads are empty, none of Opus, or refused by the decoder."""
    generator = np.random.default_rng(seed)
    for packet in packets:
        if generator.random() < chance:
            payloads = [b"", b"\xff\x3f", b"\x03", packet.payload[:1] + b"\xff", packet.payload[:2]]
            yield replace(packet, payload=payloads[generator.integers(5)])
        else:
            yield packet


@made_by
def strayed(packets: Iterable[Packet], chance: float, seed: int) -> Iterator[Packet]:
    """Some packets have a timestamp that is off, or one of another source beside them."""
    generator = np.random.default_rng(seed)
    for packet in packets:
        off = int(generator.choice([-SAMPLE_RATE_HZ, -960, 2000, 9600, SAMPLE_RATE_HZ, 2**31]))
        strays = generator.random() < chance
        yield replace(packet, timestamp=(packet.timestamp + off) % 2**32) if strays else packet
        if generator.random() < chance:
            yield replace(packet, ssrc=70 + int(generator.integers(2)), timestamp=packet.timestamp ^ 2**20)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    sender = RtpSender(
        draw(st.sampled_from(PACKETS_MS)),
        draw(st.sampled_from([0, -300, 300, 20_000])),
        sequence=draw(st.integers(0, 65_535)),
        timestamp=draw(st.integers(0, 2**32 - 1)),
    )
    packets: list[Packet] = []
    for index in range(draw(st.integers(1, 6))):
        sender.packet_ms = draw(st.sampled_from([sender.packet_ms, *PACKETS_MS]))
        sender.level = draw(st.sampled_from([0, NOISE, LOUD]))
        seconds = draw(st.floats(0.02, 4))
        match draw(st.sampled_from(["speech", "pause", "source", "back", "jump", "sequence", "stop"])):
            case "pause":
                sender.pause(seconds)
            case "source":
                sender.restart(draw(st.integers(1, 2)) + index)
            case "back":
                sender.restart(1)
            case "jump":
                sender.timestamp += draw(st.integers(-SAMPLE_RATE_HZ, SAMPLE_RATE_HZ))
            case "sequence":
                sender.sequence += draw(st.sampled_from([3, 2998, 2999, 3000, -5, -100, -101, -102]))
            case "stop":
                packets += sender.send_without_timestamps(seconds / 4)
        packets += sender.send(seconds)
    seed = draw(st.integers(0, 2**16))
    paths: list[Path] = [delayed(BASE_MS, uniform_jitter(draw(st.sampled_from([0, 3, 20, 80])), seed))]
    if draw(st.booleans()):
        paths.append(lossy_in_bursts(0.1, draw(st.sampled_from([1, 4])), seed))
    if draw(st.booleans()):
        paths.append(doubled(0.1, draw(st.sampled_from([0.5, 30])), seed))
    if draw(st.booleans()):
        paths.append(held(draw(st.integers(0, 200_000)), draw(st.sampled_from([0.1, 0.3, 3]))))
    if draw(st.booleans()):
        paths.append(garbled(0.05, seed))
    if draw(st.booleans()):
        paths.append(strayed(draw(st.sampled_from([0.02, 0.3])), seed))
    came = arrived(packets, *paths)
    origin_ns = int(sender.first_ns + draw(st.sampled_from([-2e9, 0, 3e8, 1e9, 4e9])))
    ticks = draw(st.integers(1, 1200))
    missed = frozenset(draw(st.lists(st.integers(0, ticks), max_size=8)))
    return Session(came, origin_ns, ticks, missed)


def play_both(session: Session) -> None:
    buffer, naive = JitterBuffer(), NaiveJitter()
    decoded: list[bytes] = []
    decoded_naively: list[bytes] = []

    def decode(packet: bytes) -> Pcm:
        decoded.append(packet)
        return strict_decode(packet)

    def decode_naively(packet: bytes) -> Pcm:
        decoded_naively.append(packet)
        return strict_decode(packet)

    waiting = session.packets[::-1]
    early = session.origin_ns - 100_000_000  # started a little before tick 0
    frame = np.zeros(FRAME_SAMPLES, np.int16)
    started = False
    for tick in range(session.ticks):
        now_ns = session.origin_ns + tick * TICK_NS
        while waiting and waiting[-1].arrival_ns <= now_ns:
            packet = waiting.pop()
            if not started and packet.arrival_ns >= early:
                started = True
                buffer.start(session.origin_ns)
                naive.start(session.origin_ns)
            fields = (packet.payload, packet.ssrc, packet.sequence, packet.timestamp, int(packet.arrival_ns))
            buffer.add(*fields)
            naive.add(*fields)
        if not started:
            started = True
            buffer.start(session.origin_ns)
            naive.start(session.origin_ns)
        if tick in session.missed:
            continue
        flags = buffer.play_into(frame, tick, decode)
        expected, expected_flags = naive.play(tick, decode_naively)
        assert buffer.drain() == naive.changes[-64:]
        assert buffer.arrivals().tolist() == [list(entry) for entry in naive.log[-1024:]]
        naive.changes.clear()
        naive.log.clear()
        assert (frame.tolist(), flags) == (expected, expected_flags), tick
        assert decoded == decoded_naively
        assert buffer.delay_samples == naive.delay_samples
    stats = buffer.stats()._asdict()
    assert {name: count for name, count in stats.items() if count} == naive.final_counts()


@pytest.mark.parametrize(("packet_ms", "ppm"), [(5, -300), (20, 300)])
def test_trouble_and_drift_go_as_the_rules_say(packet_ms: float, ppm: float) -> None:
    sender = RtpSender(packet_ms, ppm)
    jitter = uniform_jitter(45, seed=9)

    def trouble(packet: Packet) -> float:
        return jitter(packet) if 2 <= packet.content / SAMPLE_RATE_HZ < 5 else jitter(packet) / 15

    packets = arrived(sender.send(27), delayed(BASE_MS, trouble))
    play_both(Session(packets, ORIGIN_NS, 2500, frozenset()))


@settings(max_examples=25)
@given(sessions())
def test_all_is_as_the_rules_say(session: Session) -> None:
    play_both(session)


@pytest.mark.fuzz
@given(sessions())
def test_all_is_as_the_rules_say_at_length(session: Session) -> None:
    play_both(session)
