"""Gemini and OpenAI as models, over the sockets of servers that speak their protocols."""

import io
import os
import subprocess
import sys
import threading
import time
import wave
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import (
    NEEDS_GEMINI,
    NEEDS_OPENAI,
    Answer,
    Asked,
    Broken,
    Drops,
    Fails,
    FakeModelServer,
    Moves,
    Refuses,
    Says,
)
from helpers.patience import PATIENCE_S

from fdbcore import registry
from fdbcore.errors import FdbError, PartyError, RefusalError, SettingsError
from fdbcore.models.vendor import ATTEMPTS, VendorModel
from fdbcore.protocols import Model
from fdbcore.runtime.waits import Wait, watching_waits
from fdbcore.types import Reply, Request

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL")


@dataclass(frozen=True)
class Vendor:
    """One vendor: the class of its server, where its key is, and a model of it."""

    name: str
    server: type[FakeModelServer]
    variable: str
    model: str

    def at(self, server: FakeModelServer, timeout_s: float = VendorModel.timeout_s) -> VendorModel:
        from fdbcore.models.gemini import GeminiModel
        from fdbcore.models.openai import OpenAIModel

        kind = {"gemini": GeminiModel, "openai": OpenAIModel}[self.name]
        made: VendorModel = kind(self.model, server.base_url, self.variable)
        if isinstance(made, GeminiModel):
            made.backoff_s = 0.01
        made.timeout_s = timeout_s
        return made


def failed(model: Model, told: str = "", kind: type[FdbError] = PartyError) -> Any:
    """The error of a request, in one line that tells this."""
    with pytest.raises(kind, match=told or None) as raised:
        model.ask(Request("質問"))
    assert "\n" not in str(raised.value)
    return raised.value


GEMINI = Vendor("gemini", FakeGemini, "GEMINI_API_KEY", "gemini-2.5-flash")
OPENAI = Vendor("openai", FakeOpenAI, "OPENAI_API_KEY", "gpt-5-nano")

Serve = Callable[..., FakeModelServer]


@pytest.fixture(params=[GEMINI, OPENAI], ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Vendor:
    chosen: Vendor = request.param
    for variable in KEYS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(chosen.variable, chosen.server.KEY)
    return chosen


@pytest.fixture
def serve(vendor: Vendor) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(answers: Callable[[Asked], Answer] | Iterable[Answer], **settings: Any) -> FakeModelServer:
            return stack.enter_context(vendor.server(answers, **settings))

        yield start


def a_wav() -> bytes:
    """0.1 s, whose bytes need all of base64's alphabet."""
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setparams((1, 2, 24_000, 0, "NONE", ""))
        wav.writeframes(bytes(range(256)) * 18)
    return file.getvalue()


def test_all_of_a_request_arrives_and_all_of_the_answer_comes_back(vendor: Vendor, serve: Serve) -> None:
    server = serve([Says('{"a": 1}', tokens_in=7, tokens_out=5, thinking=30)])
    request = Request("質問", "指示", a_wav(), SCHEMA, seed=5, temperature=1)
    reply = vendor.at(server).ask(request)
    version = {"gemini": "gemini-2.5-flash-001", "openai": "gpt-5-nano-2025-08-07"}[vendor.name]
    assert reply == Reply('{"a": 1}', version, 7, 35)
    (asked,) = server.asked
    assert (asked.user, asked.system, asked.wav, asked.schema) == ("質問", "指示", a_wav(), SCHEMA)
    assert (asked.seed, asked.temperature, asked.model) == (5, 1, vendor.model)


def test_what_a_request_leaves_open_is_left_to_the_vendor(vendor: Vendor, serve: Serve) -> None:
    server = serve(["はい"])
    vendor.at(server).ask(Request("質問"))
    vendor_key = {"gemini": "contents", "openai": "messages"}[vendor.name]
    assert set(server.asked[0].body) <= {vendor_key, "model", "generationConfig"}
    assert not server.asked[0].body.get("generationConfig")


def test_a_recorded_user_needs_no_words_beside_it(vendor: Vendor, serve: Serve) -> None:
    server = serve(["はい"])
    vendor.at(server).ask(Request("", wav=a_wav()))
    assert (server.asked[0].user, server.asked[0].wav) == ("", a_wav())


def test_threads_share_a_model(vendor: Vendor, serve: Serve) -> None:
    together = threading.Barrier(4, timeout=PATIENCE_S)

    def answer(asked: Asked) -> str:
        together.wait()
        return asked.user

    model = vendor.at(serve(answer))
    with ThreadPoolExecutor(4) as pool:
        replies = pool.map(lambda text: model.ask(Request(text)).text, "あいうえ")
    assert list(replies) == ["あ", "い", "う", "え"]


def test_the_registry_makes_models_that_contact_nobody_and_tell_no_secret(vendor: Vendor) -> None:
    model = registry.model(f"{vendor.name}:x?base_url=http://user:hunter2@127.0.0.1:9/v1?key=hunter2")
    assert model.name == f"{vendor.name}:x"
    described = model.describe()
    assert described["server"] == "http://127.0.0.1:9/v1"
    assert "hunter2" not in str(described)


@pytest.mark.parametrize("address", ["gemini:", "openai: "])
def test_a_model_needs_a_name(address: str) -> None:
    with pytest.raises(SettingsError, match="no name"):
        registry.model(address)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ws://127.0.0.1", "http://", "http://x:port", "http://[x"])
def test_a_server_needs_an_http_address(vendor: Vendor, url: str) -> None:
    with pytest.raises(SettingsError, match="expected http"):
        registry.model(f"{vendor.name}:x?base_url={url}")


def test_a_key_that_no_header_can_hold_is_told(vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vendor.variable, "ひみつのあいことば")
    error = failed(vendor.at(serve([])), f"ASCII characters in {vendor.variable}", SettingsError)
    assert "ひみつのあいことば" not in str(error)


@pytest.mark.parametrize("passing", [Fails(429, retry_after_s=0.05), Fails(503, retry_after_s=0.05), Drops()])
def test_what_passes_is_asked_again(vendor: Vendor, serve: Serve, passing: Answer) -> None:
    server = serve([passing, passing, "はい"])
    assert vendor.at(server).ask(Request("質問")).text == "はい"
    assert len(server.asked) == 3


def test_a_request_waits_as_long_as_the_server_asks(vendor: Vendor, serve: Serve) -> None:
    asked_s: list[float] = []
    waits: list[Wait] = []

    def answer(asked: Asked) -> Answer:
        asked_s.append(time.monotonic())
        return "はい" if asked.number else Fails(429, retry_after_s=1.0)

    with watching_waits(waits.append):
        vendor.at(serve(answer)).ask(Request("質問"))
    first_s, second_s = asked_s
    assert second_s - first_s >= 1.0  # the backoff of its own would be over by far
    assert [(wait.reason, wait.wait_s) for wait in waits] == [("429", 1.0)]


def test_a_wait_too_long_is_not_waited(vendor: Vendor, serve: Serve) -> None:
    server = serve([Fails(429, retry_after_s=3600), "はい"])
    waits: list[Wait] = []
    with watching_waits(waits.append):
        assert failed(vendor.at(server), "too many requests").transient
    assert not waits
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_does_not_pass_is_a_transient_error(vendor: Vendor, serve: Serve, status: int) -> None:
    server = serve([Fails(status, "Slow down, please.", retry_after_s=0.01)] * ATTEMPTS)
    error = failed(vendor.at(server), "Slow down, please")
    assert error.transient
    assert not isinstance(error, RefusalError)
    assert len(server.asked) == ATTEMPTS


def test_a_missing_key_is_named(vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(vendor.variable)
    server = serve([])
    failed(vendor.at(server), f"expected a key in .*{vendor.variable}", SettingsError)
    assert server.asked == []


def test_gemini_takes_both_variables_in_the_order_of_its_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", FakeGemini.KEY)
    monkeypatch.setenv("GEMINI_API_KEY", "another key")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with FakeGemini(["はい"]) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        assert registry.model("gemini:gemini-2.5-flash").ask(Request("質問")).text == "はい"


def test_another_server_is_never_sent_the_key_of_the_vendor(vendor: Vendor, serve: Serve) -> None:
    server = serve([])
    model = registry.model(f"{vendor.name}:{vendor.model}?base_url={server.base_url}")
    assert not failed(model, r"a request without a key \(key_variable=VARIABLE").transient
    assert {key_of(headers) for headers in server.headers} == {"none"}


def test_each_server_gets_its_own_key_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    monkeypatch.setenv("GEMINI_API_KEY", FakeGemini.KEY)
    monkeypatch.setenv("THIRD_ACCESS", "sk-of-the-third-server")
    with FakeOpenAI(["a"]) as first, FakeGemini(["b"]) as second, FakeOpenAI([]) as third:
        assert registry.model(first.address_of("openai:x")).ask(Request("質問")).text == "a"
        assert registry.model(second.address_of("gemini:x")).ask(Request("質問")).text == "b"
        with pytest.raises(PartyError, match="does not take the key in THIRD_ACCESS"):
            registry.model(f"openai:x?base_url={third.base_url}&key_variable=THIRD_ACCESS").ask(Request("質問"))
    got = [{key_of(headers) for headers in server.headers} for server in (first, second, third)]
    assert got == [{FakeOpenAI.KEY}, {FakeGemini.KEY}, {"sk-of-the-third-server"}]


def test_a_key_follows_no_redirect(vendor: Vendor, serve: Serve) -> None:
    other = serve(["はい"])
    with vendor.server([Moves(other.address)] * ATTEMPTS) as server:
        with pytest.raises(PartyError, match="307"):
            vendor.at(server).ask(Request("質問"))
    assert other.headers == []


def test_a_key_that_is_too_short_to_be_kept_out_of_texts_is_refused(
    vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(vendor.variable, "sk-1234")
    server = serve([])
    failed(vendor.at(server), f"{vendor.variable}: expected a secret of at least 8 characters, got 7", SettingsError)
    assert server.headers == []


def test_a_reply_that_quotes_the_key_is_taken_without_it(vendor: Vendor, serve: Serve) -> None:
    server = serve([Says(f"your key is {vendor.server.KEY}!")])
    assert vendor.at(server).ask(Request("質問")).text == "your key is ***!"


def test_a_wrong_key_is_told_without_it(vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "sk-proj-verysecret0123456789verysecret"
    monkeypatch.setenv(vendor.variable, wrong)
    error = failed(vendor.at(serve([])), "does not take the key in .*" + vendor.variable)
    assert not error.transient
    assert not shares(str(error), wrong)


@pytest.mark.parametrize("status", [400, 403, 429, 500])
def test_no_error_holds_the_key_or_a_part_of_it(vendor: Vendor, serve: Serve, status: int) -> None:
    key = vendor.server.KEY
    echo = f"Key {key} (that is {key[:8]}****{key[-4:]}, or ...{key[-10:]}) is\nnot welcome"
    server = serve([Fails(status, echo, retry_after_s=0.01)] * ATTEMPTS)
    error = failed(vendor.at(server), "welcome")
    assert not shares(str(error), key)
    assert error.__suppress_context__


def test_an_unknown_model_is_named(vendor: Vendor, serve: Serve) -> None:
    server = serve([], models=["another"])
    assert not failed(vendor.at(server), f"has no such model: .*{vendor.model}").transient


def test_no_answer_in_time(vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fdbcore.models.vendor.ATTEMPTS", 1)
    assert failed(vendor.at(serve([Drops(after_s=30)]), timeout_s=0.2), r"no answer within 0\.2 s").transient


def test_nobody_there(vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fdbcore.models.vendor.ATTEMPTS", 1)
    model = registry.model(f"{vendor.name}:x?base_url=http://127.0.0.1:1")
    assert failed(model, r"cannot be reached: .*refused").transient


NO_ANSWERS = (
    '{"candidates": [{"con',
    "<html>busy</html>",
    "null",
    '"text"',
    "[]",
    "{}",
    '{"choices": [], "candidates": []}',
    '{"choices": [{}], "candidates": [{}]}',
    '{"choices": [5], "candidates": [5]}',
    '{"choices": 5, "candidates": 5}',
)


@pytest.mark.parametrize("body", NO_ANSWERS)
def test_an_answer_that_is_not_one(vendor: Vendor, serve: Serve, body: str) -> None:
    failed(vendor.at(serve([Broken(body)])))


@pytest.mark.parametrize("body", ["<html>\nNot Found</html>", '"no"', '{"error": "no"}', "[]", "null", ""])
def test_an_error_that_is_not_the_vendors(vendor: Vendor, serve: Serve, body: str) -> None:
    failed(vendor.at(serve([Broken(body, 404)])), "no such model")


@pytest.mark.parametrize(
    ("vendor", "how", "told"),
    [
        (GEMINI, "blocked", "PROHIBITED_CONTENT"),
        (GEMINI, "SAFETY", "SAFETY"),
        (GEMINI, "RECITATION", "RECITATION"),
        (GEMINI, "empty", "empty"),
        (OPENAI, "refusal", "I'm sorry, I can't assist"),
        (OPENAI, "content_filter", "content_filter"),
    ],
    indirect=["vendor"],
)
def test_a_refusal_is_told_and_not_asked_again(vendor: Vendor, serve: Serve, how: str, told: str) -> None:
    server = serve([Refuses(how), "はい"])
    assert not failed(vendor.at(server), told, RefusalError).transient
    assert len(server.asked) == 1


def test_an_answer_without_candidates_is_a_refusal() -> None:
    with FakeGemini([Broken('{"modelVersion": "x"}')]) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMINI_API_KEY", server.KEY)
        with pytest.raises(RefusalError, match="no candidates"):
            GEMINI.at(server).ask(Request("質問"))


def test_an_answer_that_was_cut_off_is_none(vendor: Vendor, serve: Serve) -> None:
    failed(vendor.at(serve([Says('{"a": ', cut=True)])), "cut off at its limit of tokens", RefusalError)


@pytest.mark.parametrize("vendor", [OPENAI], indirect=True)
def test_a_seed_that_the_model_does_not_take_is_left_out_and_told(vendor: Vendor, serve: Serve) -> None:
    unsupported = Fails(400, "Unsupported parameter: 'seed'", "unsupported_parameter", "seed")
    server = serve(lambda asked: "はい" if asked.seed is None else unsupported)
    model = vendor.at(server)
    assert "ignores" not in model.describe()
    assert [model.ask(Request("質問", seed=seed)).text for seed in (1, 2)] == ["はい", "はい"]
    assert [asked.seed for asked in server.asked] == [1, None, None]
    assert model.describe()["ignores"] == ["seed"]


@pytest.mark.parametrize("vendor", [OPENAI], indirect=True)
def test_a_used_up_quota_does_not_pass(vendor: Vendor, serve: Serve) -> None:
    server = serve(
        [Fails(429, "You exceeded your current quota.", "insufficient_quota", retry_after_s=0.01)] * ATTEMPTS
    )
    assert not failed(vendor.at(server), "quota").transient


@pytest.mark.parametrize("vendor", [OPENAI], indirect=True)
def test_audio_models_are_asked_for_text(vendor: Vendor, serve: Serve) -> None:
    server = serve(["はい"])
    registry.model(server.address_of("openai:gpt-4o-audio-preview")).ask(Request("質問", wav=a_wav()))
    assert server.asked[0].body["modalities"] == ["text"]


def test_without_the_sdk_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["openai"] = sys.modules["google.genai"] = None
from fdbcore import registry
from fdbcore.errors import MissingExtraError
for address in ("openai:x", "gemini:x"):
    try:
        registry.model(address)
    except MissingExtraError as error:
        print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.count("pip install 'fdbcore[judge]'") == 2


pytestmark = [NEEDS_OPENAI, NEEDS_GEMINI]


def test_importing_the_models_loads_no_sdk() -> None:
    code = "import sys, fdbcore.models.gemini, fdbcore.models.openai; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert set(loaded.stdout.split()) & {"openai", "google.genai", "httpx2", "tenacity"} == set()


def key_of(headers: Mapping[str, str]) -> str:
    """As either vendor's header has it."""
    return headers.get("x-goog-api-key") or headers["authorization"].removeprefix("Bearer ")


def shares(text: str, key: str, size: int = 6) -> bool:
    """Whether `size` characters of the key, in a row, are in the text."""
    return any(key[start : start + size] in text for start in range(len(key) - size + 1))
