"""A recording on disk. Scores and reports are made from it alone.

<case>/session.wav    stereo int16, 48 kHz, L = A, R = B, sample 0 = tick 0; missing if meta.json links the source
       events.jsonl   one event a line: {"tick", "side", "kind", ...}; append-only
       meta.json      both parties, settings, versions, status, the timing certificate
       derived/       activity.npz, turns.json, health.json, quantities.json, scores.json: computed from the files
                      above and from labels.json, the labels that people gave; words_A.json, words_B.json: what
                      transcribers heard
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypedDict, TypeVar, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from fdbcore.audio.files import SourceFile
from fdbcore.audio.lengths import stated_data
from fdbcore.audio.wav import is_session_format
from fdbcore.errors import RecordingError, nearest
from fdbcore.recording.agent_log import AgentLog
from fdbcore.recording.events import ANY_EVENT, FORMS
from fdbcore.recording.files import (
    ACTIVITY,
    AUDIO,
    DERIVED,
    EVENTS,
    HEALTH,
    HEALTH_SCHEMA,
    LABELS,
    MARKS,
    MARKS_SCHEMA,
    META,
    QUANTITIES,
    SCORES,
    TURNS,
    WORDS,
    file_sha256,
    part_of,
    read_bytes,
    read_json,
    refuse_of_another,
    remembered_sha256,
    settings_hash,
)
from fdbcore.recording.form import MOST_TICKS, damaged, of_form, read_of_form
from fdbcore.recording.health import EarlierHealth, Health
from fdbcore.recording.labels import KeptLabels, given_labels, within_session
from fdbcore.recording.left_out import LeftOut, heard_spans, is_kept, kept_spans
from fdbcore.recording.meta import Outcome, Parties, RecordingMeta, left_out_of, read_meta
from fdbcore.recording.places import located
from fdbcore.recording.transcripts import GivenWords, Transcript, transcripts
from fdbcore.runtime.json_values import parsed_json
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, TICKS_PER_S, Side, Span, TurnEvent
from fdbcore.types.timing import MeasuredSide

Number = TypeVar("Number", bound=np.generic)

_BYTES_PER_S: Final = SAMPLE_RATE_HZ * 2 * 2
"""Of session.wav: stereo, int16."""
_OF_EACH_EVENT: Final = frozenset({"tick", "side", "kind"})
_OF_DAMAGED_ARRAYS: Final = (
    OSError, EOFError, ValueError, LookupError, AttributeError, MemoryError, BadZipFile, zlib.error
)  # fmt: skip
_MOST_BYTES_PER_TICK: Final = 64
"""Of activity.npz, unpacked; the shipped detectors need 7."""


class _Turns(TypedDict):
    """The content of turns.json."""

    events: list[TurnEvent]


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
        part_of(path, DERIVED)
        self.meta: RecordingMeta = read_meta(path / META) if meta is None else meta

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
    def source_paths(self) -> list[Path]:
        """The absolute paths of these files; they may be gone."""
        return [located(self.path, file["path"]) for file in self.source_files]

    @property
    def parties(self) -> Parties:
        """The parties of the live conversation, or of this replay, by their own descriptions; empty if not known."""
        return self.original_meta.get("parties") or {}

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the live conversation; None of recorded files, and of one that did not end."""
        return self.original_meta.get("outcome")

    def measured(self, side: Side) -> MeasuredSide:
        """Measurements by the transport of a live party; empty if there was none."""
        timing = self.original_meta.get("timing")
        return (timing.get("sides") or {}).get(side, {}) if timing else {}

    @cached_property
    def turn_events(self) -> list[TurnEvent]:
        """The turn events, in the order in which they became known."""
        path = self.path / TURNS
        if not path.is_file():
            raise self._unfinished()
        events = read_of_form(path, _Turns)["events"]
        for event in events:
            # A window for an answer that is still open may end beyond the recording; the event is censored then.
            end_tick = event.start_tick if event.end_tick is None or event.censored else event.end_tick
            if not 0 <= event.start_tick <= end_tick <= self.n_ticks <= MOST_TICKS:
                raise damaged(path, f"expected events within the {self.n_ticks} ticks of the call, got {event}")
        return events

    @property
    def activity(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The voice activity of A and of B, bool (n_ticks,) each."""
        with self._derived() as (stored, n_ticks):
            a, b = (np.unpackbits(self._packed(stored, side, n_ticks), count=n_ticks) for side in "ab")
        return a.view(np.bool_), b.view(np.bool_)

    def _packed(self, stored: Mapping[str, npt.NDArray[Any]], side: str, n_ticks: int) -> npt.NDArray[np.uint8]:
        return self._array(stored, side, np.uint8, (-(-n_ticks // 8),))

    @property
    def peaks(self) -> npt.NDArray[np.uint16]:
        """The largest absolute sample of each tick, uint16 (n_ticks, 2): A, B. Full scale is 32768."""
        with self._derived() as (stored, n_ticks):
            return self._peaks_in(stored, n_ticks)

    def _peaks_in(self, stored: Mapping[str, npt.NDArray[Any]], n_ticks: int) -> npt.NDArray[np.uint16]:
        return self._array(stored, "peaks", np.uint16, (n_ticks, 2))

    def evidence(self, name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]] | None:
        """The values from which the detector decided the activity of A and B, float32 (n,) each.

        name: as the detector calls them. None if it did not use such values on both sides.
        """
        a, b = (f"{name}_{side}" for side in SIDES)
        with self._derived() as (stored, _):
            if a not in stored or b not in stored:
                return None
            of_a, of_b = (self._array(stored, name, np.float32, stored[name].shape[:1]) for name in (a, b))
        return of_a, of_b

    @property
    def marks(self) -> AgentLog | None:
        """An agent's own log on the timeline of the recording, as it was last laid; None if none was.

        One that an earlier version laid does not count, nor does a damaged one: see `damaged_beside`.
        """
        with suppress(RecordingError):
            return self._read_marks()
        return None

    def _read_marks(self) -> AgentLog | None:
        path = self.path / MARKS
        found = read_json(path) if path.is_file() else None
        if found is None or (isinstance(found, dict) and found.get("schema") != MARKS_SCHEMA):
            return None
        of_form(path, found, AgentLog)
        refuse_of_another(self.path, MARKS, found)
        return cast("AgentLog", found)

    @cached_property
    def health(self) -> Health | None:
        """Faults of the audio (see `fdbcore.measures.health.examine`); None if it was not examined."""
        return self._stored_health

    @cached_property
    def _stored_health(self) -> Health | None:
        path = self.path / HEALTH
        if not path.is_file():
            return None
        found = read_json(path)
        is_now = isinstance(found, dict) and found.get("schema") == HEALTH_SCHEMA
        of_form(path, found, Health if is_now else EarlierHealth)
        health = cast("Health", found)
        spans = [health["suspect"]["A"], health["suspect"]["B"], *(each["spans"] for each in health["findings"])]
        if not all(start <= end <= self.n_ticks for each in spans for start, end in each):
            raise damaged(path, f"expected spans within the {self.n_ticks} ticks of the call")
        return health

    @property
    def damages(self) -> list[str]:
        """Parts that are missing at the end of the files that it replays, a line each."""
        return [f"{Path(file['path']).name}: {file['damage']}" for file in self.source_files if file.get("damage")]

    def said(self, side: Side, start_s: float, end_s: float) -> str:
        """The words of a side that begin in [start_s, end_s), as text; "" if there are none or they are not known."""
        words = self.spoken(side) or []
        return " ".join(text for text, begins_s, _ in words if start_s <= begins_s < end_s)

    def words(self, side: Side) -> list[tuple[float, float]] | None:
        """Start and end (s) of each word of a side; None if its words are not known."""
        spoken = self.spoken(side)
        return None if spoken is None else [(start_s, end_s) for _, start_s, end_s in spoken]

    def untimed_words(self, side: Side) -> int:
        """The number of words of a side that were left out because their times are not known."""
        return int((self._words[side] or {}).get("left_out", 0))

    def unread_words(self, side: Side) -> str | None:
        """The reason why the words in the file of a side are not known; None if they are, or without such a file."""
        return (self._words[side] or {}).get("unread")

    def spoken(self, side: Side) -> list[tuple[str, float, float]] | None:
        """Text, start and end (s) of each word of a side that begins in a kept span; None if they are not known.

        They are not known, too, if none has times: a side that said something is not one that said nothing.
        """
        known = self._words[side]
        if known is None or "unread" in known or (self.untimed_words(side) and not known["words"]):
            return None
        words = [(word["text"], word["start_s"], word["end_s"]) for word in known["words"]]
        return [word for word in words if is_kept(int(word[1] * TICKS_PER_S), self.kept)] if self.left_out else words

    @cached_property
    def _words(self) -> Mapping[Side, Mapping[str, Any] | None]:
        found: dict[Side, Mapping[str, Any] | None] = dict.fromkeys(SIDES)
        for side in SIDES:
            with suppress(RecordingError):
                found[side] = self._read_words(side)
        return found

    def _read_words(self, side: Side) -> Mapping[str, Any] | None:
        path = self.path / DERIVED / f"{side}.json"
        if not path.is_file():
            return None
        found = of_form(path, read_json(path), GivenWords)
        refuse_of_another(self.path, f"{DERIVED}/{side}.json", found)
        return found

    @cached_property
    def labels(self) -> KeptLabels | None:
        """The labels that people gave, within the kept spans of the session; None if nobody labelled it, or if they are
        damaged: see `damaged_beside`."""
        given = None
        with suppress(RecordingError):
            given = given_labels(self.path)
        return None if given is None else KeptLabels(given[0], *within_session(given[1], self.n_ticks, self.kept))

    @cached_property
    def damaged_beside(self) -> list[str]:
        """Damage to what others said about the call (words, labels, an agent's log), a line each: what rests on it is
        missing, and nothing else."""
        reads: list[Callable[[], object]] = [partial(given_labels, self.path), self._read_marks]
        reads += [partial(_refuse_no_file, self.path / part) for part in (LABELS, MARKS, *WORDS.values())]
        for side in SIDES:
            reads += [partial(_refuse_no_file, self.path / DERIVED / f"{side}.json")]
            reads += [partial(self._read_words, side), partial(transcripts, self.path, side)]
        found = []
        for read in reads:
            try:
                read()
            except RecordingError as error:
                found.append(f"{error}: not used")
        return found

    def transcripts(self, side: Side) -> list[Transcript]:
        """Transcripts of a side, the last one last; none if that is damaged: see `damaged_beside`."""
        with suppress(RecordingError):
            return transcripts(self.path, side)
        return []

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The lines of events.jsonl, without the last one if a crash tore it.

        RecordingError if lines are damaged, or gone that were there when the file was closed: what they tell, such as
        a call of a tool, would count as not done.
        """
        path = self.path / EVENTS
        *lines, torn = read_bytes(path).split(b"\n")
        try:
            events = [parsed_json(line) for line in lines]
        except ValueError as error:
            raise RecordingError(f"{path}: expected JSON in each line, got something else ({error})") from error
        for number, event in enumerate(events, 1):
            if not (isinstance(event, dict) and event.keys() >= _OF_EACH_EVENT):
                raise damaged(path, "expected tick, side and kind in each line, got something else")
            kind = event["kind"]
            of_form(path, event, FORMS.get(kind if isinstance(kind, str) else "", ANY_EVENT), f"line {number}: ")
        if (n_events := self.meta.get("n_events", 0)) > len(events):
            raise RecordingError(f"{path}: damaged: expected {n_events} lines, as it was closed, got {len(events)}")
        closed = b"".join(line + b"\n" for line in lines[:n_events])  # later lines stand behind it
        self._refuse_another(EVENTS, hashlib.sha256(closed).hexdigest())
        if torn and self.meta.get("status") == "complete":
            raise RecordingError(f"{path}: damaged: its last line is cut off")
        return events

    def check(self) -> None:
        """RecordingError if a file that figures come from is damaged: one rule for all that count calls."""
        if self.meta["status"] == "running":
            remedy = f"`fdbcore replay {self.path}` recovers it"
            raise RecordingError(f"{self.path / META}: expected a finished recording, got a running one: {remedy}")
        for part in (EVENTS, TURNS, ACTIVITY, HEALTH, AUDIO, QUANTITIES, SCORES):
            _refuse_no_file(self.path / part)
        _ = self.turn_events, self.events
        kinds = {party["kind"] for party in (self.meta.get("parties") or {}).values()}
        if kinds == {"replay"} and self.meta["status"] != "complete":
            raise self._unfinished()
        if self._stored_health is None and kinds == {"replay"}:
            remedy = f"`fdbcore replay {self.path}` examines it"
            raise damaged(self.path / HEALTH, f"it is gone: echo would count as speech; {remedy}")
        if settings_hash(self.meta["settings"]) != self.meta["settings_sha256"]:
            raise damaged(self.path / META, "its settings are not those of its settings_sha256")
        with self._derived() as (stored, n_ticks):  # once: a run of thousands of calls is checked whole
            _ = [self._packed(stored, side, n_ticks) for side in "ab"], self._peaks_in(stored, n_ticks)
            if (broken := stored.zip.testzip()) is not None:  # type: ignore[attr-defined]  # an NpzFile
                raise damaged(self.path / ACTIVITY, f"{broken} is not as it was written")
        for part in (ACTIVITY, TURNS, HEALTH):
            self._refuse_another(part, file_sha256(self.path / part))
        self._refuse_cut_audio()
        self.refuse_other_audio()

    def _refuse_another(self, part: str, sha256: str | None) -> None:
        """RecordingError if a file with this hash is not the one that meta.json was written with."""
        if self.meta.get("sha256s", {}).get(part, sha256) != sha256:
            raise damaged(self.path / part, f"not the one that {META} was written with")

    def refuse_other_audio(self) -> None:
        """RecordingError if session.wav is not the one that was written. A recording without its audio is whole."""
        if (path := self.path / AUDIO).exists():
            self._refuse_another(AUDIO, remembered_sha256(path))

    def _refuse_cut_audio(self) -> None:
        """RecordingError if session.wav has another format, or ends before the call: words would count as not said."""
        path = self.path / AUDIO
        if not path.is_file():
            return
        try:
            data = stated_data(path)
            if data is not None and not is_session_format(path):
                raise damaged(path, "expected int16 of two channels at 48 kHz")
        except RecordingError:
            raise
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

    def _array(
        self, stored: Mapping[str, npt.NDArray[Any]], name: str, dtype: type[Number], shape: tuple[int, ...]
    ) -> npt.NDArray[Number]:
        """An array of activity.npz."""
        found = stored[name]
        if found.dtype != dtype or found.shape != shape:
            got = f"{found.dtype} {found.shape}"
            raise damaged(self.path / ACTIVITY, f"{name}: expected {dtype.__name__} {shape}, got {got}")
        return found

    @contextmanager
    def _derived(self) -> Iterator[tuple[Mapping[str, npt.NDArray[Any]], int]]:
        """The arrays with values per tick, and of how many ticks: fewer than the call has if a full disk cut it off.

        They are not kept: of a day they take more memory than all else.
        """
        if not (self.path / ACTIVITY).is_file():
            raise self._unfinished()
        path, most_bytes = self.path / ACTIVITY, _MOST_BYTES_PER_TICK * self.n_ticks + 100_000
        try:
            with open(path, "rb") as file, np.load(file) as stored:
                if (n_bytes := sum(each.file_size for each in stored.zip.infolist())) > most_bytes:
                    raise damaged(path, f"expected at most {most_bytes:,} bytes for its length, got {n_bytes:,}")
                n_ticks = self._array(stored, "n_ticks", np.int64, ()).item()
                if not 0 <= n_ticks <= self.n_ticks or (n_ticks < self.n_ticks and self.meta["status"] == "complete"):
                    raise damaged(path, f"expected the {self.n_ticks} ticks of the call, got {n_ticks}")
                yield stored, n_ticks
        except RecordingError:
            raise
        except _OF_DAMAGED_ARRAYS as error:
            raise RecordingError(f"{path}: expected NumPy arrays, found a damaged file") from error


def _refuse_no_file(path: Path) -> None:
    """RecordingError for a folder, a pipe or a broken link in the place of a file: it would count as missing."""
    if os.path.lexists(path) and not path.is_file():
        raise damaged(path, "expected a file")


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
