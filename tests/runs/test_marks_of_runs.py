"""Agents' logs of many calls: joined by name, kept in each recording, pooled; what fits nothing is named."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command
from helpers.logged import exchanges, log_of, save
from helpers.voices import voices, write

from fdbcore.recording.files import MARKS, META, read_json
from fdbcore.recording.places import located
from fdbcore.recording.run import read_corpus

CALLS = ("one", "two", "three")


def replay(*arguments: object, code: int | None = None) -> Result:
    return command("replay", "--vad", "energy", "--jobs", "1", *arguments, code=code)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three calls of 8 answers, each with its log in `logs`, and the log of a fourth there."""
    top, rng = tmp_path_factory.mktemp("logged"), np.random.default_rng(1)
    for name in CALLS:
        drawing, found = exchanges(rng, 8)
        (top / "calls").mkdir(exist_ok=True)
        write(top / "calls" / f"{name}.wav", voices(drawing))
        save(top / "logs" / f"{name}.marks.jsonl", log_of(rng, found, jitter_s=0.005))
    save(top / "logs" / "fourth.jsonl", log_of(rng, exchanges(rng, 8)[1]))
    return top


def test_a_folder_of_logs_is_joined_by_name_and_kept_in_each_recording(calls: Path, tmp_path: Path) -> None:
    result = replay(calls / "calls", "--agent-log", calls / "logs", "--out", tmp_path, code=0)
    assert f"logs in {calls / 'logs'} that fit no call: 1: {calls / 'logs' / 'fourth.jsonl'}" in result.stderr
    flat = " ".join(result.stdout.split())
    assert "agents' logs 24 answers of 3 calls split at their events" in flat
    assert "stage median p90 n missing A's end to speech final 2" in flat
    for name in CALLS:
        kept = read_json(tmp_path / name / MARKS)
        assert located(tmp_path / name, kept["source"]) == calls / "logs" / f"{name}.marks.jsonl"
        assert len(kept["answers"]) == 8
    with open(tmp_path / "stages.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["call"] for row in rows] == [name for name in sorted(CALLS) for _ in range(8)]
    stages = [name for name in rows[0] if "_to_" in name]
    assert stages[0] == "a_end_to_speech_final_ms"
    for row in rows:
        assert sum(float(row[name]) for name in stages) == pytest.approx(float(row["answer_ms"]), abs=1e-6)
    page = (tmp_path / "index.html").read_text()
    assert "Where the response latency goes" in page
    assert "24 answers of 3 calls" in page
    assert '<a href="#moments=stage_first_token_to_first_audio">24</a>' in page
    behind = (tmp_path / "pages" / "stage_first_token_to_first_audio.js").read_text()
    assert sum(len(json.loads(line.rstrip(","))[1]) for line in behind.splitlines() if line.startswith("[")) == 24
    assert "agents' logs" in command("report", tmp_path).stdout


def test_logs_come_to_calls_that_are_kept_and_change_with_their_files(calls: Path, tmp_path: Path) -> None:
    run, logs = tmp_path / "run", tmp_path / "logs"
    assert "agents' logs" not in replay(calls / "calls", "--out", run).stdout
    assert not (run / "stages.csv").exists()
    made = {name: (run / name / META).stat().st_mtime_ns for name in CALLS}
    for name in CALLS:
        (save(logs / f"{name}.jsonl", [])).write_bytes((calls / "logs" / f"{name}.marks.jsonl").read_bytes())
    assert "24 answers of 3 calls" in replay(calls / "calls", "--agent-log", logs / "*.jsonl", "--out", run).stdout
    laid = {name: (run / name / MARKS).stat().st_mtime_ns for name in CALLS}
    (logs / "two.jsonl").write_bytes((logs / "one.jsonl").read_bytes())
    result = replay(calls / "calls", "--agent-log", logs, "--out", run, code=0)
    flat = " ".join(result.stdout.split())
    assert "16 answers of 2 calls" in flat
    assert "!! two: no stage times: its clock cannot be found" in flat
    assert "No stage times for 1 call" in (run / "index.html").read_text()
    assert {name: (run / name / META).stat().st_mtime_ns for name in CALLS} == made
    again = {name for name in CALLS if (run / name / MARKS).stat().st_mtime_ns != laid[name]}
    assert again == {"two"}


def test_a_column_of_the_table_names_logs(calls: Path, tmp_path: Path) -> None:
    table = tmp_path / "meta.csv"
    logs = [calls / "logs" / "one.marks.jsonl", "missing.jsonl", ""]
    rows = [f"{name}.wav,{log},v1" for name, log in zip(CALLS, logs, strict=True)]
    table.write_text("\n".join(["file,agent_log_file,version", *rows]))
    result = replay(calls / "calls", "--meta", table, "--out", tmp_path / "run", code=0)
    flat = " ".join(result.stdout.split())
    assert "8 answers of 1 call" in flat
    assert "two: no stage times: missing.jsonl: cannot be read: No such file" in flat
    assert all(call["columns"] == {"version": "v1"} for call in read_corpus(tmp_path / "run")["calls"])
    both = replay(calls / "calls", "--meta", table, "--agent-log", calls / "logs", "--out", tmp_path / "run")
    assert (both.exit_code, "give --agent-log, or the column agent_log_file of --meta, not both" in both.stderr) == (
        2,
        True,
    )


def test_columns_of_the_table_say_the_clock_and_the_session_of_each_log(calls: Path, tmp_path: Path) -> None:
    """One log of all calls, whose clock shows 1,000 s as each recording begins; two answers are logged of each."""
    logs = {name: (calls / "logs" / f"{name}.marks.jsonl").read_text().splitlines() for name in CALLS}
    of_all = [json.loads(line) | {"call_id": name} for name in CALLS for line in logs[name][-10:]]
    (tmp_path / "all.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in of_all))
    table = tmp_path / "meta.csv"
    began = ["-1000000,", ",1970-01-01T00:16:40.001Z", "soon,"]
    rows = [f"{name}.wav,all.jsonl,{name},{began}" for name, began in zip(CALLS, began, strict=True)]
    table.write_text("\n".join(["file,agent_log_file,agent_log_session,Marks_offset_ms,agent_log_started_at", *rows]))
    result = replay(calls / "calls", "--meta", table, "--out", tmp_path / "run", code=0)
    kept = {name: read_json(tmp_path / "run" / name / MARKS) for name in CALLS}
    assert [kept[name]["given_offset_ms"] for name in CALLS] == [-1_000_000, pytest.approx(-1_000_001), None]
    assert [kept[name]["given_session"] for name in CALLS] == list(CALLS)
    assert [len(kept[name]["marks"]) + kept[name]["outside"] for name in CALLS] == [10, 10, 0]
    assert [sum("playback" in a["events_ms"] for a in kept[name]["answers"]) for name in CALLS] == [2, 2, 0]
    noted = (
        "agent_log_offset_ms or agent_log_started_at that cannot be read, so the clock is looked for: 1: three: 'soon'"
    )
    assert noted in " ".join(result.stderr.split())
    assert "can fit only 2 starts of B's turns" in " ".join(result.stdout.split())
    table.write_text(table.read_text().replace("soon,", ",1970-01-01T00:16:40Z"))
    result = replay(calls / "calls", "--meta", table, "--out", tmp_path / "run")
    assert (
        "agent_log_started_at in whole seconds, so the outer stages may be wrong by as much: 1: three" in result.stderr
    )
    assert read_json(tmp_path / "run" / "three" / MARKS)["given_offset_ms"] == -1_000_000


def test_logs_that_cannot_be_joined_are_wrong_arguments(calls: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "run")
    none = replay(calls / "calls", "--agent-log", calls / "logs" / "fourth.jsonl", *out, code=2)
    assert (
        "expected logs of the calls to replay, such as one.jsonl; got only others, such as fourth.jsonl" in none.stderr
    )
    twice = tmp_path / "twice"
    for name in ("one.jsonl", "one.json"):
        save(twice / name, log_of(np.random.default_rng(1), exchanges(np.random.default_rng(1))[1]))
    assert (
        "expected one log of the call one, got " in replay(calls / "calls", "--agent-log", twice, *out, code=2).stderr
    )
    assert "got 3 .wav" in replay(calls / "calls", "--agent-log", calls / "calls", *out, code=2).stderr
    pattern = replay(calls / "calls", "--agent-log", tmp_path / "*.jsonl", *out)
    assert (pattern.exit_code, "expected a pattern of logs, got one that matches none" in pattern.stderr) == (2, True)
    for name in ("monday", "tuesday"):
        (tmp_path / "days" / name).mkdir(parents=True)
        (tmp_path / "days" / name / "one.wav").symlink_to(calls / "calls" / "one.wav")
    fits_two = replay(tmp_path / "days", "--agent-log", calls / "logs" / "one.marks.jsonl", *out)
    assert (fits_two.exit_code, "fits 2 of the calls" in fits_two.stderr) == (2, True)
    days = tmp_path / "logs_of_days"
    for name in ("monday", "tuesday"):
        save(days / name / "one.jsonl", []).write_bytes((calls / "logs" / "one.marks.jsonl").read_bytes())
    by_day = replay(tmp_path / "days", "--agent-log", days, "--json", *out)
    assert [len(each["marks"]["answers"]) for each in json.loads(by_day.stdout)["sessions"]] == [8, 8]


def test_a_replay_without_logs_keeps_those_of_all_calls(calls: Path, tmp_path: Path) -> None:
    run, audio = tmp_path / "run", tmp_path / "audio"
    audio.mkdir()
    for name in CALLS:
        (audio / f"{name}.wav").write_bytes((calls / "calls" / f"{name}.wav").read_bytes())
    replay(audio, "--agent-log", calls / "logs", "--out", run)
    (audio / "two.wav").write_bytes((calls / "calls" / "three.wav").read_bytes())
    result = replay(audio, "--set", "lapse_ms=2900", "--out", run)
    flat = " ".join(result.stdout.split())
    assert "16 answers of 2 calls" in flat
    assert "!! two: no stage times: its clock cannot be found" in flat
    (audio / "two.wav").write_bytes((calls / "calls" / "two.wav").read_bytes())
    assert "24 answers of 3 calls" in " ".join(replay(audio, "--out", run).stdout.split())


def test_a_log_that_only_left_out_spans_refuse_comes_back_with_them(calls: Path, tmp_path: Path) -> None:
    file, log = calls / "calls" / "one.wav", calls / "logs" / "one.marks.jsonl"
    part, whole = tmp_path / "part", tmp_path / "whole"
    assert replay(file, "--agent-log", log, "--to", "0:05", "--out", part).exit_code == 1
    assert read_json(part / "one" / MARKS)["refused"]
    assert replay(part, "--from", "0", "--out", whole).exit_code == 0
    assert len(read_json(whole / "one" / MARKS)["answers"]) == 8
    assert replay(file, "--from", "0", "--out", part).exit_code == 0
    assert len(read_json(part / "one" / MARKS)["answers"]) == 8
