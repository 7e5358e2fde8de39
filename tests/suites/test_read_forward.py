"""A reader of a suite's scoring goes forward: few modules are entered again."""

from __future__ import annotations

import re

import pytest

from benchmarks.walk import main


@pytest.mark.parametrize("followed", ["staged.scoring:score:runs", "fdb_v3.scoring:score:paths"])
def test_modules_of_a_scoring_are_rarely_entered_again(followed: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(f"fdbcore.suites.{followed}")
    told = capsys.readouterr().out
    (climbs,) = re.findall(r"(\d+) climbs", told)
    assert int(climbs) <= 3
    assert max(map(int, re.findall(r"(\d+) times", told))) <= 3
