"""How often input health is right about recordings that went wrong, and silent about sound calls and bad systems.

    python -m benchmarks health CLIPS_FOLDER [--faults 200] [--sound 500] [--systems 300] [--vad silero]

CLIPS_FOLDER: as for `python -m benchmarks voices`. The calls are the same each time; docs/accuracy.md has the table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from operator import attrgetter
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
from fdbcore.measures.health.finding import OFF_THE_CLOCK
from fdbcore.recording.health import Health
from fdbcore.registry import vad as detector_named
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES

SOUND: Final = "sound"
LEAST_FOUND, MOST_BAD = 95, 1
OFF_THE_FIGURES: Final = frozenset({*OFF_THE_CLOCK, "paused"})


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
    most = max(chosen.values(), default=0)
    tasks = [(kind, n, asked.vad) for n in range(most) for kind, count in chosen.items() if n < count]
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
    call, has_trace = _made(kind, rng)
    health = health_of(call, vad)
    found = health["findings"]
    return Told(
        kind,
        call.line,
        has_trace,
        frozenset(f["id"] for f in found),
        frozenset(f["id"] for f in found if f["severity"] == "bad"),
        tuple(f"{f['severity']} {f['text']}" for f in found),
    )


def _made(kind: str, rng: np.random.Generator) -> tuple[Call, bool]:
    voices = _VOICES[0]
    if kind in FAULTS:
        return faulty_call(voices, kind, rng)
    return sound_call(voices, rng) if kind == SOUND else bad_call(voices, kind, rng), True


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
    by_kind: dict[str, list[Told]] = defaultdict(list)
    for each in told:
        by_kind[each.kind].append(each)
    wrong, sound = [], []
    for kind, calls in by_kind.items():
        if kind in FAULTS:
            wanted = frozenset(FAULTS[kind][1])
            traced = [each for each in calls if each.has_trace]
            found, sure = (_percent(bool(wanted & ids(each)) for each in traced) for ids in (_IDS, _BAD_IDS))
            wrong.append((kind, len(calls), len(traced), f"{found:.1f}", f"{sure:.1f}"))
            if found < LEAST_FOUND:
                MISSED.append(f"{kind}: found in {found:.1f} of 100, goal {LEAST_FOUND}")
        else:
            bad = _percent(bool(each.bad_ids) for each in calls)
            counts = [
                Counter(name for each in calls for name in ids(each) & OFF_THE_FIGURES) for ids in (_BAD_IDS, _IDS)
            ]
            names = [", ".join(f"{name} {n}" for name, n in count.most_common()) for count in counts]
            sound.append((kind, len(calls), f"{bad:.1f}", *names))
            if bad > MOST_BAD:
                MISSED.append(f"{kind}: bad in {bad:.1f} of 100, goal {MOST_BAD}")
    print_table("Recordings gone wrong", ("fault", "calls", "with a trace", "found %", "bad %"), wrong)
    print_table("Sound recordings", ("calls", "n", "bad %", "bad", "found"), sound)


def _percent(told: Iterable[bool]) -> float:
    values = list(told)
    return 100 * sum(values) / len(values) if values else float("nan")


_IDS, _BAD_IDS = attrgetter("ids"), attrgetter("bad_ids")
