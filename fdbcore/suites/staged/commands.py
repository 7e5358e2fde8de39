"""`fdbcore scenarios`: lists, shows, checks and imports scenarios."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.errors import InputError, SettingsError, nearest
from fdbcore.protocols.suite import Command, Console
from fdbcore.types import Option

if TYPE_CHECKING:
    from fdbcore.suites.staged.reading import ScenarioSet

MOST_COLUMNS: Final = 100
SCENARIOS: Final = Option(
    "--scenarios",
    "builtin (English), builtin-ja, a file, or a folder of files. Default: builtin; with --language, all that come "
    "with fdbcore.",
    several=True,
    metavar="SET",
)
LANGUAGE: Final = Option("--language", "Those in this language alone: en, ja, ...", metavar="CODE")
AS_JSON: Final = Option("--json", "Print JSON of the form of the files.", kind="flag")


def _list(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.staged.screen import summary, table

    found = _chosen(options)
    if options["family"] is not None:
        _check("--family", options["family"], [scenario.family for scenario in found.scenarios])
        found = found.only(lambda scenario: scenario.family == options["family"])
    if options["json"]:
        console.say(_json(found))
    else:
        console.say(f"{table(found.scenarios)}\n\n{summary(found.scenarios)}")
    return True


def _show(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.staged.screen import shown

    found = _chosen(options)
    ids = [scenario.id for scenario in found.scenarios]
    if options["id"] not in ids:
        near = nearest(options["id"], ids)
        raise InputError(f"expected the id of a scenario (fdbcore scenarios list), got {options['id']!r}{near}")
    found = found.only(lambda scenario: scenario.id == options["id"])
    columns = min(shutil.get_terminal_size((MOST_COLUMNS, 24)).columns, MOST_COLUMNS)
    texts = [shown(each, found.families[each.family], columns) for each in found.scenarios]
    console.say(_json(found) if options["json"] else "\n\n".join(texts))
    return True


def _chosen(options: Mapping[str, Any]) -> ScenarioSet:
    """The sets that the user named, with the scenarios in the language that the user named."""
    from fdbcore.suites.staged.reading import BUILTIN, read_set

    found = read_set(*(options["scenarios"] or (BUILTIN if options["language"] else ("builtin",))))
    if options["language"] is None:
        return found
    _check("--language", options["language"], [scenario.language for scenario in found.scenarios])
    return found.only(lambda scenario: scenario.language == options["language"])


def _check(flag: str, value: str, there: list[str]) -> None:
    if value not in there:
        raise SettingsError(f"{flag}: expected one of {', '.join(dict.fromkeys(there))}, got {value!r}")


def _json(found: ScenarioSet) -> str:
    return json.dumps(found.to_json(), ensure_ascii=False, indent=1)


def _validate(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.staged.reading import by_reason, lacks, look_at, near_duplicates
    from fdbcore.suites.staged.screen import summary

    found, faults = look_at(options["file"])
    for fault in faults:
        console.complain(f"{fault.where}: {fault.reason}")
    known = [scenario for scenario in found.scenarios if scenario.family in found.families]
    lacking = [(each.id, reason) for each in known for reason in lacks(each, found.families[each.family])]
    for line in by_reason(lacking):
        console.complain(f"warning: {line}")
    for first, second, share in near_duplicates(found.scenarios):
        alike = f"{first.id} and {second.id} ({first.language})"
        console.complain(f"warning: {alike}: near-duplicates: {share:.0%} of the word sequences of the shorter one")
    console.say(summary(found.scenarios, len(faults)))
    return not faults


def _import(options: Mapping[str, Any], console: Console) -> bool:
    from msgspec import to_builtins

    from fdbcore.runtime import whole_file
    from fdbcore.suites.staged.reading import read_set
    from fdbcore.suites.staged.released import import_released, toml_text
    from fdbcore.suites.staged.screen import summary

    out: Path = options["out"]
    if out.exists():
        raise SettingsError(f"--out {out}: expected a new file, got one that exists")
    content = import_released(options["path"])
    with whole_file(out) as file:
        file.write(toml_text(to_builtins(content)).encode())
    console.say(f"{summary(read_set(str(out)).scenarios)}\ncredit: {content.credit}\n{out}")
    return True


def _reads(path: Path) -> bool:
    """Files of scenarios (.toml), folders of them, sets that come with fdbcore, and the released file."""
    from fdbcore.suites.staged.reading import holds_scenarios

    return holds_scenarios(path)


COMMANDS: Final = (
    Command(
        "list",
        """List scenarios by family and class, with their ids and titles.

        Example: fdbcore scenarios list --family correction
        """,
        (SCENARIOS, Option("--family", "Those of this family alone.", metavar="ID"), LANGUAGE, AS_JSON),
        _list,
        group="scenarios",
    ),
    Command(
        "show",
        """Show a scenario: who side A is, what it wants, what it says, and how one tells that it got it.

        Example: fdbcore scenarios show correction.next-turn.01
        """,
        (Option("ID", required=True), SCENARIOS, LANGUAGE, AS_JSON),
        _show,
        group="scenarios",
    ),
    Command(
        "validate",
        """Check files of scenarios: a line for each fault, and exit code 1 if there is one.

        FILE is a file, a folder of files, builtin or builtin-ja. Warnings name scenarios that are much alike, and what
        scenarios lack that not everybody needs.

        Example: fdbcore scenarios validate builtin
        """,
        (Option("FILE", several=True, required=True),),
        _validate,
        group="scenarios",
        reads=_reads,
    ),
    Command(
        "import",
        """Import the released scenarios of Full-Duplex-Bench v2, prompts_staged_200.json.

        They have goals, and no words: an examiner with a language model can play them, a keyless one cannot.

        Example (needs the released file): fdbcore scenarios import prompts_staged_200.json --out fdb2.toml
        """,
        (
            Option("PATH", kind="path", required=True),
            Option("--out", "The file to write.", kind="path", metavar="FILE", required=True),
        ),
        _import,
        group="scenarios",
        reads=_reads,
    ),
)
