"""Every endpoint, held to what endpoints are held to."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from fakes.fake_speech import KEY, FakeSpeech
from fakes.loopback import free_port
from fakes.moshi_server import MoshiServer, Quirks
from fakes.pcm_server import Call, PcmServer, Script, frames, hang
from helpers.conformance import SECRET, Behaviour, BurstConformance, EndpointConformance, RemoteConformance
from msgspec import to_builtins

from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.endpoints.exec import CommandEndpoint
from fdbcore.endpoints.frames import Pace
from fdbcore.endpoints.moshi import moshi
from fdbcore.endpoints.pcm_ws import PcmWs
from fdbcore.protocols import Endpoint
from fdbcore.registry import endpoint
from fdbcore.types import FRAME_BYTES

SAMPLE = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"


class TestEcho(EndpointConformance):
    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        yield endpoint("echo:delay_ms=50")


async def talk(call: Call) -> None:
    await call.ready(settings={"voice": "anna"})
    async for _ in call.listen():
        if len(call.heard) == 3:
            await call.say(frames(40))


async def say_nothing(call: Call) -> None:
    await call.ready()
    await call.listen_to_the_end()


async def talk_later(call: Call) -> None:
    await asyncio.sleep(0.3)
    await talk(call)


async def turn_away(call: Call) -> None:
    await call.ws.close(code=1013, message=b"busy")


async def talk_and_break_off(call: Call) -> None:
    await call.ready()
    async for _ in call.listen():
        if len(call.heard) == 1:
            await call.say(frames(40))
        if len(call.heard) == 50:
            call.break_off()


async def take_back(call: Call) -> None:
    await call.ready()
    async for _ in call.listen():
        if len(call.heard) == 1:
            await call.say(frames(2000))
        if len(call.heard) == 30:
            await call.tell("flush")


BURST: dict[Behaviour, Script] = {
    "talks": talk,
    "mute": say_nothing,
    "late": talk_later,
    "hangs": hang,
    "refuses": turn_away,
    "closes": talk_and_break_off,
    "takes back": take_back,
}


class TestPcmWs(BurstConformance):
    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with PcmServer(BURST[behaviour]) as server:
            host = server.address.removeprefix("pcm_ws://")
            yield PcmWs(f"pcm_ws://user:{SECRET}@{host}?token={SECRET}", timeout_s)


async def answer(call: Call) -> None:
    await call.ready(clocking="input", step_ms=20)
    async for _ in call.listen():
        if len(call.heard) % 2 == 0:
            await call.say(call.heard[-2:])


async def answer_with_silence(call: Call) -> None:
    await call.ready(clocking="input")
    async for frame in call.listen():
        await call.say([bytes(len(frame))])


async def answer_later(call: Call) -> None:
    await asyncio.sleep(0.3)
    await answer(call)


async def answer_and_break_off(call: Call) -> None:
    await call.ready(clocking="input")
    async for frame in call.listen():
        await call.say([frame])
        if len(call.heard) == 50:
            call.break_off()


INPUT: dict[Behaviour, Script] = {
    "talks": answer,
    "mute": answer_with_silence,
    "late": answer_later,
    "hangs": hang,
    "refuses": turn_away,
    "closes": answer_and_break_off,
}


class TestPcmWsInLockstep(RemoteConformance):
    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with PcmServer(INPUT[behaviour]) as server:
            yield PcmWs(server.address, timeout_s)


ANSWER = f"""
import os, sys, time
while len(frame := sys.stdin.buffer.read({FRAME_BYTES})) == {FRAME_BYTES}:
    sys.stdout.buffer.write(frame)
"""
COMMANDS: dict[Behaviour, str] = {
    "talks": ANSWER,
    "mute": ANSWER.replace("write(frame)", "write(bytes(len(frame)))"),
    "late": ANSWER.replace("\nwhile", "\ntime.sleep(0.3)\nwhile"),
    "hangs": "import time; time.sleep(60)",
    "refuses": "raise SystemExit('no model')",
    "closes": ANSWER.replace("while", "for _ in range(50):\n  if").replace("    ", "      ") + "os._exit(3)",
}


class TestExec(RemoteConformance):
    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        code = COMMANDS[behaviour]
        yield CommandEndpoint([sys.executable, "-c", code, f"--token={SECRET}"], Pace("input"), timeout_s)


class TestClip(EndpointConformance):
    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        yield endpoint(f"clip:{SAMPLE}")


class TestScripted(EndpointConformance):
    @pytest.fixture(autouse=True)
    def script(self, tmp_path: Path) -> None:
        self.path = tmp_path / "party.toml"
        self.path.write_text(f'[[line]]\nclip = "{SAMPLE}"\nat_s = 0.1\n')

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        yield endpoint(f"scripted:{self.path}")


class TestExaminer(EndpointConformance):
    @pytest.fixture(autouse=True)
    def brief(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        goals = [Goal(name, ("a" * 50,), "", (), "en") for name in ("one", "two")]
        self.path = tmp_path / "brief.json"
        self.path.write_text(json.dumps(to_builtins(Brief("a", "en", "", "", goals, "b" * 50, 20, 60.0))))
        with FakeSpeech() as server:
            self.voice = quote(f"openai-tts:tts-1?{server.settings}", safe="")
            yield

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        yield endpoint(f"examiner:{self.path}?pacing=fast&voice={self.voice}")


MOSHI: dict[Behaviour, Quirks] = {
    "talks": Quirks(),
    "mute": Quirks(model="answer"),
    "late": Quirks(handshake_s=0.3),
    "hangs": Quirks(handshake_s=60),
    "closes": Quirks(after_steps=10, then="abort"),
}


class TestMoshi(RemoteConformance):
    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with MoshiServer(MOSHI.get(behaviour, Quirks())).running() as port:
            path = "/nowhere" if behaviour == "refuses" else ""
            yield moshi(f"moshi://127.0.0.1:{port}{path}?tls=0", timeout_s, timeout_s)


class TestWebRtc(RemoteConformance):
    @pytest.fixture(autouse=True)
    def token(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FDBCORE_TOKEN", SECRET)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        port = free_port()
        peer = [sys.executable, "-m", "fakes.aiortc_peer", behaviour, f"http://127.0.0.1:{port}"]
        process = None
        if behaviour not in ("refuses", "hangs"):
            process = subprocess.Popen(peer, cwd=Path(__file__).parents[1])
        try:
            yield endpoint(f"webrtc://127.0.0.1:{port}?join_s={timeout_s}&silent_s=0.5")
        finally:
            if process is not None:
                process.kill()
                process.wait()
