"""What all commands share: where keys come from, and what is drawn on a terminal and taken away."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from helpers.terminal import on_terminal, plain

from fdbcore.cli import corpus
from fdbcore.cli import status as status_module
from fdbcore.cli.corpus import SHOWN_EVERY_TICKS, ReplayScreen
from fdbcore.cli.status import Status
from fdbcore.sources.calls import PlannedCall
from fdbcore.sources.sessions import session_inputs

SHOW = "import os, sys; from fdbcore.cli.main import main; sys.argv = ['fdbcore', 'export', '--help']\n"
SHOW += "try: main()\nfinally: print(os.environ['FDBCORE_TOKEN'][::-1], file=sys.stderr)"


def told(folder: Path, environment: dict[str, str], file: str) -> list[str]:
    """The lines of a command's standard error, the last of which is the token.

    It is printed backwards, and read so: as it is, a command shows no token.
    """
    (folder / ".env").write_text(file)
    known = {key: value for key, value in os.environ.items() if key != "FDBCORE_TOKEN"} | environment
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=folder, env=known, capture_output=True, text=True)
    *lines, last = done.stderr.splitlines()
    return [*lines, last[::-1]]


def token_seen(folder: Path, environment: dict[str, str]) -> str:
    return told(folder, environment, "FDBCORE_TOKEN=from-the-file\n")[-1]


def test_tokens_come_from_the_environment_or_else_from_a_file(tmp_path: Path) -> None:
    assert token_seen(tmp_path, {}) == "from-the-file"
    assert token_seen(tmp_path, {"FDBCORE_TOKEN": "from-outside"}) == "from-outside"


def test_a_line_that_is_no_token_is_named_and_never_shown(tmp_path: Path) -> None:
    lines = told(tmp_path, {}, "# keys\nhush='open\nFDBCORE_TOKEN=from-the-file\n")
    assert lines == ["fdbcore: .env, line 2: expected NAME=VALUE, left out", "from-the-file"]


DRAW = """
from fdbcore.cli.status import Part, Status

with Status() as status:
    status("1 of 4 [calls]", 1, 4, [Part("one", 5, 20, "0:05 of 0:20"), Part("t" * 60, 30, 20, "closing")])
    status.clear()
    print("a line")
    status("2 of 4 [calls]")
"""


def drawn() -> str:
    """What a program with a terminal as standard error writes to it."""
    told, screen = on_terminal("-c", DRAW, columns=60)
    assert told == "a line\n"
    return screen


def test_each_part_has_its_line_within_the_width() -> None:
    lines = plain(drawn()).split("\n")
    assert any("1 of 4 [calls]" in line for line in lines)
    (one,) = {line for line in lines if "0:05 of 0:20" in line}  # drawn once more to be erased
    (two,) = {line for line in lines if "closing" in line}
    assert "one" in one
    assert "ttt…" in two
    assert "━" in one
    assert "━" in two
    assert max(map(len, lines)) <= 60


def test_what_was_drawn_is_erased_and_the_cursor_shown() -> None:
    text = drawn()
    after = text[text.index("2 of 4") :]
    assert "\x1b[2K" in after
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 2


def test_nothing_is_drawn_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    with Status() as status:
        status("text", 1, 2)
    assert capfd.readouterr() == ("", "")


def test_a_log_has_a_line_a_minute(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    now_s = 0
    monkeypatch.setattr(status_module, "now_ns", lambda: now_s * 10**9)
    status, silent = Status(), Status(quiet=True)
    for now_s in range(0, 200, 10):
        status(f"not at {now_s} s")
        status.step(f"{now_s} s")
        silent.step("never")
    assert capfd.readouterr() == ("", "70 s\n130 s\n190 s\n")


def test_tables_and_pages_are_a_part_of_the_bar_and_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0
    monkeypatch.setattr(corpus, "now_ns", lambda: now_s * 10**9)
    told: list[tuple[str, float]] = []
    on_call = corpus.on_written(cast(Status, lambda text, done, total: told.append((text, done / total))), 0.8)
    for what in ("facts", "tables", "pages"):
        for done in range(1, 11):
            now_s += 1
            on_call(what, done, 10)
    assert [share for _, share in told] == pytest.approx([0.8 + 0.2 * step / 30 for step in range(1, 31)])
    assert told[14][0] == "tables: 5 of 10 calls | 0:15 left"
    assert told[-1][0] == "the page of all calls"


def test_one_long_call_tells_how_far_it_is_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float, float | None]] = []

    def kept(self: Status, text: str, done: float, total: float | None) -> None:
        told.append((text, done, total))

    monkeypatch.setattr(Status, "step", kept)
    screen = ReplayScreen(Status())
    screen.begins([PlannedCall(session) for session in session_inputs(["call.wav"])])
    for tick in range(2 * SHOWN_EVERY_TICKS + 1):
        screen.ticks(2160.0, tick)
    assert [(done, total) for _, done, total in told] == [(10.0, 2160.0), (20.0, 2160.0)]
    assert re.fullmatch(r"call: 0:20 of 36:00 \| \d+:\d\d left \| [\d,]+x real time", told[-1][0])
