"""The opportunities of B to answer, and what became of them: one definition for every figure, table, gate and page.

An **opportunity** of B is

- every end of A's turn: B takes the floor (*answered*; *premature* if more than 200 ms before A has finished), or both
  stay silent for response_window_ms (*missed*; a later answer changes nothing), and
- every silence of both inside A's turn that is longer than lapse_ms, or that A itself took for no answer, in which B
  does not speak and A goes on by itself (*missed*).

A backchannel of A, as it tells, is no turn: what B says after it goes on with what it said before.

Where A broke off because B began, and tells what it meant to say, the end of its turn is where its words would have
ended: B has cut it off, however soon A gave way.

If a label or a suite calls a silence a pause of A, it asks for no answer and is no opportunity: B has *waited* through
it, or has *cut in* if it begins to speak in it. If the end of the recording hides the answer, it is *censored*, and
counts nowhere (see `fdbcore.measures.hang_up`).
"""

from dataclasses import dataclass, replace
from typing import Final

from fdbcore.measures.dialogue import AHEAD_TICKS, Dialogue
from fdbcore.types import TurnEvent

PREMATURE_FTO_TICKS: Final = -AHEAD_TICKS
"""A response with an earlier floor transfer offset is premature."""


@dataclass(frozen=True, slots=True)
class Opportunities:
    """The opportunities of B in one session.

    answered, premature: floor transfers to B. missed: silences of both, as events of kind `no_response`, or `pause` if
    A went on by itself. waited, cut_in: silences and floor transfers in pauses of A, which are no opportunities.
    censored: how many turns of A have an answer that the end of the recording hides.
    """

    answered: list[TurnEvent]
    premature: list[TurnEvent]
    missed: list[TurnEvent]
    waited: list[TurnEvent]
    cut_in: list[TurnEvent]
    censored: int

    @property
    def n(self) -> int:
        """The number of opportunities: the denominator."""
        return len(self.answered) + len(self.premature) + len(self.missed)

    @property
    def excluded(self) -> dict[str, int]:
        """The number of events excluded from the denominator, by reason."""
        paused = {"waited": len(self.waited), "cut_in": len(self.cut_in)}
        return {"censored": self.censored} | {name: n for name, n in paused.items() if n}


def opportunities_in(dialogue: Dialogue) -> Opportunities:
    """The opportunities of B in a session."""
    window_ticks = dialogue.settings.ticks("response_window_ms")
    heard = [e for e in transfers_to_b(dialogue) if not dialogue.is_backchannel(end_of_a(e))]
    transfers = [_as_planned(e, dialogue) for e in heard if fto(e) <= window_ticks]
    cut_in = [e for e in transfers if any(first <= turn_start(e) < last for first, last in dialogue.pauses)]
    responses = [e for e in transfers if e not in cut_in]
    silences = dialogue.uncensored("no_response", side="B")
    starts = {e.start_tick for e in silences}
    silences += [e for e in unanswered_waits(dialogue) if e.start_tick not in starts]
    silences = [e for e in silences if not dialogue.is_backchannel(e.start_tick)]
    waited = [e for e in [*silences, *responses] if e.kind != "overlap_between" and _is_pause(e, dialogue)]
    return Opportunities(
        answered=[e for e in responses if e not in waited and fto(e) >= PREMATURE_FTO_TICKS],
        premature=[e for e in responses if fto(e) < PREMATURE_FTO_TICKS],
        missed=sorted((e for e in silences if e not in waited), key=lambda e: e.start_tick),
        waited=waited,
        cut_in=cut_in,
        censored=sum(e.censored for e in dialogue.turns("A")),
    )


def transfers_to_b(dialogue: Dialogue) -> list[TurnEvent]:
    """The floor transfers to B, as they were heard."""
    return dialogue.uncensored("gap", "overlap_between", side="B")


def end_of_a(transfer: TurnEvent) -> int:
    """The tick at which A's turn ended before a transfer to B."""
    return turn_start(transfer) - fto(transfer)


def _as_planned(transfer: TurnEvent, dialogue: Dialogue) -> TurnEvent:
    """The transfer, with its offset from where A's words would have ended if B cut them short."""
    cut = next((each for each in dialogue.cut_short if each.is_at(end_of_a(transfer))), None)
    return transfer if cut is None else replace(transfer, fto_ticks=cut.start_tick - cut.planned_end_tick)


def unanswered_waits(dialogue: Dialogue) -> list[TurnEvent]:
    """Pauses of A in which B did not speak, longer than lapse_ms or given up by A: A waited, then went on by itself."""
    lapse_ticks = dialogue.settings.ticks("lapse_ms")
    pauses = ((e, *e.span) for e in dialogue.uncensored("pause", side="A") if not e.other_spoke)
    return [
        e
        for e, start, end in pauses
        if end - start > lapse_ticks or any(start <= tick < end for tick in dialogue.given_up)
    ]


def fto(transfer: TurnEvent) -> int:
    """Floor transfer offset of a transfer, in ticks."""
    assert transfer.fto_ticks is not None
    return transfer.fto_ticks


def turn_start(transfer: TurnEvent) -> int:
    """The tick at which the side that takes the floor began."""
    return transfer.span[1] if transfer.kind == "gap" else transfer.start_tick


def _is_pause(silence: TurnEvent, dialogue: Dialogue) -> bool:
    """True if the pauses of A by labels or a suite cover at least half of a silence."""
    start, end = silence.span
    covered = sum(max(0, min(end, last) - max(start, first)) for first, last in dialogue.pauses)
    return 2 * covered >= max(end - start, 1)
