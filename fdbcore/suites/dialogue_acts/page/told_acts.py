"""What stands below a picture: a judge's verdict, where the reply lies in its call, and each act with its words and its
annotator's reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fdbcore.report.svg.text import xml
from fdbcore.suites.dialogue_acts.page.words import acts_of, weight

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.act_types import ActJson, LiveReplyJson
    from fdbcore.suites.dialogue_acts.document_types import ContentVerdict, ItemJson

IN_WORDS: Final = {"before": "before the user's turn", "further": "in a further turn", "aside": "aside"}
UNKNOWN: Final = "(words not known)"
NO_QUOTE: Final = "(what the annotator quotes is not in the reply)"


def act_list(steps: Sequence[ActJson], lang: str) -> str:
    """The acts in their order, as HTML. lang: of words and reasons. Words that are no quote are not shown as one."""
    return f'<ol class="told">{"".join(_told(step, lang) for step in steps)}</ol>'


def why(item: ItemJson, lang: str) -> str:
    """The words and the reason of each act of both sides, as HTML; "" if an annotator gave neither."""
    asked, given = acts_of(item)
    sides = {"the good reply": asked, f"the reply of {item['system']}": given}
    parts = [
        f"<p>Acts of {xml(who)}</p>{act_list(steps, lang)}"
        for who, steps in sides.items()
        if any("words" in step or "rationale" in step for step in steps)
    ]
    heading = "Which words each act stands for, and why"
    return f'<details class="why" open><summary>{heading}</summary>{"".join(parts)}</details>' if parts else ""


def verdict_view(verdict: ContentVerdict, lang: str) -> str:
    """What the judge says of the content, as HTML. lang: of its reason."""
    found = {True: "right", False: "not right", None: "unscored"}[verdict["right"]]
    reason = f': <span lang="{xml(lang)}">{xml(verdict["reason"])}</span>' if verdict["reason"] else ""
    return f"<p>Content, by the judge: <b>{found}</b>{reason}</p>"


def live_view(live: LiveReplyJson) -> str:
    """Where a reply lies in its call, and what else was said there, as HTML."""
    lines = []
    if live["start_s"] is not None and live["end_s"] is not None:
        after = "" if live["after_s"] is None else f", {_after(live['after_s'])}"
        lines.append(f"The reply is at {live['start_s']:.2f} to {live['end_s']:.2f} s of the call{after}.")
    lines += [
        f"Not scored, {IN_WORDS.get(each['part'], each['part'])}, {each['start_s']:.2f} to {each['end_s']:.2f} s: "
        f"{each['text'] or UNKNOWN}"
        for each in live["apart"]
    ]
    return "".join(f'<p class="note">{xml(line)}</p>' for line in lines)


def _after(seconds: float) -> str:
    if seconds < 0:
        return f"{-seconds:.2f} s before the user's turn ended"
    return f"{seconds:.2f} s after the user's turn"


def _told(step: ActJson, lang: str) -> str:
    parts = [f"<b>{xml(step['act'])} {weight(step['importance'])}</b>"]
    if "words" in step:
        is_quote = step.get("is_quote", True)
        parts.append(f'<q lang="{xml(lang)}">{xml(step["words"])}</q>' if is_quote else f"<em>{NO_QUOTE}</em>")
    if "rationale" in step:
        parts.append(f'<span class="meaning" lang="{xml(lang)}">{xml(step["rationale"])}</span>')
    return f"<li>{' '.join(parts)}</li>"
