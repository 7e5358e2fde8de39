"""Exports: in every format what was measured; and what tables and trends say that they rest on."""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from fakes.recordings import drawn_recording, sample_recording
from helpers.commands import done
from msgspec import convert

from fdbcore.analysis.score import score
from fdbcore.errors import InputError, RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.report.call.document import document
from fdbcore.report.evidence import of_making
from fdbcore.report.exports.formats import export
from fdbcore.runtime.redaction import secret
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.names import Oddities
from fdbcore.types import SIDES, TurnEvent


def random_drawing(seed: int) -> str:
    """Two sides that speak and pause at random for a minute."""
    random = np.random.default_rng(seed)
    sides = []
    for side in SIDES:
        edges = np.cumsum(random.integers(2, 30, 60)).reshape(-1, 2) / 10
        sides.append(f"{side} " + " ".join(f"{start}-{end}" for start, end in edges))
    return " | ".join(sides)


@pytest.fixture(scope="module", params=["sample", "silent", 1, 2, 3])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reading:
    path = tmp_path_factory.mktemp("run") / 'a "quoted", name'
    if request.param == "sample":
        made = sample_recording(path)
    elif request.param == "silent":
        made = drawn_recording(path, "A 0-2 13-15 |")
    else:
        made = drawn_recording(path, random_drawing(request.param))
    score(made)
    return made


def exported(recording: Reading, fmt: str, folder: Path) -> str:
    (path,) = export([recording], fmt, folder)
    assert path.parent == folder
    return path.read_bytes().decode("utf-8")


def units(recording: Reading) -> dict[str, list[tuple[float, float]]]:
    return {side: [(s / 100, e / 100) for s, e in recording.dialogue.ipus[side].tolist()] for side in SIDES}


def test_rttm_has_a_line_a_unit_with_its_channel(recording: Reading, tmp_path: Path) -> None:
    found: dict[str, list[tuple[float, float]]] = {"A": [], "B": []}
    starts = []
    for line in exported(recording, "rttm", tmp_path).splitlines():
        kind, name, channel, start, length, *rest = line.split()
        assert (kind, name, rest) == (
            "SPEAKER",
            'a%20"quoted",%20name',
            ["<NA>", "<NA>", "AB"[int(channel) - 1], "<NA>", "<NA>"],
        )
        starts.append(float(start))
        found[rest[2]].append((float(start), round(float(start) + float(length), 2)))
    assert found == units(recording)
    assert starts == sorted(starts)


@pytest.mark.parametrize(("channels", "told"), [("left right", "1 2"), ("right left", "2 1"), ("mono mono", "1 2")])
def test_the_channel_of_rttm_is_that_of_the_replayed_file(channels: str, told: str, tmp_path: Path) -> None:
    sides = {side: {"channel": channel} for side, channel in zip(SIDES, channels.split(), strict=True)}
    recording = drawn_recording(
        tmp_path / "call", "A 0-1 | B 2-3", source={"sides": sides, "files": [], "playable_in_browser": False}
    )
    lines = [line.split() for line in exported(recording, "rttm", tmp_path).splitlines()]
    assert {line[7]: line[2] for line in lines} == dict(zip(SIDES, told.split(), strict=True))


def parsed_textgrid(text: str) -> dict[str, Any]:
    """Tiers of a long-format TextGrid by name: lists of (xmin, xmax, text), or of (number, mark)."""
    head, *items = re.split(r"^    item \[\d+\]:\n", text, flags=re.MULTILINE)
    assert head.startswith('File type = "ooTextFile"\nObject class = "TextGrid"\n\n')
    assert re.search(r"^size = (\d+)$", head, re.MULTILINE)[1] == str(len(items))  # type: ignore[index]
    tiers: dict[str, Any] = {}
    for item in items:
        fields = [line.strip().partition(" = ")[::2] for line in item.splitlines() if " = " in line]
        (_, tier_class), (_, name), (_, low), (_, high), (_, size), *values = fields
        rows = [value.strip('"') for _, value in values]
        width = 3 if tier_class == '"IntervalTier"' else 2
        tiers[name.strip('"')] = [tuple(rows[at : at + width]) for at in range(0, len(rows), width)]
        assert len(rows) == width * int(size)
        assert float(low) == 0
        assert f"xmax = {high}\n" in head
    return tiers


def test_a_textgrid_covers_the_session_and_holds_every_event(recording: Reading, tmp_path: Path) -> None:
    tiers = parsed_textgrid(exported(recording, "textgrid", tmp_path))
    length_s = recording.n_ticks / 100
    labelled: Counter[str] = Counter()
    for name, rows in tiers.items():
        if name.endswith(("comes in", "answer")):
            times = [float(time) for time, _ in rows]
            assert all(earlier < later for earlier, later in pairwise(times))
        else:
            edges = [(float(low), float(high)) for low, high, _ in rows]
            assert (edges[0][0], edges[-1][1]) == (0, length_s)
            assert all(earlier[1] == later[0] for earlier, later in pairwise(edges))
            assert all(low < high for low, high in edges)
        labelled[name] = sum(bool(row[-1]) for row in rows)
    for side in SIDES:
        speech = [(float(low), float(high)) for low, high, text in tiers[f"{side} speech"] if text]
        assert speech == units(recording)[side]
    counts = Counter((event.kind, event.side) for event in recording.turn_events)
    for side in SIDES:
        for kind, tier in (("turn", "turns"), ("pause", "pauses"), ("intrusion", "comes in")):
            assert labelled[f"{side} {tier}"] == counts[kind, side]  # type: ignore[index]
    instant = sum(event.kind == "gap" and event.start_tick == event.end_tick for event in recording.turn_events)
    assert labelled["gaps"] == counts["gap", "A"] + counts["gap", "B"] - instant


def test_audacity_labels_are_three_columns_within_the_session(recording: Reading, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in exported(recording, "audacity", tmp_path).splitlines()]
    spans = [(float(start), float(end)) for start, end, _ in rows]
    assert spans == sorted(spans)
    assert all(0 <= start <= end <= recording.n_ticks / 100 for start, end in spans)
    for side in SIDES:
        speech = [span for span, row in zip(spans, rows, strict=True) if row[2] == f"{side} speech"]
        assert speech == units(recording)[side]
    told = [event for event in recording.turn_events if not event.kind.startswith("speech")]
    assert len(rows) == len(told) + sum(map(len, units(recording).values()))
    assert sum(row[2].endswith("(censored)") for row in rows) == sum(event.censored for event in told)


def test_a_csv_row_is_an_event(recording: Reading, tmp_path: Path) -> None:
    def value(name: str, text: str) -> object:
        if name == "stretches":
            return [tuple(map(int, stretch.split("-"))) for stretch in text.split()]
        return {"True": True, "False": False}.get(text, int(text) if text.lstrip("-").isdecimal() else text)

    rows = list(csv.DictReader(io.StringIO(exported(recording, "csv", tmp_path), newline="")))
    read = []
    for row in rows:
        assert row.pop("recording") == 'a "quoted", name'
        assert float(row["start_s"]) == int(row["start_tick"]) / 100
        known = {name: value(name, text) for name, text in row.items() if text}
        read.append(convert({"end_tick": None, **known}, TurnEvent))
    assert read == recording.turn_events


def test_every_format_marks_what_is_left_out(tmp_path: Path) -> None:
    spans = [{"start_tick": 0, "end_tick": 100, "by": "--from"}, {"start_tick": 300, "end_tick": 450, "by": "column x"}]
    recording = drawn_recording(tmp_path / "call", "A 1.5-2.5 5-6 | B 6.5-8", left_out=spans)
    told = [(0.0, 1.0, "left out by --from"), (3.0, 4.5, "left out by column x")]
    tier = parsed_textgrid(exported(recording, "textgrid", tmp_path))["left out"]
    assert [(float(start), float(end), text) for start, end, text in tier if text] == told
    tracks = [line.split("\t") for line in exported(recording, "audacity", tmp_path).splitlines()]
    assert [(float(start), float(end), text) for start, end, text in tracks if "left out" in text] == told
    rows = csv.DictReader(io.StringIO(exported(recording, "csv", tmp_path), newline=""))
    found = [(float(row["start_s"]), float(row["end_s"]), row["side"]) for row in rows if row["kind"] == "left_out"]
    assert found == [(start, end, "") for start, end, _ in told]
    rttm, uem = export([recording], "rttm", tmp_path)
    assert (rttm.name, uem.name) == ("call.rttm", "call.uem")
    end_s = recording.n_ticks / 100
    kept = [("call", channel, *span) for channel in "12" for span in ((1.0, 3.0), (4.5, end_s))]
    lines = [line.split() for line in uem.read_text().splitlines()]
    assert [(name, channel, float(start), float(end)) for name, channel, start, end in lines] == kept


@pytest.mark.parametrize("fmt", ["rttm", "textgrid", "audacity", "csv"])
def test_labels_read_back_say_nothing_of_what_is_left_out(fmt: str, tmp_path: Path) -> None:
    spans = [{"start_tick": 0, "end_tick": 100, "by": "--from"}]
    (first, *_) = export([drawn_recording(tmp_path / "call", "A 1.5-2.5 | B 3-4", left_out=spans)], fmt, tmp_path)
    read_labels(first, oddities := Oddities())
    assert oddities.found == {}


def test_json_is_the_document(recording: Reading, tmp_path: Path) -> None:
    assert json.loads(exported(recording, "json", tmp_path)) == json.loads(
        json.dumps(document(recording, score(recording)))
    )


def test_files_lie_beside_their_recording_unless_told_otherwise(tmp_path: Path) -> None:
    recordings = [drawn_recording(tmp_path / name, "A 0-2 | B 2.5-4") for name in ("one", "two")]
    assert export(recordings, "rttm") == [tmp_path / "one" / "one.rttm", tmp_path / "two" / "two.rttm"]


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"rttm, textgrid, audacity, csv, json.*'xml'"):
        export([], "xml")


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(RecordingError, match=r"taken.*cannot be written"):
        export([drawn_recording(tmp_path / "call", "A 0-2 |")], "rttm", tmp_path / "taken")


SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of the same two calls of 14 s."""
    folder = tmp_path_factory.mktemp("runs")
    pcm, rate_hz = soundfile.read(SAMPLE, dtype="int16")
    (folder / "calls").mkdir()
    for number, start_s in enumerate((0, 20)):
        soundfile.write(folder / "calls" / f"{number}.wav", pcm[start_s * rate_hz : (start_s + 14) * rate_hz], rate_hz)
    found = [folder / "v1", folder / "v2"]
    for run in found:
        done("replay", folder / "calls", "--vad", "energy", "--quiet", "--out", run)
    return found


def heard(run: Path) -> str:
    """The hash of the audio of a run, by its meta.json."""
    metas = [json.loads(path.read_text()) for path in run.glob("*/meta.json")]
    sha256s = sorted(file["sha256"] for meta in metas for file in meta["source"]["files"])
    return hashlib.sha256("\n".join(sha256s).encode()).hexdigest()[:12]


def told(text: str, name: str) -> list[str]:
    """What is said under a name, on a page or in a comment of LaTeX."""
    on_page = re.findall(rf"<dt>{name}</dt><dd><code>(.*?)</code>", text)
    return [*map(unescape, on_page), *re.findall(rf"^% {name}: (.*)$", text, re.MULTILINE)]


def test_a_trend_says_its_command_and_what_each_run_rests_on(runs: list[Path]) -> None:
    done("report", *runs)
    page = (runs[1] / "trend.html").read_text()
    assert told(page, "command") == [f"fdbcore report {runs[0]} {runs[1]}"]
    assert [re.fullmatch(r"20\d\d-\d\d-\d\d", date) is not None for date in told(page, "date")] == [True]
    for run in runs:
        of_run = page.partition(f"<h3>{run}</h3>")[2]
        assert told(of_run, "audio")[0] == f"2 files, SHA-256 {heard(run)}"
        assert told(of_run, "detector")[0] == "energy 2"
        assert "min_silence_ms=200" in told(of_run, "settings")[0]


def test_tables_for_a_paper_say_it_in_a_comment(runs: list[Path], tmp_path: Path) -> None:
    done("report", runs[1], "--baseline", runs[0], "--figures", tmp_path / "paper", "--quiet")
    for name in ("table.tex", "differences.tex"):
        tex = (tmp_path / "paper" / name).read_text()
        assert told(tex, "command")[0].startswith(f"fdbcore report {runs[1]} --baseline")
        assert told(tex, "run audio")
        assert told(tex, "baseline audio")
        assert {line[0] for line in tex.partition("\\begin")[0].splitlines()} == {"%"}


def test_a_scorecard_says_it_with_the_hash_of_its_scores(tmp_path: Path) -> None:
    done("score", "--suite", "dialogue-acts", "--out", tmp_path / "ACTS", "--quiet")
    expected = hashlib.sha256((tmp_path / "ACTS" / "scores.json").read_bytes()).hexdigest()
    for name in ("report.html", "table.tex"):
        text = (tmp_path / "ACTS" / name).read_text()
        assert told(text, "command") == [f"fdbcore score --suite dialogue-acts --out {tmp_path / 'ACTS'} --quiet"]
        assert told(text, "scores.json") == [f"SHA-256 {expected}"]


def test_no_secret_of_the_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-4711-abcdef")
    known = secret("SOME_API_KEY")
    typed = ["run", "--system", "pcm_ws://u:pw12345678@h/?token=abc1234567", "--api-key", "zzz12345", f"b={known}"]
    command = of_making(typed, {})[""]["command"]
    assert not [hidden for hidden in ("pw12345678", "abc1234567", "zzz12345", known) if hidden in command]
    assert command.startswith("fdbcore run --system")
