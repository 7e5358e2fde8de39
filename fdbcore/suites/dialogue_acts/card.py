"""A scores document as a scorecard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fdbcore.suites.dialogue_acts.baselines import MOST_FREQUENT, SHUFFLED
from fdbcore.suites.dialogue_acts.records import REFERENCE
from fdbcore.types import Difference, Figure, Problem, Scale, Scorecard, ScoreRow, Telling

SCALES: Final = (
    Scale("wlcs", "WLCS", 1, main=True),
    Scale("wed", "WED", -1, main=True),
    Scale("deletion", "del", -1, part="parts of WED"),
    Scale("insertion", "ins", -1, part="parts of WED"),
    Scale("substitution", "sub", -1, part="parts of WED"),
    Scale("recall", "recall", 1, part="ours"),
    Scale("f1", "F1", 1, part="ours"),
    Scale("uniform_wlcs", "WLCS", 1, part="uniform"),
    Scale("uniform_wed", "WED", -1, part="uniform"),
)
CASES: Final = {
    "insertion": "most is missing",
    "deletion": "most is redundant",
    "substitution": "most is swapped",
    "smallest": "nearest",
}
ROWS: Final = {MOST_FREQUENT: "most frequent", SHUFFLED: "shuffled", REFERENCE: "ceiling"}
"""Short names, and the legend says what they are."""

LEGEND: Final = (
    "WLCS: share of the reply's weight that is in the reference, in its order (more is better). WED: what it costs to "
    "turn the reply into the reference (less is better), by deleting the redundant, inserting the missing, "
    "substituting. recall: as WLCS, share of the reference's weight; F1 of the two. uniform: all acts weigh the same."
)
LEGEND_OF_ROWS: Final = (
    "ceiling: the reference texts, annotated again. always Inform, most frequent (sequence of acts), shuffled (other "
    "records' references): replies that do not listen."
)

Document = Mapping[str, Any]


def card(document: Document) -> Scorecard:
    """The rows of a scores document: a condition is a set as one annotator sees it, the baselines stand in each."""
    settings = document["settings"]
    seen = [(of, name) for of in document["sets"] for name in _annotators(of, document)]
    return Scorecard(
        "Is the content of the replies right?",
        SCALES,
        {_condition(of["name"], name): _heading(of, name) for of, name in seen},
        [row for of, name in seen for row in _rows(document, of, name)],
        [_difference(one) for one in document["comparisons"]],
        [_telling(case["case"], document["items"][case["item"]]) for case in document["cases"]],
        document["warnings"],
        [Problem(**problem) for problem in document["problems"]],
        _caption(document),
        f"paired differences on the same records; p by sign flips; Holm over {settings.get('family')} comparisons; "
        f"detectable: the least true difference found with power {settings.get('power', 0):.0%} at this n",
        (LEGEND, LEGEND_OF_ROWS, _settings(settings)),
    )


def _caption(document: Document) -> str:
    sets = "; ".join(f"{of['name']}: n = {of['n']}" for of in document["sets"])
    settings = document["settings"]
    return (
        f"Dialogue acts of replies against references ({sets}). WLCS: weighted LCS, higher is better; WED: weighted "
        "dialogue-act edit distance, lower is better, the sum of deletion (redundant), insertion (missing) and "
        f"substitution. SD: of single replies; CI: bootstrap over records, {settings.get('resamples', '?')} resamples. "
        "Recall and F1 are not measures of the original benchmark."
    )


def _annotators(of: Document, document: Document) -> list[str]:
    rows = [row for row in document["rows"] if row["set"] == of["name"]]
    return list(dict.fromkeys(row["annotator"] for row in rows if row["annotator"]))


def _condition(of: str, annotator: str) -> str:
    return f"{of}, annotated by {annotator}"


def _heading(of: Document, annotator: str) -> str:
    written = f", written by {', '.join(of['generators'])}" if of["generators"] else ""
    return f"{of['name']}: {of['n']} records ({of['locale']}){written}; replies annotated by {annotator}"


def _rows(document: Document, of: Document, annotator: str) -> Iterator[ScoreRow]:
    own = [row for row in document["rows"] if row["set"] == of["name"] and row["annotator"] in (annotator, None)]
    uniform = {row["system"]: row for row in own if row["weights"] == "uniform"}
    for row in (row for row in own if row["weights"] == "given"):
        figures = _figures(row)
        if row["system"] in uniform:
            figures |= {f"uniform_{name}": one for name, one in _figures(uniform[row["system"]]).items()}
        yield ScoreRow(_condition(of["name"], annotator), row["kind"], name_of(row), row["n"], figures, _note(row))


def _figures(row: Document) -> dict[str, Figure]:
    return {name: Figure(one["mean"], one.get("sd"), one.get("ci95")) for name, one in row["measures"].items()}


def name_of(row: Document) -> str:
    """The system of a row; the ceiling and the baselines by their short names."""
    system: str = row["system"]
    return system if row.get("kind", "system") == "system" else ROWS.get(system, system)


def _note(row: Document) -> str:
    """Replies that were not given, and records that are in no mean."""
    if row["kind"] == "baseline":
        return ""
    none = f"{row['no_reply']} not replied to (scored as empty)" if row["no_reply"] else ""
    lost = f"{row['unscored']} unscored (in no mean)" if row["unscored"] else ""
    return ", ".join(filter(None, [none, lost]))


def _difference(one: Document) -> Difference:
    condition, names = _condition(one["set"], one["annotator"]), (one["a"], one["b"], one["measure"])
    return Difference(
        condition, *names, one["n"], one["difference"], one["ci95"], one["p"], one["p_holm"], one["smallest_detectable"]
    )


def _telling(case: str, item: Document) -> Telling:
    scale = "wed" if case == "smallest" else case
    return Telling(CASES[case], scale, item["scores"][scale], item["system"], item["id"], item["user"], item)


def published_rows(rows: list[Document]) -> Iterator[ScoreRow]:
    """What the paper printed, by the set that it was measured on."""
    for row in rows:
        condition = f"set written and annotated by {row['set']}"
        yield ScoreRow(condition, "published", row["system"], None, _figures(row))


def _settings(settings: Document) -> str:
    repeats = f", {settings.get('repeats')} annotations of each reply (their spread is in the intervals)"
    given = "; importances as given, whatever they sum to" if settings.get("as_given") else ""
    return (
        f"Intervals: {settings.get('level', 0.95):.0%} percentile bootstrap over records, "
        f"{settings.get('resamples', 0):,} resamples, seed {settings.get('seed')}"
        f"{repeats if settings.get('repeats', 1) > 1 else ''}; "
        f"SD of single replies, n - {settings.get('sd_ddof')}{given}."
    )
