"""Japanese speech by Open JTalk with the voice Mei, both from pyopenjtalk-plus. The same text gives the same bytes.

It reads kanji, numbers, dates and counters in their context. That needs ONNX Runtime: without it 何人 and 何日 are
misread as naninin and naninichi.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError, MissingExtraError, SettingsError
from fdbcore.protocols import Speaker

GAIN: Final = 0.35
"""The voice itself peaks at 1.9 times full scale. With this gain it speaks at about -26 dBov."""

CREDIT: Final = (
    'HTS Voice "Mei" (mei_normal), (c) 2009-2013 Nagoya Institute of Technology, Department of Computer Science; '
    "released by the MMDAgent Project Team (http://www.mmdagent.jp/) under CC BY 3.0 "
    "(https://creativecommons.org/licenses/by/3.0/); its speech is used here at a lower level"
)


def open_jtalk(address: str) -> "OpenJTalk":
    """The speaker "open-jtalk". It has no settings. MissingExtraError if it is not installed."""
    if rest := address.partition(":")[2]:
        raise SettingsError(f"tts: open-jtalk: expected no settings, got {rest!r}")
    return OpenJTalk()


class OpenJTalk(Speaker):
    """Speaks at 48 kHz, with the voice's own pauses before and after the words."""

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
        """`text` spoken, mono int16 (n,), and the rate in Hz. InputError if no word of it can be spoken."""
        samples, rate_hz = self._speak(text)
        spoken = np.rint(samples * GAIN)
        if not spoken.any():
            raise InputError(f"text: expected words that can be spoken, got {text!r}")
        limits = np.iinfo(np.int16)
        return np.clip(spoken, limits.min, limits.max).astype(np.int16), rate_hz

    def describe(self) -> Mapping[str, Any]:
        """The versions that affect the sound, the voice and its credit, as JSON values."""
        packages = ("pyopenjtalk-plus", "sudachidict-core", "onnxruntime")
        versions = {name: version(name) for name in packages}
        return {"kind": "open-jtalk", "versions": versions, "voice": "mei_normal", "gain": GAIN, "credit": CREDIT}
