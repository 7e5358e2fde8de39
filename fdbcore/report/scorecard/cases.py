"""The list of all cases on the page of a scorecard; the script scorecard.js filters, sorts and opens them."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from fdbcore.report.scorecard import drawings
from fdbcore.report.scorecard.drawings import BarPart
from fdbcore.report.scorecard.tables import value_text
from fdbcore.types.scorecard import Measure, Scorecard, ScoredCase, SuiteViews

PER_CHUNK: Final = 200
"""Pictures that are packed together."""
FIELDS: Final = ("condition", "system", "subset")
"""Fields of which every case has one; its groups of tags may be such, too."""
MOST: Final = 20_000
"""Cases that a page lists: more make it slow to write and to open."""


def packed(value: object) -> str:
    """JSON, deflated, in Base64. A browser unpacks it by itself, and nothing in it can end a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def shown(cases: Sequence[ScoredCase]) -> tuple[Sequence[ScoredCase], str]:
    """The first cases by their id: at most MOST, with as many of each system; and a note about the others."""
    if len(cases) <= MOST:
        return cases, ""
    of_each = Counter((case.condition, case.id) for case in cases)
    so_far = accumulate(of_each.values())
    first = {case for case, count in zip(of_each, so_far, strict=True) if count <= MOST}
    kept = [case for case in cases if (case.condition, case.id) in first]
    return kept, (
        f"The results of the first {len(first):,} of {len(of_each):,} cases, {len(kept):,} in all; all {len(cases):,} "
        "are in scores.json, and in every figure above."
    )


def pictures(views: SuiteViews, cases: Sequence[ScoredCase]) -> Iterator[list[str]]:
    """The picture of each case, in chunks."""
    for start in range(0, len(cases), PER_CHUNK):
        yield [views.picture(case) for case in cases[start : start + PER_CHUNK]]


def listed(card: Scorecard, cases: Sequence[ScoredCase], of_calls: Mapping[str, str]) -> list[dict[str, Any]]:
    """Cases with what the list needs to show, find and sort each. of_calls: the addresses of pages by recording."""
    whole = next((scale for scale in card.scales if scale.main), None)
    parts = [scale for scale in card.scales if whole is not None and scale.adds_to == whole.id]
    most = max([1.0, *(case.values.get(whole.id, 0.0) for case in cases)]) if whole is not None else 1.0
    single = _single_tags(cases)
    return [
        _listed(case, number, whole, parts, most)
        | {"page": of_calls.get(case.recording, ""), "single": {group: case.tags[group][0] for group in single}}
        for number, case in enumerate(cases)
    ]


def _listed(
    case: ScoredCase, number: int, whole: Measure | None, parts: Sequence[Measure], most: float
) -> dict[str, Any]:
    made = [BarPart(scale.label, case.values.get(scale.id, 0.0)) for scale in parts]
    return {
        "number": number,
        **{name: getattr(case, name) for name in (*FIELDS, "note", "id", "text", "lang")},
        "value": case.outcome or ("" if whole is None else value_text(case.values.get(whole.id), whole)),
        "values": dict(case.values),
        "tags": [_tag(group, tag) for group, tags in case.tags.items() for tag in ("", *tags) if tags],
        "words": "\n".join([case.text, case.id, *case.words]).lower(),
        "bar": drawings.bar(whole, made, most) if whole is not None and made else "",
    }


def _tag(group: str, tag: str) -> str:
    """A filter of the list: one tag of a group, or any of them."""
    return f"{group}\t{tag}"


def choices(cases: Sequence[ScoredCase]) -> dict[str, list[str]]:
    """The filters of which each case has one value, by name; what is the same for all cases is no filter."""
    found = {name: list(dict.fromkeys(getattr(case, name) for case in cases)) for name in FIELDS}
    found |= {group: list(dict.fromkeys(case.tags[group][0] for case in cases)) for group in _single_tags(cases)}
    return {name: values for name, values in found.items() if len(values) > 1}


def _single_tags(cases: Sequence[ScoredCase]) -> list[str]:
    """The groups of tags of which every case has one."""
    groups = dict.fromkeys(group for case in cases for group in case.tags)
    return [group for group in groups if all(len(case.tags.get(group, ())) == 1 for case in cases)]


def tag_groups(cases: Sequence[ScoredCase]) -> dict[str, dict[str, str]]:
    """The other tags of all cases by group, each with its text for readers."""
    found: dict[str, dict[str, str]] = {}
    single = _single_tags(cases)
    for case in cases:
        for group, tags in case.tags.items():
            if group in single:
                continue
            found.setdefault(group, {_tag(group, ""): f"any {group}"}).update({_tag(group, tag): tag for tag in tags})
    return found


def orders(card: Scorecard) -> Mapping[str, str]:
    """The orders of the list: the worst by the first main scale, of equal ones by the next; then by each other."""
    ranked = [scale for scale in card.scales if scale.direction and (scale.main or scale.adds_to)]
    found: dict[str, str] = {}
    for place, scale in enumerate(ranked):
        worst = f"{scale.id}:{scale.direction}"
        if place:
            found[worst] = f"{_END[scale.direction]} {scale.label} first"
        else:
            found[",".join(f"{each.id}:{each.direction}" for each in ranked)] = f"worst first ({scale.label})"
    if ranked:
        found[f"{ranked[0].id}:{-ranked[0].direction}"] = f"best first ({ranked[0].label})"
    return found


_END: Final = {-1: "most", 1: "least"}
