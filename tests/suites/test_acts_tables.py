"""The paper's experiment by the documented commands: two generators, two systems, and Tables 1 and 2."""

import csv
import json
import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_GEMINI, NEEDS_OPENAI, Asked
from fakes.writers import record, words
from helpers.commands import command, done
from helpers.talker import TALKER

from fdbcore import align_acts

pytestmark = [NEEDS_OPENAI, NEEDS_GEMINI]

ACTS = ("Question", "Answer", "Inform", "Commissive")
Acts = list[tuple[str, float]]


def drawn(seed: str) -> Acts:
    """Acts that the seed alone decides; no act follows itself, and the importances sum to 1."""
    draws = random.Random(seed)
    weights = [draws.randint(1, 9) for _ in range(draws.randint(1, 4))]
    acts = [draws.choice(ACTS)]
    while len(acts) < len(weights):
        acts.append(draws.choice([act for act in ACTS if act != acts[-1]]))
    return [(act, weight / sum(weights)) for act, weight in zip(acts, weights, strict=True)]


def answer(vendor: str, asked: Asked) -> str:
    """A model that generates, replies and annotates. A reply to speech is numbered; its number decides its acts."""
    if asked.wav is not None:
        return f"返事{vendor}{asked.number}号です。"
    if "対話行為の注釈者" in asked.user:
        reply = asked.user.rpartition("返答: ")[2].strip()
        return json.dumps({"steps": [{"act": a, "importance": w, "rationale": "理由。"} for a, w in drawn(reply)]})
    return json.dumps(record(words(asked.seed), drawn(f"{vendor}{asked.seed}"), f"{vendor}の返事{asked.seed}です。"))


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("experiment")
    with (
        pytest.MonkeyPatch.context() as patched,
        FakeGemini(lambda asked: answer("甲", asked)) as gemini,
        FakeOpenAI(lambda asked: answer("乙", asked)) as openai,
    ):
        patched.setenv("GEMINI_API_KEY", FakeGemini.KEY)
        patched.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
        makers = {"gem": gemini.address_of("gemini:g"), "gpt": openai.address_of("openai:o")}
        systems = [f"--system=G={gemini.address_of('gemini:g')}", f"--system=O={openai.address_of('openai-chat:a')}"]
        for name, maker in makers.items():
            done("dataset", "generate", "--model", maker, "-n", 3, "--out", folder / name, "--seed", 7)
            done("dataset", "speak", folder / name, "--tts", f"exec:{TALKER}")
            arguments = ["--suite", "dialogue-acts", "--data", folder / name, *systems, "--clock", "virtual"]
            done("run", *arguments, "--vad", "energy", "--out", folder / f"run-{name}", "--quiet")
        annotators = [f"--annotator={name}={maker}" for name, maker in makers.items()]
        runs = [folder / f"run-{name}" for name in makers]
        done("score", "--suite", "dialogue-acts", *runs, *annotators, "--published", "--out", folder / "scores")
        assert {"対話行為の注釈者" in asked.user for asked in gemini.asked} == {True, False}
        yield folder


def items(folder: Path) -> list[dict[str, Any]]:
    """The replies of both runs with the acts that were drawn for them, found without the suite."""
    found = []
    for name in ("gem", "gpt"):
        lines = (folder / name / "records.jsonl").read_text(encoding="utf-8").splitlines()
        references = {line["id"]: line for line in map(json.loads, lines)}
        for line in map(json.loads, (folder / "scores" / "annotations.jsonl").read_text(encoding="utf-8").splitlines()):
            if line["set"] == name and line["system"] != "reference":
                steps = references[line["id"]]["output_dialogue_acts"]["steps"]
                asked = tuple((step["act"], step["importance"]) for step in steps)
                given = tuple(drawn(line["text"]))
                aligned = align_acts(asked, given)
                costs = {each: getattr(aligned, each) for each in ("wed", "deletion", "insertion", "substitution")}
                found.append({**line, "set": name, **costs, "wlcs": aligned.weighted_lcs})
    return found


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "scores" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_table_1_is_what_an_independent_script_finds_of_both_sets(experiment: Path) -> None:
    scored = items(experiment)
    rows = table(experiment, "table1")
    order = [row["system"] for row in rows[:2]]
    assert set(order) == {"G", "O"}
    names = [(maker, of, system) for maker, of in (("gemini:g", "gem"), ("openai:o", "gpt")) for system in order]
    assert [(row["set_made_by"], row["system"], row["n"]) for row in rows[:4]] == [(m, s, "3") for m, _, s in names]
    for row, (_, of, system) in zip(rows, names, strict=False):
        own = [one for one in scored if (one["set"], one["system"]) == (of, system)]
        assert len(own) == 3
        for measure in ("wlcs", "wed"):
            values = [one[measure] for one in own]
            assert float(row[f"{measure}_mean"]) == pytest.approx(statistics.mean(values), abs=1e-9)
            assert float(row[f"{measure}_sd"]) == pytest.approx(statistics.stdev(values), abs=1e-9)
        parts = [float(row[part]) for part in ("deletion", "insertion", "substitution")]
        assert sum(parts) == pytest.approx(float(row["wed_mean"]))
    assert [row["set_made_by"] for row in rows[4:]] == ["gemini-2.5-flash (paper)"] * 2 + ["gpt-5-nano (paper)"] * 2
    text = (experiment / "scores" / "table1.md").read_text(encoding="utf-8")
    assert "| Set made by | System | WLCS (SD) | WED (SD) | Deletion | Insertion | Substitution |" in text
    assert (
        "| gpt-5-nano (paper) | gpt-4o-audio-preview | 0.597 (0.363) | 0.661 (0.377) | 0.222 | 0.133 | 0.306 |" in text
    )
    assert "gemini:g & G & " in (experiment / "scores" / "table1.tex").read_text(encoding="utf-8")


def test_table_2_has_a_case_of_each_kind_over_all_sets_and_systems(experiment: Path) -> None:
    scored = items(experiment)
    rows = table(experiment, "table2")
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    for row, kind in zip(rows, ("insertion", "deletion", "substitution", "wed"), strict=True):
        best = (min if kind == "wed" else max)(one[kind] for one in scored)
        assert row["case"].endswith(f"({best:.2f})")
        (own,) = [one for one in scored if one["text"] == row["reply"]]
        assert (own["set"], own["system"], own[kind]) == (row["set"], row["system"], pytest.approx(best))
        acts = ", ".join(f"({act}, {weight:.2f})" for act, weight in drawn(row["reply"]))
        assert row["reply_acts"] == f"[{acts}]"
    assert "p{0.13\\linewidth}" in (experiment / "scores" / "table2.tex").read_text(encoding="utf-8")
    assert (experiment / "scores" / "table2.md").read_text(encoding="utf-8").count("\n| ") == 6


def test_each_set_has_cases_of_its_own_and_ids_with_its_name(experiment: Path) -> None:
    content = json.loads((experiment / "scores" / "scores.json").read_text(encoding="utf-8"))
    assert content["problems"] == []
    assert {content["items"][case["item"]]["set"] for case in content["cases"]} == {"gem", "gpt"}
    assert {item["id"].partition("-")[0] for item in content["items"]} == {"gem", "gpt"}
    annotators = {(item["set"], item["annotator"]) for item in content["items"]}
    assert annotators == {("gem", "gemini:g"), ("gpt", "openai:o")}


def test_whoever_made_a_set_annotates_its_replies_unless_another_is_named(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = command("score", "--suite", "dialogue-acts", experiment / "run-gem", "--out", tmp_path / "out", code=2)
    assert "gem: expected its annotator, as it was made at http://127.0.0.1" in result.stderr
    arguments = ["--annotator", "other=openai:x", "--out", tmp_path / "out"]
    result = command("score", "--suite", "dialogue-acts", experiment / "run-gem", *arguments, code=2)
    assert "expected one of the sets gem" in result.stderr
    made = json.loads((experiment / "gem" / "generate.json").read_text(encoding="utf-8"))["settings"]
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", made["server"])
    monkeypatch.setenv("GEMINI_API_KEY", FakeGemini.KEY)
    done("score", "--suite", "dialogue-acts", experiment / "run-gem", "--out", tmp_path / "out")
    there, here = (
        [one for one in csv.DictReader((path / "table1.csv").read_text(encoding="utf-8").splitlines())][:2]
        for path in (experiment / "scores", tmp_path / "out")
    )
    assert here == there
