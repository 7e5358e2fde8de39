"""The behaviour of an examiner in one call, against its brief and pacing: from its events and the system's speech."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from fdbcore.measures.dialogue import Spans, joined
from fdbcore.measures.reading import Reading
from fdbcore.measures.sayings import sayings_of
from fdbcore.measures.script_words import brief_texts, is_of, role_left
from fdbcore.types import TICK_MS, TICKS_PER_S
from fdbcore.types.examiner_events import CUE_CONTRADICTED, ENDS, GOAL, SAID, SAYS
from fdbcore.types.session_events import MUTED, SPOKE_MS
from fdbcore.types.system_events import TRANSCRIPT

EXAMINER: Final = "examiner"
"""The `kind` of its party in meta.json."""

REACTION_TICKS: Final = 20
"""Whoever begins so shortly after the system could not know of it yet."""
END_MS: Final = 250
"""It knows this much later that the system has stopped."""
EARLIER_MS: Final = 250
"""So much sooner than the pacing promises, or less, is no fault: two detectors of speech differ by so much."""
LATER_MS: Final = 500
"""The same for what is later: an actor has to think of what it says."""
GOES_ON_TICKS: Final = TICKS_PER_S
"""A system that speaks so soon after the examiner began to was in a pause of what it said before."""
SHORT_ANSWER_TICKS: Final = TICKS_PER_S
"""Speech of the system since the own words, from which the examiner knows that it answered."""
STALL_TICKS: Final = 20 * TICKS_PER_S
"""An examiner has nothing to wait for in such a silence of both."""
SILENCE_S: Final = 30.0
"""So long a silence of the system may end the conversation."""
SLACK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Proof:
    """The place where it shows. what: the event, in words."""

    tick: int
    what: str


@dataclass(slots=True)
class Utterance:
    """An utterance of the examiner. silence_ms: of the system, after which it was to speak. text: None if it does not
    tell its words. end_tick: None if the call ended. is_heard: half of it or more was.
    """

    tick: int
    what: str
    cue: str
    is_heard: bool = True
    goal: int | None = None
    reaction_ms: int | None = None
    silence_ms: int | None = None
    text: str | None = None
    end_tick: int | None = None


@dataclass(slots=True)
class Examined:
    """An examiner in one call.

    sayings: what it said for goals and as its closing statement; told: those whose words are known. goals: of its
    brief. promised_ms: the shortest and the longest silence of the system after which its pacing speaks. reactions_ms:
    those that it took. opened: it spoke before the system, and None if neither spoke, or if the system was to open. The
    other fields have a proof of each case:

    left_role: it spoke as an assistant does. off_script: its words are of no part of its brief. unstated: goals that it
    left without a word for them, or as met with less than half of each saying heard. closed_early: it said the closing
    statement before all goals were left, and no limit asked for it. in_pause: it took for over what the system went on
    with within GOES_ON_TICKS. cut_in: it began while the system spoke, and its pacing does not. not_yielded: it went on
    while the system spoke over it, and its pacing does not. too_soon, too_late: reactions beyond promised_ms.
    contradicted: early edges that it acted on, and that were none. deaf: it took the system for silent that had spoken.
    stalled: it stayed silent for STALL_TICKS. muted: what the system said while it was muted, which is lost and no
    fault. answered: its sayings for a goal, heard by half or more, that the system answered. left: goals that it left
    before it closed.
    """

    sayings: int
    told: int
    goals: int
    left: int
    answered: int
    insists: bool
    opened: bool | None
    promised_ms: tuple[float, float]
    reactions_ms: list[int] = field(default_factory=list)
    left_role: list[Proof] = field(default_factory=list)
    off_script: list[Proof] = field(default_factory=list)
    unstated: list[Proof] = field(default_factory=list)
    closed_early: list[Proof] = field(default_factory=list)
    in_pause: list[Proof] = field(default_factory=list)
    cut_in: list[Proof] = field(default_factory=list)
    not_yielded: list[Proof] = field(default_factory=list)
    too_soon: list[Proof] = field(default_factory=list)
    too_late: list[Proof] = field(default_factory=list)
    contradicted: list[Proof] = field(default_factory=list)
    deaf: list[Proof] = field(default_factory=list)
    stalled: list[Proof] = field(default_factory=list)
    muted: list[Proof] = field(default_factory=list)


def examined_in(recording: Reading) -> Examined | None:
    """The examiner's behaviour in a live call; None if side A is none. RecordingError if the call cannot be read."""
    party = (recording.original_meta.get("parties") or {}).get("A") or {}
    if party.get("kind") != EXAMINER:
        return None
    events = sorted((event for event in recording.events if event["side"] == "A"), key=lambda event: event["tick"])
    spoken = recording.dialogue_with_echo.ipus["B"]
    own = [each for each in _utterances(events) if each.what != "backchannel"]
    pacing, brief = party["pacing"], party["brief"]
    shortest_ms = float(pacing["answers_ms"])
    verdicts = [event for event in events if event["kind"] == GOAL]
    decided = {event["goal"] for event in verdicts if event["verdict"] != "not reached"}
    found = Examined(
        sayings=len(own),
        told=sum(each.text is not None for each in own),
        goals=len(brief["goals"]),
        left=len(decided),
        answered=_answered(own, spoken),
        insists=bool(pacing["insists"]),
        opened=None if pacing.get("opens") == "system" else _opened(own, spoken),
        promised_ms=(shortest_ms, shortest_ms + pacing["varies_ms"]),
        reactions_ms=[each.reaction_ms for each in own if each.reaction_ms is not None],
    )
    _script(found, own, brief)
    _agenda(found, own, events, verdicts, brief, spoken)
    contradicted = [event for event in events if event["kind"] == CUE_CONTRADICTED]
    found.contradicted = [
        Proof(event["tick"], f"an early {event['edge']} of the system at {_s(event['edge_tick'])} that was none")
        for event in contradicted
    ]
    _pace(found, own, pacing, spoken, {event["edge_tick"] for event in contradicted if event["edge"] == "end"})
    found.not_yielded = list(_not_yielded(own, pacing["yields_ms"], spoken, recording.n_ticks))
    found.muted = [
        Proof(event["from_tick"], f"the system was muted, and was loud for {event['loud_ms']} ms meanwhile")
        for event in recording.events
        if event["kind"] == MUTED and event["side"] == "B" and event["loud_ms"] >= SPOKE_MS
    ]
    _hearing(found, own, spoken, recording.n_ticks)
    return found


def _s(ticks: float) -> str:
    return f"{ticks / TICKS_PER_S:.2f} s"


def _utterances(events: Sequence[Mapping[str, Any]]) -> list[Utterance]:
    """Its utterances, with their words: those that it tells until it next begins to speak."""
    found: list[Utterance] = []
    unheard = {each.start_tick for each in sayings_of(events) if not each.is_heard}
    for event in events:
        if event["kind"] == SAYS:
            if_told = (event.get(name) for name in ("goal", "reaction_ms", "silence_ms"))
            is_heard = event["tick"] not in unheard
            found.append(Utterance(event["tick"], event["what"], event["cue"], is_heard, *if_told))
        elif found and event["kind"] == SAID:
            found[-1].end_tick = event["tick"]
        elif found and event["kind"] == TRANSCRIPT and event["of"] == "self":
            found[-1].text = f"{found[-1].text or ''} {event['text']}".strip()
    return found


def _opened(own: Sequence[Utterance], spoken: Spans) -> bool | None:
    if not own:
        return None if not len(spoken) else False
    return not len(spoken) or own[0].tick <= int(spoken[0, 0])


def _answered(own: Sequence[Utterance], spoken: Spans) -> int:
    """Sayings of a goal, heard by half or more, for which the system spoke, between them and the next ones."""
    count = 0
    for each, after in zip(own, [*own, None][1:], strict=True):
        if each.what == "goal" and each.is_heard and each.end_tick is not None:
            count += _ticks_within(spoken, each.end_tick, after.tick if after else None) > 0
    return count


def _ticks_within(spans: Spans, start: int, end: int | None) -> int:
    """The number of ticks of [start, end) in which one of the spans is there; end: None for no end."""
    ends = spans[:, 1].clip(max=end) if end is not None else spans[:, 1]
    return int((ends - spans[:, 0].clip(min=start)).clip(min=0).sum())


def _script(found: Examined, own: Sequence[Utterance], brief: Mapping[str, Any]) -> None:
    texts = set(brief_texts(brief))
    for each in own:
        if each.text is None:
            continue
        if (phrase := role_left(each.text, texts)) is not None:
            found.left_role.append(Proof(each.tick, f"it said “{phrase}”"))
        elif not is_of(each.text, texts):
            found.off_script.append(Proof(each.tick, f"it said “{each.text}”"))


def _agenda(
    found: Examined,
    own: Sequence[Utterance],
    events: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Mapping[str, Any]],
    brief: Mapping[str, Any],
    spoken: Spans,
) -> None:
    stated = {each.goal for each in own if each.what == "goal"}
    heard = {each.goal for each in own if each.what == "goal" and each.is_heard}
    for event in verdicts:
        left = f"goal {event['goal']} was left as {event['verdict']}"
        if event["verdict"] != "not reached" and event["goal"] not in stated:
            found.unstated.append(Proof(event["tick"], f"{left} without a word for it"))
        elif event["verdict"] == "met" and event["goal"] not in heard:
            found.unstated.append(Proof(event["tick"], f"{left} with less than half of each saying for it heard"))
    closing = next((each for each in own if each.what == "closing"), None)
    if closing is None:
        return
    reason = next((event["reason"] for event in events if event["kind"] == ENDS), "")
    before = [each for each in own if each.tick < closing.tick]
    is_due = {
        "all goals": found.left == found.goals,
        "time limit": closing.tick >= (brief["most_s"] - SLACK_S) * TICKS_PER_S,
        "turn limit": len(before) >= brief["most_turns"],
        "silence": closing.tick - _last_end(spoken, closing.tick) >= (SILENCE_S - SLACK_S) * TICKS_PER_S,
    }
    if not is_due.get(reason, found.left == found.goals):
        what = f"it said its closing statement ({reason or 'no reason'}) with {found.goals - found.left} goals left"
        found.closed_early.append(Proof(closing.tick, what))


def _last_end(spoken: Spans, tick: int) -> int:
    """The end of the system's last speech by `tick`; `tick` itself if it speaks then, 0 if it has not spoken."""
    begun = spoken[spoken[:, 0] < tick]
    return min(int(begun[-1, 1]), tick) if len(begun) else 0


def _pace(
    found: Examined, own: Sequence[Utterance], pacing: Mapping[str, Any], spoken: Spans, wrong_ends: set[int]
) -> None:
    shortest_ms, longest_ms = found.promised_ms
    utterances = joined(spoken, (shortest_ms - EARLIER_MS) / TICK_MS).tolist()
    ended = 0  # where the own words ended before
    for each in own:
        is_within = any(first < each.tick < last for first, last in spoken.tolist())
        speech = next((first for first, last in utterances if is_within and first < each.tick < last), None)
        is_wrong_cue = each.reaction_ms is not None and each.tick - each.reaction_ms // TICK_MS in wrong_ends
        if speech is not None and each.cue != "limit" and not is_wrong_cue:
            over_ticks = each.tick - max(speech, ended)
            if each.cue in ("breaks in", "goal met"):
                # Its pacing counts from the first speech since the own words, or from their end if it had not noticed
                # by then that the system had stopped.
                since = next(first for first, last in spoken.tolist() if last > ended - END_MS // TICK_MS)
                over_ticks = each.tick - max(since, ended)
            if over_ticks >= REACTION_TICKS and not _may_break_in(each.cue, over_ticks, pacing):
                found.cut_in.append(Proof(each.tick, f"it began {_s(each.tick - speech)} into speech of the system"))
        goes_on = next((first for first, _ in spoken.tolist() if 0 < first - each.tick <= GOES_ON_TICKS), None)
        if each.cue == "answered" and goes_on is not None:
            found.in_pause.append(Proof(each.tick, f"the system went on after {_s(goes_on - each.tick)}"))
        if each.reaction_ms is not None:
            least_ms, most_ms = (shortest_ms, longest_ms) if each.silence_ms is None else (each.silence_ms,) * 2
            proof = Proof(each.tick, f"it spoke {each.reaction_ms} ms after the system")
            if each.reaction_ms < least_ms - EARLIER_MS:
                found.too_soon.append(proof)
            elif each.reaction_ms > most_ms + LATER_MS:
                found.too_late.append(proof)
        ended = each.end_tick or each.tick


def _not_yielded(own: Sequence[Utterance], yields_ms: float | None, spoken: Spans, n_ticks: int) -> Iterator[Proof]:
    """Places where it said more for a goal than its pacing allows once the system spoke over it; it says its closing
    statement to the end.
    """
    for each in own:
        if yields_ms is None or each.what != "goal":
            continue
        end = n_ticks if each.end_tick is None else each.end_tick
        for first, last in spoken.tolist():
            over_ticks = min(last, end) - max(first, each.tick)
            if over_ticks * TICK_MS > yields_ms + LATER_MS:
                yield Proof(max(first, each.tick), f"it went on for {_s(over_ticks)} while the system spoke over it")
                break


def _may_break_in(cue: str, over_ticks: int, pacing: Mapping[str, Any]) -> bool:
    """True if the pacing promises what was done at this cue, after so much speech of the system alone."""
    after_ms = {"breaks in": pacing["breaks_in_ms"], "goal met": pacing["looks_ms"]}.get(cue)
    return after_ms is not None and over_ticks * TICK_MS >= after_ms - EARLIER_MS


def _hearing(found: Examined, own: Sequence[Utterance], spoken: Spans, n_ticks: int) -> None:
    for before, each in pairwise(own):
        if each.cue == "no answer" and before.end_tick is not None:
            heard = _ticks_within(spoken, before.end_tick, each.tick)
            if heard >= SHORT_ANSWER_TICKS:
                found.deaf.append(Proof(each.tick, f"it went on as if without an answer after {_s(heard)} of speech"))
    for since, until in _silences(own, spoken, n_ticks):
        if until - since >= STALL_TICKS:
            found.stalled.append(Proof(since, f"it said nothing for {_s(until - since)} of silence"))


def _silences(own: Sequence[Utterance], spoken: Spans, n_ticks: int) -> Iterator[tuple[int, int]]:
    """The spans of ticks up to its closing statement in which neither speaks."""
    words = [(each.tick, n_ticks if each.end_tick is None else each.end_tick) for each in own]
    closing = next((each.tick for each in own if each.what == "closing"), n_ticks)
    silent_since = 0
    for start, end in sorted([*words, *map(tuple, spoken.tolist()), (n_ticks, n_ticks)]):
        yield silent_since, min(start, closing)
        silent_since = max(silent_since, end)
