"""Freeze-Omni, over real sockets, against a server of ours that is held to the library behind its own."""

import json
import ssl
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import soxr
from fakes.far_end import Noted
from fakes.freeze_omni_model import Habits
from fakes.freeze_omni_server import FreezeOmniServer, Line, Quirks
from fakes.outside import Outside
from fakes.planted_speech import find
from fakes.realtime.plan import tones
from helpers.conformance import Behaviour
from helpers.live_calls import (
    DONE,
    assert_opening_fails,
    assert_replays,
    called,
    held,
    of_kind,
    opened,
    probed,
    said,
    speaks,
)
from helpers.vendor_conformance import VendorConformance

from fdbcore.endpoints.vendors.freeze_omni import FreezeOmni, freeze_omni
from fdbcore.endpoints.vendors.socket_io import read_packet, write_packet
from fdbcore.errors import SettingsError
from fdbcore.registry import endpoint

pytestmark = pytest.mark.live

RATE_HZ = 24_000
AT_ONCE = Habits((0.5,), think_s=0, faster=1e9, deaf=True)


def at(server: FreezeOmniServer, settings: str = "tls=0", timeout_s: float = 10) -> FreezeOmni:
    return freeze_omni(f"freeze-omni:{server.url('ws').partition(':')[2]}?{settings}", timeout_s)


class TestFreezeOmni(VendorConformance):
    server, at, rate_hz = FreezeOmniServer, staticmethod(at), RATE_HZ
    refusals = (
        (Quirks(max_users=0), "busy: ", True),
        (Quirks(refuses=503), "refused with HTTP 503", True),
        (Quirks(refuses=404), "there is no server of Socket.IO 5 (HTTP 404)", False),
        (Quirks(ready_s=60), "no session within 0.5 s", True),
    )
    endings = (
        ({100: "answer", 700: "abort"}, "the connection was lost"),
        ({100: "answer", 700: "hang_up"}, "the server ended the call"),
        ({100: "answer", 700: "time_out"}, "session limit: it had no answer to give for too long"),
        ({100: "answer", 700: "die"}, "sent no ping for 0.6 s"),
    )
    ODD: ClassVar[Mapping[int, str]] = {
        200: "send_garbage",
        300: "send_unknown",
        400: "send_stray_bytes",
        500: "send_half_a_sample",
        900: "answer",
    }
    strange = ((ODD, {"not an event", "mood", "bytes without an event"}),)

    def behaving(self, behaviour: Behaviour) -> Quirks:
        talks, takes_back = Habits((2.0,), think_s=0.05, deaf=True), Habits((20.0,), 5000, 0, 1e9, deaf=True)
        found: Mapping[Behaviour, Quirks] = {
            "talks": Quirks(talks, cues={40: "answer"}),
            "mute": Quirks(Habits(mute=True)),
            "late": Quirks(talks, cues={40: "answer"}, ready_s=0.3),
            "hangs": Quirks(ready_s=60),
            "refuses": Quirks(max_users=0),
            "closes": Quirks(talks, cues={40: "answer", 1000: "abort"}),
            "takes back": Quirks(takes_back, cues={20: "answer", 300: "interrupt"}),
        }
        return found[behaviour]

    def cued(self, cues: Mapping[int, str]) -> Quirks:
        return Quirks(AT_ONCE, cues=cues, ping_s=0.3, pong_s=0.3)

    def world(self) -> None:
        """It takes no tools."""


def stops(leg: Line) -> list[Noted]:
    """Each `stop_tts` between those that answer `recording-started` (two) and `recording-stopped`."""
    return [each for each in leg.sent if each.message == '42["stop_tts"]'][2:-1]


def pieces(leg: Line) -> list[Noted]:
    return [each for each in leg.sent if isinstance(each.message, bytes)]


def test_a_call_with_an_interruption_lies_where_the_server_put_it(tmp_path: Path) -> None:
    quirks = Quirks(Habits((8.0, 0.5), think_s=0.1))
    recording, leg = called(tmp_path, FreezeOmniServer(quirks), at, (20, 60), (250, 280), ticks=480)
    assert recording.outcome == DONE
    audio, sent, (_, stop) = said(recording), pieces(leg), stops(leg)
    begin, heard = find(audio, leg.said[0], RATE_HZ)
    assert begin / 48 == pytest.approx(sent[0].heard_ms + 1, abs=10), "with 1 ms of look-ahead"
    arrived_ms = of_kind(recording, "arrivals")[0]["at_us"][0] / 1000
    assert 0 <= begin / 48 - 1 - arrived_ms <= 10.1, "it is heard in the tick after it came"
    assert (begin + heard) / 48 == pytest.approx(stop.heard_ms, abs=20), "a tick, and a block that is found"
    (cut,) = of_kind(recording, "interrupted")
    stale = sum(len(each.message) for each in sent if each.at_ns < stop.at_ns)
    assert cut["said_ms"] == pytest.approx(stale / 48, abs=2)
    assert cut["heard_ms"] == pytest.approx(heard / 48, abs=11)
    assert cut["said_ms"] > cut["heard_ms"] + 1000
    again, heard_again = find(audio, leg.said[1], RATE_HZ)
    (answer,) = [each for each in sent if each.at_ns > stop.at_ns][:1]
    assert again / 48 == pytest.approx(answer.heard_ms + 1, abs=10)
    assert heard_again >= 49 * 480
    assert not audio[begin + 48 * (cut["heard_ms"] + 1) : again].any()
    assert [event["item"] for event in of_kind(recording, "item")] == ["utterance 2"]
    assert recording.measured("B")["underruns"] == 0
    assert_replays(recording, tmp_path / "again")


def test_an_answer_whose_pieces_come_slowly_is_one_utterance(tmp_path: Path) -> None:
    """Pieces of 0.8 s come every 0.4 s: nothing comes for longer than a pause, but none is heard."""
    habits = Habits((3.2,), chunk_ms=800, think_s=0, faster=2, deaf=True)
    recording, leg = called(tmp_path, FreezeOmniServer(Quirks(habits, cues={200: "answer"})), at, (10, 20), ticks=400)
    (item,) = of_kind(recording, "item")
    assert item["said_samples"] / 48 == pytest.approx(3200, abs=2)
    assert find(said(recording), leg.said[0], RATE_HZ)[1] >= 319 * 480
    assert recording.measured("B")["underruns"] == 0


def test_it_is_asked_for_audio_in_every_second_tick(tmp_path: Path) -> None:
    """So one piece of 20 ms comes each 20 ms, however many wait: the answer is heard without a gap."""
    habits = Habits((0.8,), chunk_ms=20, think_s=0, faster=1e9, deaf=True)
    quirks = Quirks(habits, cues={100: "answer"})
    _, leg = called(tmp_path, FreezeOmniServer(quirks), at, (50, 60), ticks=150)
    assert leg.user is not None
    assert (leg.user.early, leg.user.wrong_rates) == (0, [])
    assert {len(each) for each in leg.user.heard} == {320}
    assert len(leg.user.heard) == 75
    assert [each.heard_ms for each in pieces(leg)] == list(np.arange(40) * 20.0 + pieces(leg)[0].heard_ms)
    heard = np.concatenate(leg.user.heard)
    tone = soxr.resample(speaks((0, 10), ticks=10).say(0), 48_000, 16_000)
    assert np.abs(heard[16 + 50 * 160 : 16 + 60 * 160]).max() == pytest.approx(np.abs(tone).max(), rel=0.1)
    assert not heard[: 50 * 160].any()


def test_what_the_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be short.\n")
    with FreezeOmniServer() as server:
        party = at(server, f"tls=0&instructions=@{tmp_path}/prompt.txt")
        with opened(party):
            (leg,) = server.parties
            assert leg.user is not None
            assert leg.user.prompt == "Be short."
    assert party.describe()["instructions"] == "Be short."


def test_a_certificate_of_its_own_is_taken(tls: ssl.SSLContext, tmp_path: Path) -> None:
    with FreezeOmniServer(Quirks(AT_ONCE, cues={100: "answer"}), tls) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=100), at(server, ""))
        expected = "hung up without a word; does it want TLS (tls=1)?"
        assert_opening_fails(at(server, "tls=0"), expected, probes=True)
    assert recording.outcome == DONE
    assert said(recording).any()
    with FreezeOmniServer() as server:
        assert_opening_fails(at(server, ""), "no TLS there", probes=True)


def test_we_say_that_it_may_stop() -> None:
    with FreezeOmniServer() as server:
        probed(at(server))
        (leg,) = server.parties
    assert leg.received[-1].message == '42["recording-stopped"]'


def test_it_takes_no_tools() -> None:
    with pytest.raises(SettingsError, match="it cannot call tools"):
        endpoint("freeze-omni://h").take_tools([])


@pytest.mark.parametrize("text", ["", "x", "7", "4", "47[]", '42["aud', "42[]", "42[3]", '42{"a": 1}', "42"])
def test_what_is_no_packet(text: str) -> None:
    assert read_packet(text) is None


def test_packets() -> None:
    """The examples of the protocol's document, as far as they are of the main namespace."""
    event = {"packet": "event", "name": "project:delete", "data": [123]}
    assert read_packet('42["project:delete",123]') == read_packet('4212["project:delete",123]') == event
    assert read_packet('451-["hello",{"_placeholder":true,"num":0}]') == {
        "packet": "event",
        "name": "hello",
        "data": [{"_placeholder": True, "num": 0}],
    }
    assert read_packet('44{"message":"Not authorized"}') == {
        "packet": "connect_error",
        "data": {"message": "Not authorized"},
    }
    assert write_packet({"packet": "connect"}) == "40"
    assert json.loads(write_packet(event)[2:]) == ["project:delete", 123]
    assert write_packet({"packet": "pong"}) == "3"


@pytest.mark.outside
def test_a_call_with_the_library_of_the_server(tmp_path: Path) -> None:
    told = json.dumps({"max_users": 1, "habits": asdict(Habits((1.0,), think_s=0.1))})
    with Outside("freeze_omni_flask", "fakes.freeze_omni_flask.server", told) as library:
        address = f"freeze-omni://127.0.0.1:{library.port}?tls=0&instructions=Be%20short."
        recording = held(tmp_path / "call", speaks((20, 60), ticks=300), endpoint(address))
    assert recording.outcome == DONE
    assert find(said(recording), tones(1.0, 0, RATE_HZ), RATE_HZ)[1] >= 99 * 480
