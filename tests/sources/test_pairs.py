"""Two mono files a call: by patterns, by a table, as Full-Duplex-Bench v2 names them; what is left alone is named."""

import itertools
import json
import shutil
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import command, done, refused
from helpers.voices import RATE_HZ, voices, write
from hypothesis import given
from hypothesis import strategies as st

import fdbcore
from fdbcore.errors import SettingsError
from fdbcore.recording.reader import Recording
from fdbcore.sources.calls import NamedInput, PlannedCall, named_calls
from fdbcore.sources.names import Oddities
from fdbcore.sources.pairs import pair_name, paired_by_patterns
from fdbcore.sources.sessions import CallInput

BY_NAME = ("*-caller.wav", "*-agent.wav")


def files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def sides(session: CallInput, folder: Path) -> tuple[str, str, str]:
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


ORDER, PRIVACY = "Daily.ordering.001", "Safety.privacy.002"
CALLS = {ORDER: "A 0.3-2 4.6-6.4 | B 2.4-4.3 6-8", PRIVACY: "A 0.5-2.5 5-6 | B 2.9-5.2"}


def v2_folder(folder: Path, drawing: str = CALLS[ORDER], mix: bool = True) -> Path:
    """A folder as the benchmark leaves it; B's file is shorter."""
    samples = voices(drawing)
    write(folder / "A.wav", samples[:, 0])
    write(folder / "B.wav", samples[: -RATE_HZ // 2, 1])
    if mix:
        write(folder / "combined.wav", samples)
    return folder


def said(folder: Path, side: str, *words: tuple[str, float, float]) -> None:
    """The words of a side, in the benchmark's form."""
    chunks = [{"text": text, "timestamp": [start_s, end_s]} for text, start_s, end_s in words]
    content = {"text": " ".join(text for text, *_ in words), "chunks": chunks}
    (folder / f"{side}.json").write_text(json.dumps(content))


def calls_in(*paths: Path, **named: Any) -> tuple[list[PlannedCall], dict[str, list[str]]]:
    oddities = Oddities()
    return named_calls(NamedInput(paths, **named), oddities), oddities.found


def replay(source: Path, out: Path) -> None:
    done("replay", "--quiet", "--vad", "energy", "--jobs", 1, source, "--out", out)


@pytest.mark.parametrize(
    ("name", "place"),
    [(ORDER, f"Daily/{ORDER}"), (ORDER, f"Daily/ordering/{ORDER}/session_20260101_120000"), ("one", "one")],
)
def test_a_v2_folder_is_a_call_with_the_name_of_its_task(tmp_path: Path, name: str, place: str) -> None:
    folder = v2_folder(tmp_path / "outputs" / place)
    said(folder, "B", ("Sure", 2.5, 2.9))
    (folder / "transcripts.json").write_text("[]")
    for named in ([tmp_path / "outputs"], [folder], [folder / "A.wav", folder / "B.wav"]):
        (call,), oddities = calls_in(*named)
        session = call.session
        assert (session.name, session.a, session.b) == (name, folder / "A.wav", folder / "B.wav")
        assert session.words == {"B": folder / "B.json"}
        assert oddities == {}


def test_patterns_and_tables_still_name_both_files(tmp_path: Path) -> None:
    folders = [v2_folder(tmp_path / "calls" / name) for name in (ORDER, PRIVACY)]
    names = sorted((ORDER, PRIVACY))
    for pair, sides in ((("A.wav", "B.wav"), "AB"), (("B.wav", "A.wav"), "BA")):
        calls, _ = calls_in(tmp_path / "calls", pair=pair)
        assert [(each.session.a, each.session.b) for each in calls] == [
            tuple(folder / f"{side}.wav" for side in sides) for folder in folders
        ]
    table = tmp_path / "table.csv"
    table.write_text(f"call,system\n{ORDER},moshi\n{PRIVACY},echo\n")
    calls, oddities = calls_in(tmp_path / "calls", meta=table)
    assert [(each.session.name, each.columns["system"]) for each in calls] == list(
        zip(names, ("moshi", "echo"), strict=True)
    )
    assert oddities == {}


def test_tasks_of_several_systems_keep_apart(tmp_path: Path) -> None:
    for system in ("moshi", "echo"):
        v2_folder(tmp_path / system / "Daily" / ORDER)
    calls, _ = calls_in(tmp_path)
    assert [each.session.name for each in calls] == [f"{system}-Daily-{ORDER}" for system in ("echo", "moshi")]
    table = tmp_path / "table.csv"
    table.write_text(f"path,level\nmoshi/Daily/{ORDER},2\necho/Daily/{ORDER},1\n")
    calls, oddities = calls_in(tmp_path / "moshi", tmp_path / "echo", meta=table)
    assert [each.columns["level"] for each in calls] == ["2", "1"]
    assert oddities == {}


def test_stereo_calls_that_have_such_names_are_calls_of_their_own(tmp_path: Path) -> None:
    for name in "ABC":
        write(tmp_path / "three" / f"{name}.wav", voices(CALLS[ORDER]))
    for name in "AB":
        write(tmp_path / "two" / f"{name}.wav", voices(CALLS[ORDER]))
    assert [each.session.name for each in calls_in(tmp_path / "three")[0]] == ["A", "B", "C"]
    assert [each.session.b for each in calls_in(tmp_path / "two")[0]] == [None, None]


def test_an_export_in_the_form_of_v2_replays_to_the_same_events(tmp_path: Path) -> None:
    order = v2_folder(tmp_path / "outputs" / "Daily" / ORDER)
    said(order, "A", ("Two", 0.4, 0.8), ("lattes", 0.9, 1.5))
    said(order, "B", ("Sure", 2.5, 2.9))
    v2_folder(tmp_path / "outputs" / "Safety" / PRIVACY, CALLS[PRIVACY])
    write(tmp_path / "outputs" / "other.wav", voices(CALLS[PRIVACY]))
    replay(tmp_path / "outputs", tmp_path / "RUN")
    result = done("export", tmp_path / "RUN", "--format", "fdb2")
    out = tmp_path / "RUN" / "fdb2"
    folders = [f"Daily/{ORDER}", f"Safety/{PRIVACY}", "other"]
    assert result.output.splitlines() == [str(out / folder / name) for folder in folders for name in ("A.wav", "B.wav")]
    for side in "AB":
        told = json.loads((out / folders[0] / f"{side}.json").read_text())
        assert told == json.loads((order / f"{side}.json").read_text())
    assert not list((out / folders[1]).glob("*.json"))
    with wave.open(str(out / folders[0] / "B.wav")) as file:
        assert (file.getframerate(), file.getnchannels()) == (48_000, 1)
    replay(out, tmp_path / "BACK")
    for name in (ORDER, PRIVACY, "other"):
        before, after = Recording(tmp_path / "RUN" / name), Recording(tmp_path / "BACK" / name)
        assert len(before.turn_events) > 4
        assert after.turn_events == before.turn_events
        assert np.array_equal(after.activity, before.activity)
        assert [after.spoken(side) for side in ("A", "B")] == [before.spoken(side) for side in ("A", "B")]


def test_words_of_v2_are_none_of_v1(tmp_path: Path) -> None:
    """v1 decides by words whether a system took the floor, of samples that have one turn."""
    v1, v2 = tmp_path / "v1" / "task" / "1", v2_folder(tmp_path / "v2" / ORDER, mix=False)
    v1.mkdir(parents=True)
    for source, target in (("A.wav", "input.wav"), ("B.wav", "output.wav")):
        shutil.copy(v2 / source, v1 / target)
    said(v2, "B", ("Sure", 2.5, 2.9))
    shutil.copy(v2 / "B.json", v1 / "output.json")
    for folder in (v1, v2):
        replay(folder, tmp_path / "RUN")
    names = [
        {
            name
            for name in json.loads(
                command("replay", "--vad", "energy", "--json", folder, "--out", tmp_path / "J").output
            )["measures"]
        }
        for folder in (v1, v2)
    ]
    assert any(name.startswith("compat_v1_") for name in names[0])
    assert not any(name.startswith("compat_v1_") for name in names[1])


@pytest.mark.parametrize("several", [False, True], ids=["copied audio", "linked audio"])
def test_an_export_never_writes_over_what_was_replayed(tmp_path: Path, several: bool) -> None:
    folder = v2_folder(tmp_path / "outputs" / "Daily" / ORDER)
    if several:
        v2_folder(tmp_path / "outputs" / "Safety" / PRIVACY)
    before = (folder / "A.wav").read_bytes()
    replay(tmp_path / "outputs", tmp_path / "RUN")
    result = command("export", tmp_path / "RUN", "--format", "fdb2", "--out", tmp_path / "outputs", code=1)
    assert "expected a folder apart from the calls" in result.output
    assert (folder / "A.wav").read_bytes() == before


def test_a_staged_run_is_exported_by_pacing_and_task(tmp_path: Path) -> None:
    """The examiner's own recordings, as the live clock or the virtual one left them."""
    brief = {
        "id": "daily.ordering.01",
        "language": "en",
        "role": "A person.",
        "goals": [{"goal": "Order a coffee.", "words": ["One coffee, please."], "met": "", "heard": []}],
        "closing": "Bye.",
        "most_turns": 3,
        "most_s": 10.0,
    }
    for pacing in ("slow", "fast"):
        v2_folder(tmp_path / "outputs" / pacing, mix=False)
    replay(tmp_path / "outputs", tmp_path / "RUN")
    for pacing in ("slow", "fast"):
        meta = json.loads((tmp_path / "RUN" / pacing / "meta.json").read_text())
        meta["parties"]["A"] = {"kind": "examiner", "brief": brief, "pacing": {"name": pacing}}
        (tmp_path / "RUN" / pacing / "meta.json").write_text(json.dumps(meta))
        (tmp_path / "RUN" / pacing / "derived" / "quantities.json").unlink()  # made from the file as it was
    done("export", tmp_path / "RUN", "--format", "fdb2", "--out", tmp_path / "OUT")
    assert sorted(str(path.parent.relative_to(tmp_path / "OUT")) for path in (tmp_path / "OUT").rglob("A.wav")) == [
        "fast/Daily/daily.ordering.01",
        "slow/Daily/daily.ordering.01",
    ]


def test_calls_with_words_are_replayed_anew_only_if_something_changed(tmp_path: Path) -> None:
    order = v2_folder(tmp_path / "outputs" / "Daily" / ORDER)
    v2_folder(tmp_path / "outputs" / "Safety" / PRIVACY, CALLS[PRIVACY])
    said(order, "B", ("Sure", 2.5, 2.9))
    made: list[int] = []
    for change in (None, None, "Yes", "Yes", "", ""):
        if change:
            said(order, "B", (change, 2.5, 2.9))
        elif change == "":
            (order / "B.json").unlink(missing_ok=True)
        replay(tmp_path / "outputs", tmp_path / "RUN")
        made.append((tmp_path / "RUN" / ORDER / "derived" / "turns.json").stat().st_mtime_ns)
        words = Recording(tmp_path / "RUN" / ORDER).spoken("B")
        assert words == (None if change == "" else [(change or "Sure", 2.5, 2.9)])
    assert [later != earlier for earlier, later in itertools.pairwise(made)] == [False, True, False, True, False]
