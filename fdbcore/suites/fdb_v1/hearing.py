"""The words of the samples: those that lie beside released outputs, and those of recognisers that the user names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fdbcore.analysis.transcripts import CallToHear, hear_calls
from fdbcore.measures.compat import Segment
from fdbcore.measures.reading import Reading
from fdbcore.sources.word_source import WordSource
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
    found: dict[Path, Said] = {}
    problems = []
    for case in cases:
        reading, said = Reading(case.path), dict[Side, list[SpokenWord]]()
        for side, name in zip(SIDES, ("input.json", RELEASED), strict=True):
            spoken, untimed = reading.spoken(side), reading.untimed_words(side)
            if spoken is not None or untimed:
                words, problem = _usable([SpokenWord(*word) for word in spoken or ()], untimed, reading, side)
                if problem:
                    problems.append(Problem(str(case.path), f"{name}: {problem}"))
                if words is not None:
                    said[side] = words
        if "B" in said:
            found[case.path] = said
    return found, problems


def hear(
    cases: Sequence[HeardSample], source: WordSource, both: bool, jobs: int | None, show: Callable[[str], None]
) -> tuple[dict[Path, Said], list[Problem]]:
    """The words of the samples by a recogniser, by recording, and why some have none; stored ones are used again.

    both: of the user, too. SettingsError if it gives no words with times.
    """
    sides: Sequence[Side] = SIDES if both else ("B",)
    found: dict[Path, Said] = {}
    calls = [CallToHear(str(case.path), case.path, sides) for case in cases]
    heard = hear_calls(calls, source, LANGUAGE, jobs, show, "samples")
    problems = list(heard.problems)
    for case in cases:
        if (transcripts := heard.transcripts.get(str(case.path))) is None:
            continue
        reading, said = Reading(case.path), dict[Side, list[SpokenWord]]()
        for made in transcripts:
            spoken = [SpokenWord(word.text, word.start_ms / 1000, word.end_ms / 1000) for word in made.words]
            words, problem = _usable(spoken, made.untimed, reading, made.side)
            if problem:
                problems.append(Problem(str(case.path), f"{source.name}, {made.side}: {problem}"))
            if words is not None:
                said[made.side] = words
        found[case.path] = said
    return found, problems


def _usable(
    words: Sequence[SpokenWord], untimed: int, reading: Reading, side: Side
) -> tuple[list[SpokenWord] | None, str]:
    """The words that the rules read, and what is wrong with others, if anything is; None if that is all of them.

    untimed: how many words have no times.
    """
    length_s = reading.length_s(side)
    timed = [word for word in words if word.start_s >= -BEYOND_S and word.end_s <= length_s + BEYOND_S]
    n, bad = len(words) + untimed, len(words) + untimed - len(timed)
    problem = f"expected words with times in s, within {length_s:.1f} s: {bad} of {n} have none such, left out"
    if bad == n > 0:
        return None, problem
    return [word for word in timed if word.start_s < compared_s(reading)], problem if bad else ""


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
