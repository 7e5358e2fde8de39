"""What is heard under a voice: noise, other voices, or an echo of who hears it."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.audio.level import FULL_SCALE
from fdbcore.audio.noise import WhiteNoise, mixed
from fdbcore.lines.way import Way, generator
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, TICK_MS, Pcm

ASSUMED_DBOV: Final = -26.0
"""The speech level of a side whose level is not known before it speaks: the nominal one of ITU-T P.56."""
ECHO_MS: Final = 100


class _Under(Way):
    """Something at a ratio below the active speech level (ITU-T P.56) of who speaks, all the time."""

    def __init__(self, ratio_db: float, seed: str) -> None:
        self._ratio_db, self._seed = ratio_db, seed
        self._level: dict[str, Any] = {}

    def open(self, speech_dbov: float | None) -> None:
        """Get it ready at its level."""
        speech = ASSUMED_DBOV if speech_dbov is None else speech_dbov
        self._level = {
            "speech_dbov": round(speech, 2),
            "speech_is_assumed": speech_dbov is None,
            "level_dbov": round(speech - self._ratio_db, 2),
        }
        self._begin(FULL_SCALE * 10 ** ((speech - self._ratio_db) / 20))

    @abstractmethod
    def _begin(self, rms: float) -> None:
        """Get ready to be heard at this RMS, in steps of int16."""

    def describe(self) -> Mapping[str, Any]:
        """The ratio in dB; once open the levels, in dBov."""
        return {"ratio_db": self._ratio_db, **self._level}


class White(_Under):
    """White Gaussian noise."""

    def _begin(self, rms: float) -> None:
        self._noise = WhiteNoise(rms, generator(self._seed))

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice with the noise."""
        return self._noise.under(frame)


class Babble(_Under):
    """Six talkers who never pause, spoken by espeak-ng; see `fdbcore.lines.talkers`."""

    def _begin(self, rms: float) -> None:
        from fdbcore.lines.talkers import talkers

        self._talkers = talkers()
        self._at = [int(generator(f"{self._seed}/{n}").integers(len(pcm))) for n, pcm in enumerate(self._talkers)]
        self._gain = rms / np.sqrt(len(self._talkers))

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice with the talkers."""
        said = np.zeros(FRAME_SAMPLES)
        for number, pcm in enumerate(self._talkers):
            start = self._at[number]
            before_its_end = pcm[start : start + FRAME_SAMPLES]
            said[: len(before_its_end)] += before_its_end
            said[len(before_its_end) :] += pcm[: FRAME_SAMPLES - len(before_its_end)]
            self._at[number] = (start + FRAME_SAMPLES) % len(pcm)
        return mixed(frame, self._gain * said)

    def describe(self) -> Mapping[str, Any]:
        """The voices, too."""
        from fdbcore.lines.talkers import VOICES

        return {**super().describe(), "voices": list(VOICES)}


class Echo(Way):
    """The voice of who hears comes back, as from a loudspeaker beside the other's microphone."""

    def __init__(self, level_db: float, seed: str) -> None:
        self._level_db = level_db
        self._gain = 10 ** (level_db / 20)
        self._under_way: deque[npt.NDArray[np.int16]] = deque([SILENT_FRAME] * (ECHO_MS // TICK_MS))

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice with the echo of `other`, of ECHO_MS before."""
        self._under_way.append(other.copy())
        return mixed(frame, self._gain * self._under_way.popleft())

    def describe(self) -> Mapping[str, Any]:
        """How loud the echo is, and how late."""
        return {"echo_db": self._level_db, "echo_ms": ECHO_MS}
