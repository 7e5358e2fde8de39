"""The table of vendors' models: when they end, what they cost."""

from __future__ import annotations

import re
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from fakes.model_server import NEEDS_OPENAI

from fdbcore.models.model_table import EndDate, Source, listed, models, price_usd, vendors
from fdbcore.types.usage import ModelUsage, Unit

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
