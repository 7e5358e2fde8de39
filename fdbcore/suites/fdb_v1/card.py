"""Turns a scores document into a scorecard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from fdbcore.report.format import counted, judging_took
from fdbcore.report.glossary import TERMS as GLOSSARY
from fdbcore.report.glossary import in_words
from fdbcore.report.scorecard.verdicts import verdicts
from fdbcore.results.document import scorecard
from fdbcore.suites.fdb_v1.measures import BY_ID, EARLY, HEARD, MEASURES
from fdbcore.suites.fdb_v1.over_samples import SLOWED, conditions_of
from fdbcore.suites.fdb_v1.results import ranges_told
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, Version
from fdbcore.types import TurnSettings
from fdbcore.types.scorecard import DETECTABLE, Scorecard, ScoredCase, ScoreRow

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.scoring import V1Document

NAMES: Final[Mapping[Version, str]] = {"fdb-v1": "Full-Duplex-Bench v1", "fdb-v1.5": "Full-Duplex-Bench v1.5"}
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


def card(document: Mapping[str, Any], found: V1Document) -> Scorecard:
    """The scorecard of a stored document, of which `found` has the values. A condition is a task."""
    settings, shown = found.settings, {row.condition for row in found.rows}
    name = NAMES[found.version]
    samples = {(item.condition, item.group, item.sample) for item in found.items}
    systems = dict.fromkeys(item.system for item in found.items)
    made = scorecard(
        name,
        document,
        MEASURES,
        {condition: condition for condition in conditions_of(found.version) if condition in shown},
        {item.call for item in found.items},
        caption=f"{name}: shares and means over samples, CI by sample.",
        test=f"paired differences on the same samples; p by sign flips; Holm over {settings.family} comparisons",
        detectable=f"the least true difference found with power {settings.power:.0%} at this n",
        notes=(*NOTES, *(PUBLISHED if any(row.group == "published" for row in found.rows) else ())),
        facts=[f"{len(samples)} samples", f"systems: {', '.join(systems)}"],
        subsets_by="folder",
        conditions_by="task",
        evidence={
            "made with": f"fdbcore {settings.fdbcore}",
            "words by": ", ".join(settings.transcribers) or "nobody",
            "detectors": ", ".join(settings.detectors),
            "judged by": settings.judge or "nobody",
        },
    )
    return replace(
        made,
        cases=list(_cases(found)),
        terms=_terms(made),
        statements=[*_told(found, made), *ranges_told(found)],
    )


def _told(document: V1Document, card: Scorecard) -> Iterator[str]:
    """What the systems did in each task, by our own measures, since these need no words; and which one is better."""
    for condition in card.conditions:
        rows = [row for row in card.rows if row.condition == condition and row.group == "system"]
        name, text = TOLD[condition] if document.version == V1 else RESPONDS if condition == INTERRUPTION else RESUMES
        if shares := _counts(rows, name):
            is_early = any(row.measures[EARLY].value for row in rows if EARLY in row.measures)
            early = [f"{BEGAN_EARLY} {_counts(rows, EARLY)}."] if is_early else []
            better = verdicts(card, condition, [row.system for row in rows])
            yield " ".join([f"{condition.capitalize()}: {text} {shares}.", *early, *better])
        elif rows and document.version == V1:
            yield f"{condition.capitalize()}: no {_counted(condition)} could be scored: why is said above or below."
    if document.judging is not None:
        yield judging_took(document.judging, "these samples")


def _counts(rows: Sequence[ScoreRow], name: str) -> str:
    """How often it was in each system: "a in 3 of 4 samples, b in 0 of 1 sample"; "" if that is not known of any."""
    return ", ".join(
        f"{row.system} in {round(figure.value * n):,} of {counted(n, _counted(row.condition))}"
        for row in rows
        if (figure := row.measures.get(name)) is not None and figure.value is not None and (n := row.n_of(name))
    )


def _counted(condition: str) -> str:
    """What a sentence counts of a task."""
    return "pause" if condition == PAUSE else "sample"


def _terms(card: Scorecard) -> dict[str, str]:
    own = {
        scale.label: scale.meaning + (f" Known to be wrong with it: {scale.defect}." if scale.defect else "")
        for scale in card.scales
    }
    shared = {name: in_words(GLOSSARY[name], TurnSettings()) for name in ("A and B", "Label", "Interval")}
    has_sd = any(
        figure.sd is not None and BY_ID[name].main
        for row in (*card.rows, *card.subsets)
        for name, figure in row.measures.items()
    )
    found = {**own, **shared, **({"SD": "The standard deviation of single items."} if has_sd else {})}
    if not card.differences:
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
    trials = max((item.trial for item in document.items), default=1)
    for item in document.items:
        did = (item.marks or {}).get("did")
        yield ScoredCase(
            item.condition,
            item.system,
            f"{item.group} {item.sample.removeprefix(item.group + '-')}".strip(),
            item.words or ("" if item.system_speech else "silent"),
            {name: sum(own) / len(own) for name, own in item.figures.items() if own and name in BY_ID},
            subset=item.group,
            note=f"trial {item.trial}" if trials > 1 else "",
            lang="en",
            tags={} if did is None else {"behaviour": (did.replace("_", " "),)},
            item=to_builtins(item),
            recording=item.call,
        )
