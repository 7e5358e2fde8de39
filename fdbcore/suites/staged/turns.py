"""A dialogue as a judge reads it: what each side said and when, and the events at which the system is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fdbcore.audio.wav import wav_bytes
from fdbcore.measures.opportunities import fto, opportunities, turn_start
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording.files import AUDIO, read_json, write_json
from fdbcore.sources.clips import read_clip
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S, Span
from fdbcore.types.examiner_events import SAID, SAYS
from fdbcore.types.system_events import TRANSCRIPT

TURN_WORDS: Final = "derived/turn_words_B.json"
"""What a recogniser heard in each turn of B, with the recogniser's name, so that it is asked only once."""
SAMPLES_PER_TICK: Final = SAMPLE_RATE_HZ // TICKS_PER_S
MARGIN_TICKS: Final = 15
"""How much around a turn is heard with it."""


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """Words of one side. A side that was cut said only part of them."""

    side: str
    start_tick: int
    end_tick: int
    words: str
    is_cut: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a judge reads it: the user is A, the system B."""
        told = {
            "who": "user" if self.side == "A" else "system",
            "from_s": self.start_tick / TICKS_PER_S,
            "to_s": self.end_tick / TICKS_PER_S,
            "words": self.words,
        }
        return {**told, "broken_off": True} if self.is_cut else told


@dataclass(frozen=True, slots=True)
class SystemEvent:
    """A turn of B, or an opportunity that it let pass. delay_s: of an answer, from the end of A's turn."""

    kind: str
    start_tick: int
    end_tick: int
    delay_s: float | None = None

    def to_json(self, number: int) -> dict[str, Any]:
        """As a judge reads it."""
        told = {
            "event": number,
            "kind": self.kind,
            "from_s": self.start_tick / TICKS_PER_S,
            "to_s": self.end_tick / TICKS_PER_S,
        }
        return told if self.delay_s is None else {**told, "after_the_user_s": self.delay_s}


def events_of(recording: Reading, until_tick: int) -> list[SystemEvent]:
    """Every turn of B and every opportunity that it let pass, up to A's closing statement."""
    dialogue = recording.dialogue
    found = opportunities(dialogue)
    delays = {turn_start(each): fto(each) / TICKS_PER_S for each in (*found.answered, *found.premature)}
    kinds = {turn_start(each): "answer" for each in found.answered}
    kinds |= {turn_start(each): "cuts the user off" for each in found.premature}
    turns = [each for each in dialogue.events if each.kind == "turn" and each.side == "B"]
    events = [
        SystemEvent(
            kinds.get(each.start_tick, "takes the floor"),
            each.start_tick,
            each.end_tick or recording.n_ticks,
            delays.get(each.start_tick),
        )
        for each in turns
    ]
    events += [SystemEvent("no answer", each.start_tick, each.end_tick or each.start_tick) for each in found.missed]
    return sorted((each for each in events if each.start_tick < until_tick), key=lambda each: each.start_tick)


def closing_tick(events: Sequence[Mapping[str, Any]], n_ticks: int) -> int:
    """When A's closing statement begins; the end of the dialogue if there is none."""
    return next((each["tick"] for each in events if each["kind"] == SAYS and each["what"] == "closing"), n_ticks)


def said_by_a(events: Sequence[Mapping[str, Any]], until_tick: int) -> list[SpokenWords]:
    """What the examiner said, as it logged it."""
    starts = [each["tick"] for each in events if each["kind"] == SAYS]
    texts = [each["text"] for each in events if each["kind"] == TRANSCRIPT and each["of"] == "self"]
    ends = [each for each in events if each["kind"] == SAID]
    said = [
        SpokenWords("A", start, end["tick"], text, end["said_ms"] < end["of_ms"])
        for start, text, end in zip(starts, texts, ends, strict=False)
    ]
    return [each for each in said if each.start_tick < until_tick]


def said_by_b(path: Path, spans: Sequence[Span], language: str, transcriber: Transcriber) -> list[SpokenWords]:
    """What a recogniser hears in these spans of ticks of B."""
    known = read_json(path / TURN_WORDS) if (path / TURN_WORDS).is_file() else {}
    words: dict[str, str] = known["words"] if known.get("transcriber") == transcriber.name else {}
    new = [(start, end) for start, end in spans if f"{start}-{end}" not in words]
    if new:
        pcm, _ = read_clip(path / AUDIO, "right")
        for start, end in new:
            first = max(start - MARGIN_TICKS, 0)
            own = pcm[first * SAMPLES_PER_TICK : (end + MARGIN_TICKS) * SAMPLES_PER_TICK]
            words[f"{start}-{end}"] = transcriber.transcribe(wav_bytes(own, SAMPLE_RATE_HZ), language)
        write_json(path / TURN_WORDS, {"transcriber": transcriber.name, "words": words})
    return [SpokenWords("B", start, end, words[f"{start}-{end}"]) for start, end in spans]
