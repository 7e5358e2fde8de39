"""A recording on disk: everything that scores and reports are made of, and nothing else.

<case>/session.wav    stereo int16, 48 kHz, L = A, R = B, sample 0 = tick 0; left out where meta.json links the source
       events.jsonl   one event a line: {"tick", "side", "kind", ...}; append-only
       meta.json      both parties, settings, versions, status, the timing certificate
       derived/       activity.npz, turns.json, health.json, quantities.json, scores.json: functions of the above,
                      and of labels.json, what people have labelled
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from fdbcore.errors import RecordingError
from fdbcore.redaction import clean
from fdbcore.spool import Spool
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Happening, Pcm, Side, TurnEvent
from fdbcore.whole import whole_file

RECORDING_SCHEMA = "fdbcore.recording/1"
TURNS_SCHEMA = "fdbcore.turns/1"
META, EVENTS, AUDIO, REPORT = "meta.json", "events.jsonl", "session.wav", "report.html"
_FULL_SCALE = 32_768
REPLY = "reply"
"""The kind of event by which a side answers in text; with its voice, if it has one."""

REFUSAL = "refusal"
"""The kind of event by which a side declines to answer, with its `reason`."""

ACTIVITY, TURNS, SCORES = "derived/activity.npz", "derived/turns.json", "derived/scores.json"
QUANTITIES, HEALTH = "derived/quantities.json", "derived/health.json"
MARKS, LABELS = "derived/marks.json", "derived/labels.json"


def write_text(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old file or the whole new one; the folder is made if it is missing.

    The bytes of a file name that are no text are written as escapes, which JSON reads back as the same name.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error


def write_json(path: Path, value: object, in_one_line: bool = False) -> None:
    """Write `value` as JSON without known secrets, as `write_text` does.

    in_one_line: for what nobody reads; it takes a tenth of the time.
    """
    indent = None if in_one_line else 1
    write_text(path, json.dumps(clean(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The JSON value in `path`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RecordingError(f"{path}: expected JSON, got something else ({error})") from error


def settings_hash(settings: Mapping[str, Any]) -> str:
    """SHA-256 of the settings, the same for the same values in any order."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


class RecordingWriter:
    """Writes one recording while the loop runs; memory grows by a few bytes a tick, never by the audio.

    A context manager: leaving it writes what is held back, the derived data and the status. A process that is killed
    leaves the status "running", and all but the last second of audio and events.

    Args:
        path: the folder; made if it is missing.
        meta: what is known before tick 0; status and length are added at the end.
        keep_audio: write session.wav; False where `meta` links a source that holds the same audio.
        realtime: nothing that is called within a tick waits for the disk. What a disk that stands still for longer
            than `spool.BUFFER_S` makes impossible to keep is lost: the recording has failed, and says by how much.
    """

    def __init__(self, path: Path, meta: Mapping[str, Any], keep_audio: bool, realtime: bool = False) -> None:
        self.path = path
        self._meta = {"schema": RECORDING_SCHEMA, "status": "running", **meta, "platform": platform.platform()}
        try:
            (path / "derived").mkdir(parents=True, exist_ok=True)
            for stale in (path / AUDIO, path / REPORT, *(path / "derived").iterdir()):  # of an earlier recording
                stale.unlink(missing_ok=True)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error
        write_json(path / META, self._meta)  # first: by it a later recording knows that the folder may be replaced
        self.missed_ticks = 0
        self._spool = Spool(path / AUDIO if keep_audio else None, path / EVENTS, realtime, _event_line)
        self._active = (bytearray(), bytearray())
        self._evidence: dict[str, npt.NDArray[np.float32]] = {}
        self._turns: list[TurnEvent] = []
        self._replied: set[Side | None] = set()

    def write(self, frame_a: Pcm, frame_b: Pcm) -> None:
        """Both sides' frames of the next tick: int16 (480,) each."""
        self._spool.write(frame_a, frame_b)

    @property
    def known(self) -> Mapping[str, Any]:
        """What meta.json would say now."""
        return self._meta

    @property
    def loss(self) -> str | None:
        """What the disk was too slow to take so far, in words."""
        spool = self._spool
        if not spool.lost_ticks and not spool.lost_lines:
            return None
        lost = f"{spool.lost_ticks} of {spool.n_ticks} ticks of audio and {spool.lost_lines} events"
        return f"the disk was too slow: {lost} were not recorded"

    def activity(self, active_a: bool, active_b: bool) -> None:
        """The final activity of the next tick (it comes vad delay ticks after the frames)."""
        self._active[0].append(active_a)
        self._active[1].append(active_b)

    def evidence(self, side: Side, evidence: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """What the activity of a side was decided from; kept beside it."""
        self._evidence |= {f"{name}_{side}": values for name, values in evidence.items()}

    def turns(self, events: Iterable[TurnEvent]) -> None:
        """Turn events, in the order in which they became known."""
        self._turns.extend(events)

    def happenings(self, side: Side, happenings: Iterable[Happening]) -> None:
        """What happened at the edge of a side, a line of events.jsonl each."""
        for happening in happenings:
            self.event(happening.tick, side, happening.kind, **happening.fields)

    def missed(self, tick: int) -> None:
        """A tick came too late to be held: it was silent on both sides."""
        self.missed_ticks += 1
        self.event(tick, None, "missed")

    def event(self, tick: int, side: Side | None, kind: str, **fields: object) -> None:
        """One line of events.jsonl: what happened at the edges (arrival, end of audio, tool calls).

        `fields` change no more: the thread that writes the line makes it, so that no tick waits for that.
        """
        if kind == REPLY:
            self._replied.add(side)
        self._spool.line((tick, side, kind, fields))

    def has_spoken(self, side: Side) -> bool:
        """Whether the turn events so far hold speech of that side."""
        return any(event.kind == "speech_start" and event.side == side for event in self._turns)

    def loudest_dbfs(self, side: Side) -> float:
        """The peak of a side so far, but for the last second; -inf for digital silence."""
        peak = self._spool.loudest()[SIDES.index(side)]
        return 20 * math.log10(peak / _FULL_SCALE) if peak else -math.inf

    def has_replied(self, side: Side) -> bool:
        """Whether that side has answered in text so far."""
        return side in self._replied

    def note(self, **meta: object) -> None:
        """Add to meta.json what is known only now, e.g. the timing certificate."""
        self._meta |= meta

    def __enter__(self) -> Self:
        self._spool.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Close as complete; after an error as failed, after Ctrl-C as interrupted, keeping all that was recorded."""
        failure = error
        for close in (self._spool.close, self._write_derived):
            try:
                close()
            except Exception as closing_failure:  # of whatever kind: the status must still be told
                failure = failure or closing_failure
        try:
            self._write_status(failure)
        except RecordingError as status_failure:  # the disk may be what failed: the first error is the one to tell
            failure = failure or status_failure
        if failure is not error and failure is not None:
            raise failure

    def _write_status(self, failure: BaseException | None) -> None:
        status, reason = "complete", None
        if failure is not None:
            status = "interrupted" if isinstance(failure, KeyboardInterrupt) else "failed"
            reason = str(failure) or type(failure).__name__
        elif self.loss is not None:
            status, reason = "failed", self.loss
            self.note(lost={"spans": self._spool.lost_spans, "events": self._spool.lost_lines})
        write_json(self.path / META, self._meta | {"status": status, "reason": reason, "n_ticks": self._spool.n_ticks})

    def _write_derived(self) -> None:
        a, b = (np.frombuffer(track, dtype=np.bool_) for track in self._active)
        packed = {"n_ticks": np.array(len(a)), "a": np.packbits(a), "b": np.packbits(b), "peaks": self._spool.peaks}
        try:
            np.savez(self.path / ACTIVITY, allow_pickle=False, **(packed | self._evidence))
        except OSError as error:
            (self.path / ACTIVITY).unlink(missing_ok=True)
            raise RecordingError(f"{self.path / ACTIVITY}: cannot be written: {error.strerror}") from error
        turns = [event.to_json() for event in self._turns]
        settings = {name: value for name, value in self._meta["settings"].items() if name in ("turns", "vad")}
        write_json(self.path / TURNS, {"schema": TURNS_SCHEMA, "settings": settings, "events": turns}, in_one_line=True)


def _event_line(event: tuple[int, Side | None, str, Mapping[str, Any]]) -> str:
    tick, side, kind, fields = event
    return json.dumps({"tick": tick, "side": side, "kind": kind, **clean(fields)}, ensure_ascii=False)


class Arrivals(NamedTuple):
    """What was delivered on one side, in the order in which it came: int64 (n,) each.

    at_us: when, in us since tick 0. start_sample, samples: its place in the side's own stream, and its length, both at
    48 kHz.
    """

    at_us: npt.NDArray[np.int64]
    start_sample: npt.NDArray[np.int64]
    samples: npt.NDArray[np.int64]

    @classmethod
    def among(cls, events: Iterable[Mapping[str, Any]], side: Side) -> Self:
        """Those of a side that are told among lines of events.jsonl."""
        told = [event for event in events if event["kind"] == "arrivals" and event["side"] == side]
        return cls(*(np.array([n for e in told for n in e[name]], dtype=np.int64) for name in cls._fields))


class Recording:
    """A recording read from its folder; each part is read when it is asked for. Raises RecordingError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path = Path(path)
        self.meta: dict[str, Any] = read_json(path / META)
        schema = self.meta.get("schema") if isinstance(self.meta, dict) else None
        if schema != RECORDING_SCHEMA:
            raise RecordingError(f"{path / META}: expected schema {RECORDING_SCHEMA}, got {schema!r}")

    @property
    def name(self) -> str:
        """The case's name, as in its run."""
        return self.path.name

    @property
    def n_ticks(self) -> int:
        """Length in ticks of 10 ms."""
        if "n_ticks" not in self.meta:
            raise self._unfinished()
        return int(self.meta["n_ticks"])

    def length_s(self, side: Side) -> float:
        """Length of a side's own audio: up to its file's last sample, or all where it has no file."""
        source = self.meta.get("source")
        return source["sides"][side]["samples"] / SAMPLE_RATE_HZ if source else self.n_ticks / TICKS_PER_S

    @property
    def as_held(self) -> Mapping[str, Any]:
        """The meta.json of the conversation as it was held: this one, or that of the recording which this one replays.

        Only there are the parties, the outcome and the timing certificate of a live conversation.
        """
        held: Mapping[str, Any] = self.meta["held"]["meta"] if "held" in self.meta else self.meta
        return held

    @property
    def turn_events(self) -> list[TurnEvent]:
        """The acoustic turn events, in the order in which they became known."""
        path = self.path / TURNS
        if not path.is_file():
            raise self._unfinished()
        try:
            return [TurnEvent.from_json(event) for event in read_json(path)["events"]]
        except (KeyError, TypeError) as error:
            raise RecordingError(f"{path}: expected turn events of schema {TURNS_SCHEMA}, got {error!r}") from error

    @property
    def activity(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Activity of A and B, bool (n_ticks,) each."""
        stored = self._derived()
        n_ticks = int(stored["n_ticks"])
        a, b = (np.unpackbits(stored[side], count=n_ticks).astype(np.bool_) for side in "ab")
        return a, b

    @property
    def peaks(self) -> npt.NDArray[np.uint16]:
        """Largest absolute sample of each tick, uint16 (n_ticks, 2): A, B; 32768 is full scale."""
        peaks: npt.NDArray[np.uint16] = self._derived()["peaks"]
        return peaks

    def evidence(self, name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]] | None:
        """What the activity of A and B was decided from, by the name that the detector gave it; None if it was not."""
        stored = self._derived()
        return (stored[f"{name}_A"], stored[f"{name}_B"]) if f"{name}_A" in stored else None

    @property
    def health(self) -> dict[str, Any] | None:
        """What is wrong with the audio (see `fdbcore.health`); None where it was not examined."""
        path = self.path / HEALTH
        health = read_json(path) if path.is_file() else None
        if health is not None and not (isinstance(health, dict) and "verdict" in health):
            raise RecordingError(f"{path}: expected input health, got something else")
        return health

    @property
    def damages(self) -> list[str]:
        """What is missing from the files that it replays, a line each."""
        files = (self.meta.get("source") or {}).get("files", ())
        return [f"{file['path']}: {file['damage']}" for file in files if file.get("damage")]

    def said(self, side: Side, start_s: float, end_s: float) -> str:
        """The words of a side that begin between two times; empty if there are none, or they are not known."""
        words = self.spoken(side) or []
        return " ".join(text for text, begins_s, _ in words if start_s <= begins_s < end_s)

    def words(self, side: Side) -> list[tuple[float, float]] | None:
        """Start and end (s) of each word of a side; None if its words are not known."""
        spoken = self.spoken(side)
        return None if spoken is None else [(start_s, end_s) for _, start_s, end_s in spoken]

    def untimed_words(self, side: Side) -> int:
        """How many words of a side were left out, because their times are not known."""
        path = self.path / "derived" / f"{side}.json"
        return int(read_json(path).get("left_out", 0)) if path.is_file() else 0

    def spoken(self, side: Side) -> list[tuple[str, float, float]] | None:
        """Text, start and end (s) of each word of a side; None if its words are not known."""
        path = self.path / "derived" / f"{side}.json"
        if not path.is_file():
            return None
        return [(word["text"], word["start_s"], word["end_s"]) for word in read_json(path)["words"]]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of events.jsonl; without the last one if a crash has torn it."""
        path = self.path / EVENTS
        try:
            *lines, _ = path.read_bytes().split(b"\n")
            return [json.loads(line) for line in lines]
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise RecordingError(f"{path}: expected JSON in each line, got something else ({error})") from error

    def arrivals(self, side: Side) -> Arrivals:
        """What was delivered on a side, and when; empty where nothing was logged."""
        return Arrivals.among(self.events, side)

    def _unfinished(self) -> RecordingError:
        remedy = f"`fdbcore replay {self.path}` recovers it" if (self.path / AUDIO).is_file() else "record it again"
        status = self.meta.get("status")
        return RecordingError(f"{self.path}: expected a finished recording, got one that is {status}: {remedy}")

    def _derived(self) -> Mapping[str, npt.NDArray[Any]]:
        if not (self.path / ACTIVITY).is_file():
            raise self._unfinished()
        try:
            with open(self.path / ACTIVITY, "rb") as file, np.load(file) as stored:
                return dict(stored)
        except (OSError, EOFError, ValueError, BadZipFile) as error:
            raise RecordingError(f"{self.path / ACTIVITY}: expected NumPy arrays, found a damaged file") from error


def folders_in(path: Path) -> list[Path]:
    """The folders of a run's recordings, by name; or `path`, if it is that of one. RecordingError if there is none."""
    if os.path.isfile(path / META):
        return [path]
    found = sorted(meta.parent for meta in path.glob(f"*/{META}"))
    if not found:
        raise RecordingError(f"{path}: expected a run or a recording, found no {META}")
    return found
