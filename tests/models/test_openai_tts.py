"""Speech by OpenAI's interface over a real socket, against a fake that its SDK's own types check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import pytest
from fakes.fake_speech import KEY, KNOWN, RATE_HZ, VOICES, FakeSpeech, spoken

from fdbcore.errors import InputError, PartyError, SettingsError
from fdbcore.registry import speaker

pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSpeech]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeSpeech() as running:
        yield running


def test_the_fake_knows_what_the_sdk_knows() -> None:
    from openai.types.audio import speech_create_params as params

    assert params.SpeechCreateParams.__annotations__.keys() == KNOWN
    assert {*get_args(get_args(params.Voice)[1])} == {*VOICES}


def test_the_text_is_spoken_with_the_settings_of_the_address(server: FakeSpeech) -> None:
    voice = speaker(f"openai-tts:gpt-4o-mini-tts?voice=nova&speed=1.5&instructions=Speak%20low.&{server.settings}")
    pcm, rate_hz = voice.speak("x", "Good morning.")
    assert pcm.dtype == np.int16
    assert rate_hz == RATE_HZ
    assert pcm.astype("<i2").tobytes() == spoken("Good morning.")
    settings = {"voice": "nova", "speed": 1.5, "instructions": "Speak low."}
    named = {"model": "gpt-4o-mini-tts", "input": "Good morning.", "response_format": "pcm"}
    assert server.asked == [named | settings]
    described = voice.describe()
    assert {name: described[name] for name in settings} == settings
    assert (described["kind"], described["model"]) == ("openai-tts", "gpt-4o-mini-tts")
    assert KEY not in str(described)


def test_a_server_of_this_machine_is_not_asked_through_a_proxy(
    server: FakeSpeech, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "Hm.")
    assert len(server.asked) == 1


def test_what_is_not_given_is_left_to_the_server(server: FakeSpeech) -> None:
    speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "Hm.")
    assert server.asked == [{"model": "tts-1", "voice": "alloy", "input": "Hm.", "response_format": "pcm"}]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("openai-tts:tts-1?voice=nobody", "does not take the request (400): Input should be alloy"),
        ("openai-tts:tts-1?", "does not take the key"),
    ],
)
def test_what_goes_wrong_is_one_line_without_the_key(
    server: FakeSpeech, address: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "key" in told:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789")
    with pytest.raises(PartyError) as error:
        speaker(f"{address}&{server.settings}").speak("x", "Hm.")
    assert told in str(error.value)
    assert "0123456789" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"", "audio/pcm"), (b"\0\0\0", "audio/pcm"), (b"RIFF\0\0\0\0", "audio/wav"), (b'{"a": 1}', "application/json")],
)
def test_what_is_no_pcm_is_refused_and_not_played(server: FakeSpeech, data: bytes, kind: str) -> None:
    server.answer = data, kind
    with pytest.raises(PartyError, match=r"something other than 16-bit PCM"):
        speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "Hm.")


def test_what_cannot_be_asked_is_refused_before_anything_is_contacted(server: FakeSpeech) -> None:
    with pytest.raises(SettingsError, match="instructions: expected none for tts-1"):
        speaker(f"openai-tts:tts-1?instructions=Whisper&{server.settings}")
    with pytest.raises(SettingsError, match=r"speed: expected a number from 0.25 to 4, got '5'"):
        speaker(f"openai-tts:tts-1?speed=5&{server.settings}")
    with pytest.raises(InputError, match="expected words that can be spoken"):
        speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "  ")
    assert server.asked == []
