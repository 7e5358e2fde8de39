"""The words of the samples: those that lie beside released outputs, and those of recognisers that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fdbcore.analysis import CallToHear, hear_calls
from fdbcore.measures import Reading, Segment
from fdbcore.protocols.suite import Show
from fdbcore.sources import WordSource
from fdbcore.suites.fdb_v1.calls import HeardSample, compared_s
from fdbcore.types import SIDES, Problem, Side

RELEASED: Final = "output.json"
"""How the words beside released outputs are called; those of the user are in input.json, of clean ones in clean_*."""
LANGUAGE: Final = "en"
BEYOND_S: Final = 0.5
"""So far before or after the audio a recogniser may place a word; further off, its time is of something else."""
PAUSE_S: Final = 0.5
"""A longer pause between words begins a new line of what a judge reads."""


class SpokenWord(NamedTuple):
    """A word with its start and end in s."""

    text: str
    start_s: float
    end_s: float


Said: TypeAlias = Mapping[Side, Sequence[SpokenWord]]
"""The words of the sides that are known."""


def times(words: Sequence[SpokenWord]) -> list[Segment]:
    """The start and end of each word."""
    return [(word.start_s, word.end_s) for word in words]


def released_words(cases: Sequence[HeardSample]) -> tuple[dict[Path, Said], list[Problem]]:
    """The words as they lie beside the audio, by recording, where the system's do; and those with unusable times."""
    spoken = []
    for case in cases:
        reading = Reading(case.path)
        for side, name in zip(SIDES, ("input.json", RELEASED), strict=True):
            words, untimed = reading.spoken(side), reading.untimed_words(side)
            if words is not None or untimed:
                spoken.append((case, side, name, [SpokenWord(*word) for word in words or ()], untimed))
    found, problems = _usable(spoken)
    return {path: said for path, said in found.items() if "B" in said}, problems


def hear(
    cases: Sequence[HeardSample], source: WordSource, sides: Sequence[Side], jobs: int | None, show: Show
) -> tuple[dict[Path, Said], list[Problem]]:
    """The words of the samples by a recogniser, by recording, and why some have none; stored ones are used again.

    SettingsError if it gives no words with times.
    """
    calls = [CallToHear(str(case.path), case.path, sides) for case in cases]
    heard = hear_calls(calls, source, LANGUAGE, jobs, show, "samples")
    spoken = []
    for case in cases:
        for made in heard.transcripts.get(str(case.path), ()):
            words = [SpokenWord(word.text, word.start_ms / 1000, word.end_ms / 1000) for word in made.words]
            spoken.append((case, made.side, f"{source.name}, {made.side}", words, made.untimed))
    found, problems = _usable(spoken)
    return found, [*heard.problems, *problems]


def _usable(
    spoken: Iterable[tuple[HeardSample, Side, str, Sequence[SpokenWord], int]],
) -> tuple[dict[Path, Said], list[Problem]]:
    """The words that the rules read, by recording and side, and what is wrong with others; a side of which all are
    wrong is left out.

    spoken: a sample, its side, what its words are called, those with times, and how many have none.
    """
    found: dict[Path, dict[Side, list[SpokenWord]]] = {}
    problems = []
    for case, side, name, words, untimed in spoken:
        reading = Reading(case.path)
        length_s = reading.length_s(side)
        timed = [word for word in words if word.start_s >= -BEYOND_S and word.end_s <= length_s + BEYOND_S]
        n, bad = len(words) + untimed, len(words) + untimed - len(timed)
        if bad:
            why = f"expected words with times in s, within {length_s:.1f} s: {bad} of {n} have none such, left out"
            problems.append(Problem(str(case.path), f"{name}: {why}"))
        if not bad or timed:
            kept = [word for word in timed if word.start_s < compared_s(reading)]
            found.setdefault(case.path, {})[side] = kept
    return dict(found), problems


def lines(words: Sequence[SpokenWord]) -> list[dict[str, float | str]]:
    """Words as a judge reads them: stretches without a longer pause, with their times."""
    found: list[list[SpokenWord]] = []
    for word in words:
        if not found or word.start_s - found[-1][-1].end_s > PAUSE_S:
            found.append([])
        found[-1].append(word)
    return [
        {
            "from_s": round(line[0].start_s, 2),
            "to_s": round(line[-1].end_s, 2),
            "words": " ".join(word.text for word in line),
        }
        for line in found
    ]
