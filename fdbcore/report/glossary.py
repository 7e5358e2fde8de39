"""What every measure, event and term means, in plain words, with the name that the literature gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fdbcore.types import TurnKind, TurnSettings

EXCLUSIONS: Final = {
    "censored": "undecided at an edge of what is measured, such as its end",
    "premature": "cut off",
    "no_response": "no answer",
    "no_long_ipu": "without speech longer than 1 s",
    "simultaneous": "started together",
    "terminal": "the other was just ending",
    "did_not_stop": "did not stop within 2 s",
    "never_spoke": "no speech found",
    "no_takeover": "no takeover",
    "short_pause": "shorter than 0.2 s",
    "b_was_speaking": "B was already speaking",
    "b_was_silent": "B was silent",
    "a_went_on": "A went on first",
    "waited": "labelled pauses of A in which B waited",
    "cut_in": "labelled pauses of A in which B began to speak",
    "too_few_words": "with fewer than two words",
}

EVENTS: Final[Mapping[TurnKind, str]] = {
    "turn": "One side holds the floor, from taking it to giving it up.",
    "gap": "Silence between two turns; it belongs to the side that ends it.",
    "pause": "Silence of the side that holds the floor, inside its turn.",
    "overlap_between": "The next speaker begins before the other has finished, and gets the floor.",
    "overlap_within": "Both speak, and the floor stays where it is.",
    "intrusion": "Speech that begins while the other side holds the floor, whatever follows.",
    "no_response": "Nobody answers within {response_window_ms}.",
    "keypad": "A side dials; what follows within two seconds is the same entry. It is no speech, and in no measure.",
}

SETTINGS: Final = {
    "min_speech_ms": "Shorter sounds are noise.",
    "min_silence_ms": "Shorter silences do not end a stretch of speech.",
    "short_ms": "Contributions up to this length need not take the floor.",
    "resume_ms": "The side that holds the floor may take this long to go on after a short contribution.",
    "yield_hold_ms": "A silence must last this long to count as giving way.",
    "simultaneous_ms": "Starts at most this far apart are simultaneous.",
    "terminal_ms": "A side that ends this soon after the other's start was ending anyway.",
    "response_window_ms": "A silence of this length after a turn of A counts as no answer of B.",
    "lapse_ms": "A longer silence of both sides is a long silence; if A then goes on by itself, it is no answer of B.",
}

TERMS: Final = {
    "A and B": "A is the user, or the examiner who plays one. B is the system under test; some papers call it the "
    "evaluatee.",
    "Arrival": "Audio as the network delivered it, with its time. It is logged; measures use the audio that was played "
    "to the other side.",
    "Backchannel": "A short “uh-huh” that does not claim the floor. Without labels, only its length distinguishes it.",
    "By chance": "The share to expect if the sides did not hear each other: the same starts, compared with the other "
    "side's track shifted in time within the call.",
    "Call": "One conversation between A and B, live or recorded. A run is a folder of calls.",
    "Censored": "Undecided when the recording ended. Such events are shown, but no figure counts them.",
    "Echo": "One side heard again on the other. If it counts as speech, it makes false events, as tones do. These are "
    "suspect: they are drawn pale, and only the measures of published benchmarks count them. The value of a figure "
    "“with echo” stands beside it.",
    "Delay change": "The moment at which audio of a side begins to be played earlier or later after its arrival.",
    "Floor": "The right to speak, as the two sides handle it: one side holds it, then the other (Sacks, Schegloff and "
    "Jefferson 1974).",
    "Floor transfer offset (FTO)": "Start of the next turn minus end of the previous one: positive after a gap, "
    "negative in overlap (Heldner and Edlund 2010).",
    "Live, replayed": "A live call happens once, in real time or in lockstep. Its recording can be replayed any number "
    "of times, with the same results.",
    "Inter-pausal unit (IPU)": "A stretch of speech of one side without a silence of {min_silence_ms} or more.",
    "Interruption": "Not decided without labels: speech over the other side is listed by its length and by whether the "
    "other stopped. What it is called never depends on what the other did.",
    "Interval": "A 95 % confidence interval. For shares by Wilson's formula, widened by how much the calls differ; for "
    "all else by resampling whole calls. It needs several calls, because turns of one call resemble each other. With "
    "fewer than 10 calls it may be too narrow.",
    "Known at": "The moment at which an event became certain. It does not change afterwards.",
    "Label": "What a person calls a span: the end of a turn, a pause, an interruption, a backchannel, side talk that "
    "is not meant for the other side, noise, or speech.",
    "Late, missed": "A tick that is overdue by at most 50 ms is late: it is made up with its own audio. One that is "
    "overdue by more is missed if a side follows real time: it is silent on both sides.",
    "Left out": "A part of the call that no measure counts. --from, --to or a column of the table of calls names it. "
    "Each part that is kept is measured as if it were a recording of its own.",
    "Long silence": "Both silent for longer than {lapse_ms}, between the first and the last word of the conversation. "
    "The literature calls it a lapse.",
    "Median, p90": "Half of the items, and nine in ten, are at most this large.",
    "Opportunity": "A moment at which B should answer: every end of A's turn, and every silence of both longer than "
    "{lapse_ms} in which B did not speak and A went on by itself. A silence that a label or a suite calls a pause is "
    "not one, whether B waited or began in it. "
    "A's last turn counts as no answer if {response_window_ms} of silence were recorded after it on both sides, "
    "or if the line is known to have stayed open (samples of one turn, recorded users, --line-open); otherwise A may "
    "have hung up.",
    "Outcome": "Done; failed, if the system is at fault; invalid, if the harness or side A is. A failed call is scored "
    "as far as it went: unanswered turns count. Calls are not scored if they are invalid, have no tick, or were "
    "answered in text.",
    "Tick": "10 ms, the unit of all times. Spans include their first tick and not their last.",
    "Timing certificate": "What was measured about the clock and the delays of the audio during the call.",
    "Voice activity": "The decision, for each 10 ms, whether a side speaks. What it does to edges and "
    "latencies was measured on lines of many kinds; the line of each side is compared with them.",
}


LATENESS: Final = {
    "wake": "From when a tick is due until the clock wakes up.",
    "resume": "From when a tick is due until it is processed.",
    "wire": "From when a packet to this side is due until it is given to the network.",
}


@dataclass(frozen=True, slots=True)
class CountText:
    """The words for a count of a side. is_disturbance: the count should be zero."""

    label: str
    meaning: str
    is_disturbance: bool = False


SIDE_COUNTS: Final[Mapping[str, CountText]] = {
    "received_samples": CountText("Received", "Audio that the side sent."),
    "heard_samples": CountText("Heard", "The part of it that was played to the other side."),
    "sent_samples": CountText("Sent", "Audio of the other side that was sent to this side."),
    "padded_samples": CountText("Padded", "Silence played because audio had not come in time.", True),
    "lost_samples": CountText("Missing", "Audio that the side sent and nobody heard: lost, too late or damaged.", True),
    "longest_loss_samples": CountText("Missing in one piece", "The longest stretch that was lost or too late.", True),
    "unexplained_samples": CountText(
        "Silence without a reason", "Nothing came, and packet numbers do not show whether it was paused or lost.", True
    ),
    "paused_samples": CountText("Paused", "The side sent nothing, as its packet numbers show."),
    "silent_samples": CountText(
        "Silent", "Silence because nothing had come, pauses included, too long to be concealed."
    ),
    "dropped_samples": CountText("Dropped", "Audio that came before the first tick, or too late to be played."),
    "slipped_samples": CountText("Slipped", "Left out or inserted, to follow the side's clock or after a stall.", True),
    "flushed_samples": CountText("Flushed", "Taken back by the side before it was played."),
    "queued_samples": CountText("Queued", "Not yet played at the end."),
    "received": CountText("Packets received", "All packets that came."),
    "lost": CountText("Packets lost", "Packets that never came.", True),
    "late": CountText("Packets late", "Packets that came too late to be played.", True),
    "foreign": CountText("Packets of another source", "Packets beside the stream that is heard; not played.", True),
    "concealed_samples": CountText("Concealed", "Made up by the decoder in place of lost packets.", True),
    "delay_samples": CountText("Delay in", "From arrival to playing, at the end; its changes are listed below."),
    "out_delay_samples": CountText(
        "Delay out", "From the tick of the audio until its packet leaves, encoder included."
    ),
    "underruns": CountText("Underruns", "Times at which its audio ran out in the middle of speech."),
}


def terms(settings: TurnSettings) -> dict[str, str]:
    """All terms with their explanations, the settings filled in."""
    return {name: in_words(text, settings) for name, text in TERMS.items()}


def in_words(text: str, settings: TurnSettings) -> str:
    """`text` with the settings in braces replaced by their values in seconds."""
    return text.format(**{name: f"{getattr(settings, name) / 1000:g} s" for name in TurnSettings.__slots__})
