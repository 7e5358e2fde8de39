"""What vendors count, in our units; and the table of their models: when they end, what they cost."""

import re
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pytest
from fakes.model_server import NEEDS_OPENAI

from fdbcore.models.counts import gemini_counts, openai_counts
from fdbcore.models.model_table import EndDate, Source, listed, models, price_usd, vendors
from fdbcore.types.usage import ModelUsage, Unit

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


TODAY = date(2026, 11, 23)


def test_each_fact_has_a_source_and_a_date() -> None:
    assert models()
    for (vendor, _), model in models().items():
        assert vendors()[vendor].name == vendor
        for source in filter(None, (model.end and model.end.source, model.priced)):
            assert source.what
            assert date(2026, 1, 1) < source.on <= date(2026, 12, 31)
        assert bool(model.usd) == bool(model.priced)
        assert all(price > 0 for price in model.usd.values()), "a unit without a known price is left out"


PUBLISHED = [
    "gpt-realtime",
    "gpt-realtime-2025-08-28",
    "gpt-4o",
    "gpt-4o-2024-08-06",
    "tts-1",
    "whisper-1",
    "gpt-5-nano",
]


@pytest.mark.parametrize("name", [*PUBLISHED, "gpt-4o-audio-preview", "gpt-4-turbo"])
def test_models_of_published_benchmarks_have_their_ends(name: str) -> None:
    model = listed("openai", name)
    assert model is not None
    assert model.end is not None
    assert model.end.is_near(date(2026, 12, 15))


@NEEDS_OPENAI
def test_the_ends_are_those_that_the_vendors_own_package_lists() -> None:
    """Its texts say: - "gpt-5", "gpt-5-mini": Announced shutdown date: 2026-12-11."""
    spec = find_spec("openai")
    assert spec is not None
    assert spec.origin is not None
    files = ("shared/chat_model", "audio/speech_model", "audio_model", "realtime/realtime_session_create_request")
    texts = ((Path(spec.origin).parent / "types" / f"{file}.py").read_text() for file in files)
    told = re.findall(r'- ((?:"[^"]+",? ?)+): Announced shutdown date: ([\d-]+)\.', " ".join(" ".join(texts).split()))
    ends = {name: date.fromisoformat(day) for names, day in told for name in re.findall(r'"([^"]+)"', names)}
    checked = {name for name in ends if (model := listed("openai", name)) and model.end and model.end.on == ends[name]}
    assert [name for name in ends if listed("openai", name) and name not in checked] == []
    assert {name for (vendor, name), model in models().items() if vendor == "openai" and model.end} <= checked


def test_ends_in_words() -> None:
    end = EndDate(date(2027, 1, 14), Source("a page", TODAY))
    assert end.text(TODAY) == "ends in 52 days (2027-01-14)"
    assert end.text(date(2027, 1, 13)) == "ends in 1 day (2027-01-14)"
    assert end.text(date(2027, 1, 14)) == end.text(date(2028, 1, 1)) == "gone since 2027-01-14"
    assert end.is_near(date(2026, 10, 16))
    assert not end.is_near(date(2026, 10, 15))


def test_kinds_of_addresses_lead_to_one_vendor() -> None:
    assert listed("openai-realtime", "gpt-realtime-2.1") == listed("openai", "gpt-realtime-2.1") is not None
    assert listed("gemini-live", "gemini-3.8-live") is not None
    assert listed("grok", "gpt-realtime-2.1") is None
    assert listed("", "gpt-realtime-2.1") is None
    assert listed("openai", "gpt-realtime-2.1-2099") is None


@pytest.mark.parametrize(
    ("model", "counts", "usd"),
    [
        ("gpt-realtime-2.1", {"audio_in_tokens": 1_000_000, "audio_out_tokens": 500_000}, 32 + 32),
        ("gpt-realtime-2.1", {"cached_audio_in_tokens": 1_000_000, "text_out_tokens": 1000}, 0.4 + 0.024),
        ("gpt-live-1", {"seconds": 90}, 0.075),
        ("tts-1", {"characters": 2000}, 0.03),
        ("gpt-realtime-2.1", {}, 0.0),
        ("gpt-4o", {"text_in_tokens": 10, "audio_in_tokens": 1}, None),  # it has no price for audio
        ("nobody-knows-it", {"text_in_tokens": 1}, None),
    ],
)
def test_prices(model: str, counts: dict[Unit, float], usd: float | None) -> None:
    assert price_usd(ModelUsage("openai", model, counts)) == (None if usd is None else pytest.approx(usd))
