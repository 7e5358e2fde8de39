"""The replies of the systems of a run, as responses: the text of B in each recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.protocols import Transcriber
from fdbcore.recording.files import AUDIO, REFUSAL, REPLY, read_json, write_json
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import outcome_in, read_plan
from fdbcore.session.converse import SILENT
from fdbcore.sources.clips import read_clip
from fdbcore.suites.dialogue_acts.records import Lost, Response, read_records
from fdbcore.suites.dialogue_acts.sets import RECORDS
from fdbcore.types import SAMPLE_RATE_HZ, Problem

if TYPE_CHECKING:
    from fdbcore.recording.run_types import Outcome, PlannedCase

JAPANESE: Final = "ja"
TRANSCRIPT: Final = "derived/transcript_B.json"
"""What a recogniser heard of B. It is stored with the recogniser's name, so that it is asked only once."""


def responses_of(run: Path, transcriber: Transcriber | None = None) -> tuple[list[Response], list[Problem]]:
    """The response of each case of a run in its order, and the cases without a response.

    A system that declined, or that was there but silent, gave no reply: the text is None, and `reason` says why. Other
    cases are problems, and no system is scored for them: a failed call (the server was away or busy, the system
    crashed), a fault of the harness, a case that was not held yet, and speech without known words. The words of a
    system are those of its reply; else its own transcript; else what `transcriber` hears. If there are several trials,
    each one is a system of its own, NAME#TRIAL. Raises RecordingError if there is no run, SettingsError if the
    transcriber has no key.
    """
    plan = read_plan(run)
    records = read_records(run / RECORDS)[0] if transcriber is not None and (run / RECORDS).is_file() else []
    languages = {record.id: record.locale.partition("-")[0] for record in records}
    responses: list[Response] = []
    problems: list[Problem] = []
    for case in plan["cases"]:
        system = f"{case['system']}#{case['trial']}" if plan["plan"]["trials"] > 1 else case["system"]
        try:
            text, reason = _reply(run / case["name"], transcriber, languages.get(_id_of(case), JAPANESE))
            responses.append(Response(_id_of(case), system, text, reason=reason))
        except SettingsError:  # such as a missing key: it would be the same for every case
            raise
        except FdbError as error:
            where = str(run / case["name"])
            lost = Lost.of(where, str(error), (_id_of(case), system)) if case["clip"] else Problem(where, str(error))
            problems.append(lost)
    return responses, problems


def _id_of(case: PlannedCase) -> str:
    if case["clip"] is None:
        raise InputError("expected a recorded user, got a live one")
    return str(case["clip"]["labels"].get("id", case["clip"]["name"]))


def _reply(path: Path, transcriber: Transcriber | None, language: str) -> tuple[str | None, str]:
    """What B said in a case, or None and the reason. InputError if this is not known."""
    outcome = outcome_in(path)
    if outcome is None or outcome["kind"] == "invalid":
        raise InputError(f"expected a conversation, got {_state(outcome)}")
    recording = Recording(path)
    if outcome["kind"] == "failed":
        if SILENT in (outcome["reason"] or "") or any(event["kind"] == REFUSAL for event in _of_b(recording)):
            return None, str(outcome["reason"])
        raise InputError(f"expected a conversation, got {_state(outcome)}")
    text = _told(_of_b(recording))
    if not text and transcriber is not None:
        text = _heard(path, transcriber, language)
    elif not text:
        raise InputError("expected the words of B, got speech without a transcript: transcribe it (--asr)")
    return (text, "") if text else (None, "no words in its speech")


def _heard(path: Path, transcriber: Transcriber, language: str) -> str:
    """The words of B in the audio of a recording."""
    known = read_json(path / TRANSCRIPT) if (path / TRANSCRIPT).is_file() else {}
    if known.get("transcriber") == transcriber.name:
        return str(known["text"])
    b, _ = read_clip(path / AUDIO, "right")
    text = transcriber.transcribe(wav_bytes(b, SAMPLE_RATE_HZ), language)
    write_json(path / TRANSCRIPT, {"transcriber": transcriber.name, "text": text})
    return text


def _state(outcome: Outcome | None) -> str:
    if outcome is None:
        return "none yet: the run is not finished"
    return f"{'an invalid' if outcome['kind'] == 'invalid' else 'a failed'} one: {outcome['reason']}"


def _of_b(recording: Recording) -> list[Mapping[str, Any]]:
    return [event for event in recording.events if event["side"] == "B"]


def _told(ours: Sequence[Mapping[str, Any]]) -> str:
    """The text in the events of B: that of its reply, or else all its words in a row."""
    replies = [event["text"] for event in ours if event["kind"] == REPLY]
    return "\n".join(replies).strip() or "".join(map(_words, ours)).strip()


def _words(event: Mapping[str, Any]) -> str:
    """The words in an event: text of a model that speaks and writes, or the `text` event of a pcm_ws system."""
    if event["kind"] == "text":
        return str(event["text"])
    if event["kind"] == "event" and event.get("name") == "text" and isinstance(event.get("data"), Mapping):
        return str(event["data"].get("text", ""))
    return ""
