"""A benchmark of another package is run, scored and shown, and has its options and commands, with no change here."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from fakes import stranger_suite
from helpers.commands import command, done, refused
from helpers.exec_scripts import answering
from scipy.stats import binomtest

import fdbcore as library
from fdbcore import registry
from fdbcore.audio.wav import wav_bytes
from fdbcore.recording.run import read_plan
from fdbcore.types import SAMPLE_RATE_HZ


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(stranger_suite.install(tmp_path / "site")))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    noise = np.random.default_rng(1).normal(0, 3000, SAMPLE_RATE_HZ).astype(np.int16)
    for name in ("one", "two"):
        (folder / f"{name}.wav").write_bytes(wav_bytes(noise, SAMPLE_RATE_HZ))
    return folder


def test_it_is_run_scored_and_shown(tmp_path: Path, data: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "scores"
    settings = ("--vad", "energy", "--clock", "virtual", "--out", run)
    held = done("run", "--suite", "answers", "--data", data, "--system", "e=echo", *settings)
    assert held.stdout.splitlines()[-1] == f"fdbcore score --suite answers {run}"
    scored = done("score", "--suite", "answers", run, "--out", out, "--figures", tmp_path / "figures")
    low = binomtest(2, 2).proportion_ci(method="wilson").low
    assert re.search(rf"^e +2 +1\.000 +\[{low:.2f},1\.00\]$", scored.stdout, re.MULTILINE)
    assert scored.stdout.splitlines()[-1] == str(out / "report.html")
    document = json.loads((out / "scores.json").read_text())
    (row,) = document["rows"]
    assert (document["schema"], row["n"], list(row["measures"])) == ("answers/1", 2, ["answered"])
    page = (out / "report.html").read_text()
    told = ("Were the clips answered?", f"{low:.3f} to 1.000", "The system spoke in time.", '<td data-label="n">2</td>')
    own = (".tick { fill: green; }", "<p>A tick is an answer.</p>", "<h2>What else</h2><p>0.95 s</p>")
    for text in (*told, *own):
        assert text in page
    assert "not answered" not in page, "no system has a figure of it"
    assert [path.name for path in (tmp_path / "figures").glob("*.svg")] == ["systems-1.svg"]
    assert sorted(path.name for path in out.iterdir()) == [
        "calls", "pages", "report.html", "scorecard.json", "scores.json", "table.csv", "table.md", "table.tex"
    ]  # fmt: skip
    card = json.loads((out / "scorecard.json").read_text())
    assert (card["suite"], [row["value"] for row in card["rows"]]) == ("answers", [1.0])
    again = command("score", "--suite=answers", run, "--within-s", 1, "--out", out, "--json")
    assert json.loads(again.stdout)["rows"][0]["measures"]["answered"]["value"] == 1.0, "an echo is at once"
    refused = command("score", "--suite", "dialogue-acts", "--out", out, code=2)
    assert "score --suite dialogue-acts, got something else" in " ".join(refused.stderr.split())


def test_its_judges_are_found_by_their_address(tmp_path: Path, data: Path) -> None:
    """One of its own package; those of ours are tested in tests/models/test_judge.py."""
    run, out = tmp_path / "run", tmp_path / "scores"
    library.run("e=echo", suite="answers", data=data, vad="energy", clock="virtual", out=run)
    scored = command("score", "--suite", "answers", run, "--judge", "strict:one", "--out", out, "--json")
    assert scored.exit_code == 1, "one call is not marked"
    assert "fdbcore score: words of the calls go to judge.example.com" in scored.stderr
    document = json.loads(scored.stdout)
    assert {item["id"]: item["values"].get("polite") for item in document["items"]} == {"one": [5.0], "two": None}
    assert document["problems"] == [{"where": "two", "reason": "strict:one: polite: no opinion of two"}]
    rows = json.loads((out / "scorecard.json").read_text())["rows"]
    assert [(row["measure"], row["value"]) for row in rows] == [("answered", 1.0), ("polite", 5.0)]
    wrong = command("score", "--suite", "answers", run, "--judge", "nobody:x", "--out", out, code=2)
    assert "judge: expected one of gemini, openai, openai-decisions, strict, got 'nobody'" in " ".join(
        wrong.stderr.split()
    )


def test_the_library_runs_it_as_the_command_does(tmp_path: Path, data: Path) -> None:
    common = ("--suite", "answers", "--data", data, "--system", "e=echo", "--vad", "energy", "--clock", "virtual")
    done("run", *common, "--seed", 1, "--out", tmp_path / "a")
    run = library.run("e=echo", suite="answers", data=data, vad="energy", clock="virtual", seed=1, out=tmp_path / "b")
    assert [call.status for call in run.calls] == ["done", "done"]
    library_plan, command_plan = read_plan(run.path), read_plan(tmp_path / "a")
    assert library_plan == command_plan | {"created": library_plan["created"]}
    assert library_plan["plan"]["suite"]["name"] == "answers"
    assert (run.path / "calls.csv").read_text() == (tmp_path / "a" / "calls.csv").read_text()


def test_the_library_takes_what_ships_and_warns_of_what_was_left_out(tmp_path: Path, data: Path) -> None:
    with pytest.warns(UserWarning, match=r"third\.wav: cannot be used"):
        run = library.run("e=echo", suite="other", vad="energy", clock="virtual", max_s=1, out=tmp_path / "run")
    assert sorted(call.name for call in run.calls) == ["first", "second"]
    assert [path.name for path in sorted((tmp_path / "run-users").iterdir())] == ["first.wav", "second.wav"]


def test_its_options_are_its_own() -> None:
    names = [*registry.SUITES, "answers", "other", "broken"]
    for name in ("run", "score"):
        short = command(name, "--help")
        assert len(short.stdout.splitlines()) < 60
        assert f"The options of a benchmark: fdbcore {name} --suite NAME --help" in short.stdout
        assert not {"--within-s", "--references", "--scenarios"} & set(short.stdout.split())
        assert "fdbcore: suite broken: No module named 'fakes.no_such_module'" in short.stderr
    assert "--labels FILE" in command("run", "--suite", "clips", "--help").stdout
    alone = command("score", "--suite", "answers", "--help")
    assert "--within-s" in alone.stdout
    assert "--references" not in alone.stdout
    for arguments, message in (
        (["score", "RUN", "--within-s", "2"], "--within-s needs --suite answers|other"),
        (["score", "--suite", "answers", "--as-given"], "No such option"),
        (["score", "--suite", "nope"], f"suite: expected one of {', '.join(names)}, got 'nope'"),
        (["score", "--suite", "broken"], "No module named 'fakes.no_such_module'"),
        (["run", "--suite", "answers", "--system", "echo"], "answers: expected --data DIR: it ships no data"),
        (["agree", "--suite", "answers", "a.x", "b.x"], "answers: it has no labels to compare"),
    ):
        assert message in re.sub(r"\s+", " ", command(*arguments, code=2).stderr)


def test_its_commands_stand_beside_ours(data: Path) -> None:
    assert {"generate", "speak", "name"} <= set(command("dataset", "--help").stdout.split())
    assert "name: expected --suite, one of answers, other" in refused("dataset", "name", data)
    assert command("dataset", "--suite", "answers", "name", data).stdout == "data: one, two\n"
    assert command("dataset", "--suite", "answers", "speak", data).exit_code == 2


def test_the_suite_of_the_docs_is_short_and_right(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/adding.md, as it stands there: two systems of which one is too slow, on users that speak for a second."""
    page = (Path(__file__).parents[2] / "docs" / "adding.md").read_text()
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "ItemSuite" in block)
    assert len(code.splitlines()) < 45
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "suite.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    info = tmp_path / "my_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fdbcore.suites]\nin-time = my_package.suite:SUITE\n")
    for number in range(8):
        shutil.copy(data / "one.wav", data / f"{number}.wav")
    systems = [f"{name}={answering(wait)}" for name, wait in (("fast", 40), ("slow", 240))]
    asked = [word for system in systems for word in ("--system", system)]
    common = ("--vad", "energy", "--clock", "virtual", "--seed", 1, "--max-s", 6, "--out", tmp_path / "run")
    held = done("run", "--suite", "in-time", "--data", data, *asked, *common)
    assert "in time" in held.stdout, held.output
    found = json.loads((tmp_path / "run-scores" / "scorecard.json").read_text())
    rows = {(row["system"], row["measure"]): row for row in found["rows"]}
    assert [rows[name, "in_time"]["value"] for name in ("fast", "slow")] == [1.0, 0.0]
    low, high = binomtest(10, 10).proportion_ci(method="wilson")
    assert (rows["fast", "in_time"]["low"], rows["fast", "in_time"]["high"]) == pytest.approx((low, high))
    assert [rows[name, "wait_s"]["value"] for name in ("fast", "slow")] == pytest.approx([0.4, 2.4], abs=0.05)
    (one,) = found["differences"]
    assert (one["n"], one["p"], one["better"]) == (10, 2 / 2**10, "fast")
