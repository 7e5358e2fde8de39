"""The turns of both sides of a call, by its turn events: what a side says while it has the floor, up to a lapse.

Their words are as the party itself tells them, as a transcript stored with the call has them, or as heard.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from fdbcore.analysis import audio_of, told_lines
from fdbcore.audio import TRANSCRIBER_RATE_HZ, wav_to_recognise
from fdbcore.errors import InputError
from fdbcore.measures import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording import read_json, transcripts, write_json
from fdbcore.report import counted, usd_text
from fdbcore.runs import expected_usd
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, Span, clock_text, other_side
from fdbcore.types.usage import Service
from fdbcore.types.words import TimedWord, as_text

Part: TypeAlias = Literal["before", "reply", "further", "aside"]
"""before: a turn before the other side's first. reply: the first turn after one of the other side. further: a turn
after that, with nothing of the other side between. aside: speech that did not take the floor."""

ASIDE: Final = "aside"


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn of a side, or what it said aside, in ticks of the session.

    after: how many turns of the other side had begun before it. number: among the turns of its side, from 1; 0 of an
    aside.
    """

    side: Side
    start_tick: int
    end_tick: int
    part: Part
    after: int
    number: int = 0

    @property
    def start_s(self) -> float:
        """The time at which it begins."""
        return self.start_tick / TICKS_PER_S

    @property
    def end_s(self) -> float:
        """The time at which it ends."""
        return self.end_tick / TICKS_PER_S


def spoken_turns(reading: Reading) -> list[SpokenTurn]:
    """The turns of both sides, and what was said aside, by their start.

    See `Dialogue.held` and `Dialogue.asides`.
    """
    held = {side: reading.dialogue.held(side) for side in SIDES}
    found: list[SpokenTurn] = []
    for side in SIDES:
        partner = [start for start, _ in held[other_side(side)]]
        last = 0
        for number, (start, end) in enumerate(held[side], 1):
            after = sum(each < start for each in partner)
            part: Part = "before" if not after else "reply" if after > last else "further"
            last = after
            found.append(SpokenTurn(side, start, end, part, after, number))
        for start, end in reading.dialogue.asides(side):
            found.append(SpokenTurn(side, start, end, ASIDE, sum(each < start for each in partner)))
    return sorted(found, key=lambda turn: (turn.start_tick, turn.side))


def answering(turns: list[SpokenTurn]) -> list[SpokenTurn]:
    """B's turns and asides of a call with one request: `reply` is only what follows the last turn of A.

    Whatever B said before that is `before`.
    """
    of_b = [turn for turn in turns if turn.side == "B"]
    asked = sum(turn.side == "A" and turn.part != ASIDE for turn in turns)
    return [replace(turn, part="before") if turn.part != ASIDE and turn.after < asked else turn for turn in of_b]


HEARD: Final = "derived/turns_heard.json"
"""The file with what transcribers heard in turns. It is stored, so that no transcriber is asked twice for one turn."""
TOLD: Final = "told"
"""The source of words that a party tells of itself."""
MARGIN_TICKS: Final = TICKS_PER_S // 5
"""Margin around a turn that a transcriber hears, too."""


def told_texts(reading: Reading, side: Side, turns: Sequence[SpokenTurn]) -> list[str]:
    """The words that the party of a side told in each of these turns of it: each line in the turn nearest to it."""
    lines = [TimedWord(line["text"], at := line["start_tick"] * TICK_MS, at) for line in told_lines(reading, side)]
    return [as_text(own) for own in _placed(lines, turns)]


def texts(
    reading: Reading,
    side: Side,
    turns: Sequence[SpokenTurn],
    wanted: Sequence[SpokenTurn],
    transcriber: Transcriber | None,
    language: str,
) -> tuple[str, Sequence[str | None]]:
    """The source of a side's words, `told` or a transcriber's name, and those of its wanted turns; None: nobody knows.

    They are those that its party told; else as the transcriber hears them; without one, as stored.
    turns: all turns and asides of the side, by their start; wanted: some of them. A turn in which the transcriber hears
    nothing has the text "". Errors are those of `Transcriber.transcribe`.
    """
    told = dict(zip(turns, told_texts(reading, side, turns), strict=True))
    if any(told.values()):
        return TOLD, [told[turn] or None for turn in wanted]
    if transcriber is not None:
        return transcriber.name, _heard(reading, side, turns, wanted, transcriber, language)
    stored = transcripts(reading.path, side)[-1:]
    if not stored:
        return "", [None] * len(wanted)
    words = [word for word in stored[0].words if not word.is_doubtful]
    placed = dict(zip(turns, _placed(words, turns), strict=True))
    return stored[0].transcriber, [as_text(placed[turn]) for turn in wanted]


def _placed(words: Sequence[TimedWord], turns: Sequence[SpokenTurn]) -> list[list[TimedWord]]:
    """The words of each turn: those that lie nearer to it than to any other."""
    own: list[list[TimedWord]] = [[] for _ in turns]
    for word in words if turns else ():
        middle = (word.start_ms + word.end_ms) / 2 / TICK_MS
        distances = [max(turn.start_tick - middle, middle - turn.end_tick, 0) for turn in turns]
        own[distances.index(min(distances))].append(word)
    return own


def _heard(
    reading: Reading,
    side: Side,
    turns: Sequence[SpokenTurn],
    wanted: Sequence[SpokenTurn],
    transcriber: Transcriber,
    language: str,
) -> list[str]:
    """Words that a transcriber hears in each wanted turn; what it has heard before is not sent to it again."""
    path = reading.path / HEARD
    known: dict[str, str] = read_json(path) if path.is_file() else {}
    found: dict[Span, str] = {}
    spans = dict(zip(turns, _with_margins(turns, reading.n_ticks), strict=True))
    own = [spans[turn] for turn in wanted]
    for span, pcm in audio_of(reading, side, own):
        wav = wav_to_recognise(pcm)
        key = f"{transcriber.name} {language} {hashlib.sha256(wav).hexdigest()}"
        if key not in known:
            known[key] = transcriber.transcribe(wav, language).strip()
            write_json(path, known)
        found[span] = known[key]
    return [found.get(span, "") for span in own]


def _with_margins(turns: Sequence[SpokenTurn], n_ticks: int) -> list[Span]:
    """The spans that a transcriber hears: none reaches into the next turn of its side. turns: by their start."""
    bounds = [0, *(turn.end_tick for turn in turns)]
    starts = [max(turn.start_tick - MARGIN_TICKS, bound) for turn, bound in zip(turns, bounds, strict=False)]
    ends = [*starts, n_ticks][1:]
    return [
        (start, min(turn.end_tick + MARGIN_TICKS, end)) for turn, start, end in zip(turns, starts, ends, strict=True)
    ]


class HeardWith(Struct, frozen=True):
    """Audio that a transcriber was sent for this scoring; what it had heard before was not sent again."""

    asr: str
    pieces: int
    seconds: float
    usd: Annotated[float | None, Meta(description="at list prices; null where they are not known")]


class HeardTally(Transcriber):
    """A transcriber that adds up what it is sent; what it has heard before is not sent again.

    transcriber: None for one that hears nothing, to count what would be sent.
    """

    def __init__(self, name: str, transcriber: Transcriber | None) -> None:
        self.name = name
        self.lengths_s: list[float] = []
        self._transcriber = transcriber

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`. InputError for everything, if it hears nothing."""
        length_s = len(wav) / 2 / TRANSCRIBER_RATE_HZ
        if self._transcriber is None:
            self.lengths_s.append(length_s)
            raise InputError("expected the words of B, got speech that nobody has heard yet")
        text = self._transcriber.transcribe(wav, language)
        self.lengths_s.append(length_s)
        return text

    def services(self) -> Sequence[Service]:
        """See `Transcriber.services`."""
        return () if self._transcriber is None else self._transcriber.services()

    def heard(self) -> HeardWith:
        """The audio that it took."""
        seconds = sum(self.lengths_s)
        return HeardWith(self.name, len(self.lengths_s), seconds, expected_usd(self.services(), seconds))


def hearing_took(heard: HeardWith) -> str:
    """The cost of a transcriber, in a sentence."""
    usd = "unpriced" if heard.usd is None else usd_text(heard.usd)
    audio = f"{counted(heard.pieces, 'piece')}, {clock_text(heard.seconds)} of audio"
    return f"{heard.asr}: heard {audio} now, {usd}"
