"""Actions of `fdbcore scenarios` on recorded scenarios: it imports a released folder, and checks files."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from msgspec import to_builtins

from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols.suite import Console
from fdbcore.report import cells_table, counted, filled
from fdbcore.runtime import whole_file
from fdbcore.suites.fdb_v3.card import defects
from fdbcore.suites.fdb_v3.cases import SystemResult, unfinished
from fdbcore.suites.fdb_v3.compat import PUBLISHED, compat_scores
from fdbcore.suites.fdb_v3.folder import import_folder
from fdbcore.suites.fdb_v3.rows import SLICES, slices_of
from fdbcore.suites.fdb_v3.scenarios import SMOKE, RecordedScenarioEntry, RecordedScenarioFile, counts_of, look_at
from fdbcore.types.scorecard import Figure, Measure

MOST_COLUMNS: Final = 100

_JUDGED: Final = ("response_quality", "filler", "completion")
"""Measures that only a judge can give."""


def validate(options: Mapping[str, Any], console: Console) -> bool:
    """A line for each fault of the files; whether there is none."""
    is_right = True
    for name in options["file"]:
        found, faults = look_at(SMOKE if name == "smoke" else Path(name))
        for fault in faults:
            console.complain(f"{fault.where}: {fault.reason}")
        if found is not None:
            console.say(summary(found))
        is_right &= not faults
    return is_right


def import_folder_of_release(options: Mapping[str, Any], console: Console) -> bool:
    """The released folder as a file of ours; whether all of it could be used."""
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


def summary(file: RecordedScenarioFile) -> str:
    """The numbers of recordings, scenarios and speakers, who annotated them, and what was repaired."""
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
    for system, each in passed.items():
        shares = (f"{_cell(each[name])} ({each[name].n})" if each[name].n else "-" for name in names)
        slices.append([system, *shares])
    about = (
        "as published, by the exact matcher, labels as released; response, filler and completion need a judge: "
        "unscored. Final state is ours, by repaired labels. Of recordings [in brackets], with known defects:"
    )
    # a line a measure: there are more of them than of systems
    tables = [cells_table(list(zip(*each, strict=True)), columns) for each in (rows, slices)]
    told = [*unfinished(results), filled(about, columns), *defects(shown.values(), columns)]
    return [*tables[0], "", *tables[1], "", *told]


def _cell(figure: Figure, scale: Measure | None = None) -> str:
    if figure.value is None:
        return "-"
    return f"{figure.value:.2f} s" if scale and scale.unit else f"{figure.value:.3f}"
