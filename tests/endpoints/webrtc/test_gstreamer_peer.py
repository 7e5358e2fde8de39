"""A peer of GStreamer's webrtcbin joins and is heard: libnice leaves out loopback, and its certificate is RSA."""

import json
import os
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.loopback import free_port
from fakes.parties import Caller
from helpers.patience import PATIENCE_S

from fdbcore.audio.wav import HEADER_BYTES
from fdbcore.endpoints.webrtc.endpoint import Joined
from fdbcore.recording.files import AUDIO
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import SAMPLE_RATE_HZ

pytestmark = pytest.mark.live

PYTHON = "/usr/bin/python3"
"""The one for which Debian packages the bindings."""
GST_PEER = str(Path(__file__).parents[2] / "fakes" / "gst_peer.py")
PACKAGES = "gstreamer1.0-plugins-{bad,good} gstreamer1.0-nice gir1.2-gst-plugins-bad-1.0 python3-gst-1.0"
TONE_HZ = 440


@pytest.fixture(autouse=True)
def gstreamer() -> None:
    if not os.path.exists(PYTHON):
        pytest.skip(f"needs {PYTHON}")
    found = subprocess.run([PYTHON, GST_PEER], capture_output=True, text=True)
    if found.returncode:
        pytest.skip(f"needs GStreamer ({found.stdout.strip()}; Debian: apt-get install {PACKAGES})")


def joined(port: int, seconds: float) -> dict[str, Any]:
    """What the peer tells, once the port is there."""
    for _ in range(400):
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    command = [PYTHON, GST_PEER, f"http://127.0.0.1:{port}/whip/b", str(seconds), str(TONE_HZ)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert told.returncode == 0, told.stderr
    report: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return report


def test_it_joins_and_each_hears_the_other(tmp_path: Path) -> None:
    port = free_port()
    party = Joined(f"webrtc://127.0.0.1:{port}?join_s=30&candidates=all")
    caller = Caller([tick % 100 >= 50 for tick in range(200)])
    with ThreadPoolExecutor(1) as pool:
        joining = pool.submit(joined, port, 9)
        held = converse(caller, party, tmp_path / "held", LiveSettings(vad="energy"), {}, threading.Event())
        report = joining.result()
    assert "connected" in report["states"]
    assert report["loudest_db"] > -20
    assert party.left is None
    assert held.n_ticks == len(caller.speaks)
    pcm = np.frombuffer((held.path / AUDIO).read_bytes()[HEADER_BYTES:], dtype="<i2").reshape(-1, 2)[:, 1]
    assert np.abs(np.fft.rfft(pcm)).argmax() * SAMPLE_RATE_HZ / len(pcm) == pytest.approx(TONE_HZ, abs=2)
