"""The settings of a session of OpenAI's Realtime interface: from an address to the server's form, and compared with it.

The names are the vendor's own. Source: `openai.types.realtime.RealtimeSessionCreateRequest`, openai 3.54.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from fdbcore.endpoints.vendors.their_settings import INSTRUCTIONS, picked, theirs
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of

RATE_HZ: Final = 24_000

Form: TypeAlias = Literal["ga", "grok", "beta"]
"""The form of a session. grok: as the GA form, but voice and turn detection stand at the top, and it has no type and no
modalities. beta: all settings stand at the top, under the names of the interface before the GA form.
"""

SETTINGS: Final = (
    Setting(
        "transport",
        "what carries the call; only OpenAI and Azure OpenAI have `webrtc`",
        default="websocket",
        choices=("websocket", "webrtc"),
    ),
    INSTRUCTIONS,
    theirs("voice", "the voice; it cannot change after its first word"),
    theirs("speed", "of the voice", float, least=0.25, most=1.5),
    theirs(
        "turn_detection",
        "the server's detector of turns; `none` for a server that needs none",
        choices=("server_vad", "semantic_vad", "none"),
    ),
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

BETA_SETTINGS: Final = (
    Setting("input_rate_hz", "of what it hears", int, unset="the vendor's", choices=("16000", "24000")),
)
"""Further ones of a server in the beta form, whose sessions do not state the rate."""

_OF_DETECTORS: Final[Mapping[str, tuple[str, ...]]] = {
    "server_vad": ("threshold", "prefix_padding_ms", "silence_duration_ms", "idle_timeout_ms"),
    "semantic_vad": ("eagerness",),
}
_DETECTION: Final = (*_OF_DETECTORS["server_vad"], *_OF_DETECTORS["semantic_vad"], "interrupt_response")


def check_settings(kind: str, given: Mapping[str, Any], form: Form = "ga") -> None:
    """SettingsError for settings that the servers refuse together, or that would be lost. kind: of the address.

    given, form: see `session_of`.
    """
    detector = given.get("turn_detection", "server_vad")
    if form == "grok" and detector == "semantic_vad":
        raise SettingsError(f"{kind}: turn_detection: expected server_vad, got 'semantic_vad', which it does not offer")
    for other, names in _OF_DETECTORS.items():
        for name in names if other != detector else ():
            if name in given:
                has = f"turn_detection={detector}" if "turn_detection" in given else "no turn_detection"
                raise SettingsError(f"{kind}: {name}: expected turn_detection={other} beside it, got {has}")
    if "transcription_language" in given and "transcription_model" not in given:
        raise SettingsError(f"{kind}: transcription_language: expected transcription_model=NAME beside it, got none")


def session_of(given: Mapping[str, Any], form: Form = "ga", states_format: bool = True) -> dict[str, Any]:
    """The session to ask the server for. given: the settings by name, without those that were not given.

    states_format: of the audio in the messages; over WebRTC there is none in them.
    """
    if form == "beta":
        return _beta_session_of(given)
    flat = form == "grok"
    audio_form = {"format": {"type": "audio/pcm", "rate": RATE_HZ}} if states_format else {}
    heard: dict[str, Any] = dict(audio_form)
    said: dict[str, Any] = audio_form | picked(given, ("speed",))
    session: dict[str, Any] = {} if flat else {"type": "realtime", "output_modalities": ["audio"]}
    if given.get("turn_detection") == "none":
        (session if flat else heard)["turn_detection"] = None
    elif detection := picked(given, _DETECTION) | _type_of_detection(given):
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


def _beta_session_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """A session in the beta form. Some servers leave turns to the client unless they are asked for a detector.

    Source: azure-ai-voicelive 1.3.1, `models.RequestSession`; dashscope 2.0.2, `audio.qwen_omni`.
    """
    session: dict[str, Any] = {"modalities": ["text", "audio"]}
    session |= {"input_audio_format": "pcm16", "output_audio_format": "pcm16"}
    session |= picked(given, ("voice", "speed", "reasoning_effort", "tool_choice", "parallel_tool_calls"))
    detection = {"type": "server_vad"} | picked(given, _DETECTION) | _type_of_detection(given)
    session["turn_detection"] = None if detection["type"] == "none" else detection
    if "noise_reduction" in given:
        session["input_audio_noise_reduction"] = {"type": given["noise_reduction"]}
    if "transcription_model" in given:
        language = {"language": given["transcription_language"]} if "transcription_language" in given else {}
        session["input_audio_transcription"] = {"model": given["transcription_model"], **language}
    if "instructions" in given:
        session["instructions"] = text_of(given["instructions"])
    if "max_output_tokens" in given:
        session["max_response_output_tokens"] = given["max_output_tokens"]
    return session


def turn_detection_of(session: Mapping[str, Any], form: Form) -> Mapping[str, Any] | None:
    """The server's detector of turns in a session; {} if it names none, None if there is to be none."""
    place = (session.get("audio") or {}).get("input") or {} if form == "ga" else session
    found: Mapping[str, Any] | None = place.get("turn_detection", {})
    return found


def transcriber_of(session: Mapping[str, Any]) -> str:
    """The model that transcribes what the party hears; "" if none does."""
    heard = (session.get("audio") or {}).get("input") or {}
    asked = heard.get("transcription") or session.get("input_audio_transcription") or {}
    return str(asked.get("model") or "")


def input_rate_hz(session: Mapping[str, Any]) -> int | None:
    """The rate at which a session hears, as the server has confirmed it; None if it does not say."""
    form = ((session.get("audio") or {}).get("input") or {}).get("format") or {}
    stated = (form.get("rate"), form.get("sample_rate"), session.get("input_audio_sampling_rate"))
    return next((rate for rate in stated if isinstance(rate, int)), None)


def directed(session: Mapping[str, Any], instructions: str, form: Form = "ga") -> dict[str, Any]:
    """A session with further instructions, in which the partner's speech does not interrupt a response.

    session: of `session_of`; an `interrupt_response` that was asked for stays. Grok has no such setting.
    """
    told = [text for text in (session.get("instructions"), instructions) if text]
    own = {**session, "instructions": "\n\n".join(told)}
    given = turn_detection_of(session, form)
    if form == "grok" or given is None:
        return own
    detection = {"type": "server_vad", "interrupt_response": False, **given}
    if form == "beta":
        return own | {"turn_detection": detection}
    heard = session["audio"]["input"]
    return own | {"audio": {**session["audio"], "input": {**heard, "turn_detection": detection}}}


def _type_of_detection(values: Mapping[str, Any]) -> dict[str, str]:
    """The detector that is asked for by name; that of the vendor if only a setting of it is asked for."""
    if "turn_detection" in values:
        return {"type": values["turn_detection"]}
    return {"type": "server_vad"} if any(name in values for name in _DETECTION) else {}
