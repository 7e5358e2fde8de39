"""What a terminal shows beside the plain text of a command: colours, and errors that break between words."""

import io

import pytest
from helpers.commands import refused
from helpers.terminal import on_terminal, plain

from fdbcore.cli.colours import drawn_on

TOLD = "PASS  a <= 1\n  !! but (FAIL) of FAILED!! calls\nUNDECIDED"
ERROR = """
from contextlib import suppress
from fdbcore.cli.main import main

with suppress(SystemExit):
    main(["gate", "a-file-of-mine", "another-file-of-mine", "a-third-file-of-mine"])
"""


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 60])
def test_an_error_breaks_between_words(columns: int) -> None:
    _, screen = on_terminal("-c", ERROR, columns=columns)
    _, whole = on_terminal("-c", ERROR, columns=500)
    lines = plain(screen).splitlines()
    assert " ".join(" ".join(lines).split()) == " ".join(plain(whole).split())
    assert all(len(line) <= columns or " " not in line for line in lines)
    assert max(map(len, plain(whole).splitlines())) > columns


def test_verdicts_have_a_colour_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = drawn_on(Screen())(TOLD)
    assert plain(shown) == TOLD
    assert shown.startswith("\x1b[32;1mPASS\x1b[0m  a")
    assert "\x1b[31;1m!!\x1b[0m but" in shown
    assert "FAILED!! calls" in shown
    assert drawn_on(Screen())(f'{{"text": "{TOLD}"}}') == f'{{"text": "{TOLD}"}}'
    assert drawn_on(io.StringIO())(TOLD) == TOLD
    monkeypatch.setenv("NO_COLOR", "1")
    assert drawn_on(Screen())(TOLD) == TOLD


def test_a_mistyped_command_is_told_which_one_is_like_it() -> None:
    assert "No such command 'reply'. Did you mean 'replay'?" in refused("reply", "calls/")
    assert "Did you mean" not in refused("xyz")
