"""Types of health.json, which is about the audio of a recording, and their reader."""

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.types import Side
from fdbcore.types.units import Seconds, Spans

Severity: TypeAlias = Literal["note", "warn", "bad"]
HealthId: TypeAlias = Literal[
    "echo", "no_speech", "same_channels", "repeats", "mixed", "offset", "out_of_step", "exchanged", "soft", "loud",
    "noise", "clipping", "dc", "telephone", "dropouts", "dtmf", "ringing", "tone", "music", "choppy", "paused",
    "recorded_twice", "looped", "half_duplex", "silence_left_out", "wrong_rate", "nonstationary", "agc",
    "reverberation", "comfort_noise", "noise_gate",
]  # fmt: skip


class HealthFinding(TypedDict):
    """Something wrong with the input."""

    id: HealthId
    side: Annotated[Side | None, Meta(description="whose audio it is in; null: both")]
    severity: Severity
    text: str
    means: Annotated[str, Meta(description="what it does to the measures")]
    figures: Annotated[dict[str, float], Meta(description="by name, with the unit in it")]
    spans: Spans


class SideSound(TypedDict):
    """dBov: 0 is a square wave of full scale; -100 is digital silence; null where there is nothing to measure."""

    speech_s: Seconds
    level_dbov: Annotated[float | None, Meta(description="of the speech")]
    noise_dbov: Annotated[float | None, Meta(description="of the background")]
    snr_db: float | None
    peak_dbov: float
    dc_of_full_scale: float
    spread_db: Annotated[float | None, Meta(description="how much the background varies: robust standard deviation")]
    under_db: Annotated[float | None, Meta(description="the softest 5 % in speech, above the background")]
    after_db: Annotated[float | None, Meta(description="the sound 50 to 150 ms after speech, above the background")]
    fall_ms: Annotated[float | None, Meta(description="from 15 to 35 dB below the peak of a stretch of speech")]
    tail_ms: Annotated[
        float | None, Meta(description="in which the quicker stretches die away by 20 dB: long in rooms")
    ]
    high_drop_db: Annotated[float | None, Meta(description="2.5 to 3.3 kHz above 4.5 to 7.5 kHz")]
    pitch_hz: NotRequired[Annotated[float | None, Meta(description="the median pitch of the voice")]]


class HealthSides(TypedDict):
    """The level of each side."""

    A: SideSound
    B: SideSound


class SuspectSpans(TypedDict):
    """Spans in which the activity of a side is echo of the other."""

    A: Spans
    B: Spans


class EarlierHealth(TypedDict):
    """The health of the audio as an earlier version had it: with fewer figures."""

    schema: str
    verdict: Literal["ok", "warn", "bad"]
    sides: dict[Side, dict[str, float | None]]
    findings: list[HealthFinding]
    suspect: SuspectSpans


class Health(TypedDict):
    """Faults of the audio."""

    schema: Literal["fdbcore.health/3"]
    verdict: Annotated[Literal["ok", "warn", "bad"], Meta(description="the worst severity; notes leave it ok")]
    sides: HealthSides
    findings: Annotated[list[HealthFinding], Meta(description="the worst first")]
    suspect: SuspectSpans
