"""The timing of a session, as the clock, the transports of the sides and the self-test say it, in JSON values."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, Required, TypedDict

from msgspec import Meta, Struct

from fdbcore.types import Side


class TimingSelftest(TypedDict):
    """Delays that the harness itself adds, and whether they are as stated; without figures where they cannot be
    measured. Fields may be added under the same version; a field is never given another meaning."""

    schema: Literal["fdbcore.selftest/1"]
    created: Annotated[str, Meta(description="UTC, ISO 8601")]
    passed: Annotated[bool | None, Meta(description="null where it could not be done")]
    why_not: NotRequired[str]
    transport: NotRequired[str]
    clicks: NotRequired[Annotated[int, Meta(description="that were sent")]]
    returned: NotRequired[int]
    delay_ms: NotRequired[Annotated[float, Meta(description="after which clicks came back: the median")]]
    jitter_ms: NotRequired[Annotated[float, Meta(description="the largest delay less the smallest")]]
    drift_ppm: NotRequired[float]
    stated_ms: NotRequired[Annotated[float, Meta(description="the delay that the harness states: the median")]]
    error_ms: NotRequired[Annotated[float, Meta(description="by how much clicks came later than stated: the median")]]
    wire: NotRequired[Annotated[LatenessSummary, Meta(description="how late packets left")]]
    missed: NotRequired[Annotated[int, Meta(description="ticks")]]
    priority: NotRequired[Priority | None]
    broke: NotRequired[Annotated[list[str], Meta(description="what did not hold")]]


class LatenessSummary(TypedDict):
    """Lateness of something, in microseconds; null where there was nothing."""

    n: int
    min_us: float | None
    p50_us: float | None
    p99_us: float | None
    p99_9_us: float | None
    max_us: float | None


class ClockUsed(TypedDict):
    """The clock that paced a session."""

    name: str
    hardware: Annotated[str | None, Meta(description="the kernel's time source; null where it is not known")]


class ClockJump(TypedDict):
    """A jump of a clock of the machine: when, and how far."""

    tick: int
    ms: float


class TickLateness(TypedDict, total=False):
    """Lateness of the ticks."""

    wake: Annotated[LatenessSummary, Meta(description="of ticks, when the wait was over")]
    resume: Annotated[LatenessSummary, Meta(description="of ticks, when Python went on")]
    late: Annotated[int, Meta(ge=0, description="ticks that came late and were made up")]
    missed: Annotated[int, Meta(ge=0, description="ticks that came too late")]
    suspends: Annotated[list[ClockJump], Meta(description="when the machine was suspended")]
    clock_steps: Annotated[list[ClockJump], Meta(description="when its wall clock was set")]


class Granted(TypedDict, total=False):
    """The system's grant of what was asked for, or its refusal."""

    granted: bool
    priority: int | None
    ns: int | None
    why_not: str | None


class Priority(TypedDict):
    """Grants of the system to the thread that kept the time."""

    fifo: Granted
    timer_slack: Granted


class MachineLoad(TypedDict):
    """The load of the machine."""

    load_average: Annotated[list[float] | None, Meta(description="over 1, 5 and 15 minutes")]
    cpu_count: int | None


class ProcessorUse(TypedDict):
    """Other users of the processors; null where the kernel does not say."""

    steal_share: float | None
    waited_ms: float | None


class DelayStep(TypedDict):
    """A change of the delay with which the audio of a side is played."""

    tick: int
    why: str
    delay_samples: int


class MeasuredSide(TypedDict, total=False):
    """Measurements by the transport of a side. Each kind of transport has other fields, and more than these."""

    received: Annotated[int, Meta(description="packets")]
    lost: Annotated[int, Meta(description="packets")]
    late: Annotated[int, Meta(description="packets")]
    received_samples: int
    received_samples_per_s: float
    heard_samples: int
    padded_samples: int
    lost_samples: int
    longest_loss_samples: int
    unexplained_samples: int
    paused_samples: int
    concealed_samples: int
    underruns: int
    delay_samples: Annotated[int, Meta(description="from the arrival of what was heard last to its tick")]
    out_delay_samples: Annotated[int, Meta(description="from the tick of the audio until it leaves")]
    delay_changes: list[DelayStep]
    untold_delay_changes: Annotated[int, Meta(description="further changes, which are not listed")]
    unplayed: Annotated[str, Meta(description="audio in messages that are not played, in words; absent: none")]
    wire: Annotated[LatenessSummary, Meta(description="how late audio left")]
    step_ms: Annotated[int, Meta(ge=1, description="of a party that answers each step of its input with as much audio")]
    lag_steps: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="first steps that it does not answer")]


class TimingCertificate(TickLateness, total=False):
    """The timing of a session: was each tick on time? On a virtual clock nothing is late, so nothing more is known."""

    realtime: Required[bool]
    clock: ClockUsed
    period_ns: int
    spin_ns: int
    priority: Priority | None
    machine: Annotated[MachineLoad, Meta(description="at the end")]
    machine_before: MachineLoad
    processors: ProcessorUse
    padded_samples: Annotated[dict[Side, int], Meta(description="silence after a shorter file")]
    sides: Annotated[dict[Side, MeasuredSide], Meta(description="what the transport of each measured")]


class HeldAtOnce(Struct, frozen=True):
    """Calls that were held at once, to see whether the machine keeps time; the numbers are of all of them."""

    calls: int
    ticks: int
    late: Annotated[int, Meta(description="ticks that were late by a tick or more, and still held")]
    missed: Annotated[int, Meta(description="ticks that were silent because they came too late")]
    wire_p99_ms: Annotated[float, Meta(description="how late packets left: the 99th percentile of the worst leg")]


class MeasuredMachine(Struct, frozen=True):
    """The machine, and the versions, with which something was measured."""

    name: str
    processors: Annotated[int, Meta(description="that this process may use")]
    python: str
    fdbcore: str


class CallsAtOnce(Struct, frozen=True):
    """The most live calls that a machine holds on time, with two WebRTC legs each, whose peers are there too."""

    schema: Literal["fdbcore.calls_at_once/1"]
    created: Annotated[str, Meta(description="UTC, ISO 8601")]
    calls: Annotated[int, Meta(description="to be held at once: 15 % below the most that went well")]
    most: Annotated[int, Meta(description="that went well for ten seconds; 0 if none did")]
    probes: list[HeldAtOnce]
    machine: MeasuredMachine
