"""Our detectors, asked through the door that replay uses.

A detector takes the path of a recording with two channels, and gives the activity of each tick of both sides, bool
(n_ticks, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.voices.peers import Detector
from benchmarks.voices.speech import Bools
from fdbcore.endpoints.replay import replayed_sides
from fdbcore.session.vad import make_vads
from fdbcore.sources.sessions import session_inputs
from fdbcore.types import SILENT_FRAME, Pcm


def ours(name: str, change: Callable[[Pcm], Pcm] = lambda frame: frame) -> Detector:
    """The detector that `--vad name` asks for, a tick at a time as in replay. change: of each frame, int16 (480,)."""

    def detect(path: Path) -> Bools:
        (session,) = session_inputs([path])
        with session.open() as source:
            vads = make_vads(name, source.rates_hz)
            a, b = replayed_sides(source.blocks())
            found: tuple[list[bool], list[bool]] = ([], [])
            tick = 0
            while True:
                frames = a.say(tick), b.say(tick)
                if frames[0] is None and frames[1] is None:
                    break
                for vad, frame, active in zip(vads, frames, found, strict=True):
                    active.append(vad.push(change(SILENT_FRAME if frame is None else frame)))
                tick += 1
        sides = [active[vad.delay_ticks :] + vad.finish() for vad, active in zip(vads, found, strict=True)]
        return np.array(sides, dtype=np.bool_).T

    return detect
