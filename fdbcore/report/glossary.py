"""What every measure, event and term means, in plain words, with the name that the literature gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fdbcore.labels import LabelKind
from fdbcore.measures.labelled import PAUSE_BINS_MS, pause_bin, stop_share
from fdbcore.types import Side, TurnKind, TurnSettings, other_side


@dataclass(frozen=True, slots=True)
class MeasureText:
    """The words for one measure; `meaning` may name settings of the turn detector in braces."""

    group: str
    label: str
    meaning: str
    literature: str = ""


ANSWERS: Final = "How B answers"
TOGETHER: Final = "Talking at the same time"
LABELLED: Final = "By your labels"
TURNS: Final = "Taking turns"
TIME: Final = "How the time is filled"
PUBLISHED: Final = "As published benchmarks count it"
OTHER: Final = "Other measures"
GROUPS: Final = {
    ANSWERS: "An opportunity of B is every end of A's turn, and every silence of more than {lapse_ms} in which B did "
    "not come and A went on by itself. It is answered, cut off, or left without an answer.",
    TOGETHER: "Speech that begins while the other is speaking, and what the other does. “By chance” is what the same "
    "tracks show when one is shifted in time: speakers who do not hear each other fall silent sometimes, too.",
    LABELLED: "What a span is called comes from the labels, when anybody speaks from the audio. A system that waits "
    "longer cuts off less: false cut-offs and answer time belong together.",
    TURNS: "Who follows whom, how fast, and how long each holds the floor.",
    TIME: "Number and seconds of speech and silence, per minute of the session.",
    PUBLISHED: "Full-Duplex-Bench v1 and v1.5 under their own names and rules, for comparison with their tables only. "
    "These rules know of no echo, and count it as speech.",
    OTHER: "",
}

UNANSWERED: Final = (
    "silence for {response_window_ms}, for more than {lapse_ms} until A went on by itself, or to the end of a line "
    "that stayed open"
)
FTO: Final = "floor transfer offset (Heldner and Edlund 2010)"

_ANSWERS: Final = {
    "response_latency_ms": (
        "Answer time",
        "From the end of A's turn to B's first sound; below zero where B began up to 0.2 s early.",
        FTO,
    ),
    "response_latency_minus_harness_ms": (
        "Answer time without the harness",
        "The same, less what this harness itself adds on its way to B and back, by the delay log at each answer. "
        "The network is not taken off. A frame counts from its first sample, both ways: a system that takes it whole "
        "has heard A's end 10 ms before it is said.",
        "",
    ),
    "response_long_ipu_latency_ms": (
        "Answer time without fillers",
        "The same, up to B's first stretch of speech longer than 1 s: an “um” does not count.",
        "",
    ),
    "answered_per_turn": (
        "Opportunities that B answered",
        "B began within {response_window_ms}, and at most 0.2 s before A had finished.",
        "response rate",
    ),
    "premature_per_turn": (
        "Opportunities that B took too early",
        "B took the floor more than 0.2 s before A had finished: it cut A off.",
        "premature response, false cut-in",
    ),
    "no_response_per_turn": (
        "Opportunities without an answer",
        f"After A there was {UNANSWERED}.",
        "missing response",
    ),
    "a_unanswered_wait_s": (
        "Waits after which A went on by itself",
        "Silences inside a turn of A, longer than {lapse_ms}, in which B said nothing. Each is an answer that is "
        "missing; those that a label calls a pause are left out.",
        "",
    ),
}
_LABELLED: Final = {
    "cut_off_per_labelled_a_pause": (
        "Pauses of A in which B cut in",
        "Pauses inside A's turn, of at least 0.2 s, in which B began to speak. Starts that are labelled a backchannel "
        "of B are none.",
        "false cut-off",
    ),
    "long_cut_off_per_labelled_a_pause": (
        "Pauses of A in which B cut in for longer",
        "The same, where B then spoke for longer than {short_ms}.",
        "false cut-off",
    ),
    "response_latency_ms_per_labelled_turn_end": (
        "Answer time by label",
        "From the labelled end of A's turn to B's first sound; below zero where B began up to 0.2 s early.",
        "response latency",
    ),
    "answered_per_labelled_turn_end": (
        "Labelled turns of A that B answered",
        "B began within {response_window_ms}, and at most 0.2 s before the labelled end.",
        "response rate",
    ),
    "b_selectivity": (
        "Selectivity of B",
        "Share of interruptions that B stops for, less that of backchannels, side talk and noise together. A system "
        "that stops for everything, or for nothing, has none.",
        "selectivity",
    ),
    "b_recovery_latency_ms_per_labelled_interruption": (
        "Time until B speaks again after an interruption",
        "From the end of an interruption that B stopped for; below zero where B began before that.",
        "recovery",
    ),
    "b_restarted_per_recovery": (
        "B starts over after an interruption",
        "Its first three words are those with which the interrupted turn began.",
        "restart",
    ),
    "b_resumed_per_recovery": (
        "B takes up its words after an interruption",
        "Its first three words are in the interrupted turn, but not at its start.",
        "resumption",
    ),
    "b_new_words_per_recovery": (
        "B goes on with new words after an interruption",
        "An answer, or the rest of what it meant to say: words alone cannot tell.",
        "",
    ),
}
_CONTRIBUTIONS: Final[Mapping[LabelKind, str]] = {
    "interruption": "an interruption",
    "backchannel": "a backchannel",
    "side_talk": "side talk",
    "noise": "noise",
}
_TURNS: Final = {
    "a_fto_after_b_ms": ("A's answer time", "From the end of B's turn to A's start; below zero: A began first.", FTO),
    "lapse_s": (
        "Long silences",
        "Silences of both over {lapse_ms}, between the first and the last word.",
        "lapse",
    ),
    "b_initial_silence_s": ("B silent at the start", "From the start of the session to B's first sound.", ""),
    "a_turn_s": ("Length of A's turns", "From taking the floor to giving it up, with the pauses inside.", "turn"),
    "b_turn_s": (
        "Length of B's turns",
        "From taking the floor to giving it up, with the pauses inside. The longest is B's longest monologue.",
        "turn",
    ),
}
_TIME: Final = {
    "gap": ("Gaps", "Silences between a turn of one side and the next turn of the other.", "gap"),
    "overlap": ("Overlaps", "Stretches in which both speak.", "overlap"),
    "a_ipu": ("Speech of A", "Stretches of speech without a silence of {min_silence_ms}.", "inter-pausal unit (IPU)"),
    "a_pause": ("Pauses of A", "Silences inside a turn of A.", "pause"),
    "b_ipu": ("Speech of B", "Stretches of speech without a silence of {min_silence_ms}.", "inter-pausal unit (IPU)"),
    "b_pause": ("Pauses of B", "Silences inside a turn of B.", "pause"),
}
_PUBLISHED: Final = {
    "compat_v1_takeover_per_sample": ("Takeover (v1)", "B said more than three words, or spoke for at least 1 s.", ""),
    "compat_v1_latency_ms": (
        "Latency (v1)",
        "From the start of the annotated interval to B's first word; negative counts as 0.",
        "",
    ),
    "compat_v1_interruption_takeover_per_sample": (
        "Takeover after an interruption (v1)",
        "After the annotated interruption, B said more than three words, or spoke for at least 1 s.",
        "",
    ),
    "compat_v1_interruption_latency_ms": (
        "Latency after an interruption (v1)",
        "From the end of the annotated interruption to B's first word; 0 where B was still speaking.",
        "",
    ),
    "compat_v15_stop_latency_ms": ("Stop latency (v1.5)", "Lengths of the overlaps of merged Silero segments.", ""),
    "compat_v15_response_latency_ms": (
        "Response latency (v1.5)",
        "From the last end of A to the next start of B, by merged Silero segments.",
        "",
    ),
}


def _together(x: Side) -> dict[str, MeasureText]:
    """The measures of speech of side `x` that begins over the other's."""
    y = other_side(x)
    a, b = x.lower(), y.lower()
    texts = {
        f"{a}_onset_in_overlap_per_{b}_speech_min": (
            f"{x} begins while {y} speaks",
            f"All of {x}'s starts in overlap, per minute of {y}'s speech.",
            "onset in overlap",
        ),
        f"{a}_backchannel_like_per_{b}_speech_min": (
            f"Short contributions of {x}",
            f"Speech of at most {{short_ms}} during {y}'s turn, such as “uh-huh”, told by its length alone.",
            "backchannel-like",
        ),
    }
    for size, when, length, name in (
        (
            "long",
            f"when {x} talks over it",
            f"{x} comes in for longer than {{short_ms}}",
            "yielding to an interruption",
        ),
        ("short", f"for a short word of {x}", f"{x} comes in for at most {{short_ms}}", "stopping for a backchannel"),
    ):
        for seconds in (1, 2):
            texts[f"{b}_stopped_within_{seconds}s_per_{size}_{a}_onset"] = (
                f"{y} stops within {seconds} s {when}",
                f"{length}: how often {y} then falls silent for at least {{yield_hold_ms}}.",
                name,
            )
        texts[f"{b}_stopped_at_once_per_{size}_{a}_onset"] = (
            f"{y} stops at once {when}",
            f"{length}: how often {y} falls silent within {{terminal_ms}}. It gave way, or was ending anyway: "
            "chance tells how often the latter is to be expected.",
            name,
        )
        texts[f"{b}_stop_latency_ms_per_{size}_{a}_onset"] = (
            f"Time until {y} stops {when}",
            f"From {x}'s start to {y}'s silence, where it came within 2 s.",
            "stop latency",
        )
    return {name: MeasureText(TOGETHER, *text) for name, text in texts.items()}


def _labelled() -> dict[str, MeasureText]:
    """The measures of what people have labelled."""
    texts = dict(_LABELLED)
    for low_ms, high_ms in PAUSE_BINS_MS:
        lengths = (
            f"of {low_ms / 1000:g} s and over" if high_ms is None else f"of {low_ms / 1000:g} to {high_ms / 1000:g} s"
        )
        name = f"cut_off_per_labelled_a_pause_of_{pause_bin(low_ms, high_ms)}"
        texts[name] = (f"Pauses of A {lengths} in which B cut in", "The same, by the length of the pause.", "")
    kinds = [*_CONTRIBUTIONS.items(), ("distraction", "backchannels, side talk and noise")]
    for kind, what in kinds:
        meaning = f"What A's labels call {what}, begun while B spoke: how often B falls silent for {{yield_hold_ms}}."
        texts[stop_share(kind)] = (f"B stops within 2 s for {what}", meaning, "stop rate")
        texts[f"b_stop_latency_ms_per_labelled_{kind}"] = (
            f"Time until B stops for {what}",
            "From the labelled start to B's silence, where it came within 2 s.",
            "stop latency",
        )
    return {name: MeasureText(LABELLED, *text) for name, text in texts.items()}


def _published() -> dict[str, MeasureText]:
    texts = dict(_PUBLISHED)
    for kind, what in _CONTRIBUTIONS.items():
        for name in ("stop", "response"):
            label, meaning, _ = _PUBLISHED[f"compat_v15_{name}_latency_ms"]
            own = (label.replace(" (v1.5)", f" at {what} (v1.5)"), f"{meaning} Only those at such a label of A.", "")
            texts[f"compat_v15_{name}_latency_ms_per_labelled_{kind}"] = own
    return {name: MeasureText(PUBLISHED, *text) for name, text in texts.items()}


def _time() -> dict[str, MeasureText]:
    texts = {}
    for name, (label, meaning, literature) in _TIME.items():
        texts[f"{name}_per_min"] = MeasureText(TIME, f"{label}: number", meaning, literature)
        texts[f"{name}_s_per_min"] = MeasureText(TIME, f"{label}: seconds", "Their lengths together.", literature)
    for x in "AB":
        share = MeasureText(TIME, f"Talk share of {x}", f"Share of the session in which {x} speaks.", "talk ratio")
        texts[f"{x.lower()}_talk_share"] = share
    meaning = "Share of the time with speech in which both speak."
    return texts | {"overlap_share_of_speech": MeasureText(TIME, "Overlap share", meaning, "overlap ratio")}


MEASURES: Final[Mapping[str, MeasureText]] = {
    **{name: MeasureText(ANSWERS, *text) for name, text in _ANSWERS.items()},
    **_together("A"),
    **_together("B"),
    **_labelled(),
    **{name: MeasureText(TURNS, *text) for name, text in _TURNS.items()},
    **_time(),
    **_published(),
}

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


def in_words(text: str, settings: TurnSettings) -> str:
    """`text` with the settings that it names in braces written as seconds."""
    return text.format(**{name: f"{getattr(settings, name) / 1000:g} s" for name in TurnSettings.__slots__})
