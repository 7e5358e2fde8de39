"""What the items of many samples give beside rows and differences: ranges over recognisers, detectors and judges; tests
of how systems sound after an overlap, against before it and against the clean sample; and the published table of v1.

That table stands beside on request; nothing is tested against it. It is of the README of
github.com/DanielLin94144/Full-Duplex-Bench, with the words of Parakeet-TDT 0.6B v2 (since June 2025). Results of v1.5
were not found as a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct
from msgspec.structs import replace

from fdbcore.results.pooling import Clustered, ScoredItem, by_system, pooled
from fdbcore.stats.bootstrap import Estimate, bootstrap_columns
from fdbcore.stats.significance import holm, sign_flip_p
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.features import NO_SOUND, Sound
from fdbcore.suites.fdb_v1.figures import Figures, Floats
from fdbcore.suites.fdb_v1.measures import MEASURES, TESTED
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, Version, tasks_of
from fdbcore.types.scorecard import Figure, Interval, Scale, ScoreRow

SLOWED: Final = "*"
"""Marks published rows of sound that their script may have heard too slow."""
_COLUMNS: Final = (
    (PAUSE, "synthetic", "compat_takeover_unwanted", 137),
    (PAUSE, "Candor", "compat_takeover_unwanted", 216),
    (BACKCHANNEL, "ICC", "compat_takeover_unwanted", 55),
    (BACKCHANNEL, "ICC", "compat_backchannels_per_s", 55),
    (BACKCHANNEL, "ICC", "compat_jsd", 55),
    (TURN_TAKING, "Candor", "compat_takeover_wanted", 119),
    (TURN_TAKING, "Candor", "compat_latency_s", 119),
    (INTERRUPTION, "synthetic", "compat_takeover_wanted", 200),
    (INTERRUPTION, "synthetic", "compat_rating", 200),
    (INTERRUPTION, "synthetic", "compat_latency_s", 200),
)
_TABLE: Final = {
    "PersonaPlex": (0.584, 0.662, 0.327, 0.025, 0.649, 0.992, 0.070, 1.000, 4.210, 0.400),
    "dGSLM": (0.934, 0.935, 0.691, 0.015, 0.934, 0.975, 0.352, 0.917, 0.201, 2.531),
    "Moshi": (0.985, 0.980, 1.000, 0.001, 0.957, 0.941, 0.265, 1.000, 0.765, 0.257),
    "Freeze-Omni": (0.642, 0.481, 0.636, 0.001, 0.997, 0.336, 0.953, 0.867, 3.615, 1.409),
    "Gemini Live 2.0": (0.255, 0.310, 0.091, 0.012, 0.896, 0.655, 1.301, 0.891, 3.376, 1.183),
    "GPT-Realtime": (0.010, 0.120, 0.000, 0.007, 0.980, 1.000, 1.470, 0.970, 3.850, 1.500),
}

RangeBy: TypeAlias = Literal["transcriber", "detector", "judge"]
Against: TypeAlias = Literal["before", "clean"]
AGAINST: Final[tuple[Against, Against]] = ("before", "clean")
UNKNOWN_DB: Final = -190.0
"""As published: a side whose intensity is not above it is in no test."""
OUTLIER_K: Final = 3.5
MAD_SCALE: Final = 1.4826


class V1Range(Struct, frozen=True):
    """What a figure is by several recognisers, detectors, or judges and wordings of their rubric, over the samples that
    all of them have it of; the first is the one of the tables, which may be of more samples."""

    condition: str
    system: str
    measure: str
    by: RangeBy
    n: Annotated[int, Meta(description="samples, each trial counted, that all of them have the figure of")]
    values: dict[str, float]
    low: float
    high: float


def conditions_of(version: Version) -> list[str]:
    """The conditions in the order of tables."""
    return [name for task in tasks_of(version) for name in (task, f"{task}, clean")]


def items_of(version: Version, scored: Sequence[tuple[HeardSample, Figures]]) -> dict[Path, ScoredItem]:
    """Samples with their figures by recording, in the order of conditions. A folder is a subset where the samples of a
    condition with a system lie in several.
    """
    order = conditions_of(version)
    folders: dict[tuple[str, str], set[str]] = {}
    for case, _ in scored:
        folders.setdefault((case.sample.condition, case.system), set()).add(case.sample.group)
    found = {}
    for case, figures in sorted(scored, key=lambda each: order.index(each[0].sample.condition)):
        sample = case.sample
        subsets = [sample.group] if len(folders[sample.condition, case.system]) > 1 else []
        found[case.path] = ScoredItem(sample.condition, case.system, sample.name, figures, subsets=subsets)
    return found


def published_rows(version: Version) -> list[ScoreRow]:
    """The published figures as rows, in the order of the table; n as the data state it."""
    rows: dict[tuple[str, str, str], ScoreRow] = {}
    for system, values in _TABLE.items() if version == V1 else ():
        for (condition, group, measure, n), value in zip(_COLUMNS, values, strict=True):
            name = f"{system} ({group}{f' {SLOWED}' if condition == BACKCHANNEL else ''})"
            row = rows.setdefault((condition, group, system), ScoreRow(condition, "published", name, n, {}))
            row.measures[measure] = Figure(value)
    return list(rows.values())


def ranges_of(
    by: RangeBy, items: Mapping[Path, ScoredItem], names: Sequence[str], others: Mapping[str, Mapping[Path, Figures]]
) -> Iterator[V1Range]:
    """What figures are by several recognisers, detectors or judges, over the samples of which all that give it have it.

    items: with the figures of the first of the names. others: what each other one says, with only the figures that hang
    on it.
    """
    if not others:
        return
    main = names[0]
    figures = {main: {path: item.values for path, item in items.items()}, **others}
    for condition, system in by_system(items.values()):
        paths = [path for path, item in items.items() if (item.condition, item.system) == (condition, system)]
        for measure in MEASURES:
            known = {
                name: {path: own for path in paths if (own := of.get(path, {}).get(measure.id))}
                for name, of in figures.items()
            }
            having = {name: of for name, of in known.items() if of}
            shared = [path for path in known[main] if all(path in of for of in having.values())]
            values = {
                name: figure.value
                for name, of in having.items()
                if (figure := _pooled([(of[path], items[path]) for path in shared], measure)) is not None
                and figure.value is not None
            }
            if len(values) > 1:
                low, high = min(values.values()), max(values.values())
                yield V1Range(condition, system, measure.id, by, len(shared), values, low, high)


def _pooled(valued: Sequence[tuple[Sequence[float], ScoredItem]], measure: Scale) -> Figure | None:
    sample = Clustered.of((value, item) for values, item in valued for value in values)
    return pooled(sample, measure.pools, has_interval=False)


class V1PairedTest(Struct, frozen=True):
    """How the system sounds after an overlap, against before it or against the clean sample.

    The t-test is the published one: of samples judged "respond" that have words on each side, against all of the clean
    sample, without outliers, Holm over the tests of one task and system. ours: all samples, from the end of the overlap
    on, nothing left out, by sign flips, Holm over all tests of the document.
    """

    condition: str
    system: str
    feature: str
    against: Against
    n: int
    outliers: int
    difference: float | None
    ci95: Interval
    t: float | None
    p: float | None
    p_holm: float | None
    d_z: float | None
    ours_n: int
    ours_difference: float | None
    ours_ci95: Interval
    ours_p: float | None
    ours_p_holm: float | None


def tests_of(
    cases: Sequence[HeardSample], sound: Mapping[Path, Sound], marks: Mapping[Path, Mapping[str, Any]]
) -> list[V1PairedTest]:
    """The tests of each kind of overlap, system and feature (Holm 1979): the published ones are corrected over those of
    one kind and system, as the script is run of a folder, and ours over all.
    """
    found: list[V1PairedTest] = []
    by_name = sorted(by_clean(cases), key=lambda pair: (pair[0].sample.name, pair[0].trial))
    for condition, system in dict.fromkeys((case.sample.condition, case.system) for case, _ in by_clean(cases)):
        pairs = [
            _Pair(
                sound[case.path], NO_SOUND if clean is None else sound.get(clean.path, NO_SOUND), marks.get(case.path)
            )
            for case, clean in by_name
            if (case.sample.condition, case.system) == (condition, system) and case.path in sound
        ]
        own = [
            test
            for feature in TESTED
            for against in AGAINST
            if (test := _test(condition, system, feature, against, pairs)) is not None
        ]
        corrected = _corrected([each.p for each in own])
        found += [replace(each, p_holm=p) for each, p in zip(own, corrected, strict=True)]
    corrected = _corrected([each.ours_p for each in found])
    return [replace(each, ours_p_holm=p) for each, p in zip(found, corrected, strict=True)]


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm over those that are known."""
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(corrected) for p in p_values]


class _Pair(NamedTuple):
    """A sample and its clean one, with the judge's marks of it."""

    sound: Sound
    clean: Sound
    marks: Mapping[str, Any] | None

    def published(self, feature: str, against: str) -> tuple[float, float] | None:
        """Before, or all of the clean sample; and after. None of what is not judged to respond, of a sample in which
        any rate is 0, and where either value is one that the scripts take for unknown.
        """
        sides = (self.sound.before, self.sound.after, self.clean.whole)
        if self.marks is None or self.marks.get("behaviour") != "respond":
            return None
        if any(side.get("words_per_minute") == 0 for side in sides):
            return None
        values = [side.get(feature) for side in (sides[0 if against == "before" else 2], sides[1])]
        known = [value for value in values if value is not None and not _is_unknown(feature, value)]
        return (known[0], known[1]) if len(known) == len(values) else None

    def ours(self, feature: str, against: str) -> tuple[float, float] | None:
        """Before, or after the same time of the clean sample; and after."""
        first = (self.sound.ours_before if against == "before" else self.clean.ours_after).get(feature)
        second = self.sound.ours_after.get(feature)
        return None if first is None or second is None else (first, second)


def _is_unknown(feature: str, value: float) -> bool:
    if feature == "intensity_mean_db":
        return value <= UNKNOWN_DB
    return feature != "utmos" and value == 0


def _test(condition: str, system: str, feature: str, against: Against, pairs: Sequence[_Pair]) -> V1PairedTest | None:
    """The test of one feature, not corrected; None if no sample has both sides of it."""
    published = [found for pair in pairs if (found := pair.published(feature, against)) is not None]
    ours = [found for pair in pairs if (found := pair.ours(feature, against)) is not None]
    if not published and not ours:
        return None
    test = paired_test([first for first, _ in published], [second for _, second in published])
    differences = np.array([second - first for first, second in ours])[:, None]
    estimate = bootstrap_columns(differences)[0] if ours else Estimate(None, None, 0)
    return V1PairedTest(
        condition, system, feature, against,
        test.n, test.outliers, test.difference, test.interval, test.t, test.p, None, test.d_z,
        len(ours), estimate.value, estimate.interval, sign_flip_p(differences)[0], None,
    )  # fmt: skip


class PairedTest(NamedTuple):
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
