"""What must be said of a call before any figure, in plain words: who was silent, since when, and what else is amiss.

A finding is no measure: it has no denominator. It says what a listener would say first, and where to hear it. CHECKS
is the list of all of them, in the order in which they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import Dialogue, Spans
from fdbcore.measures.health.finding import ECHOES
from fdbcore.measures.reading import Reading
from fdbcore.recording.labels import Label
from fdbcore.recording.reader import Recording
from fdbcore.types import FRAME_SAMPLES, SIDES, TICKS_PER_S, Side, clock_text, other_side, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.measures import finding_types

FULL_SCALE: Final = 32_768
FEWEST_TIMES: Final = 3
"""How often a side has spoken to another that was silent, before that is told."""
LEAST_SILENT_TICKS: Final = 10 * TICKS_PER_S
MOST_OF_THE_SPEECH: Final = 0.9
LEAST_SPEECH_TICKS: Final = 30 * TICKS_PER_S
FILE_ENDS_EARLY_TICKS: Final = 3 * TICKS_PER_S
SILENT: Final = "digitally silent"
LABEL_REACH_TICKS: Final = 3 * TICKS_PER_S // 10
FEWEST_LABELS: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must be known first.

    id: one of CHECKS. side: whose; None if it concerns both. name: what all calls with it have in common. text: in
    plain words. start_tick, end_tick: where it can be heard.
    """

    id: str
    side: Side | None
    name: str
    text: str
    start_tick: int
    end_tick: int

    def to_json(self) -> finding_types.Finding:
        """The finding as plain JSON values, with `start_s` and `end_s`."""
        return {
            "id": self.id,
            "side": self.side,
            "name": self.name,
            "text": self.text,
            "start_tick": self.start_tick,
            "end_tick": self.end_tick,
            "start_s": ticks_to_s(self.start_tick),
            "end_s": ticks_to_s(self.end_tick),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Finding:
        """The finding that `to_json` wrote."""
        return cls(**{name: values[name] for name in cls.__slots__})


@dataclass(frozen=True)
class CheckedCall:
    """A recording as the checks see it."""

    reading: Reading

    @property
    def dialogue(self) -> Dialogue:
        """Its dialogue, without echo."""
        return self.reading.dialogue

    @property
    def n_ticks(self) -> int:
        """Its length."""
        return self.reading.n_ticks

    @cached_property
    def times(self) -> dict[Side, Spans]:
        """The times that each side spoke: stretches of speech more than `resume` apart, int64 (n, 2)."""
        return {side: _joined(self.dialogue.ipus[side], self.dialogue.settings.ticks("resume_ms")) for side in SIDES}

    def silent(self, side: Side) -> bool:
        """Whether no speech was found on a side."""
        return not len(self.dialogue.ipus[side])


Check: TypeAlias = Callable[[CheckedCall], Iterator[Finding]]


def findings(reading: Reading) -> list[Finding]:
    """What must be said of a recording first; nothing for one without a tick."""
    heard = CheckedCall(reading)
    return [finding for check in CHECKS.values() for finding in check(heard)] if reading.n_ticks else []


def nothing_to_measure(recording: Recording) -> str | None:
    """That nobody speaks in a recording, in words; None if somebody does."""
    if any(event.kind == "speech_start" for event in recording.turn_events):
        return None
    heard = loudest(recording.peaks)
    return f"nothing to measure: both {heard if heard == SILENT else f'silent, {heard}'}"


def loudest(peaks: npt.NDArray[np.uint16]) -> str:
    """How loud the loudest sample is, of one side or of both: "loudest -72 dBFS", or SILENT."""
    peak = int(peaks.max(initial=0))
    return f"loudest {20 * np.log10(peak / FULL_SCALE):.0f} dBFS" if peak else SILENT


def never_spoke(heard: CheckedCall) -> Iterator[Finding]:
    """A side without any speech, or without any of its own, and what there is instead."""
    for number, side in enumerate(SIDES):
        if heard.silent(side) and not heard.silent(other_side(side)):
            if heard.reading.suspect_spans[side]:
                name = f"{side} said nothing of its own"
                text = f"{name}: all of it is echo of {other_side(side)}{_echo_figures(heard.reading, side)}"
            else:
                name = f"{side} never spoke"
                text = f"{name}: no speech found, {loudest(heard.reading.peaks[:, number])}"
            yield Finding("never_spoke", side, name, text, 0, heard.n_ticks)


def _echo_figures(recording: Recording, side: Side) -> str:
    """How loud and how late the echo in a side is: " (-10 dB, 45 ms)"; empty if that is not known."""
    for finding in (recording.health or {}).get("findings", ()):
        if finding["id"] in ECHOES and finding["side"] == side:
            return " ({level_db:.0f} dB, {delay_ms:.0f} ms)".format_map(finding["figures"])
    return ""


def fell_silent(heard: CheckedCall) -> Iterator[Finding]:
    """Stretches without any speech of one side, while the other spoke to it again and again.

    The last stretch of B is told if A spoke for long, any other where both were silent for longer than lapse at least
    twice: a listener may be silent for long, but is not waited for.
    """
    lapse_ticks = heard.dialogue.settings.ticks("lapse_ms")
    lapses = [start for start, end in heard.dialogue.lapses.tolist() if end - start > lapse_ticks]
    for side in SIDES:
        for start, end in _between(heard.dialogue.ipus[side], heard.n_ticks):
            spoken = [span for span in heard.times[other_side(side)].tolist() if start <= span[0] < end]
            waits = sum(start <= lapse < end for lapse in lapses)
            left = side == "B" and end == heard.n_ticks and bool(spoken) and spoken[-1][1] - start >= LEAST_SILENT_TICKS
            if len(spoken) >= FEWEST_TIMES and (left or waits >= FEWEST_TIMES - 1):
                until = "the end" if end == heard.n_ticks else _clock(end)
                text = (
                    f"{side} silent from {_clock(start)} to {until} while {other_side(side)} spoke {len(spoken)} times"
                )
                yield Finding("fell_silent", side, f"{side} fell silent", text, start, end)


def one_sided(heard: CheckedCall) -> Iterator[Finding]:
    """One side has nearly all of the speech, though the other neither never spoke nor fell silent."""
    speech = {side: int(np.diff(heard.dialogue.ipus[side]).sum()) for side in SIDES}
    total = sum(speech.values())
    side = max(SIDES, key=speech.__getitem__)
    known = heard.silent(other_side(side)) or any(fell_silent(heard))
    if not known and total >= LEAST_SPEECH_TICKS and speech[side] >= MOST_OF_THE_SPEECH * total:
        text = f"one side holds {100 * speech[side] / total:.0f} % of the speech: {side}"
        yield Finding("one_sided", side, f"{side} holds nearly all of the speech", text, 0, heard.n_ticks)


def file_ends(heard: CheckedCall) -> Iterator[Finding]:
    """The file of one side is shorter than that of the other; of a sample of one turn the user's always may be."""
    source = heard.reading.meta.get("source") or {}
    if len(source.get("files", ())) != len(SIDES):
        return
    for side in SIDES:
        end = int(source["sides"][side].get("samples", heard.n_ticks * FRAME_SAMPLES)) // FRAME_SAMPLES
        early = heard.n_ticks - end
        if early > FILE_ENDS_EARLY_TICKS and not (side == "A" and heard.dialogue.line == "open"):
            name = f"{side}'s file ends early"
            text = f"{side}'s file ends {early / TICKS_PER_S:.0f} s early, at {_clock(end)}"
            yield Finding("file_ends", side, name, text, end, heard.n_ticks)


def labels_elsewhere(heard: CheckedCall) -> Iterator[Finding]:
    """Labels of one side that fit the speech of the other, as where the sides of a call are exchanged."""
    if heard.reading.labels is None:
        return
    named = heard.reading.labels.of("A", "turn_end", "speech") + heard.reading.labels.of("B", "turn_end", "speech")
    own = [label for label in named if _fits(label, heard, label.side)]
    other = [label for label in named if _fits(label, heard, other_side(label.side))]
    misplaced = [label for label in other if label not in own]
    well = len([label for label in own if label not in other])
    if len(misplaced) >= FEWEST_LABELS * max(1, well):
        text = f"{len(misplaced)} of {len(named)} labels fit the speech of the other side: sides exchanged? (--swap)"
        first = misplaced[0]
        yield Finding("labels_elsewhere", None, "Labels fit the other side", text, first.start_tick, first.end_tick)


CHECKS: Final[Mapping[str, Check]] = {
    check.__name__: check for check in (never_spoke, fell_silent, one_sided, file_ends, labels_elsewhere)
}


def _fits(label: Label, heard: CheckedCall, side: Side) -> bool:
    """Whether a side ends to speak where a label says that a turn ends, or speaks in most of labelled speech."""
    if label.kind == "turn_end":
        ends = heard.dialogue.ipus[side][:, 1]
        return bool((np.abs(ends - label.end_tick) <= LABEL_REACH_TICKS).any())
    spoken = heard.dialogue.speaking[side][label.start_tick : label.end_tick]
    return bool(len(spoken)) and bool(spoken.mean() > 0.5)


def _joined(spans: Spans, apart_ticks: int) -> Spans:
    """Spans that lie less than so far apart, as one."""
    if not len(spans):
        return spans
    new = spans[1:, 0] - spans[:-1, 1] >= apart_ticks
    starts, ends = spans[np.append(True, new), 0], spans[np.append(new, True), 1]
    return np.stack([starts, ends], axis=1)


def _between(spans: Spans, n_ticks: int) -> Sequence[tuple[int, int]]:
    """What lies before, between and after the spans of a side that has any."""
    edges = [0, *spans.ravel().tolist(), n_ticks]
    return list(zip(edges[::2], edges[1::2], strict=True)) if len(spans) else []


def _clock(tick: int) -> str:
    return clock_text(ticks_to_s(tick))
