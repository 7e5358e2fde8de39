"""Measures the delay of the harness itself: sends clicks through WebRTC to a mirror, and times when they come back.

The mirror takes the place of a peer, in this process, and sends each packet back as it arrives. So the clicks are
delayed only by this harness's own two legs. Every recording states that delay; the self-test checks the statement on
this machine, now. It says nothing about the path to a system elsewhere.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from fdbcore.clock import MonotonicClock, utc_now
from fdbcore.endpoints.webrtc.mirror import Mirrored
from fdbcore.errors import MissingExtraError, PartyError
from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.protocols import Endpoint
from fdbcore.recording.meta import KnownMeta
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.session.loop import run
from fdbcore.session.vad import EnergyVad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, TICK_MS, TICKS_PER_S, Pcm, TurnSettings
from fdbcore.types.timing import LatenessSummary, MeasuredSide, TimingCertificate, TimingSelftest

SELFTEST_SCHEMA: Final = "fdbcore.selftest/1"
CLICK_EVERY_TICKS: Final = 20
CLICK_SAMPLES: Final = SAMPLE_RATE_HZ // 500
CLICK_HZ: Final = 1500
ONSET_SHARE: Final = 0.5
"""A click begins at the first sample that reaches this share of its peak."""
TAIL_TICKS: Final = 30
MAX_ERROR_MS: Final = 1.0


def timing_selftest(seconds: float = 3.0) -> TimingSelftest:
    """Send clicks for `seconds`, and compare their delay with the delay that the legs state; return JSON values.

    delay_ms (median), jitter_ms (largest less smallest), drift_ppm (see `drift_ppm`): of the clicks' delays. stated_ms:
    the median of the delays stated for the ticks in which clicks came back. error_ms: the median of how much later a
    click came back than stated for its tick. passed: whether error_ms is at most 1 ms, all clicks came back, no tick
    was missed, and packets left less than a tick late (99th percentile); `broke` lists the conditions that failed. If
    the test cannot be made, passed is None and `why_not` says why.
    """
    try:
        return reflect_clicks(seconds, Mirrored("webrtc"))
    except MissingExtraError as error:
        return {"schema": SELFTEST_SCHEMA, "created": utc_now(), "passed": None, "why_not": str(error)}


def reflect_clicks(seconds: float, mirror: Mirrored) -> TimingSelftest:
    """The self-test with a given mirror; see `timing_selftest`."""
    clicks = Clicks(round(seconds * TICKS_PER_S))
    clock = MonotonicClock()
    with TemporaryDirectory() as folder:
        try:
            mirror.open("B")
            meta: KnownMeta = {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}
            with RecordingWriter(Path(folder), meta, keep_audio=False) as recording, clock.undisturbed():
                run(clicks, mirror, clock, (EnergyVad(), EnergyVad()), TurnSettings(), recording, over=clicks.over)
                legs = cast("MeasuredSide", mirror.measured())
                timing: TimingCertificate = {**clock.certificate(), "sides": {"B": legs}}
                recording.note(timing=timing)
        finally:
            mirror.close()
        stated = HarnessLegs.of(Recording(Path(folder)), "B")
    return _verdict(clicks, stated, legs["wire"], clock.certificate())


def verdict(found: TimingSelftest) -> str:
    """The result of the self-test as one line for a reader."""
    if found["passed"] is None:
        return f"timing self-test: not done: {found['why_not']}"
    outcome = "passed" if found["passed"] else f"FAILED ({'; '.join(found['broke'])}; is the machine busy?)"
    return (
        f"timing self-test {outcome}: clicks back after {found['delay_ms']:.1f} ms, stated {found['stated_ms']:.1f}; "
        f"jitter {found['jitter_ms']:.1f} ms, drift {round(found['drift_ppm'])} ppm, "
        f"on the wire p99 {(found['wire']['p99_us'] or 0) / 1000:.2f} ms late, {found['missed']} ticks missed"
    )


def priority_refused(found: TimingSelftest) -> str | None:
    """The statement that this machine refused the self-test real-time priority, and how to grant it; else None."""
    priority = found.get("priority")
    if priority is None or priority["fifo"]["granted"] or sys.platform != "linux":
        return None
    return (
        f"real-time priority refused: {priority['fifo']['why_not']}. Live calls are later beside other work. "
        "To grant it: the line 'USER - rtprio 50' in /etc/security/limits.conf, then log in again; "
        "or docker run --ulimit rtprio=50"
    )


class Clicks(Endpoint):
    """Plays a click every 200 ms for `ticks`, then listens a little longer. It keeps what comes back."""

    def __init__(self, ticks: int) -> None:
        self._click_ticks = range(0, ticks, CLICK_EVERY_TICKS)
        self._end_tick = ticks + TAIL_TICKS
        self._click: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        n = np.arange(CLICK_SAMPLES)
        self._click[:CLICK_SAMPLES] = 20_000 * np.sin(2 * np.pi * CLICK_HZ * n / SAMPLE_RATE_HZ)
        self._heard: list[Pcm] = []

    def say(self, tick: int) -> Pcm:
        """The frame of `tick`: a click at its start, or silence."""
        return self._click if tick in self._click_ticks else SILENT_FRAME

    def hear(self, tick: int, frame: Pcm) -> None:
        """Keep the frame."""
        self._heard.append(frame.copy())

    def over(self, tick: int, a_left: bool, b_left: bool) -> bool:
        """True if the last click has had time to come back, or the mirror has left."""
        return b_left or tick >= self._end_tick

    def returned(self) -> npt.NDArray[np.int64]:
        """For each click that came back: its tick, and its delay in samples; int64 (n, 2)."""
        heard = np.abs(np.concatenate(self._heard).astype(np.int32))
        own = _onset(np.abs(self._click.astype(np.int32)))
        window = CLICK_EVERY_TICKS * FRAME_SAMPLES
        found = [
            ((start + onset) // FRAME_SAMPLES, onset - own)
            for start in (tick * FRAME_SAMPLES for tick in self._click_ticks)
            if (onset := _onset(heard[start : start + window])) is not None and own is not None
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    @property
    def sent(self) -> int:
        """The number of clicks that were played."""
        return len(self._click_ticks)

    def describe(self) -> Mapping[str, Any]:
        """The settings of the clicks, as JSON values."""
        return {"kind": "clicks", "every_ticks": CLICK_EVERY_TICKS}


def drift_ppm(at_s: npt.NDArray[np.floating[Any]], delays_ms: npt.NDArray[np.floating[Any]]) -> float:
    """The rise of clicks' delay: the median slope of all pairs (Theil 1950, Sen 1968), which a single late click does
    not move. 0 for less than two clicks. at_s: when they came, floats (n,), like delays_ms.
    """
    from scipy.stats import theilslopes

    return float(theilslopes(delays_ms, at_s).slope) * 1000 if len(delays_ms) > 1 else 0.0


def _onset(level: npt.NDArray[np.int32]) -> int | None:
    """The first sample that reaches half the peak; None if there is no click."""
    peak = int(level.max(initial=0))
    return int(np.argmax(level >= ONSET_SHARE * peak)) if peak > 2000 else None  # clicks peak at 20,000


def _verdict(
    clicks: Clicks, legs: HarnessLegs | None, wire: LatenessSummary, timing: TimingCertificate
) -> TimingSelftest:
    ticks, late_samples = clicks.returned().T
    if legs is None or not len(ticks):
        raise PartyError("self-test: expected clicks to come back, got none")
    delays_ms = late_samples * 1000 / SAMPLE_RATE_HZ
    stated_ms = np.array([legs.round_trip_ms(tick) for tick in ticks.tolist()])
    error_ms = float(np.median(delays_ms - stated_ms))
    lost = clicks.sent - len(delays_ms)
    off = f"clicks came {error_ms:+.1f} ms later than stated, at most {MAX_ERROR_MS:g} is fine"
    broke = [off] * (abs(error_ms) > MAX_ERROR_MS)
    broke += [f"{lost} of {clicks.sent} clicks did not come back"] * (lost > 0)
    broke += [f"{timing['missed']} ticks missed"] * (timing["missed"] > 0)
    late_ms = (wire["p99_us"] or 0) / 1000
    broke += [f"packets left {late_ms:.1f} ms late (p99), at most {TICK_MS:g} is fine"] * (late_ms > TICK_MS)
    return {
        "schema": SELFTEST_SCHEMA,
        "created": utc_now(),
        "transport": "webrtc, reflected on this machine",
        "clicks": clicks.sent,
        "returned": len(delays_ms),
        "delay_ms": float(np.median(delays_ms)),
        "jitter_ms": float(np.ptp(delays_ms)),
        "drift_ppm": drift_ppm(ticks / TICKS_PER_S, delays_ms),
        "stated_ms": float(np.median(stated_ms)),
        "error_ms": error_ms,
        "wire": wire,
        "missed": timing["missed"],
        "priority": timing.get("priority"),
        "passed": not broke,
        "broke": broke,
    }
