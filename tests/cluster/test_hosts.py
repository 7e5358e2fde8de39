"""Tests of scorings that ask transcribers and judges on a real Ray cluster, over real HTTP."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from fakes.fake_chat import KEY, FakeChat
from fakes.fake_openai import FakeOpenAI
from fakes.fake_transcriptions import Word, spoken
from fakes.model_server import Asked
from fakes.nemo_model import log_of, python_with_nemo
from helpers.patience import PATIENCE_S, wait_until
from helpers.ray_nodes import RayNodes, ray_nodes
from helpers.staged_runs import beeping_run

from fdbcore.audio.wav import wav_bytes
from fdbcore.cluster.engine import RayCluster
from fdbcore.models.packaged import packaged, why_not
from fdbcore.registry import transcriber

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'fdbcore[cluster]'"),
]
NEEDS_VOICE = pytest.mark.skipif(
    why_not(packaged("hibari")) is not None, reason="needs a voice: fdbcore models get hibari"
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    with pytest.MonkeyPatch.context() as patch:  # a node has keys of its own, and none travels
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("JUDGE_KEY", FakeOpenAI.KEY)
        with ray_nodes() as started:
            yield started


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beeping_run(tmp_path_factory.mktemp("staged"))


class Services:
    """A transcriber whose words depend on what it hears, and a judge that takes a second."""

    def __init__(self) -> None:
        self.hearing = FakeChat(heard=lambda wav: f"a mug for {len(wav) // 10_000} dollars then")
        self.judges = FakeOpenAI(self._marks)
        self.options = list[str]()

    def _marks(self, asked: Asked) -> str:
        time.sleep(1)
        given = {name: 4 for name in ("turn_taking", "instruction_following")}
        reasons = {f"{name}_reason": "“mug”" for name in given}
        events = json.loads(asked.user)["events"]
        return json.dumps({"events": [{"event": each["event"], **given, **reasons} for each in events]})


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("JUDGE_KEY", FakeOpenAI.KEY)
    found = Services()
    with found.hearing, found.judges:
        judge = f"openai:other?base_url={found.judges.base_url}&key_variable=JUDGE_KEY"
        found.options += ["--transcriber", f"openai:whisper-1?{found.hearing.settings}", "--judge", judge]
        found.options += ["--repeats", "4"]
        yield found


def started(run: Path, services: Services, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fdbcore.cli", "score", "--suite", "staged", str(run), *services.options]
    pipe = subprocess.PIPE
    where = ["--out", str(run.with_name(f"{run.name}-scores")), *arguments]
    return subprocess.Popen([*command, *where], stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def kept(run: Path) -> dict[str, object]:
    """What a scoring leaves: its document, and what was heard and answered."""
    scores = run.with_name(f"{run.name}-scores") / "scores.json"
    files = [*run.glob("*/derived/words_*.json"), *run.glob("*/derived/judged.json"), scores]
    assert len(files) >= 7
    found = {}
    for path in files:
        text = path.read_text().replace(str(run), "RUN")
        found[str(path.relative_to(run.parent)).replace(run.name, "RUN")] = json.loads(text)
    return found


@NEEDS_VOICE
def test_a_scoring_on_a_cluster_that_loses_a_node_is_that_of_this_machine(
    nodes: RayNodes, held: Path, services: Services, tmp_path: Path
) -> None:
    runs = [Path(shutil.copytree(held, tmp_path / name)) for name in ("here", "there")]
    _, stderr = started(runs[0], services, "--quiet").communicate(timeout=PATIENCE_S)
    assert stderr == ""
    asked = len(services.judges.asked)
    assert asked == 8
    process = started(runs[1], services, "--quiet", "--engine", f"ray://{nodes.address}")
    wait_until(lambda: len(services.judges.asked) >= asked + 2)
    nodes.kill_one()
    _, stderr = process.communicate(timeout=PATIENCE_S)
    nodes.add()
    assert (process.returncode, stderr) == (0, "")
    assert kept(runs[0]) == kept(runs[1])
    assert asked + 8 <= len(services.judges.asked) <= asked + 8 + 4, "only what the dead node was at is asked again"


@NEEDS_VOICE
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_scoring_that_ends_early_goes_on(
    how: signal.Signals, nodes: RayNodes, held: Path, services: Services, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(held, tmp_path / "run"))
    engine = ["--engine", f"ray://{nodes.address}", "--jobs", "2", "--quiet"]
    process = started(run, services, *engine)

    def answered() -> int:
        return sum(len(json.loads(path.read_text())) - 1 for path in run.glob("*/derived/judged.json"))

    wait_until(lambda: len(services.judges.asked) >= 5)
    os.killpg(process.pid, how)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert re.fullmatch(r"fdbcore score: interrupted.*\n", stderr)
    before, n_heard = answered(), len(services.hearing.wavs)
    assert 2 <= before < 8
    asked = len(services.judges.asked)
    _, stderr = started(run, services, *engine).communicate(timeout=PATIENCE_S)
    assert stderr == ""
    assert len(services.judges.asked) - asked == 8 - before, "what was answered is not asked again"
    assert len(services.hearing.wavs) == n_heard
    assert answered() == 8


@NEEDS_VOICE
def test_a_key_that_a_node_lacks_is_one_line(
    nodes: RayNodes, held: Path, services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path(shutil.copytree(held, tmp_path / "run"))
    monkeypatch.setenv("OTHER_KEY", KEY)  # here, and not there
    services.options[1] = services.options[1].replace("OPENAI_API_KEY", "OTHER_KEY")
    process = started(run, services, "--engine", f"ray://{nodes.address}", "--quiet")
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert re.search(rf": {os.uname().nodename}: .*OTHER_KEY.*\n$", stderr), stderr
    assert "Traceback" not in stderr


def test_a_transcriber_that_asks_for_a_gpu_hears_on_a_node_that_has_one(nodes: RayNodes, tmp_path: Path) -> None:
    python = python_with_nemo(tmp_path / "python", gpu=True)
    (tmp_path / "tones.nemo").write_bytes(b"a model")
    address = f"nemo:{tmp_path / 'tones.nemo'}?python={python}&device=cuda&batch=4"
    said = [Word("three", 0.48, 0.96), Word("one", 1.52, 2.0)]
    wav = wav_bytes(spoken(said, 3.0), 16_000)
    here = transcriber(address)
    expected, described = here.words(wav, "en"), here.describe()
    here.close()
    nodes.add_with_gpu()
    try:
        with RayCluster(f"ray://{nodes.address}").hosting():
            there = transcriber(address)
            found = there.words(wav, "en")
            assert (there.describe(), there.at_once) == (described, 2 * 8)
    finally:
        nodes.kill_one()
    assert found == expected
    assert [each["gpus"] for each in log_of(python) if "pid" in each] == [os.environ.get("CUDA_VISIBLE_DEVICES"), "0"]
