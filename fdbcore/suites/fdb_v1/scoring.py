"""Scores of recorded users: the document of everything that can be computed from runs and folders of outputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from fdbcore._version import __version__
from fdbcore.analysis.sensitivity import activity_by
from fdbcore.errors import FdbError, InputError, SettingsError, told_as
from fdbcore.measures.compat import Segment, segments, silero_segments
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.measures.reading import Reading
from fdbcore.measures.silero_track import (
    RATE_HZ,
    file_rate_hz,
    file_samples,
    probabilities_of,
    probabilities_of_files,
)
from fdbcore.recording.files import read_json
from fdbcore.registry import vad
from fdbcore.report.format import counted
from fdbcore.report.glossary import EXCLUSIONS
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.runtime.redaction import redacted
from fdbcore.session.turns import detect_turns
from fdbcore.sources.recorded import settings_of
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED
from fdbcore.stats.significance import POWER
from fdbcore.suites.fdb_v1 import judging
from fdbcore.suites.fdb_v1.calls import HeardSample, compared_s, heard_samples
from fdbcore.suites.fdb_v1.features import NO_SOUND, Sound, lacking, rates, sound_of
from fdbcore.suites.fdb_v1.figures import Figures, Hearings, excluded_pauses, of_activity, of_segments, of_words
from fdbcore.suites.fdb_v1.hearing import RELEASED, Said, hear, released_words, times
from fdbcore.suites.fdb_v1.measures import AT_16_KHZ
from fdbcore.suites.fdb_v1.paired import tests_of
from fdbcore.suites.fdb_v1.published import published_rows
from fdbcore.suites.fdb_v1.rows import comparisons_of, ranges_of, rows_of
from fdbcore.suites.fdb_v1.rules import tenths
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, V1, UserSample, Version
from fdbcore.types import SIDES, TICKS_PER_S, Problem
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1Document, V1Item

SCHEMA: Final = "fdbcore.fdb_v1/1"
DEFAULT_REQUESTS: Final = 4
ONLY_ECHO: Final = (
    "all that was heard of the system is echo of the user: unscored by our measures; "
    "those as published count it as speech"
)


@dataclass(frozen=True, slots=True)
class ScoringWith:
    """Who hears, by name; which other detectors; who judges; the backchannels of people by sample; the command of a
    quality; whether the published table is shown.
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
        with told_as("--detector", "vad"):
            for name in options["detector"]:
                vad(name)
        judges = JudgeOptions.of(options)
        file = options.get("human")
        human = {} if file is None else _human(file)
        return cls(
            sources, list(dict.fromkeys(options["detector"])), judges, human, None if file is None else str(file),
            options.get("utmos"), bool(options.get("published")),
        )  # fmt: skip


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


@dataclass(slots=True)
class _Heard:
    """What is known of a sample's audio: Silero's segments of both sides in s, as far as the rules read them; and those
    of a backchannel as v1 takes them.
    """

    user: list[Segment]
    system: list[Segment]
    hearings: Hearings
    length_s: float


@dataclass(slots=True)
class _Work:
    """What scoring has found so far."""

    version: Version
    cases: list[HeardSample]
    problems: list[Problem]
    heard: dict[Path, _Heard] = field(default_factory=dict)
    figures: dict[Path, dict[str, Sequence[float]]] = field(default_factory=dict)
    words: dict[str, Mapping[Path, Said]] = field(default_factory=dict)
    marks: judging.Marks = field(default_factory=dict)
    by_rater: Mapping[str, judging.Marks] = field(default_factory=dict)
    sounds: dict[Path, Sound] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def main_words(self) -> Mapping[Path, Said]:
        """Those of the first source."""
        return next(iter(self.words.values()), {})


def score(
    version: Version,
    paths: Sequence[Path],
    options: Mapping[str, Any],
    jobs: int | None,
    out: Path,
    show: Callable[[str], None],
) -> Scored:
    """The document of all samples of runs and folders; see `Suite.score`."""
    scoring = ScoringWith.of(options)
    cases, problems = heard_samples(version, paths, out, show)
    work = _Work(version, cases, problems)
    _look(work, scoring, show)
    _take_words(work, scoring, jobs, show)
    told, judged = _judge(work, scoring, jobs, show)
    if version != V1:
        _compare_sound(work, scoring, show)
    detectors, by_detector = _other_detectors(work, scoring, show)
    scored = [(case, work.figures[case.path]) for case in work.cases]
    compared = comparisons_of(version, scored)
    by_words = {
        name: [(case, _by_words(work, case, words)) for case in work.cases if case.path in words]
        for name, words in list(work.words.items())[1:]
    }
    by_judge = {
        name: [(case, _by_judge(work, case, marks)) for case in work.cases if case.path in marks]
        for name, marks in list(work.by_rater.items())[1:]
    }
    document: V1Document = {
        "schema": "fdbcore.fdb_v1/1",
        "version": version,
        "settings": {
            "fdbcore": __version__,
            "transcribers": list(work.words),
            "detectors": detectors,
            "judge": next(iter(work.by_rater), None),
            "human": scoring.human_file,
            "utmos": scoring.utmos,
            "resamples": RESAMPLES,
            "seed": SEED,
            "level": LEVEL,
            "power": POWER,
            "family": sum(one["p"] is not None for one in compared),
        },
        "rows": rows_of(version, scored),
        "comparisons": compared,
        "ranges": [
            *ranges_of(version, scored, "transcriber", by_words, next(iter(work.words), "")),
            *ranges_of(version, scored, "detector", by_detector, detectors[0]),
            *ranges_of(version, scored, "judge", by_judge, next(iter(work.by_rater), "")),
        ],
        "tests": tests_of(work.cases, work.sounds, work.marks),
        "published": published_rows(version) if scoring.published else [],
        "judging": judged,
        "agreement": list(judging.agreement_of(work.cases, work.by_rater)),
        "items": [_item(work, case) for case in work.cases],
        "problems": [{"where": each.where, "reason": each.reason} for each in work.problems],
        "warnings": work.warnings,
    }
    return Scored(cast("Mapping[str, Any]", document), told=told)


def _look(work: _Work, scoring: ScoringWith, show: Callable[[str], None]) -> None:
    """What needs neither words nor a judge. A recording that cannot be read becomes a problem."""
    readable = []
    lacks_human, excluded = 0, Counter[str]()
    for number, case in enumerate(work.cases, 1):
        show(f"{number} of {len(work.cases)} samples measured")
        try:
            reading = Reading(case.path)
            heard = _heard(reading, case.sample)
            human = scoring.human.get(case.sample.id, scoring.human.get(_number(case.sample)))
            lacks_human += case.sample.task == BACKCHANNEL and work.version == V1 and human is None
            figures = {
                **({} if _is_only_echo(reading) else of_activity(work.version, case.sample, reading.dialogue)),
                **of_segments(
                    work.version, case.sample, heard.user, heard.system, heard.hearings, heard.length_s, human
                ),
            }
        except FdbError as error:
            work.problems.append(Problem(str(case.path), str(error).removeprefix(f"{case.path}: ")))
            continue
        readable.append(case)
        if _is_only_echo(reading):
            work.problems.append(Problem(str(case.path), ONLY_ECHO))
        else:
            excluded += excluded_pauses(case.sample, reading.dialogue)
        work.heard[case.path], work.figures[case.path] = heard, figures
    if not readable:
        raise InputError(f"expected recordings that can be read, got none: {work.problems[0].reason}")
    work.cases = readable
    if excluded:
        told = ", ".join(f"{EXCLUSIONS[why]} ({n:,})" for why, n in excluded.items())
        work.warnings.append(f"cut-offs: {counted(excluded.total(), 'pause')} left out: {told}")
    if lacks_human:
        work.warnings.append(
            f"JSD: unscored of {lacks_human} samples, whose backchannels of people are not known: "
            "--human FILE names them, as {ID: [COUNT, ...]}"
        )


def _is_only_echo(reading: Reading) -> bool:
    """Whether the system was heard, and nothing of it but the user's echo: what it did itself is not known."""
    return bool(reading.suspect_spans["B"]) and not len(reading.dialogue.ipus["B"])


def _number(sample: UserSample) -> str:
    """The id of a sample in its folder, without that of the folder."""
    return sample.id.removeprefix(f"{sample.group}-")


def _heard(reading: Reading, sample: UserSample) -> _Heard:
    length_s = compared_s(reading)
    user, system = (
        [
            (start_s, min(end_s, length_s))
            for span in silero_segments(reading, side, track)
            for start_s, end_s in span
            if start_s < length_s
        ]
        for side, track in zip(SIDES, probabilities_of_files(reading), strict=True)
    )
    hearings = {"": tenths(system, length_s)}
    if sample.task == BACKCHANNEL and file_rate_hz(reading, "B") not in (None, RATE_HZ):
        pcm = file_samples(reading, "B")
        slow_s = len(pcm) / RATE_HZ
        hearings[AT_16_KHZ] = tenths(segments(probabilities_of(pcm), slow_s), slow_s)
    return _Heard(user, system, hearings, length_s)


def _take_words(work: _Work, scoring: ScoringWith, jobs: int | None, show: Callable[[str], None]) -> None:
    both = work.version != V1 and bool(scoring.judging.judges)
    for name, source in scoring.sources.items():
        found, problems = hear(work.cases, source, both, jobs, show)
        work.words[name] = found
        work.problems += problems
    released, problems = released_words(work.cases)
    work.problems += problems
    if released:
        work.words[RELEASED] = released
    for case in work.cases:
        work.figures[case.path].update(_by_words(work, case, work.main_words))
    if not work.words:
        what = "takeover by words and latency" if work.version == V1 else "speaking rate and behaviour"
        work.warnings.append(f"{what}: left out, no words are known: --transcriber whisper hears them")
    elif unheard := sum("B" not in work.main_words.get(case.path, {}) for case in work.cases):
        work.warnings.append(
            f"{unheard} samples have no words by {next(iter(work.words))}: measures by words leave them out"
        )


def _by_words(work: _Work, case: HeardSample, words: Mapping[Path, Said]) -> Figures:
    said = words.get(case.path, {}).get("B")
    if said is None:
        return {}
    if work.version != V1:
        found = rates(times(said), case.sample.spans[0][1], work.heard[case.path].length_s)
        return found.figures(case.sample.is_clean)
    return of_words(work.version, case.sample, times(said), work.heard[case.path].hearings)


def _judge(work: _Work, scoring: ScoringWith, jobs: int | None, show: Callable[[str], None]) -> tuple[list[str], Any]:
    """Takes the marks in; what was asked, in lines, and as JSON values."""
    if not scoring.judging.judges:
        what = "rating of replies to interruptions" if work.version == V1 else "behaviour after the overlap"
        work.warnings.append(f"{what}: left out without --judge")
        return [], None
    asked = {}
    for wording in scoring.judging.wordings:
        asked[wording], unheard = judging.questions_of(work.version, work.cases, work.main_words, wording)
    if unheard:
        work.warnings.append(f"{unheard} samples are not judged: expected the words of both sides (--transcriber)")
    asking = (scoring.judging, jobs or DEFAULT_REQUESTS, show)
    work.by_rater, spent, unanswered, told = judging.judge_all(work.cases, asked, *asking)
    work.marks = next(iter(work.by_rater.values()))
    work.problems += unanswered
    for case in work.cases:
        work.figures[case.path].update(_by_judge(work, case, work.marks))
    return [told], spent


def _by_judge(work: _Work, case: HeardSample, marks: judging.Marks) -> Figures:
    took_over = any(work.figures[case.path].get("compat_takeover_wanted", ()))
    return judging.figures_of(marks.get(case.path, {}), took_over)


def _compare_sound(work: _Work, scoring: ScoringWith, show: Callable[[str], None]) -> None:
    """Takes in how the systems sound before and after the overlap."""
    why = lacking()
    if why:
        work.warnings.append(f"{why}; the rate of speaking is scored where words are known")
    if scoring.utmos is None:
        work.warnings.append(
            "quality before and after: left out without --utmos COMMAND, which prints it of a WAV file"
        )
    commands = [*([] if why else [None]), *([] if scoring.utmos is None else [scoring.utmos])]
    for number, case in enumerate(work.cases, 1):
        show(f"{number} of {len(work.cases)} samples compared before and after")
        end_s, said = case.sample.spans[0][1], work.main_words.get(case.path, {}).get("B")
        words = None if said is None else times(said)
        found = NO_SOUND if words is None else rates(words, end_s, work.heard[case.path].length_s)
        for command in commands:
            try:
                found = found.with_more(sound_of(Reading(case.path), words, end_s, command))
            except SettingsError:
                raise
            except FdbError as error:
                work.problems.append(Problem(str(case.path), f"before and after: {error}"))
        work.sounds[case.path] = found
        work.figures[case.path].update(found.figures(case.sample.is_clean))


def _other_detectors(
    work: _Work, scoring: ScoringWith, show: Callable[[str], None]
) -> tuple[list[str], dict[str, list[tuple[HeardSample, Figures]]]]:
    """The names of all detectors, that of the recordings first; and our figures by each other one."""
    own = str(Reading(work.cases[0].path).meta["settings"]["vad"]["B"]["name"])
    names = [name for name in scoring.detectors if name != own]
    found: dict[str, list[tuple[HeardSample, Figures]]] = {}
    for name in names:
        for number, case in enumerate(work.cases, 1):
            show(f"{name}: {number} of {len(work.cases)} samples")
            reading = Reading(case.path)
            try:
                dialogue = _by_detector(reading, name)
            except FdbError as error:
                work.problems.append(Problem(str(case.path), f"not heard by {name}: {error}"))
                continue
            if _is_only_echo(reading):
                continue
            found.setdefault(name, []).append((case, of_activity(work.version, case.sample, dialogue)))
    return [own, *names], found


def _by_detector(reading: Reading, detector: str) -> Dialogue:
    settings = settings_of(reading)
    activity = echo_free_activity(activity_by(reading, detector), reading.suspect_spans)
    return replace(reading.dialogue, detected=detect_turns(*activity, settings, kept=reading.kept))


def _item(work: _Work, case: HeardSample) -> V1Item:
    reading = Reading(case.path)
    said = work.main_words.get(case.path, {}).get("B")
    user, system = (list(_in_s(reading.dialogue.ipus[side].tolist())) for side in SIDES)
    item: V1Item = {
        "call": str(case.path),
        "condition": case.sample.condition,
        "group": case.sample.group,
        "sample": case.sample.id,
        "system": case.system,
        "trial": case.trial,
        "length_s": reading.n_ticks / TICKS_PER_S,
        "labels": [(start_s, end_s) for start_s, end_s in case.sample.spans],
        "user": user,
        "system_speech": system,
        "words": None if said is None else " ".join(word.text for word in said),
        "marks": dict(work.marks.get(case.path, ())) or None,
        "figures": {name: list(items) for name, items in work.figures[case.path].items()},
    }
    if case.path in work.sounds:
        sound = work.sounds[case.path]
        item |= {"whole": sound.whole} if case.sample.is_clean else {"before": sound.before, "after": sound.after}
    return item


def _in_s(spans: Sequence[Sequence[int]]) -> Iterator[tuple[float, float]]:
    yield from ((start / TICKS_PER_S, end / TICKS_PER_S) for start, end in spans)
