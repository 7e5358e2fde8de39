"""Live calls between someone who speaks at given ticks and a party under test, and what their recordings hold."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import pytest
from fakes.loopback import Loopback
from fakes.parties import Caller
from scipy.io import wavfile

from fdbcore.errors import PartyError, SettingsError
from fdbcore.protocols import Endpoint, World
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.runs.replays import replay
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import Pcm

Party = TypeVar("Party", bound=Endpoint)
DONE = {"kind": "done", "side": None, "reason": None}


def speaks(*spans: tuple[int, int], ticks: int) -> Caller:
    """Someone who speaks in these spans of ticks."""
    return Caller([any(start <= tick < end for start, end in spans) for tick in range(ticks)])


def held(path: Path, caller: Caller, party: Endpoint, world: World | None = None) -> Recording:
    """A call in real time."""
    return converse(caller, party, path, LiveSettings(vad="energy"), {}, Event(), world=world, seed="s")


def of_kind(recording: Recording, kind: str, name: str = "") -> list[dict[str, Any]]:
    """The events of this kind, and of this name if there is one, of side B."""
    found = [event for event in recording.events if event["kind"] == kind and event["side"] == "B"]
    return [event for event in found if name in ("", event.get("name"))]


def said(recording: Recording) -> Pcm:
    """What side B said, int16 (n,) at 48 kHz."""
    _, audio = wavfile.read(recording.path / "session.wav")
    found: Pcm = audio[:, 1]
    return found


def called(
    path: Path,
    server: Loopback,
    at: Callable[..., Endpoint],
    *spans: tuple[int, int],
    ticks: int,
    world: World | None = None,
    **asked: Any,
) -> tuple[Recording, Any]:
    """A call at a server, in which the caller speaks in these spans of ticks, and what the server had of it.

    at: the party at the server, made with what is asked.
    """
    with server:
        recording = held(path / "call", speaks(*spans, ticks=ticks), at(server, **asked), world)
        (session,) = server.sessions
    return recording, session


@contextmanager
def opened(party: Endpoint) -> Iterator[None]:
    """The party, connected."""
    try:
        party.open("B")
        yield
    finally:
        party.close()


def open_and_close(party: Endpoint) -> None:
    with opened(party):
        pass


def probed(party: Party) -> Party:
    """The party, after it was tried out."""
    try:
        party.probe()
    finally:
        party.close()
    return party


def assert_opening_fails(
    party: Endpoint, expected: str, transient: bool | None = False, secret: str = "", probes: bool = False
) -> str:
    """It fails in one line that begins with its name and what is expected; the line without the name.

    transient: whether it may go better another time; None: either. probes: `Endpoint.probe` fails, not `open`.
    """
    try:
        with pytest.raises(PartyError) as error:
            party.probe() if probes else party.open("B")
    finally:
        party.close()
    text = str(error.value)
    name = f"{party.name}: "  # type: ignore[attr-defined]
    assert text.startswith(f"{name}{expected}")
    assert "\n" not in text
    assert not secret or secret not in text
    assert transient in (None, error.value.transient)
    return text.removeprefix(name)


def assert_refused(address: str, expected: str, made: Callable[[str], Endpoint] = endpoint) -> None:
    """A wrong address is refused in one line."""
    with pytest.raises(SettingsError, match=re.escape(expected)) as error:
        made(address)
    assert "\n" not in str(error.value)


def assert_failed(recording: Recording, expected: str, secret: str = "") -> None:
    """The call failed by side B, for a reason that holds what is expected."""
    outcome = recording.outcome
    assert outcome is not None
    assert (outcome["kind"], outcome["side"]) == ("failed", "B")
    assert expected in str(outcome["reason"])
    assert not secret or secret not in str(outcome)


def assert_replays(recording: Recording, out: Path) -> None:
    """Replayed, it has the same turns and events."""
    replayed = replay(recording.path, out=out)
    assert replayed.turn_events == recording.turn_events
    assert [event for event in replayed.events if event["kind"] != "audio_end"] == recording.events


def assert_system_turns(
    recording: Recording, truth: Sequence[tuple[str, float]], within: float, by: str = "at_ms"
) -> None:
    """The turns that the system found are these, as near as `within`. by: the field with their times."""
    turns = of_kind(recording, "system_turn")
    assert [turn["name"] for turn in turns] == [name for name, _ in truth]
    for turn, (_, true) in zip(turns, truth, strict=True):
        assert turn[by] == pytest.approx(true, abs=within)


def assert_shopped(recording: Recording, outputs: Sequence[Any]) -> None:
    """Of three calls at once to `Shop`, tea, milk twice and one that cannot be read, the results came back in time."""
    assert outputs[0]["error"].startswith("expected an object as JSON")
    assert outputs[1] == {"items": [{"name": "tea", "count": 1}]}
    assert outputs[2]["items"][1] == {"name": "milk", "count": 2}
    stages = [(event["name"], event["stage"]) for event in of_kind(recording, "tool_call")]
    assert stages.count(("add", "begun")) == stages.count(("add", "complete")) == 2
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["malformed", "ok", "ok"]
