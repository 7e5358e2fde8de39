"""Measures of Full-Duplex-Bench v1 and v1.5 under their own names and with their own quirks, for comparison with
published tables. Ours are in `timing`; these two never mix.

v1 takes words for speech, so it needs B's words. v1.5 takes the segments of the Silero voice detector at 16 kHz as it
is packaged, so it needs that detector; its merging of 0.6 s (user) and 0.5 s (system) hides shorter pauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.recording import Recording

Segment: TypeAlias = tuple[float, float]
"""Start and end in seconds."""

USER_MERGE_S, SYSTEM_MERGE_S = 0.6, 0.5

# Silero's packaged segmentation (get_speech_timestamps), at windows of 512 samples of 16 kHz.
WINDOW_S = 0.032
ON, OFF = 0.5, 0.35
MIN_SPEECH_S, MIN_SILENCE_S, PAD_S = 0.25, 0.1, 0.03


def compat(recording: Recording) -> dict[str, Quantity]:
    """What of v1 and v1.5 this recording has the material for."""
    measures: dict[str, Quantity] = {}
    words = recording.words("B")
    if words is not None:
        measures |= takeover(words, recording.meta.get("annotations", []))
    probabilities = recording.evidence("silero_16khz_probability")
    if probabilities is not None:
        measures |= overlap_v15(*(segments(track) for track in probabilities))
    return measures


def takeover(words: Sequence[Segment], annotations: Sequence[dict[str, object]]) -> dict[str, Quantity]:
    """v1: did the system take over, and how long after the *start* of the annotated turn-taking interval.

    No words, or at most three within less than a second, are no takeover. A negative latency counts as 0.
    """
    took = bool(words) and not (words[-1][1] - words[0][0] < 1 and len(words) <= 3)
    measures: dict[str, Quantity] = {"compat_v1_takeover_per_sample": Share(int(took), 1)}
    starts = [note["start_s"] for note in annotations if note["kind"] == "turn_taking"]
    if starts:
        latency_ms = [max(0.0, (words[0][0] - float(str(starts[0]))) * 1000)] if took else []
        measures["compat_v1_latency_ms"] = Values("ms", latency_ms, {"no_takeover": int(not took)})
    return measures


def segments(probabilities: npt.NDArray[np.float32]) -> list[Segment]:
    """Speech segments (s) of a Silero probability track, float32 (n_windows,), as its package makes them."""
    found: list[Segment] = []
    start: float | None = None
    end: float | None = None
    for index, probability in enumerate(probabilities.tolist()):
        now = index * WINDOW_S
        if probability >= ON:
            end = None
            start = now if start is None else start
        elif probability < OFF and start is not None:
            end = now if end is None else end
            if now - end >= MIN_SILENCE_S:
                found.append((start, end))
                start = end = None
    if start is not None:
        found.append((start, len(probabilities) * WINDOW_S))
    found = [(start, end) for start, end in found if end - start > MIN_SPEECH_S]
    return _padded(found, len(probabilities) * WINDOW_S)


def _padded(found: list[Segment], length_s: float) -> list[Segment]:
    """Each segment wider by PAD_S; two that would meet share the silence between them."""
    padded = []
    for index, (start, end) in enumerate(found):
        before = start - found[index - 1][1] if index else start + PAD_S
        after = found[index + 1][0] - end if index + 1 < len(found) else length_s - end + PAD_S
        left = PAD_S if before >= 2 * PAD_S else before / 2
        right = PAD_S if after >= 2 * PAD_S else after / 2
        padded.append((max(0.0, start - left), min(length_s, end + right)))
    return padded


def merged(found: Sequence[Segment], gap_s: float) -> list[Segment]:
    """Segments joined across gaps of at most `gap_s`."""
    joined: list[Segment] = []
    for start, end in found:
        if joined and start - joined[-1][1] <= gap_s:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def overlap_v15(user: Sequence[Segment], system: Sequence[Segment]) -> dict[str, Quantity]:
    """v1.5: stop latency (length of the overlaps; the shortest for each end, to 1 ms) and response latency (from the
    latest end of the user to the next start of the system)."""
    user, system = merged(user, USER_MERGE_S), merged(system, SYSTEM_MERGE_S)
    overlaps = [(max(u0, s0), min(u1, s1)) for u0, u1 in user for s0, s1 in system if max(u0, s0) < min(u1, s1)]
    shortest: dict[int, float] = {}
    for start, end in overlaps:
        key = round(end * 1000)
        shortest[key] = min(shortest.get(key, float("inf")), (end - start) * 1000)
    latest_end: dict[float, float] = {}
    for _, end in user:
        following = min((start for start, _ in system if start >= end), default=None)
        if following is not None:
            latest_end[following] = max(latest_end.get(following, end), end)
    return {
        "compat_v15_stop_latency_ms": Values("ms", list(shortest.values())),
        "compat_v15_response_latency_ms": Values("ms", [(start - end) * 1000 for start, end in latest_end.items()]),
    }
