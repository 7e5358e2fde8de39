"""Passes frames of 480 samples between the ticks and the transport of a party that sends and takes plain frames."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Final, TypeAlias, get_args

import numpy as np

from fdbcore._ext.pacer import LatenessHistogram
from fdbcore._ext.pcm import MOST_ITEMS, HeardItem
from fdbcore.clock import now_ns
from fdbcore.endpoints.background import Background
from fdbcore.endpoints.playout import MOST_AHEAD_S, Playout
from fdbcore.endpoints.unplayed import Unplayed
from fdbcore.errors import SettingsError
from fdbcore.protocols import Clocking, Endpoint
from fdbcore.recording.floods import EventAllowance
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, TICK_MS, TICK_NS, TICKS_PER_S, Happening, Pcm
from fdbcore.types.tools import ToolCall

MOST_UNSENT_FRAMES: Final = 3 * TICKS_PER_S
"""Frames that may wait for a party that does not read."""

MOST_SILENT_TICKS: Final = 10 * TICKS_PER_S
"""Time that a party that should always send may send nothing."""

MOST_BEHIND_TICKS: Final = 20
"""The playout delay, beyond its step, that a party which always sends may build up."""

PAUSE_TICKS: Final = 20
"""If a burst party sends nothing for this long, it is a pause of its own and not an underrun."""

MOST_EARLY_EVENTS: Final = 256
"""Events of a party that are kept from before tick 0."""

MOST_STEP_MS: Final = 1000

_SILENCE = SILENT_FRAME.tobytes()
_WIRE_FORMAT = np.dtype("<i2")

_Note: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of a party's output.

    clocking: "burst", "realtime" or "input". step_ms: how much an input-clocked party hears before it answers with as
    much, or a realtime party sends at once. SettingsError if they are not valid.
    """

    clocking: Clocking = "burst"
    step_ms: int = TICK_MS

    def __post_init__(self) -> None:
        known = [clocking for clocking in get_args(Clocking) if clocking != "tick"]
        if self.clocking not in known:
            raise SettingsError(f"clocking: expected one of {', '.join(known)}, got {self.clocking!r}")
        if type(self.step_ms) is not int or self.step_ms % TICK_MS or not TICK_MS <= self.step_ms <= MOST_STEP_MS:
            raise SettingsError(
                f"step_ms: expected a multiple of {TICK_MS} from {TICK_MS} to {MOST_STEP_MS}, got {self.step_ms!r}"
            )
        if self.clocking == "burst" and self.step_ms != TICK_MS:
            raise SettingsError("step_ms: only a party that is clocked by its input or by real time has steps")

    @property
    def step_ticks(self) -> int:
        """The step in ticks."""
        return self.step_ms // TICK_MS


class FrameStream:
    """Both directions of one party's audio, and a log of what happened.

    The transport's thread calls `receive`, `flush`, `end_utterance`, `allows`, `note`, `call` and `sent`; the thread of
    the ticks calls the rest; both may call `leave`, and read `queued_samples` and `received_samples` (since tick 0).
    Frames that were received before the party left are still said.
    Live, frames are said as they come. In lockstep, the answer to the frame of tick n is said at n + step, and `say`
    waits for it at most `answer_timeout_s`.

    Live audio goes through a `Playout`, which never waits and may leave some out. Lockstep has a queue of its own:
    `say` must wait for each answer, none may be left out, and the party's events keep their place among the answers.

    most_ahead_s: how much audio a live party may send ahead of its playout. names_its_ends: the party says where each
    utterance ends; otherwise a burst that pauses for PAUSE_TICKS counts as ended. lead_samples: how late a live party's
    audio is in what is received, which counts as delay; it may be set until `start`. tick: that was said last.
    left_tick: when a live party left. unplayed: audio that came, and that `receive` was not given.
    """

    def __init__(
        self, pace: Pace, answer_timeout_s: float, most_ahead_s: int = MOST_AHEAD_S, names_its_ends: bool = False
    ) -> None:
        self.pace = pace
        self.lead_samples = 0
        self.left: str | None = None
        self.left_tick: int | None = None
        self._answer_timeout_s = answer_timeout_s
        self._most_ahead_s = most_ahead_s
        self._names_its_ends = names_its_ends
        self._origin_ns: int | None = None
        self._started = False
        self._over = False
        self.tick = 0
        self._answer: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        self._playout = self._made_playout()
        self._answers: SimpleQueue[bytes | _Note | ToolCall | None] = SimpleQueue()
        self._calls: deque[ToolCall] = deque()
        self._next_answer = 0
        self._next_heard_tick = 0
        self.received_samples = 0
        self.early_samples = 0
        self.unplayed = Unplayed()
        self._dry_ticks = 0
        self._wire = LatenessHistogram()
        self._happenings: deque[Happening] = deque()
        self._lost_events = 0
        self._allowance = EventAllowance()
        self.flooded = False
        self._logged = self._playout.queue.stats()

    @property
    def played_samples(self) -> int:
        """Samples said or dropped since tick 0: the place of the next one in the party's stream."""
        stats = self._playout.queue.stats()
        return stats.heard_samples + stats.flushed_samples

    @property
    def queued_samples(self) -> int:
        """Samples received, but not yet said or dropped."""
        return self._playout.queued_samples

    # Called on the transport's thread

    def receive(self, data: bytes) -> None:
        """Take one frame of the party: 960 bytes, little endian. Frames before tick 0 are dropped and counted."""
        if not self._started:
            self.early_samples += FRAME_SAMPLES
        elif self.left is not None:
            return
        elif self.pace.clocking == "input" and self.received_samples == self._next_heard_tick * FRAME_SAMPLES:
            self.leave(f"answered {self._next_heard_tick + 1} frames of {self._next_heard_tick} that it heard")
        elif self._in_lockstep:
            self.received_samples += FRAME_SAMPLES
            self._answers.put(data)
        else:
            self.receive_audio(np.frombuffer(data, _WIRE_FORMAT).astype(np.int16, copy=False))

    def receive_audio(self, pcm: Pcm) -> int:
        """Take audio of a live party, int16 (n,) at 48 kHz, of any length; return how many samples were taken.

        Before tick 0 it is dropped and counted.
        """
        if not self._started:
            self.early_samples += len(pcm)
            return 0
        if self.left is not None:
            return 0
        are_too_many = self._playout.queue.waiting_items == MOST_ITEMS
        taken = self._playout.push(pcm, now_ns())
        self.received_samples += taken
        if taken < len(pcm):
            much = f"{MOST_ITEMS} utterances more than were"
            self.leave(f"sent {much if are_too_many else f'{self._most_ahead_s} s of audio more than was'} played")
        return taken

    def item(self, number: int) -> HeardItem | None:
        """The heard part of an utterance: see `PlayoutQueue.item`. From any thread."""
        return self._playout.queue.item(number)

    @property
    def begun_items(self) -> int:
        """The number of utterances received so far. From any thread."""
        return self._playout.queue.begun_items

    def flush(self) -> None:
        """Drop the queued audio. Does nothing in lockstep, where each frame answers one that was heard."""
        if self._started and not self._in_lockstep:
            self._playout.queue.flush()

    def end_utterance(self) -> None:
        """Mark the utterance as complete: the silence before the next one is not an underrun."""
        self._playout.queue.end_item()

    def allows(self, size_bytes: int) -> bool:
        """True if one more event of this size may be logged. A party that floods us is made to leave.

        Before tick 0, when a command reports how it loads its model, surplus events are only dropped. In lockstep, time
        is counted in the party's answers, so that every run decides alike.
        """
        if not self._started:
            allowed = len(self._happenings) < MOST_EARLY_EVENTS
        elif not self.flooded:
            at_ns = self.received_samples // FRAME_SAMPLES * TICK_NS if self._in_lockstep else now_ns()
            reason = self._allowance.take(at_ns, size_bytes)
            allowed = reason is None
            if reason is not None:
                self.flooded = True
                self.leave(reason)
        else:
            allowed = False
        self._lost_events += not allowed
        return allowed

    def note(self, kind: str, **fields: object) -> None:
        """Log an event that happens now. For events that the party itself sends, ask `allows` first."""
        if self._started and self._in_lockstep and self.left is None:
            self._answers.put((kind, fields))  # among the answers, so that its tick is the same in every run
        else:
            origin_ns = self._origin_ns
            tick = self.tick if origin_ns is None else max(0, now_ns() - origin_ns) // TICK_NS
            self._happenings.append(Happening(tick, kind, fields))

    def call(self, call: ToolCall) -> None:
        """Take what the party did with a call of a tool. Before tick 0 it counts as done in tick 0.

        Ask `allows` first.
        """
        if self._started and not self._in_lockstep:
            self._calls.append(call)
        else:
            self._answers.put(call)  # among the answers, so that its tick is the same in every run

    def sent(self, tick: int) -> None:
        """Record that the frame of `tick` was handed to the transport now."""
        if self._origin_ns is not None:
            self._wire.record(now_ns() - self._origin_ns - tick * TICK_NS)

    def leave(self, reason: str, since_ns: int | None = None) -> None:
        """Note that the party has left: it will say no more than was received. The first reason stays.

        since_ns: when it was lost (monotonic clock), if that was before now.
        """
        if self.left is None:
            self._playout.queue.end_item()
            if self._origin_ns is not None:
                self.left_tick = max(0, (since_ns or now_ns()) - self._origin_ns) // TICK_NS
            self.left = reason
            self._answers.put(None)

    # Called on the thread of the ticks

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now; see `Endpoint.start`."""
        self._origin_ns = origin_ns
        self._playout = self._made_playout()  # made again, because `pace` may have been set while the party opened
        self._playout.start(origin_ns)
        self._started = True
        if not self._in_lockstep:
            early = (self._answers.get() for _ in range(self._answers.qsize()))
            self._calls.extend(call for call in early if isinstance(call, ToolCall))

    def say(self, tick: int) -> Pcm | None:
        """The party's frame of `tick`, int16 (480,); None once it has left and everything was said."""
        self.tick = tick
        if self._over:
            return None
        frame = self._say_answer(tick) if self._in_lockstep else self._say_live()
        self._over = frame is None
        return frame

    def hear(self, tick: int, frame: Pcm) -> list[bytes]:
        """The frames to send to the party, 960 bytes each: silence for each missed tick, and the frame of `tick`."""
        missed_ticks = tick - self._next_heard_tick
        self._next_heard_tick = tick + 1
        if self.left is not None:
            return []
        return [_SILENCE] * missed_ticks + [frame.astype(_WIRE_FORMAT, copy=False).tobytes()]

    def tool_calls(self) -> Sequence[ToolCall]:
        """Calls of tools that the party began, completed or cancelled since this was last asked."""
        return [self._calls.popleft() for _ in range(len(self._calls))]

    def log(self) -> Sequence[Happening]:
        """Events since the last call; once a second also what arrived."""
        tick = self.tick
        happened = [self._happenings.popleft() for _ in range(len(self._happenings))]
        if self._lost_events:
            happened.append(Happening(tick, "events_lost", {"count": self._lost_events}))
            self._lost_events = 0
        for change in self._playout.drain():
            fields = {"why": change.why, "delay_samples": change.delay_samples}
            happened.append(Happening(change.tick, "delay", fields))
        now, before = self._playout.queue.stats(), self._logged
        self._logged = now
        if flushed := now.flushed_samples - before.flushed_samples:
            happened.append(Happening(tick, "flush", {"samples": flushed}))
        if now.underruns > before.underruns:
            happened.append(Happening(tick, "underrun", {"samples": now.padded_samples - before.padded_samples}))
        if ((tick + 1) % TICKS_PER_S == 0 or self.left is not None) and (arrivals := self._playout.arrivals()):
            happened.append(Happening(tick, "arrivals", arrivals))
        return happened

    def measured(self) -> Mapping[str, Any]:
        """Counts of samples since tick 0, speed, lateness and our own delays, as JSON values.

        dropped_samples: from before tick 0, or in missed ticks. received_samples_per_s: only for a party that always
        sends; 48,000 if it keeps up. wire: the lateness of the frames sent. Delays are given live only. step_ms: of a
        party that is clocked by its input.
        """
        playout, stats = self._playout, self._playout.queue.stats()
        counts = playout.counts()
        live = not self._in_lockstep and self._sends_always
        speed = {"received_samples_per_s": self.received_samples * TICKS_PER_S / (self.tick + 1)} if live else {}
        # A frame is sent unchanged at the start of its own tick, so the way out adds no delay.
        delays = {} if self._in_lockstep else {"out_delay_samples": 0, **playout.certificate()}
        steps = {"step_ms": self.pace.step_ms} if self.pace.clocking == "input" else {}
        return {
            **speed,
            **delays,
            **steps,
            "received_samples": self.received_samples,
            **counts,
            "heard_samples": counts["heard_samples"] + self._next_answer * FRAME_SAMPLES,
            "dropped_samples": self.early_samples + stats.dropped_samples + playout.missed_samples,
            "flushed_samples": stats.flushed_samples,
            "queued_samples": stats.queued_samples,
            **self.unplayed.measured(),
            "wire": self._wire.summary(),
        }

    @property
    def _in_lockstep(self) -> bool:
        return self._origin_ns is None

    @property
    def _sends_always(self) -> bool:
        return self.pace.clocking != "burst"

    def _say_answer(self, tick: int) -> Pcm | None:
        self._answer[:] = 0
        while self._next_answer <= tick - self.pace.step_ticks:
            answer = self._next_of_lockstep()
            if answer is None:
                return None
            self._answer[:] = np.frombuffer(answer, _WIRE_FORMAT)
            self._next_answer += 1
        return self._answer

    def _next_of_lockstep(self) -> bytes | None:
        while True:
            try:
                item = self._answers.get(timeout=self._answer_timeout_s)
            except Empty:
                self.leave(f"no answer to the frame of tick {self._next_answer} within {self._answer_timeout_s:g} s")
                return None
            if isinstance(item, ToolCall):
                self._calls.append(item)
            elif isinstance(item, tuple):
                self._happenings.append(Happening(self.tick, *item))
            else:
                return item

    def _say_live(self) -> Pcm | None:
        left = self.left  # read before the queue: once it is set, nothing more is queued
        slipped_samples = self._playout.slipped_samples
        played = self._playout.play(self.tick, to_the_end=left is not None)
        if slips := self._playout.slipped_samples - slipped_samples:
            self._happenings.append(Happening(self.tick, "slip", {"samples": slips}))
            if slipped_samples + slips > self._most_ahead_s * SAMPLE_RATE_HZ:
                self.leave(f"sent {self._most_ahead_s} s of audio more than was played")
        if played:
            self._dry_ticks = 0
            return self._playout.frame
        self._dry_ticks += 1
        if self._sends_always and self._dry_ticks >= MOST_SILENT_TICKS:
            self.leave(f"sent nothing for {MOST_SILENT_TICKS // TICKS_PER_S} s")
        elif not (self._sends_always or self._names_its_ends) and self._dry_ticks == PAUSE_TICKS:
            # Normally only the producer may call this. It is safe here, because short pushes hold the GIL.
            self._playout.queue.end_item()
        return self._playout.frame if left is None else None

    def _made_playout(self) -> Playout:
        step = self.pace.step_ticks
        # A realtime party has its own clock, so its frames may come at any point of our tick: keep one in reserve.
        kept_frames = {"input": 0, "realtime": 1}.get(self.pace.clocking)
        return Playout(step, kept_frames, MOST_BEHIND_TICKS + step, self._most_ahead_s, self.lead_samples)


class StreamParty(Endpoint):
    """A party whose `stream` has its audio and its log, over a connection in the background."""

    knows_when_it_left: ClassVar[bool] = True
    """True if `stream` learns of a lost connection, so that `gone_tick` is known."""

    def __init__(self, stream: FrameStream) -> None:
        self.stream = stream
        self._background = Background()

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. What the party said before is dropped and counted."""
        self.stream.start(origin_ns)

    def say(self, tick: int) -> Pcm | None:
        """The party's frame of `tick`, int16 (480,). In lockstep this waits for the answer that is due."""
        frame = self.stream.say(tick)
        self.left = self.stream.left
        if self.knows_when_it_left:
            self.gone_tick = self.stream.left_tick
        return frame

    def log(self) -> Sequence[Happening]:
        """Events, such as those of the party, flushes, underruns, slips and arrivals."""
        return self.stream.log()

    def measured(self) -> Mapping[str, Any]:
        """Counts of samples (played, dropped, ...), and the lateness of the frames sent, as JSON values."""
        return self.stream.measured()

    def close(self) -> None:
        """Leave, and release the connection."""
        self.stream.leave("closed")
        self._background.close()
