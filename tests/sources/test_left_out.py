"""What people write to leave out parts of a call, and what is said of what cannot be meant."""

from __future__ import annotations

import pytest

from fdbcore.errors import SettingsError
from fdbcore.recording.left_out import NO_END, LeftOut
from fdbcore.sources.left_out import AskedSpan, in_ticks, measured_between, seconds_of, with_row, within_call


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
