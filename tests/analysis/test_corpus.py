"""A run as a table sees it, replayed or live: all its calls are there, with what is known of each, and what differs."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from fakes.run_parties import install
from helpers.commands import command, done
from helpers.made_runs import Manner, drawn_calls, made_run
from helpers.voices import DIALOGUE, voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import quantities, read_quantities, score
from fdbcore.analysis.settings_differences import differing_within
from fdbcore.errors import RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META, QUANTITIES, settings_hash, write_json
from fdbcore.recording.run import DONE, FAILED, WAITING, read_corpus
from fdbcore.runs.replays import replay
from fdbcore.types import TurnSettings


@pytest.fixture
def call(tmp_path: Path) -> Path:
    return write(tmp_path / "call.wav", voices(DIALOGUE))


def test_a_scored_recording_keeps_the_items_of_its_measures(call: Path, tmp_path: Path) -> None:
    recording = replay(call, out=tmp_path / "run", vad="energy")
    assert read_quantities(recording) == (quantities(recording), {})
    (recording.path / QUANTITIES).write_text('{"quantities": [1]}')
    with pytest.raises(RecordingError, match=r"quantities.json: damaged: Object missing required field `schema`"):
        read_quantities(Reading(recording.path))


def test_a_folder_of_recordings_is_a_run(call: Path, tmp_path: Path) -> None:
    recording = replay(call, out=tmp_path / "run", vad="energy")
    for path in (tmp_path / "run", recording.path):
        corpus = Run(path)
        (found,) = corpus.calls
        assert (found.name, found.status, found.unscored) == ("call", DONE, None)
        assert found.files == (os.path.relpath(call, path),)
        assert found.quantities == quantities(recording)
        assert corpus.settings == recording.meta["settings"]
        assert corpus.settings_sha256s == {recording.meta["settings_sha256"]: 1}
        assert corpus.versions["fdbcore"] == [recording.meta["versions"]["fdbcore"]]
    (recording.path / QUANTITIES).unlink()
    assert found.quantities == quantities(recording)
    write_json(recording.path / META, recording.meta | {"status": "interrupted", "reason": "stopped"})
    (cut_off,) = Run(tmp_path / "run").calls
    assert (cut_off.status, cut_off.unscored, cut_off.quantities) == (FAILED, "stopped", {})


def test_a_live_run_has_the_columns_of_its_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    systems = ["--system", "good=fake:?speak=80-150", "--system", "bad=fake:?open_error=bug", "--trials", "2"]
    arguments = ["run", "--vad", "energy", "--clock", "virtual", "--a", "fake:?speak=10-50&finish=300", *systems]
    command(*arguments, "--quiet", "--out", tmp_path / "run")
    corpus = Run(tmp_path / "run")
    told = {
        call.name: (call.columns["system"], call.columns["trial"], call.columns["outcome"]) for call in corpus.calls
    }
    assert told == {
        "good-1": ("good", "1", "done"),
        "good-2": ("good", "2", "done"),
        "bad-1": ("bad", "1", "invalid"),
        "bad-2": ("bad", "2", "invalid"),
    }
    assert sorted(call.name for call in corpus.scored) == ["good-1", "good-2"]
    assert {call.unscored for call in corpus.calls if call.columns["system"] == "bad"} == {
        "invalid: RuntimeError: a bug of the endpoint"
    }
    plan = json.loads((tmp_path / "run" / "run.json").read_text())
    write_json(tmp_path / "run" / "run.json", plan | {"cases": [*plan["cases"], plan["cases"][0] | {"name": "late"}]})
    late = Run(tmp_path / "run").calls[-1]
    assert (late.name, late.status, late.columns["outcome"], late.quantities) == ("late", WAITING, WAITING, {})


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"expected a run or a recording, found no meta.json"):
        Run(tmp_path)
    (tmp_path / "this").mkdir()
    with pytest.raises(
        RecordingError, match=r"thiss: expected a run or a recording, got no such folder; perhaps this$"
    ):
        Run(tmp_path / "thiss")
    with pytest.raises(RecordingError, match=r"got no such folder$"):
        Run(tmp_path / "nowhere" / "run")
    write_json(tmp_path / "corpus.json", {"schema": "other/1"})
    with pytest.raises(RecordingError, match=r"corpus.json: expected schema fdbcore.corpus/1, got 'other/1'"):
        read_corpus(tmp_path)
    with pytest.raises(RecordingError, match=r"corpus.json: expected schema"):
        Run(tmp_path)


def made_by(rate_hz: int, min_silence_ms: int = 200) -> Any:
    vad = {"name": "silero", "version": "1", "settings": {"on": 0.5, "model": {"rate_hz": rate_hz}}}
    return {"turns": asdict(TurnSettings(min_silence_ms=min_silence_ms)), "vad": {"A": vad, "B": vad}}


def test_a_rate_belongs_to_its_call_and_is_no_setting() -> None:
    assert (
        differing_within([])
        == differing_within([made_by(16_000)])
        == differing_within([made_by(16_000), made_by(8_000)])
        == []
    )
    assert differing_within([made_by(16_000), made_by(8_000, 300), made_by(8_000)]) == [
        "turns min_silence_ms: 200 and 300"
    ]


def test_the_page_of_a_run_names_what_differs(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", drawn_calls(3, 1, lambda _: Manner()))
    meta = run / "call0001" / "meta.json"
    written = json.loads(meta.read_text())
    written["settings"]["turns"]["min_silence_ms"] += 100
    meta.write_text(json.dumps(written | {"settings_sha256": settings_hash(written["settings"])}))
    score(Reading(meta.parent))
    done("report", run)
    assert "turns min_silence_ms: 200 and 300" in (run / "index.html").read_text()
