"""Systems that an examiner talks to, and a conversation that is stepped tick by tick."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.protocols import Endpoint
from fdbcore.types import FRAME_SAMPLES, Pcm

SystemSpeaks: TypeAlias = Callable[[int, int | None], bool]
"""Whether the system speaks in a tick, given the tick in which the examiner last fell silent (None: it has not)."""


class Told:
    """What an examiner told of itself."""

    events: list[dict[str, Any]]

    def of(self, kind: str, **fields: object) -> list[dict[str, Any]]:
        return [each for each in self.events if each["kind"] == kind and fields.items() <= each.items()]

    @property
    def verdicts(self) -> list[str]:
        return [each["verdict"] for each in self.of("examiner_goal")]


class Stepped(Told):
    """A conversation of `party` with a system that speaks when `speaks` says so, by early edges without errors."""

    def __init__(
        self, party: Examiner, speaks: SystemSpeaks, most_ticks: int = 40_000, origin_ns: int | None = None
    ) -> None:
        party.start(origin_ns)
        self.events = []
        silent_since: int | None = None
        was_loud = False
        for tick in range(most_ticks):
            frame = party.say(tick)
            self.events += [{"tick": each.tick, "kind": each.kind, **each.fields} for each in party.log()]
            if frame is None:
                break
            is_loud = bool(np.abs(frame).max() > 1000)
            silent_since = tick if was_loud and not is_loud else silent_since
            was_loud = is_loud
            active = speaks(tick, None if is_loud else silent_since)
            party.hear(tick, np.full(FRAME_SAMPLES, 1000 if active else 0, np.int16))
            party.sense(tick, is_loud, active)
        self.left, self.planted, self.ticks = party.left, party.planted(), tick
        party.close()


def answers(after_ticks: int = 30, for_ticks: int = 200) -> SystemSpeaks:
    """A system that begins so long after the examiner's words, and speaks so long."""

    def speaks(tick: int, silent_since: int | None) -> bool:
        return silent_since is not None and 0 <= tick - silent_since - after_ticks < for_ticks

    return speaks


def never(tick: int, silent_since: int | None) -> bool:
    return False


class Answerer(Endpoint):
    """A system that begins to speak so long after the other side fell silent, in these patterns of (speech, pause)
    ticks, one for each of its answers; None: it begins over the other side, after so many ticks of its speech."""

    def __init__(self, answers: Sequence[Sequence[int]], after_ticks: int = 30, over_ticks: int | None = None) -> None:
        self._answers = [[(n % 2 == 0) for n, ticks in enumerate(each) for _ in range(ticks)] for each in answers]
        self._after_ticks, self._over_ticks = after_ticks, over_ticks
        self._saying: list[bool] = []
        self._loud_ticks = self._quiet_ticks = 0

    def say(self, tick: int) -> Pcm | None:
        speaks = bool(self._saying) and self._saying.pop(0)
        tone = 9000 * np.sin(2 * np.pi * 5 * np.arange(FRAME_SAMPLES) / FRAME_SAMPLES)
        return (tone * speaks).astype(np.int16)

    def hear(self, tick: int, frame: Pcm) -> None:
        is_loud = bool(np.abs(frame).max() > 1000)
        self._loud_ticks, self._quiet_ticks = self._loud_ticks + is_loud, 0 if is_loud else self._quiet_ticks + 1
        due = self._over_ticks is not None and self._loud_ticks == self._over_ticks
        if self._answers and (due or (self._loud_ticks and self._quiet_ticks == self._after_ticks)):
            self._saying = self._answers.pop(0)
            self._loud_ticks, self._over_ticks = 0, None

    def describe(self) -> dict[str, Any]:
        return {"kind": "answerer"}
