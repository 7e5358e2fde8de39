"""What people write into cells of tables and options: times, texts, and what to leave out of a call."""

import json
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.clock import clock_s
from fdbcore.errors import SettingsError
from fdbcore.recording.left_out import NO_END, LeftOut
from fdbcore.report.paper.tables import csv_text
from fdbcore.sources.columns import TimeColumn
from fdbcore.sources.left_out import AskedSpan, in_ticks, measured_between, seconds_of, with_row, within_call
from fdbcore.sources.names import Oddities
from fdbcore.sources.tables import rated_rows, read_table
from fdbcore.sources.text_cells import FORMULA, marked, unmarked

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


FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(1)", "\t5", "\n5", "  =x", "\N{NO-BREAK SPACE}=x", "＝x", "＋x", "－x", "＠x"]
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
TEXTS = ["call-1", "1+1", "'quoted", "-2.5", "+4", "-1,5", "-3 %", "-1e-5", "", "'-5"]


def test_formulas_get_a_mark_and_numbers_and_other_texts_none() -> None:
    assert [marked(text) for text in FORMULAS] == [f"'{text}" for text in FORMULAS]
    assert [marked(cell) for cell in (*TEXTS, -2.5, None)] == [*TEXTS, -2.5, None]


def acting(text: str) -> list[str]:
    """What of a text acts on how it is shown, by Unicode's own tables."""
    return [
        each
        for each in text.replace("\r\n", "\n")
        if (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") and each not in "\t\n")
        or unicodedata.bidirectional(each) in BIDI
        or each in "\u061c\u200e\u200f\u206a\u206b\u206c\u206d\u206e\u206f"
    ]


@given(st.text(st.characters(exclude_characters="\0")) | st.text("'=+-@\t\r\n 15.x＝\x1b\u202e\x85\\u0ce", max_size=9))
def test_every_text_is_read_as_it_was_and_written_so_that_nothing_in_it_acts(text: str) -> None:
    written = str(marked(text))
    assert not acting(written)
    assert unmarked(written) == text


def test_what_acts_on_how_a_text_is_shown_is_written_as_json_writes_it() -> None:
    text = "=a\x1b[2J\x9b\u202eb\rc\ttab\r\nline\u2066\x7f日本語"
    assert marked(text) == "'=a\\u001b[2J\\u009b\\u202eb\\u000dc\ttab\r\nline\\u2066\\u007f日本語"


def test_our_readers_take_the_marks_off(tmp_path: Path) -> None:
    texts = [text.strip() for text in [*FORMULAS, *TEXTS, "'=x"] if text.strip()]
    path = tmp_path / "table.csv"
    path.write_text(csv_text(["file", "=column"], [(text, text) for text in texts]), encoding="utf-8")
    assert path.read_text(encoding="utf-8").startswith("file,'=column\n'=1+1,'=1+1\n")
    assert [row["=column"] for row in read_table(path, Oddities()).rows] == texts
    assert [row["=column"] for _, row in rated_rows(path, ["file"])] == texts


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_of_a_page_finds_the_same_formulas() -> None:
    script = 'const [f, texts] = JSON.parse(process.argv[1]); const r = new RegExp(`^(?:${f})`, "u");'
    script += "console.log(JSON.stringify(texts.map((text) => r.test(text))))"
    command = ["node", "-e", script, json.dumps([FORMULA, [*FORMULAS, *TEXTS]])]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found == [True] * len(FORMULAS) + [False] * len(TEXTS)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("12", 12),
        ("90.25", 90.25),
        ("3:40", 220),
        ("0:12.5", 12.5),
        ("1:02:03", 3723),
        ("-0:10", -10),
        ("75:00", 4500),
    ],
)
def test_times_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert seconds_of(text, "--to") == seconds


@pytest.mark.parametrize(("text", "unit"), [("0:75", "seconds"), ("1:60", "seconds"), ("1:60:00", "minutes")])
def test_what_does_not_fit_after_a_colon_is_named(text: str, unit: str) -> None:
    with pytest.raises(SettingsError) as refused:
        seconds_of(text, "--to")
    assert str(refused.value) == f"--to: expected {unit} below 60 after a colon, got {text!r}"


def test_a_fraction_of_a_day_is_no_time() -> None:
    """As spreadsheets store 0:19.7."""
    with pytest.raises(SettingsError, match=r"or 0 \(a spreadsheet's fraction of a day, 0:20\?\), got '0.00023'"):
        seconds_of("0.00023", "column measure_from")
    assert seconds_of("0", "") == seconds_of("0.000", "") == 0.0


def test_what_several_leave_out_is_left_out_once() -> None:
    spans = [(0, 12, "--from"), (5, 20, "column"), (6, 8, "column x"), (15, 18, "column x"), (30, 40, "column")]
    found = in_ticks([AskedSpan(*span) for span in spans], 6000)
    assert [(span.start_tick, span.end_tick, span.by) for span in found] == [
        (0, 1200, "--from"),
        (1200, 2000, "column"),
        (3000, 4000, "column"),
    ]
    with pytest.raises(SettingsError, match="got 0:05 to 0:20 left out by column, and 0:19 to 0:21 left out by column"):
        in_ticks([AskedSpan(*span) for span in [*spans, (19, 21, "column")]], 6000)


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1e3", "nan", "--5", "3:", ":30"])
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^--to: expected a time such as 12.5, 3:40 or 1:02:03, got "):
        seconds_of(text, "--to")


def test_options_and_columns_become_spans_of_ticks() -> None:
    asked = measured_between("0:12", "-0:10")
    assert in_ticks(asked or (), 6000) == [LeftOut(0, 1200, "--from"), LeftOut(5000, NO_END, "--to")]
    row = {"measure_from": "5", "leave_out": "0:20 - 0:30; 40–41.5, 0:45 to 0:46", "version": "v2"}
    found = in_ticks(with_row(asked, row) or (), 6000)
    by_column = [(2000, 3000), (4000, 4150), (4500, 4600)]
    assert found == [
        LeftOut(0, 500, "column measure_from"),
        *(LeftOut(start, end, "column leave_out") for start, end in by_column),
        LeftOut(5000, NO_END, "--to"),
    ]
    assert found[1].text == "0:20 to 0:30 left out by column leave_out"
    assert found[2].text == "0:40 to 0:41.5 left out by column leave_out"
    assert within_call(found, 5100)[-1] == LeftOut(5000, 5100, "--to")


def test_what_a_row_does_not_say_stays_as_it_was() -> None:
    assert with_row(None, {"measure_from": "", "from": "+81 3 1234", "to": "0120"}) is None
    asked = measured_between(None, "3:40")
    assert with_row(asked, {"leave_out": ""}) is asked
    assert measured_between("0", None) == [AskedSpan(0.0, 0.0, "--from")]  # says that nothing is to be left out
    assert in_ticks([AskedSpan(0.0, 0.0, "--from")], 100) == []


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        (
            [(0, 12), (5, 20)],
            "expected spans that do not overlap, got 0:00 to 0:12 left out by x, and 0:05 to 0:20 left",
        ),
        ([(12, 3)], "x: expected the start before the end, got 12 s to 3 s"),
        ([(70, None)], "expected spans within the call, which lasts 1:00, got 1:10 to the end left out by x"),
        ([(50, 62)], "expected spans within the call, which lasts 1:00, got 0:50 to 1:02 left out by x"),
        ([(-70, None)], "x: expected a time within the call, got one 70 s before its end"),
        (
            [(0, None)],
            "expected something to measure, got a call that is left out as a whole: 0:00 to 1:00 left out by x",
        ),
    ],
)
def test_spans_that_cannot_be_meant_get_one_line(spans: list[tuple[float, float | None]], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        in_ticks([AskedSpan(start, end, "x") for start, end in spans], 6000)
    assert str(refused.value).startswith(message)


def test_a_span_may_reach_past_the_end_as_far_as_clocks_round() -> None:
    asked = [AskedSpan(50.0, 61.0, "x")]
    assert within_call(in_ticks(asked, 6000), 6000) == [LeftOut(5000, 6000, "x")]
    assert within_call(in_ticks([AskedSpan(60.4, None, "x")], 6000), 6000) == []


def test_a_time_from_the_end_needs_a_length() -> None:
    with pytest.raises(SettingsError, match=r"^--to: expected a time from the start, as the file does not state its"):
        in_ticks(measured_between(None, "-10") or (), None)
    for columns in ({"leave_out": "0:10"}, {"leave_out": "0:10-x"}, {"measure_to": "soon"}):
        with pytest.raises(SettingsError, match=r"^column (leave_out|measure_to): expected (a time|spans) such as"):
            with_row(None, columns)
    with pytest.raises(SettingsError, match="expected --from before --to, got 3:40 and 0:12"):
        measured_between("3:40", "0:12")
