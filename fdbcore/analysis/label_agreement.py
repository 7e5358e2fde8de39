"""How far people who labelled the same calls agree, with each other and with what the audio says.

Raters are label files, or runs, whose labels are the turn detector's. A kind of a side is compared where every rater
has looked for it at all, and only in calls that all have; the definitions are in `fdbcore.analysis.span_agreement`. A
run calls speech that began over the other's an interruption if it is longer than short_ms, else a backchannel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.span_agreement import PAIRED_WITHIN_S, Call, alpha, kind_agreement, span_agreement
from fdbcore.errors import InputError, RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.recording.labels import CONTRIBUTIONS, KINDS, Label, LabelKind, within_session
from fdbcore.recording.run import is_recorded
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.label_set import LabelSet
from fdbcore.sources.names import Oddities
from fdbcore.types import SIDES, Side, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.analysis.agreement_types import LabelAgreement, RaterPair

SCHEMA: Final = "fdbcore.label_agreement/1"
OF_RUNS: Final[tuple[LabelKind, ...]] = ("turn_end", "speech", "pause", "interruption", "backchannel")
"""The kinds that a run has labels of."""


_Labels = Callable[[int], Sequence[Label] | None]
_Recordings = Callable[[int], Reading | None]


@dataclass(frozen=True, slots=True)
class Rater:
    """Who labelled calls. of: the labels of a call by its number, None if there are none; is_run: they are ours."""

    name: str
    of: _Labels
    is_run: bool

    def looked_for(self, found: Sequence[Sequence[Label]]) -> set[tuple[Side, LabelKind]]:
        """Which kinds of which side were looked for. found: its labels of all compared calls."""
        if self.is_run:
            return {(side, kind) for side in SIDES for kind in OF_RUNS}
        return {(label.side, label.kind) for labels in found for label in labels}


def agreement(paths: Sequence[Path], tolerance_ms: int) -> LabelAgreement:
    """How far the raters in `paths`, label files or runs, agree: a JSON document, see the module's definitions.

    Intervals resample calls. Raises InputError if there is no call that all have labelled, and what reading raises.
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


def _raters(paths: Sequence[Path], oddities: Oddities) -> tuple[list[str], list[Rater]]:
    """The names of all calls that may be compared, and the raters; calls are known by their number among these."""
    sources = [Run(path) if is_recorded(path) else read_labels(path, oddities) for path in paths]
    runs = [source for source in sources if isinstance(source, Run)]
    known = _calls_of(runs[0]) if runs else _names_of([source for source in sources if isinstance(source, LabelSet)])
    names = [name for name, _ in known]
    recordings = [_recordings(run, names) for run in runs]
    found = []
    for source in sources:
        if isinstance(source, Run):
            of = _of_run(recordings[runs.index(source)], oddities)
        else:
            swapped = _swapped(recordings[0]) if runs else lambda number: False
            of = _of_file(source.by_call(known, swapped, oddities), recordings[0] if runs else None, oddities)
        found.append(Rater(str(source.path), of, isinstance(source, Run)))
    return names, found


def _calls_of(run: Run) -> list[tuple[str, Sequence[Path]]]:
    return [(call.name, [Path(file) for file in call.files]) for call in run.calls]


def _names_of(sources: Sequence[LabelSet]) -> list[tuple[str, Sequence[Path]]]:
    """The calls of the first of several label files that names calls; if none does, the one call that all are of."""
    first = next((source for source in sources if not source.is_one_call), sources[0])
    return [(name, [Path(name)]) for name in dict.fromkeys(label.call for label in first.labels)]


def _recordings(run: Run, names: Sequence[str]) -> _Recordings:
    """Opens the recordings of a run's calls by number; None for one that is not scored."""
    calls = {call.name: call for call in run.scored}
    return lambda number: calls[names[number]].recording if names[number] in calls else None


def _swapped(recording_of: _Recordings) -> Callable[[int], bool]:
    """Whether B is the left channel of a call."""

    def swapped(number: int) -> bool:
        recording = recording_of(number)
        return recording is not None and bool((recording.meta.get("source") or {}).get("swap", False))

    return swapped


def _of_run(recording_of: _Recordings, oddities: Oddities) -> _Labels:
    """The labels of a run; what cannot be read is noted."""

    def of(number: int) -> Sequence[Label] | None:
        try:
            recording = recording_of(number)
            return None if recording is None else labels_of(recording)
        except RecordingError as error:
            oddities.add("calls that cannot be read, left out", [str(error)])
            return None

    return of


def _of_file(by_call: Mapping[int, list[Label]], recording_of: _Recordings | None, oddities: Oddities) -> _Labels:
    """The labels of a file; where the calls' lengths are known, only what is within them."""

    def of(number: int) -> Sequence[Label] | None:
        recording = recording_of(number) if recording_of is not None and number in by_call else None
        if recording is None:
            return by_call.get(number)
        within, notes = within_session(by_call[number], recording.n_ticks)
        oddities.add("calls with labels that do not fit", [f"{recording.name}: {note}" for note in notes])
        return within

    return of


def _compared(names: Sequence[str], found: Sequence[Rater], oddities: Oddities) -> Iterator[tuple[str, Call]]:
    """The calls that all have labelled. Runs have all, so they are asked last; what some files lack is noted."""
    order = sorted(range(len(found)), key=lambda number: found[number].is_run)
    files = sum(not rater.is_run for rater in found)
    for number, name in enumerate(names):
        told: dict[int, Sequence[Label]] = {}
        for rater in order:
            if found[rater].is_run and len(told) < files:
                break
            if (labels := found[rater].of(number)) is not None:
                told[rater] = labels
        if len(told) == len(found):
            yield name, [told[rater] for rater in range(len(found))]
        elif any(not found[rater].is_run for rater in told):
            oddities.add("calls that some have labelled and others not, left out", [name])


def labels_of(reading: Reading) -> list[Label]:
    """What the turn detector found in a recording, as labels; nothing that the end of the recording decided."""
    dialogue = reading.dialogue
    found = [
        Label(side, "speech", ticks_to_s(start), ticks_to_s(end))
        for side in SIDES
        for start, end in dialogue.ipus[side].tolist()
    ]
    for event in dialogue.told("pause", "turn", "intrusion"):
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


def _pair(first: Rater, second: Rater, calls: Sequence[Call], tolerance_ms: int) -> RaterPair:
    """calls: of the two."""
    looked_for = [rater.looked_for([call[n] for call in calls]) for n, rater in enumerate((first, second))]
    sides = {kind: [side for side in SIDES if all((side, kind) in found for found in looked_for)] for kind in KINDS}
    return {
        "first": first.name,
        "second": second.name,
        "spans": {kind: span_agreement(calls, kind, of, tolerance_ms) for kind, of in sides.items() if of},
        "kinds": kind_agreement(calls, _sides_of_contributions(looked_for)),
    }


def _sides_of_contributions(looked_for: Sequence[set[tuple[Side, LabelKind]]]) -> list[Side]:
    return [side for side in SIDES if all(any((side, kind) in found for kind in CONTRIBUTIONS) for found in looked_for)]
