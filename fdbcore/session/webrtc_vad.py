"""The detector of WebRTC, by the package webrtcvad-wheels: fast, and far from exact; for comparisons with others."""

from importlib.metadata import version
from typing import Any, Final

from fdbcore.errors import MissingExtraError
from fdbcore.session.windows import WindowVad
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

_PACKAGE: Final = "webrtcvad-wheels"


class WebrtcVad(WindowVad):
    """A mixture of Gaussians over six bands (Google, BSD), on windows of 10 ms. A subclass can set another mode."""

    name = "webrtc"
    mode: int = 3
    """From 0 to 3; 3 lets the least sound pass as speech."""

    def __init__(self, source_rate_hz: int = SAMPLE_RATE_HZ) -> None:
        try:
            import webrtcvad
        except ImportError:
            raise MissingExtraError("the detector webrtc needs webrtcvad: pip install 'fdbcore[webrtcvad]'") from None
        self.version, self.settings = version(_PACKAGE), {"mode": self.mode}
        self._model: Any = webrtcvad.Vad(self.mode)
        super().__init__(source_rate_hz)

    def judge(self, window: Pcm) -> bool:
        """True if the window is speech."""
        return bool(self._model.is_speech(window.tobytes(), self.rate_hz))
