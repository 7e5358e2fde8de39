"""Agreement of people and judges on dialogues, by metric.

A person gives a dialogue one rating of each metric. A judge marks events: its mean over the events of a dialogue stands
beside. Task scores are compared by family, as each family has a rubric of its own.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta, Struct, to_builtins

from fdbcore.errors import InputError, SettingsError
from fdbcore.recording import kept_of_form, write_json
from fdbcore.report import agreement_screen, comparison_tables, counted, wrapped
from fdbcore.results import Mark, RatedMeasure, Rater, RaterAgreement, RaterEntry, compared, marks_in, problem_entries
from fdbcore.runs import read_kept_scores
from fdbcore.runtime import number_of
from fdbcore.sources import columns_of, rated_rows
from fdbcore.suites.staged.document import PublishedFile, published
from fdbcore.suites.staged.scenarios import LEVELS
from fdbcore.types import Problem

SCHEMA: Final = "fdbcore.rating_agreement/1"
DEFAULT_SAMPLE: Final = Path("fdbcore-sample")

STATISTICS: Final = ("alpha_interval", "alpha_ordinal", "pearson", "spearman")
FIGURES: Final = dict(zip(("alpha interval", "alpha ordinal", "r", "rho"), STATISTICS, strict=True))
LEGEND: Final = (
    "n: dialogues that both rated; of more than two raters, those that two rated. left out: cannot tell, and not "
    "rated. alpha: Krippendorff's, of an interval and of an ordinal scale; r: Pearson, rho: Spearman. A judge's rating "
    "of a dialogue is its mean over events. people: the mean of all who rated. Brackets: 95 %, over dialogues."
)


def rating_agreement(
    raters: Sequence[Rater], problems: Sequence[Problem], show: Callable[[str], None]
) -> RaterAgreement:
    """The agreement of raters. Names must differ. SettingsError if no two rated the same dialogue."""
    measures = {measure for rater in raters for marks in rater.marks.values() for measure in marks}
    comparisons = []
    for measure in sorted(measures, key=lambda each: (METRICS.index(each[0]), each)):
        metric, family = (*measure, None)[:2]
        show(f"comparing ratings: {' '.join(measure).replace('_', ' ')}")
        for each in compared(raters, measure):
            means = [None if np.isnan(column).all() else float(np.nanmean(column)) for column in each.ratings.T]
            what = {
                "metric": metric,
                "family": family,
                "between": each.between,
                "cannot_tell": each.cannot_tell,
                "not_rated": each.not_rated,
                "means": means,
            }
            comparisons.append(each.entry(STATISTICS, what))
    if not any(each.n for each in comparisons):
        raise SettingsError("expected dialogues that two raters rated, got none")
    told = [
        RaterEntry(name=each.name, kind=each.kind, dialogues=sum(map(bool, each.marks.values()))) for each in raters
    ]
    return RaterAgreement(SCHEMA, told, comparisons, problem_entries(problems))


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """Draw a sample, or compare who rated it; see `fdbcore.protocols.suite.Labels`."""
    if (n := options["sample"]) is not None:
        out: Path = options["out"] or DEFAULT_SAMPLE
        drawn = draw_sample(paths, n, options["sample_seed"], out)
        return {**to_builtins(drawn), "problems": []}, sample_screen(drawn, str(out), width)
    tables = [path for path in paths if is_ratings(path)]
    found = read_ratings(tables)
    raters = [*found.raters.values(), *_judges([path for path in paths if path not in tables], options["key"], found)]
    if len(raters) < 2:
        names = ", ".join(each.name for each in raters) or "nobody"
        raise SettingsError(f"expected the ratings of two raters or more, got those of {names}")
    content = to_builtins(rating_agreement(raters, found.problems, show))
    return content, screen(content, width, published() if options["published"] else None)


def _judges(paths: Sequence[Path], key_path: Path | None, ratings: "Ratings") -> list[Rater]:
    """The judges of scores. Beside people they need the key, which says whose dialogues the people rated."""
    key = None if key_path is None else read_key(key_path)
    if key is not None and (others := ratings.samples - {key.sample}):
        raise SettingsError(f"--key: expected the key of the sample {others.pop()}, got that of {key.sample}")
    judges: list[Rater] = []
    for path in paths:
        if (scores := scores_in(path)) is None:
            expected = "ratings (CSV with a column dialogue), or scores by fdbcore score --suite staged --judge"
            raise SettingsError(f"{path}: expected {expected}, got something else")
        if key is None and ratings.raters:
            raise SettingsError("--key: expected the folder of the sample, which tells the dialogues apart, got none")
        judge = judge_of(scores, path, key, ratings.problems)
        if judge.name in {each.name for each in judges} | ratings.raters.keys():
            judge.name = f"{judge.name} ({path})"
        judges.append(judge)
    return judges


def screen(content: Mapping[str, Any], width: int, published: PublishedFile | None) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    told = [f"{each['name']}: {each['kind']}, {counted(each['dialogues'], 'dialogue')}" for each in content["raters"]]
    found = [] if published is None else published.agreement.line
    figures = "; ".join(f"{each.metric} alpha {each.alpha:.3f} r {each.r:.3f}" for each in found)
    beside = [] if published is None else wrapped(f"Full-Duplex-Bench v2, {published.label}: {figures}", width, 2)
    left_out = {"left out": lambda each: f"{each['cannot_tell']:,} + {each['not_rated']:,}"}
    tables = comparison_tables(content, width, _title, FIGURES, counts=left_out)
    blocks = [*tables, wrapped(LEGEND, width), beside]
    return agreement_screen(content, told, blocks, width)


def _title(comparison: Mapping[str, Any]) -> str:
    metric = comparison["metric"].replace("_", " ").replace("turn taking", "turn-taking")
    return ", ".join(filter(None, (metric, comparison["family"])))


def sample_screen(key: "RatingKey", folder: str, width: int) -> str:
    """The dialogues that were drawn, and what to do with them."""
    lines: list[str] = []
    for stratum in STRATA:
        names = Counter(str(getattr(each, stratum)) for each in key.dialogues)
        told = ", ".join(f"{name} {count}" for name, count in sorted(names.items()))
        lines += wrapped(f"{stratum}: {told}", width, 2)
    n = counted(len(key.dialogues), "dialogue")
    return "\n".join([f"{n}, sample {key.sample}", *lines, "", f"fdbcore rate {folder}"])


KEY: Final = "key.json"
KEY_SCHEMA: Final = "fdbcore.rating_key/1"
SCORES_SCHEMAS: Final = ("fdbcore.staged/2", "fdbcore.staged/1")
"""Readings of their dialogues are the same in both."""
STRATA: Final[Sequence[Literal["system", "pacing", "family"]]] = ("system", "pacing", "family")
TASK_SCORE: Final = "task_score"
METRICS: Final = ("turn_taking", "instruction_following", TASK_SCORE)
DIALOGUE: Final = "dialogue"
"""The column by which a table of ratings is known."""
COLUMNS: Final = ("sample", DIALOGUE, "rater", "family", *METRICS, "checks", "note")
"""The columns of the tables that the page gives."""
CANNOT_TELL: Final = "cannot tell"
A_MARK: Final = f"a number from 1 to {LEVELS}"


class KeyedDialogue(Struct, frozen=True):
    """The dialogue behind a name that says nothing."""

    dialogue: Annotated[str, Meta(description="its name on the page and in ratings: D001")]
    call: Annotated[str, Meta(description="folder of its recording, absolute")]
    system: str
    pacing: str
    family: str
    scenario: str
    trial: int


class RatingKey(Struct, frozen=True):
    """The key of a sample. Raters do not get it."""

    schema: Literal["fdbcore.rating_key/1"]
    suite: Literal["staged"]
    sample: Annotated[str, Meta(description="tells samples apart, and says nothing")]
    seed: int
    dialogues: Annotated[list[KeyedDialogue], Meta(description="in the order of the page")]


def scores_in(path: Path) -> Mapping[str, Any] | None:
    """The scores of staged dialogues in a file, a folder of results, or beside a run; None if there are none."""
    return next((found for each in SCORES_SCHEMAS if (found := read_kept_scores(path, each)) is not None), None)


def draw_sample(paths: Sequence[Path], n: int, seed: int, out: Path) -> RatingKey:
    """Draw n dialogues from scores, and write their key into the new folder `out`. SettingsError if it cannot be."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"--out {out}: expected a new or empty folder, got one that holds something")
    items: dict[Path, Mapping[str, Any]] = {}
    for path in paths:
        if (scores := scores_in(path)) is None:
            raise SettingsError(f"{path}: expected scores that fdbcore score --suite staged RUN has made, got none")
        items |= {_recording(path, item["call"]): item for item in scores["items"]}
    if n > len(items):
        raise SettingsError(f"--sample {n}: expected at most {len(items)}, so many dialogues are scored")
    drawn = drawn_evenly(list(items.items()), n, seed)
    sample = hashlib.sha256(json.dumps([seed, *(str(call) for call, _ in drawn)]).encode()).hexdigest()[:8]
    dialogues = [
        KeyedDialogue(f"D{number:03}", str(call), *(item[name] for name in (*STRATA, "scenario", "trial")))
        for number, (call, item) in enumerate(drawn, 1)
    ]
    key = RatingKey(KEY_SCHEMA, "staged", sample, seed, dialogues)
    write_json(out / KEY, to_builtins(key))
    return key


def _recording(scores: Path, call: str) -> Path:
    """The folder of a recording that scores name, absolute."""
    path = Path(call).absolute()
    if not path.is_dir():
        raise SettingsError(f"{scores}: expected its recording {path}, found none: begin in the folder of that scoring")
    return path


def drawn_evenly(items: Sequence[tuple[Path, Mapping[str, Any]]], n: int, seed: int) -> list[tuple[Path, Any]]:
    """n of the items in random order, as evenly from the systems, pacings and families as their counts allow.

    One after the other is drawn: from the combination of system, pacing and family that has the fewest so far; among
    these of the system, then the pacing, the family, and the scenario that have the fewest; and among these at random.
    """
    random = Random(seed)
    left = sorted(items, key=lambda each: each[0])
    random.shuffle(left)
    counts: Counter[tuple[str, ...]] = Counter()

    def groups(item: Mapping[str, Any]) -> list[tuple[str, ...]]:
        strata = tuple(str(item[field]) for field in STRATA)
        return [strata, *((field, str(item[field])) for field in (*STRATA, "scenario"))]

    drawn = []
    for _ in range(n):
        chosen = min(left, key=lambda each: [counts[group] for group in groups(each[1])])
        left.remove(chosen)
        counts.update(groups(chosen[1]))
        drawn.append(chosen)
    random.shuffle(drawn)
    return drawn


def read_key(path: Path) -> RatingKey:
    """The key of a sample, by its folder or its file. InputError if there is none."""
    key: RatingKey | None = kept_of_form(path / KEY if path.is_dir() else path, KEY_SCHEMA, RatingKey)
    if key is None:
        raise InputError(f"{path}: expected the folder of a sample (fdbcore agree --sample), or its {KEY}, got none")
    return key


def measures_of(marks: Mapping[str, Mark], family: str) -> dict[RatedMeasure, Mark]:
    """Marks by what is compared: task scores of each family apart, as each has a rubric of its own."""
    return {(name, family) if name == TASK_SCORE else (name,): mark for name, mark in marks.items()}


@dataclass(slots=True)
class Ratings:
    """The ratings of people, by rater. samples: of which samples they are."""

    raters: dict[str, Rater] = field(default_factory=dict)
    samples: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def is_ratings(path: Path) -> bool:
    """True if it is a table of ratings: a CSV whose header has the column `dialogue`."""
    return DIALOGUE in columns_of(path)


def holds_labels(path: Path) -> bool:
    """True if it is a table of ratings, or has scores of staged dialogues."""
    return is_ratings(path) or scores_in(path) is not None


def read_ratings(paths: Sequence[Path]) -> Ratings:
    """The ratings in some tables. A cell or row that cannot be used is a problem, and the others are read.

    SettingsError for a table that cannot be read, for ratings of several samples, and for a rater who rated a dialogue
    twice, and differently.
    """
    found = Ratings()
    for path in paths:
        for where, row in rated_rows(path, (DIALOGUE, "rater"), METRICS):
            _take(row, where, found)
    if len(found.samples) > 1:
        raise SettingsError(f"expected ratings of one sample, got those of {', '.join(sorted(found.samples))}")
    return found


def _take(row: Mapping[str, str], where: str, found: Ratings) -> None:
    """Add the ratings of a row."""
    dialogue, name = row[DIALOGUE], row.get("rater", "")
    if not (dialogue and name):
        found.problems.append(Problem(where, "left out: expected a dialogue and a rater, got none"))
        return
    marks = marks_in(row, where, METRICS, _mark, f"{A_MARK}, or {CANNOT_TELL}", found.problems)
    family = row.get("family", "")
    if TASK_SCORE in marks and not family:
        found.problems.append(Problem(where, "task_score: left out: expected the family of the dialogue, got none"))
        del marks[TASK_SCORE]
    if row.get("sample"):
        found.samples.add(row["sample"])
    rater = found.raters.setdefault(name, Rater(name, "person"))
    if marks:
        rater.take((dialogue,), measures_of(marks, family), where, f"rating of {dialogue}")


def _mark(text: str) -> float | None:
    """A rating as it is written; None: cannot tell. ValueError if it is neither."""
    if text.lower() == CANNOT_TELL:
        return None
    mark = number_of(text.replace(",", "."))
    if not 1 <= mark <= LEVELS:
        raise ValueError
    return mark


def judge_of(scores: Mapping[str, Any], path: Path, key: RatingKey | None, problems: list[Problem]) -> Rater:
    """The marks of the judge of some scores, means over the events of each dialogue.

    key: that of the sample, whose names the dialogues then have; without it, they are named by their recordings. A
    metric of which the judge gave no mark of any event is one that it cannot tell. problems: gets what is left out, as
    it is no mark. SettingsError if nobody judged, or if two dialogues of a sample cannot be told apart.
    """
    if scores["settings"]["judge"] is None:
        raise SettingsError(f"{path}: expected the marks of a judge (fdbcore score --judge), got scores without any")
    names = None if key is None else {_call(each.call): each.dialogue for each in key.dialogues}
    if key is not None and names is not None and len(names) < len(key.dialogues):
        raise SettingsError(f"{path}: expected runs of different names in a sample, got several of one name")
    judge = Rater(scores["settings"]["judge"], "judge")
    for item in scores["items"]:
        call = _call(item["call"])
        name = call if names is None else names.get(call)
        if name is None:
            continue
        marks = {metric: item["measures"].get(metric) for metric in METRICS}
        for metric, mark in list(marks.items()):
            if not (mark is None or (type(mark) in (int, float) and 1 <= mark <= LEVELS)):
                reason = f"{metric}: left out: expected {A_MARK}, got {mark!r:.40}"
                problems.append(Problem(f"{path}: {call}", reason))
                del marks[metric]
        if item["task"] is None:
            marks.pop(TASK_SCORE, None)  # the family has none, or it is unscored
        judge.marks[(name,)] = measures_of(marks, item["family"])
    if not judge.marks:
        raise InputError(f"{path}: expected scores of the dialogues of the sample, got those of others")
    return judge


def _call(folder: str) -> str:
    """The name of a recording that it keeps when its run is moved: RUN/CALL."""
    return "/".join(Path(folder).parts[-2:])
