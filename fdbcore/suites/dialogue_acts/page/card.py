"""Turns a scores document into a scorecard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from fdbcore.report.format import counted
from fdbcore.stats.significance import pairs_needed
from fdbcore.suites.dialogue_acts.models.annotate import annotation_took
from fdbcore.suites.dialogue_acts.page.words import ENGLISH, OPERATIONS, PARTS, steps_of
from fdbcore.suites.dialogue_acts.records import REFERENCE
from fdbcore.suites.dialogue_acts.scoring.baselines import BEST_CONSTANT, MOST_FREQUENT, SHUFFLED
from fdbcore.suites.dialogue_acts.scoring.comparison import CONTENT as CONTENT_MEASURE
from fdbcore.suites.dialogue_acts.scoring.comparison import ComparisonJson, RowJson
from fdbcore.suites.dialogue_acts.scoring.diagnosis import Diagnosis
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument, PublishedRow, ScoredSet, ScoredWith
from fdbcore.suites.dialogue_acts.scoring.findings import leads
from fdbcore.suites.dialogue_acts.scoring.scores import ItemJson, Kind
from fdbcore.suites.dialogue_acts.tag_sets import TagSet, paper_acts, parsed
from fdbcore.types import Problem
from fdbcore.types.scorecard import Difference, Figure, Scale, Scorecard, ScoredCase, ScoreRow, Telling

SCALES: Final = (
    Scale("wed", "WED", -1, main=True),
    Scale("insertion", "missing", -1, part="parts of WED", adds_to="wed"),
    Scale("deletion", "redundant", -1, part="parts of WED", adds_to="wed"),
    Scale("substitution", "swapped", -1, part="parts of WED", adds_to="wed"),
    Scale("wlcs", "WLCS", 1, main=True),
    Scale("recall", "recall", 1, part="ours"),
    Scale("f1", "F1", 1, part="ours"),
    Scale("uniform_wed", "WED", -1, part="uniform"),
    Scale("uniform_wlcs", "WLCS", 1, part="uniform"),
)
CONTENT: Final = Scale(CONTENT_MEASURE, "content right", 1, "%", 1, main=True, bounds=(0, 100), pools="share")
"""What a judge says, if one was asked."""
PUBLISHED: Final = "Table 1 of the paper, as printed, not measured here; it states neither n nor which SD"
KINDS: Final[Sequence[Kind]] = get_args(Kind)
ROWS: Final = {
    BEST_CONSTANT: "best constant",
    MOST_FREQUENT: "most frequent",
    SHUFFLED: "shuffled",
    REFERENCE: "ceiling",
}
"""Short names of rows; the legend explains them."""
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
    "Smallest detectable": "The difference that this many records would show four times in five.",
    "p (Holm)": "How likely so great a difference is if the systems do not differ, corrected for all comparisons made.",
}


def card(document: ActsDocument) -> Scorecard:
    """The scorecard of a document. A condition is a set as one annotator labels it; each has the baselines, too."""
    settings = document["settings"]
    seen = [(of, name) for of in document["sets"] for name in _annotators(of, document)]
    published = list(published_rows(document["published"]))
    cases = [_case(item, document) for item in document["items"]]
    found = Scorecard(
        "Do the replies have the right dialogue acts?",
        (*SCALES, CONTENT) if "judging" in document else SCALES,
        {_condition(of["name"], name): _heading(of, name) for of, name in seen}
        | {row.condition: f"{row.condition}: {PUBLISHED}" for row in published},
        [*(row for of, name in seen for row in _rows(document, of, name)), *published],
        list(_differences(document)),
        [
            Telling("least", "wed", cases[one["item"]])
            if one["case"] == "smallest"
            else Telling("most", one["case"], cases[one["item"]])
            for one in document["cases"]
        ],
        document["warnings"],
        [Problem(**problem) for problem in document["problems"]],
        _caption(document),
        f"paired differences on the same records; p by sign flips; Holm over {settings.get('family')} comparisons",
        f"the least true difference found with power {settings.get('power', 0):.0%} at this n",
        (
            *document.get("notes", ()),
            LEGEND,
            LEGEND_OF_ROWS,
            _settings(settings, document),
            *((CAUTION,) if published else ()),
            *((CONTENT_LEGEND,) if "judging" in document else ()),
        ),
        _facts(document),
        subsets=list(_topics(document)),
        subsets_by="topic",
        cases=cases,
        terms=TERMS,
        evidence=_evidence(document),
        level=settings.get("level", 0.95),
    )
    return replace(found, statements=leads(found, document.get("judging")))


def _evidence(document: ActsDocument) -> dict[str, str]:
    """What the figures rest on, in words."""
    settings: Mapping[str, object] = document["settings"]
    in_words: dict[str, tuple[str, Callable[[Any], str]]] = {
        "fdbcore": ("made with", lambda version: f"fdbcore {version}"),
        "annotators": ("annotators", ", ".join),
        "repeats": ("annotations of each reply", str),
        "as_given": ("importances", lambda as_given: "as given" if as_given else "scaled so that they sum to 1"),
        "merged": ("neighbouring steps of one act", lambda merged: "one step" if merged else "left apart"),
        "partial_credit": ("swaps of related acts", lambda is_given: "cost less" if is_given else "cost as any other"),
        "first_reference": ("references", lambda first: "the first alone" if first else "the nearest of each record's"),
        "level": ("level of intervals", lambda level: f"{100 * level:g} %"),
        "resamples": ("resamples", lambda n: f"{n:,}"),
        "seed": ("seed", str),
        "power": ("power of a detectable difference", lambda power: f"{100 * power:g} %"),
    }
    found = {name: text(settings[key]) for key, (name, text) in in_words.items() if key in settings}
    if "judging" in document:
        found["judge of the content"] = document["judging"]["judge"]
    for one in document["settings"].get("annotated_with", []):
        found[f"annotation of {one['set']}"] = f"{annotation_took(one)}; {one['sdk']}, {one['server']}"
    for of in document["sets"]:
        topics = ", ".join(f"{topic} {n}" for topic, n in of["topics"].items())
        by = f", written by {', '.join(of['generators'])}" if of["generators"] else ""
        found[f"records of {of['name']}"] = f"{counted(of['n'], 'record')} in {of['locale']}{by}: {topics}"
    return found


def _facts(document: ActsDocument) -> list[str]:
    """What was scored: sets, systems, annotators."""
    systems = dict.fromkeys(row["system"] for row in document["rows"] if row["kind"] == "system")
    annotators = dict.fromkeys(row["annotator"] for row in document["rows"] if row["annotator"] is not None)
    sets = ", ".join(f"{of['name']} ({counted(of['n'], 'record')}, {of['locale']})" for of in document["sets"])
    return [
        sets,
        f"replies of {', '.join(systems) or 'no system'}",
        f"acts labelled by {', '.join(annotators) or 'nobody'}",
    ]


def _caption(document: ActsDocument) -> str:
    sets = "; ".join(f"{of['name']}: n = {of['n']}" for of in document["sets"])
    settings = document["settings"]
    return (
        f"Dialogue acts of replies against references ({sets}). WED: weighted dialogue-act edit "
        "distance, lower is better, the sum of what is missing (insertion), redundant (deletion) and swapped "
        "(substitution). WLCS: weighted LCS, higher is better. uniform: all acts weigh the same. "
        f"SD: of single replies; CI: expanded percentile bootstrap over {_resampled(document)}, "
        f"{settings.get('resamples', '?')} resamples. Recall and F1 are not measures of the original benchmark."
    )


def _annotators(of: ScoredSet, document: ActsDocument) -> list[str]:
    rows = [row for row in document["rows"] if row["set"] == of["name"]]
    return list(dict.fromkeys(row["annotator"] for row in rows if row["annotator"]))


def tags_of(document: ActsDocument) -> TagSet:
    """The acts of a document."""
    return parsed(document["tag_set"]) if "tag_set" in document else paper_acts()


def _condition(of: str, annotator: str) -> str:
    return f"{of}, annotated by {annotator}"


def _heading(of: ScoredSet, annotator: str) -> str:
    written = f", written by {', '.join(of['generators'])}" if of["generators"] else ""
    return f"{of['name']}: {of['n']} records ({of['locale']}){written}; replies annotated by {annotator}"


def several_conditions(document: ActsDocument) -> bool:
    """Whether there is more than one set, or more than one annotator of it."""
    return len({(row["set"], row["annotator"]) for row in document["rows"] if row["annotator"] is not None}) > 1


def _rows(document: ActsDocument, of: ScoredSet, annotator: str) -> list[ScoreRow]:
    """Systems first, then the other kinds; within a kind, the smallest distance first."""
    own = [row for row in document["rows"] if row["set"] == of["name"] and row["annotator"] in (annotator, None)]
    uniform = {row["system"]: row for row in own if row["weights"] == "uniform"}
    found = []
    for row in (row for row in own if row["weights"] == "given"):
        figures = _figures(row)
        figures |= _content(document, row)
        if row["system"] in uniform:
            figures |= {f"uniform_{name}": one for name, one in _figures(uniform[row["system"]]).items()}
        found.append(
            ScoreRow(_condition(of["name"], annotator), row["kind"], name_of(row), row["n"], figures, _note(row))
        )
    return sorted(found, key=_place)


def _place(row: ScoreRow) -> tuple[int, float]:
    wed = row.measures["wed"].value
    return KINDS.index(row.group), float("inf") if wed is None else wed


def _figures(row: RowJson | PublishedRow) -> dict[str, Figure]:
    return {name: Figure(one["mean"], one.get("sd"), one.get("ci95")) for name, one in row["measures"].items()}


def _content(document: ActsDocument, of: RowJson) -> dict[str, Figure]:
    """The share of the replies of a row whose content is right, in %, if a judge was asked about them."""
    found = {}
    for row in document["judging"]["rows"] if "judging" in document else ():
        if (row["set"], row["system"]) == (of["set"], of["system"]):
            limits = row["ci95"] and [100 * limit for limit in row["ci95"]]
            found[CONTENT.id] = Figure(None if row["share"] is None else 100 * row["share"], None, limits, row["n"])
    return found


def name_of(row: RowJson | ItemJson | Diagnosis) -> str:
    """The system of a row, an item or a diagnosis; the ceiling and the baselines have short names."""
    system: str = row["system"]
    return system if row.get("kind", "system") == "system" else ROWS.get(system, system)


def _note(row: RowJson) -> str:
    """How many requests got no reply, and how many records are in no mean."""
    if row["kind"] == "baseline":
        return row.get("note", "")
    none = f"{row['no_reply']} not replied to (scored as empty)" if row["no_reply"] else ""
    lost = f"{row['unscored']} unscored (in no mean)" if row["unscored"] else ""
    return ", ".join(filter(None, [none, lost]))


def _differences(document: ActsDocument) -> Iterator[Difference]:
    """The differences of each condition, pair by pair, in the order of the scales.

    What a judge says of the content hangs on no annotator, so each condition of a set has it.
    """
    places = {scale.id: place for place, scale in enumerate((*SCALES, CONTENT))}
    for of in document["sets"]:
        judged = [one for one in _judged(document) if one["set"] == of["name"]]
        for annotator in _annotators(of, document):
            own = [one for one in document["comparisons"] if (one["set"], one["annotator"]) == (of["name"], annotator)]
            pairs = list(dict.fromkeys((one["a"], one["b"]) for one in (*own, *judged)))
            for one in sorted((*own, *judged), key=lambda o: (pairs.index((o["a"], o["b"])), places[o["measure"]])):
                yield _difference(_condition(of["name"], annotator), one, document["settings"].get("level", 0.95))


def _judged(document: ActsDocument) -> Sequence[ComparisonJson]:
    """The comparisons on what a judge says of the content, if one was asked."""
    return document["judging"].get("comparisons", []) if "judging" in document else []


def _difference(condition: str, one: ComparisonJson, level: float) -> Difference:
    times, needed = 100 if one["measure"] == CONTENT.id else 1, pairs_needed(level)
    clusters = one.get("clusters")
    value, found = one["difference"], one["smallest_detectable"]
    if found is not None and (one["n"] if clusters is None else clusters) < needed:
        found = None
    return Difference(
        condition,
        one["a"],
        one["b"],
        one["measure"],
        one["n"],
        None if value is None else times * value,
        one["ci95"] and [times * limit for limit in one["ci95"]],
        one["p"],
        one["p_holm"],
        None if found is None else times * found,
        needed,
        one.get("differing"),
        clusters,
    )


def _topics(document: ActsDocument) -> Iterator[ScoreRow]:
    for found in document["diagnosis"]:
        for topic in found["topics"]:
            figures = {name: Figure(topic[name]) for name in ("wed", "wlcs")}
            yield ScoreRow(
                _condition(found["set"], found["annotator"]),
                found["kind"],
                name_of(found),
                topic["n"],
                figures,
                subset=topic["topic"],
            )


def _case(item: ItemJson, document: ActsDocument) -> ScoredCase:
    right = item["response"].get("verdict", {}).get("right")
    texts = item["reference"]["text"], item["response"]["text"] or "", item["background"]
    return ScoredCase(
        _condition(item["set"], item["annotator"]),
        name_of(item),
        item["id"],
        item["user"],
        item["scores"] | ({} if right is None else {CONTENT.id: 100.0 * right}),
        item["topic"],
        f"annotation {item['repeat']}" if item["repeat"] > 1 else "",
        language(document, item["set"]),
        _tags(item, tags_of(document).names),
        texts,
        {
            "language": document.get("page_language", ENGLISH),
            "item": item,
            "tag_set": document.get("tag_set") or paper_acts().to_json(),
        },
        item["response"].get("live", {}).get("call", ""),
    )


def language(document: ActsDocument, name: str) -> str:
    """The language of the texts of a set."""
    return next((str(of["locale"]) for of in document["sets"] if of["name"] == name), "ja-JP")


def _tags(item: ItemJson, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The acts of an item: all of them, and by what happened to them."""
    found: dict[str, set[str]] = {name: set() for name in ("act", *PARTS.values(), OPERATIONS["match"])}
    for operation, asked, given, _ in steps_of(item):
        for act in filter(None, (asked, given)):
            found["act"].add(act["act"])
            found[OPERATIONS[operation]].add(act["act"])
    return {name: tuple(act for act in names if act in acts) for name, acts in found.items()}


def published_rows(rows: Sequence[PublishedRow]) -> Iterator[ScoreRow]:
    """The figures of the paper, by the set that they were measured on."""
    for row in rows:
        condition = f"set written and annotated by {row['set']}"
        yield ScoreRow(condition, "published", row["system"], None, _figures(row))


def _resampled(document: ActsDocument) -> str:
    """What intervals resample, in words."""
    return "recorded users" if any("clusters" in row for row in document["rows"]) else "records"


def _settings(settings: ScoredWith, document: ActsDocument) -> str:
    repeats = f", {settings.get('repeats')} annotations of each reply (their spread is in the intervals)"
    given = "; importances as given, whatever they sum to" if settings.get("as_given") else ""
    return (
        f"Intervals: {settings.get('level', 0.95):.0%} expanded percentile bootstrap (wider by Student's t) "
        f"over {_resampled(document)}, "
        f"{settings.get('resamples', 0):,} resamples, seed {settings.get('seed')}"
        f"{repeats if settings.get('repeats', 1) > 1 else ''}; "
        f"SD of single replies, n - {settings.get('sd_ddof')}{given}."
    )
