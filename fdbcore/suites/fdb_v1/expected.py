"""What scoring would ask of recognisers and of the judge, before it does: audio, requests, tokens and money."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fdbcore.analysis.transcripts import seconds_to_hear
from fdbcore.measures.reading import Reading
from fdbcore.report.format import counted
from fdbcore.runs.estimates import expected_use
from fdbcore.runs.expected_words import expected_hearing
from fdbcore.suites.fdb_v1.calls import HeardSample, heard_samples
from fdbcore.suites.fdb_v1.hearing import LANGUAGE
from fdbcore.suites.fdb_v1.judging import RUBRICS, raters_of
from fdbcore.suites.fdb_v1.samples import INTERRUPTION, V1, Version
from fdbcore.suites.fdb_v1.scoring import ScoringWith
from fdbcore.types import SIDES, Side
from fdbcore.types.usage import ExpectedUse, Unit

TOKENS_IN: Final = {"fdb-v1": 400, "fdb-v1.5": 900}
"""About what a judge reads for a sample: the rubric, and the words of one side, or of both twice."""
TOKENS_OUT: Final = 60


def expected(
    version: Version, paths: Sequence[Path], options: Mapping[str, Any], show: Callable[[str], None]
) -> Iterator[ExpectedUse]:
    """What `score` would ask with these arguments; of the judge at most so much, as if nothing were answered yet.

    Outputs that exist are read into a temporary folder. Errors as of `score`.
    """
    scoring = ScoringWith.of(options)
    if not scoring.sources and not scoring.judging.judges:
        return
    with TemporaryDirectory(prefix="fdbcore-expected-") as folder:
        cases, _ = heard_samples(version, paths, Path(folder), show)
        sides: Sequence[Side] = SIDES if version != V1 and scoring.judging.judges else ("B",)
        for source in scoring.sources.values():
            seconds = [seconds_to_hear(Reading(case.path), source, LANGUAGE, sides) for case in cases]
            yield expected_hearing(source, "sample", seconds)
        for judge in scoring.judging.judges:
            questions = len(RUBRICS[version]) * sum(each is judge for each, _ in raters_of(scoring.judging).values())
            n = sum(_is_judged(version, case) for case in cases) * questions * scoring.judging.repeats
            counts: dict[Unit, float] = {"text_in_tokens": n * TOKENS_IN[version], "text_out_tokens": n * TOKENS_OUT}
            name = f"{judge.name} ({counted(questions, 'question')} a sample)"
            yield expected_use(name, "question", n, n, counts, judge.services())


def _is_judged(version: Version, case: HeardSample) -> bool:
    """Whether the judge may be asked about a sample."""
    return case.sample.task == INTERRUPTION if version == V1 else not case.sample.is_clean
