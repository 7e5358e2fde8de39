"""The base of detectors that judge one short window of audio after the other, as the models of most packages do."""

import hashlib
import inspect
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fdbcore._ext.resample import Resampler
from fdbcore.protocols import Vad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Pcm

_SEEN_TICKS = TICKS_PER_S * 10  # enough for every phase of windows and ticks


class WindowVad(Vad):
    """A detector that hears windows of `window_samples` at `rate_hz`, and says of each whether it is speech.

    Derive from this class, set what differs, and write `judge`. A tick is active if the window with its middle is; the
    delay follows from the windows and the resampler. Load a model in `__init__`, and call this one's.
    """

    rate_hz: int = SAMPLE_RATE_HZ
    window_samples: int = FRAME_SAMPLES
    version: str = ""
    """Without one it is of the text of the class's module, so that a change makes another detector."""
    settings: Mapping[str, Any] = {}
    """Other settings that its decisions depend on, as JSON values for meta.json."""

    def __init__(self, source_rate_hz: int = SAMPLE_RATE_HZ) -> None:
        kind = type(self)
        self.name = kind.__dict__.get("name", f"{kind.__module__}:{kind.__qualname__}")
        self._resampler = None if self.rate_hz == SAMPLE_RATE_HZ else Resampler(SAMPLE_RATE_HZ, self.rate_hz, "best")
        self.delay_ticks = max(self._known_tick(tick) - tick for tick in range(_SEEN_TICKS))
        self._pcm: Pcm = np.zeros(0, np.int16)  # of the window that is not full yet
        self._ticks = 0
        self._speech: deque[bool] = deque()  # of windows from `_first` on
        self._first = 0

    @abstractmethod
    def judge(self, window: Pcm) -> bool:
        """True if the next window is speech: int16 (window_samples,) at rate_hz. Windows follow each other."""

    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n; return whether tick n - delay_ticks is active (False while that is below 0)."""
        self._hear(frame if self._resampler is None else self._resampler.process(frame))
        self._ticks += 1
        tick = self._ticks - 1 - self.delay_ticks
        return tick >= 0 and self._is_active(tick)

    @property
    def seems_active(self) -> bool:
        """True if the newest window is speech."""
        return bool(self._speech) and self._speech[-1]

    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed). Silence follows them."""
        if self._resampler is not None:
            self._hear(self._resampler.flush())
        self._hear(np.zeros(self.window_samples, np.int16))
        return [self._is_active(tick) for tick in range(max(self._ticks - self.delay_ticks, 0), self._ticks)]

    def describe(self) -> Mapping[str, Any]:
        """Name, version and settings, as JSON values."""
        own = {"delay_ticks": self.delay_ticks, "rate_hz": self.rate_hz, "window_samples": self.window_samples}
        return {
            "name": self.name,
            "version": self.version or _of_text(type(self)),
            "settings": {**own, **self.settings},
        }

    def _hear(self, pcm: Pcm) -> None:
        self._pcm = np.concatenate((self._pcm, pcm))
        while len(self._pcm) >= self.window_samples:
            window, self._pcm = self._pcm[: self.window_samples], self._pcm[self.window_samples :]
            self._speech.append(bool(self.judge(window)))

    def _window(self, tick: int) -> int:
        """The window with the middle of a tick."""
        return (2 * tick + 1) * self.rate_hz // (2 * TICKS_PER_S * self.window_samples)

    def _known_tick(self, tick: int) -> int:
        """The tick with whose frame the window of `tick` is complete."""
        late = 0 if self._resampler is None else self._resampler.delay_samples
        needed_samples = (self._window(tick) + 1) * self.window_samples + late
        return -(-needed_samples * TICKS_PER_S // self.rate_hz) - 1

    def _is_active(self, tick: int) -> bool:
        """Ticks come in order, so what lies before can go."""
        window = self._window(tick)
        while self._first < window:
            self._speech.popleft()
            self._first += 1
        return self._speech[0]


def _of_text(kind: type) -> str:
    """The first digits of the SHA-256 of the module that a class stands in; "unknown" if there is no file."""
    try:
        return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()[:12]
    except (OSError, TypeError):
        return "unknown"
