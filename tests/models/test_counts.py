"""What vendors count, in our units: cached tokens stand apart, and nothing is counted twice."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from fdbcore.models.counts import gemini_counts, openai_counts

REALTIME: dict[str, Any] = {  # the example in the description of `response.done`, SDK openai 3.54.0
    "total_tokens": 253,
    "input_tokens": 132,
    "output_tokens": 121,
    "input_token_details": {
        "text_tokens": 119,
        "audio_tokens": 13,
        "image_tokens": 0,
        "cached_tokens": 64,
        "cached_tokens_details": {"text_tokens": 64, "audio_tokens": 0, "image_tokens": 0},
    },
    "output_token_details": {"text_tokens": 30, "audio_tokens": 91},
}


def test_a_reply_of_the_realtime_interface() -> None:
    found = openai_counts(REALTIME)
    assert found == {
        "text_in_tokens": 55,
        "cached_text_in_tokens": 64,
        "audio_in_tokens": 13,
        "text_out_tokens": 30,
        "audio_out_tokens": 91,
    }
    assert sum(found.values()) == REALTIME["total_tokens"]


def test_cached_audio_stands_apart() -> None:
    details = {"text_tokens": 100, "audio_tokens": 200, "cached_tokens": 250}
    of_cached = {"text_tokens": 90, "audio_tokens": 160}
    found = openai_counts({"input_tokens": 300, "input_token_details": {**details, "cached_tokens_details": of_cached}})
    assert found == {
        "text_in_tokens": 10,
        "cached_text_in_tokens": 90,
        "audio_in_tokens": 40,
        "cached_audio_in_tokens": 160,
    }


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 80},
                "completion_tokens_details": {"reasoning_tokens": 30, "audio_tokens": 0},
            },
            {"text_in_tokens": 20, "audio_in_tokens": 80, "text_out_tokens": 50},
        ),
        ({"prompt_tokens": 7, "completion_tokens": 5}, {"text_in_tokens": 7, "text_out_tokens": 5}),
        (
            {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": None},
            {"text_in_tokens": 7, "text_out_tokens": 5},
        ),
        ({"type": "duration", "seconds": 12.0}, {"seconds": 12.0}),
        (
            {"type": "tokens", "input_tokens": 14, "output_tokens": 45, "input_token_details": {"audio_tokens": 14}},
            {"audio_in_tokens": 14, "text_out_tokens": 45},
        ),
        ({}, {}),
    ],
)
def test_chats_and_transcriptions(usage: dict[str, Any], counts: dict[str, float]) -> None:
    assert openai_counts(usage) == counts


TOLD = {"text_in_tokens": 357, "audio_in_tokens": 165, "text_out_tokens": 136, "audio_out_tokens": 42}


@pytest.mark.parametrize(
    ("other", "counts"), [("text", TOLD), ("audio", TOLD | {"text_in_tokens": 332, "audio_in_tokens": 190})]
)
def test_a_turn_of_gemini_live(other: Literal["text", "audio"], counts: dict[str, int]) -> None:
    """A turn whose details leave 25 tokens of the prompt out, as one was seen on the wire in October 2026."""
    usage = {
        "prompt_token_count": 522,
        "response_token_count": 42,
        "prompt_tokens_details": [{"modality": "TEXT", "token_count": 332}, {"modality": "AUDIO", "token_count": 165}],
        "response_tokens_details": [{"modality": "AUDIO", "token_count": 42}],
        "thoughts_token_count": 136,
    }
    assert gemini_counts(usage, other) == counts
    details = ("prompt_tokens_details", "response_tokens_details")
    wire: dict[str, Any] = {_camel(name): value for name, value in usage.items()}
    for name in map(_camel, details):
        wire[name] = [{_camel(key): value for key, value in each.items()} for each in wire[name]]
    assert gemini_counts(wire, other) == counts


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_what_gemini_has_cached_stands_apart() -> None:
    usage = {
        "prompt_token_count": 100,
        "cached_content_token_count": 60,
        "candidates_token_count": 9,
        "prompt_tokens_details": [{"modality": "AUDIO", "token_count": 50}],
        "cache_tokens_details": [{"modality": "AUDIO", "token_count": 40}],
    }
    assert gemini_counts(usage) == {
        "audio_in_tokens": 10,
        "cached_audio_in_tokens": 40,
        "text_in_tokens": 30,
        "cached_text_in_tokens": 20,
        "text_out_tokens": 9,
    }
