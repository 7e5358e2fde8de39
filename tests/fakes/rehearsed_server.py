"""The rehearsed system behind a real socket, over the plain WebSocket contract.

with PcmServer(rehearsed_over("stale")) as server:
    run(..., "--system", server.address)
"""

import numpy as np
from aiohttp import WSMsgType
from fakes.pcm_server import Call, Script

from fdbcore.registry import endpoint
from fdbcore.runtime.json_values import json_value
from fdbcore.types.system_events import TRANSCRIPT
from fdbcore.types.tools import ToolResult


def rehearsed_over(fault: str = "") -> Script:
    """What a server does in a call: it hands all to a system of its own, with this fault."""

    async def script(call: Call) -> None:
        party = endpoint(f"rehearsed:?fault={fault}" if fault else "rehearsed:")
        party.take_tools(())
        party.open("B")
        tick = 0
        await call.ready(clocking="input", settings={"fault": fault})
        async for received in call.ws:
            if received.type is WSMsgType.TEXT and (event := json_value(received.data))["type"] == "tool_result":
                value = event["result"] if event["status"] == "ok" else event["error"]
                party.take_result(tick, ToolResult(event["id"], event["name"], event["status"], value))
            if received.type is not WSMsgType.BINARY:
                continue
            party.hear(tick, np.frombuffer(received.data, "<i2"))
            for made in party.tool_calls():
                await call.tell("tool_call", id=made.id, name=made.name, arguments=made.arguments)
            frame = party.say(tick)
            assert frame is not None
            for happened in party.log():
                assert happened.kind == TRANSCRIPT
                await call.tell("text", text=happened.fields["text"])
            await call.say([frame.astype("<i2").tobytes()])
            tick += 1

    return script
