"""Speech recognition by OpenAI, or by another server with its audio/transcriptions API, through the SDK `openai`."""

from __future__ import annotations

from collections.abc import Sequence

from fdbcore.models.account import SETTINGS
from fdbcore.models.openai import OpenAIModel
from fdbcore.protocols import Transcriber
from fdbcore.runtime.address import parsed
from fdbcore.runtime.redaction import without_values
from fdbcore.types.usage import Service


def openai(address: str) -> Transcriber:
    """The recogniser "openai:NAME". It is at OpenAI, with the key in OPENAI_API_KEY; SETTINGS name another server."""
    found = parsed(address, SETTINGS)
    return OpenAITranscriber(found.place, **found.settings)


class OpenAITranscriber(OpenAIModel, Transcriber):
    """See `openai`."""

    def services(self) -> Sequence[Service]:
        """The server, which gets audio."""
        return [self.service("audio")]

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`."""
        client = self._client
        from openai import OpenAIError

        audio = ("speech.wav", wav, "audio/wav")
        try:
            found = client.audio.transcriptions.create(model=self._model, file=audio, language=language)
        except (OpenAIError, ValueError) as error:
            raise self._failure(error) from None
        text = getattr(found, "text", None)
        if not isinstance(text, str):
            raise self.error(f"{self.server} answers with something other than a transcript", transient=True)
        return without_values(text.strip())
