"""A conversation with a language model in text: its messages, and the pieces of its answer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fdbcore.types.tools import ToolCall
from fdbcore.types.usage import ModelUsage

ChatPart: TypeAlias = str | ToolCall | ModelUsage
"""A piece of an answer: some of its text, a complete call of a tool, or what the model counted."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message, as OpenAI's chat completions have it.

    calls: those that the assistant made with it. call_id: of the call whose result a tool's message is.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: Sequence[ToolCall] = ()
    call_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """The message in the form of the interface."""
        message: dict[str, Any] = {"role": self.role, "content": self.text}
        if self.call_id:
            message["tool_call_id"] = self.call_id
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
                }
                for call in self.calls
            ]
        return message
