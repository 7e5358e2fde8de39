"""Voice activity on dialogues of real voices over many lines, beside peers, against truth by construction.

    python -m benchmarks voices CLIPS_FOLDER [--music FOLDER] [--lines test|tuning|all] [--line NAME ...]

CLIPS_FOLDER holds a sub-folder of clean clips for each voice; `python -m benchmarks.voices.packages FOLDER` fetches
those of the published tables. Dialogues, truth and lines are the same each time. What was made, and what peers found,
is kept in the folder that --cache names. Our detectors stand there twice: by themselves, and as `replay` reports what
they found, without what input health takes for echo. A few lines and dialogues take a minute:
`--line "crosstalk -20 dB" --dialogues 2 --no-peers --brief`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from benchmarks.harness import print_table
from benchmarks.voices import gains, line_table, lines, workshop
from benchmarks.voices.dialogues import CUTS_DB
from benchmarks.voices.healths import warned_share
from benchmarks.voices.labelled import labelled_in
from benchmarks.voices.peers import installed_peers
from benchmarks.voices.scoring import Tally
from benchmarks.voices.speech import Bools, ticks_in
from benchmarks.voices.workshop import Made
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.recording.health import Health
from fdbcore.registry import VADS
from fdbcore.types import SIDES

Figures: TypeAlias = dict[str, float | int | None]
Key: TypeAlias = tuple[int, str, str]  # cut in dB, line, detector
TABLES: Final[Mapping[str, tuple[str, str]]] = {
    "unit_f1": ("Units (stretches of speech by the 60 / 200 ms rule): F1", ".3f"),
    "event_f1": ("Floor events: F1", ".3f"),
    "transfer_f1": ("Floor transfers, offset within 100 ms: F1", ".3f"),
    "interruption_recall": ("Interruptions and backchannels within speech, onset within 40 ms: share found", ".3f"),
    "offset_median_ms": ("Offsets of the floor: median error, ms", "+.0f"),
    "offset_abs_p95_ms": ("Offsets of the floor: p95 of the absolute error, ms", ".0f"),
    "premature_points": ("Premature answers: points above the truth", "+.1f"),
    "latency_shift_ms": ("Median answer latency less the true one, ms", "+.0f"),
    "start_median_ms": ("Starts of units: median error, ms", "+.0f"),
    "start_abs_p95_ms": ("Starts of units: p95 of the absolute error, ms", ".0f"),
    "end_median_ms": ("Ends of units: median error, ms", "+.0f"),
    "end_abs_p95_ms": ("Ends of units: p95 of the absolute error, ms", ".0f"),
}
LEAST_S: Final = 30.0
ALL: Final = "all"
OURS: Final = tuple(name for name in VADS if name != "webrtc")  # which is a peer here
LABELLED: Final = {
    "frame_recall": ".3f",
    "frame_precision": ".3f",
    "unit_f1": ".3f",
    "start_median_ms": "+.0f",
    "start_abs_p95_ms": ".0f",
    "end_median_ms": "+.0f",
    "end_abs_p95_ms": ".0f",
}
BIASES: Final = ("start_median_ms", "end_median_ms", "offset_median_ms", "premature_points", "latency_shift_ms")
BRIEF: Final = ("unit_f1", "transfer_f1", "interruption_recall", "offset_median_ms", "premature_points")
REPORTED: Final = "{}, reported"  # a detector of ours as replay reports what it found


def main(arguments: Sequence[str]) -> None:
    options = _options(arguments)
    peers, lacking = ({}, {}) if options.no_peers else installed_peers()
    for package, reason in lacking.items():
        print(f"left out {package}: {reason}", file=sys.stderr)
    names = {**dict.fromkeys(options.vad or OURS, False), **dict.fromkeys(peers, True)}
    if options.clips:
        _lines(options, names)
    if options.labelled:
        _labelled(options, names)


def _lines(options: argparse.Namespace, names: Mapping[str, bool]) -> None:
    """The tables of dialogues over lines."""
    start = time.monotonic()
    chosen = _chosen(options)
    folder = workshop.kept_folder(options.cache, options.clips, options.music, options.seed, options.seconds)
    made = workshop.make(folder, options.clips, options.music, chosen, options.dialogues, options.seed, options.seconds)
    print(f"{len(made)} files in {folder} after {time.monotonic() - start:.0f} s", file=sys.stderr)
    tallies: dict[Key, Tally] = defaultdict(Tally)
    seconds: dict[str, float] = defaultdict(float)
    audio_s: dict[str, float] = defaultdict(float)
    ours: dict[tuple[str, str], list[tuple[Made, Bools]]] = defaultdict(list)
    for each, name, active, took_s in workshop.activities(made, names):
        seconds[name] += took_s
        audio_s[name] += 2 * len(active) / 100
        for cut_db in CUTS_DB:
            tallies[cut_db, each.line, name].add_dialogue(each.spans(cut_db), active)
        if not names[name]:
            ours[each.line, name].append((each, active))
    healths = {(line, name): workshop.healths_of(found, name) for (line, name), found in ours.items()}
    for (line, name), of_line in ours.items():
        for (each, active), health in zip(of_line, healths[line, name], strict=True):
            suspect = {side: health["suspect"][side] for side in SIDES}
            reported = np.stack(echo_free_activity((active[:, 0], active[:, 1]), suspect), axis=1)
            for cut_db in CUTS_DB:
                tallies[cut_db, line, REPORTED.format(name)].add_dialogue(each.spans(cut_db), reported)
    figures = {key: tally.figures() for key, tally in tallies.items()}
    peers = [name for name, is_peer in names.items() if is_peer]
    shown = [each for name in names if not names[name] for each in (name, REPORTED.format(name))] + peers
    for cut_db in CUTS_DB[: 1 if options.brief else None]:
        for figure in BRIEF if options.brief else TABLES:
            _show(figure, cut_db, [line.name for line in chosen], shown, figures)
    for name in (name for name, is_peer in names.items() if not is_peer):
        _warnings(name, [line.name for line in chosen], figures, healths)
    if options.gains:
        _gains(made, [name for name in names if not names[name]])
    if peers:
        _summary([line.name for line in chosen], [name for name in shown if name not in peers], peers, figures)
    rows = [(name, f"{audio_s[name] / max(seconds[name], 1e-9):,.0f}") for name in names]
    print_table("Seconds of a channel a second of one core, decoding included", ("detector", "x real time"), rows)
    print(f"{options.dialogues} dialogues, {len(chosen)} lines, {time.monotonic() - start:.0f} s")
    if options.json:
        _write_json(options.json, figures)
    if options.table:
        found = {
            name: [
                (each, active, health)
                for (line, vad), of_line in ours.items()
                if vad == name
                for (each, active), health in zip(of_line, healths[line, vad], strict=True)
            ]
            for name in dict.fromkeys(vad for _, vad in ours)
        }
        line_table.write(options.table, line_table.line_table(found, options.clips, options.dialogues))


def _labelled(options: argparse.Namespace, names: Mapping[str, bool]) -> None:
    """The table of recordings labelled by people; side A has all the speech."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    made = labelled_in(options.labelled, options.cache)
    for each, name, active, _ in workshop.activities(made, names):
        spans, _ = each.spans(CUTS_DB[0])
        tallies[name].add_side(spans, active[:, 0], ticks_in(spans, len(active)))
    rows = []
    for name in names:
        figures = tallies[name].figures()
        rows.append((name, *(_shown(figures[figure], shown_as) for figure, shown_as in LABELLED.items())))
    n_units = tallies[next(iter(names))].n_true
    header = ("detector", *(figure.replace("_", " ") for figure in LABELLED))
    print_table(f"Labels by people: {len(made)} recordings, {n_units} units", header, rows)


def _show(
    figure: str,
    cut_db: int,
    chosen: Sequence[str],
    names: Sequence[str],
    figures: Mapping[tuple[int, str, str], Figures],
) -> None:
    title, shown_as = TABLES[figure]
    rows = []
    for line in chosen:
        rows.append((line, *(_shown(figures[cut_db, line, name][figure], shown_as) for name in names)))
    print_table(f"{title} (speech: {cut_db} dB below the peak of its clip)", ("line", *names), rows)


def _warnings(
    name: str,
    chosen: Sequence[str],
    figures: Mapping[Key, Figures],
    healths: Mapping[tuple[str, str], Sequence[Health]],
) -> None:
    """What each line does to one of our detectors, and how often input health warns of it."""
    rows = []
    for line in chosen:
        known = figures[CUTS_DB[0], line, name]
        shares = [_shown(known[figure], TABLES[figure][1]) for figure in BIASES]
        found = healths[line, name]
        warnings = [{each["id"] for each in health["findings"] if each["severity"] != "note"} for health in found]
        ids = Counter(id for of_call in warnings for id in of_call)
        rows.append((line, *shares, f"{warned_share(found):.0%}", ", ".join(id for id, _ in ids.most_common())))
    header = ("line", *(figure.replace("_", " ") for figure in BIASES), "warned", "of")
    print_table(f"Bias of {name}, and calls of which input health warns", header, rows)


def _summary(chosen: Sequence[str], ours: Sequence[str], peers: Sequence[str], figures: Mapping[Key, Figures]) -> None:
    """Ours beside the best peer of each line, as docs/accuracy.md has it."""
    rows = []
    for line in chosen:
        row = [line]
        for figure in ("unit_f1", "transfer_f1"):
            row += [_shown(figures[CUTS_DB[0], line, name][figure], ".3f") for name in ours]
            best = max(peers, key=lambda name: figures[CUTS_DB[0], line, name][figure] or 0.0)
            row.append(f"{_shown(figures[CUTS_DB[0], line, best][figure], '.3f')} {best}")
        for figure, shown_as in (("offset_median_ms", "+.0f"), ("premature_points", "+.1f")):
            row += [_shown(figures[CUTS_DB[0], line, name][figure], shown_as) for name in ours]
        rows.append(row)
    units, transfers = ([f"{what} {name}" for name in (*ours, "best other")] for what in ("units", "transfers"))
    others = [f"{what} {name}" for what in ("offset ms", "premature") for name in ours]
    print_table("Ours beside the best other", ("line", *units, *transfers, *others), rows)


def _gains(made: Sequence[Made], ours: Sequence[str]) -> None:
    """What a gain of a whole call, and an offset, do to each of our detectors, whether it is right or wrong."""
    header = ("line", *(f"{name}: {kind}" for name in ours for kind in gains.CHANGES))
    rows = [(line, *(f"{share:.1%}" for share in shares)) for line, shares in gains.moved_shares(made, ours)]
    print_table("Floor events that move by more than a tick (10 ms)", header, rows)


def _shown(value: float | int | None, shown_as: str) -> str:
    return "" if value is None else format(value, shown_as)


def _write_json(path: Path, figures: Mapping[Key, Figures]) -> None:
    rows = [{"line": line, "detector": name, "cut_db": cut} | each for (cut, line, name), each in figures.items()]
    path.write_text(json.dumps(rows, indent=1) + "\n")


def _chosen(options: argparse.Namespace) -> list[lines.Line]:
    """The lines that were asked for; those with music only if there is music."""
    by_name = {line.name: line for each in lines.SETS.values() for line in each}
    unknown = [name for name in options.line or () if name not in by_name]
    if unknown:
        sys.exit(f"--line: expected some of {', '.join(by_name)}; got {', '.join(unknown)}")
    chosen = [by_name[name] for name in options.line] if options.line else _set(options.lines)
    silent = [line.name for line in chosen if line.music and options.music is None]
    if silent:
        print(f"without --music, left out: {', '.join(silent)}", file=sys.stderr)
    return [line for line in chosen if line.name not in silent]


def _set(name: str) -> list[lines.Line]:
    """The lines of a set, or those of the two that the shipped table holds, each once."""
    chosen = [lines.TUNING, lines.TEST] if name == ALL else [lines.SETS[name]]
    return list({line.name: line for each in chosen for line in each}.values())


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks voices", description=__doc__.partition("\n")[0])
    parser.add_argument("clips", type=Path, nargs="?", help="a folder with a sub-folder of clean clips for each voice")
    parser.add_argument("--music", type=Path, help="a folder of tracks, for the lines with music")
    parser.add_argument(
        "--lines", choices=(*lines.SETS, ALL), default="test", help="which set of lines; all: tuning and test"
    )
    parser.add_argument("--line", action="append", metavar="NAME", help="only this line; may be repeated")
    parser.add_argument("--dialogues", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=100, help="of each dialogue")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vad", action="append", metavar="NAME", help="only this detector of ours; may be repeated")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--brief", action="store_true", help="four tables of the first truth")
    parser.add_argument("--gains", action="store_true", help="also show how many events a gain or an offset moves")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument(
        "--table", type=Path, help="write where each line lies, and what it does to edges, here: what fdbcore ships"
    )
    parser.add_argument("--labelled", type=Path, help="recordings labelled by people: NAME.wav and NAME.scv")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "fdbcore-voices")
    options = parser.parse_args(arguments)
    for folder in (options.clips, options.music, options.labelled):
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder}: expected a folder")
    if options.clips is None and options.labelled is None:
        parser.error("expected a folder of clips, or --labelled")
    if options.dialogues < 1 or options.seconds < LEAST_S:
        parser.error(f"expected one dialogue or more, of {LEAST_S:.0f} s or more each")
    if options.table and options.dialogues < 2:
        parser.error("--table: expected two dialogues or more: each is placed by the others")
    return options
