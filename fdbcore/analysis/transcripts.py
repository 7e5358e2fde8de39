"""Has both sides of recordings transcribed, each word with its time on the session's clock.

A transcriber gets each side in the pieces of `fdbcore.analysis.speech_pieces`, several pieces at once if it takes them.
What was transcribed is stored with the recording, and used again while audio, transcriber and language are the same.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fdbcore.analysis.speech_pieces import audio_of, audio_sha256s, pieces_of
from fdbcore.analysis.word_checks import in_loops, in_silence, within_speech
from fdbcore.audio.speech import wav_to_recognise
from fdbcore.errors import AudioError, FdbError, PartyError, SettingsError
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording.transcripts import Transcript, as_stored, hashed_audio, keep_transcript, transcripts
from fdbcore.sources.recorded import audio_state, changed_source
from fdbcore.sources.word_files import KnownWords
from fdbcore.sources.word_source import WordSource
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Problem, Side, Span
from fdbcore.types.words import TimedWord

Watch = Callable[[Side, int], None]
"""Told before each piece: the side, and the tick that the piece begins at."""

_READ_AHEAD: Final = 2
"""So many pieces a request at once are kept in memory."""


class SideHeard(NamedTuple):
    """The transcript of a side. is_new: whether it was made now, or else stored before."""

    transcript: Transcript
    is_new: bool


def transcribe(
    reading: Reading,
    source: WordSource,
    language: str = "",
    watch: Watch = lambda side, tick: None,
    sides: Sequence[Side] = SIDES,
    jobs: int | None = None,
) -> list[SideHeard]:
    """The words of these sides; what was not stored before is stored as soon as a side is done.

    language: as ISO 639-1; "" has the transcriber find it out. jobs: see `Transcribing`. A side of which
    `KnownWords.why_not` tells is left out. AudioError if the audio is gone or has changed, SettingsError if the
    transcriber gives no word times, PartyError if it is not available.
    """
    with Transcribing(source, language, jobs) as asking:
        return asking.begin(reading, watch, sides).heard()


class CallToHear(NamedTuple):
    """A call of which some sides are to be heard. where: its name in messages. language: see `transcribe`."""

    where: str
    path: Path
    sides: Sequence[Side]
    language: str = ""


class CallsHeard(NamedTuple):
    """Transcripts of many calls, by their names. problems: why others were not. missing: a line for each side that has
    no words and each reason, which names the first call.
    """

    transcripts: Mapping[str, Sequence[Transcript]]
    problems: Sequence[Problem]
    missing: Sequence[str]


def hear_calls(
    calls: Sequence[CallToHear],
    source: WordSource,
    jobs: int | None,
    show: Callable[[str], None],
    what: str = "calls",
) -> CallsHeard:
    """Have these calls transcribed by one source of words, several at a time; what is stored is not asked again.

    what: the calls, in what `show` is told. SettingsError if the source gives no words with times.
    """
    found: dict[str, Sequence[Transcript]] = {}
    problems: list[Problem] = []
    why_not: dict[str, Mapping[Side, str]] = {}
    begun: deque[tuple[CallToHear, HeardCall]] = deque()

    @contextmanager
    def told(call: CallToHear) -> Iterator[None]:
        """An error of one call is a problem; one of the settings would be the same for all."""
        try:
            yield
        except SettingsError:
            raise
        except FdbError as error:
            problems.append(Problem(call.where, f"not transcribed: {str(error).removeprefix(f'{call.path}: ')}"))

    def end_first() -> None:
        call, heard = begun.popleft()
        with told(call):
            found[call.where] = [each.transcript for each in heard.heard()]

    numbers = iter(range(1, len(calls) + 1))
    for language in dict.fromkeys(call.language for call in calls):
        with Transcribing(source, language, jobs) as asking:
            for call in (each for each in calls if each.language == language):
                show(f"{source.name}: {next(numbers)} of {len(calls)} {what} transcribed")
                with told(call):
                    begun.append((call, asking.begin(Reading(call.path), sides=call.sides)))
                    why_not[call.where] = begun[-1][1].why_not
                while begun and begun[0][1].is_done:
                    end_first()
            while begun:
                end_first()
    return CallsHeard(found, problems, _missing(source, why_not))


@dataclass(frozen=True, slots=True)
class HeardCall:
    """A call whose pieces are with the transcriber. why_not: of the sides that get no words."""

    why_not: Mapping[Side, str]
    _sides: Sequence[Callable[[], SideHeard]]
    _asked: Sequence[Future[Sequence[TimedWord]]]

    @property
    def is_done(self) -> bool:
        """True if `heard` needs not wait."""
        return all(each.done() for each in self._asked)

    def heard(self) -> list[SideHeard]:
        """Wait for its words, and store each side as soon as it is done. Errors as of `transcribe`.

        After an error, what the transcriber has not begun is not asked.
        """
        try:
            return [side() for side in self._sides]
        finally:
            for each in self._asked:
                each.cancel()


class Transcribing:
    """Has recordings transcribed, `jobs` pieces at a time; as a context manager it ends what the transcriber started.

    jobs: None for as many as the transcriber takes (`Transcriber.at_once`). A side with the audio of another one is
    asked once.
    """

    def __init__(self, source: WordSource, language: str = "", jobs: int | None = None) -> None:
        self._source, self._language = source, language
        jobs = jobs or (1 if isinstance(source, KnownWords) else source.at_once)
        self._pool = ThreadPoolExecutor(jobs, "fdbcore-transcribing")
        self._room = BoundedSemaphore(_READ_AHEAD * jobs)
        self._asked: dict[tuple[str, tuple[Span, ...]], list[Future[Sequence[TimedWord]]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        if not isinstance(self._source, KnownWords):
            self._source.close()  # after an error it gives up what it is at work on
        self._pool.shutdown()

    def begin(
        self, reading: Reading, watch: Watch = lambda side, tick: None, sides: Sequence[Side] = SIDES
    ) -> HeardCall:
        """Give the transcriber the pieces of a call, as soon as it has room for them. AudioError as of `transcribe`."""
        if (changed := changed_source(reading)) is not None:
            raise AudioError(changed)
        state = audio_state(reading)
        if isinstance(self._source, KnownWords):
            told = {side: self._source.why_not(reading, side, self._language) for side in sides}
            why_not = {side: reason for side, reason in told.items() if reason is not None}
            known = [side for side in sides if side not in why_not]
            sha256s = _sha256s(reading, known, state)
            return HeardCall(why_not, [partial(self._known, reading, side, sha256s[side], state) for side in known], [])
        sha256s = _sha256s(reading, sides, state)
        asked: list[Future[Sequence[TimedWord]]] = []
        begun = [self._begin(reading, side, self._source, sha256s[side], state, watch, asked) for side in sides]
        return HeardCall({}, begun, asked)

    def _begin(
        self,
        reading: Reading,
        side: Side,
        transcriber: Transcriber,
        sha256: str,
        state: Mapping[str, Any],
        watch: Watch,
        asked: list[Future[Sequence[TimedWord]]],
    ) -> Callable[[], SideHeard]:
        """A function that gives the words of a side. The requests that it waits for are added to `asked`."""
        made = Transcript(side, (), transcriber.name, as_stored(transcriber.describe()), self._language, sha256)
        track = _track(reading, side)
        if (stored := _stored(reading, made)) is not None:
            return partial(_kept, reading, stored, state, track, is_new=False)
        spans = pieces_of(reading, side, track)
        key = sha256, tuple(spans)
        futures = self._asked.get(key)
        if futures is None:
            futures = self._asked[key] = []
            for span, pcm in audio_of(reading, side, spans):
                watch(side, span[0])
                self._room.acquire()
                futures.append(self._pool.submit(transcriber.words, wav_to_recognise(pcm), self._language))
                futures[-1].add_done_callback(lambda _: self._room.release())
                asked.append(futures[-1])

        def heard() -> SideHeard:
            words = within_speech(_on_session(spans, futures), track)
            return _kept(reading, replace(made, words=tuple(words)), state, track, is_new=True)

        return heard

    def _known(self, reading: Reading, side: Side, sha256: str, state: Mapping[str, Any]) -> SideHeard:
        """The words of a side that somebody has made already."""
        source = self._source
        assert isinstance(source, KnownWords)
        described = as_stored(source.describe(reading, side))
        made = Transcript(side, (), source.name, described, self._language, sha256)
        track = _track(reading, side)
        if (stored := _stored(reading, made)) is not None:
            return _kept(reading, stored, state, track, is_new=False)
        words, untimed = source.words(reading, side)
        return _kept(reading, replace(made, words=tuple(words), untimed=untimed), state, track, is_new=True)


def _missing(source: WordSource, why_not: Mapping[str, Mapping[Side, str]]) -> list[str]:
    calls: dict[tuple[Side, str], list[str]] = {}
    for call, sides in why_not.items():
        for each in sides.items():
            calls.setdefault(each, []).append(call)
    return [
        f"{source.name}: no words of {side} in {first}{f' and {len(more)} more' if more else ''}: {reason}"
        for (side, reason), (first, *more) in calls.items()
    ]


def seconds_to_hear(reading: Reading, source: WordSource, language: str = "", sides: Sequence[Side] = SIDES) -> float:
    """Seconds of audio to send a transcriber for a call: 0 for sides that are stored, and for known words."""
    if isinstance(source, KnownWords):
        return 0.0
    described, sha256s = as_stored(source.describe()), _sha256s(reading, sides, audio_state(reading))
    ticks = 0
    for side in sides:
        made = Transcript(side, (), source.name, described, language, sha256s[side])
        if _stored(reading, made) is None:
            ticks += sum(end - start for start, end in pieces_of(reading, side, _track(reading, side)))
    return ticks / TICKS_PER_S


def _sha256s(reading: Reading, sides: Sequence[Side], state: Mapping[str, Any]) -> Mapping[Side, str]:
    """The SHA-256 of the audio of these sides, as stored with their words; audio of another state is read in whole."""
    stored = {side: hashed_audio(reading.path, side, state) for side in sides}
    known = {side: sha256 for side, sha256 in stored.items() if sha256 is not None}
    return known if len(known) == len(sides) else audio_sha256s(reading)


def _track(reading: Reading, side: Side) -> npt.NDArray[np.bool_]:
    return echo_free_activity(reading.activity, reading.suspect_spans)[SIDES.index(side)]


def _stored(reading: Reading, made: Transcript) -> Transcript | None:
    return next((each for each in transcripts(reading.path, made.side) if each.is_like(made)), None)


def _kept(
    reading: Reading, made: Transcript, state: Mapping[str, Any], track: npt.NDArray[np.bool_], *, is_new: bool
) -> SideHeard:
    """A transcript, stored as the last one with what the side's activity says of its words. state: of its audio."""
    made = replace(made, words=tuple(in_loops(in_silence(made.words, track))))
    is_last = transcripts(reading.path, made.side)[-1:] == [made]
    if not is_last or hashed_audio(reading.path, made.side, state) is None:
        keep_transcript(reading.path, made, state)
    return SideHeard(made, is_new)


def _on_session(spans: Sequence[Span], futures: Sequence[Future[Sequence[TimedWord]]]) -> list[TimedWord]:
    """The words of each piece, moved to the session's clock; those of a piece never leave it."""
    try:
        return [
            word
            for span, found in zip(spans, futures, strict=False)  # audio that ends early has fewer pieces
            for word in sorted((_moved(word, *span) for word in found.result()), key=lambda word: word.start_ms)
        ]
    except CancelledError:
        raise PartyError("expected the words of a call with the same audio, which could not be transcribed") from None


def _moved(word: TimedWord, start_tick: int, end_tick: int) -> TimedWord:
    first_ms, last_ms = start_tick * TICK_MS, end_tick * TICK_MS
    start_ms = min(max(first_ms + word.start_ms, first_ms), last_ms)
    return replace(word, start_ms=start_ms, end_ms=min(max(first_ms + word.end_ms, start_ms), last_ms))
