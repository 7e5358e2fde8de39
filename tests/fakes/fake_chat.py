"""A server that streams OpenAI's chat completions, transcribes and speaks, as cascaded systems use them. Real HTTP.

    with FakeChat([Turn("Good day. What can I do?")], heard=["Hello."]) as server:
        registry.chat(f"openai:gpt-4o?{server.settings}")
        server.asked[0]["messages"], server.wavs[0]

Each chunk is checked by the type of the vendor's own client.
"""

import io
import json
import time
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from fakes.fake_speech import spoken
from fakes.fake_transcriptions import Word
from fakes.threaded import Handler, ThreadedServer
from openai.types.chat import ChatCompletionChunk

KEY = "sk-fake-0123456789abcdef"
CHAT, TRANSCRIPTIONS, SPEECH = "/v1/chat/completions", "/v1/audio/transcriptions", "/v1/audio/speech"


@dataclass(frozen=True)
class Turn:
    """An answer of the model. calls: (name, arguments as JSON) each; call_id: of all of them, as servers with a fault
    have it. status: of HTTP. first_s, word_s: to the first word, and from
    word to word. pieces: the text as it is sent, where that is not word by word.
    """

    text: str = ""
    calls: Sequence[tuple[str, str]] = ()
    status: int = 200
    first_s: float = 0.0
    word_s: float = 0.0
    refusal: str = ""
    call_id: str = ""
    pieces: Sequence[str] = ()


Answers: TypeAlias = Callable[[Mapping[str, Any]], Turn]
Heard: TypeAlias = Callable[[bytes], str | Sequence[Word]]


def placed(wav: bytes, text: str) -> list[Word]:
    """The words of a text, as many in each stretch of sound of a WAV file, where a pause of 0.2 s parts stretches."""
    with wave.open(io.BytesIO(wav)) as reader:
        rate_hz, pcm = reader.getframerate(), np.frombuffer(reader.readframes(reader.getnframes()), "<i2")
    loud = np.flatnonzero(np.abs(pcm.astype(int)) > 200)
    stretches = [each for each in np.split(loud, np.flatnonzero(np.diff(loud) > rate_hz // 5) + 1) if len(each)]
    found = []
    for stretch, words in zip(stretches, np.array_split(text.split(), max(len(stretches), 1)), strict=False):
        start_s, length_s = stretch[0] / rate_hz, (stretch[-1] - stretch[0]) / rate_hz
        found += [
            Word(str(word), start_s + place * length_s / len(words), start_s + (place + 1) * length_s / len(words))
            for place, word in enumerate(words)
        ]
    return found


class FakeChat(ThreadedServer):
    """A context manager. The last turn, and the last transcript, come again. turns: or what makes one of the body of a
    request. heard: transcripts, or what makes one of a file, as a text or as words. say: the PCM of a text. asked: the
    bodies of chats. wavs: the files to transcribe. broken_off: how many
    answers the client did not wait for."""

    def __init__(
        self, turns: Sequence[Turn] | Answers = (Turn("Good day."),), heard: Sequence[str] | Heard = ("Hello.",)
    ) -> None:
        super().__init__(_Handler)
        self.turns, self.heard, self.say = turns, heard, spoken
        self.asked: list[dict[str, Any]] = []
        self.wavs: list[bytes] = []
        self.broken_off = 0

    def words(self, number: int) -> str | Sequence[Word]:
        """In file `number`, from 1."""
        if callable(self.heard):
            return self.heard(self.wavs[number - 1])
        return self.heard[min(number, len(self.heard)) - 1]

    def turn(self, body: Mapping[str, Any]) -> Turn:
        """The answer to the request that came last."""
        if callable(self.turns):
            return self.turns(body)
        return self.turns[min(len(self.asked), len(self.turns)) - 1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error."""
        self.broken_off += 1


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: FakeChat

    def do_POST(self) -> None:
        data = self.body()
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return self._refuse(401, "Incorrect API key provided", "invalid_api_key")
        if self.path == TRANSCRIPTIONS:
            wav = data[data.index(b"RIFF") :]
            self.server.wavs.append(wav[: 8 + int.from_bytes(wav[4:8], "little")])
            words = self.server.words(len(self.server.wavs))
            answer: dict[str, Any] = {
                "text": words if isinstance(words, str) else " ".join(each.text for each in words)
            }
            if b"verbose_json" in data:
                timed = placed(self.server.wavs[-1], words) if isinstance(words, str) else words
                answer["words"] = [{"word": each.text, "start": each.start_s, "end": each.end_s} for each in timed]
            return self.send(answer)
        body = json.loads(data)
        if self.path == SPEECH:
            return self.send(self.server.say(body["input"]), kind="audio/pcm")
        assert self.path == CHAT
        self.server.asked.append(body)
        turn = self.server.turn(body)
        if turn.status != 200:
            return self._refuse(turn.status, "It was planned so", None)
        assert body["stream"]
        assert body["stream_options"] == {"include_usage": True}
        self._check_calls(body["messages"])
        self._stream(turn, body["model"])

    def _check_calls(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Each call is answered by a message of its own, right behind it, as the vendor demands."""
        for number, message in enumerate(messages):
            ids = [call["id"] for call in message.get("tool_calls", ())]
            answered = [each.get("tool_call_id") for each in messages[number + 1 : number + 1 + len(ids)]]
            assert sorted(ids) == sorted(map(str, answered)), messages

    def _stream(self, turn: Turn, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        time.sleep(turn.first_s)
        number = len(self.server.asked)
        for choice, usage in _pieces(turn, number):
            named = {"id": f"chatcmpl-fake{number}", "object": "chat.completion.chunk", "created": 1, "model": model}
            chunk = {**named, "choices": [choice] if choice else [], "usage": usage}
            ChatCompletionChunk.model_validate(chunk)
            self._event(json.dumps(chunk))
            time.sleep(turn.word_s)
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.flush()

    def _refuse(self, status: int, message: str, code: str | None) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        self.send({"error": error}, status)


def _pieces(turn: Turn, number: int) -> Iterator[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """The choice of each chunk, and the usage of the last one."""

    def choice(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}

    yield choice({"role": "assistant", "content": "", "refusal": None}), None
    if turn.refusal:
        yield choice({"refusal": turn.refusal}), None
    for piece in turn.pieces or [f"{word} " for word in turn.text.split(" ") if turn.text]:
        yield choice({"content": piece}), None
    for index, (name, arguments) in enumerate(turn.calls):
        began = {"index": index, "id": turn.call_id or f"call_{number}_{index}", "type": "function"}
        yield choice({"tool_calls": [{**began, "function": {"name": name, "arguments": ""}}]}), None
        half = len(arguments) // 2
        for part in (arguments[:half], arguments[half:]):
            yield choice({"tool_calls": [{"index": index, "function": {"arguments": part}}]}), None
    yield choice({}, "tool_calls" if turn.calls else "stop"), None
    details = {"prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0}}
    yield None, {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, **details}
