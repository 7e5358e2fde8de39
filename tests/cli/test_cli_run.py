"""`fdbcore run` as a user meets it: what it prints and leaves behind; killed, stopped, and wrongly asked."""

import json
import os
import signal
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from fakes.run_parties import install
from helpers.commands import command, done, started
from helpers.patience import PATIENCE_S, wait_until
from scipy.io import wavfile

from fdbcore.cli.progress import Display
from fdbcore.cli.status import Status
from fdbcore.recording.files import AUDIO, META, REPORT, TURNS
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import RUN, SUMMARY
from fdbcore.report.html.templates import INDEX
from fdbcore.report.run.tables import CALLS
from fdbcore.runs import live
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.plan import PlannedSystem, make_plan
from fdbcore.runs.watch import GO_ON, NOW, RunProgress
from fdbcore.session.converse import OPENING, WAITING, LiveSettings
from fdbcore.types import User

TESTS = Path(__file__).parents[1]
A = "fake:?speak=10-50&finish=300"
FAST = ("--vad", "energy", "--clock", "virtual")
QUICK = ("--vad", "energy", "--a", "fake:?speak=10-50&finish=80")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = install(tmp_path / "plugin")
    monkeypatch.syspath_prepend(path)
    return path


@pytest.fixture
def run_path(tmp_path: Path, plugin: Path) -> Path:
    return tmp_path / "run"


def run(*arguments: object, out: Path, code: int | None = None) -> Result:
    return command("run", "--out", out, *arguments, code=code)


def running(plugin: Path, *arguments: object) -> subprocess.Popen[str]:
    return started("run", *arguments, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), str(TESTS)])})


def opened(log: Path) -> int:
    return log.read_text().count("open") if log.is_file() else 0


def recorded_s(path: Path) -> float:
    audio = path / AUDIO
    return (audio.stat().st_size - 80) / 192_000 if audio.is_file() else 0.0


def test_systems_are_run_scored_and_counted(run_path: Path) -> None:
    systems = ["--system", "good=fake:?speak=80-150", "--system", "mute=fake:?speak=0-0"]
    result = run(*FAST, "--a", A, *systems, "--trials", 2, "--seed", 3, out=run_path, code=1)
    lines = result.stdout.splitlines()
    assert lines[0] == "virtual clock: compute time not counted"
    assert "mute: 2 failed: no speech found" in lines
    rows = [line.split() for line in lines]
    assert ["system", "calls", "done", "failed", "invalid", "rate", "latency"] in [row[:7] for row in rows]
    assert ["good", "2", "2", "0", "0", "2/2"] in [row[:6] for row in rows]
    assert ["mute", "2", "0", "2", "0"] in [row[:5] for row in rows]
    assert lines[-1] == str(run_path / INDEX)
    assert len([line for line in result.stderr.splitlines() if line.endswith("of 4)")]) == 4
    assert len(list(run_path.glob(f"*/{REPORT}"))) == 4
    assert "2 systems" in (run_path / INDEX).read_text()
    assert (run_path / CALLS).read_text().count("\n") == 5
    summary = json.loads((run_path / SUMMARY).read_text())
    assert summary["plan"]["seed"] == 3
    assert summary["systems"]["good"]["measures"]["answered_per_turn"]["count"] == 2
    assert summary["systems"]["mute"]["cases"] == {
        "planned": 2,
        "done": 0,
        "declined": 0,
        "failed": 2,
        "invalid": 0,
        "left": 0,
        "again": 0,
    }
    again = run(*FAST, "--a", A, *systems, "--trials", 2, "--json", out=run_path)
    assert (again.exit_code, again.stderr) == (1, "")
    document = json.loads(again.stdout)
    assert document["systems"] == summary["systems"]
    assert {case["name"]: case["outcome"]["kind"] for case in document["cases"]} == {
        "good-1": "done",
        "good-2": "done",
        "mute-1": "failed",
        "mute-2": "failed",
    }


def test_a_replay_of_a_run_keeps_its_systems_apart_and_gives_the_same_files(run_path: Path, tmp_path: Path) -> None:
    systems = [f"{name}=fake:?speak={speak}" for name, speak in (("early", "60-90"), ("late", "150-190"))]
    options = [option for system in systems for option in ("--system", system)]
    held = run(*FAST, "--a", A, *options, "--max-s", 60, out=run_path)
    again = command("replay", run_path, "--out", tmp_path / "again")
    rows = [
        [line for line in told.stdout.splitlines() if line.startswith(("early ", "late "))] for told in (held, again)
    ]
    assert rows[0] == rows[1]
    assert {row.split()[0] for row in rows[0]} == {"early", "late"}
    for name in ("early", "late"):
        assert (run_path / name / TURNS).read_bytes() == (tmp_path / "again" / name / TURNS).read_bytes()


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_screen_fits_the_terminal(run_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    few = (*FAST, "--a", A, "--system", "a-system-of-a-rather-long-name=fake:?speak=80-150")
    for more in ((), ("--trials", 2), ("--system", "another-system-of-a-rather-long-name=fake:")):
        path = run_path.with_name(f"run{len(more)}{more[:1]}")
        lines = run(*few, *more, out=path).stdout.splitlines()
        assert max(len(line) for line in lines if str(path) not in line) <= min(columns, 100)


def test_quiet_says_only_what_went_wrong(run_path: Path) -> None:
    result = run(*FAST, "--quiet", "--a", A, "--system", "x=fake:", "--system", "y=fake:?leave=60", out=run_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == ["fdbcore run: y: failed: closed by the server: 1011"]


def test_a_dry_run_counts_and_writes_nothing(run_path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments = ["--dry-run", "--a", A, "--system", f"x=fake:?log={log}", "--trials", 3, "--max-s", 90]
    result = run(*arguments, "--jobs", 2, out=run_path, code=0)
    assert result.stdout.splitlines()[1].split() == ["x", "3", "3", "4:30", "2:15"]
    assert json.loads(run(*arguments, "--json", out=run_path).stdout)["systems"]["all"] == {
        "calls": 3,
        "left": 3,
        "audio_s": 270.0,
        "wall_s": 270.0,
        "usd": 0,
    }
    assert not run_path.exists()
    assert not log.exists()


def test_a_run_over_samples_of_the_benchmark_is_exported_in_its_form(run_path: Path, tmp_path: Path) -> None:
    sample = tmp_path / "data" / "pause_handling" / "7"
    sample.mkdir(parents=True)
    wavfile.write(sample / "input.wav", 16_000, np.random.default_rng(1).normal(0, 3000, 16_000).astype(np.int16))
    (sample / "pause.json").write_text("[]")
    clips = f"{tmp_path / 'data'}?tail_s=1"
    result = run(*FAST, "--quiet", "--clips", clips, "--system", "fake:?speak=70-90", out=run_path)
    assert (result.exit_code, result.output) == (0, "")
    done("export", run_path, "--format", "fdb1")
    files = {path.name for path in (run_path / "fdb1" / "pause_handling" / "7").iterdir()}
    assert files == {"input.wav", "output.wav", "pause.json"}
    with wave.open(str(run_path / "fdb1" / "pause_handling" / "7" / "output.wav")) as output:
        assert output.getnframes() == 48_000


def test_an_export_leaves_out_what_never_began_and_says_what_has_failed(run_path: Path, tmp_path: Path) -> None:
    for number in (7, 8):
        sample = tmp_path / "data" / "pause" / str(number)
        sample.mkdir(parents=True)
        wavfile.write(sample / "input.wav", 16_000, np.random.default_rng(1).normal(0, 3000, 16_000).astype(np.int16))
    systems = ("--system", "gone=fake:?open_error=refused", "--system", "leaves=fake:?speak=20-40&leave=50")
    assert run(*FAST, "--quiet", "--clips", tmp_path / "data", *systems, out=run_path).exit_code == 1
    exported = command("export", run_path, "--format", "fdb1", code=1)
    assert len(exported.stdout.splitlines()) == len(list((run_path / "fdb1").rglob("output.wav"))) == 2
    said = [line.split(": ", 2)[2] for line in exported.stderr.splitlines()]
    assert sorted(said) == [
        *["failed: closed by the server: 1011; output.wav is silent from 0.5 s on"] * 2,
        *["left out, expected a conversation, got one that never began: fake: refused with 401"] * 2,
    ]


def test_recorded_users_are_played_to_the_system(run_path: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 3000, 8_000).astype(np.int16)
    (tmp_path / "clips").mkdir()
    for name in ("one", "two"):
        wavfile.write(tmp_path / "clips" / f"{name}.wav", 16_000, noise)
    (tmp_path / "clips" / "one.json").write_text(json.dumps({"intent": "greet"}))
    clips = f"{tmp_path / 'clips'}?tail_s=1"
    costs = json.loads(run("--dry-run", "--json", "--clips", clips, "--system", "fake:", out=run_path).stdout)
    assert costs["systems"]["fake:"] == {"calls": 2, "left": 2, "audio_s": 3.0, "wall_s": 3.0, "usd": 0}
    result = run(*FAST, "--quiet", "--clips", clips, "--system", "fake:?speak=70-90", out=run_path)
    assert (result.exit_code, result.output) == (0, "")
    recording = Recording(run_path / "one")
    assert recording.n_ticks == 150
    clip = recording.meta["case"]["clip"]
    assert clip is not None
    assert clip["labels"] == {"intent": "greet"}
    assert recording.meta["parties"]["A"]["tail_s"] == 1.0
    other = run(
        *FAST, "--clips", f"{tmp_path / 'clips'}?tail_s=2", "--system", "fake:?speak=70-90", out=run_path, code=2
    )
    assert "a tail_s: 1.0 there, 2.0 here" in other.stderr
    (tmp_path / "none").mkdir()
    nothing = run("--clips", tmp_path / "none", "--system", "fake:", out=tmp_path / "other", code=2)
    assert "expected clips" in nothing.stderr


def test_one_bad_clip_loses_no_other_and_is_named(run_path: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    folders = [tmp_path / "these", tmp_path / "those"]
    for folder in folders:
        folder.mkdir()
        wavfile.write(folder / f"good-{folder.name}.wav", 16_000, rng.normal(0, 3000, 8_000).astype(np.int16))
    peaks = rng.normal(0, 300, 8_000)
    peaks[100] = 32_000
    wavfile.write(folders[0] / "peak.wav", 16_000, peaks.astype(np.int16))
    (folders[1] / "empty.wav").write_bytes(b"")
    clips = [option for folder in folders for option in ("--clips", f"{folder}?tail_s=1&level_dbov=-20")]
    result = run(*FAST, "--quiet", *clips, "--system", "fake:?speak=70-90", out=run_path, code=1)
    first, *invalid = result.stderr.splitlines()
    assert first.startswith(f"fdbcore run: {folders[1] / 'empty.wav'}: expected audio")
    assert first.endswith("its cases will be invalid")
    assert sorted(line.partition(" expected")[0] for line in invalid) == [
        f"fdbcore run: empty: invalid: {folders[1] / 'empty.wav'}:",
        f"fdbcore run: peak: invalid: {folders[0] / 'peak.wav'}: level_dbov:",
    ]
    outcomes = {
        path.parent.name: Recording(path.parent).meta["outcome"]["kind"] for path in run_path.glob("*/meta.json")
    }
    assert outcomes == {"good-these": "done", "good-those": "done", "empty": "invalid", "peak": "invalid"}


def test_a_clip_that_has_changed_is_not_counted_as_the_one_that_was_played(run_path: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 3000, 8_000).astype(np.int16)
    (tmp_path / "clips").mkdir()
    for name in ("one", "two"):
        wavfile.write(tmp_path / "clips" / f"{name}.wav", 16_000, noise)
    same = (*FAST, "--quiet", "--clips", f"{tmp_path / 'clips'}?tail_s=1", "--system", "fake:?speak=70-90")
    assert run(*same, out=run_path).exit_code == 0
    os.utime(tmp_path / "clips" / "one.wav", (1, 1))  # the same content at another time is the same clip
    assert run(*same, out=run_path).exit_code == 0
    wavfile.write(tmp_path / "clips" / "one.wav", 16_000, noise[::-1])
    for again in ((), ("--again", "all"), ("--dry-run",)):
        result = run(*same, *again, out=run_path, code=2)
        assert "expected the clips that its cases were held with, but the clip of one has changed" in result.stderr
    assert Recording(run_path / "one").meta.get("attempts", []) == []


def test_what_has_ended_is_held_again_by_again(run_path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    same = (*FAST, "--a", A, "--system", f"x=fake:?speak=80-150&log={log}")
    assert run(*same, out=run_path).exit_code == 0
    nothing = run(*same, out=run_path)
    assert nothing.stderr.splitlines() == ["all cases have ended; to run cases again: --again failed, invalid or all"]
    costs = json.loads(run(*same, "--again", "all", "--dry-run", "--json", out=run_path).stdout)["systems"]["x"]
    assert (costs["calls"], costs["left"]) == (1, 1)
    assert run(*same, "--again", "failed", out=run_path).exit_code == 0
    assert opened(log) == 1
    result = run(*same, "--again", "all", out=run_path)
    assert "x: 1 of 1 cases ended: 1 done, 0 failed, 0 invalid; 1 run more than once" in result.stdout
    assert opened(log) == 2


@pytest.mark.live
def test_what_fails_at_the_far_end_is_told_as_if_it_were_here(run_path: Path, tmp_path: Path) -> None:
    (tmp_path / "parrot.py").write_text(
        "import sys\n"
        "for _ in range(50):\n"
        "    sys.stdout.buffer.write(sys.stdin.buffer.read(960))\n"
        "    sys.stdout.buffer.flush()\n"
        "sys.exit(3)\n"
    )
    party = f"exec:{sys.executable} {tmp_path / 'parrot.py'}"
    run("--a", "echo", "--system", f"here={party}", "--system", f"there=far:{party}", out=run_path, code=1)
    here, there = (Recording(run_path / name).meta["outcome"] for name in ("here", "there"))
    assert there == here
    assert (here["kind"], here["side"]) == ("failed", "B")
    assert "code 3" in str(here["reason"])


def test_who_hangs_up_before_anybody_spoke_has_failed(run_path: Path) -> None:
    run(*FAST, "--a", "fake:?speak=50-90&finish=300", "--system", "x=fake:?finish=20", out=run_path)
    assert Recording(run_path / "x").meta["outcome"] == {"kind": "failed", "side": "B", "reason": "no speech found"}


def test_each_side_is_told_where_it_joins_once_it_can(run_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan([PlannedSystem("webrtc", "webrtc://:8791")], [User("", "webrtc://:8791")], LiveSettings())
    display = Display("fdbcore run", Status(), quiet=False, lines=True)
    display.begins(RunFolder(run_path, plan))
    for tick in (OPENING, WAITING, WAITING):
        display.progress(RunProgress([(plan.cases[0], tick)], 0.0))
    assert capsys.readouterr().err.splitlines() == [
        f"side {side}: join within 60 s at http://127.0.0.1:8791/?role={side.lower()} (with a browser, WHIP or /signal)"
        for side in "AB"
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--a", A], "Missing option '--system'"),
        (["--system", "fake:"], "expected one of --clips, --suite and --a, got none"),
        (["--a", A, "--clips", "x", "--system", "fake:"], "got --a and --clips"),
        (["--a", A, "--system", "nope://h"], "--system: expected one of"),
        (["--a", "nope", "--system", "fake:"], "--a: expected one of"),
        (["--a", A, "--system", "nope?key=hush"], "'nope?key=***'"),
        (["--a", A, "--system", "fake:", "--system", "fake:"], "got fake: 2 times"),
        (["--a", A, "--system", "fake:", "--limit", "fake:=0"], "expected SYSTEM=N, N at least 1"),
        (["--a", A, "--system", "fake:", "--limit", "x=1"], "--limit: expected the name of a system, fake:, got x"),
        (["--a", A, "--system", "x y=fake:"], "expected NAME=ADDRESS, the name of letters"),
        (
            ["--a", A, "--system", "fake:", "--vad", "nope"],
            "--vad: expected one of silero, energy, webrtc, or MODULE:CLASS",
        ),
        (
            ["--a", A, "--system", "fake:", "--limit", "fake:=1", "--limit", "fake:=2"],
            "each system once, got fake: again",
        ),
        (["--a", A, "--system", "fake:", "--set", "nope=1"], "NAME one of"),
        (
            ["--a", A, "--system", "fake:", "--set", "short_ms=500", "--set", "short_ms=700"],
            "--set short_ms=700: expected each setting once, got short_ms again",
        ),
        (
            ["--a", A, "--system", "fake:", "--set", "short_ms=-5"],
            "--set short_ms=-5: expected milliseconds as a whole",
        ),
        (["--a", A, "--system", "fake:", "--set", "short_ms=5"], "--set: short_ms: expected an int, a multiple of 10"),
        (["--a", A, "--system", "fake:", "--max-s", "nan"], "'nan' is no finite number"),
        (["--a", A, "--system", "fake:", "--max-s", "inf", "--dry-run"], "'inf' is no finite number"),
        (["--a", A, "--system", "webrtc:?silent_s=-3"], "silent_s: expected a number from 0.001 to 86400, got '-3'"),
        (["--a", A, "--system", "whip:?join_s=nan"], "whip: join_s: expected a number from 0.001 to 86400, got 'nan'"),
        (["--a", A, "--system", "webrtc:?ice=foo"], "ice: expected stun:HOST:PORT, got 'foo'"),
        (["--a", A, "--system", "webrtc:?ice=stun:h:99999"], "ice: expected stun:HOST:PORT"),
        (["--a", A, "--system", "fake:", "--jobs", "0"], "expected a whole number of at least 1, or auto, got 0"),
        (
            ["--clock", "virtual", "--a", A, "--system", "fake:?clocking=burst"],
            "cannot drive a party that follows burst",
        ),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(arguments: list[str], expected: str, run_path: Path) -> None:
    assert expected in run(*arguments, out=run_path, code=2).stderr
    assert not run_path.exists()


def test_a_folder_of_something_else_is_left_alone(run_path: Path) -> None:
    run_path.mkdir()
    (run_path / "thesis.txt").write_text("mine")
    assert "expected a new folder or that of a run" in run("--a", A, "--system", "fake:", out=run_path, code=2).stderr
    assert [item.name for item in run_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_cannot_be_made(run_path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run("--a", A, "--system", "fake:", out=tmp_path / "file" / "run", code=1).stderr.count("\n") == 1


def test_a_missing_extra_is_one_line(run_path: Path) -> None:
    result = run(*FAST, "--a", A, "--system", "fake:?open_error=extra", "--trials", 3, out=run_path, code=1)
    assert result.stderr.splitlines() == ["fdbcore run: fake: not installed (pip install fake)"]


def test_no_key_is_left_anywhere(run_path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    systems = [f"fake:?key=hush&{what}&log={log}" for what in ("speak=60-70", "say_error=bug", "leave=9")]
    named = [f"s{i}={system}" for i, system in enumerate(systems)]
    options = [option for system in [*named, systems[0]] for option in ("--system", system)]
    assert "hush" not in run(*FAST, "--a", f"{A}&key=hush", *options, out=run_path, code=1).output
    assert "fake:?key=***" in (run_path / SUMMARY).read_text()
    written = [path.read_bytes() for path in run_path.rglob("*") if path.is_file()]
    assert len(written) > 12
    assert not any(b"hush" in content for content in written)


def test_a_run_that_is_killed_goes_on_and_repeats_only_what_was_live(run_path: Path, plugin: Path) -> None:
    log = plugin.parent / "log"
    command = (*QUICK, "--system", f"x=fake:?log={log}", "--trials", 2, "--out", run_path)
    process = running(plugin, *command)
    wait_until(lambda: opened(log) == 2)
    process.kill()
    process.communicate()
    first = json.loads((run_path / RUN).read_text())["cases"][0]["name"]
    created = Recording(run_path / first).meta["created"]
    again = running(plugin, *command)
    stdout, stderr = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, stderr
    assert "2 of 2 cases ended: 2 done" in stdout
    assert opened(log) == 3
    assert Recording(run_path / first).meta["created"] == created


def test_a_call_has_no_outcome_before_the_rule_for_examiners_has_spoken(run_path: Path, plugin: Path) -> None:
    """The rule itself kills the whole run the first time, so the call is held again, and is invalid at its end."""
    system = f"x=fake:?speak=60-90&rule=the examiner went deaf&kill={plugin.parent / 'killed'}"
    command = (*FAST, "--a", A, "--system", system, "--out", run_path)
    killed = running(plugin, *command)
    killed.communicate(timeout=PATIENCE_S)
    assert killed.returncode == -signal.SIGKILL
    left = json.loads((run_path / "x" / META).read_text())
    assert (left["status"], "outcome" in left) == ("complete", False)
    again = running(plugin, *command)
    stdout, stderr = again.communicate(timeout=PATIENCE_S)
    assert "x: 1 of 1 cases ended: 0 done, 0 failed, 1 invalid; 1 run more than once" in stdout, stderr
    assert Recording(run_path / "x").meta["outcome"]["reason"] == "the examiner went deaf"


@pytest.mark.parametrize("moment", ["the last call ends", "recordings are scored"])
def test_ctrl_c_before_the_results_says_how_to_get_them(
    moment: str, run_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as the last call ends, where nothing is left to be ended; and once while recordings are scored."""
    command = (*FAST, "--a", A, "--system", "x=fake:", "--trials", 2)
    with monkeypatch.context() as interrupted:
        if moment == "the last call ends":
            interrupted.setattr(Display, "asked", lambda self: NOW if self._kinds.total() == 2 else GO_ON)
        else:
            interrupted.setattr(live, "score", lambda reading: os.kill(os.getpid(), signal.SIGINT))
        result = run(*command, out=run_path)
    assert (result.exit_code, result.stdout) == (130, "")
    told = "interrupted, all cases have ended and are kept; run the same command again for the results"
    assert result.stderr.splitlines()[-1] == f"fdbcore run: {told}"
    created = [Recording(path.parent).meta["created"] for path in sorted(run_path.glob(f"*/{META}"))]
    assert "x: 2 of 2 cases ended: 2 done" in run(*command, out=run_path, code=0).stdout
    assert created == [Recording(path.parent).meta["created"] for path in sorted(run_path.glob(f"*/{META}"))]


def test_ctrl_c_once_finishes_the_live_call_and_no_more(run_path: Path, plugin: Path) -> None:
    command = (*QUICK, "--system", "x=fake:", "--trials", 3, "--out", run_path)
    process = running(plugin, *command)
    wait_until(lambda: any(run_path.glob(f"*/{AUDIO}")))
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    tested, *lines = stderr.splitlines()
    assert tested.startswith("fdbcore run: timing self-test ")
    assert lines == [
        "finishing the live calls; press Ctrl-C again to end them now",
        f"{next(run_path.glob('x-*')).name}: done (1 of 3)",
        "fdbcore run: interrupted, 2 of 3 cases left; run the same command again to continue",
    ]
    assert "x: 1 of 3 cases ended: 1 done" in stdout


def test_what_ends_a_process_in_good_order_ends_the_live_calls_at_once(run_path: Path, plugin: Path) -> None:
    command = ("--vad", "energy", "--a", "fake:?finish=90000", "--system", "x=fake:", "--out", run_path)
    process = running(plugin, *command)
    wait_until(lambda: recorded_s(run_path / "x") >= 1)
    process.terminate()
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert stderr.splitlines()[1:] == [
        "ending the live calls",
        "fdbcore run: interrupted, 1 of 1 cases left; run the same command again to continue",
    ]
    assert Recording(run_path / "x").meta["status"] == "interrupted"


def test_ctrl_c_twice_ends_the_live_calls_and_keeps_what_they_recorded(run_path: Path, plugin: Path) -> None:
    command = ("--vad", "energy", "--a", "fake:?finish=90000", "--system", "x=fake:", "--out", run_path)
    process = running(plugin, *command)
    wait_until(lambda: recorded_s(run_path / "x") >= 1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("fdbcore run: timing self-test ")
    assert process.stderr.readline().startswith("finishing")
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert (
        stderr.splitlines()[-1] == "fdbcore run: interrupted, 1 of 1 cases left; run the same command again to continue"
    )
    assert Recording(run_path / "x").meta["status"] == "interrupted"
    with wave.open(str(run_path / "x" / AUDIO)) as audio:
        assert audio.getnframes() >= 48_000
