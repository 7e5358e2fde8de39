"""Measures how many live calls at once this machine holds on time, by holding more and more of them.

Each call has two WebRTC legs to mirrors in the same process (`fdbcore.endpoints.webrtc.mirror`), and is held as by
`fdbcore run`: by processes with four calls each, recorded, with its speech decided. The mirrors encrypt and decrypt as
much as the legs do, so calls whose peers are elsewhere leave some of the processors free.
"""

import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import to_builtins

from fdbcore._version import __version__
from fdbcore.clock import utc_now
from fdbcore.errors import RecordingError, SettingsError
from fdbcore.recording.files import write_json
from fdbcore.recording.form import kept_of_form
from fdbcore.recording.reader import Recording
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.held_here import CALLS_PER_PROCESS
from fdbcore.runs.plan import PlannedSystem, make_plan
from fdbcore.runs.runner import run_cases
from fdbcore.runs.watch import Watch
from fdbcore.runtime.cache_folder import cache_folder
from fdbcore.runtime.executor import Workers
from fdbcore.session.converse import MAX_MISSED_SHARE, LiveSettings
from fdbcore.types import TICKS_PER_S, User
from fdbcore.types.timing import CallsAtOnce, HeldAtOnce, MeasuredMachine

CALLS_AT_ONCE_SCHEMA: Final = "fdbcore.calls_at_once/1"
PARTY: Final = "mirror"
PROBE_S: Final = 10.0
FIRST_PER_PROCESSOR: Final = 4
MOST_LATE_SHARE: Final = 0.01
STEP_SHARE: Final = 1 / 16
"""Precision of the search for the most calls: the next step would be this share of them, or a call."""
SPARE_SHARE: Final = 0.15
"""Room for what ten seconds do not show, such as a host that takes processor time away now and then."""


def calls_at_once(
    told: Callable[[HeldAtOnce], None] = lambda held: None,
    hold: Callable[[int], HeldAtOnce] | None = None,
) -> CallsAtOnce:
    """Find how many calls this machine holds at once, in probes of ten seconds: about two minutes in all.

    They double from four a processor until too many ticks are late or missed, and are then halved between the last that
    went well and the first that did not. `calls` is 15 % below the most that went well, at least 1. told: called with
    each probe. hold: holds a number of calls, in place of `hold_at_once`. MissingExtraError without the extra `live`.
    """
    hold = hold or hold_at_once
    probes: list[HeldAtOnce] = []

    def holds(calls: int) -> bool:
        probes.append(hold(calls))
        told(probes[-1])
        return keeps_time(probes[-1])

    most, fails = 0, FIRST_PER_PROCESSOR * Workers().jobs
    while holds(fails):
        most, fails = fails, 2 * fails
    while fails - most > max(1, STEP_SHARE * most):
        middle = (most + fails) // 2
        most, fails = (middle, fails) if holds(middle) else (most, middle)
    calls = max(1, int((1 - SPARE_SHARE) * most))
    return CallsAtOnce(CALLS_AT_ONCE_SCHEMA, utc_now(), calls, most, probes, this_machine())


def hold_at_once(calls: int, seconds: float = PROBE_S, *, calls_per_process: int = CALLS_PER_PROCESS) -> HeldAtOnce:
    """Hold so many calls at once for `seconds`, and say how well they kept time."""
    users = [User(f"call-{number}", PARTY) for number in range(calls)]
    plan = make_plan([PlannedSystem(PARTY, PARTY)], users, LiveSettings(max_s=seconds))
    with TemporaryDirectory(prefix="fdbcore-calls-") as folder, RunFolder(Path(folder) / "run", plan) as run:
        run_cases(run, jobs=calls, calls_per_process=calls_per_process)
        return _told([Recording(run.path / case.name) for case in plan.cases], round(seconds * TICKS_PER_S))


def keeps_time(held: HeldAtOnce) -> bool:
    """True if calls were held on time: as few ticks missed as a call may miss, and few of them late."""
    return held.missed <= MAX_MISSED_SHARE * held.ticks and held.late <= MOST_LATE_SHARE * held.ticks


def _told(recordings: Sequence[Recording], n_ticks: int) -> HeldAtOnce:
    """Of a call that could not even begin, all ticks are missed."""
    timings = [recording.meta["timing"] for recording in recordings if "timing" in recording.meta]
    legs = [side["wire"] for timing in timings for side in timing["sides"].values()]
    late = sum(timing["late"] for timing in timings)
    missed = sum(timing["missed"] for timing in timings) + n_ticks * (len(recordings) - len(timings))
    wire_p99_ms = max(((leg["p99_us"] or 0.0) / 1000 for leg in legs), default=0.0)
    return HeldAtOnce(len(recordings), n_ticks * len(recordings), late, missed, wire_p99_ms)


def this_machine() -> MeasuredMachine:
    """The machine, by all that the number of calls at once depends on: with other values it is to be measured again."""
    return MeasuredMachine(platform.node(), Workers().jobs, platform.python_version(), __version__)


def keep(found: CallsAtOnce) -> None:
    """Keep what was measured for `known_calls_at_once`. RecordingError if it cannot be written."""
    _kept_in().parent.mkdir(parents=True, exist_ok=True)
    write_json(_kept_in(), to_builtins(found))


def known_calls_at_once(realtime: bool = True) -> int | None:
    """The number of calls that this machine holds at once, if that has been measured on it.

    realtime: False for calls on the virtual clock, which cannot be late: one for each processor.
    """
    if not realtime:
        return Workers().jobs
    with suppress(RecordingError):
        found = kept_of_form(_kept_in(), CALLS_AT_ONCE_SCHEMA, CallsAtOnce)
        if found is not None and found.machine == this_machine():
            return found.calls
    return None


def needed_calls_at_once(realtime: bool, watch: Watch | None = None, may_measure: bool = True) -> int:
    """`known_calls_at_once`; if that is None, it is measured, or SettingsError where it may not be."""
    if (known := known_calls_at_once(realtime)) is not None:
        return known
    if not may_measure:
        raise SettingsError("--jobs auto: expected this machine to be measured: fdbcore doctor --calls")
    return measured_calls_at_once(watch or Watch()).calls


def measured_calls_at_once(watch: Watch) -> CallsAtOnce:
    """`calls_at_once`, which is kept."""
    watch.note("live calls at once: two minutes in which this machine should do nothing else")
    found = calls_at_once(lambda held: watch.note(probe_text(held)))
    keep(found)
    return found


def probe_text(held: HeldAtOnce) -> str:
    """The timing of calls held at once, in a line."""
    return (
        f"{held.calls} calls: {held.missed} of {held.ticks} ticks missed, {held.late} late, "
        f"packets {held.wire_p99_ms:.1f} ms late (p99)"
    )


def _kept_in() -> Path:
    return cache_folder() / "calls_at_once.json"
