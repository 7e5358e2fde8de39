"""Voice activity detectors: one by energy, and one that also asks a neural model which energy is speech."""

import shlex
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore._ext.level import EnergyDetector
from fdbcore._ext.resample import Resampler
from fdbcore._ext.speech import SpeechDetector
from fdbcore.errors import SettingsError
from fdbcore.protocols import Vad
from fdbcore.registry import is_installed_vad, vad
from fdbcore.session.vad_errors import blame
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, Pcm, Span

if TYPE_CHECKING:  # the detectors run where NumPy alone is installed
    from fdbcore.recording.reader import Recording

DEFAULT_VAD: Final = "silero"


TELEPHONE_RATE_HZ: Final = 8_000
WIDEBAND_RATE_HZ: Final = 16_000
WINDOW_MS: Final = 32
ON: Final = 0.5
RULES_VERSION: Final = 2  # of `fdbcore._ext.speech`; with other rules the same model is another detector
ENERGY_VERSION: Final = "2"  # of `fdbcore._ext.level`; before it, the version of fdbcore stood in its place
SEEN_WINDOWS: Final = 3  # speech in one of the newest windows of the model: the newest tick seems active


class EnergyVad(Vad):
    """Voice activity by energy alone (`fdbcore._ext.level`): fast, but it cannot tell speech from other sounds.

    It is the same for every source rate.
    """

    name = "energy"
    delay_ticks: int = EnergyDetector.delay_ticks

    def __init__(self, source_rate_hz: int = SAMPLE_RATE_HZ) -> None:
        self._detector = EnergyDetector()

    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n; return whether tick n - delay_ticks is active (False while that is below 0)."""
        return self._detector.push(frame)

    @property
    def seems_active(self) -> bool:
        """True if the newest tick is loud enough to be speech."""
        return self._detector.seems_active

    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed)."""
        return self._detector.finish()

    def describe(self) -> Mapping[str, Any]:
        """Name, version and settings, as JSON values."""
        return {
            "name": self.name,
            "version": ENERGY_VERSION,
            "settings": {"delay_ticks": self.delay_ticks, **EnergyDetector.settings},
        }


class SileroVad:
    """Voice activity where Silero VAD finds speech: the model says whether, the levels say when.

    The model (Silero VAD, MIT licence) gives a probability for each window of 32 ms. It notices the onset of speech
    late, and the end even later, so `fdbcore._ext.speech` finds the edges in the levels around its own. It hears soft
    speech worse, so speech that stays below -30 dBFS is raised for it. Of the model's two branches, a source of at most
    8 kHz gets that for telephone speech.
    """

    name = "silero"
    delay_ticks: int = SpeechDetector.delay_ticks

    def __init__(self, source_rate_hz: int = SAMPLE_RATE_HZ) -> None:
        from fdbcore._ext.silero import SileroStream
        from fdbcore.session.silero_model import silero_weights

        self._rate_hz = TELEPHONE_RATE_HZ if source_rate_hz <= TELEPHONE_RATE_HZ else WIDEBAND_RATE_HZ
        self._model = SileroStream(silero_weights(self._rate_hz))
        self._detector = SpeechDetector()
        self._resampler = Resampler(SAMPLE_RATE_HZ, self._rate_hz, "best")
        self._window_samples = self._rate_hz * WINDOW_MS // 1000
        self._pcm = np.zeros(2 * self._window_samples, dtype=np.int16)
        self._filled_samples = 0
        self._probabilities = array("f")
        self._raised = False

    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n; return whether tick n - delay_ticks is active (False while that is below 0)."""
        active = self._detector.push(frame)
        self._filled_samples += self._resampler.process_into(frame, self._pcm[self._filled_samples :])
        if self._filled_samples >= self._window_samples:
            self._judge_window()
        return active

    @property
    def seems_active(self) -> bool:
        """True if the newest tick is loud enough, and the model has just found speech."""
        return any(one >= ON for one in self._probabilities[-SEEN_WINDOWS:]) and self._detector.seems_active

    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed)."""
        rest = self._resampler.flush()
        self._pcm[self._filled_samples : self._filled_samples + len(rest)] = rest
        self._filled_samples += len(rest)
        while self._filled_samples > 0:
            self._pcm[self._filled_samples :] = 0  # the last window is filled with silence
            self._judge_window()
        return self._detector.finish()

    def _judge_window(self) -> None:
        gain = self._detector.gain
        self._raised = self._raised or gain > 1
        probability = self._model.process(self._pcm[: self._window_samples], gain)
        rest_samples = self._filled_samples - self._window_samples  # below 0 after the last, partial window
        if rest_samples > 0:
            self._pcm[:rest_samples] = self._pcm[self._window_samples : self._filled_samples]
        self._filled_samples = rest_samples
        self._probabilities.append(probability)
        self._detector.judge(probability)

    def evidence(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """The model's speech probability in each window of 32 ms from tick 0 on, float32 (n_windows,).

        Nothing if soft speech was raised: others would get other probabilities from the same sound.
        """
        if self._raised:
            return {}
        return {f"silero_{self._rate_hz // 1000}khz_probability": np.array(self._probabilities, dtype=np.float32)}

    def describe(self) -> Mapping[str, Any]:
        """Name, version and settings, as JSON values."""
        from fdbcore.session.silero_model import VERSION

        return {
            "name": self.name,
            "version": f"{VERSION}-{RULES_VERSION}",
            "settings": {**SpeechDetector.settings, "model": {"rate_hz": self._rate_hz}},
        }


class SpansVad:
    """A detector that hears each kept span anew (see `fdbcore.recording.left_out`), and nothing of what lies between.

    make: gives a new detector. kept: the spans of ticks, sorted. The recording may end within the last one.
    """

    def __init__(self, make: Callable[[], Vad], kept: Sequence[Span]) -> None:
        self._make, self._kept = make, deque(kept)
        self._vad = make()
        self.name, self.delay_ticks = self._vad.name, self._vad.delay_ticks
        self._tick = 0
        self._heard_ticks = 0  # of the present span
        self._decided: deque[bool] = deque()
        self._evidence: list[Mapping[str, npt.NDArray[np.float32]]] = []

    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n; return whether tick n - delay_ticks is active (False while that is below 0)."""
        if not self._kept or self._tick < self._kept[0][0]:
            self._decided.append(False)
        else:
            active = self._vad.push(frame)
            self._heard_ticks += 1
            if self._heard_ticks > self.delay_ticks:
                self._decided.append(active)
            if self._tick + 1 == self._kept[0][1]:
                self._end_span()
        self._tick += 1
        return self._tick > self.delay_ticks and self._decided.popleft()

    @property
    def seems_active(self) -> bool:
        """As the detector of the present span; False between spans."""
        return self._heard_ticks > 0 and self._vad.seems_active

    def _end_span(self) -> None:
        self._decided.extend(self._vad.finish())
        self._evidence.append(self._vad.evidence())
        self._heard_ticks = 0
        self._kept.popleft()
        if self._kept:
            self._vad = self._make()

    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed)."""
        if self._heard_ticks:
            self._end_span()
        return list(self._decided)

    def evidence(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """The evidence of all kept spans, one after the other, as far as each has it."""
        first, *others = self._evidence or [{}]
        names = [name for name in first if all(name in each for each in others)]
        return {name: np.concatenate([each[name] for each in self._evidence]) for name in names}

    def describe(self) -> Mapping[str, Any]:
        """Name, version and settings of the detector, as JSON values."""
        return self._vad.describe()


def vads_of(recording: "Recording", kept: Sequence[Span] | None = None) -> tuple[Vad, Vad]:
    """New detectors for A and B with the settings that the recording states; they hear the kept spans, or all of it.

    If those settings no longer exist, the detector of the same name with its present settings. SettingsError for one
    that is not installed.
    """
    makes: list[Callable[[], Vad]] = []
    for side in SIDES:
        described = {**recording.meta["settings"]["vad"][side]}
        described.pop("bias_ms", None)  # older recordings state it
        check_installed(described["name"], str(recording.path))
        # The source rate is not stored, but it decides between the two models: try both.
        candidates = [partial(make_vad, described["name"], rate_hz) for rate_hz in (SAMPLE_RATE_HZ, TELEPHONE_RATE_HZ)]
        makes.append(next((make for make in candidates if make().describe() == described), candidates[0]))
    return _made(makes, kept)


def check_installed(name: object, where: str) -> None:
    """SettingsError if the detector that a file names is neither shipped nor installed: its module would be run."""
    if not isinstance(name, str) or not is_installed_vad(name):
        raise SettingsError(
            f"{where}: expected a voice activity detector that is installed, got {name!r}: name it "
            f"by --vad {shlex.quote(str(name))} if you trust its module"
        )


def check_usable(detectors: Iterable[str]) -> None:
    """SettingsError or MissingExtraError for one that cannot be used: before long work, not after it."""
    for name in detectors:
        make_vads(name, (SAMPLE_RATE_HZ, SAMPLE_RATE_HZ))


def make_vads(name: str, source_rates_hz: Sequence[int], kept: Sequence[Span] | None = None) -> tuple[Vad, Vad]:
    """Detectors for A and B. A side recorded at telephone rate gets the detector's telephone model, if it has one.

    name: as `fdbcore.registry.vad` knows it, else SettingsError. source_rates_hz: the rates of A's and B's source.
    kept: the spans of ticks that they hear; None for all.
    """
    return _made([partial(make_vad, name, rate_hz) for rate_hz in source_rates_hz], kept)


def make_vad(name: str, source_rate_hz: int) -> Vad:
    """The detector `name` for one side, as in `make_vads`. VadError if it cannot be made."""
    make = vad(name)
    try:
        return make(source_rate_hz=source_rate_hz)
    except Exception as error:
        blame(name, error)


def _made(makes: Sequence[Callable[[], Vad]], kept: Sequence[Span] | None) -> tuple[Vad, Vad]:
    a, b = (make() if kept is None else SpansVad(make, kept) for make in makes)
    return a, b
