"""Samples in the layout of Full-Duplex-Bench v1 and v1.5, of the shipped sample's speech, and a party that serves them.

The party answers after a silence, stops when it is interrupted, and gives a short sound in long speech. Each fault
spoils one of that.
"""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jsonschema import Draft202012Validator

from fdbcore.audio.wav import WavWriter
from fdbcore.sources.clips import read_clip
from fdbcore.suites.schemas import schema_file
from fdbcore.types import FRAME_BYTES, SAMPLE_RATE_HZ

SAMPLE = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"
A_SPEAKS_S = (30.6, 34.9)
B_SPEAKS_S = (45.0, 52.0)

FAULTS: Mapping[str, Mapping[str, float]] = {
    "good": {},
    "hasty": {"wait_ms": 250},
    "mute": {"nods": 0},
    "late": {"wait_ms": 2500},
    "stubborn": {"stops": 0},
}
"""A party by its fault, and what it does otherwise than the good one."""

PARTY = f"""
import array, json, sys
settings = {{"wait_ms": 800, "nods": 1, "stops": 1, **json.loads(sys.argv[2])}}
speech = open(sys.argv[1], "rb").read()
N = {FRAME_BYTES}
speech = [speech[i:i + N] for i in range(0, len(speech) - N, N)]
silent, spoken, run, place, left = 10**6, False, 0, 0, 0
out = sys.stdout.buffer
while True:
    frame = sys.stdin.buffer.read(N)
    if len(frame) < N:
        break
    loud = max(map(abs, array.array("h", frame))) > 400
    silent = 0 if loud else silent + 1
    run = run + 1 if silent < 20 else 0
    spoken = spoken or loud
    if left and not nodding and settings["stops"] and run > 20:
        left = 0
    if not left and spoken and silent == settings["wait_ms"] // 10:
        left, place, nodding, spoken = 400, 0, False, False
    if not left and settings["nods"] and run and run % 300 == 0:
        left, place, nodding = 70, 20, True
    out.write(speech[place % len(speech)] if left else bytes(N))
    out.flush()
    place, left = place + 1, max(0, left - 1)
"""


def party(folder: Path, fault: str) -> str:
    """The address of the party with a fault; what it says lies in the folder."""
    spoken = folder / "b.pcm"
    if not spoken.is_file():
        spoken.write_bytes(_cut(*B_SPEAKS_S, "right").tobytes())
    code = folder / "party.py"
    code.write_text(PARTY)
    return f"exec: {shlex.join([sys.executable, str(code), str(spoken), json.dumps(FAULTS[fault])])}"


@cache
def _sample(channel: Literal["left", "right"]) -> np.ndarray:
    return read_clip(SAMPLE, channel)[0]


def _cut(start_s: float, end_s: float, channel: Literal["left", "right"] = "left") -> np.ndarray:
    return _sample(channel)[round(start_s * SAMPLE_RATE_HZ) : round(end_s * SAMPLE_RATE_HZ)]


def said(*parts: float) -> np.ndarray:
    """Speech of the user for so many seconds, then silence for so many, and so on; int16 (n,) at 48 kHz."""
    pieces, at = [], A_SPEAKS_S[0]
    for number, length_s in enumerate(parts):
        if number % 2:
            pieces.append(np.zeros(round(length_s * SAMPLE_RATE_HZ), np.int16))
            continue
        left_s = length_s
        while left_s > 0:
            taken_s = min(left_s, A_SPEAKS_S[1] - at)
            pieces.append(_cut(at, at + taken_s))
            at = A_SPEAKS_S[0] if taken_s < left_s else at + taken_s
            left_s -= taken_s
    return np.concatenate(pieces)


def put(folder: Path, name: str, pcm: np.ndarray) -> None:
    """Write a file of audio."""
    folder.mkdir(parents=True, exist_ok=True)
    with WavWriter(folder / name, channels=1) as file:
        file.write(pcm)


def labels(folder: Path, name: str, content: object) -> None:
    (folder / f"{name}.json").write_text(json.dumps(content))


def v1_data(folder: Path, numbers: Sequence[int] = (1, 2)) -> Path:
    """Samples of the four tasks."""
    for number in numbers:
        later_s = number / 10
        pause = folder / "synthetic_pause_handling" / str(number)
        put(pause, "input.wav", said(1.2 + later_s, 0.5, 1.2, 0.4))
        labels(pause, "pause", [{"text": "[PAUSE]", "timestamp": [1.2 + later_s, 1.7 + later_s]}])
        put(folder / "icc_backchannel" / str(number), "input.wav", said(8 + later_s, 0.3))
        turn = folder / "candor_turn_taking" / str(number)
        put(turn, "input.wav", said(1.5 + later_s, 5.0))
        labels(turn, "turn_taking", [{"text": "[TURN-TAKING]", "timestamp": [1.5 + later_s, 1.9 + later_s]}])
        cut_in = folder / "synthetic_user_interruption" / str(number)
        put(cut_in, "input.wav", said(1.5 + later_s, 3.0, 1.2, 5.0))
        told = {"context": "Tell me of the sea.", "interrupt": "And of the moon?"}
        labels(cut_in, "interrupt", [{**told, "timestamp": [4.5 + later_s, 5.7 + later_s]}])
    return folder


def v15_data(folder: Path, numbers: Sequence[int] = (1, 2)) -> Path:
    """Samples of the four kinds of overlap, each with its clean one."""
    for kind in ("user_interruption", "user_backchannel", "talking_to_other", "background_speech"):
        for number in numbers:
            place, first_s = folder / kind / str(number), 1.5 + number / 10
            length_s = 0.6 if kind == "user_backchannel" else 1.2
            put(place, "input.wav", said(first_s, 3.0, length_s, 5.0))
            put(place, "clean_input.wav", said(first_s, 8.0 + length_s))
            labels(
                place,
                "metadata",
                {"context": "Tell me of the sea.", "timestamps": [first_s + 3, first_s + 3 + length_s]},
            )
    return folder


def document(out: Path) -> dict[str, Any]:
    """The scores in a folder, which fit their schema."""
    found: dict[str, Any] = json.loads((out / "scores.json").read_text())
    Draft202012Validator(json.loads(schema_file("fdb_v1/fdb_v1").read_text())).validate(found)
    return found


def figures(found: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """The figures of each system in each condition."""
    return {
        (row["system"], row["condition"]): {name: each["value"] for name, each in row["measures"].items()}
        for row in found["rows"]
        if not row["subset"]
    }
