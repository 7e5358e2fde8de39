"""Calls of known truth for `python -m benchmarks health`: sound ones, those of bad systems, and recordings gone wrong.

What a system does wrong is in the talk itself; what a recorder does wrong is done to the audio of a sound call, noise
of its line included. Audio is float (n, 2) at 16 kHz with full scale 1, A first.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import soxr

from benchmarks.speech import make_dialogue
from benchmarks.voices import lines
from benchmarks.voices.clips import CUT_DB, LONG_S, Phrase, speakers
from benchmarks.voices.dialogues import CUTS_DB, Dialogue, dialogue
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Floats, Spans, joined, level_rms, speech_spans
from fdbcore.audio.level import FULL_SCALE
from fdbcore.types import SAMPLE_RATE_HZ

Rng: TypeAlias = np.random.Generator
Voices: TypeAlias = Mapping[str, Sequence[Phrase]]

CALL_S: Final = 75.0
TURN_GAP_SAMPLES: Final = RATE_HZ
TRACE_SHARE: Final = 0.25
LINES: Final = (
    *(lines.Line("clean", lines.clean), lines.floor(-70), lines.floor(-62), lines.floor(-78)),
    *(lines.with_noise("white", 20), lines.with_noise("babble", 20), lines.comfort(-60), lines.gate(-57, 150)),
    *(lines.crosstalk(30), lines.crosstalk(45), lines.room(300)),
)


@dataclass(frozen=True)
class Call:
    """pcm: the audio, float (n, 2). turns: of A and of B, spans of samples. line: the name of what it came over."""

    pcm: Floats
    turns: tuple[Spans, Spans]
    line: str = ""

    def overlaps(self) -> npt.NDArray[np.int64]:
        """For how many samples each turn of B, as recorded, overlaps turns of A, (n,)."""
        a, b = self.turns
        shared = np.minimum(b[:, None, 1], a[None, :, 1]) - np.maximum(b[:, None, 0], a[None, :, 0])
        overlaps: npt.NDArray[np.int64] = np.maximum(shared, 0).sum(axis=1)
        return overlaps

    def overlaps_more(self, than: Call) -> bool:
        """Whether a quarter of the turns of B overlap for half a second longer than in another recording of it."""
        return bool(np.mean(self.overlaps() - than.overlaps() > RATE_HZ // 2) >= TRACE_SHARE)

    @property
    def has_background(self) -> bool:
        """Whether both sides sound where nobody speaks, so that a pause of the recorder shows."""
        n_ticks = len(self.pcm) // TICK_SAMPLES
        peaks = np.abs(self.pcm[: n_ticks * TICK_SAMPLES]).reshape(n_ticks, TICK_SAMPLES, 2).max(axis=1)
        return bool((peaks < 2 / FULL_SCALE).mean(axis=0).max() < 0.02)


def sound_call(voices: Voices, rng: Rng) -> Call:
    """A natural dialogue over a line: overlaps, interruptions, backchannels and pauses."""
    seed = int(rng.integers(1 << 30))
    return _on_a_line(_synthetic(seed) if rng.random() < 0.4 else dialogue(voices, seed, CALL_S), voices, rng)


def _on_a_line(spoken: Dialogue, voices: Voices, rng: Rng) -> Call:
    line = LINES[int(rng.integers(len(LINES)))]
    pcm = line.audio(spoken, lines.Material(voices, []), int(rng.integers(1 << 30)))
    if rng.random() < 0.3:  # a system is often digitally silent between its words
        pcm[:, 1] = spoken.pcm[:, 1]
    a, b = (joined(spans, TURN_GAP_SAMPLES) for spans in spoken.spans[CUT_DB])
    return Call(pcm.astype(np.float32), (a, b), line.name)


def _synthetic(seed: int) -> Dialogue:
    """A dialogue of two espeak-ng voices."""
    made = make_dialogue(seed, round(CALL_S))
    pcm = soxr.resample(made.pcm, SAMPLE_RATE_HZ, RATE_HZ).astype(np.float32)
    spans = tuple(speech_spans(side, CUT_DB) for side in pcm.T)
    return Dialogue(pcm, dict.fromkeys(CUTS_DB, (spans[0], spans[1])), ("espeak", "espeak"))


# Bad systems. Each says when B begins, from the start and the end of A's turn, and when A goes on; in seconds.

Timing: TypeAlias = Callable[[Rng, float, float, float], float]  # rng, start, end, how much of the call is over


def _cuts_off(rng: Rng, start: float, end: float, over: float) -> float:
    return max(end - 0.9, start + 0.3)


def _cuts_off_now_and_then_more(rng: Rng, start: float, end: float, over: float) -> float:
    return max(end - rng.uniform(0.2, 1.6), start + 0.3)


def _talks_over(rng: Rng, start: float, end: float, over: float) -> float:
    return start + rng.uniform(0.2, 0.6)


def _gets_slower(rng: Rng, start: float, end: float, over: float) -> float:
    return end + 0.5 + 4 * over


def _gets_quicker(rng: Rng, start: float, end: float, over: float) -> float:
    return end + 0.9 - 1.8 * over


def _waits(rng: Rng, start: float, end: float, over: float) -> float:
    return float(end + 0.4 + rng.lognormal(-0.7, 0.5))


BAD_SYSTEMS: Final[Mapping[str, Timing]] = {
    "cuts everybody off by 0.9 s": _cuts_off,
    "cuts everybody off by 0.2 to 1.6 s": _cuts_off_now_and_then_more,
    "talks over everything": _talks_over,
    "never yields": _waits,
    "gets slower, to 4.5 s": _gets_slower,
    "gets quicker, to 0.9 s early": _gets_quicker,
}


def bad_call(voices: Voices, name: str, rng: Rng) -> Call:
    """A call of a bad system over a line."""
    names = speakers(voices)
    first, second = (list(voices[names[at]]) for at in rng.choice(len(names), 2, replace=False))
    pcm, spans = np.zeros((round(CALL_S * RATE_HZ), 2), np.float32), ([], [])  # type: ignore[var-annotated]
    at_s = 0.5
    while True:
        asked, answer = (_phrase(phrases, rng) for phrases in (first, second))
        end_s = at_s + len(asked) / RATE_HZ
        starts_s = at_s, BAD_SYSTEMS[name](rng, at_s, end_s, at_s / CALL_S)
        if max(starts_s[1] + len(answer) / RATE_HZ, end_s) > CALL_S - 1.5:
            break
        for side, (start_s, said) in enumerate(zip(starts_s, (asked, answer), strict=True)):
            start = round(start_s * RATE_HZ)
            pcm[start : start + len(said), side] += said
            spans[side].append(speech_spans(said, CUT_DB) + start)
        at_s = max(starts_s[1] + len(answer) / RATE_HZ, end_s) + rng.uniform(0.4, 1.2)
        if name == "never yields":  # A breaks in, and B talks on
            at_s = max(end_s + 0.3, starts_s[1] + rng.uniform(0.4, 0.7) * len(answer) / RATE_HZ)
    a, b = (np.concatenate(side) for side in spans)
    return _on_a_line(Dialogue(pcm, dict.fromkeys(CUTS_DB, (a, b)), (names[0], names[1])), voices, rng)


def _phrase(phrases: Sequence[Phrase], rng: Rng) -> Floats:
    fitting = [phrase.pcm for phrase in phrases if LONG_S[0] <= phrase.speech_s <= LONG_S[1]]
    pcm = fitting[int(rng.integers(len(fitting)))]
    gained: Floats = pcm * np.float32(lines.db(rng.uniform(-30, -22)) / level_rms(pcm, speech_spans(pcm, CUT_DB)))
    return gained


# Recordings gone wrong.

Fault: TypeAlias = Callable[[Call, Rng], Call]


def _shifted(by_s: float) -> Fault:
    def make(call: Call, rng: Rng) -> Call:
        return _moved(call, [(0, round(by_s * RATE_HZ))])

    return make


def _jumped(by_s: float) -> Fault:
    def make(call: Call, rng: Rng) -> Call:
        return _moved(call, [(0, 0), (_quiet_near(call, rng.uniform(0.35, 0.65)), round(by_s * RATE_HZ))])

    return make


def _collapsed(by_s: float) -> Fault:
    """A little of the silence before each turn of B is missing (or, if by_s is positive, too much)."""

    def make(call: Call, rng: Rng) -> Call:
        cuts = [max(int(start) - RATE_HZ // 10, 0) for start in call.turns[1][1:, 0]]
        return _moved(call, [(0, 0), *((at, round(n * by_s * RATE_HZ)) for n, at in enumerate(cuts, 1))])

    return make


def _moved(call: Call, parts: Sequence[tuple[int, int]]) -> Call:
    """B's audio from each sample on moved by so many samples; where nothing comes to lie, it is digitally silent."""
    pcm = call.pcm.copy()
    pcm[:, 1] = 0
    turns = []
    for (start, by), (end, _) in itertools.pairwise([*parts, (len(pcm), 0)]):
        source = call.pcm[max(start, -by) : min(end, len(pcm) - by), 1]
        first = max(start, -by) + by
        pcm[first : first + len(source), 1] = source
        within = call.turns[1][(call.turns[1][:, 0] >= start) & (call.turns[1][:, 0] < end)]
        turns.append(within + by)
    return Call(pcm, (call.turns[0], np.concatenate(turns)), call.line)


def _drifting(share: float) -> Fault:
    def make(call: Call, rng: Rng) -> Call:
        pcm = call.pcm.copy()
        stretched = soxr.resample(call.pcm[:, 1], RATE_HZ, RATE_HZ * (1 + share))[: len(pcm)]
        pcm[:, 1] = np.pad(stretched, (0, len(pcm) - len(stretched)))
        return Call(pcm, (call.turns[0], (call.turns[1] * (1 + share)).astype(np.int64)), call.line)

    return make


def _exchanged(call: Call, rng: Rng) -> Call:
    at = _quiet_near(call, rng.uniform(0.35, 0.65))
    pcm = call.pcm.copy()
    pcm[at:] = pcm[at:, ::-1]
    return Call(pcm, call.turns, call.line)


def _too_fast(times: float, both: bool) -> Fault:
    """From the first third of the call to its second, what sounds is too fast, each turn where it begins."""

    def make(call: Call, rng: Rng) -> Call:
        pcm, n = call.pcm.copy(), len(call.pcm)
        for side in (0, 1) if both else (1,):
            for start, end in call.turns[side]:
                if n // 3 < start < 2 * n // 3:
                    said = soxr.resample(call.pcm[start:end, side], RATE_HZ * times, RATE_HZ)
                    pcm[start:end, side] = np.pad(said, (0, max(end - start - len(said), 0)))[: end - start]
        return Call(pcm, call.turns, call.line)

    return make


def _choppy(per_s: int, hole_ms: int) -> Fault:
    def make(call: Call, rng: Rng) -> Call:
        pcm = call.pcm.copy()
        at = np.arange(len(pcm)) % (RATE_HZ // per_s)
        spoken = np.zeros(len(pcm), np.bool_)
        for start, end in call.turns[1]:
            spoken[start:end] = True
        pcm[(at < hole_ms * RATE_HZ // 1000) & spoken, 1] = 0
        return Call(pcm, call.turns, call.line)

    return make


def _paused(call: Call, rng: Rng) -> Call:
    pcm = call.pcm.copy()
    start = round(rng.uniform(0.3, 0.7) * len(pcm))
    pcm[start : start + round(rng.uniform(4, 12) * RATE_HZ)] = 0
    return Call(pcm, call.turns, call.line)


def _echo_at(lags_s: Callable[[float], float]) -> Fault:
    """A heard again on B, 15 to 30 dB softer, at a lag that is constant in each second."""

    def make(call: Call, rng: Rng) -> Call:
        pcm, gain = call.pcm.copy(), lines.db(-rng.uniform(15, 30))
        for start in range(0, len(pcm), RATE_HZ):
            lag = round(lags_s(start / len(pcm)) * RATE_HZ)
            n = min(RATE_HZ, len(pcm) - start)
            source = call.pcm[max(start - lag, 0) : max(start - lag + n, 0), 0]
            pcm[start + n - len(source) : start + n, 1] += gain * source
        return Call(pcm, call.turns, call.line)

    return make


def _quiet_near(call: Call, share: float) -> int:
    """A sample in which nobody speaks, near that share of the call."""
    spoken = np.zeros(len(call.pcm), np.bool_)
    for start, end in np.concatenate(call.turns):
        spoken[start:end] = True
    quiet = np.flatnonzero(~spoken)
    return int(quiet[np.argmin(np.abs(quiet - share * len(call.pcm)))])


FAULTS: Final[Mapping[str, tuple[Fault, tuple[str, ...]]]] = {
    "B early by 1 s": (_shifted(-1), ("out_of_step", "offset")),
    "B early by 3 s": (_shifted(-3), ("out_of_step", "offset")),
    "B late by 3 s": (_shifted(3), ("out_of_step", "offset")),
    "B early by 3 s from some point on": (_jumped(-3), ("out_of_step", "offset")),
    "silence before B's turns short by 0.3 s": (_collapsed(-0.3), ("out_of_step", "offset")),
    "silence before B's turns long by 0.3 s": (_collapsed(0.3), ("out_of_step", "offset")),
    "B too fast by 2 %": (_drifting(-0.02), ("out_of_step", "offset")),
    "B too slow by 2 %": (_drifting(0.02), ("out_of_step", "offset")),
    "exchanged from some point on": (_exchanged, ("exchanged",)),
    "B by a fifth too fast for a third": (_too_fast(1.5, False), ("wrong_rate",)),
    "both an octave too fast for a third": (_too_fast(2, True), ("wrong_rate",)),
    "B choppy, 10 holes of 40 ms a second": (_choppy(10, 40), ("choppy",)),
    "B choppy, 25 holes of 20 ms a second": (_choppy(25, 20), ("choppy",)),
    "paused for 4 to 12 s": (_paused, ("paused",)),
    "echo A to B, later by 20 ms a second": (_echo_at(lambda over: 0.08 + 0.02 * CALL_S * over), ("echo", "offset")),
    "echo A to B, 80 ms later from half on": (_echo_at(lambda over: 0.12 + 0.08 * (over > 0.5)), ("echo",)),
}  # fmt: skip


def faulty_call(voices: Voices, name: str, rng: Rng) -> tuple[Call, bool]:
    """A sound call whose recording went wrong in the way named, and whether that leaves a trace."""
    make, ids = FAULTS[name]
    sound = sound_call(voices, rng)
    faulty = make(sound, rng)
    has_trace = faulty.overlaps_more(sound) if "out_of_step" in ids else "paused" not in ids or sound.has_background
    return faulty, has_trace


def seeds(kind: str, count: int) -> Iterator[Rng]:
    """A generator for each call of a kind; the same each time."""
    for number in range(count):
        yield np.random.default_rng([number, *random.Random(kind).randbytes(4)])
