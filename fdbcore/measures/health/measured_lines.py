"""Lines that were measured, and which of them a side of a call is most like.

`python -m benchmarks voices CLIPS --table FILE` makes the table: the same dialogues of real voices over each line, and
what each detector makes of their edges. Of a detector in another version, nothing is measured.
"""

import json
import math
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from fdbcore.measures.health.side_sound import ROOM_TAIL_MS
from fdbcore.recording.form import converted
from fdbcore.recording.health import SideSound
from fdbcore.types.units import Count

TABLE: Final = "measured_lines.json"
MEASURED_KINDS: Final = {"music": "music", "reverberation": "room"}
"""Findings of input health on a side, and how the names of lines with it begin: it is one of them, or unlike all."""

INAUDIBLE_DB: Final = 40.0
"""So far below the mean level of the speech, noise is softer than all that counts as speech: it makes no difference."""
SOFT_DBOV: Final = -40.0  # louder speech has many steps of 16 bit, and its level makes no difference
LONGEST_FALL_MS: Final = 300.0
TELEPHONE_DROP_DB: Final = 40.0
MOST_SPREAD_DB: Final = 6.0
ONE_LACKS: Final = 2.0
"""The distance of two sides in a figure that only one of them shows; the unit is that of `VadTable.distance`."""

Place: TypeAlias = dict[str, float | None]
"""The place of a side, by figure; None for what it does not show."""


def place(known: SideSound) -> Place | None:
    """The place of a side: its figures as far as they can make a difference. None without speech or background.

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


class MeasuredLine(Struct, frozen=True):
    """A line that was measured, and what it does to the edges that a detector finds. Errors are found less true."""

    name: str
    what: str
    place: Annotated[Place, Meta(description="where its sides lie, by figure")]
    units: Annotated[Count, Meta(description="stretches of speech that were said on it")]
    unit_f1: Annotated[float, Meta(description="of stretches of speech")]
    edges_within_ms: Annotated[float | None, Meta(description="nine of ten starts and ends lie within it")]
    start_ms: Annotated[float | None, Meta(description="median of starts of speech")]
    end_ms: Annotated[float | None, Meta(description="median of ends of speech")]
    turn_start_ms: Annotated[float | None, Meta(description="of starts at which a side takes the floor")]
    turn_end_ms: Annotated[float | None, Meta(description="of ends at which it gives the floor")]
    premature_points: Annotated[
        float | None,
        Meta(description="premature answers above the truth, in points; null where there are a few at most"),
    ]

    @property
    def is_room(self) -> bool:
        """True if the voice sounds on in a room."""
        return self.name.startswith(MEASURED_KINDS["reverberation"])

    def may_have_tail(self, tail_ms: float) -> bool:
        """True if the quicker sounds of a voice may die away so on this line."""
        if tail_ms < ROOM_TAIL_MS:
            return not self.is_room
        fall_ms = self.place["fall_ms"]
        return fall_ms is None or fall_ms >= ROOM_TAIL_MS


class VadTable(Struct, frozen=True):
    """Measurements of one detector.

    varies: by figure, how far the sides of one line lie from it (root of the mean square). like_within: nearly all
    sides of dialogues that were left out lie at most this far from the line that they are most like.
    """

    version: str
    varies: dict[str, float]
    like_within: float
    lines: list[MeasuredLine]

    def distance(self, a: Place, b: Place) -> float:
        """The distance of two places: root of the mean square over figures, each in units of how much it varies."""
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
    tables = converted(content["detectors"], dict[str, VadTable])
    return tables
