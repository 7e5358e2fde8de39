"""Request-and-reply models as parties: when they ask, what they send, and what becomes of the answer."""

import io
import threading
import time
import wave
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from helpers.conformance import SECRET, Behaviour, EndpointConformance
from scipy.io import wavfile

from fdbcore import registry
from fdbcore._ext.resample import Resampler
from fdbcore.analysis.score import score
from fdbcore.audio.wav import wav_bytes
from fdbcore.endpoints.clip import ClipEndpoint
from fdbcore.endpoints.one_shot import reply, with_defaults
from fdbcore.errors import PartyError, RefusalError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Endpoint, Model
from fdbcore.session.converse import IN_TEXT, LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, Pcm, Reply, Request, TurnEvent


def noise() -> Pcm:
    """A second at 24 kHz without what lies above the pass band of any resampler."""
    spectrum = np.fft.rfft(np.random.default_rng(1).normal(0, 3000, 24_000))
    spectrum[9_000:] = 0
    return np.rint(np.fft.irfft(spectrum)).astype(np.int16)


NOISE = noise()


class Answers(Model):
    """Answers every request alike, after a while; or raises."""

    name = "nobody:fake"

    def __init__(self, text: str = "はい。", wav: bytes | None = None, error: Exception | None = None) -> None:
        self.text, self.wav, self.error = text, wav, error
        self.takes_s = 0.0
        self.requests: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        time.sleep(self.takes_s)
        if self.error is not None:
            raise self.error
        return Reply(self.text, "fake-1", 10, 3, self.wav, {"text_in_tokens": 10, "text_out_tokens": 3})

    def describe(self) -> Mapping[str, Any]:
        return {"name": self.name}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Answers:
    answers = Answers()
    monkeypatch.setattr(registry, "model", lambda address: answers)
    return answers


class TestConformance(EndpointConformance):
    @pytest.fixture(autouse=True, params=[None, wav_bytes(NOISE, 24_000)], ids=["text", "voice"])
    def vendor(self, model: Answers, request: pytest.FixtureRequest) -> None:
        model.wav = request.param

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        yield reply(f"gemini:x?base_url=http://me:{SECRET}@127.0.0.1:1/v1?key={SECRET}&pause_ms=100")


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """Speech of 1 s between silences, at 24 kHz."""
    path = tmp_path / "user.wav"
    wavfile.write(path, 24_000, np.pad(NOISE, (4_800, 4_800)))
    return path


def held(clip: Path, path: Path, realtime: bool = False, address: str = "gemini:x", tail_s: float = 5.0) -> Reading:
    settings = LiveSettings(vad="energy", realtime=realtime)
    converse(ClipEndpoint(clip, tail_s=tail_s), reply(address), path, settings, {}, Event())
    return Reading(path)


def sent(request: Request) -> Pcm:
    assert request.wav is not None
    with wave.open(io.BytesIO(request.wav)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


def events(recording: Reading, kind: str) -> list[dict[str, Any]]:
    return [event for event in recording.events if event["kind"] == kind and event["side"] == "B"]


@pytest.mark.parametrize("realtime", [False, pytest.param(True, marks=pytest.mark.live)])
def test_the_model_is_sent_what_was_said_and_its_text_is_kept(
    model: Answers, clip: Path, tmp_path: Path, realtime: bool
) -> None:
    recording = held(clip, tmp_path / "run", realtime, "openai-chat:x?system=Be brief.&user=Go&pause_ms=300")
    (request,) = model.requests
    assert (request.system, request.user, request.schema) == ("Be brief.", "Go", None)
    _, said = wavfile.read(clip)
    heard = sent(request)
    assert np.std(heard[: len(said)].astype(int) - said) < 0.01 * np.std(said)
    assert not heard[len(said) + 100 :].any()
    (told,) = events(recording, "reply")
    assert (told["text"], told["model"]) == ("はい。", "fake-1")
    assert [
        (usage["model"], usage.get("due"), usage.get("text_in_tokens")) for usage in events(recording, "usage")
    ] == [("fake", True, None), ("fake", None, 10)]
    assert ("ms" in told) == realtime
    assert recording.meta["outcome"] == {"kind": "done", "side": "B", "reason": IN_TEXT}
    assert score(recording)["unscored"] == f"done: side B: {IN_TEXT}"
    (asked,) = events(recording, "request")
    assert asked["samples"] == len(heard) == asked["tick"] * 240
    (end,) = [e.end_tick for e in recording.turn_events if e.kind == "speech_end" and e.side == "A"]
    assert end is not None
    assert asked["tick"] == max(end + 30, next(e.known_tick for e in recording.turn_events if e.end_tick == end) + 1)


@pytest.mark.parametrize("realtime", [False, pytest.param(True, marks=pytest.mark.live)])
def test_live_and_in_lockstep_it_sends_all_that_was_recorded_so_far(
    model: Answers, clip: Path, tmp_path: Path, realtime: bool
) -> None:
    recording = held(clip, tmp_path / "run", realtime)
    (asked,) = events(recording, "request")
    _, audio = wavfile.read(recording.path / "session.wav")
    resampler = Resampler(48_000, 24_000)
    a = np.ascontiguousarray(audio[: asked["tick"] * FRAME_SAMPLES, 0])
    assert np.array_equal(sent(model.requests[0]), np.concatenate((resampler.process(a), resampler.flush())))


@pytest.mark.parametrize("rate_hz", [24_000, 16_000])
def test_a_recording_is_sent_sample_for_sample(model: Answers, clip: Path, tmp_path: Path, rate_hz: int) -> None:
    _, said = wavfile.read(clip)
    wavfile.write(clip, rate_hz, said)
    recording = held(clip, tmp_path / "run", address="gemini:x?hears=recording")
    wav = model.requests[0].wav
    assert wav is not None
    with wave.open(io.BytesIO(wav)) as file:
        assert file.getframerate() == rate_hz
        assert np.array_equal(np.frombuffer(file.readframes(file.getnframes()), np.int16), said)
    (asked,) = events(recording, "request")
    assert (asked["samples"], asked["rate_hz"], asked["is_recording"]) == (len(said), rate_hz, True)


@pytest.mark.parametrize("settings", [{"level_dbov": -30}, {"noise_dbov": -60.0}])
def test_what_is_no_longer_the_recording_is_sent_as_it_was_heard(
    model: Answers, clip: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    user = ClipEndpoint(clip, tail_s=5.0, **settings)
    lockstep = LiveSettings(vad="energy", realtime=False)
    converse(user, reply("gemini:x?hears=recording"), tmp_path / "run", lockstep, {}, Event())
    (asked,) = events(Reading(tmp_path / "run"), "request")
    assert "is_recording" not in asked
    assert asked["samples"] == len(sent(model.requests[0])) == asked["tick"] * 240


def test_an_utterance_that_goes_on_is_no_whole_recording(model: Answers, tmp_path: Path) -> None:
    path = tmp_path / "user.wav"
    wavfile.write(path, 24_000, np.concatenate((NOISE, np.zeros(48_000, np.int16), NOISE)))
    recording = held(path, tmp_path / "run", address="gemini:x?hears=recording&pause_ms=500")
    (asked,) = events(recording, "request")
    assert "is_recording" not in asked
    assert asked["samples"] == asked["tick"] * 240 < 72_000


def test_its_voice_is_heard_whole_and_then_it_leaves(model: Answers, clip: Path, tmp_path: Path) -> None:
    model.wav = wav_bytes(NOISE, 24_000)
    recording = held(clip, tmp_path / "run")
    assert recording.meta["outcome"] == {"kind": "done", "side": None, "reason": None}
    (told,) = events(recording, "reply")
    _, audio = wavfile.read(recording.path / "session.wav")
    b = audio[told["tick"] * FRAME_SAMPLES :, 1]
    assert len(b) == 2 * len(NOISE)
    assert not audio[: told["tick"] * FRAME_SAMPLES, 1].any()
    assert np.std(b[::2].astype(int) - NOISE) < 0.01 * np.std(NOISE)


@pytest.mark.live
def test_live_no_tick_waits_for_the_model(model: Answers, clip: Path, tmp_path: Path) -> None:
    model.takes_s = 1.0
    recording = held(clip, tmp_path / "run", realtime=True)
    (asked,), (told,) = events(recording, "request"), events(recording, "reply")
    assert told["tick"] - asked["tick"] >= 100
    assert told["ms"] >= 1000


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RefusalError("gemini:x: declined:\nSAFETY"), {"reason": "gemini:x: declined: SAFETY"}),
        (PartyError("busy", True), {"reason": "busy", "transient": True}),
    ],
)
def test_a_model_that_declines_or_fails_has_failed_with_its_reason(
    model: Answers, clip: Path, tmp_path: Path, error: Exception, expected: dict[str, Any]
) -> None:
    model.error = error
    recording = held(clip, tmp_path / "run")
    assert recording.meta["outcome"] == {"kind": "failed", "side": "B", **expected}
    assert not events(recording, "reply")
    assert [event["reason"] for event in events(recording, "refusal")] == (
        [expected["reason"]] if isinstance(error, RefusalError) else []
    )


def test_what_no_call_would_escape_is_an_error_of_the_user(model: Answers, clip: Path, tmp_path: Path) -> None:
    model.error = PartyError("gemini:x: http://h does not take the key")
    with pytest.raises(SettingsError, match="does not take the key"):
        held(clip, tmp_path / "run")
    assert "outcome" not in Reading(tmp_path / "run").meta


def test_a_voice_that_is_no_audio_has_failed(model: Answers, clip: Path, tmp_path: Path) -> None:
    model.wav = b"RIFFnothing"
    outcome = held(clip, tmp_path / "run").meta["outcome"]
    assert outcome["kind"] == "failed"
    assert "fake-1: sent a voice of data that no decoder recognises" in str(outcome["reason"])


@pytest.mark.live
def test_a_model_too_slow_for_its_user_has_failed(model: Answers, clip: Path, tmp_path: Path) -> None:
    model.takes_s = 1.5
    recording = held(clip, tmp_path / "run", realtime=True, tail_s=1.5)
    assert recording.meta["outcome"] == {"kind": "failed", "side": "B", "reason": "no speech found"}
    for thread in threading.enumerate():
        if thread.name == "fdbcore-reply":
            thread.join()


def test_it_waits_for_the_end_of_a_pause(model: Answers) -> None:
    party = reply("gemini:x?pause_ms=500")
    party.open("B")
    party.start(None)

    def event(kind: Any, start: int, end: int | None, known: int) -> TurnEvent:
        return TurnEvent(kind, "A", start, end, known)

    told = {30: event("speech_start", 5, None, 30), 60: event("speech_end", 5, 20, 60)}
    told |= {62: event("speech_start", 40, None, 62), 120: event("speech_end", 40, 80, 120)}
    asked = None
    for tick in range(200):
        if party.say(tick) is None:
            break
        party.hear(tick, np.zeros(FRAME_SAMPLES, np.int16))
        if tick in told:
            party.notice(tick, [told[tick]])
        asked = asked or next((h.tick for h in party.log() if h.kind == "request"), None)
    assert asked is None
    assert [h.tick for h in party.log() if h.kind == "request"] == [130]
    party.close()


def test_prompts_come_from_files_and_give_way_to_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", SECRET)
    prompt = tmp_path / "系.txt"
    prompt.write_text("短く。\n", encoding="utf-8")
    address = with_defaults(f"gemini:x?system=@{prompt}", {"system": "long", "user": "a&b=c?", "pause_ms": "1500"})
    described = reply(address).describe()
    assert (described["system"], described["user"], described["pause_ms"]) == ("短く。", "a&b=c?", 1500)
    assert with_defaults("moshi://h:1?x=1", {"system": "s"}) == "moshi://h:1?x=1"


def test_no_secret_of_its_server_is_written_down() -> None:
    described = reply(f"openai-chat:x?base_url=http://me:{SECRET}@h:1/v1%3Fkey%3D{SECRET}").describe()
    assert described["model"]["server"] == "http://h:1/v1"
    assert SECRET not in str(described)
