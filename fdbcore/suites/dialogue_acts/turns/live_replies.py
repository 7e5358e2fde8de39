"""What documents and pages say of replies that were given in a call: where they lie, and what was said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fdbcore.report.svg.text import xml
from fdbcore.suites.dialogue_acts.records import LiveReply, Response

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import LiveReplyJson, SaidApartJson

IN_WORDS: Final = {"before": "before the user's turn", "further": "in a further turn", "aside": "aside"}
UNKNOWN: Final = "(words not known)"


def live_json(live: LiveReply) -> LiveReplyJson:
    """The place of a reply, as JSON values."""
    apart: list[SaidApartJson] = [
        {"part": each.part, "start_s": each.start_s, "end_s": each.end_s, "text": each.text} for each in live.apart
    ]
    return {
        "call": live.call,
        "start_s": live.start_s,
        "end_s": live.end_s,
        "after_s": live.after_s,
        "apart": apart,
    }


def live_notes(responses: Sequence[Response]) -> Iterator[str]:
    """For each system that said more than its replies: in how many calls."""
    for system in dict.fromkeys(response.system for response in responses):
        own = [one.live for one in responses if one.system == system and one.live is not None]
        if count := sum(bool(live.apart) for live in own):
            yield (
                f"{system}: in {count} of {len(own)} calls it said more than its turn after the user's; that is shown "
                "with the reply and not scored (--whole-call scores all)"
            )


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
