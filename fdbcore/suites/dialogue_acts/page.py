"""The HTML report of scored replies: one file that needs no network."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from string import Template
from typing import Any, Final

from fdbcore.acts import ACTS
from fdbcore.recording import write_text
from fdbcore.report.shell import shell, static
from fdbcore.report.svg import without_controls, xml
from fdbcore.suites.dialogue_acts import charts, sections, svg
from fdbcore.suites.dialogue_acts.findings import Document, leads
from fdbcore.suites.dialogue_acts.picture import picture
from fdbcore.suites.dialogue_acts.sections import language
from fdbcore.suites.dialogue_acts.words import PARTS, Item, acts_of, weight

ITEMS_PER_CHUNK: Final = 200
MOST_ITEMS: Final = 20_000
"""How many replies a page shows: more make it slow to write and to open."""


def write_report(document: Document, path: Path) -> Path:
    """Write the report of a scores document to `path` and return it. Raises RecordingError if it cannot be written."""
    write_text(path, without_controls(page(document)))
    return path


def page(document: Document) -> str:
    """The whole page. Every text that comes from the document is escaped.

    The pictures of all items lie in it compressed, as they are drawn here, and are unpacked when one is opened.
    """
    first, *others = leads(document)
    items, left_out = _shown(document["items"])
    body = Template(static("page.html", __package__)).substitute(
        definitions=svg.definitions(),
        header=sections.header(document),
        warnings=sections.warnings(document),
        lead="".join(f'<p class="lead">{xml(text)}</p>' for text in (first, *others)),
        legend=sections.legend(),
        systems=sections.systems(document),
        comparisons=sections.comparisons(document),
        published=sections.published(document),
        cases=sections.cases(document),
        diagnosis=sections.diagnosis(document),
        left_out=left_out,
        choices=_choices(items),
        settings=sections.settings(document),
        glossary=sections.glossary(),
        footer=xml(f"fdbcore {document['settings'].get('fdbcore', '')} · {document['schema']}"),
        rows=packed([_row(item, number, language(document, item["set"])) for number, item in enumerate(items)]),
        pictures="\n".join(
            f'<script type="text/plain" class="pictures">{packed(chunk)}</script>'
            for chunk in _pictures(document, items)
        ),
        per_chunk=ITEMS_PER_CHUNK,
        script=static("items.js", __package__),
    )
    style = f"{static('page.css', __package__)}\n{svg.style()}"
    return shell(body, "Dialogue acts – fdbcore", style, "script-src 'unsafe-inline'; img-src data:")


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
        f"<p>The {len(kept):,} replies to the first {len(shown):,} of {len(replies):,} records; all {len(items):,} are "
        "in scores.json, and in every figure above.</p>"
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


def _choices(items: Iterable[Item]) -> str:
    """What the list of items can be narrowed to; a choice of one is none."""
    listed = list(items)
    selects = []
    for name, every in (
        ("set", "every set"),
        ("annotator", "every annotator"),
        ("system", "every system"),
        ("topic", "every topic"),
    ):
        values = list(dict.fromkeys(str(item[name]) for item in listed))
        if len(values) > 1:
            selects.append(_select(name, every, {value: value for value in values}))
    selects.append(_select("act", "every act", {act: act for act in ACTS}))
    fates = {"": "wherever it is", **{name: f"is {word}" for name, word in PARTS.items()}, "match": "is kept"}
    return "\n".join([*selects, _select("fate", fates.pop(""), fates)])


def _select(name: str, every: str, values: Mapping[str, str]) -> str:
    options = "".join(f'<option value="{xml(value)}">{xml(text)}</option>' for value, text in values.items())
    return f'<select name="{name}" aria-label="{name}"><option value="">{every}</option>{options}</select>'
