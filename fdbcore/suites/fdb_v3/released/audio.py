"""The audio of released results as recordings: output_{provider}.wav beside the user's file, replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.recording.files import part_of
from fdbcore.recording.run import FAILED
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings
from fdbcore.runs.replay_many import ReplayProgress, replay_corpus
from fdbcore.runtime.executor import Workers
from fdbcore.sources.calls import PlannedCall
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.names import Oddities
from fdbcore.sources.sessions import SessionInput
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.scenario_types import RecordedScenarioEntry

RECORDINGS: Final = "recordings"
"""Where in the results folder the recordings are, a folder for each system. What is there is used again."""


def replayed(
    records: Sequence[RecordedScenarioEntry], provider: str, base: Path, out: Path, show: Callable[[str], None]
) -> tuple[dict[str, Path], list[Problem]]:
    """The recordings of a system's results by the id of the record, and why there are none of some.

    base: where the paths of the records start. Results without audio are in neither.
    """
    calls = [
        PlannedCall(SessionInput(record["id"], base / record["audio"]["path"], base / result["audio"]), {})
        for record in records
        for result in record.get("results", ())
        if result["provider"] == provider and "audio" in result
    ]
    if not calls:
        return {}, []

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{provider}: {progress.ended} of {progress.calls} outputs read")

    settings = ReplaySettings(part_of(out, RECORDINGS, fit_for_a_folder(provider)), None, {})
    found: dict[str, Path] = {}
    problems = []
    for call, entry in zip(calls, replay_corpus(calls, settings, Workers(), Oddities(), watch), strict=True):
        path = settings.run_path / entry["name"]
        if entry["status"] == FAILED:
            problems.append(Problem(str(call.session.b), f"audio left out: {entry['reason']}"))
        else:
            found[call.session.name] = path
    return found, problems
