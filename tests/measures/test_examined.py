"""What an examiner did, and the rule of invalid ones: on calls that the test writes, with one planted fault each."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import numpy as np
import pytest

from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.measures.examined import Examined, examined_in
from fdbcore.measures.examiner_rule import fault, fault_of_call
from fdbcore.measures.reading import Reading

TEXTS = ("Hi, I'd like two large lattes.", "Please deliver them on Friday.", "Send the invoice to my office.")
CLOSING = "That was all. Thank you, goodbye."
PROVEN = (
    "left_role", "off_script", "unstated", "closed_early", "in_pause", "cut_in", "not_yielded", "too_soon", "too_late",
    "contradicted", "deaf", "stalled", "muted",
)  # fmt: skip
S = 100  # ticks


@dataclass
class Call:
    """A conversation: the events of the examiner, and where the system spoke, in ticks."""

    events: list[dict[str, Any]] = field(default_factory=list)
    spoken: list[tuple[int, int]] = field(default_factory=list)
    pacing: str = "slow"
    n_ticks: int = 40 * S
    settings: dict[str, Any] = field(default_factory=dict)
    pacing_settings: dict[str, Any] = field(default_factory=dict)

    def reading(self) -> Reading:
        goals = [{"goal": text, "met": "", "sayings": [text], "heard": [["sure"]]} for text in TEXTS]
        brief = {"role": "Maya", "background": "", "closing": CLOSING, "goals": goals, "most_turns": 20, "most_s": 120}
        sooner = {"answers_ms": 1000} if self.pacing == "slow" else {}  # as recordings of earlier versions have it
        pacing = {"name": self.pacing, **asdict(PACINGS[self.pacing]), **sooner, **self.pacing_settings}
        party = {"kind": "examiner", "brief": brief, "pacing": pacing, **self.settings}
        told = SimpleNamespace(
            original_meta={"parties": {"A": party}},
            events=[{"side": "A", **event} for event in self.events],
            dialogue_with_echo=SimpleNamespace(ipus={"B": np.array(self.spoken, np.int64).reshape(-1, 2)}),
            n_ticks=self.n_ticks,
        )
        return cast(Reading, told)

    def says(
        self, tick: int, end: int, text: str | None, what: str = "goal", cue: str = "answered", **more: Any
    ) -> None:
        self.events.append({"kind": "examiner_says", "tick": tick, "what": what, "cue": cue, **more})
        if text is not None:
            self.events.append({"kind": "transcript", "tick": tick, "of": "self", "text": text})
        self.events.append({"kind": "examiner_said", "tick": end, "said_ms": 0, "of_ms": 0})

    def says_of(self, what: str | int) -> dict[str, Any]:
        """The event in which it begins to say a goal, or the closing statement."""
        return next(e for e in self.events if e["kind"] == "examiner_says" and what in (e["what"], e.get("goal")))


def good() -> Call:
    """Three goals of 3 s, an answer of 4 s after 1 s to each, 1.2 s to the next; and the closing statement."""
    call = Call()
    for number, text in enumerate(TEXTS, 1):
        tick = 50 + (number - 1) * 920
        cue = "answered" if number > 1 else "opening"
        reaction: dict[str, Any] = {"reaction_ms": 1200} if number > 1 else {}
        call.says(tick, tick + 300, text, cue=cue, goal=number, saying=1, **reaction)
        call.spoken.append((tick + 400, tick + 800))
        call.events.append(
            {"kind": "examiner_goal", "tick": tick + 920, "goal": number, "verdict": "met", "sayings": 1}
        )
    call.events.append({"kind": "examiner_ends", "tick": 2810, "reason": "all goals"})
    call.says(2810, 3000, CLOSING, "closing", reaction_ms=1200)
    return call


def found_in(call: Call) -> Examined:
    found = examined_in(call.reading())
    assert found is not None
    return found


def proofs(found: Examined) -> dict[str, int]:
    return {name: len(getattr(found, name)) for name in PROVEN if getattr(found, name)}


def test_a_good_call_has_no_fault() -> None:
    found = found_in(good())
    assert not proofs(found)
    assert (found.sayings, found.told, found.goals, found.left, found.answered) == (4, 4, 3, 3, 3)
    assert (found.opened, found.reactions_ms, found.promised_ms) == (True, [1200] * 3, (1000, 1300))
    assert fault(found) is None


Plant: TypeAlias = Callable[[Call], None]


def leaves_its_role(call: Call) -> None:
    call.events[5]["text"] = "Sure! How can I help you today?"


def is_off_script(call: Call) -> None:
    for event in call.events:
        if event["kind"] == "transcript" and event["text"] != CLOSING:
            event["text"] = "Bananas grow wonderfully underneath tropical volcanoes."


def is_broken_off(call: Call) -> None:
    """Less than half of a goal is heard, which is left as met."""
    said = call.events[call.events.index(call.says_of(2)) + 2]
    said["of_ms"] = 10 * (said["tick"] - call.says_of(2)["tick"]) * 2 + 20


def never_states_a_goal(call: Call) -> None:
    call.says_of(2)["goal"] = 1


def closes_early(call: Call) -> None:
    call.events = [e for e in call.events if e["kind"] != "examiner_goal" or e["goal"] < 3]


def cuts_in(call: Call) -> None:
    """Each goal begins 0.6 s before the system stops; it says that it broke in, which slow never does."""
    for start, (tick, end) in enumerate(call.spoken[:2], 2):
        call.spoken[start - 2] = (tick, end + 180)
        call.says_of(start).update(cue="breaks in")
        del call.says_of(start)["reaction_ms"]


def does_not_yield(call: Call) -> None:
    """The system speaks over two goals for 1.5 s each, and it goes on to their ends; slow yields after 0.2 s."""
    call.spoken = sorted([*call.spoken, (1090, 1240), (2010, 2160)])


def reacts_too_soon(call: Call) -> None:
    for goal in (2, 3):
        call.says_of(goal)["reaction_ms"] = 300


def reacts_late(call: Call) -> None:
    call.says_of(3)["reaction_ms"] = 4000


def acts_on_a_wrong_edge(call: Call) -> None:
    call.events.append({"kind": "cue_contradicted", "tick": 1100, "edge": "end", "edge_tick": 850})


def is_deaf(call: Call) -> None:
    for goal in (2, 3):
        call.says_of(goal)["cue"] = "no answer"
        del call.says_of(goal)["reaction_ms"]


def stalls(call: Call) -> None:
    call.events = [e for e in call.events if e["tick"] < 1890]
    call.spoken = call.spoken[:2]


@pytest.mark.parametrize(
    ("plant", "measure", "times", "reason"),
    [
        (leaves_its_role, "left_role", 1, "left its role: tick 970, 9.70 s: it said “how can i help you”"),
        (is_off_script, "off_script", 3, "left its role (3 times): tick 50, 0.50 s: it said “Bananas grow"),
        (never_states_a_goal, "unstated", 1, "did not state a goal: tick 1890, 18.90 s: goal 2 was left as met"),
        (
            is_broken_off,
            "unstated",
            1,
            "did not state a goal: tick 1890, 18.90 s: goal 2 was left as met with less than",
        ),
        (closes_early, "closed_early", 1, "closed the conversation early: tick 2810"),
        (cuts_in, "cut_in", 2, "broke the promise of its pacing (2 times): tick 970, 9.70 s: it began 5.20 s into"),
        (
            does_not_yield,
            "not_yielded",
            2,
            "broke the promise of its pacing (2 times): tick 1090, 10.90 s: it went on for",
        ),
        (reacts_too_soon, "too_soon", 2, "broke the promise of its pacing (2 times): tick 970"),
        (reacts_late, "too_late", 1, None),
        (acts_on_a_wrong_edge, "contradicted", 1, None),
        (is_deaf, "deaf", 2, "went deaf (2 times): tick 970, 9.70 s: it went on as if without an answer after 4.00 s"),
        (stalls, "stalled", 1, "never advanced: tick 1770, 17.70 s: it said nothing for 22.30 s of silence"),
    ],
)
def test_each_fault_is_found_by_its_own_measure_alone(
    plant: Plant, measure: str, times: int, reason: str | None
) -> None:
    call = good()
    plant(call)
    found = found_in(call)
    assert proofs(found) == {measure: times}
    told = fault(found)
    assert told is None if reason is None else (told or "").startswith(f"the examiner {reason}")
    assert fault_of_call(call.reading()) == told
    call.settings["rule"] = "off"
    assert fault_of_call(call.reading()) is None


def test_a_system_cannot_make_a_call_invalid() -> None:
    silent = Call(n_ticks=40 * S)
    for number, tick in enumerate(range(50, 3000, 900), 1):
        cue = "opening" if number == 1 else "no answer"
        silent.says(tick, tick + 300, TEXTS[0], cue=cue, goal=1, saying=number)
    silent.events.append({"kind": "examiner_ends", "tick": 3650, "reason": "silence"})
    silent.says(3650, 3850, CLOSING, "closing", cue="no answer")
    assert not proofs(found_in(silent))

    opens = good()
    opens.spoken.insert(0, (10, 100))
    assert found_in(opens).opened is False
    assert fault(found_in(opens)) is None

    talks_over = good()
    talks_over.spoken = [(tick - 150, end) for tick, end in talks_over.spoken]
    assert not proofs(found_in(talks_over))


@pytest.mark.parametrize(
    ("pacing", "over_ticks", "yields"),
    [("slow", 65, True), ("slow", 75, False), ("fast", 195, True), ("fast", 205, False), ("fdb2-fast", 290, True)],
)
def test_who_is_interrupted_yields_as_its_pacing_says(pacing: str, over_ticks: int, yields: bool) -> None:
    """Half a second more than the table of the pacing says is no fault; fdb2-fast cannot be interrupted."""
    call = good()
    call.pacing = pacing
    call.spoken.insert(1, (975, 975 + over_ticks))
    assert [each.tick for each in found_in(call).not_yielded] == ([] if yields else [975])
    call.says_of(2)["what"] = "closing"  # which is said to its end
    assert not found_in(call).not_yielded


@pytest.mark.parametrize(("loud_ms", "is_lost"), [(50, False), (800, True)])
def test_what_a_muted_system_said_is_told_and_is_no_fault(loud_ms: int, is_lost: bool) -> None:
    call = good()
    muted = {"from_tick": 0, "to_tick": 400, "loud_ms": loud_ms, "loudest_dbfs": -12.0}
    call.events.append({"side": "B", "kind": "muted", "tick": 399, **muted})
    assert proofs(found_in(call)) == ({"muted": 1} if is_lost else {})
    assert fault(found_in(call)) is None


def test_an_examiner_that_waits_for_a_greeting_need_not_open() -> None:
    call = good()
    call.spoken.insert(0, (10, 100))
    assert found_in(call).opened is False
    call.pacing_settings["opens"] = "system"
    assert found_in(call).opened is None


def test_a_pause_as_long_as_the_pacing_waits_for_is_no_cut_in() -> None:
    """The system goes on just as the examiner begins: fdb2-slow answers such a pause, slow should have waited."""
    for pacing, cut_in in (("fdb2-slow", 0), ("slow", 1)):
        call = good()
        call.pacing = pacing
        call.spoken[:1] = [(450, 930), (961, 1050)]
        if pacing == "slow":
            call.says_of(2)["reaction_ms"] = 900
        found = found_in(call)
        assert len(found.cut_in) == cut_in


@pytest.mark.parametrize(("start", "cut_in"), [(450, 0), (560, 1)])
def test_pauses_of_the_system_count_where_the_pacing_breaks_in(start: int, cut_in: int) -> None:
    """The fast one breaks in at 11.70 s: 7 s and more after the system began, or less, with a pause before 11 s."""
    call = good()
    call.pacing = "fast"
    call.spoken[:1] = [(start, 1075), (1100, 1190)]
    call.events = [e for e in call.events if not 900 < e["tick"] < 1500]
    call.says(1170, 1400, TEXTS[1], cue="breaks in", goal=2, saying=1)
    assert len(found_in(call).cut_in) == cut_in


def test_an_examiner_that_hears_answers_and_leaves_no_goal_is_stuck_unless_its_pacing_insists() -> None:
    for pacing, is_stuck in (("slow", True), ("fdb2-slow", False)):
        call, broken_off = Call(pacing=pacing, n_ticks=100 * S), Call(pacing=pacing, n_ticks=100 * S)
        for number in range(11):
            tick = 50 + 900 * number
            call.says(tick, tick + 300, TEXTS[0], cue="answered" if number else "opening", goal=1, saying=1)
            call.spoken.append((tick + 400, tick + 800))
            broken_off.says(tick, tick + 50, TEXTS[0], cue="answered" if number else "opening", goal=1, saying=1)
            broken_off.events[-1]["of_ms"] = 1010
            broken_off.spoken.append((tick + 40, tick + 800))
        assert fault(found_in(broken_off)) is None, "a system that lets it finish nothing cannot make the call invalid"
        told = fault(found_in(call))
        assert told == (
            "the examiner never advanced: tick 0, 0.00 s: it left no goal in 11 answered sayings" if is_stuck else None
        )


def test_who_is_no_examiner_is_not_examined() -> None:
    party = {"parties": {"A": {"kind": "scripted"}}}
    assert examined_in(cast(Reading, SimpleNamespace(original_meta=party))) is None
    assert fault_of_call(cast(Reading, SimpleNamespace(original_meta={}))) is None
