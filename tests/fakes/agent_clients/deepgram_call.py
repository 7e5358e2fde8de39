"""A call by Deepgram's own client, `deepgram.DeepgramClient.agent.v1`, in an environment of its own.

    PYTHONPATH=tests PYTHON_OF_THE_ENVIRONMENT -m fakes.agent_clients.deepgram_call URL KEY SETTINGS SPANS LENGTH_MS

SETTINGS: JSON, the message that the client sends, after its own type has read it. SPANS: JSON, when the caller speaks,
in ms. It prints 0, then a line of JSON for each message, and "over" at its end.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

from deepgram import DeepgramClient
from deepgram.agent.v1.types import AgentV1SendFunctionCallResponse, AgentV1Settings
from deepgram.core.events import EventType
from deepgram.environment import DeepgramClientEnvironment
from fakes.agent_clients.caller import call, tell
from pydantic import BaseModel
from websockets.exceptions import InvalidStatus

url, key, settings, spans, length = sys.argv[1:]
RATE_HZ = 24_000


def strange(model: object, at: str = "") -> Iterator[str]:
    """Where a message has fields that its type lacks."""
    if isinstance(model, BaseModel):
        yield from (f"{at}.{name}" for name in model.model_extra or {})
        for name in type(model).model_fields:
            yield from strange(getattr(model, name), f"{at}.{name}")
    elif isinstance(model, list):
        for each in model:
            yield from strange(each, f"{at}[]")


def take(message: Any, agent: Any) -> None:
    if isinstance(message, bytes):
        tell("audio", n_samples=len(message) // 2)
        return
    name = type(message).__name__.removeprefix("AgentV1")
    told = message.model_dump() if isinstance(message, BaseModel) else message
    tell(name, told=told, strange=list(strange(message)))
    if name == "Welcome":
        agent.send_settings(asked)
    elif name == "SettingsApplied":
        threading.Thread(
            target=call, args=(agent.send_media, RATE_HZ, json.loads(spans), int(length)), daemon=True
        ).start()
    elif name == "FunctionCallRequest":
        for function in message.functions:
            answer = {"id": function.id, "name": function.name, "content": function.arguments}
            agent.send_function_call_response(AgentV1SendFunctionCallResponse(type="FunctionCallResponse", **answer))


print(0, flush=True)
asked = AgentV1Settings.model_validate(json.loads(settings))
tell("settings", strange=list(strange(asked)))
there = DeepgramClientEnvironment(base=url, production=url, agent=url.replace("http", "ws", 1), agent_rest=url)
try:
    with DeepgramClient(api_key=key, environment=there).agent.v1.connect() as agent:
        agent.on(EventType.MESSAGE, lambda message: take(message, agent))
        agent.on(EventType.ERROR, lambda error: tell("error", text=str(error)))
        agent.start_listening()
except InvalidStatus as error:  # the client lets it through
    tell("refused", status=error.response.status_code)
tell("over")
