"""Conversations of two fake parties, held for real: in lockstep, so as fast as they go, or in real time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from fakes.parties import Speaker
from helpers.drawn import activity

from fdbcore.measures.reading import Reading
from fdbcore.protocols import Clocking
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, Happening, Pcm, TurnSettings


class Voice(Speaker):
    """Noise where it is drawn, which the energy detector takes for speech; and a log as of a party on a network."""

    def __init__(self, active: Sequence[bool], seed: int, clocking: Clocking = "tick") -> None:
        super().__init__(active)
        self.clocking = clocking
        self._rng = np.random.default_rng(seed)
        self._logged: list[Happening] = []

    def say(self, tick: int) -> Pcm | None:
        if tick >= len(self.speaks):
            self.left = "finished"
            return None
        arrivals = {"at_us": [10_000 * tick + 300], "start_sample": [480 * tick], "samples": [480]}
        self._logged.append(Happening(tick, "arrivals", arrivals))
        noise = self._rng.normal(0, 3000 if self.speaks[tick] else 1, FRAME_SAMPLES)
        return noise.astype(np.int16)

    def log(self) -> Sequence[Happening]:
        logged, self._logged = self._logged, []
        return logged

    def measured(self) -> Mapping[str, Any]:
        return {"padded_samples": 480, "delay_changes": [{"tick": 100, "why": "slip", "delay_samples": 960}]}


DIALOGUE = "A 0.1-1.2 2.2-2.9 4-5 | B 1.4-2.1 2.6-2.8 3.1-3.5"


def voices(drawing: str = DIALOGUE) -> tuple[Voice, Voice]:
    a, b = activity(drawing, tail_s=0.4)
    return Voice(a.tolist(), 1), Voice(b.tolist(), 2)


def hold(path: Path, a: Speaker, b: Speaker, realtime: bool = False, **turns: int) -> Reading:
    settings = LiveSettings(vad="energy", turns=TurnSettings(**turns), realtime=realtime, spin_ns=0)
    return Reading(converse(a, b, path, settings, {}, Event()).path)
