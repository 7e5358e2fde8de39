"""Turn events against known truth: IPUs, boundaries and floor events, in quiet and in noise, beside peers.

Every detector reads the same two-channel WAV files. Its activity per tick becomes inter-pausal units by one rule (60 ms
of speech start a unit, 200 ms of silence end it), and floor events by one turn detector. hotato's activity is the one
whose runs end at their last energy, that of call-ai-metrics is its segments; both run with their defaults. Boundary
errors are those of units that match one to one at an IoU of at least 0.5: a detector that finds fewer units is judged
on fewer.
"""

from __future__ import annotations

import sys
import tempfile
import time
import wave
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.harness import met, print_table
from benchmarks.speech import Accuracy, Bools, Dialogue, Noise, int16, inter_pausal_units, make_dialogue, with_noise
from benchmarks.voices.peers import call_ai_metrics, hotato
from fdbcore.audio.wav import WavWriter
from fdbcore.protocols import Vad
from fdbcore.session.turns import detect_turns
from fdbcore.session.vad import EnergyVad, SileroVad
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Pcm

Detector: TypeAlias = Callable[[Path], Bools]
Starts: TypeAlias = dict[tuple[str, str], list[int]]

DIALOGUES, DURATION_S = 10, 60
CONDITIONS: tuple[tuple[Noise | None, int], ...] = (
    (None, 0),
    *(("white", snr_db) for snr_db in (20, 10, 5)),
    *(("pink", snr_db) for snr_db in (20, 10, 5)),
    *(("babble", snr_db) for snr_db in (20, 10)),
)
FLOOR_EVENTS = ("gap", "overlap_between", "overlap_within", "intrusion")
SAME_EVENT_TICKS = 10
OURS = ("silero", "energy")
HEADER = (
    "detector",
    "IPU F1",
    "median ms",
    "p95 ms",
    "onset bias ms",
    "offset bias ms",
    "event F1",
    "x real time",
    "goals",
)


@dataclass
class Result:
    """The result of one detector for all dialogues in one condition."""

    ipus: Accuracy = field(default_factory=Accuracy)
    matched_events: int = 0
    all_events: int = 0  # true and found
    seconds: float = 0.0

    def figures(self) -> dict[str, float]:
        """By name, the figures in which the goal is to be ahead; less is better."""
        return {
            "F1": 1 - self.ipus.f1,
            "median": self.ipus.median_ms,
            "p95": self.ipus.p95_ms,
            "events": 1 - self.event_f1,
        }

    @property
    def event_f1(self) -> float:
        """Harmonic mean of precision and recall of floor events."""
        return 2 * self.matched_events / max(self.all_events, 1)


def main() -> None:
    start = time.perf_counter()
    dialogues = [make_dialogue(seed, DURATION_S) for seed in range(DIALOGUES)]
    for noise, snr_db in CONDITIONS:
        condition = f"{noise} noise, {snr_db} dB" if noise else "clean"
        print(f"turns: {condition}, after {time.perf_counter() - start:.0f} s", file=sys.stderr)
        results = measure(dialogues, noise, snr_db)
        rows = [row(name, results, noise, snr_db) for name in results]
        print_table(f"{condition}: {results['silero'].ipus.n_true} IPUs", HEADER, rows)
    print(
        "\nGoals: F1 0.98, median 20 ms, p95 60 ms clean; F1 0.93 at 10 dB of white and pink noise; and in every table "
        "ahead of, or equal to, both others in IPU F1, median, p95 and event F1."
    )


def measure(dialogues: list[Dialogue], noise: Noise | None, snr_db: int) -> dict[str, Result]:
    """Run every detector on every dialogue."""
    results = {name: Result() for name in DETECTORS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "call.wav"
        for seed, dialogue in enumerate(dialogues, 100):
            with WavWriter(path, channels=2) as wav:
                wav.write(int16(with_noise(dialogue, noise, snr_db, seed) if noise else dialogue.pcm))
            for name, detector in DETECTORS.items():
                start = time.perf_counter()
                active = detector(path)
                results[name].seconds += time.perf_counter() - start
                compare(results[name], dialogue, active)
    return results


def compare(result: Result, dialogue: Dialogue, active: Bools) -> None:
    """Add one dialogue's agreement with the truth."""
    for side in (0, 1):
        result.ipus.add(dialogue.units(side), inter_pausal_units(active[:, side]))
    truth, found = floor_events(dialogue.active), floor_events(active)
    result.all_events += sum(map(len, [*truth.values(), *found.values()]))
    result.matched_events += sum(matching_starts(truth[key], found[key]) for key in truth)


def floor_events(active: Bools) -> Starts:
    """The starts, ascending, of each kind of floor event of each side."""
    starts: Starts = defaultdict(list)
    for event in detect_turns(active[:, 0], active[:, 1]):
        if event.kind in FLOOR_EVENTS and not event.censored:
            starts[event.kind, event.side].append(event.start_tick)
    return defaultdict(list, {key: sorted(ticks) for key, ticks in starts.items()})


def matching_starts(truth: list[int], found: list[int]) -> int:
    """How many pairs start within 100 ms of each other, none of them in two pairs."""
    matched, at = 0, 0
    for tick in truth:
        at = bisect_left(found, tick - SAME_EVENT_TICKS, at)
        if at < len(found) and found[at] <= tick + SAME_EVENT_TICKS:
            matched, at = matched + 1, at + 1
    return matched


def row(name: str, results: dict[str, Result], noise: Noise | None, snr_db: int) -> list[object]:
    result = results[name]
    missed = list(missed_goals(name, results, noise, snr_db)) if name in OURS else []
    goals = ""
    if name in OURS:
        of = "clean" if noise is None else f"{noise} {snr_db} dB"
        goals = " ".join([met(f"turns: {name}, {of}: {', '.join(missed)}", not missed), ", ".join(missed)]).strip()
    ipus = result.ipus
    return [
        name,
        f"{ipus.f1:.3f}",
        f"{ipus.median_ms:.0f}",
        f"{ipus.p95_ms:.0f}",
        *(f"{bias_ms:+.1f}" for bias_ms in ipus.bias_ms),
        f"{result.event_f1:.3f}",
        f"{DIALOGUES * DURATION_S / result.seconds:,.0f}",
        goals,
    ]


def missed_goals(name: str, results: dict[str, Result], noise: Noise | None, snr_db: int) -> Iterator[str]:
    ipus = results[name].ipus
    if noise is None and (ipus.f1 < 0.98 or ipus.median_ms > 20 or ipus.p95_ms > 60):
        yield "clean"
    if noise in ("white", "pink") and snr_db == 10 and ipus.f1 < 0.93:
        yield "F1 at 10 dB"
    for figure, ours in results[name].figures().items():
        if any(ours > results[peer].figures()[figure] for peer in results.keys() - OURS):
            yield f"{figure} behind"


def of_fdbcore(make: Callable[[], Vad]) -> Detector:
    """The streaming detector `make()`, a frame at a time."""

    def detect(path: Path) -> Bools:
        with wave.open(str(path)) as wav:
            pcm = np.frombuffer(wav.readframes(wav.getnframes()), dtype="<i2").reshape(-1, 2)
        return np.stack([stream(make(), np.ascontiguousarray(pcm[:, side])) for side in (0, 1)], axis=1)

    return detect


def stream(vad: Vad, pcm: Pcm) -> Bools:
    """The activity of whole frames, one tick each."""
    active = [vad.push(frame) for frame in pcm.reshape(-1, FRAME_SAMPLES)]
    return np.array(active[vad.delay_ticks :] + vad.finish(), dtype=np.bool_)


def of_peer(detect: Callable[[str, int], Bools]) -> Detector:
    """A peer that reads the file by itself."""
    return lambda path: detect(str(path), DURATION_S * TICKS_PER_S)


DETECTORS: dict[str, Detector] = {
    "silero": of_fdbcore(SileroVad),
    "energy": of_fdbcore(EnergyVad),
    "hotato": of_peer(hotato),
    "call-ai-metrics": of_peer(call_ai_metrics),
}


if __name__ == "__main__":
    main()
