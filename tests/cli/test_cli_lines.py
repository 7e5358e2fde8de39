"""`fdbcore run --line`: what is recorded of a line, and what it costs a system, from the command to the tables."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command, printed
from helpers.exec_scripts import answering
from scipy.io import wavfile

from fdbcore.lines.line import line_at
from fdbcore.recording.files import AUDIO, META, REPORT
from fdbcore.report.html.templates import INDEX
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

LINES = ("clean", "jitter:40", "noise:-6")
CLIPS = 3


def run(
    folder: Path, *arguments: object, lines: tuple[str, ...] = LINES, system: str = "echo", code: int | None = None
) -> Result:
    asked = [word for line in lines for word in ("--line", line)]
    common = ("--vad", "energy", "--clock", "virtual", "--seed", 5, "--out", folder / "RUN")
    return command(
        "run", "--system", system, "--clips", f"{folder / 'clips'}?tail_s=2", *common, *asked, *arguments, code=code
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips of a tone that ends after another time in each; and a run of a system that answers, over three lines."""
    path = tmp_path_factory.mktemp("lines")
    (path / "clips").mkdir()
    for number in range(CLIPS):
        times = np.arange(SAMPLE_RATE_HZ * (10 + number) // 10)
        tone = (10_000 * np.sin(2 * np.pi * 500 / SAMPLE_RATE_HZ * times)).astype(np.int16)
        pcm = np.concatenate((np.zeros(24_000, np.int16), tone))
        wavfile.write(path / "clips" / f"c{number}.wav", SAMPLE_RATE_HZ, pcm)
    result = run(path, system=f"s={answering(10, 6000, 20)}")
    assert result.exit_code == 1, "under the noise it never answers"
    assert result.stdout.splitlines()[-1] == f"what each line costs: fdbcore score {path / 'RUN'} --by line"
    return path


def meta(call: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((call / META).read_text())
    return found


def calls(folder: Path) -> list[dict[str, str]]:
    with (folder / "RUN" / "calls.csv").open() as file:
        return list(csv.DictReader(file))


def test_each_user_is_heard_over_each_line(folder: Path) -> None:
    assert {(call["clip"], call["line"]) for call in calls(folder)} == {
        (f"c{number}", line) for number in range(CLIPS) for line in LINES
    }
    planned = json.loads((folder / "RUN" / "run.json").read_text())["plan"]["lines"]
    assert [line["name"] for line in planned] == list(LINES)
    assert "line" not in meta(folder / "RUN" / "c0-clean")
    held = meta(folder / "RUN" / "c0-noise--6")["line"]
    assert (held["name"], held["seed"]) == ("noise:-6", "5/c0/1")
    assert held["to_b"]["level_dbov"] == held["to_b"]["speech_dbov"] + 6
    assert held["to_b"]["speech_dbov"] == pytest.approx(20 * np.log10(10_000 / 32768 / np.sqrt(2)), abs=0.1)


def test_what_b_heard_is_what_the_seed_gives_of_the_recorded_a(tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    voice = np.random.default_rng(1).normal(0, 2000, SAMPLE_RATE_HZ).astype(np.int16)
    wavfile.write(tmp_path / "clips" / "c.wav", SAMPLE_RATE_HZ, voice)
    assert run(tmp_path, lines=("loss:30", "babble:10", "telephone"), system="echo:delay_ms=50").exit_code == 0
    for name in ("c-loss-30", "c-babble-10", "c-telephone"):
        recorded: Pcm = wavfile.read(tmp_path / "RUN" / name / AUDIO)[1].reshape(-1, FRAME_SAMPLES, 2)
        said = recorded[:, :, 0].copy()
        assert np.array_equal(said[:100].ravel(), voice), "A stands in the recording as it was"
        held = meta(tmp_path / "RUN" / name)["line"]
        line = line_at(held["name"], held["seed"])
        assert line is not None
        line.open(meta(tmp_path / "RUN" / name)["parties"]["A"]["recorded_dbov"], None)
        again = np.stack([line.carry(frame, frame)[1] for frame in said])
        assert np.abs(recorded[5:, :, 1].astype(int) - again[:-5]).max() <= 2, "the level is kept with two digits"


def test_a_constant_delay_is_in_the_answer_time_and_counts_as_of_the_harness(folder: Path) -> None:
    found = {call["name"]: call for call in calls(folder)}
    clean = [found[f"c{number}-clean"] for number in range(CLIPS)]
    late = [found[f"c{number}-jitter-40"] for number in range(CLIPS)]
    assert {call["response_latency_minus_harness_ms"] for call in clean} == {""}
    answer_ms = [[float(call["response_latency_ms"]) for call in of] for of in (clean, late)]
    assert np.median(np.subtract(answer_ms[1], answer_ms[0])) == 120
    for call in late:
        own_ms = float(call["response_latency_ms"]) - float(call["response_latency_minus_harness_ms"])
        assert own_ms == pytest.approx(120)


def test_what_a_line_costs_is_paired_with_the_clean_one(folder: Path) -> None:
    found = printed("score", folder / "RUN", "--by", "line")
    assert found["paired_by"] == "clip"
    assert {(each["a"], each["b"]) for each in found["differences"]} == {("jitter:40", "clean"), ("noise:-6", "clean")}
    answered = next(
        each for each in found["differences"] if each["measure"] == "no_response_per_turn" and each["a"] == "noise:-6"
    )
    assert (answered["value"], answered["shared"]) == (1.0, CLIPS), "under the noise it never hears the end of a turn"
    page = (folder / "RUN" / INDEX).read_text()
    assert "noise:-6" in page
    assert "jitter:40" in page


def test_the_page_of_a_call_says_what_it_was_heard_over(folder: Path) -> None:
    page = (folder / "RUN" / "c0-jitter-40" / REPORT).read_text()
    assert "lost_share" in page
    shown = command("replay", folder / "RUN" / "c0-jitter-40", "--out", folder / "AGAIN")
    assert "heard over          jitter:40: B heard A 120 ms later" in shown.stdout
    assert "same events" in shown.stdout or "identical" in shown.stdout or "replay" in shown.stdout


def test_a_run_goes_on_only_over_the_same_lines(folder: Path) -> None:
    system = f"s={answering(10, 6000, 20)}"
    assert "all cases have ended" in run(folder, system=system).stderr
    other = run(folder, system=system, lines=("clean", "noise:20"), code=2)
    assert "holds another run (lines: 3 there, 2 here" in other.stderr


def test_a_single_line_is_a_column_and_in_no_name(tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    wavfile.write(tmp_path / "clips" / "c.wav", SAMPLE_RATE_HZ, np.full(24_000, 3000, np.int16))
    run(tmp_path, lines=("telephone?back=true",))
    assert meta(tmp_path / "RUN" / "c")["case"]["columns"] == {"line": "telephone?back=true"}
    assert meta(tmp_path / "RUN" / "c")["line"].keys() == {"name", "seed", "to_b", "to_a"}


def test_a_wrong_line_is_told_before_anything_is_made(folder: Path, tmp_path: Path) -> None:
    result = command(
        "run", "--system", "echo", "--clips", folder / "clips", "--line", "fog:3", "--out", tmp_path / "R", code=2
    )
    assert "--line: expected one of telephone, noise, babble, loss, jitter, echo, clean, got 'fog'" in result.output
    assert not (tmp_path / "R").exists()
    twice = command("run", "--system", "echo", "--clips", folder / "clips", "--line", "clean", "--line", "clean")
    assert "clean 2 times: name each line once" in twice.output
