"""Utterances of a party by its own names for them (*items*): how much of each was said, and how much heard."""

import asyncio
from collections import deque
from typing import Final, NamedTuple

import numpy as np

from fdbcore._ext.resample import Resampler
from fdbcore.endpoints.frames import FrameStream
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

SAMPLES_PER_MS: Final = SAMPLE_RATE_HZ // 1000

PAUSE_S: Final = 0.2
"""If a party that does not name its items is silent for this long, its utterance has ended."""


class Said(NamedTuple):
    """An item so far, in samples at 48 kHz: said_samples came, and heard_samples of them were played.

    lost_samples: of them came before tick 0, when nothing is heard, or after the party had left.
    """

    item: str
    said_samples: int
    heard_samples: int
    lost_samples: int = 0

    @property
    def said_ms(self) -> int:
        """The length of what came, in whole ms."""
        return self.said_samples // SAMPLES_PER_MS

    @property
    def heard_ms(self) -> int:
        """The length of what was heard, in whole ms, rounded down: never more than what was said."""
        return self.heard_samples // SAMPLES_PER_MS


class Items:
    """Puts the audio of items into a FrameStream, and keeps what was heard of each. On the network's thread, but for
    `played_out`.

    An item is whole once `end` says so; until then, running dry is an underrun. After `cut`, the audio that is not yet
    heard is dropped, and so is all that still comes of these items.

    A party without names for its items calls `push_unnamed`: an utterance ends where all was heard, and nothing came
    for PAUSE_S more. Its audio must not wait in the resampler for what follows, so it is late by `lead_samples` (at
    48 kHz) of silence, and the last `lead_samples` before a pause are dropped.

    rate_hz: of the party's audio, int16 mono. stream: one that `names_its_ends`, which these items do; it counts
    `lead_samples` as delay.
    """

    def __init__(self, stream: FrameStream, rate_hz: int, named: bool = True) -> None:
        self.rate_hz = rate_hz
        self.late_samples = 0
        self.lead_samples = (
            0 if named or rate_hz == SAMPLE_RATE_HZ else Resampler(rate_hz, SAMPLE_RATE_HZ).delay_samples
        )
        stream.lead_samples = self.lead_samples
        self._utterances = 1
        self._pause: asyncio.TimerHandle | None = None
        self._stream = stream
        self._resampler: Resampler | None = None
        self._current: str | None = None
        self._parts: dict[str, list[int]] = {}  # the numbers of each item in the stream: more than one if it went on
        self._lost: dict[str, int] = {}  # samples of each item that the stream did not take
        self._cut: set[str] = set()
        self._whole: list[str] = []  # ended, and not yet heard to the end
        self._to_report: deque[str] = deque()  # ended; `played_out` has not yet said so

    def push(self, item: str, pcm: Pcm) -> None:
        """Take audio of an item, int16 (n,) at the party's rate. It is dropped and counted if the item was cut."""
        if item in self._cut:
            self.late_samples += len(pcm) * SAMPLE_RATE_HZ // self.rate_hz
            return
        if item != self._current:
            self._end_current()
            self._current = item
            self._resampler = None if self.rate_hz == SAMPLE_RATE_HZ else Resampler(self.rate_hz, SAMPLE_RATE_HZ)
            self._play(item, np.zeros(self.lead_samples, np.int16))
        self._play(item, pcm if self._resampler is None else self._resampler.process(pcm))

    @property
    def utterance(self) -> str:
        """The utterance to which audio without a name belongs now."""
        while (item := f"utterance {self._utterances}") in self._cut:
            self._utterances += 1
        return item

    def push_unnamed(self, pcm: Pcm) -> None:
        """Take the next audio, int16 (n,) at the party's rate. It belongs to another utterance than what was cut."""
        self.push(self.utterance, pcm)
        if self._pause is not None:
            self._pause.cancel()
        queued_s = self._stream.queued_samples / SAMPLE_RATE_HZ
        self._pause = asyncio.get_running_loop().call_later(queued_s + PAUSE_S, self._end_utterance)

    def _end_utterance(self) -> None:
        if not self._stream.queued_samples:
            self._resampler = None  # its last samples would be heard after a gap
        self._end_current()
        self._utterances += 1

    def end(self, item: str) -> None:
        """No more audio of this item will come."""
        if item == self._current:
            self._end_current()

    def cut(self) -> list[Said]:
        """Drop what was not yet heard, and return the items that this cut short: they count as said up to here."""
        open_items = [item for item in self._whole if self._waits(item)]
        if self._current is not None:
            open_items.append(self._current)
        self._stream.flush()  # from here on nothing more of them is heard
        self._resampler, self._current = None, None
        self._cut.update(open_items)
        self._whole = [item for item in self._whole if item not in self._cut]
        return [self.said(item) for item in open_items]

    def drop(self, item: str) -> None:
        """Whatever still comes of this item is not heard."""
        self._cut.add(item)

    def said(self, item: str) -> Said:
        """The said and heard parts of an item so far; nothing if it is not known."""
        said_samples = lost_samples = self._lost.get(item, 0)
        heard_samples = 0
        for number in self._parts.get(item, ()):
            if (part := self._stream.item(number)) is not None:
                said_samples += part.pushed_samples
                heard_samples += part.heard_samples
        return Said(item, said_samples, heard_samples, lost_samples)

    def played_out(self) -> list[Said]:
        """The items that ended, and of which nothing waits to be heard, since this was last asked.

        On the thread of the ticks.
        """
        over = []
        while self._to_report:
            item = self._to_report.popleft()
            if item in self._cut:
                continue
            if self._waits(item):
                self._to_report.appendleft(item)  # later items wait, too
                break
            over.append(self.said(item))
        return over

    def _waits(self, item: str) -> bool:
        """True if audio of the item is still to be heard."""
        said = self.said(item)
        return said.heard_samples + said.lost_samples < said.said_samples

    def _play(self, item: str, pcm: Pcm) -> None:
        if not len(pcm):
            return
        taken = self._stream.receive_audio(pcm)
        if taken < len(pcm):
            self._lost[item] = self._lost.get(item, 0) + len(pcm) - taken
        latest = self._stream.begun_items - 1
        if taken and latest not in (numbers := self._parts.setdefault(item, [])):
            numbers.append(latest)

    def _end_current(self) -> None:
        if self._current is None:
            return
        if self._resampler is not None:
            self._play(self._current, self._resampler.flush())
        self._stream.end_utterance()
        self._whole = [*(item for item in self._whole if self._waits(item)), self._current]
        self._to_report.append(self._current)
        self._resampler, self._current = None, None


def from_pcm16(data: bytes) -> Pcm:
    """Audio of 16 bits a sample, little endian, as int16 (n,). A last odd byte is dropped."""
    pcm: Pcm = np.frombuffer(data, "<i2", count=len(data) // 2).astype(np.int16, copy=False)
    return pcm
