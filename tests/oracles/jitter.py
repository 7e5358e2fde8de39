"""The rules of the jitter buffer in plain Python: dictionaries without end, exact fractions, lines by trying all."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import gcd

from fdbcore.types import Pcm

FRAME = 480
SECOND = 48_000
MS = 48
NEVER = -(10**18)
LOUD_ENERGY = 162_981_000  # of a frame at -35 dBFS
FRAME_SAMPLES_OF_CONFIG = (  # RFC 6716, table 2
    [480, 960, 1920, 2880] * 3 + [480, 960] * 2 + [120, 240, 480, 960] * 4
)


def packet_samples(payload: bytes) -> int:
    """Length of an Opus packet, 0 if it is none."""
    if not 0 < len(payload) <= 1500:
        return 0
    frame = FRAME_SAMPLES_OF_CONFIG[payload[0] // 8]
    code = payload[0] % 4
    if code < 3:
        return frame * (1 if code == 0 else 2)
    samples = frame * (payload[1] % 64) if len(payload) > 1 else 0
    return samples if samples <= 120 * MS else 0


@dataclass
class Window:
    start: int
    at: int
    low: int
    peak: int = 0


class NaiveMinimum:
    """The line below the minima per 0.5 s of 10 s that is highest over their mean, its slope within 1/1000."""

    def __init__(self) -> None:
        self.slope = Fraction(0)
        self.forget()

    def forget(self) -> None:
        self.windows: list[Window] = []
        self.ignored = 0  # windows before the path became shorter

    def observe(self, arrival: int, transit: int) -> None:
        opens = not self.windows or arrival - self.windows[-1].start >= SECOND // 2
        if opens:
            kept = [window for window in self.windows if window.start > arrival - 10 * SECOND]
            self.ignored = max(self.ignored - (len(self.windows) - len(kept)), 0)
            self.windows = [*kept, Window(arrival, arrival, transit)]
        window = self.windows[-1]
        if transit < window.low:
            window.low, window.at = transit, max(arrival, window.start)
        self.last_arrival = max(arrival, window.start)
        if len(self.windows) == 1 and opens:
            self.point = (arrival, transit)
        if transit < self.at(arrival) - MS:
            self.ignored = len(self.windows) - 1
        if opens or transit < self.at(arrival):
            self.fit()
        window.peak = max(window.peak, transit - self.at(arrival))

    def at(self, sample: int) -> int:
        at, low = self.point
        return low + math.trunc((min(sample, self.last_arrival + 10 * SECOND) - at) * self.slope)

    def peak_since(self, sample: int) -> int:
        return max((window.peak for window in self.windows if window.start > sample), default=0)

    def fit(self) -> None:
        points = [(window.at, window.low) for window in self.windows[self.ignored :]]
        if points[-1][0] - points[0][0] >= 3 * SECOND // 2:
            mean = sum(at for at, _ in points) // len(points)
            for (at, low), (later, high) in combinations(points, 2):
                slope = Fraction(high - low, later - at)
                if at <= mean < later and all(y >= low + slope * (x - at) for x, y in points):
                    self.slope = max(min(slope, Fraction(1, 1000)), -Fraction(1, 1000))
        self.point = min(reversed(points), key=lambda point: point[1] - point[0] * self.slope)


@dataclass
class Packet:
    number: int
    timestamp: int
    stream: int
    payload: bytes
    arrival_ns: int
    samples: int
    waiting: bool = True
    arrival: int = 0
    place: int = 0


@dataclass
class NaiveJitter:
    """Same methods and meaning as the compiled one; what is heard is kept for ever."""

    counts: dict[str, int] = field(default_factory=dict)
    changes: list[tuple[int, str, int, int, int]] = field(default_factory=list)
    log: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.packets: dict[int, Packet] = {}
        self.came: set[int] = set()
        self.ssrc: int | None = None
        self.rivals: list[tuple[int, int]] = []  # when and which sources sent that are not heard
        self.source_ns: list[int] = []  # when the source that is heard sent
        self.stream = self.map_stream = 0
        self.trusted: Packet | None = None
        self.doubted: Packet | None = None
        self.jumps: dict[int, int] = {}  # numbers at which the sequence began anew: how many it left out
        self.played: Packet | None = None
        self.losing = 0
        self.lows: list[int] = []  # of whole frames of audio: the energy
        self.newest = self.last_before = -1
        self.next = self.first = 0
        self.newest_sequence = self.newest_timestamp = 0
        self.probation: int | None = None
        self.origin_ns: int | None = None
        self.offset = self.position = self.start_sample = self.end = self.last_timestamp = 0
        self.grid = FRAME
        self.solid = -60 * MS
        self.heard: dict[int, tuple[int, str]] = {}
        self.minimum = NaiveMinimum()
        self.toc: int | None = None
        self.forget_trouble()

    def count(self, name: str, amount: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def forget_trouble(self) -> None:
        self.raises = 0
        self.late_run: list[tuple[int, int]] = []  # arrival, transit
        self.late_ticks: list[tuple[int, int]] = []  # position, arrival

    # Numbers.

    def add(self, payload: bytes, ssrc: int, sequence: int, timestamp: int, arrival_ns: int) -> None:
        self.count("received")
        samples = packet_samples(payload)
        if ssrc != self.ssrc:
            if samples == 0:
                return self.count("invalid")
            if self.stream and not self.takes_over(ssrc, arrival_ns):
                return self.count("foreign")
            self.begin_stream(ssrc, sequence, timestamp)
        self.source_ns.append(arrival_ns)
        ahead = (sequence - self.newest_sequence + 2**15) % 2**16 - 2**15
        if not -100 <= ahead < 3000:
            if sequence != self.probation:
                self.probation = (sequence + 1) % 2**16
                return self.count("invalid")
            self.jumps = {self.newest + 1: (sequence - self.newest_sequence - 1) % 2**16}
            self.trusted = None
            ahead = 1
        number = self.newest + ahead
        if number in self.came:
            return self.count("duplicates")
        self.came.add(number)
        unwrapped = self.newest_timestamp + (timestamp - self.newest_timestamp + 2**31) % 2**32 - 2**31
        if number > self.newest:
            self.newest, self.newest_sequence = number, sequence
        else:
            self.count("reordered")
        if self.first <= number < self.next:
            self.count("lost", -1)
        self.pass_to(number - 255)
        self.first = min(self.first, number)
        packet = Packet(number, unwrapped, self.stream, payload, arrival_ns, samples)
        if samples == 0:
            return self.count("invalid")
        self.packets[number] = packet
        believed = self.believed(packet)
        if not believed:
            packet.waiting = False
            return self.count("invalid")
        for each in believed:
            each.waiting = True
            if self.origin_ns is not None:
                self.place(each, jumps=each is not packet)
        return None

    def takes_over(self, ssrc: int, arrival_ns: int) -> bool:
        """A second packet within a second, and none of the source there was in between or for a second."""
        lately = [each for each in self.rivals if arrival_ns - each[0] <= 10**9]
        others = {other for _, other in lately}
        if others and ssrc not in others:
            return False  # another one waits already
        self.rivals = [*lately, (arrival_ns, ssrc)]
        if not others:
            self.rival_since = len(self.source_ns)
            return False
        contested = len(self.source_ns) > self.rival_since
        if contested and arrival_ns - self.source_ns[-1] < 10**9:
            return False
        assert self.ssrc is not None
        self.rivals = [(self.source_ns[-1], self.ssrc)]
        self.rival_since = -1
        return True

    def believed(self, packet: Packet) -> list[Packet]:
        """Those that are known to be right now."""
        vouched = []
        if (
            self.trusted is not None
            and packet.number < self.trusted.number
            and packet.timestamp <= self.trusted.timestamp
        ):
            return [packet]
        if self.trusted is not None and not self.follow(self.trusted, packet):
            if self.doubted is None or not self.follow(self.doubted, packet):
                self.doubted = packet
                return []
            vouched = [self.doubted] if self.doubted.number != packet.number - 256 else []
            self.count("invalid", -len(vouched))
        self.trusted, self.doubted, self.newest_timestamp = packet, None, packet.timestamp
        return [*vouched, packet]

    def follow(self, before: Packet, packet: Packet) -> bool:
        span, numbers = packet.timestamp - before.timestamp, packet.number - before.number
        if numbers < 0:
            return span <= 0
        by_numbers = numbers * max(before.samples, packet.samples)
        by_time = (packet.arrival_ns - before.arrival_ns) * 48 // 10**6
        return 0 <= span <= max(by_numbers, by_time) + 20 * MS

    def begin_stream(self, ssrc: int, sequence: int, timestamp: int) -> None:
        if self.stream:
            self.count("new_ssrcs")
        self.pass_to(min(self.first, self.newest + 1))
        self.ssrc = ssrc
        self.last_before = self.newest
        self.newest += 128
        self.first = self.newest + 1
        self.newest_sequence, self.newest_timestamp = (sequence - 1) % 2**16, timestamp
        self.stream += 1
        self.probation = self.trusted = self.doubted = None

    def pass_to(self, number: int) -> None:
        for passed in range(self.next, min(number, self.newest + 1)):
            packet = self.packets.get(passed)
            if packet is not None and packet.waiting:
                self.drop(packet)
                self.count("overflowed", self.origin_ns is not None)
            elif passed not in self.came and not self.last_before < passed < self.first:
                self.count("lost")
        self.next = max(self.next, number)

    def drop(self, packet: Packet) -> None:
        packet.waiting = False
        self.count("dropped_samples", packet.samples)

    def waiting(self) -> list[Packet]:
        return [self.packets[n] for n in sorted(self.packets) if n >= self.next and self.packets[n].waiting]

    # Places.

    def start(self, origin_ns: int) -> None:
        self.origin_ns = origin_ns
        for packet in self.waiting():
            packet.arrival = (packet.arrival_ns - origin_ns) * 48 // 1_000_000
            if packet.stream != self.stream:
                self.drop(packet)
        if not (packets := self.waiting()):
            return
        newest = max(packet.arrival for packet in packets)
        recent = [packet for packet in packets if packet.arrival >= newest - SECOND]
        self.anchor(packets[-1], min(packet.arrival - packet.timestamp for packet in recent))
        for packet in packets:
            if packet in recent:
                self.minimum.observe(packet.arrival, packet.arrival - packet.timestamp)
            self.put(packet)

    def put(self, packet: Packet) -> None:
        packet.place = packet.timestamp - self.offset
        self.last_timestamp, self.grid = packet.timestamp, gcd(FRAME, packet.samples)
        if packet.place + packet.samples > 0:
            self.log.append((packet.arrival_ns, packet.place, packet.samples))
        elif packet.waiting:
            self.drop(packet)

    def place(self, packet: Packet, jumps: bool) -> None:
        assert self.origin_ns is not None
        packet.arrival = (packet.arrival_ns - self.origin_ns) * 48 // 1_000_000
        transit = packet.arrival - packet.timestamp
        late = packet.arrival - (packet.timestamp - self.offset)
        if packet.stream != self.map_stream or late < -200 * MS or (jumps and late > 200 * MS):
            self.anchor(packet, transit)
        self.minimum.observe(packet.arrival, transit)
        if self.position and (packet.number < self.next or packet.timestamp - self.offset < self.position):
            self.come_late(packet, transit)
        else:
            self.late_run = []
        self.put(packet)

    def come_late(self, packet: Packet, transit: int) -> None:
        self.late_run.append((packet.arrival, transit))
        if packet.number >= self.next and packet.arrival - self.late_run[0][0] >= 200 * MS:
            low = min(transit for _, transit in self.late_run)
            return self.anchor(packet, low if self.aligned(packet, low) >= self.position else transit)
        packet.waiting = False
        self.count("late")
        if self.late_ticks and self.late_ticks[-1][0] == self.position:
            return None
        self.late_ticks.append((self.position, packet.arrival))
        counted = [arrival for _, arrival in self.late_ticks if arrival > NEVER]
        if len(counted) >= 3 and packet.arrival - counted[-3] <= 2 * SECOND and self.raises < 16:
            self.late_ticks = [(self.position, NEVER)]
            self.raises += 1
            self.shift(FRAME)
            self.record("raise", self.position // FRAME, FRAME)
        return None

    # The map.

    def aligned(self, packet: Packet, low: int) -> int:
        grid = gcd(FRAME, packet.samples)
        place = packet.timestamp + low
        while place % grid or place < packet.timestamp + low + 2 * FRAME - grid:
            place += 1
        return place

    def anchor(self, packet: Packet, low: int) -> None:
        kind = "reanchor" if packet.stream == self.map_stream else "new_ssrc" if self.map_stream else "anchor"
        before, self.offset = self.offset, packet.timestamp - self.aligned(packet, low)
        self.map_stream = packet.stream
        self.forget_trouble()
        self.minimum.forget()
        self.minimum.observe(packet.arrival, low)
        if kind == "reanchor":
            self.count("unexplained_samples", max(min(before - self.offset, self.start_sample - self.solid), 0))
            for other in self.waiting():
                if other.place - other.arrival > 200 * MS:
                    other.place = other.timestamp - self.offset
        self.record(kind, self.position // FRAME, before - self.offset if kind == "reanchor" else 0)

    @property
    def delay_samples(self) -> int:
        return -self.offset - self.minimum.at(self.start_sample) if self.map_stream else 0

    def record(self, kind: str, tick: int, amount: int) -> None:
        self.changes.append((tick, kind, self.offset, self.delay_samples, amount))

    def shift(self, amount: int) -> None:
        self.offset -= amount
        for packet in self.waiting():
            packet.place += amount

    def move_due(self) -> tuple[int, str, bool]:
        """By how much, why, and whether even in speech."""
        delay = self.delay_samples
        phase = (self.last_timestamp - self.offset) % self.grid
        least = 2 * FRAME - self.grid
        needed = FRAME - self.grid + phase + self.minimum.peak_since(self.start_sample - 5 * SECOND)
        if delay < least + phase - 120:
            amount = least - delay
            while (phase + amount) % self.grid:
                amount += 1
            return min(amount, FRAME), "slip", delay < least + phase - 2 * FRAME
        if delay >= least + phase + self.raises * FRAME + self.grid + 120:
            amount = delay - least - self.raises * FRAME
            while (phase - amount) % self.grid:
                amount -= 1
            amount = min(amount, FRAME)
            forced = delay >= least + phase + self.raises * FRAME + 2 * FRAME
            return (-amount if forced or delay - amount >= needed else 0), "slip", forced
        if self.raises and delay - FRAME < least + phase - 120:
            self.raises -= 1
        elif self.raises and delay - FRAME >= needed:
            longer = FRAME - self.grid + phase + self.minimum.peak_since(self.start_sample - 10 * SECOND)
            return -FRAME, "fall", self.start_sample % SECOND == 0 and delay - FRAME >= longer
        return 0, "", False

    # Playout.

    def play(self, tick: int, decode: Callable[[bytes], Pcm]) -> tuple[list[int], int]:
        start = tick * FRAME
        self.count("dropped_samples", max(min(self.solid, start) - self.start_sample, 0))
        self.start_sample, self.position = start, start + FRAME
        self.end = max(self.end, start)
        self.fill(decode)
        amount, kind, forced = self.move_due() if self.map_stream else (0, "", False)
        quiet = self.energy() < 480 * 32.768**2 or self.energy() < min(4 * self.floor(), LOUD_ENERGY)
        if amount and (forced or quiet):
            self.raises -= kind == "fall"
            self.shift(amount)
            self.record(kind, tick, amount)
            self.count("slipped_samples", abs(amount))
            later = {n + amount: self.heard[n] for n in range(max(start, start - amount), self.end)}
            self.heard |= {start + n: (0, "silent") for n in range(amount)} | later
            self.end += amount
            self.solid += amount
            self.fill(decode)
        frame = [self.heard[start + n] for n in range(FRAME)]
        kinds = [kind for _, kind in frame]
        if set(kinds) == {"audio"}:
            self.lows.append(min(self.energy(), LOUD_ENERGY))
        self.start_sample += FRAME
        self.count("concealed_samples", kinds.count("concealed"))
        self.count("silent_samples", kinds.count("silent"))
        return [value for value, _ in frame], ("concealed" in kinds) + 2 * ("silent" in kinds)

    def energy(self) -> int:
        """Of the next frame."""
        return sum(self.heard[self.start_sample + n][0] ** 2 for n in range(FRAME))

    def floor(self) -> int:
        """The quietest frame of audio of the last 5 to 10 s, in steps of 5 s; 0 in the first 5 s."""
        steps = len(self.lows) // 500
        return min(self.lows[500 * (steps - 1) :]) if steps else 0

    def fill(self, decode: Callable[[bytes], Pcm]) -> None:
        end = self.start_sample + FRAME
        while True:
            packet = next(iter(self.waiting()), None)
            if packet is not None and packet.place < end:
                target = max(packet.place, self.solid, self.start_sample)
                if target <= self.end:
                    self.decode_packet(packet, target, decode)
                    continue
            elif self.end >= end:
                return
            else:
                target = end
            follows = packet is not None and packet.number == self.next
            pause = self.is_pausing() or (follows and packet.timestamp != self.played_until())  # type: ignore[union-attr]
            if self.toc is None or pause or self.end >= self.solid + 60 * MS:
                self.append([0] * (target - self.end), "silent")
            else:
                concealment = decode(bytes([self.toc])).tolist()
                self.append(concealment[: self.solid + 60 * MS - self.end], "concealed")

    def decode_packet(self, packet: Packet, start: int, decode: Callable[[bytes], Pcm]) -> None:
        skipped = start - packet.place
        self.count_gap(packet, max(start - self.solid, 0))
        self.lose(max(min(self.solid - max(packet.place, self.start_sample), packet.samples), 0))
        self.played = packet
        self.pass_to(packet.number)
        self.next = packet.number + 1
        packet.waiting = False
        self.count("dropped_samples", min(skipped, packet.samples))
        if skipped >= packet.samples:
            return
        self.toc = packet.payload[0] // 4 * 4
        try:
            pcm = decode(packet.payload)
        except ValueError:
            self.lose(packet.samples - skipped)
            return self.count("invalid")
        self.losing = 0
        self.end = start
        self.append(pcm.tolist()[skipped:], "audio")
        self.solid = self.end

    def is_pausing(self) -> bool:
        return self.played is not None and len(self.played.payload) <= 2

    def played_until(self) -> int:
        return 0 if self.played is None else self.played.timestamp + self.played.samples

    def count_gap(self, packet: Packet, hole: int) -> None:
        """What came between this packet and the one played before it."""
        if self.played is None:
            return
        if packet.stream != self.played.stream:
            self.count("unexplained_samples", 0 if self.is_pausing() else hole)
            return
        numbers = range(self.played.number + 1, packet.number + 1)
        longer = max(packet.samples, self.played.samples)
        left_out = packet.timestamp - self.played_until()
        if left_out < 0:
            left_out = (len(numbers) - 1) * longer
        missing = len(numbers) - 1 + sum(left for at, left in self.jumps.items() if at in numbers)
        lost = min(left_out, missing * longer)
        self.lose(lost)
        self.count("paused_samples", min(left_out - lost, hole))

    def lose(self, samples: int) -> None:
        self.losing += samples
        self.count("lost_samples", samples)
        self.counts["longest_loss_samples"] = max(self.counts.get("longest_loss_samples", 0), self.losing)

    def final_counts(self) -> dict[str, int]:
        """The counts, with what is silent since the last packet; those that are not 0."""
        counts = dict(self.counts)
        if self.played is not None and not self.is_pausing():
            since = max(self.start_sample - self.solid, 0)
            counts["unexplained_samples"] = counts.get("unexplained_samples", 0) + since
        return {name: count for name, count in counts.items() if count}

    def append(self, values: list[int], kind: str) -> None:
        self.heard |= {self.end + index: (value, kind) for index, value in enumerate(values)}
        self.end += len(values)
