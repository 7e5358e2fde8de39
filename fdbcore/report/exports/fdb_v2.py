"""Exports recordings in the layout of Full-Duplex-Bench v2, for its transcription, judge and scoring scripts.

    OUT/FAMILY/TASK/A.wav, B.wav     the examiner and the system: mono, 48 kHz, on one timeline
                    A.json, B.json   their words with times, where they are known

TASK is the id of the examiner's scenario, or else the name of the recording; FAMILY is one of the four of the
benchmark, by the first part of TASK, and left out for other tasks. With several systems, pacings or trials, these are
folders above: OUT/SYSTEM/PACING/TRIAL/FAMILY/TASK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import InputError, writes
from fdbcore.recording.files import write_json
from fdbcore.recording.reader import Recording
from fdbcore.report.exports.fdb1 import why_not_held
from fdbcore.sources.benchmark_folders import V2_FILES
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.names import real_path
from fdbcore.sources.recorded import open_recorded, session_of
from fdbcore.types import SIDES

FAMILIES: Final[Mapping[str, str]] = {
    "daily": "Daily",
    "correction": "Correction",
    "entity": "EntityTracking",
    "entitytracking": "EntityTracking",
    "safety": "Safety",
}
"""The folders of the benchmark, by the first part of a task's id in lower case."""


def export_fdb2(recordings: Sequence[Recording], out: Path) -> list[Path]:
    """Write the files of each recording and return the paths of the audio files.

    Raises InputError for two recordings of one task, and for one that cannot be exported; RecordingError if its audio
    has changed, or if a file cannot be written.
    """
    return [path for folder, recording in _folders(recordings, out).items() for path in _export(recording, folder)]


def _folders(recordings: Sequence[Recording], out: Path) -> dict[Path, Recording]:
    """The recording of each folder."""
    for recording in recordings:
        if problem := why_not_held(recording):
            raise InputError(f"{recording.path}: {problem}")
    conditions = [_conditions(recording) for recording in recordings]
    differ = [len(set(column)) > 1 for column in zip(*conditions, strict=True)]
    folders: dict[Path, Recording] = {}
    for recording, own in zip(recordings, conditions, strict=True):
        task = _task(recording)
        above = [part for part, differs in zip(own, differ, strict=True) if differs and part]
        family = [name] if (name := FAMILIES.get(task.partition(".")[0].lower())) else []
        folder = out / Path(*map(fit_for_a_folder, [*above, *family, task]))
        if folder in folders:
            raise InputError(f"{recording.path}: expected another task than that of {folders[folder].path}, got {task}")
        if real_path(folder) in {path.parent for path in recording.source_paths}:
            raise InputError(f"{out}: expected a folder apart from the calls, got that of {recording.path}")
        folders[folder] = recording
    return folders


def _conditions(recording: Recording) -> tuple[str, str, str]:
    """System, pacing and trial, as folders; "" for what the recording does not say."""
    case = recording.original_meta.get("case")
    pacing = _examiner(recording).get("pacing", {}).get("name", "")
    return (case["system"], pacing, f"trial-{case['trial']}") if case else ("", pacing, "")


def _task(recording: Recording) -> str:
    return str(_examiner(recording).get("brief", {}).get("id") or recording.name)


def _examiner(recording: Recording) -> Mapping[str, Any]:
    """What the recording says of an examiner on side A; nothing if there was none."""
    party: Mapping[str, Any] = (recording.original_meta.get("parties") or {}).get("A") or {}
    return party if party.get("kind") == "examiner" else {}


def _export(recording: Recording, folder: Path) -> list[Path]:
    session = session_of(open_recorded(recording.path))
    paths = [folder / name for name in V2_FILES]
    with writes(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with session.open() as source, ExitStack() as opened:
        files = [opened.enter_context(WavWriter(path, channels=1)) for path in paths]
        for block in source.blocks():
            for file, pcm in zip(files, block, strict=True):
                if pcm is not None:
                    file.write(pcm)
    for side, path in zip(SIDES, paths, strict=True):
        if (words := recording.spoken(side)) is not None:
            chunks = [{"text": text, "timestamp": [start_s, end_s]} for text, start_s, end_s in words]
            write_json(path.with_suffix(".json"), {"text": " ".join(text for text, *_ in words), "chunks": chunks})
    return paths
