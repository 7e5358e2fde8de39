"""From a file of labels to the scores of one call and of many; and what is exported for TurnBench."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fakes.recordings import drawn_recording
from helpers.commands import command
from helpers.voices import voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import read_quantities, read_scores, score
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import ACTIVITY, AUDIO, META
from fdbcore.recording.labels import Label, given_labels, keep_labels
from fdbcore.recording.run import read_corpus
from fdbcore.report.exports.formats import export
from fdbcore.runs.replays import replay

DIALOGUE = "A 0.3-2 3-4 7.5-8 | B 2.3-2.7 4.5-8.3"
HEADER = "call,side,kind,start_s,end_s"
CUT_OFF = "cut_off_per_labelled_a_pause"


def replayed(*arguments: object, code: int | None = None) -> Result:
    return command("replay", "--vad", "energy", "--jobs", "1", *arguments, code=code)


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]))
    return path


def counts(run: Path, name: str) -> tuple[int, int]:
    found = read_scores(Reading(run / name))["measures"].get(CUT_OFF, {"count": 0, "n": 0})
    return found["count"], found["n"]


@pytest.fixture
def call(tmp_path: Path) -> Path:
    return write(tmp_path / "call.wav", voices(DIALOGUE))


def test_labels_of_one_call_are_kept_measured_and_shown(call: Path, tmp_path: Path) -> None:
    labels = table(
        tmp_path / "l.csv", "call.wav,A,pause,2,3", "call,A,end of turn,4,", "call,A,bc,7.5,8", "x,A,pause,1,2"
    )
    result = replayed(call, "--labels", labels, "--out", tmp_path / "RUN", code=0)
    assert re.search(
        r"false cut-ins 1/1 pauses \| response rate 1/1 turn ends, response latency 0\.(49|50|51) s \(median\)",
        " ".join(result.stdout.split()),
    )
    assert "names in l.csv without a call here, left out with their labels: 1: x (1)" in result.stderr
    page = (tmp_path / "RUN" / "call" / "report.html").read_text()
    assert "false cut-ins" in page
    given = given_labels(tmp_path / "RUN" / "call")
    assert given is not None
    assert given[0] == "../../l.csv"
    assert len(given[1]) == 3
    document = json.loads(replayed(call, "--labels", labels, "--json", "--out", tmp_path / "RUN").stdout)
    assert document["labels"]["counts"] == {"A backchannel": 1, "A pause": 1, "A turn_end": 1}
    assert document["measures"][CUT_OFF]["count"] == 1


def test_a_score_made_again_still_has_the_labels(call: Path, tmp_path: Path) -> None:
    replayed(call, "--labels", table(tmp_path / "l.csv", "call,A,pause,2,3"), "--out", tmp_path / "RUN")
    again = score(Reading(tmp_path / "RUN" / "call"))
    assert again["measures"][CUT_OFF]["n"] == 1


def test_a_replay_of_a_recording_takes_its_labels_along(tmp_path: Path) -> None:
    held = drawn_recording(tmp_path / "held", DIALOGUE)
    assert (held.path / AUDIO).is_file()
    keep_labels(held.path, "by hand", [Label("A", "pause", 2, 3)])
    recording = replay(held.path, out=tmp_path / "RUN", vad="energy")
    assert given_labels(recording.path) == ("by hand", [Label("A", "pause", 2, 3)])


def test_labels_of_many_calls_are_joined_and_may_change_without_a_new_replay(call: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / "calls").mkdir(exist_ok=True)
        (tmp_path / "calls" / f"{name}.wav").write_bytes(call.read_bytes())
    run = tmp_path / "RUN"
    labels = table(tmp_path / "l.csv", "one,A,pause,2,3", "two,right,pause,2,3", "four,A,pause,2,3", "two,A,hm,1,2")
    replayed(tmp_path / "calls", "--labels", labels, "--out", run, "--jobs", 2, code=0)
    assert (counts(run, "one"), counts(run, "two"), counts(run, "three")) == ((1, 1), (0, 0), (0, 0))
    odd = read_corpus(run)["oddities"]
    assert odd["labels of unknown kind 'hm', left out"] == ["l.csv, line 5"]
    assert odd["names in l.csv without a call here, left out with their labels"] == ["four (1)"]
    made = {name: (run / name / ACTIVITY).stat().st_mtime_ns for name in ("one", "two")}
    table(labels, "one,A,pause,2,3", "two,A,pause,2,2.9", "three,A,pause,5,6")
    assert "false cut-ins 2/2 pauses" in replayed(tmp_path / "calls", "--labels", labels, "--out", run).stdout
    assert made == {name: (run / name / ACTIVITY).stat().st_mtime_ns for name in made}
    again = {call.name: call.quantities[CUT_OFF] for call in Run(run).calls}
    assert again["two"] == read_quantities(Reading(run / "two"))[0][CUT_OFF]
    replayed(tmp_path / "calls", "--out", run)
    assert counts(run, "two") == (1, 1)  # kept, as its recording is


def test_channels_are_sides_as_each_call_has_them(call: Path, tmp_path: Path) -> None:
    for name in ("plain", "turned"):
        (tmp_path / f"{name}.wav").write_bytes(call.read_bytes())
    meta = tmp_path / "meta.csv"
    meta.write_text("file,agent_channel\nplain.wav,right\nturned.wav,left\n")
    labels = table(tmp_path / "l.csv", "plain,left,pause,2,3", "turned,left,pause,2,3")
    files = [tmp_path / "plain.wav", tmp_path / "turned.wav"]
    replayed(*files, "--meta", meta, "--labels", labels, "--out", tmp_path / "RUN")
    sides = [given_labels(tmp_path / "RUN" / name)[1][0].side for name in ("plain", "turned")]  # type: ignore[index]
    assert sides == ["A", "B"]


@pytest.mark.parametrize(("text", "message"), [("", "expected the columns"), (f"{HEADER}\n", "expected labels")])
def test_a_file_without_labels_is_wrong_usage(text: str, message: str, call: Path, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text)
    assert message in replayed(call, "--labels", tmp_path / "l.csv", "--out", tmp_path / "RUN", code=2).stderr
    assert not (tmp_path / "RUN").exists()


def turnbench(tmp_path: Path, *drawings: str) -> dict[str, Any]:
    recordings = [drawn_recording(tmp_path / "RUN" / str(n), drawing) for n, drawing in enumerate(drawings)]
    (path,) = export(recordings, "turnbench")
    assert path == tmp_path / "RUN" / "turnbench.json"
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_turnbench_has_the_moments_at_which_events_became_known(tmp_path: Path) -> None:
    content = turnbench(tmp_path, "A 0-2 5-7 | B 2.3-4.6", "A 2-6 | B 0-2.5 9-10", "A 2-2.5 | B 0-5")
    assert content["schema_version"] == 1
    first, second, last = content["predictions"]
    assert [each["conversation_id"] for each in content["predictions"]] == ["0", "1", "2"]
    # B has the floor when it has spoken for longer than short_ms, which is known min_silence and the delay of the
    # activity later; A's second turn is nowhere near an end
    assert first["speaker_1"] == {"eot": [pytest.approx(2.3 + 1 + 0.2 + 0.2, abs=0.02)], "interruption": []}
    assert first["speaker_2"]["eot"] == [pytest.approx(5 + 1 + 0.2 + 0.2, abs=0.02)]
    assert len(second["speaker_1"]["interruption"]) == 1
    assert second["speaker_2"]["interruption"] == []
    assert last["speaker_1"] == {"eot": [], "interruption": []}  # B kept the floor
    recordings = [Reading(tmp_path / "RUN" / str(n)) for n in range(3)]
    for each, recording in zip(content["predictions"], recordings, strict=True):
        for speaker in ("speaker_1", "speaker_2"):
            assert set(each[speaker]) == {"eot", "interruption"}
            for moments in each[speaker].values():
                assert moments == sorted(set(moments))
                assert all(0 < moment <= recording.n_ticks / 100 for moment in moments)


def test_turnbench_names_what_it_leaves_out(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "RUN" / "a", DIALOGUE)
    drawn_recording(tmp_path / "RUN" / "b", DIALOGUE)
    meta = json.loads((recording.path / META).read_text())
    (recording.path / META).write_text(json.dumps(meta | {"status": "interrupted", "reason": "stopped"}))
    result = command("export", tmp_path / "RUN", "--format", "turnbench", "--out", tmp_path, code=1)
    assert "a: left out, expected complete, got interrupted: stopped" in result.stderr
    content = json.loads((tmp_path / "turnbench.json").read_text())
    assert [each["conversation_id"] for each in content["predictions"]] == ["b"]


def test_a_call_with_interruptions_and_backchannels_is_read_again(tmp_path: Path) -> None:
    """Selectivity is the difference of two shares, so it is in the scores and no stored quantity."""
    sample = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"
    labels = table(tmp_path / "l.csv", "sample,A,interruption,49.98,51.5", "sample,A,backchannel,20.42,20.75")
    assert replayed(sample, "--labels", labels, "--out", tmp_path / "RUN").exit_code == 0
    for arguments in ("score", "report"):
        found = command(arguments, tmp_path / "RUN", "--quiet")
        assert (found.exit_code, found.stderr) == (0, ""), found.output
    assert read_scores(Reading(tmp_path / "RUN" / "sample"))["measures"]["b_selectivity"]
