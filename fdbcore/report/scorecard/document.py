"""A scorecard as JSON: scorecard.json, in which every row is one figure of one system under one condition.

Its types are in `document_types`; its schema, `static/scorecard.schema.json`, is generated from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fdbcore._version import __version__
from fdbcore.types.scorecard import Difference, Measure, Scorecard, ScoreRow, Telling

if TYPE_CHECKING:
    from fdbcore.report.scorecard import document_types as types

DOCUMENT_SCHEMA: Final = "fdbcore.scorecard/1"


def document(card: Scorecard, suite: str) -> types.ScorecardDocument:
    """What a scorecard says of systems. suite: the name of the benchmark. The single cases are in scores.json."""
    return {
        "schema": DOCUMENT_SCHEMA,
        "suite": suite,
        "fdbcore": __version__,
        "title": card.title,
        "measures": [_measure(scale) for scale in card.scales],
        "conditions": dict(card.conditions),
        "rows": [figure for row in (*card.rows, *card.subsets) for figure in _figures(row)],
        "differences": [_difference(card, one) for one in card.differences],
        "telling": [_telling(one) for one in card.telling],
        "statements": list(card.statements),
        "warnings": list(card.warnings),
        "problems": [{"where": where, "reason": reason} for where, reason in (*card.problems, *card.gaps)],
        "notes": [*filter(None, [card.how_tested]), *card.notes],
        "level": card.level,
    }


def _measure(scale: Measure) -> types.Measure:
    return {
        "id": scale.id,
        "label": scale.label,
        "part": scale.part,
        "unit": scale.unit,
        "direction": scale.direction,
        "main": scale.main,
        "adds_to": scale.adds_to or None,
    }


def _figures(row: ScoreRow) -> Iterator[types.Row]:
    for measure, figure in row.measures.items():
        low, high = figure.ci95 or (None, None)
        yield {
            "condition": row.condition,
            "group": row.group,
            "system": row.system,
            "subset": row.subset or None,
            "measure": measure,
            "n": row.n if figure.n is None else figure.n,
            "value": figure.value,
            "sd": figure.sd,
            "low": low,
            "high": high,
            "note": row.note,
        }


def _difference(card: Scorecard, one: Difference) -> types.Difference:
    low, high = one.ci95 or (None, None)
    return {
        "condition": one.condition,
        "measure": one.measure,
        "a": one.a,
        "b": one.b,
        "n": one.n,
        "difference": one.difference,
        "low": low,
        "high": high,
        "p": one.p,
        "p_corrected": one.p_corrected,
        "smallest_detectable": one.detectable,
        "better": card.better(one),
    }


def _telling(one: Telling) -> types.Telling:
    return {
        "what": one.what,
        "measure": one.measure,
        "value": one.case.values[one.measure],
        "condition": one.case.condition,
        "system": one.case.system,
        "id": one.case.id,
        "text": one.case.text,
    }
