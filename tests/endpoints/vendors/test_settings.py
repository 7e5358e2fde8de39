"""Settings of vendors: a text is a text, whatever it says, and only flags are true or false."""

from __future__ import annotations

import json

import pytest

from fdbcore.errors import SettingsError
from fdbcore.registry import endpoint


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
