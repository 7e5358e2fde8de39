"""Ctrl-C at any time ends a command with 130 and without a traceback, in its process and those that it starts."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest
from helpers.made_runs import drawn_calls, made_run
from helpers.patience import PATIENCE_S
from helpers.voices import voices, write

PIPES: Final[dict[str, Any]] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
# Ctrl-C at the moment at which a module is first looked for.
AT_IMPORT = """
import os, signal, sys
from importlib.abc import MetaPathFinder
class Interrupting(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
if __name__ == "__main__":
    sys.meta_path.insert(0, Interrupting())
    from fdbcore.cli.entry import main
    sys.argv[1:] = {arguments!r}
    main()
"""


def commanded(script: Path, *arguments: object) -> subprocess.Popen[str]:
    """A command in a process group of its own, in which Ctrl-C does what it does by default."""
    return subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    (tmp_path / "calls").mkdir()
    for number in range(3):
        write(tmp_path / "calls" / f"{number}.wav", voices("A 0.5-2 | B 2.4-3", number))
    return tmp_path / "calls"


@pytest.mark.parametrize(
    "module",
    [
        *("click", "fdbcore.cli.main", "fdbcore.cli.replay", "numpy", "fdbcore.sources.calls"),
        *("fdbcore.report.run.page", "fdbcore.runs.replay_many"),
    ],
)
def test_while_a_command_is_loaded(module: str, calls: Path, tmp_path: Path) -> None:
    script = tmp_path / "fdbcore"
    arguments = ["replay", str(calls), "--vad", "energy", "--out", str(tmp_path / "RUN")]
    script.write_text(AT_IMPORT.format(module=module, arguments=arguments))
    process = commanded(script)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert re.fullmatch(r"\n?fdbcore[\w. ]*: interrupted[^\n]*\n", stderr), stderr


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.parametrize("command", ["replay", "run", "score"])
def test_while_its_processes_start(command: str, calls: Path, tmp_path: Path) -> None:
    """The whole group of the terminal gets it, as soon as a process of ours is there, and once more when it leaves."""
    script = tmp_path / "fdbcore"
    script.write_text(
        AT_IMPORT.format(module="no module of this name", arguments=None).replace("sys.argv[1:] = None", "")
    )
    run = tmp_path / "RUN"
    arguments: dict[str, list[object]] = {
        "replay": ["replay", calls, "--vad", "energy", "--out", run],
        "run": ["run", "--system", "echo", "--clips", calls, "--vad", "energy", "--out", run],
        "score": ["score", run],
    }
    if command == "score":
        made_run(run, drawn_calls(45, seed=0))  # more than are scored by the process itself
    process = commanded(script, *arguments[command])
    while process.poll() is None and len(children_of(process.pid)) < 2:  # the first is that of multiprocessing itself
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)
    if command == "run":
        os.killpg(process.pid, signal.SIGINT)  # the first lets live calls end
    _, stderr = process.communicate(timeout=PATIENCE_S)
    told = stderr + ((run / "workers.log").read_text() if (run / "workers.log").is_file() else "")
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert "Aborted" not in told
    assert "interrupted" in stderr


def test_little_is_imported_before_ctrl_c_is_handled() -> None:
    """While Python itself starts, nobody can; what the command imports before must be short."""
    code = "import sys; before = {*sys.modules}; import fdbcore.cli.entry; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = "fdbcore fdbcore._version fdbcore.doors fdbcore.cli fdbcore.cli.entry fdbcore.cli.exits signal enum types"
    assert {*done.stdout.split()} <= {*known.split(), "operator", "functools", "collections", "reprlib", "keyword"}


@pytest.mark.parametrize("after_ms", [5, 10, 20, 30, 40, 50, 60, 90, 120, 150])
def test_in_the_first_moments_of_the_command(after_ms: int) -> None:
    process = subprocess.Popen([Path(sys.executable).with_name("fdbcore"), "doctor"], text=True, **PIPES)
    time.sleep(after_ms / 1000)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    is_python_still_starting = process.returncode == -signal.SIGINT or stderr.startswith("Fatal Python error: init")
    assert is_python_still_starting or process.returncode == 130
    assert is_python_still_starting or re.fullmatch(r"\n?fdbcore( doctor)?: interrupted\n", stderr), stderr
    assert "cli/main" not in stderr


@pytest.mark.parametrize("mib", [150, 400, 700, 1023])
def test_too_little_memory_is_one_line(mib: int) -> None:
    limited = f"ulimit -v {mib * 1024}; exec {sys.executable} -m fdbcore.cli report x"
    done = subprocess.run(["sh", "-c", limited], text=True, timeout=PATIENCE_S, **PIPES)
    assert (done.returncode, done.stderr) == (1, f"fdbcore: expected 1024 MiB of memory, got {mib} (ulimit)\n")
