"""What the party of a vendor is held to, beside `conformance`, at a server of ours that plays the vendor.

class TestMine(VendorConformance):
    server, quirks, at = MyServer, Quirks, staticmethod(at)
    refusals = [(Quirks(refuses=402), "quota: ", False)]
    endings = [({100: "answer", 700: "abort"}, "the connection was lost")]
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fakes.far_end import Conversant, FarEnd, Reply
from fakes.planted_speech import find
from fakes.worlds import Shop
from helpers.conformance import SECRET, Behaviour, BurstConformance
from helpers.live_calls import DONE, assert_failed, assert_opening_fails, assert_replays, held, of_kind, said, speaks

from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript
from fdbcore.protocols import Endpoint, World

VARIABLE = "VENDOR_TEST_KEY"
KEYED = f"key_variable={VARIABLE}"


class VendorConformance(BurstConformance):
    """server, quirks: the fake, and how it is told what to do. at: a party there, by `settings`, `key` and `timeout_s`.

    rate_hz: of what it says. refuses, interrupts: a quirk that turns callers away, and the cue of an interruption.
    at_once: quirks with which all of an answer is sent at once.
    refusals: quirks, how the line begins, and whether it may go better another time. endings: cues, and what the reason
    holds, "" where the system has just finished. strange: cues, and what is told of them.
    """

    server: type[FarEnd[Any, Any]]
    quirks: Callable[..., Any]
    at: Callable[..., Any]
    rate_hz: int
    refuses: Any = None
    interrupts = "interrupt"
    at_once: ClassVar[Mapping[str, Any]] = {"think_s": 0}
    refusals: ClassVar[Sequence[tuple[Any, str, bool]]] = ()
    endings: ClassVar[Sequence[tuple[Mapping[int, str], str]]] = ()
    strange: ClassVar[Sequence[tuple[Mapping[int, str], Collection[str]]]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "refusal" in metafunc.fixturenames:
            metafunc.parametrize("refusal", self.refusals, ids=[expected for _, expected, _ in self.refusals])
        for name, cases in {"ending": self.endings, "odd": self.strange}.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, cases, ids=[str(cues) for cues, _ in cases])

    def behaving(self, behaviour: Behaviour) -> Any:
        """The quirks for it."""
        answers = {30: "answer"}
        told: Mapping[Behaviour, Mapping[str, Any]] = {
            "talks": {"cues": answers},
            "mute": {"mute": True},
            "late": {"cues": answers, "ready_s": 0.3},
            "hangs": {"ready_s": 60},
            "refuses": {"refuses": self.refuses},
            "closes": {"cues": {**answers, 1000: "abort"}},
            "takes back": {"replies": [Reply(20)], "cues": {20: "answer", 300: self.interrupts}, **self.at_once},
        }
        return self.quirks(deaf=True, **told[behaviour])

    def cued(self, cues: Mapping[int, str]) -> Any:
        """The quirks of a server that follows these, with a short answer."""
        return self.quirks([Reply(0.5)], cues=cues, think_s=0, deaf=True)

    def world(self) -> World | None:
        return Shop([])

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with self.server(self.behaving(behaviour)) as server:
            yield self.at(server, timeout_s=timeout_s)

    def test_what_keeps_a_call_from_beginning_has_a_name(self, refusal: tuple[Any, str, bool]) -> None:
        quirks, expected, transient = refusal
        with self.server(quirks) as server:
            party = self.at(server, timeout_s=0.5 if "within" in expected else 10)
            assert_opening_fails(party, expected, transient, SECRET, probes=True)

    def test_what_ends_a_call_has_a_name(self, ending: tuple[Mapping[int, str], str], tmp_path: Path) -> None:
        cues, expected = ending
        with self.server(self.cued(cues)) as server:
            recording = held(tmp_path / "call", speaks((10, 30), ticks=200), self.at(server))
        if expected:
            assert_failed(recording, expected, SECRET)
        else:
            assert recording.outcome == DONE
        assert said(recording).any() == ("answer" in cues.values()), "what came before is heard"

    def test_what_is_strange_is_told_and_harms_nothing(
        self, odd: tuple[Mapping[int, str], Collection[str]], tmp_path: Path
    ) -> None:
        cues, expected = odd
        with self.server(self.cued(cues)) as server:
            recording = held(tmp_path / "call", speaks((10, 30), ticks=200), self.at(server), self.world())
            (leg,) = server.parties
        assert recording.outcome == DONE
        find(said(recording), leg.said[0], self.rate_hz)
        told = str([[event["name"], event["data"]] for event in of_kind(recording, "event")])
        assert [text for text in expected if text not in told] == []
        assert of_kind(recording, "tool_call") == []


class KeyedConformance(VendorConformance):
    """What holds where there are keys."""

    def test_a_wrong_key_and_none_are_told_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with self.server() as server:
            assert_opening_fails(self.at(server, key=""), "key: a request without a key", probes=True)
            monkeypatch.setenv(VARIABLE, "some-other-key")
            told = f"key: the key in {VARIABLE} is not taken"
            assert_opening_fails(self.at(server), told, False, "some-other-key", probes=True)


class TurnsConformance(KeyedConformance):
    """What holds where the server says that it was interrupted. late_samples: in a chunk that comes after that, at
    48 kHz. items: the names of two answers. tolerance_ms: a packet, and a tick.
    """

    late_samples: int
    items = ("turn_1", "turn_2")
    tolerance_ms = 25

    def test_a_call_with_an_interruption_lies_where_the_server_put_it(self, tmp_path: Path) -> None:
        replies = [Reply(3.0, "it is noon here in the office"), Reply(0.5, "very well")]
        cues = {500: "answer", 1500: "interrupt", 1900: "answer"}
        with self.server(self.quirks(replies, cues=cues, think_s=0, deaf=True, late_chunks=2)) as server:
            party = self.at(server)
            recording = held(tmp_path / "call", speaks((20, 40), ticks=300), party)
            (leg,) = server.parties
        assert recording.outcome == DONE
        assert isinstance(leg, Conversant)
        audio, to_session = said(recording), party.uplink.session_ms
        begin, heard = find(audio, leg.said[0], self.rate_hz)
        arrived_ms = of_kind(recording, "arrivals")[0]["at_us"][0] / 1000
        assert 0 <= begin / 48 - arrived_ms <= 10.1, "it is heard in the tick after it came"
        assert begin / 48 == pytest.approx(to_session(500), abs=self.tolerance_ms)
        (cut,) = of_kind(recording, "interrupted")
        assert (begin + heard) / 48 == pytest.approx(to_session(1500), abs=self.tolerance_ms)
        assert (cut["item"], cut["said_ms"]) == (self.items[0], pytest.approx(3000, abs=5))
        assert cut["heard_ms"] == pytest.approx(heard / 48, abs=15)
        again, heard_again = find(audio, leg.said[1], self.rate_hz)
        assert not audio[begin + 48 * (cut["heard_ms"] + 1) : again].any()
        assert again / 48 == pytest.approx(to_session(1900), abs=self.tolerance_ms)
        assert heard_again == pytest.approx(24_000, abs=100)
        assert [event["item"] for event in of_kind(recording, "item")] == [self.items[1]]
        assert recording.measured("B")["late_samples"] == 2 * self.late_samples  # type: ignore[typeddict-item]
        assert recording.measured("B")["underruns"] == 0
        lines = [(line["text"], "cut" in line) for line in transcript(Reading(recording.path)) if line["side"] == "B"]
        assert lines == [("it is noon here in the office", True), ("very well", False)]
        assert_replays(recording, tmp_path / "again")
