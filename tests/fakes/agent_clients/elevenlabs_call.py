"""A call by ElevenLabs' own client, `elevenlabs.conversational_ai.Conversation`, in an environment of its own.

    PYTHONPATH=tests PYTHON_OF_THE_ENVIRONMENT -m fakes.agent_clients.elevenlabs_call URL KEY AGENT SPANS LENGTH_MS

SPANS: JSON, when the caller speaks, in ms. It prints 0, then a line of JSON for each callback, and "over" at its end.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable

from elevenlabs.client import ElevenLabs
from elevenlabs.conversational_ai.conversation import (
    AudioInterface,
    ClientTools,
    Conversation,
    ConversationInitiationData,
    DisconnectionDetails,
)
from fakes.agent_clients.caller import call, tell

url, key, agent, spans, length = sys.argv[1:]
RATE_HZ = 16_000
has_ended = threading.Event()


class Line(AudioInterface):  # type: ignore[misc,unused-ignore]
    """The caller."""

    def start(self, input_callback: Callable[[bytes], None]) -> None:
        self._thread = threading.Thread(
            target=call, args=(input_callback, RATE_HZ, json.loads(spans), int(length)), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        return

    def output(self, audio: bytes) -> None:
        tell("audio", n_samples=len(audio) // 2)

    def interrupt(self) -> None:
        tell("interrupt")


def end(details: DisconnectionDetails) -> None:
    tell("disconnect", reason=details.reason, code=details.close_code)
    has_ended.set()


print(0, flush=True)
tools = ClientTools()
tools.register("add", lambda parameters: json.dumps({"items": parameters["item"]}))
conversation = Conversation(
    ElevenLabs(api_key=key, base_url=url),
    agent,
    requires_auth=True,
    audio_interface=Line(),
    client_tools=tools,
    config=ConversationInitiationData(
        conversation_config_override={
            "agent": {"prompt": {"prompt": "Be brief."}, "first_message": "Hello", "language": "en"},
            "tts": {"voice_id": "v1", "speed": 1.1},
        },
        dynamic_variables={"name": "Ann"},
    ),
    callback_agent_response=lambda text: tell("agent_response", text=text),
    callback_agent_response_correction=lambda before, after: tell("correction", before=before, after=after),
    callback_user_transcript=lambda text: tell("user_transcript", text=text),
    callback_latency_measurement=lambda ms: tell("ping", ms=ms),
    callback_disconnect=end,
)
try:
    conversation.start_session()
except Exception as error:
    tell("refused", status=getattr(error, "status_code", None))
    has_ended.set()
else:
    has_ended.wait(int(length) / 1000 + 1)
    conversation.end_session()
    tell("conversation", id=conversation.wait_for_session_end())
tell("over")
