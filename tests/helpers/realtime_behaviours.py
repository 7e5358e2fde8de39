"""What parties of OpenAI's interfaces are held to, at fakes that say what is planned and go wrong by their faults."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from fakes.realtime_server import Faults, Pace, Plan, RealtimeServer, Reply, tones
from fakes.vendor_server import VendorServer
from helpers.conformance import SECRET, Behaviour, RemoteConformance, asks_twice
from helpers.live_calls import DONE, assert_failed, assert_opening_fails, held, of_kind, open_and_close, said, speaks

WORDS = "one two three four five six seven eight"
REPLIES: Mapping[Behaviour, Sequence[Reply]] = {
    "takes back": (Reply(pcm=tones(20)), Reply("")),
    "closes": (Reply(WORDS, cut_at_ms=600),),
}
FAULTS = {"mute": Faults(mute=["replies"]), "hangs": Faults(mute=["greeting"]), "refuses": Faults(http_status=401)}


@contextmanager
def behaving(behaviour: Behaviour, dialect: str = "openai", speed: float | None = None) -> Iterator[RealtimeServer]:
    """A server that does so. speed: of what it says; None: as fast as it does otherwise."""
    pace = Pace(first_s=0.05) if speed is None else Pace(first_s=0.05, speed=speed)
    plan = Plan(REPLIES.get(behaviour, (Reply(WORDS),)), pace=pace)
    with RealtimeServer(plan, dialect, FAULTS.get(behaviour, Faults())) as server:
        yield server


class FaultsConformance(RemoteConformance):
    """at: a party at a server. refusals: faults, and how the line begins. endings: a plan, faults, and what the reason
    holds, "" where the system has just finished.
    """

    speech = staticmethod(asks_twice)
    at: Callable[..., Any]
    refusals: ClassVar[Sequence[tuple[Faults, str]]] = ()
    endings: ClassVar[Sequence[tuple[Any, Faults, str]]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for name, cases in {"refusal": self.refusals, "ending": self.endings}.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, cases, ids=[f"{case[-1]}-{number}" for number, case in enumerate(cases)])

    def served(self, plan: Any, faults: Faults) -> VendorServer:
        """A server with this plan, or its own."""
        return RealtimeServer(plan, faults=faults)

    def saying(self, reply: Reply) -> Any:
        """The plan to say this."""
        return Plan([reply])

    def test_what_keeps_a_session_from_beginning_has_a_name(self, refusal: tuple[Faults, str]) -> None:
        faults, expected = refusal
        with self.served(None, faults) as server:
            transient = expected in ("busy: ", "server: ") or "no session" in expected
            party = self.at(server, timeout_s=0.5 if faults.mute else 10)
            assert_opening_fails(party, expected, transient, SECRET)

    @pytest.mark.live
    def test_what_ends_a_session_has_a_name(self, ending: tuple[Any, Faults, str], tmp_path: Path) -> None:
        plan, faults, expected = ending
        with self.served(plan, faults) as server:
            recording = held(tmp_path / "call", speaks((10, 40), ticks=400), self.at(server))
        if expected:
            assert_failed(recording, expected, SECRET)
        else:
            assert recording.outcome is not None
            assert recording.outcome["kind"] == "done"

    def test_a_busy_server_is_asked_again_when_it_says(self) -> None:
        with self.served(None, Faults(http_status=429, retry_after_s=0.3, refused=2)) as server:
            open_and_close(self.at(server))
            times_s = [asked.at_s for asked in server.asked if not asked.path.endswith(("/hangup", "/attach"))]
        assert len(times_s) == 3
        assert min(np.diff(times_s)) >= 0.3

    @pytest.mark.live
    def test_garbage_harms_nothing(self, tmp_path: Path) -> None:
        with self.served(self.saying(Reply("a b", pcm=tones(1, 3))), Faults(garbage=True)) as server:
            recording = held(tmp_path / "call", speaks((10, 40), ticks=250), self.at(server))
        assert recording.outcome == DONE
        assert np.abs(said(recording).astype(int)).max() > 2000, "it is heard"
        assert {"not an event", "response.surprise.delta"} <= {event["name"] for event in of_kind(recording, "event")}
