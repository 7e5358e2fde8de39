"""The fake of OpenAI's realtime interface, as a system that behaves as `conformance` asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from fakes.realtime_server import Faults, Pace, Plan, RealtimeServer, Reply, tones
from helpers.conformance import SECRET, Behaviour

WORDS = "one two three four five six seven eight"
REPLIES: Mapping[Behaviour, Sequence[Reply]] = {
    "takes back": (Reply(pcm=tones(20)), Reply("")),
    "closes": (Reply(WORDS, cut_at_ms=600),),
}
FAULTS = {"mute": Faults(mute=["replies"]), "hangs": Faults(mute=["greeting"]), "refuses": Faults(http_status=401)}


@contextmanager
def behaving(behaviour: Behaviour, dialect: str = "openai", speed: float | None = None) -> Iterator[RealtimeServer]:
    """A server whose key is SECRET. speed: of what it says; None: as fast as it does otherwise."""
    pace = Pace(first_s=0.05) if speed is None else Pace(first_s=0.05, speed=speed)
    plan = Plan(REPLIES.get(behaviour, (Reply(WORDS),)), pace=pace)
    with RealtimeServer(plan, dialect, FAULTS.get(behaviour, Faults())) as server:
        server.key = SECRET
        yield server
