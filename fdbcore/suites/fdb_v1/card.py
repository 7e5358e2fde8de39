"""Views of a scores document: the scorecard; beside it the ranges over transcribers, detectors and judges, and the
tests before and after; and the picture of one sample: both sides on one axis in seconds, with the labels over them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fdbcore.recording import converted
from fdbcore.report import (
    NONE,
    Cell,
    ColumnGroup,
    Lane,
    counted,
    filled,
    in_words,
    interval_text,
    judging_took,
    lanes,
    number_text,
    p_value,
    render,
    static,
    table,
    verdicts,
    width_columns,
)
from fdbcore.report import TERMS as GLOSSARY
from fdbcore.results import scorecard
from fdbcore.suites.fdb_v1.judging import REASONS, TOLD
from fdbcore.suites.fdb_v1.measures import BY_ID, EARLY, HEARD, MEASURES
from fdbcore.suites.fdb_v1.over_samples import V1PairedTest, V1Range
from fdbcore.suites.fdb_v1.samples import BACKCHANNEL, INTERRUPTION, PAUSE, TURN_TAKING, V1, Version, conditions_of
from fdbcore.suites.fdb_v1.scoring import V1Document, V1Item
from fdbcore.types import TurnSettings
from fdbcore.types.scorecard import DETECTABLE, Measure, Scorecard, ScoredCase, ScoreRow, SuiteViews

NAMES: Final[Mapping[Version, str]] = {"fdb-v1": "Full-Duplex-Bench v1", "fdb-v1.5": "Full-Duplex-Bench v1.5"}
NOTES: Final = (
    "Columns “as published” have the rules of the published scripts, for comparison with their tables; each term says "
    "what is wrong with it. Ours measure the sound at the labels of the samples.",
)
SLOWED: Final = "*"
"""Marks published rows of sound that their script may have heard too slow."""
PUBLISHED: Final = (
    "What was published is of other recordings of the systems, by another transcriber; nothing is tested against it.",
    f"{SLOWED}: the released script takes any file for one of 16 kHz, and most released systems write 24 kHz, or 48 "
    f"(GPT-Realtime): compare “{HEARD}”.",
)
ANSWERED: Final = "answered_per_labelled_turn_end"
TASKS_TOLD: Final[Mapping[str, tuple[str, str]]] = {
    PAUSE: ("cut_off_per_labelled_a_pause", "began to speak in the pause:"),
    BACKCHANNEL: ("takeover_by_activity_unwanted", "spoke for 1 s or more at a time:"),
    TURN_TAKING: (ANSWERED, "answered:"),
    INTERRUPTION: (ANSWERED, "answered:"),
}
"""The measure of v1 that a sentence a task tells. In a pause only what begins in it counts."""
TAKEOVER: Final = "takeover_by_activity_wanted"
"""The measure that v1 publishes of these tasks: it also counts what is no response."""
BEGAN_EARLY: Final = "More than 0.2 s early, which is no response:"
RESPONDS: Final = ("responds", "addressed the overlap:")
RESUMES: Final = ("resumes", "left the overlap aside and went on:")
"""The same of the tasks of v1.5: an interruption wants an answer, and all other overlaps want none."""
AGAINST: Final = {"before": "before the overlap", "clean": "the clean sample"}
RANGE_HEADS: Final = ("system", "measure", "n", "least", "most", "by each")
TEST_HEADS: Final = (
    "", "feature", "against", "n", "out", "published [95 %]", "p", "Holm", "d_z", "ours n", "ours [95 %]", "p", "Holm",
)  # fmt: skip
RANGES: Final = "What the figures are by other transcribers, detectors and judges, of the n samples that all have"
BY: Final = {"transcriber": "transcriber", "detector": "voice activity detector", "judge": "judge or its wording"}
ALPHA: Final = 0.05
TESTS: Final = "After the overlap, compared"
TESTS_NOTE: Final = (
    "Published: a paired t-test of samples judged “respond” with words on each side, against before or the whole clean "
    "sample, without outliers (3.5 scaled MAD); corrected over the tests of one task and system (Holm). Ours: all "
    "samples, by sign flips, the clean ones from the same time on; corrected over all tests."
)
COLUMNS: Final = ("figure", "value")


def card(document: Mapping[str, Any]) -> Scorecard:
    """The scorecard of a stored document. A condition is a task."""
    found: V1Document = converted(document, V1Document)
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
            "words by": ", ".join(settings.transcribers) or "nobody",
            "detectors": ", ".join(settings.detectors),
            "judged by": settings.judge or "nobody",
        },
    )
    return replace(
        made,
        cases=list(_cases(found)),
        terms=_terms(made),
        statements=[*_told(found, made), *_ranges_told(found)],
        views=V1Views(found),
    )


def _told(document: V1Document, card: Scorecard) -> Iterator[str]:
    """The behaviour of systems in each task, by our measures, since these need no words; and which one is better."""
    for condition in card.conditions:
        rows = [row for row in card.rows if row.condition == condition and row.group == "system"]
        name, text = (
            TASKS_TOLD[condition] if document.version == V1 else RESPONDS if condition == INTERRUPTION else RESUMES
        )
        if shares := _counts(rows, name):
            is_early = any(row.measures[EARLY].value for row in rows if EARLY in row.measures)
            early = [f"{BEGAN_EARLY} {_counts(rows, EARLY)}."] if is_early else []
            better = verdicts(card, condition, [row.system for row in rows])
            taken = _counts(rows, TAKEOVER) if name == ANSWERED else ""
            published = [f"As published, took the turn: {taken}."] if taken else []
            yield " ".join([f"{condition.capitalize()}: {text} {shares}.", *early, *better, *published])
        elif rows and document.version == V1:
            yield f"{condition.capitalize()}: no {_counted(condition)} could be scored: why is said above or below."
    if document.judging is not None:
        yield judging_took(document.judging, "these samples")


def _counts(rows: Sequence[ScoreRow], name: str) -> str:
    """Counts of it in each system: "a in 3 of 4 samples, b in 0 of 1 sample"; "" if that is not known of any."""
    return ", ".join(
        f"{row.system} in {round(figure.value * n):,} of {counted(n, _counted(row.condition))}"
        for row in rows
        if (figure := row.measures.get(name)) is not None and figure.value is not None and (n := row.n_of(name))
    )


def _counted(condition: str) -> str:
    """The unit that a sentence counts of a task."""
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
            recording=item.call,
        )


class V1Views(SuiteViews):
    """Ranges over transcribers, detectors and judges; the tests before and after; pictures of samples."""

    def __init__(self, document: V1Document) -> None:
        self._document = document
        self._items = {item.call: item for item in document.items}

    def details(self, width: int) -> list[list[str]]:
        """The ranges, and the tests before and after."""
        blocks = []
        if ranges := self._document.ranges:
            moved = [each for each in ranges if _range(each)[2] != _range(each)[3]]
            alike = len(ranges) - len(moved)
            head = f"{RANGES}; {counted(alike, 'figure')} {'is' if alike == 1 else 'are'} the same by all"
            blocks.append([*filled(head, width).splitlines(), *(ranges_table(moved, width) if moved else [])])
        if tests := self._document.tests:
            blocks.append([line for text in _tests_told(tests) for line in filled(text, width).splitlines()])
        return blocks

    def section(self) -> str:
        """The same on the page; "" without either."""
        ranges, tests = self._document.ranges, self._document.tests
        if not ranges and not tests:
            return ""
        return render(
            "results.html", __package__,
            ranges=[(Cell(each.system, each.condition), _range(each)) for each in ranges],
            tests=[(Cell(each.system, each.condition), _test(each)) for each in tests],
            range_heads=RANGE_HEADS, test_heads=["system", *TEST_HEADS[1:]], ranges_title=RANGES, tests_title=TESTS,
            tests_note=TESTS_NOTE,
        )  # fmt: skip

    def style(self) -> str:
        """The style of the pictures."""
        return static("lanes.css")

    def picture(self, case: ScoredCase) -> str:
        """Both sides of a sample on one axis, with its labels over them; and a table of its figures."""
        item = self._items[case.recording]
        rows = [(BY_ID[name].label, [_value(name, values)]) for name, values in item.figures.items() if name in BY_ID]
        marks = item.marks or {}
        facts = [(TOLD[name], f"{marks[name]}: {marks[REASONS[name]]}") for name in TOLD if name in marks]
        facts += [("system's words", item.words)] if item.words else []
        return render("sample.html", __package__, drawn=_drawn(item), rows=rows, facts=facts, columns=COLUMNS)


def _tests_told(tests: Sequence[V1PairedTest]) -> Iterator[str]:
    """Differences by a corrected p, and in how many tests; the page has all of them."""
    for whose, of in (
        ("published", [(each, each.p_holm, each.difference) for each in tests]),
        ("ours", [(each, each.ours_p_holm, each.ours_difference) for each in tests]),
    ):
        known = [(each, p, by) for each, p, by in of if p is not None and by is not None]
        found = [(each, p, by) for each, p, by in known if p < ALPHA]
        all_told = f"{len(found)} of {len(known)} tests find a difference (Holm); the page has all"
        yield f"{TESTS}, {whose}: {all_told if known else 'too few samples for any test'}"
        for each, p, by in found:
            scale = BY_ID[f"{each.feature}_change"]
            shown = f"{scale.label} {_number(by, scale, '+')} {scale.unit}".strip()
            yield f"  {each.system}, {each.condition}: {shown} against {AGAINST[each.against]}, p {p_value(p)}"


def _ranges_told(document: V1Document) -> Iterator[str]:
    """A sentence on the widest range of shares by each of BY, and one on how far each two judges agree."""
    for by, what in BY.items():
        own = [each for each in document.ranges if each.by == by and BY_ID[each.measure].pools == "share"]
        if any(each.low < each.high for each in own):
            widest = max(own, key=lambda each: each.high - each.low)
            yield (
                f"With the {what}, “{BY_ID[widest.measure].label}” of {widest.system} ({widest.condition}) "
                f"goes from {widest.low:.2f} to {widest.high:.2f} on {counted(widest.n, 'sample')}; "
                "no share goes further."
            )
    for each in document.agreement:
        agree, kappa = (
            f"{number_text(own.value)} {interval_text(own.ci95) if own.ci95 else ''}".strip()
            for own in (each.agree, each.kappa)
        )
        told = f"{each.second} agrees with {each.first} on “{TOLD[each.rubric]}”"
        yield f"{told} in {agree} of {counted(each.agree.n or 0, 'sample')}, kappa {kappa}."


def _number(value: float | None, scale: Measure, sign: str = "") -> str:
    return NONE if value is None else f"{value:{sign}.{scale.decimals}f}"


def _range(each: V1Range) -> Sequence[str]:
    scale = BY_ID[each.measure]
    by = ", ".join(f"{name} {_number(value, scale)}" for name, value in each.values.items())
    low, high = _number(each.low, scale), _number(each.high, scale)
    return f"{scale.label} {scale.unit}".strip(), str(each.n), low, high, by


def _test(each: V1PairedTest) -> Sequence[str]:
    scale = BY_ID[f"{each.feature}_change"]
    published, ours = (
        f"{_number(value, scale, '+')} {interval_text(limits, '+') if limits else ''}".strip()
        for value, limits in ((each.difference, each.ci95), (each.ours_difference, each.ours_ci95))
    )
    return (
        f"{scale.label} {scale.unit}".strip(), AGAINST[each.against], str(each.n), str(each.outliers), published,
        p_value(each.p), p_value(each.p_holm), NONE if each.d_z is None else f"{each.d_z:+.2f}",
        str(each.ours_n), ours, p_value(each.ours_p), p_value(each.ours_p_holm),
    )  # fmt: skip


def ranges_table(ranges: Sequence[V1Range], width: int) -> list[str]:
    """A line for each range, with a column for each transcriber and detector."""
    by = list(dict.fromkeys(name for each in ranges for name in each.values))
    names = [f"{each.system}, {each.condition}" for each in ranges]
    measures, *limits, _ = zip(*map(_range, ranges), strict=True)
    values = [[_number(each.values.get(name), BY_ID[each.measure]) for name in by] for each in ranges]
    groups = [
        ColumnGroup("", ["measure"], [len("measure")], [[measure] for measure in measures]),
        ColumnGroup("", ["n", "least", "most"], [3, 5, 5], list(zip(*limits, strict=True))),
        ColumnGroup("by each", by, [*map(width_columns, by)], values),
    ]
    return table(names, groups, width)


def _value(name: str, items: Sequence[float]) -> str:
    mean = f"{_number(sum(items) / len(items), BY_ID[name])} {BY_ID[name].unit}".strip() if items else NONE
    return mean if len(items) < 2 else f"{mean} (mean of {len(items)})"


def _drawn(item: V1Item) -> str:
    labelled = ", ".join(f"{start_s:.2f} to {end_s:.2f} s" for start_s, end_s in item.labels) or "none"
    about = f"{item.condition}: the user and {item.system} over {item.length_s:.1f} s; labels: {labelled}"
    sides = [Lane("user", "user", item.user), Lane("system", "system", item.system_speech)]
    return lanes(sides, max(item.length_s, 0.1), about, item.labels)
