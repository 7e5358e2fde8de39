"""Transcribers and judges of samples, and what they would be asked: how a reply fits an interruption (v1), and what the
system did after an overlap (v1.5), by the published rule and by its corrected twin.

Words are those that lie beside released outputs, and those of transcribers that the user names. The rubrics are in our
own words (data/rubrics.toml). An answer that cannot be used is asked again, and is then missing, never a zero.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, NamedTuple, Self, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from fdbcore.analysis import CallToHear, JudgingSpent, hear_calls
from fdbcore.errors import FdbError, SettingsError, told_as
from fdbcore.measures import Reading, Segment
from fdbcore.protocols import Judge, UsesServers
from fdbcore.protocols.suite import Show
from fdbcore.recording import read_json
from fdbcore.registry import vad
from fdbcore.report import counted
from fdbcore.runs import JUDGED, JudgeOptions, JudgeQuestion, JudgeRequest, KeptAnswers, expected_use, expected_words
from fdbcore.runtime import number_of, redacted
from fdbcore.sources import WordSource, word_sources_of
from fdbcore.stats import agreement
from fdbcore.suites.fdb_v1.measures import BEHAVIOURS, OUR_BEHAVIOURS
from fdbcore.suites.fdb_v1.sample_values import Figures
from fdbcore.suites.fdb_v1.samples import INTERRUPTION, V1, HeardSample, Version, by_clean, compared_s, heard_samples
from fdbcore.types import SIDES, Problem, Rubric, Side, object_schema
from fdbcore.types.scorecard import Figure
from fdbcore.types.usage import ExpectedUse, Unit

RELEASED: Final = "output.json"
"""The name of words beside released outputs; those of the user are in input.json, of clean ones in clean_*."""
LANGUAGE: Final = "en"
BEYOND_S: Final = 0.5
"""So far before or after the audio a transcriber may place a word; further off, its time is of something else."""
PAUSE_S: Final = 0.5
"""A longer pause between words begins a new line of what a judge reads."""

ANSWERS: Final[Mapping[str, Sequence[int | str]]] = {
    "rating": range(6),
    "behaviour": list(BEHAVIOURS),
    "did": list(OUR_BEHAVIOURS),
}
"""Answers that a judge may give by each rubric; behaviour: by the published rule, did: by ours."""
RUBRICS: Final[Mapping[Version, Sequence[str]]] = {"fdb-v1": ["rating"], "fdb-v1.5": ["behaviour", "did"]}
"""Rubrics of each sample."""
TOLD: Final = {"rating": "rating", "behaviour": "behaviour, as published", "did": "behaviour, ours"}
"""The rubrics in words."""
REASONS: Final = {"rating": "reason", "behaviour": "reason", "did": "did_reason"}
SILENT: Final[Mapping[str, Any]] = {"rating": 0, "reason": "it said nothing"}
Evidence: TypeAlias = Mapping[str, Any]
Marks: TypeAlias = Mapping[Path, Mapping[str, Any]]
"""By recording: the answer by each rubric, and its reason by the name in REASONS."""
TOKENS_IN: Final = {"fdb-v1": 400, "fdb-v1.5": 900}
"""Tokens that a judge reads for a sample, about: the rubric, and the words of one side, or of both twice."""
TOKENS_OUT: Final = 60


class SpokenWord(NamedTuple):
    """A word with its start and end in s."""

    text: str
    start_s: float
    end_s: float


Said: TypeAlias = Mapping[Side, Sequence[SpokenWord]]
"""The words of the sides that are known."""


def times(words: Sequence[SpokenWord]) -> list[Segment]:
    """The start and end of each word."""
    return [(word.start_s, word.end_s) for word in words]


def released_words(cases: Sequence[HeardSample]) -> tuple[dict[Path, Said], list[Problem]]:
    """The words as they lie beside the audio, by recording, where the system's do; and those with unusable times."""
    spoken = []
    for case in cases:
        reading = Reading(case.path)
        for side, name in zip(SIDES, ("input.json", RELEASED), strict=True):
            words, untimed = reading.spoken(side), reading.untimed_words(side)
            if words is not None or untimed:
                spoken.append((case, side, name, [SpokenWord(*word) for word in words or ()], untimed))
    found, problems = _usable(spoken)
    return {path: said for path, said in found.items() if "B" in said}, problems


def hear(
    cases: Sequence[HeardSample], source: WordSource, sides: Sequence[Side], jobs: int | None, show: Show
) -> tuple[dict[Path, Said], list[Problem]]:
    """The words of the samples by a transcriber, by recording, and why some have none; stored ones are used again.

    SettingsError if it gives no words with times.
    """
    heard = hear_calls(calls_to_hear(cases, sides), source, jobs, show, "samples")
    spoken = []
    for case in cases:
        for made in heard.transcripts.get(str(case.path), ()):
            words = [SpokenWord(word.text, word.start_ms / 1000, word.end_ms / 1000) for word in made.words]
            spoken.append((case, made.side, f"{source.name}, {made.side}", words, made.untimed))
    found, problems = _usable(spoken)
    return found, [*heard.problems, *problems]


def calls_to_hear(cases: Sequence[HeardSample], sides: Sequence[Side]) -> list[CallToHear]:
    """These sides of the samples."""
    return [CallToHear(str(case.path), case.path, sides, LANGUAGE) for case in cases]


def _usable(
    spoken: Iterable[tuple[HeardSample, Side, str, Sequence[SpokenWord], int]],
) -> tuple[dict[Path, Said], list[Problem]]:
    """The words that the rules read, by recording and side, and what is wrong with others; a side of which all are
    wrong is left out.

    spoken: a sample, its side, what its words are called, those with times, and how many have none.
    """
    found: dict[Path, dict[Side, list[SpokenWord]]] = {}
    problems = []
    for case, side, name, words, untimed in spoken:
        reading = Reading(case.path)
        length_s = reading.length_s(side)
        timed = [word for word in words if word.start_s >= -BEYOND_S and word.end_s <= length_s + BEYOND_S]
        n, bad = len(words) + untimed, len(words) + untimed - len(timed)
        if bad:
            why = f"expected words with times in s, within {length_s:.1f} s: {bad} of {n} have none such, left out"
            problems.append(Problem(str(case.path), f"{name}: {why}"))
        if not bad or timed:
            kept = [word for word in timed if word.start_s < compared_s(reading)]
            found.setdefault(case.path, {})[side] = kept
    return dict(found), problems


def lines(words: Sequence[SpokenWord]) -> list[dict[str, float | str]]:
    """Words as a judge reads them: stretches without a longer pause, with their times."""
    found: list[list[SpokenWord]] = []
    for word in words:
        if not found or word.start_s - found[-1][-1].end_s > PAUSE_S:
            found.append([])
        found[-1].append(word)
    return [
        {
            "from_s": round(line[0].start_s, 2),
            "to_s": round(line[-1].end_s, 2),
            "words": " ".join(word.text for word in line),
        }
        for line in found
    ]


class V1Agreement(Struct, frozen=True):
    """Agreement of another judge, or another wording, with the first one, on samples that both have marks of."""

    rubric: Annotated[str, Meta(description="rating; behaviour: as published; did: ours")]
    first: str
    second: str
    agree: Annotated[Figure, Meta(description="the share of equal answers")]
    kappa: Annotated[Figure, Meta(description="Cohen's; null if all answers are the same")]


def raters_of(options: JudgeOptions) -> dict[str, tuple[Judge, int]]:
    """The judges with their wordings, by name: the main one, the other judges, and the first with the other wording."""
    first, *others = options.wordings
    raters = [*((judge, first) for judge in options.judges), *((options.judges[0], each) for each in others)]
    return {
        f"{judge.name}{f', wording {wording + 1}' if wording else ''}": (judge, wording) for judge, wording in raters
    }


@cache
def rubric_of(name: str, wording: int) -> Rubric:
    """A wording of a rubric, from 0."""
    texts = tomllib.loads((files("fdbcore.suites.fdb_v1") / "data" / "rubrics.toml").read_text(encoding="utf-8"))
    kind = {"type": "integer"} if name == "rating" else {"type": "string", "enum": ANSWERS[name]}
    return Rubric(name, texts[name][wording], object_schema({name: kind, "reason": {"type": "string"}}))


def _check(name: str, marks: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    answer, known = marks[name], ANSWERS[name]
    if type(answer) is not type(known[0]) or answer not in known:
        raise TypeError(f"{name}: expected one of {', '.join(map(str, known))}, got {answer!r}")


def evidence_of(
    version: Version, cases: Sequence[HeardSample], words: Mapping[Path, Said]
) -> tuple[dict[Path, Evidence], int]:
    """The evidence for a judge on each sample, and how many others would need the words of both sides.

    Of v1 it is only about interruptions.
    """
    found: dict[Path, Evidence] = {}
    unheard = 0
    for case, clean in by_clean(cases):
        said, sample = words.get(case.path, {}), case.sample
        if version == V1:
            if sample.task == INTERRUPTION and "B" in said:
                after = [word for word in said["B"] if word.end_s > sample.spans[0][1]]
                found[case.path] = {"labels": dict(sample.texts[0]), "system": lines(after)}
        elif {"A", "B"} <= said.keys():
            calm = {} if clean is None else words.get(clean.path, {})
            (start_s, end_s), *_ = sample.spans
            found[case.path] = {
                "overlap": {"kind": sample.task, "from_s": start_s, "to_s": end_s, **sample.texts[0]},
                "user": lines(said["A"]),
                "system": lines(said["B"]),
                "user_without_overlap": lines(calm["A"]) if "A" in calm else None,
                "system_without_overlap": lines(calm["B"]) if "B" in calm else None,
            }
        else:
            unheard += 1
    return found, unheard


def judge_all(
    version: Version, evidence: Mapping[Path, Evidence], options: JudgeOptions, jobs: int | None, show: Show
) -> tuple[Mapping[str, Marks], JudgingSpent, list[Problem], str]:
    """The marks of each of `raters_of` (of several repeats the median rating, or the most frequent behaviour), what
    judging took, why marks are missing, and what was asked now, in words.

    The main rater is asked first, so that it is whole if the desk stops. About a system that says nothing after an
    interruption there is no question. Errors as of `ask_each_once`.
    """
    kept = {path: KeptAnswers(path / JUDGED) for path in evidence}
    silent = [path for path, own in evidence.items() if version == V1 and not own["system"]]
    raters = raters_of(options)
    asked = [
        (rater, path, name) for rater in raters for path in evidence if path not in silent for name in RUBRICS[version]
    ]
    questions = []
    for rater, path, name in asked:
        judge, wording = raters[rater]
        question = JudgeQuestion(rubric_of(name, wording), evidence[path], partial(_check, name))
        questions.append(JudgeRequest(kept[path], judge, question))
    answered = options.ask(questions, jobs, show)
    found = {rater: {path: dict(SILENT) if path in silent else {} for path in evidence} for rater in raters}
    problems = []
    for (rater, path, name), given in zip(asked, answered.answers, strict=True):
        if marks := [each.marks for each in given if each.marks is not None]:
            chosen = _middle(name, marks)
            found[rater][path] |= {name: chosen[name], REASONS[name]: chosen.get("reason", "")}
        else:
            problems.append(Problem(str(path), f"not judged by {rater} ({name}): {given[0].reason}"))
    return found, answered.spent, problems, answered.told


def _middle(name: str, marks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    given = [each[name] for each in marks]
    if name == "rating":
        return marks[given.index(sorted(given)[(len(given) - 1) // 2])]
    return marks[given.index(max(dict.fromkeys(given), key=given.count))]


def agreement_of(cases: Sequence[HeardSample], found: Mapping[str, Marks]) -> Iterator[V1Agreement]:
    """The agreement of each other rater with the main one, by rubric."""
    samples = {case.path: case.sample.name for case in cases}
    (main, first), *others = found.items() or [("", {})]
    for other, second in others:
        for name, known in ANSWERS.items():
            both = [path for path in first if name in first[path] and name in second[path]]
            if both:
                places = [[known.index(own[path][name]) for own in (first, second)] for path in both]
                counts = np.eye(len(known) ** 2)[[a * len(known) + b for a, b in places]]
                agree, kappa = (
                    Figure(each.value, None, each.interval, len(both))
                    for each in agreement(counts, [samples[path] for path in both])
                )
                yield V1Agreement(name, main, other, agree, kappa)


def figures_of(marks: Mapping[str, Any], took_over: bool) -> Figures:
    """The values of the judged measures. took_over: by words; as published, v1 rates no others."""
    found: dict[str, list[float]] = {}
    if "rating" in marks:
        found = {name: [float(marks["rating"])] for name in ("rating", *(["compat_rating"] if took_over else []))}
    if "behaviour" in marks:
        found = {f"compat_{name}": [float(marks["behaviour"] == name)] for name in BEHAVIOURS}
    if "did" in marks:
        found |= {name: [float(marks["did"] == name)] for name in OUR_BEHAVIOURS}
    return found


@dataclass(frozen=True, slots=True)
class ScoringWith:
    """The transcribers, by name; which other detectors; who judges; the backchannels of people by sample, and their
    file; the command of a quality; whether the published table is shown.
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
        addresses = list(dict.fromkeys(options["transcriber"]))
        sources = dict(zip(map(redacted, addresses), word_sources_of(addresses), strict=True))
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
        found = {str(name): [number_of(count) for count in counts] for name, counts in read_json(file).items()}
    except (FdbError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"--human {file}: expected JSON of the form {{ID: [COUNT, ...]}}, got {error}") from None
    for name, counts in found.items():
        if len(counts) < 2 or min(counts) < 0:
            got = ", ".join(f"{count:g}" for count in counts[:5]) or "none"
            raise SettingsError(f"--human {file}: {name}: expected two counts or more, none below 0; got {got}")
    return found


def asked(options: Mapping[str, Any], paths: Sequence[Path] = ()) -> list[UsesServers]:
    """The transcribers and the judges; see `Suite.asked`."""
    scoring = ScoringWith.of(options)
    return [*scoring.sources.values(), *scoring.judging.judges]


def expected(
    version: Version, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Show
) -> Iterator[ExpectedUse]:
    """Expected requests with these arguments; to the judge at most so many, as if nothing were answered yet.

    Outputs that exist are read into a temporary folder. Errors as of `score`.
    """
    scoring = ScoringWith.of(options)
    if not scoring.sources and not scoring.judging.judges:
        return
    with TemporaryDirectory(prefix="fdbcore-expected-") as folder:
        cases, _ = heard_samples(version, paths, Path(folder), show)
        for source in scoring.sources.values():
            yield expected_words(calls_to_hear(cases, scoring.sides(version)), source, "sample")[0]
        samples = [case.sample for case in cases]
        judged = sum(each.task == INTERRUPTION if version == V1 else not each.is_clean for each in samples)
        for judge in scoring.judging.judges:
            questions = len(RUBRICS[version]) * sum(each is judge for each, _ in raters_of(scoring.judging).values())
            n = judged * questions * scoring.judging.repeats
            counts: dict[Unit, float] = {"text_in_tokens": n * TOKENS_IN[version], "text_out_tokens": n * TOKENS_OUT}
            name = f"{judge.name} ({counted(questions, 'question')} a sample)"
            yield expected_use(name, "question", n, n, counts, judge.services())
