"""The measures of both versions, registered once: tables, terms and the document read these entries.

Those of `compat` have the rules of the published scripts, each with what is known to be wrong with it. Beside them
stand ours; most are measures of every call (`fdbcore.measures.catalogue`), at the labels of the samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from fdbcore.measures.catalogue import MEASURES as OF_CALLS
from fdbcore.measures.labelled import CALLED, stop_share
from fdbcore.report.format import shown_unit
from fdbcore.report.glossary import in_words
from fdbcore.types import TurnSettings

Pooling: TypeAlias = Literal["share", "mean", "trimmed"]
"""How items become a figure: of 0 and 1 a share, a mean, or a mean of what lies between two percentiles."""

COMPAT: Final = "as published"
OURS: Final = "ours"
HEARD: Final = "as the released script hears the file"
AT_16_KHZ: Final = "_at_16_khz"
"""How the figures end that the released script gives of a file of another rate."""
SPAN: Final = "words_span_s"
FEATURES: Final = {
    "words_per_minute": ("speaking rate", "words/min", 0),
    SPAN: ("first to last word", "s", 1),
    "pitch_mean_hz": ("pitch", "Hz", 0),
    "pitch_sd_hz": ("SD of pitch", "Hz", 0),
    "intensity_mean_db": ("intensity", "dB", 1),
    "intensity_sd_db": ("SD of intensity", "dB", 1),
    "utmos": ("quality", "", 2),
}
"""What is compared before and after an overlap: label, unit, decimals."""
TESTED: Final = tuple(name for name in FEATURES if name != SPAN)
BEHAVIOURS: Final[Mapping[str, str]] = {
    "respond": "addresses what was said in the overlap",
    "resume": "goes on with what it was saying",
    "uncertain": "asks to repeat, or says that it has not understood",
    "unknown": "does none of these, or says nothing",
}
OUR_BEHAVIOURS: Final[Mapping[str, str]] = {
    "responds": "addresses what was said in the overlap, at once or later",
    "resumes": "talks on through it, takes its answer up again, or had said all, where no reply was needed",
    "asks_again": "asks to repeat, or says that it has not understood",
    "neither": "breaks off and says no more, leaves a reply that was needed out, or turns to something else",
}
"""What a judge says that the system did, by the published rule and by its corrected twin."""


@dataclass(frozen=True, slots=True)
class SuiteMeasure:
    """A measure as a scale. better: 1 for more, -1 for less. defect: what is known to be wrong with it. is_main: it has
    an interval on the screen, and systems are compared by it.
    """

    id: str
    label: str
    meaning: str
    part: str
    pooling: Pooling
    unit: str = ""
    decimals: int = 2
    better: Literal[-1, 0, 1] = 0
    defect: str = ""
    is_main: bool = False


EARLY: Final = "early_per_labelled_turn_end"
_TAKEOVER: Final = "The system said more than three words, or spoke for at least 1 s from its first to its last word."
_BY_WORDS: Final = "words of another recogniser move it by up to 23.5 points"
_ACTIVITY: Final = (
    "By voice activity: at least 1 s from the first to the last sound of the system; where only backchannels are "
    "wanted, one stretch of at least 1 s."
)
_WHOLE_OUTPUT: Final = (
    "the whole output counts, so a system that was silent in the pause and answered after the user is blamed, too; "
    "cut-offs count speech that begins in the pause"
)
_RATE: Final = (
    "the released script takes any file for one of 16 kHz, so the published figures of systems whose output has 24 or "
    "48 kHz are of sound that it heard too slow"
)
_SIDES: Final = (
    "the cut is at a word of the recogniser; a rate of no words is 0, and a side without speech is measured as noise"
)
_EARLY_TOO: Final = "whatever is said counts, also what was said before the user had ended"


_BEGUN_BEFORE: Final = (
    "speech that had begun before the overlap does not count, so who rightly talks on, or had said all, is “unknown”, "
    "the more so the better a judge keeps to the rule; it depends on the judge and on the words of both sides"
)


def _takeovers() -> Iterator[SuiteMeasure]:
    for wanted, better, defect, by_activity in (
        ("unwanted", -1, f"{_WHOLE_OUTPUT}; {_BY_WORDS}; of backchannels {_RATE}", _WHOLE_OUTPUT),
        ("wanted", 1, f"{_EARLY_TOO}; {_BY_WORDS}", _EARLY_TOO),
    ):
        direction: Literal[-1, 1] = -1 if better < 0 else 1
        prefix = "unwanted " if better < 0 else ""
        yield SuiteMeasure(
            f"compat_takeover_{wanted}", f"{prefix}takeover, words", _TAKEOVER, COMPAT, "share",
            decimals=3, better=direction, defect=defect, is_main=True,
        )  # fmt: skip
        yield SuiteMeasure(
            f"takeover_by_activity_{wanted}", f"{prefix}takeover, activity", _ACTIVITY, OURS, "share",
            better=direction, defect=by_activity, is_main=True,
        )  # fmt: skip


def _of_calls(name: str, label: str, is_main: bool = False, better: Literal[-1, 0, 1] = 0) -> SuiteMeasure:
    """A measure of every call, under a label that fits a column."""
    of = OF_CALLS[name]
    unit, decimals = ("", 2) if of.unit == "share" else (of.unit, 0)
    if of.per:
        unit, decimals = shown_unit(of.shown_in), 1
    pooling: Pooling = "share" if of.quantity == "share" else "mean"
    meaning = in_words(of.meaning, TurnSettings())
    return SuiteMeasure(name, label, meaning, OURS, pooling, unit, decimals, better, is_main=is_main)


def _stops() -> Iterator[SuiteMeasure]:
    for kind, what in CALLED.items():
        better: Literal[-1, 1] = 1 if kind == "interruption" else -1
        yield _of_calls(stop_share(kind), f"stops for {what}", is_main=True, better=better)
        yield _of_calls(f"b_stop_latency_ms_per_labelled_{kind}", f"stops for {what} after", better=-1)


def _backchannels() -> Iterator[SuiteMeasure]:
    for ending, label, meaning, part, defect in (
        ("", "{}", "", COMPAT, f"; {_RATE}"),
        (AT_16_KHZ, "{} at 16 kHz", " As the released script hears the file: as if it had 16 kHz.", HEARD, ""),
    ):
        if ending:
            yield SuiteMeasure(
                f"compat_takeover_unwanted{ending}", label.format("unwanted takeover"), _TAKEOVER + meaning, part,
                "share", decimals=3, better=-1, defect=_BY_WORDS,
            )  # fmt: skip
        yield SuiteMeasure(
            f"compat_backchannels_per_s{ending}", label.format("backchannels"),
            f"Segments of at most 3 s, by the length of the sample.{meaning}", part, "mean", "1/s", 3, 1,
            f"any short sound counts, and segments after one of more than 3 s do not{defect}",
        )  # fmt: skip
        yield SuiteMeasure(
            f"compat_jsd{ending}", label.format("JSD"),
            f"How far backchannels lie from those of people: Jensen-Shannon of bins of 0.2 s.{meaning}",
            part, "mean", "", 3, -1,
            f"it is a distance, not a divergence: 0.833 at most, and 1 for a sample without a backchannel{defect}",
        )  # fmt: skip


def _features() -> Iterator[SuiteMeasure]:
    sides = {"before": "before the overlap", "after": "after the overlap", "whole": "in all of the clean sample"}
    for name, (label, unit, decimals) in FEATURES.items():
        for when, meaning in sides.items():
            yield SuiteMeasure(
                f"compat_{name}_{when}", f"{label}, {when}",
                f"The system's {label} {meaning}; the mean from the 5th to the 95th percentile.",
                "before and after", "trimmed", unit, decimals, defect=_SIDES,
            )  # fmt: skip
    for name in TESTED:
        label, unit, decimals = FEATURES[name]
        yield SuiteMeasure(
            f"{name}_change", label,
            f"The system's {label} after the end of the overlap minus before it, of all samples.",
            "change, ours", "mean", unit, decimals,
        )  # fmt: skip


MEASURES: Final = (
    *_takeovers(),
    SuiteMeasure(
        "compat_latency_s", "latency",
        "To the first word: from the start of the annotated interval, or from the end of the interruption.",
        COMPAT, "mean", "s", 2, -1,
        "it counts takeovers alone; what is early counts as 0, also of a system that never stopped",
    ),
    SuiteMeasure(
        "compat_rating", "rating", "A judge's mark of what the system said after the interruption, 0 to 5.",
        COMPAT, "mean", "", 2, 1, "it counts takeovers alone, and depends on the judge", is_main=True,
    ),
    SuiteMeasure(
        "rating", "rating, all", "The same of every interruption: whatever is said is marked, and 0 if nothing is.",
        OURS, "mean", "", 2, 1,
    ),
    *_backchannels(),
    *(
        SuiteMeasure(
            f"{prefix}{name}", name.replace("_", " "), f"A judge's category of what follows the overlap: it {meaning}.",
            part, "share", defect=defect, is_main=name in ("responds", "resumes"),
        )
        for prefix, part, defect, known in (
            ("compat_", COMPAT, _BEGUN_BEFORE, BEHAVIOURS), ("", OURS, "", OUR_BEHAVIOURS)
        )
        for name, meaning in known.items()
    ),
    SuiteMeasure(
        "compat_stop_s", "stop latency", "Lengths of the overlaps of merged Silero segments; mean over all of them.",
        COMPAT, "mean", "s", 2, -1, "every overlap counts, and how they are averaged is not published",
    ),
    SuiteMeasure(
        "compat_response_s", "response latency",
        "From the last end of the user to the next start of the system, by merged Silero segments; mean over all.",
        COMPAT, "mean", "s", 2, -1, "what is early does not count, and how they are averaged is not published",
    ),
    _of_calls("cut_off_per_labelled_a_pause", "cut-offs", is_main=True, better=-1),
    _of_calls("answered_per_labelled_turn_end", "answered", is_main=True, better=1),
    SuiteMeasure(
        EARLY, "early",
        "The system began more than 0.2 s before the user's turn ended, and was speaking when it did: no answer, and "
        "without an answer time.",
        OURS, "share", better=-1,
    ),
    _of_calls("response_latency_ms_per_labelled_turn_end", "answer time", better=-1),
    *_stops(),
    _of_calls("b_recovery_latency_ms_per_labelled_interruption", "speaks again, from its end"),
    _of_calls("b_backchannel_like_per_a_speech_min", "short ones"),
    SuiteMeasure(
        "backchannel_distance", "distance",
        "The Jensen-Shannon distance of the same bins, 0 to 1; samples without a backchannel are left out.",
        OURS, "mean", "", 3, -1,
    ),
    *_features(),
)  # fmt: skip
BY_ID: Final = {measure.id: measure for measure in MEASURES}
COMPARED: Final = tuple(measure.id for measure in MEASURES if measure.is_main)
"""Systems are compared by these; Holm's family is all comparisons of a document."""
