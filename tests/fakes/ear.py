"""An ear for the turns of a caller."""

from typing import Literal

import numpy as np
from fakes.realtime.plan import Wave


class Ear:
    """Finds the turns in what comes in, by its level in frames of 10 ms, on the clock of that audio.

    A turn begins once `onset_ms` in a row are loud, and ends once `silence_ms` in a row are not.
    """

    def __init__(self, rate_hz: int, onset_ms: int, silence_ms: int) -> None:
        self.frame = rate_hz // 100
        self._onset, self._silence = max(1, onset_ms // 10), max(1, silence_ms // 10)
        self._rate_hz = rate_hz
        self._rest: Wave = np.zeros(0, np.int16)
        self._n_samples = self._n_frames = self._run = 0
        self.in_turn = False

    @property
    def heard_ms(self) -> float:
        """How much audio came in."""
        return self._n_samples * 1000 / self._rate_hz

    def hear(self, pcm: Wave) -> list[tuple[Literal["begins", "ends"], int]]:
        """What became known with these samples: turns that begin or have ended, and at which ms of the audio."""
        self._n_samples += len(pcm)
        self._rest = np.concatenate([self._rest, pcm])
        found: list[tuple[Literal["begins", "ends"], int]] = []
        while len(self._rest) >= self.frame:
            frame, self._rest = self._rest[: self.frame], self._rest[self.frame :]
            self._n_frames += 1
            loud = float(np.sqrt(np.mean(np.square(frame, dtype=np.float64)))) > 300
            self._run = self._run + 1 if loud != self.in_turn else 0
            if self._run == (self._silence if self.in_turn else self._onset):
                self.in_turn = not self.in_turn
                found.append(("begins" if self.in_turn else "ends", 10 * (self._n_frames - self._run)))
                self._run = 0
        return found
