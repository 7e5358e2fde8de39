"""Live calls between someone who speaks at given ticks and a party under test, and what their recordings hold."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

from fakes.parties import Caller
from scipy.io import wavfile

from fdbcore.protocols import Endpoint, World
from fdbcore.recording.reader import Recording
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import Pcm


def speaks(*spans: tuple[int, int], ticks: int) -> Caller:
    """Someone who speaks in these spans of ticks."""
    return Caller([any(start <= tick < end for start, end in spans) for tick in range(ticks)])


def held(path: Path, caller: Caller, party: Endpoint, world: World | None = None) -> Recording:
    """A call in real time."""
    return converse(caller, party, path, LiveSettings(vad="energy"), {}, Event(), world=world, seed="s")


def of_kind(recording: Recording, kind: str) -> list[dict[str, Any]]:
    """The events of this kind of side B."""
    return [event for event in recording.events if event["kind"] == kind and event["side"] == "B"]


def said(recording: Recording) -> Pcm:
    """What side B said, int16 (n,) at 48 kHz."""
    _, audio = wavfile.read(recording.path / "session.wav")
    found: Pcm = audio[:, 1]
    return found
