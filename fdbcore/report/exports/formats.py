"""Exports recordings to RTTM, Praat TextGrid, Audacity, CSV, JSON, and the formats of benchmarks."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeAlias

from fdbcore.analysis.score import read_scores
from fdbcore.errors import InputError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_text
from fdbcore.recording.others import replacing
from fdbcore.recording.reader import Recording
from fdbcore.report.call.document import document
from fdbcore.report.exports.fdb import export_fdb1, export_fdb2, why_not, why_not_held
from fdbcore.sources.label_files import rttm_name
from fdbcore.sources.label_set import LEFT_OUT
from fdbcore.sources.text_cells import marked
from fdbcore.types import SIDES, Side, TurnEvent, TurnKind, ticks_to_s

UEM: Final = ".uem"

Interval: TypeAlias = tuple[int, int, str]
"""Start and end in ticks, and a label."""

Point: TypeAlias = tuple[int, str]


def export(readings: Sequence[Reading], fmt: str, out: Path | None = None) -> list[Path]:
    """Write a file for each recording and return the paths: `export_into`, and then the files go where they belong.

    Raises what that does; InputError for an unknown format; SettingsError, and writes nothing, if one would replace a
    file that was not exported there, or was changed since; RecordingError if a file cannot be written.
    """
    if fmt not in (*FORMATS, *TOGETHER):
        raise InputError(f"format: expected one of {', '.join(FORMATS)}, {', '.join(TOGETHER)}, got {fmt!r}")
    if not readings:
        return []
    with replacing(out or readings[0].path.parent) as made:
        return export_into(made, readings, fmt, out)


def export_into(made: Path, readings: Sequence[Reading], fmt: str, out: Path | None) -> list[Path]:
    """Write a file for each recording into `made`, from where they go into `out`; the paths there.

    readings: one or more of one run. fmt: rttm, textgrid, audacity, csv or json; fdb1 or fdb2 (see `fdb`), which have
    several files per recording; or turnbench (see `export_turnbench`), one file for all. out: None is the folder of
    the run, in which each recording has its files in its own folder, fdb1 and fdb2 in one of that name. Raises
    InputError for a recording that cannot be exported.
    """
    run = readings[0].path.parent
    if fmt in ("fdb1", "fdb2"):
        write = export_fdb1 if fmt == "fdb1" else export_fdb2
        return write(readings, out or run / fmt, made if out else made / fmt)
    if fmt == "turnbench":
        return [(out or run) / export_turnbench(readings, made).name]
    text_of, suffix = FORMATS[fmt]
    names: list[str] = []
    for reading in readings:
        stem = reading.name if out else f"{reading.path.name}/{reading.name}"
        texts = {f"{stem}{suffix}": text_of}
        if fmt == "rttm" and (reading.left_out or ((out or run) / f"{stem}{UEM}").exists()):
            texts[f"{stem}{UEM}"] = uem
        for name, text in texts.items():
            write_text(made / name, text(reading))
        names += texts
    return [(out or run) / name for name in names]


def left_out(recording: Recording, fmt: str) -> str | None:
    """The reason why a recording is left out of an export; None if it is not."""
    if (status := recording.meta["status"]) != "complete":
        why = recording.meta.get("reason") or f"cut off; `fdbcore replay {recording.path}` recovers it"
        return f"expected complete, got {status}: {why}"
    reasons: Mapping[str, Callable[[Recording], str | None]] = {"fdb1": why_not, "fdb2": why_not_held}
    return reasons[fmt](recording) if fmt in reasons else None


def rttm(reading: Reading) -> str:
    """NIST RTTM: one SPEAKER line per inter-pausal unit, sorted by time, with its channel in the audio file.

    `rttm_name` replaces blanks in the name. For two files, and for live calls, A is channel 1 and B channel 2.
    """
    name, channels = rttm_name(reading.name), _channels(reading)
    units = sorted((start, end, side) for side in SIDES for start, end, _ in _ipus(reading, side))
    return "".join(
        f"SPEAKER {name} {channels[side]} {ticks_to_s(start):.2f} {ticks_to_s(end - start):.2f}"
        f" <NA> <NA> {side} <NA> <NA>\n"
        for start, end, side in units
    )


def uem(reading: Reading) -> str:
    """NIST UEM: a line for each kept span and channel. Scorers of RTTM take it to leave out the rest."""
    name = rttm_name(reading.name)
    return "".join(
        f"{name} {channel} {ticks_to_s(start):.2f} {ticks_to_s(end):.2f}\n"
        for channel in (1, 2)
        for start, end in reading.kept
    )


def _channels(recording: Recording) -> dict[Side, int]:
    """The channel of each side, from 1, in the stereo file that was replayed; otherwise in session.wav."""
    sides = (recording.meta.get("source") or {}).get("sides", {})
    if {side["channel"] for side in sides.values()} == {"left", "right"}:
        return {side: 1 + (sides[side]["channel"] == "right") for side in SIDES}
    return {"A": 1, "B": 2}


def textgrid(reading: Reading) -> str:
    """A Praat TextGrid (long text format): speech, turns and pauses of each side, gaps, overlaps and intrusions.

    A recording of which parts are left out has a tier with these.
    """
    events = reading.dialogue.events
    overlaps = [(*stretch, event) for event in events for stretch in _overlapping(event)]
    intervals: dict[str, list[Interval]] = {}
    points: dict[str, list[Point]] = {}
    for side in SIDES:
        intervals[f"{side} speech"] = _ipus(reading, side)
        intervals[f"{side} turns"] = _spans(events, side, "turn")
        intervals[f"{side} pauses"] = _spans(events, side, "pause")
        points[f"{side} comes in"] = _points(events, side, "intrusion")
        points[f"{side} does not answer"] = _points(events, side, "no_response")
    intervals["gaps"] = sorted(span for side in SIDES for span in _spans(events, side, "gap") if span[0] < span[1])
    intervals["overlaps"] = sorted((start, end, _label(event)) for start, end, event in overlaps)
    if reading.left_out:
        intervals["left out"] = _left_out(reading)
    tiers = [_interval_tier(name, spans, reading.n_ticks) for name, spans in intervals.items()]
    tiers += [_point_tier(name, marks, reading.n_ticks) for name, marks in points.items()]
    head = f'File type = "ooTextFile"\nObject class = "TextGrid"\n\n{_extent(reading.n_ticks)}tiers? <exists>\n'
    items = "".join(f"    item [{number}]:\n{_indented(tier, 8)}" for number, tier in enumerate(tiers, 1))
    return f"{head}size = {len(tiers)}\nitem []:\n{items}"


def audacity(reading: Reading) -> str:
    """An Audacity label track: all events, the speech of both sides, and what is left out, sorted by time."""
    units = {(side, start): end for side in SIDES for start, end, _ in _ipus(reading, side)}
    labels = [(start, end, f"{side} speech") for (side, start), end in units.items()] + _left_out(reading)
    for event in reading.dialogue.events:
        if not event.kind.startswith("speech_"):
            # An intrusion without an end took the floor; it ends with its inter-pausal unit.
            end_tick = units[event.side, event.start_tick] if event.end_tick is None else event.end_tick
            labels.append((event.start_tick, end_tick, _label(event)))
    return "".join(f"{ticks_to_s(start):.6f}\t{ticks_to_s(end):.6f}\t{label}\n" for start, end, label in sorted(labels))


def csv_table(reading: Reading) -> str:
    """CSV with one row per event and all its fields; stretches are "start-end" in ticks, joined by spaces.

    First come the spans that are left out, each a row of kind left_out without a side.
    """
    names = [field.name for field in fields(TurnEvent)]
    text = io.StringIO()
    table = csv.DictWriter(text, ["recording", *names, "start_s", "end_s"], lineterminator="\r\n")
    table.writeheader()
    for start, end, _ in _left_out(reading):
        times = {"start_tick": start, "end_tick": end, "start_s": ticks_to_s(start), "end_s": ticks_to_s(end)}
        table.writerow({"recording": marked(reading.name), "kind": LEFT_OUT, **times})
    for event in reading.dialogue.events:
        row = event.to_json()
        if event.stretches is not None:
            row["stretches"] = " ".join(f"{start}-{end}" for start, end in event.stretches)
        table.writerow({"recording": marked(reading.name), **row})
    return text.getvalue()


def json_document(reading: Reading) -> str:
    """The document of `fdbcore replay --json`."""
    return json.dumps(document(reading, read_scores(reading)), ensure_ascii=False, indent=1) + "\n"


TOGETHER: Final = ("fdb1", "fdb2", "turnbench")
"""The formats of which a recording alone is not to be written."""

FORMATS: Final[Mapping[str, tuple[Callable[[Reading], str], str]]] = {
    "rttm": (rttm, ".rttm"),
    "textgrid": (textgrid, ".TextGrid"),
    "audacity": (audacity, ".labels.txt"),
    "csv": (csv_table, ".csv"),
    "json": (json_document, ".json"),
}


def _left_out(reading: Reading) -> list[Interval]:
    return [(span.start_tick, span.end_tick, f"left out by {span.by}") for span in reading.left_out]


def _ipus(reading: Reading, side: Side) -> list[Interval]:
    return [(int(start), int(end), side) for start, end in reading.dialogue.ipus[side]]


def _spans(events: Iterable[TurnEvent], side: Side, kind: TurnKind) -> list[Interval]:
    found = ((e.start_tick, e.end_tick, _label(e)) for e in events if e.kind == kind and e.side == side)
    return sorted((start, end, label) for start, end, label in found if end is not None)


def _points(events: Iterable[TurnEvent], side: Side, kind: TurnKind) -> list[Point]:
    return sorted((event.start_tick, _label(event)) for event in events if event.kind == kind and event.side == side)


def _overlapping(event: TurnEvent) -> Sequence[tuple[int, int]]:
    """The spans of an event in which both sides speak."""
    if event.kind == "overlap_within" and event.end_tick is not None:
        return [(event.start_tick, event.end_tick)]
    return event.stretches or ()


def _label(event: TurnEvent) -> str:
    """The event in a few words: "B gap 0.40 s", "A intrusion kept from overlap", "A turn 2.00 s (censored)"."""
    words = [event.side, event.kind.replace("_", " ")]
    if event.kind == "intrusion":
        words += [str(event.outcome), f"from {event.onset}"]
    elif event.end_tick is not None:
        words.append(f"{ticks_to_s(event.end_tick - event.start_tick):.2f} s")
    return " ".join([*words, *(["(censored)"] if event.censored else [])])


def _extent(n_ticks: int) -> str:
    return f"xmin = 0\nxmax = {ticks_to_s(n_ticks)}\n"


def _interval_tier(name: str, spans: Sequence[Interval], n_ticks: int) -> str:
    """A tier whose intervals cover the session without a hole, as Praat demands; the rest of them are empty."""
    covered: list[Interval] = []
    reached = 0
    for start, end, label in spans:
        if start > reached:
            covered.append((reached, start, ""))
        covered.append((start, end, label))
        reached = end
    if reached < n_ticks:
        covered.append((reached, n_ticks, ""))
    items = "".join(
        f'intervals [{number}]:\n    xmin = {ticks_to_s(start)}\n    xmax = {ticks_to_s(end)}\n    text = "{label}"\n'
        for number, (start, end, label) in enumerate(covered, 1)
    )
    head = f'class = "IntervalTier"\nname = "{name}"\n{_extent(n_ticks)}'
    return f"{head}intervals: size = {len(covered)}\n{items}"


def _point_tier(name: str, marks: Sequence[Point], n_ticks: int) -> str:
    items = "".join(
        f'points [{number}]:\n    number = {ticks_to_s(tick)}\n    mark = "{label}"\n'
        for number, (tick, label) in enumerate(marks, 1)
    )
    head = f'class = "TextTier"\nname = "{name}"\n{_extent(n_ticks)}'
    return f"{head}points: size = {len(marks)}\n{items}"


def _indented(text: str, columns: int) -> str:
    return "".join(f"{' ' * columns}{line}\n" for line in text.splitlines())


def export_turnbench(recordings: Sequence[Recording], folder: Path) -> Path:
    """Write turnbench.json, of all recordings together, into a folder: predictions in the submission format of
    TurnBench (arXiv 2608.25218), for the benchmark's own scoring. RecordingError if it cannot be written.

    What is handed in is the turn detector, not a system under test: for each side the moments at which it knew of the
    end of a turn, and of an interruption that took the floor. A moment is when the event became known, with the delay
    of the voice activity, as the benchmark demands: no decision is told before all audio that it rests on was heard.

    Its scorer looks for the end of a turn until 3 s after it. Ours is known once the other side has the floor, with the
    default settings 1.4 s after it began to speak. So a turn is found if it is answered within 1.6 s; the last turn of
    a conversation never is.

    A conversation has the name of its recording; speaker_1 is side A. Raises InputError for two of the same name.
    """
    names = [recording.name for recording in recordings]
    if len(set(names)) < len(names):
        raise InputError(f"{folder}: expected recordings of different names, got one twice")
    predictions = [_conversation(Reading(recording.path)) for recording in recordings]  # one at a time in memory
    path = folder / "turnbench.json"
    write_text(path, json.dumps({"schema_version": 1, "predictions": predictions}, indent=1) + "\n")
    return path


def _conversation(reading: Reading) -> dict[str, Any]:
    told = [event for event in reading.dialogue.events if not event.censored]
    speakers = {f"speaker_{number}": _speaker(told, side, reading.n_ticks) for number, side in enumerate(SIDES, 1)}
    return {"conversation_id": reading.name, **speakers}


def _speaker(told: Sequence[TurnEvent], side: Side, n_ticks: int) -> dict[str, list[float]]:
    own = [event for event in told if event.side == side]
    taken = [event for event in own if event.kind == "intrusion" and event.onset == "overlap"]
    return {
        "eot": _moments([event for event in own if event.kind == "turn"], n_ticks),
        "interruption": _moments([event for event in taken if event.outcome == "taken"], n_ticks),
    }


def _moments(events: Sequence[TurnEvent], n_ticks: int) -> list[float]:
    """The times when they became known, in seconds: strictly increasing, within the audio."""
    return [ticks_to_s(tick) for tick in sorted({event.known_tick for event in events}) if tick <= n_ticks]
