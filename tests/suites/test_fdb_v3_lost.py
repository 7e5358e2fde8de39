"""What a run of `--suite fdb-v3` says of calls in which the system was silent, and of records that it cannot play."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from helpers.commands import printed
from helpers.smoke import run, some
from helpers.v3_items import row_of

WANTED = ("travel_01", "shop_08", "finance_09")


def test_a_system_that_says_nothing_in_any_call_is_scored_and_its_calls_say_why(tmp_path: Path) -> None:
    """Its tools were right, and its calls end as failed: silence is a result."""
    data = some(tmp_path / "some.json", WANTED)
    done = run(data, tmp_path / "MUTE", {"mute": "rehearsed:?fault=silent"}, "--max-s", "10", code=0)
    assert "3 failed: no speech found" in done.output
    scored = row_of(json.loads((tmp_path / "MUTE-scores" / "scores.json").read_text()), "mute")["measures"]
    assert [(scored[name]["value"], scored[name]["n"]) for name in ("passed", "answered")] == [(0.0, 3)] * 2
    told = " ".join(done.output.split())
    assert "mute fails 3 of 3: silent 3" in told
    assert "mute: 3 calls: no speech found; the call was cut at --max-s 10" in told


def test_what_is_left_out_is_named_on_the_scorecard_and_costs_the_exit_code(tmp_path: Path) -> None:
    data = some(tmp_path / "some.json", WANTED, user_end_tick=10**6)
    content = json.loads(data.read_text())
    left, *bad = [record["id"] for record in content["record"]]
    content["record"][-1]["spans"] = [{"kind": "FILLER", "start_tick": 9, "end_tick": 3}]
    data.write_text(json.dumps(content))
    assert "2 items of the data left out" in run(data, tmp_path / "RUN", {"x": "rehearsed:"}, code=1).stderr
    scores = json.loads((tmp_path / "RUN-scores" / "scores.json").read_text())
    assert [item["record"] for item in scores["items"]] == [left]
    assert [(card["recordings"], card["scenarios"], card["speakers"]) for card in scores["data"]] == [(1, 1, 1)]
    assert [(each["where"].split(": ")[1], each["reason"][:25]) for each in scores["problems"]] == [
        (name, "left out: user_end_tick: ") for name in bad
    ]
    assert "; FILLER: expected 0 <= start_tick < end_tick" in scores["problems"][-1]["reason"], "a record is one item"
    assert run(data, tmp_path / "BARE", {"x": "rehearsed:"}, "--no-score").exit_code == 1


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def without_its_last_lines(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a right system and of a silent one."""
    folder = tmp_path_factory.mktemp("held")
    data = some(folder / "some.json", WANTED[:2])
    run(
        f"{data}?quiet_s=1&most_s=8",
        folder / "RUN",
        {"right": "rehearsed:", "mute": "rehearsed:?fault=silent"},
        "--no-score",
    )
    return folder / "RUN"


@pytest.mark.parametrize("system", ["right", "mute"])
@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("events.jsonl", emptied, "events.jsonl: damaged: expected "),
        ("events.jsonl", halved, "events.jsonl: "),
        ("events.jsonl", without_its_last_lines, "events.jsonl: damaged: expected "),
        ("events.jsonl", Path.unlink, "events.jsonl: cannot be read"),
        ("session.wav", halved, "session.wav: cut off: expected the "),
        ("derived/turns.json", emptied, "derived/turns.json: expected JSON"),
        ("derived/turns.json", Path.unlink, "expected a finished recording"),
        ("derived/health.json", halved, "derived/health.json: expected JSON"),
        ("meta.json", emptied, "meta.json: expected JSON"),
        ("meta.json", Path.unlink, "expected a conversation, got none yet"),
    ],
)
def test_a_damaged_call_is_named_and_nobody_is_blamed(
    held: Path, tmp_path: Path, system: str, name: str, damage: Callable[[Path], None], said: str
) -> None:
    """What the system did is not known then: it is unscored, also if the system was silent."""
    copied = copytree(held, tmp_path / "RUN")
    damage(copied / f"travel_01-{system}" / name)
    scores = printed("score", "--suite", "fdb-v3", copied, "--out", tmp_path / "S", code=1)
    (problem,) = scores["problems"]
    assert problem["where"] == str(copied / f"travel_01-{system}")
    assert problem["reason"].startswith(said)
    assert scores["lost"] == [{"system": system, "failed": 0, "invalid": 0, "missing": 1}]
    found = [(item["record"], item["system"]) for item in scores["items"]]
    assert ("travel_01", system) not in found
    assert len(found) == 3
    assert row_of(scores, system)["n"] == 1


def test_the_order_of_systems_and_the_sign_of_differences_do_not_hang_on_the_seed(tmp_path: Path) -> None:
    systems = {"zulu": "rehearsed:", "alpha": "rehearsed:?fault=wrong-tool", "mike": "rehearsed:?fault=stale"}
    made, first_held = [], set()
    for seed in ("1", "2", "3"):
        data = f"{some(tmp_path / f'{seed}.json', WANTED)}?quiet_s=1"
        run(data, tmp_path / seed, systems, "--seed", seed, code=0)
        made.append(json.loads((tmp_path / f"{seed}-scores" / "scores.json").read_text()))
        first_held.add(json.loads((tmp_path / seed / "run.json").read_text())["cases"][0]["system"])
    assert len(first_held) > 1, "the seeds differ in the order of calls"
    for scores in made:
        assert list(dict.fromkeys(row["system"] for row in scores["rows"])) == list(systems)
        pairs = dict.fromkeys((one["a"], one["b"]) for one in scores["differences"])
        assert list(pairs) == [("zulu", "alpha"), ("zulu", "mike"), ("alpha", "mike")]
        assert [(item["system"], item["record"]) for item in scores["items"]] == [
            (system, record) for system in systems for record in sorted(WANTED)
        ]
        assert [scores[name] == made[0][name] for name in ("rows", "differences", "passes")] == [True] * 3
