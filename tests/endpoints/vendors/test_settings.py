"""Settings of vendors: a text is a text, only flags are true or false, and the pages state them all."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.commands import command
from helpers.settings_table import listed

from fdbcore.endpoints.cascaded.settings import SETTINGS as CASCADED
from fdbcore.endpoints.vendors.freeze_omni import SETTINGS as FREEZE_OMNI
from fdbcore.endpoints.vendors.gemini_session import SETTINGS as GEMINI_LIVE
from fdbcore.endpoints.vendors.live_session import SETTINGS as LIVE
from fdbcore.endpoints.vendors.livekit import SETTINGS as LIVEKIT
from fdbcore.endpoints.vendors.pipecat import SETTINGS as PIPECAT
from fdbcore.endpoints.vendors.realtime_session import SETTINGS as REALTIME
from fdbcore.endpoints.vendors.twilio import SETTINGS as TWILIO
from fdbcore.endpoints.vendors.ultravox_call import SETTINGS as ULTRAVOX
from fdbcore.endpoints.webrtc.endpoint import SETTINGS as WEBRTC
from fdbcore.errors import SettingsError
from fdbcore.registry import endpoint
from fdbcore.runtime.address import Setting


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("openai-realtime:m?base_url=http://127.0.0.1:9&instructions=true&voice=false", ['"true"', '"false"']),
        ("openai-realtime:m?base_url=http://127.0.0.1:9&interrupt_response=false", ['"interrupt_response": false']),
        ("gemini-live:gemini-3.8-live?base_url=http://127.0.0.1:9&instructions=true&voice_name=true", ['"true"']),
        ("ultravox:ultravox-v0.7?base_url=http://127.0.0.1:9&voice=true&recordingEnabled=true", ['"voice": "true"']),
        ("openai-live:gpt-live-1?base_url=http://127.0.0.1:9&instructions=true&store=true", ['"instructions": "true"']),
    ],
)
def test_a_text_that_says_true_stays_a_text(address: str, asked: list[str]) -> None:
    described = json.dumps(endpoint(address).describe())
    assert [text for text in asked if text not in described] == []


def test_a_flag_that_is_neither_is_one_line() -> None:
    with pytest.raises(SettingsError, match="interrupt_response: expected true or false, got 'yes'"):
        endpoint("openai-realtime:m?base_url=http://127.0.0.1:9&interrupt_response=yes")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (
            "openai-realtime:m?turn_detection=semantic_vad&threshold=0.4",
            "openai-realtime: threshold: expected turn_detection=server_vad beside it, got turn_detection=semantic_vad",
        ),
        (
            "openai-realtime:m?transport=webrtc&turn_detection=server_vad&eagerness=low",
            "openai-realtime: eagerness: expected turn_detection=semantic_vad beside it, got turn_detection=server_vad",
        ),
        (
            "azure-realtime:m?eagerness=low",
            "azure-realtime: eagerness: expected turn_detection=semantic_vad beside it, got no turn_detection",
        ),
        (
            "grok:m?turn_detection=semantic_vad",
            "grok: turn_detection: expected server_vad, got 'semantic_vad', which it does not offer",
        ),
        (
            "openai-realtime:m?transcription_language=en",
            "openai-realtime: transcription_language: expected transcription_model=NAME beside it, got none",
        ),
    ],
)
def test_settings_that_a_server_refuses_together_are_refused_before_it_is_asked(address: str, expected: str) -> None:
    system = f"{address}&base_url=http://127.0.0.1:9"
    told = command("run", "--a", "scripted:caller", "--system", system, "--dry-run", code=2).stderr
    assert f"Error: --system: {expected}" in told.splitlines()


@pytest.mark.parametrize(("settings", "detector"), [("threshold=0.4", "server_vad"), ("", None)])
def test_the_detector_is_the_servers_own_unless_another_is_named(settings: str, detector: str | None) -> None:
    asked = endpoint(f"openai-realtime:m?base_url=http://127.0.0.1:9&{settings}").describe()["asked"]
    assert asked["audio"]["input"].get("turn_detection", {}).get("type") == detector


PAGES = Path(__file__).parents[3] / "docs" / "systems"


@pytest.mark.skipif(not PAGES.is_dir(), reason="needs the checkout, not only the wheel")
@pytest.mark.parametrize(
    ("page", "settings"),
    [
        ("openai-realtime", REALTIME),
        ("openai-live", LIVE),
        ("gemini-live", GEMINI_LIVE),
        ("ultravox", ULTRAVOX),
        ("freeze-omni", FREEZE_OMNI),
        ("twilio", TWILIO),
        ("pipecat", PIPECAT[len(WEBRTC) :]),
        ("livekit", LIVEKIT),
        ("cascaded", CASCADED),
    ],
)
def test_the_page_lists_all_settings(page: str, settings: Sequence[Setting]) -> None:
    assert listed(settings) in (PAGES / f"{page}.md").read_text(encoding="utf-8")
