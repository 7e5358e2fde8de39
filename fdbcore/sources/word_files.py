"""Words with times that somebody has already made: files of Full-Duplex-Bench, {"chunks": [{"text", "timestamp"}]}.

Version 1 has input.json and output.json beside the audio, version 2 A.json and B.json. The times are seconds from the
start of the file that was transcribed.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from fdbcore.audio.files import content_hash
from fdbcore.errors import InputError, RecordingError
from fdbcore.protocols import UsesServers
from fdbcore.recording.places import place_from
from fdbcore.recording.reader import Recording
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.numbers import number_of
from fdbcore.runtime.texts import text_of
from fdbcore.types import SAMPLE_RATE_HZ, Side, ticks_to_s
from fdbcore.types.words import TimedWord

NAME: Final = "words"
_FAR_S: Final = 3600.0  # so far beyond the end, a file is of another call, or its times are no seconds

_BACK_S: Final = 1.0  # words of one side are in order; transcribers place neighbours as close as this by chance


class Chunks(NamedTuple):
    """The words of a file with a start from 0 on and no earlier end: text, start and end in s; and how many others."""

    words: list[tuple[str, float, float]]
    untimed: int


def kept_words(files: Mapping[Side, Path]) -> dict[Side, dict[str, Any]]:
    """The words of a session's files by side, as its recording keeps them.

    Only those with both times, and how many others there were. What cannot be read costs the words alone: no measure of
    the audio needs them.
    """
    return {side: {"source": str(path.resolve()), **_kept(path)} for side, path in files.items()}


def _kept(path: Path) -> dict[str, Any]:
    try:
        found = chunks_in(path)
    except (InputError, RecordingError) as error:
        return {"words": [], "unread": str(error).removeprefix(f"{path}: ")}
    words = [{"text": text, "start_s": start_s, "end_s": end_s} for text, start_s, end_s in found.words]
    return {"words": words, "left_out": found.untimed}


def chunks_in(path: Path) -> Chunks:
    """The words in a file. InputError if it is of another form, or cannot be read."""
    text = text_of(path)
    try:
        content = parsed_json(text)
    except ValueError:
        raise InputError(f"{path}: expected words as JSON, got another text") from None
    chunks = content.get("chunks") if isinstance(content, dict) else None
    try:
        if not isinstance(chunks, list):
            raise ValueError("no chunks")
        timed = [
            (_text(chunk).strip(), number_of(chunk["timestamp"][0]), number_of(chunk["timestamp"][1]))
            for chunk in chunks
            if None not in chunk["timestamp"]
        ]
    except (KeyError, TypeError, IndexError, ValueError) as error:
        fault = str(error) if isinstance(error, ValueError) else "one of another form"
        raise InputError(f"{path}: expected words as chunks with text and timestamp, got {fault}") from error
    words = [word for word in timed if 0 <= word[1] <= word[2]]
    for (*_, before_s, _), (text, start_s, _) in pairwise(words):
        if start_s < before_s - _BACK_S:
            got = f"{text[:30]!r} at {start_s:g} s after one at {before_s:g} s"
            raise InputError(f"{path}: expected words in the order of their times, got {got}: do they begin again?")
    return Chunks(words, len(chunks) - len(words))


def _text(chunk: Mapping[str, Any]) -> str:
    if not isinstance(text := chunk["text"], str):
        raise ValueError(f"the text {text!r}")
    return text


class KnownWords(UsesServers, ABC):
    """A source of known words of recordings, without a transcriber."""

    name: ClassVar[str]
    """As a transcript names where it is from."""

    @abstractmethod
    def describe(self, recording: Recording, side: Side) -> Mapping[str, Any]:
        """Everything that decides the words of a side, as JSON values."""

    @abstractmethod
    def words(self, recording: Recording, side: Side) -> tuple[list[TimedWord], int]:
        """The words of a side on the session's clock, by their start, and how many have no times."""

    def why_not(self, recording: Recording, side: Side, language: str) -> str | None:
        """The reason why a side has no words; None if it should have some. language: as ISO 639-1, "" if not known."""
        return None


@dataclass(frozen=True, slots=True)
class WordFiles(KnownWords):
    """Files with the words of recordings: NAME.json beside the audio NAME.wav of each side; or, with a folder,
    CALL/A.json and CALL/B.json in it, where CALL is the name of the recording.
    """

    folder: Path | None = None

    name: ClassVar[str] = NAME

    def file_of(self, recording: Recording, side: Side) -> Path:
        """The file with the words of a side. InputError if there is none."""
        if self.folder is not None:
            file = self.folder / recording.name / f"{side}.json"
        else:
            source = recording.meta.get("source") or {}
            if len(source.get("files", ())) != 2:
                raise InputError(
                    f"expected words beside the audio file of each side, got a recording without a file for each: "
                    f"give {NAME}:FOLDER, with FOLDER/{recording.name}/{side}.json"
                )
            file = recording.source_paths[source["sides"][side]["file"]].with_suffix(".json")
        if not file.is_file():
            raise InputError(f"expected the words of side {side} in {file}, found no such file")
        return file

    def describe(self, recording: Recording, side: Side) -> Mapping[str, Any]:
        """Everything that decides the words: the file and its content."""
        file = self.file_of(recording, side)
        return {"name": NAME, "file": place_from(recording.path, file), "sha256": content_hash(file)}

    def words(self, recording: Recording, side: Side) -> tuple[list[TimedWord], int]:
        """The words of a side on the session's clock, by their start, and how many have no times."""
        lead_ms = _lead_samples(recording, side) * 1000 // SAMPLE_RATE_HZ
        words, untimed = chunks_in(self.file_of(recording, side))
        length_s = ticks_to_s(recording.n_ticks)
        if words and (last_s := max(max(start_s, end_s) for _, start_s, end_s in words)) > length_s + _FAR_S:
            file = self.file_of(recording, side)
            raise InputError(f"{file}: expected words within the {length_s:g} s of the call, got one at {last_s:g} s")
        timed = [_on_session(text, start_s, end_s, lead_ms) for text, start_s, end_s in words]
        return sorted(timed, key=lambda word: word.start_ms), untimed


def _lead_samples(recording: Recording, side: Side) -> int:
    """The silence before the file of a side, in samples at 48 kHz."""
    source = recording.meta.get("source") or {}
    return int(source["sides"][side]["lead_samples"]) if "sides" in source else 0


def _on_session(text: str, start_s: float, end_s: float, lead_ms: int) -> TimedWord:
    start_ms = max(0, round(start_s * 1000) + lead_ms)
    return TimedWord(text, start_ms, max(start_ms, round(end_s * 1000) + lead_ms))
