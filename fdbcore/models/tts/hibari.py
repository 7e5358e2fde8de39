"""American English speech by Hibari, a neural voice that runs on this machine. The same text gives the same bytes.

The model is one of `fdbcore.models.packaged`; its own code is loaded from there, in the version that is pinned,
whatever is installed. Its voice is that of a woman, at about 207 Hz. `pitch_semitones` makes another voice of it: the
samples are played at another rate, so pitch and formants move alike, and the model speaks as much faster or slower, so
that the pace stays about the same.
"""

import importlib.util
import sys
import threading
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError, MissingExtraError, SettingsError
from fdbcore.models.packaged import packaged, ready
from fdbcore.protocols import Speaker
from fdbcore.runtime.address import Setting, parsed

RATE_HZ: Final = 24_000
VOICE: Final = "heart"
"""The one that comes with the package; no other is fetched."""

SEED: Final = 0
"""Of the noise in the voice."""

SETTINGS: Final = (
    Setting("pitch_semitones", "higher or lower, with the formants", float, 0.0, least=-5, most=5),
    Setting("speed", "the pace, about; 1 is the voice's own", float, 1.0, least=0.7, most=1.4),
)

_MODULE: Final = "fdbcore_hibari"  # not "hibari", which may be installed in another version
_speaking = threading.Lock()


def hibari(address: str) -> "Hibari":
    """The speaker "hibari", or "hibari:heart?pitch_semitones=-4".

    If it is not there, MissingExtraError says what to run.
    """
    found = parsed(address, SETTINGS)
    if found.place not in ("", VOICE):
        raise SettingsError(f"tts: hibari: expected the voice {VOICE}, got {found.place!r}")
    return Hibari(**found.settings)


class Hibari(Speaker):
    """See `hibari`. Threads may share it."""

    def __init__(self, pitch_semitones: float = 0.0, speed: float = 1.0) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtraError("hibari: expected ONNX Runtime, found none: pip install 'fdbcore[live]'")
        self._folder = ready("hibari").folder
        self._settings = {"pitch_semitones": pitch_semitones, "speed": speed}
        self._rate_hz = round(RATE_HZ * 2 ** (pitch_semitones / 12))
        self._model_speed = speed * RATE_HZ / self._rate_hz

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """`text` spoken, mono int16 (n,), and the rate in Hz: 24 kHz, or another for another pitch.

        InputError if no word of it can be spoken.
        """
        with _speaking:
            voice = _voice(self._folder)
            if not any(map(str.isalpha, "".join(voice.phonemize(text)))):
                raise InputError(f"text: expected words that can be spoken, got {text!r}")
            samples = voice(text, speed=self._model_speed, seed=SEED)
        full_scale = np.iinfo(np.int16).max
        return np.rint(np.clip(samples, -1, 1) * full_scale).astype(np.int16), self._rate_hz

    def describe(self) -> Mapping[str, Any]:
        """The exact model, its settings, and the versions that affect the sound, as JSON values."""
        versions = {name: version(name) for name in ("onnxruntime", "numpy", "scipy")}
        model = packaged("hibari").describe()
        return {"kind": "hibari", "voice": VOICE, "seed": SEED, **self._settings, "model": model, "versions": versions}


@cache
def _voice(folder: Path) -> Any:  # noqa: ANN401
    """The voice that is kept in `folder`; it takes half a second to load."""
    spec = importlib.util.spec_from_file_location(
        _MODULE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise MissingExtraError(f"hibari: expected the code of the voice in {folder}, found none")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module  # its parts import each other
    spec.loader.exec_module(module)
    return module.Hibari(threads=1)
