"""An imported folder as text: its recordings, what was repaired, and what systems' results are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Final

from fdbcore.report import cells_table, counted, filled
from fdbcore.suites.fdb_v3.compat.measures import compat_scores
from fdbcore.suites.fdb_v3.released.results import SystemResult
from fdbcore.suites.fdb_v3.rows import slices_of
from fdbcore.suites.fdb_v3.scenarios import RecordedScenarioEntry, RecordedScenarioFile, counts_of
from fdbcore.suites.fdb_v3.terms import PUBLISHED, SLICES
from fdbcore.types.scorecard import Figure, Scale

_JUDGED: Final = ("response_quality", "filler", "completion")
"""What only a judge can say."""


def summary(file: RecordedScenarioFile) -> str:
    """How many recordings, scenarios and speakers there are, who annotated them, and what was repaired."""
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
    slices += [[system, *(_counted(each[name]) for name in names)] for system, each in passed.items()]
    about = (
        "as published, by the exact matcher, labels as released; response, filler and completion need a judge: "
        "unscored. Final state is ours, by repaired labels. Of recordings [in brackets], with known defects:"
    )
    # a line a measure: there are more of them than of systems
    tables = [cells_table(list(zip(*each, strict=True)), columns) for each in (rows, slices)]
    told = [*unfinished(results), filled(about, columns), *defects(shown.values(), columns)]
    return [*tables[0], "", *tables[1], "", *told]


def unfinished(results: Mapping[str, Mapping[str, SystemResult]]) -> Iterator[str]:
    """A line for each system of whose runs some were not completed. results: of each system."""
    for system, found in results.items():
        if count := sum(each.has_failed for each in found.values()):
            yield f"{system}: {counted(count, 'run')} of it not completed; scored by what was logged"


def _counted(figure: Figure) -> str:
    return f"{_cell(figure)} ({figure.n})" if figure.n else "-"


def defects(measures: Iterable[Scale], width: int) -> list[str]:
    """The known defects of published measures, in lines of at most `width` columns; in brackets: what they are over."""
    told = (f"  {each.label} [{each.over}]: {each.defect}" for each in measures)
    return [line for text in told for line in filled(text, width, "    ").splitlines()]


def _cell(figure: Figure, scale: Scale = PUBLISHED["passed"]) -> str:
    if figure.value is None:
        return "-"
    return f"{figure.value:.2f} s" if scale.unit else f"{figure.value:.3f}"
