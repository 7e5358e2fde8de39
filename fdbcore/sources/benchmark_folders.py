"""Folders in which Full-Duplex-Bench keeps the two sides of a call, as files that have the same names in each of them.

    v1  TASK/NUMBER/input.wav, output.wav       a user and a system; input.json, output.json: their words
    v2  [FAMILY/][CLASS/]TASK/A.wav, B.wav      an examiner and a system; A.json, B.json: their words

v2 has a folder `session_*` below that of the task, unless its scripts have cleaned up, and mixes both to combined.wav.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, cast

from fdbcore.audio.decode import AUDIO_SUFFIXES, AudioFile
from fdbcore.errors import AudioError, InputError
from fdbcore.recording.files import read_json
from fdbcore.recording.meta import AnnotatedSpan, AnnotationKind
from fdbcore.runtime.numbers import number_of
from fdbcore.sources.names import is_fork

LONGEST_S: Final = 1e6
"""No recording is as long: twelve days."""
V1_FILES: Final = ("input.wav", "output.wav")
V2_FILES: Final = ("A.wav", "B.wav")
_KINDS: Final[tuple[AnnotationKind, ...]] = ("pause", "turn_taking", "interrupt")
_V2_MIX: Final = "combined.wav"
_V2_SESSION: Final = "session_"


def call_in(folder: Path) -> tuple[Path, Path] | None:
    """The files of A and B in a folder of the benchmark; None for any other folder, and for what is none.

    A.wav and B.wav are the sides of a call if both are mono and no other audio is beside them but their mix.
    """
    try:
        audio = {
            name for name in os.listdir(folder) if Path(name).suffix.lower() in AUDIO_SUFFIXES and not is_fork(name)
        }
    except OSError:
        return None
    if audio.issuperset(V1_FILES):
        names = V1_FILES
    elif audio.issuperset(V2_FILES) and audio <= {*V2_FILES, _V2_MIX}:
        names = V2_FILES
    else:
        return None
    a, b = (folder / name for name in names)
    return (a, b) if names == V1_FILES or (is_mono(a) and is_mono(b)) else None


def is_call(files: tuple[Path, ...], names: tuple[str, str]) -> bool:
    """True if these are the two files of such names in one folder, A's first."""
    return tuple(file.name for file in files) == names and files[0].parent == files[1].parent


def place_and_name(files: tuple[Path, ...]) -> tuple[Path, str] | None:
    """The folder that a call of the benchmark lies in, and its name there; None for the files of another call.

    v1 counts the samples of each task anew, so the name has the task, too: TASK-NUMBER. The name in v2 is the task's.
    The files may be links to a store of data.
    """
    if is_call(files, V1_FILES):
        sample = Path(os.path.abspath(files[0])).parent
        return sample.parent.parent, "-".join(sample.parts[-2:])
    if is_call(files, V2_FILES):
        folder = Path(os.path.abspath(files[0])).parent
        task = folder.parent if folder.name.startswith(_V2_SESSION) else folder
        return task.parent, task.name
    return None


def words_beside(files: tuple[Path, ...]) -> list[Path]:
    """The files with the words of A and B of such a call, if they are known; none for the files of another call."""
    known = is_call(files, V1_FILES) or is_call(files, V2_FILES)
    return [file.with_suffix(".json") for file in files] if known else []


def labelled_span(given: object) -> tuple[float, float]:
    """The start and the end in s, as a label of v1 states them (`timestamp`). InputError if they cannot be used."""
    try:
        start_s, end_s = (number_of(time_s) for time_s in cast("Iterable[Any]", given))
    except (TypeError, ValueError):
        raise InputError(f"expected the start and the end in s, got {given!r}") from None
    if not 0 <= start_s <= end_s < LONGEST_S:
        raise InputError(f"expected a start before its end, got {start_s:g} to {end_s:g} s")
    return start_s, end_s


def annotations_in(folder: Path) -> list[AnnotatedSpan]:
    """The labels in the folder of a sample of v1. InputError if they cannot be used."""
    return [note for kind in _KINDS if (file := folder / f"{kind}.json").is_file() for note in _noted(kind, file)]


def _noted(kind: AnnotationKind, file: Path) -> Iterator[AnnotatedSpan]:
    notes = read_json(file)
    if not isinstance(notes, list) or not all(isinstance(note, dict) for note in notes):
        raise InputError(f"{file}: expected a list of labels, got something else")
    for note in notes:
        try:
            start_s, end_s = labelled_span(note.get("timestamp"))
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        yield {"kind": kind, "start_s": start_s, "end_s": end_s}


def is_mono(path: Path) -> bool:
    """True if a file is audio with one channel."""
    try:
        with AudioFile(path) as file:
            return file.channels == 1
    except AudioError:
        return False
