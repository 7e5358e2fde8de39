"""The words that parties of a live call say that they said, placed on their audio by forced alignment: "known-text".

It needs no transcriber, and its words are those of the script. Only English can be aligned.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from fdbcore.analysis.self_reported import described, places, reading_of, spread, told_lines
from fdbcore.analysis.speech_pieces import audio_of
from fdbcore.audio.speech import at_transcriber_rate
from fdbcore.errors import SettingsError
from fdbcore.measures.transcript import HeldLine
from fdbcore.models.asr.alignment import Aligner
from fdbcore.recording.reader import Recording
from fdbcore.sources.word_files import KnownWords
from fdbcore.types import TICK_MS, Side
from fdbcore.types.words import TimedWord

ENGLISH: Final = "en"


def known_text(address: str) -> "KnownText":
    """The words "known-text". SettingsError for anything after it, MissingExtraError without an aligner."""
    if address != KnownText.name:
        raise SettingsError(f"asr: expected {KnownText.name}, got {address!r}")
    return KnownText()


class KnownText(KnownWords):
    """See the module."""

    name: ClassVar[str] = "known-text"

    def __init__(self) -> None:
        self._aligner = Aligner()

    def why_not(self, recording: Recording, side: Side, language: str) -> str | None:
        """See `KnownWords.why_not`. A language that nobody names is taken for English."""
        language = language or _brief(recording, side).get("language", ENGLISH)
        if language != ENGLISH:
            return f"only English can be aligned, got {language}: --transcriber whisper hears it"
        if not told_lines(recording, side):
            return "it did not tell what it said"
        return None

    def describe(self, recording: Recording, side: Side) -> Mapping[str, Any]:
        """The lines, and the aligner."""
        return {"kind": self.name, **described(recording, side), "aligner": self._aligner.describe()}

    def words(self, recording: Recording, side: Side) -> tuple[list[TimedWord], int]:
        """See `KnownWords.words`. No times have words of lines in other languages, and those not found in the audio.

        Of a line that began while the side was muted, those words are looked for that `spread` says were heard.
        """
        reading = reading_of(recording)
        lines = places(reading, side)
        found: list[TimedWord] = []
        untimed = 0
        heard = dict(audio_of(reading, side, [each.span for each in lines if each.span[0] < each.span[1]]))
        for place, spread_words in spread(lines):
            line, span = place.line, place.span
            words = [word.text for word in spread_words] if place.muted_ticks else line["text"].split()
            spans_ms = None
            if words and span in heard and not _is_foreign(reading, side, line):
                audio, is_cut = at_transcriber_rate(heard[span]), "cut" in line
                spans_ms = self._aligner.spans_ms(audio, words, is_cut)
                if spans_ms is None and place is lines[-1]:  # the end of the call may have cut it
                    spans_ms = self._aligner.spans_ms(audio, words, cut=True)
            if spans_ms is None:
                untimed += len(words)
                continue
            first_ms = span[0] * TICK_MS
            placed = [(word, each) for word, each in zip(words, spans_ms, strict=True) if each is not None]
            found += [TimedWord(word, first_ms + start_ms, first_ms + end_ms) for word, (start_ms, end_ms) in placed]
        return sorted(found, key=lambda word: word.start_ms), untimed


def _brief(recording: Recording, side: Side) -> Mapping[str, Any]:
    """The brief of an examiner; empty for other parties."""
    brief: Mapping[str, Any] = ((recording.original_meta.get("parties") or {}).get(side) or {}).get("brief") or {}
    return brief


def _is_foreign(recording: Recording, side: Side, line: HeldLine) -> bool:
    """True if a line is of a goal in another language than English."""
    goals: Sequence[Mapping[str, Any]] = _brief(recording, side).get("goals", ())
    return any(goal["language"] != ENGLISH and line["text"] in goal["sayings"] for goal in goals)
