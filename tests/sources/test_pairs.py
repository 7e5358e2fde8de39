"""Two mono files a call: by patterns and by a table, whatever the folders, and what is left alone is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commands import done, refused
from helpers.voices import voices, write
from hypothesis import given
from hypothesis import strategies as st

import fdbcore
from fdbcore.errors import SettingsError
from fdbcore.sources.calls import NamedInput, named_calls
from fdbcore.sources.names import Oddities
from fdbcore.sources.pairs import pair_name, paired_by_patterns
from fdbcore.sources.sessions import SessionInput

BY_NAME = ("*-caller.wav", "*-agent.wav")


def files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def sides(session: SessionInput, folder: Path) -> tuple[str, str, str]:
    assert session.b is not None
    return session.name, session.a.relative_to(folder).as_posix(), session.b.relative_to(folder).as_posix()


@pytest.mark.parametrize(
    ("patterns", "calls"),
    [
        (BY_NAME, [("c1", "c1-caller.wav", "c1-agent.wav"), ("c2", "c2-caller.wav", "c2-agent.wav")]),
        (("agent_*.wav", "user_*.wav"), [("7", "agent_7.wav", "user_7.wav"), ("8.x", "agent_8.x.wav", "user_8.x.wav")]),
        (("a/*.wav", "b/*.wav"), [("1", "mon/a/1.wav", "mon/b/1.wav"), ("2", "mon/a/2.wav", "mon/b/2.wav")]),
        (("in.wav", "out.wav"), [("k-in+out", "k/in.wav", "k/out.wav"), ("l-in+out", "l/in.wav", "l/out.wav")]),
        (("*_[1].wav", "*_[2].wav"), [("x", "x_[1].wav", "x_[2].wav")]),
    ],
)
def test_two_files_that_differ_as_the_patterns_do_are_a_call(
    tmp_path: Path, patterns: tuple[str, str], calls: list[tuple[str, str, str]]
) -> None:
    files(tmp_path, *(name for _, *names in calls for name in names))
    oddities = Oddities()
    found = named_calls(NamedInput([tmp_path], pair=patterns), oddities)
    assert [sides(call.session, tmp_path) for call in found] == calls
    assert oddities.found == {}
    exchanged = named_calls(NamedInput([tmp_path], pair=patterns[::-1]), Oddities())
    assert [sides(call.session, tmp_path)[1:] for call in exchanged] == [(b, a) for _, a, b in calls]


def test_files_of_other_folders_are_no_pair(tmp_path: Path) -> None:
    files(tmp_path, "mon/c1-caller.wav", "tue/c1-agent.wav", "tue/c2-caller.wav", "tue/c2-agent.wav", "tue/music.wav")
    oddities = Oddities()
    (call,) = named_calls(NamedInput([tmp_path], pair=BY_NAME), oddities)
    assert sides(call.session, tmp_path) == ("c2", "tue/c2-caller.wav", "tue/c2-agent.wav")
    assert oddities.found == {
        "files without the other side, left out": [f"{tmp_path}/mon/c1-caller.wav", f"{tmp_path}/tue/c1-agent.wav"],
        "files that fit neither pattern of --pair, left out": [f"{tmp_path}/tue/music.wav"],
    }


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("*-caller.wav", "agent.wav"), "expected two different patterns with as many"),
        (("*.wav", "*.wav"), "expected two different patterns"),
        (("*.wav", "*-agent.wav"), "c1-agent.wav, which fits both"),
        (("*-x.wav", "*-agent.wav"), "got none; of 2: 0 of '.-x.wav' and 1 of '.-agent.wav'"),
    ],
)
def test_patterns_that_pair_nothing_are_refused(tmp_path: Path, patterns: tuple[str, str], expected: str) -> None:
    files(tmp_path, "c1-caller.wav", "c1-agent.wav")
    with pytest.raises(SettingsError, match=expected):
        named_calls(NamedInput([tmp_path], pair=patterns), Oddities())


@given(
    st.lists(st.text(st.sampled_from("ab-_. 1"), min_size=1, max_size=6), min_size=1, max_size=8, unique=True),
    st.randoms(use_true_random=False),
)
def test_every_call_is_found_whatever_it_is_called_and_in_whatever_order(names: list[str], random: object) -> None:
    pairs = [(Path("d", f"{name}~A.wav"), Path("d", f"{name}~B.wav")) for name in names]
    given_files = [file for pair in pairs for file in pair]
    random.shuffle(given_files)  # type: ignore[attr-defined]
    oddities = Oddities()
    assert set(paired_by_patterns(given_files, ("*~A.wav", "*~B.wav"), oddities)) == set(pairs)
    assert oddities.found == {}


@pytest.mark.parametrize(
    ("a", "b", "name"),
    [
        ("call1-caller", "call1-agent", "call1"),
        ("x1-cust", "x1-csr", "x1"),
        ("2026-11-01 09.30_a", "2026-11-01 09.30_b", "2026-11-01 09.30"),
        ("caller_0001", "agent_0001", "0001"),
        ("0001", "0001", "0001"),
        ("in", "out", "in+out"),
        ("call1", "call1-agent", "call1"),
    ],
)
def test_a_call_is_called_by_the_words_that_its_files_share(a: str, b: str, name: str) -> None:
    assert pair_name(a, b) == name


def test_a_table_says_which_files_are_a_call(tmp_path: Path) -> None:
    files(tmp_path, "u/7.wav", "s/99.wav", "u/8.wav", "s/98.wav", "s/1.wav")
    (tmp_path / "meta.csv").write_text(
        "A_File;b_file;version\nu/7.wav;s/99.wav;new\nu/8.wav;s/98.wav;old\nu/9.wav;s/1.wav;old\n"
    )
    oddities = Oddities()
    calls = named_calls(NamedInput([tmp_path], meta=tmp_path / "meta.csv"), oddities)
    assert [(*sides(call.session, tmp_path), dict(call.columns)) for call in calls] == [
        ("7+99", "u/7.wav", "s/99.wav", {"version": "new"}),
        ("8+98", "u/8.wav", "s/98.wav", {"version": "old"}),
    ]
    assert oddities.found == {
        f"other files in {tmp_path}": ["1 .csv"],
        "files of no row of meta.csv with both sides, left out": [f"{tmp_path}/s/1.wav"],
        "rows of meta.csv without a file": ["u/9.wav"],
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("7.wav,99.wav\n8.wav,99.wav\n", "expected each file in one call, got .*99.wav in several"),
        ("7.wav,7.wav\n", "expected each file in one call, got .*7.wav in several"),
        ("x.wav,99.wav\n", "got only others, such as 'x.wav', '99.wav'"),
        ("", "got an empty table"),
    ],
)
def test_a_table_that_pairs_nothing_or_one_file_twice_is_refused(tmp_path: Path, rows: str, expected: str) -> None:
    files(tmp_path, "7.wav", "8.wav", "99.wav")
    (tmp_path / "meta.csv").write_text(f"a_file,b_file\n{rows}")
    with pytest.raises(SettingsError, match=expected):
        named_calls(NamedInput([tmp_path], meta=tmp_path / "meta.csv"), Oddities())
    with pytest.raises(SettingsError, match="give --pair, or the columns"):
        named_calls(NamedInput([tmp_path], meta=tmp_path / "meta.csv", pair=BY_NAME), Oddities())


def test_a_folder_of_pairs_counts_as_the_same_calls_in_stereo(tmp_path: Path) -> None:
    stereo, mono = tmp_path / "stereo", tmp_path / "mono"
    for folder in (stereo, mono):
        folder.mkdir()
    for name, drawing in (("one", "A 0.5-2 4-5 | B 2.4-3.4"), ("two", "A 0.5-2 | B 1.5-3")):
        audio = voices(drawing)
        write(stereo / f"{name}.wav", audio)
        for side, channel in zip(("caller", "agent"), audio.T, strict=True):
            write(mono / f"{name}-{side}.wav", channel)
    by_stereo = fdbcore.replay_all(stereo, out=tmp_path / "S", vad="energy")
    done("replay", mono, "--pair", *BY_NAME, "--vad", "energy", "--out", tmp_path / "M")
    by_pairs = fdbcore.Run(tmp_path / "M")
    assert [call.name for call in by_pairs.calls] == ["one", "two"]
    for left, right in zip(by_stereo.calls, by_pairs.calls, strict=True):
        assert left.recording.turn_events == right.recording.turn_events
    assert "not both" in refused("replay", "--pair", *BY_NAME, "-a", "x.wav", "-b", "y.wav")
