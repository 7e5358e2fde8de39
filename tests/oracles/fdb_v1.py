"""The published measures of Full-Duplex-Bench v1 and v1.5, step by step, as their papers and code are told.

Words and segments are lists of [start, end] in seconds.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

import scipy.stats
from scipy.spatial import distance


def takeover(words: list[list[float]]) -> int:
    if len(words) == 0:
        return 0
    span = words[-1][1] - words[0][0]
    if span < 1:
        if len(words) <= 3:
            return 0
    return 1


def turn_latency(words: list[list[float]], interval_start: float) -> float:
    latency = words[0][0] - interval_start
    return latency if latency > 0 else 0.0


def after(words: list[list[float]], end: float) -> list[list[float]]:
    """Audio before the end of the interruption is cut away, so a word across it begins there."""
    kept = []
    for word in words:
        if word[1] <= end:
            continue
        kept.append([word[0] if word[0] > end else end, word[1]])
    return kept


def backchannel(segments: list[list[float]], words: list[list[float]]) -> tuple[int, list[list[float]]]:
    flag = 0
    stored: list[list[float]] = []
    for segment in segments:
        duration = segment[1] - segment[0]
        if duration > 3:
            return 1, stored
        stored.append(segment)
        inside = 0
        for word in words:
            middle = (word[0] + word[1]) / 2
            if middle >= segment[0] and middle < segment[1]:
                inside = inside + 1
        if inside > 3:
            flag = 1
        elif duration < 1 and inside <= 2:
            flag = 0
        else:
            flag = 1
    return flag, stored


def jsd(stored: list[list[float]], length: float, human: list[float]) -> float:
    if stored == []:
        return 1.0
    n = max(1, math.ceil(length / 0.2))
    counts = [0.0] * n
    for segment in stored:
        first, last = int(segment[0] / 0.2), int(segment[1] / 0.2)
        for place in range(first, last + 1):
            if place < n:
                counts[place] += 1
    people = []
    for place in range(n):
        at = place / (n - 1) * (len(human) - 1) if n > 1 else 0.0
        low = min(int(at), len(human) - 1)
        high = min(low + 1, len(human) - 1)
        people.append(human[low] + (human[high] - human[low]) * (at - low))
    p, q = [c + 1e-10 for c in counts], [c + 1e-10 for c in people]
    p, q = [c / sum(p) for c in p], [c / sum(q) for c in q]
    return float(distance.jensenshannon(p, q))


def joined(segments: list[list[float]], gap: float) -> list[list[float]]:
    found: list[list[float]] = []
    for segment in segments:
        if found and segment[0] - found[-1][1] <= gap:
            found[-1][1] = max(found[-1][1], segment[1])
        else:
            found.append(list(segment))
    return found


def stops(user: list[list[float]], system: list[list[float]]) -> list[float]:
    shortest: dict[float, float] = {}
    for u in joined(user, 0.6):
        for s in joined(system, 0.5):
            start, end = max(u[0], s[0]), min(u[1], s[1])
            if start < end:
                key = round(end, 3)
                if key not in shortest or end - start < shortest[key]:
                    shortest[key] = end - start
    return sorted(shortest.values())


def responses(user: list[list[float]], system: list[list[float]]) -> list[float]:
    latest: dict[float, float] = {}
    for u in joined(user, 0.6):
        later = [s[0] for s in joined(system, 0.5) if s[0] > u[1]]
        if later:
            start = min(later)
            latest[start] = max(latest.get(start, -1.0), u[1])
    return sorted(start - end for start, end in latest.items())


def cut(words: list[list[float]], overlap_end: float) -> float:
    for word in sorted(words, key=lambda each: each[1]):
        if word[1] >= overlap_end:
            return word[1]
    return overlap_end


def rate(words: list[list[float]]) -> float | None:
    if not words or words[-1][1] - words[0][0] <= 0:
        return None
    return len(words) / ((words[-1][1] - words[0][0]) / 60)


def percentile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    at = (len(ordered) - 1) * q / 100
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def trimmed(values: list[float]) -> float:
    low, high = percentile(values, 5), percentile(values, 95)
    kept = [value for value in values if value >= low - 1e-12 and value <= high + 1e-12]
    return sum(kept) / len(kept)


def paired(before: list[float], later: list[float]) -> dict[str, Any]:
    differences = [b - a for a, b in zip(before, later, strict=True)]
    middle = statistics.median(differences)
    mad = 1.4826 * statistics.median([abs(d - middle) for d in differences])
    kept = [n for n, d in enumerate(differences) if mad == 0 or abs(d - middle) <= 3.5 * mad]
    a, b = [before[n] for n in kept], [later[n] for n in kept]
    test = scipy.stats.ttest_rel(b, a)
    interval = test.confidence_interval(0.95)
    own = [differences[n] for n in kept]
    return {
        "n": len(kept),
        "t": test.statistic,
        "p": test.pvalue,
        "interval": (interval.low, interval.high),
        "d_z": statistics.mean(own) / statistics.stdev(own),
    }
