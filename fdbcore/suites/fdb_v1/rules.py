"""The published rules that need more than words and overlaps: backchannels, before and after, and paired tests.

As the scripts of Full-Duplex-Bench v1 and v1.5 compute them, with their quirks; all are pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.measures.compat import Segment
from fdbcore.measures.silero_track import RATE_HZ
from fdbcore.stats.distances import jensen_shannon

LONGEST_BACKCHANNEL_S: Final = 3.0
BIN_S: Final = 0.2
NO_CANDIDATE: Final = 1.0
"""The distance of a sample without a backchannel: beyond sqrt(ln 2) = 0.8326, the most that the distance can be."""
_FLOOR: Final = 1e-10

TRIMMED: Final = (5, 95)
LEAST_TRIMMED: Final = 3
OUTLIER_K: Final = 3.5
MAD_SCALE: Final = 1.4826

Floats = npt.NDArray[np.float64]


class Backchannels(NamedTuple):
    """What v1 makes of a sample: whether the system took over, and the segments that it stores as backchannels."""

    takeover: bool
    candidates: list[Segment]


def tenths(segments: Sequence[Segment], length_s: float) -> list[Segment]:
    """v1: the segments of backchannels in tenths of a second, as Silero's package gives them if asked for seconds.

    length_s: of the audio. Halves are those of whole samples.
    """
    rounded = [[round(round(time_s * RATE_HZ) / RATE_HZ, 1) for time_s in segment] for segment in segments]
    return [(start_s, min(end_s, length_s)) for start_s, end_s in rounded]


def backchannels(segments: Sequence[Segment], words: Sequence[Segment]) -> Backchannels:
    """v1: `tenths` of segments of the system, and the start and end of its words in s.

    A segment of more than 3 s is a takeover and ends the search. Each other one is stored as a backchannel, and decides
    whether it is a takeover: more than three words are, less than 1 s of at most two words are not, all else is. A word
    counts if it lies in the segment or across an edge of it; one that begins at its very end is across it. Each segment
    overwrites what those before it decided. What is stored does not depend on the words.
    """
    taken = False
    candidates: list[Segment] = []
    for start_s, end_s in segments:
        if end_s - start_s > LONGEST_BACKCHANNEL_S:
            return Backchannels(True, candidates)
        candidates.append((start_s, end_s))
        n = sum(
            (start_s <= first and last <= end_s) or first <= end_s < last or first <= start_s < last
            for first, last in words
        )
        taken = n > 3 or not (end_s - start_s < 1 and n <= 2)
    return Backchannels(taken, candidates)


def histogram(candidates: Sequence[Segment], length_s: float) -> Floats:
    """How many candidates touch each bin of 0.2 s of a sample of this length, and one more bin, also after 10.0 s."""
    counts = np.zeros(int(length_s / BIN_S) + 1)
    for start_s, end_s in candidates:
        counts[int(start_s / BIN_S) : int(end_s / BIN_S) + 1] += 1
    return counts


def stretched(human: Sequence[float], bins: int) -> Floats:
    """The histogram of people, linearly interpolated to so many bins."""
    return np.interp(np.linspace(0, 1, bins), np.linspace(0, 1, len(human)), np.asarray(human, np.float64))


def jsd(candidates: Sequence[Segment], length_s: float, human: Sequence[float]) -> float | None:
    """v1: what it calls a divergence is SciPy's Jensen-Shannon distance with natural logarithms; 1 without candidates.

    human: the histogram of people for this sample; None if they gave none, where the script has NaN. 1e-10 is added to
    each bin of the system alone.
    """
    if not candidates:
        return NO_CANDIDATE
    if not any(human):
        return None
    from scipy.spatial.distance import jensenshannon

    counts = histogram(candidates, length_s) + _FLOOR
    return float(jensenshannon(counts, stretched(human, len(counts))))


def distance(candidates: Sequence[Segment], length_s: float, human: Sequence[float]) -> float | None:
    """Ours: the Jensen-Shannon distance of the same histograms, 0 to 1; None without candidates or people's."""
    counts = histogram(candidates, length_s)
    found = jensen_shannon(counts, stretched(human, len(counts)))
    return None if math.isnan(found) else found


def split_s(words: Sequence[Segment], overlap_end_s: float, length_s: float) -> float:
    """v1.5: where before ends and after begins: the start of the word that the end of the overlap lies in, or else of
    the first one after it; where all words end before, the end of the last; without words the end of the overlap.

    length_s: of the system's audio, which the cut lies in.
    """
    in_order = sorted(words, key=lambda word: word[0])
    last_end_s = in_order[-1][1] if in_order else overlap_end_s
    cut_s = next((start for start, end in in_order if overlap_end_s < max(start, end)), last_end_s)
    return max(0.0, min(length_s, cut_s))


def span_s(words: Sequence[Segment]) -> float:
    """From the start of the first word to the end of the last; 0 without any such time."""
    return max(words[-1][1] - words[0][0], 0.0) if words else 0.0


def words_per_minute(words: Sequence[Segment]) -> float:
    """v1.5: words by the time from the first start to the last end; 0 without any such time."""
    return 60 * len(words) / spoken_s if (spoken_s := span_s(words)) else 0.0


def trimmed_mean(values: Sequence[float]) -> float:
    """v1.5: the mean of what is neither below the 5th nor above the 95th percentile; of one or two values, of all."""
    low, high = np.percentile(values, TRIMMED) if len(values) >= LEAST_TRIMMED else (-math.inf, math.inf)
    return float(np.mean([value for value in values if low <= value <= high]))


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A paired t-test of `after` against `before`. n: pairs left; outliers: pairs left out. d_z: the mean difference
    by its standard deviation. What cannot be computed of so few pairs, or of equal ones, is None.
    """

    n: int
    outliers: int
    difference: float | None
    interval: tuple[float, float] | None
    t: float | None
    p: float | None
    d_z: float | None


def paired_test(before: Sequence[float], after: Sequence[float]) -> PairedTest:
    """v1.5: differences further than 3.5 scaled MAD (1.4826) from their median are left out; then a t-test."""
    differences = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    kept = differences[~_outliers(differences)]
    n, outliers = len(kept), len(differences) - len(kept)
    mean = float(kept.mean()) if n else None
    sd = float(kept.std(ddof=1)) if n > 1 else 0.0
    if mean is None or not sd:
        return PairedTest(n, outliers, mean, None, None, None, None)
    from scipy.stats import t as student

    error = sd / math.sqrt(n)
    half = float(student.ppf(0.975, n - 1)) * error
    t = mean / error
    return PairedTest(n, outliers, mean, (mean - half, mean + half), t, float(2 * student.sf(abs(t), n - 1)), mean / sd)


def _outliers(differences: Floats) -> npt.NDArray[np.bool_]:
    if not len(differences):
        return np.zeros(0, np.bool_)
    apart = np.abs(differences - np.median(differences))
    mad = MAD_SCALE * float(np.median(apart))
    return apart > OUTLIER_K * mad if mad else np.zeros(len(differences), np.bool_)
