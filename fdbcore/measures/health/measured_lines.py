"""Lines that were measured, and which of them a side of a call is most like.

`python -m benchmarks voices CLIPS --table FILE` makes the table: the same dialogues of real voices over each line, and
what each detector makes of their edges. Of a detector in another version, nothing is measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fdbcore.measures.health.figures import ROOM_TAIL_MS

if TYPE_CHECKING:
    from fdbcore.measures import placed_line_types
    from fdbcore.recording.recorded_types import SideFigures

TABLE: Final = "measured_lines.json"
MEASURED_KINDS: Final = {"music": "music", "reverberation": "room"}
"""What input health finds of a side, and how the names of lines with it begin: it is one of them, or unlike all."""

INAUDIBLE_DB: Final = 40.0
"""So far below the mean level of the speech, noise is softer than all that counts as speech: it makes no difference."""
SOFT_DBOV: Final = -40.0  # louder speech has many steps of 16 bit, and its level makes no difference
LONGEST_FALL_MS: Final = 300.0
TELEPHONE_DROP_DB: Final = 40.0
MOST_SPREAD_DB: Final = 6.0
ONE_LACKS: Final = 2.0
"""How far apart two sides are in a figure that only one of them shows; the unit is that of `VadTable.distance`."""

Place: TypeAlias = Mapping[str, float | None]
"""Where a side lies, by figure; None for what it does not show."""


def place(known: SideFigures) -> Place | None:
    """Where a side lies: its figures as far as they can make a difference. None without speech or background.

    What follows speech, and the softest of speech, are relative to the mean level of the speech.
    """
    level_dbov, snr_db, spread_db = known["level_dbov"], known["snr_db"], known.get("spread_db")
    if level_dbov is None or snr_db is None or spread_db is None:
        return None

    def from_speech(above_noise_db: float | None) -> float | None:
        return None if above_noise_db is None else max(above_noise_db - snr_db, -INAUDIBLE_DB)

    fall_ms, drop_db = known.get("fall_ms"), known.get("high_drop_db")
    return {
        "level_dbov": min(level_dbov, SOFT_DBOV),
        "snr_db": min(snr_db, INAUDIBLE_DB),
        "spread_db": min(spread_db, MOST_SPREAD_DB) if snr_db < INAUDIBLE_DB else 0.0,
        "softest_db": from_speech(known.get("under_db")),
        "after_db": from_speech(known.get("after_db")),
        "fall_ms": None if fall_ms is None else min(fall_ms, LONGEST_FALL_MS),
        "high_drop_db": None if drop_db is None else min(drop_db, TELEPHONE_DROP_DB),
    }


@dataclass(frozen=True, slots=True)
class MeasuredLine:
    """A line, and what it does to the edges that a detector finds. Errors are found less true, in ms.

    what: the line in words. unit_f1: of stretches of speech; edges_within_ms: nine of ten starts and ends of those that
    were found lie within it. start_ms, end_ms: medians; turn_start_ms, turn_end_ms: of those at which the floor passes.
    premature_points: answers that came too early, above the truth, in points of a share; None if they are few more or
    less. Each is None where nothing was found.
    """

    name: str
    what: str
    place: Place
    units: int
    unit_f1: float
    edges_within_ms: float | None
    start_ms: float | None
    end_ms: float | None
    turn_start_ms: float | None
    turn_end_ms: float | None
    premature_points: float | None

    @property
    def is_room(self) -> bool:
        """Whether the voice sounds on in a room."""
        return self.name.startswith(MEASURED_KINDS["reverberation"])

    def may_have_tail(self, tail_ms: float) -> bool:
        """Whether the quicker sounds of a voice may die away so on this line."""
        if tail_ms < ROOM_TAIL_MS:
            return not self.is_room
        fall_ms = self.place["fall_ms"]
        return fall_ms is None or fall_ms >= ROOM_TAIL_MS

    def to_json(self) -> placed_line_types.MeasuredLine:
        """All of it as JSON values."""
        return {
            "name": self.name,
            "what": self.what,
            "place": dict(self.place),
            "units": self.units,
            "unit_f1": self.unit_f1,
            "edges_within_ms": self.edges_within_ms,
            "start_ms": self.start_ms,
            "end_ms": self.end_ms,
            "turn_start_ms": self.turn_start_ms,
            "turn_end_ms": self.turn_end_ms,
            "premature_points": self.premature_points,
        }


@dataclass(frozen=True)
class VadTable:
    """What was measured of one detector.

    varies: by figure, how far the sides of one line lie from it (root of the mean square). like_within: nearly all
    sides of dialogues that were left out lie at most this far from the line that they are most like.
    """

    version: str
    varies: Mapping[str, float]
    like_within: float
    lines: Sequence[MeasuredLine]

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> VadTable:
        """The table from its JSON values."""
        lines = [MeasuredLine(**line) for line in content["lines"]]
        return cls(content["version"], content["varies"], content["like_within"], lines)

    def distance(self, a: Place, b: Place) -> float:
        """How far two places lie apart: root of the mean square over figures, each in units of how much it varies."""
        squares = []
        for name, varies in self.varies.items():
            of_a, of_b = a[name], b[name]
            if of_a is not None and of_b is not None:
                squares.append(((of_a - of_b) / varies) ** 2)
            elif of_a is not of_b:
                squares.append(ONE_LACKS**2)
        return math.sqrt(sum(squares) / len(squares))

    def nearest(self, to: Place, tail_ms: float | None, findings: Collection[str] = ()) -> tuple[MeasuredLine, float]:
        """The line that a side is most like, and how far it lies from it.

        tail_ms: see `figures`; if it is long, the side is on no line on which voices die away quickly, and else in no
        room. findings: what input health finds of the side, by their ids. It is in a room, or in music, if that is
        found.
        """
        kinds = tuple(kind for finding, kind in MEASURED_KINDS.items() if finding in findings)
        lines = [
            line
            for line in self.lines
            if (line.name.startswith(kinds) if kinds else tail_ms is None or line.may_have_tail(tail_ms))
        ]
        apart = [self.distance(to, line.place) for line in lines]
        least = min(apart)
        return lines[apart.index(least)], least


@cache
def measured_lines() -> Mapping[str, VadTable]:
    """The table that ships, by the name of the detector."""
    content = json.loads((files("fdbcore.measures.health") / "data" / TABLE).read_text(encoding="utf-8"))
    return {name: VadTable.from_json(of_one) for name, of_one in content["detectors"].items()}
