"""Language models that answer a conversation piece by piece, and may call tools: OpenAI's chat completions, streamed.

openai:gpt-4o            openai:NAME?base_url=http://localhost:8000/v1            local:smollm2
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fdbcore.models.account import SETTINGS
from fdbcore.models.counts import openai_counts
from fdbcore.models.local import NAME, LocalModel
from fdbcore.models.openai import THOUGHT_ENDS, OpenAIModel
from fdbcore.protocols import Chat
from fdbcore.runtime.address import parsed
from fdbcore.runtime.json_values import json_or_text
from fdbcore.runtime.redaction import without_values
from fdbcore.types.chat import ChatMessage, ChatPart
from fdbcore.types.tools import Tool, ToolCall
from fdbcore.types.usage import ModelUsage

_THOUGHT: Final = "<think>"


def openai(address: str) -> Chat:
    """The model "openai:NAME". It is at OpenAI, with the key in OPENAI_API_KEY; SETTINGS name another server."""
    found = parsed(address, SETTINGS)
    return OpenAIChat(found.place, **found.settings)


def local(address: str) -> Chat:
    """The model "local:smollm2", on this machine. It calls no tools."""
    return LocalChat(address)


class OpenAIChat(OpenAIModel, Chat):
    """See `openai`."""

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),
        most_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[ChatPart]:
        """See `Chat.answer`."""
        body: dict[str, Any] = {"model": self._model, "messages": [message.to_json() for message in messages]}
        if tools:
            body["tools"] = [{"type": "function", "function": tool.to_json()} for tool in tools]
        if most_tokens is not None:
            body["max_completion_tokens"] = most_tokens
        client = self._client
        from openai import OpenAIError

        vendor = self.services()[0].vendor
        yield ModelUsage(vendor, self._model, due=True)  # the counts come last, if nobody breaks off before
        calls, said = _Calls(), _Said()
        try:
            streamed = {"stream": True, "stream_options": {"include_usage": True}}
            chunks = self.completion(client, body, schema, **streamed)
            with chunks:
                for chunk in chunks:
                    if chunk.usage is not None:
                        yield ModelUsage(vendor, self._model, openai_counts(chunk.usage.model_dump()))
                    if not chunk.choices:
                        continue
                    delta, reason = chunk.choices[0].delta, chunk.choices[0].finish_reason
                    if delta.refusal or reason == "content_filter":
                        raise self.refusal(f"declined: {delta.refusal or reason}")
                    if delta.content and (piece := said.take(delta.content)):
                        yield without_values(piece)
                    calls.take(delta.tool_calls or ())
        except (OpenAIError, ValueError, RecursionError, AttributeError) as error:
            raise self._failure(error) from None
        yield from calls.whole()


class LocalChat(LocalModel, Chat):
    """See `local`."""

    calls_tools = False
    _chat: OpenAIChat | None = None

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),
        most_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[ChatPart]:
        """See `Chat.answer`."""
        if self._chat is None or self._chat.base_url != self.base_url:
            self._chat = OpenAIChat(NAME, base_url=self.base_url)
        for part in self._chat.answer(messages, (), most_tokens, schema):
            if not isinstance(part, ModelUsage):  # nobody bills it
                yield part


class _Said:
    """The words of a model, without the thought in <think> and </think> that they may begin with."""

    def __init__(self) -> None:
        self._begun = ""
        self._speaks = False

    def take(self, piece: str) -> str:
        """The words that this piece of the answer makes known."""
        if self._speaks:
            return piece
        self._begun = (self._begun + piece).lstrip()
        thought, ends, after = self._begun.partition(THOUGHT_ENDS)
        if not ends and self._begun[: len(_THOUGHT)] == _THOUGHT[: len(self._begun)]:
            return ""  # it thinks, or may begin to
        said = after.lstrip() if thought.startswith(_THOUGHT) else self._begun
        self._speaks = bool(said)
        self._begun = ""
        return said


class _Calls:
    """Calls of tools, put together from their pieces."""

    def __init__(self) -> None:
        self._pieces: dict[int, dict[str, str]] = {}

    def take(self, pieces: Sequence[Any]) -> None:
        """Take the pieces of one chunk. The first of a call has its id and name; others go on with its arguments."""
        for piece in pieces:
            call = self._pieces.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
            call["id"] = piece.id or call["id"]
            if piece.function is not None:
                call["name"] = piece.function.name or call["name"]
                call["arguments"] += piece.function.arguments or ""

    def whole(self) -> Iterator[ToolCall]:
        """All calls, in their order."""
        for call in self._pieces.values():
            yield ToolCall("complete", call["id"], call["name"], json_or_text(call["arguments"] or "{}"))
