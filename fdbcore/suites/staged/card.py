"""Turns a scores document of staged dialogues into a scorecard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec.structs import replace

from fdbcore.measures import answers, overlaps
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.labelled import stop_share
from fdbcore.report.format import shown_unit
from fdbcore.report.html.templates import static
from fdbcore.stats.significance import pairs_needed
from fdbcore.suites.staged import examined_view, results_view, view
from fdbcore.suites.staged.cases import BY_CHANCE, PLANTED, SCRIPTED, TIMING
from fdbcore.suites.staged.findings import sentences
from fdbcore.suites.staged.floors import FLOORS
from fdbcore.suites.staged.replied import EXAMINER, UNKNOWN
from fdbcore.suites.staged.rows import BOUNDS, COMPARED
from fdbcore.suites.staged.terms import EVENTS_MEAN, FAMILIES_MEAN, TERMS
from fdbcore.suites.staged.variants import statements
from fdbcore.types import Problem
from fdbcore.types.remarks import CallRemarks
from fdbcore.types.scorecard import Difference, Figure, Scale, Scorecard, ScoredCase, ScoreRow, SuiteViews

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import (
        StagedDocument,
        StagedEventMeans,
        StagedFloor,
        StagedMean,
        StagedOverall,
        StagedPublished,
        StagedRow,
    )


def _of_timing(name: str) -> Scale:
    """A measure of timing as a scale, by the name that runs are compared by."""
    of, directions = MEASURES[name], {"more": 1, "less": -1}
    unit, decimals = ("", 2) if of.unit == "share" else (shown_unit(of.shown_in), 1)
    direction = cast("Literal[-1, 0, 1]", directions.get(of.better or "", 0))
    return Scale(name, of.headline, direction, unit, decimals, part=of.group.title)


def _of_planted(name: str, label: str) -> Scale:
    """A measure of how the system takes what the examiner planted."""
    unit, decimals = ("ms", 0) if MEASURES[name].unit == "ms" else ("", 2)
    direction: Literal[-1, 1] = 1 if name in (stop_share("interruption"), "b_selectivity") else -1
    return Scale(name, label, direction, unit, decimals, part="What the examiner planted")


def _with_chance(scales: Iterable[Scale]) -> Iterator[Scale]:
    """The scales, each followed by what a system that hears nothing has in it, where that is known."""
    beside = {name: scale for scale, name in BY_CHANCE.items()}
    for scale in scales:
        yield scale
        if scale.id in beside:
            yield replace(scale, id=beside[scale.id], label=f"{scale.label}, by chance", direction=0)


def _main(name: str, label: str) -> Scale:
    """A measure that systems are compared by."""
    return Scale(name, label, 1, decimals=2, main=True, bounds=BOUNDS[name])


SCALES: Final = (
    _main("turn_taking", "turn-taking"),
    _main("instruction_following", "instruction following"),
    _main("task_score", "task score"),
    Scale("turn_taking_worst", "turn-taking", 1, decimals=2, part="unscored at worst"),
    Scale("instruction_following_worst", "instruction following", 1, decimals=2, part="unscored at worst"),
    Scale("turn_taking_75_s", "turn-taking to 75 s", 1, decimals=2, part="first five bins"),
    Scale("instruction_following_75_s", "instruction following to 75 s", 1, decimals=2, part="first five bins"),
    _main("goals_met", "goals met"),
    _main("timing", "timing score"),
    Scale("all_goals_met", "all goals met", 1, decimals=2, part="goals"),
    Scale("wordings", "wordings a goal", -1, decimals=2, part="goals"),
    Scale("probes", "probes a goal", -1, decimals=2, part="goals"),
    Scale("goal_s", "time a goal", -1, "s", 1, part="goals"),
    Scale("answer_ms", "answer time", -1, "ms", 0, part=answers.GROUP.title),
    *(_of_timing(name) for name in TIMING if MEASURES[name].group is answers.GROUP),
    Scale("talked_over", "talked over", -1, decimals=2, part=overlaps.GROUP.title),
    *_with_chance(_of_timing(name) for name in TIMING if MEASURES[name].group is not answers.GROUP),
    *_with_chance(_of_planted(name, label) for name, label in PLANTED.items()),
)
OURS: Final = "The examiner is ours: these rows do not stand beside published ones of another examiner and judge."
PUBLISHED: Final = (
    "What was published is of another examiner, other scenarios and another judge: it is shown beside, and nothing is "
    "tested against it. It has task scores, and turn-taking and instruction following from 0 to 75 s."
)
NOTHING: Final[StagedPublished] = {"label": "", "conditions": "", "sources": [], "rows": []}
LABELS: Final = {scale.id: scale.label for scale in SCALES if not scale.id.endswith(("_worst", "_75_s"))}


class StagedViews(SuiteViews):
    """Passing, curves, what other transcribers, judges and wordings say, and the examiners; dialogues drawn."""

    def __init__(self, document: StagedDocument) -> None:
        self._document = document

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """Means of families, passing, what other transcribers, judges and wordings say, and the examiners."""
        return [*results_view.details(self._document, width), *examined_view.details(self._document, width)]

    def section(self) -> str:
        """How often systems pass, curves over time and by goal, what other setups say; the examiners themselves."""
        return results_view.section(self._document) + examined_view.section(self._document)

    def style(self) -> str:
        """The style of curves."""
        return static("results.css", __package__)

    def picture(self, case: ScoredCase) -> str:
        """The goals, and what became of each; the scores."""
        return view.picture(case)

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """The goals and the judged events."""
        return view.remarks(case)


def card(document: StagedDocument) -> Scorecard:
    """The scorecard of a document. A condition is a pacing of the examiner."""
    settings, scored = document["settings"], {item["call"] for item in document["items"]}
    problems = [Problem(**problem) for problem in document["problems"]]
    is_ours = any(row["examiner"] != EXAMINER for row in document["rows"])
    return Scorecard(
        "Staged dialogues",
        _scales(document),
        _conditions(document),
        [
            *(_row(document, row) for row in document["rows"] if row["family"] is None),
            *(_floor(document, row) for row in document["floors"] if row["family"] is None),
            *_published(document, False),
        ],
        list(_differences(document)),
        warnings=document["warnings"],
        problems=[each for each in problems if each.where not in scored],
        gaps=[each for each in problems if each.where in scored],
        caption="Staged dialogues with an automated examiner; means over scenarios, CI: bootstrap over scenarios.",
        test=f"paired differences on the same scenarios; p by sign flips; Holm over {settings['family']} comparisons",
        detectable=f"the least true difference found with power {settings['power']:.0%} at this n",
        notes=(PUBLISHED,) if document["published"] else (OURS,) if is_ours else (),
        facts=_facts(document),
        statements=[*sentences(document, LABELS), *statements(document, LABELS)],
        subsets=list(_subsets(document)),
        subsets_by="family",
        conditions_by="pacing",
        cases=list(_cases(document)),
        terms=TERMS,
        evidence={
            "made with": f"fdbcore {settings['fdbcore']}",
            "heard by": settings["transcriber"] or "the examiner",
            "judged by": settings["judge"] or "nobody",
        },
        level=settings["level"],
        views=StagedViews(document),
    )


def _scales(document: StagedDocument) -> list[Scale]:
    """The scales that are known of anything."""
    known = {name for row in document["rows"] for name, each in row["measures"].items() if each["mean"] is not None}
    known |= {name for row in (document["published"] or NOTHING)["rows"] for name in row["measures"]}
    return [scale for scale in SCALES if scale.id in known]


def _conditions(document: StagedDocument) -> dict[str, str]:
    """The headings of the conditions, a pacing and an examiner each; then of what was published."""
    found = dict.fromkeys((row["pacing"], row["examiner"]) for row in document["rows"])
    beside = document["published"] or NOTHING
    return {
        **{_condition(document, *key): heading(*key) for key in found},
        **{
            f"published {row['pacing']}": f"{row['pacing']} examiner, {beside['label']} ({beside['conditions']}; "
            "means of families)"
            for row in beside["rows"]
        },
    }


def heading(pacing: str, examiner: str) -> str:
    """An examiner in words; the scripted one has no name."""
    return ("examiner of unknown pacing" if pacing == UNKNOWN else f"{pacing} examiner") + (
        "" if examiner == SCRIPTED else f": {examiner}"
    )


def _condition(document: StagedDocument, pacing: str, examiner: str) -> str:
    """The name of a condition: the pacing, and the examiner where there are several."""
    several = len({row["examiner"] for row in document["rows"]}) > 1
    return f"{pacing}, {examiner}" if several else pacing


def _row(document: StagedDocument, row: StagedRow) -> ScoreRow:
    condition, note = _condition(document, row["pacing"], row["examiner"]), ", ".join(_counted(row))
    figures = _figures(row["measures"])
    return ScoreRow(condition, "system", row["system"], row["n"], figures, note, row["family"] or "")


def _floor(document: StagedDocument, row: StagedFloor) -> ScoreRow:
    condition, figures = _condition(document, row["pacing"], row["examiner"]), _figures(row["measures"])
    note = f"{FLOORS[row['floor']]}; {row['met']} of all {row['goals']} goals met"
    return ScoreRow(condition, "baseline", row["floor"], row["n"], figures, note, row["family"] or "")


def _figures(measures: Mapping[str, StagedMean]) -> dict[str, Figure]:
    return {name: Figure(each["mean"], each["sd"], each["ci95"]) for name, each in measures.items()}


def _subsets(document: StagedDocument) -> Iterator[ScoreRow]:
    """For each system its families, the means over them and over events, where there are scenarios enough for their
    intervals; then the floors by family, and what was published."""
    for key, rows in groupby(document["rows"], lambda row: (row["pacing"], row["examiner"], row["system"])):
        own = list(rows)
        yield from (_row(document, row) for row in own if row["family"] is not None)
        means: dict[str, Sequence[StagedOverall | StagedEventMeans]] = {
            FAMILIES_MEAN: document["overall"] if all(row["n"] > 1 for row in own) else (),
            EVENTS_MEAN: document["event_means"] if own[0]["n"] > 1 else (),
        }
        for name, of in means.items():
            for row in of:
                if (row["pacing"], row["examiner"], row["system"]) == key and row.get("family") is None:
                    figures = {each: Figure(mean["mean"], None, mean["ci95"]) for each, mean in row["measures"].items()}
                    condition = _condition(document, row["pacing"], row["examiner"])
                    yield ScoreRow(condition, "overall", row["system"], own[0]["n"], figures, subset=name)
    yield from (_floor(document, row) for row in document["floors"] if row["family"] is not None)
    yield from _published(document, True)


def _published(document: StagedDocument, by_family: bool) -> Iterator[ScoreRow]:
    """What was published, of families or of the means over them."""
    for row in (document["published"] or NOTHING)["rows"]:
        if (row["family"] is not None) is by_family:
            figures = {name: Figure(value) for name, value in row["measures"].items()}
            condition = f"published {row['pacing']}"
            yield ScoreRow(condition, "published", row["system"], None, figures, subset=row["family"] or "")


def _counted(row: StagedRow) -> Iterator[str]:
    """What stands beside the means of a row: dialogues that say little, and calls that are not among them."""
    counts = {
        "silent": row["silent"],
        "only echo of the examiner": row["only_echo"],
        "opened by the system": row["spoke_first"],
        "failed, not scored": row["failed"],
        "invalid, not scored": row["invalid"],
        "missing": row["missing"],
    }
    if row["dialogues"] != row["n"]:
        yield f"{row['dialogues']} dialogues"
    for name, label in LABELS.items():
        if name in COMPARED and 0 < (known := row["measures"][name]["n"]) < row["dialogues"]:
            yield f"{label} of {known}"
    if row["recited"] and row["measures"]["all_goals_met"]["n"]:
        yield f"{row['recited']} of {row['goals']} goals that a reciter meets are left out"
    yield from (f"{count} {what}" for what, count in counts.items() if count)


def _differences(document: StagedDocument) -> Iterator[Difference]:
    needed = pairs_needed(document["settings"]["level"])
    for one in document["comparisons"]:
        condition = _condition(document, one["pacing"], one["examiner"])
        yield Difference(
            condition, one["a"], one["b"], one["measure"], one["n"], one["difference"], one["ci95"], one["p"],
            one["p_holm"], one["detectable"], needed,
        )  # fmt: skip


def _cases(document: StagedDocument) -> Iterator[ScoredCase]:
    trials = max((item["trial"] for item in document["items"]), default=1)
    for item in document["items"]:
        verdicts = dict.fromkeys(goal["verdict"] for goal in item["goals"])
        yield ScoredCase(
            _condition(document, item["pacing"], item["examiner"]),
            item["system"],
            item["scenario"],
            f"goals: {', '.join(goal['verdict'] for goal in item['goals'])}",
            item["measures"],
            subset=item["family"],
            note=f"trial {item['trial']}" if trials > 1 else "",
            lang="en",
            tags={"goal": tuple(verdicts), "class": (item["class_"],)},
            words=[goal["words"] or "" for goal in item["goals"]],
            item=cast("Mapping[str, Any]", item),
            recording=item["call"],
        )


def _facts(document: StagedDocument) -> list[str]:
    scenarios = {item["scenario"] for item in document["items"]}
    systems = dict.fromkeys(item["system"] for item in document["items"])
    pacings = dict.fromkeys(row["pacing"] for row in document["rows"])
    return [f"{len(scenarios)} scenarios", f"systems: {', '.join(systems)}", f"pacing: {', '.join(pacings)}"]
