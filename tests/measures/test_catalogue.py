"""The catalogue of measures: every id that a session can give is registered, no other is named, all can be kept."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final, get_args

import pytest
from helpers.drawn import dialogue
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.measures import answers, compat, labelled, overlaps, recoveries, timing
from fdbcore.measures.catalogue import GROUPS, MEASURES, MOMENTS, columns, differences, id_of, shown_by, spots
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.measures.measure import MomentKind, Where
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values, from_json, to_json
from fdbcore.recording.labels import KeptLabels, Label, LabelKind
from fdbcore.types import TurnSettings

MODULES = (answers, compat, labelled, overlaps, recoveries, timing)
ID = re.compile(
    r"\w+(?:_per_(?:turns?|min|sample|recovery|labelled_\w+|(?:long|short)_[ab]_onset|[ab]_speech_min)|_talk_share)"
    r"|response_\w*latency\w*_ms|compat_v\w+|lapse_s|b_selectivity"
)
"""What looks like the id of a measure, wherever it stands."""
HOLDERS = {"measures", "quantities"}
"""What is asked for measures by their ids."""
SENTENCES: Final = {
    "a_unanswered_wait_s", "a_stopped_at_once_per_long_b_onset", "a_stopped_within_2s_per_long_b_onset",
    "a_stopped_within_2s_per_short_b_onset",
}  # fmt: skip
"""Measures that a screen tells in a clause, for they are details of another, or of which it tells the n alone."""
NO_MEASURES = {"s_per_min", "compat_v1", "compat_v1_interruption"}
"""Parts of ids, which look like one."""


def every_quantity() -> dict[str, Quantity]:
    """The quantities of a session that has the material for all of them."""
    drawn = dialogue("A 0-2 5-7 10-12 | B 2.5-5.5 7.2-9 12.5-14", 3.0)
    legs = HarnessLegs(480, (0,), (480,))
    live = Dialogue(drawn.detected, drawn.n_ticks, TurnSettings(), legs)
    labels = KeptLabels("by hand", [Label("A", kind, 5.0, 6.0) for kind in get_args(LabelKind)], [])
    found = (
        timing.timing_quantities(live)
        | labelled.labelled_quantities(live, labels)
        | recoveries.recovery_quantities(live, labels, [("a", 0, 1)])
    )
    for kind in ("turn_taking", "interrupt"):
        found |= compat.takeover([(1.0, 4.0)], [{"kind": kind, "start_s": 0.5, "end_s": 0.8}])
    return found | compat.overlap_v15([(0.0, 2.0)], [(1.0, 4.0)], labels.labels)


def test_every_id_is_registered_once() -> None:
    ids = Counter(measure.id for module in MODULES for measure in module.MEASURES)
    assert max(ids.values()) == 1
    assert ids.keys() == MEASURES.keys()
    assert all(measure.group in GROUPS for measure in MEASURES.values())


def test_what_a_session_gives_is_what_is_registered() -> None:
    given = every_quantity()
    assert given.keys() | differences().keys() == MEASURES.keys()
    for name, quantity in given.items():
        assert to_json(quantity)["kind"] == MEASURES[name].quantity, name
        assert not isinstance(quantity, Share) or MEASURES[name].over or MEASURES[name].group is compat.GROUP, name
        assert ("share" if isinstance(quantity, Share) else quantity.unit) == MEASURES[name].unit, name


def test_a_difference_is_one_of_two_shares() -> None:
    for name, shares in differences().items():
        assert MEASURES[name].quantity == "difference"
        assert [MEASURES[share].quantity for share in shares] == ["share", "share"]


def test_names_and_places_are_each_of_one_measure() -> None:
    for names in ([measure.label for measure in MEASURES.values()], [column.place for column in columns().values()]):
        assert len(set(names)) == len(names)
    assert [column.place for column in columns().values()] == sorted(column.place for column in columns().values())


def test_gates_and_people_name_a_measure_by_its_id_or_its_label() -> None:
    for name, measure in MEASURES.items():
        for told in (name, measure.label, measure.label.upper(), measure.label.replace(" ", "_")):
            assert id_of(told) == name
    assert id_of("answer time") is None


@pytest.mark.parametrize("where", ["call", "run", "note", "call tile", "run tile"])
def test_each_place_shows_a_measure_by_its_label(where: Where) -> None:
    for title, parts in spots(where).items():
        told = " ".join([title, *(f"{spot.text} {spot.none} {spot.value}" for _, spot in parts)]).lower()
        for name, _ in parts:
            words = MEASURES[name].label.lower().replace("'s", "").split()
            assert all(word in told for word in words) or name in SENTENCES, (title, name)


def text(node: ast.AST) -> str | None:
    """A string as a pattern: what is put into an f-string is any word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            r"\w+" if isinstance(part, ast.FormattedValue) else re.escape(str(getattr(part, "value", "")))
            for part in node.values
        )
    return None


def named(source: Path) -> Iterator[tuple[int, str]]:
    """The patterns of ids in a file: whatever looks like one, and whatever a mapping of measures is asked for."""
    tree = ast.parse(source.read_text())
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        holder = key = None
        if isinstance(node, ast.Subscript):
            holder, key = node.value, node.slice
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            holder, key = node.func.value, node.args[0]
        name = getattr(holder, "id", None) or getattr(holder, "attr", None)
        asked = text(key) if key is not None and name in HOLDERS else None
        if asked is not None:
            yield getattr(node, "lineno", 0), asked
        found = None if node in parts else text(node)
        if found is not None and ID.fullmatch(found.replace(r"\w+", "x")) and found not in NO_MEASURES:
            yield getattr(node, "lineno", 0), found


SOURCES = sorted(
    source
    for package in ("fdbcore", "fdbcore.cli")
    for source in Path(str(files(package))).rglob("*.py")
    if "suites" not in source.parts
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: "/".join(source.parts[-3:]))
def test_every_id_that_is_named_is_registered(source: Path) -> None:
    found = list(named(source))
    assert [(line, each) for line, each in found if not any(re.fullmatch(each, name) for name in MEASURES)] == []


def test_ids_are_found_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'x = run.measures["odd"]\ny = measures.get(f"{side}_odd")\nz = f"{side}_talk_share"\n'
        'w = ["premature_per_turns", "premature_per_turn", "text"]\n'
    )
    found = sorted(found for _, found in named(tmp_path / "a.py"))
    assert found == sorted(["odd", r"\w+_odd", "premature_per_turns", "premature_per_turn", r"\w+_talk_share"])


def test_every_kind_of_moment_is_registered_once_and_shows_a_measure() -> None:
    assert sorted(kind.id for kind in MOMENTS) == sorted(get_args(MomentKind))
    assert all(shown_by(kind) for kind in MOMENTS)
    assert "premature_per_turn" in shown_by(next(kind for kind in MOMENTS if kind.id == "cut_off"))


NUMBERS = st.floats(-1e8, 1e8)
UNITS = st.sampled_from(["ms", "s", "share", "1/min", "s/min"])
COUNTS = st.integers(0, 10_000)
REASONS = st.dictionaries(st.text(max_size=9), COUNTS, max_size=3)
QUANTITIES = st.one_of(
    st.builds(Values, UNITS, st.lists(NUMBERS), REASONS),
    st.builds(Share, COUNTS, COUNTS.map(lambda n: 10_000 + n), REASONS, st.none() | st.floats(0, 1)),
    st.builds(Ratio, UNITS, NUMBERS, st.floats(0, 1e8), COUNTS),
)


@given(QUANTITIES)
def test_a_quantity_is_read_back_as_it_was_written(quantity: Quantity) -> None:
    assert from_json(json.loads(json.dumps(to_json(quantity)))) == quantity


@pytest.mark.parametrize("values", [{}, {"kind": "share"}, {"kind": "nope", "n": 1}, {"kind": "ratio", "x": 1}])
def test_anything_else_is_refused(values: dict[str, object]) -> None:
    with pytest.raises((KeyError, ValueError)):
        from_json(values)
