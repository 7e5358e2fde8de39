"""Runs made of drawn conversations, without audio: their activity is stored as a detector would have left it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fdbcore.analysis.score import score
from fdbcore.clock import utc_now
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import (
    ACTIVITY,
    EVENTS,
    META,
    RECORDING_SCHEMA,
    TURNS,
    TURNS_SCHEMA,
    settings_hash,
    write_json,
)
from fdbcore.recording.run import DONE, CorpusCall, write_corpus
from fdbcore.recording.versions import installed_versions
from fdbcore.registry import VADS, vad
from fdbcore.session.turns import detect_turns
from fdbcore.types import SAMPLE_RATE_HZ, TurnSettings

Activity = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Manner:
    """How B takes its turns.

    latency_s, spread: median and log standard deviation of its latencies. pause_s: of the pauses inside its turns.
    premature: the share of A's turns that it cuts off.
    """

    latency_s: float = 0.8
    spread: float = 0.4
    pause_s: float = 0.15
    premature: float = 0.0
    turns: int = 8


@dataclass(frozen=True)
class MadeCall:
    name: str
    activity: tuple[Activity, Activity]
    columns: Mapping[str, str] = field(default_factory=dict)


def conversation(rng: np.random.Generator, manner: Manner = Manner()) -> tuple[Activity, Activity]:
    """A and B in turn; B's answers are late by lognormal latencies, and each of its turns has one pause inside."""
    spans: dict[str, list[tuple[float, float]]] = {"A": [], "B": []}
    now = 0.5
    for _ in range(manner.turns):
        length_s = rng.uniform(1.5, 3.0)
        spans["A"].append((now, now + length_s))
        early = rng.random() < manner.premature
        start = now + length_s + (-0.6 if early else manner.latency_s * np.exp(rng.normal(0, manner.spread)))
        first_s, second_s = rng.uniform(1.1, 2.0, 2)
        again = start + first_s + manner.pause_s * rng.uniform(0.7, 1.3)
        spans["B"] += [(start, start + first_s), (again, again + second_s)]
        now = again + second_s + rng.uniform(0.2, 0.8)
    tracks = [np.zeros(round(100 * (now + 12.0)), dtype=np.bool_) for _ in spans]
    for track, of in zip(tracks, spans.values(), strict=True):
        for start, end in of:
            track[round(100 * start) : round(100 * end)] = True
    return tracks[0], tracks[1]


def made_run(
    path: Path, calls: Sequence[MadeCall], detector: str = "energy", settings: TurnSettings | None = None
) -> Path:
    """A run with these calls, scored; `path`."""
    turns = settings or TurnSettings()
    version = vad(detector)(source_rate_hz=SAMPLE_RATE_HZ).describe()["version"] if detector in VADS else "1"
    decided = {"turns": asdict(turns), "vad": {side: {"name": detector, "version": version} for side in "AB"}}
    for call in calls:
        _write_recording(path / call.name, call.activity, decided, turns)
    entries: list[CorpusCall] = [
        {"name": c.name, "status": DONE, "reason": None, "unscored": None, "files": [], "columns": dict(c.columns)}
        for c in calls
    ]
    write_corpus(path, utc_now(), {"vad": detector, "changes": {}, "real_time": False}, {}, entries)
    return path


def _write_recording(path: Path, activity: tuple[Activity, Activity], decided: Any, turns: TurnSettings) -> None:
    a, b = activity
    (path / "derived").mkdir(parents=True)
    meta = {
        "schema": RECORDING_SCHEMA,
        "status": "complete",
        "reason": None,
        "n_ticks": len(a),
        "versions": installed_versions(),
    }
    write_json(path / META, meta | {"settings": decided, "settings_sha256": settings_hash(decided)})
    (path / EVENTS).write_text("")
    peaks = np.stack([a, b], axis=1).astype(np.uint16) * 8000
    packed = {"n_ticks": np.array(len(a)), "a": np.packbits(a), "b": np.packbits(b), "peaks": peaks}
    np.savez(path / ACTIVITY, allow_pickle=False, **packed)
    events = [event.to_json() for event in detect_turns(a, b, turns, 20)]
    write_json(path / TURNS, {"schema": TURNS_SCHEMA, "settings": decided, "events": events})
    score(Reading(path))


def drawn_calls(
    n: int, seed: int, manner: Callable[[int], Manner] = lambda number: Manner(), prefix: str = "call", **columns: str
) -> list[MadeCall]:
    """n conversations by the manner of each number, all with the same columns."""
    rng = np.random.default_rng(seed)
    return [MadeCall(f"{prefix}{k:04}", conversation(rng, manner(k)), columns) for k in range(n)]
