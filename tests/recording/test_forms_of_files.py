"""The files of a recording hold what their types say, and no field that the types do not name."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from helpers.voices import DIALOGUE, RATE_HZ, voices
from scipy.io import wavfile

from fdbcore.cli.main import main
from fdbcore.clock import MonotonicClock
from fdbcore.recording.files import HEALTH, MARKS, META
from fdbcore.recording.health import Health
from fdbcore.recording.marks import AgentLog
from fdbcore.recording.meta import RecordingMeta
from fdbcore.types.timing import TimingCertificate


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a live call, a replay of it with an agent's log, and a replayed file of other length on each side."""
    path = tmp_path_factory.mktemp("run")
    spoken = voices(DIALOGUE)
    for name, pcm in (("one", spoken[:, 0]), ("a", spoken[:, 0]), ("b", spoken[:-RATE_HZ, 1])):
        wavfile.write(path / f"{name}.wav", RATE_HZ, pcm)
    (path / "log.jsonl").write_text('{"time": 1.5, "name": "asr_final"}\n')
    live = ["run", "--clips", f"{path / 'one.wav'}?tail_s=3", "--system", "echo", "--clock", "virtual"]
    for arguments in (
        [*live, "--vad", "energy", "--out", path / "live"],
        [
            "replay",
            path / "live" / "one",
            "--out",
            path,
            "--agent-log",
            path / "log.jsonl",
            "--agent-log-offset-ms",
            "0",
        ],
        ["replay", "-a", path / "a.wav", "-b", path / "b.wav", "--vad", "energy", "--out", path / "files"],
    ):
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
    return path


@pytest.mark.parametrize(("file", "kind"), [(META, RecordingMeta), (HEALTH, Health), (MARKS, AgentLog)])
def test_files_are_of_their_types(run: Path, file: str, kind: type) -> None:
    found = [json.loads(path.read_text()) for path in run.rglob(file)]
    assert len(found) == (1 if file == MARKS else 3)
    for values in found:
        assert set(values) == set(msgspec.convert(values, kind))  # what a type does not name is left out


def test_a_timing_certificate_is_of_its_type() -> None:
    clock = MonotonicClock()
    clock.wait(0)
    with clock.undisturbed():
        certificate = clock.certificate()
    assert set(certificate) == set(msgspec.convert(certificate, TimingCertificate))
