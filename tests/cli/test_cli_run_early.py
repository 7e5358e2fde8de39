"""Peers that join a run by WebRTC while it tests its timing: processes of their own, which try once."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import pytest

from fdbcore.endpoints.webrtc.early import close_own, early
from fdbcore.endpoints.webrtc.endpoint import opened_early
from fdbcore.errors import SettingsError
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint

TESTS = Path(__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
PEER = """
import asyncio, sys
from fakes.aiortc_peer import AiortcPeer, tone

async def once(url, side):
    peer = AiortcPeer(tone(20))
    await peer.join(url, side, retry_s=0)
    await asyncio.sleep(20)

asyncio.run(once(*sys.argv[1:]))
"""
UPGRADE = (
    b"GET /signal HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@contextmanager
def started(*command: str) -> Iterator[IO[str]]:
    """A process, and what it says on its standard error."""
    given = [sys.executable, *command]
    with subprocess.Popen(given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENV) as process:
        assert process.stderr is not None
        try:
            yield process.stderr
        finally:
            process.kill()


def run(*arguments: object) -> AbstractContextManager[IO[str]]:
    return started("-m", "fdbcore.cli", "run", "--vad", "energy", "--max-s", "2", *map(str, arguments))


def peer(url: str, side: str) -> AbstractContextManager[IO[str]]:
    return started("-c", PEER, url, side)


def invitation(told: IO[str], side: str) -> str:
    """Where a side shall join, by the next line."""
    line = told.readline()
    found = re.match(rf"side {side}: join within 60 s at (http://127\.0\.0\.1:[1-9]\d*)/", line)
    assert found, line
    return found[1]


@pytest.mark.live
def test_who_comes_before_the_self_test_joins_though_it_tries_once(tmp_path: Path) -> None:
    """Two peers, at a port that the system chose: it is the same for the second call."""
    anywhere = "webrtc://127.0.0.1:0"
    with run("--a", anywhere, "--system", f"b={anywhere}", "--trials", 2, "--out", tmp_path) as told:
        url = invitation(told, "A")
        assert invitation(told, "B") == url
        with peer(url, "b"), peer(url, "a"):
            assert told.readline().startswith("fdbcore run: timing self-test")
            assert re.match(r"b-\d: .* \(1 of 2\)", told.readline())
        assert [invitation(told, side) for side in "AB"] == [url, url]
        with peer(url, "b"), peer(url, "a"):
            assert re.match(r"b-\d: .* \(2 of 2\)", told.readline())
    calls = [Recording(tmp_path / f"b-{trial}") for trial in (1, 2)]
    assert [call.n_ticks for call in calls] == [200, 200]
    assert {call.parties["B"]["address"] for call in calls} == {url.removeprefix("http://")}


@pytest.mark.live
def test_who_comes_by_signal_waits_too(tmp_path: Path) -> None:
    """A WebSocket that is opened before the self-test gets our "ready" after it."""
    with run("--a", "scripted:clerk", "--system", "webrtc://127.0.0.1:0?join_s=60", "--out", tmp_path) as told:
        url = urlsplit(invitation(told, "B"))
        with socket.create_connection((url.hostname, url.port)) as early_bird:
            early_bird.sendall(UPGRADE)
            early_bird.settimeout(30)
            assert early_bird.recv(12) == b"HTTP/1.1 101"
            assert told.readline().startswith("fdbcore run: timing self-test"), "this came before"


def test_a_port_that_is_taken_is_told_before_the_self_test(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with run("--a", "echo", "--system", f"webrtc://127.0.0.1:{port}", "--out", tmp_path) as told:
            lines = told.read().splitlines()
    assert lines[-1] == f"Error: 127.0.0.1:{port}: cannot listen there: Address already in use"
    assert not any("self-test" in line for line in lines)


def test_only_where_peers_join_is_a_port_opened_and_it_is_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_early(["far:echo", "webrtc://127.0.0.1:0?session=x", "whip://127.0.0.1:1/"]):
        ((place, port),) = early.items()
        assert place == ("127.0.0.1", 0)
        assert port.seats == 1
        with socket.create_connection(("127.0.0.1", port.number)):
            pass
        assert endpoint("webrtc://127.0.0.1:0").describe()["address"] == f"127.0.0.1:{port.number}"
        close_own()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port.number))
    assert not early
    monkeypatch.delenv("FDBCORE_TOKEN", raising=False)
    with pytest.raises(SettingsError, match="expected a token beyond loopback"), opened_early(["webrtc://0.0.0.0:0"]):
        pass
