"""Turns a scores document into a scorecard."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, get_args

from fdbcore.report import counted
from fdbcore.suites.dialogue_acts.models.annotate import annotation_took
from fdbcore.suites.dialogue_acts.page.phrases import OPERATIONS, PARTS, steps_of
from fdbcore.suites.dialogue_acts.scoring.comparison import CONTENT, SCALES
from fdbcore.suites.dialogue_acts.scoring.diagnosis import Diagnosis
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument, ScoredSet
from fdbcore.suites.dialogue_acts.scoring.findings import leads
from fdbcore.suites.dialogue_acts.scoring.scores import ActsItem, Kind, condition_of
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scorecard, ScoredCase, ScoreRow, Telling

AS_PRINTED: Final = "Table 1 of the paper, as printed, not measured here; it states neither n nor which SD"
KINDS: Final = (*get_args(Kind), "published")
LEGEND: Final = (
    "WED: what it costs to turn the reply into the reference (less is better), by inserting the missing, deleting the "
    "redundant, substituting the swapped. WLCS: share of the reply's weight that is in the reference, in its order "
    "(more is better). recall: as WLCS, share of the reference's weight; F1 of the two. uniform: all acts weigh the "
    "same."
)
LEGEND_OF_ROWS: Final = (
    "ceiling: the reference texts, annotated again. always Inform, most frequent (sequence of acts), best constant "
    "(sequence with the least mean WED), shuffled (other records' references): replies that do not listen."
)

CONTENT_LEGEND: Final = (
    "content right: replies whose content the judge finds right, of those that it gave a verdict on; a reply that was "
    "not given is not right."
)

CAUTION: Final = (
    "Where acts are annotated by acts.ja.txt, as in the shipped set and by --annotator, it decides borders that the "
    "paper leaves open (advice that was asked for is a Suggestion, 「分かりません」 a Commissive, and so on): such "
    "scores cannot be compared with the paper's."
)
"""The warning that stands beside the rows of the paper."""

TERMS: Final = {
    "Dialogue act": "What a part of a reply does: one of "
    "Question (質問), Check-Question (確認質問), Answer (回答), Inform (情報提供), Request (依頼), Suggestion (提案), "
    "Commissive (約束・承諾). A reply is a sequence of acts.",
    "Importance": "The share of the reply that an act is, from 0 to 1; those of a reply sum to 1.",
    "Distance (WED)": "Weighted dialogue-act edit distance: the least cost of turning the reply's acts into the "
    "reference's. 0 is the same acts in the same order, whatever their importance; 1 is a reply that was not given; "
    "it can exceed 1. It is the sum of what is missing, redundant and swapped.",
    "Missing": "Acts that only the reference has; each costs its importance. The paper calls it insertion.",
    "Redundant": "Acts that only the reply has; each costs its importance. The paper calls it deletion.",
    "Swapped": "One act in the place of another; it costs half of both importances. The paper calls it substitution.",
    "Weighted LCS": "The greatest importance, on the reply's side, of acts that both sequences have in the same order. "
    "A reply of one act can have all of it.",
    "Recall": "The same with the importances of the reference. Not in the paper.",
    "F1": "The harmonic mean of weighted LCS and recall. Not in the paper.",
    "Content right": "What a judge says, if one was asked (--judge): the reply is true in the situation and does what "
    "the user needs, as the situation and the good replies say. Acts do not tell this.",
    "Ceiling": "The reference texts themselves, annotated again by the same annotator: how far two annotations "
    "of one text are apart. A system may come nearer, as its replies are other texts.",
    "Baselines": "Replies that ignore the request: what a score must exceed to mean anything. The best constant is the "
    "sequence that gets the least mean WED as the reply to everything: what a deaf system can get.",
    "Uniform weights": "A control: every act of a sequence weighs the same.",
    "Minimum detectable effect": "The difference that this many records would show four times in five.",
    "p (Holm)": "How likely so great a difference is if the systems do not differ, corrected for all comparisons made.",
}


def card(document: ActsDocument) -> Scorecard:
    """The scorecard of a document."""
    settings, cases = document.settings, [_case(item, document) for item in document.items]
    printed = dict.fromkeys(row.condition for row in document.rows if row.group == "published")
    conditions = {
        name: _heading(of, by) for of in document.sets for name, by in zip(of.conditions, of.annotators, strict=True)
    } | {name: f"{name}: {AS_PRINTED}" for name in printed}
    places = list(conditions)

    def place(row: ScoreRow) -> tuple[int, int, float]:
        """Condition by condition, systems first; within a kind, the smallest distance first."""
        wed = row.measures["wed"].value if row.group != "published" else 0.0
        return places.index(row.condition), KINDS.index(row.group), float("inf") if wed is None else wed

    found = Scorecard(
        "Do the replies have the right dialogue acts?",
        (*SCALES, CONTENT) if document.judging else SCALES,
        conditions,
        sorted((row for row in document.rows if not row.subset), key=place),
        document.differences,
        [
            Telling("least", "wed", cases[one["item"]])
            if one["case"] == "smallest"
            else Telling("most", one["case"], cases[one["item"]])
            for one in document.cases
        ],
        document.warnings,
        [Problem(each.where, each.reason) for each in document.problems],
        _caption(document),
        f"paired differences on the same records; p by sign flips; Holm over {settings.family} comparisons",
        f"the least true difference found with power {settings.power:.0%} at this n",
        (
            *document.notes,
            LEGEND,
            LEGEND_OF_ROWS,
            _settings(document),
            *((CAUTION,) if printed else ()),
            *((CONTENT_LEGEND,) if document.judging else ()),
        ),
        _facts(document),
        subsets=[row for row in document.rows if row.subset],
        subsets_by="topic",
        cases=cases,
        terms=TERMS,
        evidence=_evidence(document),
        level=settings.level,
    )
    return replace(found, statements=leads(found, document))


def _evidence(document: ActsDocument) -> dict[str, str]:
    """The basis of the figures, in words."""
    settings = document.settings
    found = {
        "annotators": ", ".join(settings.annotators),
        "annotations of each reply": str(settings.repeats),
        "importances": "as given" if settings.as_given else "scaled so that they sum to 1",
        "neighbouring steps of one act": "one step" if settings.merged else "left apart",
        "swaps of related acts": "cost less" if settings.partial_credit else "cost as any other",
        "references": "the first alone" if settings.first_reference else "the nearest of each record's",
        "level of intervals": f"{100 * settings.level:g} %",
        "resamples": f"{settings.resamples:,}",
        "power": f"{100 * settings.power:g} %",
    }
    if document.judging is not None:
        found["judge of the content"] = document.judging["judge"]
    for one in settings.annotated_with:
        found[f"annotation of {one['set']}"] = f"{annotation_took(one)}; {one['sdk']}, {one['server']}"
    for of in document.sets:
        topics = ", ".join(f"{topic} {n}" for topic, n in of.topics.items())
        by = f", written by {', '.join(of.generators)}" if of.generators else ""
        found[f"records of {of.name}"] = f"{counted(of.n, 'record')} in {of.locale}{by}: {topics}"
    return found


def _facts(document: ActsDocument) -> list[str]:
    """The material that was scored: sets, systems, annotators."""
    systems = dict.fromkeys(row.system for row in document.rows if row.group == "system" and not row.subset)
    sets = ", ".join(f"{of.name} ({counted(of.n, 'record')}, {of.locale})" for of in document.sets)
    return [
        sets,
        f"replies of {', '.join(systems) or 'no system'}",
        f"acts labelled by {', '.join(document.settings.annotators) or 'nobody'}",
    ]


def _caption(document: ActsDocument) -> str:
    sets = "; ".join(f"{of.name}: n = {of.n}" for of in document.sets)
    return (
        f"Dialogue acts of replies against references ({sets}). WED: weighted dialogue-act edit "
        "distance, lower is better, the sum of what is missing (insertion), redundant (deletion) and swapped "
        "(substitution). WLCS: weighted LCS, higher is better. uniform: all acts weigh the same. "
        f"SD: of single replies; CI: expanded percentile bootstrap over {_resampled(document)}, "
        f"{document.settings.resamples} resamples. Recall and F1 are not measures of the original benchmark."
    )


def _heading(of: ScoredSet, annotator: str) -> str:
    written = f", written by {', '.join(of.generators)}" if of.generators else ""
    return f"{of.name}: {of.n} records ({of.locale}){written}; replies annotated by {annotator}"


def several_conditions(document: ActsDocument) -> bool:
    """True if there is more than one set, or more than one annotator of it."""
    return sum(len(of.annotators) for of in document.sets) > 1


def name_of(one: ActsItem | Diagnosis) -> str:
    """The system of an item or a diagnosis; the ceiling has a name of its own, as its row."""
    return "ceiling" if one.kind == "ceiling" else one.system


def _case(item: ActsItem, document: ActsDocument) -> ScoredCase:
    verdict, live = item.response.verdict, item.response.live
    texts = item.reference.text, item.response.text or "", item.background
    return ScoredCase(
        condition_of(item.set, item.annotator),
        name_of(item),
        item.id,
        item.user,
        item.scores | ({} if verdict is None or verdict.right is None else {CONTENT.id: 100.0 * verdict.right}),
        item.topic,
        f"annotation {item.repeat}" if item.repeat > 1 else "",
        language(document, item.set),
        _tags(item, [act["name"] for act in document.tag_set["acts"]]),
        texts,
        {"language": document.page_language, "item": item, "tag_set": document.tag_set},
        live.call if live else "",
    )


def language(document: ActsDocument, name: str) -> str:
    """The language of the texts of a set."""
    return next((of.locale for of in document.sets if of.name == name), "ja-JP")


def _tags(item: ActsItem, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The acts of an item: all of them, and by what happened to them."""
    found: dict[str, set[str]] = {name: set() for name in ("act", *PARTS.values(), OPERATIONS["match"])}
    for operation, asked, given, _ in steps_of(item):
        for act in filter(None, (asked, given)):
            found["act"].add(act.act)
            found[OPERATIONS[operation]].add(act.act)
    return {name: tuple(act for act in names if act in acts) for name, acts in found.items()}


def _resampled(document: ActsDocument) -> str:
    """The units that intervals resample, in words."""
    return "recorded users" if any("recorded_users" in row.counts for row in document.rows) else "records"


def _settings(document: ActsDocument) -> str:
    settings = document.settings
    repeats = f", {settings.repeats} annotations of each reply (their spread is in the intervals)"
    given = "; importances as given, whatever they sum to" if settings.as_given else ""
    return (
        f"Intervals: {settings.level:.0%} expanded percentile bootstrap (wider by Student's t) "
        f"over {_resampled(document)}, {settings.resamples:,} resamples, seed {settings.seed}"
        f"{repeats if settings.repeats > 1 else ''}; SD of single replies, n - {settings.sd_ddof}{given}."
    )
