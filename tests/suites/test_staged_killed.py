"""Scoring of staged dialogues that is killed: the same command goes on, to what it would have written without that."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.fake_chat import KEY, FakeChat
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Asked
from helpers.staged_runs import NEEDS_VOICE, beeping_run, judge_at, marks

pytestmark = [pytest.mark.slow, NEEDS_VOICE]

OUT = "SCORES"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beeping_run(tmp_path_factory.mktemp("staged"))


class Scoring:
    """`fdbcore score` of a copy of a run, in a folder of its own.

    kills_at: "hear" or "judge", and the how many-th such request of all kills it.
    """

    kills_at: tuple[str, int] | None = None
    told = ""

    def __init__(self, held: Path, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(held, folder / "RUN")
        self._process: subprocess.Popen[str] | None = None
        self.asked = {"hear": 0, "judge": 0}
        self.hears, self.judges = FakeChat(heard=self._heard), FakeOpenAI(self._marks)

    def _count(self, what: str) -> None:
        self.asked[what] += 1
        if self._process is not None and self.kills_at == (what, self.asked[what]):
            self._process.kill()

    def _heard(self, wav: bytes) -> str:
        self._count("hear")
        return "One blue mug, four dollars each."

    def _marks(self, asked: Asked) -> str:
        self._count("judge")
        return marks(asked)

    def run(self, until: Callable[[], bool] = lambda: False) -> int:
        """The exit code. until: as soon as this is so, it is killed."""
        hears = f"openai:whisper-1?{self.hears.settings}"
        judge = judge_at(self.judges, "m")
        command = ["score", "--suite", "staged", "RUN", "--transcriber", hears, "--judge", judge, "--out", OUT]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fdbcore.cli", *command, "--jobs", "1", "--repeats", "2"],
            cwd=self.folder,
            env=os.environ | {"OPENAI_API_KEY": KEY, "JUDGE_KEY": self.judges.KEY},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while self._process.poll() is None:
            if until():
                self._process.kill()
            time.sleep(0.002)
        self.told = self._process.communicate()[1]
        return self._process.returncode

    def written(self) -> Mapping[str, str]:
        """All files of the results, and of the recordings; without the addresses of the servers, and without times."""
        texts = {}
        for file in sorted(self.folder.rglob("*")):
            if file.is_file() and file.suffix not in (".wav", ".npz", ".parquet"):
                text = re.sub(r"127\.0\.0\.1(:|%3A)\d+", "SERVER", file.read_text(errors="replace"))
                text = re.sub(r'"[0-9a-f]{32}"', '"KEY"', text)  # of a judge's answers, which go by its server
                text = re.sub(r"SHA-256 [0-9a-f]{64}", "SHA-256", text)  # of scores.json, with these addresses
                texts[str(file.relative_to(self.folder))] = re.sub(r'"modified_ns": ?\d+', "", text)
        return texts


@contextmanager
def scoring(held: Path, folder: Path) -> Iterator[Scoring]:
    found = Scoring(held, folder)
    with found.hears, found.judges:
        yield found


def test_scoring_that_is_killed_again_and_again(held: Path, tmp_path: Path) -> None:
    """While it transcribes, judges, and writes pages; only what was under way is asked again."""
    with scoring(held, tmp_path / "whole") as whole:
        assert whole.run() == 0, whole.told
    with scoring(held, tmp_path / "killed") as killed:
        for request in (("hear", 2), ("judge", 1), ("judge", 4)):
            killed.kills_at = request
            assert killed.run() == -signal.SIGKILL
            assert not (killed.folder / OUT).exists()
        killed.kills_at = None
        assert killed.run(until=(killed.folder / OUT / "calls").exists) == -signal.SIGKILL
        assert not (killed.folder / OUT / "report.html").exists()
        assert killed.run() == 0, killed.told
    assert killed.written() == whole.written()
    lost = {"hear": 2, "judge": 2}  # words are kept once both sides of a call are heard
    assert killed.asked == {what: times + lost[what] for what, times in whole.asked.items()}
