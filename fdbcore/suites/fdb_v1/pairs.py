"""How systems sound after an overlap, tested against before it and against the clean sample: as published, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.significance import holm, sign_flip_p
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.features import Features
from fdbcore.suites.fdb_v1.measures import FEATURES
from fdbcore.suites.fdb_v1.rules import paired_test

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1PairedTest

Sound = Mapping[Path, tuple[Features, Features]]
"""The features before and after the overlap, by recording; of a clean one around where it would be."""


def tests_of(cases: Sequence[HeardSample], sound: Sound, marks: Mapping[Path, Mapping[str, Any]]) -> list[V1PairedTest]:
    """The tests of each kind of overlap, system and feature; each family is corrected by itself (Holm 1979)."""
    found: list[V1PairedTest] = []
    keys = dict.fromkeys((case.sample.condition, case.system) for case, _ in by_clean(cases))
    paired = sorted(by_clean(cases), key=lambda pair: (pair[0].sample.name, pair[0].trial))
    for condition, system in keys:
        own = [each for each in paired if (each[0].sample.condition, each[0].system) == (condition, system)]
        for feature in FEATURES:
            for against in ("before", "clean"):
                found += _tested(condition, system, feature, against, own, sound, marks)
    published = iter(holm([one["p"] for one in found if one["p"] is not None]))
    ours = iter(holm([one["ours_p"] for one in found if one["ours_p"] is not None]))
    for one in found:
        one["p_holm"] = next(published) if one["p"] is not None else None
        one["ours_p_holm"] = next(ours) if one["ours_p"] is not None else None
    return found


def _tested(
    condition: str,
    system: str,
    feature: str,
    against: Literal["before", "clean"],
    own: Sequence[tuple[HeardSample, HeardSample | None]],
    sound: Sound,
    marks: Mapping[Path, Mapping[str, Any]],
) -> Iterator[V1PairedTest]:
    """The test of one feature, if any sample has both sides of it."""
    pairs = []
    for case, clean in own:
        before, after = sound.get(case.path, ({}, {}))
        other = before if against == "before" else sound.get(clean.path, ({}, {}))[1] if clean is not None else {}
        if feature in after and feature in other:
            responds = marks.get(case.path, {}).get("behaviour") == "respond"
            pairs.append((other[feature], after[feature], responds))
    if not pairs:
        return
    chosen = [(first, second) for first, second, responds in pairs if responds]
    test = paired_test([first for first, _ in chosen], [second for _, second in chosen])
    differences = np.array([second - first for first, second, _ in pairs])[:, None]
    estimate = bootstrap_columns(differences)[0]
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
        "ours_n": len(pairs),
        "ours_difference": estimate.value,
        "ours_ci95": estimate.interval,
        "ours_p": sign_flip_p(differences)[0],
        "ours_p_holm": None,
    }
