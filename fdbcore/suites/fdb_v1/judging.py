"""What a judge is asked: how a reply fits an interruption (v1), and what the system did after an overlap (v1.5), by the
published rule and by its corrected twin.

The rubrics are in our own words (data/rubrics.toml). An answer that cannot be used is asked again, and is then missing,
never a zero.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from fdbcore.protocols import Judge
from fdbcore.protocols.suite import Show
from fdbcore.runs import JUDGED, Desk, JudgeOptions, JudgeQuestion, JudgeRequest, KeptAnswers, ask_each_once, spent_on
from fdbcore.stats import agreement
from fdbcore.suites.fdb_v1.calls import HeardSample, by_clean
from fdbcore.suites.fdb_v1.figures import Figures
from fdbcore.suites.fdb_v1.hearing import Said, lines
from fdbcore.suites.fdb_v1.measures import BEHAVIOURS, OUR_BEHAVIOURS
from fdbcore.suites.fdb_v1.samples import INTERRUPTION, V1, Version
from fdbcore.types import Problem, Rubric, object_schema
from fdbcore.types.scorecard import Figure

if TYPE_CHECKING:
    from fdbcore.analysis import JudgingSpent

ANSWERS: Final[Mapping[str, Sequence[int | str]]] = {
    "rating": range(6),
    "behaviour": list(BEHAVIOURS),
    "did": list(OUR_BEHAVIOURS),
}
"""What a judge may answer by each rubric; behaviour: by the published rule, did: by ours."""
RUBRICS: Final[Mapping[Version, Sequence[str]]] = {"fdb-v1": ["rating"], "fdb-v1.5": ["behaviour", "did"]}
"""What is asked about each sample."""
TOLD: Final = {"rating": "rating", "behaviour": "behaviour, as published", "did": "behaviour, ours"}
"""The rubrics in words."""
REASONS: Final = {"rating": "reason", "behaviour": "reason", "did": "did_reason"}
SILENT: Final[Mapping[str, Any]] = {"rating": 0, "reason": "it said nothing"}

Evidence: TypeAlias = Mapping[str, Any]
Marks: TypeAlias = Mapping[Path, Mapping[str, Any]]
"""By recording: the answer by each rubric, and its reason by the name in REASONS."""


class V1Agreement(Struct, frozen=True):
    """How far another judge, or another wording, agrees with the first one, on samples that both have marks of."""

    rubric: Annotated[str, Meta(description="rating; behaviour: as published; did: ours")]
    first: str
    second: str
    agree: Annotated[Figure, Meta(description="the share of equal answers")]
    kappa: Annotated[Figure, Meta(description="Cohen's; null if all answers are the same")]


def raters_of(options: JudgeOptions) -> dict[str, tuple[Judge, int]]:
    """Who judges by which wording, by name: the main one, the other judges, and the first with the other wording."""
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
    """What a judge reads of each sample, and of how many others it would need the words of both sides.

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
    version: Version, evidence: Mapping[Path, Evidence], options: JudgeOptions, jobs: int, show: Show
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
    requests = []
    for rater, path, name in asked:
        judge, wording = raters[rater]
        question = JudgeQuestion(rubric_of(name, wording), evidence[path], partial(_check, name))
        requests += [JudgeRequest(kept[path], judge, question, repeat) for repeat in range(options.repeats)]
    desk = Desk(options.limit_usd)
    once = ask_each_once(requests, desk, jobs, show)
    answers = iter(once.answers)
    found = {rater: {path: dict(SILENT) if path in silent else {} for path in evidence} for rater in raters}
    problems = []
    for rater, path, name in asked:
        given = [next(answers) for _ in range(options.repeats)]
        if marks := [each.marks for each in given if each.marks is not None]:
            chosen = _middle(name, marks)
            found[rater][path] |= {name: chosen[name], REASONS[name]: chosen.get("reason", "")}
        else:
            problems.append(Problem(str(path), f"not judged by {rater} ({name}): {given[0].reason}"))
    return found, spent_on(requests, options.repeats, desk.stopped), problems, once.told


def _middle(name: str, marks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    given = [each[name] for each in marks]
    if name == "rating":
        return marks[given.index(sorted(given)[(len(given) - 1) // 2])]
    return marks[given.index(max(dict.fromkeys(given), key=given.count))]


def agreement_of(cases: Sequence[HeardSample], found: Mapping[str, Marks]) -> Iterator[V1Agreement]:
    """How far each other rater agrees with the main one, by rubric."""
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
