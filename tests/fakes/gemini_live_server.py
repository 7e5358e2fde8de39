"""A server that speaks the Gemini Live API, as google-genai 3.4 types it, around a model of a few lines.

    with GeminiLiveServer(Quirks(cues={3000: "go_away", 4000: "deadline"})) as server:
        ... server.url("ws"), GeminiLiveServer.KEY, server.parties[0].received

It checks what the vendor checks: key, model, unknown fields, the behaviour of tools. Texts of errors are those that
users report; where nobody reports one, it is "Request contains an invalid argument."

Run alone, it prints where it is served and its key: `PYTHONPATH=tests python -m fakes.gemini_live_server`.
"""

import asyncio
import base64
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from fakes.ear import Ear
from fakes.far_end import TEXT_OR_BYTES, FarEnd, samples
from fakes.gemini_live_voice import INVALID, MODELS, REFUSALS, Quirks, Voice
from fakes.loopback import serve_alone

SETUP = {
    "model", "generationConfig", "systemInstruction", "tools", "sessionResumption", "contextWindowCompression",
    "inputAudioTranscription", "outputAudioTranscription", "realtimeInputConfig", "proactivity", "explicitVadSignal",
    "historyConfig", "avatarConfig", "safetySettings", "labels",
}  # fmt: skip
GENERATION = {
    "responseModalities", "temperature", "topP", "topK", "maxOutputTokens", "mediaResolution", "seed", "speechConfig",
    "thinkingConfig", "enableAffectiveDialog", "translationConfig",
}  # fmt: skip


class GeminiLiveServer(FarEnd["Caller", Quirks]):
    """The server. handles: those that were given out, and what each stands for."""

    usual = Quirks()

    def __init__(self, quirks: Quirks | None = None, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(quirks, tls)
        self.handles: dict[str, Voice] = {}

    def routes(self) -> Sequence[web.RouteDef]:
        path = r"/ws/google.ai.generativelanguage.{version:v1(beta|alpha)?}.GenerativeService.BidiGenerateContent"
        return [web.get(path, self._bidi)]

    async def _bidi(self, request: web.Request) -> web.StreamResponse:
        if isinstance(self.quirks.refuses, int):
            later = {"Retry-After": "3600"} if self.quirks.refuses == 429 else {}
            told = {"error": {"code": self.quirks.refuses}}
            return web.json_response(told, status=self.quirks.refuses, headers=later)
        return await self.serve(request, lambda ws: Caller(self, request, ws))


class Caller(Voice):
    """One connection."""

    def __init__(self, server: GeminiLiveServer, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(server.quirks, server.handles, request, ws)
        self._number = len(server.parties) + 1

    async def run(self) -> None:
        async for received in self.ws:
            if received.type not in TEXT_OR_BYTES:
                continue
            try:
                told = json.loads(received.data)
                message = _camel(told) if isinstance(told, dict) else {}
                self.note(self.received, message)
                await self._take(message)
            except _Refused as refused:
                await self.close(*refused.args)
            except (ValueError, KeyError, TypeError, AttributeError):  # also of the JSON and of base64
                await self.close(*INVALID)

    async def _take(self, message: Mapping[str, Any]) -> None:
        takers = {"setup": self._set_up, "realtimeInput": self._take_realtime, "toolResponse": self._take_results}
        _check(message, takers.keys(), "")
        if len(message) != 1 or ("setup" in message) == bool(self.setup):
            raise _Refused(*INVALID)
        ((kind, value),) = message.items()
        await takers[kind](value)

    async def _set_up(self, setup: dict[str, Any]) -> None:
        self._check_key()
        _check(setup, SETUP, " at 'setup'")
        _check(setup.get("generationConfig", {}), GENERATION, " at 'setup.generation_config'")
        if self.quirks.refuses in REFUSALS:
            raise _Refused(*REFUSALS[str(self.quirks.refuses)])
        name = setup["model"].removeprefix("models/")
        if name not in MODELS:
            version = self.request.match_info["version"]
            raise _Refused(
                1008,
                f"models/{name} is not found for API version {version}, or is not supported for bidiGenerateContent. "
                "Call ModelService.ListModels to see the list of available models and their",  # 123 bytes are sent
            )
        self.setup = setup
        generation = setup.get("generationConfig", {})
        if generation.get("responseModalities", ["AUDIO"]) != ["AUDIO"]:
            raise _Refused(*INVALID)
        if self.model.thinks and "thinkingLevel" not in generation.get("thinkingConfig", {}):
            raise _Refused(*INVALID)
        for use in self.functions.values():
            if use.get("behavior", self.model.tools) != self.model.tools and not self.model.others:
                raise _Refused(*INVALID)
        await self._resume()
        await asyncio.sleep(self.quirks.ready_s)
        await self.tell({"setupComplete": {"sessionId": f"session-{self._number}"}})

    def _check_key(self) -> None:
        key = self.request.headers.get("x-goog-api-key")
        if key is None:
            raise _Refused(
                1008,
                "Method doesn't allow unregistered callers (callers without established identity). "
                "Please use API Key or other form of",
            )
        if key != GeminiLiveServer.KEY:
            raise _Refused(1007, "API key not valid. Please pass a valid API key.")

    async def _resume(self) -> None:
        handle = self.setup.get("sessionResumption", {}).get("handle")
        if handle is None:
            return
        before = self._handles.get(handle)
        if before is None:
            raise _Refused(1008, "BidiGenerateContent session not found")
        if not before.ws.closed:
            raise _Refused(1011, "Internal error encountered.")
        await asyncio.sleep(self.quirks.resume_s)
        self.n_replies, self.n_voices, self.n_turns = before.n_replies, before.n_voices, before.n_turns
        self._cues = before._cues  # those that are left

    async def _take_realtime(self, told: Mapping[str, Any]) -> None:
        _check(told, {"audio", "text"}, " at 'realtime_input'")  # the vendor has more, which no party sends
        if "audio" in told:
            await self._take_audio(told["audio"])
        if "text" in told:
            await self.answer()

    async def _take_audio(self, blob: Mapping[str, Any]) -> None:
        rate = re.fullmatch(r"audio/pcm(?:;rate=(\d+))?", blob["mimeType"])
        if rate is None:
            raise _Refused(*INVALID)
        data = base64.b64decode(blob["data"].replace("-", "+").replace("_", "/"))
        if len(data) % 2:
            raise _Refused(*INVALID)
        if self.ear is None:
            told = self.setup.get("realtimeInputConfig", {}).get("automaticActivityDetection", {})
            never = 10**9 if self.quirks.deaf else 0
            silence_ms = told.get("silenceDurationMs", 500)
            self.ear = Ear(int(rate[1] or 16_000), told.get("prefixPaddingMs", 60) + never, silence_ms)
        await self.hear(samples(data))

    async def _take_results(self, told: Mapping[str, Any]) -> None:
        for result in told["functionResponses"]:
            if result["id"] not in self._asked:
                raise _Refused(1008, "Requested entity was not found.")
            waiting = self._results.get(result["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result(result)


class _Refused(Exception):
    """code and reason with which the server closes."""


def _check(told: Mapping[str, Any], known: Any, where: str) -> None:
    for name in sorted(told.keys() - known):
        raise _Refused(1007, f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.')


def _camel(value: Any, key: str = "") -> Any:
    """The keys as the vendor documents them: its servers take snake_case as well, and its client sends both.

    Names that users choose, in schemas, arguments and results, stay as they are.
    """
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict) or key in ("parameters", "parametersJsonSchema", "response", "labels"):
        return value
    named = {re.sub(r"_(.)", lambda found: found[1].upper(), name): item for name, item in value.items()}
    return {name: _camel(item, name) for name, item in named.items()}


if __name__ == "__main__":
    serve_alone(GeminiLiveServer())
