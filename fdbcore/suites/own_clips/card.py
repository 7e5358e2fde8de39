"""Turns a scores document of recorded users into a scorecard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from fdbcore.measures import MEASURES, Measure, headlines
from fdbcore.protocols import CLEAN
from fdbcore.report import counted, in_words, scaled, shown_unit, verdicts
from fdbcore.results import scorecard
from fdbcore.suites.own_clips.scoring import measures
from fdbcore.types import Problem, TurnSettings
from fdbcore.types.scorecard import Pooling, Scale, Scorecard, ScoredCase

_DIRECTIONS: Final[Mapping[str | None, Literal[-1, 0, 1]]] = {"more": 1, "less": -1, None: 0}


def card(document: Mapping[str, Any]) -> Scorecard:
    """The scorecard of a document. A condition is a line; a subset is a value of a column of the table of labels."""
    # Shares first: they rank calls, and one without an answer is worse than one with a slow answer.
    scales = sorted(map(_scale, measures()), key=lambda scale: (not scale.main, scale.main and scale.pools != "share"))
    lines = dict.fromkeys(group["line"] for group in document["groups"])
    found = scorecard(
        "Recorded users",
        document,
        scales,
        {line: line for line in sorted(lines, key=lambda line: line != CLEAN)},
        caption="Turn-taking with recorded users.",
        test="paired by clip where systems share at least half of them; p is corrected for all differences (Holm)",
        detectable="the smallest true difference that so many clips would find 8 times in 10",
        notes=("Answer times are medians over all answers; shares and rates are of all calls together.",),
        facts=[counted(len(document["items"]), "call")],
        subsets_by="slice",
        conditions_by="line",
        evidence={"made with": f"fdbcore {document['settings']['fdbcore']}"},
    )
    return replace(
        found,
        gaps=[Problem(**gap) for gap in document["gaps"]],
        cases=list(_cases(document)),
        terms={_label(scale.id): in_words(MEASURES[scale.id].meaning, TurnSettings()) for scale in found.scales},
        statements=list(_statements(found)),
    )


def _statements(card: Scorecard) -> Iterator[str]:
    """Which systems are better, over each line."""
    for line in card.conditions:
        if told := " ".join(verdicts(card, line, [row.system for row in card.rows if row.condition == line])):
            yield f"{line}: {told}" if len(card.conditions) > 1 else told


def _label(name: str) -> str:
    return MEASURES[name].headline or MEASURES[name].label


def _scale(name: str) -> Scale:
    measure = MEASURES[name]
    is_share = measure.unit == "share"
    return Scale(
        name,
        _label(name),
        _DIRECTIONS[measure.better],
        shown_unit(measure.shown_in),
        1 if is_share else 2,
        main=name in headlines() and measure.better is not None,
        bounds=(0.0, 100.0) if is_share and measure.quantity == "share" else None,
        pools=_pools(measure),
    )


def _pools(measure: Measure) -> Pooling:
    if measure.quantity == "values":
        return "median"
    if measure.quantity == "ratio":
        return "share" if measure.unit == "share" else "rate"
    return measure.quantity


def _cases(document: Mapping[str, Any]) -> Iterator[ScoredCase]:
    several = len({item["trial"] for item in document["items"]}) > 1
    for item in document["items"]:
        yield ScoredCase(
            item["line"],
            item["system"],
            item["clip"],
            "",
            {name: scaled(value, MEASURES[name].unit) for name, value in item["values"].items()},
            note=f"trial {item['trial']}" if several else "",
            tags={name: (value,) for name, value in item["columns"].items() if value},
            item=item,
            recording=item["call"],
        )
