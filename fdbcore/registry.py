"""Names that a user may type, and where what they mean lives; imported only when used."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any, Final
from urllib.parse import parse_qsl

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
    "whip": "fdbcore.endpoints.whip:whip",
    "whips": "fdbcore.endpoints.whip:whip",
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
"""Each makes a language model from its name at the vendor and the settings MODEL_SETTINGS, by name."""

MODEL_SETTINGS: Final = ("base_url", "key_variable")
"""Of a model's address, "openai:NAME?base_url=URL&key_variable=VARIABLE": another server that speaks the vendor's API,
and the variable of the environment whose secret that server is sent. It is never sent the vendor's key."""

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


def model(address: str) -> Model:
    """The language model "VENDOR:NAME", with MODEL_SETTINGS as a query. SettingsError for what is unknown."""
    made: Model = _at_vendor("model", MODELS, address)
    return made


def transcriber(address: str) -> Transcriber:
    """The speech recogniser "VENDOR:NAME", with MODEL_SETTINGS as a query. SettingsError for what is unknown."""
    made: Transcriber = _at_vendor("asr", TRANSCRIBERS, address)
    return made


def _at_vendor(kind: str, names: dict[str, str], address: str) -> Any:  # noqa: ANN401
    vendor, _, rest = address.partition(":")
    name, _, query = rest.partition("?")
    settings = dict(parse_qsl(query, keep_blank_values=True))
    make = resolve(kind, names, vendor)
    if unknown := sorted(settings.keys() - {*MODEL_SETTINGS}):
        raise SettingsError(f"{vendor}: expected settings of {', '.join(MODEL_SETTINGS)}, got {unknown[0]!r}")
    return make(name, **settings)


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
