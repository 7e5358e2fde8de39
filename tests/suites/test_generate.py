"""Records by a language model: checks, corrections, near-duplicates, and that nothing done is lost or done twice."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Answer, Asked, Broken, Fails, Refuses, Says
from fakes.writers import good, record, words
from hypothesis import given
from hypothesis import strategies as st

from fdbcore import registry
from fdbcore.errors import InputError, PartyError, RecordingError, SettingsError
from fdbcore.models.vendor import ATTEMPTS
from fdbcore.suites.dialogue_acts.models.asking import MOST_ASKED
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, Topic
from fdbcore.suites.dialogue_acts.records import read_records
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.suites.dialogue_acts.sets import GENERATED as SETTINGS
from fdbcore.suites.dialogue_acts.sets import RECORDS
from fdbcore.suites.dialogue_acts.writing.generate import (
    DROPPED,
    NEAR_DUPLICATE,
    REPLIES,
    GenerationPlan,
    GenerationProgress,
    SeenRequests,
    check_record,
    generate,
)

pytestmark = [NEEDS_OPENAI]


TOPICS = (Topic("timer", "タイマーをかける"), Topic("timer", "タイマーを止める"), Topic("weather", "天気を尋ねる"))
Answers = Callable[[Asked], Answer]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)


class Maker:
    """Generates against one server."""

    def __init__(self, server: FakeOpenAI, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def __call__(self, n: int, jobs: int = 1, **changes: Any) -> GenerationProgress:
        plan = GenerationPlan(n, changes.pop("topics", TOPICS), Prompts(), changes.pop("seed", 100))
        model = registry.model(self.server.address_of(changes.pop("model", "openai:writer")))
        return generate(plan, model, changes.pop("folder", self.folder), jobs, **changes)

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.folder / SETTINGS).read_text())
        return told


@pytest.fixture
def serving(tmp_path: Path) -> Callable[[Answers], Any]:
    @contextmanager
    def start(answers: Answers) -> Iterator[Maker]:
        with FakeOpenAI(answers) as server:
            yield Maker(server, tmp_path / "set")

    return start


Serving = Callable[[Answers], Any]


def test_good_records_are_kept_with_ids_by_topic(serving: Serving) -> None:
    with serving(good) as make:
        progress = make(5)
        asked = make.server.asked
    ids = ["set-timer-001", "set-weather-001", "set-timer-002", "set-timer-003", "set-weather-002"]
    assert [item.id for item in progress.records] == ids
    assert [item.seed for item in asked] == [100, 101, 102, 103, 104]
    found, problems = read_records(make.folder / RECORDS)
    assert (found, problems) == (progress.records, [])
    assert {item.generator for item in found} == {"openai:writer"}
    assert [item.user_text for item in found] == [words(seed) for seed in range(100, 105)]
    assert make.lines(DROPPED) == []
    assert (make.summary["complete"], make.summary["records"]) == (True, 5)


def test_the_model_is_told_all_rules_and_the_schema(serving: Serving) -> None:
    with serving(good) as make:
        make(2)
        first, second = make.server.asked
    assert all(act in first.system for act in ACTS)
    assert "タイマーをかける" in first.user
    assert "天気を尋ねる" in second.user
    assert "$" not in first.system + first.user
    assert first.schema is not None
    assert set(first.schema["required"]) == {"scenario_context", "input", "output", "output_dialogue_acts"}


def wrong(**changes: Any) -> dict[str, Any]:
    return record(words(1)) | changes


WRONG: Mapping[str, tuple[str, str]] = {
    "no JSON": ("わかりました。", "JSON"),
    "NaN": (json.dumps(record(words(1), [("Answer", float("nan")), ("Inform", 1.0)])), "JSON"),
    "half a surrogate pair": (json.dumps(record("\ud800" + words(1))), "JSON"),
    "a list": (json.dumps([record(words(1))]), "expected an object"),
    "a key missing": (json.dumps({"input": {}}), "keys"),
    "a key too many": (json.dumps(wrong(note="x")), "keys"),
    "no text": (json.dumps(wrong(output={"role": "ASSISTANT", "text": " "})), "text"),
    "roles swapped": (json.dumps(wrong(output={"role": "USER", "text": "はい。"})), "output.role"),
    "unknown act": (json.dumps(record(words(1), [("Thanking", 1.0)])), "act 0"),
    "sum off": (json.dumps(record(words(1), [("Answer", 0.6), ("Inform", 0.5)])), "sum to 1"),
    "no acts": (json.dumps(record(words(1), [])), "at least one"),
    "one act is all": (json.dumps(record(words(1), [("Answer", 1), ("Inform", 0)])), "below 1"),
    "negative": (json.dumps(record(words(1), [("Answer", 1.2), ("Inform", -0.2)])), "act 0"),
    "several turns": (json.dumps(record("ユーザー：" + words(1))), "single turn"),
    "a dialogue": (
        json.dumps(record(words(1), reply="はい。\nユーザー: ありがとう。\nアシスタント: いいえ。")),
        "single turn",
    ),
    "English": (json.dumps(record("Set a timer for ten minutes, please.")), "Japanese"),
    "Chinese": (json.dumps(record(words(1), reply="好的，已经为您设置了十分钟的计时器。")), "Japanese"),
    "another locale": (json.dumps(wrong(input={"role": "USER", "text": words(1), "locale": "en-US"})), "locale"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_what_is_wrong_goes_back_to_the_model(serving: Serving, name: str) -> None:
    text, told = WRONG[name]
    with serving(lambda asked: text if asked.number == 0 else good(asked)) as make:
        progress = make(1)
        _, second = make.server.asked
    assert len(progress.records) == 1
    assert told in second.user
    if "\\ud800" not in text:
        assert text in second.user
    assert second.user.startswith(make.server.asked[0].user)


def test_what_stays_wrong_is_dropped_with_its_reason(serving: Serving) -> None:
    def answer(asked: Asked) -> str:
        return "いやです。" if "天気" in asked.user else good(asked)

    with serving(answer) as make:
        progress = make(3)
        seeds = [asked.seed for asked in make.server.asked]
    assert len(seeds) == len(set(seeds)) == 2 + MOST_ASKED
    assert [item.id for item in progress.records] == ["set-timer-001", "set-timer-002"]
    (dropped,) = make.lines(DROPPED)
    assert (dropped["id"], dropped["asked"], dropped["answer"]) == ("set-weather-001", MOST_ASKED, "いやです。")
    assert "JSON" in dropped["reason"]
    assert make.summary["dropped"] == {"refused": 0, "unusable": 1}
    assert make.summary["complete"]


def test_a_refusal_is_dropped_at_once(serving: Serving) -> None:
    with serving(lambda asked: Refuses("refusal") if asked.seed == 100 else good(asked)) as make:
        progress = make(2)
        assert len(make.server.asked) == 2
    assert [dropped["id"] for dropped in progress.dropped] == ["set-timer-001"]
    assert make.summary["dropped"] == {"refused": 1, "unusable": 0}


def test_importances_that_nearly_sum_to_1_are_scaled_and_noted(serving: Serving) -> None:
    with serving(lambda asked: json.dumps(record(words(1), [("Answer", 0.66), ("Inform", 0.335)]))) as make:
        progress = make(1)
    annotation = progress.records[0].references[0].annotation
    assert sum(step.importance for step in annotation.steps) == pytest.approx(1, abs=1e-12)
    assert make.summary["scaled"] == {"set-timer-001": 0.995}


def test_a_single_act_has_the_whole_importance(serving: Serving) -> None:
    with serving(lambda asked: json.dumps(record(words(1), [("Commissive", 1.0)]))) as make:
        assert len(make(1).records) == 1


def test_a_near_duplicate_goes_back_to_the_model(serving: Serving) -> None:
    def answer(asked: Asked) -> str:
        minutes = {100: 10, 101: 5}.get(asked.seed or 0)
        return json.dumps(record(f"{minutes}分のタイマーをセットして。")) if minutes else good(asked)

    with serving(answer) as make:
        progress = make(3)
        (again,) = [asked.user for asked in make.server.asked if "set-timer-001" in asked.user]
    assert [item.id for item in progress.records] == ["set-timer-001", "set-weather-001", "set-timer-002"]
    assert "10分のタイマーをセットして。" in again


def test_what_stays_a_near_duplicate_is_dropped(serving: Serving) -> None:
    with serving(lambda asked: json.dumps(record("毎朝七時に起こしてください。"))) as make:
        progress = make(2)
        assert len(make.server.asked) == 1 + MOST_ASKED
    assert [item.id for item in progress.records] == ["set-timer-001"]
    (dropped,) = make.lines(DROPPED)
    assert (dropped["id"], dropped["asked"]) == ("set-weather-001", MOST_ASKED)
    assert "set-timer-001" in dropped["reason"]


def test_an_example_is_not_to_be_copied(serving: Serving) -> None:
    example = Prompts().examples[0]["input"]["text"]
    with serving(lambda asked: json.dumps(record(example)) if asked.number == 0 else good(asked)) as make:
        make(1)
        assert "example 1" in make.server.asked[1].user


@given(st.text(alphabet="あいうえおアイウ東京10分５ａA、。 ", min_size=1, max_size=20), st.integers(0, 19))
def test_near_duplicates_are_those_that_share_most_bigrams(text: str, cut: int) -> None:
    seen = SeenRequests()
    seen.add("one", text)
    with pytest.raises(InputError, match="one"):
        seen.check(f"  {text}。")
    half = text[: cut % len(text)]
    naive = {*_pairs(half)}, {*_pairs(text)}
    if len(naive[0] & naive[1]) / len(naive[0] | naive[1]) < NEAR_DUPLICATE:
        seen.check(half)


def _pairs(text: str) -> list[str]:
    kept = [character for character in text.replace("５", "5").replace("ａ", "a").lower() if character.isalnum()]
    return [one + other for one, other in pairwise(kept)] or ["".join(kept)]


def mischief(asked: Asked) -> Answer:
    """Some of all that can be wrong, decided by what is asked alone."""
    first = "もう一度" not in asked.user
    kind = int(asked.user.split("問")[1].split("\n")[0]) % 7
    match kind:
        case 1 if first:
            return "{"
        case 2:
            return Refuses("content_filter")
        case 3:
            return "いいえ"
        case 4 if first:
            return json.dumps(record("毎朝七時に起こしてください。"), ensure_ascii=False)
        case 5 if first:
            return json.dumps(record("毎朝七時に起こしてね。"), ensure_ascii=False)
    return good(asked)


def test_what_is_written_does_not_depend_on_who_answers_first(tmp_path: Path) -> None:
    topics = tuple(Topic(f"topic{number % 5}", f"問{number}") for number in range(30))
    written = []
    for jobs in (1, 8):
        waiting = threading.Event()

        def answer(asked: Asked, jobs: int = jobs, waiting: threading.Event = waiting) -> Answer:
            if jobs > 1:
                waiting.wait(0.02 * (asked.number % 3))  # late ones overtake
            return mischief(asked)

        with FakeOpenAI(answer) as server:
            make = Maker(server, tmp_path / str(jobs) / "set")
            make(30, jobs=jobs, topics=topics)
        written.append([(make.folder / name).read_bytes() for name in (RECORDS, DROPPED)])
        assert make.summary["complete"]
    assert written[0] == written[1]
    assert [part.count(b"\n") for part in written[0]] == [22, 8]  # of each seven, two are refused or wrong to the end


def test_a_complete_set_asks_nothing_and_leaves_edited_records_alone(serving: Serving) -> None:
    with serving(good) as make:
        make(3)
        before = make.folder.joinpath(RECORDS).read_text()
        edited = before.replace("はい、", "ええ、")
        make.folder.joinpath(RECORDS).write_text(edited)
        progress = make(3)
        assert len(make.server.asked) == 3
    assert edited != before
    assert make.folder.joinpath(RECORDS).read_text() == edited
    assert progress.usage.tokens_in == 300


def test_more_records_can_be_added(serving: Serving) -> None:
    with serving(good) as make:
        make(2)
        first = make.folder.joinpath(RECORDS).read_text()
        make(4)
        assert len(make.server.asked) == 4
        with pytest.raises(SettingsError, match="at least the 4 records"):
            make(2)
    assert make.folder.joinpath(RECORDS).read_text().startswith(first)


@pytest.mark.parametrize(
    "change", [{"seed": 7}, {"model": "openai:another"}, {"topics": TOPICS[:2]}], ids=["seed", "model", "topics"]
)
def test_other_settings_are_refused(serving: Serving, change: dict[str, Any]) -> None:
    with serving(good) as make:
        make(1)
        with pytest.raises(SettingsError, match=next(iter(change))):
            make(1, **change)


def test_other_prompts_are_refused(serving: Serving, tmp_path: Path) -> None:
    (tmp_path / "task.ja.txt").write_text("話題: $topic\n指示: $instruction\n", encoding="utf-8")
    with serving(good) as make:
        make(1)
        plan = GenerationPlan(1, TOPICS, Prompts(folder=tmp_path), 100)
        with pytest.raises(SettingsError, match="prompts"):
            generate(plan, registry.model(make.server.address_of("openai:writer")), make.folder)


def test_a_folder_of_something_else_is_refused(serving: Serving) -> None:
    with serving(good) as make:
        make.folder.mkdir()
        (make.folder / "thesis.txt").touch()
        with pytest.raises(SettingsError, match="something else"):
            make(1)
        assert {path.name for path in make.folder.iterdir()} == {"thesis.txt"}


def test_two_processes_do_not_write_one_set(serving: Serving) -> None:
    with serving(good) as make:
        make(1)

        def another(progress: GenerationProgress) -> None:
            with pytest.raises(RecordingError, match="another process"):
                make(2)

        assert len(make(2, watch=another).records) == 2


def test_a_line_that_a_kill_cut_off_is_asked_for_again(serving: Serving) -> None:
    with serving(good) as make:
        make(3)
        whole = {name: (make.folder / name).read_bytes() for name in (REPLIES, RECORDS)}
        (make.folder / SETTINGS).write_text(json.dumps(make.summary | {"complete": False}))
        (make.folder / REPLIES).write_bytes(whole[REPLIES][:-20])
        make(3)
        assert len(make.server.asked) == 4
    assert {name: (make.folder / name).read_bytes() for name in whole} == whole


def test_a_wrong_key_ends_the_run_and_keeps_what_is_there(serving: Serving) -> None:
    locked = Fails(401, f"Incorrect API key provided: {FakeOpenAI.KEY}", "invalid_api_key")
    with serving(lambda asked: locked if asked.number == 2 else good(asked)) as make:
        with pytest.raises(PartyError, match="does not take the key"):
            make(5)
        assert len(make.lines(RECORDS)) == 2
        assert not make.summary["complete"]
        assert len(make(5).records) == 5
        assert len(make.server.asked) == 6
    for path in make.folder.iterdir():
        assert FakeOpenAI.KEY[:12] not in path.read_text()


def test_what_passes_is_left_for_later(serving: Serving) -> None:
    away = Broken("<html>")
    with serving(lambda asked: away if asked.number in (1, 2) else good(asked)) as make:
        progress = make(4)
        assert list(progress.left) == ["set-weather-001", "set-timer-002"]
        assert [item.id for item in progress.records] == ["set-timer-001", "set-timer-003"]
        assert (make.summary["complete"], list(make.summary["left"])) == (False, list(progress.left))
        again = make(4)
    assert [item.id for item in again.records] == ["set-timer-001", "set-weather-001", "set-timer-002", "set-timer-003"]
    assert make.summary["complete"]


def test_a_server_that_is_away_ends_the_run(serving: Serving) -> None:
    with serving(lambda asked: good(asked) if asked.number == 0 else Fails(503, retry_after_s=0.01)) as make:
        with pytest.raises(PartyError, match="fails with 503"):
            make(20)
        assert 3 * ATTEMPTS < len(make.server.asked) <= 1 + 4 * ATTEMPTS  # the next one may have been on its way
    assert len(make.lines(RECORDS)) == 1


def test_tokens_are_counted_once_and_priced(serving: Serving) -> None:
    def answer(asked: Asked) -> Answer:
        text = "{" if asked.number == 0 else good(asked)
        return Says(text, tokens_in=1000, tokens_out=200, thinking=300)

    with serving(answer) as make:
        make(1)
        make(2, price=(0.3, 2.5))
    usage = make.summary["usage"]
    assert (usage["replies"], usage["tokens_in"], usage["tokens_out"]) == (3, 3000, 1500)
    assert usage["models"] == {"writer-2025-08-07": 3}
    assert make.summary["cost"] == {"usd_per_million": [0.3, 2.5], "usd": pytest.approx(0.0009 + 0.00375)}


def test_a_record_in_another_language_need_not_be_japanese() -> None:
    told = record("Set a timer for ten minutes, please.", reply="Done.")
    told["scenario_context"]["background"] = "At home."
    told["input"]["locale"] = "en-US"
    found = check_record(json.dumps(told), "timer-001", "timer", "authored", "en-US")
    assert found.locale == "en-US"


def test_the_shipped_records_pass_the_checks() -> None:
    smoke = files("fdbcore.suites.dialogue_acts") / "data" / "smoke" / "records.jsonl"
    seen = SeenRequests()
    for line in smoke.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        four = {key: told[key] for key in ("scenario_context", "input", "output", "output_dialogue_acts")}
        found = check_record(json.dumps(four), told["id"], told["topic"], "authored", "ja-JP")
        seen.check(found.user_text)
        seen.add(found.id, found.user_text)
