"""Scripts: what a scripted party says, and when. A script is a TOML file. Only the lines are required:

    level_dbov = -26.0           # active speech level of each line, after ITU-T P.56
    noise_dbov = -65.0           # white comfort noise throughout; digital silence if left out
    seed = 0                     # of the noise
    yield_ms = 300               # delay until a line stops once the other side is known to speak
    tail_s = 2.0                 # stay after the last line
    language = "en"              # of the texts, which chooses the voice
    voice = "hibari:heart?pitch_semitones=-4"   # any speaker instead (see `fdbcore.registry.SPEAKERS`)

    [[line]]
    say = "Hello?"               # or: clip = "FILE", any audio; its path is relative to the script
    at_s = 0.5

    [[line]]
    say = "Yes, I would like to know more."
    after = "other_end"
    or_after_s = 8.0
    stop_when_interrupted = true

    [[line]]
    call = "book_flight"                                # a line that calls a tool, and says nothing
    arguments = {flight_id = "$RESULT_0.flights[0].id"} # or a text; none if left out
    after = "result"

Without `voice`, Hibari speaks English, Open JTalk Japanese, and espeak-ng every other language. To tell two parties
apart, give one of them "hibari:heart?pitch_semitones=-4". A table [voice] is a voice of espeak-ng:
name = "en-us+f2", words_per_minute = 175, pitch = 50.

The lines are said in their order, one at a time. When a line is over, the next one waits for its cue (the first waits
from tick 0):

at_s                   at this time of the session.
after = "other_end"    the other side has said all of it: it has been silent for 1.76 s, or longer than its own pauses
                       so far, up to 3.26 s. With delay_s: for so long, which may be in a pause between two sentences.
                       The end of its speech becomes known 0.4 s later, so that is the least; that it goes on, 0.26 s
                       later.
after = "other_start"  the other side speaks, or starts to, and delay_s have passed since its start. This is for
                       backchannels and interruptions. The start becomes known 0.26 s later.
after = "own_end"      delay_s after the line before.
after = "result"       delay_s after the last result, once all calls before have theirs.
or_after_s             a line that waits for the other side, or for results, starts after this time in any case (10 s if
                       left out).
or_silent_s            a line that waits for the other side starts if that has said nothing for this time.

In arguments, "$RESULT_0.flights[0].id" is a value from the result of the first call. If the result has no such value,
the text is sent as it is.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlencode

from fdbcore.endpoints.examiner.voice import voice_of
from fdbcore.errors import SettingsError
from fdbcore.models.tts.espeak import VOICE
from fdbcore.runtime.address import Setting, typed_values
from fdbcore.runtime.json_values import refers_to_nothing
from fdbcore.runtime.toml_values import read_toml

Cue: TypeAlias = Literal["at", "other_end", "other_start", "own_end", "result"]

_MOST_S: Final = 3600.0
_SCRIPT: Final = (
    Setting("level_dbov", "active speech level of each line", float, -26.0, least=-70, most=0),
    Setting("noise_dbov", "white comfort noise throughout", float, least=-96, most=-30),
    Setting("seed", "of the noise", int, 0, least=0, most=2**32),
    Setting("yield_ms", "a line stops so long after the other side is known to speak", int, 300, least=20, most=60_000),
    Setting("tail_s", "how long to stay after the last line", float, 2.0, least=0, most=_MOST_S),
    Setting("language", "of the texts", str, "en", form="a language such as en or ja", fits=bool),
    Setting("voice", "any speaker", str, form="the address of a speaker", fits=bool),
)
_LINE: Final = (
    Setting("say", "the text of a line"),
    Setting("clip", "the audio of a line"),
    Setting("call", "the tool that a line calls"),
    Setting("at_s", "this time of the session", float, least=0, most=_MOST_S),
    Setting("after", "the cue", choices=("other_end", "other_start", "own_end", "result")),
    Setting("stop_when_interrupted", "whether it stops where the other side speaks", bool, default=False),
)
_DELAY: Final = Setting("delay_s", "how long after its cue", float, least=0, most=_MOST_S)
_OR_AFTER: Final = Setting("or_after_s", "it begins then in any case", float, 10.0, least=0, most=_MOST_S)
_OR_SILENT: Final = Setting("or_silent_s", "it begins if the other side says nothing", float, least=0, most=_MOST_S)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the text `say`, the file `clip`, or the tool `call`, `delay_s` after its cue (tick 0 for the cue "at").

    delay_s None: once the other side has said all of it. arguments: of the tool: a table, or the text that is sent in
    its place.
    """

    say: str | None
    clip: Path | None
    cue: Cue
    delay_s: float | None
    or_after_s: float
    or_silent_s: float
    stop_when_interrupted: bool
    call: str | None = None
    arguments: Mapping[str, Any] | str | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it was read. sha256: of its file. voice: the address of the speaker of its texts."""

    path: Path
    sha256: str
    voice: str
    level_dbov: float
    noise_dbov: float | None
    seed: int
    yield_ms: int
    tail_s: float
    lines: tuple[Line, ...]

    @property
    def speaks(self) -> bool:
        """True if it has texts."""
        return any(line.say is not None for line in self.lines)


def read_script(path: Path) -> Script:
    """The script in a file. SettingsError in one line: the file, the place in it, what was expected and found."""
    values, content = read_toml(path)
    lines = values.pop("line", None)
    if not isinstance(lines, list) or not lines or not all(isinstance(line, dict) for line in lines):
        raise SettingsError(f"{path}: expected one [[line]] or more, got {repr(lines) if lines else 'none'}")
    if isinstance(voice := values.get("voice"), dict):
        values["voice"] = _espeak(f"{path}: voice", voice)
    settings = typed_values(str(path), values, _SCRIPT)
    language, voice = settings.pop("language"), settings.pop("voice")
    return Script(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        lines=tuple(
            _line(f"{path}: line {n}", line, before=lines[: n - 1], folder=path.parent)
            for n, line in enumerate(lines, 1)
        ),
        voice=voice or voice_of(language),
        **settings,
    )


def _espeak(where: str, voice: dict[str, Any]) -> str:
    """The address of the voice of espeak-ng that a table describes."""
    given = {name: value for name, value in typed_values(where, voice, VOICE).items() if value is not None}
    return f"espeak-ng:{given.pop('name', '')}?{urlencode(given)}"


def _line(where: str, given: dict[str, Any], before: Sequence[Mapping[str, Any]], folder: Path) -> Line:
    waits = given.get("after") in ("other_end", "other_start", "result")
    others = [_OR_SILENT] if given.get("after") in ("other_end", "other_start") else []
    known = [*_LINE, *([_DELAY] if "after" in given else []), *([_OR_AFTER] if waits else []), *others]
    if len(found := [name for name in ("say", "clip", "call") if name in given]) != 1:
        raise SettingsError(f"{where}: expected one of say, clip and call, got {' and '.join(found) or 'none'}")
    if ("at_s" in given) == ("after" in given):
        raise SettingsError(f"{where}: expected at_s or after, got {'both' if 'after' in given else 'neither'}")
    calls_before = sum("call" in line for line in before)
    arguments = given.pop("arguments", {} if "call" in given else None)
    if arguments is not None and not ("call" in given and _is_json(arguments)):
        raise SettingsError(f"{where}: arguments: expected a table of JSON values, or a text, beside call")
    if isinstance(arguments, dict) and (text := refers_to_nothing(arguments, calls_before)) is not None:
        form = f"a value from one of {calls_before} earlier results, such as $RESULT_0.flights[0].id"
        raise SettingsError(f"{where}: arguments: expected {form}, got {text!r}")
    values = typed_values(where, given, known)
    if values["after"] in ("own_end", "result") and not before:
        cue = values["after"]
        raise SettingsError(f"{where}: expected another cue than {cue} for the first line, got {cue}")
    clip = None if values["clip"] is None else folder / values["clip"]
    if clip and not clip.is_file():
        raise SettingsError(f"{where}: clip: expected an audio file, got none at {str(clip)!r}")
    return Line(
        say=values["say"],
        clip=clip,
        cue=values["after"] or "at",
        delay_s=_delay_s(values),
        or_after_s=values.get("or_after_s", math.inf),
        or_silent_s=values.get("or_silent_s") or math.inf,
        stop_when_interrupted=values["stop_when_interrupted"],
        call=values["call"],
        arguments=arguments,
    )


def _delay_s(values: Mapping[str, Any]) -> float | None:
    if values["after"] is None:
        return float(values["at_s"])
    return values["delay_s"] if values["after"] == "other_end" else values["delay_s"] or 0.0


def _is_json(arguments: object) -> bool:
    """True if arguments are a text, or a table that JSON can hold (TOML has dates, and numbers that are none)."""
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(arguments, dict | str)
