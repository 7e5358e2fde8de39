"""Addresses of rooms at LiveKit, and what is refused before LiveKit's SDK is needed."""

import sys

import pytest

from fdbcore.endpoints.vendors.livekit import livekit
from fdbcore.errors import MissingExtraError, SettingsError


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVEKIT_TOKEN", raising=False)
    monkeypatch.setenv("LIVEKIT_API_KEY", "APIfake0123456789")
    monkeypatch.setenv("LIVEKIT_API_SECRET", "fake-secret-0123456789abcdef")


def test_a_missing_key_is_said_before_anything_is_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVEKIT_API_SECRET")
    with pytest.raises(SettingsError, match="expected a token in LIVEKIT_TOKEN, or LIVEKIT_API_KEY and"):
        livekit("livekits://example.com/lobby")


def test_a_token_is_for_one_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEKIT_TOKEN", "fake-token-0123456789abcdef")
    for name, value in {"new_room": "true", "identity": "ann"}.items():
        with pytest.raises(SettingsError, match=f"{name}: expected LIVEKIT_API_KEY and LIVEKIT_API_SECRET"):
            livekit(f"livekits://example.com/lobby?{name}={value}")


def test_the_server_and_the_room_are_stated_before_a_call() -> None:
    party = livekit("livekits://example.com:7880/the%20lobby?identity=ann&participant=bob")
    assert [service.to_json() for service in party.services()] == [{"takes": "audio", "host": "example.com"}]
    described = party.describe()
    assert (described["room"], described["participant"]) == ("the lobby", "bob")


def test_a_missing_sdk_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "livekit", None)
    party = livekit("livekit://127.0.0.1:9/lobby")
    with pytest.raises(MissingExtraError, match=r"livekit needs LiveKit's SDK: pip install 'fdbcore\[livekit\]'"):
        party.open("B")
    party.close()
