"""A server that speaks OpenAI's chat completions, as far as its clients can see; `model_server` says how to use it.

It checks what the vendor checks: the key, the model, parameters that it does not know, strict schemas, and the audio.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from fakes.model_server import Asked, Fails, FakeModelServer, Mistake, Refuses, Says

KNOWN = {"model", "messages", "response_format", "seed", "temperature", "modalities", "max_completion_tokens"}
REASONS = ("gpt-5", "o1", "o3", "o4")
"""How models begin that take no temperature but 1."""


class FakeOpenAI(FakeModelServer):
    """See `FakeModelServer`. POST /v1/chat/completions, GET /v1/models."""

    KEY = "sk-proj-fakeOpenAI0123456789abcdefghijklmnop"
    VARIABLE = "OPENAI_API_KEY"

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.wrong_schemas: list[str] = []

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        assert not self.wrong_schemas, "a client may go on without a schema, but the vendor takes ours"

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], number: int) -> Asked:
        if path != "/v1/chat/completions":
            raise Mistake(Fails(404, f"Invalid URL (POST {path})"))
        key = self._key(headers)
        if self.models is not None and body["model"] not in self.models:
            gone = f"The model `{body['model']}` does not exist or you do not have access to it."
            raise Mistake(Fails(404, gone, "model_not_found"))
        for name in sorted(set(body) - KNOWN):
            raise Mistake(Fails(400, f"Unrecognized request argument supplied: {name}", None, name))
        if body.get("temperature", 1) != 1 and body["model"].startswith(REASONS):
            only = (
                f"'temperature' does not support {body['temperature']:g} with this model. Only the default (1) value is"
            )
            raise Mistake(Fails(400, f"Unsupported value: {only} supported.", "unsupported_value", "temperature"))
        texts, wavs = _contents(body["messages"])
        return Asked(
            number=number,
            path=path,
            key=key,
            model=body["model"],
            system=texts.get("system", ""),
            user=texts.get("user", ""),
            wav=wavs[0] if wavs else None,
            schema=self._schema(body.get("response_format")),
            seed=body.get("seed"),
            temperature=body.get("temperature"),
            headers=headers,
            body=body,
        )

    def _schema(self, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The schema that is asked for; strict ones must close every object and require all that it has."""
        if given is None or given["type"] != "json_schema":
            return None
        named = given["json_schema"]
        schema: Mapping[str, Any] = named["schema"]
        if named.get("strict"):
            try:
                _check_strict(schema, named["name"], ())
            except Mistake as mistake:
                self.wrong_schemas.append(str(mistake))
                raise
        return schema

    def listed(self, path: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
        self._key(headers)
        if path != "/v1/models":
            raise Mistake(Fails(404, f"Invalid URL (GET {path})"))
        kind = {"object": "model", "created": 1_760_000_000, "owned_by": "system"}
        return {"object": "list", "data": [{"id": name, **kind} for name in sorted(self.models or ())]}

    def _key(self, headers: Mapping[str, str]) -> str:
        """The key that was sent, which must be the right one."""
        key = headers.get("authorization", "").removeprefix("Bearer ")
        if key != self.KEY:
            shown = f"{key[:8]}{'*' * max(0, len(key) - 12)}{key[-4:]}"  # as the vendor echoes it
            where = "You can find your API key at https://platform.openai.com/account/api-keys."
            raise Mistake(Fails(401, f"Incorrect API key provided: {shown}. {where}", "invalid_api_key"))
        return key

    def reply(self, asked: Asked, answer: Says | Refuses) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
        finish, thinking = "stop", 0
        if isinstance(answer, Says):
            message["content"], thinking = answer.text, answer.thinking
            finish = "length" if answer.cut else "stop"
        elif answer.how == "refusal":
            message["refusal"] = "I'm sorry, I can't assist with that request."
        else:
            finish = answer.how
        spoken = answer.tokens_out + thinking
        return {
            "id": f"chatcmpl-fake{asked.number}",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": f"{asked.model}-2025-08-07",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": answer.tokens_in,
                "completion_tokens": spoken,
                "total_tokens": answer.tokens_in + spoken,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": thinking, "audio_tokens": 0},
            },
            "service_tier": "default",
            "system_fingerprint": None,
        }

    def failure(self, fails: Fails) -> Mapping[str, Any]:
        kind = "server_error" if fails.status >= 500 else "invalid_request_error"
        return {"error": {"message": fails.message, "type": kind, "param": fails.param, "code": fails.code}}


def _contents(messages: list[Mapping[str, Any]]) -> tuple[dict[str, str], list[bytes]]:
    """The texts by role, and the audio."""
    texts: dict[str, str] = {}
    wavs = []
    for message in messages:
        content = message["content"]
        parts: list[Mapping[str, Any]] = content
        if isinstance(content, str):
            parts = [{"type": "text", "text": content}]
        for part in parts:
            if part["type"] == "text":
                texts[message["role"]] = texts.get(message["role"], "") + part["text"]
            elif part["type"] == "input_audio":
                wavs.append(_wav(part["input_audio"]))
            else:
                raise Mistake(Fails(400, f"Invalid value: '{part['type']}'.", "invalid_value", "messages"))
    return texts, wavs


def _wav(audio: Mapping[str, str]) -> bytes:
    try:
        data = base64.b64decode(audio["data"], validate=True)
    except binascii.Error:
        data = b""
    if audio["format"] != "wav" or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise Mistake(Fails(400, "The audio data provided is not a valid wav file.", "invalid_value", "messages"))
    return data


def _check_strict(schema: Mapping[str, Any], name: str, context: tuple[str, ...]) -> None:
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        wrong = None
        if schema.get("additionalProperties") is not False:
            wrong = "'additionalProperties' is required to be supplied and to be false."
        elif set(schema.get("required", ())) != set(properties):
            wrong = "'required' is required to be supplied and to be an array including every key in properties."
        if wrong:
            told = f"Invalid schema for response_format '{name}': In context={context}, {wrong}"
            raise Mistake(Fails(400, told, None, "response_format"))
        for key, value in properties.items():
            _check_strict(value, name, (*context, "properties", key))
    if isinstance(items := schema.get("items"), Mapping):
        _check_strict(items, name, (*context, "items"))
