"""Numbers, JSON and tables that nobody should write: each is refused by name in one line, and soon."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import refused
from helpers.voices import DIALOGUE, voices, write

from fdbcore.analysis.gate_file import parse
from fdbcore.analysis.score import quantities
from fdbcore.endpoints.examiner.brief import read_brief
from fdbcore.errors import InputError, RecordingError, writes
from fdbcore.measures.call_warnings import call_warnings
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.log_clock import find_clock
from fdbcore.recording.labels import Label, within_session
from fdbcore.registry import endpoint
from fdbcore.runs.replays import replay
from fdbcore.runtime.numbers import number_of, whole_of
from fdbcore.session.turns import detect_turns
from fdbcore.sources.agent_logs import LogEvent, read_log
from fdbcore.sources.clips import clips_in
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.left_out import seconds_of
from fdbcore.sources.names import Oddities
from fdbcore.sources.tables import rated_rows, read_table
from fdbcore.sources.word_files import chunks_in
from fdbcore.types import TurnSettings

DEEP = "[" * 100_000
OTLP = '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "startTimeUnixNano": %s}]}]}]}'
FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a.csv": ('side,kind,start_s,end_s\nA,pause,"%s",200\n', lambda path: read_labels(path, Oddities())),
    "a.rttm": ("SPEAKER c 1 %s 0.5 <NA> <NA> A <NA>\n", lambda path: read_labels(path, Oddities())),
    "a.TextGrid": (
        'File type = "ooTextFile"\n"TextGrid"\n0\n1\n<exists>\n1\n"IntervalTier" "A pause" 0 9 1\n%s 2 "x"\n',
        lambda path: read_labels(path, Oddities()),
    ),
    "own.jsonl": ('{"time": %s, "name": "x"}', read_log),
    "otlp.json": (OTLP, read_log),
    "text.json": (OTLP.replace("%s", '"%s"'), read_log),
    "A.json": ('{"chunks": [{"text": "a", "timestamp": ["%s", 2]}]}', chunks_in),
}
TEXTS: list[Callable[[str], object]] = [
    *(
        number_of,
        whole_of,
        lambda text: seconds_of(text, "--from"),
        lambda text: parse(f"score <= {text}", {}, "gates"),
    ),
    lambda text: endpoint(f"webrtc:?join_s={text}"),
]


@pytest.mark.parametrize("written", ["1_0", "1,234", "١٢", "1e999", "9" * 400, "nan", "Infinity", "0x10", "-"])
def test_a_text_that_is_no_plain_number_is_refused_by_every_reader(tmp_path: Path, written: str) -> None:
    for name, (content, read_file) in FILES.items():
        (tmp_path / name).write_text(content % written)
        with pytest.raises((InputError, RecordingError), match=rf"^[^\n]*{name}[^\n]*$"):
            read_file(tmp_path / name)
    for read in TEXTS:
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            read(written)
    for options in (["replay", "x.wav", "--jobs", written], ["run", "--clips", "x", "--max-s", written]):
        assert "Invalid value for" in refused(*options)


def test_a_comma_is_a_decimal_one_where_it_does_not_part_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("side;kind;start_s;end_s\nA;pause;1,234;2,5\n")
    (label,) = read_labels(tmp_path / "a.csv", Oddities()).labels
    assert (label.start_s, label.end_s) == (1.234, 2.5)


def test_words_and_briefs_in_windows_1252_and_utf_16_are_read(tmp_path: Path) -> None:
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        words = json.dumps({"chunks": [{"text": "größer – 5 €", "timestamp": [1, 2]}]}, ensure_ascii=False)
        (tmp_path / "A.json").write_bytes(words.encode(encoding))
        assert chunks_in(tmp_path / "A.json").words == [("größer – 5 €", 1.0, 2.0)]
        (tmp_path / "b.json").write_bytes('{"schema": "größer – 5 €"}'.encode(encoding))
        with pytest.raises(InputError, match=r"expected a brief of schema .*, got: Invalid value 'größer – 5 €'"):
            read_brief(tmp_path / "b.json")


def test_words_from_before_the_call_are_counted_as_untimed(tmp_path: Path) -> None:
    times = [[1, 2], [-3600, 2], [2, 1], [None, 1]]
    (tmp_path / "A.json").write_text(json.dumps({"chunks": [{"text": "a", "timestamp": each} for each in times]}))
    assert chunks_in(tmp_path / "A.json") == ([("a", 1.0, 2.0)], 3)


@pytest.mark.parametrize("begin", [[0.2, 2.9, 0.1, 1.0], [0.2, 29.0, 31.0, 0.4]])
def test_words_whose_times_begin_again_are_refused(tmp_path: Path, begin: list[float]) -> None:
    def read(starts: list[float]) -> int:
        chunks = [{"text": f"w{n}", "timestamp": [start, start + 0.1]} for n, start in enumerate(starts)]
        (tmp_path / "A.json").write_text(json.dumps({"chunks": chunks}))
        return len(chunks_in(tmp_path / "A.json").words)

    assert read([0.2, 0.5, 0.4, 1.0]) == 4
    with pytest.raises(InputError, match=r"A.json: .* order of their times, got 'w\d' at 0.\d s after .*begin again"):
        read(begin)


@pytest.mark.parametrize(("name", "read"), [("x.jsonl", read_log), ("c.jsonl", clips_in), ("b.json", read_brief)])
def test_deep_json_is_one_line_in_every_file(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    (tmp_path / name).write_text(f'{{"path": {DEEP}\n')
    with pytest.raises(InputError, match=rf"^.*{name}[^\n]*$"):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("header", "row", "line"),
    [
        ("", "x" * 200_000, "line 2: .*field larger than field limit"),
        ("", '"open', "line 2: .*a quote that is never closed"),
        ("," * 20_000, "x", "expected at most 1,000 cells"),
    ],
)
def test_a_table_that_is_none_is_one_line_for_every_reader(tmp_path: Path, header: str, row: str, line: str) -> None:
    (path := tmp_path / "x.csv").write_text(f"side,kind,start_s,rater,file{header}\n{row}\n")
    meta, rated = (lambda path: read_table(path, Oddities())), (lambda path: [*rated_rows(path, ["rater"])])
    for read in (meta, FILES["a.csv"][1], rated):
        with pytest.raises(InputError, match=rf"^[^\n]*{line}[^\n]*$"):
            read(path)


def test_long_files_take_time_by_their_length() -> None:
    """With work that grows with the square, each of these would take minutes."""
    voice, started_s = np.arange(20_000) % 200 < 100, time.process_time()
    events = [LogEvent(n * 0.1, f"step {n % 20_000} of the plan") for n in range(60_000)]
    with pytest.raises(InputError, match="its clock cannot be found"):
        find_clock(events, Dialogue(detect_turns(voice, voice), len(voice), TurnSettings()))
    labels = [Label("A", "pause", n / 10, n / 10 + 0.05) for n in range(20_000)]
    assert len(within_session(labels, 200_000, [(n * 100, n * 100 + 50) for n in range(2_000)])[0]) == 10_000
    assert time.process_time() - started_s < 20


def test_a_failed_write_names_its_own_file_and_cause(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"^other: damaged$"), writes(tmp_path):
        raise RecordingError("other: damaged")
    with pytest.raises(RecordingError, match=r"gone: cannot be written: Is a dir"), writes("gone"):
        tmp_path.write_text("")


@pytest.mark.parametrize("words", ['[{"start": 1, "end": 2}]', "{", '{"chunks": [{"text": "a"}]}', '{"chunks": [3]}'])
def test_words_that_cannot_be_read_cost_no_measure_of_the_audio(tmp_path: Path, words: str) -> None:
    stereo = voices(DIALOGUE)
    for number, side in enumerate("AB"):
        write(tmp_path / "call" / f"{side}.wav", stereo[:, number])
    without = replay(tmp_path / "call", out=tmp_path / "without", vad="energy")
    (tmp_path / "call" / "A.json").write_text(words)
    recording = replay(tmp_path / "call", out=tmp_path / "run", vad="energy")
    assert quantities(recording) == quantities(without)
    (told,) = [line for line in call_warnings(recording) if "words" in line]
    assert told.startswith("words of A not read: expected")
    assert "Error" not in told
    assert recording.spoken("A") is None
