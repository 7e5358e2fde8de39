"""An examiner's hearing in words: a transcriber on a thread of its own, given all that the system said for a goal."""

from collections import deque
from collections.abc import Callable
from threading import Thread
from typing import Final

import numpy as np

from fdbcore._ext.resample import Resampler
from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import FdbError
from fdbcore.protocols import Transcriber
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S, Pcm
from fdbcore.types.usage import ModelUsage

RATE_HZ: Final = 16_000
MOST_TICKS: Final = 60 * TICKS_PER_S
"""The last part of what was said for a goal that is heard: one minute."""
LEAD_TICKS: Final = 30
"""Audio from before a goal that is heard with it, so that no first word is cut."""


class TranscriberThread:
    """words: what the transcriber made of what it was last given. error: why it cannot hear. is_busy: it is at work.

    count: takes what it counted, on its thread. waits: `listen` returns once the words are there, as a clock that never
    waits needs it.
    """

    def __init__(self, transcriber: Transcriber, count: Callable[[ModelUsage], None]) -> None:
        self.words = ""
        self.error: FdbError | None = None
        self.waits = False
        self._transcriber, self._count = transcriber, count
        self._language = ""
        self._down = Resampler(SAMPLE_RATE_HZ, RATE_HZ)
        self._heard: deque[Pcm] = deque(maxlen=MOST_TICKS)
        self._new_ticks = 0  # heard since the transcriber was last given something
        self._thread: Thread | None = None
        self._goal = 0

    @property
    def is_busy(self) -> bool:
        """True if the transcriber is at work."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, language: str) -> None:
        """A goal is said for the first time: what was heard before no longer counts."""
        while len(self._heard) > LEAD_TICKS:
            self._heard.popleft()
        self.words, self._language = "", language
        self._goal += 1

    def hear(self, frame: Pcm) -> None:
        """Take the system's next frame, int16 (480,)."""
        self._heard.append(self._down.process(frame))
        self._new_ticks += 1

    def listen(self) -> None:
        """Have all that was said since the goal began turned into words; `words` is old until that is done.

        Nothing is done if nothing was heard since, or if the transcriber is still at work.
        """
        if self.is_busy or not self._new_ticks:
            return
        self._new_ticks = 0
        heard = np.concatenate(list(self._heard))
        self._thread = Thread(target=self._transcribe, args=(heard, self._goal), daemon=True, name="fdbcore-ears")
        self._thread.start()
        if self.waits:
            self._thread.join()

    def join(self, timeout_s: float) -> None:
        """Wait until the transcriber has finished, at most so long."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _transcribe(self, heard: Pcm, goal: int) -> None:
        try:
            words = self._transcriber.transcribe(wav_bytes(heard, RATE_HZ), self._language).strip()
        except FdbError as error:
            self.error = error
            return
        if goal == self._goal:
            self.words = words
        for service in self._transcriber.services():
            self._count(ModelUsage(service.vendor, service.model, {"seconds": len(heard) / RATE_HZ}))
