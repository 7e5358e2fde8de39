"""The words of a recording's sides with their times, as transcribers heard them: derived/words_A.json, words_B.json.

No measure of `fdbcore.measures` counts them. The words that a Full-Duplex-Bench v1 folder brings are another thing
(`Recording.spoken`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from fdbcore.recording.files import WORDS, refuse_of_another, write_beside
from fdbcore.recording.form import kept_of_form
from fdbcore.recording.word_types import SideWords, StoredTranscript, StoredWord
from fdbcore.runtime.redaction import clean
from fdbcore.types import Side
from fdbcore.types.words import TimedWord, as_text

WORDS_SCHEMA: Final = "fdbcore.words/1"


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of one side, on the session's clock.

    words: by their start. transcriber: its address. described: what decides its words, as JSON values without secrets.
    language: as ISO 639-1; "" if the transcriber had to find it out. audio_sha256: of the side's audio, mono int16 at
    48 kHz. untimed: how many words were left out because their times are not known.
    """

    side: Side
    words: tuple[TimedWord, ...]
    transcriber: str
    described: Mapping[str, Any]
    language: str
    audio_sha256: str
    untimed: int = 0

    @property
    def text(self) -> str:
        """All words that are not doubtful, in a row."""
        return as_text(word for word in self.words if not word.is_doubtful)

    @property
    def words_in_silence(self) -> int:
        """How many words lie where the side was silent."""
        return sum(word.in_silence for word in self.words)

    @property
    def words_in_loops(self) -> int:
        """How many words are of phrases that the recogniser said again and again."""
        return sum(word.in_loop for word in self.words)

    def is_like(self, other: Transcript) -> bool:
        """Whether it is of the same audio, by the same transcriber, in the same language."""
        return all(getattr(self, name) == getattr(other, name) for name in ("described", "language", "audio_sha256"))


def transcripts(path: Path, side: Side) -> list[Transcript]:
    """The transcripts of a side that the recording in a folder has; the last one was asked for last.

    RecordingError if they cannot be read.
    """
    content = _read(path, side)
    return [_from_json(side, each) for each in content["transcripts"]] if content else []


def hashed_audio(path: Path, side: Side, state: Mapping[str, Any]) -> str | None:
    """The SHA-256 of the audio of a side, if it is stored and was taken while its files had this state; else None.

    RecordingError if it cannot be read.
    """
    content = _read(path, side)
    audio = content.get("audio") if content else None
    return audio["sha256"] if audio and audio["state"] == state else None


def _read(path: Path, side: Side) -> SideWords | None:
    """The stored words of a side; None if there are none, or of another schema. RecordingError if they are damaged."""
    found = cast("SideWords | None", kept_of_form(path / WORDS[side], WORDS_SCHEMA, SideWords))
    refuse_of_another(path, WORDS[side], cast("Mapping[str, object]", found or {}))
    return found


def keep_transcript(path: Path, transcript: Transcript, state: Mapping[str, Any]) -> None:
    """Store a transcript with the recording in a folder, after those of other transcribers and languages.

    state: of the files of its audio, see `hashed_audio`. Transcripts of other audio are dropped. RecordingError if it
    cannot be written.
    """
    others = [
        each
        for each in transcripts(path, transcript.side)
        if each.audio_sha256 == transcript.audio_sha256 and not each.is_like(transcript)
    ]
    content: SideWords = {
        "schema": WORDS_SCHEMA,
        "side": transcript.side,
        "audio": {"sha256": transcript.audio_sha256, "state": dict(state)},
        "transcripts": [_to_json(each) for each in (*others, transcript)],
    }
    write_beside(path, WORDS[transcript.side], cast("Mapping[str, object]", content), in_one_line=True)


def as_stored(described: Mapping[str, Any]) -> dict[str, Any]:
    """A description of a transcriber as it comes back from the file."""
    stored: dict[str, Any] = json.loads(json.dumps(clean(dict(described))))
    return stored


def _to_json(transcript: Transcript) -> StoredTranscript:
    stored: StoredTranscript = {
        "transcriber": transcript.transcriber,
        "described": dict(transcript.described),
        "language": transcript.language,
        "audio_sha256": transcript.audio_sha256,
        "words": [_word_to_json(word) for word in transcript.words],
    }
    if transcript.untimed:
        stored["untimed"] = transcript.untimed
    return stored


def _word_to_json(word: TimedWord) -> StoredWord:
    doubts = {name: True for name in ("in_silence", "in_loop") if getattr(word, name)}
    return cast("StoredWord", {"text": word.text, "start_ms": word.start_ms, "end_ms": word.end_ms, **doubts})


def _from_json(side: Side, stored: StoredTranscript) -> Transcript:
    return Transcript(
        side,
        tuple(TimedWord(**word) for word in stored["words"]),
        stored["transcriber"],
        stored["described"],
        stored["language"],
        stored["audio_sha256"],
        stored.get("untimed", 0),
    )
