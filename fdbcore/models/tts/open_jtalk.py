"""Japanese by Open JTalk with the voice Mei, both inside pyopenjtalk-plus: the same text gives the same bytes.

Kanji, numbers, dates and counters are read in their context. ONNX Runtime belongs to it: without it 何人 and 何日 are
misread, as naninin and naninichi.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError, MissingExtraError, SettingsError
from fdbcore.protocols import Speaker

GAIN: Final = 0.35
"""The voice alone goes up to 1.9 times full scale; so it speaks at about -26 dBov."""

CREDIT: Final = (
    'HTS Voice "Mei" (mei_normal), (c) 2009-2013 Nagoya Institute of Technology, Department of Computer Science; '
    "released by the MMDAgent Project Team (http://www.mmdagent.jp/) under CC BY 3.0 "
    "(https://creativecommons.org/licenses/by/3.0/); its speech is used here at a lower level"
)


def open_jtalk(address: str) -> OpenJTalk:
    """The speaker; it has no settings. MissingExtraError where it is not installed."""
    if rest := address.partition(":")[2]:
        raise SettingsError(f"tts: open-jtalk: expected no settings, got {rest!r}")
    return OpenJTalk()


class OpenJTalk(Speaker):
    """Speaks at 48 kHz, with the pauses that its voice has before and after."""

    def __init__(self) -> None:
        try:
            import onnxruntime  # noqa: F401
            import pyopenjtalk
        except ImportError as error:
            raise MissingExtraError(
                f"open-jtalk: expected pyopenjtalk-plus with ONNX Runtime, found no {error.name}: "
                "pip install 'fdbcore[ja]'"
            ) from None
        self._speak = pyopenjtalk.tts

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """`text` spoken. InputError for one without a word that it can say."""
        samples, rate_hz = self._speak(text)
        spoken = np.rint(samples * GAIN)
        if not spoken.any():
            raise InputError(f"text: expected words that can be said, got {text!r}")
        limits = np.iinfo(np.int16)
        return np.clip(spoken, limits.min, limits.max).astype(np.int16), rate_hz

    def describe(self) -> Mapping[str, Any]:
        """The versions that decide what is heard, the voice and its credit."""
        packages = ("pyopenjtalk-plus", "sudachidict-core", "onnxruntime")
        versions = {name: version(name) for name in packages}
        return {"kind": "open-jtalk", "versions": versions, "voice": "mei_normal", "gain": GAIN, "credit": CREDIT}
