"""`fdbcore run --like`: what systems confirm, against what they confirmed in another run."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from fakes.realtime_server import Plan, RealtimeServer, Reply, tones
from helpers.commands import command

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.settings_differences import confirmed_unlike
from fdbcore.recording.files import META, read_json, write_json


def run(*arguments: object, code: int | None = None) -> Result:
    return command("run", "--vad", "energy", *arguments, code=code)


@pytest.mark.live
def test_what_a_server_confirms_otherwise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, same = (tmp_path / name for name in ("old", "new", "same"))
    with RealtimeServer(Plan([Reply("a", pcm=tones(0.5))] * 9)) as server:
        monkeypatch.setenv(server.variable, server.key)
        call = ("--a", "echo", "--max-s", 1, "--system")
        system = f"openai-realtime:{server.model}?base_url={server.base_url}&key_variable={server.variable}"
        run(*call, f"{system}&voice=marin", "--out", old)
        told = run(*call, f"{system}&voice=cedar", "--like", old, "--out", new)
        alike = run(*call, f"{system}&voice=cedar", "--like", new, "--out", same)
        as_json = run(*call, f"{system}&voice=cedar", "--like", old, "--out", same, "--again", "all", "--json")
    line = f"confirmed audio output voice: cedar here, marin in {old}"
    assert [each for each in told.stdout.splitlines() if each.startswith("confirmed")] == [line]
    assert [each for each in alike.stdout.splitlines() if each.startswith("confirmed")] == [
        f"confirmed settings: as in {new}"
    ]
    assert json.loads(as_json.stdout)["confirmed_unlike"] == [line]


def confirming(path: Path, **sessions: object) -> Run:
    """A run with a call for each system, which confirmed this."""
    systems = [option for name in sessions for option in ("--system", f"{name}=echo")]
    run("--a", "echo", *systems, "--clock", "virtual", "--max-s", 0.1, "--out", path)
    for name, session in sessions.items():
        (folder,) = (each for each in path.iterdir() if (each / META).is_file() and f"{name}" in each.name)
        meta = read_json(folder / META)
        meta["parties"]["B"]["session"] = session
        write_json(folder / META, meta)
    return Run(path)


def test_systems_are_compared_by_their_names_without_what_each_call_has_of_its_own(tmp_path: Path) -> None:
    first = {"id": "s1", "expires_at": 3, "voice": {"voice_id": "x", "callId": "a"}, "prompt": None, "text": "a" * 99}
    second = {"id": "s2", "expires_at": 4, "voice": {"voice_id": "y", "callId": "b"}, "text": "a" * 99}
    old = confirming(tmp_path / "old", one=first, other=first)
    new = confirming(tmp_path / "new", one=second, other=first)
    assert confirmed_unlike(new, old) == [f"confirmed one voice voice_id: y here, x in {old.path}"]
    assert confirmed_unlike(old, old) == [f"confirmed settings: as in {old.path}"]
    nothing = confirming(tmp_path / "nothing", one=None, other=None)
    assert confirmed_unlike(nothing, nothing) == [f"confirmed settings: none here, none in {nothing.path}"]
    assert confirmed_unlike(old, nothing) == [f"confirmed settings: 4 here, none in {nothing.path}"]


def test_what_is_no_run_is_refused_at_once(tmp_path: Path) -> None:
    refused = run("--a", "echo", "--system", "echo", "--like", tmp_path, "--out", tmp_path / "run", code=2)
    assert refused.stderr.splitlines()[-1].startswith(f"Error: {tmp_path}: expected")
    assert not (tmp_path / "run").exists()
