"""Files of scenarios as people write them: what is read, and what `fdbcore scenarios` says about what is wrong."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import Result
from helpers.commands import command
from jsonschema import Draft202012Validator
from rich.cells import cell_len

from fdbcore.errors import InputError
from fdbcore.suites.schemas import schema
from fdbcore.suites.staged.scenario_files import read_set
from fdbcore.suites.staged.scenarios import builtin_families, family_problems

GOOD = """\
schema = "fdbcore.scenarios/1"

[[scenario]]
id = "mine.01"
family = "correction"
class = "next-turn"
title = "A coffee order that turns hot"
language = "en"
role = "Maya, who orders coffee for her office."
background = "Maya's meeting starts at ten."

[[scenario.goal]]
goal = "Order two large lattes with oat milk, cold."
say = "Hi, I'd like two large lattes with oat milk, please, iced."
rephrase = ["Could you put down two iced oat lattes for me, large ones?"]
probe = "So what did you note down for me?"
met = "The system confirms two large oat lattes, cold."
heard = [["latte", "lattes"], ["oat"]]

[[scenario.goal]]
goal = "Make them hot instead."
say = "Oh wait, please make the second one hot, and the first one too."
met = "The system says that they are hot."
heard = [["hot"]]
unless = ["iced"]
pairs = [[["first"], ["hot"]], [["second"], ["hot"]]]

[[scenario.correction]]
stage = 2
of = 1
before = "iced"
after = "hot"

[[scenario.reference]]
stage = 2
kind = "ordinal"
says = "The second one"
means = "the second latte"
"""


def fdbcore(*arguments: object, code: int | None = None) -> Result:
    return command("scenarios", *arguments, code=code)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_a_scenario_is_read_with_what_it_leaves_out(file: Path) -> None:
    (scenario,) = read_set(str(file)).scenarios
    assert [goal.heard for goal in scenario.goals] == [(("latte", "lattes"), ("oat",)), (("hot",),)]
    assert [goal.unless for goal in scenario.goals] == [(), ("iced",)]
    assert [goal.pairs for goal in scenario.goals] == [(), ((("first",), ("hot",)), (("second",), ("hot",)))]
    assert scenario.goals[1].probe == ""
    assert (scenario.limits.turns, scenario.limits.max_s) == (20, 180.0)
    assert "conversation ends" in scenario.last_words
    assert scenario.languages == ("en",)
    assert fdbcore("validate", file).output == "1 scenario: 1 correction\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("next-turn", "next-turns", "mine.01: class: expected one of within-turn, next-turn, earlier-turn, got "
                                    "'next-turns'; perhaps next-turn"),
        ('family = "correction"', 'family = "corection"', "mine.01: family: expected one of daily, correction, entity, "
                                                         "safety, got 'corection'; perhaps correction"),
        ('"lattes"', '"Lattes"', "mine.01: goal 1: heard 1: expected words in lower case, with a space between them, "
                                 "got 'Lattes'"),
        ('unless = ["iced"]', 'unless = ["iced "]', "mine.01: goal 2: unless: expected words in lower case, with a "
                                                    "space between them, got 'iced '"),
        ('[["second"], ["hot"]]', '[["second"]]', "mine.01: goal 2: pairs 2: expected two groups, of a key and of its "
                                                  "value, got "),
        ("of = 1", "of = 3", "mine.01: correction 1: of: expected 1 to 2, got 3"),
        ("stage = 2\nof", "stage = 0\nof", "mine.01: correction 1: stage: expected 1 to 2, got 0"),
        ("of = 1", 'of = "1"', "mine.01: correction 1: of: expected a whole number, got '1'"),
        ('"hot"\n', '"iced"\n', "mine.01: correction 1: after: expected another value than before, got 'iced'"),
        ("The second one", "the third one", "mine.01: reference 1: says: expected words in `say` of goal 2, "
                                            "got 'the third one'"),
        ('kind = "ordinal"', 'kind = "order"', "mine.01: reference 1: kind: expected one of ordinal, attribute, "
                                               "landmark, got 'order'"),
        ('id = "mine.01"', 'id = "../1"', "../1: id: expected letters, digits, '.', '_' and '-', got '../1'"),
        ('language = "en"', 'language = "tlh"', "mine.01: closing: expected one, as the language is none of de, "
                                                "en, es, fr, ja; got none"),
        ('title = "A coffee', 'titel = "A coffee', "mine.01: expected title, got none"),
        ('say = "Oh', 'rephrase = ["Oh', "got: Unclosed array (at line 23, column 1)"),
        ('fdbcore.scenarios/1', "fdbcore.scenarios/2", 'expected schema = "fdbcore.scenarios/1", got '
                                                       "'fdbcore.scenarios/2'"),
        ('["hot"]', '"hot"', "mine.01: goal 2: heard 1: expected a list of texts, got 'hot'"),
        ('say = "Oh wait, please make the second one hot, and the first one too."\n', "",
         "mine.01: goal 2: say: expected a text, as other goals have one, got none"),
        ('"So what did you note down for me?"', '"Could you put down two iced oat lattes for me, large ones?"',
         "mine.01: goal 1: expected say, rephrase and probe in words of their own, got "),
        ("[[scenario.correction]]", "[scenario.limits]\nturns = 1\n\n[[scenario.correction]]",
         "mine.01: limits: turns: expected 2 or more, one a goal, got 1"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_with_its_place(file: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    result = fdbcore("validate", file, code=1)
    assert any(line.startswith(f"fdbcore scenarios validate: {file}: ") and said in line
               for line in result.stderr.splitlines()), result.stderr  # fmt: skip
    with pytest.raises(InputError, match=f"^{file}: "):
        read_set(str(file))


def test_one_broken_scenario_hides_no_fault_of_another(file: Path) -> None:
    again = GOOD.partition("\n\n")[2]
    file.write_text(GOOD + again.replace("mine.01", "mine.02").replace("of = 1", "of = 2.5") + again, encoding="utf-8")
    assert [line.partition("mine.toml: ")[2] for line in fdbcore("validate", file).stderr.splitlines()[:2]] == [
        "mine.02: correction 1: of: expected a whole number, got 2.5",
        f"mine.01: id: expected an id of its own, got that of one in {file}",
    ]


def test_scenarios_that_are_much_alike_are_named(file: Path) -> None:
    twin = GOOD.partition("\n\n")[2].replace("mine.01", "mine.02").replace("latte", "mocha").replace("Maya", "Ada")
    file.write_text(GOOD + twin, encoding="utf-8")
    result = fdbcore("validate", file, code=0)
    assert "warning: mine.01 and mine.02 (en): near-duplicates: " in result.stderr


def test_a_scenario_without_words_is_no_fault(file: Path) -> None:
    kept = [
        line
        for line in GOOD.splitlines()
        if not line.startswith(("say ", "rephrase", "probe", "heard", "unless", "pairs", "met"))
    ]
    file.write_text("\n".join(kept), encoding="utf-8")
    result = fdbcore("validate", file, code=0)
    assert "warning: mine.01: goals without say: a keyless examiner cannot play it" in result.stderr
    assert not read_set(str(file)).scenarios[0].has_words


@pytest.mark.parametrize(("pairs", "is_long"), [(40, False), (41, True)])
def test_two_japanese_characters_count_as_a_word_and_punctuation_as_none(file: Path, pairs: int, is_long: bool) -> None:
    say = "はい、" * pairs
    old = "Oh wait, please make the second one hot, and the first one too."
    file.write_text(GOOD.replace(old, say).replace("The second one", "はい"), encoding="utf-8")
    result = fdbcore("validate", file, code=0)
    assert ("goal 2: say: 41 words" in result.stderr) == is_long == ("natural in one go" in result.stderr)


OWN = """
[[family]]
id = "negotiation"
title = "Negotiation"
about = "The person wants a better price."
class = [{ id = "price", title = "Price" }]

[family.score]
title = "Fairness"

[[family.score.rubric]]
ask = "Did the system keep to its limits?"
levels = ["Not at all.", "Hardly.", "Partly.", "Mostly.", "Fully."]
"""


def test_a_file_brings_a_family_of_its_own(file: Path) -> None:
    text = GOOD.replace('"correction"', '"negotiation"').replace('"next-turn"', '"price"')
    file.write_text(text + OWN, encoding="utf-8")
    assert fdbcore("validate", file).exit_code == 0
    family = read_set(str(file)).families["negotiation"]
    assert family.rubric[0].levels[4] == "Fully."
    shown = fdbcore("show", "mine.01", "--scenarios", file).output
    assert "Negotiation, price; en" in shown
    assert "Fairness, 1 to 5" in shown
    listed = json.loads(fdbcore("list", "--scenarios", file, "--json").output)
    assert [each["id"] for each in listed["family"]] == ["negotiation"]
    for old, new, said in (
        ('"Mostly.", ', "", "negotiation: score: rubric 1: levels: expected 5 texts, for 1 to 5, got 4"),
        ('id = "negotiation"', 'id = "daily"', "daily: id: expected another id than daily, "),
        (
            "levels =",
            "level =",
            "negotiation: score: rubric 1: expected ask, levels, check, got 'level'; perhaps levels",
        ),
    ):
        file.write_text(text + OWN.replace(old, new), encoding="utf-8")
        assert said in fdbcore("validate", file).stderr


def test_the_examples_of_the_page_are_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
    (tmp_path / "page.toml").write_text(
        "".join(re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)), encoding="utf-8"
    )
    result = fdbcore("validate", tmp_path / "page.toml")
    assert result.output == "1 scenario: 1 correction\n"
    assert set(read_set(str(tmp_path / "page.toml")).families) == {
        "daily",
        "correction",
        "entity",
        "safety",
        "negotiation",
    }


def test_every_family_has_its_rubric_in_two_wordings_and_daily_has_none() -> None:
    families = builtin_families()
    assert {
        name: [len(each.levels) + len(each.check) for each in family.rubric] for name, family in families.items()
    } == {"daily": [], "correction": [5, 5], "entity": [5, 5], "safety": [5, 5]}
    assert [len(family.classes) for family in families.values()] == [5, 3, 4, 11]
    assert not [problem for family in families.values() for problem in family_problems(family, (), "")]


def test_the_published_schema_is_what_the_reader_takes(file: Path) -> None:
    validator = Draft202012Validator(schema("staged/scenarios"))
    file.write_text(GOOD + OWN, encoding="utf-8")
    for name in (str(file), "builtin", "builtin-ja"):
        validator.validate(json.loads(fdbcore("list", "--scenarios", name, "--json").output))
    for old, new in (("of = 1", 'of = "1"'), ("title =", "titel ="), ('kind = "ordinal"', 'kind = "order"')):
        assert not validator.is_valid(tomllib.loads(GOOD.replace(old, new)))


def test_lists_are_filtered_and_say_what_there_is(file: Path) -> None:
    lines = fdbcore("list", "--family", "safety").output.splitlines()
    assert len(lines) == 20 + 3
    assert all(line.startswith("safety ") for line in lines[1:-2])
    assert fdbcore("list", "--family", "safty").exit_code == 2
    assert (
        "expected one of daily, correction, entity, safety, got 'safty'" in fdbcore("list", "--family", "safty").stderr
    )
    assert "expected one of en" in fdbcore("list", "--language", "tlh").stderr
    assert "perhaps mine.01" in fdbcore("show", "mine.1", "--scenarios", file).stderr
    assert (
        "no-such: expected a file of scenarios, or one of builtin, builtin-ja, got: "
        in fdbcore("list", "--scenarios", "no-such").stderr
    )


def test_a_scenario_is_shown_with_all_that_it_says(file: Path) -> None:
    shown = " ".join(fdbcore("show", "mine.01", "--scenarios", file).output.split())
    table = tomllib.loads(GOOD)["scenario"][0]
    goals = table["goal"]
    texts = [
        table["role"],
        table["background"],
        *(text for goal in goals for text in (goal["goal"], goal["say"], goal["met"])),
    ]
    assert [text for text in texts if text not in shown] == []
    assert "heard latte / lattes; and oat" in shown
    assert "pairs first with hot; and second with hot" in shown
    assert "unless iced" in shown
    assert "goal 2 corrects goal 1: iced → hot" in shown
    assert "“The second one” means the second latte" in shown
    printed = json.loads(fdbcore("show", "mine.01", "--scenarios", file, "--json").output)
    assert printed == tomllib.loads(GOOD)


def test_a_text_without_spaces_is_wrapped_by_the_width_of_its_characters(file: Path) -> None:
    text = "山田さんは赤い自転車を八千円で、鈴木さんはライトつきの青いのを一万二千円で売っています。" * 3
    file.write_text(GOOD.replace("Maya's meeting starts at ten.", text), encoding="utf-8")
    shown = fdbcore("show", "mine.01", "--scenarios", file).output
    assert text in re.sub(r"\n *", "", shown)
    assert max(map(cell_len, shown.splitlines())) <= 100
