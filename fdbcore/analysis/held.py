"""The calls of a run that a suite can score, and why it cannot score the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from fdbcore.analysis.order import planned_calls
from fdbcore.errors import FdbError, InputError
from fdbcore.recording.files import META, read_json
from fdbcore.recording.form import one_call
from fdbcore.recording.run import outcome_in
from fdbcore.session.converse import said_nothing
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.recording.meta import PlannedCase
    from fdbcore.recording.run import PlannedRun

Loss: TypeAlias = Literal["invalid", "failed", "missing"]
"""The reason why a call is not scored: the harness or side A is to blame, the system is, or it cannot be read (yet)."""


class LostCall(NamedTuple):
    """A call that is not scored, and why. columns: what was planned is known, also if nothing of it can be read."""

    path: Path
    system: str
    columns: Mapping[str, str]
    kind: Loss
    reason: str

    @property
    def problem(self) -> Problem:
        """It as what could not be used."""
        return Problem(str(self.path), self.reason)


def held_calls(
    run: Path, plan: PlannedRun, lost: list[LostCall], show: Callable[[str], None]
) -> Iterator[tuple[Path, PlannedCase]]:
    """The calls of a run that nobody spoiled, in the order of `planned_calls`; the others are added to `lost`.

    A system that said nothing is scored. What is done with a call stands in `read_or_lost`.
    """
    for planned in planned_calls(plan):
        path = run / planned["name"]
        show(f"scoring {path.name}")
        with read_or_lost(path, planned, lost):
            if (ended := outcome_in(path)) is None:
                if (path / META).is_file():
                    read_json(path / META)  # RecordingError if it is damaged
                raise InputError("expected a conversation, got none yet: the run is not finished")
            if ended["kind"] == "done" or said_nothing(ended):
                yield path, planned
                continue
            article = "an" if ended["kind"] == "invalid" else "a"
            reason = f"expected a conversation, got {article} {ended['kind']} one: {ended['reason'] or ''}"
            lost.append(LostCall(path, planned["system"], planned.get("columns", {}), ended["kind"], reason))


@contextmanager
def read_or_lost(path: Path, planned: PlannedCase, lost: list[LostCall]) -> Iterator[None]:
    """An error for a call that cannot be read, or only damaged: it is the call's own, and ends no other work."""
    try:
        with one_call(path):
            yield
    except FdbError as error:
        reason = str(error).removeprefix(f"{path}: ").removeprefix(f"{path}/")
        lost.append(LostCall(path, planned["system"], planned.get("columns", {}), "missing", reason))


def what_decides(described: Any) -> Any:  # noqa: ANN401
    """A description of a system without versions of software, and without the path of a file whose content is known."""
    if isinstance(described, dict):
        left_out = {"versions", *(["path"] if "sha256" in described else [])}
        return {name: what_decides(each) for name, each in described.items() if name not in left_out}
    return [what_decides(each) for each in described] if isinstance(described, list) else described
