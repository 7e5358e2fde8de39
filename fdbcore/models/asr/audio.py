"""The audio of a WAV file as transcribers on this machine take it."""

from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.audio.level import FULL_SCALE
from fdbcore.errors import AudioError, InputError
from fdbcore.models.tts.folder import mono_in

RATE_HZ: Final = 16_000


def audio_of(wav: bytes, name: str) -> npt.NDArray[np.float32]:
    """The audio of a WAV file, mono float32 (n,) at 16 kHz. name: of the transcriber, for the InputError.

    faster-whisper's own decoder ends with a full garbage collection, which stalls a live call for 0.1 s.
    """
    import soxr

    try:
        pcm, rate_hz = mono_in(wav)
    except AudioError as error:
        raise InputError(f"{name}: expected a WAV file, got {str(error).rpartition(', got ')[2]}") from error
    audio: npt.NDArray[np.float32] = soxr.resample(pcm.astype(np.float32) / FULL_SCALE, rate_hz, RATE_HZ)
    return audio
