"""Detectors of one's own: found by their address, used as ours are, and held to what ours are held to."""

import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.commands import command, done
from helpers.voices import DIALOGUE, voices, write

from fdbcore import WindowVad, vad_faults
from fdbcore.errors import MissingExtraError, SettingsError
from fdbcore.recording.reader import Recording
from fdbcore.registry import VADS, vad
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, Pcm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "detectors.md"


class Loud(WindowVad):
    """What every test below spoils."""

    rate_hz = 16_000
    window_samples = 200
    version = "1"

    def judge(self, window: Pcm) -> bool:
        return bool(np.abs(window).max() > 300)


class _Base(Loud):
    """A detector of ticks, to be spoiled."""

    def __init__(self, source_rate_hz: int = 48_000) -> None:
        super().__init__(source_rate_hz)
        self.name = f"{__name__}:{type(self).__name__}"


class Forgets(_Base):
    def finish(self) -> list[bool]:
        return super().finish()[1:]


class Rolls(_Base):
    def judge(self, window: Pcm) -> bool:
        return bool(np.random.default_rng().random() > 0.5)


class Shares(_Base):
    heard: ClassVar[list[int]] = []

    def __init__(self, source_rate_hz: int = 48_000) -> None:
        super().__init__(source_rate_hz)
        self.heard.clear()

    def judge(self, window: Pcm) -> bool:
        self.heard.append(int(np.abs(window.astype(int)).max()))
        return max(self.heard[-3:]) > 300


class Deaf(_Base):
    def judge(self, window: Pcm) -> bool:
        return False


class Hears(_Base):
    def judge(self, window: Pcm) -> bool:
        return True


class Keeps(_Base):
    def __init__(self, source_rate_hz: int = 48_000) -> None:
        super().__init__(source_rate_hz)
        self._kept: list[Pcm] = []

    def judge(self, window: Pcm) -> bool:
        self._kept.append(window.copy())
        return super().judge(window)


class Borrows(_Base):
    """It looks at a frame a tick later, and has not copied it."""

    def __init__(self, source_rate_hz: int = 48_000) -> None:
        super().__init__(source_rate_hz)
        self._lent = SILENT_FRAME

    def push(self, frame: Pcm) -> bool:
        before, self._lent = self._lent, frame
        return super().push(before)


class Anonymous(_Base):
    def __init__(self, source_rate_hz: int = 48_000) -> None:
        super().__init__(source_rate_hz)
        self.name = "energy"


class Moody(_Base):
    made: ClassVar[list[int]] = []

    def __init__(self, source_rate_hz: int = 48_000) -> None:
        super().__init__(source_rate_hz)
        self.made.append(1)
        self.settings = {"made": len(self.made)}


class Falls(_Base):
    def judge(self, window: Pcm) -> bool:
        raise ZeroDivisionError("of mine")


@pytest.fixture(autouse=True)
def findable(monkeypatch: pytest.MonkeyPatch) -> None:
    """This module under the name by which its classes are addressed; pytest imports it by its path."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


@pytest.mark.parametrize("name", [name for name in VADS if name != "webrtc"])
def test_our_detectors_hold_to_it(name: str) -> None:
    assert vad_faults(name) == []


def test_a_detector_of_windows_holds_to_it() -> None:
    assert vad_faults(f"{__name__}:Loud") == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (Forgets, "finish: expected"),
        (Rolls, "the same sound gives other decisions"),
        (Shares, "when another object of its class hears"),
        (Deaf, "it hears no speech in a voice"),
        (Hears, "it hears speech in digital silence"),
        (Keeps, "its memory grows by"),
        (Borrows, "keeps a frame without a copy"),
        (Anonymous, "name: expected one that finds it again"),
        (Moody, "describe: expected the same of every object"),
        (Falls, "it raised ZeroDivisionError: of mine"),
    ],
)
def test_a_fault_is_named(made: type, told: str) -> None:
    found = vad_faults(f"{__name__}:{made.__name__}")
    assert any(told in fault for fault in found), found


def test_a_tick_is_as_the_window_with_its_middle() -> None:
    """Against whole arrays, at rates and windows whose edges fall anywhere."""
    rng = np.random.default_rng(3)
    for rate_hz, window_samples in ((48_000, 480), (16_000, 256), (8_000, 80), (16_000, 512), (24_000, 700)):

        class Drawn(WindowVad):
            version = "1"
            drawn: list[bool]

            def judge(self, window: Pcm) -> bool:
                assert window.shape == (self.window_samples,)
                self.drawn.append(bool(rng.random() > 0.5))
                return self.drawn[-1]

        Drawn.rate_hz, Drawn.window_samples = rate_hz, window_samples
        made = Drawn()
        made.drawn = []
        pushed = [made.push(SILENT_FRAME) for _ in range(333)]
        decided = [*pushed[made.delay_ticks :], *made.finish()]
        middles = (np.arange(333) + 0.5) * 0.01
        windows = (middles * rate_hz / window_samples).astype(int)
        assert decided == [made.drawn[window] for window in windows]
        assert made.delay_ticks <= np.ceil(100 * window_samples / rate_hz) + 2


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the modules of the page, which is the current one, and a call."""
    for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / text.split()[1]).write_text(text)
    write(tmp_path / "call.wav", voices(DIALOGUE))
    monkeypatch.chdir(tmp_path)
    # Without folders that hold a my_vad of their own, such as that of a page's commands.
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not Path(each, "my_vad.py").exists()])
    yield tmp_path
    for name in ("my_vad", "ten"):
        sys.modules.pop(name, None)


def replayed(*arguments: str) -> Recording:
    done("replay", "call.wav", *arguments, "--out", "RUN")
    return Recording(Path("RUN/call"))


def test_the_class_of_the_page_replays_and_is_kept(here: Path) -> None:
    assert vad_faults("my_vad:MyVad") == []
    first = replayed("--vad", "my_vad:MyVad")
    described = first.meta["settings"]["vad"]["A"]
    assert described["name"] == "my_vad:MyVad"
    assert described["settings"]["above_dbfs"] == -45
    assert len(first.turn_events) > 5
    done("replay", "RUN/call", "--out", "AGAIN", "--vad", "my_vad:MyVad")
    second = Recording(Path("AGAIN/call"))
    assert second.meta["held"]["same"]
    assert second.meta["settings"]["vad"] == first.meta["settings"]["vad"]


def test_processes_of_their_own_find_it_too(here: Path) -> None:
    """Several calls at a time, and a live call: each is held by a process that was spawned."""
    options = ["--vad", "my_vad:MyVad", "--quiet", "--jobs", "1"]
    (here / "calls").mkdir()
    for name in ("call.wav", "other.wav"):
        write(here / "calls" / name, voices(DIALOGUE))
    for words in (
        ["replay", "calls", "--out", "MANY"],
        ["run", "--clips", "calls/call.wav", "--system", "echo", "--clock", "virtual", "--max-s", "3", "--out", "LIVE"],
    ):
        done(*words, *options)
        held = {path.parent for path in (here / words[-1]).glob("**/meta.json")}
        assert {Recording(path).meta["settings"]["vad"]["B"]["name"] for path in held} == {"my_vad:MyVad"}


BAD = """from fdbcore import WindowVad


class Detector(WindowVad):
    rate_hz = 16_000
    window_samples = 512
    heard = 0

    def judge(self, window):
        self.heard += 1
        if self.heard > 50:
            raise ZeroDivisionError("of mine")
        return self.heard % 20 > 5


class Ends(Detector):
    def judge(self, window):
        return False

    def finish(self):
        raise KeyError("gone")


class Made(Detector):
    def __init__(self, source_rate_hz):
        raise FileNotFoundError("no model.onnx")
"""


def refused(*arguments: str) -> str:
    """The line that a command ends with."""
    ran = command(*arguments)
    assert ran.exit_code != 0
    assert isinstance(ran.exception, SystemExit), ran.exception
    told = [line for line in ran.output.splitlines() if "bad:" in line]
    assert len(told) == 1, ran.output
    return told[0]


@pytest.fixture
def bad(here: Path) -> Iterator[Path]:
    """A folder with a module whose detectors fail."""
    (here / "bad.py").write_text(BAD)
    yield here
    sys.modules.pop("bad", None)


# 51 windows of 32 ms, and the resampler's delay.
FAILED = "bad:Detector failed at tick 163 (1.63 s): ZeroDivisionError: of mine (bad.py, line 12)"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Detector", FAILED),
        ("Ends", "bad:Ends failed at tick {n_ticks} ({seconds} s): KeyError: 'gone' (bad.py, line 21)"),
        ("Made", "bad:Made failed as it was made: FileNotFoundError: no model.onnx (bad.py, line 26)"),
    ],
)
def test_a_detector_that_fails_is_one_line_of_replay(bad: Path, name: str, told: str) -> None:
    n_ticks = replayed("--vad", "energy").n_ticks
    expected = told.format(n_ticks=n_ticks, seconds=f"{n_ticks / 100:.2f}")
    assert refused("replay", "call.wav", "--vad", f"bad:{name}", "--out", "OTHER", "--quiet").endswith(expected)
    assert Recording(Path("RUN/call")).n_ticks == n_ticks


def test_so_it_is_where_it_is_compared(bad: Path) -> None:
    """What the first detector decided stays."""
    assert refused("replay", "call.wav", "--vad", "energy", "--vad", "bad:Detector", "--out", "RUN").endswith(FAILED)
    held = {path: path.read_bytes() for path in Path("RUN").rglob("*") if path.is_file()}
    assert Path("RUN/call/report.html") in held
    assert refused("score", "RUN", "--vad", "bad:Detector").endswith(FAILED)
    assert {path: path.read_bytes() for path in held} == held


def test_so_it_is_live_and_what_was_heard_can_be_replayed(bad: Path) -> None:
    asked = ["--clips", "call.wav", "--system", "echo", "--clock", "virtual", "--max-s", "3", "--out", "LIVE"]
    assert refused("run", *asked, "--vad", "bad:Detector", "--quiet").endswith(FAILED)
    (held,) = {path.parent for path in Path("LIVE").glob("*/meta.json")}
    done("replay", held, "--vad", "energy", "--out", "AGAIN")
    assert Recording(Path("AGAIN") / held.name).n_ticks == 164


def test_a_change_of_the_module_is_another_version(here: Path) -> None:
    before = vad("my_vad:MyVad")(source_rate_hz=16_000).describe()
    (here / "my_vad.py").write_text((here / "my_vad.py").read_text().replace("> 10", ">= 10"))
    after = vad("my_vad:MyVad")(source_rate_hz=16_000).describe()
    assert before["version"] != after["version"]


def test_the_class_of_ten_vad_gives_it_what_it_takes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the interface of ten-vad 1.0.6.9."""

    class TenVad:
        def __init__(self, hop_size: int, threshold: float) -> None:
            self.hop_size, self.threshold = hop_size, threshold

        def process(self, audio_data: Pcm) -> tuple[float, int]:
            assert audio_data.shape == (self.hop_size,)
            assert audio_data.dtype == np.dtype(np.int16)
            assert audio_data.flags.c_contiguous
            probability = float(np.abs(audio_data.astype(int)).max() > 300)
            return probability, int(probability >= self.threshold)

    stand_in = ModuleType("ten_vad")
    stand_in.TenVad = TenVad  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ten_vad", stand_in)
    versions: Callable[[str], str] = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.0.6.9" if name == "ten-vad" else versions(name))
    assert vad_faults("ten:Ten") == []
    assert vad("ten:Ten")(source_rate_hz=16_000).describe()["version"] == "1.0.6.9"


def test_webrtcs_detector_holds_to_it_or_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    webrtcvad = pytest.importorskip("webrtcvad", reason="needs webrtcvad (pip install 'fdbcore[webrtcvad]')")
    assert vad_faults("webrtc") == []
    made: Any = vad("webrtc")(source_rate_hz=8_000)
    noise = np.random.default_rng(1).normal(0, 3_000, 50 * FRAME_SAMPLES).astype(np.int16).reshape(-1, FRAME_SAMPLES)
    own = webrtcvad.Vad(3)
    assert [made.push(frame) for frame in noise] == [own.is_speech(frame.tobytes(), 48_000) for frame in noise]


def test_without_its_package_webrtcs_detector_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "webrtcvad", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fdbcore\[webrtcvad\]'"):
        vad("webrtc")(source_rate_hz=16_000)


class Pushes:
    def push(self, frame: Pcm) -> bool:
        return bool(frame.any())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("loudest", "expected one of silero, energy, webrtc, or MODULE:CLASS, got 'loudest'"),
        ("no_such_module:It", "no_such_module:It cannot be used: ModuleNotFoundError"),
        ("json:It", "json:It cannot be used: AttributeError"),
        ("json:JSONDecoder", "json:JSONDecoder: expected a class derived from fdbcore.Vad"),
        (f"{__name__}:Pushes", f"{__name__}:Pushes: expected a class derived from fdbcore.Vad"),
    ],
)
def test_an_unknown_detector_is_one_line(name: str, told: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(told)):
        vad(name)
    assert f"--vad: {told}" in command("replay", "x.wav", "--vad", name, code=2).output


def test_another_package_adds_a_detector_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("loud", f"{__name__}:Loud", "fdbcore.vads")
    monkeypatch.setattr("fdbcore.registry.entry_points", lambda group: [point] if group == "fdbcore.vads" else [])
    assert isinstance(vad("loud")(source_rate_hz=16_000), Loud)
