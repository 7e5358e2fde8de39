"""`fdbcore transcribe`: what both sides of recordings said, each word with its time."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fdbcore.errors import FdbError, MissingExtraError, SettingsError, told_as
from fdbcore.report.format import clock_text, counted, usd_text
from fdbcore.types import TICKS_PER_S

from . import options
from .endings import one_line
from .options import DONE, FAILED, FILE
from .status import Status, Teller

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call, Run
    from fdbcore.analysis.transcripts import HeardCall, SideHeard
    from fdbcore.measures.reading import Reading
    from fdbcore.sources.word_source import WordSource
    from fdbcore.types import Side


class _Place(NamedTuple):
    """A call to transcribe, and the run that it belongs to."""

    run: Run
    call: Call


@click.command(short_help="Write what both sides said, each word with its time.")
@click.argument("runs", nargs=-1, type=FILE, metavar="[RUN]...")
@click.option("--transcriber", "address", required=True, metavar="ADDRESS",
              help="whisper or nemo (on this machine), openai:MODEL or a server with its interface, or words: files "
              "that are there already.")  # fmt: skip
@click.option("--language", default="", metavar="CODE", help="Language of the calls, as ISO 639-1 such as en "
              "(default: the transcriber finds it out).")  # fmt: skip
@click.option("--jobs", type=options.Whole(1), help="Requests at a time (default: what suits the transcriber; 4 for "
              "servers).")  # fmt: skip
@click.option("--max-cost", "max_usd", type=options.Number(0, min_open=True), metavar="USD",
              help="Begin no call that would cost more in all; the same command with more goes on.")  # fmt: skip
@options.price
@click.option("--dry-run", is_flag=True, help="Print how much audio is left and its USD; send nothing.")
@options.quiet
def transcribe(
    runs: Sequence[Path],
    address: str,
    language: str,
    jobs: int | None,
    max_usd: float | None,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Write what both sides of each call said into its recording: each word with its time.

    RUN is a run or one of its recordings; by default the newest run in the current folder. The words stand in
    derived/words_A.json and words_B.json of each recording, and on its page. Words where the side was silent are kept
    but flagged. No side is transcribed twice while its audio, the transcriber and the language are the same.

    --transcriber known-text places what the parties of a live call told that they said, in English, on their audio.
    self-reported needs no aligner and serves every language; its times are only about right.
    --transcriber words takes the A.json and B.json of Full-Duplex-Bench v2 that lie beside A.wav and B.wav, and
    words:FOLDER takes FOLDER/CALL/A.json and B.json. A server has to give word times: whisper-1 does,
    gpt-4o-transcribe does not.

    Example (needs fdbcore models get whisper): fdbcore transcribe RUN --transcriber whisper --language en
    """
    from fdbcore.sources.word_source import word_source_of

    with one_line("fdbcore transcribe", "the sides that were done are kept; the same command goes on"):
        with told_as("--transcriber", "asr"):
            source = word_source_of(address)
        places = [_Place(run, call) for run in map(options.read_run, runs or [options.newest()]) for call in run.calls]
        limit = None if max_usd is None else _SpendingLimit(source, language, max_usd)
        if dry_run:
            sys.exit(_print_costs([place.call for place in places], source, language))
        sys.exit(_transcribe_all(places, source, language, jobs, limit, quiet))


class _SpendingLimit:
    """Lets calls begin as long as all that is sent costs at most so many USD. SettingsError for an unknown price."""

    def __init__(self, source: WordSource, language: str, limit_usd: float) -> None:
        from fdbcore.runs.estimates import unpriced

        for name in unpriced(source.services()):
            raise SettingsError(f"--max-cost: expected a transcriber whose price is known, got {name}")
        self._source, self._language = source, language
        self._limit_usd, self._spent_usd = limit_usd, 0.0

    @property
    def why_not(self) -> str:
        """The reason why no other call may begin, in words."""
        return f"{usd_text(self._spent_usd)} spent of --max-cost {self._limit_usd:g}"

    def allows(self, reading: Reading) -> bool:
        """True if a call may begin; it is then counted as sent."""
        from fdbcore.analysis.transcripts import seconds_to_hear
        from fdbcore.runs.estimates import expected_usd

        seconds = seconds_to_hear(reading, self._source, self._language)
        expected = self._spent_usd + (expected_usd(self._source.services(), seconds) or 0.0)
        if expected > self._limit_usd:
            return False
        self._spent_usd = expected
        return True


def _print_costs(calls: Sequence[Call], source: WordSource, language: str) -> int:
    """Print how much audio of how many calls is left, and what that costs; return the exit code."""
    from fdbcore.analysis.transcripts import seconds_to_hear
    from fdbcore.runs.estimates import expected_usd, priced_on

    lengths_s: list[float] = []
    failed = 0
    for call in calls:
        try:
            lengths_s.append(seconds_to_hear(call.recording, source, language))
        except FdbError as error:
            failed += 1
            click.echo(f"fdbcore transcribe: {call.name}: {error}", err=True)
    services, left_s = source.services(), sum(lengths_s)
    told = f"{sum(map(bool, lengths_s)):,} of {counted(len(calls), 'call')} left: {clock_text(left_s)} of audio"
    if services:
        usd, dated = expected_usd(services, left_s), priced_on(services)
        told += ", unpriced" if usd is None else f", {usd_text(usd)} at most"
        told += f" at list prices of {dated}" if usd and dated else ""
    click.echo(told)
    return FAILED if failed else DONE


def _transcribe_all(
    places: Sequence[_Place],
    source: WordSource,
    language: str,
    jobs: int | None,
    limit: _SpendingLimit | None,
    quiet: bool,
) -> int:
    """Transcribe the calls, and return the exit code."""
    from fdbcore.analysis.transcripts import Transcribing

    told = _Told(quiet)
    with Status(quiet) as status, Transcribing(source, language, jobs) as asking:
        begun: deque[tuple[_Place, HeardCall]] = deque()
        for place in places:

            def show(side: Side, tick: int, name: str = place.call.name) -> None:
                at = clock_text(tick // TICKS_PER_S)
                text = f"{told.calls:,} of {len(places):,} calls transcribed; {name}: {side} from {at}"
                status.step(text, told.calls, len(places))

            with told.failure_of(place, status):
                if limit is not None and not limit.allows(place.call.recording):
                    break
                begun.append((place, asking.begin(place.call.recording, show)))
            while begun and begun[0][1].is_done:
                told.end(*begun.popleft(), status)
        while begun:
            told.end(*begun.popleft(), status)
    if not quiet and told.counts["done"] > 1:
        doubtful = _doubtful(told.counts["silent"], told.counts["looped"])
        click.echo(f"{counted(told.counts['done'], 'call')}: {counted(told.counts['words'], 'word')}{doubtful}")
    left = len(places) - told.calls
    if left and limit is not None:
        click.echo(f"fdbcore transcribe: {counted(left, 'call')} left: {limit.why_not}", err=True)
    return FAILED if told.counts["failed"] or left else DONE


class _Told:
    """Progress on the calls so far. counts: of calls and of their words."""

    def __init__(self, quiet: bool) -> None:
        self.counts = Counter[str]()
        self._quiet = quiet

    @property
    def calls(self) -> int:
        """The number of calls that are over."""
        return self.counts["done"] + self.counts["failed"]

    @contextmanager
    def failure_of(self, place: _Place, status: Status) -> Iterator[None]:
        """Tell an error of a call in one line; one that would be the same for every call is raised."""
        try:
            yield
        except (SettingsError, MissingExtraError):
            raise
        except FdbError as error:
            self.counts["failed"] += 1
            status.clear()
            click.echo(f"fdbcore transcribe: {place.call.name}: {error}", err=True)

    def end(self, place: _Place, begun: HeardCall, status: Status) -> None:
        """Wait for the words of a call, write its page again if it has one, and tell how many there are."""
        from fdbcore.recording.files import REPORT
        from fdbcore.runs.single_pages import write_single_pages

        with self.failure_of(place, status):
            heard = begun.heard()
            if any(each.is_new for each in heard) and (place.call.path / REPORT).is_file():
                write_single_pages(place.run, [place.call], Teller("fdbcore transcribe", status))
            self.counts["done"] += 1
            for each in heard:
                self.counts["words"] += len(each.transcript.words)
                self.counts["silent"] += each.transcript.words_in_silence
                self.counts["looped"] += each.transcript.words_in_loops
            status.clear()
            if not self._quiet:
                missing = [f"{side} unscored: {reason}" for side, reason in begun.why_not.items()]
                click.echo(f"{place.call.name}: {'; '.join([*map(_side_in_words, heard), *missing])}")


def _side_in_words(heard: SideHeard) -> str:
    """A side's result, such as "A 132 words, 2 of them where it was silent"."""
    found = heard.transcript
    untimed = f", {found.untimed:,} more without times" if found.untimed else ""
    before = "" if heard.is_new else " (transcribed before)"
    doubtful = _doubtful(found.words_in_silence, found.words_in_loops)
    return f"{found.side} {counted(len(found.words), 'word')}{doubtful}{untimed}{before}"


def _doubtful(in_silence: int, in_loops: int) -> str:
    silent = f", {in_silence:,} of them where the side was silent" if in_silence else ""
    return silent + (f", {in_loops:,} of them in a phrase said again and again" if in_loops else "")
