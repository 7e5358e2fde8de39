"""What `fdbcore transcribe` sends, and what that costs, before it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fdbcore.errors import FdbError, SettingsError
from fdbcore.report.format import clock_text, counted, usd_text

from .options import DONE, FAILED

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call
    from fdbcore.measures.reading import Reading
    from fdbcore.sources.word_source import WordSource


class SpendingLimit:
    """Lets calls begin as long as all that is sent costs at most so many USD. SettingsError for an unknown price."""

    def __init__(self, source: WordSource, language: str, limit_usd: float) -> None:
        from fdbcore.runs.estimates import unpriced

        for name in unpriced(source.services()):
            raise SettingsError(f"--max-cost: expected a transcriber whose price is known, got {name}")
        self._source, self._language = source, language
        self._limit_usd, self._spent_usd = limit_usd, 0.0

    @property
    def why_not(self) -> str:
        """Why no other call may begin, in words."""
        return f"{usd_text(self._spent_usd)} spent of --max-cost {self._limit_usd:g}"

    def allows(self, reading: Reading) -> bool:
        """Whether a call may begin; it is then counted as sent."""
        from fdbcore.analysis.transcripts import seconds_to_hear
        from fdbcore.runs.estimates import expected_usd

        seconds = seconds_to_hear(reading, self._source, self._language)
        expected = self._spent_usd + (expected_usd(self._source.services(), seconds) or 0.0)
        if expected > self._limit_usd:
            return False
        self._spent_usd = expected
        return True


def print_costs(calls: Sequence[Call], source: WordSource, language: str) -> int:
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
