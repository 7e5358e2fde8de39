"""An agent's log on the timeline: the offset of its clock, what it leaves open, and latencies split at its marks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from helpers.drawn import dialogue
from helpers.planted import Planted, planted_run
from helpers.voices import voices, write

from fdbcore.cli.main import main
from fdbcore.errors import InputError
from fdbcore.measures.agent_log import Offset, align_marks, estimate_offset
from fdbcore.measures.dialogue import Dialogue
from fdbcore.recording.files import MARKS, REPORT, read_json
from fdbcore.recording.reader import Recording
from fdbcore.sources.agent_logs import Mark

CLOCK_S = 1_700_000_000.25
STAGES = ["A's end to endpoint", "endpoint to model", "model to audio_out", "audio_out to B's onset"]


def conversation(rng: np.random.Generator, turns: int = 12) -> tuple[Dialogue, list[tuple[float, float]]]:
    """Drawn turns, and the end of each turn of A with B's onset after it."""
    a, b, pairs, now = "A", "| B", [], 0.5
    for _ in range(turns):
        end = round(now + rng.uniform(1.5, 4), 2)
        onset = round(end + rng.uniform(0.5, 1.5), 2)
        done = round(onset + rng.uniform(1.5, 6), 2)
        a, b, now = f"{a} {now:g}-{end:g}", f"{b} {onset:g}-{done:g}", round(done + rng.uniform(0.4, 1.5), 2)
        pairs.append((end, onset))
    return dialogue(f"{a} {b}"), pairs


def log(
    rng: np.random.Generator, pairs: Sequence[tuple[float, float]], transport_s: float = 0.05, jitter_s: float = 0.01
) -> list[Mark]:
    """An agent's marks on its own clock; it writes down, too, when it has heard A, and when it has played out."""
    marks = []
    for end, onset in pairs:
        out = onset - transport_s - rng.exponential(jitter_s)
        endpoint = end + 0.2
        times = {"endpoint": endpoint, "model": (endpoint + out) / 2, "audio_out": out}
        times |= {"user_heard": end - rng.uniform(1, 3), "played": onset + rng.uniform(0.6, 1.4)}
        marks += [Mark(time - CLOCK_S, name) for name, time in times.items()]
    return sorted(marks)


def test_the_offset_is_the_clocks_and_the_constant_way() -> None:
    """Its interval holds the median way of the sound in at least 95 % of all logs."""
    rng, held = np.random.default_rng(1), 0
    studies = 60
    for _ in range(studies):
        talk, pairs = conversation(rng)
        offset = estimate_offset(log(rng, pairs), talk)
        assert (offset.anchor, offset.matched, offset.onsets) == ("audio_out", 12, 12)
        assert offset.low_s is not None
        assert offset.high_s is not None
        held += offset.low_s <= CLOCK_S + 0.05 + 0.01 * np.log(2) <= offset.high_s
        assert offset.high_s - offset.low_s < 0.04
    assert held / studies > 0.88  # 95 % less what 60 studies may miss by


def test_missing_and_additional_marks_do_not_move_it() -> None:
    rng = np.random.default_rng(2)
    talk, pairs = conversation(rng, 14)
    marks = log(rng, pairs[:3] + pairs[5:])
    marks += [Mark(mark.time_s + 3.21, "audio_out") for mark in marks[::9]]
    offset = estimate_offset(sorted(marks), talk)
    assert offset.matched in (11, 12, 13)
    assert offset.offset_s == pytest.approx(CLOCK_S + 0.057, abs=0.02)


def test_what_cannot_be_told_is_refused() -> None:
    rng = np.random.default_rng(3)
    regular = " ".join(f"{6 * k:g}-{6 * k + 2:g}" for k in range(10))
    answers = " ".join(f"{6 * k + 3:g}-{6 * k + 5:g}" for k in range(10))
    every_six_s = [Mark(6.0 * k, "audio_out") for k in range(10)]
    with pytest.raises(
        InputError, match=r"audio_out: 10 fit one offset, but 9 fit another \(set it with --marks-offset-ms\)"
    ):
        estimate_offset(every_six_s, dialogue(f"A {regular} | B {answers}"))
    talk, pairs = conversation(rng, 4)
    with pytest.raises(InputError, match="at best 4 of 4 fit, but 6 are needed"):
        estimate_offset(log(rng, pairs), talk)
    talk, _ = conversation(rng, 14)
    foreign = [Mark(float(time), "audio_out") for time in np.sort(rng.uniform(0, 100, 14))]
    with pytest.raises(InputError, match=r"at best \d of 1\d fit"):
        estimate_offset(foreign, talk)
    with pytest.raises(InputError, match="B never takes the floor"):
        estimate_offset(foreign, dialogue("A 0-3 |"))


def test_what_varies_as_latencies_do_is_no_anchor() -> None:
    """A mark a constant time after A's end, and answers that come 0.6 to 1 s after it."""
    rng, refused = np.random.default_rng(6), 0
    for _ in range(40):
        ends = np.cumsum(rng.uniform(5, 9, 15)).round(2)
        onsets = (ends + rng.uniform(0.6, 1.0, 15)).round(2)
        a, b = (" ".join(f"{t + d:g}-{t + e:g}" for t in of) for of, d, e in ((ends, -2, 0), (onsets, 0, 2)))
        try:
            estimate_offset([Mark(float(end) + 0.1, "endpoint") for end in ends], dialogue(f"A {a} | B {b}"))
        except InputError as error:
            refused += "fit, but 9 are needed" in str(error)
    assert refused >= 35


def test_of_marks_that_repeat_the_first_counts() -> None:
    rng = np.random.default_rng(7)
    talk, pairs = conversation(rng)
    marks = [Mark(end + 0.25, "endpoint") for end, _ in pairs]
    marks += [Mark(onset - 0.12 + 0.02 * k, "frame") for _, onset in pairs for k in range(60)]
    offset = estimate_offset(sorted(marks), talk)
    assert offset.anchor == "frame"
    assert offset.offset_s == pytest.approx(0.12, abs=1e-6)
    laid = align_marks(sorted(marks), talk, Offset(0.0))
    assert laid["stages"] == ["A's end to endpoint", "endpoint to frame", "frame to B's onset"]
    assert laid["medians_ms"][2] == pytest.approx(120)
    assert laid["counts"] == [12, 12, 12]


def test_a_log_in_another_unit_is_told_so() -> None:
    talk, pairs = conversation(np.random.default_rng(8))
    marks = [Mark(1000 * onset, "audio_out") for _, onset in pairs]
    with pytest.raises(InputError, match=r"its times span [\d,]+, the recording \d+ s: times are expected in seconds"):
        estimate_offset(marks, talk)


def test_stages_sum_to_the_latency_and_are_the_logs_own_names() -> None:
    rng = np.random.default_rng(4)
    talk, pairs = conversation(rng)
    laid = align_marks(log(rng, pairs, jitter_s=1e-6), talk, Offset(CLOCK_S))
    assert laid["stages"] == STAGES
    assert [response["a_end_s"] for response in laid["responses"]] == [end for end, _ in pairs]
    for response, (end, onset) in zip(laid["responses"], pairs, strict=True):
        assert response["latency_ms"] == pytest.approx(1000 * (onset - end))
        assert sum(ms or 0 for ms in response["stages_ms"]) == pytest.approx(response["latency_ms"], abs=0.3)
        assert response["stages_ms"][0] == pytest.approx(200, abs=0.1)
        assert response["stages_ms"][3] == pytest.approx(50, abs=0.2)
    assert laid["medians_ms"][0] == pytest.approx(200, abs=0.1)
    assert laid["counts"] == [12] * 4
    assert len(laid["marks"]) + laid["outside"] == 60


def test_a_response_without_a_mark_lacks_its_stages_only() -> None:
    rng = np.random.default_rng(5)
    talk, pairs = conversation(rng)
    marks = [mark for mark in log(rng, pairs) if not (mark.name == "model" and mark.time_s + CLOCK_S < pairs[0][1])]
    laid = align_marks(marks, talk, Offset(CLOCK_S))
    assert [ms is None for ms in laid["responses"][0]["stages_ms"]] == [False, True, True, False]
    assert laid["counts"] == [12, 11, 11, 12]


def save(path: Path, marks: Sequence[Mark]) -> Path:
    path.write_text("".join(json.dumps({"time": m.time_s, "name": m.name, "more": 1}) + "\n" for m in reversed(marks)))
    return path


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)


def test_the_report_of_a_call_shows_its_log(tmp_path: Path) -> None:
    planted_run(tmp_path / "run", Planted(2, 0.0, 1, turns=12))
    recording = Recording(tmp_path / "run" / "call0001")
    transfers = [e for e in recording.turn_events if e.kind == "gap" and e.side == "B"]
    pairs = [(e.start_tick / 100, (e.end_tick or 0) / 100) for e in transfers]
    path = save(tmp_path / "log.jsonl", log(np.random.default_rng(6), pairs))
    result = command("report", tmp_path / "run", "--call", "call0001", "--marks", path, "--no-audio")
    assert result.exit_code == 0
    flat = " ".join(result.stdout.split())
    assert "agent's log offset +1,700,000,000,3" in flat
    assert "by audio_out at 12 of 12 onsets of B" in flat
    assert "a constant delay between audio_out and B's onset counts as a difference of the clocks" in flat
    page = (recording.path / REPORT).read_text()
    assert '<h2 id="marks-title">The agent\'s log</h2>' in page
    assert all(stage in page for stage in STAGES)
    assert read_json(recording.path / MARKS)["offset"]["anchor"] == "audio_out"
    on_a_wall_clock = [Mark(mark.time_s + 2 * CLOCK_S, mark.name) for mark in log(np.random.default_rng(6), pairs)]
    dated = command(
        "report", tmp_path / "run", "--call", "call0001", "--marks", save(path, on_a_wall_clock), "--no-audio"
    )
    # The marks lie 0.05 s and some ms before the sound, so the clock seems to be as much early.
    assert "offset 0:00 is 2023-11-14 22:13:20.1" in " ".join(dated.stdout.split())
    save(path, log(np.random.default_rng(6), pairs))
    given = command(
        "report", tmp_path / "run", "--call", "call0001", "--marks", path, "--marks-offset-ms", "5", "--no-audio"
    )
    assert "offset +5 ms, as given" in given.stdout
    assert "60 marks lie beyond the recording" in " ".join(given.stdout.split())


def test_a_replayed_file_takes_a_log_and_a_log_that_fits_nowhere_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    spans, answers, now = "A", "B", 0.5
    pairs = []
    for _ in range(7):
        end, onset = round(now + rng.uniform(1, 2), 2), 0.0
        onset = round(end + rng.uniform(0.4, 1.2), 2)
        done = round(onset + rng.uniform(1.2, 2), 2)
        spans, answers, now = f"{spans} {now}-{end}", f"{answers} {onset}-{done}", round(done + 0.5, 2)
        pairs.append((end, onset))
    call = write(tmp_path / "call.wav", voices(f"{spans} | {answers}"))
    shared = ("replay", "--vad", "energy", "--out", tmp_path / "run", call)
    result = command(*shared, "--marks", save(tmp_path / "log.jsonl", log(rng, pairs)), "--json")
    assert result.exit_code == 0
    marks = json.loads(result.stdout)["marks"]
    assert marks["offset"]["offset_s"] == pytest.approx(CLOCK_S + 0.057, abs=0.03)
    assert marks["stages"] == STAGES
    lonely = save(tmp_path / "other.jsonl", [Mark(1.0, "audio_out")])
    refused = command(*shared, "--marks", lonely)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "the offset of the log cannot be estimated from the 7 onsets of B" in refused.stderr
    assert (tmp_path / "run" / "call" / REPORT).is_file()
    assert not (tmp_path / "run" / "call" / MARKS).exists()
    assert command(*shared, "--marks-offset-ms", "3").exit_code == 2
    assert command(*shared, "--marks", lonely, "--marks-offset-ms", "nan").exit_code == 2
    for text in ("", "no log\n"):
        (tmp_path / "broken.jsonl").write_text(text)
        broken = command(*shared, "--marks", tmp_path / "broken.jsonl")
        assert broken.exit_code == 2
        assert f"{tmp_path / 'broken.jsonl'}: " in broken.stderr
    assert command(*shared, call, "--marks", lonely).exit_code == 2
    assert command("report", tmp_path / "run", "--marks", lonely).exit_code == 2
