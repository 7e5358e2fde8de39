"""Scores of recorded users: the document of everything that can be computed from runs and folders of outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from fdbcore.analysis.judging_types import JudgingSpent
from fdbcore.analysis.sensitivity import activity_by
from fdbcore.errors import FdbError, InputError, SettingsError
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
from fdbcore.report.format import counted
from fdbcore.report.glossary import EXCLUSIONS
from fdbcore.results.comparing import differences, every_two
from fdbcore.results.document import PooledWith, Scores, problem_entries
from fdbcore.results.pooling import rows_of, with_sd
from fdbcore.session.turns import detect_turns
from fdbcore.sources.recorded import settings_of
from fdbcore.suites.fdb_v1 import judging
from fdbcore.suites.fdb_v1.calls import HeardSample, compared_s, heard_samples
from fdbcore.suites.fdb_v1.features import NO_SOUND, Sound, lacking, rates, sound_of
from fdbcore.suites.fdb_v1.figures import (
    Figures,
    Hearings,
    excluded_pauses,
    of_activity,
    of_segments,
    of_words,
    tenths,
)
from fdbcore.suites.fdb_v1.hearing import RELEASED, Said, SpokenWord, hear, released_words, times
from fdbcore.suites.fdb_v1.judging import V1Agreement
from fdbcore.suites.fdb_v1.measures import AT_16_KHZ, MEASURES
from fdbcore.suites.fdb_v1.options import ScoringWith
from fdbcore.suites.fdb_v1.over_samples import (
    V1PairedTest,
    V1Range,
    items_of,
    published_rows,
    ranges_of,
    tests_of,
)
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, V1, Version
from fdbcore.types import SIDES, TICKS_PER_S, Problem
from fdbcore.types.scorecard import Scored

DEFAULT_REQUESTS: Final = 4
ONLY_ECHO: Final = (
    "all that was heard of the system is echo of the user: unscored by our measures; "
    "those as published count it as speech"
)


class V1Item(Struct, frozen=True):
    """One sample with one system. Times are in s; spans are from start to end."""

    call: str
    condition: str
    group: str
    sample: str
    system: str
    trial: int
    length_s: float
    labels: list[Segment]
    user: Annotated[list[Segment], Meta(description="where the user speaks, by voice activity")]
    system_speech: list[Segment]
    words: Annotated[str | None, Meta(description="of the system; null if they are not known")]
    marks: Annotated[dict[str, Any] | None, Meta(description="of the judge; did: by our rubric of behaviours")]
    figures: dict[str, list[float]]
    before: Annotated[dict[str, float], Meta(description="as published; v1.5, disturbed")] | UnsetType = UNSET
    after: dict[str, float] | UnsetType = UNSET
    whole: Annotated[dict[str, float], Meta(description="as published; v1.5, clean")] | UnsetType = UNSET


class V1Settings(PooledWith, frozen=True, kw_only=True):
    """What scored."""

    transcribers: list[str]
    detectors: Annotated[list[str], Meta(description="the first is that of the recordings")]
    judge: str | None
    human: Annotated[str | None, Meta(description="the file with the backchannels of people")]
    utmos: str | None


class V1Document(Scores, frozen=True, kw_only=True):
    """The scores of recorded users of v1 or v1.5. A condition is a task; of v1.5 whether the user was disturbed, too. A
    subset is a folder of samples."""

    schema: Literal["fdbcore.fdb_v1/2"] = "fdbcore.fdb_v1/2"
    version: Version
    settings: V1Settings
    ranges: list[V1Range]
    tests: list[V1PairedTest]
    judging: JudgingSpent | None
    agreement: list[V1Agreement]
    items: list[V1Item]


@dataclass(slots=True)
class _Measured:
    """A sample, the segments of the system as v1 takes them, how much of its audio the rules read, whether all that was
    heard of it is the user's echo (so that what it did itself is not known), and the figures so far.
    """

    case: HeardSample
    hearings: Hearings
    length_s: float
    is_only_echo: bool
    figures: dict[str, Sequence[float]]
    sound: Sound | None = None


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
    work = _Scoring(version, scoring, cases, problems, show)
    work.look()
    work.take_words(jobs)
    told = work.judge(jobs or DEFAULT_REQUESTS)
    if version != V1:
        work.compare_sound()
    return Scored(to_builtins(work.document()), told=told)


@dataclass(slots=True)
class _Scoring:
    """A scoring under way: with what, and what it has found so far. measured: of the cases that can be read. words,
    marks: by who hears or judges, then by recording; the first is the one of the tables.
    """

    version: Version
    scoring: ScoringWith
    cases: Sequence[HeardSample]
    problems: list[Problem]
    show: Callable[[str], None]
    warnings: list[str] = field(default_factory=list)
    measured: dict[Path, _Measured] = field(default_factory=dict)
    words: dict[str, Mapping[Path, Said]] = field(default_factory=dict)
    marks: Mapping[str, judging.Marks] = field(default_factory=dict)
    judged: JudgingSpent | None = None

    def look(self) -> None:
        """What needs neither words nor a judge. A recording that cannot be read becomes a problem."""
        lacks_human, excluded = 0, Counter[str]()
        for number, case in enumerate(self.cases, 1):
            self.show(f"{number} of {len(self.cases)} samples measured")
            try:
                reading, in_folder = Reading(case.path), case.sample.id.removeprefix(f"{case.sample.group}-")
                human = self.scoring.human.get(case.sample.id, self.scoring.human.get(in_folder))
                found = _measured(self.version, case, reading, human)
            except FdbError as error:
                self._leave_out(case, str(error).removeprefix(f"{case.path}: "))
                continue
            lacks_human += case.sample.task == BACKCHANNEL and self.version == V1 and human is None
            if found.is_only_echo:
                self._leave_out(case, ONLY_ECHO)
            else:
                excluded += excluded_pauses(case.sample, reading.dialogue)
            self.measured[case.path] = found
        self.cases = [each.case for each in self.measured.values()]
        if not self.cases:
            raise InputError(f"expected recordings that can be read, got none: {self.problems[0].reason}")
        if excluded:
            told = ", ".join(f"{EXCLUSIONS[why]} ({n:,})" for why, n in excluded.items())
            self.warnings.append(f"cut-offs: {counted(excluded.total(), 'pause')} left out: {told}")
        if lacks_human:
            self.warnings.append(
                f"JSD: unscored of {lacks_human} samples, whose backchannels of people are not known: "
                "--human FILE names them, as {ID: [COUNT, ...]}"
            )

    def take_words(self, jobs: int | None) -> None:
        """The words of each recogniser, and those beside the audio; and what hangs on the first ones."""
        for name, source in self.scoring.sources.items():
            self.words[name], problems = hear(self.cases, source, self.scoring.sides(self.version), jobs, self.show)
            self.problems += problems
        released, problems = released_words(self.cases)
        self.problems += problems
        if released:
            self.words[RELEASED] = released
        for case in self.cases:
            self.measured[case.path].figures |= self._by_words(case, self._main_words)
        if not self.words:
            what = "takeover by words and latency" if self.version == V1 else "speaking rate and behaviour"
            self.warnings.append(f"{what}: left out, no words are known: --transcriber whisper hears them")
        elif unheard := sum(self._said(case) is None for case in self.cases):
            self.warnings.append(
                f"{unheard} samples have no words by {next(iter(self.words))}: measures by words leave them out"
            )

    def judge(self, jobs: int) -> list[str]:
        """Takes the marks in; what was asked, in lines."""
        if not self.scoring.judging.judges:
            what = "rating of replies to interruptions" if self.version == V1 else "behaviour after the overlap"
            self.warnings.append(f"{what}: left out without --judge")
            return []
        asked = {}
        for wording in self.scoring.judging.wordings:
            asked[wording], unheard = judging.questions_of(self.version, self.cases, self._main_words, wording)
        if unheard:
            self.warnings.append(f"{unheard} samples are not judged: expected the words of both sides (--transcriber)")
        self.marks, self.judged, unanswered, told = judging.judge_all(
            self.cases, asked, self.scoring.judging, jobs, self.show
        )
        self.problems += unanswered
        for case in self.cases:
            self.measured[case.path].figures |= self._by_judge(case, self._main_marks)
        return [told]

    def compare_sound(self) -> None:
        """Takes in how the systems sound before and after the overlap."""
        utmos = self.scoring.utmos
        if why := lacking():
            self.warnings.append(f"{why}; the rate of speaking is scored where words are known")
        if utmos is None:
            self.warnings.append(
                "quality before and after: left out without --utmos COMMAND, which prints it of a WAV file"
            )
        commands = [*([] if why else [None]), *([] if utmos is None else [utmos])]
        for number, case in enumerate(self.cases, 1):
            self.show(f"{number} of {len(self.cases)} samples compared before and after")
            own, end_s, said = self.measured[case.path], case.sample.spans[0][1], self._said(case)
            words = None if said is None else times(said)
            found = NO_SOUND if words is None else rates(words, end_s, own.length_s)
            for command in commands:
                try:
                    found = found.with_more(sound_of(Reading(case.path), words, end_s, command))
                except SettingsError:
                    raise
                except FdbError as error:
                    self._leave_out(case, f"before and after: {error}")
            own.sound = found
            own.figures |= found.figures(case.sample.is_clean)

    def document(self) -> V1Document:
        """The document, with what figures are by the other recognisers, detectors and judges."""
        items = items_of(self.version, [(each.case, each.figures) for each in self.measured.values()])
        compared = differences(every_two(items.values()), MEASURES)
        detectors, by_detector = self._other_detectors()
        transcribers, raters = list(self.words), list(self.marks)
        by_words = {
            name: {path: self._by_words(self.measured[path].case, self.words[name]) for path in self.words[name]}
            for name in transcribers[1:]
        }
        by_judge = {
            name: {path: self._by_judge(self.measured[path].case, self.marks[name]) for path in self.marks[name]}
            for name in raters[1:]
        }
        sounds = {path: each.sound for path, each in self.measured.items() if each.sound is not None}
        published = published_rows(self.version) if self.scoring.published else []
        folders = list(dict.fromkeys(case.sample.group for case in self.cases))
        return V1Document(
            version=self.version,
            settings=V1Settings(
                family=sum(one.p is not None for one in compared),
                transcribers=transcribers,
                detectors=detectors,
                judge=next(iter(raters), None),
                human=self.scoring.human_file,
                utmos=self.scoring.utmos,
            ),
            rows=[*rows_of(items.values(), MEASURES, folders, with_sd), *published],
            differences=compared,
            ranges=[
                *ranges_of("transcriber", items, transcribers, by_words),
                *ranges_of("detector", items, detectors, by_detector),
                *ranges_of("judge", items, raters, by_judge),
            ],
            tests=tests_of(self.cases, sounds, self._main_marks),
            judging=self.judged,
            agreement=list(judging.agreement_of(self.cases, self.marks)),
            items=[self._item(each) for each in self.measured.values()],
            problems=problem_entries(self.problems),
            warnings=self.warnings,
        )

    @property
    def _main_words(self) -> Mapping[Path, Said]:
        return next(iter(self.words.values()), {})

    @property
    def _main_marks(self) -> judging.Marks:
        return next(iter(self.marks.values()), {})

    def _said(self, case: HeardSample) -> Sequence[SpokenWord] | None:
        """The words of the system; None if they are not known."""
        return self._main_words.get(case.path, {}).get("B")

    def _leave_out(self, case: HeardSample, why: str) -> None:
        self.problems.append(Problem(str(case.path), why))

    def _by_words(self, case: HeardSample, words: Mapping[Path, Said]) -> Figures:
        said, own = words.get(case.path, {}).get("B"), self.measured[case.path]
        if said is None:
            return {}
        if self.version != V1:
            return rates(times(said), case.sample.spans[0][1], own.length_s).figures(case.sample.is_clean)
        return of_words(case.sample, times(said), own.hearings)

    def _by_judge(self, case: HeardSample, marks: judging.Marks) -> Figures:
        took_over = any(self.measured[case.path].figures.get("compat_takeover_wanted", ()))
        return judging.figures_of(marks.get(case.path, {}), took_over)

    def _other_detectors(self) -> tuple[list[str], dict[str, dict[Path, Figures]]]:
        """The names of all detectors, that of the recordings first; and our figures by each other one."""
        own = str(Reading(self.cases[0].path).meta["settings"]["vad"]["B"]["name"])
        names = [name for name in self.scoring.detectors if name != own]
        found: dict[str, dict[Path, Figures]] = {}
        for name in names:
            for number, case in enumerate(self.cases, 1):
                self.show(f"{name}: {number} of {len(self.cases)} samples")
                try:
                    dialogue = _by_detector(Reading(case.path), name)
                except FdbError as error:
                    self._leave_out(case, f"not heard by {name}: {error}")
                    continue
                if not self.measured[case.path].is_only_echo:
                    found.setdefault(name, {})[case.path] = of_activity(self.version, case.sample, dialogue)
        return [own, *names], found

    def _item(self, measured: _Measured) -> V1Item:
        case, sound = measured.case, measured.sound
        reading, said = Reading(case.path), self._said(case)
        user, system = (
            [(start / TICKS_PER_S, end / TICKS_PER_S) for start, end in reading.dialogue.ipus[side].tolist()]
            for side in SIDES
        )
        sides: dict[str, dict[str, float]] = {}
        if sound is not None:
            sides = {"whole": sound.whole} if case.sample.is_clean else {"before": sound.before, "after": sound.after}
        return V1Item(
            str(case.path), case.sample.condition, case.sample.group, case.sample.id, case.system, case.trial,
            length_s=reading.n_ticks / TICKS_PER_S,
            labels=[(start_s, end_s) for start_s, end_s in case.sample.spans],
            user=user,
            system_speech=system,
            words=None if said is None else " ".join(word.text for word in said),
            marks=dict(self._main_marks.get(case.path, ())) or None,
            figures={name: list(items) for name, items in measured.figures.items()},
            **sides,
        )  # fmt: skip


def _measured(version: Version, case: HeardSample, reading: Reading, human: Sequence[float] | None) -> _Measured:
    """A sample with the figures that need neither words nor a judge. human: see `of_segments`."""
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
    if case.sample.task == BACKCHANNEL and file_rate_hz(reading, "B") not in (None, RATE_HZ):
        pcm = file_samples(reading, "B")
        slow_s = len(pcm) / RATE_HZ
        hearings[AT_16_KHZ] = tenths(segments(probabilities_of(pcm), slow_s), slow_s)
    is_only_echo = bool(reading.suspect_spans["B"]) and not len(reading.dialogue.ipus["B"])
    ours = {} if is_only_echo else of_activity(version, case.sample, reading.dialogue)
    published = of_segments(version, case.sample, user, system, hearings, length_s, human)
    return _Measured(case, hearings, length_s, is_only_echo, {**ours, **published})


def _by_detector(reading: Reading, detector: str) -> Dialogue:
    activity = echo_free_activity(activity_by(reading, detector), reading.suspect_spans)
    detected = detect_turns(*activity, settings_of(reading), kept=reading.kept)
    return replace(reading.dialogue, detected=detected)
