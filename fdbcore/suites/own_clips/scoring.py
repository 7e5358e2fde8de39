"""Recorded users of a folder, with what a file of labels says of them, and scores of systems on them: the measures of
their calls, pooled over all and over each value of a column.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct, to_builtins

from fdbcore.analysis import (
    FEWEST_ITEMS,
    LINE,
    MOST_GROUPS,
    TOLD,
    Call,
    CallGroup,
    Measures,
    Run,
    group_differences,
    in_order,
    interval_warnings,
    match_every_two,
    read,
    summarise,
)
from fdbcore.errors import InputError, SettingsError
from fdbcore.measures import MEASURES, Quantity, headlines
from fdbcore.measures.labelled import MEASURES as LABELLED
from fdbcore.protocols import CLEAN
from fdbcore.recording import is_planned, read_plan
from fdbcore.report import counted, headline, in_words, scaled, shown_unit, verdicts
from fdbcore.results import PooledWith, ProblemEntry, Scores, problem_entries, scorecard
from fdbcore.runs import users_of
from fdbcore.runtime import query_of, split_query
from fdbcore.sources import CallTable, NameIndex, Oddities, clips_in, label_columns, read_labels, read_table
from fdbcore.types import Clip, Material, Problem, SideA, TurnSettings, UserLabels
from fdbcore.types.scorecard import Difference, Figure, Measure, Scorecard, Scored, ScoreRow, ShownItem

NAME: Final = "clips"
LABELS: Final = "labels"
OF_A_RUN: Final = frozenset(("system", "clip", "line", "trial", "outcome"))
"""The columns that every run has."""
OF_LABELS: Final = frozenset(("side", "kind"))
"""A table with both has labels."""
_TABLES: Final = (".csv", ".tsv")

LEAST_SLICES: Final = 2
SCHEMA: Final = "fdbcore.clips/2"


def side_a(data: str) -> SideA:
    """The users in "DIR" or "DIR?labels=FILE&SETTINGS", with the settings of the clip endpoint.

    InputError if there are no clips or labels that can be read. What of the labels fits no clip is a problem.
    """
    folder, query = split_query(data, file=True)
    settings = query_of(query)
    path = settings.pop(LABELS, None)
    clips = clips_in(folder)
    users = users_of(clips, urlencode(settings))
    source = str(Path(folder).absolute())
    if path is None:
        return SideA(users, material=Material(NAME, source, {}))
    columns, labels, oddities = _told(Path(path), clips)
    warnings = [
        Problem(path, f"{what}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}")
        for what, names in oddities.found.items()
    ]
    return SideA(
        [
            replace(user, columns=columns.get(number, {}), labels=labels.get(number))
            for number, user in enumerate(users)
        ],
        material=Material(NAME, source, {}),
        warnings=warnings,
    )


def _told(
    path: Path, clips: Sequence[Clip]
) -> tuple[Mapping[int, Mapping[str, str]], Mapping[int, UserLabels], Oddities]:
    """The columns and the labels of each clip, by its number, and what fits none; SettingsError if that is most."""
    known = [(clip.name, [clip.path]) for clip in clips]
    oddities = Oddities()
    columns: dict[int, dict[str, str]] = {}
    if path.suffix.lower() in _TABLES and path.is_file():
        table = read_table(path, oddities)
        of_labels = label_columns(list(table.rows[0])) if table.rows else set()
        header = list(table.rows[0]) if table.rows else []
        if not of_labels and OF_LABELS <= {name.lower() for name in header}:
            got = ", ".join(header)
            raise SettingsError(f"{path}: expected the columns file, side, kind, start_s, end_s; got {got}")
        columns = _columns(table, of_labels, known, oddities)
        if not of_labels:
            oddities.add("expected rows, found none in", [] if table.rows else [path.name])
            return columns, {}, oddities
    given = read_labels(path, oddities)
    if len(clips) > 1 or not given.is_one_call:
        _refuse_of_others([label.call for label in given.labels], known, path)
    found = given.by_call(known, lambda number: False, oddities)
    source = str(path.absolute())
    kept = {number: UserLabels(source, to_builtins(sorted(labels))) for number, labels in found.items()}
    return columns, kept, oddities


def _refuse_of_others(named: Sequence[str], known: Sequence[tuple[str, Sequence[Path]]], path: Path) -> None:
    """SettingsError if most of these names fit no clip: the file is of other clips, or names them otherwise."""
    numbers = NameIndex(known).joined(dict.fromkeys(named), path)
    strange = [name for name, number in numbers.items() if number is None]
    if 2 * len(strange) > len(numbers):
        names, clips = ", ".join(strange[:3]), ", ".join(name for name, _ in known[:3])
        raise SettingsError(
            f"{path}: expected names of the clips ({clips}{', ...' if len(known) > 3 else ''}), got {len(strange)} of "
            f"{len(numbers)} that fit none: {names}{', ...' if len(strange) > 3 else ''}"
        )


def _columns(
    table: CallTable, of_labels: Collection[str], known: Sequence[tuple[str, Sequence[Path]]], oddities: Oddities
) -> dict[int, dict[str, str]]:
    """The columns of each clip, by its rows. of_labels: the columns that are not among them. SettingsError if rows
    differ in that, or for a column that has the name of one that every run has."""
    index = NameIndex(known)
    table = table.naming(index)
    named = [row[table.files[0]] for row in table.rows]
    numbers = index.joined(dict.fromkeys(named), table.path)
    if not of_labels:  # rows of labels that fit none are named with these
        _refuse_of_others(named, known, table.path)
        oddities.add("rows that fit no clip", [name for name, number in numbers.items() if number is None])
    found: dict[int, dict[str, str]] = {}
    for name, row in zip(named, table.rows, strict=True):
        own = {column: value for column, value in table.columns(row).items() if column not in of_labels}
        if taken := own.keys() & OF_A_RUN:
            raise SettingsError(f"{table.path}: expected another name for the column {min(taken)}: each run has one")
        if (number := numbers[name]) is None:
            continue
        for column, value in own.items():
            before = found.setdefault(number, {}).setdefault(column, value)
            if before != value:
                raise SettingsError(f"{table.path}: {name}: expected one {column} for a clip, got {before} and {value}")
    return found


class ClipsGroup(Struct, frozen=True):
    """The calls of one system over one line: all, or those with a value in a column."""

    line: str
    system: str
    column: Annotated[str, Meta(description="of the table of labels; empty for all calls")]
    value: str
    calls: int
    measures: Measures

    def row(self) -> ScoreRow:
        """Its figures as a scorecard shows them, in the units of its scales."""
        subset = f"{self.column} = {self.value}" if self.column else ""
        return ScoreRow(self.line, "system", self.system, self.calls, dict(self._figures()), subset=subset)

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        for name, summary in self.measures.items():
            value, unit, interval = headline(summary), summary["unit"], summary["ci95"]
            if value is not None:
                limits = None if interval is None else (scaled(interval[0], unit), scaled(interval[1], unit))
                of_items = MEASURES[name].quantity != "ratio"  # a ratio counts its events: its n is not over these
                yield name, Figure(scaled(value, unit), None, limits, summary["n"] if of_items else None)


class ClipsItem(Struct, frozen=True):
    """A call."""

    line: str
    system: str
    clip: str
    trial: str
    columns: dict[str, str]
    values: Annotated[dict[str, float], Meta(description="its measures, by id")]
    call: Annotated[str, Meta(description="the folder of its recording")]


class ClipsDocument(Scores, frozen=True, kw_only=True):
    """Scores of systems on recorded users of one's own. Fields may be added under the same version; a field is never
    given another meaning."""

    schema: Literal["fdbcore.clips/2"] = SCHEMA
    settings: PooledWith
    groups: Annotated[list[ClipsGroup], Meta(description="the measures of each row in full")]
    items: list[ClipsItem]
    gaps: Annotated[list[ProblemEntry], Meta(description="what is missing of scored calls, such as a clip's end")]


def measures() -> list[str]:
    """The ids of the measures of the scorecard: those that runs are compared by, and those that need labels."""
    return list(dict.fromkeys([*headlines(), *(measure.id for measure in LABELLED)]))


def score(
    paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of the calls of runs; see `Suite.score`."""
    if not paths:
        raise InputError(f"expected RUNs, got none: fdbcore run --suite {NAME} --data DIR --system ADDRESS makes one")
    calls: list[Call] = []
    scored = CallGroup("", [], [])
    for path in paths:
        show(str(path))
        suite = read_plan(path)["plan"].get("suite") if is_planned(path) else None
        if suite is None or suite["name"] != NAME:
            raise InputError(f"{path}: expected a run of --suite {NAME}, got something else")
        run, found = read(Run(path))
        calls += run.calls
        scored = CallGroup("", [*scored.calls, *found.calls], [*scored.quantities, *found.quantities])
    lines = {line: _by(group, "system") for line, group in _by(scored, LINE, CLEAN).items()}
    several = len({system for systems in lines.values() for system in systems}) > 1
    by_system = {
        ", ".join(filter(None, [system if several else "", line if len(lines) > 1 else ""])): summarise(of.quantities)
        for line, systems in lines.items()
        for system, of in systems.items()
    }
    groups = [group for line, systems in lines.items() for of in systems.values() for group in _groups(line, of)]
    differences = list(_differences(lines))
    document = ClipsDocument(
        settings=PooledWith(family=sum(one.p is not None for one in differences)),
        rows=[group.row() for group in groups],
        differences=differences,
        groups=groups,
        items=[_item(call, of) for call, of in zip(scored.calls, scored.quantities, strict=True)],
        problems=[ProblemEntry(call.name, call.unscored) for call in calls if call.unscored is not None],
        gaps=problem_entries(Problem(call.name, text) for call in scored.calls for text in call.fact(TOLD)["warnings"]),
        notes=list(interval_warnings(by_system)),
    )
    return Scored(msgspec.to_builtins(document))


def _by(calls: CallGroup, column: str, without: str = "") -> dict[str, CallGroup]:
    """The calls by their values of a column, in order; `without` stands for no value."""
    values = [call.columns.get(column) or without for call in calls.calls]
    numbers = range(len(values))
    return {name: calls.only([n for n in numbers if values[n] == name], name) for name in in_order({*values})}


def _groups(line: str, of_system: CallGroup) -> Iterator[ClipsGroup]:
    """All calls of a system, and those with each value of each column that groups them."""
    yield _group(line, of_system.name, "", of_system)
    columns = dict.fromkeys(name for call in of_system.calls for name in call.columns if name not in OF_A_RUN)
    for column in columns:
        slices = _by(of_system, column)
        if LEAST_SLICES <= len(slices) <= MOST_GROUPS:
            yield from (_group(line, of_system.name, column, of_slice) for value, of_slice in slices.items() if value)


def _group(line: str, system: str, column: str, calls: CallGroup) -> ClipsGroup:
    found = summarise([_shown(quantities) for quantities in calls.quantities])
    return ClipsGroup(line, system, column, calls.name if column else "", len(calls.calls), found)


def _differences(lines: Mapping[str, Mapping[str, CallGroup]]) -> Iterator[Difference]:
    """Every two systems over each line, in the units of the scales; p is corrected for all of them."""
    pairs = [(line, pair) for line, own in lines.items() for pair in match_every_two(list(own.values()), "clip")]
    found = group_differences([pair for _, pair in pairs])
    for (line, _), one in zip(pairs * len(headlines()), found, strict=True):
        if one["value"] is None:
            continue
        unit, limits, detectable = MEASURES[one["measure"]].unit, one["interval"], one["detectable"]
        yield Difference(
            line,
            one["a"],
            one["b"],
            one["measure"],
            one["shared"] or one["clusters"],
            scaled(one["value"], unit),
            (scaled(limits[0], unit), scaled(limits[1], unit)) if limits else None,
            one["p"],
            one["p_holm"],
            scaled(detectable, unit) if detectable else None,
            FEWEST_ITEMS if one["shared"] else 0,
        )


def _shown(quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: quantities[name] for name in measures() if name in quantities}


def _item(call: Call, quantities: Mapping[str, Quantity]) -> ClipsItem:
    found = {name: headline(summary) for name, summary in summarise([_shown(quantities)]).items()}
    columns = call.columns
    return ClipsItem(
        columns.get(LINE) or CLEAN,
        columns["system"],
        columns["clip"],
        columns["trial"],
        {name: value for name, value in columns.items() if name not in OF_A_RUN},
        {name: value for name, value in found.items() if value is not None},
        str(call.path),
    )


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
        notes=("Response latencies are medians over all responses; shares and rates are of all calls together.",),
        facts=[counted(len(document["items"]), "call")],
        subsets_by="slice",
        conditions_by="line",
    )
    return replace(
        found,
        gaps=[Problem(**gap) for gap in document["gaps"]],
        cases=list(_cases(document)),
        terms={_label(scale.id): in_words(MEASURES[scale.id].meaning, TurnSettings()) for scale in found.scales},
        statements=list(_statements(found)),
    )


def _statements(card: Scorecard) -> Iterator[str]:
    """Systems that are better, over each line."""
    for line in card.conditions:
        if told := " ".join(verdicts(card, line, [row.system for row in card.rows if row.condition == line])):
            yield f"{line}: {told}" if len(card.conditions) > 1 else told


def _label(name: str) -> str:
    return MEASURES[name].label


def _scale(name: str) -> Measure:
    measure = MEASURES[name]
    is_share = measure.unit == "share"
    return Measure(
        name,
        _label(name),
        measure.direction,
        shown_unit(measure.shown_in),
        1 if is_share else 2,
        main=measure.compared and measure.direction != 0,
        bounds=(0.0, 100.0) if is_share and measure.quantity == "share" else None,
        pools="share" if is_share and measure.pools == "rate" else measure.pools,
    )


def _cases(document: Mapping[str, Any]) -> Iterator[ShownItem]:
    several = len({item["trial"] for item in document["items"]}) > 1
    for item in document["items"]:
        yield ShownItem(
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
