"""A run as a table sees it: its calls, whether they were replayed or live, with what is known of each.

<run>/corpus.json     of `replay`: settings, versions, and the calls with their files, columns and status
      run.json        of `run`: the plan, with the calls in its order
      <call>/         a recording each
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from fdbcore.errors import RecordingError
from fdbcore.measures.quantities import Quantity
from fdbcore.recording import HEALTH, META, QUANTITIES, RECORDING_SCHEMA, SCORES, Recording, folders_in, read_json
from fdbcore.score import read_quantities, read_with_echo, unscored

CORPUS_SCHEMA: Final = "fdbcore.corpus/1"
RUN_SCHEMA: Final = "fdbcore.run/1"
CORPUS, RUN = "corpus.json", "run.json"
SCORED: Final = (HEALTH, SCORES, QUANTITIES)
"""What a recording has once it is done with."""

DONE, DAMAGED, FAILED, INVALID, WAITING = "done", "damaged", "failed", "invalid", "waiting"
"""How a call stands. damaged: a part of its file is missing, the rest is scored. failed: its file cannot be read, or
its system is to blame. invalid: the harness is. waiting: not yet replayed or held."""


@dataclass(frozen=True)
class Call:
    """One call of a run.

    name, path: its folder. status, reason: how it stands, and why if it is not done. unscored: why it is in no measure,
    or None. columns: what is known of it beside its audio; of a live call at least system, clip, trial and outcome.
    files: what it was replayed from.
    """

    name: str
    path: Path
    status: str = DONE
    reason: str | None = None
    unscored: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()

    @property
    def recording(self) -> Recording:
        """Its recording, opened anew each time. RecordingError where there is none."""
        return Recording(self.path)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """The items of its measures, read anew each time (thousands need no memory); none if unscored."""
        return read_quantities(self.recording) if self.unscored is None else {}

    @property
    def with_echo(self) -> Mapping[str, Quantity]:
        """Those of its quantities that echo would change, with it; mostly none."""
        return read_with_echo(self.recording) if self.unscored is None else {}


@dataclass(frozen=True)
class Corpus:
    """The calls of the run in `path`, in its order."""

    path: Path
    calls: Sequence[Call]

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a run of `replay` or of `run`, or a single recording. RecordingError for what is none of these."""
        if os.path.isfile(path / CORPUS):
            return cls(path, tuple(_replayed(path)))
        if os.path.isfile(path / RUN):
            return cls(path, tuple(_live(path)))
        return cls(path, tuple(_found(path)))

    @property
    def scored(self) -> list[Call]:
        """Those that are in the measures."""
        return [call for call in self.calls if call.unscored is None]

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """The settings that most of the scored calls have; None where nothing is scored."""
        return next(iter(self._made_by[0].values()), (None, 0))[0]

    @property
    def settings_sha256s(self) -> Mapping[str, int]:
        """How many scored calls have each settings, the most common first. Several are no mistake where a detector
        treats telephone calls in another way."""
        return {sha256: count for sha256, (_, count) in self._made_by[0].items()}

    @property
    def all_settings(self) -> Sequence[Mapping[str, Any]]:
        """Each settings that scored calls have, the most common first."""
        return [settings for settings, _ in self._made_by[0].values()]

    @property
    def versions(self) -> Mapping[str, Sequence[str]]:
        """The versions of each package that made the scored calls, the most common first."""
        return self._made_by[1]

    @cached_property
    def _made_by(self) -> tuple[dict[str, tuple[Mapping[str, Any], int]], dict[str, list[str]]]:
        settings: dict[str, Mapping[str, Any]] = {}
        shas: Counter[str] = Counter()
        packages: Counter[tuple[str, str]] = Counter()
        for call in self.scored:
            meta = call.recording.meta
            settings.setdefault(meta["settings_sha256"], meta["settings"])
            shas[meta["settings_sha256"]] += 1
            packages.update({name: str(version) for name, version in meta["versions"].items()}.items())
        versions: dict[str, list[str]] = {}
        for (name, version), _ in packages.most_common():
            versions.setdefault(name, []).append(version)
        return {sha256: (settings[sha256], count) for sha256, count in shas.most_common()}, versions


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run, of `replay` or of `run`, or holds recordings of ours."""
    known = [(path / CORPUS, CORPUS_SCHEMA), (path / RUN, RUN_SCHEMA)]
    return any(_has_schema(*of) for of in [*known, *((meta, RECORDING_SCHEMA) for meta in path.glob(f"*/{META}"))])


def _has_schema(path: Path, schema: str) -> bool:
    with suppress(RecordingError, AttributeError):
        return path.is_file() and bool(read_json(path).get("schema") == schema)
    return False


def read_corpus(path: Path) -> dict[str, Any]:
    """The corpus.json of a run of `replay`. RecordingError for another schema."""
    corpus: dict[str, Any] = read_json(path / CORPUS)
    return _of_schema(corpus, CORPUS_SCHEMA, path / CORPUS)


def case_columns(case: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> dict[str, str]:
    """The columns of a live call, of its case in the plan and of how it ended."""
    clip = (case.get("clip") or {}).get("name", "")
    return {
        "system": str(case["system"]),
        "clip": str(clip),
        "trial": str(case["trial"]),
        "outcome": outcome["kind"] if outcome else WAITING,
    }


def held_columns(recording: Recording) -> dict[str, str]:
    """The columns of a recording that is, or replays, a live call of a run; none for any other."""
    held = recording.as_held
    return case_columns(held["case"], held.get("outcome")) if held.get("case") else {}


def standing(recording: Recording) -> tuple[str, str | None]:
    """How a call stands by its recording, and why if it is not done."""
    damages, outcome = recording.damages, recording.as_held.get("outcome") or {}
    return DAMAGED if damages else outcome.get("kind", DONE), "; ".join(damages) or outcome.get("reason")


def _replayed(path: Path) -> Iterator[Call]:
    corpus = read_corpus(path)
    for known in corpus["calls"]:
        files = tuple(file["path"] for file in known["files"])
        told = {key: known[key] for key in ("status", "reason", "unscored", "columns")}
        if known["status"] == WAITING and (made := _made_since(corpus.get("began"), path / known["name"])) is not None:
            status, reason = standing(made)
            columns = {**held_columns(made), **known["columns"]}
            told = {"status": status, "reason": reason, "unscored": unscored(made), "columns": columns}
        elif told["unscored"] is None and (gone := _why_unreadable(path / known["name"])) is not None:
            told |= {"status": FAILED, "reason": gone, "unscored": gone}
        yield Call(known["name"], path / known["name"], files=files, **told)


def _why_unreadable(path: Path) -> str | None:
    """Why there is no recording in a folder that had one; None if it is there."""
    try:
        Recording(path)
    except RecordingError as error:
        return str(error)
    return None


def _made_since(began: str | None, path: Path) -> Recording | None:
    """The recording of a call whose replay was killed before it wrote that down; None unless it is whole."""
    with suppress(RecordingError, KeyError):
        recording = Recording(path)
        whole = recording.meta["status"] == "complete" and all((path / part).is_file() for part in SCORED)
        return recording if whole and began is not None and recording.meta["created"] >= began else None
    return None


def _live(path: Path) -> Iterator[Call]:
    for case in _of_schema(read_json(path / RUN), RUN_SCHEMA, path / RUN)["cases"]:
        folder = path / case["name"]
        recording = None
        with suppress(RecordingError):  # not held yet, or its state is torn: it will be held again
            recording = Recording(folder)
        outcome = recording.meta.get("outcome") if recording else None
        columns = case_columns(case, outcome)
        if recording is None or outcome is None:
            yield Call(case["name"], folder, WAITING, "not held to its end", "not held to its end", columns)
        else:
            yield Call(case["name"], folder, outcome["kind"], outcome["reason"], unscored(recording), columns)


def _found(path: Path) -> Iterator[Call]:
    """The recordings in a folder that holds nothing else on their run."""
    for folder in folders_in(path):
        if (gone := _why_unreadable(folder)) is not None:
            yield Call(folder.name, folder, FAILED, gone, gone)
            continue
        recording = Recording(folder)
        status, reason = recording.meta["status"], recording.meta.get("reason")
        files = tuple(file["path"] for file in (recording.meta.get("source") or {}).get("files", ()))
        if status != "complete":
            why = reason or f"the recording is {status}"
            yield Call(recording.name, recording.path, FAILED, why, why, held_columns(recording), files)
        else:
            columns = held_columns(recording)
            yield Call(recording.name, recording.path, DONE, None, unscored(recording), columns, files)


def _of_schema(values: dict[str, Any], schema: str, path: Path) -> dict[str, Any]:
    if values.get("schema") != schema:
        raise RecordingError(f"{path}: expected schema {schema}, got {values.get('schema')!r}")
    return values
