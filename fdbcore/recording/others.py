"""Keeps files of somebody else: fdbcore writes over nothing but what it wrote, as far as the file itself shows that."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.recording.files import read_bytes

_FORMS: Final[Mapping[str, bytes]] = {
    ".csv": rb"(name|recording|measure|of|call),",
    ".html": rb"(?s).{,4000}fdbcore</title>",
    ".json": rb'\{\s*"(schema": ?"fdbcore\.|schema_version": 1,\s*"predictions")',
    ".md": rb"### [^\w\s#*_]+ |Turn-taking of |Differences \(",
    ".rttm": rb"SPEAKER ",
    ".svg": rb'<svg xmlns="http://www.w3.org/2000/svg" class="[^"]*" width="[\d.]+" height="[\d.]+" viewBox="0 0 ',
    ".textgrid": rb'File type = "ooTextFile"',
    ".txt": rb"\d+\.\d{6}\t\d+\.\d{6}\t",
    ".uem": rb"\S+ [12] [\d.]+ [\d.]+\n",
    ".wav": rb"(?s)(RIFF|RF64).{4}WAVE(JUNK|ds64).{32}fmt \x10\0\0\0\x01\0\x01\0\x80\xbb\0\0",
    ".xml": rb'<\?xml [^>]*>\s*<testsuite name="fdbcore gates"',
}
"""How a file of fdbcore begins, by its suffix. What has no such form is known by another that is written with it."""


def keep_others(*paths: Path) -> None:
    """SettingsError if a file that is to be written is there, and is none that fdbcore wrote. paths: written together.

    RecordingError if one cannot be read.
    """
    there = (path for path in paths if os.path.isdir(path) or (os.path.isfile(path) and os.path.getsize(path)))
    known = {path: _is_known(path) for path in there}
    for path, is_ours in known.items():
        if is_ours is False or not any(known.values()):
            raise SettingsError(f"{path}: expected a new file, or one that fdbcore wrote, got another, which is kept")


def _is_known(path: Path) -> bool | None:
    """Whether fdbcore wrote a file; None if its suffix does not let that be known."""
    if path.is_dir():
        return any(path.glob("page-*.css"))  # what all pages of a run share
    form = _FORMS.get(path.suffix.lower())
    return None if form is None else re.match(form, read_bytes(path)) is not None
