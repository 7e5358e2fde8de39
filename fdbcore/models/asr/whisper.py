"""Speech recognition by Whisper, on this machine, through faster-whisper. The same audio gives the same words.

Whisper base is one of `fdbcore.models.packaged`. A third party uploaded it: it serves tests and demos. A folder with
another model in CTranslate2's form serves as well.
"""

import importlib.util
import threading
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from fdbcore.audio.files import content_hash
from fdbcore.errors import InputError, MissingExtraError, SettingsError
from fdbcore.models.asr.audio import audio_of
from fdbcore.models.packaged import packaged, ready
from fdbcore.protocols import Transcriber
from fdbcore.runtime.address import Setting, parsed
from fdbcore.types.words import TimedWord

SIZE: Final = "base"
MODEL: Final = "model.bin"

SETTINGS: Final = (Setting("threads", "of the processor", int, 1, least=1, most=64),)

_DECODING: Final = {"beam_size": 1, "temperature": 0.0, "condition_on_previous_text": False}
"""Greedy, without a second try at random; about 5 times as fast as real time on one core."""

_hearing = threading.Lock()


def whisper(address: str) -> "Whisper":
    """The transcriber "whisper", "whisper:base?threads=2", or "whisper:FOLDER" with a model of one's own.

    If it is not there, MissingExtraError says what to run, and SettingsError what was expected.
    """
    found = parsed(address, SETTINGS)
    if found.place in ("", SIZE):
        return Whisper(**found.settings)
    if not (Path(found.place) / MODEL).is_file():
        raise SettingsError(f"asr: whisper: expected the size {SIZE}, or a folder with {MODEL}, got {found.place!r}")
    return Whisper(Path(found.place), **found.settings)


class Whisper(Transcriber):
    """See `whisper`. Threads may share it; they wait for each other. folder: None for the packaged model."""

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        if importlib.util.find_spec("faster_whisper") is None:
            raise MissingExtraError("whisper: expected faster-whisper, found none: pip install 'fdbcore[local]'")
        self.name = f"whisper:{folder or SIZE}"
        self._is_packaged = folder is None
        self._folder = folder or ready("whisper").folder
        self._threads = self.processors = threads

    def transcribe(self, wav: bytes, language: str) -> str:
        """The words in a WAV file. language: its ISO 639-1 code; "" finds it out.

        InputError for a language that Whisper does not know, and for what is not audio.
        """
        return " ".join(segment.text.strip() for segment in self._segments(wav, language))

    def words(self, wav: bytes, language: str) -> Sequence[TimedWord]:
        """See `Transcriber.words`; errors as for `transcribe`."""
        return [
            TimedWord(word.word.strip(), round(word.start * 1000), round(word.end * 1000))
            for segment in self._segments(wav, language, word_timestamps=True)
            for word in segment.words or ()
        ]

    def _segments(self, wav: bytes, language: str, **settings: bool) -> list[Any]:
        audio = audio_of(wav, "whisper")
        with _hearing:
            model = _model(self._folder, self._threads)
            try:
                return list(model.transcribe(audio, language=language or None, **_DECODING, **settings)[0])
            except ValueError as error:
                raise InputError(f"whisper: {error}") from error

    def describe(self) -> Mapping[str, Any]:
        """The exact model, and the versions and settings that affect its words, as JSON values."""
        versions = {name: version(name) for name in ("faster-whisper", "ctranslate2")}
        settings = {"threads": self._threads, **_DECODING}
        return {"kind": "whisper", **settings, "model": self._model, "versions": versions}

    @cached_property
    def _model(self) -> Mapping[str, Any]:
        return packaged("whisper").describe() if self._is_packaged else {"sha256": content_hash(self._folder / MODEL)}


@cache
def _model(folder: Path, threads: int) -> Any:  # noqa: ANN401
    """The model, which takes a second or two to load."""
    from faster_whisper import WhisperModel
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())  # its own is shared between processes, and stays behind when one ends at once
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True)
