"""The text, tables and drawings of the page of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.settings_differences import differing_within, earlier
from fdbcore.analysis.survey import OF_ONE_CALL, WORST, Survey
from fdbcore.analysis.systems import CutOffAgainstLatency, cut_off_against_latency
from fdbcore.measures.catalogue import MOMENTS, shown_by
from fdbcore.measures.moments import limit_ticks
from fdbcore.recording.run import DAMAGED, DONE, is_replayed, read_corpus
from fdbcore.report.comparison import limits as gate_limits
from fdbcore.report.evidence import Evidence, of_cost, of_settings, of_versions
from fdbcore.report.format import clock_text, cost_in_short, counted, measured_text, vad_text
from fdbcore.report.glossary import in_words
from fdbcore.report.html.values import KeyFigure, Links
from fdbcore.report.listening import Sounds, card
from fdbcore.report.spots import Spots
from fdbcore.report.svg.charts import Axis, Chart, Point, curve, histogram, plane
from fdbcore.types import TurnSettings, ticks_to_s

NAMED: Final = 200
"""A notice has at most this many names."""


def title(run: Survey) -> str:
    """The title of a run: the name of its folder."""
    return run.corpus.path.resolve().name


def header(run: Survey) -> list[str]:
    """The facts about a run: its size, and its voice activity detector."""
    length_s, measured_s = run.lengths_s
    n, scored, settings = len(run.rows), len(run.scored), run.corpus.settings
    parts = [counted(n, "call"), f"{clock_text(length_s)} of audio{measured_text(length_s, measured_s)}"]
    parts += [f"{scored:,} scored"] if scored < n else []
    parts += [f"cost {cost_in_short(run.cost.to_json())}"] if run.cost else []
    return [*parts, *([f"voice activity by {vad_text(settings)}"] if settings else [])]


def noticed(run: Survey) -> list[dict[str, Any]]:
    """The notices that a reader must see before any number, each with names."""
    return [_notice(what, names) for what, names in _noticed(run)]


def _noticed(run: Survey) -> Iterator[tuple[str, list[str]]]:
    for status in dict.fromkeys(row.call.status for row in run.rows):
        rows = [row for row in run.rows if row.call.status == status and row.call.unscored is not None]
        if rows:
            what = f"{len(rows):,} of {len(run.rows):,} calls {status}, {'but ' if status == DONE else ''}in no figure"
            yield what, [_named(row.call, row.call.unscored) for row in rows]
    damaged = [_named(row.call, row.call.reason) for row in run.rows if row.call.status == DAMAGED]
    if damaged:
        yield f"{counted(len(damaged), 'call')} damaged: the readable part is scored", damaged
    for text, names in run.warned().items():
        if not all(name in " ".join(damaged) for name in names):
            yield f"{text}: {counted(len(names), 'call')}", names
    yield from ((text, []) for text in earlier(run.corpus.all_settings))
    if differing := differing_within(run.corpus.all_settings):
        yield "Calls were scored with different settings", differing


def _named(call: Call, text: str | None) -> str:
    return f"{call.name}: {in_short(call, text or '')}"


def in_short(call: Call, text: str) -> str:
    """A text about a call, with the names of its files instead of their paths."""
    for file in call.files:
        name = Path(file).name
        text = re.sub(rf"(?<!\S)\S*/(?={re.escape(name)}: )", "", text.replace(file, name))
    return text


def notes(path: Path, intervals: Iterable[str]) -> list[dict[str, Any]]:
    """Notes that need no action: warnings about intervals, and input that did not fit together."""
    oddities = read_corpus(path)["oddities"] if is_replayed(path) else {}
    warned = [_notice(f"{text[:1].upper()}{text[1:]}.", []) for text in intervals]
    return [*warned, *(_notice(f"{what}: {len(names):,}", names) for what, names in oddities.items())]


def _notice(what: str, names: Sequence[str]) -> dict[str, Any]:
    return {"what": what, "names": names[:NAMED], "more": len(names) - NAMED}


def figures(run: Survey, settings: TurnSettings, link: Links) -> list[KeyFigure]:
    """The key figures with their 95 % intervals over calls, and their denominators; each count links its moments."""

    def known(name: str) -> dict[str, str]:
        having = sum(row.figures[name][1] > 0 for row in run.scored if name in row.figures)
        return {"calls": f"{having:,} of {counted(len(run.scored), 'call')}"}

    return [
        tile.figure._replace(limits=[limit for name in tile.gated for limit in gate_limits.of_run(run.gated, name)])
        for tile in Spots(run.measures, settings, known, link).tiles("run tile")
    ]


def charts(run: Survey, settings: TurnSettings) -> list[Chart]:
    """The distributions over all calls."""
    measures = run.measures
    eligible = measures["answered_per_turn"]["n"]
    latencies_s = [ms / 1000 for ms in run.values("response_latency_ms")]
    fto_s = {side: [ms / 1000 for ms in run.fto_ms[side]] for side in ("B", "A")}
    medians_s = [ms / 1000 for row in run.scored if (ms := row.figures["response_latency_ms"][0]) is not None]
    drawn = [
        curve(
            "How soon B answers",
            f"Share of {eligible:,} opportunities that B has begun to answer; unanswered ones never raise it.",
            Axis(0, 5, 0.05, range(6), "seconds after A's end"),
            latencies_s,
            eligible,
        ),
        histogram(
            "Floor transfer offset",
            "From one side's end to the other's start: B after A (bars) and A after B (line); negative in overlap.",
            Axis(-2, 4, 0.2, range(-2, 5), "seconds"),
            fto_s,
        ),
        histogram(
            "Response latency of each call",
            "Each call's median response latency. A second peak to the right is a group of slow calls.",
            Axis(0, 4, 0.1, range(5), "seconds"),
            {"B": medians_s},
        ),
        histogram(
            "Overlaps",
            "Lengths of the stretches in which both speak.",
            Axis(0, 3, 0.1, range(4), "seconds"),
            {"": run.overlaps_s},
        ),
        histogram(
            "Lapses",
            in_words("Silences of more than {lapse_ms} in the middle of a call.", settings),
            Axis(3, 15, 0.5, range(3, 16, 3), "seconds"),
            {"": run.values("lapse_s")},
        ),
        histogram(
            "B's talk ratio",
            "The share of each call in which B speaks.",
            Axis(0, 100, 5, range(0, 101, 25), "per cent", "%"),
            {"B": [100 * share for row in run.scored if (share := row.figures["b_talk_share"][0]) is not None]},
        ),
    ]
    if found := cut_off_against_latency(run):
        drawn.append(
            plane(
                "False cut-ins against response latency",
                "False cut-ins, as a share of A's labelled pauses, over the median response latency: lower left is "
                "better. One point per system, with 95 % intervals over calls.",
                Axis(0, 2, 0.1, range(11), "seconds until B answers"),
                [_point(system) for system in found],
            )
        )
    return drawn


def _point(system: CutOffAgainstLatency) -> Point:
    share, latency = system.share, system.latency
    assert share["mean"] is not None
    assert latency["median"] is not None
    low_high = latency["ci95"] and (latency["ci95"][0] / 1000, latency["ci95"][1] / 1000)
    note = f"{share['n']:,} pauses, {latency['n']:,} answers, {system.calls:,} calls"
    return Point(system.name, latency["median"] / 1000, share["mean"], note, low_high, share["ci95"])


def moments(
    run: Survey,
    settings: TurnSettings,
    sounds: Sounds,
    link: Links,
) -> tuple[list[dict[str, Any]], list[str]]:
    """The worst moments of each kind, with a drawing of the speech around them, audio and words; and the kinds without
    any moment."""
    listed, absent = [], []
    for kind in MOMENTS:
        found = run.worst.get(kind.id, [])
        if found:
            count = link(f"{run.found[kind.id]:,}", kind.id)
            count += f" longer than {ticks_to_s(limit_ticks(kind.id, settings)):g} s"
            count += f"; the {len(found)} longest" if run.found[kind.id] > len(found) else ""
            cards = [card(each, sounds) for each in found]
            listed.append({"name": kind.title, "meaning": kind.meaning, "count": count, "cards": cards})
        elif shown_by(kind) & run.measures.keys():
            absent.append(kind.title.lower())
    return listed, absent


def evidence(run: Survey) -> Evidence:
    """The facts about settings and versions."""
    settings = run.corpus.settings
    if settings is None:
        return {}
    cost = run.cost.to_json() if run.cost else None
    facts = [*of_cost(cost, run.recipients), *of_versions(run.corpus.versions)]
    return {"": [*of_settings(settings, run.corpus.settings_sha256s), *facts]}


def footer(run: Survey) -> str:
    """The version of fdbcore, and how the worst moments were chosen."""
    versions = ", ".join(run.corpus.versions.get("fdbcore", []))
    return f"fdbcore {versions} · at most {OF_ONE_CALL} of the worst {WORST} moments are from one call"
