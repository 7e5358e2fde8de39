"""What a fake of GPT-Live hands over: to a Responses model of the vendor's, whose events it wraps, or to the client."""

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakes.realtime.checks import Wrong
from fakes.realtime.plan import Call

if TYPE_CHECKING:
    from fakes.live.session import LiveSession


class Backend:
    """open: calls without an output, by their ids. results: the outputs, as they came."""

    def __init__(self, session: "LiveSession") -> None:
        self.open: dict[str, Call] = {}
        self.results: dict[str, str] = {}
        self._session = session
        self._delegation = ""
        self._numbers = 0
        self._waits = False

    @property
    def target(self) -> str:
        return str((self._session.settings.get("delegation") or {"type": "client"})["type"])

    async def hand_over(self, calls: tuple[Call, ...]) -> None:
        """A task: of a client it gets no words, of the vendor's model its calls."""
        session = self._session
        self._delegation = session.new_id("dlg")
        handed = {"id": self._delegation, "type": "delegation", "target": self.target}
        response_id = session.new_id("resp")
        if self.target == "responses":
            handed["response_id"] = response_id
        await session.send("session.delegation.created", offset_ms=session.now_ms, delegation=handed)
        if self.target == "responses":
            await self._call(response_id, calls)

    async def _call(self, response_id: str, calls: tuple[Call, ...]) -> None:
        await self._begin(response_id)
        thought = {"id": self._session.new_id("rs"), "type": "reasoning", "summary": []}
        await self._tell("response.output_item.added", output_index=0, item=thought)
        await self._tell("response.output_item.done", output_index=0, item=thought)
        for index, call in enumerate(calls, 1):
            call_id = call.call_id or self._session.new_id("call")
            arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
            item = {"id": self._session.new_id("fc"), "type": "function_call", "call_id": call_id, "name": call.name}
            begun = item | {"arguments": "", "status": "in_progress"}
            await self._tell("response.output_item.added", output_index=index, item=begun)
            at = {"item_id": item["id"], "output_index": index}
            for start in range(0, len(arguments), 8):
                delta = arguments[start : start + 8]
                await self._tell("response.function_call_arguments.delta", **at, delta=delta)
            await self._tell("response.function_call_arguments.done", **at, arguments=arguments)
            self.open[call_id] = call
            done = item | {"arguments": arguments, "status": "completed"}
            await self._tell("response.output_item.done", output_index=index, item=done)
        self._waits = True
        await self._complete(response_id)

    async def take_item(self, event: Mapping[str, Any]) -> None:
        self._needs_responses()
        item = event["item"]
        if item["type"] != "function_call_output":
            return
        if item["call_id"] not in self.open:
            told = f"No tool call found for function call output with call_id {item['call_id']}."
            raise Wrong("invalid_call_id", told, "item.call_id")
        del self.open[item["call_id"]]
        self.results[item["call_id"]] = item["output"]

    async def go_on(self, event: Mapping[str, Any]) -> None:
        """The client asks for the response that its outputs allow."""
        self._needs_responses()
        if self.open:
            told = f"Function call outputs are required for: {', '.join(self.open)}."
            raise Wrong("function_call_outputs_required", told)
        if not self._waits:
            return
        self._waits = False
        session, response_id = self._session, self._session.new_id("resp")
        text = session.next_reply().words
        await self._begin(response_id)
        item_id = session.new_id("msg")
        item = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        await self._tell("response.output_item.added", output_index=0, item=item)
        at = {"item_id": item_id, "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": text, "annotations": []}
        await self._tell("response.content_part.added", **at, part=part | {"text": ""})
        await self._tell("response.output_text.delta", **at, delta=text, logprobs=[])
        await self._tell("response.output_text.done", **at, text=text, logprobs=[])
        await self._tell("response.content_part.done", **at, part=part)
        done = item | {"status": "completed", "content": [part]}
        await self._tell("response.output_item.done", output_index=0, item=done)
        await self._complete(response_id)
        session.speak_next()

    def _needs_responses(self) -> None:
        if self.target != "responses":
            raise Wrong("invalid_delegation_type", "response.* events require Responses delegation.", "type")

    async def _begin(self, response_id: str) -> None:
        for name in ("created", "in_progress"):
            await self._tell(f"response.{name}", response=self._response(response_id, "in_progress"))

    async def _complete(self, response_id: str) -> None:
        usage = {
            "input_tokens": 120,
            "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 8},
            "total_tokens": 140,
        }
        response = self._response(response_id, "completed") | {"usage": usage}
        await self._tell("response.completed", response=response)

    def _response(self, response_id: str, status: str) -> dict[str, Any]:
        """A snapshot: what was put out, instructions and tools are left away, as the vendor leaves them."""
        settings = (self._session.settings.get("delegation") or {}).get("responses", {})
        return {
            "id": response_id,
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "model": settings.get("model", ""),
            "instructions": None,
            "output": [],
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": settings.get("parallel_tool_calls", True),
        }

    async def _tell(self, kind: str, **fields: Any) -> None:
        self._numbers += 1
        event = {"type": kind, "sequence_number": self._numbers, **fields}
        await self._session.send("response.event", delegation_id=self._delegation, event=event)
