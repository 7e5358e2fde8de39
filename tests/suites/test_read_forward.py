"""A reader of a suite's scoring goes forward: few modules are entered again."""

from __future__ import annotations

import re

import pytest

from benchmarks.walk import main


@pytest.mark.parametrize(("suite", "most_climbs", "most_entries"), [("staged", 3, 3), ("fdb_v3", 0, 4)])
def test_modules_of_a_scoring_are_rarely_entered_again(
    suite: str, most_climbs: int, most_entries: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(f"fdbcore.suites.{suite}.scoring:score")
    told = capsys.readouterr().out
    (climbs,) = re.findall(r"(\d+) climbs", told)
    assert int(climbs) <= most_climbs
    assert max(map(int, re.findall(r"(\d+) times", told))) <= most_entries
