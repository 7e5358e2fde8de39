"""The prompt files: what models are told, what users may replace, and how a mistake in a file is told."""

import json
from pathlib import Path

import pytest
from fakes.writers import record

from fdbcore.errors import InputError, SettingsError
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, Topic, folder_of, record_schema, steps_schema
from fdbcore.suites.dialogue_acts.records import Record, parse_steps
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS

TOPIC = Topic("タイマー", "三分")


def test_what_a_user_says_is_no_template(tmp_path: Path) -> None:
    asked = Prompts().annotation_request("背景", "$acts と $$ って何", "$reply です", 1)
    assert "$acts と $$ って何" in asked.user
    assert "$reply です" in asked.user
    assert "背景" in asked.user


def test_a_users_file_goes_before_the_packaged_one(tmp_path: Path) -> None:
    (tmp_path / "task.ja.txt").write_text("$topic / $instruction ($$5)", encoding="utf-8")
    changed = Prompts(folder=tmp_path)
    assert changed.record_request(TOPIC, 1).user == "タイマー / 三分 ($5)"
    assert changed.record_request(TOPIC, 1).system == Prompts().record_request(TOPIC, 1).system
    assert changed.generation_hash != Prompts().generation_hash


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("$topic", r"\$instruction"),
        ("$topic $instruction $weather", r"\$weather"),
        ("$topic $instruction 5$", "lone"),
        ("話題", "expected"),
    ],
)
def test_a_mistake_in_a_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "task.ja.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"task\.ja\.txt: .*{told}"):
        Prompts(folder=tmp_path).record_request(TOPIC, 1)


@pytest.mark.parametrize("text", ["[", "{}", '[{"input": 5}]', "5"])
def test_examples_must_be_records(tmp_path: Path, text: str) -> None:
    (tmp_path / "examples.ja.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"examples\.ja\.json"):
        Prompts(folder=tmp_path).record_request(TOPIC, 1)


def test_another_language_needs_prompts_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"fr-FR: expected task\.fr\.txt"):
        Prompts("fr-FR").record_request(TOPIC, 1)
    told = {"acts": "A", "system": "S $acts $examples", "task": "T $topic $instruction", "again": "$previous $error"}
    for name, text in told.items():
        (tmp_path / f"{name}.fr.txt").write_text(text)
    (tmp_path / "examples.fr.json").write_text("[]")
    asked = Prompts("fr-FR", tmp_path).record_request(Topic("timer", "three minutes"), 1)
    assert (asked.system, asked.user) == ("S A", "T timer three minutes")
    assert asked.schema == record_schema("fr-FR")


@pytest.mark.parametrize("rules", [None, Path("paper")])
def test_english_ships_as_japanese_does(rules: Path | None) -> None:
    english, japanese = (Prompts(locale, folder_of(rules)) for locale in ("en-US", "ja-JP"))
    made = english.record_request(Topic("timer", "three minutes"), 1)
    labelled = english.annotation_request("At home.", "Set a timer.", "Done.", 1)
    told = [made.system, made.user, labelled.user, english.again(made, "{", "no JSON", 1).user]
    assert all(text.isascii() and "$" not in text for text in [*told, *english.responding.values()])
    for text in (made.system, labelled.user):
        assert all(f"- {act}: " in text or f"| {act} | " in text for act in ACTS)
    assert [topic.name for topic in english.topics()] == [topic.name for topic in japanese.topics()]
    acts = [[step["act"] for step in each["output_dialogue_acts"]["steps"]] for each in english.examples]
    assert acts == [[step["act"] for step in each["output_dialogue_acts"]["steps"]] for each in japanese.examples]


def test_topics_are_lines_of_name_and_instruction(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    path.write_text("# mine\n\ntimer\tthree minutes\nalarm\n", encoding="utf-8-sig")
    assert Prompts().topics(path) == (Topic("timer", "three minutes"), Topic("alarm", "alarm"))


@pytest.mark.parametrize("data", [b"# nothing\n", b"\xff\xfe", None])
def test_a_file_without_topics_is_told(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "topics.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=r"topics\.txt"):
        Prompts().topics(path)


def test_the_packaged_topics_are_varied() -> None:
    topics = Prompts().topics()
    assert len(set(topics)) == len(topics) > 40
    assert len({topic.name for topic in topics}) >= 12


def test_seeds_are_those_that_all_vendors_take() -> None:
    assert Prompts().record_request(TOPIC, 2**40 + 5).seed == 5
    asked = Prompts().annotation_request("", "あ", "い", 2**31 - 1)
    again = Prompts().again(asked, "う", "え", 1)
    assert asked.seed is not None
    assert again.seed is not None
    assert 0 <= again.seed < 2**31
    assert again.seed != asked.seed
    assert again.user.startswith(asked.user)


def test_the_schemas_hold_for_what_the_records_hold() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    written = record("タイマーをお願い。")
    jsonschema.validate(written, record_schema("ja-JP"))
    jsonschema.validate(written["output_dialogue_acts"], steps_schema())
    assert Record.from_json({"id": "x", **written}).user_text == "タイマーをお願い。"
    assert parse_steps(written["output_dialogue_acts"])[1] is None
    for example in Prompts().examples:
        jsonschema.validate(example, record_schema("ja-JP"))
    assert json.dumps(steps_schema()).count('"enum"') == 1
    assert steps_schema()["properties"]["steps"]["items"]["properties"]["act"]["enum"] == list(ACTS)


def test_the_papers_rules_are_a_second_set_with_its_definitions_alone() -> None:
    ours, paper = Prompts(), Prompts(folder=folder_of(Path("paper")))
    asked = paper.annotation_request("s", "u", "r", 0).user
    assert all(act in asked for act in ACTS)
    assert "迷いやすい境目" in ours.annotation_request("s", "u", "r", 0).user
    assert "境目" not in asked
    assert "まとめ" not in asked, "the paper does not merge"
    assert ours.acts_hash != paper.acts_hash
    assert set(paper.own) == {"acts.ja.txt", "annotate.ja.txt"}
    with pytest.raises(SettingsError, match="expected a folder of prompts, paper or iso"):
        folder_of(Path("nowhere"))
