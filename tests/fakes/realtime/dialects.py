"""In what servers of OpenAI's realtime interface differ: keys, paths, settings, and which events they send."""

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from openai.types.realtime import RealtimeSessionCreateRequest
from pydantic import BaseModel, ConfigDict

PCM: Mapping[str, Any] = {"type": "audio/pcm", "rate": 24_000}
SERVER_VAD: Mapping[str, Any] = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 500,
    "idle_timeout_ms": None,
    "create_response": True,
    "interrupt_response": True,
}
SEMANTIC_VAD: Mapping[str, Any] = {
    "type": "semantic_vad",
    "eagerness": "auto",
    "create_response": True,
    "interrupt_response": True,
}


class Strict(BaseModel):
    model_config = ConfigDict(extra="allow")  # what is unknown is found by the same walk as in OpenAI's own types


class GrokFormat(Strict):
    type: Literal["audio/pcm", "audio/pcmu", "audio/pcma"]
    rate: Literal[8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000] | None = None


class GrokTranscription(Strict):
    model: str | None = None
    language_hint: str | None = None
    keyterms: list[str] | None = None


class GrokInput(Strict):
    format: GrokFormat | None = None
    transcription: GrokTranscription | None = None
    transport: Literal["json", "binary"] | None = None


class GrokOutput(Strict):
    format: GrokFormat | None = None
    speed: float | None = None
    transport: Literal["json", "binary"] | None = None


class GrokAudio(Strict):
    input: GrokInput | None = None
    output: GrokOutput | None = None


class GrokTurnDetection(Strict):
    type: Literal["server_vad"] | None = None
    threshold: float | None = None
    silence_duration_ms: int | None = None
    prefix_padding_ms: int | None = None
    idle_timeout_ms: int | None = None


class GrokReasoning(Strict):
    effort: Literal["high", "none"] | None = None


class GrokResumption(Strict):
    enabled: bool | None = None


class GrokSession(Strict):
    """As Pipecat's client of it has it (`services/xai/realtime/events.py`).

    The second group are OpenAI's names, which clients made for OpenAI send it as well.
    """

    instructions: str | None = None
    voice: str | None = None
    turn_detection: GrokTurnDetection | None = None
    audio: GrokAudio | None = None
    tools: list[dict[str, Any]] | None = None
    reasoning: GrokReasoning | None = None
    resumption: GrokResumption | None = None
    replace: dict[str, str] | None = None
    model: str | None = None

    type: Literal["realtime"] | None = None
    output_modalities: list[Literal["text", "audio"]] | None = None
    tool_choice: str | None = None
    max_output_tokens: int | Literal["inf"] | None = None


class BetaTranscription(Strict):
    model: str | None = None
    language: str | None = None


class BetaDetection(Strict):
    type: Literal["server_vad", "semantic_vad", "azure_semantic_vad"]
    threshold: float | None = None
    silence_duration_ms: int | None = None
    prefix_padding_ms: int | None = None
    create_response: bool | None = None
    interrupt_response: bool | None = None


class BetaSession(Strict):
    """As the clients of Azure's Voice Live and of Qwen-Omni have it (azure-ai-voicelive 1.3.1, dashscope 2.0.2)."""

    modalities: list[Literal["text", "audio"]] | None = None
    voice: str | dict[str, Any] | None = None
    instructions: str | None = None
    input_audio_format: Literal["pcm16", "pcm"] | None = None
    output_audio_format: Literal["pcm16", "pcm", "pcm24"] | None = None
    input_audio_sampling_rate: Literal[8000, 16000, 24000] | None = None
    turn_detection: BetaDetection | None = None
    input_audio_transcription: BetaTranscription | None = None
    input_audio_noise_reduction: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = None
    max_response_output_tokens: int | Literal["inf"] | None = None
    reasoning_effort: str | None = None


@dataclass(frozen=True)
class Dialect:
    """One kind of server.

    name, variable: how it is called, and the environment variable that holds its key. path: where its WebSocket is.
    header: carries the key. settings: the type of `session`. speech_ms: turn events say where in the audio they lie.
    item_created: new items are announced by the beta's `conversation.item.created`. limits: sends
    `rate_limits.updated`. greets_twice: `conversation.created` follows `session.created`. one_session: at a time.
    usage_at_top: of `response.done`, not in its response. updates: transcripts grow in `….updated`.
    waits_for_words: `speech_stopped` is held back until the transcript is there. cap_min: how long a session may last.
    webrtc: takes calls, too. pings: keeps the connection alive by events. error_codes: errors have codes, not texts
    alone. nulls: what the client did not set of its turns is null in the session, and a default nevertheless.
    input_hz: of what it hears. detects: turns, unless it is told not to. obeys_truncation: knows what was not heard.
    """

    NAMES: ClassVar = ("openai", "grok", "azure", "hf")

    name: str
    variable: str
    models: tuple[str, ...]
    path: str = "/v1/realtime"
    header: str = "authorization"
    settings: type[BaseModel] = RealtimeSessionCreateRequest
    voice: str = "marin"
    speech_ms: bool = True
    item_created: bool = False
    limits: bool = True
    greets_twice: bool = False
    one_session: bool = False
    usage_at_top: bool = False
    updates: bool = False
    waits_for_words: bool = False
    cap_min: int = 60
    webrtc: bool = True
    pings: bool = False
    error_codes: bool = True
    nulls: bool = False
    input_hz: int = 24_000
    detects: bool = True
    obeys_truncation: bool = True

    @property
    def is_beta(self) -> bool:
        """Whether its settings stand at the top, and its events have the names of before the GA form."""
        return self.settings is BetaSession

    def session(self, model: str, number: int) -> dict[str, Any]:
        """What a session is before anybody has changed it."""
        named = {"id": f"sess_fake{number:04d}", "object": "realtime.session", "model": model}
        if self.settings is GrokSession:
            detection = {key: SERVER_VAD[key] for key in GrokTurnDetection.model_fields}
            grok = {"instructions": "", "voice": self.voice, "turn_detection": detection, "tools": []}
            return named | grok | {"audio": {"input": {"format": dict(PCM)}, "output": {"format": dict(PCM)}}}
        sound = {"format": dict(PCM), "transcription": None, "noise_reduction": None}
        return named | {
            "type": "realtime",
            "output_modalities": ["audio"],
            "instructions": "Your knowledge cutoff is 2023-10. You are a helpful, witty, and friendly AI.",
            "tools": [],
            "tool_choice": "auto",
            "max_output_tokens": "inf",
            "tracing": None,
            "truncation": "auto",
            "prompt": None,
            "expires_at": int(time.time()) + 60 * self.cap_min,
            "audio": {
                "input": sound
                | {"format": {**PCM, "rate": self.input_hz}}
                | {"turn_detection": None if self.nulls or not self.detects else dict(SERVER_VAD)},
                "output": {"format": dict(PCM), "voice": self.voice, "speed": 1.0},
            },
            "include": None,
        }

    def voice_of(self, session: Mapping[str, Any]) -> Any:
        return session["voice"] if self.settings is GrokSession else session["audio"]["output"]["voice"]

    def turn_detection(self, session: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """How turns are found; None: not at all, the client says where they end."""
        if self.settings is not GrokSession and not self.nulls:
            detection: Mapping[str, Any] | None = session["audio"]["input"]["turn_detection"]
            return detection
        given = (session["audio"]["input"] if self.nulls else session).get("turn_detection") or {}
        found = {**SERVER_VAD, **{k: v for k, v in given.items() if v is not None}}
        return found if self.nulls or given.get("type") else None

    def updated(self, session: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
        """The session after a `session.update`: fields that are absent stay as they are."""
        after = _merged(session, change)
        if self.settings is not GrokSession and (given := after["audio"]["input"]["turn_detection"]):
            defaults = SERVER_VAD if given["type"] == "server_vad" else SEMANTIC_VAD
            kept = {k: given.get(k, None if self.nulls else v) for k, v in defaults.items()}
            after["audio"]["input"]["turn_detection"] = kept
        return after


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(old))
    for key, value in new.items():
        inner = merged.get(key)
        deep = isinstance(value, Mapping) and isinstance(inner, dict) and key != "format"
        merged[key] = _merged(inner, value) if deep and inner is not None else copy.deepcopy(value)
    return merged


_BETA: Mapping[str, Any] = {"settings": BetaSession, "item_created": True, "limits": False, "webrtc": False}

OPENAI_MODELS = ("gpt-realtime", "gpt-realtime-1.5", "gpt-realtime-2", "gpt-realtime-2.1", "gpt-realtime-2.1-mini")

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("openai", "OPENAI_API_KEY", OPENAI_MODELS),
        Dialect(
            "grok",
            "XAI_API_KEY",
            ("grok-voice-latest", "grok-voice-think-fast-1.0", "grok-voice-think-fast-2.0"),
            settings=GrokSession,
            voice="eve",
            speech_ms=False,
            greets_twice=True,
            limits=False,
            usage_at_top=True,
            updates=True,
            cap_min=120,
            webrtc=False,
            pings=True,
            error_codes=False,
        ),
        Dialect("azure", "AZURE_OPENAI_API_KEY", OPENAI_MODELS, path="/openai/v1/realtime", header="api-key"),
        Dialect(
            "hf", "", (), header="", item_created=True, limits=False, one_session=True, waits_for_words=True, nulls=True
        ),
        Dialect("voice-live", "AZURE_VOICELIVE_API_KEY", OPENAI_MODELS, "/voice-live/realtime", "api-key", **_BETA),
        Dialect(
            "qwen",
            "DASHSCOPE_API_KEY",
            ("qwen3.5-omni-plus-realtime",),
            "/api-ws/v1/realtime",
            voice="Cherry",
            input_hz=16_000,
            obeys_truncation=False,
            **_BETA,
        ),
        Dialect("stepfun", "STEPFUN_API_KEY", ("step-audio-2",), detects=False, **_BETA),
    )
}
