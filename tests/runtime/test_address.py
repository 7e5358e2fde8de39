"""Addresses and their settings: how they are read, what is said of wrong ones, and that the docs list them all."""

from pathlib import Path

import pytest
from helpers.settings_table import listed

from fdbcore.endpoints import clip, echo, moshi, one_shot
from fdbcore.endpoints import exec as command
from fdbcore.endpoints.webrtc import endpoint, whip_client
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, command_of, host_port, is_local, location, parsed

DOCS = Path(__file__).resolve().parents[2] / "docs" / "systems.md"
KNOWN = (
    Setting("name", "a text", default="x"),
    Setting("pause_ms", "a step", int, 700, unit="ms", least=10, most=1000, step=10),
    Setting("level_db", "a level", float, least=-70, most=0),
    Setting("side", "a choice", default="left", choices=("left", "right", "mean")),
)
PARTIES = {
    "`exec`": command.SETTINGS,
    "`echo`": echo.SETTINGS,
    "`webrtc`, `whip`, `whips`, `pipecat`, `pipecats`": endpoint.SETTINGS,
    "`whip`, `whips`": whip_client.DIALLED[len(endpoint.SETTINGS) :],
    "`moshi`": moshi.MOSHI,
    "`personaplex`": moshi.PERSONAPLEX,
    "`gemini`, `openai-chat`": one_shot.SETTINGS,
    "`clip`": clip.SETTINGS,
}


def test_settings_have_their_types_and_defaults() -> None:
    found = parsed("kind:PLACE?pause_ms=20&level_db=-2.5&name=", KNOWN)
    assert found == ("kind", "PLACE", {"name": "", "pause_ms": 20, "level_db": -2.5, "side": "left"})
    assert parsed("kind", KNOWN).place == ""
    assert parsed("kind:a?b.wav?side=mean", KNOWN, file=True).place == "a?b.wav"
    assert parsed("kind:x?name=http://h/v1?a%26b", KNOWN).settings["name"] == "http://h/v1?a&b"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("pause=10", "expected settings of name, pause_ms, level_db, side, got 'pause'; perhaps pause_ms"),
        ("pause_ms=15", "pause_ms: expected a multiple of 10 from 10 to 1000, got '15'"),
        ("pause_ms=1_0", "pause_ms: expected a multiple of 10 from 10 to 1000, got '1_0'"),
        ("pause_ms=１０", "pause_ms: expected a multiple of 10 from 10 to 1000, got '１０'"),
        ("level_db=nan", "level_db: expected a number from -70 to 0, got 'nan'"),
        ("level_db=1", "level_db: expected a number from -70 to 0, got '1'"),
        ("side=top", "side: expected one of left, right, mean, got 'top'"),
    ],
)
def test_a_wrong_setting_is_one_line(query: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        parsed(f"kind:x?{query}", KNOWN)
    assert str(error.value) == f"kind: {message}"


@pytest.mark.parametrize("address", ["kind:x?side=left&name=a&side=right", "kind:side=left side=right do it"])
def test_a_setting_that_is_given_twice_is_one_line(address: str) -> None:
    read = parsed if "?" in address else command_of
    with pytest.raises(SettingsError, match=r"^side: expected it once, got it twice$"):
        read(address, KNOWN)


def test_a_command_has_its_settings_before_it() -> None:
    words, settings = command_of("exec:pause_ms=20 sh -c 'a b' side=top", KNOWN)
    assert words == ["sh", "-c", "a b", "side=top"]
    assert settings["pause_ms"] == 20
    for wrong in ("exec:", "exec:pause_ms=20", "exec:'a"):
        with pytest.raises(SettingsError, match=r"^exec: expected exec:COMMAND, got"):
            command_of(wrong, KNOWN)


def test_a_wrong_place_is_not_shown_as_it_may_hold_a_password() -> None:
    for wrong in ("x:h", "x://h:pass-word", "x://me:pass-word@h", "x://h#pass-word"):
        with pytest.raises(SettingsError) as error:
            location(wrong, "x://HOST:PORT")
        assert str(error.value) == "x: expected x://HOST:PORT"
    parts = location("x://me:pass-word@[::1]:80/path?a=b", "x://HOST:PORT", user=True)
    assert (parts.hostname, parts.port, parts.path, parts.query) == ("::1", 80, "/path", "a=b")
    assert (host_port("::1", 80), host_port("h", None)) == ("[::1]:80", "h")


@pytest.mark.skipif(not DOCS.is_file(), reason="needs the checkout, not only the wheel")
@pytest.mark.parametrize("parties", PARTIES)
def test_the_docs_list_all_settings(parties: str) -> None:
    assert listed(PARTIES[parties], parties) in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("[fe80::1]", True),
        ("10.1.2.3", True),
        ("192.168.0.9", True),
        ("100.64.0.1", True),  # RFC 6598: networks of one's own, as Tailscale's
        ("agent", True),  # in Docker
        ("printer.local", True),
        ("vm.internal.", True),
        ("api.openai.com", False),
        ("local.example.com", False),
        ("notlocal", True),
        ("8.8.8.8", False),
        ("::ffff:8.8.8.8", False),
        ("2606:4700::1", False),
        ("0.0.0.0", False),
        ("::", False),
    ],
)
def test_hosts_of_private_networks_are_local(host: str, local: bool) -> None:
    assert is_local(host) == local
