"""An agent in a LiveKit room: LiveKit's own SDK against a server of ours."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
import soxr
from helpers.conformance import SECRET, Behaviour, RemoteConformance, asks_twice

pytest.importorskip("livekit.rtc", reason="needs LiveKit's SDK: pip install 'fdbcore[livekit]'")

from fakes.livekit_server import KEY, ROOM, LiveKitServer, Plan, Visit
from fakes.realtime.plan import tones
from helpers.live_calls import DONE, assert_replays, held, of_kind, open_and_close, said, speaks
from livekit import api
from livekit.protocol import models
from scipy.signal import fftconvolve

from fdbcore.endpoints.vendors.livekit import livekit
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.types import Pcm

pytestmark = pytest.mark.live
LONG_SECRET = SECRET * 2


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)


def set_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVEKIT_TOKEN", raising=False)
    monkeypatch.setenv("LIVEKIT_API_KEY", KEY)
    monkeypatch.setenv("LIVEKIT_API_SECRET", LONG_SECRET)


@pytest.fixture(autouse=True, scope="module")
def native_part() -> None:
    """The SDK's native part has two sockets and a pipe, from the first call to the end of the process."""
    with pytest.MonkeyPatch.context() as monkeypatch, served() as server:
        set_keys(monkeypatch)
        party = at(server)
        open_and_close(party)


class TestLiveKit(RemoteConformance):
    speech = staticmethod(asks_twice)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        plan = Plan(
            says=() if behaviour == "mute" else [tones(0.9, 1)],
            joins_s=0.3 if behaviour == "late" else 0.0,
            let_in_s=None if behaviour == "hangs" else 0.0,
            breaks_off_s=0.6 if behaviour == "closes" else None,
        )
        with LiveKitServer(plan, "another-secret" * 4 if behaviour == "refuses" else LONG_SECRET) as server:
            yield livekit(f"livekit://{server.place}/{ROOM}?join_s={timeout_s}")


def at(server: LiveKitServer, settings: str = "") -> Endpoint:
    return livekit(f"livekit://{server.place}/{ROOM}?{settings}")


@contextmanager
def served(plan: Plan | None = None) -> Iterator[LiveKitServer]:
    with LiveKitServer(plan, LONG_SECRET) as server:
        yield server


@contextmanager
def cued(server: LiveKitServer, *cues: tuple[float, Callable[[Visit], Coroutine[Any, Any, None]]]) -> Iterator[None]:
    """So many seconds after now, the server does these things with its first visit."""
    timers = [Timer(at_s, lambda cue=cue: server.do(cue(server.visits[0]))) for at_s, cue in cues]
    for timer in timers:
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.join()


PART = 4800


def found(part: Pcm, line: Pcm) -> tuple[float, int]:
    """How like the part is what in the line is most like it, and where that begins."""
    at = int(fftconvolve(line.astype(float), part[::-1].astype(float), "valid").argmax())
    return float(np.corrcoef(line[at : at + len(part)], part)[0, 1]), at


def onset_ms(line: Pcm) -> float:
    return float(np.flatnonzero(np.abs(line.astype(int)) > 1000)[0] / 48)


def test_both_sides_are_heard_and_the_recording_replays_to_the_same_events(tmp_path: Path) -> None:
    async def talk(visit: Visit) -> None:
        await visit.change({"lk.agent.state": "speaking"})
        await visit.transcribe("fdbcore", "Hello there.", 1)
        await visit.transcribe("agent-1", "Good day to you.", 2)
        visit.publish("agent-1", user=models.UserPacket(payload=b"{}", topic="shown"))

    reply = tones(2, 1)
    with served(Plan(says=[reply])) as server, cued(server, (2.5, talk), (4.5, Visit.depart)):
        recording = held(tmp_path / "call", speaks((100, 200), ticks=800), at(server))
    assert recording.outcome == DONE
    assert recording.n_ticks < 600, "the call is over when the agent leaves"
    heard = server.visits[0].heard.astype(float)
    loud = np.flatnonzero(np.abs(heard) > 1000)
    assert (loud[-1] - loud[0]) / 48 == pytest.approx(1000, abs=30), "the caller's second of tone"
    assert np.sqrt((heard[loud[4800] : loud[-4800]] ** 2).mean()) == pytest.approx(9000 / np.sqrt(2), rel=0.03)
    line, expected = said(recording), soxr.resample(reply, 24_000, 48_000)
    start_ms = onset_ms(line)
    assert 1000 < start_ms < 2000, "within a second of the first sound that the agent hears"
    pieces = [found(expected[place : place + PART], line) for place in range(0, len(expected), PART)]
    likeness, places = zip(*pieces, strict=True)
    assert np.quantile(likeness, 0.25) > 0.9, "it is heard, but where the jitter buffer stretches it"
    assert list(places) == sorted(places)
    events = [(event.get("of"), event["text"]) for event in of_kind(recording, "transcript")]
    assert sorted(events) == [("partner", "Hello there."), ("self", "Good day to you.")], "each once, of two channels"
    told = {event["name"]: event["data"] for event in of_kind(recording, "event")}
    assert told["participant_attributes_changed"]["identity"] == "agent-1"
    assert told["data_received"] == {"topic": "shown", "data": "{}"}
    assert told["participant_disconnected"] == {"identity": "agent-1", "reason": "CLIENT_INITIATED"}
    assert_replays(recording, tmp_path / "again")


def test_transcripts_of_older_agents_come_by_packets_alone(tmp_path: Path) -> None:
    async def talk(visit: Visit) -> None:
        visit.transcribe_by_packet("fdbcore", "Hello there.")
        visit.transcribe_by_packet("agent-1", "Good day to you.")

    with served() as server, cued(server, (1.0, talk)):
        recording = held(tmp_path / "call", speaks((50, 100), ticks=200), at(server))
    events = [(event.get("of"), event["text"]) for event in of_kind(recording, "transcript")]
    assert events == [("partner", "Hello there."), ("self", "Good day to you.")]


@pytest.mark.parametrize(
    ("cue", "kind", "reason"),
    [
        (lambda visit: visit.dismiss(models.DisconnectReason.ROOM_DELETED), "done", ""),
        (lambda visit: visit.dismiss(models.DisconnectReason.PARTICIPANT_REMOVED), "failed", "PARTICIPANT_REMOVED"),
        (lambda visit: visit.dismiss(models.DisconnectReason.DUPLICATE_IDENTITY), "failed", "identity=NAME"),
        (lambda visit: visit.depart(models.DisconnectReason.CONNECTION_TIMEOUT), "failed", "CONNECTION_TIMEOUT"),
        (Visit.unpublish, "failed", "the agent took its audio away"),
        (Visit.abort, "failed", "the connection to the room was lost"),
    ],
    ids=["room deleted", "removed", "same identity", "agent lost", "audio taken away", "connection lost"],
)
def test_what_ends_a_call_has_a_name(cue: Any, kind: str, reason: str, tmp_path: Path) -> None:
    with served(Plan(says=[tones(1, 1)])) as server, cued(server, (1.0, cue)):
        recording = held(tmp_path / "call", speaks((10, 40), ticks=300), at(server))
    outcome = recording.outcome
    assert outcome is not None
    assert outcome["kind"] == kind
    assert reason in str(outcome["reason"])
    assert recording.n_ticks < 250


def token(secret: str, room: str) -> str:
    grants = api.VideoGrants(room_join=True, room=room)
    made: str = api.AccessToken(KEY, secret).with_identity("me").with_grants(grants).to_jwt()
    return made


def refusal(address: str) -> str:
    party = livekit(address)
    try:
        with pytest.raises(PartyError) as error:
            party.open("B")
    finally:
        party.close()
    return str(error.value)


def test_a_token_of_another_key_is_refused_by_name_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    given = token("another" * 6, ROOM)
    monkeypatch.setenv("LIVEKIT_TOKEN", given)
    with served() as server:
        told = refusal(f"livekit://{server.place}/{ROOM}")
    assert "key: the token is not taken: check LIVEKIT_TOKEN (HTTP 401" in told
    assert given not in told


def test_a_token_that_we_made_is_not_shown_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEKIT_API_SECRET", "another" * 6)
    with served() as server:
        told = refusal(f"livekit://{server.place}/{ROOM}")
    assert "check LIVEKIT_API_KEY and LIVEKIT_API_SECRET (HTTP 401 invalid token: ***, error:" in told


def test_a_token_is_for_the_room_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEKIT_TOKEN", token(LONG_SECRET, "attic"))
    assert "is for the room 'attic'" in refusal(f"livekit://127.0.0.1:9/{ROOM}")
    monkeypatch.setenv("LIVEKIT_TOKEN", "no-token-at-all")
    assert "LIVEKIT_TOKEN cannot be used" in refusal(f"livekit://127.0.0.1:9/{ROOM}")


def test_who_is_heard(tmp_path: Path) -> None:
    with served(Plan(says=[tones(1, 1)], kind=models.ParticipantInfo.STANDARD)) as server:
        told = refusal(f"livekit://{server.place}/{ROOM}?join_s=1")
        assert told.endswith("no agent is heard within 1 s; in the room: agent-1")
        told = refusal(f"livekit://{server.place}/{ROOM}?join_s=1&participant=bob")
        assert told.endswith("'bob' is heard within 1 s; in the room: agent-1")
        recording = held(tmp_path / "call", speaks((10, 60), ticks=150), at(server, "participant=agent-1&identity=ann"))
        assert server.visits[-1].identity == "ann"
    assert onset_ms(said(recording)) > 100
    party = dict(recording.parties["B"])
    assert (party["identity"], party["agent"]["identity"]) == ("ann", "agent-1")


def test_each_call_may_have_a_room_of_its_own(tmp_path: Path) -> None:
    with served() as server:
        for name in "ab":
            held(tmp_path / name, speaks((10, 40), ticks=60), at(server, "new_room=true"))
        rooms = [visit.room for visit in server.visits]
    assert len(set(rooms)) == 2
    assert all(room.startswith(f"{ROOM}-") for room in rooms)
