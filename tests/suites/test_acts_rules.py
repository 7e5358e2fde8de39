"""Whoever makes a set, replies to it and annotates replies is told the same, in the language of the set."""

import json
import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import Result
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked
from fakes.run_parties import install
from fakes.writers import record, steps
from helpers.commands import command, done
from helpers.talker import TALKER

from fdbcore.errors import SettingsError
from fdbcore.protocols import Transcriber
from fdbcore.suites.dialogue_acts.models.annotate import AnnotatedWith, all_took
from fdbcore.suites.dialogue_acts.replies import Hearing, responses_of
from fdbcore.suites.dialogue_acts.writing.speak import default_speaker

pytestmark = [NEEDS_OPENAI]

RULES = "OUR RULES of the seven acts"
ENGLISH = {
    "acts.en.txt": RULES,
    "system.en.txt": "Write a record.\n$acts\n$examples",
    "task.en.txt": "About $topic: $instruction",
    "annotate.en.txt": "ANNOTATE by\n$acts\nsituation $background, user $user, reply $reply",
    "again.en.txt": "You wrote $previous, which is wrong: $error",
    "respond_system.en.txt": "You are OUR assistant.",
    "topics.en.txt": "timer\tset a timer\n",
}


def answer(asked: Asked) -> str:
    if asked.wav is not None:
        return "Ten minutes, starting now."
    if asked.user.startswith(("ANNOTATE", "OTHER")):
        return json.dumps(steps())
    told = record(f"Set a timer number {asked.seed}", reply="The timer is set.")
    told["scenario_context"]["background"] = "The user cooks."
    told["input"]["locale"] = "en-US"
    return json.dumps(told)


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompts")
    for name, text in {**ENGLISH, "examples.en.json": "[]"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with pytest.MonkeyPatch.context() as patched, FakeOpenAI(answer) as server:
        patched.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
        yield server


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, server: FakeOpenAI, prompts: Path) -> Path:
    """A run on an English set that was made by prompts of our own."""
    folder = tmp_path_factory.mktemp("english")
    given = ["--locale", "en-US", "--prompts", prompts, "--topics", prompts / "topics.en.txt"]
    done("dataset", "generate", "--model", server.address_of("openai:m"), "-n", 1, *given, "--out", folder / "s")
    done("dataset", "speak", folder / "s", "--tts", f"exec:{TALKER}")
    hold(folder / "s", server, folder / "run", "--locale", "en-US", "--prompts", prompts, code=0)
    return folder / "run"


def hold(data: Path, server: FakeOpenAI, out: Path, *arguments: object, code: int | None = None) -> Result:
    given = ["--data", data, "--system", f"o={server.address_of('openai-chat:a')}", "--clock", "virtual"]
    return command(
        "run", "--suite", "dialogue-acts", *given, "--vad", "energy", "--out", out, "--quiet", *arguments, code=code
    )


def score(run: Path, server: FakeOpenAI, out: Path, *arguments: object, code: int | None = None) -> Result:
    annotator = server.address_of("openai:m")
    return command(
        "score", "--suite", "dialogue-acts", run, "--annotator", annotator, *arguments, "--out", out, code=code
    )


def test_an_english_set_is_answered_and_annotated_in_english(run: Path, server: FakeOpenAI, tmp_path: Path) -> None:
    (heard,) = [asked for asked in server.asked if asked.wav is not None]
    packaged = files("fdbcore.suites.dialogue_acts") / "data" / "respond_user.en.txt"
    assert (heard.system, heard.user) == ("You are OUR assistant.", packaged.read_text(encoding="utf-8").strip())
    before = len(server.asked)
    result = score(run, server, tmp_path / "out", code=0)
    for asked in server.asked[before:]:
        assert asked.user.startswith("ANNOTATE by\nOUR RULES")
    content = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    (used,) = content["settings"]["annotated_with"]
    made = json.loads((run.parent / "s" / "generate.json").read_text(encoding="utf-8"))
    assert (used["locale"], used["acts"], used["answers"]) == ("en-US", made["settings"]["acts"], 2)
    assert (used["tokens_in"], used["tokens_out"], sum(used["models"].values())) == (200, 40, 2)
    assert used["server"].startswith("http://127.0.0.1")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert used["rules"] in page
    assert "200 tokens in, 40 out, 0.00 USD" in result.stderr, "it is on this machine"


def test_run_and_score_refuse_what_differs_from_the_set(
    run: Path, server: FakeOpenAI, prompts: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(prompts, tmp_path / "other")
    (other / "acts.en.txt").write_text("OTHER RULES", encoding="utf-8")
    before = len(server.asked)
    for told, given in (
        ("s: expected the rules of the acts that it was made by", ("--prompts", other)),
        ("--locale: expected that of the records of s, en-US, got ja-JP", ("--locale", "ja-JP")),
    ):
        for result in (
            hold(run.parent / "s", server, tmp_path / "run", *given),
            score(run, server, tmp_path / "o", *given),
        ):
            assert result.exit_code == 2, result.output
            assert told in " ".join(result.stderr.split())
    assert len(server.asked) == before
    assert score(run, server, tmp_path / "out", "--locale", "en-US", "--prompts", prompts).exit_code == 0


def test_a_system_is_asked_by_the_prompts_of_the_run(
    run: Path, server: FakeOpenAI, prompts: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(prompts, tmp_path / "other")
    (other / "respond_system.en.txt").write_text("You are ANOTHER assistant.", encoding="utf-8")
    before = len(server.asked)
    assert hold(run.parent / "s", server, tmp_path / "run", "--prompts", other).exit_code == 0
    assert [asked.system for asked in server.asked[before:]] == ["You are ANOTHER assistant."]
    assert (tmp_path / "run" / "prompts" / "respond_system.en.txt").read_text() == "You are ANOTHER assistant."


def test_english_needs_no_prompts_of_ones_own(server: FakeOpenAI, tmp_path: Path) -> None:
    before = len(server.asked)
    given = ["--locale", "en-US", "-n", 1, "--out", tmp_path / "s"]
    done("dataset", "generate", "--model", server.address_of("openai:m"), *given)
    (asked,) = server.asked[before:]
    assert "Check-Question" in asked.system
    assert (asked.system + asked.user).isascii()
    assert (default_speaker("en-US"), default_speaker("ja-JP")) == ("hibari", "open-jtalk")
    with pytest.raises(SettingsError, match="--tts: expected a speaker of fr-FR"):
        default_speaker("fr-FR")


def test_an_annotation_by_other_rules_is_made_anew(
    run: Path, server: FakeOpenAI, prompts: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(prompts, tmp_path / "other")
    (other / "annotate.en.txt").write_text("OTHER way: $acts $background $user $reply", encoding="utf-8")
    assert score(run, server, tmp_path / "first").exit_code == 0
    replies: list[Any] = [tmp_path / "first" / "annotations.jsonl", "--references", run.parent / "s"]
    before = len(server.asked)
    result = score(replies[0], server, tmp_path / "same", *replies[1:])
    assert (result.exit_code, len(server.asked)) == (0, before), result.output
    result = score(replies[0], server, tmp_path / "new", *replies[1:], "--prompts", other, code=0)
    assert [asked.user.partition(":")[0] for asked in server.asked[before:]] == ["OTHER way"] * 2
    lines = (tmp_path / "new" / "annotations.jsonl").read_text(encoding="utf-8").splitlines()
    assert [len(json.loads(line)["annotations"]) for line in lines] == [1, 1]


def test_a_transcriber_is_told_the_language_of_the_set(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hears(Transcriber):
        name = "hears"
        languages: ClassVar[list[str]] = []

        def transcribe(self, wav: bytes, language: str) -> str:
            self.languages.append(language)
            return "Yes."

    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    spoken = ["--data", f"{run.parent / 's'}?tail_s=3", "--system", "fake:?speak=200-300", "--out", tmp_path / "live"]
    command("run", "--suite", "dialogue-acts", "--vad", "energy", "--clock", "virtual", *spoken)
    hears = Hears()
    responses_of(tmp_path / "live", Hearing(hears))
    assert hears.languages == ["en"]


def test_whoever_writes_and_annotates_shows_when_the_model_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    ends = r"gpt-4o (ends in \d+ days? \(2027-01-14\)|gone since 2027-01-14)"
    made = command("dataset", "generate", "--model", "openai:gpt-4o", "-n", 1, "--out", tmp_path / "s")
    assert made.exit_code == 2, made.output  # as there is no key
    assert re.search(ends, made.stderr)
    for also in ([], ["--dry-run"]):
        result = command("score", "--suite", "dialogue-acts", "--annotator", "openai:gpt-4o", *also)
        assert re.search(ends, result.output), result.output
    assert re.search(ends, result.stdout)


def test_what_several_sets_cost_is_summed() -> None:
    def took(name: str, usd: float | None) -> AnnotatedWith:
        return {
            "set": name, "annotator": "openai:m", "locale": "ja-JP", "acts": "a", "rules": "r", "server": None,
            "sdk": None, "models": {"m-1": 2}, "answers": 2, "refusals": 0, "tokens_in": 1000, "tokens_out": 10,
            "usd": usd,
        }  # fmt: skip

    assert all_took([took("one", 0.25)]) == ["one: 2 answers of m-1 by rules r: 1,000 tokens in, 10 out, 0.25 USD"]
    assert all_took([took("one", 0.25), took("two", 0.5)])[2] == "in all 4 answers: 2,000 tokens in, 20 out, 0.75 USD"
    assert all_took([took("one", 0.25), took("two", None)])[2].endswith("20 out, 0.25 USD, without 1 unpriced")
    assert all_took([took("one", None), took("two", None)])[2].endswith("20 out, unpriced")
