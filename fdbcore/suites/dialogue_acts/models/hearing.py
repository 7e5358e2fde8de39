"""Recognisers that add up what they are sent, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdbcore.audio.speech import RECOGNISER_RATE_HZ
from fdbcore.errors import InputError
from fdbcore.protocols import Transcriber
from fdbcore.report.format import counted, usd_text
from fdbcore.runs.estimates import expected_usd
from fdbcore.types import clock_text
from fdbcore.types.usage import Service

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import HeardWith


class TalliedTranscriber(Transcriber):
    """A recogniser, with a tally of the audio that it has heard. What it had heard before is not sent again."""

    def __init__(self, transcriber: Transcriber) -> None:
        self.name = transcriber.name
        self._transcriber = transcriber
        self._pieces = 0
        self._seconds = 0.0

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`."""
        text = self._transcriber.transcribe(wav, language)
        self._pieces += 1
        self._seconds += len(wav) / 2 / RECOGNISER_RATE_HZ
        return text

    def services(self) -> Sequence[Service]:
        """See `Transcriber.services`."""
        return self._transcriber.services()

    def heard(self) -> HeardWith:
        """What it took, as JSON values."""
        usd = expected_usd(self.services(), self._seconds)
        return {"asr": self.name, "pieces": self._pieces, "seconds": self._seconds, "usd": usd}


class Unheard(Transcriber):
    """Hears nothing, but adds up what a recogniser would be sent. What that one has heard before is still taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lengths_s: list[float] = []

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`. InputError for everything."""
        self.lengths_s.append(len(wav) / 2 / RECOGNISER_RATE_HZ)
        raise InputError("expected the words of B, got speech that nobody has heard yet")


def hearing_took(heard: HeardWith) -> str:
    """What a recogniser took, in a sentence."""
    usd = "unpriced" if heard["usd"] is None else usd_text(heard["usd"])
    audio = f"{counted(heard['pieces'], 'piece')}, {clock_text(heard['seconds'])} of audio"
    return f"{heard['asr']}: heard {audio} now, {usd}"
