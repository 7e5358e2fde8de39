"""The measures of both versions, registered once: tables, terms and the document read these entries.

Those of `compat` have the rules of the published scripts, each with what is known to be wrong with it. Beside them
stand ours; most are measures of every call (`fdbcore.measures.catalogue`), at the labels of the samples.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from fdbcore.measures import CALLED, stop_share
from fdbcore.measures import MEASURES as OF_CALLS
from fdbcore.report import in_words, shown_unit
from fdbcore.types import TurnSettings
from fdbcore.types.scorecard import Measure, Pooling

Direction: TypeAlias = Literal[-1, 0, 1]
LESS: Final[Direction] = -1
MORE: Final[Direction] = 1

COMPAT: Final = "as published"
OURS: Final = "ours"
HEARD: Final = "as the released script hears the file"
AT_16_KHZ: Final = "_at_16_khz"
"""The ending of the figures that the released script gives of a file of another rate."""
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
"""Features compared before and after an overlap: label, unit, decimals."""
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
"""Behaviours of the system that a judge may find, by the published rule and by its corrected twin."""


def _scale(
    id: str,
    label: str,
    meaning: str,
    part: str,
    pools: Pooling,
    unit: str = "",
    decimals: int = 2,
    direction: Direction = 0,
    defect: str = "",
    main: bool = False,
) -> Measure:
    """A measure; systems are compared by the main ones, and those that are shares have an axis from 0 to 1."""
    bounds = (0.0, 1.0) if main and pools == "share" else None
    return Measure(
        id, label, direction, unit, decimals, main, "" if main else part, "", bounds, pools, main, meaning, "", defect
    )


EARLY: Final = "early_per_labelled_turn_end"
_TAKEOVER: Final = "The system said more than three words, or spoke for at least 1 s from its first to its last word."
_BY_WORDS: Final = "words of another transcriber move it by up to 23.5 points"
_ACTIVITY: Final = (
    "By voice activity: at least 1 s from the first to the last sound of the system; where only backchannels are "
    "wanted, one stretch of at least 1 s."
)
_WHOLE_OUTPUT: Final = (
    "the whole output counts, so a system that was silent in the pause and answered after the user is blamed, too; "
    "false cut-ins count speech that begins in the pause"
)
_RATE: Final = (
    "the released script takes any file for one of 16 kHz, so the published figures of systems whose output has 24 or "
    "48 kHz are of sound that it heard too slow"
)
_SIDES: Final = (
    "the cut is at a word of the transcriber; a rate of no words is 0, and a side without speech is measured as noise"
)
_EARLY_TOO: Final = "whatever is said counts, also what was said before the user had ended"
_BEGUN_BEFORE: Final = (
    "speech that had begun before the overlap does not count, so who rightly talks on, or had said all, is “unknown”, "
    "the more so the better a judge keeps to the rule; it depends on the judge and on the words of both sides"
)


def _takeovers() -> Iterator[Measure]:
    for wanted, prefix, direction, defect, by_activity in (
        ("unwanted", "unwanted ", LESS, f"{_WHOLE_OUTPUT}; {_BY_WORDS}; of backchannels {_RATE}", _WHOLE_OUTPUT),
        ("wanted", "", MORE, f"{_EARLY_TOO}; {_BY_WORDS}", _EARLY_TOO),
    ):
        label = f"{prefix}takeover"
        yield _scale(
            f"compat_takeover_{wanted}", f"{label}, words", _TAKEOVER, COMPAT, "share", "", 3, direction, defect, True
        )
        yield _scale(
            f"takeover_by_activity_{wanted}", f"{label}, activity", _ACTIVITY, OURS, "share", "", 2, direction,
            by_activity, True,
        )  # fmt: skip


def _of_calls(name: str, direction: Direction = 0, main: bool = False) -> Measure:
    """A measure of every call."""
    of = OF_CALLS[name]
    unit, decimals = ("", 2) if of.unit == "share" else (of.unit, 0)
    if of.per:
        unit, decimals = shown_unit(of.shown_in), 1
    pools: Pooling = "share" if of.quantity == "share" else "mean"
    meaning = in_words(of.meaning, TurnSettings())
    return _scale(name, of.label, meaning, OURS, pools, unit, decimals, direction, main=main)


def _stops() -> Iterator[Measure]:
    for kind in CALLED:
        direction = MORE if kind == "interruption" else LESS
        yield _of_calls(stop_share(kind), direction, main=True)
        yield _of_calls(f"b_stop_latency_ms_per_labelled_{kind}", LESS)


def _backchannels() -> Iterator[Measure]:
    for ending, at, as_heard, part, defect in (
        ("", "", "", COMPAT, f"; {_RATE}"),
        (AT_16_KHZ, " at 16 kHz", " As the released script hears the file: as if it had 16 kHz.", HEARD, ""),
    ):
        if ending:
            yield _scale(
                f"compat_takeover_unwanted{ending}", f"unwanted takeover{at}", _TAKEOVER + as_heard, part, "share", "",
                3, LESS, _BY_WORDS,
            )  # fmt: skip
        yield _scale(
            f"compat_backchannels_per_s{ending}", f"backchannels{at}",
            f"Segments of at most 3 s, by the length of the sample.{as_heard}", part, "mean", "1/s", 3, MORE,
            f"any short sound counts, and segments after one of more than 3 s do not{defect}",
        )  # fmt: skip
        yield _scale(
            f"compat_jsd{ending}", f"JSD{at}",
            f"How far backchannels lie from those of people: Jensen-Shannon of bins of 0.2 s.{as_heard}", part, "mean",
            "", 3, LESS,
            f"it is a distance, not a divergence: 0.833 at most, and 1 for a sample without a backchannel{defect}",
        )  # fmt: skip


def _features() -> Iterator[Measure]:
    sides = {"before": "before the overlap", "after": "after the overlap", "whole": "in all of the clean sample"}
    for name, (label, unit, decimals) in FEATURES.items():
        for when, meaning in sides.items():
            yield _scale(
                f"compat_{name}_{when}", f"{label}, {when}",
                f"The system's {label} {meaning}; the mean from the 5th to the 95th percentile.",
                "before and after", "trimmed mean", unit, decimals, defect=_SIDES,
            )  # fmt: skip
    for name in TESTED:
        label, unit, decimals = FEATURES[name]
        yield _scale(
            f"{name}_change", label,
            f"The system's {label} after the end of the overlap minus before it, of all samples.",
            "change, ours", "mean", unit, decimals,
        )  # fmt: skip


MEASURES: Final = (
    *_takeovers(),
    _scale(
        "compat_latency_s", "latency",
        "To the first word: from the start of the annotated interval, or from the end of the interruption.",
        COMPAT, "mean", "s", 2, LESS,
        "it counts takeovers alone; what is early counts as 0, also of a system that never stopped",
    ),
    _scale(
        "compat_rating", "rating", "A judge's mark of what the system said after the interruption, 0 to 5.",
        COMPAT, "mean", "", 2, MORE, "it counts takeovers alone, and depends on the judge", main=True,
    ),
    _scale(
        "rating", "rating, all", "The same of every interruption: whatever is said is marked, and 0 if nothing is.",
        OURS, "mean", "", 2, MORE,
    ),
    *_backchannels(),
    *(
        _scale(
            f"{prefix}{name}", name.replace("_", " "), f"A judge's category of what follows the overlap: it {meaning}.",
            part, "share", defect=defect, main=name in ("responds", "resumes"),
        )
        for prefix, part, defect, known in (
            ("compat_", COMPAT, _BEGUN_BEFORE, BEHAVIOURS), ("", OURS, "", OUR_BEHAVIOURS)
        )
        for name, meaning in known.items()
    ),
    _scale(
        "compat_stop_s", "stop latency", "Lengths of the overlaps of merged Silero segments; mean over all of them.",
        COMPAT, "mean", "s", 2, LESS, "every overlap counts, and how they are averaged is not published",
    ),
    _scale(
        "compat_response_s", "response latency",
        "From the last end of the user to the next start of the system, by merged Silero segments; mean over all.",
        COMPAT, "mean", "s", 2, LESS, "what is early does not count, and how they are averaged is not published",
    ),
    _of_calls("cut_off_per_labelled_a_pause", LESS, main=True),
    _of_calls("answered_per_labelled_turn_end", MORE, main=True),
    _scale(
        EARLY, "early",
        "The system began more than 0.2 s before the user's turn ended, and was speaking when it did: no response, and "
        "without a latency.",
        OURS, "share", direction=LESS,
    ),
    _of_calls("response_latency_ms_per_labelled_turn_end", LESS),
    *_stops(),
    _of_calls("b_recovery_latency_ms_per_labelled_interruption"),
    _of_calls("b_backchannel_like_per_a_speech_min"),
    _scale(
        "backchannel_distance", "distance",
        "The Jensen-Shannon distance of the same bins, 0 to 1; samples without a backchannel are left out.",
        OURS, "mean", "", 3, LESS,
    ),
    *_features(),
)  # fmt: skip
BY_ID: Final = {measure.id: measure for measure in MEASURES}
