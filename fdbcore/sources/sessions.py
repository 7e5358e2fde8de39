"""Finds the sessions that a user names by files, pairs and folders, and reads both sides in step at 48 kHz."""

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

import numpy as np

from fdbcore._ext.pcm import to_mono
from fdbcore.audio.decode import AudioFile, Block, resampler_to_48k
from fdbcore.errors import AudioError, RecordingError, SettingsError
from fdbcore.recording.files import AUDIO, META
from fdbcore.recording.form import damaged
from fdbcore.recording.labels import Label
from fdbcore.recording.left_out import LeftOut
from fdbcore.recording.meta import AnnotatedSpan, Channel, SourceFiles, SourceSide
from fdbcore.recording.places import located
from fdbcore.recording.reader import Recording
from fdbcore.sources.agent_logs import LogFile
from fdbcore.sources.benchmark_folders import annotations_in, call_in, is_mono, place_and_name, words_beside
from fdbcore.sources.label_set import SIDE_NAMES
from fdbcore.sources.left_out import AskedSpan, in_ticks
from fdbcore.sources.names import real_path, session_names
from fdbcore.sources.pairs import Pair, pair_name
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Pcm, Side

BLOCK_SAMPLES: Final = TICKS_PER_S * FRAME_SAMPLES
MOST_OFFSET_MS: Final = 600_000

MONO: Final = "expected two channels (left A, right B), got mono"
"""The error of a single file with one channel; many such files are most likely the sides of calls."""

_OTHER_SIDE: Final = "give the file of each side, A's first, or --pair for a folder"
_TRACKS: Final[tuple[Channel, Channel]] = ("track 1", "track 2")
_PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class SessionInput:
    """The files and settings of one session. Nothing is opened yet.

    name: the name of the session's folder; unique in a run.
    a: the file of side A. If b is None, it is the file of both sides: left A, right B; or two mono tracks, A's first.
    b: the file of side B.
    swap: exchange the sides.
    offset_ms: how much later B begins than A; if negative, A begins later than B. Nothing is cut off.
    words: the file of Full-Duplex-Bench with a side's words and their times, by side (after `swap`).
    recording: the folder of the recording that this audio belongs to, directly or by links; None if there is none.
    labels: the file that the labels came from, and the labels; None if no labels were given.
    log: the agent's own log; None if none was given.
    leave_out: what is not measured; None: what the recording leaves out, if there is one.
    Raises SettingsError for an offset out of range.
    """

    name: str
    a: Path
    b: Path | None = None
    swap: bool = False
    offset_ms: int = 0
    words: Mapping[Side, Path] = field(default_factory=dict)
    recording: Path | None = None
    labels: tuple[str, Sequence[Label]] | None = None
    log: LogFile | None = None
    leave_out: Sequence[AskedSpan] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.offset_ms, int) or abs(self.offset_ms) > MOST_OFFSET_MS:
            raise SettingsError(
                f"offset_ms: expected a whole number from -{MOST_OFFSET_MS} to {MOST_OFFSET_MS}, got {self.offset_ms!r}"
            )

    @property
    def paths(self) -> list[Path]:
        """The one or two audio files."""
        return [self.a] if self.b is None else [self.a, self.b]

    def refuse_change(self) -> None:
        """Raise SettingsError if this is a recording, whose sides and times are fixed. Its files may be changed."""
        if self.recording is not None:
            files = " and ".join(map(str, self.paths))
            raise SettingsError(
                f"{self.recording}: a recording keeps its sides and times: name {files} to swap or offset them"
            )

    def left_out(self, held: Recording | None, n_ticks: int | None) -> Sequence[LeftOut]:
        """Spans of this session that are not measured. n_ticks: its length, None if it is not known yet.

        held: the recording that is replayed, if there is one. SettingsError as for `left_out.in_ticks`.
        """
        if self.leave_out is not None:
            return in_ticks(self.leave_out, n_ticks)
        return [] if held is None else held.left_out

    def annotations(self) -> list[AnnotatedSpan]:
        """Annotations in a folder of Full-Duplex-Bench v1. InputError if they cannot be read."""
        return annotations_in(self.a.parent) if self.words else []

    def open(self) -> "SessionSource":
        """Open the files, to read the audio of both sides. AudioError if they cannot be used."""
        return SessionSource(self)


def session_inputs(
    paths: Sequence[_PathLike] = (),
    a: _PathLike | None = None,
    b: _PathLike | None = None,
    *,
    pairs: Sequence[Pair] = (),
    swap: bool = False,
    offset_ms: int = 0,
    searched: bool = False,
) -> list[SessionInput]:
    """The sessions that the arguments of a command name.

    Give either `a` and `b`, one file for each side, or `pairs` of such files, a session each, or `paths`. Exactly two
    mono files in `paths` are the two sides of one session, unless they were `searched` for: then nobody has said which
    side is which. Any other file is stereo and a session of its own. So is a folder of Full-Duplex-Bench (see
    `benchmark_folders`), a recording, and each recording of a run. SettingsError for other combinations. A file that
    cannot be used fails only when its session is opened.
    """
    if (a is None) != (b is None) or (a is None) == (not paths and not pairs):
        raise SettingsError("give recordings or folders, or both -a FILE and -b FILE")
    named = [Path(path) for path in paths]
    groups: list[tuple[Path, ...]]  # the files of each session
    if a is not None and b is not None:
        groups = [(Path(a), Path(b))]
    elif pairs:
        groups = [*pairs]
    elif not searched and len(named) == 2 and all(map(is_mono, named)):
        groups = [tuple(named)]
    else:
        groups = [files for path in named for files in _sessions_at(path)]
    names = session_names([_place_and_name(group) for group in groups])
    return [_session(name, group, swap, offset_ms) for name, group in zip(names, groups, strict=True)]


def _sessions_at(path: Path) -> list[tuple[Path, ...]]:
    """The files of each session in a folder (for a recording, its folder); `path` itself if it is no such folder."""
    if not _is_recording(path) and (call := call_in(path)) is not None:
        return [call]
    cases = sorted(meta.parent for meta in path.glob(f"*/{META}")) if os.path.isdir(path) else []
    return [(path,)] if _is_recording(path) or not cases else [(case,) for case in cases]


def _is_recording(path: Path) -> bool:
    return os.path.isfile(path / META)


def _place_and_name(files: tuple[Path, ...]) -> tuple[Path, str]:
    """The folder that a session lies in, and its name there."""
    if (of_benchmark := place_and_name(files)) is not None:
        return of_benchmark
    if _is_recording(files[0]):
        return real_path(files[0]).parent, real_path(files[0]).name
    return Path(os.path.abspath(files[0])).parent, pair_name(files[0].stem, files[-1].stem)


def _session(name: str, files: tuple[Path, ...], swap: bool, offset_ms: int) -> SessionInput:
    if _is_recording(files[0]):
        session = recorded_session(name, files[0])
        if swap or offset_ms:
            session.refuse_change()
        return session
    return _of_files(name, files, swap, offset_ms)


def recorded_session(name: str, folder: Path) -> SessionInput:
    """The session to replay for the recording in a folder: its own audio, or the files that it links.

    The links keep the sides and the offset with which they were replayed before.
    """
    source: SourceFiles = {}
    if not (folder / AUDIO).is_file():
        with suppress(RecordingError):  # a broken meta.json is reported when the session is opened
            source = Recording(folder).meta.get("source") or {}
    if not source.get("files"):
        return SessionInput(name, folder / AUDIO, recording=folder)
    if lacking := [name for name in ("swap", "offset_ms") if name not in source]:
        raise damaged(folder / META, f"source: expected {' and '.join(lacking)}, got none")
    files = tuple(located(folder, file["path"]) for file in source["files"])
    return replace(_of_files(name, files, source["swap"], source["offset_ms"]), recording=folder)


def _of_files(name: str, files: tuple[Path, ...], swap: bool, offset_ms: int) -> SessionInput:
    words = zip(_in_order(swap), words_beside(files), strict=False)
    found: dict[Side, Path] = {side: file for side, file in words if file.is_file()}
    return SessionInput(name, files[0], files[1] if len(files) == 2 else None, swap, offset_ms, found)


def _in_order(swap: bool) -> tuple[Side, Side]:
    """The sides on the left and right channel, or of the first and second file."""
    return ("B", "A") if swap else ("A", "B")


class SideSource:
    """The audio of one side of a session.

    file, channel: where it comes from; channel is "left", "right", "mono", or the "mean" of two channels.
    lead_samples: how much silence precedes the file's time 0, because of offset_ms (at 48 kHz).
    samples: how many samples were taken so far, lead included (at 48 kHz); in the end, the side's length.
    """

    def __init__(self, file: AudioFile, channel: Channel, blocks: Iterator[Pcm], lead_samples: int) -> None:
        self.file = file
        self.channel = channel
        self.lead_samples = lead_samples
        self.samples = 0
        self._blocks = _at_48k(blocks, file.rate_hz, lead_samples)
        self._rest = np.zeros(0, np.int16)

    def take(self, samples: int) -> Pcm | None:
        """The next `samples` samples, int16 (n,); fewer at the end, None after it."""
        parts, available = [self._rest], len(self._rest)
        while available < samples and (block := next(self._blocks, None)) is not None:
            parts.append(block)
            available += len(block)
        joined = np.concatenate(parts)
        self._rest = joined[samples:]
        self.samples += min(available, samples)
        return joined[:samples] if available else None


class SessionSource:
    """Reads both sides of a session in step, as int16 mono at 48 kHz. Memory does not grow with the length.

    files: the stereo file, those of A and B, or a file with a mono track a side twice. sides: the source of each side.
    AudioError if a file cannot be used, for a single mono file, and if two files have the same content.
    """

    def __init__(self, session: SessionInput) -> None:
        self._session = session
        with ExitStack() as opened:
            self.files = tuple(map(opened.enter_context, _opened(session)))
            self._has_tracks = len(self.files) > len(session.paths)
            if not self._has_tracks:
                _refuse_single_side(self.files)
            lead = {"A": max(-session.offset_ms, 0), "B": max(session.offset_ms, 0)}
            self.sides: dict[Side, SideSource] = {
                side: SideSource(file, channel, blocks, lead[side] * SAMPLE_RATE_HZ // 1000)
                for side, (file, channel, blocks) in zip(_in_order(session.swap), self._tracks(), strict=True)
            }
            self._opened = opened.pop_all()

    def blocks(self) -> Iterator[tuple[Pcm | None, Pcm | None]]:
        """Yield the next second (48,000 samples) of A and of B; fewer at the end of a side, None after it.

        It can be read once. AudioError as in `AudioFile.blocks`, and at the end if both channels are the same.
        """
        while True:
            a, b = self.sides["A"].take(BLOCK_SAMPLES), self.sides["B"].take(BLOCK_SAMPLES)
            if a is None and b is None:
                return
            yield a, b

    def _tracks(self) -> list[tuple[AudioFile, Channel, Iterator[Pcm]]]:
        """File, channel and mono blocks at the file's rate, of the left and right channel or of the two files."""
        if len(self.files) == 2:
            of_files: list[Channel] = ["mono" if file.channels == 1 else "mean" for file in self.files]
            named = zip(self.files, _TRACKS if self._has_tracks else of_files, strict=True)
            return [(file, channel, map(to_mono, file.blocks())) for file, channel in named]
        (file,) = self.files
        known_sides = self._session.recording is not None
        left, right = itertools.tee(file.blocks() if known_sides else _with_different_channels(file))
        return [
            (file, "left", (block[:, 0].copy() for block in left)),
            (file, "right", (block[:, 1].copy() for block in right)),
        ]

    @property
    def stated_s(self) -> float | None:
        """The session's length in seconds as the files state it; None if one of them does not."""
        stated = [(side.file.stated_s, side.lead_samples / SAMPLE_RATE_HZ) for side in self.sides.values()]
        ends_s = [file_s + lead_s for file_s, lead_s in stated if file_s is not None]
        return max(ends_s) if len(ends_s) == len(stated) else None

    @property
    def stated_ticks(self) -> int | None:
        """The same in ticks of 10 ms; the last may be incomplete."""
        return None if self.stated_s is None else math.ceil(round(self.stated_s * TICKS_PER_S, 3))

    def left_out(self, held: Recording | None) -> Sequence[LeftOut]:
        """Spans that are not measured, as `SessionInput.left_out` says it."""
        return self._session.left_out(held, self.stated_ticks)

    @property
    def rates_hz(self) -> tuple[int, int]:
        """The sample rates of the files that A and B come from."""
        return self.sides["A"].file.rate_hz, self.sides["B"].file.rate_hz

    @property
    def playable_in_browser(self) -> bool:
        """True if a browser can play the file itself as the session, with the session's timing so far."""
        return len(self.files) == 1 and self._session.offset_ms == 0 and self.files[0].playable_in_browser

    def describe(self) -> SourceFiles:
        """Files, sides and settings as JSON values. They are complete after the last block."""
        sides: dict[Side, SourceSide] = {
            name: {
                "file": 0 if self._has_tracks else self.files.index(side.file),
                "channel": side.channel,
                "lead_samples": side.lead_samples,
                "samples": side.samples,
            }
            for name, side in self.sides.items()
        }
        files = [file.describe() for file in self.files]
        if self._has_tracks:
            notes = [f"{track}: {note}" for track, each in zip(_TRACKS, files, strict=True) for note in each["notes"]]
            files = [{**files[0], "notes": notes, "damage": files[0]["damage"] or files[1]["damage"]}]
        return {
            "files": files,
            "sides": sides,
            "swap": self._session.swap,
            "offset_ms": self._session.offset_ms,
            "playable_in_browser": self.playable_in_browser,
        }

    def close(self) -> None:
        """Release the files."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _opened(session: SessionInput) -> Iterator[AudioFile]:
    """The files of a session; if its one file has a mono track for each side, that file for each of them."""
    first = AudioFile(session.a, None if session.b else 0)
    yield first
    if session.b is not None or len(first.titles) == 2:
        named = [SIDE_NAMES.get(title.strip().lower()) for title in first.titles]
        if named == ["B", "A"] and not session.swap:
            raise AudioError(f"{first.path}: expected A's track before B's, got titles {first.titles}: give --swap")
        yield AudioFile(session.b or session.a, None if session.b else 1)


def _refuse_single_side(files: tuple[AudioFile, ...]) -> None:
    first, *others = files
    if not others and first.channels == 1:
        raise AudioError(f"{first.path}: {MONO}: {_OTHER_SIDE}")
    for other in others:
        if first.path.stat().st_size == other.path.stat().st_size and first.sha256 == other.sha256:
            raise AudioError(f"{other.path}: expected another side than {first.path}, got the same content")


def _with_different_channels(file: AudioFile) -> Iterator[Block]:
    """The blocks of a stereo file. AudioError at its end if left and right are the same and not silent."""
    same, silent = True, True
    for block in file.blocks():
        if same:
            same = np.array_equal(block[:, 0], block[:, 1])
            silent = silent and not block.any()
        yield block
    if same and not silent:
        raise AudioError(
            f"{file.path}: expected two different channels (left A, right B), got the same in both: {_OTHER_SIDE}"
        )


def _at_48k(blocks: Iterator[Pcm], rate_hz: int, lead_samples: int) -> Iterator[Pcm]:
    for start in range(0, lead_samples, BLOCK_SAMPLES):
        yield np.zeros(min(BLOCK_SAMPLES, lead_samples - start), np.int16)
    resampler = resampler_to_48k(rate_hz)
    for block in blocks:
        yield resampler.process(block)
    yield resampler.flush()
