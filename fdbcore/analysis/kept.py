"""Documents that a run was last given: its comparison with a baseline, and the verdicts of its gates.

Both are kept in the folder of the run, as documents of `fdbcore report`, and all pages of the run are drawn from them.
They hold for the scores that they were made from, and no longer.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fdbcore.analysis.call_verdicts import GatedRun, call_verdicts
from fdbcore.analysis.comparison import COMPARISON_SCHEMA, RunComparison
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.facts import QUANTITIES_SHA256
from fdbcore.analysis.groups import CallGroup
from fdbcore.clock import utc_now
from fdbcore.errors import FdbError, RecordingError
from fdbcore.recording.files import read_json, write_json
from fdbcore.recording.places import located, place_from, with_changed

COMPARISON, GATES = "comparison.json", "gates.json"

_PLACES: Final = frozenset(("path", "page"))
"""The keys of a comparison that name what lies where the command ran, or runs; in the run's folder they start there."""
_CONDITIONS: Final = frozenset(("where",))
"""The keys of what a user asked of columns."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The last documents of a run. comparison: with a baseline, without gates. gates: decided, without comparisons."""

    comparison: RunComparison | None = None
    gates: RunComparison | None = None

    def gated(self, run: Run) -> GatedRun | None:
        """The gates, and their verdicts on the calls of `run`: that run, or some of its calls."""
        if self.gates is None:
            return None
        decided = self.gates["gates"]
        return GatedRun(self.gates, call_verdicts(_group(run), decided["results"], decided["level"]))


def keep(run: Run, document: RunComparison) -> None:
    """Keep a comparison, or gates, or both, in the folder of their run; each replaces the last one of its kind.

    RecordingError if that fails.
    """
    placed: RunComparison = with_changed(
        document, lambda place: place_from(run.path, Path(place)), _PLACES, _CONDITIONS
    )
    if (of_gates := placed.get("gates")) is not None:
        of_gates["file"] = place_from(run.path, Path(of_gates["file"]))
    made: RunComparison = {**placed, "made": utc_now(), "scores_sha256": _scores_sha256(run)}
    gates = made.pop("gates", None)
    if made["baseline"] is not None:
        write_json(run.path / COMPARISON, made, in_one_line=True)
    if gates is not None:
        write_json(run.path / GATES, {**made, "by": None, "comparisons": [], "gates": gates}, in_one_line=True)


def kept(run: Run) -> Kept:
    """The documents that a run was last given, without what was made from other scores than it has now."""
    found = [_read(run.path / name) for name in (COMPARISON, GATES)]
    if not any(found):
        return Kept()
    now = _scores_sha256(run)
    return Kept(*(document if document and document.get("scores_sha256") == now else None for document in found))


def forget_all_but(given: Kept, path: Path) -> None:
    """Remove from the folder of a run what is kept there and is no part of `given`."""
    for name, document in ((COMPARISON, given.comparison), (GATES, given.gates)):
        if document is None:
            (path / name).unlink(missing_ok=True)


def _read(path: Path) -> RunComparison | None:
    """The document in a file; None if it is missing, cannot be read, or is of another schema."""
    with suppress(RecordingError, AttributeError):  # AttributeError: its JSON is not an object
        found: RunComparison = read_json(path)
        placed: RunComparison = with_changed(
            found, lambda place: os.path.relpath(located(path.parent, place)), _PLACES, _CONDITIONS
        )
        return placed if found.get("schema") == COMPARISON_SCHEMA else None
    return None


def _scores_sha256(run: Run) -> str:
    """The hash of what figures are made from: the calls with their columns, and the quantities of those that count."""
    digest = hashlib.sha256()
    for call in run.calls:
        is_counted = call.unscored is None
        digest.update(json.dumps([call.name, is_counted, dict(call.columns)]).encode())
        with suppress(FdbError):
            digest.update(call.fact(QUANTITIES_SHA256).encode() if is_counted else b"")
    return digest.hexdigest()


def _group(run: Run) -> CallGroup:
    """The scored calls that can be read."""
    found = []
    for call in run.scored:
        with suppress(FdbError):
            found.append((call, call.quantities))
    return CallGroup("", [call for call, _ in found], [quantities for _, quantities in found])
