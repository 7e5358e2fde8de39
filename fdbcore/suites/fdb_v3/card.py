"""Turns a scores document of recorded scenarios into a scorecard."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from fdbcore.report.format import counted
from fdbcore.report.html.templates import static
from fdbcore.suites.fdb_v3 import view
from fdbcore.suites.fdb_v3.findings import findings
from fdbcore.suites.fdb_v3.judging.shown import judging_details, section
from fdbcore.suites.fdb_v3.people import rank_notes
from fdbcore.suites.fdb_v3.published import CONDITION, published_condition, published_details, published_rows
from fdbcore.suites.fdb_v3.screen import defects
from fdbcore.suites.fdb_v3.terms import FAILURES, MEASURES, PUBLISHED, V3Measure
from fdbcore.types import Problem
from fdbcore.types.remarks import CallRemarks
from fdbcore.types.scorecard import NO_FIGURE, Difference, Figure, Scale, Scorecard, ScoredCase, ScoreRow, SuiteViews

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import (
        OursComparison,
        OursRow,
        V3Compat,
        V3Document,
        V3Group,
        V3Item,
        V3Played,
    )
    from fdbcore.suites.fdb_v3.scenario_types import DataCard

TEST: Final = (
    "Differences are paired, on the recordings that both systems have. Shares have Newcombe's interval of two of "
    "Wilson's, the others that of the cluster bootstrap. p is by sign flips of whole clusters, of the mean difference: "
    "if two systems do not differ, all differences of a cluster are as likely to be the other way round. Clusters are "
    "speakers, then scenarios; the wider interval and the larger p are shown. corr. is p corrected for all pairs of "
    "systems and all measures of a condition: passed is tested first (max T), the other measures of a pair only if it "
    "differs in passed, with what the first test leaves (gatekeeping); – there: not tested"
)
TERMS: Final[Mapping[str, str]] = {
    **{each.label: f"{each.meaning} Over: {each.over}." for each in MEASURES.values()},
    **{f"failure: {label}": meaning for label, meaning in FAILURES.values()},
    "pass@k": "The chance that at least one of k trials of a recording passes (arXiv 2107.03374).",
    "pass^k": "The chance that all of k trials of a recording pass (arXiv 2406.12045).",
    **{f"{each.part}: {each.label}": f"of {each.over}; {each.meaning}" for each in PUBLISHED.values()},
}
_DECIMALS: Final = {"": 3, "s": 2, "ms": 0}


def _scale(measure: V3Measure, prefix: str = "") -> Scale:
    return Scale(
        f"{prefix}{measure.id}",
        measure.label,
        measure.direction,
        measure.unit,
        _DECIMALS[measure.unit],
        main=measure.compared,
        part="" if measure.compared else measure.part,
        bounds=None if measure.unit else (0.0, 1.0),
        pools=measure.pooled,
    )


PASSED: Final = _scale(PUBLISHED["passed"], "compat_")
REPAIRED: Final = msgspec.structs.replace(PASSED, id="compat_passed_repaired", label="Pass@1, labels repaired")
SCALES: Final = (
    *map(_scale, sorted(MEASURES.values(), key=lambda measure: not measure.compared)),
    *(_scale(measure, "compat_") for measure in PUBLISHED.values()),
    REPAIRED,
)


class V3Views(SuiteViews):
    """Known defects of the published measures, how far judges agree, the paper's case studies; recordings drawn."""

    def __init__(self, document: V3Document, scales: Collection[str]) -> None:
        self._document, self._scales = document, scales

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """Known defects of the published measures, how far judges agree, and the paper's case studies."""
        judging, beside = self._document["judging"], self._document["published"]
        own = [each for name, each in PUBLISHED.items() if f"compat_{name}" in self._scales]
        return [
            ["as published, with its known defects [over which recordings]:", *defects(own, width)],
            *([] if judging is None else judging_details(judging, width)),
            *([] if beside is None else published_details(beside, width)),
        ]

    def section(self) -> str:
        """How far judges agree, and the paper's case studies."""
        return section(self._document)

    def style(self) -> str:
        """The style of the drawings of recordings."""
        return static("case.css", __package__)

    def legend(self) -> str:
        """How to read them."""
        return (
            '<p class="v3-key">Bars are speech and calls, from their arguments to their results; a call without a '
            "result has a dashed outline. The dashed line is the user&#x27;s end.</p>"
        )

    def picture(self, case: ScoredCase) -> str:
        """Who spoke when, the calls, and what was expected."""
        return view.picture(case)

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """The calls."""
        return view.remarks(case)


def card(document: V3Document) -> Scorecard:
    """The scorecard of a document. A condition is how the tools behave; a subset is a slice of the recordings."""
    settings, scored = document["settings"], {item["call"] for item in document["items"]}
    problems = [Problem(**problem) for problem in document["problems"]]
    beside = document["published"]
    published = [] if beside is None else list(published_rows(beside))
    rows = [row for group in document["groups"] for row in _rows(group)]
    rows += [row for row in published if not row.subset]
    known = {name for row in rows for name, figure in row.measures.items() if figure.value is not None}
    found = Scorecard(
        "Full-Duplex-Bench v3: tools under disfluency",
        [scale for scale in SCALES if scale.id in known],
        {group["condition"]: group["condition"] for group in document["groups"]}
        | ({} if beside is None else {CONDITION: published_condition(beside)}),
        rows,
        [_difference(group["condition"], one) for group in document["groups"] for one in group["comparisons"]],
        warnings=document["warnings"],
        problems=[each for each in problems if each.where not in scored],
        gaps=[each for each in problems if each.where in scored],
        caption="Tools under disfluent speech; recorded users.",
        test=TEST,
        correction="corr.",
        notes=list(rank_notes(document["people"])),
        facts=_facts(document),
        subsets=[
            *(row for group in document["groups"] for row in _slices(group)),
            *(row for row in published if row.subset),
        ],
        subsets_by="slice",
        conditions_by="tools",
        cases=list(_cases(document)),
        terms=TERMS,
        evidence={
            "made with": f"fdbcore {settings['fdbcore']}",
            "recordings": "; ".join(map(_of_set, document["data"])),
            **({"played": "; ".join(dict.fromkeys(map(_of_run, document["played"])))} if document["played"] else {}),
            "words of systems by": settings["transcriber"] or "nobody, or the released results",
            "arguments judged by": next(iter((document["judging"] or {"judges": []})["judges"]), "the exact matcher"),
        },
        level=settings["level"],
        views=V3Views(document, known),
    )
    return replace(found, statements=list(findings(found, document)))


def _of_set(data: DataCard) -> str:
    kind = "synthetic" if data["synthetic"] else "people"
    told = (f"{name}: {data[name]}" for name in ("annotators", "guideline", "agreement"))
    return f"{kind}; {', '.join(told)}"


def _of_run(run: V3Played) -> str:
    ends = run["ends"]
    over = "with the recording and its tail"
    if ends is not None:
        over = f"{ends['quiet_s']:g} s after an answer, or {ends['most_s']:g} s after the user's end"
    clock = "in lockstep, compute time not counted" if run["clock"] == "virtual" else "in real time"
    return f"{clock}; calls end {over}"


def _facts(document: V3Document) -> list[str]:
    found = [counted(len(document["items"]), "result")]
    for data in document["data"]:
        kind = "synthetic " if data["synthetic"] else ""
        found.append(
            f"{counted(data['recordings'], f'{kind}recording')}, {counted(data['scenarios'], 'scenario')}, "
            f"{counted(data['speakers'], 'speaker')}"
        )
    return found


def _rows(group: V3Group) -> Iterator[ScoreRow]:
    for row in group["compat"]:
        if row["label"] == "as_released":
            fixed = next(each for each in group["compat"] if each["system"] == row["system"] and each != row)
            ours = next(each for each in group["ours"] if each["system"] == row["system"] and not each["slice"])
            repaired = {REPAIRED.id: _figures(fixed)[PASSED.id]}
            figures = {**_our_figures(ours), **_figures(row), **repaired}
            yield ScoreRow(group["condition"], "system", row["system"], row["n"], figures, note=_note(row))


def _note(row: V3Compat) -> str:
    unheard = row["n"] - row["heard"]
    return f"no words of {unheard} of {row['n']}: left out of what needs words" if unheard else ""


def _figures(row: V3Compat) -> Mapping[str, Figure]:
    rates = {f"compat_{name}": Figure(rate["value"], n=rate["n"]) for name, rate in row["rates"].items()}
    means = {
        f"compat_{name}": NO_FIGURE if each is None else Figure(each["mean_s"], each["stdev_s"], n=each["n"])
        for name, each in row["latencies"].items()
    }
    return {**rates, **means}


def _our_figures(row: OursRow) -> Mapping[str, Figure]:
    return {name: Figure(each["value"], None, each["ci95"], each["n"]) for name, each in row["measures"].items()}


def _difference(condition: str, one: OursComparison) -> Difference:
    return Difference(
        condition,
        one["a"],
        one["b"],
        one["measure"],
        one["n"],
        one["difference"],
        one["ci95"],
        one["p"],
        one["p_corrected"],
    )


def _slices(group: V3Group) -> Iterator[ScoreRow]:
    by_slice: dict[tuple[str, str], dict[str, Any]] = {}
    for row in group["slices"]:
        found = by_slice.setdefault((row["system"], row["slice"]), {"n": row["n"], "figures": {}})
        scale = PASSED.id if row["label"] == "as_released" else REPAIRED.id
        found["figures"][scale] = Figure(row["passed"] / row["n"], n=row["n"])
        if row["label"] == "as_released":
            found["figures"] |= {
                f"compat_{name}": Figure(each["value"], n=each["n"]) for name, each in row["rates"].items()
            }
    for ours in group["ours"]:
        if (own := by_slice.get((ours["system"], ours["slice"]))) is not None:
            own["figures"] |= _our_figures(ours)
    for (system, name), found in by_slice.items():
        yield ScoreRow(group["condition"], "system", system, found["n"], found["figures"], subset=name)


def _cases(document: V3Document) -> Iterator[ScoredCase]:
    several = len({item["trial"] for item in document["items"]}) > 1
    for item in document["items"]:
        yield ScoredCase(
            item["condition"],
            item["system"],
            item["record"],
            item["script"],
            item["values"],
            subset=item["domain"],
            note=f"trial {item['trial']}" if several else "",
            lang="en",
            tags=_tags(item),
            outcome=FAILURES[item["failure"]][0] if item["failure"] else "passed",
            words=[item["transcript"] or "", *(call["name"] for call in item["calls"])],
            item=cast("Mapping[str, Any]", item),
            recording=item["call"] or "",
        )


def _tags(item: V3Item) -> Mapping[str, tuple[str, ...]]:
    failure = (FAILURES[item["failure"]][0],) if item["failure"] else ()
    return {"difficulty": (item["difficulty"],), "disfluency": tuple(item["disfluencies"]), "failure": failure}
