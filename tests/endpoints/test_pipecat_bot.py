"""A bot of Pipecat's own parts, called by our side of the telephone network, and by WebRTC."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from fakes.fake_chat import KEY, FakeChat, Turn
from fakes.outside import Outside
from fakes.planted_speech import find
from fakes.realtime.plan import Wave, tones
from helpers.commands import done, printed
from scipy.io import wavfile
from scipy.signal import resample_poly

from fdbcore.endpoints.examiner.voice import spoken
from fdbcore.measures.reading import Reading
from fdbcore.measures.tool_calls import tool_calls_in
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


GREETING, CALL, BOOKED = "Hello, this is the kayak shop.", '{"day": "Friday"}', "It is booked for Friday. See you then."


def answer(body: Mapping[str, Any]) -> Turn:
    """Greets, books a kayak once it was asked for one, and says so."""
    roles = [message["role"] for message in body["messages"]]
    if roles[-1] == "tool":
        return Turn(BOOKED, first_s=0.2)
    return Turn(calls=[("book", CALL)]) if roles.count("user") == 1 else Turn(GREETING, first_s=0.2)


def aloud(text: str) -> bytes:
    """A text in the voice Hibari, as OpenAI's speech comes: PCM at 24 kHz."""
    pcm = at_rate(np.concatenate(spoken("hibari", text, -26.0)), 48_000, 24_000)
    return pcm.astype("<i2").tobytes()


@contextmanager
def scaffolded(kind: str) -> Iterator[Outside]:
    """A bot as `pipecat init` makes it, whose models are ours."""
    with FakeChat(answer, heard=["A kayak for Friday, please."]) as models:
        models.say = aloud
        base_url = f"http://127.0.0.1:{models.server_port}/v1"
        with Outside("pipecat_bot", "fakes.pipecat_bot.scaffolded", kind, base_url, KEY) as bot:
            yield bot


def held(system: str, folder: Path) -> Reading:
    """A caller who waits for the greeting, asks once, and listens."""
    (folder / "caller.toml").write_text(
        'language = "en"\ntail_s = 6\n[[line]]\nsay = "I would like to book a kayak for Friday, please."\n'
        'after = "other_end"\nor_after_s = 8\n'
    )
    caller = endpoint(f"scripted:{folder / 'caller.toml'}")
    made = converse(caller, endpoint(system), folder / "call", LiveSettings(max_s=40), {}, threading.Event())
    return Reading(made.path)


def test_a_scaffolded_bot_for_the_web_greets_and_tells_the_call(tmp_path: Path) -> None:
    with scaffolded("web") as bot:
        recording = held(f"pipecat://127.0.0.1:{bot.port}", tmp_path)
    events = [event for event in recording.events if event["side"] == "B"]
    assert recording.dialogue.ipus["B"][0][0] < 300, "the greeting"
    said = [event["text"] for event in events if event["kind"] == "transcript" and event["of"] == "self"]
    assert said == [GREETING, "It is booked for Friday.", "See you then."]
    assert [event["text"] for event in events if event["kind"] == "transcript" and event["of"] == "partner"] == [
        "A kayak for Friday, please."
    ]
    (call,) = tool_calls_in(recording.events)
    assert (call["name"], call["status"], call["arguments"]) == ("book", "ok", {"day": "Friday"})
    assert call["result"] == {"booked": "Friday"}
    order = [event["name"] for event in events if event["kind"] in ("stage", "system_turn")]
    greeting, asked = ["first token", "first audio"], ["transcribed", "speech_stopped"]
    assert [name for name in order if name != "speech_started"] == [
        *greeting,
        *asked,
        "first token",  # of the call of the tool
        *greeting,
    ]
    assert recording.parties["B"]["session"]["about"]["library"] == "pipecat-ai"


def test_a_scaffolded_bot_for_the_telephone_greets_and_answers(tmp_path: Path) -> None:
    with scaffolded("telephony") as bot:
        recording = held(f"twilio://127.0.0.1:{bot.port}/ws", tmp_path)
    audio, rate_hz = soundfile.read(recording.path / "session.wav")
    own_end = int(recording.dialogue.ipus["A"][-1][1])
    # Pipecat plays this voice at a third of its speed on a telephone, which no detector is sure to take for speech.
    assert np.abs(audio[: 3 * rate_hz, 1]).max() > 0.05, "the greeting"
    assert np.abs(audio[own_end * rate_hz // 100 :, 1][: 3 * rate_hz]).max() > 0.05, "the answer"


def test_a_staged_dialogue_with_a_scaffolded_bot(tmp_path: Path) -> None:
    with scaffolded("web") as bot:
        asked = ["--scenario", "daily.ordering.01", "--system", f"pipecat://127.0.0.1:{bot.port}", "--quiet"]
        done("run", "--suite", "staged", *asked, "--no-score", "--out", tmp_path / "run")
    told = ("--transcriber", "self-reported", "--out", tmp_path / "s")
    (item,) = printed("score", "--suite", "staged", tmp_path / "run", *told)["items"]
    assert item["examined"]["fault"] is None
    assert any(goal["words"] for goal in item["goals"]), "by what the bot told"
