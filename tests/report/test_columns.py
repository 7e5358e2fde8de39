"""Text in a terminal's columns: wide and combining characters, cutting, wrapping, and tables that keep their width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.report.scorecard.columns import (
    ELLIPSIS,
    ColumnGroup,
    cells_table,
    fitted,
    padded,
    table,
    width_columns,
    wrapped,
)
from fdbcore.report.terminal import laid_out

TEXTS = st.text(st.sampled_from("ab あ漢ｶ、é\u0301\u200d…"), max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"), [("abc", 3), ("三分", 4), ("ｶﾅ", 2), ("か\u3099", 2), ("e\u0301", 1), ("ＡＢ", 4), ("", 0)]
)
def test_how_many_columns_a_terminal_gives(text: str, expected: int) -> None:
    assert width_columns(text) == expected


@given(TEXTS, st.integers(1, 20), st.booleans())
def test_padded_is_exactly_as_wide_as_asked(text: str, width: int, right: bool) -> None:
    assert width_columns(padded(text, width, right)) == width


@given(TEXTS.map(lambda text: text.replace(ELLIPSIS, "")), st.integers(1, 20))
def test_fitted_keeps_the_start_and_the_end(text: str, width: int) -> None:
    found = fitted(text, width)
    assert width_columns(found) <= width
    if width_columns(text) <= width:
        assert found == text
    else:
        start, _, end = found.rpartition(ELLIPSIS)
        assert text.startswith(start)
        assert text.endswith(end)
        assert width_columns(found) >= width - 2  # a wide character may not fit on either side


@given(
    st.lists(TEXTS.map(lambda text: text.replace(" ", "")).filter(bool), min_size=1),
    st.integers(4, 30),
    st.integers(0, 2),
)
def test_wrapped_lines_fit_and_lose_nothing(words: list[str], width: int, indent: int) -> None:
    lines = list(wrapped(" ".join(words), width, indent))
    assert all(width_columns(line) <= width for line in lines)
    assert all(line.startswith(" " * indent) for line in lines[1:])
    assert "".join(lines).replace(" ", "") == "".join(words)


def test_an_indent_of_the_text_itself_is_kept() -> None:
    assert list(wrapped("  missing  Question by Answer", 20, 4)) == ["  missing  Question", "    by Answer"]


def group(title: str, widths: list[int], rows: int) -> ColumnGroup:
    return ColumnGroup(title, ["h" * width for width in widths], widths, [["1" * width for width in widths]] * rows)


def test_a_number_wider_than_its_column_is_whole() -> None:
    groups = [
        ColumnGroup("", ["n"], [4], [["123456"]]),
        ColumnGroup("", ["a", "b"], [20, 5], [["-100.0 [-100.0,-41.0]"] * 2]),
    ]
    lines = table(["name"], groups, 40)
    assert " ".join(lines).count("-100.0 [-100.0,-41.0]") == 2
    assert sum("123456" in line for line in lines) == 2, "in each of two parts"


@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3), min_size=1),
    st.integers(60, 130),
)
def test_tables_fit_and_hold_every_column(names: list[str], widths: list[list[int]], width: int) -> None:
    groups = [group("", [4], len(names)), *[group(f"t{k}", own, len(names)) for k, own in enumerate(widths)]]
    lines = table(names, groups, width)
    assert all(width_columns(line) <= width for line in lines)
    assert sum(line.count("h") for line in lines) >= sum(map(sum, widths)) + 4
    assert len(lines) % (len(names) + 3) == len(names) + 2  # each part: titles, headers, rows; a blank line between


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_of_cells_keeps_every_column(width: int) -> None:
    systems = [f"system-{number}" for number in range(12)]
    rows = [["measure", *systems], *([f"a measure with a long name {n}", *["0.125"] * 12] for n in range(2))]
    lines = cells_table(rows, width)
    assert max(map(len, lines)) <= width
    assert [name for line in lines for name in line.split() if name.startswith("system-")] == systems
    assert sum(line.count("0.125") for line in lines) == 24
    assert all("a measure with a long name" in line for line in lines if "0.125" in line)


def test_names_are_whole_where_a_group_can_be_divided() -> None:
    name = "a-system-of-24-characters"[:24]
    groups = [group("", [4], 1), ColumnGroup("times", ["first", "second"], [25, 25], [["1.0", "2.0"]])]
    assert [line for line in table([name], groups, 60) if "1.0" in line or "2.0" in line] == [
        f"{name}{number:>6}{value:>27}" for number, value in (("1111", "1.0"), ("1111", "2.0"))
    ]


@given(
    st.lists(st.text("abcdé", min_size=1, max_size=30), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 16), min_size=1, max_size=14),
    st.integers(40, 120),
)
def test_a_table_that_is_too_wide_keeps_every_column_below_the_others(
    names: list[str], widths: list[int], width: int
) -> None:
    """Every cell stands whole in a line that begins with its row's name, and no line is wider than the terminal."""
    rows = [[f"{row}.{place}".ljust(size, "x") for place, size in enumerate(widths)] for row in range(len(names))]
    heads = [f"h{place}" for place in range(len(widths))]
    lines = laid_out([["system", *heads], *([name, *cells] for name, cells in zip(names, rows, strict=True))], width)
    assert max(map(len, lines)) <= width
    parts = [part.splitlines() for part in "\n".join(lines).split("\n\n")]
    assert all(len(part) == len(names) + 1 for part in parts)
    assert [head for part in parts for head in part[0].split()[1:]] == heads
    for number, cells in enumerate(rows, 1):
        assert [cell for part in parts for cell in part[number].split()[1:]] == cells
