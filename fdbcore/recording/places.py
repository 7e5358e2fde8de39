"""Places of files that a recording or a run names: in their files by the way from their own folder.

So a run that is moved together with its input finds it again, and whoever is given a run does not read on whose machine
it was made. Recordings of earlier versions name absolute paths, and are read, too.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.recording.files import write_beside

PLACES: Final = frozenset(("path", "data", "source", "folder"))
"""The keys of a value that name a file or a folder."""
_LEFT_AS_THEY_ARE: Final = frozenset(("columns", "settings", "meta"))
"""Things that users wrote, that a hash is of, or that lie in another folder."""

_ABSOLUTE: Final = re.compile(r"""(?<![^\s'"(=])/""")
_PATH_END: Final = re.compile(r"""[\s'",:;)]|$""")


def place_from(folder: Path, path: Path) -> str:
    """The way to a file or folder from another folder; links are followed. Absolute if there is none (other drives)."""
    target = os.path.realpath(path)
    try:
        return Path(os.path.relpath(target, os.path.realpath(folder))).as_posix()
    except ValueError:
        return target


def located(folder: Path, place: str) -> Path:
    """The absolute path of what a file in `folder` names."""
    return Path(os.path.normpath(os.path.join(os.path.realpath(folder), place)))


def text_with_places_from(folder: Path, text: str) -> str:
    """A text in which absolute paths of what there is have become ways from `folder`; all else is somebody's words."""
    found, at = "", 0
    for start in (match.start() for match in _ABSOLUTE.finditer(text)):
        ends = [start + match.start() for match in _PATH_END.finditer(text[start:])] if start >= at else []
        end = next((end for end in reversed(ends) if end > start + 1 and os.path.exists(text[start:end])), None)
        if end is not None:
            found, at = found + text[at:start] + place_from(folder, Path(text[start:end])), end
    return found + text[at:]


def with_places_from(folder: Path, value: Any, written_in: Path | None = None) -> Any:  # noqa: ANN401
    """A JSON value in which absolute paths of files have become ways from `folder`.

    written_in: the folder whose recording the value was written for, if that was another: ways out of it are changed.
    """

    def change(place: str) -> str:
        if os.path.isabs(place):
            return place_from(folder, Path(place))
        if written_in is not None and place.startswith(f"{os.pardir}{os.sep}"):
            return place_from(folder, located(written_in, place))
        return place

    return with_changed(value, change, PLACES, _LEFT_AS_THEY_ARE)


def write_with_places(recording: Path, part: str, value: Mapping[str, object]) -> None:
    """As `files.write_beside`; absolute paths of files become ways from the recording."""
    write_beside(recording, part, with_places_from(recording, value))


def with_changed(value: Any, change: Callable[[str], str], names: Collection[str], left: Collection[str]) -> Any:  # noqa: ANN401
    """A JSON value with its texts under `names` changed, wherever they stand but under `left`."""
    if isinstance(value, list | tuple):
        return [with_changed(each, change, names, left) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: change(each)
        if key in names and isinstance(each, str)
        else each
        if key in left
        else with_changed(each, change, names, left)
        for key, each in value.items()
    }
