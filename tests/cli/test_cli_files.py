"""What a user's files may be called, and what becomes of odd ones, through the commands: nothing joins by mistake."""

import os
import subprocess
import sys
from pathlib import Path

import av
import pytest
from click.testing import Result
from helpers.commands import command, done, refused
from helpers.voices import RATE_HZ, voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.recording.labels import Label, given_labels

DIALOGUE = "A 0.5-2 | B 2.4-3"


def replayed(*arguments: object, code: int | None = None) -> Result:
    return command("replay", "--vad", "energy", "--jobs", 1, *arguments, code=code)


@pytest.fixture
def tuesday(tmp_path: Path) -> Path:
    """A folder of one day of calls."""
    (tmp_path / "m" / "tuesday").mkdir(parents=True)
    write(tmp_path / "m" / "tuesday" / "call.wav", voices(DIALOGUE))
    return tmp_path / "m"


def test_a_row_of_another_folder_neither_swaps_nor_names_a_call(tuesday: Path, tmp_path: Path) -> None:
    meta = tmp_path / "meta.csv"
    meta.write_text("file,agent_channel,version\nmonday/call.wav,left,v1\ntuesday/call.wav,right,v2\n")
    result = replayed(tuesday, "--meta", meta, "--out", tmp_path / "RUN", code=0)
    (call,) = Run(tmp_path / "RUN").calls
    assert call.columns["version"] == "v2"
    assert call.recording.meta["source"]["swap"] is False
    assert "rows of meta.csv without a file: 1: monday/call.wav" in result.stderr


def test_labels_of_another_folder_are_not_of_a_call(tuesday: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    rows = ["monday/call,A,pause,1,2", "tuesday/call,A,pause,2,3"]
    labels.write_text("\n".join(["call,side,kind,start_s,end_s", *rows]))
    assert replayed(tuesday, "--labels", labels, "--out", tmp_path / "RUN").exit_code == 0
    given = given_labels(tmp_path / "RUN" / "call")
    assert given is not None
    assert given[1] == [Label("A", "pause", 2, 3)]


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("--meta", "file,agent_channel\ncall-01.wav,left\n", "expected rows of the calls to replay, such as"),
        ("--meta", "file,agent_channel\ncall.wav,left\ncall,right\n", "expected one row of the call call, got"),
        ("--labels", "call,side,kind,start_s,end_s\ncall-1,A,pause,1,2\n", "expected labels of the calls to replay"),
    ],
)
def test_a_table_that_fits_nothing_or_twice_is_wrong_usage(
    option: str, text: str, expected: str, tuesday: Path, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text(text)
    assert expected in replayed(tuesday, option, tmp_path / "table.csv", "--out", tmp_path / "RUN", code=2).stderr
    assert not (tmp_path / "RUN").exists()


def test_linked_recordings_keep_their_sides_offset_and_settings(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("left", "right"):
        write(calls / f"{name}.wav", voices(DIALOGUE, 1.5 + len(name)))
    (tmp_path / "meta.csv").write_text("file,agent_channel\nleft.wav,left\nright.wav,right\n")
    settings = ("--offset-ms", 150, "--set", "min_silence_ms=300")
    assert replayed(calls, "--meta", tmp_path / "meta.csv", *settings, "--out", tmp_path / "RUN").exit_code == 0
    assert not list((tmp_path / "RUN").glob("*/session.wav"))
    again = command("replay", tmp_path / "RUN", "--out", tmp_path / "AGAIN")
    alone = command("replay", tmp_path / "RUN" / "left", "--out", tmp_path / "ALONE")
    assert (again.exit_code, alone.exit_code) == (0, 0)
    before = {call.name: call.recording for call in Run(tmp_path / "RUN").calls}
    for run, names in (("AGAIN", ["left", "right"]), ("ALONE", ["left"])):
        found = {call.name: call.recording for call in Run(tmp_path / run).calls}
        assert list(found) == names
        for name, recording in found.items():
            assert recording.meta["source"]["swap"] is (name == "left")
            assert recording.meta["source"]["offset_ms"] == 150
            assert recording.meta["settings"] == before[name].meta["settings"]
            assert recording.turn_events == before[name].turn_events
            assert recording.meta["held"]["same"] is True


def test_a_run_of_linked_recordings_is_examined_never_changed_and_joined_by_its_sources(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("one", "two"):
        write(calls / f"{name}.wav", voices(DIALOGUE, len(name) / 2))
    (tmp_path / "meta.csv").write_text("file,agent_channel,v\ncalls/one.wav,left,1\ncalls/two.wav,right,2\n")
    run = tmp_path / "RUN"
    replayed(calls, "--meta", tmp_path / "meta.csv", "--out", run)
    for subject in (run, run / "one"):
        assert "no such" not in command("doctor", "--vad", "energy", subject).output
    assert command("doctor", "--vad", "energy", run).stdout.count("health: ") == 2
    refused = command("doctor", "--vad", "energy", calls, code=1)
    assert f"fdbcore replay {calls} examines every call in it" in refused.stderr
    before = (run / "corpus.json").read_bytes()
    for option in (("--swap",), ("--out", run)):
        result = command("replay", run, *option, code=2)
        assert "a recording keeps its sides" in result.stderr or "expected another folder" in result.stderr
    assert command("replay", run / "one", "--out", run).exit_code == 2
    assert (run / "corpus.json").read_bytes() == before
    result = done("replay", run, "--meta", tmp_path / "meta.csv", "--out", tmp_path / "AGAIN")
    assert [call.columns["v"] for call in Run(tmp_path / "AGAIN").calls] == ["1", "2"]
    (tmp_path / "meta.csv").write_text("file,agent_channel\none.wav,right\n")
    assert "keeps its sides" in command("replay", run, "--meta", tmp_path / "meta.csv", "--out", tmp_path / "X").stderr


def test_odd_files_in_a_folder_lose_no_other_call(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("one", "two"):
        write(calls / f"{name}.wav", voices(DIALOGUE, len(name) / 2))
    (calls / "self.wav").symlink_to("self.wav")
    (calls / "loop").symlink_to("loop")
    (calls / "._one.wav").write_bytes(b"\0\5\26\7\0\2\0\0Mac OS X        ")
    result = replayed(calls, "--out", tmp_path / "RUN")
    assert [call.unscored is None for call in Run(tmp_path / "RUN").calls] == [True, False, True]
    lines = result.stderr.splitlines()
    assert lines[0] == f"fdbcore replay: {calls}/self.wav: expected an audio file, got a link that leads nowhere"
    assert f"fdbcore replay: files of macOS beside others in {calls}, left out: 1: ._one.wav" in lines
    assert result.exit_code == 1


LONG = "x" * 5000 + ".wav"


@pytest.mark.parametrize("name", [LONG, "x" * 300 + ".wav", "self.wav", "self.wav/x.wav"])
@pytest.mark.parametrize("how", ["path", "list", "pattern", "a", "out", "meta", "labels", "run", "doctor", "agree"])
def test_no_name_is_a_traceback(how: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "self.wav").symlink_to("self.wav")
    good = write(tmp_path / "good.wav", voices(DIALOGUE))
    path, out = tmp_path / name, ("--out", tmp_path / "RUN")
    (tmp_path / "calls.txt").write_text(name)
    result = {
        "path": lambda: replayed(path, *out),
        "list": lambda: replayed(tmp_path / "calls.txt", *out),
        "pattern": lambda: replayed(f"{path}*", *out),
        "a": lambda: replayed("-a", path, "-b", good, *out),
        "out": lambda: replayed(good, "--out", path),
        "meta": lambda: replayed(good, "--meta", path, *out),
        "labels": lambda: replayed(good, "--labels", path, *out),
        "run": lambda: command("report", path),
        "doctor": lambda: command("doctor", path),
        "agree": lambda: command("agree", path, path),
    }[how]()
    assert result.exit_code in (1, 2), result.output
    told = [line for line in result.stderr.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(told) == 1, told


def test_a_name_that_no_file_can_have_loses_no_other_call_of_a_list(tmp_path: Path) -> None:
    (tmp_path / "self.wav").symlink_to("self.wav")
    write(tmp_path / "good.wav", voices(DIALOGUE))
    (tmp_path / "calls.txt").write_text(f"{LONG}\nself.wav\ngood.wav\n")
    assert replayed(tmp_path / "calls.txt", "--out", tmp_path / "RUN").exit_code == 1
    assert [call.unscored is None for call in Run(tmp_path / "RUN").calls] == [False, False, True]


@pytest.mark.parametrize("option", ["", "-a", "--out", "--meta"])
@pytest.mark.parametrize(("path", "told"), [("", "is a variable not set?"), ("https://x.y/z.wav", "download it")])
def test_nothing_and_an_address_are_no_path(option: str, path: str, told: str) -> None:
    assert told in refused("replay", *filter(None, [option]), path)


@pytest.mark.parametrize("arguments", [("doctor", ""), ("report", ""), ("run", "--system", "echo", "--clips", "")])
def test_an_unset_variable_is_not_the_current_folder(arguments: tuple[str, ...]) -> None:
    assert "is a variable not set?" in command(*arguments).stderr


def test_other_audio_is_named_as_such_and_read_where_it_is_named(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    (calls / "new").mkdir(parents=True)
    samples = voices(DIALOGUE)
    with av.open(str(calls / "new" / "a.mov"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE_HZ, layout="stereo")
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate = RATE_HZ
        container.mux([*stream.encode(frame), *stream.encode(None)])
    result = replayed(calls, "--out", tmp_path / "RUN", code=2)
    assert f"found none; name 1 .mov to read them, as by '{calls}/**/*.mov'" in result.stderr
    assert replayed(f"{calls}/**/*.mov", "--out", tmp_path / "RUN").exit_code == 0
    write(calls / "b.wav", samples)
    result = replayed(calls, "--out", tmp_path / "RUN")
    assert f"audio in {calls} that is not searched for, left out: name it, as by '{calls}/**/*.mov': 1: 1 .mov" in (
        result.stderr
    )


@pytest.mark.parametrize("text", [None, "not JSON"])
def test_one_recording_that_is_gone_stops_no_other(text: str | None, tmp_path: Path) -> None:
    calls, run = tmp_path / "calls", tmp_path / "RUN"
    calls.mkdir()
    for name in ("one", "two"):
        write(calls / f"{name}.wav", voices(DIALOGUE, len(name) / 2))
    replayed(calls, "--out", run)
    meta = run / "one" / "meta.json"
    meta.unlink() if text is None else meta.write_text(text)
    report = command("report", run, code=1)
    assert "1 scored, 1 not" in report.stdout
    score = command("score", run, code=1)
    for said in (report.stderr, score.stderr):
        (line,) = said.splitlines()
        assert str(run / "one") in line
    export = command("export", run, "--format", "csv", "--out", tmp_path / "out")
    assert [Path(line).name for line in export.stdout.splitlines()] == ["two.csv"]
    (run / "corpus.json").unlink()
    assert command("report", run).exit_code == (0 if text is None else 1)  # a folder without meta.json is no call


def test_a_link_to_nothing_or_onto_itself_is_named_as_one(tmp_path: Path) -> None:
    for name, target in (("dangling.wav", "nowhere"), ("loop.wav", "loop.wav")):
        (tmp_path / name).symlink_to(target)
        result = command("replay", tmp_path / name, "--out", tmp_path / "run", code=1)
        assert f"{name}: expected an audio file, got a link that leads nowhere" in result.stderr


def test_a_file_that_may_not_be_read_stops_no_other(tmp_path: Path) -> None:
    readable = write(tmp_path / "full.wav", voices(DIALOGUE))
    secret = write(tmp_path / "secret.wav", voices(DIALOGUE))
    secret.chmod(0)
    run = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "fdbcore.cli",
        "replay",
        *map(str, (secret, readable, "--vad", "energy", "--out", run)),
    ]
    if os.geteuid() == 0:  # root may read it all the same, unless it gives that up
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert "secret.wav: expected a regular file that may be read" in result.stderr
    assert [call.name for call in Run(run).scored] == ["full"]


def test_what_replay_needs_is_said(tmp_path: Path) -> None:
    for arguments in ((), ("x.wav", "-a", "y.wav"), ("-a", "y.wav")):
        assert "give recordings or folders, or both -a FILE and -b FILE" in command("replay", *arguments).stderr
