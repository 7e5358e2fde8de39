"""The parts of the page of a run that are text, tables and drawings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from fdbcore.corpus import CORPUS, DAMAGED, DONE, Call, read_corpus
from fdbcore.measures.moments import MomentKind, limit_ticks
from fdbcore.measures.quantities import Quantity
from fdbcore.report.charts import Axis, Point, curve, histogram, plane
from fdbcore.report.figures import NOTHING_TO_ANSWER
from fdbcore.report.glossary import UNANSWERED, in_words
from fdbcore.report.survey import CLIP_TICKS, OF_ONE_CALL, WORST, CallMoment, Survey, clip_ticks
from fdbcore.report.tables import facts, flat
from fdbcore.report.words import NONE, by_chance, clock_text, counted, seconds_text, vad_bias_text, vad_text
from fdbcore.score import summarise
from fdbcore.types import SIDES, TurnSettings, ticks_to_s

NO_ANSWER: Final = f"opportunities: {UNANSWERED}"
SHOWN: Final = 3
"""Of the worst moments of each kind; the rest of the list is folded."""
_PLANE: Final = (
    "cut_off_per_labelled_a_pause", "response_latency_ms_per_labelled_turn_end", "response_latency_ms",
)  # fmt: skip
NAMED: Final = 200
"""How many names a notice has."""

KINDS: Final[Mapping[MomentKind, tuple[str, str]]] = {
    "no_answer": ("No answer", "A has finished, and B does not come."),
    "slow_answer": ("Slow answers", "Longest silences between A's end and B's start."),
    "cut_off": ("A cut off", "B takes the floor before A has finished."),
    "false_cut_off": ("False cut-offs", "By your labels: B begins to speak in a pause of A, who has not finished."),
    "talk_over": ("Talking over each other", "Longest stretches in which both speak."),
    "lapse": ("Other long silences", "Longest silences of both that are neither a missing nor a slow answer of B."),
}

Played = tuple[str, float, float]


def title(run: Survey) -> str:
    """The name of the run's folder."""
    return run.corpus.path.resolve().name


def header(run: Survey) -> str:
    """Name, size, and what decided on speech."""
    seconds = sum(row.length_s or 0.0 for row in run.rows)
    n, scored = len(run.rows), len(run.scored)
    parts = [counted(n, "call"), f"{clock_text(seconds)} of audio"]
    parts += [f"{scored:,} scored"] if scored < n else []
    settings = run.corpus.settings
    parts += [f"voice activity by {escape(vad_text(settings))}"] if settings else []
    sides = '<span class="side-a">A</span> the caller or user · <span class="side-b">B</span> the system'
    return (
        '<p class="product">fdbcore · report of a run</p>\n'
        f"<h1>{escape(title(run))}</h1>\n"
        f'<p class="facts">{" · ".join(parts)} · {sides}</p>'
    )


def notices(run: Survey, findings: str, intervals: Iterable[str]) -> str:
    """What must be known before any number, each to be unfolded to the names; then what did not fit together.

    findings: what was found in calls, HTML, which comes first. intervals: what must be known of these.
    """
    found = findings + "".join(_notice(what, names) for what, names in _noticed(run, intervals))
    odd = "".join(_notice(what, names) for what, names in _odd(run.corpus.path))
    alert = f'<div class="warnings" role="alert">{found}</div>' if found else ""
    return f'{alert}<div class="notices">{odd}</div>' if odd else alert


def _noticed(run: Survey, intervals: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for status in dict.fromkeys(row.call.status for row in run.rows):
        rows = [row for row in run.rows if row.call.status == status and row.call.unscored is not None]
        if rows:
            of = f"{len(rows):,} of {len(run.rows):,} calls {status}, {'but ' if status == DONE else ''}in no figure"
            yield of, [_told(row.call, row.call.unscored) for row in rows]
    damaged = [_told(row.call, row.call.reason) for row in run.rows if row.call.status == DAMAGED]
    if damaged:
        yield f"{counted(len(damaged), 'call')} damaged: what is there is scored", damaged
    for text, names in run.warned().items():
        if not all(name in " ".join(damaged) for name in names):
            yield f"{text}: {counted(len(names), 'call')}", names
    for text in intervals:
        yield f"{text[:1].upper()}{text[1:]}", []
    settings = run.corpus.settings_sha256s
    if len(settings) > 1:
        counts = [f"{counted(count, 'call')}: settings {sha256[:12]}" for sha256, count in settings.items()]
        yield "Calls were scored with different settings", counts


def _told(call: Call, text: str | None) -> str:
    return f"{call.name}: {in_short(call, text or '')}"


def in_short(call: Call, text: str) -> str:
    """What is said of a call, with the names of its files instead of their paths."""
    for file in call.files:
        name = Path(file).name
        text = re.sub(rf"\S*/(?={re.escape(name)}: )", "", text.replace(file, name))
    return text


def _odd(path: Path) -> Iterator[tuple[str, list[str]]]:
    if (path / CORPUS).is_file():
        for what, names in read_corpus(path)["oddities"].items():
            yield f"{what}: {len(names):,}", names


def _notice(what: str, names: Sequence[str]) -> str:
    if not names:
        return f"<p>{escape(what)}</p>"
    items = "".join(f"<li>{escape(name)}</li>" for name in names[:NAMED])
    more = f"<li>and {len(names) - NAMED:,} more</li>" if len(names) > NAMED else ""
    return f"<details><summary>{escape(what[:1].upper() + what[1:])}</summary><ul>{items}{more}</ul></details>"


def lead(run: Survey) -> str:
    """The run in one sentence."""
    answered, latency = run.measures["answered_per_turn"], run.measures["response_latency_ms"]
    if not answered["n"]:
        return NOTHING_TO_ANSWER
    share = f"B answered {_percent(answered)} of {answered['n']:,} opportunities"
    return (
        f"{share}; half of the answers came within {seconds_text(latency['median'])}." if latency["n"] else f"{share}."
    )


def figures(run: Survey, settings: TurnSettings) -> str:
    """The key figures with their 95 % intervals over calls, and their denominators."""
    cells = [
        _answer_time(run),
        _share(run, "answered_per_turn", "Answered", "opportunities, within {response_window_ms}"),
    ]
    cells += [_share(run, "premature_per_turn", "Cut off", "opportunities: B began more than 0.2 s early")]
    cells += [_share(run, "no_response_per_turn", "No answer", NO_ANSWER)]
    cells += [_stops(run), _silences(run)]
    items = "".join(
        f'<div><dt>{name}</dt><dd class="value">{value}{_interval(interval)}</dd>'
        f"<dd>{in_words(text, settings)}</dd></div>\n"
        for name, value, interval, text in cells
    )
    unbroken = re.sub(r"(?<=\d) (?=s\b|%)", "\u00a0", items)
    return f'<dl class="figures">\n{unbroken}</dl>'


Cell = tuple[str, str, str, str]


def _answer_time(run: Survey) -> Cell:
    latency = run.measures["response_latency_ms"]
    if not latency["n"]:
        return "Answer time", NONE, "", "no answers"
    limits = f"{' to '.join(f'{ms / 1000:.2f}' for ms in latency['ci95'])} s" if latency["ci95"] else ""
    tail = [f"{name} {seconds_text(latency[name])}" for name in ("p90", "p95") if latency[name] is not None]
    text = f"median of {latency['n']:,} answers" + (f"; {', '.join(tail)}" if tail else "")
    return "Answer time", seconds_text(latency["median"]), limits, text


def _share(run: Survey, measure: str, name: str, text: str) -> Cell:
    found = run.measures[measure]
    if not found["n"]:
        return name, NONE, "", "there was nothing to answer"
    limits = f"{' to '.join(f'{100 * limit:.1f}' for limit in found['ci95'])} %" if found["ci95"] else ""
    return name, _percent(found), limits, f"{found['count']:,} of {found['n']:,} {text}"


def _stops(run: Survey) -> Cell:
    name, text = "B stops when A talks over it", "times, within 2 s; A spoke for more than {short_ms}"
    cell = _share(run, "b_stopped_within_2s_per_long_a_onset", name, text)
    found = run.measures["b_stopped_within_2s_per_long_a_onset"]
    if not found["n"]:
        return name, NONE, "", f"A never did for more than {{short_ms}}{_at_once(run)}"
    chance = f". By chance: {100 * found['by_chance']:.0f} %" if found.get("by_chance") is not None else ""
    return (*cell[:3], f"{cell[3]}{chance}{_at_once(run)}")


def _at_once(run: Survey) -> str:
    """How often B stopped at once; empty if it never did."""
    found = run.measures["b_stopped_at_once_per_long_a_onset"]
    return f". It stopped at once {found['count']:,} times{by_chance(found)}" if found["count"] else ""


def _silences(run: Survey) -> Cell:
    lapses, n = run.measures["lapse_s"], len(run.scored)
    having = sum(row.figures["lapse_s"][1] > 0 for row in run.scored)
    longest = f"; the longest {lapses['max']:.1f} s" if lapses["n"] else ""
    text = f"of both, over {{lapse_ms}}, in {having:,} of {counted(n, 'call')}{longest}"
    return "Long silences", f"{lapses['n']:,}", "", text


def _percent(found: Mapping[str, Any]) -> str:
    return f"{100 * found['count'] / found['n']:.1f} %"


def _interval(limits: str) -> str:
    return f' <span class="interval">{limits}</span>' if limits else ""


def charts(run: Survey, settings: TurnSettings) -> str:
    """The distributions over all calls."""
    measures = run.measures
    eligible = measures["answered_per_turn"]["n"]
    latencies_s = [ms / 1000 for ms in run.values("response_latency_ms")]
    fto_s = {side: [ms / 1000 for ms in run.fto_ms[side]] for side in ("B", "A")}
    medians_s = [ms / 1000 for row in run.scored if (ms := row.figures["response_latency_ms"][0]) is not None]
    drawn = [
        curve(
            "How soon B answers",
            f"Share of {eligible:,} opportunities that B has begun to answer; the others never raise it.",
            Axis(0, 5, 0.05, range(6), "seconds after A's end"),
            latencies_s,
            eligible,
        ),
        histogram(
            "Floor transfer offset",
            "From one side's end to the other's start: B after A (bars) and A after B (line); below 0 in overlap.",
            Axis(-2, 4, 0.2, range(-2, 5), "seconds"),
            fto_s,
        ),
        histogram(
            "Answer time of each call",
            "Its median, one item a call: a second hump is a group of calls to look at.",
            Axis(0, 4, 0.1, range(5), "seconds"),
            {"B": medians_s},
        ),
        histogram("Both speak", "Lengths of the overlaps.", Axis(0, 3, 0.1, range(4), "seconds"), {"": run.overlaps_s}),
        histogram(
            "Both silent",
            in_words("Silences of more than {lapse_ms} in the middle of a call.", settings),
            Axis(3, 15, 0.5, range(3, 16, 3), "seconds"),
            {"": run.values("lapse_s")},
        ),
        histogram(
            "How much B talks",
            "Its share of each call's time, one item a call.",
            Axis(0, 100, 5, range(0, 101, 25), "per cent", "%"),
            {"B": [100 * share for row in run.scored if (share := row.figures["b_talk_share"][0]) is not None]},
        ),
    ]
    if points := cut_off_against_latency(run):
        drawn.append(
            plane(
                "False cut-offs against answer time",
                "Share of A's labelled pauses in which B cut in, over the median answer time: lower left is better. "
                "One point a system, with 95 % intervals over calls.",
                Axis(0, 2, 0.1, range(11), "seconds until B answers"),
                points,
            )
        )
    return f'<div class="charts">{"".join(drawn)}</div>'


def cut_off_against_latency(run: Survey) -> list[Point]:
    """A point for each system (of calls without that column: one) whose calls have labelled pauses and any answer.

    The answer time is that after labelled ends of turns; where a system's calls have none, that after all turns.
    """
    systems: dict[str, list[Mapping[str, Quantity]]] = {}
    for row, quantities in zip(run.scored, run.pooled, strict=True):
        systems.setdefault(row.call.columns.get("system", ""), []).append(quantities)
    found = []
    for name, sessions in sorted(systems.items()):
        told = summarise([{key: of[key] for key in _PLANE if key in of} for of in sessions])
        share, (by_label, by_turn) = told.get(_PLANE[0]), (told.get(key) for key in _PLANE[1:])
        latency = by_label if by_label and by_label["n"] else by_turn
        if share and share["n"] and latency and latency["n"]:
            limits = tuple(ms / 1000 for ms in latency["ci95"] or ())
            values = (limits[0], limits[1]) if limits else None
            note = f"{share['n']:,} pauses, {latency['n']:,} answers, {len(sessions):,} calls"
            found.append(Point(name, latency["median"] / 1000, share["mean"], note, values, share["ci95"]))
    return found


def moments(
    run: Survey,
    settings: TurnSettings,
    sound: Callable[[CallMoment], Played | None],
    page: Callable[[CallMoment], str | None],
    words: bool,
) -> str:
    """The worst moments of each kind, with the speech around them drawn, to be heard, and with the words if known."""
    parts = []
    for kind, (name, meaning) in KINDS.items():
        listed = run.worst.get(kind, [])
        if not listed:
            continue
        limit = f"over {ticks_to_s(limit_ticks(kind, settings)):g} s"
        cards = [_card(each, sound(each), page(each), _said(each) if words else "") for each in listed]
        count = f"{run.found[kind]:,} {limit}" + (f", the worst {len(listed)}" if run.found[kind] > len(listed) else "")
        parts.append(f'<h3>{name} <span class="count">{count}</span></h3><p class="note">{meaning}</p>')
        parts.append(f'<ol class="worst">{"".join(cards[:SHOWN])}</ol>')
        if len(cards) > SHOWN:
            more = f"{len(cards) - SHOWN} more"
            parts.append(f'<details><summary>{more}</summary><ol class="worst">{"".join(cards[SHOWN:])}</ol></details>')
    labelled = "cut_off_per_labelled_a_pause" in run.measures
    none = [
        name.lower()
        for kind, (name, _) in KINDS.items()
        if not run.worst.get(kind) and (labelled or kind != "false_cut_off")
    ]
    return "\n".join([*parts, *([f'<p class="note">None: {", ".join(none)}.</p>'] if none else [])])


def _card(found: CallMoment, played: Played | None, page: str | None, said: str) -> str:
    moment, name = found.moment, escape(found.call.name)
    at = clock_text(ticks_to_s(moment.start_tick))
    linked = f'<a href="{escape(page)}">{name}</a>' if page else name
    label = escape(f"Play: {moment.text}, {found.call.name} at {at}")
    button = ""
    if played is not None:
        url, start_s, end_s = played
        button = (
            f'<button type="button" class="play" data-src="{escape(url)}" data-from="{start_s:g}" data-to="{end_s:g}" '
            f'data-title="{escape(f"{found.call.name} {at}: {moment.text}")}" aria-label="{label}">&#9654;</button>'
        )
    told = f'<b>{escape(moment.text)}</b><span class="where">{linked} <span class="at">{at}</span></span>'
    return f'<li>{button}<div class="told">{told}{_strip(found)}{said}</div></li>'


def _said(found: CallMoment) -> str:
    """What each side said in these ten seconds, where its words are known."""
    start_s, end_s = (ticks_to_s(tick) for tick in clip_ticks(found.moment, found.n_ticks))
    parts = []
    for side in SIDES:
        words = found.call.recording.said(side, start_s, end_s)
        if words:
            parts.append(f'<span class="said"><span class="side-{side.lower()}">{side}</span> {escape(words)}</span>')
    return "".join(parts)


def _strip(found: CallMoment) -> str:
    """Who speaks in the ten seconds of a moment, A above B; the moment itself is marked."""
    start, end = clip_ticks(found.moment, found.n_ticks)
    scale = 1000 / CLIP_TICKS
    first, last = max(found.moment.start_tick, start), min(found.moment.end_tick, end)
    mark = f'x="{(first - start) * scale:g}" width="{(last - first) * scale:g}" height="26"'
    parts = [f'<rect class="marked" {mark}/>']
    for y, side in zip((2, 14), SIDES, strict=True):
        parts += [
            f'<rect class="{side.lower()}" x="{(s - start) * scale:g}" width="{(e - s) * scale:g}" y="{y}" height="9"/>'
            for s, e in found.speech[side]
        ]
    parts.append(f'<rect class="frame" {mark}/>')
    box = f'viewBox="0 0 {(end - start) * scale:g} 26" preserveAspectRatio="none"'
    return f'<svg class="strip" {box} aria-hidden="true">{"".join(parts)}</svg>'


def evidence(run: Survey) -> str:
    """The settings and the versions."""
    settings = run.corpus.settings
    if settings is None:
        return ""
    bias = vad_bias_text(settings)
    rows = [("measured bias", f"{escape(bias)} <span class='meaning'>It shifts every latency.</span>")] if bias else []
    same = settings["vad"]["A"] == settings["vad"]["B"]
    rows += flat({"voice activity": settings["vad"]["A"] if same else settings["vad"], "turns": settings["turns"]})
    rows += flat({"settings SHA-256": list(run.corpus.settings_sha256s), "versions": run.corpus.versions})
    return facts(rows)


def footer(run: Survey) -> str:
    """What else the run's folder holds."""
    versions = ", ".join(run.corpus.versions.get("fdbcore", []))
    return escape(f"fdbcore {versions} · at most {OF_ONE_CALL} of the worst {WORST} moments are of one call")
