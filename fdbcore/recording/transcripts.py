"""The words of a recording's sides with their times, as transcribers heard them: derived/words_A.json, words_B.json.

No measure of `fdbcore.measures` counts them. The words that a Full-Duplex-Bench v1 folder brings are another thing
(`Recording.spoken`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, cast

from msgspec import Meta

from fdbcore.recording.files import WORDS, OfActivity, refuse_of_another, write_beside
from fdbcore.recording.form import kept_of_form
from fdbcore.runtime.redaction import clean
from fdbcore.types import Side
from fdbcore.types.units import Count, Seconds
from fdbcore.types.words import TimedWord, as_text

WORDS_SCHEMA: Final = "fdbcore.words/1"


class GivenWord(TypedDict):
    """A word that a Full-Duplex-Bench v1 folder brings."""

    text: str
    start_s: Seconds
    end_s: Seconds


class GivenWords(TypedDict):
    """The words of a side in a Full-Duplex-Bench v1 folder. left_out: how many have no times. unread: why none is
    known, although there is a file of them."""

    words: list[GivenWord]
    activity_sha256: NotRequired[OfActivity]
    left_out: NotRequired[Count]
    unread: NotRequired[str]


class Doubts(TypedDict, total=False):
    """Reasons why most likely nobody said words that a transcriber heard."""

    in_silence: Annotated[
        Literal[True], Meta(description="the side was silent there by its voice activity; most likely nobody said it")
    ]
    in_loop: Annotated[
        Literal[True], Meta(description="the transcriber says this phrase again and again; most likely nobody said it")
    ]


class StoredWord(Doubts):
    """A word, in the half-open span [start_ms, end_ms) of the session."""

    text: str
    start_ms: Count
    end_ms: Count


class StoredTranscript(TypedDict):
    """The words of one transcriber."""

    transcriber: Annotated[str, Meta(description="its address")]
    described: Annotated[dict[str, Any], Meta(description="what decides its words, in its own fields")]
    language: Annotated[str, Meta(description="as ISO 639-1; empty if the transcriber had to find it out")]
    audio_sha256: Annotated[str, Meta(description="of the side's audio on the session's clock: mono int16 at 48 kHz")]
    untimed: NotRequired[Annotated[Count, Meta(description="words left out because their times are not known")]]
    words: Annotated[list[StoredWord], Meta(description="by their start")]


class HashedAudio(TypedDict):
    """The audio of a side as it was last read in whole: while its files stay as they are, it is not read again."""

    sha256: Annotated[str, Meta(description="as `audio_sha256` of a transcript")]
    state: Annotated[dict[str, Any], Meta(description="size and modification time of its files, and their place")]


class SideWords(TypedDict):
    """derived/words_A.json or words_B.json: the words of a side. Fields may be added under the same version; a field is
    never given another meaning."""

    schema: Literal["fdbcore.words/1"]
    side: Side
    activity_sha256: NotRequired[OfActivity]
    audio: NotRequired[HashedAudio]
    transcripts: Annotated[
        list[StoredTranscript],
        Meta(description="one of each transcriber and language; that which was last asked for stands last"),
    ]


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
        """The number of words that lie where the side was silent."""
        return sum(word.in_silence for word in self.words)

    @property
    def words_in_loops(self) -> int:
        """The number of words that are of phrases that the transcriber said again and again."""
        return sum(word.in_loop for word in self.words)

    def is_like(self, other: "Transcript") -> bool:
        """True if it is of the same audio, by the same transcriber, in the same language."""
        return all(getattr(self, name) == getattr(other, name) for name in ("described", "language", "audio_sha256"))


def transcripts(path: Path, side: Side) -> list[Transcript]:
    """The transcripts of a side that the recording in a folder has; the last one was asked for last.

    RecordingError if they cannot be read.
    """
    content = _read(path, side)
    stored: list[dict[str, Any]] = [{**each} for each in content["transcripts"]] if content else []
    words = [tuple(TimedWord(**word) for word in each.pop("words")) for each in stored]
    return [Transcript(side, own, **each) for own, each in zip(words, stored, strict=True)]


def hashed_audio(path: Path, side: Side, state: Mapping[str, Any]) -> str | None:
    """The SHA-256 of the audio of a side, if it is stored and was taken while its files had this state; else None.

    RecordingError if it cannot be read.
    """
    content = _read(path, side)
    audio = content.get("audio") if content else None
    return audio["sha256"] if audio and audio["state"] == state else None


def _read(path: Path, side: Side) -> SideWords | None:
    """The stored words of a side; None if there are none, or of another schema. RecordingError if they are damaged."""
    found = kept_of_form(path / WORDS[side], WORDS_SCHEMA, SideWords)
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
