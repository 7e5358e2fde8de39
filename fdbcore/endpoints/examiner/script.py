"""Scripts: what a scripted party says, and when. A script is TOML; every setting is optional, but for the lines:

    level_dbov = -26.0           # active speech level of each line, after ITU-T P.56
    noise_dbov = -65.0           # white comfort noise throughout; digital silence if left out
    seed = 0                     # of the noise
    yield_ms = 300               # a line stops so long after it became known that the other side speaks
    tail_s = 2.0                 # how long to stay after the last line

    [voice]                      # of espeak-ng
    name = "en-us+f2"
    words_per_minute = 175
    pitch = 50

    [[line]]
    say = "Hello?"               # or: clip = "FILE", any audio; its place is relative to the script
    at_s = 0.5

    [[line]]
    say = "Yes, I would like to know more."
    after = "other_end"
    delay_s = 0.6
    or_after_s = 8.0
    stop_when_interrupted = true

Lines are said in their order, never two at once. Each waits for its cue once the one before it is over (the first, from
tick 0):

at_s                   this time of the session.
after = "other_end"    the other side has spoken, and has been silent for delay_s since. Its end becomes known 0.4 s
                       after it, so that is the least; and its going on after a pause becomes known 0.26 s too late,
                       so a delay_s of its pauses and 0.3 s more keeps a line from coming in at one.
after = "other_start"  the other side speaks, or begins to, and delay_s have passed since its start: for backchannels
                       and interruptions. Its start becomes known 0.26 s after it.
after = "own_end"      delay_s after the line before.
or_after_s             a line that waits for the other side begins after this time in any case (10 s if left out).
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from fdbcore.errors import SettingsError
from fdbcore.models.tts.espeak import Voice

Cue: TypeAlias = Literal["at", "other_end", "other_start", "own_end"]

_AFTER: Final[tuple[Cue, ...]] = ("other_end", "other_start", "own_end")
_MOST_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Line:
    """What is said and when: either `say` or `clip`, `delay_s` after its cue (from tick 0 if that is "at")."""

    say: str | None
    clip: Path | None
    cue: Cue
    delay_s: float
    or_after_s: float
    stop_when_interrupted: bool


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it was read; sha256 is that of its file."""

    path: Path
    sha256: str
    voice: Voice
    level_dbov: float
    noise_dbov: float | None
    seed: int
    yield_ms: int
    tail_s: float
    lines: tuple[Line, ...]


def read_script(path: Path) -> Script:
    """The script in a file. SettingsError: one line with the file, where in it, what was expected and found."""
    try:
        content = path.read_bytes()
        values = tomllib.loads(content.decode())
    except OSError as error:
        raise SettingsError(f"{path}: expected a script, got: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML: that names the line
        raise SettingsError(f"{path}: expected TOML, got: {error}") from error
    table = _Table(str(path), values)
    lines = table.take("line", list, [])
    if not lines or not all(isinstance(line, dict) for line in lines):
        raise table.error("one [[line]] or more", "none")
    script = Script(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        voice=_voice(_Table(f"{path}: voice", table.take("voice", dict, {}))),
        level_dbov=table.number("level_dbov", -70, 0, -26.0),
        noise_dbov=table.number("noise_dbov", -96, -30, None),
        seed=table.whole("seed", 0, 2**32, 0),
        yield_ms=table.whole("yield_ms", 20, 60_000, 300),
        tail_s=table.number("tail_s", 0, _MOST_S, 2.0),
        lines=tuple(_line(_Table(f"{path}: line {n}", line), n, path.parent) for n, line in enumerate(lines, 1)),
    )
    table.finish()
    return script


def _voice(table: _Table) -> Voice:
    default = Voice()
    voice = Voice(
        table.take("name", str, default.name),
        table.whole("words_per_minute", 80, 450, default.words_per_minute),
        table.whole("pitch", 0, 99, default.pitch),
    )
    table.finish()
    return voice


def _line(table: _Table, number: int, folder: Path) -> Line:
    say, clip = table.take("say", str, None), table.take("clip", str, None)
    at_s, after = table.number("at_s", 0, _MOST_S, None), table.take("after", str, None)
    if (say is None) == (clip is None):
        raise table.error("say or clip", "neither" if say is None else "both")
    if (at_s is None) == (after is None):
        raise table.error("at_s or after", "neither" if after is None else "both")
    if after not in (None, *_AFTER):
        raise table.error(f"after = one of {', '.join(_AFTER)}", repr(after))
    if after == "own_end" and number == 1:
        raise table.error("another cue than own_end for the first line", "own_end")
    line = Line(
        say=say,
        clip=None if clip is None else folder / clip,
        cue="at" if after is None else after,
        delay_s=table.number("delay_s", 0, _MOST_S, 0.0) if after else at_s,
        or_after_s=table.number("or_after_s", 0, _MOST_S, 10.0) if after in ("other_end", "other_start") else math.inf,
        stop_when_interrupted=table.take("stop_when_interrupted", bool, False),
    )
    if line.clip and not line.clip.is_file():
        raise table.error("clip = an audio file", f"none at {str(line.clip)!r}")
    table.finish()
    return line


class _Table:
    """A table of TOML, from which checked values are taken; what is then left in it is unknown."""

    def __init__(self, where: str, values: Mapping[str, Any]) -> None:
        self._where = where
        self._values = dict(values)

    def take(self, name: str, kind: type, default: Any) -> Any:  # noqa: ANN401
        if name not in self._values:
            return default
        value = self._values.pop(name)
        if not isinstance(value, kind):
            kinds = {str: "text", bool: "true or false", dict: f"a table [{name}]", list: f"tables [[{name}]]"}
            raise self.error(f"{name} = {kinds[kind]}", repr(value))
        return value

    def number(self, name: str, least: float, most: float, default: Any) -> Any:  # noqa: ANN401
        value = self._values.pop(name, default)
        if value is not default and (type(value) not in (int, float) or not least <= value <= most):
            raise self.error(f"{name} = a number from {least:g} to {most:g}", repr(value))
        return value

    def whole(self, name: str, least: int, most: int, default: int) -> int:
        value: int = self.number(name, least, most, default)
        if type(value) is not int:
            raise self.error(f"{name} = a whole number", repr(value))
        return value

    def finish(self) -> None:
        if self._values:
            raise self.error("only known settings", ", ".join(self._values))

    def error(self, expected: str, got: str) -> SettingsError:
        return SettingsError(f"{self._where}: expected {expected}, got {got}")
