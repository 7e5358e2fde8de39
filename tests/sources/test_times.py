"""Times as people and their tools write them, by columns whose true times are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.clock import clock_s
from fdbcore.errors import SettingsError
from fdbcore.sources.columns import TimeColumn

MS = st.lists(st.integers(0, 3_600_000), min_size=1, max_size=20)


def read(cells: list[str], unit_s: float) -> list[float | None]:
    column = TimeColumn(cells, unit_s, "a.csv")
    return [column.seconds(cell) for cell in cells]


@given(MS)
def test_thousands_of_milliseconds_are_parted_as_spreadsheets_do(times_ms: list[int]) -> None:
    expected = pytest.approx([ms / 1000 for ms in times_ms])
    assert read([f"{ms:,}" for ms in times_ms], 0.001) == expected
    assert read([f"{ms:,}.5" for ms in [*times_ms, 1_234_567]], 0.001)[:-1] == pytest.approx(
        [ms / 1000 + 0.0005 for ms in times_ms]
    )


@given(MS)
def test_a_decimal_comma_is_one_if_any_cell_of_the_column_tells(times_ms: list[int]) -> None:
    cells = [f"{ms / 1000:.3f}".replace(".", ",") for ms in times_ms]
    assert read([*cells, "0,5"], 1.0)[:-1] == pytest.approx([ms / 1000 for ms in times_ms])
    assert read([*cells, "12,25"], 1.0)[:-1] == pytest.approx([ms / 1000 for ms in times_ms])


@given(MS)
def test_plain_numbers_and_clock_times_are_what_they_say(times_ms: list[int]) -> None:
    assert read([f"{ms / 1000:.3f}" for ms in times_ms], 1.0) == pytest.approx([ms / 1000 for ms in times_ms])
    clocks = [f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}" for ms in times_ms]
    for written in (clocks, [clock.replace(".", ",") for clock in clocks]):
        assert read(written, 0.001) == pytest.approx([ms / 1000 for ms in times_ms])


@pytest.mark.parametrize(
    ("cells", "unit_s", "readings"),
    [(["2,793", "9,200"], 1.0, "2.793 or 2793 s"), (["2.793", "850"], 0.001, "2.793 or 2793 ms")],
)
def test_what_can_be_read_in_two_ways_is_refused_with_both(cells: list[str], unit_s: float, readings: str) -> None:
    with pytest.raises(SettingsError, match=rf"^a\.csv: .* which may be {readings}: "):
        read(cells, unit_s)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.234,5", "2,5"], [1234.5, 2.5]),
        (["1,234,567", "2"], [1234567.0, 2.0]),
        (["1,500", "2000"], [1.5, 2000.0]),
        (["", "NaN", "00:02.8"], [None, None, 2.8]),
    ],
)
def test_one_cell_tells_how_the_others_are_read(cells: list[str], expected: list[float | None]) -> None:
    assert read(cells, 1.0) == expected


@pytest.mark.parametrize("text", ["1:60", "1:2:3:4", "0:61:00"])
def test_no_clock_shows_these(text: str) -> None:
    with pytest.raises(ValueError, match=r"below 60|is no time"):
        TimeColumn([text], 1.0, "a.csv").seconds(text)


def test_a_clock_time_is_in_hours_minutes_and_seconds() -> None:
    assert [clock_s(text) for text in ("3:40", "1:02:03.5", "12.5", "")] == [220.0, 3723.5, None, None]


@pytest.mark.parametrize(("others", "odd"), [(["2,793.5"], "2,5"), (["2.793,5"], "2.5")])
def test_a_cell_of_another_form_than_its_column_is_no_time(others: list[str], odd: str) -> None:
    column = TimeColumn([*others, odd], 1.0, "a.csv")
    with pytest.raises(ValueError, match=r"no thousands where they are parted"):
        column.seconds(odd)


def test_a_decimal_point_elsewhere_makes_a_comma_one_of_thousands() -> None:
    assert read(["2,793", "2.5"], 1.0) == [2793.0, 2.5]
