"""The rehearsed system: it knows all recordings by their sound, does what their labels expect, or has one fault."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.pcm_server import PcmServer
from fakes.rehearsed_server import rehearsed_over
from helpers.commands import done

from fdbcore.errors import SettingsError
from fdbcore.registry import endpoint
from fdbcore.sources.clips import read_clip
from fdbcore.suites.fdb_v3.rehearsed import FAULTS, FILLER, known_sound, level, rehearsal, smoke_records
from fdbcore.suites.fdb_v3.scenarios import FOLDER
from fdbcore.types import FRAME_SAMPLES

RECORDS = smoke_records()


def levels(name: str) -> list[float]:
    pcm, _ = read_clip(FOLDER / RECORDS[name].audio.path)
    return [level(pcm[at : at + FRAME_SAMPLES]) for at in range(0, len(pcm) - FRAME_SAMPLES, FRAME_SAMPLES)]


@pytest.mark.parametrize("name", RECORDS)
def test_a_recording_is_known_before_anything_is_to_be_done(name: str) -> None:
    heard = levels(name)
    record = RECORDS[name]
    end = record.user_end_tick or 0
    acts = min(rehearsal(record, fault).early_tick or end - 100 for fault in ("early", "talks-over"))
    for before in (0, 7):
        found = known_sound([0.0] * before + heard[: acts - 25])
        assert found is not None
        assert (found.record.id, found.start) == (name, before)
    assert found is not None
    later = known_sound(heard[120:])
    assert later is not None
    assert (later.record.id, later.start) == (name, -120)


def test_what_is_none_of_them_is_not_known() -> None:
    noise = np.abs(np.random.default_rng(1).normal(1000, 300, 800))
    assert known_sound(list(noise)) is None
    assert known_sound([]) is None
    assert known_sound(levels("travel_01")[:150]) is None, "too little of it"


def ran(system: str, names: Sequence[str], out: Path) -> dict[str, tuple[list[Any], list[Any], dict[str, Any]]]:
    """Of each recording: the calls with their results, what was said, and the final state."""
    listed = [{"path": str(FOLDER / f"{name}.flac"), "name": name} for name in names]
    clips = out.with_suffix(".jsonl")
    clips.write_text("".join(f"{json.dumps(each)}\n" for each in listed))
    done(
        *("run", "--clips", f"{clips}?tail_s=9", "--system", system, "--tools", "fdb-v3:?latency=fast"),
        *("--clock", "virtual", "--vad", "energy", "--max-s", "60", "--out", str(out), "--quiet"),
    )
    found = {}
    for name in names:
        events = [json.loads(line) for line in (out / name / "events.jsonl").read_text().splitlines()]
        calls = [
            each for each in events if each["kind"] in ("tool_call", "tool_result") and each.get("stage") != "begun"
        ]
        said = [each.get("text") or each["data"]["text"] for each in events if each["kind"] in ("transcript", "event")]
        state = json.loads((out / name / "meta.json").read_text())["tools"]["state"]
        found[name] = (calls, said, state)
    return found


def test_it_does_the_same_over_a_socket_as_in_place(tmp_path: Path) -> None:
    names = ["travel_08", "shop_10"]
    with PcmServer(rehearsed_over()) as server:
        apart = ran(server.address, names, tmp_path / "apart")
    beside = ran("rehearsed:", names, tmp_path / "beside")
    for name in names:
        calls, said, state = beside[name]
        made = [(each["name"], each["arguments"]) for each in calls if each["kind"] == "tool_call"]
        assert [function for function, _ in made] == [each.function for each in RECORDS[name].as_released]
        assert "$" not in json.dumps(made)
        assert calls[0]["tick"] - 50 == RECORDS[name].user_end_tick
        (other_calls, other_said, other_state) = apart[name]
        assert said == other_said == [RECORDS[name].reply]
        assert [(each["name"], each["arguments"]) for each in other_calls if each["kind"] == "tool_call"] == made
        assert abs(other_calls[0]["tick"] - calls[0]["tick"]) <= 2
        assert other_state == state
    assert beside["shop_10"][2] == {"cart": {"PROD1": 5}}


def test_each_fault_is_one() -> None:
    record = RECORDS["shop_10"]
    right = rehearsal(record, None)
    end = record.user_end_tick or 0
    assert [call.args for call in right.calls] == [each.args for each in record.as_released]
    planted = {fault: rehearsal(record, fault) for fault in FAULTS}
    changed = {
        fault: {name for name in right.__dataclass_fields__ if getattr(found, name) != getattr(right, name)}
        for fault, found in planted.items()
    }
    assert changed == {
        "wrong-tool": {"calls"},
        "wrong-argument": {"calls"},
        "stale": {"calls"},
        "early": {"calls", "early", "early_tick"},
        "silent": {"reply"},
        "filler": {"reply"},
        "late": {"calls_tick"},
        "talks-over": {"reply_tick"},
    }
    assert planted["stale"].calls[1].args["quantity"] == planted["early"].calls[1].args["quantity"] == 2
    assert planted["early"].early == 2
    assert planted["early"].early_tick < end
    assert planted["wrong-argument"].calls[1].args["quantity"] == 6
    assert planted["filler"].reply == FILLER
    assert rehearsal(RECORDS["shop_02"], "stale") == rehearsal(RECORDS["shop_02"], None), "nothing is corrected there"


def test_wrong_addresses_are_told() -> None:
    with pytest.raises(SettingsError, match="fault: expected one of wrong-tool, wrong-argument, stale, "):
        endpoint("rehearsed:?fault=rude")
    with pytest.raises(SettingsError, match=r"rehearsed: expected rehearsed: or rehearsed:\?fault=\.\.\., got 'all'"):
        endpoint("rehearsed:all")
    with pytest.raises(SettingsError, match="rehearsed: expected tools to call, but side B has none"):
        endpoint("rehearsed:").open("B")
