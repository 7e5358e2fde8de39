"""Scores of staged dialogues: the document of everything that can be computed from runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast
from zlib import crc32

from fdbcore._version import __version__
from fdbcore.errors import InputError, SettingsError, told_as
from fdbcore.runs.asking import Desk
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.runtime.redaction import redacted
from fdbcore.sources.word_source import WordSource, word_source
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED
from fdbcore.stats.significance import POWER
from fdbcore.suites.staged.cases import LostCase, StagedCase, goal_values
from fdbcore.suites.staged.curves import curves_of
from fdbcore.suites.staged.examined import examined_json, examiners_of, variance_of
from fdbcore.suites.staged.fdb2.published import published_scores
from fdbcore.suites.staged.findings import findings_of
from fdbcore.suites.staged.hearing import Heard, goals_heard, hear, unheard_warnings
from fdbcore.suites.staged.judging import DialogueMarks
from fdbcore.suites.staged.marking import mark_all
from fdbcore.suites.staged.passes import JUDGED, RULE, passes_of, rule_of
from fdbcore.suites.staged.pooling import dialogues_of
from fdbcore.suites.staged.replied import JUDGE, is_of_replies, replied
from fdbcore.suites.staged.rows import comparisons_of, event_means_of, floors_of, groups_of, overall_of, rows_of
from fdbcore.suites.staged.users import families_of, left_out_of
from fdbcore.suites.staged.variants import Aspect, OtherSetup, Setup, setups_of, variant_of
from fdbcore.types import TICKS_PER_S, Problem
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedGoalJson, StagedItem, StagedJudging

SCHEMA: Final = "fdbcore.staged/1"
DEFAULT_REQUESTS: Final = 4


def score(runs: Sequence[Path], options: Mapping[str, Any], jobs: int | None, show: Callable[[str], None]) -> Scored:
    """The document of all dialogues of some runs, or of folders of replies; see `Suite.score`."""
    if not runs:
        raise InputError("expected one RUN or more, got none: fdbcore run --suite staged --system ADDRESS makes one")
    scoring = Scoring.of(options)
    replies = [replied(run) for run in runs if is_of_replies(run)]
    if replies and (scoring.sources or scoring.judging.judges):
        raise SettingsError("--transcriber, --judge: expected runs, got replies of a judge, without audio")
    cases, lost, copies = dialogues_of([run for run in runs if not is_of_replies(run)], show)
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
    warnings = [*unheard_warnings(cases, list(scoring.sources.values())), *unheard]
    found = document(
        cases, problems, hears, marks, lost, scoring.rule, variants, judging, options["published"], warnings
    )
    for run in runs:
        found["warnings"] += [f"left out of {run}: {id_}: {reason}" for id_, reason in left_out_of(run).items()]
    found["warnings"] += [line for each in replies for line in each.warnings]
    files = replies[0].files if len(replies) == 1 else {}  # of several folders, which one would it be?
    return Scored(cast("Mapping[str, Any]", found), files, told)


@dataclass(frozen=True, slots=True)
class Scoring:
    """Who hears, by name, and who judges, the first of each for the main tables; rule: see `passes.rule_of`."""

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
        heard = []
        for source in self.sources.values():
            found, failed, missing = hear(cases, source, bool(self.judging.judges), jobs, show)
            heard.append(found)
            problems += failed
            unheard += missing
        goals = [{path: each["B"] for path, each in own.items() if "B" in each} for own in heard]
        by_words = [
            {case.path: goals_heard(case, own[case.path]) for case in cases if case.path in own} for own in goals
        ]
        for case in cases:
            if by_words and case.path in by_words[0]:
                case.goals = by_words[0][case.path]
                case.values.update(goal_values(case.goals))
        setups = setups_of(len(self.sources), len(self.judging.judges), self.judging.wordings)
        marked, judging, told = self._judged(cases, heard, setups, problems, jobs or DEFAULT_REQUESTS, show)
        variants = []
        for aspect, setup in setups[1:]:
            assert aspect is not None
            values = {path: each.values() for path, each in marked.get(setup, {}).items()}
            if aspect == "transcriber":
                for path, own_goals in by_words[setup.transcriber].items():
                    values[path] = {**values.get(path, {}), **goal_values(own_goals)}
            variants.append(OtherSetup(aspect, *self._named(aspect, setup), values))
        return variants, judging, told

    def _judged(
        self,
        cases: Sequence[StagedCase],
        heard: Sequence[Mapping[Path, Heard]],
        setups: Sequence[tuple[Aspect | None, Setup]],
        problems: list[Problem],
        jobs: int,
        show: Callable[[str], None],
    ) -> tuple[Mapping[Setup, Mapping[Path, DialogueMarks]], StagedJudging | None, list[str]]:
        """The marks by setup; those of the main one stand in the dialogues, too."""
        judges, repeats = self.judging.judges, self.judging.repeats
        if not judges:
            return {}, None, []
        desk = Desk(self.judging.limit_usd)
        wanted = [setup for _, setup in setups]
        marked, spent, told = mark_all(cases, heard, judges, wanted, repeats, desk, jobs, show)
        families = {run: families_of(run) for run in dict.fromkeys(case.path.parent for case in cases)}
        for case in cases:
            family = families[case.path.parent].get(case.family)
            case.has_task_score = family is not None and bool(family.rubric)
            if (judged := marked[wanted[0]].get(case.path)) is not None:
                case.judged = judged
                case.values.update(judged.values())
                case.draws = judged.draws([SEED, crc32(f"{case.system} {case.path.name}".encode())])
            for aspect, setup in setups:
                if (own := marked[setup].get(case.path)) is not None:
                    by = "" if aspect is None else f" by {self._named(aspect, setup)[1]}"
                    problems += [Problem(str(case.path), f"unscored{by}: {reason}") for reason in own.unscored]
                    problems += [Problem(str(case.path), f"{n}{by}: {reason}") for n, reason in own.partly]
        judging: StagedJudging = {
            **spent,
            "rubrics": [wording + 1 for wording in self.judging.wordings],
            "reasons": sum(case.judged.reasons for case in cases if case.judged is not None),
            "unquoted": sum(case.judged.unquoted for case in cases if case.judged is not None),
        }
        return marked, judging, [told]

    def _named(self, aspect: Aspect, setup: Setup) -> tuple[str, str]:
        """What differs from the main setup, in words."""
        if aspect == "transcriber":
            names = list(self.sources)
            return names[0], names[setup.transcriber]
        if aspect == "judge":
            return self.judging.judges[0].name, self.judging.judges[setup.judge].name
        return f"wording {self.judging.wordings[0] + 1}", f"wording {setup.wording + 1}"


def sources_of(options: Mapping[str, Any]) -> dict[str, WordSource]:
    """The recognisers that the options name, by their addresses; without settings, unless they differ in these alone.

    SettingsError for one that is unknown.
    """
    addresses = list(dict.fromkeys(options["transcriber"]))
    short = [address.partition("?")[0] for address in addresses]
    with told_as("--transcriber", "asr"):
        return {
            name if short.count(name) == 1 else redacted(address): word_source(address)
            for name, address in zip(short, addresses, strict=True)
        }


def document(
    cases: Sequence[StagedCase],
    problems: Sequence[Problem],
    hears: str | None = None,
    marks: str | None = None,
    lost: Sequence[LostCase] = (),
    rule: Mapping[str, float] | None = None,
    variants: Sequence[OtherSetup] = (),
    judging: StagedJudging | None = None,
    with_published: bool = False,
    warnings: Sequence[str] = (),
) -> StagedDocument:
    """Everything that can be computed from these dialogues, as JSON values.

    hears, marks: the recogniser, the judge. lost: the calls that are not scored, which are counted beside each mean.
    rule: what a dialogue needs to pass, see `passes.rule_of`. variants: what others hear and judge. judging: how judges
    were asked, and what that took. with_published: also what Full-Duplex-Bench v2 published.
    """
    rule = rule_of(RULE) if rule is None else rule
    groups = groups_of(cases, lost)
    families = list(dict.fromkeys(case.family for case in cases))
    parts = [None, *(families if len(families) > 1 else [])]
    compared = comparisons_of(groups)
    return {
        "schema": SCHEMA,
        "settings": {
            "fdbcore": __version__,
            "transcriber": hears,
            "judge": marks,
            "resamples": RESAMPLES,
            "seed": SEED,
            "level": LEVEL,
            "power": POWER,
            "passes": dict(rule),
            "family": len(compared),
        },
        "rows": [row for group in groups for row in rows_of(group, parts)],
        "floors": list(floors_of(cases, parts)),
        "overall": [row for group in groups if (row := overall_of(group, sorted(families))) is not None],
        "event_means": [row for group in groups for row in event_means_of(group, parts)],
        "published": published_scores() if with_published else None,
        "comparisons": compared,
        "passes": [row for group in groups for row in passes_of(group, parts, rule)],
        "curves": [curve for group in groups for curve in curves_of(group)],
        "findings": list(findings_of(groups, compared)),
        "variants": [variant_of(cases, each) for each in variants],
        "judging": judging,
        "examiners": list(examiners_of(cases, lost)),
        "variance": list(variance_of(cases)),
        "items": [_item(case) for case in cases],
        "problems": [{"where": each.where, "reason": each.reason} for each in problems],
        "warnings": list(warnings),
    }


def _item(case: StagedCase) -> StagedItem:
    goals: list[StagedGoalJson] = [
        {
            "goal": goal.goal,
            "verdict": goal.verdict,
            "sayings": goal.sayings,
            "start_s": None if goal.start_tick is None else goal.start_tick / TICKS_PER_S,
            "end_s": None if goal.end_tick is None else goal.end_tick / TICKS_PER_S,
            "words": goal.words,
            "probes": goal.probes,
            "floors": None if goal.floors is None else list(goal.floors),
        }
        for goal in case.goals
    ]
    return {
        "call": str(case.path),
        "system": case.system,
        "trial": case.trial,
        "scenario": case.scenario,
        "family": case.family,
        "class_": case.class_,
        "pacing": case.pacing,
        "examiner": case.examiner,
        "language": case.language,
        "reason": case.reason,
        "spoke_first": case.spoke_first,
        "only_echo": case.only_echo,
        "goals": goals,
        "measures": case.values,
        "events": [] if case.judged is None else case.judged.events,
        "task": None if case.judged is None else case.judged.task,
        "examined": None if case.examined is None else examined_json(case.examined),
    }
