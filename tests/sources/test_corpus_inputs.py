"""What folders, patterns and lists name, and how a table of columns is joined: nothing is lost without a word."""

import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.errors import SettingsError
from fdbcore.sources.calls import PlannedCall, named_files, planned
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.names import NameIndex, Oddities
from fdbcore.sources.sessions import CallInput, session_inputs
from fdbcore.sources.tables import read_table


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def named(*paths: Path) -> tuple[list[Path], dict[str, list[str]]]:
    oddities = Oddities()
    return named_files(paths, oddities), oddities.found


def test_a_folder_is_searched_with_all_below_it(tmp_path: Path) -> None:
    audio = [tmp_path / "calls" / name for name in ("b.wav", "x/a.FLAC", "x/y/c.mp3")]
    touch(*audio, *(tmp_path / "calls" / name for name in ("notes.txt", "x/b.json", "x/c.json", "README")))
    found, oddities = named(tmp_path / "calls")
    assert found == audio
    assert oddities == {f"other files in {tmp_path / 'calls'}": ["2 .json", "1 .txt", "1 README"]}


def test_sessions_and_runs_below_a_folder_keep_their_meaning(tmp_path: Path) -> None:
    top = tmp_path / "calls"
    touch(top / "v1" / "7" / "input.wav", top / "v1" / "7" / "output.wav")
    touch(top / "held" / "meta.json", top / "held" / "session.wav", top / "linked" / "meta.json")
    touch(top / "run" / "corpus.json", top / "run" / "call" / "session.wav", top / "live" / "run.json", top / "a.wav")
    (top / "loop").symlink_to(top, target_is_directory=True)
    assert named(top)[0] == [top / "a.wav", top / "held", top / "v1" / "7"]
    for folder in (top / "held", top / "v1" / "7"):
        assert named(folder) == ([folder], {})


def test_a_run_that_is_named_is_its_recordings(tmp_path: Path) -> None:
    touch(tmp_path / "run" / "one" / "meta.json", tmp_path / "run" / "one" / "session.wav")
    assert named(tmp_path / "run") == ([tmp_path / "run"], {})


def test_dots_name_a_session_and_no_folder_above_it(tmp_path: Path) -> None:
    """The stem of "...wav" is "..", that of "..wav" is "."; from Python 3.14 on such names have no suffix."""
    touch(*(files := [tmp_path / name for name in ("...wav", "..wav", "a..wav")]))
    dots = ["%2E%2E", "%2E"] if sys.version_info < (3, 14) else ["...wav", "..wav"]
    assert [session.name for session in session_inputs(files, searched=True)] == [*dots, "a."]


def test_patterns_and_lists(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("x1.wav", "x2.wav", "d/y.wav")]
    touch(*files)
    assert named(tmp_path / "x*.wav")[0] == files[:2]
    assert set(named(tmp_path / "**" / "*.wav")[0]) == set(files)
    (tmp_path / "calls.txt").write_text(f"# two of them\nx2.wav\n\n{files[2]}\n")
    assert named(tmp_path / "calls.txt")[0] == [files[1], files[2]]
    touch(tmp_path / "[a].wav")
    assert named(tmp_path / "[a].wav")[0] == [tmp_path / "[a].wav"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("none", "expected a folder with audio"), ("z*.wav", "a pattern of files"), ("empty.txt", "a path in each line")],
)
def test_what_names_nothing_is_one_line(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(SettingsError, match=expected):
        named(tmp_path / name)


def test_five_thousand_calls_of_one_name_are_told_apart(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / str(n) / "call.wav" for n in range(5_000)])
    assert len({session.name for session in sessions}) == 5_000
    assert sessions[4_999].name == "4999-call"


def test_what_no_folder_tells_apart_is_numbered_and_told(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / name for name in ("x/c.wav", "x/c.mp3", "y/c.wav")])
    assert [session.name for session in sessions] == ["x-c", "x-c-2", "y-c"]
    oddities = Oddities()
    planned(sessions, None, oddities)
    assert oddities.found == {"files of one name, listed with numbers": ["2 are called c: x-c, x-c-2"]}


# --- the table


def joined(text: str, sessions: Sequence[CallInput], folder: Path) -> tuple[list[PlannedCall], dict[str, list[str]]]:
    (folder / "meta.csv").write_text(text, encoding="utf-8")
    oddities = Oddities()
    return planned(sessions, read_table(folder / "meta.csv", Oddities()), oddities), oddities.found


def test_columns_are_joined_by_file_name(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / name for name in ("a.wav", "b.mp3", "x/c.wav", "y/c.wav", "d.wav")])
    table = (
        "language,File,version\nen,a.wav,1\nde,b,2\nfr,y/c.wav,3\nit,C:\\calls\\x\\c.wav,4\nes,gone.wav,5\nen,a.wav,1\n"
    )
    calls, oddities = joined(table, sessions, tmp_path)
    assert [dict(call.columns) for call in calls] == [
        {"language": "en", "version": "1"},
        {"language": "de", "version": "2"},
        {"language": "it", "version": "4"},
        {"language": "fr", "version": "3"},
        {},
    ]
    assert oddities == {"rows of meta.csv without a file": ["gone.wav"], "files without a row in meta.csv": ["d"]}


@pytest.mark.parametrize(
    ("files", "text", "expected"),
    [
        ("x/c.wav y/c.wav", "c.wav,1", r"meta.csv: 'c.wav' fits 2 of the calls \(x-c, y-c\): expected each"),
        ("x/c.wav y/c.wav", "c.wav,1\nx/c.wav,2", "'c.wav' fits 2"),  # not by elimination
        ("c.wav c.mp3", "c,1", "'c' fits 2"),
        ("a.wav A.wav", "A.WAV,1", "'A.WAV' fits 2"),
        ("a.wav", "a.wav,1\na,2", "expected one row of the call a, got 'a.wav' and 'a', which differ"),
        ("a.wav", "b.wav,1\nc.wav,2", r"expected rows of the calls .*/a.wav; got only others, such as 'b.wav'"),
        ("tuesday/c.wav", "monday/c.wav,1", "got only others, such as 'monday/c.wav'"),
        ("a.wav", "", "got an empty table"),
    ],
)
def test_what_could_fit_twice_or_fits_nothing_is_refused(tmp_path: Path, files: str, text: str, expected: str) -> None:
    sessions = session_inputs([tmp_path / name for name in files.split()])
    with pytest.raises(SettingsError, match=expected):
        joined(f"file,n\n{text}\n", sessions, tmp_path)


@pytest.mark.parametrize(
    ("files", "rows", "expected"),
    [
        ("tuesday/c.wav", "monday/c.wav tuesday/c.wav", "2"),  # the exact path, also where it comes later
        ("tuesday/c.wav", "c.wav tuesday/c.wav", "2"),
        ("x/c.wav y/c.wav", "c.wav x/c.wav y/c.wav", "2 3"),
        ("tuesday/c.wav b.wav", "monday/c.wav b.wav", "- 2"),
        ("Tuesday/c.wav", "tuesday/C.WAV monday/c.wav", "1"),
        ("02/audio/1.wav", "/data/01/audio/1.wav /data/02/audio/1.wav", "2"),
        ("02/audio/1.wav 02/audio/2.wav", "s3://x/01/audio/1.wav s3://x/01/audio/3.wav s3://x/02/audio/2.wav", "- 3"),
        ("x/c.wav y/c.wav", "D:\\\\old\\\\y\\\\c.wav D:\\\\old\\\\x\\\\c.wav", "2 1"),
        ("x/c.wav d.wav", "../x/c.wav ./d", "1 2"),
    ],
)
def test_folders_that_contradict_join_nothing(tmp_path: Path, files: str, rows: str, expected: str) -> None:
    sessions = session_inputs([tmp_path / name for name in files.split()])
    table = "".join(f"{row},{number}\n" for number, row in enumerate(rows.split(), 1))
    calls, _ = joined(f"file,n\n{table}", sessions, tmp_path)
    assert [call.columns.get("n", "-") for call in calls] == expected.split()


NAMES = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), unique=True, max_size=6)


@given(NAMES.filter(bool), NAMES)
def test_no_row_of_another_path_is_ever_joined(files: list[str], rows: list[str]) -> None:
    """Whatever a row joins ends with what the row says, and no other row says more of it; or there is a refusal."""
    index = NameIndex((f"call {n}", [Path("/top", f"{name}.wav")]) for n, name in enumerate(files))
    try:
        joined = index.joined(rows, Path("t.csv"))
    except SettingsError:
        assert any(sum(f"/top/{name}".endswith(f"/{row}") for name in files) > 1 for row in rows)
        return
    for row, number in joined.items():
        ends = [n for n, name in enumerate(files) if f"/top/{name}".endswith(f"/{row}")]
        longer = [n for n in ends if any(len(r) > len(row) and f"/top/{files[n]}".endswith(f"/{r}") for r in rows)]
        assert number in ends if number is not None else set(ends) == set(longer)
        assert number not in longer


@pytest.mark.parametrize(("form", "other"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_letters_with_accents_are_one_however_they_are_stored(
    form: Literal["NFC", "NFD"], other: Literal["NFC", "NFD"]
) -> None:
    """Macs store the letter and its accent apart, and tables have them in one."""
    names = [unicodedata.normalize(form, f"Anruf_{name}") for name in ("Jäger", "がく")]
    index = NameIndex((name, [Path("/calls", f"{name}.wav")]) for name in names)
    for number, name in enumerate(names):
        for text in (f"{name}.wav", name, f"calls/{name}.wav"):
            written = unicodedata.normalize(other, text)
            assert index.joined([written], Path("meta.csv")) == {written: number}


def test_a_row_is_for_the_file_at_that_very_path_before_others_of_its_name(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / "c.wav", tmp_path / "y" / "c.wav", tmp_path / "y" / "y" / "c.wav"])
    calls, oddities = joined("file,n\nc.wav,1\ny/c.wav,2\ny/y/c.wav,3\n", sessions, tmp_path)
    assert [call.columns for call in calls] == [{"n": "1"}, {"n": "2"}, {"n": "3"}]
    assert not [what for what in oddities if "rows" in what]


@pytest.mark.parametrize(
    ("told", "swap"), [("left", True), ("L", True), ("right", False), ("R", False), ("2", False), ("0", True)]
)
def test_the_agent_channel_says_where_side_b_is(tmp_path: Path, told: str, swap: bool) -> None:
    (call,), _ = joined(f"file,agent_channel\na.wav,{told}\n", session_inputs([tmp_path / "a.wav"]), tmp_path)
    assert (call.session.swap, call.error) == (swap, None)
    (call,), _ = joined(
        f"file,Agent Channel\na.wav,{told}\n", session_inputs([tmp_path / "a.wav"], swap=True), tmp_path
    )
    assert (call.session.swap, call.error) == (swap, None)


@pytest.mark.parametrize(
    ("cells", "swapped"),
    [
        (["1", "2", "1"], [True, False, True]),
        (["0", "1", "0"], [True, False, True]),
        (["1", "1", "0"], [False, False, True]),
        (["1", "1", "2"], [True, True, False]),
        (["1.0", "2.0", "NaN"], [True, False, False]),
        (["0", "right", "1"], [True, False, False]),
    ],
)
def test_the_whole_column_says_from_where_channels_are_counted(
    tmp_path: Path, cells: list[str], swapped: list[bool]
) -> None:
    sessions = session_inputs([tmp_path / f"{name}.wav" for name in "abc"])
    rows = "".join(f"{name}.wav,{cell}\n" for name, cell in zip("abc", cells, strict=True))
    calls, oddities = joined(f"file,agent_channel\n{rows}", sessions, tmp_path)
    assert [(call.session.swap, call.error) for call in calls] == [(swap, None) for swap in swapped]
    told = oddities.get("meta.csv counts channels from 0")
    assert told == (["agent_channel 0 is left, 1 is right"] if "0" in cells else None)
    empty = oddities.get("calls without agent_channel, which others have: taken as if the column were not there")
    assert empty == (["c"] if "NaN" in cells else None)


def test_channels_that_are_all_1_are_refused_with_both_readings(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / "a.wav", tmp_path / "b.wav"])
    with pytest.raises(SettingsError, match=r"1 is left if channels count from 1 .*, right if they count from 0"):
        joined("file,agent_channel\na.wav,1\nb.wav,1.0\n", sessions, tmp_path)


def test_channels_from_0_beside_those_from_1_are_refused_as_a_whole(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / "a.wav", tmp_path / "b.wav"])
    with pytest.raises(SettingsError, match=r"column agent_channel: .* from 0 or from 1, got 0 and 2: write left and"):
        joined("file,agent_channel\na.wav,0\nb.wav,2\n", sessions, tmp_path)


@pytest.mark.parametrize("header", ["clip", "Recording file", "wav"])
def test_a_column_of_audio_files_names_the_calls_whatever_its_name(tmp_path: Path, header: str) -> None:
    sessions = session_inputs([tmp_path / "a.wav", tmp_path / "b.flac"])
    calls, _ = joined(f"language,{header}\nfr,b.flac\nen,a.wav\n", sessions, tmp_path)
    assert [call.columns for call in calls] == [{"language": "en"}, {"language": "fr"}]
    beside = "id,{},version\n7,b,NaN\n8,A.WAV,2.0\n"  # a usual name whose cells name no call
    calls, _ = joined(beside.format(header), sessions, tmp_path)
    assert [call.columns for call in calls] == [{"id": "8", "version": "2.0"}, {"id": "7", "version": ""}]
    with pytest.raises(SettingsError, match=r"expected one column that names the calls .* got x, y"):
        joined("x,y,z\na.wav,b.flac,1\n", sessions, tmp_path)


def test_urls_name_calls_by_their_files(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / "d" / "call 1.wav", tmp_path / "d" / "b.flac"])
    urls = "https://h/x/call%201.wav?sig=a/b.wav&e=#t,1\nhttps://h/x/b.flac,2\nhttps://h/x/c.wav?x=b.flac,3\n"
    calls, oddities = joined(f"file,n\n{urls}", sessions, tmp_path)
    assert [call.columns["n"] for call in calls] == ["1", "2"]
    assert oddities == {"rows of meta.csv without a file": ["https://h/x/c.wav?x=b.flac"]}


def test_a_channel_that_is_none_fails_that_call_alone(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / "a.wav", tmp_path / "b.wav"])
    calls, _ = joined("file,agent_channel\na.wav,middle\nb.wav,\n", sessions, tmp_path)
    assert [call.error for call in calls] == ["agent_channel: expected left, right, 1 or 2, got 'middle'", None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("language,version\nen,1\n", "expected one column that names the calls .*; got language, version"),
        ("file,x,x\na,1,2\n", "expected different columns"),
        ("file,lang\na.wav\n", "line 2: expected 2 fields, got 1"),
        ("", "one of them the names of the calls; got none"),
    ],
)
def test_a_table_that_cannot_be_joined_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=expected):
        joined(text, session_inputs([tmp_path / "a.wav"]), tmp_path)


def test_a_table_may_have_a_byte_order_mark_tabs_and_quotes(tmp_path: Path) -> None:
    (tmp_path / "meta.csv").write_bytes(b'\xef\xbb\xbfname\tnote\r\n"a b.wav"\t"x, ""y"""\r\n')
    table = read_table(tmp_path / "meta.csv", Oddities())
    assert (table.files, table.rows) == (("name",), [{"name": "a b.wav", "note": 'x, "y"'}])


@pytest.mark.parametrize(
    "data",
    [
        *("file;n\na.wav;ü\n".encode(each) for each in ("utf-16", "utf-16-le", "utf-32", "utf-32-le", "utf-32-be")),
        "sep=;\r\nfile;n\r\na.wav;ü\r\n".encode("utf-8-sig"),
        '"sep=\t"\nfile\tn\nA.WAV\tü\n'.encode(),
    ],
)
def test_tables_of_spreadsheets_are_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "meta.csv").write_bytes(data)
    oddities = Oddities()
    (call,) = planned(session_inputs([tmp_path / "a.wav"]), read_table(tmp_path / "meta.csv", Oddities()), oddities)
    assert (dict(call.columns), oddities.found) == ({"n": "ü"}, {})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"file,n\na,1\nb,\xe9\x81\n", "line 3: expected text in UTF-8 or Windows-1252, got the byte 0xE9: save it as"),
        (b"file,n\na,\xc3\xbc\nb,\xe9\n", "line 3: expected text in UTF-8 or Windows-1252, got the byte 0xE9"),
        ("file,n\na,ひらがな\n".encode("cp932"), "line 2: expected text in UTF-8 or Windows-1252, got the byte 0x82"),
        *(
            (f"file,n\na,{text}\n".encode(encoding), "line 2: expected text in UTF-8 or Windows-1252, got the byte 0x")
            for text, encoding in (
                ("東京", "cp932"),
                ("表", "cp932"),
                ("ﾃｽﾄ", "cp932"),
                ("東京都", "euc_jp"),
                ("中文", "gbk"),
                ("中文", "big5"),
                ("한국어", "cp949"),
            )
        ),
        (b'sep=,\nfile,n\na,"1\nb,2\n', "line 3: expected a row of a CSV table, .* a quote that is never closed"),
    ],
)
def test_a_table_that_cannot_be_read_names_the_line(tmp_path: Path, data: bytes, expected: str) -> None:
    (tmp_path / "meta.csv").write_bytes(data)
    with pytest.raises(SettingsError, match=expected):
        read_table(tmp_path / "meta.csv", Oddities())


@pytest.mark.parametrize(
    "text", ["Müller, Größe", "déjà vu", "naïve – “façade”", "Señor ¿qué?", "Åse Bjørn", "5 €", "né", "cœur", "and …so"]
)
def test_words_of_western_europe_are_read_in_windows_1252(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.csv").write_bytes(f"file;n\na.wav;{text}\n".encode("cp1252"))
    (call,) = planned(session_inputs([tmp_path / "a.wav"]), read_table(tmp_path / "meta.csv", Oddities()), Oddities())
    assert call.columns["n"] == text


@pytest.mark.parametrize("name", ["meta.csv", "hand.csv"])
def test_tables_in_windows_1252_are_read_and_said_to_be(tmp_path: Path, name: str) -> None:
    text = "file;größe;side;kind;start;end\né.wav;„groß“ – 5 €;A;pause;1;2\n"
    (tmp_path / name).write_bytes(text.encode("cp1252"))
    oddities = Oddities()
    if name == "meta.csv":
        (call,) = planned(session_inputs([tmp_path / "é.wav"]), read_table(tmp_path / name, oddities), oddities)
        assert call.columns["größe"] == "„groß“ – 5 €"
    else:
        assert [label.call for label in read_labels(tmp_path / name, oddities).labels] == ["é.wav"]
    assert oddities.found == {"files that are not in UTF-8, read as Windows-1252": [name]}


def test_another_case_fits_where_nothing_else_does(tmp_path: Path) -> None:
    sessions = session_inputs([tmp_path / name for name in ("a.wav", "A.wav", "b.wav")])
    calls, oddities = joined("file,n\nB.WAV,3\na,1\nA,2\n", sessions, tmp_path)
    assert [call.columns["n"] for call in calls] == ["1", "2", "3"]
    assert oddities == {}
