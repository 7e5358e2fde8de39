"""Adds to a recording after it was made: the agent's own log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fdbcore.errors import InputError
from fdbcore.measures.agent_log import laid, refuse_other_calls, refused
from fdbcore.measures.log_clock import find_clock, given_clock, in_log
from fdbcore.measures.reading import Reading
from fdbcore.recording.agent_log import AgentLog, LogClock
from fdbcore.recording.files import MARKS, file_sha256
from fdbcore.recording.form import converted
from fdbcore.recording.places import located, write_with_places
from fdbcore.recording.reader import Recording
from fdbcore.sources.agent_logs import LogFile, Mark, read_log, session_hint
from fdbcore.sources.names import real_path
from fdbcore.types import ticks_to_s
from fdbcore.types.system_events import STAGE, SYSTEM_TURN

_STAGE_NAMES: Final = {"speech_started": "user started speaking", "speech_stopped": "user stopped speaking"}
"""Findings of a vendor's detector, in the words of agents' logs."""

_MOST_TOLD: Final = 20  # of the entries that cannot be read; what is wrong with the first tells of the others


def keep_log(reading: Reading, log: LogFile) -> AgentLog:
    """Lay an agent's log on the recording's timeline, store it with the recording, and return the document.

    A log that cannot be read, or whose clock cannot be found, is stored without marks and answers, and with the reason.
    """
    try:
        marks, left_out = read_log(log.path, log.session)
        clock = find_clock(marks, reading.dialogue) if log.offset_ms is None else given_clock(log.offset_ms / 1000)
        refuse_other_calls(marks, reading.dialogue, clock)
        found = laid(marks, reading.dialogue, clock)
        if left_out:
            found["left_out"] = [text.removeprefix(f"{log.path}: ") for text in left_out[:_MOST_TOLD]]
            found["left_out_count"] = len(left_out)
    except InputError as error:
        told = f"{error}{session_hint(log)}"
        found = refused(told.replace(str(log.path), log.path.name) if log.path.is_absolute() else told)
    if log.session is not None:
        found["given_session"] = log.session
    found |= {"source": str(real_path(log.path)), "sha256": file_sha256(log.path), "given_offset_ms": log.offset_ms}
    write_with_places(reading.path, MARKS, found)
    return found


def keep_stages(reading: Reading) -> None:
    """Store with a live recording what its system told of its answers, as its log, if it has none. Their clock is the
    session's.
    """
    if reading.marks is not None:
        return
    marks = [
        Mark(ticks_to_s(event["tick"]), _STAGE_NAMES.get(event["name"], event["name"]))
        for event in reading.events
        if event["side"] == "B" and event["kind"] in (STAGE, SYSTEM_TURN)
    ]
    if marks:
        write_with_places(reading.path, MARKS, laid(marks, reading.dialogue, given_clock(0.0)))


def is_kept(recording: Recording, log: LogFile) -> bool:
    """True if this log, with this offset and session, was laid on the recording before."""
    kept = recording.marks
    if kept is None or kept["sha256"] is None:
        return False
    given = kept["sha256"], kept["given_offset_ms"], kept.get("given_session")
    return given == (file_sha256(log.path), log.offset_ms, log.session)


class EarlierLog(NamedTuple):
    """The log of a recording that is about to be replaced, and the content hashes of its audio."""

    log: AgentLog
    audio_sha256s: Sequence[str | None]


def log_in(recording: Recording) -> EarlierLog | None:
    """The log of a recording, its file by an absolute path; None if it has none."""
    kept = recording.marks
    if kept is None:
        return None
    if kept["source"] is not None:
        kept = {**kept, "source": str(located(recording.path, kept["source"]))}
    return EarlierLog(kept, audio_sha256s(recording))


def audio_sha256s(recording: Recording) -> list[str | None]:
    """The content hashes of the files that a recording replays."""
    return [file.get("sha256") for file in recording.source_files]


def renew_log(reading: Reading, earlier: EarlierLog, same_audio: bool) -> None:
    """Store with a new recording the log that an earlier recording of the call had.

    If the audio is the same, the clock of the log is known. Otherwise, or if no clock was found, it is found now.
    """
    kept = earlier.log
    path = Path(kept["source"]) if kept["source"] is not None else None
    if kept["clock"] is not None and same_audio:
        lay_again(reading, kept)
    elif path is not None and path.is_file():
        keep_log(reading, LogFile(path, kept["given_offset_ms"], kept.get("given_session")))
    else:
        why = kept["refused"] or "the audio of the call has changed, and the log is not there any more"
        found = {**refused(why), "source": kept["source"], "given_offset_ms": kept["given_offset_ms"]}
        write_with_places(reading.path, MARKS, found)


def lay_again(reading: Reading, kept: AgentLog) -> None:
    """Store with a recording the log that was laid on another recording of the same conversation."""
    if kept["clock"] is not None:
        clock = converted(kept["clock"], LogClock)
        found = laid([in_log(clock, Mark(**mark)) for mark in kept["marks"]], reading.dialogue, clock)
        kept = {**kept, "events": found["events"], "answers": found["answers"]}
    write_with_places(reading.path, MARKS, kept)
