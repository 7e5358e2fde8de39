"""What the options of scoring say: who hears, who judges; and what they would be asked, before they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from fdbcore.analysis.transcripts import seconds_to_hear
from fdbcore.errors import FdbError, SettingsError, told_as
from fdbcore.measures.reading import Reading
from fdbcore.protocols.suite import Show
from fdbcore.recording.files import read_json
from fdbcore.registry import vad
from fdbcore.report.format import counted
from fdbcore.runs.estimates import expected_use
from fdbcore.runs.expected_words import expected_hearing
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.runtime.redaction import redacted
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.suites.fdb_v1.calls import heard_samples
from fdbcore.suites.fdb_v1.hearing import LANGUAGE
from fdbcore.suites.fdb_v1.judging import RUBRICS, raters_of
from fdbcore.suites.fdb_v1.samples import INTERRUPTION, V1, Version
from fdbcore.types import SIDES, Side
from fdbcore.types.usage import ExpectedUse, Unit

TOKENS_IN: Final = {"fdb-v1": 400, "fdb-v1.5": 900}
"""About what a judge reads for a sample: the rubric, and the words of one side, or of both twice."""
TOKENS_OUT: Final = 60


@dataclass(frozen=True, slots=True)
class ScoringWith:
    """Who hears, by name; which other detectors; who judges; the backchannels of people by sample, and their file; the
    command of a quality; whether the published table is shown.
    """

    sources: Mapping[str, WordSource]
    detectors: Sequence[str]
    judging: JudgeOptions
    human: Mapping[str, Sequence[float]]
    human_file: str | None
    utmos: str | None
    published: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """By the options of the suite. SettingsError for what is unknown, or cannot be used."""
        with told_as("--transcriber", "asr"):
            sources = {redacted(address): word_source(address) for address in dict.fromkeys(options["transcriber"])}
        detectors = list(dict.fromkeys(options["vad"]))
        with told_as("--vad", "vad"):
            for name in detectors:
                vad(name)
        judges, file = JudgeOptions.of(options), options.get("human")
        human, human_file = ({}, None) if file is None else (_human(file), str(file))
        utmos, published = options.get("utmos"), bool(options.get("published"))
        return cls(sources, detectors, judges, human, human_file, utmos, published)

    def sides(self, version: Version) -> Sequence[Side]:
        """The sides whose words are wanted: of v1.5 a judge reads both."""
        return SIDES if version != V1 and self.judging.judges else ("B",)


def _human(file: Path) -> dict[str, list[float]]:
    """The histograms of people by the id of the sample. SettingsError if the file is of another form."""
    try:
        found = {str(name): [float(count) for count in counts] for name, counts in read_json(file).items()}
    except (FdbError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"--human {file}: expected JSON of the form {{ID: [COUNT, ...]}}, got {error}") from None
    for name, counts in found.items():
        if len(counts) < 2 or not all(0 <= count < math.inf for count in counts):
            got = ", ".join(f"{count:g}" for count in counts[:5]) or "none"
            raise SettingsError(f"--human {file}: {name}: expected two counts or more, none below 0; got {got}")
    return found


def expected(version: Version, paths: Sequence[Path], options: Mapping[str, Any], show: Show) -> Iterator[ExpectedUse]:
    """What `score` would ask with these arguments; of the judge at most so much, as if nothing were answered yet.

    Outputs that exist are read into a temporary folder. Errors as of `score`.
    """
    scoring = ScoringWith.of(options)
    if not scoring.sources and not scoring.judging.judges:
        return
    with TemporaryDirectory(prefix="fdbcore-expected-") as folder:
        cases, _ = heard_samples(version, paths, Path(folder), show)
        for source in scoring.sources.values():
            sides = scoring.sides(version)
            seconds = [seconds_to_hear(Reading(case.path), source, LANGUAGE, sides) for case in cases]
            yield expected_hearing(source, "sample", seconds)
        samples = [case.sample for case in cases]
        judged = sum(each.task == INTERRUPTION if version == V1 else not each.is_clean for each in samples)
        for judge in scoring.judging.judges:
            questions = len(RUBRICS[version]) * sum(each is judge for each, _ in raters_of(scoring.judging).values())
            n = judged * questions * scoring.judging.repeats
            counts: dict[Unit, float] = {"text_in_tokens": n * TOKENS_IN[version], "text_out_tokens": n * TOKENS_OUT}
            name = f"{judge.name} ({counted(questions, 'question')} a sample)"
            yield expected_use(name, "question", n, n, counts, judge.services())
