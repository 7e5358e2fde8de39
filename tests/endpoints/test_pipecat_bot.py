"""A bot of Pipecat's own parts, called by our side of the telephone network, and by WebRTC."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile
from fakes.outside import Outside
from fakes.planted_speech import find
from fakes.realtime.plan import Wave, tones
from scipy.io import wavfile
from scipy.signal import resample_poly

from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse

pytestmark = pytest.mark.outside

SAMPLE = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"


def speech(rate_hz: int) -> Wave:
    """Silence of 1 s, speech of 1.6 s ("on Thursday, at three"), and both again, into the answer; then 3 s."""
    sample, sample_hz = soundfile.read(SAMPLE, dtype="int16", start=10 * 24_000, stop=round(11.6 * 24_000))
    said = np.pad(sample[:, 0], (sample_hz, 0))
    twice = np.concatenate([said, said, np.zeros(3 * sample_hz, np.int16)])
    return at_rate(twice, sample_hz, rate_hz)


def at_rate(wave: Wave, rate_hz: int, new_rate_hz: int) -> Wave:
    resampled: Wave = np.rint(resample_poly(wave.astype(float), new_rate_hz, rate_hz)).astype(np.int16)
    return resampled


def bot() -> Outside:
    return Outside("pipecat_bot", "fakes.pipecat_bot.bot")


def check_turns(events: list[str]) -> None:
    """Two turns, the second one into the first answer; then the caller leaves."""
    turns = [event for event in events if event in ("turn begins", "interrupted", "turn ends", "disconnected")]
    assert turns == ["turn begins", "turn ends", "turn begins", "interrupted", "turn ends", "disconnected"]


def test_it_answers_our_side_of_the_telephone(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "caller.wav", 48_000, speech(48_000))
    settings = "parameters=caller:test&digits=0.2:4%23"
    with bot() as pipecat:
        caller = endpoint(f"clip:{tmp_path / 'caller.wav'}?tail_s=0.5")
        system = endpoint(f"twilio://127.0.0.1:{pipecat.port}/media?{settings}")
        recording = converse(caller, system, tmp_path / "call", LiveSettings(), {}, threading.Event())
    assert pipecat.lines[0]["parameters"] == {"caller": "test"}
    assert [line.get("key") for line in pipecat.lines[:4]] == [None, None, "4", "#"]
    check_turns(pipecat.events)
    _, audio = wavfile.read(recording.path / "session.wav")
    begins, n_first = find(audio[:, 1], tones(1.5, 0, 8000), 8000)
    again, _ = find(audio[:, 1], tones(1.5, 1, 8000), 8000)
    (cut,) = [each for each in recording.events if each["kind"] == "interrupted"]
    assert abs(n_first - 48 * cut["heard_ms"]) <= 480
    assert n_first < 1.4 * 48_000
    assert again > begins + n_first
    (mark,) = [each for each in recording.events if each.get("name") == "mark"]
    assert (mark["side"], mark["data"]["mark"]["name"]) == ("B", "turn 1")


def test_we_join_it_by_webrtc(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "caller.wav", 48_000, speech(48_000))
    with bot() as pipecat:
        caller = endpoint(f"clip:{tmp_path / 'caller.wav'}?tail_s=0.5")
        system = endpoint(f"pipecat://127.0.0.1:{pipecat.port}")
        recording = converse(caller, system, tmp_path / "call", LiveSettings(), {}, threading.Event())
        time.sleep(1.0)  # until it has noticed that we left
    check_turns(pipecat.events)
    _, audio = wavfile.read(recording.path / "session.wav")
    begins, n_first = find(audio[:, 1], tones(1.5, 0, 24_000), 24_000)
    again, _ = find(audio[:, 1], tones(1.5, 1, 24_000), 24_000)
    assert n_first < 1.4 * 48_000
    assert again > begins + n_first
    assert recording.parties["B"]["kind"] == "pipecat"
