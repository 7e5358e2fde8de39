"""Speech recognition over a real socket, against a server that speaks as much of audio/transcriptions as is needed."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from fakes.fake_transcriptions import FakeTranscriptions, Word, spoken
from fakes.threaded import Handler, ThreadedServer

from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import PartyError, SettingsError
from fdbcore.protocols import Transcriber
from fdbcore.registry import transcriber
from fdbcore.types.words import TimedWord, as_text

pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")

KEY = "sk-fake-0123456789abcdef"
WAV = wav_bytes(np.arange(480, dtype=np.int16), 48_000)


class Server(ThreadedServer):
    """Answers with `status` and `answer`, and keeps what it got."""

    status = 200
    answer: Mapping[str, Any] = {"text": " 晴れです。 "}

    def __init__(self) -> None:
        super().__init__(Answers)
        self.got: list[tuple[str, str, bytes]] = []


class Answers(Handler):
    server: Server

    def do_POST(self) -> None:
        self.server.got.append((self.path, self.headers["Authorization"], self.body()))
        self.send(self.server.answer, self.server.status)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server() as running:
        yield running


def test_the_recording_is_sent_and_its_words_come_back(server: Server) -> None:
    hears = transcriber(f"openai:gpt-4o-transcribe?{server.settings}")
    assert (hears.name, hears.transcribe(WAV, "ja")) == ("openai:gpt-4o-transcribe", "晴れです。")
    ((path, key, body),) = server.got
    assert (path, key) == ("/v1/audio/transcriptions", f"Bearer {KEY}")
    assert WAV in body
    assert b'name="language"\r\n\r\nja\r\n' in body
    assert b'name="model"\r\n\r\ngpt-4o-transcribe\r\n' in body


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, "does not take the key"),
        (400, {"error": {"message": "Audio file is too short."}}, "Audio file is too short."),
        (200, {"words": []}, "something other than a transcript"),
    ],
)
def test_what_goes_wrong_is_one_line_without_the_key(
    server: Server, status: int, answer: Mapping[str, Any], expected: str
) -> None:
    server.status, server.answer = status, answer
    with pytest.raises(PartyError, match=expected) as error:
        transcriber(f"openai:whisper-1?{server.settings}").transcribe(WAV, "ja")
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)


WORDS = [Word("three", 0.5, 0.8), Word("one", 0.9, 1.2), Word("four", 2.0, 2.25)]
SAID = wav_bytes(spoken(WORDS, 3.0), 16_000)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTranscriptions]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeTranscriptions() as running:
        yield running


def test_a_server_gives_words_with_their_times(listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    expected = [TimedWord("three", 500, 800), TimedWord("one", 900, 1200), TimedWord("four", 2000, 2250)]
    assert hears.words(SAID, "en") == expected
    assert hears.words(SAID, "") == expected
    assert [asked.get("language") for asked in listener.asked] == ["en", None]
    assert hears.transcribe(SAID, "en") == as_text(expected) == "three one four"
    assert hears.words(wav_bytes(np.zeros(16_000, np.int16), 16_000), "en") == []


def test_a_model_without_word_times_is_refused_with_what_its_server_says(listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("gpt-4o-transcribe"))
    with pytest.raises(
        SettingsError, match=r"^openai:gpt-4o-transcribe gives no word times: response_format 'verbose_j"
    ):
        hears.words(SAID, "en")
    assert hears.transcribe(SAID, "en") == "three one four"


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        ({"text": "Hello.", "segments": []}, SettingsError, "gives no word times: .* answers without them"),
        ({"text": "Hello.", "words": [{"word": "Hello"}]}, PartyError, "something other than a transcript"),
        ({"text": "Hello.", "words": [{"word": None, "start": 0, "end": 1}]}, PartyError, "other than a transcript"),
        ({"text": "Hello.", "words": [{"word": "Hello", "start": "x", "end": 1}]}, PartyError, "than a transcript"),
        ({"text": "Hello.", "words": [{"word": "Hello", "start": 0, "end": 1e308}]}, PartyError, "than a transcript"),
    ],
)
def test_answers_without_usable_word_times(
    listener: FakeTranscriptions, answer: dict[str, object], error: type[Exception], told: str
) -> None:
    listener.answer = answer
    with pytest.raises(error, match=told):
        transcriber(listener.address_of("whisper-1")).words(SAID, "en")


def test_a_transcriber_of_ones_own_gives_no_word_times_unless_it_says_so() -> None:
    class Own(Transcriber):
        name = "own"

        def transcribe(self, wav: bytes, language: str) -> str:
            return "words"

    with pytest.raises(SettingsError, match="own gives no word times"):
        Own().words(SAID, "en")
    assert Own().describe() == {"name": "own"}


def test_words_in_a_row_have_spaces_where_a_writing_has_them() -> None:
    words = [TimedWord(text, 0, 0) for text in ("晴れ", "です。", "OK", "then", "はい")]
    assert as_text(words) == "晴れです。 OK then はい"


def test_an_unknown_transcriber() -> None:
    with pytest.raises(SettingsError, match="asr: expected one of nemo, openai, whisper, got 'moonshine'"):
        transcriber("moonshine:tiny")
