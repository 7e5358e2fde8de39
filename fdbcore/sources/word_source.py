"""Sources of the words of recordings: a transcriber, or files that are there already."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols import Transcriber
from fdbcore.registry import KNOWN_WORDS, TRANSCRIBERS, resolve, transcriber
from fdbcore.sources.word_files import NAME, KnownWords, WordFiles
from fdbcore.types.words import SELF_REPORTED, TOLD

WordSource: TypeAlias = Transcriber | KnownWords


def word_source_of(address: str) -> WordSource:
    """The source of words at an address: of a transcriber, "known-text", "self-reported", "words" or "words:FOLDER".

    SettingsError if unknown.
    """
    if address == TOLD:
        warnings.warn(f"{TOLD} is called {SELF_REPORTED} now", FutureWarning, stacklevel=2)
        address = SELF_REPORTED
    kind, _, folder = address.partition(":")
    if kind == NAME:
        if folder and not Path(folder).is_dir():
            raise SettingsError(f"{address}: expected a folder: there is none")
        return WordFiles(Path(folder) if folder else None)
    if kind in KNOWN_WORDS:
        known: KnownWords = resolve("asr", KNOWN_WORDS, kind)(address)
        return known
    if kind not in TRANSCRIBERS:
        names = sorted([*TRANSCRIBERS, *KNOWN_WORDS, NAME])
        raise SettingsError(f"asr: expected one of {', '.join(names)}, got {kind!r}")
    return transcriber(address)


def word_sources_of(addresses: Iterable[str]) -> list[WordSource]:
    """Sources that an option --transcriber of a suite names. SettingsError if one is unknown."""
    with told_as("--transcriber", "asr"):
        return list(map(word_source_of, addresses))
