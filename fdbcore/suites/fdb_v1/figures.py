"""The figures of one sample with one system, from its words, its voice activity, and Silero's own segments.

Each figure is a list of values, which are pooled over samples: of a share 0 or 1 for each opportunity, else one each.
Published rules are as the scripts of Full-Duplex-Bench v1 compute them, with their quirks; all are pure functions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures import (
    RATE_HZ,
    Dialogue,
    Quantity,
    Ratio,
    Segment,
    Share,
    Values,
    cut_offs,
    labelled_quantities,
    overlap_v15,
    recovery_quantities,
    takeover,
    timing_quantities,
)
from fdbcore.recording import KeptLabels
from fdbcore.stats import jensen_shannon
from fdbcore.suites.fdb_v1.measures import BY_ID, EARLY
from fdbcore.suites.fdb_v1.samples import (
    BACKCHANNEL,
    INTERRUPTION,
    PAUSE,
    TURN_TAKING,
    V1,
    UserSample,
    Version,
    in_ticks,
)
from fdbcore.types import TICKS_PER_S

Figures: TypeAlias = Mapping[str, Sequence[float]]
Hearings: TypeAlias = Mapping[str, Sequence[Segment]]
"""Segments of the system in `tenths`, by the ending of the figures: "", and as the released script hears the file."""

UNWANTED: Final = (PAUSE, BACKCHANNEL)
"""The tasks in which the system should not take over."""
LEAST_S: Final = 1.0
CUT_OFFS: Final = "cut_off_per_labelled_a_pause"
NODS: Final = "b_backchannel_like_per_a_speech_min"
ANSWERED: Final = "answered_per_labelled_turn_end"
TIMES: Final = "response_latency_ms_per_labelled_turn_end"
LONGEST_BACKCHANNEL_S: Final = 3.0
BIN_S: Final = 0.2
NO_CANDIDATE: Final = 1.0
"""The distance of a sample without a backchannel: beyond sqrt(ln 2) = 0.8326, the most that the distance can be."""
_FLOOR: Final = 1e-10

Floats: TypeAlias = npt.NDArray[np.float64]


def of_words(sample: UserSample, words: Sequence[Segment], hearings: Hearings) -> Figures:
    """The published measures of v1 that need the start and end in s of the system's words."""
    if sample.task == BACKCHANNEL:
        return {
            f"compat_takeover_unwanted{ending}": [float(backchannels(segments, words)[0])]
            for ending, segments in hearings.items()
        }
    kind = {TURN_TAKING: "turn_taking", INTERRUPTION: "interrupt"}.get(sample.task, "pause")
    notes = [{"kind": kind, "start_s": start_s, "end_s": end_s} for start_s, end_s in sample.spans]
    found = takeover(words, notes)  # type: ignore[arg-type]
    name = "compat_v1_interruption" if sample.task == INTERRUPTION else "compat_v1"
    figures = {f"compat_takeover_{_wanted(sample)}": _items(found[f"{name}_takeover_per_sample"])}
    if (latency := found.get(f"{name}_latency_ms")) is not None:
        figures["compat_latency_s"] = [value / 1000 for value in _items(latency)]
    return figures


def _wanted(sample: UserSample) -> str:
    return "unwanted" if sample.task in UNWANTED else "wanted"


def of_overlaps(user: Sequence[Segment], system: Sequence[Segment]) -> Figures:
    """The published measures of v1.5 that need no words, by Silero's segments of both sides in s."""
    found = overlap_v15(user, system)
    return {
        f"compat_{name}_s": [value / 1000 for value in found[f"compat_v15_{name}_latency_ms"].values]
        for name in ("stop", "response")
    }


def of_backchannels(hearings: Hearings, length_s: float, human: Sequence[float] | None) -> Figures:
    """The published measures of backchannels that need no words. length_s: of the system's audio.

    human: how often people gave backchannels in each bin of this sample; None if that is not known.
    """
    figures: dict[str, Sequence[float]] = {}
    for ending, segments in hearings.items() if length_s else ():
        _, candidates = backchannels(segments, ())
        figures[f"compat_backchannels_per_s{ending}"] = [len(candidates) / length_s]
        if human is not None and (apart := jsd(candidates, length_s, human)) is not None:
            figures[f"compat_jsd{ending}"] = [apart]
        if human is not None and not ending and (apart := distance(candidates, length_s, human)) is not None:
            figures["backchannel_distance"] = [apart]
    return figures


def of_activity(version: Version, sample: UserSample, dialogue: Dialogue) -> Figures:
    """Ours: measures of every call at the labels of the sample, and whether the system took over by voice activity."""
    labels = KeptLabels(sample.name, sample.labels, [])
    found: dict[str, Quantity] = {
        **labelled_quantities(dialogue, labels),
        **recovery_quantities(dialogue, labels, None),
    }
    if sample.task == BACKCHANNEL:
        found[NODS] = timing_quantities(dialogue, with_chance=False)[NODS]
    figures: dict[str, Sequence[float]] = {name: _items(each) for name, each in found.items() if name in BY_ID}
    if sample.task == TURN_TAKING and ANSWERED in found:
        answered, times = found[ANSWERED], found[TIMES]
        assert isinstance(answered, Share) and isinstance(times, Values)  # noqa: PT018
        early = times.excluded["b_was_speaking"]
        figures[EARLY] = [1.0] * early + [0.0] * (answered.n - early)
    if version == V1:
        figures[f"takeover_by_activity_{_wanted(sample)}"] = [float(took_over(sample, dialogue))]
    return figures


def excluded_pauses(sample: UserSample, dialogue: Dialogue) -> Counter[str]:
    """How many pauses of a sample are no opportunity to cut the user off, by why."""
    found = cut_offs(dialogue, KeptLabels(sample.name, sample.labels, [])).get(CUT_OFFS)
    return +Counter(found.excluded) if isinstance(found, Share) else Counter()


def took_over(sample: UserSample, dialogue: Dialogue) -> bool:
    """Whether the system spoke for at least 1 s from its first to its last sound; after an interruption, if there is
    one. Where only backchannels are wanted, whether one stretch of its speech is as long.
    """
    since = max((in_ticks(span)[1] for span in sample.spans), default=0) if sample.task == INTERRUPTION else 0
    spoken = [(max(start, since), end) for start, end in dialogue.ipus["B"].tolist() if end > since]
    if sample.task == BACKCHANNEL:
        return any(end - start >= LEAST_S * TICKS_PER_S for start, end in spoken)
    return bool(spoken) and spoken[-1][1] - spoken[0][0] >= LEAST_S * TICKS_PER_S


def _items(quantity: Quantity) -> list[float]:
    match quantity:
        case Values():
            return list(quantity.values)
        case Share():
            return [1.0] * quantity.count + [0.0] * (quantity.n - quantity.count)
        case Ratio():
            return [quantity.total / quantity.exposure] if quantity.exposure else []


def tenths(segments: Sequence[Segment], length_s: float) -> list[Segment]:
    """v1: the segments of backchannels in tenths of a second, as Silero's package gives them if asked for seconds.

    length_s: of the audio. Halves are those of whole samples.
    """
    rounded = [[round(round(time_s * RATE_HZ) / RATE_HZ, 1) for time_s in segment] for segment in segments]
    return [(start_s, min(end_s, length_s)) for start_s, end_s in rounded]


def backchannels(segments: Sequence[Segment], words: Sequence[Segment]) -> tuple[bool, list[Segment]]:
    """v1: whether the system took over, and the segments that are stored as backchannels; by `tenths` of its segments,
    and the start and end of its words in s.

    A segment of more than 3 s is a takeover and ends the search. Each other one is stored as a backchannel, and decides
    whether it is a takeover: more than three words are, less than 1 s of at most two words are not, all else is. A word
    counts if it lies in the segment or across an edge of it; one that begins at its very end is across it. Each segment
    overwrites what those before it decided. What is stored does not depend on the words.
    """
    taken = False
    candidates: list[Segment] = []
    for start_s, end_s in segments:
        if end_s - start_s > LONGEST_BACKCHANNEL_S:
            return True, candidates
        candidates.append((start_s, end_s))
        n = sum(
            (start_s <= first and last <= end_s) or first <= end_s < last or first <= start_s < last
            for first, last in words
        )
        taken = n > 3 or not (end_s - start_s < 1 and n <= 2)
    return taken, candidates


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
