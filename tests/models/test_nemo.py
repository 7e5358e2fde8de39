"""Recognition by NeMo in a process of its own: with a stand-in for NeMo, and with NeMo itself where `make nemo` has
made an environment with it. There a tiny model of Parakeet's form is taught, saved, loaded and used.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from fakes.fake_transcriptions import Word, spoken
from fakes.nemo_model import log_of, python_with_nemo
from helpers.commands import command, done
from helpers.voices import write

import fdbcore
from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import FdbError, MissingExtraError, PartyError, SettingsError
from fdbcore.models.asr import _nemo
from fdbcore.models.asr.nemo import NICENESS
from fdbcore.protocols import Transcriber
from fdbcore.recording.kept_transcripts import transcripts
from fdbcore.registry import live_transcriber, transcriber
from fdbcore.runtime.live_calls import live_calls
from fdbcore.types.words import TimedWord

ROOT = Path(__file__).resolve().parents[2]
NEMO = ROOT / "build" / "nemo" / "bin" / "python"
"""The Python of the environment that `make nemo` makes."""

STEP_S = 0.08
_random = np.random.default_rng(3)
A = [
    Word(str(_random.choice(["one", "three", "five", "seven", "nine"])), 1.04 + 0.88 * n, 1.52 + 0.88 * n)
    for n in range(60)
]
"""Nearly a minute in which A pauses only between words, all of which begin at the same part of the model's steps."""
B = [Word("seven", 3.0, 3.48), Word("five", 50.0, 50.48), Word("nine", 51.2, 51.68)]


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that NeMo has made, taught and saved: a minute."""
    path = tmp_path_factory.mktemp("nemo") / "tones.nemo"
    made = subprocess.run(
        [NEMO, "-m", "fakes.nemo_tiny", path],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    print(made.stdout.splitlines()[-1])
    return path


@pytest.fixture
def empty_model(tmp_path: Path) -> Path:
    """A file for the stand-in, which does not read it."""
    path = tmp_path / "tiny.nemo"
    path.write_bytes(b"a model")
    return path


@pytest.fixture(params=["stand-in", pytest.param("NeMo", marks=pytest.mark.nemo)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "stand-in":
        model = request.getfixturevalue("empty_model")
        return f"nemo:{model}?python={python_with_nemo(tmp_path / 'python')}"
    if not NEMO.exists():
        pytest.skip(f"needs {NEMO}, which `make nemo` makes")
    return f"nemo:{request.getfixturevalue('real_model')}?python={NEMO}"


@pytest.fixture(autouse=True)
def _own_live_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Live calls of other tests are not waited for."""
    monkeypatch.setattr("fdbcore.runtime.live_calls.gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return python_with_nemo(tmp_path / "python")


class Closing:
    """Closes transcribers at the end."""

    def __init__(self) -> None:
        self._open: list[Transcriber] = []

    def __call__(self, address: str) -> Transcriber:
        self._open.append(transcriber(address))
        return self._open[-1]

    def end(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def opened() -> Iterator[Closing]:
    closing = Closing()
    yield closing
    closing.end()


def said(*words: Word) -> bytes:
    return wav_bytes(spoken(words, words[-1].end_s + 0.5), 16_000)


def test_a_whole_call_is_heard_word_by_word_at_its_times(address: str, tmp_path: Path) -> None:
    """In pieces of at most 30 s that end in silence, several of them in one batch."""
    path = write(tmp_path / "call.wav", np.stack([spoken(A, 55.0), spoken(B, 55.0)], axis=1))
    call = fdbcore.replay(path, out=tmp_path / "RUN", vad="energy").path
    result = done("transcribe", call, "--transcriber", address)
    for side, expected in (("A", A), ("B", B)):
        (found,) = transcripts(call, side)  # type: ignore[arg-type]
        missed = [planted for planted in expected if not any(_is_heard(planted, word) for word in found.words)]
        assert len(missed) <= 0.05 * len(expected), "a model that has learned for a minute may miss one"
        assert abs(len(found.words) - len(expected)) <= len(missed)
        assert found.words_in_silence == found.words_in_loops == 0
        assert found.described["versions"].keys() == {"nemo_toolkit", "torch"}
        assert len(found.described["model"]["sha256"]) == 64
    again = command("transcribe", call, "--transcriber", address)
    before = " (transcribed before)"
    assert again.stdout == result.stdout.replace(";", f"{before};").replace("\n", f"{before}\n")


def _is_heard(planted: Word, word: TimedWord) -> bool:
    return word.text == planted.text and abs(word.start_ms / 1000 - planted.start_s) <= STEP_S


@pytest.mark.parametrize("batch", [1, 4])
def test_pieces_are_heard_beside_others_as_alone(address: str, opened: Closing, batch: int) -> None:
    """But for the ends of words, which NeMo 3.0.0 gets wrong in a batch of several on a processor."""
    hears = opened(f"{address}&batch={batch}")
    pieces = [said(*A[first : first + 1 + first % 3]) for first in range(0, 12)]
    alone = [hears.words(piece, "en") for piece in pieces]
    with ThreadPoolExecutor(len(pieces)) as pool:
        together = list(pool.map(lambda piece: hears.words(piece, "en"), pieces))
    if batch == 1:
        assert together == alone
    starts = [[[(word.text, word.start_ms) for word in words] for words in found] for found in (alone, together)]
    assert starts[0] == starts[1]
    assert hears.words(wav_bytes(np.zeros(80, np.int16), 16_000), "en") == []  # 5 ms
    assert hears.transcribe(pieces[2], "en") == " ".join(word.text for word in A[2:5])


def test_a_gpu_that_is_not_there_is_said(address: str, opened: Closing) -> None:
    with pytest.raises(SettingsError, match=r"device=cuda: expected a GPU that torch can use, found none$"):
        opened(f"{address}&device=cuda").words(said(A[0]), "en")


def test_those_who_wait_share_a_batch(python: Path, empty_model: Path, opened: Closing) -> None:
    python_with_nemo(python.parent, slow_s=0.1)
    hears = opened(f"nemo:{empty_model}?python={python}&batch=5")
    assert hears.at_once == 10
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda n: hears.words(said(A[n]), "en"), range(12)))
    assert [[word.text for word in words] for words in found] == [[word.text] for word in A[:12]]
    loaded, *batches = log_of(python)
    assert loaded["nice"] == NICENESS
    sizes = [each["batch"] for each in batches]
    assert (sum(sizes), max(sizes)) == (12, 5)
    assert len(sizes) <= 4


def test_its_process_is_killed_in_the_midst_of_its_work(python: Path, empty_model: Path, opened: Closing) -> None:
    python_with_nemo(python.parent, slow_s=60)
    hears = opened(f"nemo:{empty_model}?python={python}")
    failures: list[FdbError] = []

    def ask() -> None:
        try:
            hears.words(said(A[0]), "en")
        except FdbError as error:
            failures.append(error)

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for each in asking:
        each.start()
    pid = _pid(python)
    hears.close()
    for each in asking:
        each.join(5)
    assert [type(error) for error in failures] == [PartyError] * 3
    assert not Path(f"/proc/{pid}").exists()
    assert len([line for line in log_of(python) if "pid" in line]) == 1
    python_with_nemo(python.parent)
    assert [word.text for word in hears.words(said(A[0]), "en")] == [A[0].text]  # it can be asked again


def test_its_process_ends_with_the_one_that_started_it(python: Path, empty_model: Path, tmp_path: Path) -> None:
    """Which is killed while NeMo is at work."""
    python_with_nemo(python.parent, slow_s=60)
    (tmp_path / "x.wav").write_bytes(said(A[0]))
    program = (
        "import sys; from pathlib import Path; from fdbcore.registry import transcriber; "
        "transcriber(sys.argv[1]).words(Path(sys.argv[2]).read_bytes(), 'en')"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, f"nemo:{empty_model}?python={python}", tmp_path / "x.wav"]
    )
    pid = _pid(python)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert _within(5, lambda: not _runs(pid))


def test_a_process_that_is_gone_is_told_and_started_again(python: Path, empty_model: Path, opened: Closing) -> None:
    python_with_nemo(python.parent, slow_s=60)
    hears = opened(f"nemo:{empty_model}?python={python}")
    threading.Thread(target=lambda: os.kill(_pid(python), signal.SIGKILL)).start()
    with pytest.raises(PartyError, match=r"tiny\.nemo: expected words, got the end of its process: "):
        hears.words(said(A[0]), "en")
    python_with_nemo(python.parent)
    assert [word.text for word in hears.words(said(A[0]), "en")] == [A[0].text]


def test_a_process_whose_pipes_break_before_it_is_gone_is_started_again(
    python: Path, empty_model: Path, opened: Closing
) -> None:
    python_with_nemo(python.parent, lingers=True)
    hears = opened(f"nemo:{empty_model}?python={python}")
    with pytest.raises(PartyError, match="expected words, got the end of its process"):
        hears.words(said(A[0]), "en")
    python_with_nemo(python.parent)
    assert [word.text for word in hears.words(said(A[0]), "en")] == [A[0].text]


@pytest.mark.parametrize(
    ("orders", "error", "message"),
    [
        ({"fails": "CUDA out of memory.\nTried 2 GiB"}, PartyError, "tiny.nemo: CUDA out of memory."),
        ({"untimed": True}, SettingsError, "tiny.nemo: expected a model that gives word times, got ASRModel"),
    ],
)
def test_what_a_model_cannot_do_is_one_line(
    python: Path, empty_model: Path, opened: Closing, orders: dict[str, object], error: type[Exception], message: str
) -> None:
    python_with_nemo(python.parent, **orders)
    with pytest.raises(error) as failed:
        opened(f"nemo:{empty_model}?python={python}").words(said(A[0]), "en")
    assert str(failed.value).endswith(message)


def test_a_name_that_no_hub_has_is_one_line(python: Path, opened: Closing) -> None:
    with pytest.raises(PartyError, match=r"^nemo:no/such: expected a model from its hub, or from the cache, got: no/"):
        opened(f"nemo:no/such?python={python}").words(said(A[0]), "en")


def test_what_is_not_there_is_said_before_anything_begins(tmp_path: Path, opened: Closing) -> None:
    with pytest.raises(SettingsError, match=r"expected a model in nowhere\.nemo, found no such file"):
        transcriber("nemo:nowhere.nemo")
    with pytest.raises(SettingsError, match="device: expected cpu or cuda, got 'tpu'"):
        transcriber("nemo:?device=tpu")
    with pytest.raises(SettingsError, match="python: expected a Python, got /no/python: No such file"):
        opened("nemo:?python=/no/python").describe()
    if find_spec("nemo") is None:
        missing = r"nemo:nvidia/parakeet-tdt-0\.6b-v2: expected NeMo, found none: pip install 'fdbcore\[asr\]'"
        with pytest.raises(MissingExtraError, match=missing):
            transcriber("nemo")
        with pytest.raises(MissingExtraError, match=missing):
            opened(f"nemo:?python={sys.executable}").describe()


def test_it_leaves_live_calls_their_cores(python: Path, empty_model: Path, opened: Closing) -> None:
    plain = f"nemo:{empty_model}?python={python}"
    with pytest.raises(SettingsError, match=r"takes cores that a live call needs: \?beside_calls=true lets it"):
        live_transcriber(plain)
    told = live_transcriber(f"{plain}&beside_calls=true")
    hears = opened(plain)
    found: list[TimedWord] = []
    asking = threading.Thread(target=lambda: found.extend(hears.words(said(A[0]), "en")))
    with live_calls():
        asking.start()
        assert [word.text for word in told.words(said(A[1]), "en")] == [A[1].text]
        told.close()
        asking.join(0.3)
        assert asking.is_alive()
    asking.join(10)
    assert [word.text for word in found] == [A[0].text]


def test_the_worker_needs_nothing_of_fdbcore() -> None:
    assert "fdbcore" not in [line.split()[1].partition(".")[0] for line in _imports(Path(_nemo.__file__))]


def _imports(path: Path) -> list[str]:
    lines = map(str.strip, path.read_text().splitlines())
    return [line for line in lines if line.startswith(("import ", "from "))]


def _pid(python: Path) -> int:
    """The process of a stand-in, once it is at work."""
    assert _within(20, lambda: any("batch" in line for line in log_of(python)))
    return int(next(line["pid"] for line in log_of(python) if "pid" in line))


def _runs(pid: int) -> bool:
    """Whether a process is there that is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _within(seconds: float, holds: object) -> bool:
    assert callable(holds)
    until = time.monotonic() + seconds
    while not (held := bool(holds())) and time.monotonic() < until:
        time.sleep(0.02)
    return held
