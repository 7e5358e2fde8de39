"""A party for tests of whole runs, installed as a plug-in: what it does is in its address, also in other processes."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import numpy as np
from fakes.plugin import plugin

from fdbcore.errors import MissingExtraError, PartyError, RecordingError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Endpoint
from fdbcore.recording.files import EVENTS
from fdbcore.runs import held_here
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, Happening, Pcm, Side
from fdbcore.types.usage import ModelUsage, Service, Unit

NOISE: Final = np.random.default_rng(1).normal(0, 3000, FRAME_SAMPLES).astype(np.int16)

ERRORS: Final[Mapping[str, Exception]] = {
    "refused": PartyError("fake: refused with 401"),
    "bug": RuntimeError("a bug of the endpoint"),
    "extra": MissingExtraError("fake: not installed (pip install fake)"),
    "settings": SettingsError("fake: the port 1 is taken"),
}


def fake(address: str) -> "Fake":
    """The party at `fake:?NAME=VALUE&...`, with the names that `Fake` reads."""
    return Fake(dict(parse_qsl(address.partition("?")[2], keep_blank_values=True)))


class Fake(Endpoint):
    """Speaks in the ticks `speak` ("20-60"), as long as `finish` (ticks) says.

    late: in how many first ticks it takes 0.1 s, so that others are missed. leave, die: the tick of leaving unasked,
    and of killing its process (with `once`, a file: the first time only).
    open_error, say_error: of ERRORS. busy: "FILE:N", busy the first N times. hang_s: opening takes that long.
    log: a file that gets a line when it is opened, and closed. prints: how many characters, when it is opened.
    at_once, clocking: what it declares. model: of OpenAI, or `vendor` ("": none), which says in tick 30 that it counted
    `seconds` (60), or that it will count them if that is "due", or that it counted `tokens` of text. rule: what the
    rule for examiners finds in its calls, or "unreadable"; with `kill`, a file, the rule kills the whole run the first
    time.
    """

    def __init__(self, does: Mapping[str, str]) -> None:
        self.does = does
        self.clocking = does.get("clocking", "tick")  # type: ignore[assignment]
        self.calls_at_once = int(does["at_once"]) if "at_once" in does else None
        self._tick = -1
        self.start_tick, self.end_tick = (int(tick) for tick in does.get("speak", "20-60").split("-"))

    def open(self, side: Side) -> None:
        self._log("open")
        if "rule" in self.does:
            held_here.fault_of_call = self._fault  # type: ignore[attr-defined]
        print("x" * int(self.does.get("prints", 0)), end="", flush=True)
        time.sleep(float(self.does.get("hang_s", 0)))
        if "open_error" in self.does:
            raise ERRORS[self.does["open_error"]]
        if "busy" in self.does and self._count(*self.does["busy"].split(":")):
            raise PartyError("fake: busy", transient=True)

    def _fault(self, recording: Reading) -> str | None:
        if "kill" in self.does and self._count(self.does["kill"], times="1"):
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does["rule"] == "unreadable":
            raise RecordingError(f"{recording.path / EVENTS}: cannot be read")
        return self.does["rule"]

    def services(self) -> Sequence[Service]:
        if "model" not in self.does:
            return []
        return [Service("audio", "api.openai.com", self.does.get("vendor", "openai"), self.does["model"])]

    def log(self) -> Sequence[Happening]:
        if "model" not in self.does or self._tick != 30:
            return ()
        seconds = self.does.get("seconds", "60")
        counts: dict[Unit, float] = {} if seconds == "due" else {"seconds": float(seconds)}
        if "tokens" in self.does:
            counts = {"text_in_tokens": float(self.does["tokens"])}
        vendor = self.does.get("vendor", "openai")
        return [ModelUsage(vendor, self.does["model"], counts, due=not counts).happening(self._tick)]

    def say(self, tick: int) -> Pcm | None:
        self._tick = tick
        if tick < int(self.does.get("late", 0)):
            time.sleep(0.1)
        if "say_error" in self.does:
            raise ERRORS[self.does["say_error"]]
        if tick == int(self.does.get("die", -1)) and (
            "once" not in self.does or self._count(self.does["once"], times="1")
        ):
            os.kill(os.getpid(), signal.SIGKILL)
        if tick == int(self.does.get("leave", -1)):
            self.left = "closed by the server: 1011"
            return None
        if tick == int(self.does.get("finish", -1)):
            self.left = "finished"
            return None
        return NOISE if self.start_tick <= tick < self.end_tick else SILENT_FRAME

    def hear(self, tick: int, frame: Pcm) -> None:
        """Nothing that it hears matters to it."""

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "fake", **{name: value for name, value in self.does.items() if name != "key"}}

    def close(self) -> None:
        self._log("close")

    def _log(self, what: str) -> None:
        if "log" in self.does:
            with open(self.does["log"], "a") as log:
                log.write(f"{what} {os.getpid()}\n")

    @staticmethod
    def _count(path: str, times: str) -> bool:
        """Whether this is still one of the first `times` calls, which lengthen a file."""
        with open(path, "a") as file:
            file.write("x")
            return file.tell() <= int(times)


def install(path: Path) -> Path:
    """Make a folder that, on the path of imports, makes `fake` a registered name; return it."""
    return plugin(path, "fake", "[fdbcore.endpoints]\nfake = fakes.run_parties:fake\n")
