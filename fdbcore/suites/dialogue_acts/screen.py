"""What `fdbcore score --suite dialogue-acts` prints: plain text for any terminal of 60 columns or more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from fdbcore.suites.dialogue_acts.baselines import MOST_FREQUENT, SHUFFLED
from fdbcore.suites.dialogue_acts.columns import NAME_COLUMNS, Group, columns, fitted, table, wrapped
from fdbcore.suites.dialogue_acts.published import CAUTION
from fdbcore.suites.dialogue_acts.records import REFERENCE

NAMES: Final = {
    "wlcs": "WLCS",
    "wed": "WED",
    "deletion": "del",
    "insertion": "ins",
    "substitution": "sub",
    "recall": "recall",
    "f1": "F1",
}
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
PROBLEMS: Final = 10
PROBLEM_LINES: Final = 5
LARGEST: Final = 3
NONE: Final = "–"

Document = Mapping[str, Any]


def screen(document: Document, width: int) -> str:
    """The document in at most `width` columns (60 or more), without a newline at the end."""
    blocks = [
        [
            line
            for text in document["warnings"]
            for line in wrapped(fitted(f"!! {text}", PROBLEM_LINES * (width - 6)), width, 3)
        ],
        *(block for of in document["sets"] for block in _set_blocks(document, of, width)),
        _published(document["published"], width),
        [line for text in (LEGEND, LEGEND_OF_ROWS, _settings(document["settings"])) for line in wrapped(text, width)],
        list(problem_lines(document["problems"], width)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _set_blocks(document: Document, of: Document, width: int) -> Iterator[list[str]]:
    rows = [row for row in document["rows"] if row["set"] == of["name"]]
    for annotator in dict.fromkeys(row["annotator"] for row in rows if row["annotator"]):
        own = [row for row in rows if row["annotator"] in (annotator, None)]
        yield [*_heading(of, annotator, width), *_scores(own, width), *_remarks(own, width)]
    compared = [one for one in document["comparisons"] if one["set"] == of["name"]]
    yield list(_comparisons(compared, document["settings"], width))
    yield list(_diagnoses([one for one in document["diagnosis"] if one["set"] == of["name"]], width))
    items = [(case["case"], document["items"][case["item"]]) for case in document["cases"]]
    yield [_case(case, item, width) for case, item in items if item["set"] == of["name"]]


def _heading(of: Document, annotator: str, width: int) -> Iterator[str]:
    written = f", written by {', '.join(map(name_text, of['generators']))}" if of["generators"] else ""
    name = name_text(of["name"])
    text = f"{name}: {of['n']} records ({of['locale']}){written}; replies annotated by {name_text(annotator)}"
    return wrapped(text, width, 2)


def _scores(rows: Sequence[Document], width: int) -> list[str]:
    given = [row for row in rows if row["weights"] == "given"]
    uniform = [row for row in rows if row["weights"] == "uniform"]
    groups = [
        Group("", ["n"], [4], [[str(row["n"])] for row in given]),
        _group("mean [95 % interval]", ("wlcs", "wed"), given, _with_interval, 17),
        _group("SD", ("wlcs", "wed"), given, lambda measure: number_text(measure["sd"])),
        _group("parts of WED", ("deletion", "insertion", "substitution"), given, _mean),
        _group("ours", ("recall", "f1"), given, _mean, 6),
        _group("uniform", ("wlcs", "wed"), uniform, _mean),
    ]
    return table([_name(row) for row in given], groups, width)


def _group(
    title: str, measures: Sequence[str], rows: Sequence[Document], text: Callable[[Document], str], width: int = 5
) -> Group:
    cells = [[text(row["measures"][name]) for name in measures] for row in rows]
    return Group(title, [NAMES[name] for name in measures], [width] * len(measures), cells)


def _name(row: Document) -> str:
    system: str = row["system"]
    return name_text(system if row.get("kind", "system") == "system" else ROWS.get(system, system))


def name_text(name: str) -> str:
    """A name in a line of text, cut in its middle where it is long."""
    return fitted(name, NAME_COLUMNS)


def _mean(measure: Document) -> str:
    return number_text(measure["mean"])


def _with_interval(measure: Document) -> str:
    return f"{number_text(measure['mean'])} {interval_text(measure['ci95']):>11}"


def number_text(value: float | None) -> str:
    """Three decimals."""
    return NONE if value is None else f"{value:.3f}"


def interval_text(limits: Sequence[float] | None, sign: str = "") -> str:
    """Two decimals, as "[0.77,0.90]"; sign: "+" to show it."""
    return f"[{','.join(f'{limit:{sign}.2f}' for limit in limits)}]" if limits else NONE


def _remarks(rows: Sequence[Document], width: int) -> Iterator[str]:
    """Replies that were not given, and records that are in no mean."""
    for row in rows:
        if row["weights"] == "given" and row["kind"] != "baseline":
            none = f"{row['no_reply']} not replied to (scored as empty)" if row["no_reply"] else ""
            lost = f"{row['unscored']} unscored (in no mean)" if row["unscored"] else ""
            if none or lost:
                yield from wrapped(f"{_name(row)}: {', '.join(filter(None, [none, lost]))}", width, 2)


def _comparisons(compared: Sequence[Document], settings: Document, width: int) -> Iterator[str]:
    if not compared:
        return
    yield from wrapped(
        f"paired differences on the same records; p by sign flips; Holm over {settings['family']} comparisons; "
        f"detectable: the least true difference found with power {settings['power']:.0%} at this n",
        width,
        2,
    )
    for (a, b, annotator), found in groupby(compared, lambda one: (one["a"], one["b"], one["annotator"])):
        own = list(found)
        yield from wrapped(f"{name_text(a)} - {name_text(b)}, annotated by {name_text(annotator)}", width, 2)
        cells = [
            [
                f"{_signed(one['difference'])} {interval_text(one['ci95'], '+'):>13}",
                number_text(one["p"]),
                number_text(one["p_holm"]),
                number_text(one["smallest_detectable"]),
            ]
            for one in own
        ]
        headers = ["difference [95 %]", "p", "Holm", "detectable"]
        groups = [
            Group("", ["n"], [4], [[str(one["n"])] for one in own]),
            Group("", headers, [20, 5, 5, 10], cells),
        ]
        yield from table([f"  {NAMES[one['measure']]}" for one in own], groups, width)[1:]


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{value:+.3f}"


def _diagnoses(found: Sequence[Document], width: int) -> Iterator[str]:
    for one in found:
        yield from wrapped(
            f"acts of {_name(one)}, annotated by {name_text(one['annotator'])}: weight per reply", width, 2
        )
        swapped = {f"{swap['reference']} by {swap['predicted']}": swap["weight"] for swap in one["swapped"]}
        for label, weights in (("missing", one["missing"]), ("redundant", one["redundant"]), ("swapped", swapped)):
            largest = sorted(weights.items(), key=lambda act: -act[1])[:LARGEST]
            text = ", ".join(f"{act} {weight:.3f}" for act, weight in largest) or "nothing"
            yield from wrapped(f"  {label:<11}{text}", width, 13)


def _case(case: str, item: Document, width: int) -> str:
    cost = item["scores"]["wed" if case == "smallest" else case]
    name = "WED" if case == "smallest" else NAMES[case]
    start = f"{CASES[case]:<18}{name} {cost:.2f}  {fitted(item['system'], 16)} {fitted(item['id'], 14)} "
    return start + fitted(item["user"], max(8, width - columns(start)))


def _published(rows: Sequence[Document], width: int) -> list[str]:
    if not rows:
        return []
    lines = list(wrapped("published (Table 1 of the paper; it states neither n nor which SD)", width, 2))
    for of, found in groupby(rows, lambda row: row["set"]):
        own = list(found)
        groups = [
            Group("", [], [], [[] for _ in own]),
            _group("mean", ("wlcs", "wed"), own, _mean),
            _group("SD", ("wlcs", "wed"), own, lambda measure: number_text(measure["sd"])),
            _group("parts of WED", ("deletion", "insertion", "substitution"), own, _mean),
        ]
        lines += [f"set written and annotated by {of}", *table([row["system"] for row in own], groups, width)]
    return [*lines, *wrapped(CAUTION, width)]


def _settings(settings: Document) -> str:
    repeats = f", {settings['repeats']} annotations of each reply (their spread is in the intervals)"
    given = "; importances as given, whatever they sum to" if settings["as_given"] else ""
    return (
        f"Intervals: {settings['level']:.0%} percentile bootstrap over records, {settings['resamples']:,} resamples, "
        f"seed {settings['seed']}{repeats if settings['repeats'] > 1 else ''}; "
        f"SD of single replies, n - {settings['sd_ddof']}{given}."
    )


def problem_lines(problems: Sequence[Document], width: int) -> Iterator[str]:
    """How many things were left out, and the first of them."""
    if problems:
        yield f"left out: {len(problems)}"
    for problem in problems[:PROBLEMS]:
        yield from wrapped(fitted(f"  {problem['where']}: {problem['reason']}", PROBLEM_LINES * (width - 6)), width, 4)
    if len(problems) > PROBLEMS:
        yield f"  and {len(problems) - PROBLEMS} more (--json has all)"
