"""Findings that stand before the figures of a call, in plain words: who was silent, since when, and what else is wrong.

A finding is not a measure: it has no denominator. It is what a listener would say first, with the place to hear it.
CHECKS lists all checks, in the order in which their findings are shown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import Meta
from msgspec.structs import replace

from fdbcore.measures.dialogue import Dialogue, Spans, joined
from fdbcore.measures.health.finding import ECHOES, near
from fdbcore.measures.label_clock import late_in_parts
from fdbcore.measures.reading import Reading
from fdbcore.recording.labels import Label, LabelKind
from fdbcore.recording.left_out import kept_ticks
from fdbcore.recording.reader import Recording
from fdbcore.types import FRAME_SAMPLES, SIDES, TICKS_PER_S, Side, Span, clock_text, other_side, ticks_to_s
from fdbcore.types.units import Tick

ENDS_UNANSWERED: Final = "ends_unanswered"
"""The id of the finding of a call that ends with A unanswered."""
FULL_SCALE: Final = 32_768
FEWEST_TIMES: Final = 3
"""A silence of one side is a finding if the other side spoke at least this often during it."""
LEAST_SILENT_TICKS: Final = 10 * TICKS_PER_S
WAITS_TICKS, FEWEST_WAITS = 13 * TICKS_PER_S // 10, 4
"""Waits: who leaves so long a pause waits for an answer; so often, nobody who tells a story leaves one."""
IN_VAIN_SHARE: Final = 0.25
MOST_OF_THE_SPEECH: Final = 0.9
LEAST_SPEECH_TICKS: Final = 30 * TICKS_PER_S
FILE_ENDS_EARLY_TICKS: Final = 3 * TICKS_PER_S
SAME_LENGTH_TICKS: Final = TICKS_PER_S // 5
"""Files of two sides that differ by more need not begin at one moment."""
SILENT: Final = "digitally silent"
AS_SPEECH_PEAK: Final = FULL_SCALE // 100  # -40 dBFS
LEAST_LOUD_TICKS: Final = 2 * TICKS_PER_S
UNEVEN: Final = 4  # times as loud as the softest fifth, 12 dB; of noise that does not change it is 3 to 6 dB
ECHO_REACH_TICKS: Final = 6 * TICKS_PER_S // 10
MOST_LATE_S, MOST_SHIFTED = 15.0, 500  # reach of the search for labels at another time, and their number at most
LABEL_REACH_TICKS: Final = 3 * TICKS_PER_S // 10
FEWEST_LABELS: Final = 3
NEARLY_ALL: Final = 0.9
FEWEST_OF_A_CALL, FITTING_BY_CHANCE = 4, 0.5


class Finding(TypedDict):
    """A finding that must be told of the call first, in plain words: who was silent, and since when."""

    id: str
    side: Side | None
    name: Annotated[str, Meta(description="what all calls with it have in common")]
    text: str
    start_tick: Tick
    end_tick: Tick
    start_s: float
    end_s: float


@dataclass(frozen=True)
class CheckedCall:
    """A recording, as the checks need it."""

    reading: Reading

    @property
    def dialogue(self) -> Dialogue:
        """The dialogue without echo."""
        return self.reading.dialogue

    @property
    def start_tick(self) -> int:
        """The start of the first kept span of the recording."""
        return self.reading.kept[0][0]

    @property
    def end_tick(self) -> int:
        """The end of the last kept span of the recording."""
        return self.reading.kept[-1][1]

    @property
    def peaks(self) -> npt.NDArray[np.uint16]:
        """The largest absolute sample of each tick that is measured, uint16 (n, 2): A, B."""
        return _heard_peaks(self.reading)

    @cached_property
    def times(self) -> dict[Side, Spans]:
        """Speech times of each side: IPUs less than resume_ms apart are joined."""
        return {side: joined(self.dialogue.ipus[side], self.dialogue.settings.ticks("resume_ms")) for side in SIDES}

    def unheard_sound(self, side: Side, start_tick: int, end_tick: int) -> Span | None:
        """The loud span of a side, as loud as speech, in a stretch in which the detector heard none: such as a choppy
        voice. None if it is not, or as even as noise. What sounds beside the other side may be echo of it.
        """
        alone = ~near(self.dialogue.speaking[other_side(side)][start_tick:end_tick], ECHO_REACH_TICKS)
        if self.reading.left_out:
            alone &= kept_ticks(self.reading.heard, self.reading.n_ticks)[start_tick:end_tick]
        peaks = self.reading.peaks[start_tick:end_tick, SIDES.index(side)]
        loud = np.flatnonzero((peaks >= AS_SPEECH_PEAK) & alone)
        if len(loud) < LEAST_LOUD_TICKS or np.quantile(peaks[alone], 0.2) * UNEVEN > np.quantile(peaks[loud], 0.9):
            return None
        return start_tick + int(loud[0]), start_tick + int(loud[-1]) + 1

    def silent(self, side: Side) -> bool:
        """True if a side has no speech."""
        return not len(self.dialogue.ipus[side])


def _finding(id: str, side: Side | None, name: str, text: str, start_tick: int, end_tick: int) -> Finding:
    """id: a key of CHECKS. side: the side concerned, None for both. start_tick, end_tick: where to hear it."""
    return {
        "id": id,
        "side": side,
        "name": name,
        "text": text,
        "start_tick": start_tick,
        "end_tick": end_tick,
        "start_s": ticks_to_s(start_tick),
        "end_s": ticks_to_s(end_tick),
    }


Check: TypeAlias = Callable[[CheckedCall], Iterator[Finding]]


def findings(reading: Reading) -> list[Finding]:
    """The findings of a recording, in the order of CHECKS; none if it has no tick."""
    heard = CheckedCall(reading)
    return [finding for check in CHECKS.values() for finding in check(heard)] if reading.n_ticks else []


def nothing_to_measure(recording: Recording) -> str | None:
    """The reason why there is nothing to measure: nobody speaks in the recording. None if somebody does."""
    if any(event.kind == "speech_start" for event in recording.turn_events):
        return None
    level = loudest(_heard_peaks(recording))
    return f"nothing to measure: both {level if level == SILENT else f'silent, {level}'}"


def _heard_peaks(recording: Recording) -> npt.NDArray[np.uint16]:
    peaks = recording.peaks
    return peaks[kept_ticks(recording.heard, len(peaks))] if recording.left_out else peaks


def loudest(peaks: npt.NDArray[np.uint16]) -> str:
    """The level of the loudest sample of one side or of both: "loudest -72 dBFS", or SILENT. peaks: uint16."""
    peak = int(peaks.max(initial=0))
    return f"loudest {20 * np.log10(peak / FULL_SCALE):.0f} dBFS" if peak else SILENT


def never_spoke(heard: CheckedCall) -> Iterator[Finding]:
    """A side has no speech at all, or none of its own: what was found is echo."""
    for number, side in enumerate(SIDES):
        if heard.silent(side) and not heard.silent(other_side(side)):
            if unplayed := heard.reading.measured(side).get("unplayed"):
                name = f"{side}'s audio was not played"
                text = f"{name}: {unplayed}"
            elif heard.reading.suspect_spans[side]:
                name = f"{side} said nothing of its own"
                echo = _echo_figures(heard.reading, side)
                text = f"{name}: all of it is {f'echo of {other_side(side)}{echo}' if echo else 'tones'}"
            elif sound := heard.unheard_sound(side, heard.start_tick, heard.end_tick):
                yield _unheard("never_spoke", side, *sound)
                continue
            else:
                name = f"{side} never spoke"
                text = f"{name}: no speech found, {loudest(heard.peaks[:, number])}"
            yield _finding("never_spoke", side, name, text, heard.start_tick, heard.end_tick)


def _unheard(kind: str, side: Side, start: int, end: int) -> Finding:
    name = f"sound on {side} that the detector takes for no speech"
    return _finding(kind, side, name, f"{name}: {_clock(start)} to {_clock(end)}", start, end)


def _echo_figures(recording: Recording, side: Side) -> str:
    """The level and delay of the echo in a side: " (-10 dB, 45 ms)"; empty if there is none."""
    for finding in recording.health["findings"] if recording.health else ():
        if finding["id"] in ECHOES and finding["side"] == side:
            return " ({level_db:.0f} dB, {delay_ms:.0f} ms)".format_map(finding["figures"])
    return ""


def fell_silent(heard: CheckedCall) -> Iterator[Finding]:
    """One side stays silent while the other speaks to it again and again.

    B's last silence counts if A went on speaking for LEAST_SILENT_TICKS. Any other silence counts if both sides were
    silent for longer than lapse_ms at least twice in it: the other side waits for an answer, but not for a listener.
    So does one of B if A left it WAITS_TICKS to answer, and then went on, more often than a listener is left.
    """
    lapse_ticks = heard.dialogue.settings.ticks("lapse_ms")
    for side in SIDES:
        for start, end in _between(heard.dialogue.ipus[side], heard.start_tick, heard.end_tick):
            times = heard.times[other_side(side)]
            spoken = times[slice(*np.searchsorted(times[:, 0], (start, end)))].tolist()
            if len(spoken) < FEWEST_TIMES or not _is_waited_for(heard, side, (start, end), spoken, lapse_ticks):
                continue
            if sound := heard.unheard_sound(side, start, end):
                yield _unheard("fell_silent", side, *sound)
                continue
            until = "the end" if end == heard.reading.n_ticks else _clock(end)
            text = f"{side} silent from {_clock(start)} to {until} while {other_side(side)} spoke {len(spoken)} times"
            yield _finding("fell_silent", side, f"{side} fell silent", text, start, end)


def _is_waited_for(
    heard: CheckedCall, side: Side, silence: Span, spoken: Sequence[Sequence[int]], lapse_ticks: int
) -> bool:
    """True if the other side, which spoke so in this silence, waited for an answer in it."""
    start, end = silence
    lapses = heard.dialogue.lapses
    of_silence = lapses[(lapses[:, 0] >= start) & (lapses[:, 0] < end)]
    if np.count_nonzero(np.diff(of_silence) > lapse_ticks) >= FEWEST_TIMES - 1:
        return True
    if side == "A":
        return False
    went_on_ticks = heard.dialogue.measured_before(spoken[-1][1]) - heard.dialogue.measured_before(start)
    between = of_silence[(of_silence[:, 0] > start) & (of_silence[:, 1] < end)]
    waits = int(np.count_nonzero(np.diff(between) >= WAITS_TICKS))
    if end == heard.end_tick:
        return went_on_ticks >= LEAST_SILENT_TICKS or (waits >= 2 and went_on_ticks >= LEAST_SILENT_TICKS // 2)
    return waits >= FEWEST_WAITS and went_on_ticks >= 3 * LEAST_SILENT_TICKS // 2


def ends_unanswered(heard: CheckedCall) -> Iterator[Finding]:
    """A call of several turns ends with A unanswered: B may have died, and no figure may show it."""
    silence = next((span for span in heard.dialogue.ends_after_a[0] if span[1] == heard.end_tick), None)
    if silence and heard.dialogue.line != "open" and not heard.silent("B") and not any(fell_silent(heard)):
        start, end = silence
        silent_s = (end - start) / TICKS_PER_S
        text = f"A's last turn is unanswered: {silent_s:.0f} s of silence recorded after it"
        if end - start < heard.dialogue.settings.ticks("response_window_ms"):
            remedy = " (--no-hang-up: as no response)" if heard.dialogue.line == "recorded" else ""
            text += f", and it counts nowhere{remedy}"
        yield _finding(ENDS_UNANSWERED, "B", "the call ends with A unanswered", text, start, end)


def went_on(heard: CheckedCall) -> Iterator[Finding]:
    """A waits for an answer and goes on without one, again and again, each time for less than lapse_ms: its turn goes
    on, so no figure counts that.
    """
    if heard.silent("B") or any(fell_silent(heard)):
        return
    lapses, speaking = heard.dialogue.lapses, heard.dialogue.speaking
    lapse_ticks = heard.dialogue.settings.ticks("lapse_ms")
    of_a, of_b = (
        lapses[speaking["A"][lapses[:, 0] - 1] & ~speaking["B"][lapses[:, 0] - 1] & speaking[side][lapses[:, 1]]]
        for side in SIDES
    )
    waited = np.diff(of_a)[:, 0]
    in_vain = of_a[(waited >= WAITS_TICKS) & (waited <= lapse_ticks)]
    if len(in_vain) >= max(FEWEST_WAITS, IN_VAIN_SHARE * (len(in_vain) + len(of_b))):
        waits, pauses = f"{WAITS_TICKS / TICKS_PER_S:g} s", f"{lapse_ticks / TICKS_PER_S:g} s"
        text = (
            f"A waited for {waits} or more and went on by itself {len(in_vain)} times; pauses of up to {pauses} are of "
            "its turn, so none of these counts as no response"
        )
        yield _finding("went_on", "B", "A went on without an answer", text, int(in_vain[0, 0]), int(in_vain[0, 1]))


def one_sided(heard: CheckedCall) -> Iterator[Finding]:
    """One side has nearly all of the speech, and no other check has found the other side silent."""
    speech = {side: int(np.diff(heard.dialogue.ipus[side]).sum()) for side in SIDES}
    total = sum(speech.values())
    side = max(SIDES, key=speech.__getitem__)
    known = heard.silent(other_side(side)) or any(fell_silent(heard))
    if not known and total >= LEAST_SPEECH_TICKS and speech[side] >= MOST_OF_THE_SPEECH * total:
        text = f"one side holds {100 * speech[side] / total:.0f} % of the speech: {side}"
        yield _finding(
            "one_sided", side, f"{side} holds nearly all of the speech", text, heard.start_tick, heard.end_tick
        )


def file_ends(heard: CheckedCall) -> Iterator[Finding]:
    """The file of one side is shorter than that of the other. In samples of one turn, A's file may be."""
    source = heard.reading.meta.get("source")
    if not source or len(heard.reading.source_files) != len(SIDES):
        return
    for side in SIDES:
        n_ticks = heard.reading.n_ticks
        end = int(source["sides"][side].get("samples", n_ticks * FRAME_SAMPLES)) // FRAME_SAMPLES
        early = heard.dialogue.measured_ticks - heard.dialogue.measured_before(end)
        if early > SAME_LENGTH_TICKS and not (side == "A" and heard.dialogue.line == "open"):
            name = f"{side}'s file ends early"
            text = f"{side}'s file ends {early / TICKS_PER_S:.0f} s early, at {_clock(end)}"
            if early <= FILE_ENDS_EARLY_TICKS:
                name = f"{side}'s file is a little shorter"
                text = f"{name}, by {early / TICKS_PER_S:.1f} s: both are taken to begin at one moment (--offset-ms)"
            yield _finding("file_ends", side, name, text, end, n_ticks)


def labels_elsewhere(heard: CheckedCall) -> Iterator[Finding]:
    """The labels fit the speech of the other side, as if the sides were exchanged, or better at another time."""
    if heard.reading.labels is None:
        return
    named = heard.reading.labels.of("A", "turn_end", "speech") + heard.reading.labels.of("B", "turn_end", "speech")
    own = [label for label in named if _fits(label, heard, label.side)]
    other = [label for label in named if _fits(label, heard, other_side(label.side))]
    misplaced = [label for label in other if label not in own]
    well_placed = len([label for label in own if label not in other])
    late_ticks, fitting = _late(named, heard) if 2 * len(own) < len(named) <= MOST_SHIFTED else (0, 0)
    many = fitting >= max(FEWEST_LABELS * max(1, len(own)), len(named) / 2)
    nearly_all = fitting >= max(FEWEST_LABELS, 2 * len(own), NEARLY_ALL * len(named))  # turns at even distances
    if (many or nearly_all) and fitting > len(other):
        where = f"{_shift(late_ticks)}, {len(own)} where they are"
        text = f"{fitting} of {len(named)} labels fit speech {where}: are their times right?"
        yield _finding("labels_elsewhere", None, "Labels fit another time", text, *named[0].span)
    elif len(misplaced) >= FEWEST_LABELS * max(1, well_placed):
        text = f"{len(misplaced)} of {len(named)} labels fit the speech of the other side: sides exchanged? (--swap)"
        yield _finding("labels_elsewhere", None, "Labels fit the other side", text, *misplaced[0].span)
    elif (late := late_in_parts([(label.side, label.end_tick) for label in named], heard.dialogue.ipus)) is not None:
        times = " and ".join(f"{_shift(late_ticks)} at {_clock(tick)}" for tick, late_ticks in late)
        text = f"labels fit speech {times}: do they run on another clock?"
        yield _finding("labels_elsewhere", None, "Labels fit another time", text, *named[0].span)
    else:
        yield from _labels_of_nothing(heard)


def _labels_of_nothing(heard: CheckedCall) -> Iterator[Finding]:
    """Hardly any label fits speech of its side: they may be those of another call."""
    assert heard.reading.labels is not None
    kinds: tuple[LabelKind, ...] = ("turn_end", "speech", "interruption", "backchannel", "side_talk")
    of_sides = [label for side in SIDES for label in heard.reading.labels.of(side, *kinds)]
    named = [label for label in of_sides if label.kind == "turn_end" or label.start_tick < label.end_tick]
    fitting = sum(_fits(label, heard, label.side) for label in named)
    if len(named) >= FEWEST_OF_A_CALL and fitting <= FITTING_BY_CHANCE * len(named):
        text = f"{len(named) - fitting} of {len(named)} labels fit no speech of their side: are they of another call?"
        yield _finding("labels_elsewhere", None, "Labels fit no speech", text, *named[0].span)


CHECKS: Final[Mapping[str, Check]] = {
    check.__name__: check
    for check in (
        never_spoke,
        fell_silent,
        ends_unanswered,
        went_on,
        one_sided,
        file_ends,
        labels_elsewhere,
    )
}


def _late(labels: Sequence[Label], heard: CheckedCall) -> tuple[int, int]:
    """Delay of the labels in ticks (negative: early) where most of them fit, and how many fit then."""

    def fitting(late_s: float) -> int:
        moved = (replace(each, start_s=each.start_s - late_s, end_s=each.end_s - late_s) for each in labels)
        return sum(_fits(label, heard, label.side) for label in moved if label.start_s >= 0)

    late_s = np.arange(-MOST_LATE_S, MOST_LATE_S, 0.1)
    fits = np.array([fitting(each) for each in late_s.tolist()])
    best_s = late_s[fits == fits.max()]
    nearest_s = best_s[np.abs(best_s).argmin()]
    middle_s = float(np.median(best_s[np.abs(best_s - nearest_s) <= 1]))  # the middle of equally good fits around it
    return round(middle_s * TICKS_PER_S), int(fits.max())


def _fits(label: Label, heard: CheckedCall, side: Side) -> bool:
    """True if a side stops speaking where the label says that a turn ends, or speaks in most of labelled speech."""
    if label.kind == "turn_end":
        ends = heard.dialogue.ipus[side][:, 1]
        return bool((np.abs(ends - label.end_tick) <= LABEL_REACH_TICKS).any())
    spoken = heard.dialogue.speaking[side][label.start_tick : label.end_tick]
    return bool(len(spoken)) and bool(spoken.mean() > 0.5)


def _shift(late_ticks: float) -> str:
    shift = f"{abs(late_ticks) / TICKS_PER_S:.1f} s"
    return "where they are" if shift == "0.0 s" else f"{shift} {'earlier' if late_ticks > 0 else 'later'}"


def _between(spans: Spans, start_tick: int, end_tick: int) -> Sequence[tuple[int, int]]:
    """The stretches before, between and after the spans; none if there are no spans."""
    edges = [start_tick, *spans.ravel().tolist(), end_tick]
    return list(zip(edges[::2], edges[1::2], strict=True)) if len(spans) else []


def _clock(tick: int) -> str:
    return clock_text(ticks_to_s(tick))
