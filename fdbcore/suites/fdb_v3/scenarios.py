"""Files of recorded scenarios, `fdbcore.fdb_v3_scenarios/1`: their form, and what is wrong with one.

`fdbcore.runtime.shape` checks files against the types; the published schema is made of them. Each fault is one line:
the file, the record, the field, expected and found.
"""

import inspect
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from fdbcore.audio import AudioFile
from fdbcore.errors import FdbError
from fdbcore.recording import converted
from fdbcore.runtime import json_value, misfits, read_whole, resolved
from fdbcore.suites.fdb_v3.world import ANY, FUNCTIONS, REFERENCE, FunctionCall, outcome
from fdbcore.types import TICKS_PER_S, Problem

SCHEMA: Final = "fdbcore.fdb_v3_scenarios/1"
FOLDER: Final = Path(str(files("fdbcore.suites.fdb_v3"))) / "data" / "smoke"
SMOKE: Final = FOLDER / "smoke.json"
"""The set that ships: 40 synthetic requests, with known ends, words and disfluencies, and what is expected. The
recordings lie beside it. `benchmarks.smoke_set` makes it.
"""

Domain: TypeAlias = Literal["travel_identity", "finance_billing", "housing_location", "ecommerce_support"]
Difficulty: TypeAlias = Literal["easy", "medium", "hard"]
Disfluency: TypeAlias = Literal["FILLER", "PAUSE", "HESITATION", "FALSE_START", "SELF_CORRECTION"]
LabelKind: TypeAlias = Literal["as_released", "repaired"]
LABELS: Final[Sequence[LabelKind]] = get_args(LabelKind)

_CONDITION: Final = re.compile(r"\b(if|unless)\b", re.IGNORECASE)

RepairKind: TypeAlias = Literal[
    "missing_argument", "unknown_argument", "filter_type", "missing_reference", "unsaid_city", "no_predicate"
]


class ExpectedCallEntry(FunctionCall, frozen=True, omit_defaults=True):
    """A call that the label expects. note: such as its condition. optional: right with it, and without it."""

    note: str = ""
    optional: bool = False


class RepairEntry(Struct, frozen=True, kw_only=True):
    """A change of a label. call: of which expected call, from 1. before, after: of the argument; left out for none."""

    kind: RepairKind
    call: int
    argument: str | UnsetType = UNSET
    before: Any = UNSET
    after: Any = UNSET
    reason: str


class RollbackEntry(Struct, frozen=True, omit_defaults=True):
    """Arguments before and after the user's correction."""

    original: dict[str, Any] = {}
    corrected: dict[str, Any] = {}


class RecordedAudioEntry(Struct, frozen=True):
    """The user's recording. path: from the folder of this file. length_s: as its header says."""

    path: str
    rate_hz: int
    channels: int
    bit_depth: int | UnsetType = UNSET
    length_s: float | UnsetType = UNSET


class ResultEntry(Struct, frozen=True, omit_defaults=True):
    """The result of a system on the recording, elsewhere. result, audio: paths from the folder of this file."""

    provider: str
    result: str
    audio: str = ""


class SpokenWordEntry(Struct, frozen=True):
    """A word of the user, in ticks of 10 ms from the beginning of the recording."""

    text: str
    start_tick: int
    end_tick: int


class DisfluencySpan(Struct, frozen=True):
    """The place of a disfluency, in ticks of 10 ms from the beginning of the recording."""

    kind: Disfluency
    start_tick: int
    end_tick: int


class RecordedScenarioEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A scenario as one speaker said it. scenario: which of the scenarios. script: what the user was to say.

    user_end_tick: where the user has finished, in ticks of 10 ms from the beginning of the recording. words, spans:
    what the user says, and its disfluencies. as_released, repaired: the expected calls of both labels; `repairs` says
    what differs, and why. Left out: none, or not known.
    """

    id: str
    scenario: str
    speaker: str
    domain: Domain
    difficulty: Difficulty
    title: str = ""
    script: str = ""
    reply: str = ""
    acting_notes: str = ""
    disfluencies: list[Disfluency] = []
    rollback_test: bool | UnsetType = UNSET
    rollback: RollbackEntry | UnsetType = UNSET
    latency_profile: str = ""
    audio: RecordedAudioEntry
    user_end_tick: int | UnsetType = UNSET
    words: list[SpokenWordEntry] = []
    spans: list[DisfluencySpan] = []
    as_released: list[ExpectedCallEntry] = []
    repaired: list[ExpectedCallEntry] = []
    repairs: list[RepairEntry] = []
    results: list[ResultEntry] = []


class DataCard(Struct, frozen=True):
    """The origin of the recordings, and how many there are. silent_scenarios: those without a recording."""

    recordings: int
    scenarios: int
    silent_scenarios: int
    speakers: int
    annotators: str
    guideline: str
    agreement: str
    synthetic: bool


class RecordedScenarioFile(Struct, frozen=True):
    """A file of recorded scenarios. credit: whose they are."""

    schema: Literal["fdbcore.fdb_v3_scenarios/1"]
    credit: str
    card: DataCard
    record: list[RecordedScenarioEntry]


def holds_scenarios(path: Path) -> bool:
    """True if this is "smoke", a file of recorded scenarios, if perhaps a faulty one, or a folder with recordings."""
    if str(path) == "smoke":
        return True
    if path.is_dir():
        return any(path.rglob("input.*"))
    try:
        return path.suffix == ".json" and b'"schema"' in read_whole(path)
    except OSError:
        return False


def look_at(path: Path) -> tuple[RecordedScenarioFile | None, list[Problem]]:
    """The file and its faults; None in its place if it is no such file, or if its form is wrong.

    Recordings and results must be where the file says.
    """
    try:
        content = json_value(read_whole(path))
    except (OSError, ValueError) as error:
        return None, [Problem(str(path), f"expected recorded scenarios as JSON, got: {error}")]
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        got = content.get("schema", "none") if isinstance(content, dict) else type(content).__name__
        return None, [Problem(str(path), f'expected "schema": "{SCHEMA}", got {got!r}')]
    if faults := list(misfits(content, RecordedScenarioFile, str(path))):
        return None, faults
    found: RecordedScenarioFile = converted(content, RecordedScenarioFile)
    return found, list(dict.fromkeys(fault for _, faults in by_record(found, path) for fault in faults))


def by_record(file: RecordedScenarioFile, path: Path) -> Iterator[tuple[RecordedScenarioEntry, list[Problem]]]:
    """Each record with its faults. path: of the file."""
    ids = Counter(record.id for record in file.record)
    for record in file.record:
        yield record, list(_faults_of(record, ids[record.id], path))


def _faults_of(record: RecordedScenarioEntry, n_of_id: int, path: Path) -> Iterator[Problem]:
    where = f"{path}: {record.id}"
    if n_of_id > 1:
        yield Problem(f"{where}: id", f"expected an id of its own, got that of {n_of_id} records")
    if not (record.id.isprintable() and not record.id.startswith(".") and not {"/", "\\"} & {*record.id}):
        yield Problem(f"{where}: id", f"expected a name without slashes or a leading dot, got {record.id!r}")
    of_results = [place for each in record.results for place in (each.result, each.audio) if place]
    for place in (record.audio.path, *of_results):
        if not (path.parent / place).is_file():
            yield Problem(where, f"expected a file at {place}, found none")
    yield from _impossible(record, where)
    try:
        length_ticks = _length_ticks(record, path.parent)
    except FdbError as error:
        yield Problem(where, str(error))
    else:
        yield from _misplaced(record, length_ticks, where)


def _length_ticks(record: RecordedScenarioEntry, base: Path) -> float:
    """The length of the recording, as its header says, else as the record does; infinite if neither does."""
    length_s = record.audio.length_s or math.inf
    if (audio := base / record.audio.path).is_file():
        with AudioFile(audio) as file:
            length_s = length_s if file.stated_s is None else file.stated_s
    return math.ceil(length_s * TICKS_PER_S) if math.isfinite(length_s) else math.inf


def _impossible(record: RecordedScenarioEntry, where: str) -> Iterator[Problem]:
    """Expected calls that no system can make. A released label may have arguments that its function lacks."""
    labels = {"as_released": record.as_released, "repaired": record.repaired}
    for label, calls in labels.items():
        for number, call in enumerate(calls, 1):
            place = f"{where}: {label} {number}"
            if (function := FUNCTIONS.get(call.function)) is None:
                expected = f"expected one of {', '.join(FUNCTIONS)}"
                yield Problem(f"{place}: function", f"{expected}, got {call.function!r}")
            elif label == "repaired":
                known = inspect.signature(function).parameters
                for name in call.args.keys() - known.keys():
                    yield Problem(f"{place}: args", f"expected arguments of {', '.join(known)}, got {name!r}")


def _misplaced(record: RecordedScenarioEntry, length_ticks: float, where: str) -> Iterator[Problem]:
    """Ends, words and disfluencies that do not lie where they can, and spans of a disfluency that is no tag.

    length_ticks: of the recording.
    """
    end, last = length_ticks, "end of the recording"
    if record.user_end_tick is not UNSET:
        if 0 <= record.user_end_tick <= length_ticks:
            end, last = record.user_end_tick, "user's end"
        else:
            form = f"0 to {length_ticks}, the end of the recording"
            yield Problem(f"{where}: user_end_tick", f"expected {form}, got {record.user_end_tick}")
    places: list[SpokenWordEntry | DisfluencySpan] = [*record.words, *record.spans]
    for each in places:
        if not 0 <= each.start_tick < each.end_tick <= end:
            name = each.text if isinstance(each, SpokenWordEntry) else each.kind
            form = f"0 <= start_tick < end_tick <= {end}, the {last}"
            yield Problem(where, f"{name}: expected {form}, got {each.start_tick} and {each.end_tick}")
    for kind in sorted({each.kind for each in record.spans} - set(record.disfluencies)):
        yield Problem(where, f"spans: expected disfluencies that are among its tags, got {kind}")


def counts_of(records: Sequence[RecordedScenarioEntry]) -> dict[str, int]:
    """Counts of recordings, scenarios and speakers."""
    return {
        "recordings": len(records),
        "scenarios": len({each.scenario for each in records}),
        "speakers": len({each.speaker for each in records}),
    }


def repaired(released: Sequence[ExpectedCallEntry], script: str) -> tuple[list[ExpectedCallEntry], list[RepairEntry]]:
    """The expected calls as they should be, and what was changed. script: what the user was to say."""
    calls = deepcopy(list(released))
    repairs: list[RepairEntry] = []
    for number, call in enumerate(calls, 1):
        if call.function not in FUNCTIONS:
            continue
        for changes in _changes(number, call, calls, script):
            for change in changes:
                assert change.argument is not UNSET
                if change.after is UNSET:
                    del call.args[change.argument]
                else:
                    call.args[change.argument] = change.after
            repairs += changes
        if _CONDITION.search(call.note) and not re.search(r"\d", call.note):
            calls[number - 1] = replace(call, optional=True)
            reason = f"its condition ({call.note}) names no value to compare with: right with the call, and without it"
            repairs.append(RepairEntry(kind="no_predicate", call=number, reason=reason))
    return calls, repairs


def _changes(
    number: int, call: ExpectedCallEntry, calls: Sequence[ExpectedCallEntry], script: str
) -> Iterator[list[RepairEntry]]:
    """Changes that are to be made, step by step: each step sees what the ones before have made of the call."""
    yield list(_arguments(number, call))
    yield list(_references(number, call, calls))
    yield list(_city(number, call, script))


def _arguments(number: int, call: ExpectedCallEntry) -> Iterator[RepairEntry]:
    """Arguments that the function lacks, that the label lacks, and values of a filter that are no text."""
    function, args = call.function, call.args
    known = inspect.signature(FUNCTIONS[function]).parameters

    for name, value in args.items():
        if name not in known:
            yield _change(
                "unknown_argument", number, name, f"{function} has no {name}: no system can send it", before=value
            )
    for name, parameter in known.items():
        if name not in args and parameter.default is inspect.Parameter.empty:
            reason = f"{function} requires {name}, and the label has none: any value is right"
            yield _change("missing_argument", number, name, reason, after=ANY)
    value = args.get("value")
    if function == "update_search_filter" and isinstance(value, int | float):
        yield _change(
            "filter_type", number, "value", f"{function} takes the value as a text", value, str(value).lower()
        )


def _references(number: int, call: ExpectedCallEntry, calls: Sequence[ExpectedCallEntry]) -> Iterator[RepairEntry]:
    """References to what no result has: to the only id of that result, if an id is meant; else any value."""
    results = outcome(calls[: number - 1]).results
    for name, value in call.args.items():
        if not isinstance(value, str) or not value.startswith("$") or value == ANY or resolved(value, results) != value:
            continue
        reference = REFERENCE.match(value)
        earlier = int(reference[1]) if reference else len(results)
        ids = _ids(results[earlier], f"$RESULT_{earlier}") if earlier < len(results) else []
        after = ids[0] if value.endswith("_id") and len(ids) == 1 else ANY
        reason = "no result has such a value: " + ("its only id is meant" if after != ANY else "any value is right")
        yield _change("missing_reference", number, name, reason, value, after)


def _ids(value: object, path: str) -> list[str]:
    """References to all ids in a result."""
    if isinstance(value, list):
        return [each for n, item in enumerate(value) for each in _ids(item, f"{path}[{n}]")]
    if not isinstance(value, dict):
        return []
    own = [f"{path}.{name}" for name in value if name.endswith("_id")]
    return own + [each for name, item in value.items() for each in _ids(item, f"{path}.{name}")]


def _city(number: int, call: ExpectedCallEntry, script: str) -> Iterator[RepairEntry]:
    """A city of which the user says no word."""
    city = call.args.get("city")
    said = set(re.findall(r"\w+", script.lower()))
    if isinstance(city, str) and not city.startswith("$") and said and not said & {*re.findall(r"\w+", city.lower())}:
        yield _change("unsaid_city", number, "city", f"the user says no word of {city}: any city is right", city, ANY)


def _change(
    kind: RepairKind, number: int, argument: str, reason: str, before: object = UNSET, after: object = UNSET
) -> RepairEntry:
    return RepairEntry(kind=kind, call=number, argument=argument, before=before, after=after, reason=reason)
