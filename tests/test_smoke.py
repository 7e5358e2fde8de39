"""The lists of `make smoke` and of slow tests: each test that they name is there, and `make smoke` has each room."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAMED, SLOW = ((ROOT / "tests" / name).read_text(encoding="utf-8").split() for name in ("smoke.txt", "slow.txt"))
ROOMS = {path.parent.relative_to(ROOT / "tests").parts[0] for path in ROOT.glob("tests/*/**/test_*.py")} - {"fuzz"}
"""Folders of tests; those of tests/fuzz take minutes."""


def test_every_room_has_two_tests_or_more() -> None:
    of_room = Counter(Path(name.partition("::")[0]).parts[1] for name in NAMED)
    assert {room for room in ROOMS if of_room[room] < 2} == set()
    assert len({*NAMED}) == len(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_what_it_names_is_there(name: str) -> None:
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(rf"((?:^@.*\n)*)^def {function or 'test_'}", text, re.MULTILINE)
    assert found, name
    assert not re.search(r"mark\.(live|slow|fuzz|outside|nemo)", found[1]), name
    assert name not in SLOW


def test_slow_tests_are_there() -> None:
    """Perhaps by inheritance, as those that hold for every endpoint."""
    written = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    there = {*re.findall(r"def (test_\w+)\(", written)}
    assert [name for name in SLOW if name.split("::")[-1] not in there] == []
    assert [name for name in SLOW if not (ROOT / name.partition("::")[0]).is_file()] == []
