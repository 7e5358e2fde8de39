"""Reads the text of files that users and their programs write."""

import codecs
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fdbcore.errors import InputError, SettingsError
from fdbcore.runtime.whole_files import read_whole

_NOT_WINDOWS: Final = frozenset({*range(9), *range(14, 26), *range(27, 32), 0x82, 0x83})
"""Bytes that texts in Windows-1252 hardly have: control characters, and those that kana begin with in Shift-JIS."""
_TWO_BYTES: Final = re.compile(
    rb"[\x80-\xff]{3}|[\x81-\x9f][\x80-\xff]|[\xa1-\xde]{2}|[\x81-\x84\x86-\x89\x8b\x8d\x8f\x90\x95\x98\x99\x9b\x9d\x9f][@-~]"
)
"""Bytes that Shift-JIS and GB 18030 have, and Windows-1252 hardly: three accents in a row, two capitals, odd signs."""


def text_of(path: Path, note: Callable[[str, list[str]], object] = lambda what, names: None) -> str:
    """The text of a file in UTF-8; in UTF-16, which Praat and spreadsheets write, or UTF-32; or in Windows-1252.

    note: is told of files in Windows-1252. SettingsError, with the line, if the file cannot be read.
    """
    try:
        data = read_whole(path)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        if b"\0\0" in data[:4]:  # UTF-32: most of a character is zero
            return data.decode("utf-32-be" if data[0] == 0 else "utf-32-le").removeprefix("\ufeff")
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return data.decode("utf-16")
        if b"\0" in data[:2]:  # UTF-16 without a byte order mark: half of an ASCII character is zero
            return data.decode("utf-16-be" if data[0] == 0 else "utf-16-le")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start
    try:
        others = [character for character in data.decode(errors="replace") if not character.isascii()]
        is_utf8_but_for_some = 2 * others.count("\ufffd") <= len(others)
        in_east_asian = ("\ufffd" not in data.decode(each, "replace") for each in ("cp932", "gb18030"))
        if is_utf8_but_for_some or _NOT_WINDOWS & {*data} or (_TWO_BYTES.search(data) and any(in_east_asian)):
            raise ValueError
        text = data.decode("cp1252")
    except ValueError:
        line, got = data[:at].count(b"\n") + 1, f"the byte 0x{data[at]:02X}"
        raise SettingsError(
            f"{path}, line {line}: expected text in UTF-8 or Windows-1252, got {got}: save it as UTF-8"
        ) from None
    note("files that are not in UTF-8, read as Windows-1252", [path.name])
    return text


def utf8_text(path: Path, otherwise: str = "cannot be read") -> str:
    """The text of a file in UTF-8. InputError if it is none; `otherwise` says what it means if it cannot be read."""
    try:
        return read_whole(path).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {otherwise}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8, got something else at byte {error.start}") from error
