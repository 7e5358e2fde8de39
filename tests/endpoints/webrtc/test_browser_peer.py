"""A browser joins by our own page, with a microphone that plays a file, and is heard."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pytest
from fakes.loopback import free_port
from fakes.parties import Caller

from fdbcore.audio.wav import HEADER_BYTES, wav_header
from fdbcore.endpoints.webrtc.endpoint import Joined
from fdbcore.recording.files import AUDIO
from fdbcore.runs.replays import replay
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium")
MICROPHONE_HZ = 700
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--allow-loopback-in-peer-connection",
]
PATIENCE_S = 30.0
PART = "You sell flights.\nBe brief."

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt-get install chromium)"),
]


@contextmanager
def browser_page(microphone: Path) -> Iterator["Page"]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS, f"--use-file-for-fake-audio-capture={microphone}"]
        )
        yield browser.new_page()
        browser.close()


def write_microphone(path: Path) -> None:
    """Half a second of a tone in each; the browser plays it over and over."""
    n = np.arange(2 * SAMPLE_RATE_HZ)
    tone: Pcm = (9000 * np.sin(2 * np.pi * MICROPHONE_HZ * n / SAMPLE_RATE_HZ)).astype(np.int16)
    tone[n % SAMPLE_RATE_HZ >= SAMPLE_RATE_HZ // 2] = 0
    path.write_bytes(wav_header(1, tone.nbytes) + tone.tobytes())


def what_is_shown(page: "Page") -> tuple[str, float]:
    """The status line, and the level of what the browser hears."""
    return page.inner_text("#status"), page.evaluate("document.getElementById('their').value")


def wait_until_listening(port: int) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def test_a_browser_holds_a_conversation_that_replays_to_the_same_events(tmp_path: Path) -> None:
    write_microphone(tmp_path / "microphone.wav")
    port = free_port()
    party = Joined(f"webrtc://127.0.0.1:{port}?join_s={PATIENCE_S}&shows={quote(PART)}")
    caller = Caller([tick % 100 >= 50 for tick in range(400)])
    with ThreadPoolExecutor(1) as pool, browser_page(tmp_path / "microphone.wav") as page:
        holding = pool.submit(
            converse, caller, party, tmp_path / "held", LiveSettings(vad="energy"), {}, threading.Event()
        )
        wait_until_listening(port)
        page.goto(f"http://127.0.0.1:{port}/?role=b")
        page.wait_for_function("document.getElementById('shows').textContent !== ''")
        assert page.inner_text("#shows") == PART
        page.click("#join")
        shown = [what_is_shown(page)]
        while not holding.done():
            shown.append(what_is_shown(page))
            page.wait_for_timeout(50)
        held = holding.result()
    assert "Connected." in {status for status, _ in shown}
    assert max(level_db for _, level_db in shown) > -30
    assert party.left is None
    assert held.n_ticks == len(caller.speaks)
    pcm = np.frombuffer((held.path / AUDIO).read_bytes()[HEADER_BYTES:], dtype="<i2").reshape(-1, 2)[:, 1]
    assert np.abs(np.fft.rfft(pcm)).argmax() * SAMPLE_RATE_HZ / len(pcm) == pytest.approx(MICROPHONE_HZ, abs=2)
    assert {(event.side, event.kind) for event in held.turn_events} >= {("A", "speech_end"), ("B", "speech_end")}
    again = replay(held.path, out=tmp_path / "again")
    assert again.turn_events == held.turn_events
    assert again.meta["held"]["same"]
