"""Tag sets: the shipped ones, what is wrong with a file, and a set whose acts are not those of the paper."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked
from fakes.writers import record
from helpers.commands import command, done, printed
from helpers.schema import as_published

from fdbcore import align_acts
from fdbcore.errors import ActError
from fdbcore.suites.dialogue_acts.models.prompts import SHIPPED, Prompts, folder_of
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS, align_acts_batch, pack_acts
from fdbcore.suites.dialogue_acts.tag_sets import paper_acts, tags_in

ISO = Path("iso-24617-2")
TWO = """
name = "two"
[[acts]]
name = "Ask"
short = "A"
colour = "#123456"
definition.en = "Asks."
[[acts]]
name = "Tell"
short = "T"
colour = "#abcdef"
definition.en = "Tells."
[[related]]
acts = ["Ask", "Tell"]
factor = 0.25
"""


def acts(*pairs: tuple[str, float]) -> dict[str, Any]:
    return {"steps": [{"act": act, "importance": weight} for act, weight in pairs]}


@pytest.fixture
def own_set(tmp_path: Path) -> Path:
    """A set of one record with two acts of its own, and one reply to it."""
    folder = tmp_path / "own"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "acts.toml").write_text(TWO, encoding="utf-8")
    line = {"id": "r", **record("Hello", reply="Yes?"), "output_dialogue_acts": acts(("Ask", 0.5), ("Tell", 0.5))}
    (folder / "records.jsonl").write_text(json.dumps(line), encoding="utf-8")
    reply = {"id": "r", "system": "s", "text": "No.", "output_dialogue_acts": acts(("Tell", 0.2), ("Ask", 0.8))}
    (folder / "replies.jsonl").write_text(json.dumps(reply), encoding="utf-8")
    return folder


def scored(own_set: Path, *options: str, code: int = 0) -> dict[str, Any]:
    given = ["score", "--suite", "dialogue-acts", own_set / "replies.jsonl", "--references", own_set, *options]
    result = command(*given, "--out", own_set / f"scores{len(options)}", "--json")
    assert result.exit_code == code, result.output
    return as_published(json.loads(result.stdout))


def wed_and_swaps(content: dict[str, Any]) -> tuple[float, float]:
    (item,) = content["items"]
    return item["scores"]["wed"], item["scores"]["substitution"]


@pytest.mark.parametrize("name", ["", *SHIPPED])
def test_shipped_sets_have_no_fault_and_say_how_many_acts_they_have(name: str) -> None:
    folder = folder_of(Path(name)) if name else None
    tags = tags_in(folder)
    assert tags.names == ACTS or name == str(ISO)
    assert all(act in Prompts(folder=folder).annotation_request("s", "u", "r", 0).user for act in tags.names)
    assert Prompts(folder=folder).examples


def test_the_acts_of_the_paper_cost_the_same_with_and_without_a_tag_set() -> None:
    pair = [("Question", 0.7), ("Inform", 0.3)], [("Check-Question", 0.6), ("Inform", 0.4)]
    assert align_acts(*pair).wed == align_acts(*pair, paper_acts()).wed == 0.65
    with_credit = align_acts(*pair, tags_in(None))
    assert (with_credit.wed, with_credit.path[0].cost) == (0.325, 0.325)


def test_sequences_of_other_tag_sets_are_not_compared() -> None:
    with pytest.raises(ActError, match="expected the tag set 'ISO 24617-2, reduced', got 'seven acts of the paper'"):
        align_acts_batch(pack_acts([[("Answer", 1.0)]], tags=tags_in(folder_of(ISO))), pack_acts([[("Answer", 1.0)]]))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "two"', "", "expected name, got none"),
        ('name = "Tell"', 'name = "Ask"', "acts: expected each name once, got 'Ask' and 'Ask'"),
        ('name = "Tell"', 'name = "ask"', "acts: expected each name once, got 'Ask' and 'ask'"),
        ('"#abcdef"', '"#123456"', "acts: expected each colour once, got '#123456' and '#123456'"),
        ('definition.en = "Tells."', "definition = {}", "act Tell: definition: expected a text in a language"),
        (TWO, 'name = "two"\nacts = 3', "acts: expected a list of tables, got 3"),
        ('name = "two"', "name = " + 3000 * "[" + 3000 * "]", "expected TOML: it is nested deeper than 32"),
        ('name = "two"', f"name.{'.'.join('a' * 900)} = 1", "expected TOML: it is nested deeper than 32"),
        ('name = "two"', f"name.{'.'.join('a' * 3000)} = 1", "expected TOML: a line has more than 1,000 points"),
        ('name = "Tell"', 'name = "none"', "act none: name: expected letters, digits and hyphens, and not 'none'"),
        ('short = "T"', 'short = "A"', "acts: expected each short once, got 'A' and 'A'"),
        ('short = "T"', 'short = "too long"', "act Tell: short: expected at most 6 characters, got 'too long'"),
        ('"#abcdef"', '"red"', """act Tell: colour: expected "#rrggbb", got 'red'"""),
        ("definition.en", "definition.english", "act Ask: definition: expected a language such as en or ja"),
        ('definition.en = "Tells."', 'definition.ja = "t"', "act Tell: definition.en: expected a text, as other acts"),
        ("factor = 0.25", "factor = 2", "related 1: factor: expected 0 to 1 with at most three decimals, got 2"),
        ("factor = 0.25", "factor = 0.3333", "related 1: factor: expected 0 to 1 with at most three decimals"),
        ('["Ask", "Tell"]', '["Ask", "Say"]', "related 1: acts: expected two of Ask, Tell, got 'Say'"),
        ('["Ask", "Tell"]', '["Ask", "Ask"]', "related 1: acts: expected two, got Ask, Ask"),
        ("[[related]]", "[[relatd]]", "expected name, acts, related, rules, got 'relatd'; perhaps related"),
        ("[[acts]]", "[acts]", "expected TOML: Cannot"),
    ],
)
def test_each_fault_of_a_file_is_a_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "acts.toml"
    path.write_text(TWO.replace(old, new), encoding="utf-8")
    result = command("acts", "validate", path)
    assert result.exit_code == (2 if "TOML" in told else 1)
    assert told in result.stderr
    assert "Traceback" not in result.output


def test_a_file_without_faults_is_told_in_a_line(own_set: Path) -> None:
    result = command("acts", "validate", own_set / "prompts" / "acts.toml")
    assert (result.exit_code, result.output) == (0, "two: 2 acts, 1 related pair, defined in en\n")


def test_a_set_is_scored_by_its_own_acts_and_credit_is_a_choice_whose_effect_is_told(own_set: Path) -> None:
    plain, credited = scored(own_set), scored(own_set, "--partial-credit")
    assert wed_and_swaps(plain) == (0.7, 0.0), "one act redundant, one kept, one missing"
    swaps = Fraction(1, 4) * ((Fraction(1, 2) + Fraction(1, 5)) / 2 + (Fraction(1, 2) + Fraction(4, 5)) / 2)
    assert wed_and_swaps(credited) == (float(swaps), float(swaps))
    for content, used in ((plain, "without"), (credited, "with")):
        (note,) = content["notes"]
        told = f"own: WED without, and with partial credit for related acts ({used} credit here): s 0.700 and 0.250"
        assert note == told
        matrix = content["diagnosis"][0]["matrix"]
        apart = sum(value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j)
        assert apart == pytest.approx(wed_and_swaps(content)[0])
    shown = (own_set / "scores1" / "report.html").read_text(encoding="utf-8")
    assert 'fill="#123456"' in shown
    assert 'fill="#ffaabb"' not in shown, "that is an act of the paper"


def test_a_reply_with_acts_of_another_set_is_left_out_and_named(own_set: Path) -> None:
    other = {"id": "r", "system": "t", "text": "No.", "output_dialogue_acts": acts(("Inform", 1.0))}
    with (own_set / "replies.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(other))
    (problem,) = (one for one in scored(own_set, code=1)["problems"] if "expected one of" in one["reason"])
    assert problem["reason"] == 'act 0: expected one of Ask, Tell, got "Inform"'


def test_annotators_are_compared_on_their_own_acts(own_set: Path) -> None:
    other = json.loads((own_set / "replies.jsonl").read_text(encoding="utf-8"))
    other["output_dialogue_acts"] = acts(("Ask", 1.0))
    (own_set / "second.jsonl").write_text(json.dumps(other), encoding="utf-8")
    content = printed("agree", own_set / "replies.jsonl", own_set / "second.jsonl", "--suite", "dialogue-acts")
    assert content["acts"] == ["Ask", "Tell", "none"]
    assert content["confusion"] == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


@NEEDS_OPENAI
def test_a_set_of_other_acts_is_generated_kept_and_annotated_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = acts(("Instruct", 0.6), ("ChoiceQuestion", 0.4))

    def answer(asked: Asked) -> str:
        if "output" in json.dumps(asked.schema):
            return json.dumps({**record("音楽をかけて。"), "output_dialogue_acts": labels})
        return json.dumps(labels)

    for step in labels["steps"]:
        step["rationale"] = "理由。"
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    with FakeOpenAI(answer) as server:
        model = server.address_of("openai:m")
        done("dataset", "generate", "--model", model, "-n", 1, "--prompts", ISO, "--out", tmp_path / "s", "--quiet")
        (line,) = (tmp_path / "s" / "records.jsonl").read_text(encoding="utf-8").splitlines()
        reply = {"id": json.loads(line)["id"], "system": "a", "text": "はい。"}
        (tmp_path / "replies.jsonl").write_text(json.dumps(reply), encoding="utf-8")
        given = [tmp_path / "replies.jsonl", "--references", tmp_path / "s", "--annotator", model]
        result = command("score", "--suite", "dialogue-acts", *given, "--out", tmp_path / "o", "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert (tmp_path / "s" / "prompts" / "acts.toml").is_file()
    assert content["tag_set"]["name"] == "ISO 24617-2, reduced"
    assert [item["scores"]["wed"] for item in content["items"]] == [0.0, 0.0]
    asked = server.asked[-1]
    assert "SocialObligation" in asked.user
    assert "SocialObligation" in json.dumps(asked.schema)
