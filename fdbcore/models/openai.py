"""Models of OpenAI, and of other servers with its chat completions API, through the SDK `openai`."""

import base64
import json
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final

from fdbcore.errors import PartyError
from fdbcore.models.account import SETTINGS, Vendor
from fdbcore.models.counts import count_in, openai_counts, usage_in
from fdbcore.models.vendor import LONGEST_WAIT_S, VendorModel, bound
from fdbcore.protocols import Model
from fdbcore.runtime.address import parsed
from fdbcore.runtime.numbers import number_of
from fdbcore.runtime.redaction import without_values
from fdbcore.runtime.waits import tell_wait
from fdbcore.types import Reply, Request

OPENAI: Final = Vendor("openai", ("OPENAI_API_KEY",), "https://api.openai.com/v1", "OPENAI_BASE_URL")

_FILTERS: Final = ("content_filter", "content_policy_violation")
_NO_REGION: Final = "unsupported_country_region_territory"
_FORMATS: Final = ("json_schema", "json_object", "text")
"""Formats of an answer by a JSON schema: a server of one's own may not take the first, or not even the second."""
_MAY_BE_REFUSED: Final = ("seed", "temperature")
"""Settings of a request without which it can be sent again."""
THOUGHT_ENDS: Final = "</think>"
_FENCED: Final = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)


def openai(address: str) -> Model:
    """The model "openai:NAME". It is at OpenAI, with the key in OPENAI_API_KEY; SETTINGS name another server."""
    found = parsed(address, SETTINGS)
    return OpenAIModel(found.place, **found.settings)


def told_by(error: Any) -> str:  # noqa: ANN401
    """The server's words in an answer that is an error of the SDK."""
    return str(error.body.get("message") or "") if isinstance(error.body, Mapping) else str(error.message)


def json_part(text: str) -> str:
    """The JSON of an answer: the text itself, or what stands in its only fence if words are around that."""
    fenced = [] if text.lstrip().startswith(("{", "[")) else _FENCED.findall(text)
    return str(fenced[0]) if len(fenced) == 1 else text


class OpenAIModel(VendorModel):
    """See `openai`. A seed or temperature that the model does not take is left out from then on; `describe` says so.

    A server of one's own that does not take a JSON schema is asked for JSON, or in the end for text, and is told the
    schema in words; `describe` says this too.
    """

    vendor = OPENAI
    package = "openai"
    module = "openai"

    _ignores: Sequence[str] = ()  # of _MAY_BE_REFUSED
    _format = 0  # of _FORMATS: the first that the server takes

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401
        from openai import DefaultHttpxClient, OpenAI

        # No redirects: the key must not go to another server.
        hooks: dict[str, list[Callable[..., Any]]] = {
            "response": [partial(_note_wait, weakref.ref(self)), partial(bound, self.most_answer_bytes)]
        }
        http = DefaultHttpxClient(follow_redirects=False, trust_env=not self.is_here, event_hooks=hooks)
        client = OpenAI(api_key=self.key(), base_url=self.base_url, timeout=self.timeout_s, http_client=http)
        weakref.finalize(self, client.close)  # it keeps connections alive, which must be closed in the end
        return client

    def prepare(self) -> None:
        """See `VendorModel.prepare`."""
        _ = self._client.chat.completions

    def describe(self) -> Mapping[str, Any]:
        """See `Model.describe`."""
        ignored = {"ignores": list(self._ignores)} if self._ignores else {}
        asked_for = {"response_format": _FORMATS[self._format]} if self._format else {}
        return {**super().describe(), **ignored, **asked_for}

    def probe(self) -> None:
        """See `VendorModel.probe`."""
        client = self._client
        from openai import NotFoundError, OpenAIError

        try:
            known = {model.id for model in client.with_options(max_retries=0).models.list()}
        except NotFoundError as error:
            if self.services()[0].vendor:
                raise self._failure(error) from None
            return  # another server need not have this list
        except (OpenAIError, ValueError, RecursionError) as error:
            raise self._failure(error) from None
        if known and self._model not in known:
            raise self.status_error(404, f"{self._model} is not among the {len(known)} that it lists")

    def ask(self, request: Request) -> Reply:
        """See `Model.ask`."""
        client = self._client
        from openai import BadRequestError, OpenAIError

        left_out: dict[str, Any] = dict.fromkeys(self._ignores)
        request = replace(request, **left_out)
        try:
            completion = self.completion(client, self._body(request), request.schema)
        except BadRequestError as error:
            if (refused := _refused(error, request)) is None:
                raise self._failure(error) from None
            self._ignores = sorted({*self._ignores, refused})
            return self.ask(request)
        except (OpenAIError, ValueError, RecursionError) as error:
            raise self._failure(error) from None
        reply = self._reply(completion)
        return reply if request.schema is None else replace(reply, text=json_part(reply.text))

    def completion(
        self,
        client: Any,  # noqa: ANN401
        body: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
        **more: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """The server's answer to a request, by the first format of a JSON schema that it takes.

        The SDK's errors are raised as they are. client: of the SDK. body: without the schema. more: further arguments
        of the SDK.
        """
        create = client.with_options(max_retries=self.attempts - 1).chat.completions.create
        if schema is None:
            return create(**body, **more)
        from openai import APIStatusError

        at = self._format
        while True:
            try:
                found = create(**_by_schema(body, schema, _FORMATS[at]), **more)
            except APIStatusError as error:
                if _FORMATS[at] == "text" or not self._may_refuse_format(error):
                    raise
                at += 1
            else:
                self._format = at
                return found

    def _may_refuse_format(self, error: Any) -> bool:  # noqa: ANN401
        """True if a server of one's own may have failed for the format: 400 and 422, and llama.cpp once said 500."""
        is_ours = not self.services()[0].vendor and error.param not in _MAY_BE_REFUSED
        return is_ours and (error.status_code in (400, 422) or "response_format" in told_by(error))

    def _body(self, request: Request) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": request.user}] if request.user else []
        if request.wav is not None:
            audio = {"data": base64.b64encode(request.wav).decode("ascii"), "format": "wav"}
            content.append({"type": "input_audio", "input_audio": audio})
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        if "audio" in self._model:  # these models take speech or answer with it: ask for an answer in text
            body["modalities"] = ["text"]
        given = {"seed": request.seed, "temperature": request.temperature}
        return body | {name: value for name, value in given.items() if value is not None}

    def _reply(self, completion: Any) -> Reply:  # noqa: ANN401
        usage = usage_in(completion)
        counts = openai_counts(usage)
        model = str(getattr(completion, "model", None) or (self._model if usage else ""))
        try:
            text = self._text(completion)
        except PartyError as error:
            error.counts, error.answered_by = counts, model
            raise
        tokens_in, tokens_out = (int(count_in(usage, f"{part}_tokens")) for part in ("prompt", "completion"))
        return Reply(without_values(text), model or self._model, tokens_in, tokens_out, counts=counts)

    def _text(self, completion: Any) -> str:  # noqa: ANN401
        """The text of an answer that can be used."""
        try:
            choice = completion.choices[0]
            text, refusal, reason = choice.message.content or "", choice.message.refusal, choice.finish_reason
            begun, ends_thought, after = text.partition(THOUGHT_ENDS)  # <think> itself may be part of the prompt
        except (AttributeError, IndexError, TypeError):
            raise self.error(f"{self.server} answers with something other than an answer", transient=True) from None
        if refusal or reason == "content_filter":
            raise self.refusal(f"declined: {refusal or reason}")
        if reason == "length":
            raise self.cut_off(text)
        said = after.lstrip() if ends_thought else begun
        if not said:
            raise self.refusal(f"the answer is empty ({reason})")
        return said

    def _failure(self, error: Exception) -> PartyError:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return self.error(f"{self.server} gave no answer within {self.timeout_s:g} s", transient=True)
        if isinstance(error, APIConnectionError):
            return self.error(f"{self.server} cannot be reached: {error.__cause__ or error}", transient=True)
        if isinstance(error, APIStatusError):
            message = told_by(error)
            if error.code in _FILTERS:
                return self.refusal(f"declined: {message}")
            if error.code == _NO_REGION:
                return self.error(f"{self.server} does not serve this region: {message}")
            if error.code == "insufficient_quota":
                return self.error(f"the quota is used up: {message}")
            return self.status_error(error.status_code, message)
        return self.error(f"{self.server} answers with something other than an answer: {error}", transient=True)


def _refused(error: Any, request: Request) -> str | None:  # noqa: ANN401
    """The setting of a request that an error says the model does not take; None if it is for something else."""
    given = (name for name in _MAY_BE_REFUSED if getattr(request, name) is not None)
    return next((name for name in given if error.param == name or f"'{name}'" in told_by(error)), None)


def _note_wait(of: weakref.ref[OpenAIModel], response: Any) -> None:  # noqa: ANN401
    """Tell that the SDK waits now, if this answer of HTTP asks it to and the request is not the last."""
    model, tries = of(), response.request.headers.get("x-stainless-retry-count", "")
    if model is None or not (response.is_error and tries.isdecimal() and int(tries) < model.attempts - 1):
        return
    with suppress(ValueError):  # none, or a date
        asked_s = number_of(response.headers.get("retry-after", ""))
        if asked_s <= LONGEST_WAIT_S:
            tell_wait(model.name, str(response.status_code), asked_s)


def _by_schema(body: Mapping[str, Any], schema: Mapping[str, Any], form: str) -> dict[str, Any]:
    """A request for an answer by a JSON schema, whose objects are closed and require all that they have."""
    if form == "json_schema":
        strict = {"name": "answer", "strict": True, "schema": schema}
        return {**body, "response_format": {"type": form, "json_schema": strict}}
    told = {**body, "messages": _told_schema(body["messages"], schema)}
    return told if form == "text" else {**told, "response_format": {"type": form}}


def _told_schema(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages, the last of which also tells the schema."""
    *before, last = messages
    words = f"Answer with one JSON value by this JSON schema, and nothing else:\n{json.dumps(schema)}"
    content = last["content"]
    parts = [*content, {"type": "text", "text": words}] if isinstance(content, list) else f"{content}\n\n{words}"
    return [*before, {**last, "content": parts}]
