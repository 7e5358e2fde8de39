"""Collects what the health checks need in one pass over the audio, in temporary files: memory does not grow with it."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext.fourier import RealFourier
from fdbcore._ext.hearing import Ear
from fdbcore.errors import RecordingError
from fdbcore.recording.left_out import NO_END
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, Pcm, Side, Span

Floats: TypeAlias = npt.NDArray[np.float32]
Block: TypeAlias = tuple[Pcm | None, Pcm | None]

LOW_RATE_HZ: Final = 4_000  # most of speech, and all tones of telephony but 2,100 Hz, at a twelfth of the work
LOW_TICK: Final = 40
FACTOR: Final = SAMPLE_RATE_HZ // LOW_RATE_HZ
FULL_SCALE: Final = 32_768
BLOCK_TICKS: Final = 1_000
SPECTRUM_EVERY_TICKS: Final = 10
_BUFFER_BYTES: Final = 1 << 16  # of a temporary file
LOUD_POWER: Final = 1e-6  # -60 dBov: quieter ticks say nothing about the audio band

_OF_A_TICK: Final = RealFourier(FRAME_SAMPLES, np.hanning(FRAME_SAMPLES).astype(np.float32))


@contextmanager
def _kept_beside() -> Iterator[None]:
    """In the `with` block, temporary files are made or written. RecordingError names their folder if that fails."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # of another file
            raise
        raise RecordingError(
            f"{tempfile.gettempdir()}: temporary files cannot be written: {error.strerror}: "
            "TMPDIR=DIR chooses another folder"
        ) from error


def _temporary_file() -> IO[bytes]:
    with _kept_beside():
        return tempfile.TemporaryFile(prefix="fdbcore-health-", buffering=_BUFFER_BYTES)


def _delete(file: IO[bytes]) -> None:
    with suppress(OSError):  # it holds what could not be written, which has been told
        file.close()


class TickColumn:
    """A value per tick, in a temporary file. A context manager; what was read stays valid after it.

    dtype: of the values, such as np.float32.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = _temporary_file()

    def append(self, values: npt.NDArray[np.generic]) -> None:
        """Add the values of the next n ticks, (n,)."""
        with _kept_beside():
            self._file.write(values.astype(self._dtype, copy=False).tobytes())

    def read(self, n_ticks: int, writes: bool = False) -> npt.NDArray[Any]:
        """The first values, (n_ticks,), mapped from the file: what is looked at takes memory, until it is let go.

        writes: whether values that change in the array change in the file.
        """
        if not n_ticks:
            return np.zeros(0, self._dtype)
        with _kept_beside():
            self._file.flush()
        return np.asarray(np.memmap(self._file, self._dtype, "r+" if writes else "r", shape=(n_ticks,)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _delete(self._file)


class LowBand:
    """One side at 4 kHz, in a temporary file: int16, 40 samples per tick."""

    def __init__(self) -> None:
        self._file = _temporary_file()

    def append(self, low: Pcm) -> None:
        """Add whole ticks: int16 (40 n,) at 4 kHz."""
        with _kept_beside():
            self._file.write(low.tobytes())

    def without(self, blocks: Iterable[Floats]) -> "LowBand":
        """This side minus these samples (full scale 1), from its start. The caller closes the result."""
        rest, at_tick = LowBand(), 0
        for block in blocks:
            end_tick = at_tick + len(block) // LOW_TICK
            pcm = np.rint((self.read(at_tick, end_tick) - block) * FULL_SCALE)
            rest.append(np.clip(pcm, -FULL_SCALE, FULL_SCALE - 1).astype(np.int16))
            at_tick = end_tick
        return rest

    def read(self, start_tick: int, end_tick: int) -> Floats:
        """The samples of a span of ticks, full scale 1; silence outside of the recording."""
        first = max(start_tick, 0)
        with _kept_beside():
            self._file.seek(first * LOW_TICK * 2)
        pcm = np.frombuffer(self._file.read(max(end_tick - first, 0) * LOW_TICK * 2), np.int16)
        samples: Floats = np.zeros((end_tick - start_tick) * LOW_TICK, np.float32)
        np.multiply(pcm, np.float32(1 / FULL_SCALE), out=samples[(first - start_tick) * LOW_TICK :][: len(pcm)])
        return samples

    def close(self) -> None:
        """Delete the temporary file."""
        _delete(self._file)


class TickColumns:
    """The known values of each tick of a side. A context manager."""

    def __init__(self) -> None:
        with ExitStack() as opened:
            self.powers, self.means = (opened.enter_context(TickColumn(np.float32)) for _ in range(2))
            self.peaks, self.flat = (opened.enter_context(TickColumn(np.uint16)) for _ in range(2))
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Delete the temporary files."""
        self._opened.close()


def _low_pass() -> Floats:
    """A windowed sinc of 48 taps, flat to 1.6 kHz: float32 (48,)."""
    taps = 4 * FACTOR
    n = np.arange(taps) - (taps - 1) / 2
    response = np.sinc(n * 1.9 / (SAMPLE_RATE_HZ / 2000)) * np.hamming(taps)
    coefficients: Floats = (response / response.sum()).astype(np.float32)
    return coefficients


@dataclass
class SideAudio:
    """The audio of one side of a session. Powers are relative to full scale 1, without direct current.

    n_ticks: its length in ticks of 10 ms. columns: what is known of each tick. spectrum: mean power of loud ticks by
    frequency, 100 Hz per bin. mean: the direct current, relative to full scale. low: the side at 4 kHz, direct current
    included. holes: start and end of digital silence between sounds, int64 (n, 2) samples at 48 kHz. end_tick: where
    the side's own audio ends and padding with silence begins.
    """

    n_ticks: int
    columns: TickColumns
    spectrum: npt.NDArray[np.float64]
    mean: float
    low: LowBand
    holes: npt.NDArray[np.int64]
    end_tick: int

    @property
    def powers(self) -> Floats:
        """The power of each tick, float32 (n_ticks,); like `peaks` and `flat` mapped from a file."""
        return self.columns.powers.read(self.n_ticks)

    @property
    def peaks(self) -> npt.NDArray[np.uint16]:
        """The largest absolute sample of each tick, of 32768, uint16 (n_ticks,)."""
        return self.columns.peaks.read(self.n_ticks)

    @property
    def flat(self) -> npt.NDArray[np.uint16]:
        """The number of samples that have its peak, if it looks cut off, else 0 (see `Ear.hear`), uint16 (n_ticks,)."""
        return self.columns.flat.read(self.n_ticks)

    @property
    def until_its_end(self) -> "SideAudio":
        """The same without the padding that makes both sides equally long."""
        return replace(self, n_ticks=self.end_tick)

    def read(self, start_tick: int, end_tick: int) -> Floats:
        """The samples of a span of ticks at 4 kHz, full scale 1, without direct current; silence outside the audio."""
        samples = self.low.read(start_tick, end_tick)
        first, last = (min(max(tick, 0), self.end_tick) - start_tick for tick in (start_tick, end_tick))
        samples[first * LOW_TICK : last * LOW_TICK] -= np.float32(self.mean)
        return samples


class HealthProbe:
    """Listens to the audio blocks of both sides. A context manager, because it uses temporary files."""

    def __init__(self) -> None:
        self._tracks: Mapping[Side, _Track] = {side: _Track() for side in SIDES}

    def tap(self, blocks: Iterable[Block], heard: Sequence[Span] | None = None) -> Iterator[Block]:
        """Pass on the blocks and listen to them: int16 (n,) at 48 kHz for A and for B, None once a side has ended.

        heard: the spans of ticks to listen to, as if they followed each other; None for all.
        """
        reached = 0
        for block in blocks:
            for track, pcm in zip(self._tracks.values(), block, strict=True):
                if pcm is None:
                    continue
                for start, end in heard or [(0, NO_END)]:
                    within = pcm[max(start * FRAME_SAMPLES - reached, 0) : max(end * FRAME_SAMPLES - reached, 0)]
                    if len(within):
                        track.push(within)
            reached += max(len(pcm) for pcm in block if pcm is not None)
            yield block

    def sides(self) -> dict[Side, SideAudio]:
        """The audio of each side, both padded to the length of the longer one. Call it once, after all blocks."""
        for track in self._tracks.values():
            track.flush()
        n_ticks = max(track.n_ticks for track in self._tracks.values())
        return {side: track.heard(n_ticks) for side, track in self._tracks.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for track in self._tracks.values():
            track.low.close()
            track.columns.close()


class _Track:
    def __init__(self) -> None:
        self.n_ticks = 0
        self.low = LowBand()
        self.columns = TickColumns()
        self._ear = Ear(_low_pass())
        self._holes = bytearray()
        self._rest = np.zeros(0, np.int16)
        self._spectrum = np.zeros(FRAME_SAMPLES // 2 + 1)
        self._spectra = 0

    def push(self, pcm: Pcm) -> None:
        pcm = np.concatenate([self._rest, pcm]) if len(self._rest) else pcm
        whole = len(pcm) // FRAME_SAMPLES * FRAME_SAMPLES
        self._rest = pcm[whole:].copy()
        if whole:
            self._take(pcm[:whole])

    def flush(self) -> None:
        """Pad the last, incomplete tick with silence: the side has ended."""
        if len(self._rest):
            self._take(np.pad(self._rest, (0, FRAME_SAMPLES - len(self._rest))))
            self._rest = self._rest[:0]

    def _take(self, pcm: Pcm) -> None:
        powers, means, peaks, flat, low, holes = self._ear.hear(pcm)
        self.columns.powers.append(powers)
        self.columns.means.append(means)
        self.columns.peaks.append(peaks)
        self.columns.flat.append(flat)
        self._holes += holes.tobytes()
        self.low.append(low)
        at = np.arange(-self.n_ticks % SPECTRUM_EVERY_TICKS, len(powers), SPECTRUM_EVERY_TICKS)
        loud = at[powers[at] > LOUD_POWER]
        centred = pcm.reshape(-1, FRAME_SAMPLES)[loud] - means[loud, None] * np.float32(FULL_SCALE)
        self._spectrum += _OF_A_TICK.powers(centred).sum(axis=0, dtype=np.float64) / FULL_SCALE**2
        self._spectra += len(loud)
        self.n_ticks += len(powers)

    def heard(self, n_ticks: int) -> SideAudio:
        """The audio until `flush`, padded with silence to `n_ticks`. Call it once."""
        means = self.columns.means.read(self.n_ticks)
        mean = float(means.mean(dtype=np.float64)) if len(means) else 0.0
        powers = self.columns.powers.read(self.n_ticks, writes=True)
        for tick in range(0, self.n_ticks, BLOCK_TICKS):
            powers[tick : tick + BLOCK_TICKS] += (means[tick : tick + BLOCK_TICKS] - np.float32(mean)) ** 2
        padding = np.zeros(n_ticks - self.n_ticks, np.uint16)
        for column in (self.columns.powers, self.columns.peaks, self.columns.flat):
            column.append(padding)
        spectrum, holes = self._spectrum / max(self._spectra, 1), np.frombuffer(self._holes, np.int64).reshape(-1, 2)
        return SideAudio(n_ticks, self.columns, spectrum, mean, self.low, holes, self.n_ticks)
