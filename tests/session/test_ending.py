"""When a call with a recorded user is over: by the rule, tick by tick, against a plain reading of the speech so far."""

from random import Random

import pytest

from fdbcore.session.converse import CallEnding
from fdbcore.types import CallEnd, Side, Span, TurnEvent

KNOWN_AFTER = {"speech_start": 6, "speech_end": 20}
"""Ticks until the turn detector knows of either."""


def spoken(random: Random, length: int) -> list[Span]:
    spans, tick = [], random.randrange(200)
    while tick < length:
        end = tick + random.randrange(30, 300)
        spans.append((tick, end))
        tick = end + random.randrange(30, 500)
    return spans


def events_of(sides: dict[Side, list[Span]]) -> list[tuple[int, TurnEvent]]:
    """Each event with the tick from which it is known."""
    found = []
    for side, spans in sides.items():
        for start, end in spans:
            known = start + KNOWN_AFTER["speech_start"]
            found.append((known, TurnEvent("speech_start", side, start, None, known)))
            known = end + KNOWN_AFTER["speech_end"]
            found.append((known, TurnEvent("speech_end", side, start, end, known)))
    return sorted(found, key=lambda each: each[0])


def is_over(rule: CallEnd, tick: int, sides: dict[Side, list[Span]], busy_ticks: list[int]) -> bool:
    """The rule by what is known at a tick, all of it read anew."""
    begun = {side: [s for s in spans if s[0] + KNOWN_AFTER["speech_start"] < tick] for side, spans in sides.items()}
    ended = {side: [s for s in spans if s[1] + KNOWN_AFTER["speech_end"] < tick] for side, spans in sides.items()}
    if len(begun["A"]) > len(ended["A"]) or not ended["A"]:
        return False
    user_end = ended["A"][-1][1]
    if tick - user_end >= rule.most_s * 100:
        return True
    if len(begun["B"]) > len(ended["B"]) or not ended["B"] or ended["B"][-1][1] <= user_end:
        return False
    quiet_from = max([ended["B"][-1][1], *(busy + 1 for busy in busy_ticks if busy < tick)])
    return tick - quiet_from >= rule.quiet_s * 100


@pytest.mark.parametrize("seed", range(40))
def test_a_call_ends_as_the_rule_says(seed: int) -> None:
    random = Random(seed)
    rule = CallEnd(random.choice([1.0, 2.5, 4.0]), random.choice([5.0, 8.0, 30.0]))
    sides: dict[Side, list[Span]] = {"A": spoken(random, random.choice([300, 900])), "B": spoken(random, 2500)}
    busy = sorted(random.sample(range(2500), random.choice([0, 5, 50])))
    events, ending = events_of(sides), CallEnding(rule)
    for tick in range(4000):
        known = [event for at, event in events if at < tick]
        last_busy = max((each for each in busy if each < tick), default=-1)
        assert ending.is_over(tick, known, last_busy) == is_over(rule, tick, sides, busy), tick
