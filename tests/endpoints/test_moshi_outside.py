"""Kyutai's own server, in lockstep: it answers each step that it hears, and its words are in the recording."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from fakes.outside import Outside
from fakes.parties import Caller
from scipy.io import wavfile

from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES

pytestmark = pytest.mark.outside

TICKS = 800
STEP_TICKS = 8


def test_each_step_is_answered_and_heard_one_step_later(tmp_path: Path) -> None:
    caller = Caller([tick % 100 < 60 for tick in range(TICKS)])
    with Outside("moshi_outside", "fakes.moshi_outside.server") as moshi:
        system = endpoint(f"moshi://127.0.0.1:{moshi.port}")
        settings = LiveSettings(vad="energy", realtime=False)
        recording = converse(caller, system, tmp_path / "call", settings, {}, threading.Event())
    measured = recording.measured("B")
    assert recording.n_ticks == TICKS
    assert measured["lag_steps"] == 1
    assert measured["steps_ahead"] == 0  # type: ignore[typeddict-item]
    assert measured["sent_samples"] == TICKS * FRAME_SAMPLES  # type: ignore[typeddict-item]
    assert measured["underruns"] == 0
    _, audio = wavfile.read(recording.path / "session.wav")
    said = audio[:, 1].reshape(-1, FRAME_SAMPLES)
    assert not said[: 2 * STEP_TICKS].any(), "the first step is not answered, and an answer comes after its step"
    assert (np.abs(said[3 * STEP_TICKS :]).max(axis=1) > 0).mean() > 0.9, "it always sounds"
    assert [event for event in recording.events if event["kind"] == "text"]


def test_a_second_call_waits_for_the_first(tmp_path: Path) -> None:
    with Outside("moshi_outside", "fakes.moshi_outside.server") as moshi:
        for name in ("first", "second"):
            system = endpoint(f"moshi://127.0.0.1:{moshi.port}")
            settings = LiveSettings(vad="energy", realtime=False)
            recording = converse(Caller([True] * 80), system, tmp_path / name, settings, {}, threading.Event())
            assert recording.n_ticks == 80
