"""A recording on disk. Scores and reports are made from it alone.

<case>/session.wav    stereo int16, 48 kHz, L = A, R = B, sample 0 = tick 0; missing if meta.json links the source
       events.jsonl   one event a line: {"tick", "side", "kind", ...}; append-only
       meta.json      both parties, settings, versions, status, the timing certificate
       derived/       activity.npz, turns.json, health.json, quantities.json, scores.json: computed from the files
                      above and from labels.json, the labels that people gave; words_A.json, words_B.json: what
                      transcribers heard
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from fdbcore.audio.lengths import wav_data
from fdbcore.errors import RecordingError, nearest
from fdbcore.recording.files import (
    ACTIVITY,
    AUDIO,
    DERIVED,
    EVENTS,
    HEALTH,
    MARKS,
    MARKS_SCHEMA,
    META,
    RECORDING_SCHEMA,
    TURNS,
    TURNS_SCHEMA,
    part_of,
    read_json,
)
from fdbcore.recording.labels import KeptLabels, given_labels, within_session
from fdbcore.recording.left_out import LeftOut, heard_spans, is_kept, kept_spans, left_out_of
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Side, Span, TurnEvent

if TYPE_CHECKING:
    from fdbcore.audio.file_types import SourceFile
    from fdbcore.recording.agent_log_types import AgentLog
    from fdbcore.recording.recorded_types import (
        Health,
        Parties,
        RecordingMeta,
    )
    from fdbcore.recording.run_types import Outcome
    from fdbcore.types.timing_types import MeasuredSide

_BYTES_PER_S: Final = SAMPLE_RATE_HZ * 2 * 2
"""Of session.wav: stereo, int16."""
_OF_EACH_EVENT: Final = frozenset({"tick", "side", "kind"})


class Arrivals(NamedTuple):
    """The audio that one side delivered, block by block, in the order of arrival: int64 (n,) each.

    at_us: when a block arrived, in us since tick 0. start_sample, samples: its place in the side's own stream, and its
    length, both at 48 kHz.
    """

    at_us: npt.NDArray[np.int64]
    start_sample: npt.NDArray[np.int64]
    samples: npt.NDArray[np.int64]

    @classmethod
    def among(cls, events: Iterable[Mapping[str, Any]], side: Side) -> Self:
        """The arrivals of a side that the lines of events.jsonl hold."""
        lines = [event for event in events if event["kind"] == "arrivals" and event["side"] == side]
        return cls(*(np.array([n for line in lines for n in line[name]], dtype=np.int64) for name in cls._fields))


class Recording:
    """A recording in its folder. Each of its files is read once, when it is first needed; values per tick, each time.

    meta: what its meta.json says, if that is known. RecordingError if a file that is needed is missing, damaged, or of
    another schema.
    """

    def __init__(self, path: str | os.PathLike[str], meta: RecordingMeta | None = None) -> None:
        self.path = path = Path(path)
        self.meta: RecordingMeta = read_json(path / META) if meta is None else meta
        part_of(path, DERIVED)
        schema = self.meta.get("schema") if isinstance(self.meta, dict) else None
        if schema != RECORDING_SCHEMA:
            raise RecordingError(f"{path / META}: expected schema {RECORDING_SCHEMA}, got {schema!r}")

    @property
    def name(self) -> str:
        """The name of the case in its run, which is the name of its folder."""
        return self.path.name

    @property
    def n_ticks(self) -> int:
        """Length in ticks of 10 ms."""
        if "n_ticks" not in self.meta:
            raise self._unfinished()
        return int(self.meta["n_ticks"])

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The spans that no measure counts, by time; `fdbcore.recording.left_out` has the rule."""
        return left_out_of(self.meta)

    @cached_property
    def kept(self) -> list[Span]:
        """The spans of ticks that are measured: all of it, but for what was left out."""
        return kept_spans(self.left_out, self.n_ticks)

    @property
    def heard(self) -> list[Span]:
        """The spans of ticks that the detectors heard: the kept ones, without the ticks at their edges."""
        return heard_spans(self.kept, self.n_ticks)

    @property
    def measured_ticks(self) -> int:
        """The length of the kept spans together, in ticks."""
        return sum(end - start for start, end in self.kept)

    def length_s(self, side: Side) -> float:
        """The length of a side's own audio: up to the last sample of its file, or of the session if it has no file."""
        source = self.meta.get("source")
        return source["sides"][side]["samples"] / SAMPLE_RATE_HZ if source else self.n_ticks / TICKS_PER_S

    @property
    def original_meta(self) -> RecordingMeta:
        """The meta.json of the live conversation: this recording's own, or that of the recording which it replays.

        The parties, the outcome and the timing certificate of a live conversation stand only there.
        """
        return self.meta["held"]["meta"] if "held" in self.meta else self.meta

    @property
    def source_files(self) -> Sequence[SourceFile]:
        """The files that it replays; empty for a live conversation."""
        return (self.meta.get("source") or {}).get("files", ())

    @property
    def parties(self) -> Parties:
        """What the parties of the live conversation said of themselves, or of this replay; empty if not known."""
        return self.original_meta.get("parties") or {}

    @property
    def outcome(self) -> Outcome | None:
        """How the live conversation ended; None of recorded files, and of one that did not end."""
        return self.original_meta.get("outcome")

    def measured(self, side: Side) -> MeasuredSide:
        """What the transport of a live party measured; empty if there was none."""
        timing = self.original_meta.get("timing")
        return (timing.get("sides") or {}).get(side, {}) if timing else {}

    @cached_property
    def turn_events(self) -> list[TurnEvent]:
        """The turn events, in the order in which they became known."""
        path = self.path / TURNS
        if not path.is_file():
            raise self._unfinished()
        try:
            events = read_json(path, _event_or_settings)["events"]
            return [event if isinstance(event, TurnEvent) else TurnEvent.from_json(event) for event in events]
        except (KeyError, TypeError) as error:
            raise RecordingError(f"{path}: expected turn events of schema {TURNS_SCHEMA}, got {error!r}") from error

    @property
    def activity(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The voice activity of A and of B, bool (n_ticks,) each."""
        with self._derived() as stored:
            n_ticks = int(stored["n_ticks"])
            a, b = (np.unpackbits(stored[side], count=n_ticks).view(np.bool_) for side in "ab")
        return a, b

    @property
    def peaks(self) -> npt.NDArray[np.uint16]:
        """The largest absolute sample of each tick, uint16 (n_ticks, 2): A, B. Full scale is 32768."""
        with self._derived() as stored:
            peaks: npt.NDArray[np.uint16] = stored["peaks"]
        return peaks

    def evidence(self, name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]] | None:
        """The values from which the detector decided the activity of A and B, float32 (n,) each.

        name: as the detector calls them. None if it did not use such values on both sides.
        """
        a, b = (f"{name}_{side}" for side in SIDES)
        with self._derived() as stored:
            return (stored[a], stored[b]) if a in stored and b in stored else None

    @property
    def marks(self) -> AgentLog | None:
        """An agent's own log on the timeline of the recording, as it was last laid; None if none was.

        One that an earlier version laid does not count.
        """
        path = self.path / MARKS
        found: AgentLog | None = read_json(path) if path.is_file() else None
        return found if found is not None and found["schema"] == MARKS_SCHEMA else None

    @cached_property
    def health(self) -> Health | None:
        """What is wrong with the audio (see `fdbcore.measures.health.examine`); None if it was not examined."""
        path = self.path / HEALTH
        health = read_json(path) if path.is_file() else None
        if health is not None and not (isinstance(health, dict) and "verdict" in health):
            raise RecordingError(f"{path}: expected input health, got something else")
        return cast("Health | None", health)

    @property
    def damages(self) -> list[str]:
        """What is missing at the end of the files that it replays, a line each."""
        return [f"{file['path']}: {file['damage']}" for file in self.source_files if file.get("damage")]

    def said(self, side: Side, start_s: float, end_s: float) -> str:
        """The words of a side that begin in [start_s, end_s), as text; "" if there are none or they are not known."""
        words = self.spoken(side) or []
        return " ".join(text for text, begins_s, _ in words if start_s <= begins_s < end_s)

    def words(self, side: Side) -> list[tuple[float, float]] | None:
        """Start and end (s) of each word of a side; None if its words are not known."""
        spoken = self.spoken(side)
        return None if spoken is None else [(start_s, end_s) for _, start_s, end_s in spoken]

    def untimed_words(self, side: Side) -> int:
        """How many words of a side were left out because their times are not known."""
        return int((self._words[side] or {}).get("left_out", 0))

    def spoken(self, side: Side) -> list[tuple[str, float, float]] | None:
        """Text, start and end (s) of each word of a side that begins in a kept span; None if they are not known.

        They are not known, too, if none has times: a side that said something is not one that said nothing.
        """
        known = self._words[side]
        if known is None or (self.untimed_words(side) and not known["words"]):
            return None
        words = [(word["text"], word["start_s"], word["end_s"]) for word in known["words"]]
        return [word for word in words if is_kept(int(word[1] * TICKS_PER_S), self.kept)] if self.left_out else words

    @cached_property
    def _words(self) -> Mapping[Side, Mapping[str, Any] | None]:
        paths = {side: self.path / "derived" / f"{side}.json" for side in SIDES}
        return {side: read_json(path) if path.is_file() else None for side, path in paths.items()}

    @cached_property
    def labels(self) -> KeptLabels | None:
        """The labels that people gave, within the kept spans of the session; None if nobody labelled it."""
        given = given_labels(self.path)
        return None if given is None else KeptLabels(given[0], *within_session(given[1], self.n_ticks, self.kept))

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The lines of events.jsonl, without the last one if a crash tore it.

        RecordingError if lines are damaged, or gone that were there when the file was closed: what they tell, such as
        a call of a tool, would count as not done.
        """
        path = self.path / EVENTS
        try:
            *lines, torn = path.read_bytes().split(b"\n")
            events = [json.loads(line) for line in lines]
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise RecordingError(f"{path}: expected JSON in each line, got something else ({error})") from error
        if not all(isinstance(event, dict) and event.keys() >= _OF_EACH_EVENT for event in events):
            raise RecordingError(f"{path}: damaged: expected tick, side and kind in each line, got something else")
        if (n_events := self.meta.get("n_events", 0)) > len(events):
            raise RecordingError(f"{path}: damaged: expected {n_events} lines, as it was closed, got {len(events)}")
        if torn and self.meta.get("status") == "complete":
            raise RecordingError(f"{path}: damaged: its last line is cut off")
        return events

    def refuse_cut_audio(self) -> None:
        """RecordingError if session.wav is shorter than the call: words in the rest would count as not said.

        A recording without its audio is whole.
        """
        path = self.path / AUDIO
        if not path.is_file():
            return
        try:
            data = wav_data(path)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
        held_bytes = 0 if data is None else data.held_bytes
        if held_bytes < self.n_ticks * _BYTES_PER_S // TICKS_PER_S:
            held_s, call_s = held_bytes / _BYTES_PER_S, self.n_ticks / TICKS_PER_S
            raise RecordingError(f"{path}: cut off: expected the {call_s:.3f} s of the call, got {held_s:.3f} s")

    def arrivals(self, side: Side) -> Arrivals:
        """The audio that a side delivered, and when; empty if nothing was logged."""
        return Arrivals.among(self.events, side)

    def _unfinished(self) -> RecordingError:
        has_audio = (self.path / AUDIO).is_file() or self.meta.get("source")
        remedy = f"`fdbcore replay {self.path}` recovers it" if has_audio else "record it again"
        status = self.meta.get("status")
        got = f"one without {ACTIVITY}" if status == "complete" else f"one that is {status}"
        return RecordingError(f"{self.path}: expected a finished recording, got {got}: {remedy}")

    @contextmanager
    def _derived(self) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
        """The arrays with values per tick. They are not kept: of a day they take more memory than all else."""
        if not (self.path / ACTIVITY).is_file():
            raise self._unfinished()
        try:
            with open(self.path / ACTIVITY, "rb") as file, np.load(file) as stored:
                yield stored
        except (OSError, EOFError, ValueError, BadZipFile) as error:
            raise RecordingError(f"{self.path / ACTIVITY}: expected NumPy arrays, found a damaged file") from error


def _event_or_settings(values: dict[str, Any]) -> TurnEvent | dict[str, Any]:
    """A turn event as soon as it is read, since as a mapping it takes several times the memory."""
    return TurnEvent.from_json(values) if "known_tick" in values else values


def folders_in(path: Path) -> list[Path]:
    """The folders of a run's recordings, by name; or `path` if it is a recording. RecordingError if there is none."""
    if not os.path.exists(path):
        beside = os.listdir(path.parent) if os.path.isdir(path.parent) else ()
        raise RecordingError(f"{path}: expected a run or a recording, got no such folder{nearest(path.name, beside)}")
    if os.path.isfile(path / META):
        return [path]
    found = sorted(part_of(path, meta.parent.name) for meta in path.glob(f"*/{META}"))
    if not found:
        raise RecordingError(f"{path}: expected a run or a recording, found no {META}")
    return found
