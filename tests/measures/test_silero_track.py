"""What Silero's own model says of the recorded audio: as the detector kept it, and where it kept nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from fdbcore import replay
from fdbcore._ext.silero import SileroStream
from fdbcore.audio.wav import WavWriter
from fdbcore.measures.compat import compat
from fdbcore.measures.quantities import Values
from fdbcore.measures.reading import Reading
from fdbcore.measures.silero_track import EVIDENCE, probabilities_of_files, silero_probabilities
from fdbcore.runs.replay import ReplaySettings, replay_session
from fdbcore.session.silero_model import silero_weights
from fdbcore.sources.clips import read_clip
from fdbcore.sources.sessions import session_inputs

SAMPLE = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"
STEP = 48_000 // 16_000


class Forgetful(Reading):
    """A recording whose detector kept nothing."""

    def evidence(self, name: str) -> None:
        return None


def written(path: Path, gains: tuple[int, int]) -> Path:
    a, b = (read_clip(SAMPLE, channel)[0][: 20 * 48_000] for channel in ("left", "right"))
    with WavWriter(path, channels=2) as file:
        file.write(np.stack([a // gains[0], b // gains[1]], axis=1))
    return path


@pytest.mark.parametrize("left_out", [None, [(0.0, 3.0), (9.0, 9.5)]])
def test_it_is_what_the_detector_kept(tmp_path: Path, left_out: list[tuple[float, float | None]] | None) -> None:
    recording = replay(written(tmp_path / "call.wav", (1, 1)), out=tmp_path / "run", leave_out=left_out)
    kept = recording.evidence(EVIDENCE)
    assert kept is not None
    asked = silero_probabilities(Forgetful(recording.path))
    assert [track.tolist() for track in asked] == [track.tolist() for track in kept]
    assert [track.tolist() for track in silero_probabilities(recording)] == [track.tolist() for track in kept]


def test_a_file_of_16_khz_is_heard_as_it_is(tmp_path: Path) -> None:
    """The published scripts give the model the samples of the file; a call has them at 48 kHz."""
    mono = [np.ascontiguousarray(read_clip(SAMPLE, channel)[0][: 20 * 48_000 : STEP]) for channel in ("left", "right")]
    for name, pcm in zip(("input", "output"), mono, strict=True):
        wavfile.write(tmp_path / f"{name}.wav", 16_000, pcm)
    (session,) = session_inputs(a=tmp_path / "input.wav", b=tmp_path / "output.wav")
    recording = replay_session(session, ReplaySettings(tmp_path / "run"), keep_audio=False)
    for pcm, heard, kept in zip(mono, probabilities_of_files(recording), silero_probabilities(recording), strict=True):
        model = SileroStream(silero_weights(16_000))
        plain = [model.process(pcm[at : at + 512]) for at in range(0, len(pcm), 512)]
        assert heard.tolist() == pytest.approx(plain)
        assert kept.tolist() != pytest.approx(plain)
    of_48_khz = replay(written(tmp_path / "call.wav", (1, 1)), out=tmp_path / "stereo")
    for heard, kept in zip(probabilities_of_files(of_48_khz), silero_probabilities(of_48_khz), strict=True):
        assert heard.tolist() == kept.tolist()


def test_a_soft_side_has_the_published_measures_of_its_own_sound(tmp_path: Path) -> None:
    """The detector raised the soft side; the published rules take the model's answer to the sound as it is."""
    recording = replay(written(tmp_path / "call.wav", (1, 40)), out=tmp_path / "run")
    assert recording.evidence(EVIDENCE) is None
    found = compat(Reading(recording.path))["compat_v15_response_latency_ms"]
    assert isinstance(found, Values)
    assert found.values
    _, soft = silero_probabilities(Reading(recording.path))
    raw = read_clip(tmp_path / "call.wav", "right")[0].astype(float).reshape(-1, STEP).mean(axis=1)
    model, size = SileroStream(silero_weights(16_000)), 512
    plain = [model.process(raw[at : at + size].astype(np.int16)) for at in range(0, len(raw) - size, size)]
    alike = np.abs(np.array(plain) - soft[: len(plain)]) < 0.2  # a plain mean of three samples resamples poorly
    assert alike.mean() > 0.9


def test_without_its_audio_a_soft_side_has_none(tmp_path: Path) -> None:
    file = written(tmp_path / "call.wav", (1, 40))
    recording = replay(file, out=tmp_path / "run")
    file.unlink()
    assert "compat_v15_response_latency_ms" not in compat(Reading(recording.path))
