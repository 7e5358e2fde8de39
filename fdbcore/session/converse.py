"""One conversation, held now: two parties in real time through the loop, to a recording that says how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Final

from fdbcore.clock import MonotonicClock, VirtualClock, machine_load, utc_now
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint, Vad
from fdbcore.recording.files import settings_hash
from fdbcore.recording.floods import FLOODS
from fdbcore.recording.reader import Recording
from fdbcore.recording.versions import versions
from fdbcore.recording.writer import RecordingWriter
from fdbcore.registry import VADS, resolve
from fdbcore.runtime.machine import Processors, what_stood_still
from fdbcore.runtime.redaction import redacted
from fdbcore.session.loop import run
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Side, TurnSettings

MAX_MISSED_SHARE: Final = 0.001
MAX_MISSED_TICKS: Final = 3
"""A case with more missed ticks than both is invalid: the machine was too slow for it."""

OPENING: Final = -1
CLOSING: Final = -2
WAITING: Final = -3
"""What `converse` tells its `progress` before tick 0 (WAITING: a party can be joined now) and after the last tick; the
ticks themselves are 0 and above."""

SILENT, IN_TEXT = "no speech found", "replied in text alone"
"""Reasons of outcomes: a side to which the call owes nothing to measure, the user's first, with its level before it if
that could be speech; and a system that is done but gives no measures of its speech."""

LOUD_DBFS: Final = -40.0
"""A peak beyond which it is worth saying that it was heard: an agent that plays tones, or a detector that errs."""

_LOOK_S: Final = 0.1  # how often parties that open are looked at, and whether to stop

NOT_COUNTED: Final = "compute time not counted"
"""What every reader of a conversation in lockstep must know."""


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """How a conversation is held.

    max_s: it ends after this time at the latest. realtime: False runs input-clocked parties in lockstep, as fast as
    they compute. spin_ns: as of `Pacer`; 0 when several conversations share a process.
    """

    vad: str = "silero"
    turns: TurnSettings = field(default_factory=TurnSettings)
    max_s: float = 600.0
    realtime: bool = True
    spin_ns: int = 300_000


def converse(
    a: Endpoint,
    b: Endpoint,
    path: Path,
    settings: LiveSettings,
    meta: Mapping[str, Any],
    stop: Event,
    progress: Callable[[int], None] = lambda tick: None,
) -> Recording:
    """Open both parties, run the loop until one has left or time is up, and close them.

    The recording is kept whatever happens; its meta.json gets `meta` and the outcome: {"kind", "side", "reason"}, of
    kind done, invalid (the harness is to blame) or failed (the system is). `stop` ends the conversation at once:
    KeyboardInterrupt, and the recording is marked interrupted, without an outcome. `progress` is told OPENING, perhaps
    WAITING, each tick after it, and CLOSING.
    """
    make = resolve("vad", VADS, settings.vad)
    vads = make(source_rate_hz=SAMPLE_RATE_HZ), make(source_rate_hz=SAMPLE_RATE_HZ)
    known = _known(a, b, vads, settings)
    progress(OPENING)
    writer = RecordingWriter(path, {**known, **meta}, keep_audio=True, realtime=settings.realtime)
    with writer as recording:
        with closing(a), closing(b):
            failure = _open(a, b, stop, progress)
            ticks = 0 if failure else _hold(a, b, vads, settings, recording, stop, progress)
        outcome = failure or _outcome(a, b, ticks, recording, settings.vad)  # how a party parts belongs to it
        recording.note(outcome=outcome)
    return Recording(path)


def _known(a: Endpoint, b: Endpoint, vads: tuple[Vad, Vad], settings: LiveSettings) -> dict[str, Any]:
    """What meta.json says before the parties are there."""
    described = {
        "turns": asdict(settings.turns),
        "vad": {side: dict(v.describe()) for side, v in zip(SIDES, vads, strict=True)},
        "max_s": settings.max_s,
        "clock": "real" if settings.realtime else f"virtual: {NOT_COUNTED}",
    }
    return {
        "created": utc_now(),
        "parties": _parties(a, b),
        "settings": described,
        "settings_sha256": settings_hash(described),
        "versions": versions(),
    }


def _parties(a: Endpoint, b: Endpoint) -> dict[Side, dict[str, Any]]:
    return {"A": dict(a.describe()), "B": dict(b.describe())}


def _hold(
    a: Endpoint,
    b: Endpoint,
    vads: tuple[Vad, Vad],
    settings: LiveSettings,
    recording: RecordingWriter,
    stop: Event,
    progress: Callable[[int], None],
) -> int:
    """The conversation itself, of parties that are open, and what was measured; its length in ticks."""
    load_before, processors = machine_load(), Processors.now()
    clock = MonotonicClock(settings.spin_ns) if settings.realtime else VirtualClock()
    max_ticks = int(settings.max_s * TICKS_PER_S)
    stopped = False

    def over(tick: int, a_left: bool, b_left: bool) -> bool:
        nonlocal stopped
        ended = a_left or b_left or tick >= max_ticks
        stopped = stop.is_set() and not ended
        return ended or stopped

    with clock.undisturbed() if isinstance(clock, MonotonicClock) else nullcontext():
        ticks = run(a, b, clock, vads, settings.turns, recording, progress, over)
    progress(CLOSING)
    sides = {"A": dict(a.measured()), "B": dict(b.measured())}
    taken = {"processors": Processors.now().since(processors)} if settings.realtime else {}
    timing = {**clock.certificate(), "machine_before": load_before, **taken, "sides": sides}
    recording.note(parties=_parties(a, b), timing=timing)
    if stopped:
        raise KeyboardInterrupt("stopped before its end")
    return ticks


def _open(a: Endpoint, b: Endpoint, stop: Event, progress: Callable[[int], None]) -> dict[str, Any] | None:
    """Open both at once; the outcome if a party cannot be had, the system's before the other's."""
    pool = ThreadPoolExecutor(2, "fdbcore-open")
    opening: dict[Side, Future[None]] = {"A": pool.submit(a.open, "A"), "B": pool.submit(b.open, "B")}
    pool.shutdown(wait=False)  # what is to stop waits for no party; closing the parties ends their opening
    while wait(opening.values(), _LOOK_S).not_done:
        if stop.is_set():
            raise KeyboardInterrupt("stopped before it began")
        if a.waits or b.waits:
            progress(WAITING)
    for side in ("B", "A"):
        error = opening[side].exception()
        if isinstance(error, PartyError):
            return _blame(side, str(error)) | {"transient": error.transient}
        if error is not None:
            raise error
    return None


def _blame(side: Side, reason: str) -> dict[str, Any]:
    """The system has failed; a case that the other side could not play is not the system's fault."""
    return {"kind": "failed" if side == "B" else "invalid", "side": side, "reason": redacted(reason)}


def _outcome(a: Endpoint, b: Endpoint, ticks: int, recording: RecordingWriter, vad: str) -> dict[str, Any]:
    missed = recording.missed_ticks
    if recording.loss is not None:
        return {"kind": "invalid", "side": None, "reason": recording.loss}
    if str(b.left).startswith(FLOODS):  # whatever it has held up
        return _blame("B", str(b.left))
    if missed > max(MAX_MISSED_TICKS, MAX_MISSED_SHARE * ticks):
        why = what_stood_still(recording.known["timing"])
        return {"kind": "invalid", "side": None, "reason": f"{missed} of {ticks} ticks missed; {why}"}
    if b.left not in (None, "finished"):
        return _blame("B", str(b.left)) | ({"transient": True} if b.transient else {})
    if a.left not in (None, "finished"):
        return _blame("A", str(a.left))
    if not recording.has_spoken("B"):
        if recording.has_replied("B"):
            return {"kind": "done", "side": "B", "reason": IN_TEXT}
        left_first = b.left is not None and a.left is None
        asked = recording.has_spoken("A")  # who was asked nothing need not answer, but has to stay
        silent: Side = "B" if asked or left_first else "A"
        return _blame(silent, _why_silent(recording.loudest_dbfs(silent), vad))
    return {"kind": "done", "side": None, "reason": None}


def _why_silent(loudest_dbfs: float, vad: str) -> str:
    if loudest_dbfs < LOUD_DBFS:
        return SILENT
    other = "" if vad == "energy" else "; --vad energy"
    return f"audio to {loudest_dbfs:.0f} dBFS, but {SILENT} by {vad}{other}"
