"""Speech by OpenAI, or by another server with its audio/speech API, through the SDK `openai`."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError, SettingsError
from fdbcore.models import account
from fdbcore.models.openai import OpenAIModel
from fdbcore.models.tts.command import MOST_BYTES
from fdbcore.protocols import Speaker
from fdbcore.runtime.address import Setting, parsed

RATE_HZ: Final = 24_000
"""Of the format "pcm": 16 bit, little-endian, mono."""

SETTINGS: Final = (
    Setting("voice", "a voice of the server", str, "alloy", form="a name", fits=bool),
    Setting("speed", "left to the server if not given", float, least=0.25, most=4),
    Setting("instructions", "how to speak; `tts-1` and `tts-1-hd` take none", str, ""),
    *account.SETTINGS,
)

_WITHOUT_INSTRUCTIONS: Final = ("tts-1", "tts-1-hd")


def openai_tts(address: str) -> "OpenAISpeaker":
    """The speaker "openai-tts:MODEL?voice=nova". It is at OpenAI, with the key in OPENAI_API_KEY, unless SETTINGS
    name another server.
    """
    found = parsed(address, SETTINGS)
    return OpenAISpeaker(found.place, **found.settings)


class OpenAISpeaker(OpenAIModel, Speaker):
    """See `openai_tts`. voice, speed, instructions: as the API has them; None and "" leave them out.

    SettingsError for instructions to a model that takes none.
    """

    most_answer_bytes = MOST_BYTES

    def __init__(
        self,
        name: str,
        voice: str = "alloy",
        speed: float | None = None,
        instructions: str = "",
        base_url: str | None = None,
        key_variable: str | None = None,
    ) -> None:
        if not name.strip():
            raise SettingsError("tts: expected openai-tts:MODEL, got no model")
        super().__init__(name, base_url, key_variable)
        if instructions and name in _WITHOUT_INSTRUCTIONS:
            raise SettingsError(f"openai-tts: instructions: expected none for {name}, which does not follow any")
        self._spoken: dict[str, Any] = {"voice": voice}
        if speed is not None:
            self._spoken["speed"] = speed
        if instructions:
            self._spoken["instructions"] = instructions

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """`text` spoken, mono int16 (n,), and its rate, 24 kHz.

        PartyError if the server is not available, or answers with another format; InputError for an empty text.
        """
        if not text.strip():
            raise InputError(f"text: expected words that can be spoken, got {text!r}")
        client = self._client
        from openai import OpenAIError

        speech = client.with_options(max_retries=self.attempts - 1).audio.speech
        try:
            answer = speech.create(model=self._model, input=text, response_format="pcm", **self._spoken)
        except (OpenAIError, ValueError) as error:
            raise self._failure(error) from None
        data: bytes = answer.content
        kind = answer.response.headers.get("content-type", "")
        if not data or len(data) % 2 or data.startswith((b"RIFF", b"ID3", b"OggS")) or "json" in kind:
            raise self.error(f"{self.server} answers with something other than 16-bit PCM ({kind or 'no type'})")
        return np.frombuffer(data, "<i2").astype(np.int16), RATE_HZ

    def describe(self) -> Mapping[str, Any]:
        """Model, SDK, server, voice and settings, as JSON values."""
        return {"kind": "openai-tts", **super().describe(), "model": self._model, **self._spoken}
