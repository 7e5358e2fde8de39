"""The table of lines that ships: where the sides of dialogues lie on each line, and what detectors make of their edges.

`python -m benchmarks voices CLIPS --music FOLDER --lines all --table fdbcore/measures/health/data/measured_lines.json`
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import to_builtins
from msgspec.structs import replace

from benchmarks.harness import print_table
from benchmarks.voices import packages
from benchmarks.voices.dialogues import CUTS_DB
from benchmarks.voices.scoring import Tally, matched
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Bools, runs, ticks_in, units
from benchmarks.voices.workshop import Made
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.measures.health.measured_lines import MeasuredLine, Place, VadTable, place
from fdbcore.measures.opportunities import fto, turn_start
from fdbcore.recording.health import Health
from fdbcore.registry import vad
from fdbcore.session.turns import detect_turns
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TurnSettings, other_side

Found: TypeAlias = tuple[Made, Bools, Health]
"""A dialogue over a line, what a detector found in it, and the input health by that."""

EDGE_SHARE: Final = 0.9
LIKE_SHARE: Final = 0.99
FEWEST_PREMATURE: Final = 5
"""A difference of fewer answers, too early or not, may be chance."""
SAME_EDGE_TICKS: Final = 1.5
LEAST_VARIES: Final = 0.1  # dB or ms
ALIKE_MS: Final = 10.0
ALIKE_TIMES: Final = 2.0
WORDS: Final = (
    (r"clean", "clean speech"),
    (r"floor (-\d+)", r"steady noise at \1 dBFS"),
    (r"gain .*", "clean speech"),
    (r"speech (-\d+) \w+, floor -(\d+)", r"speech at \1 dBFS, steady noise \2 dB below it"),
    (r"speech (-\d+) \w+", r"clean speech at \1 dBFS"),
    (r"babble (\d+) dB", r"babble \1 dB below the speech"),
    (r"music (\d+) dB", r"music \1 dB below the speech"),
    (r"(white|pink|brown) (\d+) dB", r"\1 noise \2 dB below the speech"),
    (r"(mu-law|A-law|GSM) 8 kHz", r"a telephone line (\1, 8 kHz)"),
    (r"(MP3|Opus) (joint stereo )?(\d+ kbit/s)", r"\1 at \3"),
    (r"room (\d+) ms", r"a room with a reverberation time of 0.\1 s"),
    (r"agc (-\d+)", r"automatic gain to \1 dBFS"),
    (r"comfort (-\d+)", r"comfort noise at \1 dBFS"),
    (r"dtx (-\d+) ([+-]\d+)", r"noise at \1 dBFS, comfort noise \2 dB in pauses"),
    (r"gate (-\d+) hold (\d+)", r"a noise gate (noise at \1 dBFS, held for \2 ms)"),
    (r"crosstalk -(\d+) dB", r"crosstalk \1 dB down"),
    (r"clicks ([\d.]+) a second", r"\1 clicks a second"),
)


@dataclass(frozen=True)
class FoundSide:
    """One side of a dialogue: where it lies, and its errors in ms. place: None if nothing was found on it.

    tail_ms, findings: as input health has them, findings by their ids.
    """

    place: Place | None
    tail_ms: float | None
    findings: Sequence[str]
    n_true: int
    n_found: int
    start_ms: Sequence[float]
    end_ms: Sequence[float]
    turn_start_ms: Sequence[float]
    turn_end_ms: Sequence[float]


@dataclass(frozen=True)
class FoundDialogue:
    """One dialogue over one line as a detector has it, speech that is echo taken out as reports do. premature: true,
    found; opportunities: true, found."""

    line: str
    number: int
    sides: tuple[FoundSide, FoundSide]
    premature: tuple[int, int]
    opportunities: tuple[int, int]


def line_table(found: Mapping[str, Sequence[Found]], clips: Path, dialogues: int) -> dict[str, Any]:
    """The table of what detectors found, by their names, as JSON values; prints how well sides are placed by it."""
    of_each = {name: _measured(files) for name, files in found.items()}
    for name, measured in of_each.items():
        _check(name, measured)
    return {
        "made_by": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "made": datetime.now(UTC).date().isoformat(),
        "dialogues": dialogues,
        "clips": {folder.name: _package(folder.name) for folder in sorted(clips.iterdir()) if folder.is_dir()},
        "detectors": {name: to_builtins(_table(name, measured)) for name, measured in of_each.items()},
    }


def write(path: Path, table: Mapping[str, Any]) -> None:
    """The table as JSON, one line of the table in a line of the file."""
    text = json.dumps(table, indent=1)
    rows = re.compile(r"\{\s*\"name\".*?\n    \}", re.DOTALL)
    path.write_text(rows.sub(lambda row: re.sub(r"\s*\n\s*", " ", row[0]), text) + "\n")


def in_words(line: str) -> str:
    """What a line is, for readers."""
    for pattern, words in WORDS:
        if re.fullmatch(pattern, line):
            return re.sub(r"0\.(\d)00 s", r"0.\1 s", re.sub(pattern, words, line))
    return line


def _package(voice: str) -> str | None:
    """The package that a voice of the published tables comes from."""
    source = {**packages.TUNING, **packages.TEST}.get(voice)
    return source.package if source else None


def _measured(files: Sequence[Found]) -> list[FoundDialogue]:
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        return list(pool.map(_of_dialogue, *zip(*files, strict=True)))


def _of_dialogue(made: Made, active: Bools, health: Health) -> FoundDialogue:
    free = np.stack(
        echo_free_activity((active[:, 0], active[:, 1]), {side: health["suspect"][side] for side in SIDES}), axis=1
    )
    spans = made.spans(CUTS_DB[0])
    truth = np.stack([ticks_in(side, len(free)) for side in spans], axis=1)
    taken, given = _turn_edges(truth)
    sides = []
    for column, side in enumerate(SIDES):
        true, all_found = units(spans[column]), units(runs(free[:, column]) * TICK_SAMPLES)
        of_true, of_found = matched(true, all_found)
        starts_ms, ends_ms = ((of_found - of_true) * 1000 / RATE_HZ).T
        is_turn = [_near(of_true[:, 0], taken[side]), _near(of_true[:, 1], given[side])]
        sides.append(
            FoundSide(
                place(health["sides"][side]),
                health["sides"][side]["tail_ms"],
                [finding["id"] for finding in health["findings"] if finding["side"] == side],
                len(true),
                len(all_found),
                starts_ms.tolist(),
                ends_ms.tolist(),
                starts_ms[is_turn[0]].tolist(),
                ends_ms[is_turn[1]].tolist(),
            )
        )
    tally = Tally()
    tally.add_dialogue(spans, free)
    premature, opportunities = (
        (tally.premature[0], tally.premature[1]),
        (tally.opportunities[0], tally.opportunities[1]),
    )
    return FoundDialogue(made.line, made.number, (sides[0], sides[1]), premature, opportunities)


def _turn_edges(truth: Bools) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The ticks at which each side takes the floor, and at which it gives it."""
    dialogue = Dialogue(detect_turns(truth[:, 0], truth[:, 1]), len(truth), TurnSettings())
    taken: dict[str, list[int]] = {side: [] for side in SIDES}
    given: dict[str, list[int]] = {side: [] for side in SIDES}
    for side in SIDES:
        for event in dialogue.uncensored("gap", "overlap_between", side=side):
            taken[side].append(turn_start(event))
            given[other_side(side)].append(turn_start(event) - fto(event))
    return taken, given


def _near(samples: npt.NDArray[np.int64], ticks: Sequence[int]) -> Bools:
    """Which of these samples lie at one of the ticks."""
    apart = np.abs(samples[:, None] / TICK_SAMPLES - np.array(ticks, dtype=np.float64)[None, :])
    return np.asarray(apart.min(axis=1, initial=np.inf) <= SAME_EDGE_TICKS, dtype=np.bool_)


def _table(name: str, found: Iterable[FoundDialogue], like_within: float | None = None) -> VadTable:
    """The table of one detector. like_within: as it stands there; None: as it is measured."""
    by_line: dict[str, list[FoundDialogue]] = defaultdict(list)
    for dialogue in found:
        by_line[dialogue.line].append(dialogue)
    lines = [line for each, of in by_line.items() if (line := _line(each, of)) is not None]
    squares: dict[str, list[float]] = defaultdict(list)
    for row in lines:
        for at in (side.place for dialogue in by_line[row.name] for side in dialogue.sides if side.place is not None):
            for figure, value in at.items():
                middle = row.place[figure]
                if value is not None and middle is not None:
                    squares[figure].append((value - middle) ** 2)
    varies = {
        figure: max(round(float(np.sqrt(np.mean(values))), 3), LEAST_VARIES) for figure, values in squares.items()
    }
    version = str(vad(name)(source_rate_hz=SAMPLE_RATE_HZ).describe()["version"])
    table = VadTable(version, varies, like_within or np.inf, lines)
    if like_within is None:
        apart = [distance for *_, distance in _left_out(name, [each for of in by_line.values() for each in of])]
        table = replace(table, like_within=round(float(np.quantile(apart, LIKE_SHARE)), 2))
    return table


def _line(name: str, of: Sequence[FoundDialogue]) -> MeasuredLine | None:
    """The row of a line; None if nothing was found on it."""
    sides = [side for dialogue in of for side in dialogue.sides]
    places = [side.place for side in sides if side.place is not None]
    if not places:
        return None
    middle = {
        figure: round(float(np.median(values)), 2)
        if 2 * len(values := _values(places, figure)) >= len(places)
        else None
        for figure in places[0]
    }
    starts, ends = _all(sides, "start_ms"), _all(sides, "end_ms")
    premature, opportunities = (np.sum([getattr(each, what) for each in of], axis=0) for what in _COUNTS)
    shares = premature / np.maximum(opportunities, 1)
    return MeasuredLine(
        name=name,
        what=in_words(name),
        place=middle,
        units=sum(side.n_true for side in sides),
        unit_f1=round(2 * len(starts) / max(sum(side.n_true + side.n_found for side in sides), 1), 3),
        edges_within_ms=_quantile(np.abs([*starts, *ends]), EDGE_SHARE),
        start_ms=_quantile(starts),
        end_ms=_quantile(ends),
        turn_start_ms=_quantile(_all(sides, "turn_start_ms")),
        turn_end_ms=_quantile(_all(sides, "turn_end_ms")),
        premature_points=(
            round(100 * float(shares[1] - shares[0]), 1)
            if abs(premature[1] - premature[0]) >= FEWEST_PREMATURE
            else None
        ),
    )


_COUNTS: Final = ("premature", "opportunities")


def _values(places: Sequence[Place], figure: str) -> list[float]:
    return [value for each in places if (value := each[figure]) is not None]


def _all(sides: Sequence[FoundSide], what: str) -> list[float]:
    return [value for side in sides for value in getattr(side, what)]


def _quantile(values: npt.ArrayLike, share: float = 0.5) -> float | None:
    known = np.asarray(values, dtype=np.float64)
    return round(float(np.quantile(known, share)), 1) if len(known) else None


def _left_out(
    name: str, found: Sequence[FoundDialogue]
) -> Iterable[tuple[MeasuredLine, MeasuredLine, FoundSide, float]]:
    """Each side by the table of the other dialogues: its own line there, the line that it is most like, itself, and how
    far it lies from that."""
    for number in sorted({each.number for each in found}):
        others = [each for each in found if each.number != number]
        table = _table(name, others, like_within=np.inf) if others else None
        own = {line.name: line for line in table.lines} if table else {}
        for dialogue in found:
            for side in dialogue.sides if dialogue.number == number and dialogue.line in own else ():
                if table is not None and side.place is not None:
                    nearest, distance = table.nearest(side.place, side.tail_ms, side.findings)
                    yield own[dialogue.line], nearest, side, distance


def _check(name: str, found: Sequence[FoundDialogue]) -> None:
    """Print how often sides of a dialogue that was left out are placed on their own line, or one with like errors."""
    placed = list(_left_out(name, found))
    if not placed:
        return
    same = sum(nearest.name == own.name for own, nearest, *_ in placed)
    alike = sum(_alike(own, nearest) for own, nearest, *_ in placed)
    errors = [
        abs(nearest.turn_end_ms - float(np.median(side.turn_end_ms)))
        for _, nearest, side, _ in placed
        if nearest.turn_end_ms is not None and len(side.turn_end_ms)
    ]
    within = [
        np.mean(np.abs([*side.start_ms, *side.end_ms]) <= nearest.edges_within_ms)
        for _, nearest, side, _ in placed
        if nearest.edges_within_ms is not None and len(side.start_ms)
    ]
    rows = [
        ("sides", len(placed)),
        ("placed on their own line", f"{100 * same / len(placed):.0f} %"),
        ("on their own, or one with like errors", f"{100 * alike / len(placed):.0f} %"),
        ("predicted less own median error of ends of turns: median, p90", f"{np.median(errors):.1f}, "
         f"{np.quantile(errors, 0.9):.0f} ms"),
        ("edges within what the line says of 9 of 10", f"{100 * np.mean(within):.0f} %"),
    ]  # fmt: skip
    print_table(f"Sides of dialogues that were left out, placed by the others: {name}", ("", ""), rows)


def _alike(own: MeasuredLine, other: MeasuredLine) -> bool:
    """Whether a reader would be told about the same: edges and answers within a tick or a factor of two."""
    if own.name == other.name:
        return True
    pairs = [(own.turn_start_ms, other.turn_start_ms), (own.turn_end_ms, other.turn_end_ms)]
    near = all(a is not None and b is not None and abs(a - b) <= ALIKE_MS for a, b in pairs)
    a, b = own.edges_within_ms or 0.0, other.edges_within_ms or 0.0
    return near and (abs(a - b) <= ALIKE_MS or max(a, b) <= ALIKE_TIMES * min(a, b))
