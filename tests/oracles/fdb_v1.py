"""The published measures of Full-Duplex-Bench v1 and v1.5, step by step, as the released scripts behave when they run.

Words and segments are lists of [start, end] in seconds. `tests/reference` holds what the scripts give of made samples;
these say what they would give of random logs.
"""

import math
import statistics
from fractions import Fraction
from typing import Any

import scipy.stats


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


def tenth(samples: int) -> float:
    """Samples at 16 kHz in s, to the nearest tenth; a half goes where the nearest binary fraction lies."""
    exact = Fraction(samples / 16_000)
    below = math.floor(exact * 10)
    beyond = exact * 10 - below
    up = beyond > Fraction(1, 2) or (beyond == Fraction(1, 2) and below % 2 == 1)
    return (below + up) / 10


def seconds(segments: list[list[int]], samples: int) -> list[list[float]]:
    """The segments, in samples, as the detector's package gives them in seconds."""
    return [[tenth(start), min(tenth(end), samples / 16_000)] for start, end in segments]


def backchannel(segments: list[list[float]], words: list[list[float]]) -> tuple[int, list[list[float]]]:
    flag = 0
    stored: list[list[float]] = []
    for first, last in segments:
        if last - first > 3:
            return 1, stored
        stored.append([first, last])
        touching = 0
        for start, end in words:
            is_inside = first <= start and end <= last
            is_over_the_end = start <= last and last < end
            is_over_the_start = start <= first and first < end
            if is_inside or is_over_the_end or is_over_the_start:
                touching += 1
        is_short = last - first < 1
        flag = 0 if is_short and touching < 3 else 1
    return flag, stored


def jsd(stored: list[list[float]], length: float, human: list[float]) -> float:
    if stored == []:
        return 1.0
    counts = [0.0] * (1 + math.floor(length / 0.2))
    for start, end in stored:
        for place in range(len(counts)):
            if int(start / 0.2) <= place <= int(end / 0.2):
                counts[place] += 1
    people = []
    for place in range(len(counts)):
        at = place / (len(counts) - 1) * (len(human) - 1) if len(counts) > 1 else 0.0
        low = min(int(at), len(human) - 1)
        high = min(low + 1, len(human) - 1)
        people.append(human[low] + (human[high] - human[low]) * (at - low))
    q = [each / sum(people) for each in people]
    p = [each + 1e-10 for each in counts]
    p = [each / sum(p) for each in p]
    divergence = 0.0
    for mine, theirs in zip(p, q, strict=True):
        middle = (mine + theirs) / 2
        divergence += sum(each * math.log(each / middle) for each in (mine, theirs) if each > 0) / 2
    return math.sqrt(max(divergence, 0.0))


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


def cut(words: list[list[float]], overlap_end: float, length: float) -> float:
    """Where a word is being said, at its start; in a gap, where the next begins; behind all words, where they end."""
    place = overlap_end
    behind = True
    for start, end in sorted(words, key=lambda each: each[0]):
        place = end
        if start <= overlap_end < end or start > overlap_end:
            place, behind = start, False
        if not behind:
            break
    return min(max(place, 0.0), length)


def sides(words: list[list[float]], at: float) -> tuple[list[list[float]], list[list[float]]]:
    return [word for word in words if not word[1] > at], [word for word in words if word[1] > at]


def rate(words: list[list[float]]) -> float:
    if not words or words[-1][1] - words[0][0] <= 0:
        return 0.0
    return len(words) / ((words[-1][1] - words[0][0]) / 60)


def percentile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    at = (len(ordered) - 1) * q / 100
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def trimmed(values: list[float]) -> float:
    if len(values) < 3:
        return sum(values) / len(values)
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
