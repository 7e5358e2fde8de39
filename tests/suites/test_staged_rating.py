"""A blind sample of staged dialogues, its page in a browser, and how far people and judges agree."""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import pytest
from fakes.browser import opened_browser
from fakes.fake_speech import KEY as SPEECH_KEY
from fakes.fake_speech import FakeSpeech
from fakes.parties import Caller
from helpers.commands import command, done, printed
from jsonschema import Draft202012Validator

from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.recording.files import write_json
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.suites.schemas import schema_file
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.document import document
from fdbcore.suites.staged.goals import GoalResult
from fdbcore.suites.staged.rating.agreement import drawn_evenly

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE: Final = Path(__file__).parents[1] / "fakes" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SYSTEMS: Final = ("Zyxwell-9", "Quondam-3")
ROOM_PX: Final = """() => {
  const box = (each, tag) => each.querySelector(tag).getBoundingClientRect();
  const choices = [...document.querySelectorAll(".choice")];
  return Math.min(...choices.map((each) => box(each, "span").left - box(each, "input").right));
}"""
LENGTH_S: Final = """() => new Promise((done) => {
  const audio = document.getElementById("audio");
  if (audio.readyState) done(audio.duration);
  else audio.addEventListener("loadedmetadata", () => done(audio.duration));
})"""
PACINGS: Final = ("slow", "fast")
FAMILIES: Final = ("daily", "correction", "entity", "safety")


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dialogue of one goal; A says its closing statement from tick 350 on."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", SPEECH_KEY)
    goal = Goal("Ada wants a blue mug", ("a" * 100,), "A mug is ordered.", (), "en")
    brief = Brief("daily.ordering.90", "en", "Ada, at home.", "", [goal], "b" * 100, 20, 60.0)
    with FakeSpeech() as server:
        party = Examiner(brief, "fdb2-slow", opens="either", voice=f"openai-tts:tts-1?{server.settings}")
        system = Caller([200 <= tick < 290 for tick in range(2000)])
        path = tmp_path_factory.mktemp("rated") / "call"
        converse(party, system, path, LiveSettings(vad="energy", realtime=False), {}, Event())
    patch.undo()
    return path


def judged(run: Path, judge: str, marks: Mapping[int, float], call: Path | None = None) -> Path:
    """Scores of 16 dialogues: two systems, two pacings, four families. marks: of turn-taking, by number."""
    cases = []
    for number in range(16):
        system, pacing, family = SYSTEMS[number % 2], PACINGS[number // 2 % 2], FAMILIES[number // 4]
        path = run / f"{family}.one.01.{pacing}-{system}"
        if call is not None:
            shutil.copytree(call, path)
        values = {"turn_taking": marks[number]} if number in marks else {}
        goals = [GoalResult("g", "met", 1, 0.0, 1.0)]
        cases.append(
            StagedCase(str(path), system, 1, f"{family}.one.01", family, "one", pacing, "en", goals, values=values)
        )
    write_json(run.parent / judge / "scores.json", document(cases, [], "self-reported", judge))
    return run.parent / judge


MARKS: Final = {number: 1 + (7 * number % 16) / 4 for number in range(16)}


@pytest.fixture(scope="module")
def scores(call: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("scored") / "RUN-of-secrets", "strict", MARKS, call)


@pytest.fixture(scope="module")
def sample(scores: Path) -> Path:
    out = scores.parent / "sample"
    assert "Quondam-3 4, Zyxwell-9 4" in done("agree", "--sample", 8, scores, "--out", out).stdout
    done("rate", out)
    return out


def check(name: str, content: object) -> None:
    """A document keeps to its published schema."""
    Draft202012Validator(json.loads(schema_file(name).read_text(encoding="utf-8"))).validate(content)


def key_of(sample: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((sample / "key.json").read_text())
    return content


def test_a_draw_is_as_even_as_the_counts_allow() -> None:
    items = [
        (Path(f"{system}{pacing}{family}{number}"), {"system": system, "pacing": pacing, "family": family,
                                                     "scenario": f"{family}.{number}"})
        for system in "abc" for pacing in "sf" for family in "dces" for number in range(10)
        if not (system == "c" and number > 2)
    ]  # fmt: skip
    drawn = drawn_evenly(items, 120, 0)
    cells = Counter((one["system"], one["pacing"], one["family"]) for _, one in drawn)
    assert {count for cell, count in cells.items() if cell[0] == "c"} == {3}, "all that there are"
    assert {count for cell, count in cells.items() if cell[0] != "c"} == {6}
    few = drawn_evenly(items, 12, 1)
    for field, counts in (("system", [4, 4, 4]), ("pacing", [6, 6]), ("family", [3, 3, 3, 3])):
        assert sorted(Counter(one[field] for _, one in few).values()) == counts
    assert few == drawn_evenly(items[::-1], 12, 1), "the seed decides"
    assert few != drawn_evenly(items, 12, 2)


def test_the_key_says_which_is_which_and_the_page_does_not(sample: Path) -> None:
    key = key_of(sample)
    check("staged/rating_key", key)
    assert [each["dialogue"] for each in key["dialogues"]] == [f"D{number:03}" for number in range(1, 9)]
    assert Counter(each["system"] for each in key["dialogues"]) == dict.fromkeys(SYSTEMS, 4)
    page = (sample / "rate.html").read_text()
    sounds = re.findall(r'<script type="text/plain" id="sound-(D\d+)">([^<]*)<', page)
    assert [name for name, _ in sounds] == [each["dialogue"] for each in key["dialogues"]]
    files = [base64.b64decode(text, validate=True) for _, text in sounds]
    assert {len(file) > 1000 and file[:4] == b"\x1a\x45\xdf\xa3" for file in files} == {True}
    words = re.sub(r'(id="sound-D\d+">)[^<]*', r"\1", page).lower()
    telling = {*SYSTEMS, "RUN-of-secrets", "one.01", str(sample), str(sample.parent), sample.parent.name}
    for text in (each.lower() for each in telling):
        assert text not in words
        assert not any(text.encode() in file.lower() for file in files)
    assert not re.search(r"\b(slow|fast)\b", words)


def rated(folder: Path, name: str, sample: str, marks: Mapping[str, object], more: Sequence[str] = ()) -> Path:
    path = folder / f"{name}.csv"
    rows = [f"{sample},{dialogue},{name},daily,{mark},," for dialogue, mark in marks.items()]
    header = "sample,dialogue,rater,family,turn_taking,instruction_following,note"
    path.write_text("\n".join([header, *rows, *more, ""]))
    return path


def test_people_and_judges_are_compared(sample: Path, scores: Path, tmp_path: Path) -> None:
    key = key_of(sample)
    places = {each["call"]: each["dialogue"] for each in key["dialogues"]}
    items = json.loads((scores / "scores.json").read_text())["items"]
    judge = {places[one["call"]]: one["measures"]["turn_taking"] for one in items if one["call"] in places}
    first = {name: min(5, max(1, round(mark) + (place % 3 - 1))) for place, (name, mark) in enumerate(judge.items())}
    second: dict[str, object] = {**first, "D001": "cannot tell", "D002": 6 - first["D002"]}
    del second["D003"]
    ann, bob = rated(tmp_path, "ann", key["sample"], first), rated(tmp_path, "bob", key["sample"], second)
    content = printed("agree", ann, bob, scores, "--key", sample)
    check("rater_agreement", content)
    check("staged/staged", json.loads((scores / "scores.json").read_text()))
    assert [(each["name"], each["kind"], each["dialogues"]) for each in content["raters"]] == [
        ("ann", "person", 8), ("bob", "person", 7), ("strict", "judge", 8),
    ]  # fmt: skip
    found = {tuple(each["raters"]): each for each in content["comparisons"] if each["metric"] == "turn_taking"}
    assert set(found) == {("ann", "bob"), ("strict", "people"), ("strict", "ann"), ("strict", "bob")}
    pair = found["ann", "bob"]
    assert (pair["n"], pair["cannot_tell"], pair["not_rated"]) == (6, 1, 1)
    whole = found["strict", "ann"]
    assert (whole["n"], whole["means"]) == (8, pytest.approx([fmean(judge.values()), fmean(first.values())]))
    low, high = whole["alpha_interval"]["ci95"]
    assert low < whole["alpha_interval"]["value"] < high
    shown = command("agree", ann, bob, scores, "--key", sample, "--published").stdout
    assert "3 strict: judge, 8 dialogues" in shown
    assert "0.614" in shown
    assert "3 and people" in shown


def test_judges_are_compared_without_people(scores: Path, tmp_path: Path) -> None:
    run = scores.parent / "RUN-of-secrets"
    other = judged(run, "lenient", {number: min(5.0, mark + 1) for number, mark in MARKS.items()})
    content = printed("agree", scores, other)
    one = next(each for each in content["comparisons"] if each["metric"] == "turn_taking")
    assert (one["between"], one["n"]) == ("judges", 16)
    assert one["alpha_interval"]["value"] < one["pearson"]["value"], "a milder judge lowers alpha, and not r"


def test_marks_of_scores_that_are_none_are_left_out_and_named(scores: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    odd = judged(run, "odd", {0: 45, 1: 4, 2: True, **dict.fromkeys(range(3, 16), 3.0)})
    content = printed("agree", odd, judged(run, "b", dict.fromkeys(range(16), 3.0)), code=1)
    problems = [each["reason"] for each in content["problems"]]
    assert problems == [f"turn_taking: left out: expected a number from 1 to 5, got {got}" for got in (45, True)]


def test_what_cannot_be_compared_is_said_in_a_line(sample: Path, scores: Path, tmp_path: Path) -> None:
    ann = rated(tmp_path, "ann", "s1", {"D001": 4, "D002": 2})
    bob = rated(tmp_path, "bob", "s1", {"D001": 3, "D002": 9, "D003": 1})
    neither, hand = tmp_path / "neither.csv", tmp_path / "hand.csv"
    neither.write_text("colour,shape\nred,round\n")
    hand.write_text("file,side,kind,start_s,end_s\nx.wav,A,speech,0,1\n")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("dialogue,turn_taking\nD001,3\n")
    twice = rated(tmp_path, "ann2", "s1", {}, ["s1,D001,ann,daily,1,,"])
    alien = rated(tmp_path, "cid", "s2", {"D001": 3})
    for arguments, told in (
        ([neither, hand], "expected the columns side, kind, start_s, end_s; got colour, shape (benchmarks compare"),
        ([ann, hand], "expected ratings (CSV with a column dialogue), or scores"),
        ([ann], "expected the ratings of two raters or more, got those of ann"),
        ([ann, wrong], "expected the columns dialogue and rater, got no rater"),
        ([ann, twice], "expected one rating of D001 by ann, got a second one that differs in turn_taking"),
        ([ann, alien], "expected ratings of one sample, got those of s1, s2"),
        ([ann, scores], "--key: expected the folder of the sample"),
        ([ann, scores, "--key", sample], "--key: expected the key of the sample s1"),
        (["--sample", "99", scores, "--out", tmp_path / "new"], "--sample 99: expected at most 16"),
        (["--sample", "4", hand, "--out", tmp_path / "new"], "expected scores that fdbcore score --suite staged"),
        (["--sample", "4", scores, "--out", tmp_path], "expected a new or empty folder"),
    ):  # fmt: skip
        result = command("agree", *arguments)
        assert result.exit_code == 2, arguments
        assert told in re.sub(r"\s+", " ", result.stderr)
    problem = printed("agree", ann, bob, code=1)["problems"][0]["reason"]
    assert problem == "turn_taking: left out: expected a number from 1 to 5, or cannot tell, got '9'"
    assert command("rate", tmp_path).exit_code == 2


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


def begun(page: Page, sample: Path, rater: str) -> None:
    page.goto((sample / "rate.html").as_uri())
    page.get_by_label("Your rater id").fill(rater)
    page.keyboard.press("Enter")


def test_a_rater_rates_by_keyboard_and_the_table_is_read(browser: Browser, sample: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    tables: list[Path] = []
    for rater, keys in (("ann", "42"), ('bob "b"', "53")):
        begun(page, sample, rater)
        assert page.evaluate(LENGTH_S) == pytest.approx(3.5, abs=0.2), "no closing"
        assert page.evaluate(ROOM_PX) >= 4, "each circle stands before its digit or text"
        for key in keys:
            page.get_by_label(re.compile("I cannot tell")).first.focus()
            page.keyboard.press(key)
            page.locator("[data-metric=instruction_following] input").first.focus()
            page.keyboard.press("0")
            for fieldset in page.locator("[data-metric=task_score] fieldset, [data-metric=task_score]").all():
                fieldset.locator("input").first.check()
            page.get_by_label("A note").fill('two, "quoted"')
            page.get_by_role("button", name="Next", exact=True).click()
        assert f"{rater}: 2 of 8 rated" in page.locator("#progress").inner_text()
        page.reload()
        begun(page, sample, rater)
        assert page.locator("#name").inner_text() == "Dialogue 3 of 8", "what was rated is kept"
        with page.expect_download() as download:
            page.get_by_role("button", name="Download ratings").click()
        tables.append(tmp_path / f"{len(tables)}.csv")
        download.value.save_as(tables[-1])
        assert download.value.suggested_filename.startswith(f"ratings-{key_of(sample)['sample']}-")
    page.context.close()
    assert failed == []
    rows = list(csv.DictReader(tables[1].read_text().splitlines()))
    assert [(row["dialogue"], row["turn_taking"], row["instruction_following"]) for row in rows] == [
        ("D001", "5", "cannot tell"), ("D002", "3", "cannot tell"),
    ]  # fmt: skip
    assert {row["rater"] for row in rows} == {'bob "b"'}
    assert {row["note"] for row in rows} == {'two, "quoted"'}
    assert {row["task_score"] for row in rows if row["family"] != "daily"} <= {"5"}
    one = next(each for each in printed("agree", *tables)["comparisons"] if each["metric"] == "turn_taking")
    assert (one["n"], one["means"]) == (2, [3.0, 4.0])


@pytest.mark.skipif(not AXE.is_file(), reason="needs `npm install --no-package-lock` in tests/fakes/axe")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_the_checker_finds_nothing(browser: Browser, sample: Path, scheme: Any, width: int) -> None:
    context = browser.new_context(
        bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 900}
    )  # the checker is a script from outside, which the page's own policy refuses
    page = context.new_page()
    begun(page, sample, "ann")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for _ in range(2):
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="Next", exact=True).click()
    context.close()
