"""Exports recordings of played clips in the layout of Full-Duplex-Bench v1 and v1.5, for its scoring scripts.

    OUT/GROUP/ID/input.wav    the clip's file, unchanged
                 output.wav   the system's audio: mono, 48 kHz (the scripts accept any rate), aligned with the input
                              and as long as the input: cut off, or padded with silence
                 *.json       the sample's labels

A clip that was clean_input.wav gives clean_output.wav. With several systems or trials, OUT/SYSTEM/TRIAL/GROUP/ID.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import InputError, writes
from fdbcore.recording.files import AUDIO, write_json
from fdbcore.recording.places import located
from fdbcore.recording.reader import Recording
from fdbcore.sources.clips import CLEAN_INPUT, INPUT, LABELS, fit_for_a_folder, read_clip
from fdbcore.types import Pcm, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.recording.run_types import PlannedClip


def why_not(recording: Recording) -> str | None:
    """Why a recording cannot be exported; None if it can."""
    case = recording.meta.get("case")
    clip = case.get("clip") if case else None
    if clip is None:
        return "expected one made from a clip, got another"
    if Path(clip["path"]).name not in (INPUT, CLEAN_INPUT):
        return f"expected a clip named {INPUT} or {CLEAN_INPUT} (Full-Duplex-Bench v1, v1.5), got {clip['path']}"
    return why_not_held(recording)


def why_not_held(recording: Recording) -> str | None:
    """Why nothing is to be scored of a recording: it is invalid, or never began; None if it was held."""
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


def export_fdb1(recordings: Sequence[Recording], out: Path) -> list[Path]:
    """Write the files of each recording and return the paths of the output files.

    Raises InputError for a recording that cannot be exported, or whose clip has changed since it was played;
    RecordingError if a file cannot be written.
    """
    folders = _folders(recordings, out)
    for folder, recording in folders.items():
        source = located(recording.path, _clip(recording)["path"])
        if (folder.parent / source.name).resolve() == source.resolve():
            raise InputError(f"{out}: expected a folder apart from the clips, got that of {source}")
    return [_export(recording, output) for output, recording in folders.items()]


def _folders(recordings: Sequence[Recording], out: Path) -> dict[Path, Recording]:
    """The recording of each output file."""
    for recording in recordings:
        if problem := why_not(recording):
            raise InputError(f"{recording.path}: {problem}")
    cases = [recording.meta["case"] for recording in recordings]
    several_systems = len({case["system"] for case in cases}) > 1
    several_trials = len({case["trial"] for case in cases}) > 1
    outputs: dict[Path, Recording] = {}
    for recording, case in zip(recordings, cases, strict=True):
        clip = _clip(recording)
        source = located(recording.path, clip["path"])
        system = [case["system"]] if several_systems else []
        trial = [f"trial-{case['trial']}"] if several_trials else []
        folders = [*system, *trial, clip["group"], source.parent.name]
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


def _export(recording: Recording, output: Path) -> Path:
    clip = _clip(recording)
    source = located(recording.path, clip["path"])
    played, file = read_clip(source)
    stated = recording.meta.get("parties", {}).get("A", {}).get("file", file)["sha256"]
    if stated != file["sha256"]:
        raise InputError(f"{source}: expected the file that was played (SHA-256 {stated}), got {file['sha256']}")
    with writes(output.parent):
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, output.parent / source.name)
    said = _said(recording, len(played))
    with WavWriter(output, channels=1) as wav:
        wav.write(said)
    for name in LABELS:
        if name in clip["labels"]:
            write_json(output.parent / f"{name}.json", clip["labels"][name])
    return output


def _said(recording: Recording, samples: int) -> Pcm:
    """The system's side from tick 0 on, padded or cut to this many samples."""
    said, _ = read_clip(recording.path / AUDIO, "right")
    return np.pad(said[:samples], (0, max(samples - len(said), 0)))
