"""Servers of others, each in an environment of its own from a committed lock: `make outside` makes them and tests.

    with Outside("pipecat_bot", "fakes.pipecat_bot.bot") as bot:
        ... bot.port, bot.lines

A server NAME lies in tests/fakes/NAME, with its lock in requirements.txt, or in package-lock.json for Node; its
environment lies in build/outside/NAME.
Run as a command, this makes the environments, runs the tests that are marked `outside`, and says of each server that it
ran, or why not: where an environment cannot be made, its tests are skipped. With --only-make it runs no tests.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

FAKES = Path(__file__).resolve().parent
ENVIRONMENTS = FAKES.parents[1] / "build" / "outside"
STARTS_WITHIN_S = 300
MADE_FROM = "lock.sha256"
"""The file of an environment that says which lock it was made from, once it is whole."""


class Outside:
    """Runs a module that prints its port first, and then JSON a line, as long as it is entered.

    module: of Python, or a path below tests/fakes for Node.
    """

    def __init__(self, name: str, module: str, *arguments: str) -> None:
        self._path = ENVIRONMENTS / name
        self._module = module
        on_node = module.endswith(".cjs")
        how = ["node", str(FAKES / module)] if on_node else [str(self._path / "bin" / "python"), "-m", module]
        self._command = [*how, *arguments]
        self.lines: list[dict[str, Any]] = []
        self.port = 0

    def __enter__(self) -> Self:
        if not (self._path / MADE_FROM).exists():
            pytest.skip(f"needs {self._path}, which `make outside` makes")
        self._process = subprocess.Popen(
            self._command,
            env=os.environ | {"PYTHONPATH": str(FAKES.parent), "NODE_PATH": str(self._path / "node_modules")},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        watch = threading.Timer(STARTS_WITHIN_S, self._process.kill)
        watch.start()
        first = self._process.stdout.readline()
        watch.cancel()
        if not first.strip().isdigit():
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            raise AssertionError(f"{self._module} printed {first!r} instead of its port")
        self.port = int(first)
        self._reading = threading.Thread(target=self._read, args=(self._process.stdout,), name="outside")
        self._reading.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reading.join()
        self._process.stdout.close()  # type: ignore[union-attr]

    def _read(self, stream: Any) -> None:
        self.lines.extend(json.loads(line) for line in stream)

    @property
    def events(self) -> list[str]:
        """What its lines are about."""
        return [str(line["event"]) for line in self.lines]


def prepare(lock: Path) -> str | None:
    """Make the environment of a lock, unless it is there; the reason if that fails."""
    name, sha256 = lock.parent.name, hashlib.sha256(lock.read_bytes()).hexdigest()
    path = ENVIRONMENTS / name
    made_from = path / MADE_FROM
    if made_from.exists() and made_from.read_text() == sha256:
        print(f"{name}: {path} is there", flush=True)
        return None
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    began = time.monotonic()
    print(f"{name}: fetching the packages of {lock.relative_to(FAKES.parents[1])}, about a minute", flush=True)
    failed = _install_on_node(path, lock) if lock.suffix == ".json" else _install(path, lock)
    if failed is not None:
        shutil.rmtree(path)
        return failed
    made_from.write_text(sha256)
    size_mb = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6
    print(f"{name}: {size_mb:.0f} MB in {time.monotonic() - began:.0f} s", flush=True)
    return None


def _install(path: Path, lock: Path) -> str | None:
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    subprocess.run([base, "-m", "venv", path], check=True)
    # The lock is whole: what it leaves out of a package's requirements is left out on purpose.
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    wrong = _wrong([path / "bin" / "pip", "install", *options, "-r", lock], "ERROR")
    return wrong[-1] if wrong else None


def _install_on_node(path: Path, lock: Path) -> str | None:
    if shutil.which("npm") is None:
        return "needs node and npm"
    for file in (lock, lock.with_name("package.json")):
        shutil.copy(file, path)
    # `npm ci` takes nothing but what the lock names, and checks its hashes; no package may run a script of its own.
    wrong = _wrong(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", path], "npm error")
    return ", ".join(wrong[:3]) or None


def _wrong(command: Sequence[str | Path], mark: str) -> list[str]:
    """Run a command; if it fails, the lines that say why."""
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode == 0:
        return []
    return [line for line in ran.stderr.splitlines() if line.startswith(mark)] or [f"{command[0]} failed"]


def main() -> None:
    locks = sorted([*FAKES.glob("*/requirements.txt"), *FAKES.glob("*/package-lock.json")])
    missing = {lock.parent.name: prepare(lock) for lock in locks}
    if sys.argv[1:] == ["--only-make"]:
        return
    tests = [str(test) for test in FAKES.parent.rglob("test_*.py") if "mark.outside" in test.read_text()]
    # A process for each processor: nine tenths of their time is waiting.
    beside = ["-n", str(os.cpu_count()), "--dist", "loadfile", "--reruns", "1", "--only-rerun", "OthersTookTime"]
    status = subprocess.run([sys.executable, "-m", "pytest", "--outside", *beside, *tests], check=False).returncode
    for name, why in missing.items():
        told = f"not run: {why}" if why else ("run, and its tests passed" if not status else "run; see what failed")
        print(f"{name}: {told}")
    raise SystemExit(status)


if __name__ == "__main__":
    main()
