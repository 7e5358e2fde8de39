"""Actions of `fdbcore scenarios` on recorded scenarios: it imports a released folder, and checks files."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols.suite import Command, Console
from fdbcore.types import Option

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.cases import SystemResult
    from fdbcore.suites.fdb_v3.scenarios import RecordedScenarioEntry, RecordedScenarioFile
    from fdbcore.types.scorecard import Figure, Measure

MOST_COLUMNS: Final = 100

_JUDGED: Final = ("response_quality", "filler", "completion")
"""Measures that only a judge can give."""


def _validate(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.fdb_v3 import scenarios

    is_right = True
    for name in options["file"]:
        found, faults = scenarios.look_at(scenarios.SMOKE if name == "smoke" else Path(name))
        for fault in faults:
            console.complain(f"{fault.where}: {fault.reason}")
        if found is not None:
            console.say(summary(found))
        is_right &= not faults
    return is_right


def _import(options: Mapping[str, Any], console: Console) -> bool:
    from msgspec import to_builtins

    from fdbcore.runtime import whole_file
    from fdbcore.suites.fdb_v3.folder import import_folder

    folder: Path = options["path"]
    out: Path = options["out"]
    if out.exists():
        raise SettingsError(f"--out {out}: expected a new file, got one that exists")
    found = import_folder(folder, out, console.show)
    for problem in found.problems:
        console.complain(f"left out: {problem}")
    for name, count in sorted(found.unknown.items()):
        console.complain(f"warning: {name}: not understood, and not read (in {count})")
    file = found.file()
    if not file.record:
        raise InputError(f"{folder}: expected recordings that can be used, got none")
    with whole_file(out) as written:
        written.write(json.dumps(to_builtins(file), ensure_ascii=False, indent=1).encode())
    console.say(summary(file))
    if found.results:
        columns = min(shutil.get_terminal_size((MOST_COLUMNS, 24)).columns, MOST_COLUMNS)
        console.say("\n".join(["", *scores(file.record, found.results, columns), ""]))
    console.say(f"credit: {file.credit}\n{out}")
    return not found.problems


def _reads(path: Path) -> bool:
    """Files of recorded scenarios (.json), and folders with recordings."""
    from fdbcore.suites.fdb_v3.scenarios import holds_scenarios

    return holds_scenarios(path)


COMMANDS: Final = (
    Command(
        "validate",
        """Check files of recorded scenarios: a line for each fault, and exit code 1 if there is one.

        FILE is a .json, or smoke for the set that ships.

        Example: fdbcore scenarios validate smoke
        """,
        (Option("FILE", several=True, required=True),),
        _validate,
        group="scenarios",
        reads=_reads,
    ),
    Command(
        "import",
        """Import the released folder of Full-Duplex-Bench v3.

        It has recordings, with the calls that are expected, as released and repaired; results of systems that lie
        beside them are scored as published. Recordings stay where they are.

        Example (needs the released folder): fdbcore scenarios import fdb_v3_data_released --out fdb3.json
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


def summary(file: RecordedScenarioFile) -> str:
    """Counts of recordings, scenarios and speakers, who annotated them, and what was repaired."""
    from fdbcore.report import counted
    from fdbcore.suites.fdb_v3.scenarios import counts_of

    card, records, has = file.card, file.record, counts_of(file.record)
    n_silent = card.silent_scenarios
    silent = f"; {counted(n_silent, 'scenario')} without a recording" if n_silent else ""
    counts = f"{counted(has['recordings'], 'recording')} of {counted(has['scenarios'], 'scenario')}"
    made = ", synthetic" if card.synthetic else ""
    lines = [f"{counts} by {counted(has['speakers'], 'speaker')}{made}{silent}"]
    stated = {name: getattr(card, name) for name in has}
    if stated != has:
        lines.append(f"its data card says otherwise: {', '.join(f'{count} {name}' for name, count in stated.items())}")
    lines += [f"{name}: {getattr(card, name)}" for name in ("annotators", "guideline", "agreement")]
    if flagged := [record for record in records if record.repairs]:
        kinds = Counter(repair.kind for record in flagged for repair in record.repairs)
        told = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.most_common())
        lines.append(f"labels of {counted(len(flagged), 'recording')} were repaired: {told}")
    return "\n".join(lines)


def scores(
    records: list[RecordedScenarioEntry], results: Mapping[str, Mapping[str, SystemResult]], columns: int
) -> list[str]:
    """The published measures of the systems whose results were found, with both labels, and their known defects."""
    from fdbcore.report import cells_table, filled
    from fdbcore.suites.fdb_v3.card import defects
    from fdbcore.suites.fdb_v3.cases import unfinished
    from fdbcore.suites.fdb_v3.compat import PUBLISHED, compat_scores
    from fdbcore.suites.fdb_v3.rows import SLICES, slices_of
    from fdbcore.types.scorecard import Figure

    shown = {name: each for name, each in PUBLISHED.items() if name not in _JUDGED}
    rows = [["system", "n", *(each.label for each in shown.values()), "Pass@1 repaired", "final state"]]
    passed: dict[str, dict[str, Figure]] = {}
    for provider, found in results.items():
        mine = [(record, found[record.id]) for record in records if record.id in found]
        logs = [(record, result.log(record.as_released)) for record, result in mine]
        released = compat_scores(log for _, log in logs)
        fixed = compat_scores(result.log(record.repaired) for record, result in mine)
        right = fmean(result.leaves_right_state(record.repaired) for record, result in mine)
        published = [_cell(released[name], scale) for name, scale in shown.items()]
        ours = [_cell(fixed["passed"]), _cell(Figure(right))]
        rows.append([provider, str(len(mine)), *published, *ours])
        passed[provider] = {
            name: compat_scores(log for record, log in logs if name in slices_of(record))["passed"] for name in SLICES
        }
    names = [name for name in SLICES if any(each[name].n for each in passed.values())]
    slices = [["Pass@1 (n)", *names]]
    slices += [[system, *(_counted(each[name]) for name in names)] for system, each in passed.items()]
    about = (
        "as published, by the exact matcher, labels as released; response, filler and completion need a judge: "
        "unscored. Final state is ours, by repaired labels. Of recordings [in brackets], with known defects:"
    )
    # a line a measure: there are more of them than of systems
    tables = [cells_table(list(zip(*each, strict=True)), columns) for each in (rows, slices)]
    told = [*unfinished(results), filled(about, columns), *defects(shown.values(), columns)]
    return [*tables[0], "", *tables[1], "", *told]


def _counted(figure: Figure) -> str:
    return f"{_cell(figure)} ({figure.n})" if figure.n else "-"


def _cell(figure: Figure, scale: Measure | None = None) -> str:
    if figure.value is None:
        return "-"
    return f"{figure.value:.2f} s" if scale and scale.unit else f"{figure.value:.3f}"
