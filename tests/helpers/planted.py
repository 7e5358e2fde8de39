"""Runs of many calls with a known share of premature responses, made without audio: a detector's activity is drawn."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fdbcore.analysis.score import QUANTITIES_SCHEMA, SCORES_SCHEMA
from fdbcore.analysis.summaries import summarise
from fdbcore.clock import utc_now
from fdbcore.measures import quantities as stored
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.timing import timing_quantities
from fdbcore.recording.files import (
    ACTIVITY,
    EVENTS,
    META,
    QUANTITIES,
    RECORDING_SCHEMA,
    SCORES,
    TURNS,
    TURNS_SCHEMA,
    settings_hash,
)
from fdbcore.recording.run import DONE, CorpusCall, ReplayedFile, write_corpus
from fdbcore.recording.versions import installed_versions
from fdbcore.session.turns import detect_turns
from fdbcore.session.vad import EnergyVad
from fdbcore.types import TurnSettings

VAD_DELAY_TICKS = 20

Track = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Planted:
    """Calls of `turns` turns of A each; B cuts off a share `premature` of them, and answers the others after lognormal
    latencies around `latency_s`."""

    calls: int
    premature: float
    seed: int
    latency_s: float = 0.8
    turns: int = 8
    prefix: str = "call"
    columns: Mapping[str, str] = field(default_factory=dict)


def activity(rng: np.random.Generator, of: Planted) -> tuple[Track, Track, list[bool]]:
    """A and B in turn, and which turns of A are cut off, 0.6 s early."""
    early = (rng.random(of.turns) < of.premature).tolist()
    spans: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    now = 0.5
    for cut in early:
        end = now + rng.uniform(1.5, 3.0)
        start = end - 0.6 if cut else end + of.latency_s * np.exp(rng.normal(0, 0.4))
        spans[0].append((now, end))
        spans[1].append((start, start + rng.uniform(1.5, 3.0)))
        now = spans[1][-1][1] + rng.uniform(0.3, 0.8)
    tracks = np.zeros((2, round(100 * (now + 2))), dtype=np.bool_)
    for track, side in zip(tracks, spans, strict=True):
        for start, end in side:
            track[round(100 * start) : round(100 * end)] = True
    return tracks[0], tracks[1], early


def planted_run(
    path: Path, *of: Planted, turns: TurnSettings | None = None, made_by: str | None = None, **detector: str
) -> list[int]:
    """A scored run of these calls at `path`; how many turns of each call are cut off."""
    turns = turns or TurnSettings()
    vad = {"name": "energy", "version": EnergyVad().describe()["version"]} | detector
    settings = {"turns": asdict(turns), "vad": {side: vad for side in "AB"}}
    made = installed_versions() | ({"fdbcore": made_by} if made_by else {})
    meta = {
        "schema": RECORDING_SCHEMA,
        "status": "complete",
        "reason": None,
        "versions": made,
        "settings": settings,
        "settings_sha256": settings_hash(settings),
    }
    cut: list[int] = []
    entries: list[CorpusCall] = []
    for each in of:
        rng = np.random.default_rng(each.seed)
        for number in range(each.calls):
            name = f"{each.prefix}{number:04}"
            a, b, early = activity(rng, each)
            _write_recording(path / name, a, b, meta, turns)
            cut.append(sum(early))
            file: ReplayedFile = {"path": f"/calls/{name}.wav", "sha256": None}
            entries.append(
                {"name": name, "files": [file], "status": DONE, "reason": None, "unscored": None,
                 "columns": dict(each.columns)}
            )  # fmt: skip
    write_corpus(path, utc_now(), {"vad": "energy", "changes": {}, "real_time": False}, {}, entries)
    return cut


def _write_recording(path: Path, a: Track, b: Track, meta: Mapping[str, Any], turns: TurnSettings) -> None:
    (path / "derived").mkdir(parents=True)
    _write(path / META, {**meta, "n_ticks": len(a)})
    (path / EVENTS).write_text("")
    peaks = np.stack([a, b], axis=1).astype(np.uint16) * 8000
    packed = {"n_ticks": np.array(len(a)), "a": np.packbits(a), "b": np.packbits(b), "peaks": peaks}
    np.savez(path / ACTIVITY, allow_pickle=False, **packed)
    events = detect_turns(a, b, turns, VAD_DELAY_TICKS)
    told = [event.to_json() for event in events]
    _write(path / TURNS, {"schema": TURNS_SCHEMA, "settings": meta["settings"], "events": told})
    dialogue = Dialogue(events, len(a), turns)
    found = timing_quantities(dialogue, with_chance=False)
    items = {name: stored.to_json(quantity) for name, quantity in found.items()}
    _write(path / QUANTITIES, {"schema": QUANTITIES_SCHEMA, "quantities": items, "with_echo": {}})
    scores = {"schema": SCORES_SCHEMA, "measures": summarise([found]), "findings": [], "warnings": []}
    _write(
        path / SCORES,
        scores | {"settings": meta["settings"], "curves": {"response": {"latency_ms": [], "eligible": 0}}},
    )


def _write(path: Path, value: object) -> None:
    """In one line: indentation takes most of the time of a thousand calls."""
    path.write_text(json.dumps(value))
