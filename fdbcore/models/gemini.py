"""Gemini models, through the SDK `google-genai`."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, Final

from fdbcore.errors import PartyError, RefusalError
from fdbcore.models.account import SETTINGS, Vendor
from fdbcore.models.counts import gemini_counts
from fdbcore.models.vendor import LONGEST_WAIT_S, VendorModel, bound
from fdbcore.protocols import Model
from fdbcore.runtime.address import parsed
from fdbcore.runtime.numbers import number_of
from fdbcore.runtime.redaction import without_values
from fdbcore.runtime.waits import tell_wait
from fdbcore.types import Reply, Request

GEMINI: Final = Vendor(
    "gemini",
    ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "https://generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
)
"""The vendor. The variables of its key stand in the order that its SDK uses."""

_TRANSIENT_STATUSES: Final = (408, 429, 500, 502, 503, 504)


def gemini(address: str) -> Model:
    """The model "gemini:NAME". It is at Google, with the key in GOOGLE_API_KEY or GEMINI_API_KEY.

    SETTINGS name another server.
    """
    found = parsed(address, SETTINGS)
    return GeminiModel(found.place, **found.settings)


class GeminiModel(VendorModel):
    """See `gemini`."""

    vendor = GEMINI
    package = "google-genai"
    module = "google.genai"
    backoff_s: float = 1.0
    """The first wait before another attempt, if the server does not say how long to wait."""

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401
        from google import genai

        hooks = {"response": [partial(bound, self.most_answer_bytes)]}
        # The key must not go to another server.
        http = {"follow_redirects": False, "event_hooks": hooks, "trust_env": not self.is_here}
        options: Any = {
            "base_url": self.base_url,
            "timeout": round(self.timeout_s * 1000),
            "client_args": http,
        }
        client = genai.Client(api_key=self.key(), vertexai=False, http_options=options)
        weakref.finalize(self, client.close)  # it keeps connections alive, which must be closed in the end
        return client

    def prepare(self) -> None:
        """See `VendorModel.prepare`."""
        import tenacity  # noqa: F401

        _ = self._client.models

    def probe(self) -> None:
        """See `VendorModel.probe`."""
        client = self._client
        try:
            client.models.get(model=self._model)
        except self._failures() as error:
            raise self._failure(error) from None

    def ask(self, request: Request) -> Reply:
        """See `Model.ask`."""
        client = self._client
        parts: list[dict[str, Any]] = [{"text": request.user}] if request.user else []
        if request.wav is not None:
            parts.append({"inline_data": {"data": request.wav, "mime_type": "audio/wav"}})
        try:
            answer = self._retrying()(
                client.models.generate_content,
                model=self._model,
                contents=[{"role": "user", "parts": parts}],
                config=_config(request),
            )
        except self._failures() as error:
            raise self._failure(error) from None
        return self._reply(answer)

    def _failures(self) -> tuple[type[Exception], ...]:
        from google.genai.errors import APIError

        odd = (ValueError, TypeError, AttributeError, RecursionError)  # the SDK raises these on a malformed answer
        return (APIError, *odd, *_transport_errors())

    def _retrying(self) -> Any:  # noqa: ANN401
        """A policy that retries where that may help. The SDK's own retries do not wait as long as a server asks."""
        import tenacity

        backoff = tenacity.wait_exponential_jitter(initial=self.backoff_s, max=60.0, jitter=self.backoff_s)

        def passes(error: BaseException) -> bool:
            if isinstance(error, _transport_errors()):
                return True
            return (
                getattr(error, "code", None) in _TRANSIENT_STATUSES and (_asked_wait_s(error) or 0.0) <= LONGEST_WAIT_S
            )

        def wait_s(state: tenacity.RetryCallState) -> float:
            asked_s = _asked_wait_s(state.outcome.exception() if state.outcome else None)
            return backoff(state) if asked_s is None else asked_s

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(passes),
            wait=wait_s,
            before_sleep=self._note_wait,
            stop=tenacity.stop_after_attempt(self.attempts),
            reraise=True,
        )

    def _note_wait(self, state: Any) -> None:  # noqa: ANN401
        reason = getattr(state.outcome.exception(), "code", None) or "no connection"
        tell_wait(self.name, str(reason), state.next_action.sleep)

    def _reply(self, answer: Any) -> Reply:  # noqa: ANN401
        usage = answer.usage_metadata
        counts = gemini_counts(usage.model_dump()) if usage else {}
        model = answer.model_version or self._model
        try:
            text = self._text(answer)
        except RefusalError as error:
            error.counts, error.answered_by = counts, model
            raise
        tokens_in = _sum(usage, "prompt_token_count", "tool_use_prompt_token_count")
        tokens_out = _sum(usage, "candidates_token_count", "thoughts_token_count")
        return Reply(without_values(text), model, tokens_in, tokens_out, counts=counts)

    def _text(self, answer: Any) -> str:  # noqa: ANN401
        """The text of an answer that can be used."""
        if answer.prompt_feedback is not None and answer.prompt_feedback.block_reason is not None:
            raise self.refusal(f"declined: {_name(answer.prompt_feedback.block_reason)}")
        if not (answer.candidates or answer.model_version or answer.usage_metadata or answer.prompt_feedback):
            raise self.error(f"{self.server} answers with something other than an answer", transient=True)
        if not answer.candidates:
            raise self.refusal("declined: no candidates")
        reason = _name(answer.candidates[0].finish_reason)
        if reason == "MAX_TOKENS":
            raise self.cut_off(answer.text or "")
        if reason not in ("STOP", ""):
            raise self.refusal(f"declined: {reason}")
        text = answer.text
        if not text:
            raise self.refusal("the answer is empty")
        return str(text)

    def _failure(self, error: Exception) -> PartyError:
        from google.genai import errors

        if isinstance(error, errors.APIError):
            message = str(error.message or error.status or "")
            if "location is not supported" in message:
                return self.error(f"{self.server} does not serve this region: {message}")
            invalid_key = any(detail.get("reason") == "API_KEY_INVALID" for detail in _details(error))
            return self.status_error(401 if invalid_key else error.code, message)
        if not isinstance(error, _transport_errors()):
            return self.error(f"{self.server} answers with something other than an answer: {error}", transient=True)
        if "Timeout" in type(error).__name__:
            return self.error(f"{self.server} gave no answer within {self.timeout_s:g} s", transient=True)
        return self.error(f"{self.server} cannot be reached: {error}", transient=True)


def _config(request: Request) -> dict[str, Any]:
    config: dict[str, Any] = {"seed": request.seed, "temperature": request.temperature}
    if request.system:
        config["system_instruction"] = request.system
    if request.schema is not None:
        config |= {"response_mime_type": "application/json", "response_json_schema": dict(request.schema)}
    return {name: value for name, value in config.items() if value is not None}


def _transport_errors() -> tuple[type[Exception], ...]:
    """The transport errors of httpx and httpx2: the SDK uses one of them, and passes its errors on."""
    found = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return tuple(module.TransportError for module in found if module is not None)


def _asked_wait_s(error: BaseException | None) -> float | None:
    """The wait in seconds that the server asks for, by a header or by RetryInfo in its message; None if none."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    delays = [detail["retryDelay"].removesuffix("s") for detail in _details(error) if "retryDelay" in detail]
    for text in [headers.get("retry-after"), *delays]:
        try:
            return max(0.0, number_of(text))
        except ValueError:
            continue
    return None


def _details(error: BaseException | None) -> list[Mapping[str, Any]]:
    answer = getattr(error, "details", None)
    inner = answer.get("error", answer) if isinstance(answer, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    return [detail for detail in details or () if isinstance(detail, Mapping)]


def _name(reason: Any) -> str:  # noqa: ANN401
    return str(getattr(reason, "value", reason) or "")


def _sum(usage: Any, *names: str) -> int:  # noqa: ANN401
    return sum(getattr(usage, name, None) or 0 for name in names)
