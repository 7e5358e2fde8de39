"""Scores of recorded users: the document of everything that can be computed from runs and folders of outputs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from fdbcore.analysis import JudgingSpent, activity_by
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.measures import Reading, Segment, echo_free_activity, segments, silero_segments, silero_track
from fdbcore.protocols.suite import Show
from fdbcore.report import EXCLUSIONS, counted
from fdbcore.results import PooledWith, Scores, differences, every_two, problem_entries, rows_of, with_sd
from fdbcore.session import detect_turns
from fdbcore.sources import settings_of
from fdbcore.suites.fdb_v1 import judging, over_samples
from fdbcore.suites.fdb_v1.judging import RELEASED, Said, ScoringWith, V1Agreement, hear, released_words, times
from fdbcore.suites.fdb_v1.measures import AT_16_KHZ, MEASURES
from fdbcore.suites.fdb_v1.over_samples import RangeBy
from fdbcore.suites.fdb_v1.sample_values import (
    NO_SOUND,
    Figures,
    Hearings,
    Sound,
    excluded_pauses,
    lacking,
    of_activity,
    of_backchannels,
    of_overlaps,
    of_words,
    rates,
    sound_of,
    tenths,
)
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, V1, HeardSample, Version, compared_s, heard_samples, problem_of
from fdbcore.types import SIDES, TICKS_PER_S, Problem
from fdbcore.types.scorecard import Scored

Known = TypeVar("Known")
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
    """The transcribers, detectors and judge that scored."""

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
    ranges: list[over_samples.V1Range]
    tests: list[over_samples.V1PairedTest]
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

    @property
    def overlap_end_s(self) -> float:
        """The end of the overlap of v1.5."""
        return self.case.sample.spans[0][1]

    @property
    def took_over_by_words(self) -> bool:
        """True if v1 rates it: as published, takeovers alone."""
        return any(self.figures.get("compat_takeover_wanted", ()))

    def item(self, said: Said, marks: Mapping[str, Any] | None) -> V1Item:
        """It as a document has it."""
        case, sample, reading = self.case, self.case.sample, Reading(self.case.path)
        user, system = (
            [(start / TICKS_PER_S, end / TICKS_PER_S) for start, end in reading.dialogue.ipus[side].tolist()]
            for side in SIDES
        )
        sides: dict[str, dict[str, float]] = {}
        if self.sound is not None:
            names = ("whole",) if sample.is_clean else ("before", "after")
            sides = {name: getattr(self.sound, name) for name in names}
        return V1Item(
            str(case.path), sample.condition, sample.group, sample.id, case.system, case.trial,
            length_s=reading.n_ticks / TICKS_PER_S,
            labels=[*sample.spans],
            user=user,
            system_speech=system,
            words=" ".join(word.text for word in said["B"]) if "B" in said else None,
            marks={**marks} if marks else None,
            figures={name: list(values) for name, values in self.figures.items()},
            **sides,
        )  # fmt: skip


def score(
    version: Version, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
) -> Scored:
    """The document of all samples of runs and folders; see `Suite.score`."""
    given = ScoringWith.of(options)
    cases, problems = heard_samples(version, paths, out, show)
    work = _Scoring(version, given, problems, show)
    work.look(cases)
    work.take_words(jobs)
    told = work.judge(jobs)
    if version != V1:
        work.compare_sound()
    work.detect()
    return Scored(to_builtins(work.document()), told=told)


@dataclass(slots=True)
class _Scoring:
    """A scoring under way: with what is given, and what it has found so far. samples: those that can be read, by their
    recordings. notes: what is left out as nobody asked for it. said: by the first one who hears. marks: by judges, of
    which the first is the one of the tables. by: the figures of samples by each transcriber, judge and detector.
    """

    version: Version
    given: ScoringWith
    problems: list[Problem]
    show: Show
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    samples: dict[Path, _Measured] = field(default_factory=dict)
    said: Mapping[Path, Said] = field(default_factory=dict)
    marks: Mapping[str, judging.Marks] = field(default_factory=dict)
    judged: JudgingSpent | None = None
    by: dict[RangeBy, Mapping[str, Mapping[Path, Figures]]] = field(default_factory=dict)

    @property
    def cases(self) -> list[HeardSample]:
        """The samples without what is known of them."""
        return [own.case for own in self.samples.values()]

    def look(self, cases: Sequence[HeardSample]) -> None:
        """Measure what needs neither words nor a judge. A recording that cannot be read becomes a problem."""
        lacks_human, excluded = 0, Counter[str]()
        for number, case in enumerate(cases, 1):
            self.show(f"{number} of {len(cases)} samples measured")
            try:
                reading, in_folder = Reading(case.path), case.sample.id.removeprefix(f"{case.sample.group}-")
                human = self.given.human.get(case.sample.id, self.given.human.get(in_folder))
                found = self.samples[case.path] = _measured(self.version, case, reading, human)
            except FdbError as error:
                self.problems.append(problem_of(case.path, error))
                continue
            lacks_human += case.sample.task == BACKCHANNEL and human is None
            if found.is_only_echo:
                self.problems.append(Problem(str(case.path), ONLY_ECHO))
            else:
                excluded += excluded_pauses(case.sample, reading.dialogue)
        if not self.samples:
            raise InputError(f"expected recordings that can be read, got none: {self.problems[0].reason}")
        if excluded:
            told = ", ".join(f"{EXCLUSIONS[why]} ({n:,})" for why, n in excluded.items())
            self.warnings.append(f"false cut-ins: {counted(excluded.total(), 'pause')} left out: {told}")
        if lacks_human:
            self.notes.append(
                f"JSD: unscored of {lacks_human} samples, whose backchannels of people are not known: "
                "--human FILE names them, as {ID: [COUNT, ...]}"
            )

    def take_words(self, jobs: int | None) -> None:
        """The words of each transcriber, then those beside the audio."""
        words: dict[str, Mapping[Path, Said]] = {}
        for name, source in self.given.sources.items():
            words[name], problems = hear(self.cases, source, self.given.sides(self.version), jobs, self.show)
            self.problems += problems
        released, problems = released_words(self.cases)
        self.problems += problems
        if released:
            words[RELEASED] = released
        self.said = next(iter(words.values()), {})
        self._take("transcriber", words, self._by_words)
        if not words:
            what = "takeover by words and latency" if self.version == V1 else "speaking rate and behaviour"
            self.notes.append(f"{what}: left out, no words are known: --transcriber whisper hears them")
        elif unheard := sum("B" not in self.said.get(path, ()) for path in self.samples):
            self.warnings.append(
                f"{unheard} samples have no words by {next(iter(words))}: measures by words leave them out"
            )

    def judge(self, jobs: int | None) -> list[str]:
        """The marks of judges; what was asked, in lines."""
        if not self.given.judging.judges:
            what = "rating of replies to interruptions" if self.version == V1 else "behaviour after the overlap"
            self.notes.append(f"{what}: left out without --judge")
            return []
        evidence, unheard = judging.evidence_of(self.version, self.cases, self.said)
        if unheard:
            self.warnings.append(f"{unheard} samples are not judged: expected the words of both sides (--transcriber)")
        asking = self.given.judging, jobs, self.show
        self.marks, self.judged, unanswered, told = judging.judge_all(self.version, evidence, *asking)
        self.problems += unanswered
        self._take("judge", self.marks, lambda own, marks: judging.figures_of(marks, own.took_over_by_words))
        return [told]

    def _take(
        self, by: RangeBy, given: Mapping[str, Mapping[Path, Known]], figures: Callable[[_Measured, Known], Figures]
    ) -> None:
        """Takes in the figures that hang on what each of several says of samples; tables have those of the first."""
        self.by[by] = found = {
            name: {path: figures(self.samples[path], known) for path, known in of.items()} for name, of in given.items()
        }
        for path, own in next(iter(found.values()), {}).items():
            self.samples[path].figures |= own

    def _by_words(self, own: _Measured, said: Said) -> Figures:
        if "B" not in said:
            return {}
        if self.version != V1:
            return rates(times(said["B"]), own.overlap_end_s, own.length_s).figures(own.case.sample.is_clean)
        return of_words(own.case.sample, times(said["B"]), own.hearings)

    def compare_sound(self) -> None:
        """Takes in how the systems sound before and after the overlap."""
        utmos = self.given.utmos
        if why := lacking():
            self.notes.append(f"{why}; the rate of speaking is scored where words are known")
        if utmos is None:
            self.notes.append(
                "quality before and after: left out without --utmos COMMAND, which prints it of a WAV file"
            )
        commands = [*([] if why else [None]), *([] if utmos is None else [utmos])]
        for number, (path, own) in enumerate(self.samples.items(), 1):
            self.show(f"{number} of {len(self.samples)} samples compared before and after")
            said = self.said.get(path, {}).get("B")
            words = None if said is None else times(said)
            own.sound = NO_SOUND if words is None else rates(words, own.overlap_end_s, own.length_s)
            for command in commands:
                try:
                    more = sound_of(Reading(path), words, own.overlap_end_s, command)
                    own.sound = own.sound.with_more(more)
                except SettingsError:
                    raise
                except FdbError as error:
                    self.problems.append(Problem(str(path), f"before and after: {error}"))
            own.figures |= own.sound.figures(own.case.sample.is_clean)

    def detect(self) -> None:
        """Our figures by each detector, that of the recordings first."""
        name = str(Reading(self.cases[0].path).meta["settings"]["vad"]["B"]["name"])
        found: dict[str, dict[Path, Figures]] = {name: {path: own.figures for path, own in self.samples.items()}}
        for other in (each for each in self.given.detectors if each != name):
            found[other] = {}
            for number, (path, own) in enumerate(self.samples.items(), 1):
                self.show(f"{other}: {number} of {len(self.samples)} samples")
                try:
                    reading = Reading(path)
                    activity = echo_free_activity(activity_by(reading, other), reading.suspect_spans)
                    detected = detect_turns(*activity, settings_of(reading), kept=reading.kept)
                except FdbError as error:
                    self.problems.append(Problem(str(path), f"not heard by {other}: {error}"))
                    continue
                if not own.is_only_echo:
                    dialogue = replace(reading.dialogue, detected=detected)
                    found[other][path] = of_activity(self.version, own.case.sample, dialogue)
        self.by["detector"] = found

    def document(self) -> V1Document:
        """The document, with what figures are by the other transcribers, detectors and judges."""
        items = over_samples.items_of(self.version, [(own.case, own.figures) for own in self.samples.values()])
        compared = differences(every_two(items.values()), MEASURES)
        marks = next(iter(self.marks.values()), {})
        sounds = {path: own.sound for path, own in self.samples.items() if own.sound is not None}
        folders = list(dict.fromkeys(case.sample.group for case in self.cases))
        return V1Document(
            version=self.version,
            settings=V1Settings(
                family=sum(one.p is not None for one in compared),
                transcribers=list(self.by["transcriber"]),
                detectors=list(self.by["detector"]),
                judge=next(iter(self.marks), None),
                human=self.given.human_file,
                utmos=self.given.utmos,
            ),
            rows=[
                *rows_of(items.values(), MEASURES, folders, with_sd),
                *(over_samples.published_rows() if self.given.published else []),
            ],
            differences=compared,
            ranges=[
                each for by in get_args(RangeBy) for each in over_samples.ranges_of(by, items, self.by.get(by, {}))
            ],
            tests=over_samples.tests_of(self.cases, sounds, marks),
            judging=self.judged,
            agreement=list(judging.agreement_of(self.cases, self.marks)),
            items=[own.item(self.said.get(path, {}), marks.get(path)) for path, own in self.samples.items()],
            problems=problem_entries(self.problems),
            warnings=self.warnings,
            notes=self.notes,
        )


def _measured(version: Version, case: HeardSample, reading: Reading, human: Sequence[float] | None) -> _Measured:
    """A sample with the figures that need neither words nor a judge. human: see `of_backchannels`."""
    length_s = compared_s(reading)
    user, system = (
        [
            (start_s, min(end_s, length_s))
            for span in silero_segments(reading, side, track)
            for start_s, end_s in span
            if start_s < length_s
        ]
        for side, track in zip(SIDES, silero_track.probabilities_of_files(reading), strict=True)
    )
    is_backchannel = case.sample.task == BACKCHANNEL
    hearings = {"": tenths(system, length_s)} if is_backchannel else {}
    if is_backchannel and silero_track.file_rate_hz(reading, "B") not in (None, silero_track.RATE_HZ):
        pcm = silero_track.file_samples(reading, "B")
        slow_s = len(pcm) / silero_track.RATE_HZ
        hearings[AT_16_KHZ] = tenths(segments(silero_track.probabilities_of(pcm), slow_s), slow_s)
    is_only_echo = bool(reading.suspect_spans["B"]) and not len(reading.dialogue.ipus["B"])
    ours = {} if is_only_echo else of_activity(version, case.sample, reading.dialogue)
    published = of_overlaps(user, system) if version != V1 else of_backchannels(hearings, length_s, human)
    return _Measured(case, hearings, length_s, is_only_echo, {**ours, **published})
