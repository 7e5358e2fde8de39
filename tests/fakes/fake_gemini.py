"""A server that speaks Gemini's generateContent, as far as its clients can see; `model_server` says how to use it.

It checks what the vendor checks: the key, the model, fields that it does not know, and the audio.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

from fakes.model_server import Asked, Fails, FakeModelServer, Mistake, Refuses, Says

KNOWN = {"contents", "systemInstruction", "generationConfig", "safetySettings"}
KNOWN_CONFIG = {
    "candidateCount",
    "maxOutputTokens",
    "responseJsonSchema",
    "responseMimeType",
    "responseModalities",
    "seed",
    "temperature",
}
STATUSES = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
            500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}  # fmt: skip


class FakeGemini(FakeModelServer):
    """See `FakeModelServer`. POST /VERSION/models/NAME:generateContent, GET /VERSION/models/NAME."""

    KEY = "AIzaSyFakeGemini0123456789abcdefghijklm"
    VARIABLE = "GEMINI_API_KEY"

    @property
    def base_url(self) -> str:
        return self.address

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], number: int) -> Asked:
        matched = re.fullmatch(r"/v1(?:beta)?/models/([^/:?]+):generateContent", path)
        if matched is None:
            raise Mistake(Fails(404, "Not Found"))
        key, model, body = self._key(headers), self._known(matched[1]), _camel(body)
        config = body.get("generationConfig", {})
        for name in sorted((set(body) - KNOWN) | (set(config) - KNOWN_CONFIG)):
            raise Mistake(Fails(400, f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'))
        if "responseJsonSchema" in config and config.get("responseMimeType") != "application/json":
            raise Mistake(Fails(400, "responseJsonSchema is only allowed with responseMimeType application/json."))
        if not 0 <= config.get("temperature", 1) <= 2:
            raise Mistake(Fails(400, "GenerateContentRequest.generation_config.temperature: expected 0.0 to 2.0."))
        parts = [part for content in body["contents"] for part in content["parts"]]
        wavs = [_wav(part["inlineData"]) for part in parts if "inlineData" in part]
        return Asked(
            number=number,
            path=path,
            key=key,
            model=model,
            system="".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ())),
            user="".join(part.get("text", "") for part in parts),
            wav=wavs[0] if wavs else None,
            schema=config.get("responseJsonSchema"),
            seed=config.get("seed"),
            temperature=config.get("temperature"),
            headers=headers,
            body=body,
        )

    def listed(self, path: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
        self._key(headers)
        matched = re.fullmatch(r"/v1(?:beta)?/models/([^/:?]+)", path)
        if matched is None:
            raise Mistake(Fails(404, "Not Found"))
        return {"name": f"models/{self._known(matched[1])}", "supportedGenerationMethods": ["generateContent"]}

    def _key(self, headers: Mapping[str, str]) -> str:
        """The key that was sent, which must be the right one."""
        key = headers.get("x-goog-api-key", "")
        if key != self.KEY:
            raise Mistake(Fails(400, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"))
        return key

    def _known(self, model: str) -> str:
        """The model that was named, which must be a known one."""
        if self.models is not None and model not in self.models:
            gone = f"models/{model} is not found for API version v1, or is not supported for generateContent."
            raise Mistake(Fails(404, gone))
        return model

    def reply(self, asked: Asked, answer: Says | Refuses) -> Mapping[str, Any]:
        thinking = answer.thinking if isinstance(answer, Says) else 0
        usage = {
            "promptTokenCount": answer.tokens_in,
            "candidatesTokenCount": answer.tokens_out,
            "totalTokenCount": answer.tokens_in + answer.tokens_out + thinking,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": answer.tokens_in}],
        } | ({"thoughtsTokenCount": thinking} if thinking else {})
        common = {"usageMetadata": usage, "modelVersion": f"{asked.model}-001", "responseId": f"fake{asked.number}"}
        if isinstance(answer, Says):
            content = {"parts": [{"text": answer.text}], "role": "model"}
            finish = "MAX_TOKENS" if answer.cut else "STOP"
            return {"candidates": [{"content": content, "finishReason": finish, "index": 0}], **common}
        if answer.how == "blocked":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **common}
        if answer.how == "empty":
            return {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP", "index": 0}], **common}
        return {"candidates": [{"finishReason": answer.how, "index": 0}], **common}

    def failure(self, fails: Fails) -> Mapping[str, Any]:
        details: list[Mapping[str, Any]] = []
        if fails.code:
            kind = "type.googleapis.com/google.rpc.ErrorInfo"
            details.append({"@type": kind, "reason": fails.code, "domain": "googleapis.com"})
        if fails.retry_after_s is not None:
            delay = f"{fails.retry_after_s:g}s"
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
        status = STATUSES.get(fails.status, "UNKNOWN")
        return {"error": {"code": fails.status, "message": fails.message, "status": status, "details": details}}


def _camel(value: Any) -> Any:
    """The keys as the vendor documents them: its servers take snake_case as well, and its client sends both."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    named = {re.sub(r"_(.)", lambda found: found[1].upper(), key): item for key, item in value.items()}
    return {key: item if key == "responseJsonSchema" else _camel(item) for key, item in named.items()}


def _wav(data: Mapping[str, str]) -> bytes:
    wav = base64.urlsafe_b64decode(data["data"])
    if data["mimeType"] != "audio/wav" or wav[:4] != b"RIFF" or wav[8:12] != b"WAVE":
        raise Mistake(Fails(400, "Request contains an invalid argument."))
    return wav
