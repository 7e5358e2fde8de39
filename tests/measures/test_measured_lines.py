"""The line of a side among those that were measured: placing against plain loops, and made calls through the CLI."""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from fakes.recordings import META, drawn_recording
from helpers.commands import printed
from helpers.documents import document_of
from helpers.on_lines import clean_dialogue, health_at

from benchmarks.voices import files
from benchmarks.voices.dialogues import Dialogue
from benchmarks.voices.lines import SETS, Line, Material, gate
from fdbcore.measures.health.measured_lines import MeasuredLine, VadTable, measured_lines, place
from fdbcore.measures.placed_lines import line_sentences, placed_lines
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import HEALTH, write_json
from fdbcore.registry import vad
from fdbcore.report.call.health import line_texts
from fdbcore.report.call.screen import screen
from fdbcore.types import SAMPLE_RATE_HZ

LINES: Final = {line.name: line for chosen in SETS.values() for line in chosen}
UNKNOWN: Final = "what it does to edges and answers is not known"


def measured(name: str, at: dict[str, float | None], **errors: float | None) -> MeasuredLine:
    known: dict[str, Any] = {
        "units": 100, "unit_f1": 0.98, "edges_within_ms": 20.0, "start_ms": 0.0, "end_ms": 3.0, "turn_start_ms": 1.0,
        "turn_end_ms": 5.0, "premature_points": None,
    }  # fmt: skip
    return MeasuredLine(name=name, what=name, place=at, **(known | errors))


def test_the_nearest_line_is_that_of_plain_loops() -> None:
    rng = np.random.default_rng(0)
    varies = {"snr_db": 1.5, "after_db": 2.0, "fall_ms": 18.0}
    for _ in range(200):
        places = [
            {name: None if rng.random() < 0.2 else float(rng.normal() * 5 * unit) for name, unit in varies.items()}
            for _ in range(6)
        ]
        to, *others = places
        table = VadTable("1", varies, 2.0, [measured(str(number), at) for number, at in enumerate(others)])
        apart = []
        for other in others:
            sum_of_squares, counted = 0.0, 0
            for name, unit in varies.items():
                a, b = to[name], other[name]
                if a is None and b is None:
                    continue
                counted += 1
                sum_of_squares += 4.0 if a is None or b is None else ((a - b) / unit) ** 2
            apart.append(math.sqrt(sum_of_squares / counted) if counted else math.inf)
        nearest, distance = table.nearest(to, None)
        assert distance == pytest.approx(min(apart))
        assert apart[int(nearest.name)] == min(apart)


def test_the_shipped_table_is_of_the_detectors_of_today() -> None:
    """Where this fails, a detector has another version: `python -m benchmarks voices` measures the table anew."""
    for name, table in measured_lines().items():
        assert table.version == vad(name)(source_rate_hz=SAMPLE_RATE_HZ).describe()["version"]
        assert {"clean", "comfort -55", "room 500 ms", "mu-law 8 kHz", "babble 10 dB"} <= {x.name for x in table.lines}
        assert 1 < table.like_within < 10
        for line in table.lines:
            assert line.place.keys() == table.varies.keys()
            assert table.nearest(line.place, line.place["fall_ms"], ["reverberation"] if line.is_room else [])[1] == 0
    assert set(measured_lines()) == {"silero", "energy"}


@pytest.fixture(scope="module")
def clean() -> Dialogue:
    return clean_dialogue()


def replayed(path: Path, out: Path, detector: str = "silero") -> dict[str, Any]:
    document: dict[str, Any] = printed("replay", path, "--vad", detector, "--out", out)
    return document


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (
            "clean",
            ("clean", "gain", "speech", "floor", "clicks", "crosstalk", "MP3", "Opus", "comfort -7", "comfort -6"),
        ),
        ("comfort -50", ("comfort -5", "comfort -4")),
        ("mu-law 8 kHz", ("mu-law", "A-law", "GSM")),
        ("room 800 ms", ("room",)),
        ("white 10 dB", ("white", "pink")),
    ],
)
def test_a_made_call_is_placed_on_its_line(clean: Dialogue, tmp_path: Path, name: str, kinds: tuple[str, ...]) -> None:
    line: Line = LINES[name]
    path = tmp_path / f"call{files.suffix(line.encoding)}"
    files.write(path, line.audio(clean, Material({}, []), 1), line.encoding)
    lines = replayed(path, tmp_path / "run")["lines"]
    for side in "A" if name.startswith("room") else "AB":  # the other synthetic voice is like music in a room
        assert lines[side]["status"] == "like"
        assert lines[side]["like"]["name"].startswith(kinds), lines[side]["like"]["name"]
        other = lines["B" if side == "A" else "A"]["like"]
        if other is None:
            continue
        assert lines[side]["answers_ms"] == pytest.approx(lines[side]["like"]["turn_start_ms"] - other["turn_end_ms"])


def test_a_line_unlike_all_and_a_detector_that_was_not_measured_are_said_to_be_so(
    clean: Dialogue, tmp_path: Path
) -> None:
    """A gate that lets loud noise through after the words of B: nothing like it was measured."""
    loud = gate(-30, 300).audio(clean, Material({}, []), 1)
    path = tmp_path / "call.wav"
    files.write(path, np.stack([clean.pcm[:, 0], loud[:, 1]], axis=1), "s16")
    lines = replayed(path, tmp_path / "run")["lines"]
    assert lines["B"]["status"] == "unlike"
    assert lines["B"]["text"] == f"no measured channel is like this one: {UNKNOWN}"
    assert lines["A"]["answers_ms"] is None
    assert "answers" not in lines["A"]["text"]

    pytest.importorskip("webrtcvad")
    lines = replayed(path, tmp_path / "other", "webrtc")["lines"]
    assert lines["A"]["status"] == "not measured"
    assert lines["A"]["text"].startswith("nothing was measured for webrtc ")


def test_a_line_is_one_that_has_what_input_health_found(tmp_path: Path) -> None:
    """Music, and reverberation, tell more of a line than its figures; a tone is in no line that was measured."""
    (clean, *_) = measured_lines()["silero"].lines
    recording = drawn_recording(tmp_path / "call", "A 0-2 5-6 | B 2.4-4")
    told = []
    found_with: dict[str, dict[str, float]] = {"music": {}, "tone": {}, "noise": {}, "noise, hum": {"hum_hz": 50.0}}
    for found, figures in found_with.items():
        found_id = found.partition(",")[0]
        of_a = {"id": found_id, "side": "A", "severity": "warn", "text": "", "means": "", "spans": []}
        write_json(recording.path / HEALTH, health_at(clean, clean) | {"findings": [of_a | {"figures": figures}]})
        placed = placed_lines(Reading(recording.path))
        assert placed is not None
        assert placed["A"] is not None
        assert placed["B"] is not None
        assert placed["B"].status == "like"
        told.append(placed["A"].status)
    assert told == ["unlike", "unlike", "like", "unlike"]


@pytest.mark.parametrize(
    ("own", "tail_ms", "may_be_like"),
    [("room 300 ms", 40.0, ("room",)), ("clean", 90.0, ("clean", "gain", "speech", "floor", "MP3", "Opus", "clicks"))],
)
def test_a_room_is_named_by_what_a_room_does_to_each_sound(
    tmp_path: Path, own: str, tail_ms: float, may_be_like: tuple[str, ...]
) -> None:
    """A side may lie on a line in all that places it, and have sounds that die away as none does there."""
    line = next(line for line in measured_lines()["silero"].lines if line.name == own)
    recording = drawn_recording(tmp_path / "call", "A 0-2 5-6 | B 2.4-4")
    health = health_at(line, line)
    for tail, is_like in ((health["sides"]["A"]["tail_ms"], True), (tail_ms, False)):
        health["sides"]["A"]["tail_ms"] = tail
        write_json(recording.path / HEALTH, health)
        placed = placed_lines(Reading(recording.path))
        assert placed is not None
        assert placed["A"] is not None
        like = placed["A"].like
        assert (like is not None and like.name.startswith(may_be_like)) == is_like
    health["sides"]["A"]["tail_ms"] = 60.0
    write_json(recording.path / HEALTH, health)
    placed = placed_lines(Reading(recording.path))
    assert placed is not None
    assert placed["A"] is not None
    assert placed["A"].text == f"either a room, or a voice that ends slowly: {UNKNOWN}"


def test_a_channel_is_told_where_a_figure_moves_by_more_than_its_rounding(tmp_path: Path) -> None:
    lines = {line.name: line for line in measured_lines()["silero"].lines}
    own, room = lines["clean"], lines["room 800 ms"]
    recording = drawn_recording(tmp_path / "call", "A 0-2 5-6 | B 2.4-4")
    write_json(recording.path / HEALTH, health_at(room, own))
    content = document_of(recording)
    assert own.turn_start_ms is not None
    assert room.turn_end_ms is not None
    early = round(room.turn_end_ms - own.turn_start_ms)
    told = (
        f"on channels like this 9 of 10 edges are within {own.edges_within_ms:.0f} ms, responses read {early} ms early"
    )
    assert dict(line_texts(content))["channel of B"] == told
    assert "channels like this" not in " ".join(screen(recording, content).split())

    both = drawn_recording(tmp_path / "both", "A 0-2 5-6 | B 2.4-4")
    write_json(both.path / HEALTH, health_at(own, own))
    assert [*line_texts(document_of(both))] == [], "answers read 5 ms early: less than a tick"
    assert both.health is not None
    assert place(both.health["sides"]["A"]) == own.place


TELEPHONE: Final[Any] = {
    "id": "telephone",
    "side": "A",
    "severity": "note",
    "text": "A in the telephone band",
    "means": "",
    "figures": {"drop_above_4_khz_db": 60.0},
    "spans": [],
}


def test_a_telephone_call_far_from_all_is_not_accused(tmp_path: Path) -> None:
    """That the commonest background of telephone calls was not measured is no news of one of them."""
    own = next(line for line in measured_lines()["silero"].lines if line.name == "clean")
    health = health_at(own, own)
    health["sides"]["A"] |= {"snr_db": -20.0, "high_drop_db": 40.0, "fall_ms": 300.0}
    for findings, status, shown in (([], "unlike", 1), ([TELEPHONE], "not measured", 0)):
        recording = drawn_recording(tmp_path / status, "A 0-2 5-6 | B 2.4-4")
        write_json(recording.path / HEALTH, {**health, "findings": findings})
        content = document_of(recording)
        assert content["lines"]["A"]["status"] == status
        assert len([*line_texts(content)]) == shown


def test_recordings_of_earlier_versions_are_still_read(tmp_path: Path) -> None:
    """They lack the figures, and state a bias that nobody measured on their line."""
    vad_of = {side: {**META["settings"]["vad"][side], "bias_ms": {"onset": 1.0, "offset": 2.0}} for side in "AB"}
    recording = drawn_recording(tmp_path / "call", "A 0-2 | B 2.4-4", settings={**META["settings"], "vad": vad_of})
    sides = {side: {"speech_s": 2.0, "level_dbov": -26.0, "noise_dbov": -60.0, "snr_db": 34.0} for side in "AB"}
    write_json(
        recording.path / HEALTH,
        {"schema": "fdbcore.health/2", "verdict": "ok", "findings": [], "suspect": {"A": [], "B": []}, "sides": sides},
    )
    assert placed_lines(recording) is None
    assert line_sentences(None) == []
    assert "bias" not in screen(recording, document_of(recording))
