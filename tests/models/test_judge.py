"""A language model as a judge, at fake vendors."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import FakeModelServer

from fdbcore import registry
from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols import Judge
from fdbcore.types import Rubric

pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
pytest.importorskip("google.genai", reason="needs the SDK of Gemini (pip install 'fdbcore[judge]')")

POLITE: Final = Rubric(
    "polite",
    "How polite is the reply, from 1 to 5?",
    {
        "type": "object",
        "properties": {"polite": {"type": "integer"}},
        "required": ["polite"],
        "additionalProperties": False,
    },
)
EVIDENCE: Final = {"user": "電気つけて。", "reply": "はい、つけました。"}


@pytest.mark.parametrize(("server", "vendor"), [(FakeOpenAI, "openai"), (FakeGemini, "gemini")])
def test_a_judge_is_found_by_its_address_and_scores_by_the_rubric(
    server: type[FakeModelServer], vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(server.VARIABLE, server.KEY)
    with server(lambda asked: '{"polite": 4}') as fake:
        judge = registry.judge(fake.address_of(f"{vendor}:marker"))
        assert judge.score(POLITE, EVIDENCE) == {"polite": 4}
        (asked,) = fake.asked
    assert (judge.name, asked.system) == (f"{vendor}:marker at {fake.base_url}", POLITE.text)
    assert all(text in asked.user for text in EVIDENCE.values())
    assert asked.schema is not None
    assert server.KEY not in str(judge.describe())


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("four", "expected a JSON object, got 'four'"),
        ("[4]", r"expected a JSON object, got '\[4\]'"),
        ("{}", "expected 'polite', got nothing"),
        ('{"rude": 1}', "expected 'polite', got rude"),
    ],
)
def test_scores_that_cannot_be_used_are_named(answer: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    with FakeOpenAI(lambda asked: answer) as fake:
        judge = registry.judge(fake.address_of("openai:marker"))
        with pytest.raises(InputError, match=f"openai:marker: polite: {reason}"):
            judge.score(POLITE, EVIDENCE)


@pytest.mark.parametrize(("server", "vendor"), [(FakeOpenAI, "openai"), (FakeGemini, "gemini")])
def test_a_judge_is_sent_a_low_temperature_or_another_or_none(
    server: type[FakeModelServer], vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(server.VARIABLE, server.KEY)
    described, counted = [], []
    with server(lambda asked: '{"polite": 4}') as fake:
        for setting in ("", "&temperature=0", "&temperature=2", "&temperature=default"):
            judge = registry.judge(fake.address_of(f"{vendor}:marker") + setting)
            judge.score(POLITE, EVIDENCE)
            described.append(judge.describe().get("temperature"))
            counted += [usage.temperature for usage in judge.counted()]
    assert [asked.temperature for asked in fake.asked] == described == counted == [0.2, 0, 2, None]


def test_a_model_that_takes_no_temperature_is_asked_without_one_which_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    with FakeOpenAI(lambda asked: '{"polite": 4}') as fake:
        judge = registry.judge(fake.address_of("openai:gpt-5-nano"))
        about = judge.describe()
        assert [judge.score(POLITE, EVIDENCE) for _ in range(2)] == [{"polite": 4}] * 2
    assert [asked.temperature for asked in fake.asked] == [None, None]
    assert len(fake.headers) == 3, "it is tried once"
    assert [usage.temperature for usage in judge.counted()] == [None, None]
    assert judge.describe() == about, "kept answers go by what was asked for"


@pytest.mark.parametrize("given", ["2.1", "-0.1", "nan", "cold", ""])
def test_a_temperature_is_a_number_from_0_to_2(given: str) -> None:
    with pytest.raises(SettingsError, match="openai: temperature: expected a number from 0 to 2, or default, got"):
        registry.judge(f"openai:marker?temperature={given}")


def test_an_unknown_judge_is_named() -> None:
    with pytest.raises(SettingsError, match="judge: expected one of gemini, openai, openai-decisions, got 'nobody'"):
        registry.judge("nobody:x")


def test_a_judge_of_the_earlier_name_works_for_one_release_and_says_so() -> None:
    with pytest.warns(FutureWarning, match=r"^Earlier\.mark is called score now$"):

        class Earlier(Judge):
            name = "earlier:one"

            def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
                return {"polite": len(evidence["reply"])}

            def describe(self) -> Mapping[str, Any]:
                return {}

    class Present(Earlier):
        def score(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"polite": 1}

        mark = Judge.mark

    earlier = Earlier()  # type: ignore[abstract]
    assert earlier.score(POLITE, EVIDENCE) == earlier.mark(POLITE, EVIDENCE) == {"polite": 9}
    with pytest.warns(FutureWarning, match=r"^Present\.mark is called score now$"):
        assert Present().mark(POLITE, EVIDENCE) == {"polite": 1}
