"""The voices of espeak-ng, in a hundred languages."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.audio.speech import without_edges
from fdbcore.errors import FdbError, InputError, MissingExtraError, SettingsError
from fdbcore.models.tts import _espeak
from fdbcore.protocols import Speaker
from fdbcore.runtime.address import Setting, parsed, typed_values
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

SYNTHESIS_TIMEOUT_S: Final = 60.0

VOICE: Final = (
    Setting("name", "a language, with a variant after a +", form="a voice such as en-us or de+f2", fits=bool),
    Setting("words_per_minute", "the speed", int, least=80, most=450),
    Setting("pitch", "50 is the voice's own", int, least=0, most=99),
)
"""Settings of a `Voice`."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice of espeak-ng.

    name: a language, perhaps with a variant after a "+": "en-us", "en-gb+f2", "de+m3", "ja".
    words_per_minute: 80 to 450. pitch: 0 to 99; 50 is the voice's own. SettingsError if one is out of range.
    """

    name: str = "en-us"
    words_per_minute: int = 175
    pitch: int = 50

    def __post_init__(self) -> None:
        typed_values("voice", asdict(self), VOICE)


def synthesise(text: str, voice: Voice) -> Pcm:
    """`text` spoken by espeak-ng: int16 (n,) at 48 kHz, without the silence before and after its words.

    Silent are the ticks before the first and after the last tick within RANGE_DB of the loudest. The same text and
    voice always give the same bytes. It takes about 30 ms, in a process of its own. SettingsError for an unknown voice,
    InputError for a text without a sound, MissingExtraError if espeak-ng is not installed.
    """
    library_path, data_path = _installed()
    _, _, variant = voice.name.partition("+")
    if variant and not (data_path / "voices" / "!v" / variant).is_file():  # espeak-ng would silently use another voice
        raise _no_voice(voice)
    program = (sys.executable, "-I", "-S", _espeak.__file__, library_path, str(data_path))
    settings = (voice.name, str(voice.words_per_minute), str(voice.pitch))
    try:
        said = subprocess.run(
            [*program, *settings], input=text.encode(), capture_output=True, timeout=SYNTHESIS_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"text: expected speech within {error.timeout:.0f} s, got none for {text[:40]!r}") from error
    if said.returncode == _espeak.NO_SUCH_VOICE:
        raise _no_voice(voice)
    if said.returncode:
        problem = said.stderr.decode(errors="replace").strip().splitlines() or [f"status {said.returncode}"]
        raise FdbError(f"espeak-ng: expected speech for {text[:40]!r}, got: {problem[-1]}")
    rate_hz, pcm = int(np.frombuffer(said.stdout, "<u4", 1)[0]), np.frombuffer(said.stdout, "<i2", offset=4)
    if not pcm.any():
        raise InputError(f"text: expected words that can be spoken, got {text!r}")
    return without_edges(pcm.astype(np.int16), rate_hz)


def espeak(address: str) -> "Espeak":
    """The speaker "espeak-ng:VOICE", such as "espeak-ng:en-us+f2?words_per_minute=190&pitch=55"; en-us if left out."""
    found = parsed(address, VOICE[1:])
    given = {name: value for name, value in found.settings.items() if value is not None}
    return Espeak(Voice(found.place or "en-us", **given))


class Espeak(Speaker):
    """Speaks with one voice of espeak-ng."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """`text` spoken, mono int16 (n,), and the rate, 48 kHz. Errors as of `synthesise`."""
        return synthesise(text, self._voice), SAMPLE_RATE_HZ

    def describe(self) -> Mapping[str, Any]:
        """Name, version and settings, as JSON values."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            installed = version("espeakng-loader")
        except PackageNotFoundError:
            installed = None
        return {"kind": "espeak-ng", "espeakng-loader": installed, "voice": asdict(self._voice)}


def _installed() -> tuple[str, Path]:
    """The paths of the library and of its data."""
    try:
        import espeakng_loader
    except ImportError as error:
        raise MissingExtraError(
            "espeakng-loader: expected it for synthetic speech, but it is not installed (pip install 'fdbcore[live]')"
        ) from error
    return espeakng_loader.get_library_path(), Path(espeakng_loader.get_data_path())


def _no_voice(voice: Voice) -> SettingsError:
    return SettingsError(
        f"name: expected a voice of espeak-ng (en-us, en-gb, de, fr, ja, ...; variants: en-us+f2, en-us+m3, ...), "
        f"got {voice.name!r}"
    )
