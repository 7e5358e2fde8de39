"""The order of groups: dates and versions as people read them, anything else by the alphabet."""

from __future__ import annotations

import pytest

from fdbcore.analysis.order import by_day, in_order, positions


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["v10", "v2", "v1"], ["v1", "v2", "v10"]),
        (["1.10.0", "1.9", "2"], ["1.9", "1.10.0", "2"]),
        (["release-3", "release-20"], ["release-3", "release-20"]),
        (["2026-11-03", "2026-02-20", "2025-12-31"], ["2025-12-31", "2026-02-20", "2026-11-03"]),
    ],
)
def test_dates_and_versions_have_places(names: list[str], ordered: list[str]) -> None:
    assert in_order(names) == ordered
    at = positions(ordered)
    assert at is not None
    assert at == sorted(at)


@pytest.mark.parametrize("names", [["ja", "en"], ["gpt4", "gpt5"], ["v1", "w2"], ["v1", "main"], ["2026-13-40"], []])
def test_other_names_have_none(names: list[str]) -> None:
    assert positions(names) is None
    assert in_order(names) == sorted(names)


def test_dates_are_as_far_apart_as_they_are() -> None:
    assert positions(["2026-02-27", "2026-03-01", "2026-03-02"]) == pytest.approx([739674, 739676, 739677])


def test_times_are_grouped_by_day_and_by_month_if_there_are_too_many() -> None:
    times = [f"2026-0{1 + day // 28}-{1 + day % 28:02}T08:30:00Z" for day in range(56)]
    assert {*by_day(times, 60).values()} == {time[:10] for time in times}
    assert [*dict.fromkeys(by_day(times, 20).values())] == ["2026-01", "2026-02"]
    assert by_day(["2026-01-01", "soon"], 20) == {"2026-01-01": "2026-01-01", "soon": "soon"}
