"""The voices of babble: six talkers, spoken by espeak-ng, so that they need no recordings and may go anywhere."""

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.audio.speech import without_edges, without_long_pauses
from fdbcore.models.tts.espeak import Voice, synthesise
from fdbcore.types import SAMPLE_RATE_HZ

MOST_PAUSE_TICKS: Final = 10

VOICES: Final = ("en-us+f2", "en-us+m3", "en-gb-x-rp+f5", "en-gb-x-rp+m1", "en-029+m7", "en-gb-scotland+f4")
_SAID: Final = (
    "We were going to meet at the station at nine, but the train from the north came in late again. So I walked "
    "along the river, had a coffee, and read the paper until she rang me from the other platform.",
    "If you take the second road after the bridge, you will see a red house with a large garden. My uncle built it "
    "forty years ago, and every summer all of us spend two or three weeks there.",
    "He told me that the kitchen would be ready by Thursday. Now it is Monday, there is still no sink, and nobody in "
    "that office wants to say when the men are coming back to finish it.",
    "I would rather have the soup, and then perhaps the fish. Last time we sat near the window, and the waiter told us "
    "about the boats, and how his father used to mend the nets.",
    "They say it may rain in the evening, but the wind has turned. Let us put the chairs inside anyway and leave the "
    "table, because the children want to play on the grass before supper.",
    "The second part of the book is better than the first one. You never know who is telling the story, and when the "
    "old captain returns, everybody in the village pretends not to know him.",
)


@cache
def talkers() -> Sequence[npt.NDArray[np.float32]]:
    """Speech that each talker says over and over: float32 (n,) at 48 kHz, of RMS 1. Their lengths differ.

    MissingExtraError if espeak-ng is not installed.
    """
    return [_spoken(text, voice) for text, voice in zip(_SAID, VOICES, strict=True)]


def _spoken(text: str, voice: str) -> npt.NDArray[np.float32]:
    speech = synthesise(text, Voice(voice))
    pcm = without_long_pauses(without_edges(speech, SAMPLE_RATE_HZ), MOST_PAUSE_TICKS).astype(np.float32)
    rms = np.sqrt(np.mean(pcm**2, dtype=np.float64))
    return pcm / np.float32(rms)
