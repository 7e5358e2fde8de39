"""No file of a run names an absolute path, and a run that is moved with its input goes on where it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import command, done
from helpers.voices import DIALOGUE, voices, write

from fdbcore.recording.places import located, place_from, text_with_places_from, with_places_from

REPLAYED, HELD = "R", "L"
REPLAY = (
    *("replay", "calls", "--labels", "labels.csv", "--meta", "meta.csv", "--agent-log", "logs"),
    *("--vad", "energy", "--jobs", 1, "--out", REPLAYED),
)
RUN = ("run", "--system", "echo", "--clips", "calls/a.wav", "--clock", "virtual", "--vad", "energy", "--out", HELD)


def fdbcore(*words: object) -> str:
    result = done(*words)
    return result.output


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with input, a replay of it, a live run, and a replay of that; commands got absolute paths, too."""
    folder = tmp_path / "somebody" / "project"
    write(folder / "calls" / "a.wav", voices(DIALOGUE))
    (folder / "calls" / "b.wav").write_text("no audio")
    (folder / "labels.csv").write_text("file,side,kind,start_s,end_s\na.wav,A,turn_end,2,2\n")
    (folder / "meta.csv").write_text("file,source,note\na.wav,web,one\nb.wav,/not/ours,two\n")
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text("no log")
    monkeypatch.chdir(folder)
    for arguments in (REPLAY, RUN):
        words = [str(word) for word in arguments]
        command(*[str(folder / word) if (folder / word).exists() else word for word in words])
    fdbcore("replay", folder / HELD / "a", "--vad", "energy", "--out", "LR")
    fdbcore("score", folder / REPLAYED)
    (folder / "gates.toml").write_text('gates = [{ check = "response_latency_ms <= 10" }]')
    command("report", f"{folder}/{REPLAYED}", "--baseline", f"{folder}/LR", "--gate", f"{folder}/gates.toml")
    return folder


def test_no_file_of_a_run_names_an_absolute_path(project: Path) -> None:
    files = [path for run in (REPLAYED, HELD, "LR") for path in (project / run).rglob("*") if path.is_file()]
    assert len(files) > 30
    assert (project / REPLAYED / "gates.json") in files
    assert [str(path) for path in files if str(project).encode() in path.read_bytes()] == []
    # What a user wrote into a table stays what it is.
    assert "/not/ours" in (project / REPLAYED / "corpus.json").read_text()


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_a_run_that_is_moved_with_its_input_goes_on(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (project / REPLAYED / "scores.json").read_bytes()
    metas = [path.read_bytes() for path in sorted(project.rglob("*/meta.json"))]
    there = tmp_path / "elsewhere"
    (tmp_path / "somebody").rename(there)
    (tmp_path / "link").symlink_to(there / "project" / REPLAYED)
    monkeypatch.chdir(there / "project")
    fdbcore("score", tmp_path / "link")
    assert (there / "project" / REPLAYED / "scores.json").read_bytes() == before
    monkeypatch.chdir(there / "project" / "calls")
    command("report", f"../{REPLAYED}", "--call", "a")
    monkeypatch.chdir(there / "project")
    assert "against LR," in Path(REPLAYED, "compare.html").read_text()
    (address,) = set(re.findall(r'src="([^"]*\.wav)"', Path(REPLAYED, "a", "report.html").read_text()))
    assert (Path(REPLAYED, "a") / address).resolve() == there / "project" / "calls" / "a.wav"
    command(*REPLAY)
    fdbcore(*RUN)
    assert [path.read_bytes() for path in sorted((there / "project").rglob("*/meta.json"))] == metas


def test_recordings_of_earlier_versions_name_absolute_paths(project: Path, tmp_path: Path) -> None:
    for path in (Path(REPLAYED, "a", "meta.json"), Path(REPLAYED, "corpus.json"), Path(HELD, "run.json")):
        folder = project / path.parent
        text = re.sub(r'"(?:\.\./)+(calls/a\.wav)"', rf'"{project}/\1"', path.read_text())
        assert str(project) in text
        (folder / path.name).write_text(text)
    fdbcore("report", REPLAYED, "--call", "a")
    assert 'src="../../calls/a.wav"' in Path(REPLAYED, "a", "report.html").read_text()
    fdbcore(*RUN)
    command("replay", f"{REPLAYED}/a", "--vad", "energy", "--out", "again")
    assert read(Path("again", "a", "meta.json"))["source"]["files"][0]["path"] == "../../calls/a.wav"


def test_places_go_there_and_back(tmp_path: Path) -> None:
    (tmp_path / "real" / "run" / "call").mkdir(parents=True)
    (tmp_path / "short").symlink_to(tmp_path / "real" / "run")
    file, recording = tmp_path / "x.wav", tmp_path / "short" / "call"
    assert place_from(recording, file) == "../../../x.wav"
    assert located(recording, "../../../x.wav") == located(recording, str(file)) == file
    value = {"path": str(file), "columns": {"path": str(file)}, "files": [{"path": "../x.wav"}, {"path": "x.wav"}]}
    assert with_places_from(recording, value, written_in=tmp_path / "short") == {
        "path": "../../../x.wav",
        "columns": {"path": str(file)},
        "files": [{"path": "../../x.wav"}, {"path": "x.wav"}],
    }
    (tmp_path / "my calls").mkdir()
    file.touch()
    told = f"/not/there, '{file}': in {tmp_path}/my calls: 3 and/or https://x/y"
    assert text_with_places_from(recording, told) == (
        "/not/there, '../../../x.wav': in ../../../my calls: 3 and/or https://x/y"
    )
