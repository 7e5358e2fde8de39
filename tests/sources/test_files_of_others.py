"""Numbers, JSON and tables that nobody should write: each is refused by name in one line, and soon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fdbcore.analysis.gate_file import parse
from fdbcore.cli.main import main
from fdbcore.endpoints.examiner.brief import read_brief
from fdbcore.errors import InputError, RecordingError, writes
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.log_clock import find_clock
from fdbcore.recording.labels import Label, within_session
from fdbcore.registry import endpoint
from fdbcore.runtime.numbers import number_of, whole_of
from fdbcore.session.turns import detect_turns
from fdbcore.sources.agent_logs import Mark, read_marks
from fdbcore.sources.clips import clips_in
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.left_out import seconds_of
from fdbcore.sources.names import Oddities
from fdbcore.sources.rater_tables import rated_rows
from fdbcore.sources.tables import read_table
from fdbcore.sources.word_files import chunks_in
from fdbcore.types import TurnSettings

NO_NUMBERS = ["1_0", "1,234", "١٢", "1e999", "9" * 400, "nan", "Infinity", "0x10", ""]
DEEP = "[" * 100_000
OTLP = '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "startTimeUnixNano": %s}]}]}]}'
OWN = '{"time": %s, "name": "x"}'
TEXTGRID = 'File type = "ooTextFile"\n"TextGrid"\n0\n1\n<exists>\n1\n"IntervalTier" "A pause" 0 9 1\n%s 2 "x"\n'


@pytest.mark.parametrize("written", NO_NUMBERS)
def test_a_text_that_is_no_plain_number_is_refused_by_every_reader(tmp_path: Path, written: str) -> None:
    labels = {
        "a.csv": f'side,kind,start_s,end_s\nA,pause,"{written}",2000\n',
        "a.rttm": f"SPEAKER c 1 {written or '-'} 0.5 <NA> <NA> A <NA>\n",
        "a.TextGrid": TEXTGRID % (written or "-"),
    }
    for name, content in labels.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            read_labels(tmp_path / name, Oddities())
    readers: list[Callable[[str], object]] = [
        number_of,
        whole_of,
        lambda text: seconds_of(text, "--from"),
        lambda text: parse(f"score <= {text}", {}, "gates"),
        lambda text: endpoint(f"webrtc:?join_s={text}"),
    ]
    for read in readers:
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            read(written)
    for options in (["replay", "x.wav", "--jobs", written], ["run", "--clips", "x", "--max-s", written]):
        result = CliRunner().invoke(main, options)
        assert (result.exit_code, "Traceback" in result.output) == (2, False)
        assert "Invalid value for" in result.output


def test_a_comma_is_a_decimal_one_where_it_does_not_part_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("side;kind;start_s;end_s\nA;pause;1,234;2,5\n")
    (label,) = read_labels(tmp_path / "a.csv", Oddities()).labels
    assert (label.start_s, label.end_s) == (1.234, 2.5)


@pytest.mark.parametrize("time_ns", ["1e999", '"1e999"', "9" * 400, f'"{"9" * 400}"', '"1_0"', "true", "1e30", "NaN"])
def test_a_log_with_a_time_that_is_none_is_one_line(tmp_path: Path, time_ns: str) -> None:
    for text in (OTLP % time_ns, OWN % time_ns):
        (tmp_path / "log.json").write_text(text)
        with pytest.raises(InputError, match=r"^[^\n]{1,400}$"):
            read_marks(tmp_path / "log.json")


def test_deep_json_is_one_line_in_every_file(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text(f'{{"time": 1, "name": "x"}}\n{DEEP}\n')
    (tmp_path / "clips.jsonl").write_text(f'{{"path": {DEEP}\n')
    (tmp_path / "deep.json").write_text(f'{{"chunks": {DEEP}')
    (tmp_path / "deep.wav").write_bytes(b"")
    for read, name in ((read_marks, "deep.jsonl"), (clips_in, "clips.jsonl"), (read_brief, "deep.json")):
        with pytest.raises(InputError, match=rf"^.*{name}[^\n]*$"):
            read(tmp_path / name)
    with pytest.raises(InputError, match=r"deep\.json: expected labels as JSON"):
        clips_in(tmp_path / "deep.wav")


def test_words_from_before_the_call_are_counted_as_untimed(tmp_path: Path) -> None:
    times = [[1, 2], [-3600, 2], [2, 1], [None, 1]]
    (tmp_path / "A.json").write_text(json.dumps({"chunks": [{"text": "a", "timestamp": each} for each in times]}))
    assert chunks_in(tmp_path / "A.json") == ([("a", 1.0, 2.0)], 3)
    (tmp_path / "A.json").write_text(json.dumps({"chunks": [{"text": "a", "timestamp": [10**400, 1]}]}))
    with pytest.raises(InputError, match=r"A\.json: expected words"):
        chunks_in(tmp_path / "A.json")


@pytest.mark.parametrize(
    ("header", "row", "line"),
    [
        ("side,kind,start_s,rater,file", "x" * 200_000, "line 2: .*field larger than field limit"),
        ("side,kind,start_s,rater,file", '"open', "line 2: .*a quote that is never closed"),
        (",".join(["side,kind,start_s,rater,file", *map(str, range(20_000))]), "x", "expected at most 1,000 cells"),
    ],
)
def test_a_table_that_is_none_is_one_line_for_every_reader(tmp_path: Path, header: str, row: str, line: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{header}\n{row}\n")
    readers = (read_table, lambda path: read_labels(path, Oddities()), lambda path: [*rated_rows(path, ["rater"])])
    for read in readers:
        with pytest.raises(InputError, match=rf"^[^\n]*{line}[^\n]*$"):
            read(path)


def test_long_files_take_time_by_their_length() -> None:
    """With work that grows with the square, each of these would take minutes."""
    voice = np.arange(20_000) % 200 < 100
    started_s = time.process_time()
    marks = [Mark(n * 0.1, f"step {n % 20_000} of the plan") for n in range(60_000)]
    with pytest.raises(InputError, match="its clock cannot be found"):
        find_clock(marks, Dialogue(detect_turns(voice, voice), len(voice), TurnSettings()))
    labels = [Label("A", "pause", n / 10, n / 10 + 0.05) for n in range(20_000)]
    measured, _ = within_session(labels, 200_000, [(n * 100, n * 100 + 50) for n in range(2_000)])
    assert len(measured) == 10_000
    assert time.process_time() - started_s < 20


def test_a_failed_write_names_its_own_file_and_cause(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"^other: damaged$"), writes(tmp_path):
        raise RecordingError("other: damaged")
    with pytest.raises(RecordingError, match=r"gone/x: cannot be written: No such file or directory$"):
        with writes(tmp_path / "gone/x"):
            (tmp_path / "gone/x").write_text("")
