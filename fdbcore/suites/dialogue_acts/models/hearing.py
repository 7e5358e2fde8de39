"""A recogniser that adds up what it is sent, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdbcore.audio.speech import RECOGNISER_RATE_HZ
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


def hearing_took(heard: HeardWith) -> str:
    """What a recogniser took, in a sentence."""
    usd = "unpriced" if heard["usd"] is None else usd_text(heard["usd"])
    audio = f"{counted(heard['pieces'], 'piece')}, {clock_text(heard['seconds'])} of audio"
    return f"{heard['asr']}: heard {audio} now, {usd}"
