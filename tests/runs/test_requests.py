"""Requests: what the library makes of them is what the commands do, and each option is one thing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from fakes.run_parties import install
from scipy.io import wavfile

import fdbcore
from fdbcore import registry
from fdbcore.cli.main import main
from fdbcore.protocols.suite import Suite
from fdbcore.runs.judge_flags import JUDGE, MAX_COST, PUBLISHED, REPEATS, TRANSCRIBER
from fdbcore.runs.requests import RUN_OPTIONS, SCORE_OPTIONS, RunRequest, ScoreRequest

SYSTEMS = ["early=fake:?speak=60-90", "late=fake:?speak=90-120"]
FAST: dict[str, Any] = {"vad": "energy", "clock": "virtual", "seed": 1}


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    (tmp_path / "clips").mkdir()
    for name in ("one", "two"):
        noise = np.random.default_rng(1).normal(0, 3000, 8_000).astype(np.int16)
        wavfile.write(tmp_path / "clips" / f"{name}.wav", 16_000, noise)
    return tmp_path / "clips"


def command(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)


def without_places(document: Any) -> Any:
    """A document of scores in which each recording has its own name alone."""
    text = json.dumps(document)
    for name in ("library", "command"):
        text = text.replace(f"/{name}/", "/RUN/")
    return json.loads(text)


class Told(fdbcore.RunWatch):
    def __init__(self) -> None:
        self.ends: list[str] = []
        self.warned: list[str] = []

    def warn(self, text: str) -> None:
        self.warned.append(text)

    def ended(self, case: Any, outcome: Any, again: bool) -> None:
        self.ends.append(f"{case.name}: {outcome['kind']}")


def test_a_benchmark_is_run_and_scored_by_the_library_as_by_the_commands(clips: Path, tmp_path: Path) -> None:
    told = Told()
    out = tmp_path / "library"
    run = fdbcore.run(SYSTEMS, suite="clips", data=f"{clips}?tail_s=1", out=out, watch=told, **FAST)
    assert sorted(told.ends) == sorted(f"{call.name}: done" for call in run.calls)
    assert len(told.ends) == 4
    words = [word for name, value in FAST.items() for word in (f"--{name}", value)]
    systems = [word for system in SYSTEMS for word in ("--system", system)]
    done = command(
        "run", *systems, "--suite", "clips", "--data", f"{clips}?tail_s=1", *words, "--out", tmp_path / "command"
    )
    assert done.exit_code == 0, done.output
    by_end, by_command = (
        without_places(json.loads((tmp_path / f"{name}-scores" / "scores.json").read_text()))
        for name in ("library", "command")
    )
    assert by_end == by_command
    assert [row["n"] for row in by_end["rows"] if not row["subset"]] == [2, 2]
    scores = fdbcore.score_suite(run, out=tmp_path / "again")
    assert without_places(json.loads(json.dumps(scores))) == by_command


def test_detectors_move_the_same_in_a_benchmark_as_in_a_run(clips: Path, tmp_path: Path) -> None:
    run = fdbcore.run(SYSTEMS, suite="clips", data=f"{clips}?tail_s=1", out=tmp_path / "run", score=False, **FAST)
    assert not (tmp_path / "run-scores").exists()
    told = command("score", "--suite", "clips", run.path, "--vad", "silero", "--sensitivity", "--out", tmp_path / "s")
    assert told.exit_code == 0, told.output
    kept = json.loads((tmp_path / "s" / "turn-taking" / "scores.json").read_text())["sensitivity"]
    alone = fdbcore.score(run, by="system", sensitivity=True, detectors=["silero"])["sensitivity"]
    assert kept == json.loads(json.dumps(alone))
    assert "turn-taking by other detectors or settings: " in " ".join(told.stdout.split())
    statements = json.loads((tmp_path / "s" / "scorecard.json").read_text())["statements"]
    assert any("silero" in line for line in statements)
    (tmp_path / "replies.jsonl").write_text("")
    none = command("score", "--suite", "dialogue-acts", "--vad", "energy", "--out", tmp_path / "acts")
    assert (none.exit_code, none.stderr.splitlines()[-1]) == (
        2,
        "Error: --vad, --sensitivity: expected calls that were recorded, got none",
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"trials": 0}, "--trials: expected a whole number of at least 1, got 0"),
        ({"max_s": float("inf")}, "--max-s: expected a number above 0, got inf"),
        ({"clock": "slow"}, "--clock: expected one of real, virtual, got 'slow'"),
        ({"vad": "nobody"}, "--vad: expected one of silero, energy, webrtc, or MODULE:CLASS, got 'nobody'"),
        ({"limits": {"x": 1}}, "--limit: expected the name of a system, fake, got x"),
        ({"suite_options": {"pacing": "slow"}}, "pacing: expected a suite, got none"),
        ({"again": "all"}, "--again all: expected --out, the folder of the run whose cases to run again"),
    ],
)
def test_what_cannot_be_asked_is_one_line_that_names_the_option(
    clips: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: dict[str, Any], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fdbcore.FdbError) as error:
        fdbcore.run("fake", **{"a": "fake", **asked})
    assert str(error.value) == told
    assert not list(tmp_path.glob("fdbcore-live*"))


def test_options_of_a_benchmark_are_checked_and_keep_their_earlier_names() -> None:
    with pytest.raises(fdbcore.FdbError, match=r"^staged: nonsense: expected one of its options "):
        fdbcore.run("echo", suite="staged", suite_options={"nonsense": 1})
    with pytest.raises(fdbcore.FdbError, match=r"^--judge cannot be combined with --no-score$"):
        fdbcore.run("echo", suite="staged", suite_options={"judge": "openai:x"}, score=False)
    with (
        pytest.warns(FutureWarning, match=r"^asr is called transcriber now$"),
        pytest.raises(fdbcore.FdbError, match=r"^--transcriber: expected one of nemo, openai, whisper, got 'nobody'"),
    ):
        fdbcore.score_suite((), suite="dialogue-acts", options={"asr": "nobody"})
    said = command("score", "--suite", "dialogue-acts", "--asr=nobody")
    assert said.stderr.splitlines()[0] == "fdbcore score: --asr is called --transcriber now"
    assert "--transcriber: expected one of nemo, openai, whisper, got 'nobody'" in said.stderr
    gone = command("run", "--suite", "fdb-v1", "--detector", "energy", "--system", "echo", "--data", "DIR")
    assert (gone.exit_code, gone.stderr) == (
        2,
        "Error: --detector: expected fdbcore score --vad, once the calls are held\n",
    )


def test_every_field_that_is_asked_for_is_an_option_and_the_other_way_round() -> None:
    for request, options, others in (
        (RunRequest, RUN_OPTIONS, {"suite_options", "watch", "typed"}),
        (ScoreRequest, SCORE_OPTIONS, {"runs", "options", "watch", "typed"}),
    ):
        assert set(request.__struct_fields__) == options.keys() | others


@pytest.mark.parametrize("suite", [*map(registry.suite, registry.suites())], ids=lambda suite: suite.name)
def test_what_benchmarks_share_is_declared_once(suite: Suite) -> None:
    own = {option.flag: option for option in suite.options.score}
    for shared in (TRANSCRIBER, JUDGE, REPEATS, MAX_COST, PUBLISHED):
        if shared.flag in own:
            assert own[shared.flag].kind == shared.kind
            assert own[shared.flag].metavar == shared.metavar
    assert not {"--asr", "--ears", "--detector"} & own.keys()
