"""Estimates of a transcriber's audio, before it is asked, and words in place of those that it has not given yet."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fdbcore.analysis.transcripts import CallToHear, hear_calls, seconds_to_hear
from fdbcore.measures.reading import Reading
from fdbcore.recording.transcripts import Transcript
from fdbcore.runs.estimates import WORDS_PER_S, expected_usd, priced_on
from fdbcore.sources.word_source import WordSource
from fdbcore.types import SIDES, TICKS_PER_S, Side
from fdbcore.types.usage import ExpectedUse, Unit
from fdbcore.types.words import TimedWord

_WORD: Final = "people"


def expected_words(
    calls: Sequence[CallToHear], source: WordSource, what: str
) -> tuple[ExpectedUse, Mapping[str, Sequence[Transcript]]]:
    """The audio for a transcriber, and the words of the calls by their names: those that it has given, else as many as
    usual. what: such a call is.
    """
    left_s = {each.where: seconds_to_hear(Reading(each.path), source, each.language, each.sides) for each in calls}
    known = hear_calls([each for each in calls if not left_s[each.where]], source, None, lambda text: None).transcripts
    usual = {each.where: usual_words(Reading(each.path)) for each in calls if left_s[each.where]}
    likely = {each.where: [usual[each.where][side] for side in each.sides] for each in calls if each.where in usual}
    return expected_hearing(source, what, list(left_s.values())), {**known, **likely}


def expected_hearing(source: WordSource, what: str, seconds: Sequence[float]) -> ExpectedUse:
    """Expected use of a transcriber. seconds: of each recording, what is left to hear. what: such a recording is."""
    left_s, services = sum(seconds), source.services()
    usd = expected_usd(services, left_s) if left_s else 0.0
    counts: Mapping[Unit, float] = {"seconds": left_s} if left_s else {}
    return ExpectedUse(source.name, what, sum(map(bool, seconds)), len(seconds), counts, usd, priced_on(services))


def usual_words(reading: Reading) -> Mapping[Side, Transcript]:
    """Words as people say them, wherever a side speaks: about as many as a transcriber would give."""
    every_ms = 1000 / WORDS_PER_S

    def words(side: Side) -> Iterator[TimedWord]:
        for start, end in reading.dialogue.ipus[side].tolist():
            start_ms, length_ms = start * 1000 / TICKS_PER_S, (end - start) * 1000 / TICKS_PER_S
            for number in range(max(1, round(length_ms / every_ms))):
                at_ms = round(start_ms + number * every_ms)
                yield TimedWord(_WORD, at_ms, at_ms + 1)

    return {side: Transcript(side, tuple(words(side)), "", {}, "", "") for side in SIDES}
