"""Places known English words on speech, by forced alignment with PocketSphinx, whose model comes with its package."""

import importlib.util
import re
import unicodedata
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import MissingExtraError

RATE_HZ: Final = 16_000
_FRAME_MS: Final = 10

_PARTS: Final = re.compile(r"[a-z]+(?:'[a-z]+)*|\d")
_DIGITS: Final = "zero one two three four five six seven eight nine".split()
_FILLER: Final = re.compile(r"^[<\[(+]")

_SOUNDS: Final = {
    **{"sch": "SH", "tch": "CH", "igh": "AY", "ch": "CH", "sh": "SH", "th": "TH", "ph": "F", "wh": "W", "ck": "K"},
    **{"ng": "NG", "qu": "K W", "ee": "IY", "ea": "IY", "oo": "UW", "ou": "AW", "ow": "OW", "ai": "EY", "ay": "EY"},
    **{"oa": "OW", "oi": "OY", "oy": "OY", "au": "AO", "aw": "AO", "ie": "IY", "ei": "EY", "a": "AE", "b": "B"},
    **{"c": "K", "d": "D", "e": "EH", "f": "F", "g": "G", "h": "HH", "i": "IH", "j": "JH", "k": "K", "l": "L"},
    **{"m": "M", "n": "N", "o": "AA", "p": "P", "q": "K", "r": "R", "s": "S", "t": "T", "u": "AH", "v": "V"},
    **{"w": "W", "x": "K S", "y": "IY", "z": "Z"},
}
"""Sounds of letters, about, in names that the dictionary does not have: the neighbours of a word place it, too."""
_LETTERS: Final = re.compile("|".join(sorted(_SOUNDS, key=len, reverse=True)))


class Aligner:
    """Aligns words; one thread at a time. MissingExtraError if PocketSphinx is not installed."""

    def __init__(self) -> None:
        if importlib.util.find_spec("pocketsphinx") is None:
            raise MissingExtraError("known-text: expected pocketsphinx, found none: pip install 'fdbcore[local]'")
        from pocketsphinx import Config, Decoder

        wide = {"beam": 1e-80, "wbeam": 1e-60, "pbeam": 1e-80}  # synthetic voices are not those of the model
        self._decoder: Any = Decoder(Config(lm=None, cmn="batch", loglevel="FATAL", **wide))

    @staticmethod
    def describe() -> Mapping[str, Any]:
        """Everything that decides the times, as JSON values."""
        return {"name": "pocketsphinx", "version": version("pocketsphinx")}

    def spans_ms(
        self, audio: npt.NDArray[np.int16], words: Sequence[str], cut: bool
    ) -> list[tuple[int, int] | None] | None:
        """Start and end in ms of each word in the audio, mono int16 (n,) at 16 kHz; None if they cannot be in it.

        A word without letters and digits has no span. cut: the speech ends early, so that the last words may have none.
        """
        parts = [self._parts(word) for word in words]
        flat = [part for each in parts for part in each]
        found = (self._aligned(audio, flat) if not cut else None) or self._begun(audio, flat)
        if not found:
            return None
        if not cut and len(found) < len(flat):
            return None
        spans: list[tuple[int, int] | None] = []
        at = 0
        for each in parts:
            own = found[at : at + len(each)]
            spans.append((own[0][0], own[-1][1]) if own else None)
            at += len(each)
        return spans

    def _aligned(self, audio: npt.NDArray[np.int16], words: Sequence[str]) -> list[tuple[int, int]]:
        """All of the words, or none if the audio does not have them all."""
        if not words:
            return []
        self._decoder.set_align_text(" ".join(words))
        return self._decoded(audio)

    def _begun(self, audio: npt.NDArray[np.int16], words: Sequence[str]) -> list[tuple[int, int]]:
        """As many of the first words as the audio has."""
        if not words:
            return []
        grammar = words[-1]
        for word in reversed(words[:-1]):
            grammar = f"{word} [ {grammar} ]"
        self._decoder.add_jsgf_string("line", f"#JSGF V1.0; grammar line; public <line> = {grammar} ;")
        self._decoder.activate_search("line")
        return self._decoded(audio)

    def _decoded(self, audio: npt.NDArray[np.int16]) -> list[tuple[int, int]]:
        self._decoder.start_utt()
        self._decoder.process_raw(audio.tobytes(), full_utt=True)
        self._decoder.end_utt()
        found = [each for each in self._decoder.seg() or () if not _FILLER.match(each.word)]
        return [(each.start_frame * _FRAME_MS, (each.end_frame + 1) * _FRAME_MS) for each in found]

    def _parts(self, word: str) -> list[str]:
        """A word as words of the dictionary, which gets those that it lacks: one, or those between hyphens."""
        plain = unicodedata.normalize("NFKD", word.casefold()).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        parts = [_DIGITS[int(part)] if part.isdigit() else part for part in _PARTS.findall(_without_marks(plain))]
        for part in parts:
            if self._decoder.lookup_word(part) is None:
                self._decoder.add_word(part, self._sounds(part), True)
        return parts

    def _sounds(self, word: str) -> str:
        base, _, rest = word.partition("'")
        known = self._decoder.lookup_word(base)
        sounds = known or " ".join(_SOUNDS[letters] for letters in _LETTERS.findall(base))
        if rest != "s":
            return " ".join([sounds, *(_SOUNDS[letters] for letters in _LETTERS.findall(rest))])
        last = sounds.split()[-1]
        if last in ("S", "Z", "SH", "CH", "JH", "ZH"):
            return f"{sounds} IH Z"
        return f"{sounds} S" if last in ("P", "T", "K", "F", "TH") else f"{sounds} Z"


def _without_marks(text: str) -> str:
    """Letters without their accents."""
    return "".join(letter for letter in text if not unicodedata.combining(letter))
