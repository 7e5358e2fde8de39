"""Speech of an examiner: texts spoken at a level, as frames. What was spoken once in this process is kept."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from fdbcore import registry
from fdbcore.audio.level import levelled
from fdbcore.audio.speech import without_edges, without_long_pauses
from fdbcore.types import FRAME_SAMPLES, Pcm

_VOICES: Final = {"en": "hibari", "ja": "open-jtalk"}
"""The voices of languages; every other language has one of espeak-ng."""


def voice_of(language: str) -> str:
    """The address of the speaker of a language (ISO 639-1)."""
    return _VOICES.get(language, f"espeak-ng:{language}")


def frames_of(pcm: Pcm, level_dbov: float) -> Sequence[Pcm]:
    """Speech of int16 (n,) as frames of int16 (480,), at an active speech level. InputError if it would clip."""
    pcm, _ = levelled(pcm, level_dbov)
    return list(np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES))


MOST_PAUSE_TICKS: Final = 35
"""Synthesisers pause for 0.7 s and more between sentences, where systems take the turn to be over."""


@lru_cache(maxsize=512)
def spoken(voice: str, text: str, level_dbov: float) -> Sequence[Pcm]:
    """A text as frames, without the silence around it and without long pauses in it. voice: the address of a speaker.

    InputError if it cannot be spoken, PartyError if the speaker is not available.
    """
    speech = without_edges(*registry.speaker(voice).speak("saying", text))
    return frames_of(without_long_pauses(speech, MOST_PAUSE_TICKS), level_dbov)
