"""Tests of how systems sound after an overlap: against before it, and against the clean sample; published, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.significance import holm, sign_flip_p
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.features import NO_SOUND, Sound
from fdbcore.suites.fdb_v1.measures import TESTED
from fdbcore.suites.fdb_v1.rows import Limits
from fdbcore.suites.fdb_v1.rules import paired_test

UNKNOWN_DB: Final = -190.0
"""As published: a side whose intensity is not above it is in no test."""


Against: TypeAlias = Literal["before", "clean"]
AGAINST: Final[tuple[Against, Against]] = ("before", "clean")


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
    ci95: Limits
    t: float | None
    p: float | None
    p_holm: float | None
    d_z: float | None
    ours_n: int
    ours_difference: float | None
    ours_ci95: Limits
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


def _test(
    condition: str, system: str, feature: str, against: Against, pairs: Sequence[_Pair]
) -> V1PairedTest | None:
    """The test of one feature, not corrected; None if no sample has both sides of it."""
    published = [found for pair in pairs if (found := pair.published(feature, against)) is not None]
    ours = [found for pair in pairs if (found := pair.ours(feature, against)) is not None]
    if not published and not ours:
        return None
    test = paired_test([first for first, _ in published], [second for _, second in published])
    differences = np.array([second - first for first, second in ours])[:, None]
    estimate = bootstrap_columns(differences)[0] if ours else None
    return V1PairedTest(
        condition, system, feature, against,
        test.n, test.outliers, test.difference, test.interval, test.t, test.p, None, test.d_z,
        len(ours),
        None if estimate is None else estimate.value,
        None if estimate is None else estimate.interval,
        sign_flip_p(differences)[0] if ours else None,
        None,
    )  # fmt: skip
