"""The settings of a session of OpenAI's Realtime interface: from an address to the server's form, and compared with it.

The names are the vendor's own. Source: `openai.types.realtime.RealtimeSessionCreateRequest`, openai 3.54.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fdbcore.endpoints.vendors.their_settings import INSTRUCTIONS, picked, theirs
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of

RATE_HZ: Final = 24_000

SETTINGS: Final = (
    Setting(
        "transport",
        "what carries the call; Grok has no `webrtc`",
        default="websocket",
        choices=("websocket", "webrtc"),
    ),
    INSTRUCTIONS,
    theirs("voice", "the voice; it cannot change after its first word"),
    theirs("speed", "of the voice", float, least=0.25, most=1.5),
    theirs("turn_detection", "the server's detector of turns", choices=("server_vad", "semantic_vad")),
    theirs("threshold", "of `server_vad`", float, least=0, most=1),
    theirs("prefix_padding_ms", "of `server_vad`", int, unit="ms", least=0),
    theirs("silence_duration_ms", "of `server_vad`", int, unit="ms", least=0),
    Setting("idle_timeout_ms", "of `server_vad`: speaks by itself after this", int, unset="never", unit="ms", least=0),
    theirs("eagerness", "of `semantic_vad`: waits of at most 8, 4 or 2 s", choices=("low", "medium", "high", "auto")),
    theirs("interrupt_response", "whether speech interrupts a response", bool),
    Setting("noise_reduction", "of what it hears", unset="none", choices=("near_field", "far_field")),
    Setting("transcription_model", "transcribes what it hears, for the log", unset="none"),
    Setting("transcription_language", "of the transcription, as ISO 639-1", unset="detected"),
    Setting("max_output_tokens", "of a response", int, unset="no limit", least=1, most=4096),
    theirs("reasoning_effort", "only reasoning models", choices=("minimal", "low", "medium", "high", "xhigh")),
    Setting("tool_choice", "whether it may call tools", unset="auto", choices=("auto", "none", "required")),
    theirs("parallel_tool_calls", "only reasoning models", bool),
)
"""The settings of an address."""

_OF_DETECTORS: Final[Mapping[str, tuple[str, ...]]] = {
    "server_vad": ("threshold", "prefix_padding_ms", "silence_duration_ms", "idle_timeout_ms"),
    "semantic_vad": ("eagerness",),
}
_DETECTION: Final = (*_OF_DETECTORS["server_vad"], *_OF_DETECTORS["semantic_vad"], "interrupt_response")


def check_settings(kind: str, given: Mapping[str, Any], flat: bool = False) -> None:
    """SettingsError for settings that the servers refuse together, or that would be lost. kind: of the address.

    given, flat: see `session_of`.
    """
    detector = given.get("turn_detection", "server_vad")
    if flat and detector == "semantic_vad":
        raise SettingsError(f"{kind}: turn_detection: expected server_vad, got 'semantic_vad', which it does not offer")
    for other, names in _OF_DETECTORS.items():
        for name in names if other != detector else ():
            if name in given:
                has = f"turn_detection={detector}" if "turn_detection" in given else "no turn_detection"
                raise SettingsError(f"{kind}: {name}: expected turn_detection={other} beside it, got {has}")
    if "transcription_language" in given and "transcription_model" not in given:
        raise SettingsError(f"{kind}: transcription_language: expected transcription_model=NAME beside it, got none")


def session_of(given: Mapping[str, Any], flat: bool = False, states_format: bool = True) -> dict[str, Any]:
    """The session to ask the server for. given: the settings by name, without those that were not given.

    flat: as Grok has it: voice and turn detection stand at the top, and it has no type and no modalities.
    states_format: of the audio in the messages; over WebRTC there is none in them.
    """
    form = {"format": {"type": "audio/pcm", "rate": RATE_HZ}} if states_format else {}
    heard: dict[str, Any] = dict(form)
    said: dict[str, Any] = form | picked(given, ("speed",))
    session: dict[str, Any] = {} if flat else {"type": "realtime", "output_modalities": ["audio"]}
    if detection := picked(given, _DETECTION) | _type_of_detection(given):
        (session if flat else heard)["turn_detection"] = detection
    if "voice" in given:
        (session if flat else said)["voice"] = given["voice"]
    if "noise_reduction" in given:
        heard["noise_reduction"] = {"type": given["noise_reduction"]}
    if "transcription_model" in given:
        heard["transcription"] = {"model": given["transcription_model"]}
        if "transcription_language" in given:
            heard["transcription"]["language_hint" if flat else "language"] = given["transcription_language"]
    if "instructions" in given:
        session["instructions"] = text_of(given["instructions"])
    if "reasoning_effort" in given:
        session["reasoning"] = {"effort": given["reasoning_effort"]}
    session |= picked(given, ("max_output_tokens", "tool_choice", "parallel_tool_calls"))
    return session | {"audio": {"input": heard, "output": said}}


def directed(session: Mapping[str, Any], instructions: str, flat: bool = False) -> dict[str, Any]:
    """A session with further instructions, in which the partner's speech does not interrupt a response.

    session: of `session_of`; an `interrupt_response` that was asked for stays. flat: the server has no such setting.
    """
    told = [text for text in (session.get("instructions"), instructions) if text]
    own = {**session, "instructions": "\n\n".join(told)}
    if flat:
        return own
    heard = session["audio"]["input"]
    detection = {"type": "server_vad", "interrupt_response": False} | dict(heard.get("turn_detection") or {})
    return own | {"audio": {**session["audio"], "input": {**heard, "turn_detection": detection}}}


def _type_of_detection(values: Mapping[str, Any]) -> dict[str, str]:
    """The detector that is asked for by name; that of the vendor if only a setting of it is asked for."""
    if "turn_detection" in values:
        return {"type": values["turn_detection"]}
    return {"type": "server_vad"} if any(name in values for name in _DETECTION) else {}
