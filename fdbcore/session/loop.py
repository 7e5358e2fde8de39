"""THE LOOP: runs one conversation, live or offline. The two differ in the clock and in who sits on each side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fdbcore._ext.pacer import MAX_LATE_TICKS
from fdbcore.errors import SettingsError
from fdbcore.protocols import CallLine, Clock, Endpoint, Vad
from fdbcore.recording.writer import RecordingWriter
from fdbcore.session.muting import Muting
from fdbcore.session.turns import SpansTurnDetector, TurnDetector
from fdbcore.session.vad_errors import blame
from fdbcore.types import SIDES, SILENT_FRAME, Span, TurnSettings

if TYPE_CHECKING:
    from fdbcore.session.tools import ToolDesk


def run(
    a: Endpoint,
    b: Endpoint,
    clock: Clock,
    vads: tuple[Vad, Vad],
    settings: TurnSettings,
    recording: RecordingWriter,
    on_tick: Callable[[int], None] = lambda tick: None,
    over: Callable[[int, bool, bool], bool] = lambda tick, a_left, b_left: a_left and b_left,
    tools: ToolDesk | None = None,
    kept: Sequence[Span] | None = None,
    line: CallLine | None = None,
) -> int:
    """Step both sides through the ticks until the conversation is over; return the number of ticks.

    Both endpoints must be open; tick 0 is now. In each tick, `over(tick, a_left, b_left)` decides whether the
    conversation ended before this tick; a_left and b_left say whether a side will never speak again. `on_tick` is
    called after each tick, for progress. tools: carries the tool calls of B, if it has tools. kept: the spans of ticks
    to find turn events in; None for all. line: changes what each side hears of the other. Errors of an endpoint go to
    the caller, and those of a detector as VadError; the caller closes `recording`, `tools` and both endpoints in every
    case. SettingsError if a virtual clock would drive a side that follows real time, or if the two detectors differ in
    their delay.

    A side whose partner `mutes_ticks` is silent for all in these ticks: its partner, the detectors and the recording.

    A tick that is overdue by more than MAX_LATE_TICKS is too late for a party that does not follow the tick. It is
    missed: both sides are silent in it. If both sides follow the tick, no tick is missed, however late it is.
    """
    for side, party in (("A", a), ("B", b)):
        if not clock.realtime and party.clocking in ("burst", "realtime"):
            raise SettingsError(f"clock: a virtual clock cannot drive side {side}, which follows {party.clocking}")
    vad_a, vad_b = vads
    delay = vad_a.delay_ticks
    if vad_b.delay_ticks != delay:
        raise SettingsError(f"vads: expected the same delay on both sides, got {delay} and {vad_b.delay_ticks} ticks")
    sensing = [party for party in (a, b) if party.follows_activity]
    can_miss = not a.clocking == b.clocking == "tick"
    muting = Muting(a, b)
    detector = TurnDetector(settings, delay) if kept is None else SpansTurnDetector(settings, delay, kept)
    tick = 0
    while True:
        missed = clock.wait(tick) > MAX_LATE_TICKS and can_miss
        if tick == 0:
            a.start(clock.origin_ns)
            b.start(clock.origin_ns)
        said_a = SILENT_FRAME if missed and a.clocking != "tick" else a.say(tick)
        said_b = SILENT_FRAME if missed and b.clocking != "tick" else b.say(tick)
        if over(tick, said_a is None, said_b is None):
            break
        frame_a = SILENT_FRAME if said_a is None or missed else said_a
        frame_b = SILENT_FRAME if said_b is None or missed else said_b
        if tick < muting.until_tick:
            frame_a, frame_b = muting.heard(tick, frame_a, frame_b)
        heard_by_a, heard_by_b = (frame_b, frame_a) if line is None else line.carry(frame_a, frame_b)
        # A side that follows the tick counts ticks by its calls, so it hears the missed ones too.
        if not (missed and a.clocking != "tick"):
            a.hear(tick, heard_by_a)
        if not (missed and b.clocking != "tick"):
            b.hear(tick, heard_by_b)
        recording.write(frame_a, frame_b)
        try:
            active_a, active_b = vad_a.push(frame_a), vad_b.push(frame_b)
            seeming = (vad_a.seems_active, vad_b.seems_active) if sensing else (False, False)
        except Exception as error:
            blame(vad_a.name, error, tick)
        for party in sensing:
            party.sense(tick, *seeming)
        if tick >= delay:
            recording.activity(active_a, active_b)
            events = detector.push(tick - delay, active_a, active_b)  # the VAD decides `delay` ticks behind the audio
            if events:
                recording.turns(events)
                a.notice(tick, events)
                b.notice(tick, events)
        if missed:
            recording.missed(tick)
        if happened := a.log():
            recording.happenings("A", happened)
        if happened := b.log():
            recording.happenings("B", happened)
        if tools is not None:
            recording.happenings("B", tools.step(tick))
        on_tick(tick)
        tick += 1
        if tick == muting.until_tick:
            _tell(muting, recording)
    recording.happenings("A", a.log())  # events of the last tick after its log was read, or of the final `say`
    recording.happenings("B", b.log())
    if tools is not None:
        recording.happenings("B", tools.finish(tick))
    _tell(muting, recording)
    try:
        rest = list(zip(vad_a.finish(), vad_b.finish(), strict=True))
        evidence = vad_a.evidence(), vad_b.evidence()
    except Exception as error:
        blame(vad_a.name, error, tick)
    for last, (active_a, active_b) in enumerate(rest, max(tick - delay, 0)):
        recording.activity(active_a, active_b)
        recording.turns(detector.push(last, active_a, active_b))
    recording.turns(detector.finish())
    for side, own in zip(SIDES, evidence, strict=True):
        recording.evidence(side, own)
    return tick


def _tell(muting: Muting, recording: RecordingWriter) -> None:
    for side, happening in muting.told():
        recording.happenings(side, [happening])
