"""Files that several processes write at once, or one that is killed: a reader sees one of them, and all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fdbcore.recording.files import write_text
from fdbcore.runtime.whole_files import read_whole

WRITE = """
import sys
from pathlib import Path
from fdbcore.recording.files import write_text
from fdbcore.report.run.tables import write_calls

path = Path(sys.argv[1])
for _ in range(300):
    write_text(path / "page.html", sys.argv[2] * 100_000)
    write_calls(path, [])
"""
STAND_STILL = """
import sys, time
from pathlib import Path
from fdbcore.runtime.whole_files import whole_file

with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    time.sleep(600)
"""


def test_processes_that_write_the_same_files_at_once_all_succeed(tmp_path: Path) -> None:
    ended = [
        process.communicate()[1]
        for process in [
            subprocess.Popen([sys.executable, "-c", WRITE, tmp_path, letter], stderr=subprocess.PIPE, text=True)
            for letter in "ab"
        ]
    ]
    assert ended == ["", ""]
    text = (tmp_path / "page.html").read_text()
    assert text in ("a" * 100_000, "b" * 100_000)
    assert not list(tmp_path.glob("*.part"))


def test_what_a_kill_leaves_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with subprocess.Popen([sys.executable, "-c", STAND_STILL, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        assert path.read_text() == "old"
        process.send_signal(signal.SIGKILL)
    assert [file.name for file in tmp_path.glob("*.part")] == ["page.html.part"]
    write_text(path, "new")
    assert path.read_text() == "new"
    assert not list(tmp_path.glob("*.part"))


def test_what_may_never_end_or_is_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**30)
    for name, why in (("pipe", "a pipe"), ("zeros", "a device"), ("large", r"at most 536,870,912 are read")):
        with pytest.raises(OSError, match=why):
            read_whole(tmp_path / name)


def test_what_a_shell_hands_over_is_read() -> None:
    """As in `--labels <(...)`."""
    reader, writer = os.pipe()
    os.write(writer, b"told")
    os.close(writer)
    assert read_whole(Path(f"/dev/fd/{reader}")) == b"told"
    os.close(reader)
