"""Turns a scores document of recorded users into a scorecard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from fdbcore.analysis.matching import FEWEST_ITEMS
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.protocols import CLEAN
from fdbcore.report.format import counted, headline, scaled, shown_unit
from fdbcore.report.glossary import in_words
from fdbcore.report.scorecard.verdicts import verdicts
from fdbcore.suites.own_clips.scoring import measures
from fdbcore.types import Problem, TurnSettings
from fdbcore.types.scorecard import Difference, Figure, Pooling, Scale, Scorecard, ScoredCase, ScoreRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fdbcore.measures.measure import Measure
    from fdbcore.suites.own_clips.document_types import ClipsDocument, ClipsGroup

_DIRECTIONS: Final[Mapping[str | None, Literal[-1, 0, 1]]] = {"more": 1, "less": -1, None: 0}


def card(document: ClipsDocument) -> Scorecard:
    """The scorecard of a document. A condition is a line; a subset is a value of a column of the table of labels."""
    whole = [group for group in document["groups"] if not group["column"]]
    known = {name for group in whole for name, summary in group["measures"].items() if headline(summary) is not None}
    scales = [_scale(name) for name in measures() if name in known]
    # Shares first: they rank calls, and one without an answer is worse than one with a slow answer.
    scales.sort(key=lambda scale: (not scale.main, scale.main and scale.pools != "share"))
    lines = dict.fromkeys(group["line"] for group in whole)
    found = Scorecard(
        "Recorded users",
        scales,
        {line: line for line in sorted(lines, key=lambda line: line != CLEAN)},
        [_row(group) for group in whole],
        list(_differences(document)),
        warnings=document["warnings"],
        problems=[Problem(**problem) for problem in document["problems"]],
        gaps=[Problem(**gap) for gap in document["gaps"]],
        caption="Turn-taking with recorded users.",
        test="paired by clip where systems share at least half of them; p is corrected for all differences of a line "
        "(Holm)",
        detectable="the smallest true difference that so many clips would find 8 times in 10",
        notes=("Answer times are medians over all answers; shares and rates are of all calls together.",),
        facts=[counted(len(document["items"]), "call")],
        subsets=[_row(group) for group in document["groups"] if group["column"]],
        subsets_by="slice",
        conditions_by="line",
        cases=list(_cases(document)),
        terms={_label(scale.id): in_words(MEASURES[scale.id].meaning, TurnSettings()) for scale in scales},
        evidence={"made with": f"fdbcore {document['settings']['fdbcore']}"},
        level=document["settings"]["level"],
    )
    return replace(found, statements=list(_statements(found)))


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


def _row(group: ClipsGroup) -> ScoreRow:
    subset = f"{group['column']} = {group['value']}" if group["column"] else ""
    return ScoreRow(group["line"], "system", group["system"], group["calls"], dict(_figures(group)), subset=subset)


def _figures(group: ClipsGroup) -> Iterator[tuple[str, Figure]]:
    for name, summary in group["measures"].items():
        value, unit, interval = headline(summary), summary["unit"], summary["ci95"]
        if value is not None:
            limits = None if interval is None else [scaled(limit, unit) for limit in interval]
            of_items = MEASURES[name].quantity != "ratio"  # the n of a ratio counts its events: it is not over these
            yield name, Figure(scaled(value, unit), interval=limits, n=summary["n"] if of_items else None)


def _differences(document: ClipsDocument) -> Iterator[Difference]:
    for compared in document["comparisons"]:
        for each in compared["differences"]:
            if each["value"] is None:
                continue
            unit = MEASURES[each["measure"]].unit
            of = [each["value"], *(each["interval"] or ()), *([each["detectable"]] if each["detectable"] else [])]
            value, *others = (scaled(number, unit) for number in of)
            yield Difference(
                compared["line"],
                each["a"],
                each["b"],
                each["measure"],
                each["shared"] or each["clusters"],
                value,
                others[:2] if each["interval"] else None,
                each["p"],
                each["p_holm"],
                others[-1] if each["detectable"] else None,
                FEWEST_ITEMS if each["shared"] else 0,
            )


def _cases(document: ClipsDocument) -> Iterator[ScoredCase]:
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
            item=cast("Mapping[str, Any]", item),
            recording=item["call"],
        )
