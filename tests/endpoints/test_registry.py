"""Names of parties: the known ones, unknown ones, those of other packages, and the examples of the manual."""

import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from fakes.parties import LoudVad, Speaker
from helpers.conformance import hold, silence, tone
from helpers.patience import PATIENCE_S

from fdbcore.clock import VirtualClock
from fdbcore.endpoints.echo import EchoEndpoint
from fdbcore.endpoints.examiner.script import read_script
from fdbcore.errors import SettingsError
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.registry import ENDPOINTS, endpoint
from fdbcore.runtime.network import await_result
from fdbcore.session.loop import run
from fdbcore.types import FRAME_SAMPLES, TurnSettings

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "systems.md"


def example(name: str) -> str:
    """The file of that name, as the manual shows it."""
    pages = PAGE.read_text() + (DOCS / "adding.md").read_text()
    blocks = re.findall(r"```\w+\n(.*?)```", pages, re.DOTALL)
    (block,) = [block for block in blocks if block.startswith(f"# {name}\n")]
    return str(block)


@pytest.mark.parametrize("address", ["echo", "exec:cat", "pcm_ws://localhost:1/talk", "pcm_wss://localhost/talk"])
def test_an_address_makes_its_party_and_nothing_else_happens(address: str) -> None:
    assert endpoint(address).describe()["kind"] == address.partition(":")[0].replace("wss", "ws")


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"system: expected one of .*clip, deepgram, echo, .* got 'nobody'"):
        endpoint("nobody://localhost")
    assert sorted(ENDPOINTS) == list(ENDPOINTS)


def test_echo_says_what_it_heard_so_much_before() -> None:
    for address, delay_ticks in (("echo", 1), ("echo:delay_ms=10", 1), ("echo:delay_ms=200", 20)):
        heard = hold(endpoint(address), 50)
        assert not heard.audio[: delay_ticks * FRAME_SAMPLES].any()
        expected = np.concatenate([tone(tick) for tick in range(50 - delay_ticks)])
        assert np.array_equal(heard.audio[delay_ticks * FRAME_SAMPLES :], expected)


def test_echo_keeps_to_the_tick_when_some_are_missed() -> None:
    echo = EchoEndpoint(delay_ms=30)
    said = {}
    for tick in (0, 1, 2, 3, 6, 7, 8, 9, 10, 30, 31):
        frame = echo.say(tick)
        assert frame is not None
        said[tick] = int(frame[0])
        echo.hear(tick, np.full(FRAME_SAMPLES, tick + 1, np.int16))
    assert said == {0: 0, 1: 0, 2: 0, 3: 1, 6: 4, 7: 0, 8: 0, 9: 7, 10: 8, 30: 0, 31: 0}


@pytest.fixture(scope="module")
def plug_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package of the manual, installed in a folder of its own that Python looks into."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name in ("pyproject.toml", "fdbcore_parrot.py", "test_parrot.py"):
        (source / name).write_text(example(name))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", target, source], check=True)
    sys.path.insert(0, str(target))
    importlib.invalidate_caches()
    yield target
    sys.path.remove(str(target))


def test_an_installed_package_adds_a_party(plug_in: Path, tmp_path: Path) -> None:
    assert list(plug_in.glob("*.dist-info/entry_points.txt"))
    a, b = Speaker([50 <= tick < 100 for tick in range(400)]), endpoint("parrot")
    b.open("B")
    with RecordingWriter(tmp_path, {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}, keep_audio=True) as writer:
        vads = (LoudVad(), LoudVad())
        run(a, b, VirtualClock(), vads, TurnSettings(), writer, over=lambda tick, a_left, b_left: a_left)
    recording = Recording(tmp_path)
    starts = {event.side: event.start_tick for event in recording.turn_events if event.kind == "speech_start"}
    ended = 100 + 19 + LoudVad().delay_ticks  # when it was certain: min_silence, and what the detector takes
    assert starts == {"A": 50, "B": ended + 1}


def test_the_installed_party_passes_the_test_of_the_manual(plug_in: Path, tmp_path: Path) -> None:
    (tmp_path / "test_parrot.py").write_text(example("test_parrot.py"))
    tests = Path(__file__).parents[1]
    pytest_of_users = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o"]
    command = [*pytest_of_users, f"pythonpath={plug_in} {tests}", "test_parrot.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r"\b[1-9]\d* passed", result.stdout), result.stdout + result.stderr
    assert result.returncode == 0


def test_the_plug_in_of_the_manual_is_short() -> None:
    lines = [line for name in ("pyproject.toml", "fdbcore_parrot.py") for line in example(name).splitlines()]
    assert len(lines) < 50


def test_the_script_of_the_manual_and_the_defaults_that_it_states(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(example("script.toml"))
    (tmp_path / "bare.toml").write_text('[[line]]\nsay = "Hello?"\nat_s = 0.5\n')
    shown, bare = (read_script(tmp_path / name) for name in ("script.toml", "bare.toml"))
    assert len(shown.lines) == 2
    assert (bare.noise_dbov, shown.noise_dbov) == (None, -65.0)
    assert replace(shown, path=bare.path, sha256=bare.sha256, noise_dbov=None, lines=bare.lines) == bare


@pytest.mark.parametrize("party", ["webrtc:", "whip://h/x", "clip:x.wav", "moshi://h", "personaplex://h", "gemini:x"])
def test_the_manual_has_every_setting(party: str) -> None:
    with pytest.raises(SettingsError) as error:
        endpoint(f"{party}?nope=1")
    listed = re.search(r" of (\w[\w, ]*)[,;] got '?nope", str(error.value))
    assert listed is not None, str(error.value)
    _, _, settings = PAGE.read_text().partition("Defaults stand in brackets:")
    settings, _, _ = settings.partition("**One format.**")
    assert [name for name in listed[1].split(", ") if f"`{name}`" not in settings] == []


def test_the_command_of_the_manual(tmp_path: Path) -> None:
    path = tmp_path / "my_system.py"
    path.write_text(example("my_system.py"))
    party = endpoint(f"exec:{sys.executable} {path}")
    try:
        party.open("B")
        heard = hold(party, 30, VirtualClock())
    finally:
        party.close()
    for tick in range(29):
        assert np.array_equal(heard.frames[tick + 1], tone(tick) // 2)


def test_the_server_of_the_manual(tmp_path: Path) -> None:
    path = tmp_path / "my_server.py"
    path.write_text(example("my_server.py"))
    app: Any = runpy.run_path(str(path))["app"]
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.1)

    async def serve() -> int:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return int(runner.addresses[0][1])

    port = await_result(serve(), PATIENCE_S)
    party = endpoint(f"pcm_ws://127.0.0.1:{port}/talk")
    try:
        party.open("B")
        heard = hold(party, 30, VirtualClock(), speech=lambda tick: tone(tick) if tick < 20 else silence(tick))
    finally:
        party.close()
        await_result(runner.cleanup(), PATIENCE_S)
    assert party.describe()["settings"] == {"model": "echo-1"}
    assert np.array_equal(heard.frames[10], tone(9))
    assert not heard.frames[-1].any()
