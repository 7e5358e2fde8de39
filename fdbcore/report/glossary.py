"""What every measure, event and term means, in plain words, with the name that the literature gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fdbcore.types import TurnKind, TurnSettings

EXCLUSIONS: Final = {
    "censored": "hidden by the end of the recording",
    "premature": "cut off",
    "no_response": "without an answer",
    "no_long_ipu": "without speech longer than 1 s",
    "simultaneous": "started together",
    "terminal": "the other was just ending",
    "did_not_stop": "did not stop within 2 s",
    "never_spoke": "no speech found",
    "no_takeover": "no takeover",
    "short_pause": "shorter than 0.2 s",
    "b_was_speaking": "B spoke already",
    "b_was_silent": "B was silent",
    "a_went_on": "A went on first",
    "waited": "a pause of A by label: B waited",
    "cut_in": "a pause of A by label: B began in it",
    "too_few_words": "with fewer than two words",
}

EVENTS: Final[Mapping[TurnKind, str]] = {
    "turn": "One side holds the floor, from taking it to giving it up.",
    "gap": "Silence between two turns; it belongs to the side that ends it.",
    "pause": "Silence of the side that holds the floor, inside its turn.",
    "overlap_between": "The next speaker begins before the other has finished, and gets the floor.",
    "overlap_within": "Both speak, and the floor stays where it is.",
    "intrusion": "Speech that begins while the other holds the floor, whatever comes of it.",
    "no_response": "Nobody answers within {response_window_ms}.",
}

SETTINGS: Final = {
    "min_speech_ms": "Shorter sounds are noise.",
    "min_silence_ms": "Shorter silences do not end a stretch of speech.",
    "short_ms": "Contributions of at most this length may leave the floor where it is.",
    "resume_ms": "How long the side that holds the floor may take to go on after a short contribution.",
    "yield_hold_ms": "How long a silence must last to count as giving way.",
    "simultaneous_ms": "Starts at most this far apart are simultaneous.",
    "terminal_ms": "A side that ends this soon after the other's start was ending anyway.",
    "response_window_ms": "After this silence an answer is missing.",
    "lapse_ms": "Longer silences of both are lapses; B has not answered one after which A goes on by itself.",
}

TERMS: Final = {
    "A and B": "A is the person, or the examiner who plays one; B is the system under test. "
    "Some papers call it the evaluatee.",
    "Arrival": "What a network delivered, and when. It is logged; what counts is what was played to the other side.",
    "Backchannel": "A short “uh-huh” that does not want the floor. Here contributions are told apart by length alone.",
    "By chance": "The share to expect if the sides did not hear each other: the same starts against the other's track "
    "shifted in time within the session.",
    "Censored": "Decided only by the end of the recording. Such events are shown, and counted in no figure.",
    "Echo": "One side heard again on the other. Where it counts as speech it makes events that never were: these are "
    "suspect, are drawn pale, and are in no figure, but for those by the rules of published benchmarks. What a figure "
    "would be “with echo” stands beside it.",
    "Delay change": "The moment at which audio of a side begins to be played earlier or later after its arrival.",
    "Floor": "The right to speak, as the two sides handle it: one side holds it, then the other (Sacks, Schegloff and "
    "Jefferson 1974).",
    "Floor transfer offset (FTO)": "Start of the next turn minus end of the last one: positive after a gap, negative "
    "in overlap (Heldner and Edlund 2010).",
    "Held, replayed": "A conversation is held once, in real time or in lockstep; its recording is replayed as often as "
    "one likes, with the same results.",
    "Inter-pausal unit (IPU)": "A stretch of speech of one side without a silence of {min_silence_ms} or more.",
    "Interruption": "Not decided here: speech over the other is listed by its length and by whether the other "
    "stopped, and never named after what the other did.",
    "Interval": "95 %. For shares by Wilson's formula, widened by how much the sessions differ; for the rest by "
    "resampling whole sessions. It needs several: turns of one session resemble each other. Below 10 sessions it may "
    "be too narrow.",
    "Known at": "The moment at which an event became certain. Nothing is changed afterwards.",
    "Label": "What a person says of a span: the end of a turn, a pause, an interruption, a backchannel, side talk that "
    "is not meant for the other, noise, or speech.",
    "Lapse": "Both silent for longer than {lapse_ms}, between the first and the last word of the conversation.",
    "Late, missed": "A tick that is overdue by at most 50 ms is late: it is made up with its own audio. One that is "
    "overdue by more is missed where a side follows real time: it is silent on both sides.",
    "Median, p90": "Half of the items, and nine in ten, are at most this large.",
    "Opportunity": "What B had to answer: every end of A's turn, and every silence of both longer than {lapse_ms} in "
    "which B did not come and A went on by itself. A silence that a label or a suite calls a pause is none, whether B "
    "waited or began in it. "
    "After A's last turn an answer is missing if we held the call and recorded {response_window_ms} of silence, or if "
    "the line is known to have stayed open (samples of one turn, recorded users, --line-open); else A may have hung "
    "up.",
    "Outcome": "Done; failed, if the system is to blame; invalid, if the harness or side A is. What failed is scored "
    "as far as it went: turns left unanswered count. Not scored is what is invalid, has no tick, or was answered "
    "in text.",
    "Tick": "10 ms, the unit of all times. Spans include their first tick and not their last.",
    "Timing certificate": "What was measured about the clock and the way of the audio while the conversation was held.",
    "Voice activity": "The decision, for each 10 ms, whether a side speaks. Its measured bias is stated with the "
    "settings; it shifts every latency.",
}


LATENESS: Final = {
    "wake": "From the time at which a tick is due until the clock wakes.",
    "resume": "From the time at which a tick is due until the conversation goes on with it.",
    "wire": "From the time at which a packet to this side is due until it is given to the network.",
}


@dataclass(frozen=True, slots=True)
class CountText:
    """The words for what a side counts; a disturbance is one that is better zero."""

    label: str
    meaning: str
    is_disturbance: bool = False


SIDE_COUNTS: Final[Mapping[str, CountText]] = {
    "received_samples": CountText("Received", "Audio that the side sent."),
    "heard_samples": CountText("Heard", "What of it was played to the other side."),
    "sent_samples": CountText("Sent", "Audio of the other side that was given to it."),
    "padded_samples": CountText("Padded", "Silence where its audio had not come in time.", True),
    "lost_samples": CountText("Missing", "Of what the side sent: lost, too late or damaged, and never heard.", True),
    "longest_loss_samples": CountText("Missing in one piece", "The longest that was lost, or came too late.", True),
    "unexplained_samples": CountText(
        "Silence without a reason", "Nothing came, and no packet's number tells a pause from a loss.", True
    ),
    "paused_samples": CountText("Paused", "The side sent nothing, by its packets' numbers."),
    "silent_samples": CountText(
        "Silent", "Silence where nothing had come, pauses too, and longer than can be made up."
    ),
    "dropped_samples": CountText("Dropped", "What came before the first tick, or too late to be played."),
    "slipped_samples": CountText("Slipped", "Left out or put in, after the side's own clock or a hold-up.", True),
    "flushed_samples": CountText("Flushed", "Taken back by the side before it was played."),
    "queued_samples": CountText("Queued", "Not yet played at the end."),
    "received": CountText("Packets received", "All that came."),
    "lost": CountText("Packets lost", "Those that never came.", True),
    "late": CountText("Packets late", "Those that came after their time to be played.", True),
    "foreign": CountText("Packets of another source", "Beside the one that is heard, and not heard.", True),
    "concealed_samples": CountText("Concealed", "Made up by the decoder in the place of lost packets.", True),
    "delay_samples": CountText("Delay in", "From arrival to playing, at the end; its changes are listed below."),
    "out_delay_samples": CountText("Delay out", "From what is said to its packet, with the encoder."),
    "underruns": CountText("Underruns", "Times at which its audio ran out in the middle of speech."),
}


def terms(settings: TurnSettings) -> dict[str, str]:
    """All terms, explained."""
    return {name: in_words(text, settings) for name, text in TERMS.items()}


def in_words(text: str, settings: TurnSettings) -> str:
    """`text` with the settings that it names in braces written as seconds."""
    return text.format(**{name: f"{getattr(settings, name) / 1000:g} s" for name in TurnSettings.__slots__})
