"""Many calls at once, on a corpus whose truth is known: tables and page say what was built; nothing stops the rest."""

import csv
import gc
import json
import multiprocessing
import os
import re
import signal
import tracemalloc
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from helpers.commands import done, started
from helpers.corpus import BUILT, Ran, build, ran, replay
from helpers.patience import PATIENCE_S, wait_until
from helpers.voices import voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import score
from fdbcore.clock import now_ns
from fdbcore.endpoints.replay import ReplayEndpoint
from fdbcore.errors import InputError, RecordingError
from fdbcore.measures.health.examine import HealthProbe
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import ACTIVITY, HEALTH, META, QUANTITIES, SCORES, TURNS, read_json, write_json
from fdbcore.recording.run import DAMAGED, DONE, FAILED, WAITING, read_corpus
from fdbcore.runs.replay import replay_session
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings, kept_recording
from fdbcore.runs.replay_many import ReplayProgress, replay_corpus
from fdbcore.runs.replays import replay as replay_alone
from fdbcore.runtime.executor import Workers
from fdbcore.sources.calls import PlannedCall
from fdbcore.sources.names import Oddities
from fdbcore.sources.sessions import session_inputs

__all__ = ["ran"]

NEAR_MS = 30.0  # of the energy detector, on noise that begins and ends at once


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def embedded(path: Path) -> dict[str, Any]:
    """What the list of calls of an index.html is made of."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found
    values: dict[str, Any] = json.loads(found[1])
    return values


# --- what was built is what the tables and the page say


def test_the_rest_is_done_whatever_fails_and_everything_is_named(ran: Ran) -> None:
    assert ran.result.exit_code == 1
    told = ran.result.stderr
    assert re.search(r"junk.wav: expected audio", told)
    assert re.search(r"broken.wav: cut off: 64000 bytes fewer .*; the readable part is scored", told)
    assert "rows of calls.csv without a file: 1: gone.wav" in told
    assert "files without a row in calls.csv: 2: broken, junk" in told
    known = {call.name: call for call in Run(ran.run).calls}
    assert [name for name, call in known.items() if call.status == DONE] == sorted(BUILT)
    assert (known["broken"].status, known["broken"].unscored) == (DAMAGED, None)
    assert (known["junk"].status, known["junk"].columns) == (FAILED, {})
    assert "junk.wav: expected audio" in str(known["junk"].unscored)
    assert known["slow"].columns == {"language": "de", "agent_channel": "left"}


@pytest.mark.parametrize("name", BUILT)
def test_a_row_of_calls_says_what_was_built(ran: Ran, name: str) -> None:
    built = BUILT[name]
    row = next(row for row in table(ran.run / "calls.csv") if row["name"] == name)
    assert row["file"] == os.path.relpath(ran.calls / f"{name}.wav", ran.run)
    assert row["agent_channel"] == ("left" if built.swapped else "right")
    assert int(row["answered_per_turn_n"]) == built.turns
    assert float(row["answered_per_turn"]) * built.turns == pytest.approx(len(built.latencies_ms))
    assert float(row["premature_per_turn"]) * built.turns == pytest.approx(built.cut_off)
    assert float(row["no_response_per_turn"]) * built.turns == pytest.approx(built.unanswered)
    assert int(row["response_latency_ms_n"]) == len(built.latencies_ms)
    if built.latencies_ms:
        assert float(row["response_latency_ms"]) == pytest.approx(median(built.latencies_ms), abs=NEAR_MS)
    listed = next(call for call in embedded(ran.run / "index.html")["calls"] if call["name"] == name)
    counts = (len(built.latencies_ms), built.cut_off, built.unanswered)
    assert [listed["figures"][at] for at in (0, 2, 3)] == [[count, built.turns] for count in counts]
    assert listed["s"] == pytest.approx(float(row["length_s"]))


def test_events_are_those_of_the_recordings_and_parquet_holds_the_same(ran: Ran) -> None:
    events, calls = table(ran.run / "events.csv"), Run(ran.run).scored
    expected = [(call.name, event) for call in calls for event in call.recording.turn_events]
    assert [(row["call"], row["kind"], row["side"], float(row["start_s"])) for row in events] == [
        (name, event.kind, event.side, event.start_tick / 100) for name, event in expected
    ]
    quick = [row for row in events if (row["call"], row["kind"], row["side"]) == ("quick", "gap", "B")]
    assert [float(row["fto_ms"]) for row in quick] == pytest.approx(BUILT["quick"].latencies_ms, abs=NEAR_MS)
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, rows in (("events", events), ("calls", table(ran.run / "calls.csv"))):
        stored = parquet.read_table(ran.run / f"{name}.parquet").to_pylist()
        for known, row in zip(stored, rows, strict=True):
            told = {key: float(text) if isinstance(known[key], float) else text or None for key, text in row.items()}
            assert known == told


def test_the_page_and_the_summary_pool_what_was_built(ran: Ran) -> None:
    measures = read_json(ran.run / "summary.json")["measures"]
    all_calls = [*BUILT.values(), BUILT["quick"]]  # of the broken one both answers are there
    answered, turns = sum(len(b.latencies_ms) for b in all_calls), sum(b.turns for b in all_calls)
    assert (measures["answered_per_turn"]["count"], measures["answered_per_turn"]["n"]) == (answered, turns)
    assert measures["premature_per_turn"]["count"] == sum(b.cut_off for b in all_calls) == 2
    page = (ran.run / "index.html").read_text()
    links = [f'<a href="#moments=answered_per_turn{part}">{n}</a>' for part, n in (("", answered), (".all", turns))]
    assert f"{links[0]} of {links[1]} opportunities" in page
    assert f"B answered {100 * answered / turns:.1f} % of {turns} opportunities" in page
    histogram = page[page.index("Response latency of each call") :]
    bars = re.findall(r"<title>B: ([\d.]+) to ([\d.]+) s: (\d+) ", histogram[: histogram.index("</figure>")])
    counted = {(float(low), float(high)): int(n) for low, high, n in bars if int(n)}
    rows = table(ran.run / "calls.csv")
    medians_s = [float(row["response_latency_ms"]) / 1000 for row in rows if row["response_latency_ms"]]
    assert sum(counted.values()) == len(medians_s)
    for (low, high), n in counted.items():
        assert sum(low - 1e-9 <= s < high - 1e-9 for s in medians_s) == n


def test_the_worst_moments_of_each_kind_come_first(ran: Ran) -> None:
    page = (ran.run / "index.html").read_text()
    cards = re.findall(r'<b>([^<]+)</b><span class="where"><a href="[^"]+">(\w+) <', page)
    kinds = [(text.rstrip("0123456789. s"), name) for text, name in cards]
    assert ("no response", "mute") in kinds
    assert [name for text, name in kinds if text == "slow response"] == ["slow", "slow"]
    assert {name for text, name in kinds if text.startswith("cut in")} == {"early", "mixed"}
    assert f'data-src="{os.path.relpath(ran.calls, ran.run)}/mute.wav"' in page
    assert not re.search(r"<[^>]+(?:src|href)=\"https?:", page)


def test_audio_is_linked_and_never_copied(ran: Ran, tmp_path: Path) -> None:
    assert not list(ran.run.rglob("*.wav"))
    samples = voices(BUILT["quick"].drawing)
    (tmp_path / "calls" / "v1").mkdir(parents=True)
    for side, name in enumerate(("input.wav", "output.wav")):  # two files, which no browser plays as one
        write(tmp_path / "calls" / "v1" / name, samples[:, side])
    write(tmp_path / "calls" / "other.wav", voices(BUILT["early"].drawing))
    assert replay(tmp_path / "calls", out=tmp_path / "run").exit_code == 0
    assert not list((tmp_path / "run").rglob("*.wav"))


# --- again, after a change, after a kill


def replayed(path: Path) -> dict[str, int]:
    """When the recording of each call was last written."""
    return {meta.parent.name: meta.stat().st_mtime_ns for meta in path.glob(f"*/{META}")}


def test_what_is_done_is_kept_until_its_content_or_the_settings_change(tmp_path: Path) -> None:
    calls, run = build(tmp_path / "calls"), tmp_path / "run"
    assert replay(calls, out=run).exit_code == 0
    first, page = replayed(run), (run / "index.html").read_text()
    assert replay(calls, out=run).exit_code == 0
    assert (replayed(run), (run / "index.html").read_text()) == (first, page)
    stat = (calls / "early.wav").stat()
    write(calls / "early.wav", voices("A 0.5-3 | B 2.2-5", BUILT["early"].tail_s))
    os.utime(calls / "early.wav", ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the same size and time
    (run / "mute" / QUANTITIES).unlink()
    replay(calls, out=run)
    assert {name for name, when in replayed(run).items() if when != first[name]} == {"early", "mute"}
    second = replayed(run)
    replay(calls, "--set", "min_silence_ms=300", out=run)
    assert not set(replayed(run).items()) & set(second.items())


def test_one_call_into_a_run_of_several_goes_the_way_of_several(tmp_path: Path) -> None:
    folder, run = tmp_path / "calls", tmp_path / "run"
    folder.mkdir()
    for name in ("one", "two"):
        write(folder / f"{name}.wav", voices(BUILT["quick"].drawing))
    replay(folder, out=run)
    write(folder / "one.wav", voices(BUILT["slow"].drawing, BUILT["slow"].tail_s))
    (folder / "two.wav").unlink()
    assert "no longer part of the run, kept on disk: 1: two" in replay(folder, out=run, code=0).stderr
    (row,) = table(run / "calls.csv")
    expected = median(BUILT["slow"].latencies_ms)
    assert float(row["response_latency_ms"]) == pytest.approx(expected, abs=NEAR_MS)
    assert {row["call"] for row in table(run / "events.csv")} == {"one"}
    assert [entry["name"] for entry in read_corpus(run)["calls"]] == ["one"]
    assert [call["name"] for call in embedded(run / "index.html")["calls"]] == ["one"]
    log = tmp_path / "log.jsonl"
    log.write_text('{"time": 1.0, "name": "asr"}\n')
    assert "no stage times" in replay(folder, "--agent-log", log, out=run, code=0).stdout
    with pytest.raises(InputError, match="a run with tables"):
        replay_alone(folder / "one.wav", out=run)


def test_a_call_that_is_not_scored_is_named_after_the_table(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    write(tmp_path / "calls" / "full.wav", voices(BUILT["quick"].drawing))
    write(tmp_path / "calls" / "silent.wav", np.zeros((16_000, 2), np.int16))
    result = replay(tmp_path / "calls", out=tmp_path / "run")
    assert "not scored: silent: nothing to measure: both digitally silent" in result.stdout


def test_a_corpus_that_was_moved_is_kept_and_linked_at_its_new_place(tmp_path: Path) -> None:
    calls, run = build(tmp_path / "calls"), tmp_path / "run"
    replay(calls, out=run)
    turns = {path: path.stat().st_mtime_ns for path in run.glob("*/derived/turns.json")}
    calls.rename(tmp_path / "moved")
    replay(tmp_path / "moved", out=run)
    assert {path: path.stat().st_mtime_ns for path in turns} == turns
    assert Reading(run / "quick").meta["source"]["files"][0]["path"] == "../../moved/quick.wav"
    assert 'data-src="../moved/mute.wav"' in (run / "index.html").read_text()


def linked(folder: Path, count: int) -> Path:
    """A folder with so many calls of a minute, which are one."""
    folder.mkdir()
    first = write(folder / "call00.wav", voices("A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9", 50.0))
    for number in range(1, count):
        os.link(first, folder / f"call{number:02}.wav")
    return folder


def wait_for_calls(run: Path, count: int) -> None:
    wait_until(lambda: len(list(run.glob(f"*/{QUANTITIES}"))) >= count)


def test_a_name_that_is_no_text_is_a_call_like_any_other(tmp_path: Path) -> None:
    odd = tmp_path / "calls" / os.fsdecode(b"latin\xe9.wav")
    build(tmp_path / "calls")
    write(odd, voices(BUILT["quick"].drawing))
    (tmp_path / "t.csv").write_text("file,n\nquick,1\n")
    replay(tmp_path / "calls", "--meta", tmp_path / "t.csv", out=tmp_path / "run", code=0)
    calls = {call.name: call for call in Run(tmp_path / "run").calls}
    assert calls["latin%E9"].files == (os.path.relpath(odd, tmp_path / "run"),)
    (listed,) = (call for call in embedded(tmp_path / "run" / "index.html")["calls"] if call["name"] == "latin%E9")
    assert listed["audio"] == "../calls/latin%E9.wav"
    assert replay(tmp_path / "calls", out=tmp_path / "run").exit_code == 0
    assert replay(odd, out=tmp_path / "alone").exit_code == 0
    for arguments in (["report", str(tmp_path / "run"), "--call", "latin%E9"], ["doctor", "--vad", "energy", str(odd)]):
        done(*arguments)


def test_a_recording_of_an_earlier_replay_is_not_taken_for_that_of_one_that_was_killed(tmp_path: Path) -> None:
    build(tmp_path / "calls")
    replay(tmp_path / "calls", out=tmp_path / "run")
    corpus = read_corpus(tmp_path / "run")
    waiting = [call | {"status": WAITING, "unscored": "not yet"} for call in corpus["calls"]]
    for began, status in ((corpus["began"], DONE), ("2999-01-01T00:00:00+00:00", WAITING)):
        write_json(tmp_path / "run" / "corpus.json", corpus | {"began": began, "calls": waiting})
        assert {call.status for call in Run(tmp_path / "run").calls} == {status}


def test_agents_on_alternating_channels_are_measured_as_files_a_side_are(tmp_path: Path) -> None:
    rows = ["wav;agent_channel"]
    for number, built in enumerate(BUILT.values()):
        samples = voices(built.drawing, built.tail_s)
        write(tmp_path / "stereo" / f"call{number}.wav", samples[:, ::-1].copy() if number % 2 else samples)
        rows.append(f"https://h/x/call{number}.wav?sig={number};{1 + (number + 1) % 2}.0")
        for side, name in enumerate("AB"):
            write(tmp_path / "pairs" / f"call{number}" / f"{name}.wav", samples[:, side])
    (tmp_path / "calls.csv").write_text("\n".join(rows))
    for folder, more in (("stereo", ("--meta", tmp_path / "calls.csv")), ("pairs", ())):
        assert replay(tmp_path / folder, *more, out=tmp_path / f"of_{folder}").exit_code == 0
    for number in range(len(BUILT)):
        stereo, pairs = (read_json(tmp_path / run / f"call{number}" / TURNS) for run in ("of_stereo", "of_pairs"))
        assert stereo == pairs


def test_calls_with_the_audio_of_another_are_told(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.wav", voices(BUILT["quick"].drawing))
    write(tmp_path / "c.wav", voices(BUILT["slow"].drawing))
    told = "calls that are copies of an earlier one; all are counted: 1"
    assert f"{told}: b (as a)" in replay(tmp_path, out=tmp_path / "run").stderr
    assert told[1:] in (tmp_path / "run" / "index.html").read_text()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "name", ["calls.csv", "index.html", "summary.json", "corpus.json", "compare.html", "comparison.json", "gates.json"]
)
def test_files_of_others_are_not_written_over(tmp_path: Path, name: str) -> None:
    calls, others = build(tmp_path / "calls"), tmp_path / "others"
    others.mkdir()
    (others / name).write_text("{}")
    before = contents(others)
    assert f"got a folder whose {name} is not of a run" in replay(calls, out=others, code=2).stderr
    assert contents(others) == before


def test_results_do_not_lie_among_the_calls(tmp_path: Path) -> None:
    calls = build(tmp_path / "calls")
    before = set(calls.iterdir())
    assert "expected another folder than that of the recordings to replay" in replay(calls, out=calls, code=2).stderr
    assert set(calls.iterdir()) == before


def test_the_table_is_never_one_that_the_run_writes(ran: Ran) -> None:
    result = replay(ran.calls, "--meta", ran.run / "calls.csv", out=ran.run, code=2)
    assert "expected a table of yours, got one that the run in" in result.stderr


def test_calls_that_are_no_longer_named_are_told_once(tmp_path: Path) -> None:
    calls = build(tmp_path / "calls")
    replay(calls, out=tmp_path / "run")
    names = [calls / f"{name}.wav" for name in ("quick", "slow")]
    told = "calls that are no longer part of the run, kept on disk: 3: early, mixed, mute"
    assert told in replay(*names, out=tmp_path / "run").stderr
    assert "no longer" not in replay(*names, out=tmp_path / "run").stderr
    assert Reading(tmp_path / "run" / "mute").meta["status"] == "complete"


def test_what_a_replay_that_died_has_left_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    call = write(tmp_path / "call.wav", voices(BUILT["quick"].drawing))
    folder = tmp_path / "run" / "call"
    assert replay(call, out=tmp_path / "run").exit_code == 0
    (folder / META).unlink()
    (folder / "mine.txt").touch()
    assert "call: expected a new folder or an earlier recording" in replay(call, out=tmp_path / "run").stderr
    (folder / "mine.txt").unlink()
    assert replay(call, out=tmp_path / "run").exit_code == 0
    assert Reading(folder).meta["status"] == "complete"


def test_a_kill_loses_only_what_was_being_replayed(tmp_path: Path) -> None:
    calls, run = linked(tmp_path / "calls", 20), tmp_path / "run"
    process = started("replay", "--vad", "energy", "--jobs", "1", "--out", run, calls)
    wait_for_calls(run, 4)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    known = Run(run).calls
    waiting = [call for call in known if call.status == WAITING]
    assert {call.status for call in known} == {DONE, WAITING}  # what was whole is told, though nothing wrote it down
    assert all(call.quantities for call in known if call.status == DONE)
    assert {call.unscored for call in waiting} == {"not replayed yet"}
    before = replayed(run)
    result = {path.parents[1].name for path in run.glob(f"*/{QUANTITIES}")} - {max(before, key=before.__getitem__)}
    assert 3 <= len(result) < 20
    assert replay(calls, out=run).exit_code == 0
    assert all(replayed(run)[name] == before[name] for name in result)
    assert [call.status for call in Run(run).calls] == [DONE] * 20
    assert len(table(run / "calls.csv")) == 20


def test_ctrl_c_is_one_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    calls, run = linked(tmp_path / "calls", 300), tmp_path / "run"  # more than end while a busy machine looks away
    process = started("replay", "--vad", "energy", "--out", run, calls)
    wait_for_calls(run, 3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of the group
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, stdout) == (130, ""), stderr
    told = re.fullmatch(
        r"fdbcore replay: interrupted, (\d+) of 300 calls ended; run the same command again to continue\n", stderr
    )
    assert told, stderr
    assert sum(call["status"] == DONE for call in read_corpus(run)["calls"]) == int(told[1]) >= 1


def test_a_process_that_dies_takes_only_its_own_call(tmp_path: Path) -> None:
    folder = build(tmp_path / "calls")
    sessions = session_inputs([folder / f"{name}.wav" for name in BUILT])
    killed: list[int] = []

    def kill_the_first(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        if not killed:
            (worker,) = multiprocessing.active_children()
            assert worker.pid is not None
            killed.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)

    settings = ReplaySettings(tmp_path / "run", "energy", {})
    calls = [PlannedCall(session) for session in sessions]
    entries = replay_corpus(calls, settings, Workers(1), Oddities(), kill_the_first)
    statuses = [entry["status"] for entry in entries]
    assert sorted(statuses) == [DONE] * 4 + [FAILED]
    dead = next(entry for entry in entries if entry["status"] == FAILED)
    assert dead["reason"] is not None
    assert re.match(rf"{dead['name']}.wav: the process that read it died: killed by SIGKILL", dead["reason"])
    assert multiprocessing.active_children() == []


def test_two_replays_into_one_folder_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fdbcore.runs.replay_many._LEAVING_S", 0.1)
    calls = [PlannedCall(session) for session in session_inputs([build(tmp_path / "calls") / "quick.wav"])]
    settings = ReplaySettings(tmp_path / "run", "energy", {})

    def again(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        with pytest.raises(RecordingError, match="another process is replaying into this folder"):
            replay_corpus(calls, settings, Workers(1), Oddities())

    assert [entry["status"] for entry in replay_corpus(calls, settings, Workers(1), Oddities(), again)] == [DONE]


def test_what_was_replayed_with_another_line_is_not_kept(tmp_path: Path) -> None:
    (session,) = session_inputs([write(tmp_path / "call.wav", voices(BUILT["quick"].drawing))])
    closed, opened = (ReplaySettings(tmp_path / "run", "energy", {}, line_open=is_open) for is_open in (False, True))
    for settings, other in ((closed, opened), (opened, closed)):
        score(replay_session(session, settings, keep_audio=False))
        assert kept_recording(session, settings) is not None
        assert kept_recording(session, other) is None


def test_what_is_damaged_in_a_run_is_not_kept(tmp_path: Path) -> None:
    (session,) = session_inputs([write(tmp_path / "call.wav", voices(BUILT["quick"].drawing))])
    settings = ReplaySettings(tmp_path / "run", "energy", {})
    score(replay_session(session, settings, keep_audio=False))
    assert kept_recording(session, settings) is not None
    for part in (QUANTITIES, SCORES, TURNS, ACTIVITY, HEALTH, META):
        path = settings.run_path / "call" / part
        sound = path.read_bytes()
        for content in (b"", b"[]", b"PK no archive", sound[: len(sound) // 2]):
            path.write_bytes(content)
            assert kept_recording(session, settings) is None, (part, content[:20])
        path.unlink()
        assert kept_recording(session, settings) is None, part
        path.write_bytes(sound)
    assert kept_recording(session, settings) is not None


def test_a_call_that_was_replayed_waits_for_no_collector(tmp_path: Path) -> None:
    """Its queues are megabytes: in a cycle they would stay for hundreds of calls."""
    (session,) = session_inputs([write(tmp_path / "call.wav", voices(BUILT["quick"].drawing))])
    gc.collect()
    gc.disable()
    try:
        score(replay_session(session, ReplaySettings(tmp_path / "run", "energy"), keep_audio=False))
        assert not [each for each in gc.get_objects() if type(each) in (ReplayEndpoint, HealthProbe)]
    finally:
        gc.enable()


def test_memory_does_not_grow_with_the_number_of_calls(tmp_path: Path) -> None:
    (session,) = session_inputs([write(tmp_path / "call.wav", voices(BUILT["quick"].drawing))])
    held = []
    tracemalloc.start()
    for _ in range(4):
        for _ in range(3):
            score(replay_session(session, ReplaySettings(tmp_path / "run", "energy"), keep_audio=False))
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[-1] - held[0] < 50_000


def test_calls_that_cannot_be_read_tell_nothing_of_the_time_left() -> None:
    began_ns, progress, made_ns = now_ns(), ReplayProgress(10, failed=4), now_ns()
    assert (progress.ended, progress.calls_per_s, progress.left_s) == (4, 0.0, None)
    progress.add(ReplayResult(4, DONE, None, None, audio_s=60.0))
    assert progress.ended == 5
    least_s, left_s, most_s = (now_ns() - made_ns) / 1e9, progress.left_s, (now_ns() - began_ns) / 1e9
    # One was replayed since the beginning, so the other five take five times what it took.
    assert left_s is not None
    assert 5.0 * least_s - 1e-6 <= left_s <= 5.0 * most_s + 1e-6
