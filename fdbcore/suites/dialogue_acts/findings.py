"""What a scores document says in plain words: which system is better, or that it cannot be told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fdbcore.suites.dialogue_acts.words import mean, p_text, span

Document = Mapping[str, Any]
Row = Mapping[str, Any]

DIRECTIONS: Final = {"wed": -1, "wlcs": 1, "f1": 1}
"""Whether more of a measure is better (1) or worse (-1)."""


def groups(document: Document) -> list[tuple[str, str]]:
    """The (set, annotator) pairs whose rows can be compared, in the document's order."""
    found = [(row["set"], row["annotator"]) for row in document["rows"] if row["annotator"] is not None]
    return list(dict.fromkeys(found))


def group_rows(document: Document, group: tuple[str, str], weights: str = "given") -> list[Row]:
    """The rows of a group, systems first, each kind from the least distance on; baselines belong to every annotator."""
    kinds = ("system", "ceiling", "baseline")
    rows = [
        row
        for row in document["rows"]
        if row["set"] == group[0] and row["annotator"] in (group[1], None) and row["weights"] == weights
    ]
    return sorted(rows, key=lambda row: (kinds.index(row["kind"]), _wed(row)))


def leads(document: Document) -> list[str]:
    """A statement for each set and annotator; each says on which where there are several."""
    found = groups(document)
    statements = []
    for group in found:
        text = " ".join(_statement(document, group))
        statements.append(f"On {group[0]}, annotated by {group[1]}: {text}" if len(found) > 1 else text)
    return statements or ["Nothing was scored."]


def better(comparison: Mapping[str, Any], document: Document) -> str | None:
    """Which of the two systems is better, by the corrected p; None where it cannot be told."""
    p, alpha = comparison["p_holm"], 1 - document["settings"].get("level", 0.95)
    if p is None or p >= alpha or not comparison["difference"]:
        return None
    more = comparison["difference"] > 0
    return str(comparison["a"] if more == (DIRECTIONS.get(comparison["measure"], 1) > 0) else comparison["b"])


def _statement(document: Document, group: tuple[str, str]) -> Iterator[str]:
    systems = [row for row in group_rows(document, group) if row["kind"] == "system" and row["n"]]
    if not systems:
        yield "No system was scored."
    elif len(systems) == 1:
        yield from _alone(systems[0], group_rows(document, group))
    else:
        compared = [c for c in document["comparisons"] if (c["set"], c["annotator"]) == group]
        yield from _ranking(systems, compared, document)


def _alone(row: Row, rows: Sequence[Row]) -> Iterator[str]:
    wed = row["measures"]["wed"]
    yield (
        f"{row['system']} is at a mean distance (WED) of {mean(wed['mean'])} from the reference replies"
        f"{_interval(wed['ci95'])}, over {row['n']} records; 0 is the same acts in the same order."
    )
    marks = [f"{other['system']} {mean(_wed(other))}" for other in rows if other["kind"] != "system" and other["n"]]
    if marks:
        yield f"For comparison: {', '.join(marks)}."


def _ranking(systems: Sequence[Row], compared: Sequence[Mapping[str, Any]], document: Document) -> Iterator[str]:
    best = systems[0]["system"]
    own = [c for c in compared if best in (c["a"], c["b"])]
    by_wed = [c for c in own if c["measure"] == "wed" and c["n"]]
    apart = [_other(c, best) for c in own if c["measure"] == "wed" and not c["n"]]
    beaten = [c for c in by_wed if better(c, document) == best]
    if len(beaten) == len(by_wed) == 1:
        yield (
            f"{best} answers better than {_other(beaten[0], best)}: its distance from the reference replies (WED) is "
            f"lower by {_by(beaten[0])}."
        )
    elif beaten:
        others = "; ".join(f"than that of {_other(c, best)} by {_by(c)}" for c in beaten)
        rank = "best" if len(beaten) == len(by_wed) and not apart else "better than some"
        yield f"{best} answers {rank}: its distance from the reference replies (WED) is lower {others}."
    for comparison in by_wed:
        if better(comparison, document) is None:
            yield _undecided(comparison, document)
    if apart:
        yield (
            f"{best} has the least distance (WED), but no record is scored for it and {', '.join(apart)} alike: "
            f"whether it answers better than {'that' if len(apart) == 1 else 'those'} cannot be told."
        )
    yield from _other_way(best, [c for c in own if c["measure"] == "wlcs" and c["n"]], document)


def _undecided(c: Mapping[str, Any], document: Document) -> str:
    ahead, other = (c["a"], c["b"]) if c["difference"] < 0 else (c["b"], c["a"])
    text = (
        f"Whether {ahead} answers better than {other} cannot be told from {c['n']} records: its distance from the "
        f"reference replies (WED) is lower by {_by(c)}"
    )
    if c["ci95"] and min(c["ci95"]) * max(c["ci95"]) > 0:
        made = len(document["comparisons"])
        text += f", but p is {p_text(c['p_holm'])} when corrected for the {made} comparisons made"
    if c["smallest_detectable"] is not None:
        text += f"; so few show only differences of about {mean(c['smallest_detectable'])} or more (four times in five)"
    return f"{text}."


def _other_way(best: str, compared: Sequence[Mapping[str, Any]], document: Document) -> Iterator[str]:
    """A reply of one act can have all of the weighted LCS, so that measure may prefer the other system."""
    ahead = [c for c in compared if c["difference"] and (c["difference"] > 0) != (c["a"] == best)]
    if ahead:
        chance = {True: "", False: ", which cannot be told from chance"}
        others = "; ".join(
            f"{_other(c, best)} would be ahead of {best} by {_by(c)}{chance[_told(c, document)]}" for c in ahead
        )
        yield (
            f"By weighted LCS alone {others}: that measure counts what a reply has in common with the reference, and "
            "not what it leaves out."
        )


def _told(c: Mapping[str, Any], document: Document) -> bool:
    return better(c, document) is not None


def _by(c: Mapping[str, Any]) -> str:
    """By how much the winner is ahead, which is a difference above 0 whatever the order of the two."""
    ahead = c["difference"] > 0
    limits = c["ci95"] and (c["ci95"] if ahead else [-c["ci95"][1], -c["ci95"][0]])
    interval = f"95 % interval {span(limits)}, " if limits else ""
    return f"{mean(abs(c['difference']))} ({interval}n = {c['n']})"


def _interval(limits: Sequence[float] | None) -> str:
    return f" (95 % interval {span(limits)})" if limits else ""


def _other(c: Mapping[str, Any], system: str) -> str:
    return str(c["b"] if c["a"] == system else c["a"])


def _wed(row: Row) -> float:
    value = row["measures"]["wed"]["mean"]
    return float("inf") if value is None else float(value)
