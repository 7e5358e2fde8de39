"""A speaker that plays recordings: FOLDER/NAME with any suffix of an audio file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from fdbcore._ext.pcm import to_mono
from fdbcore.audio.decode import AUDIO_SUFFIXES, AudioFile
from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols import Speaker


def read_mono(path: Path) -> tuple[npt.NDArray[np.int16], int]:
    """The audio of a file as int16 (n,), with channels averaged, and its rate in Hz. AudioError if it is not audio."""
    with AudioFile(path) as file:
        return np.concatenate([to_mono(block) for block in file.blocks()]), file.rate_hz


def mono_in(data: bytes) -> tuple[npt.NDArray[np.int16], int]:
    """As `read_mono`, of the bytes of a file."""
    with NamedTemporaryFile(suffix=".wav") as file:
        file.write(data)
        file.flush()
        return read_mono(Path(file.name))


def folder(address: str) -> "Folder":
    """The speaker "dir:FOLDER". SettingsError if there is no such folder."""
    rest = address.partition(":")[2]
    path = Path(rest)
    if not rest or not path.is_dir():
        raise SettingsError(f"tts: expected dir:FOLDER with recordings, found no folder {rest!r}")
    return Folder(path)


class Folder(Speaker):
    """Plays the recording with the item's name, whatever the text is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, list[Path]] = {}
        for file in sorted(path.iterdir()):
            if file.suffix.lower() in AUDIO_SUFFIXES:
                self._files.setdefault(file.stem, []).append(file)

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """The recording `name`, mono int16 (n,), and its rate in Hz. InputError if there is none, or more than one."""
        files = self._files.get(name, [])
        if len(files) != 1:
            several = " and ".join(file.name for file in files)
            raise InputError(f"dir:{self._path}: expected one recording of it, found {several or 'none'}")
        return read_mono(files[0])

    def describe(self) -> Mapping[str, Any]:
        """The folder, and a digest of the names, sizes and times of its recordings."""
        listed = [
            f"{file.name} {(found := file.stat()).st_size} {found.st_mtime_ns}"
            for files in self._files.values()
            for file in files
        ]
        digest = hashlib.sha256("\n".join(listed).encode()).hexdigest()
        return {"kind": "dir", "folder": str(self._path.absolute()), "state": digest}
