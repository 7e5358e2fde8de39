"""Events of a Pipecat bot in RTVI, the protocol between its pipeline and its client (version 2.2.0).

Turns, transcripts, stages, calls of tools that the bot made, and counts. A bot may tell less: which of it is for its
author to say, and without an RTVI processor it tells nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fdbcore import __version__
from fdbcore.clock import now_ns
from fdbcore.endpoints.vendors.party_log import Json, LoggedParty
from fdbcore.types.system_events import INTERRUPTED, STAGE, SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.tools import TOOL_CALL, TOOL_RESULT
from fdbcore.types.usage import ModelUsage, Unit

LABEL: Final = "rtvi-ai"
VERSION: Final = "2.2.0"
"""Of the protocol; a bot tells a client of an earlier one in other words."""
READY: Final[Json] = {
    "label": LABEL,
    "type": "client-ready",
    "id": "1",
    "data": {"version": VERSION, "about": {"library": "fdbcore", "library_version": __version__}},
}
_UNLOGGED: Final = ("bot-audio-level", "user-audio-level", "bot-tts-audio", "bot-llm-text", "bot-tts-text")
_TURNS: Final = {"user-started-speaking": "speech_started", "user-stopped-speaking": "speech_stopped"}
_FIRST_TOKEN, _FIRST_AUDIO = "first token", "first audio"
_FIRSTS: Final = {re.compile("LLM"): _FIRST_TOKEN, re.compile("TTS(?!ervice)"): _FIRST_AUDIO}
"""First output of a processor of such a name, as Pipecat's own have; an STTService is no TTS."""
_LEFT: Final = "the bot hung up"
_TOKENS: Final[Mapping[str, Unit]] = {"prompt_tokens": "text_in_tokens", "completion_tokens": "text_out_tokens"}


class _Saying(NamedTuple):
    """A sentence that is being said. said: how much of it was, if the bot tells."""

    text: str
    said: str
    began_ns: int


class RtviEvents:
    """The events of one call, on the network's thread. line: the party that tells them.

    ready: what the bot said of itself as it got ready; empty until then.
    """

    def __init__(self, line: LoggedParty) -> None:
        self.ready: Json = {}
        self._line = line
        self._awaited: set[str] = set()  # parts that the model has yet to give of the answer that it began
        self._tells_input = False
        self._saying: dict[str, _Saying] = {}  # by its segment
        self._calls: dict[str, str] = {}  # the names of calls that have not ended
        self._model = ""

    def take(self, message: Json) -> None:
        """Handle one message of the bot."""
        name, data = str(message.get("type", "")), message.get("data")
        if message.get("label") != LABEL:
            self._signalled(message.get("message"))
            return
        told: Json = data if isinstance(data, dict) else {}
        if name not in _UNLOGGED:
            self._line.log_event(name, told)
        match name:
            case "bot-ready":
                self.ready = told
            case "user-started-speaking" | "user-stopped-speaking":
                self._line.note(SYSTEM_TURN, name=_TURNS[name])
            case "user-input" | "user-transcription":
                self._heard(name, told)
            case "bot-llm-started":
                self._awaited = {_FIRST_TOKEN, _FIRST_AUDIO}
            case "bot-llm-text" | "llm-raw-text":
                self._came(_FIRST_TOKEN)
            case "bot-started-speaking":
                self._came(_FIRST_AUDIO)
            case "bot-output":
                self._said(told)
            case "bot-interrupted":
                self._cut()
            case "llm-function-call-in-progress" | "llm-function-call-stopped":
                self._called(name.rpartition("-")[2], told)
            case "metrics":
                self._measured(told)
            case "error" if told.get("fatal"):
                self._line.end(f"the bot failed: {told.get('error')}")

    def _signalled(self, message: object) -> None:
        """Take a message of the transport beside RTVI."""
        if isinstance(message, dict) and message.get("type") == "peerLeft":
            self._line.end(_LEFT)

    def _heard(self, name: str, told: Json) -> None:
        """Note what the bot heard; a newer one tells it twice."""
        self._tells_input |= name == "user-input"
        if not told.get("final") or told.get("input_type") == "chat" or self._tells_input is (name != "user-input"):
            return
        self._line.note(TRANSCRIPT, of="partner", text=str(told.get("text")))
        self._line.note(STAGE, name="transcribed")

    def _came(self, stage: str) -> None:
        """Something of an answer is there; only the first of it counts."""
        if stage in self._awaited:
            self._awaited.discard(stage)
            self._line.note(STAGE, name=stage)

    def _said(self, told: Json) -> None:
        """Take how far a sentence was said. It is told once it was, or when it is cut off."""
        if not told.get("will_be_spoken"):
            return
        segment, text = str(told.get("segment_id")), str(told.get("text"))
        progress = told.get("spoken_progress") or {}
        if told.get("spoken_status") == "completed":
            self._saying.pop(segment, None)
            self._line.note(TRANSCRIPT, of="self", text=text, item=segment)
        else:
            began_ns = self._saying[segment].began_ns if segment in self._saying else now_ns()
            self._saying[segment] = _Saying(text, str(progress.get("accumulated_text") or ""), began_ns)

    def _cut(self) -> None:
        """Cut off what is being said: after the words that were said, if the voice tells them as it says them."""
        for segment, saying in self._saying.items():
            self._line.note(TRANSCRIPT, of="self", text=saying.said or saying.text, item=segment)
            if not saying.said:
                heard_ms = (now_ns() - saying.began_ns) / 1e6
                self._line.note(INTERRUPTED, item=segment, said_ms=None, heard_ms=round(heard_ms, 1))
        self._saying.clear()

    def _called(self, stage: str, told: Json) -> None:
        """Note a call of a tool that the bot made, and how it ended. Names, arguments and results may be withheld."""
        number = str(told.get("tool_call_id"))
        name = str(told.get("function_name") or self._calls.get(number, ""))
        if stage == "progress":
            self._calls[number] = name
            self._line.note(TOOL_CALL, id=number, name=name, stage="begun")
            self._line.note(TOOL_CALL, id=number, name=name, stage="complete", arguments=told.get("arguments"))
        elif self._calls.pop(number, None) is not None and told.get("cancelled"):
            self._line.note(TOOL_CALL, id=number, name=name, stage="cancelled")
        else:
            self._line.note(TOOL_RESULT, id=number, name=name, status="ok", result=told.get("result"))

    def _measured(self, told: Json) -> None:
        """Take what processors measured: a time to the first output comes with that output, and is 0 at the start."""
        for each in _objects(told.get("ttfb")):
            processor = str(each.get("processor"))
            for part, stage in _FIRSTS.items():
                if part.search(processor) and each.get("value"):
                    self._came(stage)
            if "LLM" in processor:
                self._model = str(each.get("model") or self._model)
        for each in _objects(told.get("tokens")):
            counts = {unit: each[field] for field, unit in _TOKENS.items() if isinstance(each.get(field), int)}
            self._line.log_usage(ModelUsage("", self._model, counts))
        for each in _objects(told.get("characters")):
            if isinstance(each.get("value"), int):
                self._line.log_usage(ModelUsage("", str(each.get("model") or ""), {"characters": each["value"]}))


def _objects(values: object) -> Iterator[Mapping[str, Any]]:
    """The objects in a list; none if it is something else."""
    yield from (each for each in (values if isinstance(values, Sequence) else ()) if isinstance(each, Mapping))
