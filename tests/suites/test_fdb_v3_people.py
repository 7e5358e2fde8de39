"""People in place of the recordings of Full-Duplex-Bench v3: what they are shown, and how they rank systems."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from helpers.commands import command, done
from helpers.smoke import some
from helpers.v3_items import item
from scipy.stats import spearmanr

from fdbcore.suites.fdb_v3.playing import played_by, side_a
from fdbcore.suites.fdb_v3.rows import PEOPLE, rank_notes, ranks_of
from fdbcore.suites.fdb_v3.scenarios import SMOKE


def run(*args: str) -> str:
    result = done("run", *args)
    return result.output


def test_the_page_shows_what_to_ask_for() -> None:
    recorded = side_a("smoke")
    by_people = played_by(recorded, "webrtc:?join_s=300")
    assert (by_people.world, by_people.ends) == (recorded.world, recorded.ends)
    records = json.loads(SMOKE.read_text())["record"]
    for user, record in zip(by_people.users, records, strict=True):
        kind, _, query = user.address.partition("?")
        settings = parse_qs(query)
        assert (kind, settings["join_s"], user.clip) == ("webrtc:", ["300"], None)
        assert record["script"] in settings["shows"][0]
        assert user.columns["record"] == record["id"]
    assert {user.address for user in played_by(recorded, "scripted:x.toml").users} == {"scripted:x.toml"}
    assert played_by(recorded, "webrtc").users[0].address.startswith("webrtc:?shows=")
    assert played_by(recorded, "webrtc://0.0.0.0:99").users[0].address.startswith("webrtc://0.0.0.0:99?shows=")


def test_systems_meet_the_same_world_with_people_and_are_ranked(tmp_path: Path) -> None:
    """The person is a script; one system makes the call of the label, one another, and one none."""
    some(tmp_path / "one.json", ["travel_01"])
    voice, heard = 'voice = "espeak-ng:en-us"\n[[line]]\n', 'after = "other_end"\n'
    (tmp_path / "user.toml").write_text(f'tail_s = 6.0\n{voice}say = "A flight to Denver, please."\nat_s = 0.3')
    systems = []
    for name, city in {"right": "Denver", "wrong": "Boston", "idle": ""}.items():
        call = f'call = "search_flights"\narguments = {{destination = "{city}", date = "Friday"}}\n{heard}[[line]]\n'
        says = f'say = "There is one."\nafter = "{"result" if city else "other_end"}"\ndelay_s = 1\n'
        (tmp_path / f"{name}.toml").write_text(f"{voice}{call if city else ''}{says}")
        systems += ["--system", f"{name}=scripted:{tmp_path}/{name}.toml"]
    common = ["--suite", "fdb-v3", "--data", str(tmp_path / "one.json"), *systems, "--clock", "virtual", "--jobs", "1",
              "--max-s", "20", "--no-score"]  # fmt: skip
    run(*common, "--out", str(tmp_path / "RECORDED"))
    run(*common, "--a", f"scripted:{tmp_path}/user.toml", "--out", str(tmp_path / "PEOPLE"))
    runs = (tmp_path / "RECORDED", tmp_path / "PEOPLE")
    result = command("score", "--suite", "fdb-v3", *runs, "--out", tmp_path / "S")
    document: dict[str, Any] = json.loads((tmp_path / "S" / "scores.json").read_text())
    found = {(row["condition"], row["system"]): row for row in document["rows"] if not row["subset"]}
    assert list(dict.fromkeys(condition for condition, _ in found)) == ["tools: instant", "people, tools: instant"]
    for (_, name), row in found.items():
        assert row["measures"]["passed"]["value"] == float(name == "right")
    (rank,) = (each for each in document["people"] if each["measure"] == "passed")
    assert (rank["systems"], rank["scenarios"], rank["rho"]) == (3, 1, pytest.approx(1))
    assert "People and recordings (tools: instant) rank 3 systems on 1 scenarios alike" in " ".join(
        result.output.split()
    )


def test_the_correlation_is_that_of_another_library() -> None:
    recorded = {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}
    by_people = {"a": 0.8, "b": 0.2, "c": 0.6, "d": 0.4, "e": 1.0}
    items = [
        item(number, name, condition, tool_selection=value)
        for condition, values, numbers in (("tools", recorded, 4), (f"{PEOPLE}tools", by_people, 2))
        for name, value in values.items()
        for number in range(numbers)
    ]
    (rank,) = ranks_of(items)
    wanted = spearmanr([*recorded.values()], [by_people[name] for name in recorded]).statistic
    assert rank.rho == pytest.approx(wanted)
    assert (rank.systems, rank.scenarios, rank.measure) == (4, 2, "tool_selection")
    assert f"tools {wanted:.2f}" in next(rank_notes([rank]))
    few = [each for each in items if each.system in "ab"]
    assert [each.rho for each in ranks_of(few)] == [None]
    assert "unknown with 2 systems" in next(rank_notes([*ranks_of(few)]))


def test_a_suite_whose_users_nobody_else_can_play_says_so(tmp_path: Path) -> None:
    result = command("run", "--suite", "staged", "--a", "echo", "--system", "echo", "--out", tmp_path / "X")
    assert result.exit_code != 0
    assert "expected one of --clips, --suite and --a" in result.output
