"""Label files as people and tools write them, what is wrong with some, and to which call each label belongs."""

import os
import re
from pathlib import Path

import pytest
from fakes.recordings import drawn_recording
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.score import score
from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import LABELS, write_json
from fdbcore.recording.labels import Label, keep_labels, within_session
from fdbcore.report.exports.formats import export
from fdbcore.sources.label_files import read_labels
from fdbcore.sources.label_set import FileLabel
from fdbcore.sources.names import Oddities
from fdbcore.types import SIDES

LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 9 ! a comment with "quotes" and 7 numbers
tiers? <exists>
size = 3
item []:
    item [1]:
        class = "IntervalTier"
        name = "A pause"
        xmin = 0
        xmax = 9
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1.25
            text = ""
        intervals [2]:
            xmin = 1.25
            xmax = 2e0
            text = "he said ""um"" intervals [3]: xmin = 5
and breathed"
        intervals [3]:
            xmin = 2
            xmax = 9
            text = "  "
    item [2]:
        class = "TextTier"
        name = "user"
        xmin = 0
        xmax = 9
        points: size = 1
        points [1]:
            number = 4.5
            mark = "Turn-End"
    item [3]:
        class = "IntervalTier"
        name = "backchannels"
        xmin = 0
        xmax = 9
        intervals: size = 1
        intervals [1]:
            xmin = 5
            xmax = 5.5
            text = "B"
"""
SHORT = '''File type = "ooTextFile"
Object class = "TextGrid"

0
9
<exists>
3
"IntervalTier"
"A pause"
0
9
3
0
1.25
""
1.25
2
"he said ""um"""
2
9
""
"TextTier"
"user"
0
9
1
4.5
"eot"
"IntervalTier"
"backchannels"
0
9
1
5
5.5
"B"
'''
IN_TEXTGRID = [("A", "pause", 1.25, 2.0), ("A", "turn_end", 4.5, 4.5), ("B", "backchannel", 5.0, 5.5)]


def read(path: Path) -> tuple[list[tuple[str, str, float, float]], dict[str, list[str]]]:
    oddities = Oddities()
    labels = read_labels(path, oddities).labels
    return [(label.place, label.kind, label.start_s, label.end_s) for label in labels], oddities.found


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("text", [LONG, SHORT], ids=["long", "short"])
def test_textgrids_of_both_forms_and_all_encodings(text: str, newline: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "call.TextGrid"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    assert read(path) == (IN_TEXTGRID, {})


def test_tables_are_read_in_any_order_and_spelling(tmp_path: Path) -> None:
    commas = written(tmp_path, "a.csv", "file,note,end_s,start_s,Kind,SIDE\nx.wav,hm,2.5,1,Barge-in,Caller\n")
    semicolons = written(tmp_path, "b.csv", "side;kind;start_s;end_s\r\nsystem;side talk;0,5;1,25\r\n\r\n")
    in_ms = written(tmp_path, "c.tsv", "side\tkind\tstart_ms\tend_ms\nA\tnoise\t1000\t2500\n")
    moment = written(tmp_path, "d.csv", "side,kind,start_s,end_s\nA,turn_end,3.5,\nA,turn_end,4,4.5\n")
    assert read(commas) == ([("A", "interruption", 1.0, 2.5)], {})
    assert read(semicolons) == ([("B", "side_talk", 0.5, 1.25)], {})
    assert read(in_ms) == ([("A", "noise", 1.0, 2.5)], {})
    assert read(moment) == ([("A", "turn_end", 3.5, 3.5), ("A", "turn_end", 4.5, 4.5)], {})


def test_rttm_is_speech_by_name_or_channel(tmp_path: Path) -> None:
    lines = [
        ";; a comment",
        "SPEAKER call 1 0.50 1.00 <NA> <NA> anna <NA> <NA>",
        "SPEAKER call 2 2.00 0.50 <NA> <NA> B <NA> <NA>",
        "LEXEME call 1 0.5 0.1 word <NA> anna <NA> <NA>",
        "SPEAKER call 1 0.5",
    ]
    labels, odd = read(written(tmp_path, "x.rttm", "\n".join(lines)))
    assert labels == [("left", "speech", 0.5, 1.5), ("B", "speech", 2.0, 2.5)]
    assert odd == {
        "RTTM lines of type LEXEME, left out": ["x.rttm, line 4"],
        "RTTM lines with fewer than 8 fields, left out": ["x.rttm, line 5"],
    }


def test_rttm_speakers_of_one_channel_are_no_side(tmp_path: Path) -> None:
    lines = [f"SPEAKER call 1 {n}.00 0.50 <NA> <NA> SPEAKER_0{n} <NA> <NA>" for n in (0, 1)]
    by_name = "SPEAKER call 1 5.00 0.50 <NA> <NA> B <NA> <NA>"
    labels, odd = read(written(tmp_path, "x.rttm", "\n".join([*lines, by_name])))
    assert labels == [("B", "speech", 5.0, 5.5)]
    assert odd == {
        f"labels of unknown side 'SPEAKER_0{n}' (expected A or B), left out": [f"x.rttm, line {n + 1}"] for n in (0, 1)
    }


def test_a_point_of_a_tier_with_a_kind_needs_no_text(tmp_path: Path) -> None:
    text = SHORT.replace('"user"', '"A turn_end"').replace('"eot"', '""')
    labels, odd = read(written(tmp_path, "x.TextGrid", text))
    assert ("A", "turn_end", 4.5, 4.5) in labels
    assert odd == {}


def test_a_broken_file_of_a_folder_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    written(tmp_path, "a.TextGrid", SHORT)
    broken = written(tmp_path, "b.TextGrid", LONG[:400])
    labels, odd = read(tmp_path)
    assert labels == IN_TEXTGRID
    ((what, (reason,)),) = odd.items()
    assert what == "label files that cannot be read, left out"
    assert reason.startswith(f"{broken}: expected a TextGrid with ")


def test_audacity_labels_begin_with_side_and_kind(tmp_path: Path) -> None:
    lines = ["1.0\t2.0\tA pause 1.00 s", "\\\t100\t8000", "3\t3\tturn end: user", "4\t5\tB backchannel: mhm", "nothing"]
    labels, odd = read(written(tmp_path, "x.txt", "\n".join(lines)))
    assert labels == [("A", "pause", 1.0, 2.0), ("A", "turn_end", 3.0, 3.0), ("B", "backchannel", 4.0, 5.0)]
    assert odd == {"lines that are not start, end and text, left out": ["x.txt, line 5"]}


def test_what_is_no_label_is_named_and_counted(tmp_path: Path) -> None:
    rows = [
        "A,interuption,1,2",
        "C,pause,1,2",
        "A,pause,2,1",
        "A,pause,-1,1",
        "A,pause,x,1",
        "A,noise,1,1",
        "A,pause",
        "A,pause,1,2",
        "A,pause,96000,768000",
    ]
    labels, odd = read(
        written(tmp_path, "x.csv", "\n".join(["side,kind,start_s,end_s", *rows, "A,wibble,1,2", "A,wibble,2,3"]))
    )
    assert labels == [("A", "pause", 1.0, 2.0)]
    assert odd == {
        "labels of unknown kind 'interuption'; perhaps interruption or interruptions, left out": ["x.csv, line 2"],
        "labels of unknown side 'C' (expected A or B), left out": ["x.csv, line 3"],
        "labels whose times are not a span, left out": ["x.csv, line 4: 2 s to 1 s", "x.csv, line 5: -1 s to 1 s"],
        "labels whose times are not numbers, left out": ["x.csv, line 6, start_s: 'x'"],
        "labels of kind noise without a length, left out": ["x.csv, line 7"],
        "rows with fewer than 4 fields, left out": ["x.csv, line 8"],
        "labels later than a week, left out: in samples or ms?": ["x.csv, line 10: 768000 s"],
        "labels of unknown kind 'wibble', left out": ["x.csv, line 11", "x.csv, line 12"],
    }


def test_tiers_that_say_nothing_of_a_kind_are_named(tmp_path: Path) -> None:
    text = SHORT.replace('"A pause"', '"A"').replace('"eot"', '"pause here"').replace('"user"', '"comments"')
    labels, odd = read(written(tmp_path, "x.TextGrid", text))
    assert labels == [("B", "backchannel", 5.0, 5.5)]
    assert odd["TextGrid tiers without a kind in their name or their texts, left out"] == ["x.TextGrid: 'A' (1)"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "", "the table is empty: expected the columns side, kind, start_s, end_s; got none"),
        ("x.csv", "colour,shape\n1,2\n", "none of its headers is known: expected .*; got colour, shape"),
        ("x.csv", "side,kind,start_s,end_s\n", "expected labels .* found none"),
        ("x.csv", "kind,start_s\npause,1\n", "x.csv: expected the columns side, kind"),
        ("x.TextGrid", LONG[:400], "expected a TextGrid with .* here"),
        ("x.TextGrid", "ooBinaryFile", "expected a TextGrid with .* the file ends"),
        ("x.docx", "", r"expected a label file \(.csv"),
        ("x.txt", "", "found none"),
    ],
)
def test_files_without_labels_are_refused_in_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        read(written(tmp_path, name, text))
    assert "\n" not in str(caught.value)


def test_no_text_and_no_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"side,kind\xff\0\n")
    with pytest.raises(SettingsError, match="expected text in UTF-8 or Windows-1252, got the byte 0xFF"):
        read(tmp_path / "x.csv")
    for name in ("y.csv", "y"):
        with pytest.raises(
            SettingsError, match=f"{name}: expected a label file, or a folder of them, got no such file"
        ):
            read(tmp_path / name)


def test_a_folder_has_a_file_a_call_and_empty_ones_are_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path, f"{name}.csv", f"side,kind,start_s,end_s\nA,pause,{len(name)},4\n")
    written(tmp_path, "three.labels.txt", "1\t2\tA pause\n")
    empty = written(tmp_path, "four.txt", "")
    written(tmp_path, "readme.md", "not of this")
    oddities = Oddities()
    labels = read_labels(tmp_path, oddities)
    assert sorted(label.call for label in labels.labels) == ["one", "three", "two"]
    assert not labels.is_one_call
    assert oddities.found == {"label files without a label": [str(empty)]}


def by_call(
    path: Path, known: list[tuple[str, list[Path]]], swap: bool = False
) -> tuple[dict[int, list[Label]], dict[str, list[str]]]:
    oddities = Oddities()
    found = read_labels(path, oddities).by_call(known, lambda number: swap, oddities)
    return found, oddities.found


def test_labels_find_their_calls_by_name(tmp_path: Path) -> None:
    calls = [("a", [Path("/x/mon/a.wav")]), ("a-2", [Path("/x/tue/a.wav")]), ("b", [Path("/x/b.flac")])]
    rows = ["mon/a.wav,A,pause,1,2", "b,A,pause,3,4", "wed/a.wav,A,pause,5,6", "c.wav,A,noise,7,8", "c.wav,B,noise,7,8"]
    table = written(tmp_path, "x.csv", "\n".join(["file,side,kind,start_s,end_s", *rows]))
    found, odd = by_call(table, calls)
    assert {number: [label.start_s for label in labels] for number, labels in found.items()} == {0: [1.0], 2: [3.0]}
    assert odd == {"names in x.csv without a call here, left out with their labels": ["wed/a.wav (1)", "c.wav (2)"]}
    table.write_text("file,side,kind,start_s,end_s\na.wav,A,pause,5,6\n")
    with pytest.raises(SettingsError, match=r"x.csv: 'a.wav' fits 2 of the calls \(a, a-2\)"):
        by_call(table, calls)


def test_label_files_in_folders_are_of_the_calls_in_folders_of_their_name(tmp_path: Path) -> None:
    for number, day in enumerate(("mon", "tue")):
        (tmp_path / "hand" / day).mkdir(parents=True)
        written(tmp_path / "hand" / day, "call.txt", f"{number}\t9\tA speech\n")
    known = {day: [Path(f"/calls/{day}/call.wav")] for day in ("mon", "tue", "wed")}
    found, odd = by_call(tmp_path / "hand", [("call", known["tue"])])
    assert [label.start_s for label in found[0]] == [1.0]
    assert odd == {"names in hand without a call here, left out with their labels": ["mon/call (1)"]}
    assert by_call(tmp_path / "hand", [("call", known["wed"])])[0] == {}


def test_a_file_that_names_no_call_is_of_the_only_one_or_of_its_namesake(tmp_path: Path) -> None:
    path = written(tmp_path, "two.csv", "channel,kind,start_s,end_s\nleft,pause,1,2\n")
    assert by_call(path, [("call", [])])[0] == {0: [Label("A", "pause", 1.0, 2.0)]}
    assert by_call(path, [("one", []), ("two", [])], swap=True)[0] == {1: [Label("B", "pause", 1.0, 2.0)]}
    assert list(by_call(path, [("one", []), ("three", [])])[1]) == [
        "names in two.csv without a call here, left out with their labels"
    ]


def test_labels_beyond_the_end_twice_or_overlapping_are_told() -> None:
    given_labels = [
        Label("A", "pause", 1, 2),
        Label("A", "pause", 1, 2),
        Label("A", "pause", 1.5, 1.6),
        Label("A", "pause", 1.9, 2.5),
        Label("B", "pause", 1.9, 2.5),
        Label("A", "speech", 9, 11),
        Label("A", "turn_end", 10, 10),
        Label("A", "turn_end", 10.5, 10.5),
        Label("A", "noise", 10, 12),
    ]
    within, notes = within_session(given_labels, 1000, [(0, 1000)])
    assert Label("A", "speech", 9, 10.0) in within
    assert Label("A", "turn_end", 10, 10) in within
    assert len(within) == 6
    assert notes == [
        "1 label given twice, counted once: A pause at 1.00 s",
        "2 labels after the end at 10.00 s, left out: A noise at 10.00 s, A turn_end at 10.50 s",
        "1 label past the end at 10.00 s, cut there: A speech at 9.00 s",
        "2 labels overlapping an earlier one of its side and kind, counted all the same: "
        "A pause at 1.50 s, A pause at 1.90 s",
    ]


LABEL = st.builds(
    lambda side, kind, start, length: Label(side, kind, start / 100, (start + length) / 100),
    st.sampled_from(["A", "B"]),
    st.sampled_from(["pause", "speech", "noise"]),
    st.integers(0, 1200),
    st.integers(1, 300),
)


@given(st.lists(LABEL))
def test_whatever_is_given_lies_within_the_session(given_labels: list[Label]) -> None:
    within, _ = within_session(given_labels, 1000, [(0, 1000)])
    assert all(0 <= label.start_tick < label.end_tick <= 1000 for label in within)
    assert len(within) == len({label for label in given_labels if label.start_s < 10})


def test_labels_are_kept_with_a_recording_and_told_in_its_scores(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 3-5 | B 2.4-2.7")
    assert recording.labels is None
    keep_labels(recording.path, "x.csv", [Label("A", "pause", 2, 3), Label("A", "pause", 90, 91)])
    recording = Reading(recording.path)
    kept = recording.labels
    assert kept is not None
    assert (kept.source, kept.labels, kept.counts()) == ("x.csv", [Label("A", "pause", 2, 3)], {"A pause": 1})
    scores = score(recording)
    assert scores["measures"]["cut_off_per_labelled_a_pause"]["count"] == 1
    assert scores["warnings"] == ["1 label after the end at 8.00 s, left out: A pause at 90.00 s"]
    write_json(recording.path / LABELS, {"schema": "fdbcore.labels/1", "labels": [{}]})
    damaged = Reading(recording.path)
    assert damaged.labels is None
    (told,) = damaged.damaged_beside
    assert "labels.json: expected labels of schema" in told


@pytest.mark.parametrize(("fmt", "suffix"), [("textgrid", "TextGrid"), ("audacity", "labels.txt"), ("rttm", "rttm")])
def test_exports_are_read_back(fmt: str, suffix: str, tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 2.5-4 7-9 | B 4.4-6.1 8.2-8.9")
    (path,) = export([recording], fmt, tmp_path / "out")
    assert path.name == f"call.{suffix}"
    labels = read_labels(path, Oddities()).labels
    speech = [label for label in labels if label.kind == "speech"]
    for side in SIDES:
        spans = [[round(100 * label.start_s), round(100 * label.end_s)] for label in speech if label.place == side]
        assert spans == recording.dialogue.ipus[side].tolist()
    pauses = [label for label in labels if label.kind == "pause"]
    assert pauses == ([] if fmt == "rttm" else [FileLabel("call", "A", "pause", 2.0, 2.5)])


@pytest.mark.parametrize(
    "text",
    [
        "side,kind,start_s,end_s\nA,pause,2.793,9.2\n",
        "sep=;\nside;kind;start_s;end_s\nA;pause;2,793;9,2\n",
        'side,kind,start_ms,end_ms\nA,pause,"2,793","9,200"\n',
        "side;kind;start_ms;end_ms\nA;pause;2.793,0;9.200,0\n",
        "side\tkind\tstart\tduration\nA\tpause\t00:02.793\t00:00:06.407\n",
        "side,kind,start_ms,duration_ms\nA,pause,2793.0,6407.0\n",
    ],
)
def test_a_table_is_read_as_it_was_meant(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    (label,) = read_labels(tmp_path / "a.csv", oddities := Oddities()).labels
    assert [label.start_s, label.end_s] == pytest.approx([2.793, 9.2])
    assert oddities.found == {}


def _elan(forms: tuple[str, ...], what: tuple[str, ...], header: bool) -> str:
    """What ELAN writes: a line about its file and a header if asked, then tier, participant, times and annotation."""
    written_as = {"hh:mm:ss.ms": lambda ms: f"00:00:{ms / 1000:06.3f}", "ss.msec": lambda ms: f"{ms / 1000:.3f}"}
    marks = [("A", 1250, 2793, "turn it off"), ("B backchannel", 3000, 4100, ""), ("gaze", 5000, 5100, "at B")]
    names = [f"{each} Time - {form}" for each in what for form in forms]
    lines = ['"#file:///x/call.eaf"', "\t".join(["Tier", "", *names, "Annotation"])] if header else []
    for tier, begin_ms, end_ms, text in marks:
        times = {"Begin": begin_ms, "End": end_ms, "Duration": end_ms - begin_ms}
        cells = [written_as.get(form, str)(times[each]) for each in what for form in forms]
        lines.append("\t".join([tier, "", *cells, text or "mhm"]))
    return "\r\n".join(lines)


@pytest.mark.parametrize("forms", [("hh:mm:ss.ms",), ("ss.msec",), ("msec",), ("hh:mm:ss.ms", "ss.msec", "msec")])
@pytest.mark.parametrize("what", [("Begin", "End"), ("Begin", "End", "Duration"), ("Begin", "Duration")])
@pytest.mark.parametrize("header", [False, True])
def test_exports_of_elan_are_read(tmp_path: Path, forms: tuple[str, ...], what: tuple[str, ...], header: bool) -> None:
    for name in ("x.txt", "x.tsv"):
        labels, odd = read(written(tmp_path, name, _elan(forms, what, header)))
        rounded = [(side, kind, start_s, round(end_s, 6)) for side, kind, start_s, end_s in labels]
        assert rounded == [("A", "speech", 1.25, 2.793), ("B", "backchannel", 3.0, 4.1)]
        assert odd == {"tiers of ELAN without a side and kind, left out": [f"{name}: 'gaze' (1)"]}


def test_elan_may_give_a_column_to_each_tier_and_kinds_as_texts(tmp_path: Path) -> None:
    header = "Temps de début - ss.msec\tTemps de fin - ss.msec\tA\tBot\n"
    labels, odd = read(written(tmp_path, "x.txt", f"{header}1.250\t2.793\tpause\t\n3.000\t4.100\tpasue\thello\n"))
    assert labels == [("A", "pause", 1.25, 2.793), ("B", "speech", 3.0, 4.1)]
    assert odd == {"labels of unknown kind 'pasue'; perhaps pause or pauses, left out": ["x.txt, line 3"]}
    with pytest.raises(SettingsError, match=r"x.tsv: expected begin, end and annotation in each row of an export"):
        read(written(tmp_path, "x.tsv", f"{header}1.250\t\tpause\t\n"))


SUBTITLES = """{header}1
{zero}00:01{point}250 --> {zero}00:02{point}793{settings}
{a}Hello, pause there
and go on

2
{zero}00:03{point}000 --> {zero}00:04{point}100
{b}<i>Fine.</i>
{a}Wait

{zero}01:05{point}000 --> {zero}01:06{point}000
{c}who is this
{zero}01:07{point}000 --> {zero}01:08{point}000
A turn that nobody says
"""
NO_SPEAKER = "subtitles without a speaker (expected 'A: ' or <v A>)"


def test_subtitles_are_speech_of_who_speaks(tmp_path: Path) -> None:
    srt = SUBTITLES.format(header="", zero="00:", point=",", settings="", a="A: ", b="- Agent: ", c="Anna: ")
    voices = {"a": "<v Caller>", "b": "<v.loud Agent>", "c": "<v Anna>"}
    vtt = SUBTITLES.format(header="WEBVTT\n\nNOTE A: no\n\n", zero="", point=".", settings=" align:start", **voices)
    for name, text, offset in (("x.srt", srt, 0), ("x.vtt", vtt, 4)):
        labels, odd = read(written(tmp_path, name, text.replace("\n", "\r\n")))
        assert labels == [("A", "speech", 1.25, 2.793), ("B", "speech", 3, 4.1), ("A", "speech", 3, 4.1)]
        assert odd == {
            "labels of unknown side 'Anna' (expected A or B), left out": [f"{name}, line {11 + offset}"],
            f"{NO_SPEAKER}, left out": [f"{name}, line {13 + offset}: 'A turn that nobody says'"],
        }
    with pytest.raises(SettingsError, match=f"found none: {re.escape(NO_SPEAKER)}"):
        read(written(tmp_path, "y.srt", "1\n00:00:01,000 --> 00:00:02,000\nhello\n"))
    with pytest.raises(SettingsError, match=r"y.srt, line 2: expected times such as 00:02.793, got '00:00:01,000 -->"):
        read(written(tmp_path, "y.srt", "1\n00:00:01,000 --> 00:00:72,000\nA: hello\n"))


def test_labels_that_audacity_exports_as_subtitles_are_labels(tmp_path: Path) -> None:
    cues = ["00:00:01,000 --> 00:00:02,000\nA pause", "00:00:03,000 --> 00:00:03,500\nB backchannel: mhm"]
    labels = read(written(tmp_path, "x.srt", "\n\n".join(cues)))[0]
    assert labels == [("A", "pause", 1.0, 2.0), ("B", "backchannel", 3.0, 3.5)]


def test_a_call_with_one_speaker_in_rttm_is_told(tmp_path: Path) -> None:
    line = "SPEAKER {} {} 0.50 1.00 <NA> <NA> {} <NA> <NA>"
    lines = [("one", 1, "spk0"), ("one", 1, "spk0"), ("two", 1, "anna"), ("two", 2, "bob"), ("only", 1, "B")]
    labels, odd = read(written(tmp_path, "x.rttm", "\n".join(line.format(*each) for each in lines)))
    assert [place for place, *_ in labels] == ["left", "left", "left", "right", "B"]
    assert odd == {"calls with one speaker in RTTM, taken as the side on its channel": ["one: 'spk0' on channel 1"]}


def test_sides_that_are_counted_from_0_are_not_exchanged(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("channel,kind,start,end\n0,pause,1,2\n1,pause,3,4\n")
    labels = read_labels(tmp_path / "a.csv", oddities := Oddities()).labels
    assert [label.place for label in labels] == ["left", "right"]
    assert oddities.found == {"labels that count channels from 0": ["a.csv: 0 is left, 1 is right"]}


def test_labels_in_the_first_hundredth_of_a_call_are_told() -> None:
    early = [Label("A", "turn_end", n / 100, n / 100) for n in (1, 40)]
    assert within_session(early, 6000, [(0, 6000)])[1] == [
        "2 labels in the first 0.60 s of 60.00 s, and no other: in another unit?: A turn_end at 0.01 s, "
        "A turn_end at 0.40 s"
    ]
    assert within_session([*early, Label("A", "turn_end", 0.7, 0.7)], 6000, [(0, 6000)])[1] == []


def test_a_pipe_in_a_folder_of_labels_is_named_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("side,kind,start,end\nA,pause,1,2\n")
    os.mkfifo(tmp_path / "b.csv")
    assert len(read_labels(tmp_path, oddities := Oddities()).labels) == 1
    assert oddities.found == {
        "label files that cannot be read, left out": [f"{tmp_path / 'b.csv'}: cannot be read: it is a pipe or a device"]
    }
