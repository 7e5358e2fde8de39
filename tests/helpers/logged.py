"""Drawn conversations with the log of their agent, whose clock and stages are known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fdbcore.sources.agent_logs import LogEvent

DECIDED_S = 0.2


class Exchange(NamedTuple):
    """A's end, B's onset and B's end, in seconds."""

    end_s: float
    onset_s: float
    done_s: float


def exchanges(rng: np.random.Generator, turns: int = 12) -> tuple[str, list[Exchange]]:
    """A drawing (see `helpers.drawn`) of turns of A and answers of B."""
    a, b, found, now = "A", "| B", [], 0.5
    for _ in range(turns):
        end = round(now + rng.uniform(1.5, 4), 2)
        onset = round(end + rng.uniform(0.5, 1.5), 2)
        done = round(onset + rng.uniform(1.5, 6), 2)
        a, b, now = f"{a} {now:g}-{end:g}", f"{b} {onset:g}-{done:g}", round(done + rng.uniform(0.4, 1.5), 2)
        found.append(Exchange(end, onset, done))
    return f"{a} {b}", found


def truth_s(exchange: Exchange, transport_s: float = 0.05) -> dict[str, float]:
    """When each event of an answer happens; playback a constant `transport_s` before it is heard."""
    playback = exchange.onset_s - transport_s
    decided = exchange.end_s + DECIDED_S
    first_token = decided + 0.6 * (playback - decided)
    return {
        "endpoint": decided,
        "llm first token": first_token,
        "tts first audio": (first_token + playback) / 2,
        "audio_out": playback,
        "playback_finished": exchange.done_s + 0.1,
    }


def log_of(
    rng: np.random.Generator,
    found: Sequence[Exchange],
    clock_s: float = 1000.0,
    drift_ppm: float = 0.0,
    jitter_s: float = 0.03,
    missing: float = 0.0,
    without: Sequence[str] = (),
) -> list[LogEvent]:
    """A log by a clock that shows clock_s at the start of the recording, and runs too slow by drift_ppm.

    Each mark is off by up to jitter_s to both sides; a share `missing` of them is not there.
    """
    events = []
    for exchange in found:
        times: Mapping[str, float] = truth_s(exchange)
        for name, time_s in times.items():
            if name not in without and rng.random() >= missing:
                noted_s = time_s + rng.uniform(-jitter_s, jitter_s)
                events.append(LogEvent(noted_s / (1 + drift_ppm * 1e-6) + clock_s, name))
    return sorted(events)


def save(path: Path, events: Sequence[LogEvent]) -> Path:
    """Write a log as lines, in any order and with further keys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"time": event.time_s, "name": event.name, "more": 1}) for event in reversed(events))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
