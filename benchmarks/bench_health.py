"""How often input health is right about recordings that went wrong, and silent about sound calls and bad systems.

    python -m benchmarks health CLIPS_FOLDER [--faults 200] [--sound 500] [--systems 300] [--vad silero]

CLIPS_FOLDER: as for `python -m benchmarks voices`. The calls are the same each time; docs/accuracy.md has the table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import soxr

from benchmarks.faulty_calls import BAD_SYSTEMS, FAULTS, Call, Voices, bad_call, faulty_call, seeds, sound_call
from benchmarks.harness import MISSED, print_table
from benchmarks.speech import int16
from benchmarks.voices.clips import voices_in
from benchmarks.voices.speech import RATE_HZ
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.recording.recorded_types import Health
from fdbcore.registry import vad as detector_named
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES

SOUND: Final = "sound"
TRACE_SHARE: Final = 0.25  # of the turns of B overlap A
MOVES: Final = ("out_of_step", "offset")


class Told(NamedTuple):
    """What input health says of a call. has_trace: whether the fault leaves one that the goals count."""

    kind: str
    line: str
    has_trace: bool
    ids: frozenset[str]
    bad_ids: frozenset[str]
    texts: tuple[str, ...]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks health")
    parser.add_argument("clips", type=Path)
    parser.add_argument("--faults", type=int, default=200, metavar="N")
    parser.add_argument("--sound", type=int, default=500, metavar="N")
    parser.add_argument("--systems", type=int, default=300, metavar="N")
    parser.add_argument("--vad", default="silero")
    parser.add_argument("--only", action="append", metavar="NAME", help="of these kinds alone")
    parser.add_argument("--texts", action="store_true", help="print what is said of each call")
    asked = parser.parse_args(arguments)
    counts = {SOUND: asked.sound, **dict.fromkeys(BAD_SYSTEMS, asked.systems), **dict.fromkeys(FAULTS, asked.faults)}
    chosen = {kind: n for kind, n in counts.items() if not asked.only or any(part in kind for part in asked.only)}
    tasks = [(kind, number, asked.vad) for kind, count in chosen.items() for number in range(count)]
    _VOICES.append(
        {
            name: spoken
            for each in sorted(asked.clips.iterdir())
            if each.name != "music"
            for name, spoken in voices_in(each).items()
        }
    )
    start, told = time.monotonic(), list[Told]()
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        for done, each in enumerate(pool.map(_told, tasks, chunksize=4), 1):
            told.append(each)
            if asked.texts:
                print(f"{each.kind} | {each.line} | {each.has_trace} | {' | '.join(each.texts)}")
            if done % 100 == 0:
                print(f"{done} of {len(tasks)} calls after {time.monotonic() - start:.0f} s", file=sys.stderr)
    _show(told)


_VOICES: list[Voices] = []


def _told(task: tuple[str, int, str]) -> Told:
    kind, number, vad = task
    *_, rng = seeds(kind, number + 1)
    call = _made(kind, rng)
    health = health_of(call, vad)
    wanted = FAULTS[kind][1] if kind in FAULTS else ()
    has_trace = call.overlapping_share >= TRACE_SHARE if wanted == MOVES else True
    found = health["findings"]
    return Told(
        kind,
        call.line,
        has_trace,
        frozenset(f["id"] for f in found),
        frozenset(f["id"] for f in found if f["severity"] == "bad"),
        tuple(f"{f['severity']} {f['text']}" for f in found),
    )


def _made(kind: str, rng: np.random.Generator) -> Call:
    voices = _VOICES[0]
    if kind == SOUND:
        return sound_call(voices, rng)
    return bad_call(voices, kind, rng) if kind in BAD_SYSTEMS else faulty_call(voices, kind, rng)


def health_of(call: Call, vad: str) -> Health:
    """The input health of a call, as a replay has it."""
    pcm = int16(soxr.resample(call.pcm, RATE_HZ, SAMPLE_RATE_HZ))
    pcm = np.ascontiguousarray(pcm[: len(pcm) // FRAME_SAMPLES * FRAME_SAMPLES].T)
    active = {}
    with HealthProbe() as probe:
        for side, track in zip(SIDES, pcm, strict=True):
            detector = detector_named(vad)(RATE_HZ)
            ticks = [detector.push(frame) for frame in track.reshape(-1, FRAME_SAMPLES)] + detector.finish()
            active[side] = np.array(ticks[detector.delay_ticks :], np.bool_)
        for _ in probe.tap(iter([(pcm[0], pcm[1])])):
            pass
        return examine(probe.sides(), active, vads=dict.fromkeys(SIDES, vad))


def _show(told: Sequence[Told]) -> None:
    by_kind: Mapping[str, list[Told]] = {each.kind: [] for each in told}
    for each in told:
        by_kind[each.kind].append(each)
    rows = []
    for kind, calls in by_kind.items():
        if kind in FAULTS:
            traced = [each for each in calls if each.has_trace]
            found = [bool(each.ids & set(FAULTS[kind][1])) for each in traced]
            sure = [bool(each.bad_ids & set(FAULTS[kind][1])) for each in traced]
            rows.append(
                (kind, len(calls), len(traced), *(f"{100 * np.mean(x):.1f}" if x else "" for x in (found, sure)))
            )
            if found and np.mean(found) < 0.95:
                MISSED.append(f"{kind}: found in {100 * np.mean(found):.1f} of 100, goal 95")
    print_table("Recordings gone wrong", ("fault", "calls", "with a trace", "found %", "bad %"), rows)
    rows = []
    for kind, calls in by_kind.items():
        if kind not in FAULTS:
            warned = Counter(name for each in calls for name in each.ids - each.bad_ids if name in _FAULT_IDS)
            bad = Counter(name for each in calls for name in each.bad_ids if name in _FAULT_IDS)
            share = np.mean([bool(each.bad_ids & _FAULT_IDS) for each in calls])
            names = ", ".join(f"{name} {n}" for name, n in bad.most_common())
            rows.append(
                (kind, len(calls), f"{100 * share:.1f}", names, ", ".join(f"{n} {k}" for n, k in warned.most_common()))
            )
            if share > 0.01:
                MISSED.append(f"{kind}: bad in {100 * share:.1f} of 100, goal 1")
    print_table("Sound recordings", ("calls", "n", "bad %", "bad", "warned of"), rows)


_FAULT_IDS: Final = frozenset(itertools_id for _, ids in FAULTS.values() for itertools_id in ids) - {"echo"}
