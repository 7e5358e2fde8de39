"""Recordings made without the loop: from drawn dialogues, and from the shipped sample with its true activity."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
from helpers.drawn import Activity, activity

from fdbcore.measures.reading import Reading
from fdbcore.recording.files import HEALTH, HEALTH_SCHEMA, settings_hash, write_json
from fdbcore.recording.health import SideSound
from fdbcore.recording.writer import RecordingWriter
from fdbcore.session.silero_model import VERSION
from fdbcore.session.turns import detect_turns
from fdbcore.session.vad import RULES_VERSION
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TurnSettings

SAMPLE: Final = Path(__file__).parents[2] / "benchmarks" / "sample"
SIDES: Final = {"A": {"file": 0, "channel": "left"}, "B": {"file": 0, "channel": "right"}}
UNMEASURED: Final = {
    **dict.fromkeys(SideSound.__annotations__),
    **dict.fromkeys(("speech_s", "peak_dbov", "dc_of_full_scale"), 0.0),
}
NO_SPANS: Final[Mapping[str, list[Any]]] = {"A": [], "B": []}
SOUND: Final = {"verdict": "ok", "sides": {"A": UNMEASURED, "B": UNMEASURED}, "findings": [], "suspect": NO_SPANS}
META: Final[Mapping[str, Any]] = {
    "created": "2026-01-31T09:30:00.125Z",
    "parties": {"A": {"kind": "replay"}, "B": {"kind": "replay"}},
    "settings": {
        "turns": asdict(TurnSettings()),
        "vad": {side: {"name": "silero", "version": f"{VERSION}-{RULES_VERSION}", "delay_ms": 320} for side in "AB"},
    },
    "versions": {"fdbcore": "0.1.0", "python": "3.11"},
    "timing": {"realtime": False, "clock": {"name": "virtual", "hardware": None}},
}


def drawn_recording(path: Path, text: str, tail_s: float = 3.0, **meta: object) -> Reading:
    """The recording of a drawn dialogue (see `drawn`); its audio is a constant wherever a side speaks."""
    a, b = activity(text, tail_s)
    frames = np.where(np.stack([a, b], axis=1), 1000, 0).astype(np.int16)
    return _written(path, np.repeat(frames, FRAME_SAMPLES, axis=0), a, b, meta)


def sample_recording(path: Path, **meta: object) -> Reading:
    """The shipped sample, with the activity that its ground truth states; its audio is linked."""
    truth = json.loads((SAMPLE / "truth.json").read_text())
    rate_hz, n_ticks = truth["audio"]["rate_hz"], truth["audio"]["samples"] * 100 // truth["audio"]["rate_hz"]
    tracks = {side: np.zeros(n_ticks, dtype=np.bool_) for side in "AB"}
    for line in truth["utterances"]:
        for start, end in line["ipus"]:
            tracks[line["side"]][start * 100 // rate_hz : end * 100 // rate_hz] = True
    flac = SAMPLE / "sample.flac"
    file = {"path": str(flac), "sha256": "1" * 64, "codec": "flac", "rate_hz": rate_hz, "channels": 2}
    source = {"files": [file], "sides": SIDES, "playable_in_browser": True}
    meta = {"source": source, **meta}
    return _written(path, _decoded(flac), tracks["A"], tracks["B"], meta)


def _decoded(path: Path) -> npt.NDArray[np.int16]:
    """The audio of a stereo file at 48 kHz, int16 (n, 2)."""
    resampler = av.AudioResampler(format="s16", layout="stereo", rate=SAMPLE_RATE_HZ)
    with av.open(str(path)) as container:
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    frames += resampler.resample(None)
    return np.concatenate([frame.to_ndarray() for frame in frames], axis=1).reshape(-1, 2).astype(np.int16)


def _written(path: Path, pcm: npt.NDArray[np.int16], a: Activity, b: Activity, meta: Mapping[str, object]) -> Reading:
    file = {"path": "call.wav", "sha256": "2" * 64}
    source = {"files": [file], "sides": SIDES, "playable_in_browser": False}
    known: Any = {**META, "source": source, **meta}
    known["settings_sha256"] = settings_hash(known["settings"])
    if "timing" in known:  # what every certificate has
        known["timing"] = {"realtime": True, **known["timing"]}
    frames = pcm[: len(a) * FRAME_SAMPLES].reshape(len(a), FRAME_SAMPLES, 2)
    with RecordingWriter(path, known, keep_audio=not known["source"]["playable_in_browser"]) as recording:
        for tick, frame in enumerate(frames):
            recording.write(frame[:, 0], frame[:, 1])
            recording.activity(bool(a[tick]), bool(b[tick]))
        recording.turns(detect_turns(a, b, vad_delay_ticks=20))
    write_json(path / HEALTH, {"schema": HEALTH_SCHEMA, **SOUND})
    return Reading(path)
