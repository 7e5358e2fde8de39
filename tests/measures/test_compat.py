"""Measures as the benchmarks publish them, on drawn dialogues, and the detector's own track that they read."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes.recordings import drawn_recording
from msgspec import to_builtins
from scipy.io import wavfile

from fdbcore import replay
from fdbcore._ext.silero import SileroStream
from fdbcore.audio.wav import WavWriter
from fdbcore.measures.compat import WINDOW_S, Segment, compat, merged, overlap_v15, segments, takeover
from fdbcore.measures.quantities import Share, Values
from fdbcore.measures.reading import Reading
from fdbcore.measures.silero_track import EVIDENCE, probabilities_of_files, silero_probabilities
from fdbcore.recording.files import write_json
from fdbcore.recording.labels import Label
from fdbcore.recording.left_out import LeftOut
from fdbcore.recording.meta import AnnotatedSpan
from fdbcore.runs.replay import ReplaySettings, replay_session
from fdbcore.session.silero_model import silero_weights
from fdbcore.sources.clips import read_clip
from fdbcore.sources.sessions import session_inputs

TURN_TAKING: list[AnnotatedSpan] = [{"kind": "turn_taking", "start_s": 2.0, "end_s": 2.4}]


@pytest.mark.parametrize(
    ("words", "took"),
    [
        ([], False),
        ([(1.0, 1.2), (1.3, 1.5), (1.6, 1.9)], False),  # three words in 0.9 s
        ([(1.0, 1.2), (1.3, 1.5), (1.6, 2.0)], True),  # a second of three words
        ([(1.0, 1.1), (1.2, 1.3), (1.4, 1.5), (1.6, 1.7)], True),  # four words in 0.7 s
    ],
)
def test_takeover_is_a_second_or_four_words(words: list[tuple[float, float]], took: bool) -> None:
    measures = takeover(words, TURN_TAKING)
    assert measures["compat_v1_takeover_per_sample"] == Share(int(took), 1)
    latency = measures["compat_v1_latency_ms"]
    assert isinstance(latency, Values)
    assert len(latency.values) == took


def test_latency_counts_from_the_start_of_the_interval_and_never_below_zero() -> None:
    late = takeover([(3.36, 3.9), (4.46, 6.0)], TURN_TAKING)["compat_v1_latency_ms"]
    early = takeover([(1.0, 3.9)], TURN_TAKING)["compat_v1_latency_ms"]
    assert isinstance(late, Values)
    assert isinstance(early, Values)
    assert late.values == [pytest.approx(1360)]
    assert early.values == [0.0]
    assert "compat_v1_latency_ms" not in takeover([(1.0, 3.9)], [])


def test_v1_counts_nothing_that_is_left_out(tmp_path: Path) -> None:
    for left_out, words, latencies in (
        ((), [(1.0, 1.5), (2.5, 4.0)], [0.0]),
        ([LeftOut(50, 150, "x")], [(1.0, 1.5), (2.5, 4.0)], [500.0]),  # only the second word is left
        ([LeftOut(190, 250, "x")], [(1.0, 1.5), (2.5, 4.0)], None),  # what it counts from is left out
    ):
        spans = to_builtins(left_out)
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        reading = drawn_recording(path, "A 0-2 | B 2.5-4", annotations=TURN_TAKING, left_out=spans)
        told = [{"text": "x", "start_s": start_s, "end_s": end_s} for start_s, end_s in words]
        write_json(reading.path / "derived" / "B.json", {"words": told})
        latency = compat(Reading(path)).get("compat_v1_latency_ms")
        assert latencies == (latency.values if isinstance(latency, Values) else None)


def track(*runs: tuple[float, int]) -> npt.NDArray[np.float32]:
    """Probabilities of 32 ms windows: (probability, number of windows)."""
    return np.concatenate([np.full(n, probability, dtype=np.float32) for probability, n in runs])


def whole(probabilities: npt.NDArray[np.float32]) -> list[Segment]:
    return segments(probabilities, len(probabilities) * WINDOW_S)


def test_segments_are_padded_and_need_a_quarter_of_a_second() -> None:
    # 10 silent windows, 20 of speech, a dip that is not off, 5 of speech, silence, a blip of 7 (0.224 s), silence
    found: list[Any] = whole(track((0.1, 10), (0.9, 20), (0.4, 3), (0.9, 5), (0.1, 20), (0.9, 7), (0.1, 20)))
    assert found == [(pytest.approx(0.32 - 0.03), pytest.approx(1.216 + 0.03))]


def test_segments_split_at_a_tenth_of_a_second() -> None:
    three = whole(track((0.9, 10), (0.1, 3), (0.9, 10)))  # the end is confirmed 64 ms later: not enough
    four = whole(track((0.9, 10), (0.1, 5), (0.9, 10)))
    assert len(three) == 1
    assert [round(edge, 3) for pair in four for edge in pair] == [0.0, 0.35, 0.45, 0.8]


def test_a_segment_that_the_end_cuts_off_ends_with_the_last_sample() -> None:
    # 4.700 s beside a longer side: 146 windows and a part of one are the file's, the others are padding
    speaking = track((0.1, 120), (0.9, 27), (0.1, 10))
    assert [*segments(speaking, 4.7)[0]] == pytest.approx([3.84 - 0.03, 4.7])
    assert segments(track((0.9, 147), (0.2, 10)), 4.7) == [(0.0, 4.7)]


def test_merging_joins_gaps_up_to_the_limit() -> None:
    assert merged([(0, 1), (1.5, 2), (3, 4)], 0.5) == [(0, 2), (3, 4)]


def test_stop_and_response_latency_of_v15() -> None:
    user = [(0.0, 2.0), (5.0, 6.0), (7.0, 7.5)]
    system = [(1.5, 4.0), (8.0, 9.0)]
    measures = overlap_v15(user, system)
    stop, response = measures["compat_v15_stop_latency_ms"], measures["compat_v15_response_latency_ms"]
    assert isinstance(stop, Values)
    assert isinstance(response, Values)
    assert stop.values == [500]
    assert response.values == [500]  # from 7.5, the latest end before 8.0


def test_a_response_begins_after_the_end_and_not_with_it() -> None:
    response = overlap_v15([(0.0, 2.0)], [(2.0, 3.0), (4.0, 5.0)])["compat_v15_response_latency_ms"]
    assert isinstance(response, Values)
    assert response.values == [2000]


def test_takeover_after_an_interruption_counts_from_its_end() -> None:
    interrupted: list[AnnotatedSpan] = [{"kind": "interrupt", "start_s": 2.0, "end_s": 3.0}]
    words = [(0.5, 1.0), (1.0, 2.2), (4.0, 4.5), (4.6, 5.5)]
    measures = takeover(words, interrupted)
    assert measures == {
        "compat_v1_interruption_takeover_per_sample": Share(1, 1),
        "compat_v1_interruption_latency_ms": Values("ms", [1000.0], {"no_takeover": 0}),
    }
    silent = takeover([(0.5, 1.0), (1.0, 2.2)], interrupted)
    assert silent["compat_v1_interruption_takeover_per_sample"] == Share(0, 1)
    going_on = takeover([(2.5, 3.5), (3.6, 4.6)], interrupted)["compat_v1_interruption_latency_ms"]
    assert isinstance(going_on, Values)
    assert going_on.values == [0.0]


def test_stop_and_response_latency_of_v15_by_kind() -> None:
    user = [(0.0, 2.0), (5.0, 6.0), (9.0, 10.0)]
    system = [(1.5, 4.0), (5.8, 8.0), (10.4, 12.0)]
    labels = [Label("A", "interruption", 1.4, 2.1), Label("A", "noise", 5.0, 5.5), Label("B", "backchannel", 9, 10)]
    measures = overlap_v15(user, system, labels)
    kept = {name: measure.values for name, measure in measures.items() if isinstance(measure, Values)}
    # the overlap at 5.8 s does not touch the noise, the user's segment before 10.4 s does
    assert kept == {
        "compat_v15_stop_latency_ms": [pytest.approx(500), pytest.approx(200)],
        "compat_v15_response_latency_ms": [pytest.approx(3800), pytest.approx(400)],
        "compat_v15_stop_latency_ms_per_labelled_interruption": [pytest.approx(500)],
        "compat_v15_response_latency_ms_per_labelled_interruption": [pytest.approx(3800)],
        "compat_v15_stop_latency_ms_per_labelled_noise": [],
        "compat_v15_response_latency_ms_per_labelled_noise": [],
    }


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
