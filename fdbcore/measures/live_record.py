"""How a conversation was held: its outcome, its timing certificate, how its audio arrived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from fdbcore.measures.costs import call_cost, recipients
from fdbcore.measures.reading import Reading
from fdbcore.measures.system_turns import system_turns
from fdbcore.measures.tool_calls import tool_calls
from fdbcore.measures.transcript import transcript
from fdbcore.recording.reader import Arrivals
from fdbcore.types import SAMPLE_RATE_HZ
from fdbcore.types.session_events import MUTED

if TYPE_CHECKING:
    from fdbcore.measures.live_record_types import Deliveries, Held, HeldMuted


def live_record(recording: Reading) -> Held | None:
    """How the conversation was held, for the document; None for recorded files, of which nobody knows."""
    meta, link = recording.original_meta, recording.meta.get("held")
    if link is None and "outcome" not in meta and "sides" not in (meta.get("timing") or {}):
        return None
    events = recording.events
    missed = sorted(event["tick"] for event in events if event["kind"] == "missed")
    held: Held = {
        "created": meta.get("created"),
        "status": meta["status"],
        "reason": meta.get("reason"),
        "outcome": meta.get("outcome"),
        "parties": meta.get("parties"),
        "timing": meta.get("timing"),
        "replay_of": {"path": link["path"], "same": link["same"], "differences": link["differences"]} if link else None,
        "missed": _spans(missed),
        "arrivals": {
            "A": _deliveries(Arrivals.among(events, "A")),
            "B": _deliveries(Arrivals.among(events, "B")),
        },
    }
    if muted := _muted(events):
        held["muted"] = muted
    if "tools" in meta:
        held["tools"] = {"described": meta["tools"], "calls": tool_calls(events)}
    if "line" in meta:
        held["line"] = meta["line"]
    if lines := transcript(recording):
        held["transcript"] = lines
    if (turns := system_turns(recording)) is not None:
        held["system_turns"] = turns
    if (cost := call_cost(recording)) is not None:
        held |= {"cost": cost.to_json(), "recipients": recipients(recording)}
    return held


def _muted(events: Sequence[Mapping[str, Any]]) -> list[HeldMuted]:
    return [
        {
            "side": event["side"],
            "from_tick": event["from_tick"],
            "to_tick": event["to_tick"],
            "loud_ms": event["loud_ms"],
            "loudest_dbfs": event["loudest_dbfs"],
        }
        for event in events
        if event["kind"] == MUTED
    ]


def _spans(ticks: list[int]) -> list[tuple[int, int]]:
    """Sorted ticks as half-open spans."""
    runs = (list(run) for _, run in groupby(enumerate(ticks), lambda numbered: numbered[1] - numbered[0]))
    return [(run[0][1], run[-1][1] + 1) for run in runs]


def _deliveries(found: Arrivals) -> Deliveries | None:
    """How many deliveries, how long the median one is, and how far apart (ms) they came."""
    if len(found.at_us) < 2:
        return None
    spacing_ms = np.diff(found.at_us) / 1000
    p50_ms, p99_ms, max_ms = np.quantile(spacing_ms, [0.5, 0.99, 1.0])
    return {
        "n": len(found.at_us),
        "length_ms": float(np.median(found.samples)) * 1000 / SAMPLE_RATE_HZ,
        "p50_ms": float(p50_ms),
        "p99_ms": float(p99_ms),
        "max_ms": float(max_ms),
    }
