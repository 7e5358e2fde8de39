"""A server that speaks OpenAI's POST /v1/decisions. Real HTTP, loopback.

It checks what the types of the vendor's own client say, and each answer by them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from fakes.fake_openai import FakeOpenAI
from fakes.threaded import Handler, ThreadedServer
from openai.types.decision import Decision

MOST_QUESTIONS = 400


class FakeDecisions(ThreadedServer):
    """A context manager. answer: of a question. asked: the bodies it took. status: what it fails with, if not 200.

    answers: so many questions are answered, and no others; None for all.
    """

    def __init__(
        self, answer: Callable[[Mapping[str, Any]], Mapping[str, Any]], status: int = 200, answers: int | None = None
    ) -> None:
        super().__init__(_Handler)
        self.answer, self.status, self.answers = answer, status, answers
        self.asked: list[dict[str, Any]] = []

    def address_of(self, model: str) -> str:
        return f"{model}?base_url=http://127.0.0.1:{self.server_port}/v1&key_variable={FakeOpenAI.VARIABLE}"


def score_of(question: Mapping[str, Any], shares: Mapping[str, float]) -> Mapping[str, Any]:
    """The answer to a question of levels that has these probabilities by label."""
    values = {level["label"]: place for place, level in enumerate(question["levels"])}
    found = [{"label": name, "probability": share, "value": values.get(name, 0)} for name, share in shares.items()]
    score = sum(share * values.get(name, 0) for name, share in shares.items())
    return {"type": "score", "confidence": 0.5, "score": score, "probabilities": found}


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: FakeDecisions

    def do_POST(self) -> None:
        body = json.loads(self.body())
        if self.headers["Authorization"] != f"Bearer {FakeOpenAI.KEY}":
            return self._refuse(401, "Incorrect API key provided", "invalid_api_key")
        if self.path != "/v1/decisions":
            return self._refuse(404, f"Invalid URL (POST {self.path})", None)
        if self.server.status != 200:
            return self._refuse(self.server.status, "The server had an error.", None)
        if body["model"] != "gpt-6-luna":
            return self._refuse(400, f"The model `{body['model']}` is not supported.", "unsupported_model")
        questions = body["questions"]
        if not 1 <= len(questions) <= MOST_QUESTIONS or set(body) - {"model", "input", "questions"}:
            return self._refuse(400, "Invalid request.", None)
        self.server.asked.append(body)
        details = {"input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0}}
        usage = {"input_tokens": 100, "output_tokens": 8, "total_tokens": 108, **details}
        answers = [{"name": None, **self.server.answer(question)} for question in questions[: self.server.answers]]
        decision = {
            "answers": answers,
            "model": body["model"],
            "usage": {**usage, "output_tokens_details": {"reasoning_tokens": 0}},
        }
        Decision.model_validate(decision)
        self.send(decision)

    def _refuse(self, status: int, message: str, code: str | None) -> None:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        self.send({"error": error}, status, more={"Retry-After": "0.01"} if status >= 500 else None)
