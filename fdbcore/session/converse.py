"""Holds one live conversation: runs two parties through the loop into a recording, and decides how it ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Final, cast

from fdbcore.clock import MonotonicClock, VirtualClock, machine_load, utc_now
from fdbcore.errors import PartyError
from fdbcore.protocols import CallLine, Endpoint, Vad, World
from fdbcore.recording.files import REFUSAL, settings_hash
from fdbcore.recording.floods import FLOODS
from fdbcore.recording.labels import Label, LabelKind, keep_labels
from fdbcore.recording.meta import KnownMeta, Outcome, Parties, PlannedCase, SentTo, Settings
from fdbcore.recording.places import with_places_from
from fdbcore.recording.reader import Recording
from fdbcore.recording.versions import installed_versions
from fdbcore.recording.writer import RecordingWriter
from fdbcore.runtime.address import is_local
from fdbcore.runtime.machine import Processors, cause_of_missed_ticks
from fdbcore.runtime.redaction import redacted
from fdbcore.session.loop import run
from fdbcore.session.tools import ToolDesk
from fdbcore.session.vad import make_vads
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S, CallEnd, Side, TurnEvent, TurnSettings
from fdbcore.types.session_events import LOUD_DBFS
from fdbcore.types.timing import MeasuredSide, TimingCertificate
from fdbcore.types.usage import USAGE

MAX_MISSED_SHARE: Final = 0.001
MAX_MISSED_TICKS: Final = 3
"""A case that missed more ticks than both of these is invalid: the machine was too slow."""

MOST_UNNOTED_TICKS: Final = TICKS_PER_S // 2
"""Time that a conversation may go on after a party was lost without saying so."""

OPENING: Final = -1
CLOSING: Final = -2
WAITING: Final = -3
"""Values that `converse` passes to `progress` before tick 0 (WAITING: a party can be joined now) and after the last
tick. The ticks themselves are 0 and above."""

SILENT, IN_TEXT = "no speech found", "replied in text alone"
"""Reasons of outcomes. SILENT: the detector found no speech on a side, so there is nothing to measure. IN_TEXT: the
system answered, but in text, so its speech cannot be measured."""

_LOOK_S: Final = 0.1  # interval of checks: are the parties open, is it to stop?

NOT_COUNTED: Final = "compute time not counted"
"""A caution for every reader of a conversation in lockstep: its latencies leave this out."""


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """Settings of a live conversation.

    vad: the name of the voice activity detector. turns: settings of the turn detector. max_s: the time limit.
    realtime: False runs input-clocked parties in lockstep, as fast as they compute. spin_ns: how long `Pacer` spins
    before each deadline; 0 when several conversations share a process. in_turn: open A before B, for a B whose peer
    begins as soon as B is open, and must find A ready. ends: when a call is over though both sides are there; None:
    never. outlasts_b: a call goes on until A has left, though B has finished before.
    """

    vad: str = "silero"
    turns: TurnSettings = field(default_factory=TurnSettings)
    max_s: float = 600.0
    realtime: bool = True
    spin_ns: int = 300_000
    in_turn: bool = False
    ends: CallEnd | None = None
    outlasts_b: bool = False


def converse(
    a: Endpoint,
    b: Endpoint,
    path: Path,
    settings: LiveSettings,
    meta: KnownMeta,
    stop: Event,
    progress: Callable[[int], None] = lambda tick: None,
    world: World | None = None,
    seed: str = "",
    ruled: Callable[[Path, Outcome], Outcome] = lambda path, outcome: outcome,
    line: CallLine | None = None,
) -> Recording:
    """Open both parties, run the loop until one has left, time is up or the settings end it, and close them.

    The recording is kept whatever happens. Its meta.json gets `meta` and the outcome: {"kind", "side", "reason"},
    where kind is done, invalid (the harness or side A is to blame) or failed (the system is to blame). Setting `stop`
    ends the conversation at once: KeyboardInterrupt is raised, and the recording is marked interrupted and has no
    outcome. `progress` is called with OPENING, perhaps WAITING, each tick once it is over, and CLOSING.

    world: what answers the tool calls of b; it is open, and the caller closes it. seed: of its latencies. SettingsError
    if b cannot call tools. ruled: given the closed recording, which has no outcome yet, and the outcome that it shall
    get, returns the one that it does get. A process that is killed before that leaves a case without outcome. line:
    what the call goes over, if that changes what a side hears of the other.
    """
    vads = make_vads(settings.vad, (SAMPLE_RATE_HZ, SAMPLE_RATE_HZ))
    known = _known(a, b, vads, settings)
    desk = None
    if world is not None:
        from fdbcore.session.tools import ToolDesk

        b.take_tools(world.tools)
        desk = ToolDesk(world, b, seed, lockstep=not settings.realtime)
        known |= {"tools": {**world.describe(), "seed": seed}}
    progress(OPENING)
    writer = RecordingWriter(path, {**known, **meta}, keep_audio=True, realtime=settings.realtime)
    with writer as recording:
        with closing(a), closing(b), nullcontext() if desk is None else closing(desk):
            failure = _open(a, b, stop, progress, settings.in_turn)
            if a.plays is not None and not failure:
                b.take_recording(a.plays)
            if line is not None and not failure:
                line.open(a.speech_dbov, b.speech_dbov)
                recording.note(line=dict(line.describe()))
            ticks = 0 if failure else _hold(a, b, vads, settings, recording, stop, progress, desk, line)
        # Only after `close`: a party may set `left` while it leaves.
        _note_last_usage(a, b, ticks, recording)
        outcome = failure or _outcome(a, b, ticks, recording, settings)
        if world is not None and (state := world.state()) is not None:
            recording.note(tools={**known["tools"], "state": state})
    _label(a, b, path, meta.get("case"))
    writer.conclude(ruled(path, outcome))
    return Recording(path)


def _known(a: Endpoint, b: Endpoint, vads: tuple[Vad, Vad], settings: LiveSettings) -> KnownMeta:
    """The content of meta.json before the parties are open."""
    described: Settings = {
        "turns": asdict(settings.turns),
        "vad": {"A": dict(vads[0].describe()), "B": dict(vads[1].describe())},
        "max_s": settings.max_s,
        "clock": "real" if settings.realtime else f"virtual: {NOT_COUNTED}",
    }
    if settings.ends is not None:
        described["ends"] = settings.ends._asdict()
    return {
        "created": utc_now(),
        "parties": _parties(a, b),
        "settings": described,
        "settings_sha256": settings_hash(described),
        "versions": installed_versions(),
        **({"sent_to": sent_to} if (sent_to := _sent_to(a, b)) else {}),
    }


def _sides(a: Endpoint, b: Endpoint) -> tuple[tuple[Side, Endpoint], ...]:
    return ("A", a), ("B", b)


def _sent_to(a: Endpoint, b: Endpoint) -> SentTo:
    """The servers beyond this machine and private networks that each party sends audio or words to."""
    remote = {side: [each for each in party.services() if not is_local(each.host)] for side, party in _sides(a, b)}
    return cast("SentTo", {side: [each.to_json() for each in found] for side, found in remote.items() if found})


def _parties(a: Endpoint, b: Endpoint) -> Parties:
    return {"A": dict(a.describe()), "B": dict(b.describe())}


def _hold(
    a: Endpoint,
    b: Endpoint,
    vads: tuple[Vad, Vad],
    settings: LiveSettings,
    recording: RecordingWriter,
    stop: Event,
    progress: Callable[[int], None],
    desk: ToolDesk | None,
    line: CallLine | None,
) -> int:
    """Run the conversation of two open parties, note what was measured, and return its length in ticks."""
    load_before, processors = machine_load(), Processors.now()
    clock = MonotonicClock(settings.spin_ns) if settings.realtime else VirtualClock()
    max_ticks = int(settings.max_s * TICKS_PER_S)
    ending = None if settings.ends is None else CallEnding(settings.ends)
    stopped = False

    def over(tick: int, a_left: bool, b_left: bool) -> bool:
        nonlocal stopped
        ended = a_left or tick >= max_ticks or (b_left and not (settings.outlasts_b and b.left == "finished"))
        if ending is not None and not ended:
            ended = ending.is_over(tick, recording.turns_so_far, -1 if desk is None else desk.busy_tick)
        stopped = stop.is_set() and not ended
        return ended or stopped

    with clock.undisturbed() if isinstance(clock, MonotonicClock) else nullcontext():
        ticks = run(a, b, clock, vads, settings.turns, recording, progress, over, desk, line=line)
    progress(CLOSING)
    sides = cast("dict[Side, MeasuredSide]", {"A": dict(a.measured()), "B": dict(b.measured())})
    timing: TimingCertificate = {**clock.certificate(), "machine_before": load_before}
    if settings.realtime:
        timing["processors"] = Processors.now().since(processors)
    timing["sides"] = sides
    recording.note(parties=_parties(a, b), timing=timing)
    if stopped:
        raise KeyboardInterrupt("stopped before its end")
    return ticks


def _open(a: Endpoint, b: Endpoint, stop: Event, progress: Callable[[int], None], in_turn: bool) -> Outcome | None:
    """Open both parties, at once or A first. Returns the outcome if one is not available; the system's goes first."""
    pool = ThreadPoolExecutor(1 if in_turn else 2, "fdbcore-open")
    opening: dict[Side, Future[None]] = {"A": pool.submit(a.open, "A"), "B": pool.submit(b.open, "B")}
    pool.shutdown(wait=False)  # Ctrl-C must not wait for a party; closing the parties makes their `open` fail
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


def _note_last_usage(a: Endpoint, b: Endpoint, ticks: int, recording: RecordingWriter) -> None:
    """Log what a vendor has counted only when the session was closed."""
    for side, party in _sides(a, b):
        if ticks and party.services():
            usage = [each._replace(tick=ticks - 1) for each in party.log() if each.kind == USAGE]
            recording.happenings(side, usage)


def _label(a: Endpoint, b: Endpoint, path: Path, case: PlannedCase | None) -> None:
    """Keep what the parties did on purpose as labels of the recording, and those of a recorded user."""
    labels = [
        Label(side, cast("LabelKind", each.kind), each.start_tick / TICKS_PER_S, each.end_tick / TICKS_PER_S)
        for side, party in _sides(a, b)
        for each in party.planted()
    ]
    sources = ["planted by the parties"] if labels else []
    if case is not None and (given := case.get("labels")) is not None:
        labels += [Label(**label) for label in given["labels"]]
        sources.append(with_places_from(path, given)["source"])
    if sources:
        keep_labels(path, " and ".join(sources), labels)


def said_nothing(outcome: Outcome) -> bool:
    """True if the call was held and the system said nothing in it: that is a result, too."""
    return outcome["kind"] == "failed" and SILENT in (outcome["reason"] or "")


def has_declined(events: Iterable[Mapping[str, Any]]) -> bool:
    """True if the system declined to answer, by the events of a call that failed: that is a result, too."""
    return any(event["side"] == "B" and event["kind"] == REFUSAL for event in events)


def _blame(side: Side, reason: str) -> Outcome:
    """The outcome that blames a side: "failed" for the system (B), "invalid" for side A, which is not its fault."""
    return {"kind": "failed" if side == "B" else "invalid", "side": side, "reason": redacted(reason)}


def _outcome(a: Endpoint, b: Endpoint, ticks: int, recording: RecordingWriter, settings: LiveSettings) -> Outcome:
    missed = recording.missed_ticks
    if recording.loss is not None:
        return {"kind": "invalid", "side": None, "reason": recording.loss}
    if str(b.left).startswith(FLOODS):  # before missed ticks are judged: the flood may have caused them
        return _blame("B", str(b.left))
    if missed > max(MAX_MISSED_TICKS, MAX_MISSED_SHARE * ticks):
        timing = recording.known["timing"]
        why = cause_of_missed_ticks(timing["processors"], timing.get("suspends", ()))
        return {"kind": "invalid", "side": None, "reason": f"{missed} of {ticks} ticks missed; {why}"}
    if b.left not in (None, "finished"):
        failed = _blame("B", str(b.left)) | ({"transient": True} if b.transient else {})
        if b.gone_tick is not None and ticks - b.gone_tick > MOST_UNNOTED_TICKS:
            failed["gone_tick"] = b.gone_tick
        return failed
    if a.left not in (None, "finished"):
        return _blame("A", str(a.left)) | ({"transient": True} if a.transient else {})
    if not recording.has_spoken("B"):
        if unplayed := recording.known["timing"].get("sides", {}).get("B", {}).get("unplayed"):
            return _blame("B", f"sent audio that was not played: {unplayed}")
        if recording.has_replied("B"):
            return {"kind": "done", "side": "B", "reason": IN_TEXT}
        left_first = b.left is not None and a.left is None
        asked = recording.has_spoken("A")  # a system that was asked nothing need not answer, but must not leave
        silent: Side = "B" if asked or left_first else "A"
        is_cut = a.left is None and b.left is None and ticks >= int(settings.max_s * TICKS_PER_S)
        cut = f"; the call was cut at --max-s {settings.max_s:g}" if is_cut else ""
        return _blame(silent, f"{_why_silent(recording.loudest_dbfs(silent), settings.vad)}{cut}")
    return {"kind": "done", "side": None, "reason": None}


def _why_silent(loudest_dbfs: float, vad: str) -> str:
    if loudest_dbfs < LOUD_DBFS:
        return SILENT
    other = "" if vad == "energy" else "; --vad energy"
    return f"audio to {loudest_dbfs:.0f} dBFS, but {SILENT} by {vad}{other}"


class CallEnding:
    """Follows the turn events of a call, and says whether it is over by a rule.

    The user's end is that of its last speech so far: a pause within the request is shorter than `CallEnd.quiet_s`.
    """

    def __init__(self, rule: CallEnd) -> None:
        self._quiet_ticks, self._most_ticks = round(rule.quiet_s * TICKS_PER_S), round(rule.most_s * TICKS_PER_S)
        self._read = 0  # turn events read
        self._speaking: set[Side] = set()
        self._end: dict[Side, int | None] = {"A": None, "B": None}

    def is_over(self, tick: int, events: Sequence[TurnEvent], busy_tick: int) -> bool:
        """True if the call ended before `tick`. events: all so far. busy_tick: the last with a call under way; or -1.

        Nobody knows of speech before the turn detector has found it, which takes as long as its settings say.
        """
        for event in events[self._read :]:
            if event.kind == "speech_start":
                self._speaking.add(event.side)
            elif event.kind == "speech_end":
                self._speaking.discard(event.side)
                self._end[event.side] = event.end_tick
        self._read = len(events)
        user_end, answer_end = self._end["A"], self._end["B"]
        if user_end is None or "A" in self._speaking:
            return False
        if tick - user_end >= self._most_ticks:
            return True
        if "B" in self._speaking or answer_end is None or answer_end <= user_end:
            return False
        return tick - max(answer_end, busy_tick + 1) >= self._quiet_ticks
