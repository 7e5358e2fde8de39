"""Finds out whether a voice activity detector, ours or another, holds to what detectors are held to."""

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from fdbcore.errors import SettingsError
from fdbcore.protocols import Vad
from fdbcore.registry import vad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, TICKS_PER_S, Pcm

SOURCE_RATES_HZ: Final = (8_000, 16_000, 48_000)
MOST_BYTES_A_TICK: Final = 64
"""Bytes that a detector may keep of each tick, such as its model's probabilities: 22 MiB an hour."""
EARLY_TICKS: Final = 10
"""Time before a sound at which its activity may begin: an onset may be set early on purpose, but not by more."""

_VOICE: Final = (2 * TICKS_PER_S, 4 * TICKS_PER_S)
_MEMORY_TICKS: Final = 20 * TICKS_PER_S
_CUTS: Final = (0, 1, 7, 201, 250, 399, 430)


def vad_faults(name: str) -> list[str]:
    """Faults of the detector `name` (see `fdbcore.registry.vad`), a sentence each; empty if there are none.

    It hears silence and a voice (vowels, made here) a few times: some seconds of work. It must decide each tick once,
    give the same for the same sound, whatever it or another object of its class heard before and whichever array the
    frames lie in; not begin before the sound; hear nothing in digital silence; keep little of each tick; and describe
    itself in JSON, by a name that finds it. SettingsError if there is no such detector.
    """
    make = vad(name)
    try:
        return list(_faults(name, make))
    except Exception as error:
        return [f"it raised {type(error).__name__}: {error}"]


def _faults(name: str, make: Callable[..., Vad]) -> Iterator[str]:
    voice = _voice()
    made = {rate_hz: make(source_rate_hz=rate_hz) for rate_hz in SOURCE_RATES_HZ}
    delays = {each.delay_ticks for each in made.values()}
    delay = made[SAMPLE_RATE_HZ].delay_ticks
    if len(delays) > 1 or not isinstance(delay, int) or delay < 0:
        yield f"delay_ticks: expected one whole number from 0 on at every source rate, got {delays}"
        return
    yield from _faults_of_description(name, made[SAMPLE_RATE_HZ], make(source_rate_hz=SAMPLE_RATE_HZ))
    yield from (cuts := list(_faults_of_cuts(make, voice, delay)))
    if cuts:
        return
    whole = _heard(make(source_rate_hz=SAMPLE_RATE_HZ), voice)
    if _heard(make(source_rate_hz=SAMPLE_RATE_HZ), voice, lent=True) != whole:
        yield "it keeps a frame without a copy: the frame is only lent, and changes after push"
    if _beside(make, voice) != whole:
        yield "it decides otherwise when another object of its class hears something else meanwhile"
    start, end = _VOICE
    if not any(whole[start:end]):
        yield "it hears no speech in a voice (vowels): does it get audio of the rate and size that it expects?"
    elif (first := whole.index(True)) < start - EARLY_TICKS:
        yield f"activity begins {start - first} ticks before the sound: does delay_ticks = {delay} fit?"
    if any(_heard(make(source_rate_hz=SAMPLE_RATE_HZ), np.zeros(3 * TICKS_PER_S * FRAME_SAMPLES, np.int16))):
        yield "it hears speech in digital silence"
    if (kept := _bytes_a_tick(make(source_rate_hz=SAMPLE_RATE_HZ), voice)) > MOST_BYTES_A_TICK:
        yield f"its memory grows by {kept:,.0f} bytes a tick: expected {MOST_BYTES_A_TICK} at most"


def _faults_of_description(name: str, made: Vad, again: Vad) -> Iterator[str]:
    described = dict(made.describe())
    try:
        as_json: Any = json.loads(json.dumps(described))
    except (TypeError, ValueError) as error:
        yield f"describe: expected JSON values: {error}"
        return
    if missing := [key for key in ("name", "version", "settings") if key not in as_json]:
        yield f"describe: expected name, version and settings, got no {' and no '.join(missing)}"
        return
    if described != dict(again.describe()):
        yield "describe: expected the same of every object, got two that differ"
    if described["name"] != made.name:
        yield f"describe: expected the name {made.name!r}, got {described['name']!r}"
    try:
        found = type(vad(made.name)(source_rate_hz=SAMPLE_RATE_HZ))
    except SettingsError:
        found = None
    if found is not type(made):
        yield f"name: expected one that finds it again, such as {name!r}, got {made.name!r}"


def _faults_of_cuts(make: Callable[..., Vad], voice: Pcm, delay: int) -> Iterator[str]:
    """Faults of decisions: they may not change with what follows; the end of a recording decides the rest."""
    made, frames = make(source_rate_hz=SAMPLE_RATE_HZ), voice.reshape(-1, FRAME_SAMPLES)
    pushed = [made.push(frame) for frame in frames]
    if any(active is not True and active is not False for active in pushed):
        yield f"push: expected True or False, got {next(each for each in pushed if not isinstance(each, bool))!r}"
    if any(pushed[:delay]):
        yield "push: expected False while no tick is decided"
    if not isinstance(made.seems_active, bool):
        yield f"seems_active: expected True or False, got {made.seems_active!r}"
    for ticks in _CUTS:
        cut = make(source_rate_hz=SAMPLE_RATE_HZ)
        if [cut.push(frame) for frame in frames[:ticks]] != pushed[:ticks]:
            yield f"the same sound gives other decisions the second time (of {ticks} ticks)"
            return
        if len(rest := cut.finish()) != min(ticks, delay):
            yield f"finish: expected {min(ticks, delay)} decisions after {ticks} ticks, got {len(rest)}"
            return
        evidence = cut.evidence()
        if not isinstance(evidence, Mapping) or not all(isinstance(each, np.ndarray) for each in evidence.values()):
            yield "evidence: expected arrays by name"
            return


def _heard(made: Vad, pcm: Pcm, lent: bool = False) -> list[bool]:
    """The activity of each tick. lent: all frames come in one array, which is overwritten."""
    pushed, frame = [], np.empty(FRAME_SAMPLES, np.int16)
    for own in pcm.reshape(-1, FRAME_SAMPLES):
        frame[:] = own
        pushed.append(bool(made.push(frame if lent else own)))
        frame[:] = 12_345
    return [*pushed[made.delay_ticks :], *made.finish()]


def _beside(make: Callable[..., Vad], voice: Pcm) -> list[bool]:
    made, other = make(source_rate_hz=SAMPLE_RATE_HZ), make(source_rate_hz=SAMPLE_RATE_HZ)
    pushed = []
    for frame in voice.reshape(-1, FRAME_SAMPLES):
        other.push(frame[::-1].copy())
        pushed.append(made.push(frame))
        other.push(SILENT_FRAME)
    return [*pushed[made.delay_ticks :], *made.finish()]


def _bytes_a_tick(made: Vad, voice: Pcm) -> float:
    frames = voice.reshape(-1, FRAME_SAMPLES)
    for frame in frames:
        made.push(frame)
    own = not tracemalloc.is_tracing()
    if own:
        tracemalloc.start()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for tick in range(_MEMORY_TICKS):
        made.push(frames[tick % len(frames)])
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    if own:
        tracemalloc.stop()
    return (after - before) / _MEMORY_TICKS


def _voice() -> Pcm:
    """Five seconds: two of silence, two of a voice that says vowels in syllables, one of silence. int16 at 48 kHz."""
    start, end = (tick * FRAME_SAMPLES for tick in _VOICE)
    seconds = np.arange(end - start) / SAMPLE_RATE_HZ
    pitch_hz = 130 + 25 * np.sin(2 * np.pi * 0.7 * seconds)
    phase = np.cumsum(pitch_hz) / SAMPLE_RATE_HZ
    formants_hz = (
        np.interp(seconds % 0.8, (0, 0.2, 0.5, 0.8), (700, 300, 500, 700)),
        np.interp(seconds % 0.8, (0, 0.2, 0.5, 0.8), (1200, 2200, 900, 1200)),
        np.full(len(seconds), 2600.0),
    )
    sound = np.zeros(len(seconds))
    for harmonic in range(1, 30):
        own_hz = harmonic * pitch_hz
        gain = sum(
            1 / (1 + ((own_hz - formant_hz) / width_hz) ** 2)
            for formant_hz, width_hz in zip(formants_hz, (80, 100, 150), strict=True)
        )
        sound += gain / harmonic**0.5 * np.sin(2 * np.pi * harmonic * phase)
    sound *= np.sqrt(np.abs(np.sin(np.pi * 4 * seconds)))
    pcm = np.zeros(5 * SAMPLE_RATE_HZ, np.int16)
    pcm[start:end] = np.rint(8_000 * sound / np.abs(sound).max())
    return pcm
