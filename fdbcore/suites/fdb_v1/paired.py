"""Tests of how systems sound after an overlap: against before it, and against the clean sample; published, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.significance import holm, sign_flip_p
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.features import NO_SOUND, Sound
from fdbcore.suites.fdb_v1.measures import TESTED
from fdbcore.suites.fdb_v1.rules import paired_test

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1PairedTest

UNKNOWN_DB: Final = -190.0
"""As published: a side whose intensity is not above it is in no test."""


def tests_of(
    cases: Sequence[HeardSample], sound: Mapping[Path, Sound], marks: Mapping[Path, Mapping[str, Any]]
) -> list[V1PairedTest]:
    """The tests of each kind of overlap, system and feature (Holm 1979): the published ones are corrected over those of
    one kind and system, as the script is run of a folder, and ours over all.
    """
    found: list[V1PairedTest] = []
    keys = dict.fromkeys((case.sample.condition, case.system) for case, _ in by_clean(cases))
    by_name = sorted(by_clean(cases), key=lambda pair: (pair[0].sample.name, pair[0].trial))
    for condition, system in keys:
        pairs = [
            _Pair(
                sound[case.path], NO_SOUND if clean is None else sound.get(clean.path, NO_SOUND), marks.get(case.path)
            )
            for case, clean in by_name
            if (case.sample.condition, case.system) == (condition, system) and case.path in sound
        ]
        own: list[V1PairedTest] = []
        for feature in TESTED:
            for against in ("before", "clean"):
                own += _tested(condition, system, feature, against, pairs)
        corrected = iter(holm([one["p"] for one in own if one["p"] is not None]))
        for one in own:
            one["p_holm"] = next(corrected) if one["p"] is not None else None
        found += own
    ours = iter(holm([one["ours_p"] for one in found if one["ours_p"] is not None]))
    for one in found:
        one["ours_p_holm"] = next(ours) if one["ours_p"] is not None else None
    return found


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


def _tested(
    condition: str, system: str, feature: str, against: Literal["before", "clean"], pairs: Sequence[_Pair]
) -> Iterator[V1PairedTest]:
    """The test of one feature, if any sample has both sides of it."""
    published = [found for pair in pairs if (found := pair.published(feature, against)) is not None]
    ours = [found for pair in pairs if (found := pair.ours(feature, against)) is not None]
    if not published and not ours:
        return
    test = paired_test([first for first, _ in published], [second for _, second in published])
    differences = np.array([second - first for first, second in ours])[:, None]
    estimate = bootstrap_columns(differences)[0] if ours else None
    yield {
        "condition": condition,
        "system": system,
        "feature": feature,
        "against": against,
        "n": test.n,
        "outliers": test.outliers,
        "difference": test.difference,
        "ci95": test.interval,
        "t": test.t,
        "p": test.p,
        "p_holm": None,
        "d_z": test.d_z,
        "ours_n": len(ours),
        "ours_difference": None if estimate is None else estimate.value,
        "ours_ci95": None if estimate is None else estimate.interval,
        "ours_p": sign_flip_p(differences)[0] if ours else None,
        "ours_p_holm": None,
    }
