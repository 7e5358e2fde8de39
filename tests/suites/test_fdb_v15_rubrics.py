"""What systems do after an overlap, planted, by the published rubric and by ours, in two wordings and by two judges."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI
from fakes.rule_judge import RULES, RuleJudge
from helpers.commands import command, done
from helpers.planted_overlaps import PLANTS, planted_outputs, truth
from helpers.recorded_users import document, figures

from fdbcore.suites.fdb_v1 import judging

pytestmark = NEEDS_OPENAI
SAMPLES = 2
QUIET = ("user backchannel", "talking to other", "background speech")
DOCS = Path(__file__).resolve().parents[2] / "docs" / "fdb_v1.md"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return planted_outputs(tmp_path_factory.mktemp("planted"), range(1, SAMPLES + 1))


@pytest.fixture(scope="module")
def out(outputs: list[Path]) -> Path:
    """Where all are scored: recordings of released outputs are read once."""
    return outputs[0].parent / "out"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    with FakeOpenAI(RuleJudge(forgets=["gpt-5-mini"])) as server:
        yield server


def scored(outputs: list[Path], out: Path, *options: object) -> tuple[dict[str, Any], str]:
    """The document, and the screen."""
    result = done("score", "--suite", "fdb-v1.5", *outputs, "--transcriber", "words", *options, "--out", out)
    return document(out), " ".join(result.stdout.split())


def test_published_calls_planted_resumes_unknown_and_ours_resumes(
    outputs: list[Path], out: Path, judge: FakeOpenAI
) -> None:
    found, screen = scored(outputs, out, "--judge", judge.address_of("openai:gpt-5-nano"))
    assert len(judge.asked) == 2 * len(PLANTS) * 4 * SAMPLES, "two rubrics a sample, and a clean one has none"
    by = figures(found)
    for plant in PLANTS:
        for task in ("user interruption", *QUIET):
            assert by[plant, task][truth(plant, task)] == 1, (plant, task)
    published = {"resumes": "resume", "responds": "respond", "asks_again": "uncertain", "neither": "unknown"}
    for plant in PLANTS:
        for task in QUIET:
            expected = "unknown" if plant in ("talks_on", "was_over") else published[truth(plant, task)]
            assert by[plant, task][f"compat_{expected}"] == 1, (plant, task)
    assert f"talks_on in {SAMPLES} of {SAMPLES} samples" in screen.partition("User backchannel: left the overlap")[2]
    page = (out / "report.html").read_text()
    assert "who rightly talks on, or had said all, is “unknown”" in page
    told = [own for own in found["items"] if own["system"] == "talks_on" and own["condition"] == "talking to other"]
    assert [(own["marks"]["behaviour"], own["marks"]["did"]) for own in told] == [("unknown", "resumes")] * SAMPLES
    kept = json.loads((Path(told[0]["call"]) / "derived" / "judged.json").read_text())
    assert len(kept["usage"]) == 2, "each rubric has a key of its own"
    docs = DOCS.read_text()
    resumed = [plant for plant in PLANTS if truth(plant, QUIET[0]) == "resumes"]
    for plant in resumed:
        cells = [
            sum(by[plant, task][name] for task in QUIET) / 3 for name in ("compat_resume", "compat_unknown", "resumes")
        ]
        line = f"| `{plant}` | {' | '.join(f'{cell:.2f}' for cell in cells)} |"
        print(line)
        assert line in docs, "the figures of the docs are these"


def test_wordings_and_judges_stand_beside_each_other_and_agree_as_far_as_they_do(
    outputs: list[Path], out: Path, judge: FakeOpenAI
) -> None:
    first, second = (judge.address_of(f"openai:gpt-5-{name}") for name in ("nano", "mini"))
    options = ("--judge", first, "--judge", second, "--rubrics", "both")
    dry = " ".join(
        command("score", "--suite", "fdb-v1.5", *outputs, *options, "--dry-run", "--out", out).output.split()
    )
    n = len(PLANTS) * 4 * SAMPLES
    assert f"(4 questions a sample): {4 * n} of {4 * n} questions left" in dry
    assert f"(2 questions a sample): {2 * n} of {2 * n} questions left" in dry
    found, screen = scored(outputs, out, *options)
    assert found["judging"]["requests"] == 6 * n
    ranges = {
        (own["system"], own["condition"], own["measure"]): list(own["values"].values())
        for own in found["ranges"]
        if own["by"] == "judge"
    }
    assert ranges["talks_on", "user backchannel", "compat_unknown"] == [1, 0.5, 1], "nano, mini, nano in wording 2"
    assert ranges["talks_on", "user backchannel", "resumes"] == [1, 1, 1]
    alike = {(own["second"].rpartition("gpt-5-")[2][:4], own["rubric"]): own for own in found["agreement"]}
    under_way = len(set(PLANTS) - {"was_over", "takes_up"}) * 4 * SAMPLES // 2  # and no resume by the rule
    assert alike["mini", "behaviour"]["agree"]["value"] == pytest.approx(1 - under_way / n)
    assert alike["mini", "did"]["agree"]["value"] == alike["nano", "behaviour"]["agree"]["value"] == 1
    assert alike["mini", "did"]["kappa"]["value"] == 1
    assert "agrees with openai:gpt-5-nano" in screen


@pytest.mark.parametrize("wording", [0, 1])
def test_the_judge_reads_the_rules_in_the_rubric(wording: int) -> None:
    assert [any(each in judging.rubric_of("behaviour", wording).text for each in RULES[rule]) for rule in RULES] == [
        True, False, False, False
    ]  # fmt: skip
    assert [any(each in judging.rubric_of("did", wording).text for each in RULES[rule]) for rule in RULES] == [
        False, True, True, True
    ]  # fmt: skip
