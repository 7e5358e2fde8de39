"""Constants of the media clock and the value objects that the modules hand to each other.

Time is an integer: a *tick* is 10 ms, a *sample* 1/48,000 s; spans are half open, `[start, end)`. What scoring a suite
gives is in `fdbcore.types.scorecard`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError

SAMPLE_RATE_HZ: Final = 48_000
TICK_MS: Final = 10
TICKS_PER_S: Final = 1000 // TICK_MS
TICK_NS: Final = TICK_MS * 1_000_000
FRAME_SAMPLES: Final = SAMPLE_RATE_HZ // TICKS_PER_S  # 480
FRAME_BYTES: Final = FRAME_SAMPLES * 2  # 960: 16-bit mono; Opus calls 960 *samples* a frame, we never do

Side: TypeAlias = Literal["A", "B"]
SIDES: Final[tuple[Side, Side]] = ("A", "B")

Pcm: TypeAlias = npt.NDArray[np.int16]
"""int16 mono at 48 kHz, shape (n,); a *frame* has n = FRAME_SAMPLES."""

SILENT_FRAME: Final[Pcm] = np.zeros(FRAME_SAMPLES, dtype=np.int16)
SILENT_FRAME.flags.writeable = False

TurnKind: TypeAlias = Literal[
    "speech_start",
    "speech_end",
    "pause",
    "gap",
    "overlap_within",
    "overlap_between",
    "intrusion",
    "turn",
    "no_response",
]


class Happening(NamedTuple):
    """Something that happened in `tick` at the edge of one side, for events.jsonl; `fields` are JSON values."""

    tick: int
    kind: str
    fields: Mapping[str, Any]


def other_side(side: Side) -> Side:
    """The partner of `side`."""
    return "B" if side == "A" else "A"


def ticks_to_s(ticks: int) -> float:
    """Seconds of a number of ticks; for the edges only (files, reports)."""
    return ticks / TICKS_PER_S


def clock_text(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any: "1:06", "2:00:00"."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Settings of the turn detector, in ms; every table prints them. All are whole ticks of 10 ms.

    min_speech_ms: the shortest run of activity that starts an inter-pausal unit (IPU).
    min_silence_ms: the shortest silence that ends an IPU; at least min_speech_ms.
    short_ms (K): speech of at most this length may leave the floor where it is.
    resume_ms (W): how long the holder may take to go on after a short contribution of the other.
    yield_hold_ms (Z): how long a silence must last to count as having yielded.
    simultaneous_ms: two starts at most this far apart are simultaneous.
    terminal_ms: the other ended within this time of its own accord.
    response_window_ms (R): silence after which a response is missing.
    lapse_ms: silence of both that is longer is a lapse; inside a turn of A it is one that B left unanswered. The
        measures read it, the detector does not.
    """

    min_speech_ms: int = 60
    min_silence_ms: int = 200
    short_ms: int = 1000
    resume_ms: int = 1000
    yield_hold_ms: int = 500
    simultaneous_ms: int = 200
    terminal_ms: int = 200
    response_window_ms: int = 10_000
    lapse_ms: int = 3000

    def __post_init__(self) -> None:
        for name, value_ms in dataclasses.asdict(self).items():
            least_ms = 0 if name in ("simultaneous_ms", "terminal_ms") else TICK_MS
            if not isinstance(value_ms, int) or value_ms % TICK_MS or not least_ms <= value_ms <= 3_600_000:
                raise SettingsError(
                    f"{name}: expected an int, a multiple of {TICK_MS} from {least_ms} to 3600000, got {value_ms!r}"
                )
        if self.min_speech_ms > self.min_silence_ms:
            raise SettingsError(
                f"min_speech_ms: expected at most min_silence_ms ({self.min_silence_ms}), got {self.min_speech_ms}"
            )

    def ticks(self, name: str) -> int:
        """The setting `name` (with its `_ms`) in ticks."""
        value_ms: int = getattr(self, name)
        return value_ms // TICK_MS


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """One turn event (the rules are in `fdbcore.session.turns`); spans are half open, in ticks of the session.

    kind, side: what, and whose. `gap` and `overlap_between` belong to the side that takes the floor, `pause` and
        `turn` to the holder, `overlap_within` and `intrusion` to the side that came in, `no_response` to the side that
        did not answer.
    start_tick, end_tick: the span; end_tick is None while the speech still goes on (`speech_start`; an `intrusion`
        that took the floor before it ended).
    known_tick: the session tick at which the event became certain; nothing is changed afterwards.
    censored: it became known only after the end of the recording; it counts in no numerator and no denominator.
    fto_ticks: floor transfer offset of `gap` (>= 0) and `overlap_between` (< 0) (Heldner and Edlund 2010).
    other_spoke: of a `pause`: the other side spoke in it without getting the floor.
    stretches: of `overlap_between`: the spans in which both speak.
    onset, outcome: of an `intrusion`: it began in overlap or in silence; the holder kept the floor or lost it.
    stop_ticks: of an `intrusion` that began in overlap: ticks from its start until the holder fell silent for at least
        yield_hold_ms; None if the holder did not before the outcome was known.
    simultaneous: of an `intrusion`: the holder had itself begun at most simultaneous_ms before.
    terminal: of an `intrusion`: the holder's speech ended within terminal_ms, too soon to be an answer to it.
    """

    kind: TurnKind
    side: Side
    start_tick: int
    end_tick: int | None
    known_tick: int
    censored: bool = False
    fto_ticks: int | None = None
    other_spoke: bool | None = None
    stretches: tuple[tuple[int, int], ...] | None = None
    onset: Literal["overlap", "silence"] | None = None
    outcome: Literal["kept", "taken"] | None = None
    stop_ticks: int | None = None
    simultaneous: bool | None = None
    terminal: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The event as plain JSON values, with `start_s` and `end_s`; fields that its kind lacks are left out."""
        values = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        values |= {"end_tick": self.end_tick, "start_s": ticks_to_s(self.start_tick)}
        values["end_s"] = None if self.end_tick is None else ticks_to_s(self.end_tick)
        if self.kind == "intrusion":
            values["stop_ticks"] = self.stop_ticks
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TurnEvent:
        """The event that `to_json` wrote."""
        known = {name: values[name] for name in cls.__slots__ if name in values}
        if "stretches" in known:
            known["stretches"] = tuple((start, end) for start, end in known["stretches"])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Request:
    """What a language model is asked.

    user, system: the texts. wav: a recorded user, as the bytes of a WAV file. schema: JSON Schema that the reply must
    follow; the reply is then one JSON value. seed, temperature: where the model has them; None: its own.
    """

    user: str
    system: str = ""
    wav: bytes | None = field(default=None, repr=False)
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    seed: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered.

    model: its exact version, as its server told it. tokens_in, tokens_out: what it counted, thinking included.
    wav: its voice, where it has one.
    """

    text: str
    model: str
    tokens_in: int
    tokens_out: int
    wav: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Rubric:
    """What a judge marks: text, what it is told; schema, the JSON Schema of its marks, an object."""

    name: str
    text: str
    schema: Mapping[str, Any]


class Problem(NamedTuple):
    """What cannot be used: where it stands ("FILE, line 3", with its id where it has one), and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Clip:
    """A recorded user.

    name: unlike that of any other clip of its run, and fit for a folder's name.
    group: the task or class that it belongs to; "" if there is none.
    labels: what is known about it, as JSON values.
    """

    name: str
    path: Path
    group: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {"path": str(self.path), "name": self.name, "group": self.group, "labels": dict(self.labels)}

    @property
    def address(self) -> str:
        """That of the endpoint that plays it, to which settings may be appended: NAME=VALUE, joined by "&"."""
        return f"clip:{self.path}?"


@dataclass(frozen=True, slots=True)
class User:
    """Who talks to the systems.

    name: empty where there is only one. clip: what is played, if it is recorded.
    length_s: of the clip and its tail; None where only the longest conversation that the run allows bounds it.
    problem: why the clip cannot be played; its cases will be invalid, and the others lose nothing.
    """

    name: str
    address: str = field(repr=False)
    clip: Clip | None = None
    length_s: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What a benchmark needs to score a run: its name, where its data came from, and texts to keep with the run."""

    suite: str
    data: str
    texts: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """What decides the plan."""
        digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in self.texts.items()}
        return {"name": self.suite, "data": self.data, "sha256": digests}


@dataclass(frozen=True, slots=True)
class SideA:
    """Who talks to the systems in a run.

    prompts: settings of parties that take prompts, unless their addresses have others. material: what scoring the run
    takes. problems: what of the data was left out.
    """

    users: Sequence[User]
    prompts: Mapping[str, str] = field(default_factory=dict)
    material: Material | None = None
    problems: Sequence[Problem] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """A setting that a suite asks its user for: on the command line an option, `--as-given`, or an argument, `DIR`.

    kind: a text, a path, a count (from 1), a whole number, or a flag. several: it may be repeated, and is a tuple.
    """

    flag: str
    help: str = ""
    kind: Literal["text", "path", "count", "integer", "flag"] = "text"
    default: Any = None
    metavar: str | None = None
    several: bool = False
    required: bool = False

    @property
    def name(self) -> str:
        """Under which its value is handed over: "as_given", "dir"."""
        return self.flag.lstrip("-").replace("-", "_").lower()
