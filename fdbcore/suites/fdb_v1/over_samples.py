"""Results over many samples beside rows and differences: ranges over transcribers, detectors and judges; tests of how
systems sound after an overlap, against before it and against the clean sample; and the published table of v1.

That table (data/published.json) stands beside on request; nothing is tested against it. It is that of the README of
github.com/DanielLin94144/Full-Duplex-Bench, with the words of Parakeet-TDT 0.6B v2 (since June 2025). Results of v1.5
were not found as a table.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta, Struct, json
from msgspec.structs import asdict, replace

from fdbcore.results import Clustered, ScoredItem, by_system, pooled
from fdbcore.stats import Estimate, bootstrap_columns, holm, sign_flip_p
from fdbcore.suites.fdb_v1.measures import MEASURES, TESTED
from fdbcore.suites.fdb_v1.sample_values import NO_SOUND, Figures, Sound
from fdbcore.suites.fdb_v1.samples import HeardSample, Version, by_clean, conditions_of
from fdbcore.types.scorecard import Interval, ScoreRow

RangeBy: TypeAlias = Literal["transcriber", "detector", "judge"]
Against: TypeAlias = Literal["before", "clean"]
AGAINST: Final[tuple[Against, Against]] = ("before", "clean")
UNKNOWN_DB: Final = -190.0
"""As published: a side whose intensity is not above it is in no test."""
OUTLIER_K: Final = 3.5
MAD_SCALE: Final = 1.4826


class V1Range(Struct, frozen=True):
    """The range of a figure by several transcribers, detectors, or judges and wordings of their rubric, over the
    samples that all of them have it of; the first is the one of the tables, which may be of more samples."""

    condition: str
    system: str
    measure: str
    by: RangeBy
    n: Annotated[int, Meta(description="samples, each trial counted, that all of them have the figure of")]
    values: dict[str, float]
    low: float
    high: float


def items_of(
    version: Version, scored: Sequence[tuple[HeardSample, dict[str, Sequence[float]]]]
) -> dict[Path, ScoredItem]:
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


def published_rows() -> list[ScoreRow]:
    """The published figures of v1, in the order of their table; n as the data state it."""
    text = (files("fdbcore.suites.fdb_v1") / "data" / "published.json").read_bytes()
    return json.decode(text, type=list[ScoreRow])


def ranges_of(
    by: RangeBy, items: Mapping[Path, ScoredItem], figures: Mapping[str, Mapping[Path, Figures]]
) -> Iterator[V1Range]:
    """Ranges of figures by several transcribers, detectors or judges, over samples of which all that give it have it.

    figures: by the name of each, those that hang on it; the first is the one of the tables.
    """
    for condition, system in by_system(items.values()) if len(figures) > 1 else ():
        paths = [path for path, item in items.items() if (item.condition, item.system) == (condition, system)]
        for measure in MEASURES:
            known = {
                name: {path: own for path in paths if (own := of.get(path, {}).get(measure.id))}
                for name, of in figures.items()
            }
            first, *_ = known.values()
            having = {name: of for name, of in known.items() if of}
            shared = [path for path in first if all(path in of for of in having.values())]
            over = {
                name: Clustered.of((value, items[path]) for path in shared for value in of[path])
                for name, of in having.items()
            }
            pooled_ = {name: pooled(sample, measure.pools, has_interval=False) for name, sample in over.items()}
            values = {name: each.value for name, each in pooled_.items() if each and each.value is not None}
            if len(values) > 1:
                low, high = min(values.values()), max(values.values())
                yield V1Range(condition, system, measure.id, by, len(shared), values, low, high)


class TTest(Struct, frozen=True):
    """A paired t-test as published. What cannot be computed of so few pairs, or of equal ones, is null."""

    n: Annotated[int, Meta(description="pairs left")]
    outliers: Annotated[int, Meta(description="pairs left out")]
    difference: float | None
    ci95: Interval = None
    t: float | None = None
    p: float | None = None
    d_z: Annotated[float | None, Meta(description="the mean difference by its standard deviation")] = None
    p_holm: float | None = None


class V1PairedTest(TTest, frozen=True, kw_only=True):
    """A test of the system's sound after an overlap, against before it or against the clean sample.

    The t-test is the published one: of samples judged "respond" that have words on each side, against all of the clean
    sample, without outliers, Holm over the tests of one task and system. ours: all samples, from the end of the overlap
    on, nothing left out, by sign flips, Holm over all tests of the document.
    """

    condition: str
    system: str
    feature: str
    against: Against
    ours_n: int
    ours_difference: float | None
    ours_ci95: Interval
    ours_p: float | None
    ours_p_holm: float | None = None


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
            _Pair(sound[case.path], sound.get(clean.path, NO_SOUND) if clean else NO_SOUND, marks.get(case.path))
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
    return value <= UNKNOWN_DB if feature == "intensity_mean_db" else feature != "utmos" and value == 0


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
        **asdict(test),
        condition=condition,
        system=system,
        feature=feature,
        against=against,
        ours_n=len(ours),
        ours_difference=estimate.value,
        ours_ci95=estimate.interval,
        ours_p=sign_flip_p(differences)[0],
    )


def paired_test(before: Sequence[float], after: Sequence[float]) -> TTest:
    """v1.5: differences further than 3.5 scaled MAD (1.4826) from their median are left out; then a t-test."""
    differences = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    apart = np.abs(differences - np.median(differences)) if len(differences) else differences
    mad = MAD_SCALE * float(np.median(apart)) if len(apart) else 0.0
    kept = differences[apart <= OUTLIER_K * mad] if mad else differences
    n, outliers = len(kept), len(differences) - len(kept)
    mean = float(kept.mean()) if n else None
    sd = float(kept.std(ddof=1)) if n > 1 else 0.0
    if mean is None or not sd:
        return TTest(n, outliers, mean)
    from scipy.stats import t as student

    error = sd / math.sqrt(n)
    half = float(student.ppf(0.975, n - 1)) * error
    t = mean / error
    return TTest(n, outliers, mean, (mean - half, mean + half), t, float(2 * student.sf(abs(t), n - 1)), mean / sd)
