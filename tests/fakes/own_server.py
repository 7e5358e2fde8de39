"""Servers of one's own with OpenAI's chat completions: what vLLM, Ollama and llama.cpp answer where the vendor differs.

    with OwnServer(VLLM, answers) as server:
        registry.model(server.address_of("openai:qwen3"))     # without a key
        server.forms          # the `response_format` of each request, also of those that were refused

The errors are those that users of these servers quote in their reports.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Answer, Asked, Fails, Mistake, Refuses, Says

XGRAMMAR = "The provided JSON schema contains features not supported by xgrammar."
LLAMA_CPP_TYPES = 'response_format type must be one of "text" or "json_object", but got: json_schema'


@dataclass(frozen=True)
class Dialect:
    """How a server differs. refused: the formats that it does not take, and how it says so. is_flat: its errors are no
    object within an object. counts: whether it says how many tokens an answer took.
    """

    refused: Mapping[str, Fails]
    is_flat: bool = False
    counts: bool = True


VLLM = Dialect({"json_schema": Fails(400, XGRAMMAR)}, is_flat=True)
VLLM_BARE = Dialect(
    {"json_schema": Fails(400, XGRAMMAR), "json_object": Fails(422, "no grammar backend")}, is_flat=True
)
OLLAMA = Dialect({}, counts=False)
LLAMA_CPP = Dialect({"json_schema": Fails(500, LLAMA_CPP_TYPES, retry_after_s=0.01)})


class OwnServer(FakeOpenAI):
    """See the module. It asks for no key."""

    def __init__(self, dialect: Dialect, answers: Callable[[Asked], Answer] | Iterable[Answer]) -> None:
        super().__init__(answers)
        self._dialect = dialect
        self.forms: list[str | None] = []

    def address_of(self, model: str) -> str:
        return f"{model}?base_url={self.base_url}"

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], number: int) -> Asked:
        form = body.get("response_format", {}).get("type")
        self.forms.append(form)
        if form in self._dialect.refused:
            raise Mistake(self._dialect.refused[form])
        unstreamed = {name: value for name, value in body.items() if not name.startswith("stream")}
        return super().read(path, headers, unstreamed, number)

    def _key(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def reply(self, asked: Asked, answer: Says | Refuses) -> Mapping[str, Any]:
        assert isinstance(answer, Says)
        told = dict(super().reply(asked, answer))
        message = {"role": "assistant", "content": answer.text}
        told |= {"model": asked.model, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        if not self._dialect.counts:
            del told["usage"]
        return told

    def failure(self, fails: Fails) -> Mapping[str, Any]:
        error = {"message": fails.message, "type": "BadRequestError", "param": None, "code": fails.status}
        return {"object": "error", **error} if self._dialect.is_flat else {"error": error}
