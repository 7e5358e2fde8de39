"""Which share of the variance of WED is the annotator's, and what several sets cannot tell, by the command."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_gemini import FakeGemini
from fakes.model_server import NEEDS_GEMINI, Asked
from fakes.writers import record, steps
from helpers.act_sets import document, record_set, response
from helpers.commands import done

from fdbcore.suites.dialogue_acts.records import Record, Response, jsonl
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings

RECORDS, REPEATS = 24, 3
REFERENCE, WRONG = [("Commissive", 0.7), ("Suggestion", 0.3)], [("Question", 1.0)]

pytestmark = [NEEDS_GEMINI]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", FakeGemini.KEY)


def scored(folder: Path, server: FakeGemini, trials: int = 1, *more: str) -> dict[str, Any]:
    """The document of two systems on records of one reference, annotated three times by a model."""
    records = [Record.from_json({"id": f"r{n}", **record(f"{n}分のタイマー。", REFERENCE)}) for n in range(RECORDS)]
    replies = [
        Response(one.id, system, f"返答 {system} {one.id} {trial} です。", trial=trial)
        for one in records
        for system in ("good", "terse")
        for trial in range(1, trials + 1)
    ]
    folder.mkdir(exist_ok=True)
    (folder / "records.jsonl").write_text(jsonl(records), encoding="utf-8")
    (folder / "replies.jsonl").write_text(jsonl(replies), encoding="utf-8")
    arguments = ["score", "--suite", "dialogue-acts", str(folder / "replies.jsonl"), "--repeats", str(REPEATS)]
    arguments += ["--references", str(folder / "records.jsonl"), "--out", str(folder / "OUT"), *more]
    result = done(*arguments, "--annotator", server.address_of("gemini:labeller"))
    (folder / "shown.txt").write_text(result.stdout, encoding="utf-8")
    found: dict[str, Any] = json.loads((folder / "OUT" / "scores.json").read_text(encoding="utf-8"))
    return found


def annotates(whose: str, flipped: float) -> Any:
    """An annotator to whom 0.4 of the records or of the replies are wrong, and who says the contrary by chance."""

    def answer(asked: Asked) -> str:
        reply = re.split("アシスタントの返答: ", asked.user)[-1].split("\n\n")[0]
        is_wrong = random.Random(" ".join(re.findall(r"r\d+", reply)) if whose == "record" else reply).random() < 0.4
        says_contrary = random.Random(f"{reply} {asked.seed}").random() < flipped
        return json.dumps(steps(WRONG if is_wrong != says_contrary else REFERENCE, reply))

    return answer


@pytest.mark.parametrize(("whose", "owner"), [("reply", "record x system"), ("record", "record")])
def test_the_variance_is_given_to_who_makes_it(tmp_path: Path, whose: str, owner: str) -> None:
    with FakeGemini(annotates(whose, 0.15)) as server:
        found = scored(tmp_path / "set", server)
    one = found["variance"]["set, annotated by gemini:labeller"]
    shares = {part: each[0] for part, each in one.items()}
    within, between = 0.15 * 0.85, 0.4 * 0.6 * (1 - 2 * 0.15) ** 2  # of a yes that is turned into a no by chance
    for part, truth in (("annotator", within / (within + between)), (owner, between / (within + between))):
        _, low, high = one[part]
        assert low < truth < high
    assert sum(shares.values()) == pytest.approx(1)
    told = f"gemini:labeller 3 times, {RECORDS} records): record {shares['record']:.0%} ["
    card = json.loads((tmp_path / "set" / "OUT" / "scorecard.json").read_text(encoding="utf-8"))
    page = (tmp_path / "set" / "OUT" / "report.html").read_text(encoding="utf-8")
    for text in ((tmp_path / "set" / "shown.txt").read_text(encoding="utf-8"), json.dumps(card["notes"]), page):
        assert told in " ".join(text.split())


def test_trials_are_told_from_annotations_and_who_annotates_once_has_no_share(tmp_path: Path) -> None:
    with FakeGemini(annotates("reply", 0.0)) as server:
        found = scored(tmp_path / "set", server, trials=3)
        once = scored(tmp_path / "once", server, 1, "--repeats", "1")
    (one,) = found["variance"].values()
    assert one["annotator"][0] == 0
    assert one["trial"][0] > 0.85
    assert once["variance"] == {}
    assert "Whose the variance" not in (tmp_path / "once" / "shown.txt").read_text(encoding="utf-8")


def test_few_sets_cannot_tell_what_holds_of_sets() -> None:
    def notes(n: int) -> list[str]:
        sets = [record_set(["Inf 1"], ["Ans 1"], name=f"set{k}") for k in range(n)]
        replies = [replace(response("r0", "Inf 1"), set=of.name) for of in sets]
        found = document(sets, replies, settings=ScoringSettings(resamples=20))["notes"]
        return [each for each in found if "sets are n" in each]

    assert notes(1) == notes(6) == []
    (two,) = notes(2)
    assert two.startswith("2 sets are n = 2: ")
    assert "p 0.5 at least; below 0.05 it takes 6 sets" in two, "all of n signs alike: 2 in 2 ** n"
    assert "p 0.125 at least" in notes(4)[0]
