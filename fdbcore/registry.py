"""Names that a user may type, and where what they mean lives; imported only when used."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any, Final

from fdbcore.errors import SettingsError
from fdbcore.protocols import Endpoint, Model, Speaker, Transcriber

VADS: Final = {
    "silero": "fdbcore.vad:silero",
    "energy": "fdbcore.vad:energy",
}


ENDPOINTS: Final = {
    "clip": "fdbcore.endpoints.clip:clip",
    "echo": "fdbcore.endpoints.echo:echo",
    "exec": "fdbcore.endpoints.exec:command",
    "far": "fdbcore.endpoints.webrtc:far",
    "gemini": "fdbcore.endpoints.reply:reply",
    "moshi": "fdbcore.endpoints.moshi:moshi",
    "openai-chat": "fdbcore.endpoints.reply:reply",
    "pcm_ws": "fdbcore.endpoints.pcm_ws:pcm_ws",
    "pcm_wss": "fdbcore.endpoints.pcm_ws:pcm_ws",
    "personaplex": "fdbcore.endpoints.moshi:personaplex",
    "scripted": "fdbcore.endpoints.scripted:scripted",
    "webrtc": "fdbcore.endpoints.webrtc:webrtc",
    "whip": "fdbcore.endpoints.webrtc:whip",
}
"""Each makes an endpoint from the whole address that the user gave: "moshi://localhost:8998", "echo", "clip:a.wav"."""

ENTRY_POINTS: Final = "fdbcore.endpoints"
"""The group of entry points by which other packages add endpoints."""


def endpoint(address: str) -> Endpoint:
    """The party at `address`: a registered name, alone or as the scheme of an address. SettingsError if unknown."""
    installed = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    name = address.partition(":")[0]
    party: Endpoint = resolve("system", ENDPOINTS | installed, name)(address)
    return party


MODELS: Final = {
    "gemini": "fdbcore.models.gemini:gemini",
    "openai": "fdbcore.models.openai:openai",
}
"""Each makes a language model from its name at the vendor, and the address of another server that speaks its API."""

TRANSCRIBERS: Final = {
    "openai": "fdbcore.asr.openai:openai",
}
"""Each makes a speech recogniser, as MODELS makes models."""

SPEAKERS: Final = {
    "dir": "fdbcore.speakers.folder:folder",
    "exec": "fdbcore.speakers.command:command",
    "open-jtalk": "fdbcore.speakers.open_jtalk:open_jtalk",
}
"""Each makes a speaker from what follows its name: "exec:COMMAND", "dir:FOLDER"."""

SUITES: Final = {
    "dialogue-acts": "fdbcore.suites.dialogue_acts",
}


def model(address: str, base_url: str | None = None) -> Model:
    """The language model "VENDOR:NAME", at the vendor or at `base_url`. SettingsError if unknown."""
    vendor, _, name = address.partition(":")
    made: Model = resolve("model", MODELS, vendor)(name, base_url)
    return made


def transcriber(address: str, base_url: str | None = None) -> Transcriber:
    """The speech recogniser "VENDOR:NAME", at the vendor or at `base_url`. SettingsError if unknown."""
    vendor, _, name = address.partition(":")
    made: Transcriber = resolve("asr", TRANSCRIBERS, vendor)(name, base_url)
    return made


def speaker(address: str) -> Speaker:
    """The speaker "open-jtalk", "exec:COMMAND" or "dir:FOLDER". SettingsError if unknown."""
    name, _, rest = address.partition(":")
    made: Speaker = resolve("tts", SPEAKERS, name)(rest)
    return made


def resolve(kind: str, names: dict[str, str], name: str) -> Any:  # noqa: ANN401
    """The object that `name` stands for; SettingsError lists the known names."""
    if name not in names:
        raise SettingsError(f"{kind}: expected one of {', '.join(names)}, got {name!r}")
    module, attribute = names[name].split(":")
    return getattr(importlib.import_module(module), attribute)
