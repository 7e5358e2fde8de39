"""Measures of Full-Duplex-Bench v1 and v1.5 with their own names and rules, for comparison with published tables.

Our own measures are in `timing`; the two are never mixed. v1 measures speech by words, so it needs B's words. v1.5 uses
the segments of the Silero voice activity detector at 16 kHz as its package makes them: a call that was heard by that
detector has them, also where a soft side was raised for it. It
merges segments across gaps of 0.6 s (user) and 0.5 s (system), which hides shorter pauses.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.errors import AudioError, RecordingError
from fdbcore.measures.labelled import CALLED
from fdbcore.measures.measure import CallMeasure, MeasureGroup
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.measures.reading import Reading
from fdbcore.measures.silero_track import EVIDENCE, RATE_HZ, Probabilities
from fdbcore.recording.labels import CONTRIBUTIONS, Label
from fdbcore.recording.left_out import is_kept
from fdbcore.recording.meta import AnnotatedSpan
from fdbcore.recording.reader import Recording
from fdbcore.sources.benchmark_folders import V2_FILES
from fdbcore.sources.recorded import replays
from fdbcore.types import SIDES, TICKS_PER_S, Side

Segment: TypeAlias = tuple[float, float]
"""Start and end in seconds."""

USER_MERGE_S, SYSTEM_MERGE_S = 0.6, 0.5

# Silero's packaged segmentation (get_speech_timestamps), at windows of 512 samples of 16 kHz.
WINDOW_S = 0.032
ON, OFF = 0.5, 0.35
MIN_SPEECH_S, MIN_SILENCE_S, PAD_S = 0.25, 0.1, 0.03

GROUP: Final = MeasureGroup(
    "As published benchmarks count it",
    "The measures of Full-Duplex-Bench v1 and v1.5 with their own names and rules, for comparison with their tables "
    "only. These rules ignore echo, and count it as speech.",
)
_HEARD_V15: Final = (
    "Silero hears the 48 kHz of calls, brought back to its 16; the suite alone hears a file of 16 kHz "
    "itself, where one edge in ten lies a window of 32 ms or two elsewhere."
)
_V15: Final = {
    "stop": ("stop latency", f"Lengths of the overlaps of merged Silero segments. {_HEARD_V15}"),
    "response": (
        "response latency",
        f"From the last end of A to the next start of B, by merged Silero segments. {_HEARD_V15}",
    ),
}
MEASURES: Final = (
    CallMeasure(
        "compat_v1_takeover_per_sample", "takeover (v1)", 0, "share", pools="share", group=GROUP,
        meaning="B said more than three words, or spoke for at least 1 s.",
    ),
    CallMeasure(
        "compat_v1_latency_ms", "latency (v1)", -1, "ms", pools="median", group=GROUP,
        meaning="From the start of the annotated interval to B's first word; negative counts as 0.",
    ),
    CallMeasure(
        "compat_v1_interruption_takeover_per_sample", "takeover after an interruption (v1)", 0, "share",
        pools="share", group=GROUP,
        meaning="After the annotated interruption, B said more than three words, or spoke for at least 1 s.",
    ),
    CallMeasure(
        "compat_v1_interruption_latency_ms", "latency after an interruption (v1)", 0, "ms", pools="median",
        group=GROUP,
        meaning="From the end of the annotated interruption to B's first word; 0 where B was still speaking.",
    ),
    *(
        CallMeasure(
            f"compat_v15_{name}_latency_ms", f"{label} (v1.5)", -1, "ms", pools="median", group=GROUP, meaning=meaning
        )
        for name, (label, meaning) in _V15.items()
    ),
    *(
        CallMeasure(
            f"compat_v15_{name}_latency_ms_per_labelled_{kind}", f"{label} at {what} (v1.5)", 0, "ms", pools="median",
            group=GROUP, meaning=f"{meaning} Only those at such a label of A.",
        )
        for kind, what in CALLED.items()
        for name, (label, meaning) in _V15.items()
    ),
)  # fmt: skip


def compat(recording: Reading) -> dict[str, Quantity]:
    """The measures of v1 and v1.5 that can be computed from this recording; v1.5 in each kept span by itself."""
    measures: dict[str, Quantity] = {}
    words = None if replays(recording, V2_FILES) else recording.words("B")  # it has words, but many turns
    annotations = recording.meta.get("annotations", [])
    starts_s, ends_s = counted_from(annotations)
    if words is not None and all(is_kept(int(time_s * TICKS_PER_S), recording.kept) for time_s in starts_s + ends_s):
        measures |= takeover(words, annotations)
    if (probabilities := _of_silero(recording)) is not None:
        labels = recording.labels
        user, system = (
            silero_segments(recording, side, track) for side, track in zip(SIDES, probabilities, strict=True)
        )
        spans = [overlap_v15(*both, labels.labels if labels else ()) for both in zip(user, system, strict=True)]
        measures |= {name: _joined([found[name] for found in spans]) for name in spans[0]}
    return measures


def _of_silero(recording: Reading) -> tuple[Probabilities, Probabilities] | None:
    """The probabilities of the model at 16 kHz; None of a call that another detector or model decided.

    None, too, if a soft side was raised for it, and its audio can no longer be heard as it was.
    """
    decided = [recording.meta["settings"]["vad"][side] for side in SIDES]
    models = [each.get("settings", {}).get("model", {}).get("rate_hz") for each in decided]
    if models != [RATE_HZ, RATE_HZ] or any(each["name"] != "silero" for each in decided):
        return recording.evidence(EVIDENCE)
    with suppress(AudioError, RecordingError):
        return recording.silero_probabilities
    return None


def silero_segments(recording: Recording, side: Side, probabilities: Probabilities) -> Iterator[list[Segment]]:
    """The segments of a side in each span that was heard, by `segments`; a window belongs to one span."""
    first = 0
    for start, end in recording.heard:
        windows = probabilities[first : first + math.ceil(round((end - start) / TICKS_PER_S / WINDOW_S, 6))]
        start_s = start / TICKS_PER_S
        length_s = min(recording.length_s(side), end / TICKS_PER_S) - start_s
        yield [(start_s + begins_s, start_s + ends_s) for begins_s, ends_s in segments(windows, max(length_s, 0.0))]
        first += len(windows)


def _joined(found: Sequence[Values]) -> Values:
    values, spans = [value for each in found for value in each.values], [span for each in found for span in each.spans]
    return Values(found[0].unit, values, spans=spans)


def takeover(words: Sequence[Segment], annotations: Sequence[AnnotatedSpan]) -> dict[str, Quantity]:
    """v1: whether the system took over, and its latency from the *start* of the annotated turn-taking interval.

    words: start and end in s. No words, or at most three words within less than a second, are no takeover. A negative
    latency counts as 0. In samples of an interruption, only words after its *end* count, and the latency starts there.
    """
    starts_s, ends_s = counted_from(annotations)
    if ends_s:
        after = [(max(start, ends_s[0]), end) for start, end in words if end > ends_s[0]]
        return _takeover("compat_v1_interruption", after, ends_s[0])
    return _takeover("compat_v1", words, starts_s[0] if starts_s else None)


def counted_from(annotations: Sequence[AnnotatedSpan]) -> tuple[list[float], list[float]]:
    """The times from which v1 counts, in s: the starts of intervals of turn taking, and the ends of interruptions."""
    starts_s = [note["start_s"] for note in annotations if note["kind"] == "turn_taking"]
    return starts_s, [note["end_s"] for note in annotations if note["kind"] == "interrupt"]


def _takeover(name: str, words: Sequence[Segment], since_s: float | None) -> dict[str, Quantity]:
    took = bool(words) and not (words[-1][1] - words[0][0] < 1 and len(words) <= 3)
    measures: dict[str, Quantity] = {f"{name}_takeover_per_sample": Share(int(took), 1)}
    if since_s is not None:
        latency_ms = [max(0.0, (words[0][0] - since_s) * 1000)] if took else []
        measures[f"{name}_latency_ms"] = Values("ms", latency_ms, {"no_takeover": int(not took)})
    return measures


def segments(
    probabilities: npt.NDArray[np.float32],
    length_s: float,
    min_speech_s: float = MIN_SPEECH_S,
    min_silence_s: float = MIN_SILENCE_S,
) -> list[Segment]:
    """Speech segments in s, from a track of Silero probabilities, float32 (n_windows,), as Silero's package makes them.

    length_s: the length of the side's own audio; windows that begin after it are ignored. The other two are the
    package's settings in s: shorter speech is left out, and a shorter silence ends none.
    """
    found: list[Segment] = []
    start: float | None = None
    end: float | None = None
    n_windows = math.ceil(round(length_s / WINDOW_S, 6))
    for index, probability in enumerate(probabilities[:n_windows].tolist()):
        now = index * WINDOW_S
        if probability >= ON:
            end = None
            start = now if start is None else start
        elif probability < OFF and start is not None:
            end = now if end is None else end
            if now - end >= min_silence_s:
                found.append((start, end))
                start = end = None
    if start is not None:
        found.append((start, length_s))
    found = [(start, end) for start, end in found if end - start > min_speech_s]
    return _padded(found, length_s)


def _padded(found: list[Segment], length_s: float) -> list[Segment]:
    """The segments, each widened by PAD_S on both sides; two that would meet share the silence between them."""
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


def overlap_v15(user: Sequence[Segment], system: Sequence[Segment], labels: Sequence[Label] = ()) -> dict[str, Values]:
    """v1.5: stop latency and response latency, from the segments of both sides in s.

    The stop latency is the length of an overlap; of overlaps with the same end (to 1 ms) the shortest counts. The
    response latency is the time from the latest end of the user to the next start of the system. Labels of the user's
    contributions add both per kind of label: stop latencies of overlaps that touch such a label, and response latencies
    after segments of the user that touch one.
    """
    user, system = merged(user, USER_MERGE_S), merged(system, SYSTEM_MERGE_S)
    stops, responses = _stops(user, system), _responses(user, system)
    measures: dict[str, Values] = {}
    for kind in (None, *CONTRIBUTIONS):
        spans = [(label.start_s, label.end_s) for label in labels if (label.side, label.kind) == ("A", kind)]
        if kind is None or spans:
            suffix = f"_per_labelled_{kind}" if kind else ""
            overlaps = [overlap for overlap in stops if kind is None or _touches(overlap, spans)]
            waits = [(said[1], start) for said, start in responses if kind is None or _touches(said, spans)]
            measures[f"compat_v15_stop_latency_ms{suffix}"] = _lengths(overlaps)
            measures[f"compat_v15_response_latency_ms{suffix}"] = _lengths(waits)
    return measures


def _lengths(found: Sequence[Segment]) -> Values:
    ticks = [(round(start * TICKS_PER_S), round(end * TICKS_PER_S)) for start, end in found]
    return Values("ms", [(end - start) * 1000 for start, end in found], spans=ticks)


def _stops(user: Sequence[Segment], system: Sequence[Segment]) -> list[Segment]:
    """The overlaps of both sides; of those with the same end, the shortest."""
    overlaps = [(max(u0, s0), min(u1, s1)) for u0, u1 in user for s0, s1 in system if max(u0, s0) < min(u1, s1)]
    shortest: dict[int, Segment] = {}
    for start, end in overlaps:
        key = round(end * 1000)
        kept = shortest.get(key, (float("-inf"), end))
        shortest[key] = (start, end) if end - start < kept[1] - kept[0] else kept
    return list(shortest.values())


def _responses(user: Sequence[Segment], system: Sequence[Segment]) -> list[tuple[Segment, float]]:
    """For each start of the system after a segment of the user: the latest such segment, and the start."""
    latest: dict[float, Segment] = {}
    for segment in user:
        following = min((start for start, _ in system if start > segment[1]), default=None)
        if following is not None:
            latest[following] = max(latest.get(following, segment), segment, key=lambda each: each[1])
    return [(segment, start) for start, segment in latest.items()]


def _touches(segment: Segment, spans: Sequence[Segment]) -> bool:
    return any(segment[0] < end and start < segment[1] for start, end in spans)
