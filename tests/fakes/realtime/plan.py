"""What a fake speech model says and does, turn by turn, and what goes wrong: all that a test plans beforehand."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Wave: TypeAlias = npt.NDArray[np.int16]

RATE_HZ = 24_000
"""Of planted speech; a dialect with another rate gets it resampled."""


def tones(seconds: float, seed: int = 0, rate_hz: int = RATE_HZ) -> Wave:
    """Tones of 50 ms, one after the other, of frequencies that belong to the seed: unlike anything else, so `place_of`
    finds them to the sample; they sound from the first sample to the last."""
    hop = rate_hz // 20
    count = -(-int(seconds * rate_hz) // hop)
    hz = np.random.default_rng(seed).uniform(300, 3000, count).repeat(hop)[: int(seconds * rate_hz)]
    wave: Wave = np.rint(9000 * np.cos(2 * np.pi * np.cumsum(hz) / rate_hz)).astype(np.int16)
    return wave


def place_of(said: Wave, heard: Wave) -> int:
    """The sample of `heard` from which on `said`, of the same rate, lies best."""
    size = len(said) + len(heard)
    product = np.fft.rfft(heard.astype(np.float64), size) * np.conj(np.fft.rfft(said.astype(np.float64), size))
    return int(np.argmax(np.fft.irfft(product, size)[: len(heard)]))


@dataclass(frozen=True)
class Call:
    """A function that the model calls. arguments: a mapping, or the text as it is sent, for one that is malformed."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    call_id: str = ""


@dataclass(frozen=True)
class Reply:
    """One response of the model.

    words: what it says; "" for nothing. pcm: how that sounds, at RATE_HZ; without it, `tones` of 0.3 s a word whose
    seed is the number of the response. calls: functions that it then calls, all in the same response.
    ends: how it ends; a failure ends it before its first sound.
    cut_at_ms, cut_by: once so much of it was sent, the connection breaks: 1006 without a word, or by a close code.
    """

    words: str = "Good day, how can I help you?"
    pcm: Wave | None = None
    calls: Sequence[Call] = ()
    ends: Literal["completed", "insufficient_quota"] = "completed"
    cut_at_ms: int | None = None
    cut_by: int = 1006

    def speech(self, number: int) -> Wave:
        if self.pcm is not None:
            return self.pcm
        return tones(0.3 * len(self.words.split()), number)


@dataclass(frozen=True)
class Pace:
    """How fast it goes.

    first_s: from the beginning of a response to its first sound. delta_ms: audio in one delta. speed: ms of audio sent
    in a ms. arguments_s: in which the arguments of a call come. transcription_s: from the end of a turn to its
    transcript.
    """

    first_s: float = 0.1
    delta_ms: int = 100
    speed: float = 10.0
    arguments_s: float = 0.02
    transcription_s: float = 0.1


@dataclass(frozen=True)
class Plan:
    """A conversation.

    replies: of the responses, in their order; the last one again for all that follow. heard: transcripts of the user's
    turns, likewise.
    """

    replies: Sequence[Reply] = (Reply(),)
    heard: Sequence[str] = ("I would like to book a table.",)
    pace: Pace = field(default_factory=Pace)

    def reply(self, number: int) -> Reply:
        return self.replies[min(number, len(self.replies) - 1)]

    def transcript(self, turn: int) -> str:
        return self.heard[min(turn, len(self.heard) - 1)]


@dataclass(frozen=True)
class Faults:
    """What goes wrong with every session.

    http_status: the upgrade is refused: 401 (key), 403 (region), 404, 429, 500, 503. retry_after_s: says when to try
    again. refused: for the first so many times only.
    at_once: the upgrade succeeds; an error with this code comes in place of the greeting, and the connection is closed.
    mute: never greets, never confirms `session.update`, or never replies.
    cap_s: how long a session may last. late_deltas: so many deltas of a cancelled response come after its end.
    garbage: before each reply comes what nobody can read. speaks_first: it replies as soon as its session is confirmed.
    """

    http_status: int | None = None
    retry_after_s: float | None = None
    refused: int = 1_000_000
    at_once: str | None = None
    mute: Collection[Literal["greeting", "updates", "replies"]] = ()
    cap_s: float | None = None
    late_deltas: int = 0
    garbage: bool = False
    speaks_first: bool = False
