"""Our server in the beta form of the Realtime interface, held against the clients of the vendors."""

import base64
import json
import subprocess

import numpy as np
import pytest
from fakes.outside import ENVIRONMENTS, FAKES, MADE_FROM
from fakes.realtime_server import Plan, RealtimeServer, Reply, tones
from helpers.patience import PATIENCE_S

pytestmark = pytest.mark.outside

PYTHON = ENVIRONMENTS / "beta_clients" / "bin" / "python"


@pytest.mark.parametrize("dialect", ["voice-live", "qwen"])
def test_the_client_of_the_vendor_holds_a_call_with_our_server(dialect: str) -> None:
    """Its settings are taken, its user is heard, and it reads each event of the answer as what it is."""
    if not (PYTHON.parents[1] / MADE_FROM).exists():
        pytest.skip(f"needs {PYTHON.parents[1]}, which `make outside` makes")
    spoken = tones(0.6)
    with RealtimeServer(Plan([Reply("Good day to you.", pcm=spoken)]), dialect) as server:
        asked = [server.url("http"), server.key, server.model, str(server.dialect.input_hz)]
        client = [str(PYTHON), str(FAKES / "beta_clients" / "client.py"), dialect, *asked]
        ran = subprocess.run(client, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        session = server.sessions[0]
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert session.told("error") == []
    heard = np.flatnonzero(np.abs(session.heard) > 1000) / server.dialect.input_hz
    assert (heard[0], heard[-1]) == pytest.approx((0.5, 1.3), abs=0.01)
    names = [event["type"] for event in events]
    assert names[:2] == ["session.created", "session.updated"]
    assert {"input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"} < set(names)
    audio = b"".join(base64.b64decode(event["delta"]) for event in events if event["type"] == "response.audio.delta")
    assert audio == spoken.astype("<i2").tobytes()
    (words,) = [event["transcript"] for event in events if event["type"] == "response.audio_transcript.done"]
    assert words == "Good day to you."
    assert not [event for event in events if event.get("read_as") == "ServerEvent"], "it knows no such event"
