"""Speech recognition by OpenAI, or by another server with its audio/transcriptions API, through the SDK `openai`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.errors import PartyError, SettingsError
from fdbcore.models.account import SETTINGS
from fdbcore.models.openai import OpenAIModel, told_by
from fdbcore.protocols import Transcriber
from fdbcore.runtime.address import parsed
from fdbcore.runtime.redaction import without_values
from fdbcore.types.usage import Service
from fdbcore.types.words import TimedWord

_OF_WORD_TIMES: Final = ("response_format", "timestamp_granularities", "timestamp_granularities[]")
"""The parameters that a server refuses if its model gives no word times, as gpt-4o-transcribe does not."""


def openai(address: str) -> Transcriber:
    """The transcriber "openai:NAME". It is at OpenAI, with the key in OPENAI_API_KEY; SETTINGS name another server."""
    found = parsed(address, SETTINGS)
    return OpenAITranscriber(found.place, **found.settings)


class OpenAITranscriber(OpenAIModel, Transcriber):
    """See `openai`."""

    at_once = 4

    def services(self) -> Sequence[Service]:
        """The server, which gets audio."""
        return [self.service("audio")]

    def describe(self) -> Mapping[str, Any]:
        """See `Transcriber.describe`. The version of the SDK does not change the words."""
        return {"name": self.name, "server": self.server}

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`."""
        text = getattr(self._ask(wav, language), "text", None)
        if not isinstance(text, str):
            raise self._no_transcript()
        return without_values(text.strip())

    def words(self, wav: bytes, language: str) -> Sequence[TimedWord]:
        """See `Transcriber.words`."""
        found = self._ask(wav, language, response_format="verbose_json", timestamp_granularities=["word"])
        words = getattr(found, "words", None)
        if words is None and getattr(found, "text", None):
            raise SettingsError(f"{self.name} gives no word times: {self.server} answers without them")
        try:
            return [_timed(word.word, word.start, word.end) for word in words or ()]
        except (ArithmeticError, AttributeError, TypeError, ValueError):  # the SDK does not check the answer
            raise self._no_transcript() from None

    def _ask(self, wav: bytes, language: str, **form: Any) -> Any:  # noqa: ANN401
        """The server's answer, unchecked. form: parameters of the answer's form."""
        client = self._client
        from openai import BadRequestError, OpenAIError

        if language:
            form["language"] = language
        try:
            return client.audio.transcriptions.create(model=self._model, file=("speech.wav", wav, "audio/wav"), **form)
        except (OpenAIError, ValueError, RecursionError) as error:
            if isinstance(error, BadRequestError) and error.param in _OF_WORD_TIMES:
                raise SettingsError(f"{self.name} gives no word times: {self.redacted(told_by(error))}") from None
            raise self._failure(error) from None

    def _no_transcript(self) -> PartyError:
        return self.error(f"{self.server} answers with something other than a transcript", transient=True)


def _timed(text: str, start_s: float, end_s: float) -> TimedWord:
    start_ms = round(start_s * 1000)
    return TimedWord(without_values(text.strip()), start_ms, max(start_ms, round(end_s * 1000)))
