"""Buffers audio and events on their way to the disk, so that a conversation never waits for a slow disk."""

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import RecordingError, writes
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Pcm

BUFFER_S: Final = 20
"""Time that the disk may stall before audio is lost. A second of buffer takes 192 kB of memory."""
MOST_LINES: Final = 10_000
"""Lines that may wait for the disk before lines are lost."""

_LIVE_BLOCK_TICKS: Final = TICKS_PER_S // 4
_WRITE_EVERY_S: Final = 0.2  # plus the length of a block and a slow write, a crash still loses less than a second

_Frames: TypeAlias = npt.NDArray[np.int16]
"""Frames of both sides: int16 (n_ticks, 2, 480)."""


class Spool:
    """Takes the frames of both sides, tick by tick, and lines of text, and writes them to two files.

    Without `realtime`, `write` itself writes to the disk once per second of audio, and nothing can be lost. With
    `realtime`, no call waits for the disk: a thread writes several times a second. When the buffer is full, new audio
    and lines are lost. They are counted, and lost audio becomes silence, so the rest keeps its place. There is no
    fsync: what was written survives a crash of the process, but perhaps not of the machine.

    audio, lines: the two files, which are overwritten; if `audio` is None, no audio is written. as_line: makes the text
    of a line, on the thread that writes it. RecordingError if the files cannot be opened; `write` and `close` raise it
    if they, or the thread, could not write.
    """

    def __init__(self, audio: Path | None, lines: Path, realtime: bool, as_line: Callable[[Any], str] = str) -> None:
        self.n_ticks = self.lost_ticks = self.written_lines = self.lost_lines = 0
        self.lost_spans: list[tuple[int, int]] = []
        self._block_ticks = _LIVE_BLOCK_TICKS if realtime else TICKS_PER_S
        self._most_blocks = BUFFER_S * TICKS_PER_S // self._block_ticks
        self._block: list[bytes] = []  # the frames of A and B in turn
        self._blocks: deque[tuple[int, _Frames]] = deque()  # each with its first tick
        self._lines: deque[Any] = deque()
        self._as_line = as_line
        self._written_ticks = 0
        self._peaks = bytearray()
        self._loudest = np.zeros(2, np.uint16)
        self._failure: Exception | None = None
        self._over = Event()
        self._thread = Thread(target=self._keep_writing, name="fdbcore-spool", daemon=True) if realtime else None
        self._wav = WavWriter(audio, channels=2) if audio is not None else None
        self._lines_path = lines
        with writes(lines):
            self._lines_file = open(lines, "wb", buffering=0)

    def start(self) -> None:
        """Start the thread, if there is one."""
        if self._thread is not None:
            self._thread.start()

    def write(self, frame_a: Pcm, frame_b: Pcm) -> None:
        """Take both sides' frames of the next tick, int16 (480,) each."""
        if self._failure is not None:
            raise self._failure
        self._block += frame_a.tobytes(), frame_b.tobytes()
        self.n_ticks += 1
        if len(self._block) == 2 * self._block_ticks:
            self._hand_over()
            if self._thread is None:
                self._write_all()

    def line(self, content: object) -> None:
        """Take the content of the next line; `as_line` will make its text. The caller must not change it any more."""
        if len(self._lines) >= MOST_LINES and self._thread is None:
            self._write_lines()
        if len(self._lines) < MOST_LINES:
            self._lines.append(content)
        else:
            self.lost_lines += 1

    @property
    def peaks(self) -> npt.NDArray[np.uint16]:
        """Largest absolute sample of each tick, uint16 (n_ticks, 2); 0 where audio was lost. Complete after `close`."""
        peaks, missing = np.frombuffer(self._peaks, np.uint16).reshape(-1, 2), self.n_ticks - self._written_ticks
        return np.pad(peaks, ((0, missing), (0, 0))) if missing else peaks

    def loudest(self) -> tuple[int, int]:
        """The largest absolute sample of each channel in the audio written so far (all but the last second)."""
        a, b = self._loudest
        return int(a), int(b)

    def close(self) -> None:
        """Write the rest and close both files, whatever happens."""
        self._over.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()
        with ExitStack() as files:
            files.callback(self._lines_file.close)
            if self._wav is not None:
                files.callback(self._wav.close)
            self._write_rest()

    def _write_rest(self) -> None:
        if self._failure is not None:
            with suppress(RecordingError):
                self._write_lines()
            raise self._failure
        self._write_all()  # makes room for the last block
        self._hand_over()
        self._write_all()
        self._write_silence(self.n_ticks)

    def _hand_over(self) -> None:
        """Put the block into the queue, or drop it if the queue is full."""
        frames: _Frames = np.frombuffer(b"".join(self._block), np.int16).reshape(-1, 2, FRAME_SAMPLES)
        self._block = []
        if len(self._blocks) >= self._most_blocks:
            self.lost_ticks += len(frames)
        elif len(frames):
            self._blocks.append((self.n_ticks - len(frames), frames))

    def _keep_writing(self) -> None:
        try:
            while not self._over.wait(_WRITE_EVERY_S):
                self._write_all()
        except Exception as failure:  # raised on the thread that next calls `write` or `close`
            self._failure = failure

    def _write_all(self) -> None:
        self._write_lines()
        while self._blocks:
            first_tick, frames = self._blocks.popleft()
            self._write_silence(first_tick)
            self._write_frames(frames)

    def _write_lines(self) -> None:
        # Only the lines that wait now: the loop may append more meanwhile.
        waiting = [self._lines.popleft() for _ in range(len(self._lines))]
        unwritten = memoryview(b"".join(self._as_line(content).encode() + b"\n" for content in waiting))
        with writes(self._lines_path):
            while unwritten:  # an unbuffered file may take only a part
                unwritten = unwritten[self._lines_file.write(unwritten) :]
        self.written_lines += len(waiting)

    def _write_silence(self, until_tick: int) -> None:
        """Write silence in place of lost audio, up to a tick."""
        if until_tick > self._written_ticks:
            self.lost_spans.append((self._written_ticks, until_tick))
        while (missing_ticks := until_tick - self._written_ticks) > 0:
            self._write_frames(np.zeros((min(missing_ticks, TICKS_PER_S), 2, FRAME_SAMPLES), dtype=np.int16))

    def _write_frames(self, frames: _Frames) -> None:
        low, high = frames.min(axis=2).astype(np.int32), frames.max(axis=2).astype(np.int32)  # -(-32768) needs 17 bits
        if self._wav is not None:
            self._wav.write(frames.transpose(0, 2, 1).reshape(-1, 2))
        peaks = np.maximum(-low, high).astype(np.uint16)
        self._loudest = np.maximum(self._loudest, peaks.max(axis=0))
        self._peaks += peaks.tobytes()
        self._written_ticks += len(frames)
