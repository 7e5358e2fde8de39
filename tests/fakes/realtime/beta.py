"""The beta form of the realtime interface: settings at the top of a session, and other names of events and parts."""

from collections.abc import Mapping
from typing import Any

_NAMES = (("response.output_audio", "response.audio"), ("response.output_text", "response.text"))
_PARTS = {"output_audio": "audio", "output_text": "text"}


def beta_name(kind: str) -> str:
    """The name of an event of the GA form."""
    for ga, beta in _NAMES:
        if kind.startswith((f"{ga}.", f"{ga}_")):
            return beta + kind.removeprefix(ga)
    return kind


def beta_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What an event of the GA form says, in this one."""
    told = {name: _with_beta_parts(value) for name, value in fields.items()}
    if "session" in told:
        told["session"] = beta_session(told["session"])
    if "response" in told:
        response = dict(told["response"])
        output = response.pop("audio")["output"]
        modalities = {"modalities": ["text", "audio"] if "audio" in response.pop("output_modalities") else ["text"]}
        told["response"] = response | modalities | {"voice": output["voice"], "output_audio_format": "pcm16"}
    return told


def _with_beta_parts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_beta_parts(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _PARTS.get(each, each) if name == "type" else _with_beta_parts(each) for name, each in value.items()}


def beta_session(session: Mapping[str, Any]) -> dict[str, Any]:
    """A session of the GA form, in this one."""
    heard, said = session["audio"]["input"], session["audio"]["output"]
    kept = ("id", "object", "model", "instructions", "tools", "tool_choice")
    return {name: session[name] for name in kept} | {
        "modalities": ["text", "audio"],
        "voice": said["voice"],
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "input_audio_sampling_rate": heard["format"]["rate"],
        "input_audio_transcription": heard["transcription"],
        "input_audio_noise_reduction": heard["noise_reduction"],
        "turn_detection": heard["turn_detection"],
        "max_response_output_tokens": session["max_output_tokens"],
    }


def ga_session(change: Mapping[str, Any]) -> dict[str, Any]:
    """What a client changes, in the GA form."""
    heard = {
        ga: change[beta]
        for ga, beta in (
            ("transcription", "input_audio_transcription"),
            ("noise_reduction", "input_audio_noise_reduction"),
            ("turn_detection", "turn_detection"),
        )
        if beta in change
    }
    if "input_audio_sampling_rate" in change:
        heard["format"] = {"type": "audio/pcm", "rate": change["input_audio_sampling_rate"]}
    said = {"voice": change["voice"]} if change.get("voice") else {}
    plain = {name: change[name] for name in ("instructions", "tools", "tool_choice") if name in change}
    limit = change.get("max_response_output_tokens")
    limits = {} if limit is None else {"max_output_tokens": limit}
    return plain | limits | {"audio": {"input": heard, "output": said}}
