"""The delay that the harness itself adds to the latency of a live system, from the delay log of the recording."""

from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import Self

from fdbcore.recording.reader import Recording
from fdbcore.types import SAMPLE_RATE_HZ, Side


@dataclass(frozen=True)
class HarnessLegs:
    """The delays between the session and one side: out is constant, in was logged whenever it changed.

    out_samples: from the tick in which audio is said to the side until its packet has left, the delay of a line
    included. in_samples: from the
    arrival of the side's audio until the other side hears it, in force from the tick in in_ticks. How late it arrived
    is the side's own.
    """

    out_samples: int
    in_ticks: tuple[int, ...]
    in_samples: tuple[int, ...]

    @classmethod
    def of(cls, recording: Recording, side: Side) -> Self | None:
        """The legs of a live recording; None if the transport of that side does not state both delays.

        A side without a transport has them if the call went over a line that delays what it hears.
        """
        out_samples = recording.measured(side).get("out_delay_samples")
        logged = [event for event in recording.events if event["side"] == side and "delay_samples" in event]
        line_samples = line_delay_samples(recording, side)
        if out_samples is None or not logged:
            return cls(line_samples, (0,), (0,)) if line_samples else None
        told = [(event["tick"], event["delay_samples"]) for event in logged]
        for event in logged:
            told += zip(event.get("heard_tick", []), event.get("waited_samples", []), strict=True)
        # Sorted, because a change is logged one tick before it takes effect, and waits with the arrivals of a second.
        ticks, samples = zip(*sorted(told, key=itemgetter(0)), strict=True)
        return cls(out_samples + line_samples, ticks, samples)

    def round_trip_ms(self, tick: int) -> float:
        """The delay out plus the delay in, in ms, for audio that is heard at `tick`."""
        at = max(bisect_right(self.in_ticks, tick) - 1, 0)
        return (self.out_samples + self.in_samples[at]) * 1000 / SAMPLE_RATE_HZ


def line_delay_samples(recording: Recording, side: Side) -> int:
    """The delay by which the line of a live call let a side hear the other later; 0 without a line."""
    way = recording.original_meta.get("line", {}).get(f"to_{side.lower()}", {})
    delay_samples: int = way.get("delay_samples", 0)
    return delay_samples
