"""THE LOOP: one conversation, live or offline. They differ in the clock and in who sits on each side."""

from __future__ import annotations

from collections.abc import Callable

from fdbcore.errors import SettingsError
from fdbcore.protocols import Clock, Endpoint, Vad
from fdbcore.recording import RecordingWriter
from fdbcore.turns import TurnDetector
from fdbcore.types import SILENT_FRAME, TurnSettings


def run(
    a: Endpoint,
    b: Endpoint,
    clock: Clock,
    vads: tuple[Vad, Vad],
    settings: TurnSettings,
    recording: RecordingWriter,
    on_tick: Callable[[int], None] = lambda tick: None,
) -> int:
    """Step both sides through the ticks until neither will speak again; return the number of ticks.

    Both endpoints are open, and tick 0 is now. `on_tick` is called after each tick, for progress. Errors of an endpoint
    go through to the caller, who closes `recording` and both endpoints in every case.
    """
    if not clock.realtime and (real := [e.clocking for e in (a, b) if e.clocking in ("burst", "realtime")]):
        raise SettingsError(f"clock: a virtual clock cannot drive an endpoint that follows {real[0]}")
    vad_a, vad_b = vads
    delay = vad_a.delay_ticks
    if vad_b.delay_ticks != delay:
        raise SettingsError(f"vads: expected the same delay on both sides, got {delay} and {vad_b.delay_ticks} ticks")
    detector = TurnDetector(settings, delay)
    tick = 0
    while True:
        clock.wait(tick)
        said_a, said_b = a.say(tick), b.say(tick)
        if said_a is None and said_b is None:
            break
        frame_a = SILENT_FRAME if said_a is None else said_a
        frame_b = SILENT_FRAME if said_b is None else said_b
        recording.write(frame_a, frame_b)
        active_a, active_b = vad_a.push(frame_a), vad_b.push(frame_b)
        if tick >= delay:
            recording.activity(active_a, active_b)
            events = detector.push(tick - delay, active_a, active_b)
            recording.turns(events)
        else:
            events = []
        a.hear(tick, frame_b, events)
        b.hear(tick, frame_a, events)
        on_tick(tick)
        tick += 1
    for last, (active_a, active_b) in enumerate(zip(vad_a.finish(), vad_b.finish(), strict=True), max(tick - delay, 0)):
        recording.activity(active_a, active_b)
        recording.turns(detector.push(last, active_a, active_b))
    recording.turns(detector.finish())
    recording.evidence("A", vad_a.evidence())
    recording.evidence("B", vad_b.evidence())
    return tick
