"""Pacing: when an examiner speaks, holds back, breaks in and yields. A profile is a table of times in ms.

`fast` and `slow` are ours, after the two behaviours that Full-Duplex-Bench v2 describes (arXiv 2510.07838): the fast
examiner takes the floor early, may interrupt, gives backchannels and moves on as soon as a goal is met; the slow one
speaks only after the system has stopped, never breaks in, and yields. Both wait out a pause between two sentences, but
for `fast` once the goal is met. `fdb2-fast` and `fdb2-slow` have the silences of the reference's detector settings (600
and 500 ms), whether the examiner can be interrupted, and that only a met goal leads on; they open the conversation
themselves, with the system muted for the reference's first 4 s. The reference's thresholds (0.6 and 0.5) and its prefix
padding (1200 and 300 ms) belong to another detector, and are not carried over.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from fdbcore.endpoints.examiner.edges import OVER_MS

Opens: TypeAlias = Literal["either", "examiner", "system"]
"""The side that opens the conversation. either: the examiner, unless the system speaks before it. examiner: the system
is muted for MUTES_MS. system: the examiner waits for its greeting, but not longer than its patience."""

OPENS: Final[tuple[Opens, ...]] = get_args(Opens)
MUTES_MS: Final = 4000


@dataclass(frozen=True, slots=True)
class Pacing:
    """A profile. None: never.

    opens_ms: the examiner's first words, from tick 0. answers_ms: how long the system must have been silent for its
    answer to be over; learns: or longer than its own pauses so far, up to 3 s. met_ms: how long, once the goal is met.
    varies_ms: added to both, evenly at random. patience_ms: so long after its own words it speaks again if the system
    says nothing. yields_ms: it stops after the system has spoken over it for so long. breaks_in_ms: it interrupts, with
    another wording, a first answer that began so long ago; breaks_in_again_ms: any other answer, which is so heard
    whole. backchannels_ms: so often, at random, it gives a backchannel while the system speaks. looks_ms: how often it
    looks, while the system speaks, whether the goal is met, to break in if so. insists: only a met goal leads on;
    without ears, an answer does. opens: who opens the conversation.
    """

    opens_ms: int
    answers_ms: int
    varies_ms: int
    patience_ms: int
    yields_ms: int | None
    breaks_in_ms: int | None = None
    breaks_in_again_ms: int | None = None
    backchannels_ms: int | None = None
    looks_ms: int | None = None
    met_ms: int | None = None
    learns: bool = False
    insists: bool = False
    opens: Opens = "either"

    @property
    def mutes_ms(self) -> int:
        """Time from tick 0 for which the system is muted, in ms."""
        return MUTES_MS if self.opens == "examiner" else 0


_FDB2_SLOW: Final = Pacing(
    opens_ms=500, answers_ms=500, varies_ms=0, patience_ms=6000, yields_ms=100, insists=True, opens="examiner"
)
PACINGS: Final = {
    "slow": Pacing(opens_ms=500, answers_ms=OVER_MS, varies_ms=300, patience_ms=6000, yields_ms=200, learns=True),
    "fast": Pacing(
        opens_ms=300,
        answers_ms=OVER_MS,
        varies_ms=100,
        patience_ms=3000,
        yields_ms=1500,
        breaks_in_ms=7000,
        breaks_in_again_ms=28_000,
        backchannels_ms=2500,
        looks_ms=2000,
        met_ms=250,
        learns=True,
    ),
    "fdb2-slow": _FDB2_SLOW,
    "fdb2-fast": replace(_FDB2_SLOW, answers_ms=600, yields_ms=None),
}
