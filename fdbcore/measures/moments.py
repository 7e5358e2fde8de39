"""The worst moments of a session, to listen to first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.labelled import false_cut_offs
from fdbcore.measures.measure import KindOfMoment, MomentKind
from fdbcore.measures.opportunities import PREMATURE_FTO_TICKS, opportunities_in
from fdbcore.recording.labels import KeptLabels
from fdbcore.types import SIDES, TICKS_PER_S, Side, TurnSettings, ticks_to_s
from fdbcore.types.units import Seconds, Tick

# One second is the standard maximum silence in conversation (Jefferson 1989); most backchannels are shorter than half a
# second.
KINDS: Final = (
    KindOfMoment(
        "no_answer", "No response", "A has finished, and B does not respond.", "no response {:.1f} s", TICKS_PER_S,
        "missing responses are new or longer",
    ),
    KindOfMoment(
        "slow_answer", "Slow responses", "Longest silences between A's end and B's start.", "slow response {:.1f} s",
        TICKS_PER_S, "responses got slower",
    ),
    KindOfMoment(
        "cut_off", "Premature responses", "Cut-ins: B takes the floor before A has finished.", "cut in {:.1f} s early",
        -PREMATURE_FTO_TICKS, "premature responses are new or longer",
    ),
    KindOfMoment(
        "false_cut_off", "False cut-ins", "By your labels: B begins to speak in a pause of A, who has not finished.",
        "false cut-in of {:.1f} s", TICKS_PER_S // 5, "false cut-ins are new or longer",
    ),
    KindOfMoment(
        "talk_over", "Talking over each other", "Longest stretches in which both speak.", "talk-over {:.1f} s",
        TICKS_PER_S // 2, "talk-overs are new or longer",
    ),
    KindOfMoment(
        "lapse", "Other lapses",
        "Longest silences of both that are neither a missing nor a slow response of B.", "lapse {:.1f} s", None,
        "lapses are new or longer",
    ),
)  # fmt: skip
BY_ID: Final = {kind.id: kind for kind in KINDS}
LEAST_SEVERITY: Final = 1.01
DIALLING: Final = "dialling"


class Moment(Struct, frozen=True):
    """A span in which something took longer than it may."""

    kind: MomentKind
    side: Side  # the side that did not answer, cut the other off, spoke over it, or ended the silence of both
    start_tick: Tick
    end_tick: Tick
    severity: Annotated[float, Meta(gt=1, description="length as a multiple of what is ordinary for its kind")]
    text: str
    start_s: Seconds
    end_s: Seconds


def moments(
    dialogue: Dialogue,
    labels: KeptLabels | None = None,
    sounds: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    *,
    of_any_length: bool = False,
) -> list[Moment]:
    """All moments, the worst first. Each silence and each overlap is in at most one; censored events are in none.

    labels: by people; only they show that B began in a pause of A, not after its turn. sounds: spans of ticks with
    sound that is not speech, by name, such as "music on B". A silence that is mostly such sound names it, and comes
    last. of_any_length: with what is of their kinds, but no longer than it may be; its severity is up to 1.
    """
    found = [*_no_answers(dialogue), *_silences(dialogue)]
    found += [_moment(dialogue, "cut_off", "B", *event.span) for event in opportunities_in(dialogue).premature]
    found += _talk_overs(dialogue)
    if labels is not None:
        found += [_moment(dialogue, "false_cut_off", "B", *span) for span in false_cut_offs(dialogue, labels)]
    found = [_with_sound(moment, sounds or {}) for moment in found]
    return sorted(
        (moment for moment in found if of_any_length or moment.severity > 1),
        key=lambda moment: (-moment.severity, moment.start_tick),
    )


def one_of_each_kind_first(found: Sequence[Moment]) -> list[Moment]:
    """The moments in the order to listen to them: the first of each kind, then the others. found: the worst first."""
    first = {moment.kind: moment for moment in reversed(found)}
    return sorted(found, key=lambda moment: first[moment.kind] is not moment)


def limit_ticks(kind: MomentKind, settings: TurnSettings) -> int:
    """The length in ticks beyond which a moment of this kind is worth hearing."""
    limit = BY_ID[kind].limit_ticks
    return settings.ticks("lapse_ms") if limit is None else limit


def _moment(dialogue: Dialogue, kind: MomentKind, side: Side, start_tick: int, end_tick: int) -> Moment:
    length_ticks = end_tick - start_tick
    text = BY_ID[kind].text.format(ticks_to_s(length_ticks))
    severity = length_ticks / limit_ticks(kind, dialogue.settings)
    seconds = ticks_to_s(start_tick), ticks_to_s(end_tick)
    return Moment(kind, side, start_tick, end_tick, severity, text, *seconds)


def _with_sound(moment: Moment, sounds: Mapping[str, Sequence[tuple[int, int]]]) -> Moment:
    """The moment. If some sound fills more than half of a silence, it names it, with the least severity; so it does for
    any dialling in it, as who dials is not silent."""
    if moment.kind not in ("no_answer", "slow_answer", "lapse"):
        return moment
    start, end = moment.start_tick, moment.end_tick
    for name, spans in sounds.items():
        filled = sum(max(0, min(end, last) - max(start, first)) for first, last in spans)
        if 2 * filled > end - start or (filled and name.startswith(DIALLING)):
            return replace(moment, text=f"{moment.text}, {name}", severity=min(moment.severity, LEAST_SEVERITY))
    return moment


def _no_answers(dialogue: Dialogue) -> Iterator[Moment]:
    """Silences in which B did not answer, until the next speech of either side."""
    starts = np.sort(np.concatenate([dialogue.ipus[side][:, 0] for side in SIDES]))
    for event in opportunities_in(dialogue).missed:
        following = starts[np.searchsorted(starts, event.start_tick) :]
        _, last = dialogue.span_at(event.start_tick)
        end_tick = min(int(following[0]), last) if len(following) else last
        yield _moment(dialogue, "no_answer", "B", event.start_tick, end_tick)


def _silences(dialogue: Dialogue) -> Iterator[Moment]:
    """All other silences of both sides between the first and the last speech."""
    found = opportunities_in(dialogue)
    missed, answered = {event.start_tick for event in found.missed}, set(found.answered)
    for event in dialogue.uncensored("gap", "pause"):
        if event.start_tick not in missed and not event.other_spoke:
            kind: MomentKind = "slow_answer" if event in answered else "lapse"
            yield _moment(dialogue, kind, event.side, *event.span)


def _talk_overs(dialogue: Dialogue) -> Iterator[Moment]:
    """Stretches in which both speak, except those of premature responses."""
    premature = set(opportunities_in(dialogue).premature)
    for event in dialogue.uncensored("overlap_within", "overlap_between"):
        if event not in premature:
            for span in [event.span] if event.kind == "overlap_within" else event.stretches or ():
                yield _moment(dialogue, "talk_over", event.side, *span)
