"""Writes a recording while its conversation goes on."""

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from fdbcore.errors import RecordingError, writes
from fdbcore.recording.files import (
    ACTIVITY,
    AUDIO,
    DERIVED,
    EVENTS,
    MADE_WITH_IT,
    META,
    RECORDING_SCHEMA,
    REPLY,
    REPORT,
    SOUND,
    TURNS,
    TURNS_SCHEMA,
    file_sha256,
    json_pieces,
    part_of,
    write_json,
    write_pieces,
)
from fdbcore.recording.meta import KnownMeta, Outcome, RecordingStatus
from fdbcore.recording.places import with_places_from
from fdbcore.recording.spool import Spool
from fdbcore.runtime.redaction import clean
from fdbcore.types import SIDES, Happening, Pcm, Side, TurnEvent

_FULL_SCALE = 32_768


class RecordingWriter:
    """Writes one recording while the loop runs. Memory grows by a few bytes a tick, but not with the audio.

    It is a context manager: leaving it writes what is still buffered, the derived data and the status. If the process
    is killed, the status stays "running", and at most the last second of audio and events is lost.

    Args:
        path: the folder; made if it is missing.
        meta: what is known before tick 0; status and length are added at the end.
        keep_audio: write session.wav; False if `meta` links a source that holds the same audio.
        realtime: no method that the loop calls waits for the disk. If the disk stalls for longer than
            `spool.BUFFER_S`, data is lost: the status becomes "failed", and the reason says how much was lost.
    """

    def __init__(self, path: Path, meta: KnownMeta, keep_audio: bool, realtime: bool = False) -> None:
        self.path = path
        self._meta: KnownMeta = {
            "schema": RECORDING_SCHEMA,
            "status": "running",
            **meta,
            "platform": platform.platform(),
        }
        derived = part_of(path.parent, path.name, DERIVED)
        with writes(path):
            derived.mkdir(parents=True, exist_ok=True)
            earlier = (path / part for part in (AUDIO, SOUND, EVENTS, REPORT))
            for stale in (*earlier, *derived.iterdir()):
                if stale.is_symlink() or stale.is_file():
                    stale.unlink(missing_ok=True)
        self._write_meta()  # first: it marks the folder as ours, so a later recording may replace it
        self.missed_ticks = 0
        self._spool = Spool(path / AUDIO if keep_audio else None, path / EVENTS, realtime, _event_line)
        self._active = (bytearray(), bytearray())
        self._evidence: dict[str, npt.NDArray[np.float32]] = {}
        self._turns: list[TurnEvent] = []
        self._replied: set[Side | None] = set()

    def write(self, frame_a: Pcm, frame_b: Pcm) -> None:
        """Take both sides' frames of the next tick, int16 (480,) each."""
        self._spool.write(frame_a, frame_b)

    @property
    def known(self) -> KnownMeta:
        """The content of meta.json as it would be now."""
        return self._meta

    @property
    def loss(self) -> str | None:
        """The loss so far because the disk was too slow, in words; None if nothing was lost."""
        spool = self._spool
        if not spool.lost_ticks and not spool.lost_lines:
            return None
        lost = f"{spool.lost_ticks} of {spool.n_ticks} ticks of audio and {spool.lost_lines} events"
        return f"the disk was too slow: {lost} were not recorded"

    def activity(self, active_a: bool, active_b: bool) -> None:
        """Take the final activity of the next tick. It comes later than the frames, by the delay of the detector."""
        self._active[0].append(active_a)
        self._active[1].append(active_b)

    def evidence(self, side: Side, evidence: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take the values that the activity of a side was decided from; they are stored beside it."""
        self._evidence |= {f"{name}_{side}": values for name, values in evidence.items()}

    def turns(self, events: Iterable[TurnEvent]) -> None:
        """Take turn events, in the order in which they became known."""
        self._turns.extend(events)

    def happenings(self, side: Side, happenings: Iterable[Happening]) -> None:
        """Take what happened to a side; each becomes a line of events.jsonl."""
        for happening in happenings:
            self.event(happening.tick, side, happening.kind, **happening.fields)

    def missed(self, tick: int) -> None:
        """Note that a tick came too late: it was silent on both sides."""
        self.missed_ticks += 1
        self.event(tick, None, "missed")

    def event(self, tick: int, side: Side | None, kind: str, **fields: object) -> None:
        """Take a line of events.jsonl: an arrival, the end of audio, a tool call, ...

        The caller must not change `fields` any more: the writing thread formats the line, so that no tick waits for it.
        """
        if kind == REPLY:
            self._replied.add(side)
        self._spool.line((tick, side, kind, fields))

    @property
    def turns_so_far(self) -> Sequence[TurnEvent]:
        """The turn events so far, in the order in which they became known."""
        return self._turns

    def has_spoken(self, side: Side) -> bool:
        """True if the turn events so far hold speech of this side."""
        return any(event.kind == "speech_start" and event.side == side for event in self._turns)

    def loudest_dbfs(self, side: Side) -> float:
        """The peak of a side so far in dBFS, without the last second; -inf for digital silence."""
        peak = self._spool.loudest()[SIDES.index(side)]
        return 20 * math.log10(peak / _FULL_SCALE) if peak else -math.inf

    def has_replied(self, side: Side) -> bool:
        """True if this side has answered in text so far."""
        return side in self._replied

    def note(self, **meta: Unpack[KnownMeta]) -> None:
        """Add to meta.json what became known only now, e.g. the timing certificate."""
        self._meta |= meta

    def conclude(self, outcome: Outcome) -> None:
        """State how the conversation ended, once the recording is closed: the last thing that is written.

        RecordingError if it cannot be written.
        """
        self.note(outcome=outcome)
        self._write_meta()

    def __enter__(self) -> Self:
        self._spool.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Close with the status complete, failed (after an error) or interrupted (Ctrl-C); keep what was recorded."""
        failure = error
        for close in (self._spool.close, self._write_derived):
            try:
                close()
            except Exception as closing_failure:  # of any kind: the status must still be written
                failure = failure or closing_failure
        try:
            self._write_status(failure)
        except RecordingError as status_failure:  # perhaps of the same cause, e.g. the disk: the first error is raised
            failure = failure or status_failure
        if failure is not error and failure is not None:
            raise failure

    def _write_meta(self) -> None:
        write_json(self.path / META, with_places_from(self.path, self._meta))

    def _write_status(self, failure: BaseException | None) -> None:
        status: RecordingStatus = "complete"
        reason = None
        if failure is not None:
            status = "interrupted" if isinstance(failure, KeyboardInterrupt) else "failed"
            reason = str(failure) or type(failure).__name__
        elif self.loss is not None:
            status, reason = "failed", self.loss
            self.note(lost={"spans": self._spool.lost_spans, "events": self._spool.lost_lines})
        n_events = self._spool.written_lines
        self._meta |= {"status": status, "reason": reason, "n_ticks": self._spool.n_ticks, "n_events": n_events}
        self._meta["sha256s"] = {part: found for part in MADE_WITH_IT if (found := file_sha256(self.path / part))}
        self._write_meta()

    def _write_derived(self) -> None:
        a, b = (np.frombuffer(track, dtype=np.bool_) for track in self._active)
        packed = {"n_ticks": np.array(len(a)), "a": np.packbits(a), "b": np.packbits(b), "peaks": self._spool.peaks}
        try:
            np.savez(self.path / ACTIVITY, allow_pickle=False, **(packed | self._evidence))
        except OSError as error:
            (self.path / ACTIVITY).unlink(missing_ok=True)
            raise RecordingError(f"{self.path / ACTIVITY}: cannot be written: {error.strerror}") from error
        events = (clean(event.to_json()) for event in self._turns)
        settings = {name: value for name, value in self._meta["settings"].items() if name in ("turns", "vad")}
        turns = {"schema": TURNS_SCHEMA, "settings": clean(settings), "events": events}
        write_pieces(self.path / TURNS, chain(json_pieces(turns), "\n"))


def _event_line(event: tuple[int, Side | None, str, Mapping[str, Any]]) -> str:
    tick, side, kind, fields = event
    return json.dumps({"tick": tick, "side": side, "kind": kind, **clean(fields)}, ensure_ascii=False)
