"""The rule by which a call is invalid for the fault of its own examiner, and is held again.

A system cannot cause any of this: one that stays silent, answers late or talks over the examiner has a valid call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fdbcore.measures.examined import Examined, Proof, examined_in
from fdbcore.measures.reading import Reading
from fdbcore.types import TICKS_PER_S

BY: Final = "the examiner "
"""The beginning of the reason of such a call."""
SETTING: Final = "rule"
"""The setting of an examiner that says whether its calls are held to the rule."""

OFF_SCRIPT_SHARE: Final = 0.25
PROMISE_SHARE: Final = 0.2
LEAST_TIMES: Final = 2
STUCK_ANSWERS: Final = 10


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of the rule. id: of `Examined`. told: as reasons and docs state it. broken: the proofs; none if kept."""

    id: str
    told: str
    broken: Callable[[Examined], Sequence[Proof]]


def _off_script(found: Examined) -> Sequence[Proof]:
    enough = len(found.off_script) >= LEAST_TIMES and len(found.off_script) > OFF_SCRIPT_SHARE * found.told
    return [*found.left_role, *(found.off_script if enough else ())]


def _broke_promise(found: Examined) -> Sequence[Proof]:
    proofs = sorted([*found.cut_in, *found.not_yielded, *found.too_soon], key=lambda proof: proof.tick)
    return proofs if len(proofs) >= LEAST_TIMES and len(proofs) > PROMISE_SHARE * found.sayings else ()


def _never_advanced(found: Examined) -> Sequence[Proof]:
    stuck = not found.left and not found.insists and found.answered >= STUCK_ANSWERS
    return found.stalled or ([Proof(0, f"it left no goal in {found.answered} answered sayings")] if stuck else ())


def _deaf(found: Examined) -> Sequence[Proof]:
    return found.deaf if len(found.deaf) >= LEAST_TIMES else ()


RULE: Final = (
    Clause("off_script", "left its role", _off_script),
    Clause("stalled", "never advanced", _never_advanced),
    Clause("deaf", "went deaf", _deaf),
    Clause("unstated", "did not state a goal", lambda found: found.unstated),
    Clause("closed_early", "closed the conversation early", lambda found: found.closed_early),
    Clause("cut_in", "broke the promise of its pacing", _broke_promise),
)


def fault(found: Examined) -> str | None:
    """The fault that makes a call with such an examiner invalid, with the first proof of the first clause; or None."""
    for clause in RULE:
        if proofs := clause.broken(found):
            first = proofs[0]
            times = f" ({len(proofs)} times)" if len(proofs) > 1 else ""
            return f"{BY}{clause.told}{times}: tick {first.tick}, {first.tick / TICKS_PER_S:.2f} s: {first.what}"
    return None


def fault_of_call(recording: Reading) -> str | None:
    """The examiner's fault that makes a call invalid; None for a valid call, without the rule, and without examiner."""
    party: dict[str, Any] = dict((recording.original_meta.get("parties") or {}).get("A") or {})
    if party.get(SETTING, "on") == "off":
        return None
    found = examined_in(recording)
    return None if found is None else fault(found)
