"""Tests of replays whose calls go through an object store: a server of S3's interface, over real HTTP."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from helpers.commands import command
from helpers.patience import PATIENCE_S, wait_until
from helpers.ray_nodes import RayNodes, ray_nodes
from helpers.voices import voices, write

import fdbcore
from fdbcore.recording.files import META, REPORT
from fdbcore.recording.run import DONE, LOG
from fdbcore.registry import ENGINES
from fdbcore.runtime.executor import ThisProcess

NEEDS_STORE = pytest.mark.skipif(
    not all(map(find_spec, ("ray", "s3fs", "moto"))), reason="needs pip install 'fdbcore[dev]'"
)


@pytest.fixture(scope="module")
def files() -> Iterator[Any]:
    """A store with an empty bucket, and who asks it, as s3fs does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL
    )
    keys = {"AWS_ACCESS_KEY_ID": "one", "AWS_SECRET_ACCESS_KEY": "two", "AWS_DEFAULT_REGION": "us-east-1"}
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}.items():
                patch.setenv(name, value)
            with socket.socket() as asking:
                wait_until(lambda: asking.connect_ex(("127.0.0.1", port)) == 0)
            import fsspec

            asks = fsspec.filesystem("s3", use_listings_cache=False)
            asks.mkdir("calls")
            yield asks
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def nodes(files: Any) -> Iterator[RayNodes]:
    with ray_nodes() as started:
        yield started


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    for number in range(4):
        write(folder / f"call{number}.wav", voices("A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9", 30.0 + 60 * number))
    return folder


def contents(run: Path) -> dict[str, object]:
    """What a replay made of each call."""
    found: dict[str, object] = {}
    for path in sorted(run.glob("call*/**/*")):
        if path.is_file() and path.name not in (REPORT, LOG, "made.json"):
            found[str(path.relative_to(run))] = re.sub(rb'"created": ?"[^"]*"', b"", path.read_bytes())
    return found


@NEEDS_STORE
def test_calls_come_through_a_store_as_from_this_machine_though_the_command_dies(
    nodes: RayNodes, calls: Path, files: Any, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "fdbcore.cli", "replay", str(calls), "--vad", "energy", "--quiet", "--out"]
    engine = ["--engine", f"ray://{nodes.address}", "--store", "s3://calls/run"]
    pipe = subprocess.PIPE
    first = subprocess.Popen(
        [*command, str(tmp_path / "first"), *engine], stderr=pipe, text=True, start_new_session=True
    )
    wait_until(lambda: files.glob(f"calls/run/*/{META}"))
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=PATIENCE_S)
    done = files.glob(f"calls/run/*/{META}")
    before = {path: files.modified(path) for path in done}
    again = subprocess.run([*command, str(tmp_path / "again"), *engine], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (0, "")
    assert {path: files.modified(path) for path in done} == before, "what was in the store is not replayed again"
    assert subprocess.run([*command, str(tmp_path / "alone")], check=False).returncode == 0
    expected, found = contents(tmp_path / "alone"), contents(tmp_path / "again")
    assert len(expected) >= 4 * 7
    assert [name for name in expected | found if expected.get(name) != found.get(name)] == []


class Elsewhere(ThisProcess):
    """An engine of a machine that does not see the run."""

    jobs = 2  # type: ignore[misc]
    given: ClassVar[list[str]] = []

    def __init__(self, name: str, jobs: int | None) -> None:
        pass

    def results(self, work: Any, items: Any, died: Any, log: Path | None = None) -> Any:
        self.given.append(work.func.__name__)
        return super().results(work, items, died, log)


@pytest.mark.skipif(find_spec("fsspec") is None, reason="needs pip install 'fdbcore[store]'")
def test_what_a_run_shows_is_made_where_its_folder_is(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of many calls, whose tables and pages an engine writes where all machines see the run."""
    monkeypatch.setattr("fdbcore.runtime.executor.FEW_ITEMS", 0)
    monkeypatch.setitem(sys.modules, "elsewhere", SimpleNamespace(Elsewhere=Elsewhere))
    monkeypatch.setitem(ENGINES, "elsewhere", "elsewhere:Elsewhere")
    run = fdbcore.replay_all(
        calls, out=tmp_path / "run", vad="energy", engine="elsewhere", store="memory://calls/run", jobs=1
    )
    assert Elsewhere.given == ["_replay_into_store"]
    assert {call.status for call in run.calls} == {DONE}
    assert all((call.path / REPORT).is_file() for call in run.calls)


@NEEDS_STORE
@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("s3://nobodys/run", "--store s3://nobodys/run: The specified bucket does not exist"),
        ("s3://", "expected an address such as s3://BUCKET/FOLDER"),
        ("nothing://a/b", "--store nothing://a/b: Protocol not known: nothing"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_line(
    store: str, told: str, files: Any, calls: Path, tmp_path: Path
) -> None:
    assert told in command("replay", calls, "--store", store, "--out", tmp_path / "run", code=2).stderr.splitlines()[-1]
    assert not (tmp_path / "run").exists()
