"""Sensitivity of figures to settings: reads the stored activity of a run again under many settings.

It varies each setting of the turn detector alone, and min_silence_ms also with other voice activity detectors. The
range of a figure over the settings shows how much it depends on choices that nobody can prove right. Its confidence
interval shows how much it depends on which calls happened to be recorded.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias, TypedDict
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fdbcore.analysis.groups import CallGroup
from fdbcore.endpoints.replay import replayed_sides
from fdbcore.errors import AudioError, FdbError, RecordingError, SettingsError, VadError
from fdbcore.measures.catalogue import headlines
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.measures.quantities import Quantity, Share, Values, without_spans
from fdbcore.measures.reading import Reading
from fdbcore.measures.timing import timing_quantities
from fdbcore.recording.files import settings_hash
from fdbcore.recording.form import one_call
from fdbcore.recording.meta import Settings
from fdbcore.recording.reader import Recording
from fdbcore.runtime.executor import Executor, results_in_order
from fdbcore.runtime.whole_files import whole_file
from fdbcore.session.turns import sweep_turns
from fdbcore.session.vad import check_usable, make_vads
from fdbcore.session.vad_errors import blame
from fdbcore.sources.recorded import changed_source, session_of, settings_of
from fdbcore.types import SAMPLE_RATE_HZ, SILENT_FRAME, TurnSettings

MIN_SILENCES_MS: Final = (100, 150, 200, 250, 300, 400, 500)
ALONE: Final[Sequence[Mapping[str, int]]] = (
    {"min_speech_ms": 30},
    {"min_speech_ms": 100},
    {"short_ms": 500},
    {"short_ms": 1500},
    {"simultaneous_ms": 0, "terminal_ms": 0},
    {"simultaneous_ms": 500, "terminal_ms": 500},
)
"""Changes of the onset rules: the shortest sound that counts as speech, the longest speech that need not take the
floor, and how near to the other's start or end an onset in overlap is not counted."""

_OTHER: Final = {"energy": "silero", "silero": "energy"}

Tracks: TypeAlias = tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
Headlines: TypeAlias = Mapping[str, Quantity]


class SettingsVariant(TypedDict):
    """Settings under which the activity was read again."""

    name: str
    changes: Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]
    detector: Annotated[str | None, Meta(description="another detector; null for the run's own")]


def variant(changes: Mapping[str, int], detector: str | None = None) -> SettingsVariant:
    """Changes of a call's own settings. detector: use the activity that the one of this name finds."""
    changed = [f"{name.removesuffix('_ms')} {value} ms" for name, value in changes.items()]
    name = ", ".join([*changed, *([detector] if detector else [])]) or "as scored"
    return {"name": name, "changes": dict(changes), "detector": detector}


def variants(own: TurnSettings, detectors: Sequence[str], alone: bool = False) -> list[SettingsVariant]:
    """All variants to read a run under; the first is its own settings. alone: vary the detector, and no setting."""
    if alone:
        return [variant({}), *(variant({}, detector) for detector in detectors)]
    silences = [{"min_silence_ms": ms} for ms in MIN_SILENCES_MS if ms != own.min_silence_ms]
    changes = [c for c in ({}, *silences, *ALONE) if not c or _differs(own, c)]
    by_others = [variant(c, detector) for detector in detectors for c in ({}, *silences) if c in changes]
    return [*(variant(c) for c in changes), *by_others]


def _differs(own: TurnSettings, changes: Mapping[str, int]) -> bool:
    """True if the changes give valid settings that differ from `own`."""
    with suppress(SettingsError):
        return replace(own, **changes) != own
    return False


def headline_quantities(dialogue: Dialogue) -> dict[str, Quantity]:
    """The headline measures of a session that need only its turn events."""
    found = timing_quantities(dialogue, with_chance=False)
    return {name: without_spans(found[name]) for name in headlines() if name in found}


class Reread(NamedTuple):
    """The headline measures of a call under each variant. unheard: why others could not be used, by detector.

    In that case their variants use the activity of the call's own detector, so that all figures cover the same calls.
    """

    headlines: Sequence[Headlines]
    unheard: Mapping[str, str]


def reread(path: Path, chosen: Sequence[SettingsVariant]) -> Reread:
    """Read the recording in `path` under each variant, without speech that is echo.

    Raises RecordingError if its activity cannot be read, SettingsError if a variant does not fit its own settings.
    """
    reading = Reading(path)
    own = settings_of(reading)
    tracks: dict[str | None, Tracks] = {None: reading.activity}
    unheard: dict[str, str] = {}
    for detector in filter(None, dict.fromkeys(each["detector"] for each in chosen)):
        try:
            tracks[detector] = activity_by(reading, detector)
        except (AudioError, RecordingError) as error:
            unheard[detector] = str(error)
    found: dict[int, Headlines] = {}
    for by, activity in tracks.items():
        a, b = echo_free_activity(activity, reading.suspect_spans)
        members = [
            n for n, each in enumerate(chosen) if (None if each["detector"] in unheard else each["detector"]) == by
        ]
        settings = [replace(own, **chosen[number]["changes"]) for number in members]
        for number, one, events in zip(members, settings, sweep_turns(a, b, settings, kept=reading.kept), strict=True):
            found[number] = headline_quantities(replace(reading.dialogue, detected=events, settings=one))
    return Reread([found[number] for number in range(len(chosen))], unheard)


def activity_by(recording: Recording, detector: str) -> Tracks:
    """The activity that another detector finds in a recording's audio, bool (n_ticks,) for A and B.

    It is stored with the recording, if that can be written, and used again if it comes from the same audio content.
    Raises AudioError or RecordingError if the audio is gone, has changed, or cannot be read.
    """
    path = recording.path / f"derived/activity-{detector.replace(':', '-')}.npz"
    of_detector = settings_hash(make_vads(detector, (SAMPLE_RATE_HZ, SAMPLE_RATE_HZ))[0].describe())
    content = [of_detector, *(file["sha256"] for file in recording.source_files)]
    tracks = _stored_tracks(path, content, recording.n_ticks)
    if tracks is None:
        if (changed := changed_source(recording)) is not None:
            raise AudioError(changed)
        a, b = tracks = _detected(recording, detector)
        with suppress(OSError), whole_file(path) as file:
            np.savez(file, allow_pickle=False, content=np.array(content, str), a=np.packbits(a), b=np.packbits(b))
    return tracks


def _stored_tracks(path: Path, content: Sequence[str], n_ticks: int) -> Tracks | None:
    """The activity stored in `path`; None if there is none from audio of this content."""
    try:
        with np.load(path) as stored:
            if stored["content"].tolist() != content:
                return None
            a, b = (np.unpackbits(stored[side], count=n_ticks).astype(np.bool_) for side in "ab")
    except (OSError, KeyError, ValueError, EOFError, BadZipFile):
        return None
    return a, b


def other_detector(settings: Settings) -> str:
    """The detector to compare with where none is named: not the one that these settings were scored with."""
    return _OTHER.get(settings["vad"]["B"]["name"], "silero")


def _detected(recording: Recording, detector: str) -> Tracks:
    with session_of(recording).open() as source:
        vads, sides = make_vads(detector, source.rates_hz, recording.heard), replayed_sides(source.blocks())
        tracks: tuple[list[bool], list[bool]] = ([], [])
        for tick in range(recording.n_ticks):
            for side, vad, track in zip(sides, vads, tracks, strict=True):
                frame = side.say(tick)
                try:
                    track.append(vad.push(SILENT_FRAME if frame is None else frame))
                except Exception as error:
                    blame(detector, error, tick)
    try:
        ends = [vad.finish() for vad in vads]
    except Exception as error:
        blame(detector, error, recording.n_ticks)
    a, b = (np.array((t + end)[-recording.n_ticks :], np.bool_) for t, end in zip(tracks, ends, strict=True))
    return a, b


class FigureRange(TypedDict):
    """The figures of a measure under the settings; null where there are no items."""

    own: float | None
    low: float | None
    high: float | None
    low_at: Annotated[str | None, Meta(description="the name of the variant")]
    high_at: str | None
    figures: Annotated[list[float | None], Meta(description="of each variant")]


class VariedGroup(TypedDict):
    """A group under the settings."""

    name: str
    measures: dict[str, FigureRange]


class OrderFlip(TypedDict):
    """Two groups that stand the other way round under some settings."""

    measure: str
    a: str
    b: str
    at: Annotated[list[str], Meta(description="the names of the variants")]


class Sensitivity(TypedDict):
    """Sensitivity of the figures to the settings."""

    detectors: Annotated[list[str], Meta(min_length=1, description="its own, and the others")]
    variants: list[SettingsVariant]
    unheard: Annotated[dict[str, str], Meta(description="calls that another detector could not hear: why")]
    unread: dict[str, str]
    groups: list[VariedGroup]
    flips: list[OrderFlip]


class _Totals:
    """Accumulates the items of one measure over many calls, as far as its figure needs them."""

    def __init__(self) -> None:
        self.sums = np.zeros(2)
        self.values: list[npt.NDArray[np.float64]] | None = None

    def add(self, quantity: Quantity) -> None:
        """Add the items of one call."""
        if isinstance(quantity, Values):
            self.values = [*(self.values or []), np.array(quantity.values)]
        elif isinstance(quantity, Share):
            self.sums += (quantity.count, quantity.n)
        else:
            self.sums += (quantity.total, quantity.exposure)

    @property
    def figure(self) -> float | None:
        """The median, share or rate of all calls; None without items."""
        if self.values is not None:
            values = np.concatenate(self.values)
            return float(np.median(values)) if len(values) else None
        return float(self.sums[0] / self.sums[1]) if self.sums[1] else None


def sensitivity(
    compared_groups: Sequence[CallGroup],
    own: Settings,
    executor: Executor,
    on_call: Callable[[], None] = lambda: None,
    detectors: Sequence[str] = (),
    alone: bool = False,
) -> Sensitivity:
    """The headline measures of groups of calls under each of `variants`, as JSON values.

    own: the settings of the run. on_call: called after each call. detectors: the others to compare
    with; by default `other_detector`. alone: vary no setting. SettingsError or MissingExtraError for a detector that
    cannot be used.
    """
    own_name = own["vad"]["B"]["name"]
    others = [name for name in dict.fromkeys(detectors) if name != own_name] or ([] if alone else [other_detector(own)])
    check_usable(others)
    chosen = variants(TurnSettings(**own["turns"]), others, alone)
    calls = [(number, call) for number, group in enumerate(compared_groups) for call in group.calls]
    totals = [[{name: _Totals() for name in headlines()} for _ in chosen] for _ in compared_groups]
    results = results_in_order(executor, partial(_reread_or_error, chosen=chosen), [call.path for _, call in calls])
    unheard: dict[str, str] = {}
    unread: dict[str, str] = {}
    unheard_by: Counter[str] = Counter()
    for (number, call), found in zip(calls, results, strict=True):
        on_call()
        if isinstance(found, str):
            unread[call.name] = found
            continue
        unheard_by.update(found.unheard.keys())
        if found.unheard:
            unheard[call.name] = next(iter(found.unheard.values()))
        for into, quantities in zip(totals[number], found.headlines, strict=True):
            for name, quantity in quantities.items():
                into[name].add(quantity)
    read = len(calls) - len(unread)
    is_heard = [(by := each["detector"]) is None or unheard_by[by] < read for each in chosen]
    heard = [each for each, there in zip(chosen, is_heard, strict=True) if there]
    names = [each["name"] for each in heard]
    groups: list[VariedGroup] = [
        {
            "name": group.name,
            "measures": {
                name: _range([of[name].figure for of, there in zip(of_group, is_heard, strict=True) if there], names)
                for name in headlines()
            },
        }
        for group, of_group in zip(compared_groups, totals, strict=True)
    ]
    return {
        "detectors": [own_name, *others],
        "variants": heard,
        "unheard": unheard,
        "unread": unread,
        "groups": groups,
        "flips": list(_flips(groups, names)),
    }


def _reread_or_error(path: Path, chosen: Sequence[SettingsVariant]) -> Reread | str:
    """`reread`, or its error as text, which can leave a worker process. A detector that fails ends all."""
    try:
        with one_call(path):
            return reread(path, chosen)
    except VadError:
        raise
    except FdbError as error:
        return str(error)


def _range(figures: list[float | None], names: Sequence[str]) -> FigureRange:
    """The figure under the own settings, the extremes, and the variants with these; None without figures."""
    given = [(figure, name) for figure, name in zip(figures, names, strict=True) if figure is not None]
    (low, low_at), (high, high_at) = (
        (min(given, key=_figure), max(given, key=_figure)) if given else ((None, None), (None, None))
    )
    return {"own": figures[0], "low": low, "high": high, "low_at": low_at, "high_at": high_at, "figures": figures}


def _figure(given: tuple[float, str]) -> float:
    return given[0]  # without the name, so that of equal figures the first variant is named


def _flips(groups: Sequence[VariedGroup], names: Sequence[str]) -> Iterator[OrderFlip]:
    """The pairs of groups whose order is reversed under some variants."""
    for measure in headlines():
        for a, b in combinations(groups, 2):
            figures = zip(*(group["measures"][measure]["figures"] for group in (a, b)), strict=True)
            signs = [0.0 if None in pair else float(np.sign(pair[0] - pair[1])) for pair in figures]
            at = [name for name, sign in zip(names, signs, strict=True) if sign * signs[0] < 0]
            if at:
                yield {"measure": measure, "a": a["name"], "b": b["name"], "at": at}
