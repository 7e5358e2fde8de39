"""What B had to answer, and what became of it: the one definition, for every figure, table, gate and page.

An **opportunity** of B is

- every end of A's turn: B takes the floor (*answered*; *premature* if more than 200 ms before A has finished), or both
  are silent for response_window (*missed*; an answer after that was missed already), and
- every silence of both inside A's turn that is longer than lapse, in which B does not come and A goes on by itself
  (*missed*).

What a label or a suite calls a pause of A asks for no answer, and is no opportunity: B has *waited* through a silence
that is one, or has *cut in* where it begins within one. What the end of the recording hides is *censored*, and counts
nowhere (see `fdbcore.measures.line`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fdbcore.measures.dialogue import Dialogue
from fdbcore.types import TICK_MS, TurnEvent

PREMATURE_FTO_TICKS: Final = -200 // TICK_MS
"""A response that begins earlier is premature."""


@dataclass(frozen=True, slots=True)
class Opportunities:
    """The opportunities of B in one session.

    answered, premature: its floor transfers. missed: silences of both, as `no_response`, or `pause` where A went on by
    itself first. waited, cut_in: silences, and floor transfers, that are no opportunity. censored: turns of A whose
    answer the end hides.
    """

    answered: list[TurnEvent]
    premature: list[TurnEvent]
    missed: list[TurnEvent]
    waited: list[TurnEvent]
    cut_in: list[TurnEvent]
    censored: int

    @property
    def n(self) -> int:
        """How many there are: the denominator."""
        return len(self.answered) + len(self.premature) + len(self.missed)

    @property
    def excluded(self) -> dict[str, int]:
        """What is left out of the denominator, and why."""
        paused = {"waited": len(self.waited), "cut_in": len(self.cut_in)}
        return {"censored": self.censored} | {name: n for name, n in paused.items() if n}


def opportunities(dialogue: Dialogue) -> Opportunities:
    """What B had to answer in a session."""
    window_ticks = dialogue.settings.ticks("response_window_ms")
    transfers = [e for e in dialogue.told("gap", "overlap_between", side="B") if fto(e) <= window_ticks]
    cut_in = [e for e in transfers if any(first <= turn_start(e) < last for first, last in dialogue.pauses)]
    responses = [e for e in transfers if e not in cut_in]
    silences = dialogue.told("no_response", side="B")
    told = {e.start_tick for e in silences}
    silences += [e for e in unanswered_waits(dialogue) if e.start_tick not in told]
    waited = [e for e in [*silences, *responses] if e.kind != "overlap_between" and _is_pause(e, dialogue)]
    return Opportunities(
        answered=[e for e in responses if e not in waited and fto(e) >= PREMATURE_FTO_TICKS],
        premature=[e for e in responses if fto(e) < PREMATURE_FTO_TICKS],
        missed=sorted((e for e in silences if e not in waited), key=lambda e: e.start_tick),
        waited=waited,
        cut_in=cut_in,
        censored=sum(e.kind == "turn" and e.side == "A" and e.censored for e in dialogue.events),
    )


def unanswered_waits(dialogue: Dialogue) -> list[TurnEvent]:
    """Pauses of A longer than lapse in which B did not come: A waited, and went on by itself."""
    lapse_ticks = dialogue.settings.ticks("lapse_ms")
    pauses = (e for e in dialogue.told("pause", side="A") if not e.other_spoke)
    return [e for e in pauses if e.end_tick is not None and e.end_tick - e.start_tick > lapse_ticks]


def fto(transfer: TurnEvent) -> int:
    """Floor transfer offset of a transfer, in ticks."""
    assert transfer.fto_ticks is not None
    return transfer.fto_ticks


def turn_start(transfer: TurnEvent) -> int:
    """The tick at which the side that takes the floor began."""
    end_tick = transfer.end_tick if transfer.kind == "gap" else transfer.start_tick
    assert end_tick is not None
    return end_tick


def _is_pause(silence: TurnEvent, dialogue: Dialogue) -> bool:
    """Whether what is called pauses of A covers half of a silence, or more."""
    assert silence.end_tick is not None
    start, end = silence.start_tick, silence.end_tick
    covered = sum(max(0, min(end, last) - max(start, first)) for first, last in dialogue.pauses)
    return 2 * covered >= max(end - start, 1)
