"""Moshi and PersonaPlex, over real sockets, against a server that speaks their protocol with their own codec."""

import asyncio
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from fakes.moshi_server import MoshiServer, Quirks
from fakes.parties import LoudVad, Speaker
from helpers.patience import PATIENCE_S, wait_until
from scipy.signal import correlate

from fdbcore.analysis.score import score
from fdbcore.clock import VirtualClock, now_ns
from fdbcore.endpoints.moshi import MoshiEndpoint, moshi, personaplex
from fdbcore.errors import PartyError
from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import EVENTS
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.registry import endpoint
from fdbcore.report.call.document import document
from fdbcore.report.call.page import page
from fdbcore.report.call.screen import screen
from fdbcore.runtime.network import event_loop
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.session.loop import run
from fdbcore.types import FRAME_SAMPLES, Happening, Pcm, TurnSettings

STEP = 3840  # samples at 48 kHz
PRE_SKIP = 3840  # what both servers state
OUR_LOOK_AHEAD, ITS_LOOK_AHEAD = 120, 312
LAGS = {"python": 1, "rust": 2, "personaplex": 0}


class Player(Speaker):
    """Plays samples, then has left."""

    def __init__(self, pcm: Pcm) -> None:
        super().__init__([True] * (len(pcm) // FRAME_SAMPLES))
        self.pcm = pcm

    def say(self, tick: int) -> Pcm | None:
        return None if super().say(tick) is None else self.pcm[tick * FRAME_SAMPLES : (tick + 1) * FRAME_SAMPLES]


@dataclass
class Held:
    """A conversation in lockstep: what was heard of the system, from sample 0, and what was noted."""

    heard: Pcm
    recording: Recording
    measured: dict[str, Any]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.recording.events if event["kind"] == kind]


def hold(path: Path, system: MoshiEndpoint, pcm: Pcm) -> Held:
    player = Player(pcm)
    try:
        system.open("B")
        with RecordingWriter(
            path, {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}, keep_audio=True
        ) as recording:
            vads = (LoudVad(), LoudVad())
            run(player, system, VirtualClock(), vads, TurnSettings(), recording, over=lambda tick, a, b: a or b)
    finally:
        system.close()
    heard = np.concatenate(player.heard) if player.heard else np.zeros(0, np.int16)
    return Held(heard, Recording(path), dict(system.measured()))


def address(port: int, quirks: Quirks | None = None, more: str = "") -> str:
    if quirks is not None and quirks.flavour == "personaplex":
        return f"personaplex://127.0.0.1:{port}?tls=0{more}"
    return f"moshi://127.0.0.1:{port}?tls=0{more}"


def bursts(seconds: float, seed: int = 1) -> Pcm:
    """Noise bursts of 10 ms, twice a second: each of them can be found again."""
    rng = np.random.default_rng(seed)
    pcm = np.zeros(round(seconds * 48_000), np.int16)
    for at in range(9_723, len(pcm) - 14_000, 24_000):
        pcm[at : at + 480] = 8000 * np.hanning(480) * rng.standard_normal(480)
    return pcm


def delay_samples(heard: Pcm, said: Pcm) -> int:
    """By how much `heard` lags `said`."""
    return int(np.argmax(correlate(heard.astype(float), said.astype(float)))) - len(said) + 1


class Live:
    """Drives a live endpoint tick by tick, as fast as its server answers, without a clock that could run late."""

    def __init__(self, system: MoshiEndpoint) -> None:
        self.system = system
        self.tick = 0
        self.heard: list[Pcm] = []
        self.happenings: list[Happening] = []
        system.open("B")
        system.start(now_ns())

    def run(self, ticks: int, pcm: Pcm | None = None, wait: bool = True) -> None:
        for _ in range(ticks):
            frame = self.system.say(self.tick)
            if frame is None:
                return
            self.heard.append(frame.copy())
            at = self.tick * FRAME_SAMPLES
            self.system.hear(self.tick, np.zeros(480, np.int16) if pcm is None else pcm[at : at + FRAME_SAMPLES])
            self.happenings += self.system.log()
            self.tick += 1
            if wait and self.tick % 8 == 0:
                self.await_answers()

    def await_answers(self) -> None:
        due = max(self.tick // 8 - self.system.describe()["lag_steps"], 0) * STEP
        wait_until(lambda: self.system.measured()["received_samples"] >= due)

    def found(self, kind: str) -> list[Happening]:
        return [happening for happening in self.happenings if happening.kind == kind]


def test_lockstep_places_every_sample_where_it_could_first_be_heard(tmp_path: Path) -> None:
    said = bursts(3.0)
    for flavour, lag in LAGS.items():
        quirks = Quirks(flavour)  # type: ignore[arg-type]
        with MoshiServer(quirks).running() as port:
            held = hold(tmp_path / flavour, endpoint(address(port, quirks)), said)  # type: ignore[arg-type]
        assert delay_samples(held.heard, said) == 160 * 48 + OUR_LOOK_AHEAD + ITS_LOOK_AHEAD
        start = STEP * (1 + lag)
        assert held.events("delay") == [
            {"tick": start // 480, "side": "B", "kind": "delay", "start_sample": 0, "offset_samples": start}
        ]
        assert len(held.heard) == len(said)
        assert (held.measured["lag_steps"], held.measured["steps_ahead"]) == (lag, 0)
        assert (held.measured["underruns"], held.measured["padded_samples"]) == (0, 0)


def test_lockstep_gives_the_same_bytes_whatever_the_server_takes_and_however_it_cuts(tmp_path: Path) -> None:
    said = bursts(1.6)
    variants = [Quirks(text=True), Quirks(text=True, compute_s=0.01), Quirks(text=True, message_bytes=37)]
    held = []
    for number, quirks in enumerate(variants):
        with MoshiServer(quirks).running() as port:
            held.append(hold(tmp_path / str(number), moshi(address(port)), said))
    events = [(one.recording.path / EVENTS).read_bytes() for one in held]
    assert held[0].heard.any()
    assert all(np.array_equal(one.heard, held[0].heard) for one in held)
    assert events[0] == events[1] == events[2]
    assert b'"text": " word' in events[0]


def test_the_system_hears_a_step_for_every_8_ticks_and_silence_in_missed_ones() -> None:
    server = MoshiServer(Quirks("personaplex"))
    with server.running() as port:
        live = Live(personaplex(address(port, server.quirks)))
        said = bursts(4.0)
        live.run(100, said)
        live.tick = 140  # forty were missed
        live.run(60, said)
        live.system.close()
    silenced = said[: 200 * 480].copy()
    silenced[100 * 480 : 140 * 480] = 0
    heard = np.concatenate(server.heard)
    assert len(heard) == 25 * STEP // 2
    lag = delay_samples((np.repeat(heard, 2) * 32768).astype(np.int16), silenced)
    assert abs(lag - OUR_LOOK_AHEAD) <= 2  # as fine as one sees at 24 kHz
    assert np.abs(heard[103 * 240 : 139 * 240]).max() < 0.001


def test_what_would_have_been_heard_in_missed_ticks_is_gone_and_the_rest_in_place() -> None:
    with MoshiServer().running() as port:
        live = Live(moshi(address(port)))
        said = bursts(4.0)
        live.run(96, said)
        live.await_answers()
        before = live.found("delay")[-1].fields["offset_samples"]
        live.tick += 4
        live.run(60, said)
        dropped = live.system.measured()["dropped_samples"]
        live.system.close()
    assert dropped == 4 * 480
    assert live.found("delay")[-1].fields["offset_samples"] == before
    assert not live.found("underrun")


def test_the_pre_skip_is_silent_in_place(tmp_path: Path) -> None:
    with MoshiServer(Quirks("personaplex", "tone")).running() as port:
        held = hold(tmp_path, personaplex(address(port, Quirks("personaplex"))), np.zeros(48_000, np.int16))
    assert not held.heard[: STEP + PRE_SKIP].any()
    assert np.abs(held.heard[STEP + PRE_SKIP :][:480]).max() > 5000
    assert held.measured["pre_skip_samples"] == PRE_SKIP


def test_live_is_the_stream_of_lockstep_as_it_arrives(tmp_path: Path) -> None:
    said = bursts(2.4)
    with MoshiServer(Quirks(text=True)).running() as port:
        stream = hold(tmp_path, moshi(address(port)), said).heard[2 * STEP :]
        live = Live(moshi(address(port)))
        live.run(240, said)
        measured = live.system.measured()
        live.system.close()
    offsets = {h.tick: h.fields["offset_samples"] for h in live.found("delay") + live.found("underrun")}
    offset, audible = None, 0
    for tick, frame in enumerate(live.heard):
        offset = offsets.get(tick, offset)
        place = None if offset is None else tick * 480 - offset
        if frame.any():
            assert place is not None
            assert np.array_equal(frame, stream[place : place + 480])
            audible += 1
    assert audible > 5
    assert measured["wire"]["n"] == 120
    assert measured["received_samples"] == 29 * STEP
    arrivals = [happening.fields for happening in live.found("arrivals")]
    starts = [start for fields in arrivals for start in fields["start_sample"]]
    lengths = [length for fields in arrivals for length in fields["samples"]]
    at_us = [at for fields in arrivals for at in fields["at_us"]]
    assert starts == [sum(lengths[:number]) for number in range(len(lengths))]
    assert at_us == sorted(at_us)
    words = "".join(happening.fields["text"] for happening in live.found("text"))
    assert words.split() == sorted(words.split(), key=lambda word: int(word[4:]))
    assert words.startswith(" word")


def test_a_hold_up_is_padded_and_made_up_for_in_silence() -> None:
    server = MoshiServer()
    with server.running() as port:
        live = Live(moshi(address(port)))
        live.run(96)
        before = live.found("delay")[0].fields["offset_samples"]
        with server.computing:
            live.run(40, wait=False)
        live.run(1200)
        measured = live.system.measured()
        live.system.close()
    late = live.found("underrun")[0].fields
    assert late["offset_samples"] == before + late["padded_samples"]
    assert late["padded_samples"] >= 30 * 480
    last = live.found("delay")[-1].fields["offset_samples"]
    assert measured["slipped_samples"] > 0
    assert before <= last <= before + 2 * 480
    assert measured["padded_samples"] == sum(h.fields["padded_samples"] for h in live.found("underrun"))


def test_a_system_slower_than_real_time_is_heard_in_pieces_and_measured() -> None:
    with MoshiServer(Quirks(model="tone", compute_s=0.12)).running() as port:
        live = Live(moshi(address(port)))
        for _ in range(120):
            live.run(1, wait=False)
            time.sleep(0.01)
        measured = live.system.measured()
        live.system.close()
    assert measured["received_samples_per_s"] < 40_000  # 32,000 in the long run
    assert measured["received_samples"] < measured["sent_samples"]
    assert measured["underruns"] == len(live.found("underrun")) > 0


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ("close", "closed by the server: 1000 session over"),
        ("abort", "connection lost"),
        ("error", "error of the server: out of memory"),
        ("noise", "sent something that is not Ogg Opus: "),
        ("freeze", "no answer to step 10 within 3 s"),
    ],
)
def test_a_system_that_leaves_in_mid_sentence_is_heard_to_its_last_sample(tmp_path: Path, then: Any, left: str) -> None:
    with MoshiServer(Quirks(model="tone", after_steps=10, then=then)).running() as port:
        system = moshi(address(port), answer_timeout_s=3 if then == "freeze" else PATIENCE_S)
        held = hold(tmp_path, system, np.zeros(4 * 48_000, np.int16))
    assert system.left is not None
    assert system.left.startswith(left)
    assert len(held.heard) == (2 + 9) * STEP
    assert np.abs(held.heard[-480:]).max() > 5000


@pytest.mark.parametrize("then", ["abort", "freeze"])
def test_a_system_that_leaves_a_live_conversation(then: Any) -> None:
    with MoshiServer(Quirks(model="tone", after_steps=10, then=then)).running() as port:
        system = moshi(address(port), answer_timeout_s=2.0)
        live = Live(system)
        live.run(80)
        while system.left is None:
            live.run(1, wait=False)
            time.sleep(0.001)  # ten times as fast as real time
        assert live.system.say(live.tick) is None
        live.system.hear(live.tick, np.zeros(480, np.int16))
        system.close()
    assert system.left == {"abort": "connection lost", "freeze": "silent for 2 s"}[then]
    assert sum(bool(frame.any()) for frame in live.heard) == 8 * 8  # nine answers, less the pre-skip


def test_what_nobody_knows_is_ignored_and_garbage_skipped(tmp_path: Path) -> None:
    said = bursts(1.2)
    held = []
    for chatter in (False, True):
        with MoshiServer(Quirks(chatter=chatter)).running() as port:
            held.append(hold(tmp_path / str(chatter), moshi(address(port)), said))
    assert np.array_equal(held[0].heard, held[1].heard)
    assert held[1].measured["skipped_bytes"] >= 256 * 12
    assert held[1].measured["ignored_messages"] >= 6 * 12


def test_one_session_at_a_time_and_the_next_when_it_has_left() -> None:
    with MoshiServer().running() as port:
        first, second = moshi(address(port)), moshi(address(port), handshake_timeout_s=0.3)
        first.open("A")
        with pytest.raises(PartyError, match=rf"moshi://127.0.0.1:{port}: connected, but no handshake: busy") as caught:
            second.open("B")
        second.close()
        first.close()
        third = moshi(address(port))
        third.open("B")
        third.close()
    assert caught.value.transient


@pytest.mark.parametrize("flavour", ["python", "personaplex"])
def test_nothing_is_sent_before_a_late_handshake(tmp_path: Path, flavour: Any) -> None:
    server = MoshiServer(Quirks(flavour, handshake_s=0.2))
    said = bursts(1.0)
    with server.running() as port:
        held = hold(tmp_path, endpoint(address(port, server.quirks)), said)  # type: ignore[arg-type]
    assert server.thrown_away_bytes == 0
    assert delay_samples(held.heard, said) == 160 * 48 + OUR_LOOK_AHEAD + ITS_LOOK_AHEAD


def test_personaplex_is_always_told_both_prompts_and_never_a_seed() -> None:
    server = MoshiServer(Quirks("personaplex"))
    with server.running() as port:
        for more in ("", "&voice_prompt=VARM1.pt&text_prompt=You+enjoy+a+%26+b."):
            system = personaplex(address(port, server.quirks, more))
            system.open("B")
            system.close()
        plain = moshi(address(port))
        with pytest.raises(PartyError, match="connection lost before the handshake"):
            plain.open("B")
        plain.close()
    assert server.queries == [
        {"voice_prompt": "NATF2.pt", "text_prompt": ""},
        {"voice_prompt": "VARM1.pt", "text_prompt": "You enjoy a & b."},
        {},
    ]


def test_a_rust_server_is_told_its_settings_and_tells_what_it_took() -> None:
    server = MoshiServer(Quirks("rust"))
    with server.running() as port:
        system = moshi(address(port, more="&text_temperature=0.8&audio_seed=7"))
        system.open("B")
        described = system.describe()
        system.close()
    assert server.queries == [{"text_temperature": "0.8", "audio_seed": "7"}]
    assert described["server"] == {"text_temperature": 0.8}
    assert (described["kind"], described["lag_steps"]) == ("moshi", 2)


def test_too_small_a_lag_is_told_and_too_large_a_one_measured(tmp_path: Path) -> None:
    said = bursts(1.0)
    with MoshiServer().running() as port:
        hasty = moshi(address(port, more="&lag_steps=0"), answer_timeout_s=0.2)
        held = hold(tmp_path / "0", hasty, said)
        assert len(held.heard) == STEP
        assert hasty.left == "no answer to step 0 within 0.2 s; does it leave more than lag_steps=0 unanswered?"
        held = hold(tmp_path / "2", moshi(address(port, more="&lag_steps=2")), bursts(4.0))
    assert delay_samples(held.heard, bursts(4.0)) == 240 * 48 + OUR_LOOK_AHEAD + ITS_LOOK_AHEAD
    assert held.measured["steps_ahead"] == 1


def test_nobody_there_a_wrong_path_and_no_websocket_are_one_line_each() -> None:
    with MoshiServer().running() as port:
        gone = port
        lost = moshi(f"moshi://127.0.0.1:{port}/elsewhere")
        with pytest.raises(PartyError, match="refused with HTTP status 404") as caught:
            lost.open("B")
        lost.close()
        wrong = moshi(f"moshi://127.0.0.1:{port}?tls=1")
        with pytest.raises(PartyError, match=rf"^moshi://127.0.0.1:{port}: no TLS there .*tls=0"):
            wrong.open("B")
        wrong.close()
    assert not caught.value.transient
    nobody = moshi(f"moshi://127.0.0.1:{gone}")
    with pytest.raises(PartyError, match="cannot be reached: ") as caught:
        nobody.open("B")
    assert "\n" not in str(caught.value)
    assert caught.value.transient
    nobody.close()


def test_a_certificate_of_the_servers_own_will_do(tls: ssl.SSLContext) -> None:
    server = MoshiServer(Quirks("personaplex"), tls=tls)
    with server.running() as port:
        plain = moshi(address(port))
        with pytest.raises(PartyError, match=r"does it want TLS \(tls=1\)\?|refused with HTTP status 400"):
            plain.open("B")
        plain.close()
        system = personaplex(f"personaplex://127.0.0.1:{port}")
        system.open("B")
        assert not system.describe()["certificate_verified"]
        system.close()
    assert len(server.queries) == 1


def test_closing_in_mid_sentence_leaves_nothing_behind() -> None:
    loop = event_loop()
    with MoshiServer(Quirks(model="tone")).running() as port:
        first = moshi(address(port))  # opens what the process keeps
        Live(first).run(60)
        first.close()
        before = len(os.listdir("/proc/self/fd"))
        for flavour in ("live", "unstarted", "unopened"):
            system = moshi(address(port))
            if flavour == "live":
                Live(system).run(60)
            elif flavour == "unstarted":
                system.open("B")
            system.close()
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)
        assert asyncio.all_tasks(loop) == set()


def test_a_conversation_in_real_time(tmp_path: Path) -> None:
    with MoshiServer(Quirks("personaplex", "tone", text=True)).running() as port:
        system = personaplex(address(port, Quirks("personaplex")))
        recording = converse(Player(bursts(1.3)), system, tmp_path, LiveSettings(vad="energy"), {}, Event())
    assert recording.n_ticks == 130
    assert {"delay", "text", "arrivals"} <= {event["kind"] for event in recording.events if event["side"] == "B"}
    side: Mapping[str, object] = recording.meta["timing"]["sides"]["B"]
    assert (side["mode"], side["own_delay"]) == ("live", {"look_ahead_ms": 2.5, "packetisation_ms": 0.0})
    assert recording.meta["parties"]["B"]["query"] == {"voice_prompt": "NATF2.pt", "text_prompt": ""}


def test_two_systems_talk_to_each_other_in_lockstep(tmp_path: Path) -> None:
    with MoshiServer(Quirks(model="tone")).running() as one, MoshiServer(Quirks("rust")).running() as other:
        a, b = moshi(address(one)), moshi(address(other))
        settings = LiveSettings(vad="energy", max_s=3.0, realtime=False)
        recording = converse(a, b, tmp_path, settings, {}, Event())
    assert recording.n_ticks == 300
    assert recording.meta["outcome"] == {"kind": "done", "side": None, "reason": None}
    assert dict(recording.meta["timing"]["sides"]["A"])["lag_steps"] == 1


def test_a_user_is_answered(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    said = np.zeros(5 * 48_000, np.int16)
    said[48_000:114_720] = 3000 * rng.standard_normal(66_720)  # to 10 ms before the end of a step at 2.4 s
    with MoshiServer(Quirks(model="answer")).running() as port:
        settings = LiveSettings(vad="energy", realtime=False)
        recording = converse(Player(said), moshi(address(port)), tmp_path, settings, {}, Event())
    gaps = [event for event in recording.turn_events if event.kind == "gap"]
    assert [event.side for event in gaps] == ["B"]
    assert gaps[0].fto_ticks == pytest.approx(41, abs=3)  # the fifth silent step ends 400 ms later


GOOD = {
    "moshi": ("ws://localhost:8998/api/chat", {}),
    "moshi://example.org": ("ws://example.org:8998/api/chat", {}),
    "moshi://[::1]:99/": ("ws://[::1]:99/api/chat", {}),
    "moshi://h:1/proxy/chat?tls=1": ("wss://h:1/proxy/chat", {}),
    "moshi://h?max_steps=100": ("ws://h:8998/api/chat", {"max_steps": "100"}),
    "personaplex://h": ("wss://h:8998/api/chat", {"voice_prompt": "NATF2.pt", "text_prompt": ""}),
}


@pytest.mark.parametrize("address", GOOD)
def test_addresses(address: str) -> None:
    described = endpoint(address).describe()
    assert (described["url"], described["query"]) == GOOD[address]


@pytest.mark.live
@pytest.mark.parametrize("flavour", ["python", "rust", "personaplex"])
def test_answers_to_steps_are_as_late_as_the_server_says(tmp_path: Path, flavour: Any) -> None:
    """Each flavour leaves another number of first steps unanswered."""
    server = (sys.executable, "-m", "fakes.moshi_server", "--port", "0", "--log", "--model", "tone")
    given = (*server, "--flavour", flavour, "--compute-ms", "19")
    where = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    party, settings = personaplex if flavour == "personaplex" else moshi, LiveSettings(vad="energy", max_s=5.0)
    with subprocess.Popen(given, stdout=subprocess.PIPE, text=True, env=where) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        system = party(address(port, Quirks(flavour)))
        held = converse(Speaker([True] * 500), system, tmp_path / "call", settings, {}, Event())
        process.kill()
        log_ms = [float(line) for line in process.stdout]
    reading = Reading(held.path)
    content = document(reading, score(reading))
    arrivals = content["held"]["arrivals"] if content["held"] else None
    assert arrivals is not None
    assert arrivals["A"] is None
    assert arrivals["B"] is not None
    found = arrivals["B"]["steps"]
    assert found["step_ms"] == 80
    assert 40 <= found["n"] <= len(log_ms) <= 63
    assert found["p50_ms"] == pytest.approx(np.median(log_ms[: found["n"]]), abs=1)
    text = f"B answers each step {found['p50_ms']:.1f} ms after it (p99 {found['p99_ms']:.1f}) of 80"
    assert text in " ".join(screen(reading, content).split())
    assert text in page(reading, content)


@pytest.mark.live
def test_the_lateness_of_a_slow_system_is_its_own(tmp_path: Path) -> None:
    """It takes 105 ms for each 80 ms: what is stated as ours is at most what waited here, and answers keep theirs."""
    settings = LiveSettings(vad="energy", max_s=16.0)
    with MoshiServer(Quirks(model="tone", compute_s=0.105)).running() as port:
        held = converse(Speaker([True] * 1600), moshi(address(port)), tmp_path / "call", settings, {}, Event())
    at_us, starts, _ = (column.tolist() for column in held.arrivals("B"))
    told = [event for event in held.events if event["side"] == "B" and "offset_samples" in event]
    assert sum(event["kind"] == "underrun" for event in told) > 50
    for event in told:
        place = event["tick"] * FRAME_SAMPLES - event["offset_samples"]
        arrived_us = max(at for at, start in zip(at_us, starts, strict=True) if start <= place)
        waited_samples = event["tick"] * FRAME_SAMPLES - arrived_us * 48 // 1000  # under 0 if the tick came late
        assert 0 <= event["delay_samples"] <= max(waited_samples, 0)
    legs = HarnessLegs.of(held, "B")
    assert legs is not None
    assert max(legs.round_trip_ms(tick) for tick in range(1600)) < 40
    measured = held.measured("B")
    assert all(change["delay_samples"] < 40 * 48 for change in [measured, *measured["delay_changes"]])
