"""Speech of an examiner: texts spoken at a level, as frames. What was spoken last in this process is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

import numpy as np

from fdbcore import registry
from fdbcore.audio.level import levelled
from fdbcore.audio.speech import without_edges, without_long_pauses
from fdbcore.types import FRAME_SAMPLES, Pcm
from fdbcore.types.usage import ModelUsage

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

MOST_KEPT: Final = 512
_kept: dict[tuple[str, str, float], Sequence[Pcm]] = {}
_lock = Lock()


def spoken(
    voice: str, text: str, level_dbov: float, note: Callable[[ModelUsage], object] = lambda _: None
) -> Sequence[Pcm]:
    """A text as frames, without the silence around it and without long pauses in it. voice: the address of a speaker.

    note: takes what the speaker counted; nothing for what is kept. InputError if it cannot be spoken, PartyError if the
    speaker is not available.
    """
    key = (voice, text, level_dbov)
    with _lock:
        if key in _kept:
            _kept[key] = _kept.pop(key)  # now the last one
            return _kept[key]
    speaker = registry.speaker(voice)
    speech = without_edges(*speaker.speak("saying", text))
    for service in speaker.services():
        note(ModelUsage(service.vendor, service.model, {"characters": len(text)}))
    frames = frames_of(without_long_pauses(speech, MOST_PAUSE_TICKS), level_dbov)
    with _lock:
        if len(_kept) >= MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = frames
    return frames
