"""Scores runs of staged dialogues: who is asked to hear and to judge them, what that costs, and what it says.

What is expected are the questions that scoring asks. Where words are not known yet, speech has as many as people say on
average. Nobody can foresee what has to be asked again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from zlib import crc32

from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols import UsesServers
from fdbcore.runs import JudgeOptions, expected_words
from fdbcore.runtime import redacted
from fdbcore.sources import WordSource, word_sources_of
from fdbcore.stats import SEED
from fdbcore.suites.staged.cases import StagedCase, dialogues_of
from fdbcore.suites.staged.document import StagedJudging, document
from fdbcore.suites.staged.goals import GoalResult, goal_values
from fdbcore.suites.staged.judging import DialogueScores, OtherSetup, Setup, mark_all, requests_of, setups_of
from fdbcore.suites.staged.replies import JUDGE, is_of_replies, replied
from fdbcore.suites.staged.rows import JUDGED, RULE, rule_of
from fdbcore.suites.staged.transcription import (
    Heard,
    by_side,
    calls_to_hear,
    goals_heard,
    hear,
    why_not_heard,
)
from fdbcore.suites.staged.users import families_of
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scored
from fdbcore.types.usage import ExpectedUse

TOKENS_OF_A_MARK: Final = 60
"""Tokens that a judge writes for a mark with its reason: about forty words."""


def score(
    runs: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Callable[[str], None]
) -> Scored:
    """The document of all dialogues of some runs, or of folders of replies; see `Suite.score`."""
    if not runs:
        raise InputError("expected one RUN or more, got none: fdbcore run --suite staged --system ADDRESS makes one")
    scoring = Scoring.of(options)
    recorded = [run for run in runs if not is_of_replies(run)]
    if len(recorded) < len(runs) and (scoring.sources or scoring.judging.judges):
        raise SettingsError("--transcriber, --judge: expected runs, got replies of a judge, without audio")
    cases, lost, copies = dialogues_of(recorded, show)
    replies = [replied(run) for run in runs if run not in recorded]
    problems = [*(each.problem for each in lost), *copies]
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
    warnings = [*unheard, *(line for each in replies for line in each.warnings)]
    notes = [] if scoring.sources else why_not_heard(cases, [])
    said = warnings, notes, runs
    found = document(cases, problems, hears, marks, lost, scoring.rule, variants, judging, options["published"], *said)
    files = replies[0].files if len(replies) == 1 else {}  # of several folders, which one would it be?
    return Scored(found, files, told)


@dataclass(frozen=True, slots=True)
class Scoring:
    """The transcribers by name, and the judges, the first of each for the main tables; rule: see `rows.rule_of`."""

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

        Returns what other transcribers, judges and wordings say, what judging took, and what was asked now, in words.
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
        if self.sources:
            unheard[:0] = why_not_heard(cases, list(self.sources.values()))
        marked, judging, told = self._judged(cases, heard, setups, problems, jobs, show)
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
        jobs: int | None,
        show: Callable[[str], None],
    ) -> tuple[Mapping[Setup, Mapping[Path, DialogueScores]], StagedJudging | None, list[str]]:
        """The marks by setup; those of the main one stand in the dialogues, too."""
        if not self.judging.judges:
            return {}, None, []
        families = {run: families_of(run) for run in {case.path.parent for case in cases}}
        marked, spent, told = mark_all(requests_of(cases, heard, setups, families), self.judging, jobs, show)
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
    """The transcribers of the options by address, with settings where these alone differ. SettingsError if unknown."""
    addresses = list(dict.fromkeys(options["transcriber"]))
    short = [address.partition("?")[0] for address in addresses]
    names = [
        name if short.count(name) == 1 else redacted(address) for name, address in zip(short, addresses, strict=True)
    ]
    return dict(zip(names, word_sources_of(addresses), strict=True))


def asked(options: Mapping[str, Any], runs: Sequence[Path] = ()) -> list[UsesServers]:
    """The transcribers and the judges; see `Suite.asked`."""
    scoring = Scoring.of(options)
    return [*scoring.sources.values(), *scoring.judging.judges]


def expected(
    runs: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
) -> Iterator[ExpectedUse]:
    """Expected requests with these arguments; transcribers first. Errors as of `score`."""
    scoring = Scoring.of(options)
    judges = scoring.judging.judges
    cases, _, _ = dialogues_of([run for run in runs if not is_of_replies(run)], show)
    if not cases and (scoring.sources or judges):
        raise InputError("expected staged dialogues, found none")
    heard = {}
    for name, source in scoring.sources.items():
        used, words = expected_words(calls_to_hear(cases, bool(judges)), source, "dialogue")
        heard[name] = by_side(words)
        yield used
    families = {run: families_of(run) for run in {case.path.parent for case in cases}}
    planned = requests_of(cases, heard, scoring.setups, families) if judges else []
    questions = [each for own in planned for each in own.questions]
    yield from scoring.judging.expected(questions, lambda of: TOKENS_OF_A_MARK * len(of.question.rubric.questions))
