"""`fdbcore replay` as a user meets it: what it prints, what it leaves behind, and what it says to bad input."""

import json
import os
import resource
import signal
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command
from helpers.patience import PATIENCE_S, wait_until
from helpers.voices import DIALOGUE, RATE_HZ, voices, write

from fdbcore.recording.files import AUDIO, EVENTS, SCORES, TURNS
from fdbcore.recording.reader import Recording


@pytest.fixture
def call(tmp_path: Path) -> Path:
    return write(tmp_path / "call.wav", voices(DIALOGUE))


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    return tmp_path / "run"


def replay(*arguments: object, out: Path, code: int | None = None) -> Result:
    return command("replay", "--vad", "energy", "--out", out, *arguments, code=code)


def gaps(recording: Recording) -> list[Any]:
    """Whose floor transfers, and when (s)."""
    return [(e.side, e.end_tick / 100) for e in recording.turn_events if e.kind == "gap" and e.end_tick]


def test_a_replay_shows_what_happened_and_where_the_report_is(call: Path, run_path: Path) -> None:
    result = replay(call, out=run_path, code=0)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("call.wav")
    assert "response rate" in result.stdout
    assert lines[-1] == str(run_path / "call" / "report.html")
    assert "<html" in Path(lines[-1]).read_text()
    assert gaps(Recording(run_path / "call")) == [
        (side, pytest.approx(s, abs=0.03)) for side, s in [("B", 2.4), ("A", 4.6), ("B", 6.7)]
    ]


def test_mono_files_that_were_searched_for_are_no_pair(tmp_path: Path, run_path: Path) -> None:
    for name, side in (("77_agent", 1), ("77_caller", 0)):
        write(tmp_path / f"{name}.wav", voices(DIALOGUE)[:, side])
    (tmp_path / "all.txt").write_text("77_agent.wav\n77_caller.wav\n")
    for searched in (tmp_path, tmp_path / "77*.wav", tmp_path / "all.txt"):
        result = replay("--jobs", 1, searched, out=run_path, code=1)
        (told,) = [line for line in result.stderr.splitlines() if "one channel" in line]
        assert "2 files have one channel (77_agent.wav, 77_caller.wav)" in told
        assert "--pair" in told
    named = replay(tmp_path / "77_caller.wav", tmp_path / "77_agent.wav", out=run_path)
    assert (named.exit_code, Recording(run_path / "77").meta["status"]) == (0, "complete")


def test_json_is_one_document_and_nothing_else(call: Path, run_path: Path) -> None:
    result = replay("--json", call, out=run_path)
    document = json.loads(result.stdout)
    assert {"schema", "recording", "settings", "events", "measures"} <= document.keys()
    latency = document["measures"]["response_latency_ms"]
    assert {"n", "median", "p90", "mean", "ci95", "unit", "excluded"} <= latency.keys()
    assert latency["n"] == 2
    assert result.stderr == ""


def test_quiet_says_nothing(call: Path, run_path: Path) -> None:
    result = replay("--quiet", call, out=run_path)
    assert (result.exit_code, result.output) == (0, "")


def test_real_time_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{side}.wav", voices("A 0.1-0.6 | B 0.8-1.2", 0.1)[:, i]) for i, side in enumerate("ab")]
    for name, options in (("fast", []), ("real", ["--real-time"])):
        assert replay(*options, *files, out=tmp_path / name).exit_code == 0
    for name in (AUDIO, EVENTS, TURNS, SCORES):
        assert (tmp_path / "fast" / "a+b" / name).read_bytes() == (tmp_path / "real" / "a+b" / name).read_bytes()
    certificate = Recording(tmp_path / "real" / "a+b").meta["timing"]
    assert certificate["realtime"]
    assert certificate["wake"]["n"] == 131


def test_swap_exchanges_the_sides(call: Path, run_path: Path) -> None:
    replay("--swap", call, out=run_path)
    assert [side for side, _ in gaps(Recording(run_path / "call"))] == ["A", "B", "A"]


def test_an_offset_moves_the_second_side(tmp_path: Path, run_path: Path) -> None:
    files = [write(tmp_path / f"{side}.wav", voices("A 0.3-2 | B 2.4-4")[:, i]) for i, side in enumerate("ab")]
    replay("-a", files[0], "-b", files[1], "--offset-ms", 350, out=run_path)
    assert gaps(Recording(run_path / "a+b")) == [("B", pytest.approx(2.75, abs=0.03))]


def test_a_setting_is_changed_and_recorded(call: Path, run_path: Path) -> None:
    replay("--set", "min_silence_ms=500", call, out=run_path)
    assert Recording(run_path / "call").meta["settings"]["turns"]["min_silence_ms"] == 500


def test_a_silent_side_is_said_loudly_and_counted(tmp_path: Path, run_path: Path) -> None:
    path = write(tmp_path / "deaf.wav", voices("A 0.3-2 14-15 | ", 12.0))
    document = json.loads(replay("--json", path, out=run_path).stdout)
    (finding,) = document["findings"]
    assert (finding["text"], finding["side"]) == ("B never spoke: no speech found, digitally silent", "B")
    assert document["measures"]["no_response_per_turn"]["count"] == 2  # 12 s of silence: nobody hung up
    assert "!! B never spoke: no speech found" in replay(path, out=run_path).stdout


def test_whether_a_hung_up_after_its_last_turn_is_told_and_kept(tmp_path: Path, run_path: Path) -> None:
    path = write(tmp_path / "deaf.wav", voices("A 0.3-2 14-15 | ", 8.0))
    text = replay(path, out=run_path).stdout
    assert "no response within 10 s 1/1" in text
    assert "| A's last turn: unanswered, or hung up" in " ".join(text.split())
    closed = Recording(run_path / "deaf").meta
    text = replay("--no-hang-up", path, out=run_path).stdout
    assert "no response within 10 s 2/2" in text
    assert "hung up" not in text
    opened = Recording(run_path / "deaf").meta
    assert opened["settings"] == closed["settings"] | {"line_open": True}
    assert opened["settings_sha256"] != closed["settings_sha256"]


def test_a_silent_system_is_never_missed_in_a_sample_of_one_turn(tmp_path: Path, run_path: Path) -> None:
    """No answer in output.wav is none, however short the file; a pause that the sample names is waited through."""
    folder = tmp_path / "task" / "1"
    folder.mkdir(parents=True)
    samples = voices("A 0.3-2 6-8 | ", 2.0)
    write(folder / "input.wav", samples[:, 0])
    write(folder / "output.wav", np.zeros(len(samples), np.int16))
    measures = json.loads(replay("--json", folder, out=run_path).stdout)["measures"]
    assert (measures["no_response_per_turn"]["count"], measures["no_response_per_turn"]["n"]) == (2, 2)
    (folder / "output.json").write_text(json.dumps({"text": "", "chunks": []}))
    (folder / "pause.json").write_text(json.dumps([{"text": "[PAUSE]", "timestamp": [2.0, 6.0]}]))
    measures = json.loads(replay("--json", folder, out=run_path).stdout)["measures"]
    assert (measures["no_response_per_turn"]["count"], measures["no_response_per_turn"]["n"]) == (1, 1)
    assert measures["no_response_per_turn"]["excluded"] == {"waited": 1}


def test_words_of_a_v1_folder_give_its_own_measures(tmp_path: Path, run_path: Path) -> None:
    folder = tmp_path / "task" / "1"
    folder.mkdir(parents=True)
    samples = voices("A 0.3-2 | B 2.4-4")
    write(folder / "input.wav", samples[:, 0])
    write(folder / "output.wav", samples[: -RATE_HZ // 2, 1])
    words = [{"text": "Yes,", "timestamp": [2.4, 2.8]}, {"text": "it is.", "timestamp": [2.9, 4.0]}]
    (folder / "output.json").write_text(json.dumps({"text": "Yes, it is.", "chunks": words}))
    (folder / "turn_taking.json").write_text(json.dumps([{"text": "[TURN-TAKING]", "timestamp": [2.0, 2.4]}]))
    measures = json.loads(replay("--json", folder, out=run_path).stdout)["measures"]
    assert measures["compat_v1_takeover_per_sample"]["count"] == 1
    assert measures["compat_v1_latency_ms"]["median"] == pytest.approx(400)


def test_a_word_without_an_end_is_left_out_and_not_the_session(tmp_path: Path, run_path: Path) -> None:
    folder = tmp_path / "task" / "1"
    folder.mkdir(parents=True)
    samples = voices("A 0.3-2 | B 2.4-4")
    write(folder / "input.wav", samples[:, 0])
    write(folder / "output.wav", samples[:, 1])
    words = [{"text": "Yes,", "timestamp": [2.4, 2.8]}, {"text": "it is.", "timestamp": [2.9, 3.5]}]
    words += [{"text": "Well", "timestamp": [3.5, None]}]
    (folder / "output.json").write_text(json.dumps({"text": "Yes, it is. Well", "chunks": words}))
    result = replay("--json", folder, out=run_path, code=0)
    document = json.loads(result.stdout)
    assert document["measures"]["compat_v1_takeover_per_sample"]["count"] == 1
    assert "1 word of B without a start and an end after it: left out" in document["warnings"]


def test_one_bad_file_does_not_lose_the_others(call: Path, tmp_path: Path, run_path: Path) -> None:
    other = write(tmp_path / "other.wav", voices(DIALOGUE).astype(np.float32) / 32768)  # the same in other bytes
    result = replay(call, tmp_path / "missing.wav", other, out=run_path, code=1)
    assert result.stderr.count("\n") == 1
    assert "missing.wav" in result.stderr
    assert (run_path / "index.html").is_file()
    assert Recording(run_path / "call").turn_events == Recording(run_path / "other").turn_events
    summary = json.loads((run_path / "summary.json").read_text())
    assert summary["recordings"] == ["call", "other"]
    assert len(summary["failed"]) == 1
    assert summary["measures"]["answered_per_turn"]["count"] == 4
    together = json.loads(replay("--json", call, other, out=run_path).stdout)
    assert [document["recording"]["name"] for document in together["sessions"]] == ["call", "other"]
    assert together["measures"]["response_latency_ms"]["n"] == 4


def test_a_file_that_was_cut_off_is_scored_and_counts_as_failed(call: Path, run_path: Path) -> None:
    call.write_bytes(call.read_bytes()[: -4 * RATE_HZ * 3])
    result = replay(call, out=run_path, code=1)
    assert result.stderr.count("\n") == 1
    assert "cut off: 192000 bytes fewer than its header states, 6.500 s remain" in result.stderr
    assert "cut off" in result.stdout
    assert gaps(Recording(run_path / "call"))


def test_a_recording_leaves_nothing_of_an_earlier_one(call: Path, tmp_path: Path, run_path: Path) -> None:
    pair = [write(tmp_path / name, voices(DIALOGUE)[:, i]) for i, name in enumerate(("one.wav", "two.wav"))]
    replay(*pair, out=run_path)
    (run_path / "one+two").rename(run_path / "call")
    assert (run_path / "call" / AUDIO).is_file()
    replay(call, out=run_path)
    assert not (run_path / "call" / AUDIO).exists()


def nan_wav(path: Path) -> Path:
    samples = voices(DIALOGUE).astype(np.float32) / 32768
    samples[RATE_HZ, 1] = np.nan
    return write(path, samples)


BAD: dict[str, tuple[Any, str]] = {
    "missing": (lambda path: path, "no such file"),
    "empty": (lambda path: path.write_bytes(b""), "empty"),
    "text": (lambda path: path.write_text("hello\n" * 99), "audio"),
    "mono": (lambda path: write(path, voices(DIALOGUE)[:, 0]), "two channels"),
    "identical": (lambda path: write(path, voices(DIALOGUE)[:, [0, 0]]), "the same in both"),
    "three channels": (lambda path: write(path, voices(DIALOGUE)[:, [0, 1, 0]]), "got 3"),
    "no samples": (lambda path: write(path, voices(DIALOGUE)[:0]), "audio"),
    "not finite": (nan_wav, "16000"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_line_and_exit_code_1(name: str, tmp_path: Path, run_path: Path) -> None:
    make, expected = BAD[name]
    path = tmp_path / "bad.wav"
    make(path)
    result = replay(path, out=run_path)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert str(path) in line
    assert expected in line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give recordings or folders"),
        (["-a", "x.wav"], "both -a FILE and -b FILE"),
        (["--vad", "nope", "x.wav"], "silero, energy"),
        (["--set", "min_silence_ms=205", "x.wav"], "multiple of 10"),
        (["--set", "nope=1", "x.wav"], "NAME one of"),
        (["--set", "min_speech_ms=300", "x.wav"], "at most min_silence_ms"),
        (["--nope"], "No such option"),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(arguments: list[str], expected: str, run_path: Path) -> None:
    assert expected in replay(*arguments, out=run_path, code=2).stderr


def test_the_input_is_never_in_the_folder_to_be_written(tmp_path: Path) -> None:
    pair = two_files(tmp_path)
    assert replay("--quiet", *pair, out=tmp_path).exit_code == 0
    (tmp_path / "a+b").rename(tmp_path / "session")
    audio = tmp_path / "session" / AUDIO
    before = audio.read_bytes()
    assert "expected a folder without the input" in replay(audio, out=tmp_path, code=1).stderr
    assert audio.read_bytes() == before


def test_a_failure_leaves_no_report_of_an_earlier_recording(call: Path, run_path: Path) -> None:
    assert replay(call, out=run_path).exit_code == 0
    write(call, voices(DIALOGUE)[:, [0, 0]])
    assert replay(call, out=run_path).exit_code == 1
    assert not (run_path / "call" / "report.html").exists()


def test_a_folder_that_is_no_recording_is_left_alone(call: Path, run_path: Path) -> None:
    (run_path / "call").mkdir(parents=True)
    (run_path / "call" / "thesis.txt").write_text("mine")
    assert "expected a new folder or an earlier recording" in replay(call, out=run_path, code=1).stderr
    assert os.listdir(run_path / "call") == ["thesis.txt"]


def test_an_output_folder_that_cannot_be_made(call: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert replay(call, out=tmp_path / "file" / "run", code=1).stderr.count("\n") == 1


def started(*arguments: object, limit_bytes: int = resource.RLIM_INFINITY) -> subprocess.Popen[str]:
    """The command in a process of its own, which may write files of at most `limit_bytes`."""
    command = [sys.executable, "-m", "fdbcore.cli", "replay", "--vad", "energy", *map(str, arguments)]
    limit = (limit_bytes, limit_bytes)
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )


def two_files(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{side}.wav", voices(DIALOGUE)[:, i]) for i, side in enumerate("ab")]


def test_a_full_disk_is_one_line_and_what_was_written_stays_readable(tmp_path: Path, run_path: Path) -> None:
    process = started(*two_files(tmp_path), "--out", run_path, limit_bytes=600_000)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert stderr.count("\n") == 1
    assert "session.wav" in stderr
    assert Recording(run_path / "a+b").meta["status"] == "failed"
    with wave.open(str(run_path / "a+b" / AUDIO)) as audio:
        assert audio.getnframes() >= 2 * 48_000


def test_ctrl_c_is_one_line_and_what_was_written_stays_readable(tmp_path: Path, run_path: Path) -> None:
    process = started(*two_files(tmp_path), "--real-time", "--out", run_path)
    audio_path = run_path / "a+b" / AUDIO
    wait_until(lambda: audio_path.is_file() and audio_path.stat().st_size > 250_000)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert stderr.splitlines() == [f"fdbcore replay: interrupted; the part read so far is in {run_path / 'a+b'}"]
    assert Recording(run_path / "a+b").meta["status"] == "interrupted"
    with wave.open(str(audio_path)) as audio:
        assert audio.getnframes() >= 48_000
