"""The names that a user may type, and the module behind each. A module is imported only when its name is used."""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from fdbcore.errors import FdbError, SettingsError
from fdbcore.protocols import Chat, Endpoint, Judge, Model, Speaker, Transcriber, Vad, World

if TYPE_CHECKING:  # the detectors run where NumPy alone is installed
    from fdbcore.protocols.suite import Suite

VADS: Final = {
    "silero": "fdbcore.session.vad:SileroVad",
    "energy": "fdbcore.session.vad:EnergyVad",
    "webrtc": "fdbcore.session.webrtc_vad:WebrtcVad",
}
"""Each makes a voice activity detector for audio of a `source_rate_hz`."""

VAD_ENTRY_POINTS: Final = "fdbcore.vads"
"""The group of entry points by which other packages add detectors."""


def is_installed_vad(name: str) -> bool:
    """True if a detector ships or is installed, so that a file may name it: who opens files of others runs no other."""
    return name in VADS | _installed(VAD_ENTRY_POINTS)


def vad(name: str) -> Callable[..., Vad]:
    """The maker of the voice activity detector `name`, called as make(source_rate_hz=16_000).

    name: one of VADS, one that another package adds, or MODULE:CLASS, of a module that is installed or lies in the
    current folder. SettingsError if it is unknown or cannot be imported.
    """
    if name in VADS or ":" not in name:
        names = VADS if name in VADS else VADS | _installed(VAD_ENTRY_POINTS)
        if name not in names:
            raise SettingsError(f"vad: expected one of {', '.join(names)}, or MODULE:CLASS, got {name!r}")
        registered: Callable[..., Vad] = resolve("vad", names, name)
        return registered
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:  # as `python -m` has it
        sys.path.append(os.getcwd())
    try:
        made: Callable[..., Vad] = getattr(importlib.import_module(module), attribute)
    except FdbError:
        raise
    except Exception as error:
        raise SettingsError(f"vad: {name} cannot be used: {type(error).__name__}: {error}") from error
    if Vad not in getattr(made, "__mro__", ()):
        raise SettingsError(f"vad: {name}: expected a class derived from fdbcore.Vad or fdbcore.WindowVad, got another")
    return made


ENDPOINTS: Final = {
    "azure-realtime": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "azure-voice-live": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "cascaded": "fdbcore.endpoints.cascaded.party:cascaded",
    "clip": "fdbcore.endpoints.clip:clip",
    "deepgram": "fdbcore.endpoints.vendors.json_ws:json_ws",
    "echo": "fdbcore.endpoints.echo:echo",
    "elevenlabs": "fdbcore.endpoints.vendors.json_ws:json_ws",
    "examiner": "fdbcore.endpoints.examiner.examiner:examiner",
    "exec": "fdbcore.endpoints.exec:command",
    "far": "fdbcore.endpoints.webrtc.endpoint:Far",
    "freeze-omni": "fdbcore.endpoints.vendors.freeze_omni:freeze_omni",
    "gemini": "fdbcore.endpoints.one_shot:reply",
    "gemini-live": "fdbcore.endpoints.vendors.gemini_live:gemini_live",
    "grok": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "json-ws": "fdbcore.endpoints.vendors.json_ws:json_ws",
    "livekit": "fdbcore.endpoints.vendors.livekit:livekit",
    "livekits": "fdbcore.endpoints.vendors.livekit:livekit",
    "mirror": "fdbcore.endpoints.webrtc.mirror:mirror",
    "moshi": "fdbcore.endpoints.moshi:moshi",
    "openai-chat": "fdbcore.endpoints.one_shot:reply",
    "openai-live": "fdbcore.endpoints.vendors.openai_live:openai_live",
    "openai-realtime": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "pcm_ws": "fdbcore.endpoints.pcm_ws:PcmWs",
    "pcm_wss": "fdbcore.endpoints.pcm_ws:PcmWs",
    "personaplex": "fdbcore.endpoints.moshi:personaplex",
    "pipecat": "fdbcore.endpoints.vendors.pipecat:PipecatBot",
    "pipecats": "fdbcore.endpoints.vendors.pipecat:PipecatBot",
    "qwen-omni": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "realtime-beta": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "rehearsed": "fdbcore.suites.fdb_v3.rehearsed:rehearsed",
    "scripted": "fdbcore.endpoints.examiner.scripted:scripted",
    "stepfun": "fdbcore.endpoints.vendors.openai_realtime:openai_realtime",
    "twilio": "fdbcore.endpoints.vendors.twilio:twilio",
    "twilios": "fdbcore.endpoints.vendors.twilio:twilio",
    "ultravox": "fdbcore.endpoints.vendors.ultravox:ultravox",
    "webrtc": "fdbcore.endpoints.webrtc.endpoint:Joined",
    "whip": "fdbcore.endpoints.webrtc.whip_client:Dialled",
    "whips": "fdbcore.endpoints.webrtc.whip_client:Dialled",
}
"""Each makes an endpoint from the whole address that the user gave: "moshi://localhost:8998", "echo", "clip:a.wav"."""

INSTRUCTED: Final = frozenset(
    {
        "azure-realtime",
        "azure-voice-live",
        "cascaded",
        "deepgram",
        "elevenlabs",
        "freeze-omni",
        "gemini-live",
        "grok",
        "openai-live",
        "openai-realtime",
        "qwen-omni",
        "realtime-beta",
        "stepfun",
        "ultravox",
    }
)
"""Addresses in ENDPOINTS with the setting `instructions`: what the model is told."""

ENTRY_POINTS: Final = "fdbcore.endpoints"
"""The group of entry points by which other packages add endpoints."""


def endpoint(address: str) -> Endpoint:
    """The party at `address`, which is a registered name or an address that begins with one. SettingsError if unknown.

    Nothing is contacted before `open`.
    """
    name = address.partition(":")[0]
    party: Endpoint = resolve("system", endpoints(), name)(address)
    return party


def endpoints() -> dict[str, str]:
    """The names of all endpoints, those that other packages add too, and where each is made."""
    return ENDPOINTS | _installed(ENTRY_POINTS)


MODELS: Final = {
    "gemini": "fdbcore.models.gemini:gemini",
    "local": "fdbcore.models.local:local",
    "openai": "fdbcore.models.openai:openai",
}
"""Each makes a language model from its whole address: "openai:NAME?base_url=URL&key_variable=VARIABLE"."""

CHATS: Final = {
    "local": "fdbcore.models.chat:local",
    "openai": "fdbcore.models.chat:openai",
}
"""Each makes a language model that answers a conversation piece by piece, from its whole address."""

TRANSCRIBERS: Final = {
    "nemo": "fdbcore.models.asr.nemo:nemo",
    "openai": "fdbcore.models.asr.openai:openai",
    "whisper": "fdbcore.models.asr.whisper:whisper",
}
"""Each makes a speech transcriber from its whole address."""

KNOWN_WORDS: Final = {
    "known-text": "fdbcore.analysis.known_text:known_text",
    "told": "fdbcore.analysis.self_reported:told",
}
"""Each knows the words of recordings without a transcriber, and is made from its whole address."""

JUDGES: Final = {
    "gemini": "fdbcore.models.judge:judge",
    "openai": "fdbcore.models.judge:judge",
    "openai-decisions": "fdbcore.models.decisions:openai_decisions",
}
"""Each makes a judge from its whole address, as MODELS makes models."""

JUDGE_ENTRY_POINTS: Final = "fdbcore.judges"
"""The group of entry points by which other packages add judges."""

SPEAKERS: Final = {
    "dir": "fdbcore.models.tts.folder:folder",
    "espeak-ng": "fdbcore.models.tts.espeak:espeak",
    "exec": "fdbcore.models.tts.command:command",
    "hibari": "fdbcore.models.tts.hibari:hibari",
    "open-jtalk": "fdbcore.models.tts.open_jtalk:open_jtalk",
    "openai-tts": "fdbcore.models.tts.openai:openai_tts",
}
"""Each makes a speaker from its whole address: "exec:COMMAND", "dir:FOLDER"."""

WORLDS: Final = {
    "file": "fdbcore.worlds.tools_file:tools_file",
    "fdb-v3": "fdbcore.suites.fdb_v3.world:fdb_v3_world",
}
"""Each makes a world, which answers calls of tools, from its whole address: "file:tools.py?latency=normal"."""

WORLD_ENTRY_POINTS: Final = "fdbcore.worlds"
"""The group of entry points by which other packages add worlds."""

SUITES: Final = {
    "clips": "fdbcore.suites.own_clips.suite:SUITE",
    "dialogue-acts": "fdbcore.suites.dialogue_acts.suite:SUITE",
    "fdb-v1": "fdbcore.suites.fdb_v1.suite:V1",
    "fdb-v1.5": "fdbcore.suites.fdb_v1.suite:V15",
    "fdb-v3": "fdbcore.suites.fdb_v3.suite:SUITE",
    "staged": "fdbcore.suites.staged.suite:SUITE",
}
"""Each names a benchmark: one object that implements `fdbcore.protocols.suite.Suite`."""

SUITE_ENTRY_POINTS: Final = "fdbcore.suites"
"""The group of entry points by which other packages add benchmarks."""


ENGINES: Final = {"ray": "fdbcore.cluster.engine:RayCluster"}
"""Each makes what works on other machines (`runs.engines.Engine`), from its whole address: "ray://HOST:PORT"."""

STORE: Final = {"store": "fdbcore.cluster.store:through"}
"""Makes what replays calls through an object store, from any address."""


class Host(Protocol):
    """A host of transcribers and judges that are found by their addresses."""

    def transcriber(self, address: str, made: Transcriber) -> Transcriber:
        """One that is asked there in place of `made`, which has the same address."""

    def judge(self, address: str, made: Judge) -> Judge:
        """See `transcriber`."""


_HOST: Final = ContextVar[Host | None]("host", default=None)


@contextmanager
def hosted_by(host: Host) -> Iterator[None]:
    """In the `with` block, `transcriber` and `judge` give those of `host`."""
    before = _HOST.set(host)
    try:
        yield
    finally:
        _HOST.reset(before)


def model(address: str) -> Model:
    """The language model at the address "VENDOR:NAME". SettingsError if the vendor is unknown."""
    made: Model = resolve("model", MODELS, address.partition(":")[0])(address)
    return made


def chat(address: str) -> Chat:
    """The model for conversations at the address "VENDOR:NAME". SettingsError if the vendor is unknown."""
    made: Chat = resolve("llm", CHATS, address.partition(":")[0])(address)
    return made


def transcriber(address: str) -> Transcriber:
    """The speech transcriber at the address "VENDOR:NAME". SettingsError if the vendor is unknown."""
    made: Transcriber = resolve("asr", TRANSCRIBERS, address.partition(":")[0])(address)
    host = _HOST.get()
    return made if host is None else host.transcriber(address, made)


def live_transcriber(address: str) -> Transcriber:
    """The speech transcriber at an address, for use during a live call. SettingsError if its cores are not to share."""
    made = transcriber(address)
    if not made.beside_calls:
        raise SettingsError(f"asr: {made.name} takes cores that a live call needs: ?beside_calls=true lets it")
    return made


def judge(address: str) -> Judge:
    """The judge at "VENDOR:NAME", or of another package. SettingsError for what is unknown."""
    made: Judge = resolve("judge", JUDGES | _installed(JUDGE_ENTRY_POINTS), address.partition(":")[0])(address)
    host = _HOST.get()
    return made if host is None else host.judge(address, made)


def speaker(address: str) -> Speaker:
    """The speaker at the address "open-jtalk", "exec:COMMAND" or "dir:FOLDER". SettingsError if unknown."""
    made: Speaker = resolve("tts", SPEAKERS, address.partition(":")[0])(address)
    return made


def world(address: str) -> World:
    """The world at the address "file:FILE", or of another package. SettingsError if unknown."""
    made: World = resolve("tools", WORLDS | _installed(WORLD_ENTRY_POINTS), address.partition(":")[0])(address)
    return made


def worlds() -> list[str]:
    """The kinds of all worlds: with what an address of one begins."""
    return list(WORLDS | _installed(WORLD_ENTRY_POINTS))


def suites() -> list[str]:
    """The names of all benchmarks; those that other packages add come last."""
    return list(SUITES | _installed(SUITE_ENTRY_POINTS))


def suite(name: str) -> "Suite":
    """The benchmark of that name. SettingsError if unknown."""
    found: Suite = resolve("suite", SUITES | _installed(SUITE_ENTRY_POINTS), name)
    return found


def _installed(group: str) -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=group)}


def resolve(kind: str, names: dict[str, str], name: str) -> Any:  # noqa: ANN401
    """The object that `name` stands for, imported now. If it is unknown, SettingsError lists the known names.

    kind: what the name is called in that message. names: "MODULE:ATTRIBUTE" by name.
    """
    if name not in names:
        raise SettingsError(f"{kind}: expected one of {', '.join(names)}, got {name!r}")
    module, attribute = names[name].split(":")
    return getattr(importlib.import_module(module), attribute)
