"""A scripted party: speaks given texts, or plays given clips, at cues from the clock and from the other side's turns.

    scripted:FILE.toml, or scripted:caller and scripted:clerk, the two sides of a call that come with the package

`fdbcore.endpoints.examiner.script` describes the format. The party depends only on the ticks and the turn events, so in
the same conversation it says the same at the same time.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np

from fdbcore import registry
from fdbcore.audio.noise import ComfortNoise
from fdbcore.audio.speech import without_edges
from fdbcore.endpoints.examiner.edges import Pauses
from fdbcore.endpoints.examiner.script import Line, Script, read_script
from fdbcore.endpoints.examiner.voice import frames_of
from fdbcore.errors import InputError, SettingsError, told_as
from fdbcore.protocols import Endpoint
from fdbcore.runtime.json_values import json_or_text, resolved
from fdbcore.sources.clips import read_clip
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, TICK_MS, TICKS_PER_S, Happening, Pcm, Side, TurnEvent
from fdbcore.types.tools import Tool, ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage, Service

_FADE: Final = np.linspace(1.0, 0.0, FRAME_SAMPLES, dtype=np.float32)

_KNOWN_MS: Final = 260
"""So long after its start, the speech of a side is an event."""


def scripted(address: str) -> "ScriptedEndpoint":
    """The scripted party at an address. SettingsError if there is no such script, or if it cannot be used."""
    name = address.partition(":")[2]
    packaged = Path(str(files("fdbcore.endpoints.examiner"))) / "data"
    path = packaged / f"{name}.toml" if name.isidentifier() else Path(name)
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in packaged.glob("*.toml")))
        raise SettingsError(f"scripted: expected a script (FILE.toml, or one of {names}), found none at {name!r}")
    script = read_script(path)
    if script.speaks:
        with told_as(f"{path}: voice", "tts"):
            registry.speaker(script.voice)  # a voice that is not there is told before anything begins
    return ScriptedEndpoint(script)


class OtherSide:
    """The other side's speech, as far as the waiting line needs it. Times are in ticks."""

    def __init__(self) -> None:
        self._since: int | None = None  # the start of its present speech; None while it is silent
        self._waiting_since = 0
        self.first_start: int | None = None
        """The start of its first speech since the wait began, or of the speech that already went on then."""
        self.last_end: int | None = None
        """The end of its last speech since the wait began; None while it speaks, or if it has not spoken."""
        self.pauses = Pauses(late_ms=_KNOWN_MS)

    def wait_from(self, tick: int) -> None:
        """The next line waits from `tick` on."""
        self._waiting_since = tick
        self.first_start = self._since
        self.last_end = None

    def notice(self, event: TurnEvent, own_start: int | None) -> None:
        """Take one of its turn events. own_start: since when a line is said; None while it waits."""
        if event.kind == "speech_start":
            if self.last_end is not None:
                self.pauses.learn(self.last_end, event.start_tick, own_start)
            self._since = event.start_tick
            self.last_end = None
            if self.first_start is None:
                self.first_start = event.start_tick
        elif event.kind == "speech_end" and event.end_tick is not None:
            self._since = None
            if event.end_tick > self._waiting_since:
                self.last_end = event.end_tick


class OwnCalls:
    """The calls of tools that a script has made so far, and their results."""

    def __init__(self) -> None:
        self._new: list[ToolCall] = []
        self._results: list[Any] = []  # of each call; None while there is none
        self._unanswered: set[str] = set()
        self._last_result_tick: int | None = None

    def make(self, name: str, arguments: Mapping[str, Any] | str | None) -> None:
        """Call a tool, with values of earlier results in place of references."""
        number = f"call-{len(self._results)}"
        given = json_or_text(arguments) if isinstance(arguments, str) else resolved(arguments, self._results)
        self._new.append(ToolCall("complete", number, name, given))
        self._results.append(None)
        self._unanswered.add(number)

    def drain(self) -> Sequence[ToolCall]:
        """The calls that were made since this was last asked."""
        new, self._new = self._new, []
        return new

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Take the result of one of them."""
        self._results[int(result.id.removeprefix("call-"))] = result.value
        self._unanswered.discard(result.id)
        self._last_result_tick = tick

    @property
    def answered_tick(self) -> int | None:
        """The tick of the last result; None while a call has no result."""
        return None if self._unanswered else self._last_result_tick


class ScriptedEndpoint(Endpoint):
    """Says the lines of a script. `open` synthesises all speech; during the call it only follows its cues."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.speech_dbov = script.level_dbov
        self._noise = ComfortNoise(script.noise_dbov, script.seed)
        self._other = OtherSide()
        self._own = OwnCalls()
        self._has_tools = False
        self._speech: list[Sequence[Pcm]] = []
        self._line = 0  # index of the present line, which is being said or waits for its cue
        self._start: int | None = None  # the tick at which it began; None while it waits
        self._stop: float = math.inf  # the tick at which it breaks off, because it was interrupted
        self._waiting_since = 0
        self._happened: list[Happening] = []

    def services(self) -> Sequence[Service]:
        """The services of the speaker, which gets the texts of the script."""
        return registry.speaker(self._script.voice).services() if self._script.speaks else ()

    def open(self, side: Side) -> None:
        """Synthesise all lines. InputError for a line that cannot be spoken, or would clip at the script's level.

        SettingsError for a line that calls a tool if there are none.
        """
        self._side = side
        calling = [number for number, line in enumerate(self._script.lines, 1) if line.call is not None]
        if calling and not self._has_tools:
            raise SettingsError(f"{self._script.path}: line {calling[0]} calls a tool, but side {side} has no tools")
        self._speech = [self._frames(number, line) for number, line in enumerate(self._script.lines, 1)]

    def _frames(self, number: int, line: Line) -> Sequence[Pcm]:
        if line.call is not None:
            return ()
        try:
            return frames_of(self._said(number, line), self._script.level_dbov)
        except InputError as error:
            raise type(error)(f"{self._script.path}: line {number}: {error}") from error

    def _said(self, number: int, line: Line) -> Pcm:
        """The speech of a line, without the silence around its text."""
        if line.clip is not None:
            return read_clip(line.clip)[0]
        speaker = registry.speaker(self._script.voice)
        pcm = without_edges(*speaker.speak(str(number), str(line.say)))
        for service in speaker.services():
            usage = ModelUsage(service.vendor, service.model, {"characters": len(str(line.say))})
            self._happened.append(usage.happening(0))
        return pcm

    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`, int16 (480,): of the present line, or the noise between lines."""
        if self._start is not None and (tick >= self._stop or tick - self._start >= len(self._speech[self._line])):
            self._end_line(tick)
        while self._start is None and self._line < len(self._speech):
            line = self._script.lines[self._line]
            if (cue := self._cue(tick, line)) is None:
                break
            self._start = tick
            self._happened.append(Happening(tick, "line_start", {"line": self._line + 1, "cue": cue}))
            if line.call is not None:
                self._own.make(line.call, line.arguments)
                self._end_line(tick)
        if self._line == len(self._speech) and tick >= self._waiting_since + round(self._script.tail_s * TICKS_PER_S):
            self.left = "finished"
            return None
        if self._start is None:
            return self._noise.under(SILENT_FRAME)
        frame = self._speech[self._line][tick - self._start]
        if tick + 1 == self._stop:  # fade out in the last frame, so that the interruption does not click
            frame = (frame * _FADE).astype(np.int16)
        return self._noise.under(frame)

    def _cue(self, tick: int, line: Line) -> str | None:
        """The cue at which `line` begins in `tick`; None if it does not begin."""
        origin = {
            "at": 0,
            "own_end": self._waiting_since,
            "other_start": self._other.first_start,
            "other_end": self._other.last_end,
            "result": self._own.answered_tick,
        }[line.cue]
        over_ticks = self._other.pauses.over_ticks
        delay_ticks = over_ticks if line.delay_s is None else round(line.delay_s * TICKS_PER_S)
        if origin is not None and tick >= origin + delay_ticks:
            return line.cue
        waited_s = (tick - self._waiting_since) / TICKS_PER_S
        if self._other.first_start is None and waited_s >= line.or_silent_s:
            return "or_silent"
        return "or_after" if waited_s >= line.or_after_s else None

    def _end_line(self, tick: int) -> None:
        stopped = tick == self._stop
        self._happened.append(Happening(tick, "line_end", {"line": self._line + 1, "stopped": stopped}))
        self._line += 1
        self._start, self._stop, self._waiting_since = None, math.inf, tick
        self._other.wait_from(tick)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Do nothing: only the turn events count."""

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Take the turn events: those of the other side give cues, and its speech may interrupt the present line."""
        for event in events:
            if event.side == self._side:
                continue
            self._other.notice(event, self._start)
            is_speaking = self._start is not None
            if event.kind == "speech_start" and is_speaking and self._script.lines[self._line].stop_when_interrupted:
                self._stop = min(self._stop, tick + self._script.yield_ms // TICK_MS)

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Let the script call tools."""
        self._has_tools = True

    def tool_calls(self) -> Sequence[ToolCall]:
        """The calls of the lines that began since this was last asked."""
        return self._own.drain()

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Take the result of a call, which may be a cue, or an argument of a later call."""
        self._own.take_result(tick, result)

    def log(self) -> Sequence[Happening]:
        """Events of lines: where each began and by which cue, and where it ended and whether it was cut off."""
        happened, self._happened = self._happened, []
        return happened

    def describe(self) -> Mapping[str, Any]:
        """The whole script and the synthesiser, as JSON values."""
        script = asdict(self._script)
        for line in script["lines"]:
            if line["call"] is None:
                del line["call"], line["arguments"]
            line["clip"] = line["clip"] and str(line["clip"])
            for name in ("or_after_s", "or_silent_s"):
                line[name] = line[name] if math.isfinite(line[name]) else None
        synthesiser = registry.speaker(self._script.voice).describe() if self._script.speaks else None
        return {"kind": "scripted"} | script | {"path": str(self._script.path.absolute()), "synthesiser": synthesiser}
