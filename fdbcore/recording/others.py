"""Keeps files of somebody else: fdbcore writes over nothing but what it wrote, as far as that is known."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from fdbcore.errors import SettingsError, writes
from fdbcore.recording.files import file_sha256, part_of, read_bytes, write_json
from fdbcore.recording.form import read_of_form

WRITTEN: Final = ".fdbcore-written.json"  # in a folder of exports or figures: the hash of each, as it was written
_PAGE: Final = (
    '(?s)<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; .{,4000}'
)
_JSON: Final = r'\{\s*"schema": ?"fdbcore\.'
_FORMS: Final[Mapping[str, str]] = {
    "calls.csv": "name,file,",
    "events.csv": "call,side,kind,start_s,end_s,known_s,",
    "stages.csv": "call,a_end_s,b_onset_s,answer_ms,",
    "compare.html": f"{_PAGE} compared – fdbcore</title>",
    "scores.html": f"{_PAGE}: scores – fdbcore</title>",
    ".html": f"{_PAGE} – fdbcore</title>",
    "meta.json": rf"{_JSON}recording/",
    "scores.json": rf"{_JSON}statements/",
    ".json": rf"{_JSON}(corpus|summary|comparison)/",
}
"""The beginning of a file of ours, by its name or suffix. What has no such form is known by another written with it."""


def keep_others(*paths: Path, form: str | None = None) -> None:
    """SettingsError if a file that is to be written is there, and is none that fdbcore wrote. paths: written together.

    form: a regular expression of such a file; by default, its name says that. RecordingError if one cannot be read.
    """
    there = (path for path in paths if os.path.lexists(path) and (not path.is_file() or path.stat().st_size))
    known = {path: is_ours(path, form) for path in there}
    for path, is_known in known.items():
        if is_known is False or not any(known.values()):
            raise _kept(path)


def is_ours(path: Path, form: str | None = None) -> bool | None:
    """True if fdbcore wrote a file; None if its name does not let that be known. It writes no links and no devices."""
    if path.is_symlink() or not path.is_file():
        return form is None and not path.is_symlink() and any(path.glob("page-*.css"))  # shared by a run's pages
    form = form or _FORMS.get(path.name) or _FORMS.get(path.suffix.lower())
    return None if form is None else re.match(form, read_bytes(path).decode(errors="replace")) is not None


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder for the `with` block, whose files then go into `folder`: all of them, or none.

    SettingsError if one would replace another that was not written so, or was changed since. RecordingError if a file
    cannot be written.
    """
    with writes(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fdbcore-", dir=folder) as made:
            yield Path(made)
            found = (path.relative_to(made).as_posix() for path in sorted(Path(made).rglob("*")) if path.is_file())
            new = {name: file_sha256(Path(made, name)) for name in found}
            written = read_of_form(folder / WRITTEN, dict[str, str]) if os.path.lexists(folder / WRITTEN) else {}
            for name in new:
                part_of(folder, *Path(name).parts[:-1])
                path, known = folder / name, {new[name], written.get(name)} - {None}
                if os.path.lexists(path) and (path.is_symlink() or file_sha256(path) not in known):
                    raise _kept(path)
            for name in new:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(Path(made, name), folder / name)
            if new:
                write_json(folder / WRITTEN, {**written, **new})


def _kept(path: Path) -> SettingsError:
    return SettingsError(f"{path}: expected a new file, or one that fdbcore wrote, got another, which is kept")
