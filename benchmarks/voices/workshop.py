"""Makes the files of dialogues over lines once, keeps them, and asks detectors about them on all cores."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.voices import clips, detectors, dialogues, files, lines, peers, speech
from benchmarks.voices.dialogues import CUTS_DB
from benchmarks.voices.healths import health_of
from benchmarks.voices.lines import Line, Material
from benchmarks.voices.speech import Bools, Spans
from fdbcore.recording.health import Health

MAKERS: Final = (clips, dialogues, files, lines, speech)
"""The modules that decide what the files hold: kept files are those of the same code."""


@dataclass(frozen=True)
class Made:
    """One dialogue over one line."""

    line: str
    number: int
    path: Path
    truth: Path

    def spans(self, cut_db: int) -> tuple[Spans, Spans]:
        """The true spans of both sides."""
        with np.load(self.truth) as truth:
            return truth[f"a{cut_db}"], truth[f"b{cut_db}"]


def kept_folder(cache: Path, clips_folder: Path, music: Path | None, seed: int, seconds: float) -> Path:
    """Where the files of such dialogues are kept: named by all that decides them."""
    listed = [
        (str(path.relative_to(folder)), path.stat().st_size)
        for folder in (clips_folder, music)
        if folder is not None
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    code = [hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest() for module in MAKERS]
    key = json.dumps([listed, code, seed, seconds])
    return cache / hashlib.sha256(key.encode()).hexdigest()[:16]


def make(
    folder: Path, clips_folder: Path, music: Path | None, chosen: Sequence[Line], count: int, seed: int, seconds: float
) -> list[Made]:
    """The files of `count` dialogues over the chosen lines; what is there already is taken as it is."""
    wanted = {
        (number, line.name): Made(
            line.name, number, _folder(folder, number) / f"{slug(line.name)}{files.suffix(line.encoding)}",
            _folder(folder, number) / "truth.npz",
        )
        for number in range(count)
        for line in chosen
    }  # fmt: skip
    missing = {number for (number, _), made in wanted.items() if not made.path.exists()}
    if missing:
        material = Material(clips.voices_in(clips_folder), clips.tracks_in(music) if music else [])
        tasks = [(folder, number, seed, seconds, [line.name for line in chosen]) for number in sorted(missing)]
        with ProcessPoolExecutor(
            mp_context=get_context("fork"), initializer=_take, initargs=(material, list(chosen))
        ) as pool:
            for done, _ in enumerate(pool.map(_make_dialogue, tasks), 1):
                print(f"made dialogue {done} of {len(tasks)} over {len(chosen)} lines", file=sys.stderr)
    return list(wanted.values())


_MATERIAL: list[Material] = []
_LINES: dict[str, Line] = {}


def _take(material: Material, chosen: Sequence[Line]) -> None:
    _MATERIAL.append(material)
    _LINES.update({line.name: line for line in chosen})


def _make_dialogue(task: tuple[Path, int, int, float, list[str]]) -> None:
    folder, number, seed, seconds, names = task
    out = _folder(folder, number)
    out.mkdir(parents=True, exist_ok=True)
    own_seed = 1000 * seed + number
    spoken = dialogues.dialogue(_MATERIAL[0].voices, own_seed, seconds)
    spans = {f"{side}{cut}": spoken.spans[cut][index] for cut in CUTS_DB for index, side in enumerate("ab")}
    np.savez(out / "truth.npz", allow_pickle=False, **spans)
    for name in names:
        line = _LINES[name]
        path = out / f"{slug(name)}{files.suffix(line.encoding)}"
        if not path.exists():
            part = path.with_name(f"part-{path.name}")
            files.write(part, line.audio(spoken, _MATERIAL[0], own_seed), line.encoding)
            part.rename(path)


def _folder(folder: Path, number: int) -> Path:
    return folder / f"dialogue-{number:02}"


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return re.sub(r"[^a-z0-9+-]+", "_", name.lower())


def activities(made: Sequence[Made], names: Mapping[str, bool]) -> Iterator[tuple[Made, str, Bools, float]]:
    """What each detector finds in each file, and in how many seconds. names: by name, whether it is a peer.

    What peers found is kept beside the file, with the seconds that it took.
    """
    tasks = [(each, name, is_peer) for each in made for name, is_peer in names.items()]
    start, shown = time.monotonic(), 0.0
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        chunk = max(len(names), 1)  # a file's detectors together: two rules read one model
        for done, result in enumerate(pool.map(_detect, tasks, chunksize=chunk), 1):
            yield result
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                print(f"{done} of {len(tasks)} after {shown - start:.0f} s", file=sys.stderr)


def healths_of(found: Sequence[tuple[Made, Bools]], vad: str) -> list[Health]:
    """The input health of each file, by what a detector of this name found there."""
    tasks = [(made.path, active, vad) for made, active in found]
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        return list(pool.map(health_of, *zip(*tasks, strict=True)))


def _detect(task: tuple[Made, str, bool]) -> tuple[Made, str, Bools, float]:
    made, name, is_peer = task
    kept = None
    if is_peer:
        kept = made.path.with_name(f"{made.path.name}.{slug(name)}-{peers.edition(name)}.npz")
        if kept.exists():
            with np.load(kept) as found:
                return made, name, found["active"], float(found["seconds"])
    start = time.process_time()
    detect = peers.PEERS[name].detect if is_peer else detectors.ours(name)
    active = detect(made.path)
    seconds = time.process_time() - start
    if kept is not None:
        np.savez_compressed(kept, active=active, seconds=seconds)
    return made, name, active, seconds
