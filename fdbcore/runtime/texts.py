"""Reads the text of files that users and their programs write."""

from __future__ import annotations

import codecs
from pathlib import Path

from fdbcore.errors import SettingsError
from fdbcore.runtime.whole_files import read_whole


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, or in UTF-16, which Praat and spreadsheets write.

    SettingsError, with the line, if it cannot be read.
    """
    try:
        data = read_whole(path)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return data.decode("utf-16")
        if b"\0" in data[:2]:  # UTF-16 without a byte order mark: half of an ASCII character is zero
            return data.decode("utf-16-be" if data[0] == 0 else "utf-16-le")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, got = data[: error.start].count(b"\n") + 1, f"the byte 0x{data[error.start]:02X}"
        raise SettingsError(f"{path}, line {line}: expected text in UTF-8, got {got}: save it as UTF-8") from error
