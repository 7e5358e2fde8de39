"""Agreement of people who labelled the same calls, with each other and with the turn detector.

A rater is a label file, or a run, whose labels are those of the turn detector. A kind of label on a side is compared if
every rater has looked for it, and only in calls that all raters labelled; `fdbcore.analysis.span_agreement` has the
definitions. For a run, speech that begins over the other side is an interruption if it is longer than short_ms,
otherwise a backchannel. Labels of recorded users are those of each call that played one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.span_agreement import (
    PAIRED_WITHIN_S,
    AlphaEstimate,
    Call,
    KindAgreement,
    SpanAgreement,
    alpha,
    kind_agreement,
    span_agreement,
)
from fdbcore.errors import InputError, RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.recording.labels import CONTRIBUTIONS, KINDS, Label, LabelKind, within_session
from fdbcore.recording.places import located
from fdbcore.recording.run import is_planned, is_recorded, read_plan
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.label_set import LabelSet
from fdbcore.sources.names import Oddities
from fdbcore.types import SIDES, Side, ticks_to_s
from fdbcore.types.units import Count

SCHEMA: Final = "fdbcore.label_agreement/1"
KINDS_OF_RUNS: Final[tuple[LabelKind, ...]] = ("turn_end", "speech", "pause", "interruption", "backchannel")
"""The kinds of labels that a run has."""

Named = tuple[str, tuple[Path, ...]]
"""A clip by its name and its file."""
_Labels = Callable[[int], Sequence[Label] | None]
_Recordings = Callable[[int], Reading | None]


class RaterPair(TypedDict):
    """Two raters compared."""

    first: str
    second: str
    spans: Annotated[dict[LabelKind, SpanAgreement], Meta(description="by kind, of those that both have looked for")]
    kinds: KindAgreement | None


class LabelAgreement(TypedDict):
    """Agreement of raters on the same calls. Fields may be added under the same version; a field is never given another
    meaning."""

    schema: Literal["fdbcore.label_agreement/1"]
    raters: Annotated[list[str], Meta(description="their files, or runs")]
    calls: Annotated[list[str], Meta(description="that all have labelled")]
    calls_not_labelled_by_all: Count
    tolerance_ms: Count
    paired_within_ms: Count
    pairs: list[RaterPair]
    alpha: AlphaEstimate | None
    problems: Annotated[dict[str, list[str]], Meta(description="what was left out, and of which calls")]


@dataclass(frozen=True, slots=True)
class LabelRater:
    """One who labelled calls. labels_of: gives the labels of a call by its number, None if it was not labelled.

    is_run: the labels are those of the turn detector.
    """

    name: str
    labels_of: _Labels
    is_run: bool

    def looked_for(self, labelled: Sequence[Sequence[Label]]) -> set[tuple[Side, LabelKind]]:
        """The kinds that the rater looked for, per side. labelled: its labels of all compared calls."""
        if self.is_run:
            return {(side, kind) for side in SIDES for kind in KINDS_OF_RUNS}
        return {(label.side, label.kind) for labels in labelled for label in labels}


def agreement(paths: Sequence[Path], tolerance_ms: int) -> LabelAgreement:
    """The agreement of the raters in `paths`, label files or runs, as JSON values.

    Intervals resample calls. tolerance_ms: edges this far apart still match. Raises InputError if no call was labelled
    by all raters, and RecordingError or InputError for what cannot be read.
    """
    oddities = Oddities()
    names, found = _raters(paths, oddities)
    compared = list(_compared(names, found, oddities))
    if not compared:
        raise InputError(f"expected calls that all have labelled, got none: {', '.join(map(str, paths))}")
    calls = [call for _, call in compared]
    pairs = [
        _pair(found[a], found[b], [(call[a], call[b]) for call in calls], tolerance_ms)
        for a, b in combinations(range(len(found)), 2)
    ]
    looked_for = [rater.looked_for([call[n] for call in calls]) for n, rater in enumerate(found)]
    return {
        "schema": SCHEMA,
        "raters": [rater.name for rater in found],
        "calls": [name for name, _ in compared],
        "calls_not_labelled_by_all": len(names) - len(compared),
        "tolerance_ms": tolerance_ms,
        "paired_within_ms": round(1000 * PAIRED_WITHIN_S),
        "pairs": pairs,
        "alpha": alpha(calls, _sides_of_contributions(looked_for)),
        "problems": oddities.found,
    }


def _raters(paths: Sequence[Path], oddities: Oddities) -> tuple[list[str], list[LabelRater]]:
    """The names of all calls that may be compared, and the raters. A call's number is its place among the names."""
    sources = [Run(path) if is_recorded(path) else read_labels(path, oddities) for path in paths]
    runs = [source for source in sources if isinstance(source, Run)]
    for run in runs:
        gone = [str(call.reason) for call in run.calls if call.is_unreadable]
        oddities.add("calls that cannot be read, left out", gone)
    if runs:
        known: list[tuple[str, Sequence[Path]]] = [
            (call.name, [located(runs[0].path, file) for file in call.files]) for call in runs[0].calls
        ]
    else:
        known = _names_of([source for source in sources if isinstance(source, LabelSet)])
    names = [name for name, _ in known]
    recordings = [_recordings(run, names) for run in runs]
    found = []
    for source in sources:
        if isinstance(source, Run):
            labels_of_call: _Labels = partial(_labels_of_run, recordings[runs.index(source)], oddities)
        else:
            swapped = partial(_is_swapped, recordings[0]) if runs else lambda number: False
            clips = _clips(runs[0], source) if runs else None
            by_call = source.by_call(known, swapped, oddities) if clips is None else _by_clip(clips, source, oddities)
            labels_of_call = partial(_labels_of_file, by_call, recordings[0] if runs else None, oddities)
        found.append(LabelRater(str(source.path), labels_of_call, isinstance(source, Run)))
    return names, found


def _clips(run: Run, source: LabelSet) -> list[Named] | None:
    """The clip that the user of each call is, if a file of labels may name these: None if it names calls, or if the
    users of the run are no clips.
    """
    planned = {case["name"]: case["clip"] for case in read_plan(run.path)["cases"]} if is_planned(run.path) else {}
    clips = [planned.get(call.name) for call in run.calls]
    named = {Path(label.call).stem for label in source.labels} | {label.call for label in source.labels}
    if not named.isdisjoint(call.name for call in run.calls):
        return None
    found: list[Named] = [(clip["name"], (located(run.path, clip["path"]),)) for clip in clips if clip is not None]
    return found if found and len(found) == len(clips) else None


def _by_clip(clips: Sequence[Named], source: LabelSet, oddities: Oddities) -> dict[int, list[Label]]:
    """The labels of a clip for each call that played it. A call begins with its clip, which has one side."""
    known = list(dict.fromkeys(clips))
    found = source.by_call(known, lambda number: False, oddities)
    places = [known.index(clip) for clip in clips]
    return {number: found[place] for number, place in enumerate(places) if place in found}


def _names_of(sources: Sequence[LabelSet]) -> list[tuple[str, Sequence[Path]]]:
    """The calls of the first label file that names calls; if none does, the single call that all files describe."""
    first = next((source for source in sources if not source.is_one_call), sources[0])
    return [(name, [Path(name)]) for name in dict.fromkeys(label.call for label in first.labels)]


def _recordings(run: Run, names: Sequence[str]) -> _Recordings:
    """A function that opens the recording of a call by its number; None for a call that is not scored."""
    calls = {call.name: call for call in run.scored}
    return lambda number: calls[names[number]].recording if names[number] in calls else None


def _is_swapped(recording_of: _Recordings, number: int) -> bool:
    """True if B is the left channel of a call."""
    recording = recording_of(number)
    return recording is not None and bool((recording.meta.get("source") or {}).get("swap", False))


def _labels_of_run(recording_of: _Recordings, oddities: Oddities, number: int) -> Sequence[Label] | None:
    """The labels of a run's call; notes one that cannot be read."""
    try:
        recording = recording_of(number)
        return None if recording is None else labels_of(recording)
    except RecordingError as error:
        oddities.add("calls that cannot be read, left out", [str(error)])
        return None


def _labels_of_file(
    by_call: Mapping[int, list[Label]], recording_of: _Recordings | None, oddities: Oddities, number: int
) -> Sequence[Label] | None:
    """The labels of a file for a call; if the length of the call is known, only within it."""
    recording = recording_of(number) if recording_of is not None and number in by_call else None
    if recording is None:
        return by_call.get(number)
    within, notes = within_session(by_call[number], recording.n_ticks, recording.kept)
    oddities.add("calls with labels that do not fit", [f"{recording.name}: {note}" for note in notes])
    return within


def _compared(names: Sequence[str], found: Sequence[LabelRater], oddities: Oddities) -> Iterator[tuple[str, Call]]:
    """The calls that all raters labelled, by name. Notes the calls that some labelled and others did not."""
    # Runs have labels of all calls and are slow to read, so ask them last.
    order = sorted(range(len(found)), key=lambda number: found[number].is_run)
    files = sum(not rater.is_run for rater in found)
    for number, name in enumerate(names):
        labelled: dict[int, Sequence[Label]] = {}
        for rater in order:
            if found[rater].is_run and len(labelled) < files:
                break
            if (labels := found[rater].labels_of(number)) is not None:
                labelled[rater] = labels
        if len(labelled) == len(found):
            yield name, [labelled[rater] for rater in range(len(found))]
        elif any(not found[rater].is_run for rater in labelled):
            oddities.add("calls that some raters labelled and others did not, left out", [name])


def labels_of(reading: Reading) -> list[Label]:
    """The speech, pauses, turn ends and contributions that the turn detector found in a recording, as labels.

    Events that the end of the recording decided are left out.
    """
    dialogue = reading.dialogue
    found = [
        Label(side, "speech", ticks_to_s(start), ticks_to_s(end))
        for side in SIDES
        for start, end in dialogue.ipus[side].tolist()
    ]
    for event in dialogue.uncensored("pause", "turn", "intrusion"):
        start_s = ticks_to_s(event.start_tick)
        if event.kind == "intrusion" and event.onset == "overlap":
            length_ticks = dialogue.ipu_length_ticks(event.side, event.start_tick)
            is_short = length_ticks <= dialogue.settings.ticks("short_ms")
            kind: LabelKind = "backchannel" if is_short else "interruption"
            found.append(Label(event.side, kind, start_s, start_s + ticks_to_s(length_ticks)))
        elif event.end_tick is not None and event.kind != "intrusion":
            end_s = ticks_to_s(event.end_tick)
            is_turn = event.kind == "turn"
            found.append(Label(event.side, "turn_end" if is_turn else "pause", end_s if is_turn else start_s, end_s))
    return found


def _pair(first: LabelRater, second: LabelRater, calls: Sequence[Call], tolerance_ms: int) -> RaterPair:
    """The agreement of two raters. calls: the labels of both, per call."""
    looked_for = [rater.looked_for([call[n] for call in calls]) for n, rater in enumerate((first, second))]
    sides = {kind: [side for side in SIDES if all((side, kind) in found for found in looked_for)] for kind in KINDS}
    return {
        "first": first.name,
        "second": second.name,
        "spans": {kind: span_agreement(calls, kind, both, tolerance_ms) for kind, both in sides.items() if both},
        "kinds": kind_agreement(calls, _sides_of_contributions(looked_for)),
    }


def _sides_of_contributions(looked_for: Sequence[set[tuple[Side, LabelKind]]]) -> list[Side]:
    return [side for side in SIDES if all(any((side, kind) in found for kind in CONTRIBUTIONS) for found in looked_for)]
