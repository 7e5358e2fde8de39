"""The scorecard of the turns of calls without good replies: which acts they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore._version import __version__
from fdbcore.report.format import counted
from fdbcore.suites.dialogue_acts.models.annotators import annotation_took
from fdbcore.suites.dialogue_acts.turns.view import condition, scales, share_rows
from fdbcore.types import Problem
from fdbcore.types.scorecard import Scorecard

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsDocument

NOTES = (
    "An act's figure is the mean of its importance over turns, in %: how much of a side's turns it is. Its "
    "interval is in table.csv and scores.json: it resamples calls, those with one recorded user together.",
    "A turn goes from where a side takes the floor to where the other one takes it, or to a silence of the side longer "
    "than lapse_ms. Speech that takes no floor (backchannels, asides) has no acts.",
    "A's turns are annotated by the same rules as B's, each as a reply to what the other side said last.",
)


NOT_COMPARED = "Shares of acts are not compared between systems: only with good replies (--references) are they."


def card(document: ActsDocument) -> Scorecard:
    """The scorecard of a document with turns; a condition is the turns of a side as one annotator labels them."""
    turns, settings = document["turns"], document["settings"]
    rows = share_rows(turns)
    evidence = {"fdbcore": f"fdbcore {__version__}", "level of intervals": f"{100 * settings['level']:g} %"}
    for one in settings["annotated_with"]:
        evidence[f"annotation by {one['annotator']}"] = f"{annotation_took(one)}; {one['sdk']}, {one['server']}"
    n_turns = sum(len(call["turns"]) for call in turns["calls"])
    heading = {
        condition(each["side"], each["annotator"]): f"{condition(each['side'], each['annotator'])}, share of each act"
        for each in turns["shares"]
    }
    return Scorecard(
        "Which dialogue acts do the turns have?",
        scales([act["name"] for act in document["tag_set"]["acts"]]),
        heading,
        rows,
        warnings=document["warnings"],
        problems=[Problem(**problem) for problem in document["problems"]],
        caption="Dialogue acts of turns: mean importance per turn, in %.",
        notes=NOTES,
        facts=[f"{counted(len(turns['calls']), 'call')}, {counted(n_turns, 'turn')}, {turns['locale']}"],
        evidence=evidence,
        level=settings["level"],
        not_compared=NOT_COMPARED,
    )
