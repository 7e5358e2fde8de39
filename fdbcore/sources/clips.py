"""Recorded users: finds the clips in a folder or a list, with their labels, and reads their audio.

`clips_in` takes:

- a folder of Full-Duplex-Bench, or any folder above its samples: GROUP/ID/input.wav, with the labels beside it as
  pause.json, turn_taking.json, interrupt.json, transcription.json (v1) or metadata.json (v1.5, v3). A
  clean_input.wav (v1.5: the same user undisturbed) is a clip too, named GROUP-ID-clean.
- any other folder: all audio in it and below it. Labels of NAME.wav, if there are any, are in NAME.json beside it.
- one audio file.
- a list (.txt, .list or .jsonl): on each line a path, or a JSON object {"path": ..., "name": ..., "group": ...,
  "labels": {...}} of which only the path is required. Paths are relative to the list. Empty lines and lines that
  begin with # are skipped.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import numpy as np

from fdbcore._ext.pcm import to_mono
from fdbcore.audio.decode import AUDIO_SUFFIXES, AudioFile, resampler_to_48k
from fdbcore.audio.files import SourceFile
from fdbcore.errors import AudioError, InputError
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.texts import text_of
from fdbcore.runtime.whole_files import read_whole
from fdbcore.sources.names import file_name, is_fork
from fdbcore.types import Clip, Pcm, Problem

Channel: TypeAlias = Literal["mean", "left", "right"]
"""The channel of a stereo file to take. A mono file has only one, so this changes nothing there."""

INPUT, CLEAN_INPUT = "input.wav", "clean_input.wav"
OUTPUTS: Final = ("output.wav", "clean_output.wav")
LABELS: Final = ("pause", "turn_taking", "interrupt", "transcription", "metadata")
"""Names of the files with a sample's labels, without .json. Other JSON files beside it are results of earlier runs."""

_LISTS: Final = frozenset({".txt", ".list", ".jsonl"})


def fit_for_a_folder(name: str) -> str:
    """`name` with all but letters, digits and "_.+-" replaced, so that it names a folder and nothing else.

    A long name is cut and ends in a digest.
    """
    return file_name(re.sub(r"^\.+|[^\w.+-]+", "_", name)) or "_"


def clips_in(
    path: str | os.PathLike[str],
    lost: list[Problem] | None = None,
    is_group: Callable[[str], bool] = lambda name: False,
) -> list[Clip]:
    """The clips of a folder, a list or a file, sorted by name. Every file is opened, but none is decoded.

    A file that is not audio becomes a clip too, which cannot be played. AudioError if a file is missing, or if no file
    is audio. InputError if there is no clip, if a list or labels cannot be read, or if two clips have the same name.
    With `lost`, samples in a folder whose labels cannot be read, or that have no input.wav, are left out, and added to
    it: folders beside the samples, those in folders whose names say that they hold samples (`is_group`), and those with
    files of labels or outputs of systems.
    """
    path = Path(path).absolute()
    if path.is_dir():
        clips = list(_in_folder(path, lost, is_group))
    elif path.suffix.lower() in _LISTS:
        clips = list(_in_list(path))
    else:
        clips = [_clip(path)]
    if not clips:
        if lost:
            raise InputError(f"{lost[0].where}: {lost[0].reason}")
        raise InputError(f"{path}: expected clips ({INPUT} of Full-Duplex-Bench, or other audio), found none")
    _refuse_duplicates(clips)
    problems = [problem for clip in clips if (problem := why_unreadable(clip.path)) is not None]
    if len(problems) == len(clips):
        raise AudioError(problems[0])
    return sorted(clips, key=lambda clip: natural_order(clip.name))


def why_unreadable(path: Path) -> str | None:
    """The reason why a file cannot be read as audio; None if it can. AudioError if there is no such file."""
    try:
        AudioFile(path).close()
    except AudioError as error:
        if not path.is_file():
            raise
        return str(error)
    return None


def read_clip(path: str | os.PathLike[str], channel: Channel = "mean") -> tuple[Pcm, SourceFile]:
    """The audio of a file as int16 (n,) at 48 kHz, and a description of the file as JSON values.

    AudioError if the file cannot be decoded.
    """
    with AudioFile(path) as file:
        resampler = resampler_to_48k(file.rate_hz)
        use_mean = file.channels == 1 or channel == "mean"
        column = 0 if channel == "left" else 1
        parts = [
            resampler.process(to_mono(block) if use_mean else np.ascontiguousarray(block[:, column]))
            for block in file.blocks()
        ]
        described: SourceFile = {**file.describe(), "channel": "mono" if file.channels == 1 else channel}
    return np.concatenate([*parts, resampler.flush()]), described


def _in_folder(folder: Path, lost: list[Problem] | None, is_group: Callable[[str], bool]) -> Iterator[Clip]:
    """The samples of a benchmark below `folder`; if there is none, all audio below it."""
    below = sorted(_below(folder))
    files = [file for file in below if file.is_file() and not is_fork(file.name)]
    inputs = [file for file in files if file.name in (INPUT, CLEAN_INPUT)]
    if inputs:
        for file in inputs:
            try:
                yield _clip(file)
            except InputError as error:
                if lost is None:
                    raise
                lost.append(Problem(str(file.parent), str(error).removeprefix(f"{file.parent}/")))
        if lost is not None:
            folders = [each for each in below if each.is_dir()]
            lost += _without_users(folder, folders, files, inputs, is_group)
        return
    for file in files:
        if file.suffix.lower() in AUDIO_SUFFIXES:
            group = file.parent.relative_to(folder).as_posix()
            yield _clip(file, group="" if group == "." else group)


def _below(folder: Path, above: Sequence[str] = ()) -> Iterator[Path]:
    """All files and folders below a folder, also by links; a link to a folder that it lies in is left out, and so is
    what lies in a folder that may not be read.
    """
    above = [*above, os.path.realpath(folder)]
    try:
        inside = list(folder.iterdir())
    except PermissionError:
        return
    for each in inside:
        if not each.is_dir():
            yield each
        elif os.path.realpath(each) not in above:
            yield each
            yield from _below(each, above)


def _without_users(
    folder: Path,
    folders: Sequence[Path],
    files: Sequence[Path],
    inputs: Sequence[Path],
    is_group: Callable[[str], bool],
) -> Iterator[Problem]:
    """The folders that must be samples, by where they lie or what lies in them, but have no input.wav."""
    of_samples = {file.parent for file in inputs if file.name == INPUT}
    groups = {sample.parent for sample in of_samples if sample != folder}
    groups |= {each for each in (folder, *folders) if is_group(each.name)}
    beside = {each for each in folders if each.parent in groups}
    known = {file.parent for file in files if file.name in OUTPUTS or (file.suffix == ".json" and file.stem in LABELS)}
    above = {above for sample in of_samples for above in sample.parents}
    for without in sorted((beside | known) - of_samples - above):
        if not without.name.startswith("."):
            yield Problem(str(without), f"expected {INPUT}, found none")


def _in_list(path: Path) -> Iterator[Clip]:
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if (entry := line.strip()) and not entry.startswith("#"):
            yield _listed(entry, f"{path}, line {number}", path.parent)


def _listed(entry: str, where: str, folder: Path) -> Clip:
    if not entry.startswith("{"):
        return _clip(folder / entry)
    try:
        values = parsed_json(entry)
    except ValueError as error:
        raise InputError(f"{where}: expected a path or a JSON object, got: {error}") from error
    kinds: dict[str, type] = {"path": str, "name": str, "group": str, "labels": dict}
    for key, value in values.items():
        if not isinstance(value, kinds.get(key, ())):
            raise InputError(
                f"{where}: expected path, name, group (text) and labels (an object), got {key} = {value!r}"
            )
    if "path" not in values:
        raise InputError(f"{where}: expected a path, got {entry}")
    return _clip(folder / values.pop("path"), **values)


def _clip(
    path: Path, name: str | None = None, group: str | None = None, labels: Mapping[str, Any] | None = None
) -> Clip:
    """The clip of a file. Name, group and labels that are not given follow from where the file lies."""
    is_sample = path.name in (INPUT, CLEAN_INPUT)
    folder = Path(os.path.abspath(path)).parent  # the file may be a link to a store of data
    if group is None:
        group = folder.parent.name if is_sample else ""
    if name is None:
        clean = ["clean"] if path.name == CLEAN_INPUT else []
        own = [folder.name, *clean] if is_sample else [path.stem]
        name = "-".join([*group.split("/"), *own] if group else own)
    if labels is None:
        labels = _labels(path, is_sample)
    return Clip(fit_for_a_folder(name), path, group, labels)


def _labels(path: Path, is_sample: bool) -> dict[str, Any]:
    if is_sample:
        files = {name: path.with_name(f"{name}.json") for name in LABELS}
        return {name: _json(file) for name, file in files.items() if file.is_file()}
    file = path.with_suffix(".json")
    values = _json(file) if file.is_file() else {}
    if not isinstance(values, dict):
        raise InputError(f"{file}: expected labels as a JSON object, got a {type(values).__name__}")
    return values


def _json(file: Path) -> Any:  # noqa: ANN401
    try:
        return parsed_json(read_whole(file))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: expected labels as JSON, got: {error}") from error


def _refuse_duplicates(clips: Sequence[Clip]) -> None:
    seen: dict[str, Path] = {}
    for clip in clips:
        if clip.name in seen:
            raise InputError(
                f"{clip.path}: expected another name than that of {seen[clip.name]}, got {clip.name!r} for both "
                '(a list in JSON lines can name clips: {"path": ..., "name": ...})'
            )
        seen[clip.name] = clip.path


def natural_order(name: str) -> list[tuple[int, str]]:
    """A sort key for names that puts 2 before 10."""
    parts = cast(list[str], re.findall(r"\d+|\D+", name))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
