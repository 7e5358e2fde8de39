"""Scores runs of staged dialogues: who is asked to hear and to judge them, what that costs, and what it says.

What is expected are the questions that scoring asks. Where words are not known yet, speech has as many as people say on
average. Nobody can foresee what has to be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from zlib import crc32

from msgspec.structs import replace

from fdbcore.analysis.told import Told
from fdbcore.analysis.transcripts import CallToHear, hear_calls, missing_words, seconds_to_hear
from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.errors import InputError, MissingExtraError, SettingsError, told_as
from fdbcore.measures.reading import Reading
from fdbcore.recording.form import converted
from fdbcore.recording.words import Transcript
from fdbcore.runs.asking import Desk
from fdbcore.runs.expected_words import expected_hearing, usual_words
from fdbcore.runs.judge_options import JudgeOptions, expected_of
from fdbcore.runtime.redaction import redacted
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.stats.bootstrap import SEED
from fdbcore.suites.staged.cases import StagedCase, dialogues_of
from fdbcore.suites.staged.document import StagedJudging, document
from fdbcore.suites.staged.goals import MET, NOT_HEARD, UNMET, GoalResult, goal_values, heard_wordings
from fdbcore.suites.staged.judging import DialogueMarks
from fdbcore.suites.staged.marking import Heard, mark_all, requests_of
from fdbcore.suites.staged.replied import JUDGE, is_of_replies, replied
from fdbcore.suites.staged.rows import JUDGED, RULE, rule_of
from fdbcore.suites.staged.users import families_of, left_out_of
from fdbcore.suites.staged.variants import OtherSetup, Setup, setups_of
from fdbcore.types import SIDES, TICK_MS, Problem, Side
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import ExpectedUse
from fdbcore.types.words import as_text

DEFAULT_REQUESTS: Final = 4
TOKENS_OF_A_MARK: Final = 60
"""What a judge writes for a mark with its reason: about forty words."""


def score(runs: Sequence[Path], options: Mapping[str, Any], jobs: int | None, show: Callable[[str], None]) -> Scored:
    """The document of all dialogues of some runs, or of folders of replies; see `Suite.score`."""
    if not runs:
        raise InputError("expected one RUN or more, got none: fdbcore run --suite staged --system ADDRESS makes one")
    scoring = Scoring.of(options)
    replies = [replied(run) for run in runs if is_of_replies(run)]
    if replies and (scoring.sources or scoring.judging.judges):
        raise SettingsError("--transcriber, --judge: expected runs, got replies of a judge, without audio")
    cases, lost, copies = dialogues_of([run for run in runs if not is_of_replies(run)], show)
    problems = [*(Problem(str(each.path), each.reason) for each in lost), *copies]
    for each in replies:
        cases += each.cases
        problems += each.problems
    if not cases:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected staged dialogues, found none{why}")
    unheard: list[str] = []
    variants, judging, told = scoring.apply(cases, problems, unheard, jobs, show)
    hears = next(iter(options["transcriber"]), None)
    marks = next((each.name for each in scoring.judging.judges), JUDGE if replies else None)
    warnings = [*unheard_warnings(cases, list(scoring.sources.values())), *unheard]
    warnings += [f"left out of {run}: {id_}: {reason}" for run in runs for id_, reason in left_out_of(run).items()]
    warnings += [line for each in replies for line in each.warnings]
    found = document(
        cases, problems, hears, marks, lost, scoring.rule, variants, judging, options["published"], warnings
    )
    files = replies[0].files if len(replies) == 1 else {}  # of several folders, which one would it be?
    return Scored(found, files, told)


@dataclass(frozen=True, slots=True)
class Scoring:
    """Who hears, by name, and who judges, the first of each for the main tables; rule: see `rows.rule_of`."""

    sources: Mapping[str, WordSource]
    judging: JudgeOptions
    rule: Mapping[str, float]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """By the options of `score`. SettingsError for what is unknown or does not fit together."""
        sources, judging = sources_of(options), JudgeOptions.of(options)
        judges = judging.judges
        if judges and not sources:
            raise SettingsError("--judge: expected --transcriber ADDRESS, whose words of both sides it reads, got none")
        rule = rule_of(",".join(options["passes"]) or RULE)
        if options["passes"] and not judges and (needed := [name for name in rule if name in JUDGED]):
            raise SettingsError(f"--passes: expected --judge for {needed[0]}, got none")
        return cls(sources, judging, rule)

    @property
    def setups(self) -> list[Setup]:
        """The main setup, and the others."""
        return setups_of(list(self.sources), self.judging.judges, self.judging.wordings)

    def apply(
        self,
        cases: Sequence[StagedCase],
        problems: list[Problem],
        unheard: list[str],
        jobs: int | None,
        show: Callable[[str], None],
    ) -> tuple[list[OtherSetup], StagedJudging | None, list[str]]:
        """Add to the dialogues what was heard and judged, to the problems what was not, to `unheard` what nobody told.

        Returns what other recognisers, judges and wordings say, what judging took, and what was asked now, in words.
        """
        heard: dict[str, Mapping[Path, Heard]] = {}
        by_words: dict[str, Mapping[Path, list[GoalResult]]] = {}
        for name, source in self.sources.items():
            heard[name], failed, missing = hear(cases, source, bool(self.judging.judges), jobs, show)
            said = [(case, heard[name].get(case.path, {})) for case in cases]
            by_words[name] = {case.path: goals_heard(case, own["B"]) for case, own in said if "B" in own}
            problems += failed
            unheard += missing
        setups = self.setups
        main, *others = setups
        for case in cases:
            if (goals := by_words.get(main.transcriber, {}).get(case.path)) is not None:
                case.goals = goals
                case.values.update(goal_values(goals))
        marked, judging, told = self._judged(cases, heard, setups, problems, jobs or DEFAULT_REQUESTS, show)
        variants = []
        for setup in others:
            assert setup.aspect is not None
            values = {path: each.values() for path, each in marked.get(setup, {}).items()}
            if setup.aspect == "transcriber":
                for path, own_goals in by_words[setup.transcriber].items():
                    values[path] = {**values.get(path, {}), **goal_values(own_goals)}
            judge = "" if main.judge is None else main.judge.name
            names = {"transcriber": main.transcriber, "judge": judge, "rubrics": f"wording {main.wording + 1}"}
            variants.append(OtherSetup(setup.aspect, names[setup.aspect], setup.name, values))
        return variants, judging, told

    def _judged(
        self,
        cases: Sequence[StagedCase],
        heard: Mapping[str, Mapping[Path, Heard]],
        setups: Sequence[Setup],
        problems: list[Problem],
        jobs: int,
        show: Callable[[str], None],
    ) -> tuple[Mapping[Setup, Mapping[Path, DialogueMarks]], StagedJudging | None, list[str]]:
        """The marks by setup; those of the main one stand in the dialogues, too."""
        if not self.judging.judges:
            return {}, None, []
        repeats = self.judging.repeats
        desk = Desk(self.judging.limit_usd)
        marked, spent, told = mark_all(requests_of(cases, heard, setups, repeats), repeats, desk, jobs, show)
        families = {run: families_of(run) for run in {case.path.parent for case in cases}}
        main = marked.get(setups[0], {})
        for case in cases:
            family = families[case.path.parent].get(case.family)
            case.has_task_score = family is not None and bool(family.rubric)
            if (judged := main.get(case.path)) is not None:
                case.events, case.task = judged.events, judged.task
                case.values.update(judged.values())
                case.draws = judged.draws([SEED, crc32(f"{case.system} {case.path.name}".encode())])
            for setup in setups:
                if (own := marked.get(setup, {}).get(case.path)) is not None:
                    by = f" by {setup.name}" if setup.name else ""
                    problems += [Problem(case.call, f"unscored{by}: {reason}") for reason in own.unscored]
                    problems += [Problem(case.call, f"{n}{by}: {reason}") for n, reason in own.partly]
        judging: StagedJudging = {
            **spent,
            "rubrics": [wording + 1 for wording in self.judging.wordings],
            "reasons": sum(each.reasons for each in main.values()),
            "unquoted": sum(each.unquoted for each in main.values()),
        }
        return marked, judging, [told]


def sources_of(options: Mapping[str, Any]) -> dict[str, WordSource]:
    """The recognisers of the options by address, with settings where these alone differ. SettingsError if unknown."""
    addresses = list(dict.fromkeys(options["transcriber"]))
    short = [address.partition("?")[0] for address in addresses]
    with told_as("--transcriber", "asr"):
        return {
            name if short.count(name) == 1 else redacted(address): word_source(address)
            for name, address in zip(short, addresses, strict=True)
        }


def expected(runs: Sequence[Path], options: Mapping[str, Any], show: Callable[[str], None]) -> Iterator[ExpectedUse]:
    """What `score` would ask with these arguments; recognisers first. Errors as of `score`."""
    scoring = Scoring.of(options)
    judges = scoring.judging.judges
    cases, _, _ = dialogues_of([run for run in runs if not is_of_replies(run)], show)
    if not cases and (scoring.sources or judges):
        raise InputError("expected staged dialogues, found none")
    heard = {}
    for name, source in scoring.sources.items():
        used, heard[name] = _of_words(cases, source, bool(judges), show)
        yield used
    planned = requests_of(cases, heard, scoring.setups, scoring.judging.repeats) if judges else []
    for judge in judges:
        requests = {(own.path, each.key): each for own in planned for each in own.requests if each.judge is judge}
        yield expected_of(judge, [*requests.values()], lambda of: TOKENS_OF_A_MARK * len(of.question.rubric.questions))


def _of_words(
    cases: Sequence[StagedCase], source: WordSource, for_judge: bool, show: Callable[[str], None]
) -> tuple[ExpectedUse, dict[Path, Heard]]:
    """What a recogniser would hear, and the words of all dialogues: those that it has given, or as many as usual."""
    wanted = {case.path: sides_wanted(case, for_judge) for case in cases}
    seconds = {
        path: seconds_to_hear(reading, source, language_of(reading), sides)
        for path, sides in wanted.items()
        if sides
        for reading in (Reading(path),)
    }
    found, *_ = hear([case for case in cases if seconds.get(case.path) == 0], source, for_judge, None, show)
    found |= {path: usual_words(Reading(path)) for path, left in seconds.items() if left}
    return expected_hearing(source, "dialogue", list(seconds.values())), found


def hear(
    cases: Sequence[StagedCase], source: WordSource, for_judge: bool, jobs: int | None, show: Callable[[str], None]
) -> tuple[dict[Path, Heard], list[Problem], list[str]]:
    """The words of dialogues by their paths, what could not be transcribed, and of which sides nobody told words.

    What was transcribed before is used again. for_judge: see `sides_wanted`. jobs: see `Transcribing`. SettingsError if
    the source gives no words with times.
    """
    wanted: dict[str, list[StagedCase]] = {}
    for case in cases:
        if sides_wanted(case, for_judge):
            wanted.setdefault(language_of(Reading(case.path)), []).append(case)
    found: dict[Path, Heard] = {}
    problems: list[Problem] = []
    why_not: dict[str, Mapping[Side, str]] = {}
    for language, own in wanted.items():
        calls = [CallToHear(str(case.path), case.path, sides_wanted(case, for_judge)) for case in own]
        heard = hear_calls(calls, source, language, jobs, show, "dialogues")
        found |= {Path(where): {each.side: each for each in of} for where, of in heard.transcripts.items()}
        problems += heard.problems
        why_not |= heard.why_not
    return found, problems, missing_words(source, why_not)


def sides_wanted(case: StagedCase, for_judge: bool) -> Sequence[Side]:
    """Both sides for a judge, if not all of B is echo; else B's where nobody heard whether a goal was met."""
    if for_judge and not case.only_echo:
        return SIDES
    return ("B",) if any(goal.verdict == NOT_HEARD for goal in case.goals) else ()


def unheard_warnings(cases: Sequence[StagedCase], sources: Sequence[WordSource]) -> list[str]:
    """That nobody heard whether goals were met, and what mends it. sources: asked ones; the first decides goals."""
    deaf = [case for case in cases if any(goal.verdict == NOT_HEARD for goal in case.goals)]
    if not deaf:
        return []
    what = f"in {len(deaf)} of {len(cases)} dialogues it is not known whether goals were met"
    why = f", because {sources[0].name} has no words of the system" if sources else ""
    mends = [
        _mended_by(deaf, {source.name for source in sources}),
        "fdbcore run --examiner-transcriber whisper hears during the call",
    ]
    return [f"examiner without ears: {what}{why}; {'; '.join(filter(None, mends))}"]


def _mended_by(deaf: Sequence[StagedCase], asked: Collection[str]) -> str:
    """The source of words that would decide their goals now, and what it still needs; "" if it was asked already."""
    told = word_source(Told.name)
    assert isinstance(told, Told)
    if not any(told.why_not(Reading(case.path), "B", "") for case in deaf):
        return "--transcriber told takes what the system tells of its own words"
    try:
        whisper = word_source("whisper")
    except MissingExtraError as error:
        return f"--transcriber whisper hears them once it is there ({error})"
    return "" if whisper.name in asked else "--transcriber whisper hears them now"


def language_of(recording: Reading) -> str:
    """The language of a dialogue for a recogniser, as ISO 639-1; "" where it changes."""
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    return brief.language if all(goal.language == brief.language for goal in brief.goals) else ""


def goals_heard(case: StagedCase, b: Transcript) -> list[GoalResult]:
    """The goals of a dialogue; those that nobody heard are decided by B's words since B could first hear them."""
    recording, found = Reading(case.path), []
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    events = [event for event in recording.events if event["side"] == "A"]
    for number, (result, goal) in enumerate(zip(case.goals, brief.goals, strict=True), 1):
        heard, ticks = heard_wordings(events, number), result.ticks
        if result.verdict != NOT_HEARD or not goal.heard or ticks is None or not heard:
            found.append(result)
            continue
        own = [
            word
            for word in b.words
            if not word.is_doubtful and heard[0]["tick"] <= (word.start_ms + word.end_ms) / 2 / TICK_MS < ticks[1]
        ]
        words = as_text(own)
        found.append(replace(result, words=words, verdict=MET if goal.is_met_by(words) else UNMET))
    return found
