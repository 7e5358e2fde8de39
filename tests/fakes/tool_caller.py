"""A system that calls the tools that it is offered, over the plain WebSocket contract."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from aiohttp import WSMsgType
from fakes.pcm_server import Call

from fdbcore.runtime.json_values import json_value

Message: TypeAlias = Mapping[str, Any]


class ToolCaller:
    """Answers each frame with one of its own, and speaks now and then.

    at_frame: what it sends before its answer to the frame of that number, from 1; 0: at once. after: by the id of a
    call, what it sends when its result has come, made from it. bye_after: the number of the frame after which it
    leaves. offered: the tools of the greeting. results: what came, each with the number of frames that were heard
    before.
    """

    def __init__(
        self,
        at_frame: Mapping[int, Sequence[Message]],
        after: Mapping[str, Callable[[Any], Message]] | None = None,
        clocking: str = "input",
        bye_after: int | None = None,
    ) -> None:
        self._at_frame = at_frame
        self._after = after or {}
        self._clocking = clocking
        self._bye_after = bye_after
        self.offered: list[dict[str, Any]] = []
        self.results: list[tuple[int, dict[str, Any]]] = []

    async def __call__(self, call: Call) -> None:
        self.offered = call.hello.get("tools", [])
        self.results = []
        n_heard = 0
        await call.ready(clocking=self._clocking)
        for message in self._at_frame.get(0, ()):
            await call.ws.send_json(message)
        async for received in call.ws:
            if received.type is WSMsgType.BINARY:
                n_heard += 1
                for message in self._at_frame.get(n_heard, ()):
                    await call.ws.send_json(message)
                await call.say([VOICE if n_heard % 50 >= 20 else bytes(len(VOICE))])
                if n_heard == self._bye_after:
                    return await call.tell("bye")
            elif received.type is WSMsgType.TEXT and (event := json_value(received.data))["type"] == "tool_result":
                self.results.append((n_heard, event))
                if event["id"] in self._after:
                    await call.ws.send_json(self._after[event["id"]](event["result"]))


VOICE: Final = np.where(np.arange(480) // 24 % 2, 8000, -8000).astype("<i2").tobytes()


def calls(number: str, name: str, **arguments: object) -> Message:
    return {"type": "tool_call", "id": number, "name": name, "arguments": arguments}
