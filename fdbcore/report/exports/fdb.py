"""Exports recordings in the layouts of Full-Duplex-Bench, for its scripts.

v1 and v1.5, of played clips, for the scoring scripts:

    OUT/GROUP/ID/input.wav    the clip's file, unchanged
                 output.wav   the system's audio: mono, 48 kHz (the scripts accept any rate), aligned with the input
                              and as long as the input: cut off, or padded with silence
                 *.json       the sample's labels

A clip that was clean_input.wav gives clean_output.wav. With several systems or trials, OUT/SYSTEM/TRIAL/GROUP/ID.

v2, for the transcription, judge and scoring scripts:

    OUT/FAMILY/TASK/A.wav, B.wav     the examiner and the system: mono, 48 kHz, on one timeline
                    A.json, B.json   their words with times, where they are known

TASK is the id of the examiner's scenario, or else the name of the recording; FAMILY is one of the four of the
benchmark, by the first part of TASK, and left out for other tasks. With several systems, pacings or trials, these are
folders above: OUT/SYSTEM/PACING/TRIAL/FAMILY/TASK.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import InputError, writes
from fdbcore.recording.files import AUDIO, write_json
from fdbcore.recording.meta import PlannedCase, PlannedClip
from fdbcore.recording.places import located
from fdbcore.recording.reader import Recording
from fdbcore.sources.benchmark_folders import V2_FILES
from fdbcore.sources.clips import CLEAN_INPUT, INPUT, LABELS, fit_for_a_folder, read_clip
from fdbcore.sources.names import real_path
from fdbcore.sources.recorded import open_recorded, session_of
from fdbcore.types import SIDES, Pcm, ticks_to_s

FAMILIES: Final[Mapping[str, str]] = {
    "daily": "Daily",
    "correction": "Correction",
    "entity": "EntityTracking",
    "entitytracking": "EntityTracking",
    "safety": "Safety",
}
"""The folders of the benchmark, by the first part of a task's id in lower case."""


def why_not(recording: Recording) -> str | None:
    """The reason why a recording cannot be exported; None if it can."""
    case = recording.meta.get("case")
    clip = case.get("clip") if case else None
    if clip is None:
        return "expected one made from a clip, got another"
    if Path(clip["path"]).name not in (INPUT, CLEAN_INPUT):
        return f"expected a clip named {INPUT} or {CLEAN_INPUT} (Full-Duplex-Bench v1, v1.5), got {clip['path']}"
    return why_not_held(recording)


def why_not_held(recording: Recording) -> str | None:
    """The reason why nothing is to be scored of a recording: it is invalid, or never began; None if it was held."""
    outcome = recording.outcome
    reason = outcome.get("reason") if outcome else None
    if outcome and outcome.get("kind") == "invalid":
        return f"expected a valid conversation, got an invalid one: {reason}"
    if not recording.n_ticks:
        return f"expected a conversation, got one that never began: {reason}"
    return None


def caution(recording: Recording, name: str) -> str | None:
    """A warning for those who score the system's file of that name: the call failed, and it is silent from when on.

    None if there is nothing to say.
    """
    outcome = recording.meta.get("outcome")
    if not outcome or outcome.get("kind") != "failed":
        return None
    return f"failed: {outcome['reason']}; {name} is silent from {ticks_to_s(recording.n_ticks):g} s on"


def export_fdb1(recordings: Sequence[Recording], out: Path, made: Path) -> list[Path]:
    """Write the files of each recording into `made`, from where they go into `out`; the paths of output files there.

    Raises InputError for a recording that cannot be exported, or whose clip has changed since it was played;
    RecordingError if a file cannot be written.
    """
    outputs = _outputs(recordings, out)
    for output, recording in outputs.items():
        source = located(recording.path, _clip(recording)["path"])
        if (output.parent / source.name).resolve() == source.resolve():
            raise InputError(f"{out}: expected a folder apart from the clips, got that of {source}")
    for output, recording in outputs.items():
        _write_output(recording, made / output.relative_to(out))
    return [*outputs]


def _outputs(recordings: Sequence[Recording], out: Path) -> dict[Path, Recording]:
    """The recording of each output file."""
    _check(recordings, why_not)
    cases = [recording.meta["case"] for recording in recordings]
    outputs: dict[Path, Recording] = {}
    for recording, above in zip(recordings, _above([_system_and_trial(case) for case in cases]), strict=True):
        clip = _clip(recording)
        source = located(recording.path, clip["path"])
        folders = [*above, clip["group"], source.parent.name]
        output = out / Path(*map(fit_for_a_folder, folders), source.name.replace("input", "output"))
        if output in outputs:
            raise InputError(
                f"{recording.path}: expected another clip than that of {outputs[output].path}, got the same"
            )
        outputs[output] = recording
    return outputs


def _clip(recording: Recording) -> PlannedClip:
    clip = recording.meta["case"]["clip"]
    assert clip is not None, "why_not() comes first"
    return clip


def _write_output(recording: Recording, output: Path) -> None:
    clip = _clip(recording)
    source = located(recording.path, clip["path"])
    played, file = read_clip(source)
    stated = recording.meta.get("parties", {}).get("A", {}).get("file", file)["sha256"]
    if stated != file["sha256"]:
        raise InputError(f"{source}: expected the file that was played (SHA-256 {stated}), got {file['sha256']}")
    labels = {output.with_name(f"{name}.json"): clip["labels"][name] for name in LABELS if name in clip["labels"]}
    with writes(output.parent):
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, output.with_name(source.name))
    said = _said(recording, len(played))
    with WavWriter(output, channels=1) as wav:
        wav.write(said)
    for path, label in labels.items():
        write_json(path, label)


def _said(recording: Recording, samples: int) -> Pcm:
    """The system's side from tick 0 on, padded or cut to this many samples."""
    said, _ = read_clip(recording.path / AUDIO, "right")
    return np.pad(said[:samples], (0, max(samples - len(said), 0)))


def export_fdb2(recordings: Sequence[Recording], out: Path, made: Path) -> list[Path]:
    """Write the files of each recording into `made`, from where they go into `out`; the paths of the audio there.

    Raises InputError for two recordings of one task, and for one that cannot be exported; RecordingError if its audio
    has changed, or if a file cannot be written.
    """
    folders = _folders(recordings, out)
    for folder, recording in folders.items():
        _write_sides(recording, made / folder.relative_to(out))
    return [folder / name for folder in folders for name in V2_FILES]


def _folders(recordings: Sequence[Recording], out: Path) -> dict[Path, Recording]:
    """The recording of each folder."""
    _check(recordings, why_not_held)
    folders: dict[Path, Recording] = {}
    for recording, above in zip(recordings, _above([_conditions(each) for each in recordings]), strict=True):
        task = str(_examiner(recording).get("brief", {}).get("id") or recording.name)
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
    system, trial = _system_and_trial(case) if case else ("", "")
    return system, pacing, trial


def _system_and_trial(case: PlannedCase) -> tuple[str, str]:
    return case["system"], f"trial-{case['trial']}"


def _above(conditions: Sequence[Sequence[str]]) -> list[list[str]]:
    """The folders above those of each recording: the conditions in which the recordings differ."""
    differ = [len(set(column)) > 1 for column in zip(*conditions, strict=True)]
    return [[part for part, differs in zip(own, differ, strict=True) if differs and part] for own in conditions]


def _check(recordings: Sequence[Recording], why_not: Callable[[Recording], str | None]) -> None:
    """InputError if a recording cannot be exported. why_not: says why."""
    for recording in recordings:
        if problem := why_not(recording):
            raise InputError(f"{recording.path}: {problem}")


def _examiner(recording: Recording) -> Mapping[str, Any]:
    """The recording's facts on an examiner on side A; nothing if there was none."""
    party: Mapping[str, Any] = (recording.original_meta.get("parties") or {}).get("A") or {}
    return party if party.get("kind") == "examiner" else {}


def _write_sides(recording: Recording, folder: Path) -> None:
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
