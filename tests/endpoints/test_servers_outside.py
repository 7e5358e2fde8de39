"""Servers of others in calls: Kyutai's own in lockstep, and Hugging Face's, whose models are fakes."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from fakes.fake_chat import KEY, FakeChat, Turn
from fakes.fake_speech import FakeSpeech
from fakes.outside import Outside
from fakes.parties import Caller
from fakes.planted_speech import find
from fakes.realtime.plan import Wave, tones
from fakes.worlds import Shop
from helpers.live_calls import of_kind
from scipy.io import wavfile

from fdbcore.errors import PartyError
from fdbcore.protocols import World
from fdbcore.recording.reader import Recording
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


SAMPLE = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"
RATE_HZ = 24_000
REPLY_S = 4.0
HEARS_WITHIN_MS = 200
"""By how much Silero's claims may be off: its frames of 32 ms, and a tail of speech that it does not hear."""

SETTINGS = "silence_duration_ms=600&prefix_padding_ms=500&transcription_model=fake"
"""prefix_padding_ms: what the server's own `--speech_pad_ms` puts before a turn."""


def say(text: str) -> bytes:
    """Tones whose seed is the number in the text."""
    return tones(REPLY_S, int(text.strip(" .").split()[-1])).astype("<i2").tobytes()


def caller(path: Path, *said_at_s: float) -> str:
    """Someone who says "on Thursday, at three", of 1.6 s, at these times, and then listens for 8 s."""
    sample, _ = soundfile.read(SAMPLE, dtype="int16", start=10 * RATE_HZ, stop=round(11.6 * RATE_HZ))
    line: Wave = np.zeros(round((said_at_s[-1] + 9.6) * RATE_HZ), np.int16)
    for at_s in said_at_s:
        line[round(at_s * RATE_HZ) :][: len(sample)] = sample[:, 0]
    wavfile.write(path, RATE_HZ, line)
    return f"clip:{path}?tail_s=0.5"


@contextmanager
def serving(turns: Sequence[Turn], heard: Sequence[str]) -> Iterator[tuple[str, FakeChat]]:
    """The address of the system, and the fake that its model and transcriber are."""
    with FakeChat(turns, heard) as chat, FakeSpeech(say) as speech:
        urls = [f"http://127.0.0.1:{server.server_port}/v1" for server in (chat, speech)]
        with Outside("s2s_outside", "fakes.s2s_outside.server", *urls, KEY) as s2s:
            yield f"openai-realtime:local?base_url=http://127.0.0.1:{s2s.port}/v1&{SETTINGS}", chat


def held(path: Path, said: str, address: str, world: World | None = None) -> Recording:
    settings = LiveSettings(vad="energy")  # the tones are no speech to Silero
    return converse(endpoint(said), endpoint(address), path, settings, {}, threading.Event(), world=world, seed="s")


def spans_ms(line: Wave) -> list[tuple[float, float]]:
    """Where a line of 48 kHz sounds, apart from pauses of less than 0.5 s."""
    at = np.flatnonzero(np.abs(line) > 300)
    breaks = np.flatnonzero(np.diff(at) > 24_000)
    return [(at[first] / 48, at[last] / 48) for first, last in zip([0, *breaks + 1], [*breaks, -1], strict=True)]


def test_its_turns_words_and_audio_are_in_the_recording_and_an_interruption_cuts(tmp_path: Path) -> None:
    words = ["On Thursday, at three.", "At three."]
    with serving([Turn("Answer 0."), Turn("Answer 1.")], words) as (address, _):
        recording = held(tmp_path / "call", caller(tmp_path / "caller.wav", 1, 6), address)
    assert recording.outcome == {"kind": "done", "side": None, "reason": None}
    _, audio = wavfile.read(recording.path / "session.wav")
    turns = of_kind(recording, "system_turn")
    assert [turn["name"] for turn in turns] == ["speech_started", "speech_stopped"] * 2
    found = [(turns[at]["at_ms"], turns[at + 1]["at_ms"]) for at in (0, 2)]
    assert np.ravel(found) == pytest.approx(np.ravel(spans_ms(audio[:, 0])), abs=HEARS_WITHIN_MS)

    texts = [(event["of"], event["text"]) for event in of_kind(recording, "transcript")]
    assert [text for of, text in texts if of == "partner"] == words
    assert [text for of, text in texts if of == "self"] == ["Answer 0.", "Answer 1."]

    begins, n_first = find(audio[:, 1], tones(REPLY_S, 0), RATE_HZ)
    again, n_second = find(audio[:, 1], tones(REPLY_S, 1), RATE_HZ)
    (cut,) = of_kind(recording, "interrupted")
    assert abs(n_first - 48 * cut["heard_ms"]) <= 960
    assert cut["said_ms"] == pytest.approx(1000 * REPLY_S, abs=20)
    assert not audio[begins + n_first + 960 : again - 960, 1].any(), "nothing of it is heard after the cut"
    assert n_second == 48_000 * REPLY_S, "the burst of the second reply is heard whole"


def test_it_calls_a_tool_and_goes_on_with_its_result(tmp_path: Path) -> None:
    turns = [Turn(calls=[("add", '{"item": "tea"}')]), Turn("Answer 0.")]
    with serving(turns, ["Some tea, please."]) as (address, chat):
        recording = held(tmp_path / "call", caller(tmp_path / "caller.wav", 1), address, Shop([20]))
    assert [call["stage"] for call in of_kind(recording, "tool_call")][-1] == "complete"
    (result,) = of_kind(recording, "tool_result")
    assert result["status"] == "ok"
    told = chat.asked[-1]["messages"][-1]
    assert (told["role"], "tea" in told["content"]) == ("tool", True)
    _, audio = wavfile.read(recording.path / "session.wav")
    assert find(audio[:, 1], tones(REPLY_S, 0), RATE_HZ)[1] > 0


def test_a_second_session_is_refused_by_name() -> None:
    with serving([Turn("Answer 0.")], ["On Thursday, at three."]) as (address, _):
        first, second = endpoint(address), endpoint(address)
        try:
            first.open("B")
            with pytest.raises(PartyError, match=r"busy: .*session_limit_reached") as error:
                second.open("B")
        finally:
            first.close()
            second.close()
    assert error.value.transient
