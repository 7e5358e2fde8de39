"""Turns a scores document into a scorecard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from fdbcore.report.format import counted, judging_took
from fdbcore.report.glossary import TERMS as GLOSSARY
from fdbcore.report.glossary import in_words
from fdbcore.report.html.templates import static
from fdbcore.report.scorecard.verdicts import verdicts
from fdbcore.stats.significance import pairs_needed
from fdbcore.suites.fdb_v1 import results
from fdbcore.suites.fdb_v1.measures import BY_ID, EARLY, HEARD, MEASURES, SuiteMeasure
from fdbcore.suites.fdb_v1.picture import picture
from fdbcore.suites.fdb_v1.results import ranges_told
from fdbcore.suites.fdb_v1.rows import conditions_of
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, Version
from fdbcore.types import Problem, TurnSettings
from fdbcore.types.scorecard import DETECTABLE, Difference, Figure, Scale, Scorecard, ScoredCase, ScoreRow, SuiteViews

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.document_types import V1Document, V1Row

NAMES: Final[Mapping[Version, str]] = {"fdb-v1": "Full-Duplex-Bench v1", "fdb-v1.5": "Full-Duplex-Bench v1.5"}
SLOWED: Final = "*"
"""Marks published rows of sound that their script may have heard too slow."""
NOTES: Final = (
    "Columns “as published” have the rules of the published scripts, for comparison with their tables; each term says "
    "what is wrong with it. Ours measure the sound at the labels of the samples.",
)
PUBLISHED: Final = (
    "What was published is of other recordings of the systems and of another recogniser; nothing is tested against it.",
    f"{SLOWED}: the released script takes any file for one of 16 kHz, and most released systems write 24 kHz, or 48 "
    f"(GPT-Realtime): compare “{HEARD}”.",
)
TOLD: Final[Mapping[str, tuple[str, str]]] = {
    PAUSE: ("cut_off_per_labelled_a_pause", "began to speak in the pause:"),
    BACKCHANNEL: ("takeover_by_activity_unwanted", "spoke for 1 s or more at a time:"),
    TURN_TAKING: ("takeover_by_activity_wanted", "took the turn:"),
    INTERRUPTION: ("takeover_by_activity_wanted", "took the turn:"),
}
"""The measure of v1 that a sentence a task tells. In a pause only what begins in it counts."""
BEGAN_EARLY: Final = "More than 0.2 s early, which is no answer:"
RESPONDS: Final = ("responds", "addressed the overlap:")
RESUMES: Final = ("resumes", "left the overlap aside and went on:")
"""The same of the tasks of v1.5: an interruption wants an answer, and all other overlaps want none."""


class V1Views(SuiteViews):
    """Ranges over transcribers, detectors and judges; the tests before and after; pictures of samples."""

    def __init__(self, document: V1Document) -> None:
        self._document = document

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """The ranges, and the tests before and after."""
        return results.details(self._document, width)

    def section(self) -> str:
        """The same on the page."""
        return results.section(self._document)

    def style(self) -> str:
        """The style of the pictures."""
        return static("sample.css", __package__)

    def picture(self, case: ScoredCase) -> str:
        """Both sides of a sample on one axis, with its labels."""
        return picture(case)


def card(document: V1Document) -> Scorecard:
    """The scorecard of a document. A condition is a task."""
    settings, scored = document["settings"], {item["call"] for item in document["items"]}
    problems = [Problem(**problem) for problem in document["problems"]]
    conditions = [name for name in conditions_of(document["version"]) if _rows_of(document, name)]
    whole = [row for row in document["rows"] if row["group"] is None]
    found = Scorecard(
        NAMES[document["version"]],
        _scales(document),
        {name: name for name in conditions},
        [*map(_row, whole), *map(_published, document["published"])],
        list(_differences(document)),
        warnings=document["warnings"],
        problems=[each for each in problems if each.where not in scored],
        gaps=[each for each in problems if each.where in scored],
        caption=f"{NAMES[document['version']]}: shares and means over samples, CI by sample.",
        test=f"paired differences on the same samples; p by sign flips; Holm over {settings['family']} comparisons",
        detectable=f"the least true difference found with power {settings['power']:.0%} at this n",
        notes=(*NOTES, *(PUBLISHED if document["published"] else ())),
        facts=_facts(document),
        subsets=[_row(row) for row in document["rows"] if row["group"] is not None],
        subsets_by="folder",
        conditions_by="task",
        cases=list(_cases(document)),
        terms=_terms(document),
        evidence={
            "made with": f"fdbcore {settings['fdbcore']}",
            "words by": ", ".join(settings["transcribers"]) or "nobody",
            "detectors": ", ".join(settings["detectors"]),
            "judged by": settings["judge"] or "nobody",
        },
        level=settings["level"],
        views=V1Views(document),
    )
    return replace(found, statements=[*_told(document, found), *ranges_told(document)])


def _rows_of(document: V1Document, condition: str) -> list[V1Row]:
    return [row for row in (*document["rows"], *document["published"]) if row["condition"] == condition]


def _known(document: V1Document) -> list[SuiteMeasure]:
    """The measures that are known of anything, in their order."""
    known = {name for row in (*document["rows"], *document["published"]) for name in row["measures"]}
    return [measure for measure in MEASURES if measure.id in known]


def _scales(document: V1Document) -> list[Scale]:
    return [
        Scale(
            measure.id,
            measure.label,
            measure.better,
            measure.unit,
            measure.decimals,
            measure.is_main,
            "" if measure.is_main else measure.part,
            bounds=(0.0, 1.0) if measure.is_main and measure.pooling == "share" else None,
            pools="trimmed mean" if measure.pooling == "trimmed" else measure.pooling,
        )
        for measure in _known(document)
    ]


def _row(row: V1Row) -> ScoreRow:
    figures = {
        name: Figure(each["value"], each["sd"], each["ci95"], each["n"]) for name, each in row["measures"].items()
    }
    return ScoreRow(row["condition"], "system", row["system"], row["n"], figures, subset=row["group"] or "")


def _published(row: V1Row) -> ScoreRow:
    figures = {name: Figure(each["value"]) for name, each in row["measures"].items()}
    mark = f" {SLOWED}" if row["condition"] == BACKCHANNEL else ""
    return ScoreRow(row["condition"], "published", f"{row['system']} ({row['group']}{mark})", row["n"], figures)


def _differences(document: V1Document) -> Iterator[Difference]:
    for one in document["comparisons"]:
        yield Difference(
            one["condition"], one["a"], one["b"], one["measure"], one["n"], one["difference"], one["ci95"], one["p"],
            one["p_holm"], one["detectable"], pairs_needed(document["settings"]["level"]),
        )  # fmt: skip


def _facts(document: V1Document) -> list[str]:
    samples = {(item["condition"], item["group"], item["sample"]) for item in document["items"]}
    systems = dict.fromkeys(item["system"] for item in document["items"])
    return [f"{len(samples)} samples", f"systems: {', '.join(systems)}"]


def _told(document: V1Document, card: Scorecard) -> Iterator[str]:
    """What the systems did in each task, by our own measures, since these need no words; and which one is better."""
    whole = [row for row in document["rows"] if row["group"] is None]
    for condition in dict.fromkeys(row["condition"] for row in whole):
        name, text = (
            TOLD[condition] if document["version"] == V1 else RESPONDS if condition == INTERRUPTION else RESUMES
        )
        rows = [row for row in whole if row["condition"] == condition]
        if shares := _counts(rows, name):
            is_early = any(row["measures"][EARLY]["value"] for row in rows if EARLY in row["measures"])
            early = [f"{BEGAN_EARLY} {_counts(rows, EARLY)}."] if is_early else []
            better = verdicts(card, condition, [row["system"] for row in rows])
            yield " ".join([f"{condition.capitalize()}: {text} {shares}.", *early, *better])
        elif document["version"] == V1:
            yield f"{condition.capitalize()}: no {_counted(condition)} could be scored: why is said above or below."
    if document["judging"] is not None:
        yield judging_took(document["judging"], "these samples")


def _counts(rows: Sequence[V1Row], name: str) -> str:
    """How often it was in each system: "a in 3 of 4 samples, b in 0 of 1 sample"; "" if that is not known of any."""
    what = _counted(rows[0]["condition"])
    return ", ".join(
        f"{row['system']} in {round(figure['value'] * figure['n']):,} of {counted(figure['n'], what)}"
        for row in rows
        if (figure := row["measures"].get(name)) is not None and figure["value"] is not None
    )


def _counted(condition: str) -> str:
    """What a sentence counts of a task."""
    return "pause" if condition == PAUSE else "sample"


def _terms(document: V1Document) -> dict[str, str]:
    own = {
        measure.label: measure.meaning + (f" Known to be wrong with it: {measure.defect}." if measure.defect else "")
        for measure in _known(document)
    }
    has_sd = any(
        figure["sd"] is not None and BY_ID[name].is_main
        for row in document["rows"]
        for name, figure in row["measures"].items()
    )
    shared = {name: in_words(GLOSSARY[name], TurnSettings()) for name in ("A and B", "Label", "Interval")}
    found = {**own, **shared, **({"SD": "The standard deviation of single items."} if has_sd else {})}
    if not document["comparisons"]:
        return found
    return {
        **found,
        "p": "How often a difference as large would come about by chance: the sign of each pair's difference is "
        "flipped at random. A pair is a sample that both have. Of n pairs p is at least 2 / 2^n.",
        "Holm": "p, corrected for the number of comparisons (Holm 1979).",
        DETECTABLE: "The least true difference that so many pairs find four times in five, by a t test without the "
        "correction. None where p cannot fall below 0.05.",
    }


def _cases(document: V1Document) -> Iterator[ScoredCase]:
    trials = max((item["trial"] for item in document["items"]), default=1)
    for item in document["items"]:
        values = {name: sum(items) / len(items) for name, items in item["figures"].items() if items and name in BY_ID}
        did = (item["marks"] or {}).get("did")
        tags = {} if did is None else {"behaviour": (did.replace("_", " "),)}
        yield ScoredCase(
            item["condition"],
            item["system"],
            f"{item['group']} {item['sample'].removeprefix(item['group'] + '-')}".strip(),
            item["words"] or ("" if item["system_speech"] else "silent"),
            values,
            subset=item["group"],
            note=f"trial {item['trial']}" if trials > 1 else "",
            lang="en",
            tags=tags,
            item=cast("Mapping[str, Any]", item),
            recording=item["call"],
        )
