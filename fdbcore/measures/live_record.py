"""A conversation as it was held: its outcome, its timing certificate, its arrivals, the system's own turns."""

import math
from collections.abc import Sequence
from typing import Annotated, Final, NotRequired, TypedDict, cast

import numpy as np
from msgspec import Meta

from fdbcore.measures.costs import HeldCost, call_cost, recipients
from fdbcore.measures.dialogue import joined
from fdbcore.measures.reading import Reading
from fdbcore.measures.tool_calls import HeldToolCall, tool_calls_in
from fdbcore.measures.transcript import HeldLine, transcript
from fdbcore.recording.meta import LineOfCall, Outcome, Parties, RecordingStatus, Tools
from fdbcore.recording.reader import Arrivals, Recording
from fdbcore.types import SAMPLE_RATE_HZ, TICK_MS, Side
from fdbcore.types.session_events import MUTED
from fdbcore.types.system_events import SYSTEM_TURN
from fdbcore.types.timing import TimingCertificate
from fdbcore.types.units import Count, Tick

WITHIN_MS: Final = 1000
"""The system's start or end of speech is the same as ours if it lies at most this far from it."""


class ReplayOf(TypedDict):
    """The recording that was replayed, and whether that gave the same turn events and activity, bit for bit."""

    path: str
    same: Annotated[bool | None, Meta(description="null where it was cut off")]
    differences: list[str]


class Steps(TypedDict):
    """Delays from each step of its input until a party that is clocked by it had answered with as much audio."""

    n: Annotated[Count, Meta(description="steps that were answered")]
    step_ms: int
    p50_ms: float
    p99_ms: float


class Deliveries(TypedDict):
    """Of a side's audio: how many deliveries, the median length of one, and how far apart they came."""

    n: int
    length_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    steps: NotRequired[Annotated[Steps, Meta(description="missing unless it is clocked by its input")]]


class ArrivalsOfSides(TypedDict):
    """The arrivals of each side's audio."""

    A: Deliveries | None
    B: Deliveries | None


class HeldTools(TypedDict):
    """The tools that a system could call, and its calls."""

    described: Tools
    calls: list[HeldToolCall]


class TurnDifferences(TypedDict):
    """The system's starts or ends of its partner's speech, less ours (positive: later)."""

    n: Annotated[Count, Meta(description="that the system and we have found")]
    of: Annotated[Count, Meta(description="that we have found")]
    told: Annotated[Count, Meta(description="that the system has told")]
    median_ms: Annotated[float | None, Meta(description="null if it states no times")]
    p10_ms: float | None
    p90_ms: float | None
    told_after_ms: Annotated[float | None, Meta(description="the median time from ours until the system told")]


class HeldSystemTurns(TypedDict):
    """The system's own turns against ours."""

    starts: TurnDifferences
    ends: TurnDifferences


class HeldMuted(TypedDict):
    """A side that was muted, because its partner opens the session: what it said is lost, and no figure counts it."""

    side: Side
    from_tick: Tick
    to_tick: Tick
    loud_ms: Annotated[Count, Meta(description="for how long it was louder than -40 dBFS")]
    loudest_dbfs: Annotated[float | None, Meta(description="its peak; null for silence")]


class Held(TypedDict):
    """A conversation as it was held."""

    created: str | None
    status: RecordingStatus
    reason: str | None
    outcome: Outcome | None
    parties: Parties | None
    timing: Annotated[TimingCertificate | None, Meta(description="its timing certificate")]
    replay_of: ReplayOf | None
    missed: Annotated[
        list[tuple[Count, Count]],
        Meta(description="spans of ticks that were silent on both sides because they came too late"),
    ]
    arrivals: ArrivalsOfSides
    muted: NotRequired[Annotated[list[HeldMuted], Meta(description="missing if no side was")]]
    tools: NotRequired[Annotated[HeldTools, Meta(description="missing if the system had none")]]
    line: NotRequired[LineOfCall]
    transcript: NotRequired[
        Annotated[list[HeldLine], Meta(description="by their start; missing if no party told any words")]
    ]
    system_turns: NotRequired[Annotated[HeldSystemTurns, Meta(description="missing if the system told none")]]
    cost: NotRequired[Annotated[HeldCost, Meta(description="missing if nothing left one's own network")]]
    recipients: NotRequired[
        Annotated[list[str], Meta(description="what went to whom, a line each; missing if nothing did")]
    ]


def live_record(recording: Reading) -> Held | None:
    """The conversation as it was held, for the document; None for recorded files, of which nobody knows."""
    meta, link = recording.original_meta, recording.meta.get("held")
    if link is None and "outcome" not in meta and "sides" not in (meta.get("timing") or {}):
        return None
    events = recording.events
    missed = sorted((event["tick"], event["tick"] + 1) for event in events if event["kind"] == "missed")
    held: Held = {
        "created": meta.get("created"),
        "status": meta["status"],
        "reason": meta.get("reason"),
        "outcome": meta.get("outcome"),
        "parties": meta.get("parties"),
        "timing": meta.get("timing"),
        "replay_of": {"path": link["path"], "same": link["same"], "differences": link["differences"]} if link else None,
        "missed": joined(np.array(missed, np.int64).reshape(-1, 2), 1).tolist(),
        "arrivals": {"A": _deliveries(recording, "A"), "B": _deliveries(recording, "B")},
    }
    if muted := [{key: event[key] for key in HeldMuted.__annotations__} for event in events if event["kind"] == MUTED]:
        held["muted"] = cast("list[HeldMuted]", muted)
    if "tools" in meta:
        held["tools"] = {"described": meta["tools"], "calls": tool_calls_in(events)}
    if "line" in meta:
        held["line"] = meta["line"]
    if lines := transcript(recording):
        held["transcript"] = lines
    if (turns := system_turns(recording)) is not None:
        held["system_turns"] = turns
    if (cost := call_cost(recording)) is not None:
        held |= {"cost": cost.to_json(), "recipients": recipients(recording)}
    return held


def _deliveries(recording: Recording, side: Side) -> Deliveries | None:
    """The number of deliveries, how long the median one is, and how far apart (ms) they came; and its steps."""
    found = recording.arrivals(side)
    if len(found.at_us) < 2:
        return None
    spacing_ms = np.diff(found.at_us) / 1000
    p50_ms, p99_ms, max_ms = np.quantile(spacing_ms, [0.5, 0.99, 1.0])
    told: Deliveries = {
        "n": len(found.at_us),
        "length_ms": float(np.median(found.samples)) * 1000 / SAMPLE_RATE_HZ,
        "p50_ms": float(p50_ms),
        "p99_ms": float(p99_ms),
        "max_ms": float(max_ms),
    }
    if (steps := _steps(recording, side, found)) is not None:
        told["steps"] = steps
    return told


def _steps(recording: Recording, side: Side, found: Arrivals) -> Steps | None:
    """Delays from each step of its input until a party that is clocked by it had answered it; None for any other.

    A step is there when its last tick has left, which is later where that was missed. None, too, if answers came before
    their steps: then the party leaves fewer of its first steps unanswered than is stated.
    """
    measured = recording.measured(side)
    step_ms, lag_steps = measured.get("step_ms", 0), measured.get("lag_steps") or 0
    step_samples, ends = step_ms * SAMPLE_RATE_HZ // 1000, found.start_sample + found.samples
    n_sent = recording.n_ticks * TICK_MS // step_ms - lag_steps if step_ms else 0
    steps = np.arange(1, min(n_sent, int(ends[-1]) // step_samples) + 1) if n_sent > 0 else np.arange(0)
    if not len(steps):
        return None
    missed = [event["tick"] for event in recording.events if event["kind"] == "missed"]
    held = np.setdiff1d(np.arange(recording.n_ticks + 1), missed)
    sent_ticks = held[np.searchsorted(held, (steps + lag_steps) * step_ms // TICK_MS - 1)]
    came_us = found.at_us[np.searchsorted(ends, steps * step_samples)]
    late_ms = (came_us - (measured["wire"]["p50_us"] or 0)) / 1000 - sent_ticks * TICK_MS
    p50_ms, p99_ms = np.quantile(late_ms, [0.5, 0.99]).tolist()
    return {"n": len(steps), "step_ms": step_ms, "p50_ms": p50_ms, "p99_ms": p99_ms} if p50_ms >= 0 else None


def system_turns(recording: Recording) -> HeldSystemTurns | None:
    """The system's own turns against ours; None if it told none. The system is side B."""
    told = [event for event in recording.events if event["kind"] == SYSTEM_TURN and event["side"] == "B"]
    if not told:
        return None
    partner = [event for event in recording.turn_events if event.side == "A"]
    starts_ms = [event.start_tick * TICK_MS for event in partner if event.kind == "speech_start"]
    ends_ms = [event.end_tick * TICK_MS for event in partner if event.kind == "speech_end" and event.end_tick]
    found = {
        name: [(event.get("at_ms"), event["tick"] * TICK_MS) for event in told if event["name"] == f"speech_{name}"]
        for name in ("started", "stopped")
    }
    return {"starts": _against(found["started"], starts_ms), "ends": _against(found["stopped"], ends_ms)}


def _against(told: Sequence[tuple[float | None, float]], ours_ms: Sequence[float]) -> TurnDifferences:
    """Each of ours with the nearest that the system told. told: where the system puts it, if it says so, and when it
    told, in ms.
    """
    differences, delays = [], []
    for at_ms, told_ms in told:
        place_ms = told_ms if at_ms is None else at_ms
        gaps_ms = [(abs(ms - place_ms), ms) for ms in ours_ms]
        gap_ms, nearest = min(gaps_ms, default=(math.inf, 0.0))
        if gap_ms > WITHIN_MS:
            continue
        delays.append(told_ms - nearest)
        if at_ms is not None:
            differences.append(at_ms - nearest)
    low, median, high = np.quantile(differences, [0.1, 0.5, 0.9]).tolist() if differences else (None, None, None)
    return {
        "n": len(delays),
        "of": len(ours_ms),
        "told": len(told),
        "median_ms": median,
        "p10_ms": low,
        "p90_ms": high,
        "told_after_ms": float(np.median(delays)) if delays else None,
    }
