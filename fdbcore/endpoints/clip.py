"""A recorded user: plays one file from tick 0, then stays silent so that the other side can answer.

    clip:FILE
    clip:FILE?channel=left&level_dbov=-26&tail_s=5&noise_dbov=-65&seed=1

FILE is any audio file; its sample 0 is sample 0 of tick 0. If its name has a "?", append another one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np

from fdbcore.audio.level import LEAST_LEVEL_DBOV, active_level_dbov, levelled
from fdbcore.audio.noise import LEAST_DBOV, MOST_DBOV, ComfortNoise
from fdbcore.errors import InputError, PartyError, SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.runtime.address import Setting, parsed
from fdbcore.sources.clips import Channel, read_clip
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, TICKS_PER_S, Pcm, Side

TAIL_S: Final = 10.0

SETTINGS: Final = (
    Setting("channel", "of a stereo file; side A is on the left", default="left", choices=get_args(Channel)),
    Setting("level_dbov", "the level of its active speech", float, unset="as recorded", least=LEAST_LEVEL_DBOV, most=0),
    Setting(
        "tail_s",
        "how long to stay after its end; a response after that counts as missing",
        float,
        TAIL_S,
        unit="s",
        least=0,
        most=600,
    ),
    Setting("noise_dbov", "white noise in the tail", float, unset="silence", least=LEAST_DBOV, most=MOST_DBOV),
    Setting("seed", "of that noise", int, 0, least=0),
)


def clip(address: str) -> "ClipEndpoint":
    """The recorded user at an address (see the module). SettingsError for a missing file or a wrong setting."""
    found = parsed(address, SETTINGS, file=True)
    return ClipEndpoint(Path(found.place), **found.settings)


class ClipEndpoint(Endpoint):
    """Plays one file, which is decoded before tick 0, and ignores what it hears. The arguments are SETTINGS."""

    def __init__(
        self,
        path: Path,
        channel: Channel = "left",
        level_dbov: float | None = None,
        tail_s: float = TAIL_S,
        noise_dbov: float | None = None,
        seed: int = 0,
    ) -> None:
        if not path.is_file():
            raise SettingsError(f"clip: expected an audio file, found none at {str(path)!r}")
        self._path, self._channel, self._level_dbov = path, channel, level_dbov
        self._noise = ComfortNoise(noise_dbov, seed)
        self._described: dict[str, Any] = {
            "kind": "clip",
            "path": str(path.absolute()),
            "channel": channel,
            "level_dbov": level_dbov,
            "tail_s": tail_s,
            "noise_dbov": noise_dbov,
            "seed": seed,
        }
        self._tail_ticks = round(tail_s * TICKS_PER_S)
        self._frames: Sequence[Pcm] = ()

    def open(self, side: Side) -> None:
        """Decode the file. PartyError if it cannot be used, or would clip at the level in the settings."""
        try:
            pcm, file = read_clip(self._path, self._channel)
            recorded_dbov = active_level_dbov(pcm)
            pcm, gain_db = (pcm, 0.0) if self._level_dbov is None else levelled(pcm, self._level_dbov)
        except InputError as error:
            named = "" if str(self._path) in str(error) else f"{self._path}: "
            raise PartyError(f"{named}{error}") from error
        self._frames = list(np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES))
        self.plays = self._path if self._level_dbov is None else None
        self.speech_dbov = recorded_dbov + gain_db if np.isfinite(recorded_dbov) else None
        self._described |= {
            "file": file,
            "samples": len(pcm),
            "recorded_dbov": round(recorded_dbov, 2) if np.isfinite(recorded_dbov) else None,
            "gain_db": round(gain_db, 2),
        }

    def say(self, tick: int) -> Pcm | None:
        """The clip's frame of `tick`, int16 (480,); then the tail. The last frame is filled up with silence."""
        if tick < len(self._frames):
            return self._frames[tick]
        if tick < len(self._frames) + self._tail_ticks:
            return self._noise.under(SILENT_FRAME)
        self.left = "finished"
        return None

    def hear(self, tick: int, frame: Pcm) -> None:
        """Do nothing: a recording does not listen."""

    def describe(self) -> Mapping[str, Any]:
        """File and settings; once opened also the file's properties, its active speech level, and the gain applied."""
        return dict(self._described)
