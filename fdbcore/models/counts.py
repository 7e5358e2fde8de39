"""Counts of vendors for the use of a model, in our units (`fdbcore.types.usage`).

In a vendor's JSON the cached tokens are among the other tokens; in ours they are not. What has another form than the
vendor documents counts as left out.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from fdbcore.types.usage import Unit

MOST_COUNTED: Final = 1e12
"""More than this, or NaN, is no count."""


def openai_counts(usage: Mapping[str, Any]) -> dict[Unit, float]:
    """The counts in a `usage` of OpenAI: of a chat completion, a response, `response.done`, or a transcription.

    A transcription is counted in tokens or, with "type": "duration", in seconds. Tokens that are not said to be audio
    count as text.
    """
    if usage.get("type") == "duration":
        seconds = count_in(usage, "seconds")
        return {"seconds": seconds} if seconds else {}
    heard = _details(usage, "input_token_details", "prompt_tokens_details", "input_tokens_details")
    said = _details(usage, "output_token_details", "completion_tokens_details", "output_tokens_details")
    cached = count_in(heard, "cached_tokens")
    cached_audio = count_in(_details(heard, "cached_tokens_details"), "audio_tokens")
    audio_in, audio_out = count_in(heard, "audio_tokens"), count_in(said, "audio_tokens")
    all_in = count_in(usage, "input_tokens", "prompt_tokens")
    all_out = count_in(usage, "output_tokens", "completion_tokens")
    return _counted(audio_in, audio_out, all_in, all_out, cached_audio, cached - cached_audio)


def gemini_counts(usage: Mapping[str, Any], other: Literal["audio", "text"] = "text") -> dict[Unit, float]:
    """The counts in a `usageMetadata` of Gemini, of generateContent or of the Live API; keys may be in snake_case.

    other: what tokens count as if the vendor does not say whether they are audio or text; it left out some of a prompt
    in October 2026. Thinking counts as text that was said, results of tools as text.
    """
    found = {_snake(name): value for name, value in usage.items() if value}
    thought, tools = count_in(found, "thoughts_token_count"), count_in(found, "tool_use_prompt_token_count")
    heard, cached = count_in(found, "prompt_token_count"), count_in(found, "cached_content_token_count")
    said = count_in(found, "candidates_token_count") + count_in(found, "response_token_count")
    audio = [
        _audio(found, total, other, *names)
        for total, names in (
            (heard, ("prompt_tokens_details",)),
            (said, ("candidates_tokens_details", "response_tokens_details")),
            (cached, ("cache_tokens_details",)),
        )
    ]
    return _counted(audio[0], audio[1], heard + tools, said + thought, audio[2], cached - audio[2])


def _audio(usage: Mapping[str, Any], total: int, other: Literal["audio", "text"], *names: str) -> int:
    """The number of `total` tokens that are audio, by the lists of tokens by modality."""
    told = {"AUDIO": 0, "TEXT": 0}
    lists = (found for name in names if isinstance(found := usage.get(name), list | tuple))
    for each in (item for found in lists for item in found if isinstance(item, Mapping)):
        values = {_snake(name): value for name, value in each.items()}
        kind = str(getattr(values.get("modality"), "value", values.get("modality")))
        told[kind] = told.get(kind, 0) + count_in(values, "token_count")
    return total - told["TEXT"] if other == "audio" else told["AUDIO"]


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


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
    return {unit: count for unit, count in found.items() if count > 0}


def _details(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((found for name in names if isinstance(found := usage.get(name), Mapping) and found), {})


def usage_in(answer: object) -> Mapping[str, Any]:
    """The usage in an answer of OpenAI's SDK, which does not check what a server sends; {} if there is none."""
    usage: Any = getattr(answer, "usage", None)
    return usage.model_dump(warnings=False) if hasattr(usage, "model_dump") else {}


def count_in(usage: Mapping[str, Any], *names: str) -> Any:  # noqa: ANN401
    """The first count of these names that is a number above 0; 0 if there is none."""
    found: list[Any] = [usage.get(name) for name in names]
    return next((count for count in found if type(count) in (int, float) and 0 < count < MOST_COUNTED), 0)
