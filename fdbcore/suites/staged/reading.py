"""Reads files of scenarios. Each fault is one line: the file, the scenario, the field, what was expected and found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import to_builtins

from fdbcore.errors import InputError
from fdbcore.recording.form import converted
from fdbcore.runtime.shape import misfits
from fdbcore.runtime.toml_values import toml_values
from fdbcore.runtime.whole_files import read_whole
from fdbcore.suites.staged.checks import scenario_faults
from fdbcore.suites.staged.families import Family, builtin_families, family_faults
from fdbcore.suites.staged.scenarios import SCHEMA, Scenario, ScenarioFile
from fdbcore.types import Problem

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

SCHEMA_FIELD: Final = b'"schema"'
"""JSON files with this field are of other suites; the released file has none."""

BUILTIN: Final[Mapping[str, str]] = {"builtin": "en", "builtin-ja": "ja"}
"""The sets that come with fdbcore: the folder of each."""


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """Scenarios, and the families that they may belong to, by id.

    own_families: those that do not come with fdbcore. credits: whose scenarios they are, where files say so.
    """

    scenarios: tuple[Scenario, ...]
    families: Mapping[str, Family]
    own_families: tuple[Family, ...]
    credits: tuple[str, ...]

    def only(self, wanted: Callable[[Scenario], bool]) -> ScenarioSet:
        """The set with those scenarios alone."""
        return replace(self, scenarios=tuple(filter(wanted, self.scenarios)))

    def to_json(self) -> dict[str, Any]:
        """The set in the form of a file."""
        credit = "; ".join(self.credits)
        found = ScenarioFile(schema=SCHEMA, credit=credit, families=self.own_families, scenarios=self.scenarios)
        return cast("dict[str, Any]", to_builtins(found))


def read_set(*names: str) -> ScenarioSet:
    """The scenarios of "builtin", "builtin-ja", files, or folders of files.

    Raises InputError for the first fault; `fdbcore scenarios validate` lists them all.
    """
    found, faults = look_at(names)
    if faults:
        more = f"; {len(faults) - 1} more: fdbcore scenarios validate {' '.join(names)}" if faults[1:] else ""
        raise InputError(f"{faults[0].where}: {faults[0].reason}{more}")
    return found


def holds_scenarios(path: Path) -> bool:
    """Whether this names scenarios of staged dialogues, or the released file: JSON without a schema of ours."""
    if str(path) in BUILTIN or path.suffix == ".toml":
        return True
    if path.is_dir():
        return any(path.glob("*.toml"))
    try:
        return path.suffix == ".json" and SCHEMA_FIELD not in read_whole(path)
    except OSError:
        return False


def look_at(names: Sequence[str]) -> tuple[ScenarioSet, list[Problem]]:
    """All well-formed scenarios of these sets, and all faults. A family of one file is known in all."""
    faults: list[Problem] = []
    contents: dict[str, ScenarioFile] = {}
    for place, file in [each for name in names for each in _files(name)]:
        try:
            content = _content(file)
        except InputError as error:
            faults.append(Problem(place, str(error)))
            continue
        faults += misfits(content, ScenarioFile, place)
        contents[place] = _well_formed(content)
    families, own = dict(builtin_families()), list[Family]()
    for place, each in contents.items():
        for family in each.families:
            faults += family_faults(family, families, f"{place}: {family.id}")
            own.append(family)
            families.setdefault(family.id, family)
    placed = [(place, scenario) for place, each in contents.items() for scenario in each.scenarios]
    for place, scenario in placed:
        faults += scenario_faults(scenario, families, f"{place}: {scenario.id}")
    faults += _repeated(placed)
    credit = dict.fromkeys(each.credit for each in contents.values() if each.credit)
    return ScenarioSet(tuple(scenario for _, scenario in placed), families, tuple(own), tuple(credit)), faults


def _well_formed(content: Mapping[str, Any]) -> ScenarioFile:
    """What of a file keeps to the types: tables of scenarios and families that do not are left out."""
    kept = {"schema": SCHEMA, **{name: content[name] for name in ("credit",) if isinstance(content.get(name), str)}}
    for name, kind in (("family", Family), ("scenario", Scenario)):
        if isinstance(tables := content.get(name), list):
            kept[name] = [table for table in tables if not any(misfits(table, kind, ""))]
    found: ScenarioFile = converted(kept, ScenarioFile)
    return found


def _repeated(placed: Sequence[tuple[str, Scenario]]) -> Iterator[Problem]:
    """Ids that several scenarios of one language have: a twin in another language has the same one."""
    first: dict[tuple[str, str], str] = {}
    for place, scenario in placed:
        key = scenario.id, scenario.language
        if key in first:
            yield Problem(f"{place}: {scenario.id}: id", f"expected an id of its own, got that of one in {first[key]}")
        first.setdefault(key, place)


def _files(name: str) -> list[tuple[str, Traversable]]:
    """The files of a set, each with its name in messages; a file that cannot be read is one, too.

    InputError for a folder without any.
    """
    if name in BUILTIN:
        folder: Traversable = files("fdbcore.suites.staged") / "data" / "scenarios" / BUILTIN[name]
        found = [folder / f"{family}.toml" for family in builtin_families()]
        return [(f"{name}: {file.name}", file) for file in found if file.is_file()]
    path = Path(name)
    if not path.is_dir():
        return [(name, path)]
    if not (inside := sorted(filter(Path.is_file, path.glob("*.toml")))):
        raise InputError(f"{name}: expected files of scenarios (*.toml), found none")
    return [(str(each), each) for each in inside]


def _content(file: Traversable) -> dict[str, Any]:
    try:
        content = toml_values(read_whole(file).decode())
    except OSError as error:
        names = ", ".join(BUILTIN)
        raise InputError(f"expected a file of scenarios, or one of {names}, got: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML; the message names the line
        raise InputError(f"expected TOML in UTF-8, got: {error}") from error
    if content.get("schema") != SCHEMA:
        raise InputError(f'expected schema = "{SCHEMA}", got {content.get("schema", "none")!r}')
    return content
