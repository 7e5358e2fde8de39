"""The HTML report of scored replies: one file that needs no network."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from fdbcore.report.html.templates import render
from fdbcore.suites.dialogue_acts import charts, sections, svg
from fdbcore.suites.dialogue_acts.alignment import ACTS
from fdbcore.suites.dialogue_acts.findings import Document, leads
from fdbcore.suites.dialogue_acts.picture import picture
from fdbcore.suites.dialogue_acts.published import CAUTION
from fdbcore.suites.dialogue_acts.sections import language
from fdbcore.suites.dialogue_acts.words import PARTS, Item, acts_of, weight

ITEMS_PER_CHUNK: Final = 200
MOST_ITEMS: Final = 20_000
"""How many replies a page shows: more make it slow to write and to open."""


def page(document: Document) -> str:
    """The whole page.

    The pictures of all items lie in it compressed, as they are drawn here, and are unpacked when one is opened.
    """
    items, left_out = _shown(document["items"])
    return render(
        "page.html",
        __package__,
        document=document,
        style=svg.style(),
        definitions=svg.definitions(),
        facts=sections.header(document),
        leads=leads(document),
        legend=sections.LEGEND,
        systems=sections.systems(document),
        comparison_columns=sections.COMPARISON_COLUMNS,
        comparisons=sections.comparisons(document),
        published_columns=sections.PUBLISHED_COLUMNS,
        published=sections.published(document),
        caution=CAUTION,
        cases=sections.cases(document),
        topic_columns=sections.TOPIC_COLUMNS,
        diagnosis=sections.diagnosis(document),
        left_out=left_out,
        choices=_choices(items),
        settings=sections.settings(document),
        terms=sections.TERMS,
        rows=packed([_row(item, number, language(document, item["set"])) for number, item in enumerate(items)]),
        pictures=[packed(chunk) for chunk in _pictures(document, items)],
        per_chunk=ITEMS_PER_CHUNK,
    )


def packed(value: object) -> str:
    """JSON, deflated, in Base64: what a browser unpacks by itself, and nothing in it can end a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def _shown(items: Sequence[Item]) -> tuple[Sequence[Item], str]:
    """The replies to the first records, MOST_ITEMS at most and as many of each system, and a word on the others."""
    if len(items) <= MOST_ITEMS:
        return items, ""
    replies = Counter((item["set"], item["id"]) for item in items)
    so_far = accumulate(replies.values())
    shown = {record for record, count in zip(replies, so_far, strict=True) if count <= MOST_ITEMS}
    kept = [item for item in items if (item["set"], item["id"]) in shown]
    return kept, (
        f"The {len(kept):,} replies to the first {len(shown):,} of {len(replies):,} records; all {len(items):,} are "
        "in scores.json, and in every figure above."
    )


def _pictures(document: Document, items: Sequence[Item]) -> Iterable[list[str]]:
    for start in range(0, len(items), ITEMS_PER_CHUNK):
        yield [picture(item, language(document, item["set"])) for item in items[start : start + ITEMS_PER_CHUNK]]


def _row(item: Item, number: int, lang: str) -> dict[str, Any]:
    """What the list of items needs to show, find and sort one."""
    texts = [item["user"], item["reference"]["text"], item["response"]["text"] or "", item["background"], item["id"]]
    scores = item["scores"]
    parts = {name: {"mean": scores[name]} for name in ("wed", *PARTS)}
    return {
        "number": number,
        "lang": lang,
        **{name: item[name] for name in ("set", "id", "topic", "system", "annotator", "repeat", "user", "background")},
        "score": weight(scores["wed"]),
        "scores": {name: scores[name] for name in ("wed", "wlcs", *PARTS)},
        "acts": _acts(item),
        "text": "\n".join(texts).lower(),
        "strip": charts.strip(parts, most=1.5),
    }


def _acts(item: Item) -> dict[str, list[str]]:
    """The acts of an item by what became of them."""
    references, replies = acts_of(item)
    found: dict[str, set[str]] = {name: set() for name in ("match", *PARTS)}
    for step in item["path"]:
        for steps, index in ((references, step["reference_index"]), (replies, step["prediction_index"])):
            if index is not None:
                found[step["operation"]].add(steps[index]["act"])
    return {name: sorted(acts) for name, acts in found.items()}


def _choices(items: Iterable[Item]) -> list[tuple[str, str, Mapping[str, str]]]:
    """What the list of items can be narrowed to: name, what chooses all, and the choices; a choice of one is none."""
    listed = list(items)
    found: list[tuple[str, str, Mapping[str, str]]] = []
    for name in ("set", "annotator", "system", "topic"):
        values = dict.fromkeys(str(item[name]) for item in listed)
        if len(values) > 1:
            found.append((name, f"every {name}", {value: value for value in values}))
    fates = {name: f"is {word}" for name, word in PARTS.items()} | {"match": "is kept"}
    return [*found, ("act", "every act", {act: act for act in ACTS}), ("fate", "wherever it is", fates)]
