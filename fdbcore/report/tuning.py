"""Other waits of a system on the calls of a run, as a page, tune.html, and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.survey import around
from fdbcore.analysis.tuning import ChangedTurn, Tuned, TunedGroup, TunedSetting
from fdbcore.measures.moments import Moment
from fdbcore.recording.files import write_text
from fdbcore.report.format import NONE, amount, counted, duration_text, limits, p_value
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import WHOLE, Cell, Row, Shown
from fdbcore.report.listening import ClipCounts, Sounds, card
from fdbcore.report.svg.charts import Axis, Chart, Point, plane
from fdbcore.report.terminal import filled, laid_out
from fdbcore.types import TICK_MS, TICKS_PER_S

TUNE_PAGE: Final = "tune.html"
MOST_CARDS: Final = 5
"""So many turns of each kind can be listened to, of each setting."""
COLUMNS: Final = ("wait, ms", "latency", "p90", "premature, 95 %", "left waiting", "turns", "p", "rests on")
_AXIS: Final = Axis(0.0, 1.0, 0.5, (0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5), "response latency, median, s")
_PRESENT: Final = {
    "given": "as given",
    "settings": "by the settings of the system",
    "log": "by its log",
    "behaviour": "by its behaviour, with the least that an answer costs",
}
NOTES: Final = (
    "Premature: B begins before A is done, as a share of A's turns. A was not done if it went on by itself, or within "
    "1 s of B's start.",
    "Another wait moves each answer by the same step; what it costs beyond the wait stays as measured. What people "
    "would have said then, nobody knows.",
    "Turns: + those that B would cut in on, unlike now, - those that it no longer would. p: that as many are premature "
    "as now, corrected for all settings (Holm). Intervals resample calls.",
    "A shorter wait rests on any call. A longer one rests on calls in which A went on after B's start, or on longer "
    "waits and labels.",
)


def write_tuned(content: Tuned, run: Run, folder: Path) -> Path:
    """Write tune.html into `folder` and return its path. RecordingError if it cannot be written."""
    path = folder / TUNE_PAGE
    write_text(path, page(content, run, folder))
    return path


def listed(content: Tuned) -> Iterator[ChangedTurn]:
    """The turns that the page lets people listen to."""
    for group in content["groups"]:
        for each in group["settings"]:
            yield from [*each["cut_in"][:MOST_CARDS], *each["spared"][:MOST_CARDS]]


def page(content: Tuned, run: Run, folder: Path) -> str:
    """The whole page. folder: the folder that its links are relative to."""
    calls, sounds = {call.name: call for call in run.calls}, Sounds(folder, WHOLE, ClipCounts())
    return render(
        "tune.html",
        title=content["run"],
        is_run_linked=(folder / INDEX).is_file(),
        warnings=[f"{name}: {reason}" for name, reason in content["unread"].items()],
        groups=[_group(group, calls, sounds) for group in content["groups"]],
        notes=NOTES,
    )


def screen(content: Tuned, width: int) -> str:
    """The text of the screen: lines of at most `width`, without a final newline."""
    lines = []
    for group in content["groups"]:
        turns = f"{counted(group['calls'], 'call')}, {counted(group['turns'], 'turn')} of A"
        lines.append(f"{group['name'] or content['run']}  {turns}")
        lines += [filled(text, width) for text in [lead(group), *facts(group)]]
        lines += laid_out([COLUMNS, *_rows(group)], width) if group["settings"] else []
        lines += [filled(f"{name}: {why}", width) for name, why in _untold(group)]
    return "\n".join([*lines, *(filled(note, width) for note in NOTES)])


def lead(group: TunedGroup) -> str:
    """The present wait and the knee in a sentence or two."""
    present_ms, of = group["present_ms"], {each["wait_ms"]: each for each in group["settings"]}
    if present_ms is None:
        return "Cannot tell: B never began after a silence of A."
    now, source = of[present_ms], _PRESENT[group["present_from"]]
    texts = [f"Present wait: {present_ms:,} ms, {source}."]
    if now["premature"] is None:
        return " ".join([*texts, f"Cannot tell: {now['reason']}."])
    texts.append(f"B cuts in on {_share(now)} of A's turns, and answers after {_latency(now)} (median).")
    knee_ms = group["knee_ms"]
    if knee_ms == present_ms:
        texts.append("The curve bends here: less of one costs more of the other.")
    elif knee_ms is not None:
        texts.append(f"The curve bends at {knee_ms:,} ms: {_share(of[knee_ms])}, after {_latency(of[knee_ms])}.")
    return " ".join(texts)


def facts(group: TunedGroup) -> Iterator[str]:
    """The system's ear, and what is assumed."""
    ear = group["ear"]
    if ear["wait_ms"] is not None and ear["error_ms"] is not None:
        by = {"log": "decisions in its log", "behaviour": "times until it began"}[ear["fitted_by"]]
        yield (
            f"Its ear, fitted to {ear['n']:,} {by}: it waits {duration_text(ear['wait_ms'] / 1000)} after A's end as "
            f"heard here, give or take {duration_text(round(ear['error_ms']) / 1000)} (nine in ten)."
        )
    if ear["fitted_by"] == "behaviour":
        yield "Without ten decisions in its log, nothing but --present-ms tells the wait from the cost of an answer."
    if ear["unexplained"]:
        share = amount(ear["unexplained"], "share")
        yield f"No silence heard here explains {share} of its decisions; intervals are wider by so much of each change."
    else:
        yield "Silences heard here explain all of its decisions."
    if ear["keeps_ms"]:
        yield f"It no longer takes an answer back {duration_text(ear['keeps_ms'] / 1000)} before it begins."
    longest = duration_text(group["longest_pause_ms"] / 1000)
    yield f"Silences of A of more than {longest} are taken for ends of turns: B's start hides longer pauses."
    if group["censored"]:
        yield f"{counted(group['censored'], 'turn')} left out: the recording ends before an answer."


def _share(setting: TunedSetting) -> str:
    found = setting["premature"]
    if found is None:
        return NONE
    return f"{amount(found['value'], 'share')} {limits(found['ci95'], 'share')}".rstrip()


def _latency(setting: TunedSetting) -> str:
    return NONE if setting["latency_ms"] is None else amount(setting["latency_ms"]["median"], "ms")


def _name(group: TunedGroup, setting: TunedSetting) -> str:
    """The wait of a setting, with what is special about it."""
    wait_ms = setting["wait_ms"]
    marks = {"now": wait_ms == group["present_ms"], "knee": wait_ms == group["knee_ms"]}
    return " ".join([f"{wait_ms:,}", *(mark for mark, holds in marks.items() if holds)])


def _rows(group: TunedGroup) -> Iterator[Sequence[str]]:
    for each in group["settings"]:
        premature, latency, left = each["premature"], each["latency_ms"], each["left_waiting"]
        if premature is None or latency is None or left is None:
            yield [_name(group, each), *[""] * (len(COLUMNS) - 2), each["rests_on"]]
            continue
        yield [
            _name(group, each),
            amount(latency["median"], "ms"),
            amount(latency["p90"], "ms"),
            _share(each),
            amount(left["value"], "share"),
            f"+{len(each['cut_in']):,} -{len(each['spared']):,}" if each["change_ms"] else "",
            "" if each["p_holm"] is None else p_value(each["p_holm"]),
            each["rests_on"],
        ]


def _untold(group: TunedGroup) -> Iterator[tuple[str, str]]:
    """The settings of which nothing is said, joined where the reason is the same."""
    reasons = dict.fromkeys(each["reason"] for each in group["settings"] if each["reason"])
    for reason in reasons:
        waits = [f"{each['wait_ms']:,}" for each in group["settings"] if each["reason"] == reason]
        yield f"cannot tell at {', '.join(waits)} ms", reason


def _group(group: TunedGroup, calls: dict[str, Call], sounds: Sounds) -> dict[str, Any]:
    rows: list[Row] = [(name, _shown(cells)) for name, *cells in _rows(group)]
    return {
        "name": group["name"],
        "facts": [counted(group["calls"], "call"), f"{counted(group['turns'], 'turn')} of A"],
        "lead": lead(group),
        "chart": _chart(group),
        "columns": COLUMNS,
        "rows": rows,
        "told": [*facts(group), *(f"{name}: {why}" for name, why in _untold(group))],
        "changes": [
            {
                "name": _name(group, each),
                "is_open": each["wait_ms"] == group["knee_ms"],
                "kinds": [
                    (f"{text}: {len(turns)}", [_card(turn, told, calls, sounds) for turn in turns[:MOST_CARDS]])
                    for text, told, turns in (
                        ("B would cut in", "would begin", each["cut_in"]),
                        ("B would no longer cut in", "began", each["spared"]),
                    )
                    if turns
                ],
            }
            for each in group["settings"]
            if each["cut_in"] or each["spared"]
        ],
    }


def _shown(cells: Sequence[str]) -> list[Shown]:
    *figures, basis = cells
    return [*figures, Cell(basis, verdict="undecided") if basis == "cannot tell" else basis]


def _chart(group: TunedGroup) -> Chart:
    points = []
    for each in group["settings"]:
        latency, premature = each["latency_ms"], each["premature"]
        if latency is None or premature is None or latency["median"] is None:
            continue
        special = each["wait_ms"] in (group["present_ms"], group["knee_ms"])
        points.append(
            Point(
                _name(group, each) if special else "",
                latency["median"] / 1000,
                premature["value"],
                f"{_name(group, each)} ms; rests on: {each['rests_on']}",
                None,
                premature["ci95"],
            )
        )
    title, note = "Premature responses over response latency", "A point for each wait, with its 95 % interval."
    return plane(title, note, _AXIS, points, is_curve=True) if points else Chart(title, note)


def _card(turn: ChangedTurn, told: str, calls: dict[str, Call], sounds: Sounds) -> dict[str, Any]:
    """A pause of A that can be listened to."""
    call = calls[turn["call"]]
    start, end = (round(turn[key] * TICKS_PER_S) for key in ("start_s", "end_s"))
    into, length = turn["began_s"] - turn["start_s"], turn["end_s"] - turn["start_s"]
    text = f"pause of {length:.2f} s; B {told} after {into:.2f} s"
    severity = max(1.01, (end - start) * TICK_MS / 1000)
    moment = Moment("cut_off", "B", start, end, severity, text, turn["start_s"], turn["end_s"])
    return card(around(call, call.recording, moment), sounds)
