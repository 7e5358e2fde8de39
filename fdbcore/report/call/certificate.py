"""The outcome of a live call, its timing certificate, and whether a replay gives the same results, in words."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeGuard

from fdbcore.measures.live_record import Deliveries, HeldMuted
from fdbcore.report.call.document import Document
from fdbcore.report.format import NONE, clock_text, duration_text
from fdbcore.report.glossary import LATENESS, SIDE_COUNTS
from fdbcore.report.html.values import Cell, Fact, Row
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, Side, other_side, ticks_to_s
from fdbcore.types.session_events import SPOKE_MS
from fdbcore.types.timing import LatenessSummary, MeasuredSide, TimingCertificate

LATENESS_COLUMNS: Final = ("p50", "p99", "p99.9", "max")
LISTED: Final = 50  # delay changes
SET: Final = "anchor"  # the reason of a delay change when a side is first heard; it is no disturbance


def verdict(content: Document) -> str:
    """One line that says whether everything was on time."""
    timing, n_ticks = _timing(content), content["recording"]["n_ticks"]
    if not timing:
        return "no timing certificate was recorded"
    if not timing.get("realtime"):
        return "on a virtual clock, 10 ms by 10 ms: nothing can be late, and compute time does not count"
    missed = sum(end - start for start, end in content["held"]["missed"]) if content["held"] else 0
    late, overdue = timing.get("late", 0), timing.get("missed", 0) - missed
    share = f" ({100 * missed / n_ticks:.2g} %)" if missed else ""
    parts = [f"{missed} of {n_ticks:,} ticks missed{share}" if missed else f"on time: none of {n_ticks:,} ticks missed"]
    parts += [f"{late} late by at most 50 ms and made up"] if late else []
    parts += [f"{overdue} later than that, but not missed"] if overdue > 0 else []
    parts += [f"the machine was suspended {len(timing['suspends'])} times"] if timing.get("suspends") else []
    return "; ".join(parts)


def disturbances(content: Document) -> str:
    """The disturbances of each side, such as losses and delay changes, in a few words; empty if there were none."""
    parts = []
    for side, measured in _measured(content).items():
        counts = [(SIDE_COUNTS[key].label.lower(), key, measured.get(key)) for key in SIDE_COUNTS]
        texts = [f"{_count_text(key, n)} {label}" for label, key, n in counts if n and SIDE_COUNTS[key].is_disturbance]
        changes = sum(change["why"] != SET for change in measured.get("delay_changes") or [])
        changes += measured.get("untold_delay_changes") or 0
        texts += [f"{changes} delay change{'s' if changes > 1 else ''}"] if changes else []
        parts += [f"{side}: {', '.join(texts)}"] if texts else []
    return " | ".join(parts)


def replay_text(content: Document) -> str | None:
    """The result of a replay: the same as of the live call, or not; None if this is not the replay of a recording."""
    replayed = content["held"]["replay_of"] if content["held"] else None
    if replayed is None:
        return None
    if replayed["same"] is None:
        return f"of a recording that was cut off: {content['recording']['length_s']:.2f} s of it exist"
    text = "the same turn events and activity as in the original call, bit for bit"
    if not replayed["same"]:
        text = "not the same as in the original call"
    return "; ".join([text, *replayed["differences"]])


def outcome_text(content: Document) -> str | None:
    """The end of the call: "done", "failed: side B: no speech found"; None if that is not known."""
    outcome = content["held"]["outcome"] if content["held"] else None
    if not outcome:
        return None
    who = f"side {outcome['side']}" if outcome.get("side") else None
    return ": ".join(filter(None, [outcome["kind"], who, outcome.get("reason")]))


def muted_texts(content: Document) -> list[str]:
    """The sides muted at the start, and whether something was lost by it, a sentence each."""
    return [_muted_text(each) for each in content["held"].get("muted", ())] if content["held"] else []


def steps_texts(content: Document) -> Iterator[str]:
    """The answer times of each side that is clocked by its input."""
    for side in SIDES if content["held"] else ():
        arrivals = content["held"]["arrivals"][side] if content["held"] else None
        if arrivals and (steps := arrivals.get("steps")):
            p50, p99 = f"{steps['p50_ms']:.1f}", f"{steps['p99_ms']:.1f}"
            yield f"{side} answers each step {p50} ms after it (p99 {p99}) of {steps['step_ms']}"


def _muted_text(muted: HeldMuted) -> str:
    end = clock_text(ticks_to_s(muted["to_tick"]))
    text = f"{muted['side']} until {end}, since {other_side(muted['side'])} opens the call; no figure counts this time"
    loud_s, loudest_dbfs = muted["loud_ms"] / 1000, muted["loudest_dbfs"]
    if loudest_dbfs is None or muted["loud_ms"] < SPOKE_MS:
        return f"{text}; it said nothing then"
    return f"{text}; {duration_text(loud_s)} of sound are lost, loudest {loudest_dbfs:.0f} dBFS"


def section(content: Document) -> dict[str, Any]:
    """The values for the section on timing: the verdict, the evidence for it, and the rest of the certificate."""
    timing: Mapping[str, object] = _timing(content) or {}
    measured = _measured(content)
    changes, more = _delay_changes(measured)
    return {
        "verdict": verdict(content),
        "replayed": replay_text(content),
        "lateness_columns": ["lateness, microseconds", "n", *LATENESS_COLUMNS],
        "lateness": [_lateness_row(*row) for row in _histograms(timing, measured)],
        "sides": list(_side_rows(content)),
        "delay_changes": changes,
        "more_delay_changes": f"{more:,}" if more else "",
        "rest": [
            *(("muted", text) for text in muted_texts(content)),
            *(("steps", text) for text in steps_texts(content)),
            *_system_turns(content),
            *_conditions(timing),
        ],
    }


def _system_turns(content: Document) -> Iterator[Fact]:
    """Edges of A's speech by the system's own detector, against ours."""
    found = content["held"].get("system_turns") if content["held"] else None
    if found is None:
        return
    for name, each in (("starts", found["starts"]), ("ends", found["ends"])):
        text = f"{each['n']} of our {each['of']} ({each['told']} told)"
        if each["median_ms"] is not None:
            text += f", {each['median_ms']:+.0f} ms against ours (80 %: {each['p10_ms']:+.0f} to {each['p90_ms']:+.0f})"
        if each["told_after_ms"] is not None:
            text += f", told {each['told_after_ms']:.0f} ms after it"
        yield f"{name} of A's speech, as B found them", text


def _timing(content: Document) -> TimingCertificate | None:
    """The timing certificate of the live call; for recorded files that of their replay."""
    return content["held"]["timing"] if content["held"] else content["timing"]


def _measured(content: Document) -> Mapping[Side, MeasuredSide]:
    """Measurements by the transport of each side."""
    timing = _timing(content)
    return (timing.get("sides") or {}) if timing else {}


def _is_histogram(value: object) -> TypeGuard[LatenessSummary]:
    return isinstance(value, Mapping) and "p50_us" in value


def _histograms(
    timing: Mapping[str, object], sides: Mapping[Side, MeasuredSide]
) -> Iterator[tuple[str, str, LatenessSummary]]:
    """Yields label, side and summary of each distribution of lateness."""
    for side, measured in (("", timing), *((f" {side}", of_side) for side, of_side in sides.items())):
        for name, value in measured.items():
            if _is_histogram(value):
                yield name, side, value


def _lateness_row(name: str, side: str, summary: LatenessSummary) -> Row:
    values = [summary["p50_us"], summary["p99_us"], summary["p99_9_us"], summary["max_us"]]
    numbers = [NONE if value is None else f"{value:,.1f}" for value in values]
    label = Cell(f"{name.replace('_', ' ')}{side}", LATENESS.get(name, ""))
    return label, [f"{summary['n']:,}", *numbers]


def _conditions(timing: Mapping[str, Any]) -> Iterator[Fact]:
    """The conditions of a live call: its clock, its priority, and the load of the machine."""
    if not timing.get("realtime"):
        return
    clock, priority = timing.get("clock") or {}, timing.get("priority") or {}
    if clock:
        yield "clock", ", ".join(str(clock[key]) for key in ("name", "hardware") if clock.get(key))
    if fifo := priority.get("fifo"):
        granted = f"real time (FIFO {fifo.get('priority')})"
        yield "priority", granted if fifo.get("granted") else f"normal, {fifo.get('why_not') or 'not asked for more'}"
    machine = timing.get("machine") or {}
    if load := machine.get("load_average"):
        averages = ", ".join(f"{each:.1f}" for each in load)
        yield "load", f"{averages} over 1, 5 and 15 minutes, on {machine.get('cpu_count')} processors"
    processors = timing.get("processors") or {}
    if (stolen := processors.get("steal_share")) is not None:
        yield "taken by the host", f"{100 * stolen:.1f} % of the processors' time"
    if (waited_ms := processors.get("waited_ms")) is not None:
        yield "waited for a processor", duration_text(waited_ms / 1000)
    for key, name in (("suspends", "suspended"), ("clock_steps", "wall clock set")):
        if found := timing.get(key):
            total_s = sum(each["ms"] for each in found) / 1000
            yield name, f"{len(found)} times, {duration_text(total_s)} in all"


def _side_rows(content: Document) -> Iterator[Row]:
    """The counts of each side, those with a description first, and how its audio arrived."""
    sides = [_leaves(_measured(content).get(side, {})) for side in SIDES]
    for key in dict.fromkeys([*SIDE_COUNTS, *sides[0], *sides[1]]):
        known = SIDE_COUNTS.get(key)
        if any(key in measured and (known or measured[key]) for measured in sides):
            unknown = key.replace("_samples", "").replace("_", " ")
            label = Cell(known.label, known.meaning) if known else Cell(unknown)
            yield label, [_count_text(key, m[key]) if key in m else "" for m in sides]
    arrivals = [content["held"]["arrivals"][side] for side in SIDES] if content["held"] else []
    if any(arrivals):
        label = Cell("Arrivals", "The time between arrivals of its audio, and the length of each.")
        yield label, [_arrivals_cell(each) if each else "" for each in arrivals]


def _leaves(measured: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """All single values, nested ones under joined names; histograms and lists are shown elsewhere."""
    found: dict[str, object] = {}
    for key, value in measured.items():
        if isinstance(value, Mapping) and not _is_histogram(value):
            found |= _leaves(value, f"{prefix}{key}_")
        elif not isinstance(value, (Mapping, list)):
            found[prefix + key] = value
    return found


def _count_text(key: str, value: object) -> str:
    """A count as text; a number of samples as a duration."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return NONE if value is None else str(value)
    if key.endswith("_samples"):
        return duration_text(value / SAMPLE_RATE_HZ)
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def _arrivals_cell(arrivals: Deliveries) -> Cell:
    spacing = " / ".join(f"{ms:,.1f}" for ms in (arrivals["p50_ms"], arrivals["p99_ms"], arrivals["max_ms"]))
    return Cell(f"{arrivals['n']:,} of {arrivals['length_ms']:g} ms\n{spacing} ms apart\n(p50 / p99 / max)")


def _delay_changes(sides: Mapping[Side, MeasuredSide]) -> tuple[list[Row], int]:
    """The rows of the first delay changes of both sides, and how many more there are."""
    found = sorted(
        (
            (change["tick"], side, change)
            for side, measured in sides.items()
            for change in measured.get("delay_changes") or []
        ),
        key=lambda change: change[:2],
    )
    rows: list[Row] = [
        (
            Cell(clock_text(ticks_to_s(tick)), at_s=ticks_to_s(tick)),
            [side, str(change["why"]), duration_text(change["delay_samples"] / SAMPLE_RATE_HZ)],
        )
        for tick, side, change in found[:LISTED]
    ]
    untold = sum(measured.get("untold_delay_changes") or 0 for measured in sides.values())
    return rows, len(found) - len(rows) + untold if found else 0
