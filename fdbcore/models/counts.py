"""What vendors count of the use of a model, in our units (`fdbcore.types.usage`).

In a vendor's JSON the cached tokens are among the other tokens; in ours they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fdbcore.types.usage import Unit


def openai_counts(usage: Mapping[str, Any]) -> dict[Unit, float]:
    """The counts in a `usage` of OpenAI: of a chat completion, of `response.done`, or of a transcription.

    A transcription is counted in tokens or, with "type": "duration", in seconds. Tokens that are not said to be audio
    count as text.
    """
    if usage.get("type") == "duration":
        return {"seconds": usage["seconds"]}
    heard = _details(usage, "input_token_details", "prompt_tokens_details")
    said = _details(usage, "output_token_details", "completion_tokens_details")
    of_cached = heard.get("cached_tokens_details") or {}
    cached = heard.get("cached_tokens") or 0
    cached_audio = of_cached.get("audio_tokens") or 0
    audio_in, audio_out = heard.get("audio_tokens") or 0, said.get("audio_tokens") or 0
    all_in = usage.get("input_tokens") or usage.get("prompt_tokens") or 0
    all_out = usage.get("output_tokens") or usage.get("completion_tokens") or 0
    return _counted(audio_in, audio_out, all_in, all_out, cached_audio, cached - cached_audio)


def gemini_counts(usage: Mapping[str, Any]) -> dict[Unit, float]:
    """The counts in a `usage_metadata` of Gemini, of generateContent or of the Live API, with keys in snake_case.

    Tokens that are not said to be audio count as text; thinking counts as text that was said.
    """
    cached_audio = _audio(usage, "cache_tokens_details")
    all_in = sum(usage.get(name) or 0 for name in ("prompt_token_count", "tool_use_prompt_token_count"))
    said = ("candidates_token_count", "response_token_count", "thoughts_token_count")
    return _counted(
        _audio(usage, "prompt_tokens_details") + _audio(usage, "tool_use_prompt_tokens_details"),
        _audio(usage, "candidates_tokens_details") + _audio(usage, "response_tokens_details"),
        all_in,
        sum(usage.get(name) or 0 for name in said),
        cached_audio,
        (usage.get("cached_content_token_count") or 0) - cached_audio,
    )


def _counted(
    audio_in: int, audio_out: int, all_in: int, all_out: int, cached_audio: int, cached_text: int
) -> dict[Unit, float]:
    """The counts that are not 0. audio_in, all_in: with the cached tokens."""
    found: dict[Unit, float] = {
        "audio_in_tokens": audio_in - cached_audio,
        "audio_out_tokens": audio_out,
        "text_in_tokens": all_in - audio_in - cached_text,
        "text_out_tokens": all_out - audio_out,
        "cached_audio_in_tokens": cached_audio,
        "cached_text_in_tokens": cached_text,
    }
    return {unit: count for unit, count in found.items() if count}


def _details(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((usage[name] for name in names if usage.get(name)), {})


def _audio(usage: Mapping[str, Any], name: str) -> int:
    """The tokens of audio in a list of tokens by modality."""
    return sum(
        each.get("token_count") or 0
        for each in usage.get(name) or ()
        if str(getattr(each["modality"], "value", each["modality"])) == "AUDIO"
    )
