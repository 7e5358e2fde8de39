"""A synthesiser of ours, and what it speaks."""

import shlex
import sys
import wave
from pathlib import Path

import numpy as np

from fdbcore.suites.dialogue_acts.records import Annotation, Record, Reference, Step
from fdbcore.types import Pcm

TALKER = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).parents[1] / 'fakes' / 'talker.py'))}"


TEXTS = {"timer-1": "10分のタイマーをかけて。", "weather-1": "明日は晴れる？", "music-1": "静かな曲を流して。"}


def record(name: str, text: str) -> Record:
    reference = Reference("はい。", Annotation("authored", (Step("Commissive", 1.0),)))
    return Record(name, text, (reference,), background="台所")


def clip(path: Path) -> Pcm:
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getsampwidth(), file.getnchannels()) == (24_000, 2, 1)
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)
