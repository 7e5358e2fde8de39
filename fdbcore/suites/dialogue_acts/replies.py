"""The replies of the systems of a run, as responses: of a live party, its turn after the user's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fdbcore.analysis import planned_cases
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.measures import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording import REPLY, Outcome, PlannedCase, one_call, outcome_in, read_plan
from fdbcore.session import has_declined, said_nothing
from fdbcore.suites.dialogue_acts.records import LiveReply, Lost, Response, SaidApart
from fdbcore.suites.dialogue_acts.sets import RECORDS, records_in
from fdbcore.suites.dialogue_acts.turns.calls import Turn
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, SpokenTurn, answering, spoken_turns, texts, told_texts
from fdbcore.types import FRAME_SAMPLES, Problem
from fdbcore.types.words import TimedWord, as_text

JAPANESE: Final = "ja"
MISSED: Final = "missed"
"""The kind of event of a tick that the harness missed."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Settings for the words of live parties.

    transcriber: what hears the turns that have no text; None: nobody. is_whole: all that a party said in the call is
    its reply, not its turn after the user's alone.
    """

    transcriber: Transcriber | None = None
    is_whole: bool = False


def responses_of(run: Path, hearing: Hearing | None = None) -> tuple[list[Response], list[Problem]]:
    """The response of each case of a run, by `planned_cases`, and the cases without a response.

    A system that declined, or that was there but silent, gave no reply: the text is None, and `reason` says why. Other
    cases are problems, and no system is scored for them: a failed call (the server was away or busy, the system
    crashed), a fault of the harness, a case that was not held yet, and speech without known words. The words of a
    system are those of its reply; else its own transcript; else what the transcriber hears. Raises RecordingError if
    there is no run, SettingsError if the transcriber has no key.
    """
    hearing = hearing or Hearing()
    plan = read_plan(run)
    known = records_in(run)[0] if hearing.transcriber is not None and (run / RECORDS).is_file() else []
    languages = {record.id: record.locale.partition("-")[0] for record in known}
    responses: list[Response] = []
    problems: list[Problem] = []
    for case in planned_cases(plan):
        path = run / case["name"]
        try:
            silent = Response(_id_of(case), case["system"], None, trial=case["trial"], where=str(path))
            with one_call(path):
                responses.append(_reply(silent, path, hearing, languages.get(silent.id, JAPANESE)))
        except SettingsError:  # such as a missing key: it would be the same for every case
            raise
        except FdbError as error:
            lost = Lost.of(str(path), str(error), (_id_of(case), case["system"])) if case["clip"] else None
            problems.append(lost or Problem(str(path), str(error)))
    return responses, problems


def _id_of(case: PlannedCase) -> str:
    if case["clip"] is None:
        raise InputError("expected a recorded user, got a live one: --turns scores the turns of any call")
    return str(case["clip"]["labels"].get("id", case["clip"]["name"]))


def _reply(silent: Response, path: Path, hearing: Hearing, language: str) -> Response:
    """B's reply in a case; without a reply, `silent` with the reason. InputError if this is not known."""
    outcome = outcome_in(path)
    if outcome is None:
        raise InputError("expected a conversation, got none yet: the run is not finished")
    reading = Reading(path)
    of_b = [event for event in reading.events if event["side"] == "B"]
    replies = [event["text"] for event in of_b if event["kind"] == REPLY]
    if outcome["kind"] == "invalid" and not (replies and _is_heard_whole(reading, outcome)):
        raise InputError(f"expected a conversation, got an invalid one: {outcome['reason']}")
    if any(event.get("cut") for event in of_b if event["kind"] == REPLY):
        raise InputError(f"{outcome['reason']}; what there is of it is kept (run --again failed asks again)")
    if outcome["kind"] == "failed":
        if said_nothing(outcome) or has_declined(of_b):
            return replace(silent, reason=str(outcome["reason"]))
        raise InputError(f"expected a conversation, got a failed one: {outcome['reason']}")
    if text := "\n".join(replies).strip():
        return replace(silent, text=text)
    return _spoken(silent, reading, hearing, language)


def _is_heard_whole(reading: Reading, outcome: Outcome) -> bool:
    """True if a system that is not timed heard all that the user said, though the harness missed ticks."""
    samples = reading.parties.get("A", {}).get("samples")
    missed = [event["tick"] for event in reading.events if event["kind"] == MISSED]
    return outcome["side"] is None and samples is not None and all(tick * FRAME_SAMPLES >= samples for tick in missed)


def _spoken(silent: Response, reading: Reading, hearing: Hearing, language: str) -> Response:
    """The reply of a live party: its first turn after the user's, or with `is_whole` everything that it said."""
    turns = spoken_turns(reading)
    asked = [turn for turn in turns if turn.side == "A" and turn.part != ASIDE]
    own = answering(turns)
    if not asked and not hearing.is_whole:
        raise InputError("expected a turn of the user, found no speech of A")
    replied = own if hearing.is_whole else [turn for turn in own if turn.part == "reply"]
    apart = [
        SaidApart(turn.part, turn.start_s, turn.end_s, text or None)
        for turn, text in zip(own, told_texts(reading, "B", own), strict=True)
        if turn not in replied
    ]
    live = live_reply(str(reading.path), asked[-1] if asked else None, replied, apart)
    if not replied:
        return replace(silent, reason="nothing said after the user's turn", live=live)
    _, heard = texts(reading, "B", own, replied, hearing.transcriber, language)
    if None in heard:
        raise InputError("expected the words of B, got speech without a transcript: --transcriber hears it")
    text = as_text(TimedWord(each, 0, 0) for each in heard if each)
    return replace(silent, text=text or None, reason="" if text else "no words in its speech", live=live)


def live_reply(
    call: str, asked: SpokenTurn | Turn | None, replied: Sequence[SpokenTurn | Turn], apart: Sequence[SaidApart] = ()
) -> LiveReply:
    """The place of a reply's turns in a call, and how long after the turn that they answer."""
    if not replied:
        return LiveReply(call, None, None, None, apart)
    start_s, end_s = replied[0].start_s, replied[-1].end_s
    return LiveReply(call, start_s, end_s, start_s - asked.end_s if asked else None, apart)
