"""An agent's log in a recording and its reports: the events of each answer, the stages, and a log that is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import command, done, printed, refused
from helpers.drawn import dialogue
from helpers.logged import DECIDED_S, exchanges, log_of, save, truth_s
from helpers.planted import Planted, planted_run
from helpers.voices import voices, write

from fdbcore.analysis.stages import answer_row, split, stage_table
from fdbcore.measures.agent_log import laid
from fdbcore.measures.log_clock import find_clock, given_clock
from fdbcore.recording.files import MARKS, REPORT, read_json
from fdbcore.recording.reader import Recording
from fdbcore.sources.agent_logs import LogEvent

STAGES = [
    "A's end to speech final",
    "speech final to first token",
    "first token to first audio",
    "first audio to playback",
    "playback to B's onset",
]
EVENTS = {
    "speech final": "endpoint",
    "first token": "llm first token",
    "first audio": "tts first audio",
    "playback": "audio_out",
}
EXACT = given_clock(-1000.0)


def test_the_stages_of_an_answer_are_the_true_ones_and_sum_to_its_time() -> None:
    drawing, found = exchanges(np.random.default_rng(1))
    log = laid(log_of(np.random.default_rng(2), found, jitter_s=0), dialogue(drawing), EXACT)
    table = stage_table([log])
    assert table is not None
    assert [stage.name for stage in table.stages] == STAGES
    assert log["events"] == EVENTS
    for answer, exchange in zip(log["answers"], found, strict=True):
        times_s = truth_s(exchange)
        assert answer["answer_ms"] == pytest.approx(1000 * (exchange.onset_s - exchange.end_s))
        assert answer["events_ms"] == pytest.approx(
            {event: 1000 * (times_s[name] - exchange.end_s) for event, name in EVENTS.items()}, abs=0.06
        )
        stages = [ms for ms in split(answer, table.events) if ms is not None]
        assert sum(stages) == pytest.approx(answer["answer_ms"], abs=1e-6)
        assert answer_row("call", answer, table.events)["unsplit_ms"] == 0
    assert table.stages[0].median_ms == pytest.approx(1000 * DECIDED_S, abs=0.1)
    assert table.stages[4].median_ms == pytest.approx(50, abs=0.1)
    assert [stage.missing for stage in (*table.stages, table.answer)] == [0] * 6
    assert table.warnings == []


def test_an_answer_without_a_mark_lacks_its_stages_and_keeps_its_sum() -> None:
    drawing, found = exchanges(np.random.default_rng(3))
    first_onset_s = found[0].onset_s
    marks = [
        event
        for event in log_of(np.random.default_rng(4), found, jitter_s=0)
        if not (event.name == "llm first token" and event.time_s - 1000 < first_onset_s)
    ]
    table = stage_table([log := laid(marks, dialogue(drawing), EXACT)])
    assert table is not None
    row = answer_row("call", log["answers"][0], table.events)
    assert (row["first_token_ms"], row["speech_final_to_first_token_ms"], row["first_token_to_first_audio_ms"]) == (
        None,
        None,
        None,
    )
    names = ("a_end_to_speech_final", "first_audio_to_playback", "playback_to_b_onset")
    known = [float(str(row[name])) for name in (*(f"{name}_ms" for name in names), "unsplit_ms")]
    assert known[-1] > 0
    assert sum(known) == pytest.approx(row["answer_ms"])
    assert [stage.missing for stage in table.stages] == [0, 1, 1, 0, 0]
    assert [len(stage.values_ms) for stage in table.stages] == [12, 11, 11, 12, 12]


def test_an_event_that_few_answers_have_is_shown_only_if_it_is_known() -> None:
    drawing, found = exchanges(np.random.default_rng(5))
    marks = log_of(np.random.default_rng(6), found, jitter_s=0, without=["llm first token"])
    some = found[:4]
    marks += [LogEvent(exchange.end_s + 0.3 + 1000, name) for exchange in some for name in ("ttft", "tool called")]
    assert laid(sorted(marks), dialogue(drawing), EXACT)["events"] == {**EVENTS, "first token": "ttft"}
    marks += [LogEvent(exchange.end_s + 0.3 + 1000, "tool called") for exchange in found[4:]]
    assert laid(sorted(marks), dialogue(drawing), EXACT)["events"]["tool called"] == "tool called"


def test_negative_medians_are_said_in_words() -> None:
    drawing, found = exchanges(np.random.default_rng(7))
    marks = log_of(np.random.default_rng(8), found, jitter_s=0)
    early = stage_table([laid(marks, dialogue(drawing), given_clock(-1000.3))])
    late = stage_table([laid(marks, dialogue(drawing), given_clock(-1000 + 0.1))])
    assert early is not None
    assert late is not None
    assert early.warnings == [
        "in the median speech final comes 100 ms before A's end: the agent decides before A has finished, or the clock "
        "of the log is wrong"
    ]
    assert late.warnings == [
        "in the median playback comes 50 ms after B's onset: it is noted late, or the clock of the log is wrong"
    ]


def test_known_events_keep_their_order_where_a_system_does_two_things_at_once() -> None:
    """A model that is asked before the turn is decided: its token comes first in all answers."""
    drawing, found = exchanges(np.random.default_rng(10))
    marks = log_of(np.random.default_rng(11), found, jitter_s=0, without=["endpoint"])
    late = [LogEvent(1000 + truth_s(each)["llm first token"] + 0.08, "endpoint") for each in found]
    odd = [LogEvent(1000 + each.end_s + 0.01, "cache asked?") for each in found]
    odd += [LogEvent(1000 + each.end_s + 0.02, "tool called") for each in found]
    table = stage_table([laid(sorted([*marks, *late, *odd]), dialogue(drawing), EXACT)])
    assert table is not None
    assert list(table.events) == ["tool called", "speech final", "first token", "first audio", "playback"]
    assert table.warnings == [
        "in the median first token comes 80 ms before speech final: the agent does both at once, or one of the names "
        "means something else"
    ]


def test_stages_of_one_tick_stand_in_the_order_of_an_answer() -> None:
    """In lockstep all of an answer comes in the tick in which the turn is over."""
    drawing, found = exchanges(np.random.default_rng(12))
    names = ("speech final", "transcribed", "first token", "first audio")
    marks = [LogEvent(each.onset_s - 0.01, name) for each in found for name in names]
    table = stage_table([laid(marks, dialogue(drawing), given_clock(0.0))])
    assert table is not None
    assert tuple(table.events) == names
    assert [text.split(":")[0] for text in table.warnings] == [
        "speech final, transcribed, first token and first audio come at the same time in most answers"
    ]


def test_a_found_clock_with_jitter_and_gaps_gives_the_stages_within_the_jitter() -> None:
    rng = np.random.default_rng(9)
    drawing, found = exchanges(rng, 150)
    talk = dialogue(drawing)
    marks = log_of(rng, found, drift_ppm=50, jitter_s=0.03, missing=0.2)
    table = stage_table([laid(marks, talk, find_clock(marks, talk))])
    assert table is not None
    medians = {name: np.median([truth_s(each)[name] - each.end_s for each in found]) for name in EVENTS.values()}
    # 50 ms of transport cannot be told from the clock: the first stage gets them, the last lacks them.
    assert table.stages[0].median_ms == pytest.approx(1000 * medians["endpoint"] + 50, abs=8)
    assert table.stages[4].median_ms == pytest.approx(0, abs=8)
    assert [stage.missing for stage in table.stages] == pytest.approx([30, 54, 54, 54, 30], abs=20)


def planted_call(tmp_path: Path) -> tuple[Path, Path, list[Any]]:
    """A run, its call with 12 answers, and the ends and onsets of these."""
    planted_run(tmp_path / "run", Planted(2, 0.0, 1, turns=12))
    path = tmp_path / "run" / "call0001"
    events = [e for e in Recording(path).turn_events if e.kind == "gap" and e.side == "B"]
    return tmp_path / "run", path, [(e.start_tick / 100, (e.end_tick or 0) / 100) for e in events]


def planted_log(pairs: list[Any], clock_s: float = 1000.0) -> list[LogEvent]:
    rng = np.random.default_rng(6)
    times = [(end + 0.2, onset - 0.05 - rng.exponential(0.01)) for end, onset in pairs]
    return sorted(
        LogEvent(time + clock_s, name)
        for decided, out in times
        for time, name in ((decided, "endpoint"), ((decided + out) / 2, "model"), (out, "audio_out"))
    )


def test_the_report_of_a_call_shows_its_log(tmp_path: Path) -> None:
    run, path, pairs = planted_call(tmp_path)
    asked = ("report", run, "--call", "call0001", "--no-audio", "--agent-log", tmp_path / "log.jsonl")
    save(tmp_path / "log.jsonl", planted_log(pairs))
    result = done(*asked)
    flat = " ".join(result.stdout.split())
    assert "agent's log offset -999,94" in flat
    assert "by audio_out at 12 of 12 starts of B's turns, spread" in flat
    assert "a constant delay from audio_out to B's onset looks like a difference of the clocks" in flat
    assert "stage median p90 n missing A's end to speech final 2" in flat
    assert "speech final to model" in flat
    page = (path / REPORT).read_text()
    assert '<h2 id="marks-title">The agent\'s log</h2>' in page
    assert "speech final to model" in page
    assert "In the log: speech final: endpoint; playback: audio_out." in page
    assert str(tmp_path) not in page
    assert read_json(path / MARKS)["clock"]["anchor"] == "audio_out"
    with pytest.warns(FutureWarning, match=r"^Recording\.marks is called agent_log now$"):
        assert Recording(path).marks == Recording(path).agent_log == read_json(path / MARKS)
    save(tmp_path / "log.jsonl", planted_log(pairs, 1_700_000_000.25))
    # The marks lie 0.05 s and some ms before the sound, so the clock seems to be as much early.
    assert "offset 0:00 is 2023-11-14 22:13:20.1" in " ".join(command(*asked).stdout.split())
    save(tmp_path / "log.jsonl", planted_log(pairs))
    given = command(*asked, "--agent-log-offset-ms", "5")
    assert "offset +5 ms, as given" in given.stdout
    assert "36 events lie beyond the recording" in " ".join(given.stdout.split())
    assert "no answer has an event of the log" in " ".join(given.stdout.split())


def test_a_log_that_does_not_fit_gives_no_stage_times_and_says_so_in_one_line(tmp_path: Path) -> None:
    run, path, pairs = planted_call(tmp_path)
    log = save(tmp_path / "log.jsonl", [LogEvent(1.7 * event.time_s, event.name) for event in planted_log(pairs)])
    told = command("report", run, "--call", "call0001", "--no-audio", "--agent-log", log, code=1)
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"fdbcore report: {log}: no stage times: its clock cannot be found: '")
    assert read_json(path / MARKS)["answers"] == []
    page = (path / REPORT).read_text()
    assert "No stage times: its clock cannot be found" in page
    assert "A's end to" not in page


def test_a_replayed_file_takes_a_log(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    drawing, found = exchanges(rng, 7)
    call = write(tmp_path / "call.wav", voices(drawing))
    shared = ("replay", "--vad", "energy", "--out", tmp_path / "run", call)
    log = save(tmp_path / "log.jsonl", log_of(rng, found, jitter_s=0.005))
    marks = printed(*shared, "--agent-log", log)["marks"]
    assert marks["clock"]["offset_s"] == pytest.approx(-1000 + 0.05, abs=0.03)
    assert [f"{stage['start']} to {stage['end']}" for stage in marks["stages"]] == STAGES
    assert [stage["n"] for stage in marks["stages"]] == [7] * 5
    again = command("replay", "--out", tmp_path / "again", tmp_path / "run" / "call", "--json")
    assert json.loads(again.stdout)["marks"]["answers"] == marks["answers"]
    other = save(tmp_path / "other.jsonl", [LogEvent(1.0, "audio_out")])
    told = command(*shared, "--agent-log", other, code=1)
    assert "response rate" in told.stdout
    assert told.stderr == (
        f"fdbcore replay: {other}: no stage times: its clock cannot be found: 'audio_out' can fit only 1 starts of B's "
        "turns; at least 6 are needed, or 9 of several names. If it is the log of this call, give "
        "--agent-log-offset-ms\n"
    )
    assert (tmp_path / "run" / "call" / REPORT).is_file()


def test_a_clock_that_was_given_wrong_is_told(tmp_path: Path) -> None:
    """By 0.4 s: late, events come before A has ended; early, those of some answers come after their onsets."""
    rng = np.random.default_rng(7)
    drawing, found = exchanges(rng, 12)
    call = write(tmp_path / "call.wav", voices(drawing))
    log = save(tmp_path / "log.jsonl", log_of(rng, found, jitter_s=0.005))
    for wrong_ms, told in (
        (-400, "before A's end: the agent decides before A"),
        (0, None),
        (400, "7 of 12 answers lack events of the log: is the clock right that was given?"),
    ):
        given = ("--agent-log", log, "--agent-log-offset-ms", -1_000_000 + 50 + wrong_ms)
        shown = command("replay", "--vad", "energy", "--out", tmp_path / "run", call, *given).stdout
        assert told is None or told in " ".join(shown.split())
        assert ("!!" in shown) == (told is not None)
    (tmp_path / "meta.csv").write_text("file,agent_log_file,agent_log_offset_ms\ncall.wav,log.jsonl,-999550\n")
    by_table = ("--meta", tmp_path / "meta.csv", "--out", tmp_path / "runs", "--count-bad-input")
    shown = command("replay", "--vad", "energy", call, *by_table).stdout
    assert "call: 7 of 12 answers lack events of the log" in " ".join(shown.split())


def test_what_cannot_be_a_log_is_a_wrong_argument(tmp_path: Path) -> None:
    call = write(tmp_path / "call.wav", voices("A 0.3-2 | B 2.4-4"))
    shared = ("replay", "--vad", "energy", "--out", tmp_path / "run", call)
    log = save(tmp_path / "other.jsonl", [LogEvent(1.0, "audio_out")])
    assert command(*shared, "--agent-log-offset-ms", "3").exit_code == 2
    assert command(*shared, "--agent-log", log, "--agent-log-offset-ms", "nan").exit_code == 2
    for text in ("", "no log\n"):
        (tmp_path / "broken.jsonl").write_text(text)
        assert f"{tmp_path / 'broken.jsonl'}: " in refused(*shared, "--agent-log", tmp_path / "broken.jsonl")
    assert "missing.jsonl: cannot be read: No such file" in refused(*shared, "--agent-log", tmp_path / "missing.jsonl")
    assert command("report", tmp_path / "run", "--agent-log", log).exit_code == 2


@pytest.mark.parametrize("offset", [[], ["--agent-log-offset-ms", "-999950"]])
@pytest.mark.parametrize(("others", "is_refused"), [(0, False), (2, True), (5, True)])
def test_several_calls_in_a_log_give_no_stages(
    tmp_path: Path, offset: list[str], others: int, is_refused: bool
) -> None:
    """Calls of one process that logs all of them: each of the others answers at times of its own."""
    run, _, pairs = planted_call(tmp_path)
    rng, length_s = np.random.default_rng(7), pairs[-1][1]
    for _ in range(others):
        ends = np.sort(rng.uniform(0, length_s, len(pairs)))
        pairs = [*pairs, *((end_s, end_s + rng.uniform(0.5, 1.2)) for end_s in ends)]
    log = save(tmp_path / "log.jsonl", planted_log(pairs))
    told = command("report", run, "--call", "call0001", "--no-audio", "--agent-log", log, *offset)
    assert ("no stage times: it" in " ".join(told.stderr.replace(f"{log}: ", "").split())) == is_refused
    assert ("stage" in told.stdout) == (not is_refused)


def test_of_a_log_that_names_its_calls_the_one_that_is_meant_can_be_said(tmp_path: Path) -> None:
    run, path, pairs = planted_call(tmp_path)
    rng, own, entries = np.random.default_rng(7), planted_log(pairs), []
    for number in range(6):
        ends = np.sort(rng.uniform(0, pairs[-1][1], len(pairs)))
        marks = planted_log([(end_s, end_s + rng.uniform(0.5, 1.2)) for end_s in ends]) if number else own
        entries += [{"time": event.time_s, "name": event.name, "call_id": f"c{number}"} for event in marks]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    asked = ("report", run, "--call", "call0001", "--no-audio", "--agent-log", log)
    told = command(*asked, code=1)
    assert "Its entries name call_id c0, c1, c2 and 3 more: expected --agent-log-session" in told.stderr
    done(*asked, "--agent-log-session", "c0")
    kept = read_json(path / MARKS)
    assert (len(kept["marks"]) + kept["outside"], kept["given_session"]) == (len(own), "c0")
    other = command(*asked, "--agent-log-session", "c1")
    assert ("its clock cannot be found" in other.stderr, "--agent-log-session" in other.stderr) == (True, False)
    assert f"{log}: expected entries that hold 'c', got none" in refused(*asked, "--agent-log-session", "c")
    assert "--agent-log-session: expected --agent-log" in refused("report", run, "--agent-log-session", "c0")
