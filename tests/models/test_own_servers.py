"""Language models at servers of one's own: vLLM, Ollama and llama.cpp, by their own ways over real sockets."""

import json

import pytest
from fakes.fake_chat import KEY, FakeChat, Turn
from fakes.model_server import NEEDS_OPENAI, Fails
from fakes.own_server import LLAMA_CPP, OLLAMA, VLLM, VLLM_BARE, Dialect, OwnServer

from fdbcore import registry
from fdbcore.errors import PartyError, RefusalError, SettingsError
from fdbcore.models.vendor import ATTEMPTS
from fdbcore.types import Request
from fdbcore.types.chat import ChatMessage

pytestmark = [NEEDS_OPENAI]

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
ASKED = Request("質問", "指示", schema=SCHEMA)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("dialect", "forms"),
    [
        (VLLM, ["json_schema", "json_object", "json_object"]),
        (VLLM_BARE, ["json_schema", "json_object", None, None]),
        (OLLAMA, ["json_schema", "json_schema"]),
        (LLAMA_CPP, ["json_schema"] * ATTEMPTS + ["json_object"] * 2),
    ],
    ids=["vLLM", "vLLM without a grammar", "Ollama", "llama.cpp"],
)
def test_a_schema_falls_back_to_json_and_to_text(dialect: Dialect, forms: list[str | None]) -> None:
    with OwnServer(dialect, lambda asked: '{"a": 1}') as server:
        model = registry.model(server.address_of("openai:qwen3:8b"))
        assert [model.ask(ASKED).text for _ in range(2)] == ['{"a": 1}'] * 2
    assert server.forms == forms
    assert {asked.key for asked in server.asked} == {"none"}
    fell_back = forms[-1] != "json_schema"
    assert all((json.dumps(SCHEMA) in asked.user) is fell_back for asked in server.asked)
    assert model.describe().get("response_format") == ((forms[-1] or "text") if fell_back else None)


def test_what_has_nothing_to_do_with_the_format_is_told_and_changes_nothing() -> None:
    too_long = Fails(400, "This model's maximum context length is 4096 tokens.")
    with OwnServer(OLLAMA, lambda asked: too_long if "長い" in asked.user else '{"a": 1}') as server:
        model = registry.model(server.address_of("openai:m"))
        with pytest.raises(PartyError, match="maximum context length"):
            model.ask(Request("長い", schema=SCHEMA))
        model.ask(ASKED)
        with pytest.raises(PartyError, match="maximum context length"):
            model.ask(Request("長い"))
    assert server.forms == ["json_schema", "json_object", None, "json_schema", None]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"a": 1}\n```',
        'Here it is:\n```\n{"a": 1}\n```\nAnything else?',
        '<think>\nIs {"a": 2} right? No.\n</think>\n\n{"a": 1}',
        'They want a number.\n</think>\n```json\n{"a": 1}\n```',
    ],
)
def test_an_answer_in_a_fence_or_after_a_thought_is_read(text: str) -> None:
    with OwnServer(OLLAMA, [text]) as server:
        reply = registry.model(server.address_of("openai:m")).ask(ASKED)
    assert (reply.text, reply.tokens_in, reply.model) == ('{"a": 1}', 0, "m")


def test_a_text_that_was_not_asked_for_as_json_keeps_its_fences_and_loses_its_thought() -> None:
    with OwnServer(OLLAMA, ["<think>hm</think>Use ```x``` there.", "<think>hm</think>"]) as server:
        model = registry.model(server.address_of("openai:m"))
        assert model.ask(Request("質問")).text == "Use ```x``` there."
        with pytest.raises(RefusalError, match="empty"):
            model.ask(Request("質問"))


def test_a_server_that_the_variable_names_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with OwnServer(VLLM, lambda asked: "はい") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert registry.model("openai:m").ask(Request("質問")).text == "はい"
        assert server.asked[0].key == "none"
        with pytest.raises(SettingsError, match="expected a key in LAB_KEY"):
            registry.model("openai:m?key_variable=LAB_KEY").ask(Request("質問"))


def test_a_chat_falls_back_too() -> None:
    """Streamed, as an examiner asks; the fake does not stream, so only what it is asked is looked at."""
    from fdbcore.types.chat import ChatMessage

    with OwnServer(VLLM, lambda asked: Fails(404, "no stream")) as server:
        chat = registry.chat(server.address_of("openai:m"))
        with pytest.raises(PartyError):
            list(chat.answer([ChatMessage("user", "質問")], schema=SCHEMA))
    assert server.forms == ["json_schema", "json_object"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("<think>A request.</think>\n\nYes, a < b.", "Yes, a < b."),
        (" <think>\n</think>Yes.", "Yes."),
        ("<thin ice>", "<thin ice>"),
        ("I <think> so.</think> Yes.", "I <think> so.</think> Yes."),
        ("Yes.", "Yes."),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_streamed_answer_begins_after_the_thought(
    answer: str, said: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the server cuts it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    pieces = [answer[start : start + size] for start in range(0, len(answer), size)]
    with FakeChat([Turn(pieces=pieces)]) as server:
        chat = registry.chat(f"openai:qwen3?{server.settings}")
        parts = list(chat.answer([ChatMessage("user", "Hello.")]))
    assert "".join(part for part in parts if isinstance(part, str)) == said
