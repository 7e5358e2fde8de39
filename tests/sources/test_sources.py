"""From names to sessions, and the two sides of a session: which, where, and in step."""

import json
import os
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.audio_files import Int16, beeps, encode, noise, onsets
from scipy.io import wavfile

from fdbcore.audio.decode import AudioFile
from fdbcore.errors import AudioError, SettingsError
from fdbcore.sources.sessions import BLOCK_SAMPLES, CallInput, session_inputs
from fdbcore.types import SIDES, Pcm, Side

EXAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "fdb_v1_examples"


def wav(path: Path, pcm: Int16, rate_hz: int = 48_000) -> Path:
    path.parent.mkdir(exist_ok=True)
    wavfile.write(path, rate_hz, pcm)
    return path


def sides(session: CallInput) -> dict[Side, Pcm]:
    """All of A and of B."""
    with session.open() as source:
        pairs = list(source.blocks())
        joined = {side: np.concatenate([p[i] for p in pairs if p[i] is not None]) for i, side in enumerate(SIDES)}
        assert {side: len(joined[side]) for side in SIDES} == {side: source.sides[side].samples for side in SIDES}
        return joined


def tracks(path: Path, *pcm: Int16, titles: tuple[str, ...] = ("", ""), starts: tuple[int, ...] = (0, 0)) -> Path:
    """A file with an uncompressed track at 16 kHz for each of `pcm`, which begins at its start (in samples)."""
    with av.open(str(path), "w") as container:
        for each, title in zip(pcm, titles, strict=True):
            stream = container.add_stream("pcm_s16le", rate=16_000, layout="mono" if each.shape[1] == 1 else "stereo")
            stream.metadata["title"] = title
        frames = [
            (start + at, stream, each[at : at + 1600])
            for stream, each, start in zip(container.streams.audio, pcm, starts, strict=True)
            for at in range(0, len(each), 1600)
        ]
        for at, stream, block in sorted(frames, key=lambda frame: frame[0]):
            frame = av.AudioFrame.from_ndarray(block.reshape(1, -1), format="s16", layout=stream.layout)
            frame.sample_rate, frame.pts, frame.time_base = 16_000, at, Fraction(1, 16_000)
            container.mux(stream.encode(frame))
    return path


def at_48k(samples: int, rate_hz: int) -> int:
    return (2 * samples * 48_000 + rate_hz) // (2 * rate_hz)


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))


# --- which files are a session


def test_a_stereo_file_is_a_session_and_so_is_each_of_several(tmp_path: Path) -> None:
    paths = [wav(tmp_path / folder / "call.wav", noise(99, 2)) for folder in ("x", "y", "z")]
    assert session_inputs(paths[:1]) == [CallInput("call", paths[0])]
    assert [(session.name, session.a, session.b) for session in session_inputs(paths)] == [
        ("x-call", paths[0], None),
        ("y-call", paths[1], None),
        ("z-call", paths[2], None),
    ]


def test_exactly_two_mono_files_are_one_session(tmp_path: Path) -> None:
    a, b, stereo = (wav(tmp_path / name, noise(99, n)) for name, n in (("a.wav", 1), ("b.wav", 1), ("s.wav", 2)))
    assert session_inputs([a, b]) == [CallInput("a+b", a, b)]
    assert [session.b for session in session_inputs([a, stereo])] == [None, None]
    assert [session.b for session in session_inputs([a, b, a])] == [None, None, None]
    assert [session.b for session in session_inputs([a, tmp_path / "missing.wav"])] == [None, None]
    assert [session.b for session in session_inputs([a, b], searched=True)] == [None, None]


def test_named_sides_are_one_session(tmp_path: Path) -> None:
    session = CallInput("user+agent", tmp_path / "user.mp3", tmp_path / "agent.wav", swap=True, offset_ms=-20)
    assert session_inputs([], session.a, session.b, swap=True, offset_ms=-20) == [session]


@pytest.mark.parametrize("swap", [False, True])
def test_a_v1_folder_is_a_session_with_the_words_it_has(tmp_path: Path, swap: bool) -> None:
    for task in ("pause", "turn"):
        (tmp_path / task).mkdir()
        a, b = (
            wav(tmp_path / task / "1" / name, noise(99, seed=i)) for i, name in enumerate(("input.wav", "output.wav"))
        )
        b.with_suffix(".json").write_text('{"text": "", "chunks": []}')
    sessions = session_inputs([tmp_path / "pause" / "1", tmp_path / "turn" / "1"], swap=swap)
    assert [session.name for session in sessions] == ["pause-1", "turn-1"]
    assert (sessions[1].a, sessions[1].b) == (a, b)
    assert sessions[1].words == {"A" if swap else "B": b.with_suffix(".json")}


@pytest.mark.parametrize("swap", [False, True])
def test_the_two_files_of_v1_are_known_by_their_names_too(tmp_path: Path, swap: bool) -> None:
    a, b = (wav(tmp_path / name, noise(99, seed=i)) for i, name in enumerate(("input.wav", "output.wav")))
    for file in (a, b):
        file.with_suffix(".json").write_text("{}")
    (session,) = session_inputs(a=a, b=b, swap=swap)
    assert session.words == dict(
        zip("BA" if swap else "AB", (a.with_suffix(".json"), b.with_suffix(".json")), strict=True)
    )
    assert session_inputs([a, b], swap=swap) == session_inputs([tmp_path], swap=swap) == [session]


def test_a_recording_is_a_session_and_so_is_each_of_a_run(tmp_path: Path) -> None:
    cases = [tmp_path / "run" / name for name in ("one", "two")]
    for case in cases:
        case.mkdir(parents=True)
        for name in ("meta.json", "session.wav", "input.wav", "output.wav"):  # the last two: an export beside it
            (case / name).touch()
    expected = [CallInput(case.name, case / "session.wav", recording=case) for case in cases]
    assert session_inputs([tmp_path / "run"]) == session_inputs(cases) == expected
    assert [session.name for session in session_inputs([*cases, cases[0]])] == ["one", "two", "one-2"]
    (file,) = session_inputs([cases[0] / "session.wav"], swap=True)
    assert (file.name, file.recording) == ("session", None)
    with pytest.raises(SettingsError, match=rf"a recording keeps its sides and times: name {cases[0]}/session\.wav"):
        session_inputs([cases[0]], offset_ms=10)


def test_half_of_a_v1_folder_is_an_error_when_it_is_opened(tmp_path: Path) -> None:
    wav(tmp_path / "1" / "input.wav", noise(99))
    (session,) = session_inputs([tmp_path / "1"])
    with pytest.raises(
        AudioError,
        match=r"1: expected .* a folder with input\.wav and output\.wav, or A\.wav and B\.wav, got a folder$",
    ):
        session.open()


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ("1/x 2/x-2 3/x 4/x", "1-x x-2 3-x 4-x"),
        ("mon/am/1 mon/pm/1 tue/am/1 tue/2", "mon-am-1 mon-pm-1 tue-am-1 2"),
        ("tue/am/1 mon/am/1", "tue-am-1 mon-am-1"),
        ("x/1 x/1 y/2", "1 1-2 2"),
        ("x-1 x/1 y/1", "x-1 x-1-2 y-1"),
    ],
)
def test_names_that_collide_are_told_apart_by_folders_all_of_them(tmp_path: Path, paths: str, names: str) -> None:
    sessions = session_inputs([tmp_path / f"{path}.wav" for path in paths.split()])
    assert [session.name for session in sessions] == names.split()


def test_a_name_that_no_folder_can_have_is_shortened_and_stays_its_own() -> None:
    names = [session.name for session in session_inputs([f"{'ä' * 122}{end}.wav" for end in "12"])]
    assert len(set(names)) == 2
    assert max(len(name.encode()) for name in names) <= 200
    assert all(name.startswith("ä" * 90) for name in names)


def test_the_bytes_of_a_name_that_is_no_text_are_in_hex() -> None:
    assert session_inputs([Path(os.fsdecode(b"latin\xe9.wav"))])[0].name == "latin%E9"


@pytest.mark.parametrize(
    "arguments", [([],), (["x.wav"], "a.wav", "b.wav"), ([], "a.wav"), ([], None, "b.wav"), (["x.wav"], "a.wav")]
)
def test_other_combinations_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(SettingsError, match="give recordings or folders, or both -a FILE and -b FILE"):
        session_inputs(*arguments)


@pytest.mark.parametrize("offset_ms", [600_001, -600_001, 0.5, "1"])
def test_an_offset_out_of_range_is_refused(offset_ms: Any) -> None:
    with pytest.raises(SettingsError, match="offset_ms: expected a whole number from -600000 to 600000, got"):
        session_inputs(["x.wav"], offset_ms=offset_ms)


def test_one_bad_file_does_not_lose_the_others(tmp_path: Path) -> None:
    good = wav(tmp_path / "good.wav", noise(99, 2))
    missing, too_long, session, folder = session_inputs([tmp_path / "missing.wav", "x" * 300, good, tmp_path])
    assert len(sides(session)["A"]) == 99
    for bad in (missing, too_long):
        with pytest.raises(AudioError, match="got no such file"):
            bad.open()
    with pytest.raises(
        AudioError, match=r"or a folder with input\.wav and output\.wav, or A\.wav and B\.wav, got a folder"
    ):
        folder.open()


# --- the two sides


@pytest.mark.parametrize(("swap", "left"), [(False, "A"), (True, "B")])
def test_left_and_right_are_the_sides(tmp_path: Path, swap: bool, left: Side) -> None:
    pcm = noise(100_000, 2)
    (session,) = session_inputs([wav(tmp_path / "x.wav", pcm)], swap=swap)
    found = sides(session)
    assert same(found[left], pcm[:, 0])
    assert same(found["B" if left == "A" else "A"], pcm[:, 1])


@given(lengths=st.tuples(st.integers(1, 110_000), st.integers(1, 110_000)), offset_ms=st.integers(-1500, 1500))
@settings(max_examples=20)
def test_blocks_are_in_step_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, lengths: tuple[int, int], offset_ms: int
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    a, b = (noise(length, seed=seed)[:, 0] for seed, length in enumerate(lengths))
    files = wav(folder / "a.wav", a), wav(folder / "b.wav", b)
    with CallInput("x", *files, offset_ms=offset_ms).open() as source:
        pairs = list(source.blocks())
    lead = np.zeros(abs(offset_ms) * 48, np.int16)
    expected = (a, np.append(lead, b)) if offset_ms >= 0 else (np.append(lead, a), b)
    for index, whole in enumerate(expected):
        blocks = [pair[index] for pair in pairs]
        cut: list[Pcm | None] = [whole[at : at + BLOCK_SAMPLES] for at in range(0, len(whole), BLOCK_SAMPLES)]
        cut += [None] * (len(blocks) - len(cut))
        assert all(same(x, y) if x is not None and y is not None else x is y for x, y in zip(blocks, cut, strict=True))


def test_an_offset_moves_a_side_of_a_stereo_file_too(tmp_path: Path) -> None:
    pcm = noise(60_000, 2)
    path = wav(tmp_path / "x.wav", pcm)
    later, earlier = (sides(session_inputs([path], offset_ms=offset_ms)[0]) for offset_ms in (30_000, -30_000))
    assert same(later["A"], pcm[:, 0])
    assert same(later["B"], np.append(np.zeros(30 * 48_000, np.int16), pcm[:, 1]))
    assert same(earlier["A"], np.append(np.zeros(30 * 48_000, np.int16), pcm[:, 0]))
    assert same(earlier["B"], pcm[:, 1])


@pytest.mark.parametrize("rate_hz", [8000, 11_025, 24_000, 44_100])
def test_any_rate_keeps_its_places_and_its_length(tmp_path: Path, rate_hz: int) -> None:
    at = [rate_hz // 4, rate_hz * 3 // 2]
    pcm = np.hstack([beeps(2 * rate_hz + 7, at, rate_hz), beeps(2 * rate_hz + 7, [rate_hz], rate_hz)])
    found = sides(session_inputs([wav(tmp_path / "x.wav", pcm, rate_hz)])[0])
    assert len(found["A"]) == len(found["B"]) == round((2 * rate_hz + 7) * 48_000 / rate_hz)
    assert np.abs(np.subtract(onsets(found["A"][:, None]), [12_000, 72_000])).max() <= 8
    assert np.abs(np.subtract(onsets(found["B"][:, None]), [48_000])).max() <= 8


@pytest.mark.parametrize(("rate_a_hz", "rate_b_hz"), [(48_000, 16_000), (44_100, 8_000), (11_025, 96_000)])
def test_sides_of_unequal_rate_and_length_are_in_step(tmp_path: Path, rate_a_hz: int, rate_b_hz: int) -> None:
    beeps_at_s = (0.25, 1.5, 2.75)
    samples = {"A": 3 * rate_a_hz + 17, "B": 5 * rate_b_hz + 1}
    a, b = (
        wav(tmp_path / f"{side}.wav", beeps(samples[side], [int(s * rate_hz) for s in beeps_at_s], rate_hz), rate_hz)
        for side, rate_hz in (("A", rate_a_hz), ("B", rate_b_hz))
    )
    found = sides(CallInput("x", a, b))
    assert len(found["A"]) == at_48k(samples["A"], rate_a_hz)
    assert len(found["B"]) == at_48k(samples["B"], rate_b_hz)
    for side in SIDES:  # a beep is loud 3 of our samples after it began
        assert np.abs(np.subtract(onsets(found[side][:, None]), [12_003, 72_003, 132_003])).max() <= 6


@given(at=st.integers(0, 9_999))
def test_a_click_at_44_1_khz_arrives_within_half_a_sample(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    pcm = np.zeros((10_000, 2), np.int16)
    pcm[at, 1] = 20_000
    found = sides(CallInput("x", wav(tmp_path_factory.getbasetemp() / "click.wav", pcm, 44_100)))
    assert not found["A"].any()
    assert abs(int(np.argmax(found["B"])) - at * 48_000 / 44_100) <= 0.5


def test_two_channels_of_one_side_become_their_mean(tmp_path: Path) -> None:
    stereo, mono = noise(50_000, 2), noise(50_000, seed=1)
    session = CallInput("x", wav(tmp_path / "a.wav", stereo), wav(tmp_path / "b.wav", mono))
    with session.open() as source:
        assert [side.channel for side in source.sides.values()] == ["mean", "mono"]
    found = sides(session)
    assert same(found["A"], np.rint(stereo.mean(axis=1)))
    assert same(found["B"], mono[:, 0])


def test_two_files_of_different_kind_keep_their_own_facts(tmp_path: Path) -> None:
    a = wav(tmp_path / "a.wav", beeps(16_000, [8000], 8000), 8000)
    b = encode(tmp_path / "b.ogg", "libopus", np.repeat(beeps(144_000, [96_000]), 2, axis=1))
    with CallInput("x", a, b, offset_ms=100).open() as source:
        assert source.stated_s == pytest.approx(3.1, abs=0.02)
        found = [np.concatenate(blocks) for blocks in zip(*list(source.blocks())[:2], strict=True)]
        assert onsets(found[0][:, None])[0] == pytest.approx(48_000, abs=8)
        for _ in source.blocks():
            pass
        facts = json.loads(json.dumps(source.describe()))
        assert not source.playable_in_browser
        assert source.sides["A"].file.rate_hz == 8000
    assert facts["sides"] == {
        "A": {"file": 0, "channel": "mono", "lead_samples": 0, "samples": 96_000},
        "B": {"file": 1, "channel": "mean", "lead_samples": 4800, "samples": 144_000 + 4800},
    }
    assert [(file["codec"], file["rate_hz"]) for file in facts["files"]] == [("pcm_s16le", 8000), ("opus", 48_000)]
    assert (facts["offset_ms"], facts["swap"]) == (100, False)


@pytest.mark.parametrize(
    ("name", "codec", "settings", "playable"),
    [
        ("x.wav", "pcm_s16le", {}, True),
        ("x.ogg", "libopus", {"swap": True}, True),
        ("x.wav", "pcm_s16le", {"offset_ms": 10}, False),
        ("x.mka", "pcm_s16le", {}, False),
    ],
)
def test_a_browser_plays_a_stereo_file_at_the_times_of_the_session(
    tmp_path: Path, name: str, codec: str, settings: dict[str, Any], playable: bool
) -> None:
    with CallInput("x", encode(tmp_path / name, codec, noise(48_000, 2)), **settings).open() as source:
        for _ in source.blocks():
            pass
        assert source.playable_in_browser is playable


@pytest.mark.parametrize(("offset_ms", "stated_s"), [(0, 2.0), (1500, 2.5), (-1500, 3.5)])
def test_the_stated_length_is_that_of_the_later_end(tmp_path: Path, offset_ms: int, stated_s: float) -> None:
    a, b = wav(tmp_path / "a.wav", noise(96_000)), wav(tmp_path / "b.wav", noise(16_000, seed=1), 16_000)
    with CallInput("x", a, b, offset_ms=offset_ms).open() as source:
        assert source.stated_s == stated_s


def test_the_length_is_unknown_when_one_file_does_not_state_it(tmp_path: Path) -> None:
    a, b = wav(tmp_path / "a.wav", noise(96_000)), encode(tmp_path / "b.flac", "flac", noise(96_000, seed=1))
    content = bytearray(b.read_bytes())
    content[21:26] = bytes([content[21] & 0xF0, 0, 0, 0, 0])  # the number of samples: 0 is unknown
    b.write_bytes(content)
    for session in (CallInput("x", a, b), CallInput("x", b, a)):
        with session.open() as source:
            assert source.stated_s is None


def peak_bytes(session: CallInput) -> int:
    tracemalloc.start()
    try:
        with session.open() as source:
            for block in source.blocks():
                assert all(side is None or len(side) <= BLOCK_SAMPLES for side in block)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    short, long = (wav(tmp_path / f"{seconds}.wav", noise(8000 * seconds, 2), 8000) for seconds in (10, 100))
    least = peak_bytes(CallInput("x", short))
    for session in (CallInput("x", long), CallInput("x", short, long)):
        assert peak_bytes(session) < least + 200_000  # 100 s are 3.2 MB in the file and 19 MB as blocks


# --- a file with a track for each side


@pytest.mark.parametrize("suffix", ["mka", "mkv", "mov"])
@pytest.mark.parametrize("late", [(0, 0), (0, 8000), (2400, 0)])
def test_two_mono_tracks_are_the_sides_by_their_timestamps(tmp_path: Path, suffix: str, late: tuple[int, int]) -> None:
    a, b = noise(32_000), noise(24_000, seed=1)
    with_silence = [np.concatenate([np.zeros((n, 1), np.int16), pcm]) for n, pcm in zip(late, (a, b), strict=True)]
    files = [wav(tmp_path / f"{n}.wav", pcm, 16_000) for n, pcm in enumerate(with_silence)]
    path = tracks(tmp_path / f"call.{suffix}", a, b, starts=late)
    for swap in (False, True):
        found = sides(CallInput("x", path, swap=swap))
        known = sides(CallInput("y", files[0], files[1], swap=swap))
        assert all(same(found[side], known[side]) for side in SIDES)
    with CallInput("x", path).open() as source:
        list(source.blocks())
        described = source.describe()
    assert [side["channel"] for side in described["sides"].values()] == ["track 1", "track 2"]
    assert [file["path"] for file in described["files"]] == [str(path)]
    assert not described["playable_in_browser"]


def test_tracks_whose_titles_name_the_sides_in_the_other_order_want_a_swap(tmp_path: Path) -> None:
    path = tracks(tmp_path / "call.mkv", noise(1600), noise(1600, seed=1), titles=("Agent", "Caller"))
    with pytest.raises(AudioError, match=r"expected A's track before B's, got .*'Agent', 'Caller'\): give --swap"):
        CallInput("x", path).open()
    in_order = tracks(tmp_path / "call2.mkv", noise(1600, seed=1), noise(1600), titles=("Caller", "Agent"))
    assert same(sides(CallInput("x", path, swap=True))["A"], sides(CallInput("x", in_order))["A"])


@pytest.mark.parametrize("channels", [(1, 2), (2, 2), (1, 1, 1)])
def test_other_tracks_are_refused_with_what_helps(tmp_path: Path, channels: tuple[int, ...]) -> None:
    pcm = [noise(1600, n, seed) for seed, n in enumerate(channels)]
    path = tracks(tmp_path / "x.mkv", *pcm, titles=("",) * len(pcm), starts=(0,) * len(pcm))
    with pytest.raises(AudioError, match=r"expected one audio stream, got [23] \(one for both .* give -a A.wav -b"):
        CallInput("x", path).open()


# --- what is no session


def test_a_lone_mono_file_is_refused(tmp_path: Path) -> None:
    session = CallInput("x", wav(tmp_path / "x.wav", noise(99)))
    with pytest.raises(
        AudioError, match=r"expected two channels \(left A, right B\), got mono: give the file of each side, A's first"
    ):
        session.open()


@pytest.mark.parametrize("place", [0, 1])
def test_three_channels_are_refused_on_either_side(tmp_path: Path, place: int) -> None:
    files = [wav(tmp_path / f"{seed}.wav", noise(99, seed=seed)) for seed in (0, 1)]
    wav(files[place], noise(99, 3))
    with pytest.raises(AudioError, match=rf"{place}\.wav: expected one or two channels, got 3 \(keep two: ffmpeg"):
        CallInput("x", files[0], files[1]).open()


def test_when_the_second_file_is_bad_the_first_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Path] = []
    monkeypatch.setattr(AudioFile, "close", lambda file: closed.append(file.path))
    good = wav(tmp_path / "x.wav", noise(99))
    with pytest.raises(AudioError, match=r"missing\.wav: expected an audio file, got no such file"):
        CallInput("x", good, tmp_path / "missing.wav").open()
    assert closed == [good]


@pytest.mark.parametrize("difference", [0, 1])
def test_channels_that_are_the_same_throughout_are_refused(tmp_path: Path, difference: int) -> None:
    pcm = np.repeat(noise(90_000), 2, axis=1)
    pcm[-1, 1] ^= difference
    session = CallInput("x", wav(tmp_path / "x.wav", pcm))
    if difference:
        assert len(sides(session)["A"]) == 90_000
    else:
        with pytest.raises(AudioError, match=r"x\.wav: expected two different channels .*, got the same in both: give"):
            sides(session)


@pytest.mark.parametrize("silent", [[0], [1], [0, 1]])
def test_silent_sides_are_allowed(tmp_path: Path, silent: list[int]) -> None:
    pcm = noise(50_000, 2)
    pcm[:, silent] = 0
    found = sides(CallInput("x", wav(tmp_path / "x.wav", pcm)))
    assert same(np.stack([found["A"], found["B"]], axis=1), pcm)


def test_one_file_for_both_sides_is_refused(tmp_path: Path) -> None:
    a, b = wav(tmp_path / "a.wav", noise(999)), wav(tmp_path / "b.wav", noise(999))
    for other in (a, b):
        with pytest.raises(AudioError, match=r"expected another side than .*a\.wav, got the same content"):
            CallInput("x", a, other).open()


def test_an_error_in_the_middle_names_its_file(tmp_path: Path) -> None:
    values = np.random.default_rng(0).uniform(-1, 1, (100_000, 2)).astype(np.float32)
    values[70_000, 1] = np.nan
    wavfile.write(tmp_path / "x.wav", 48_000, values)
    with pytest.raises(AudioError, match=r"x\.wav: expected finite samples, got nan at sample 70000, channel 1"):
        sides(CallInput("x", tmp_path / "x.wav"))


# --- real ones


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples of Full-Duplex-Bench v1 are not there")
@pytest.mark.parametrize("task", ["pause_handling_example", "smooth_turn_taking_example"])
def test_the_examples_of_v1_open(task: str) -> None:
    (session,) = session_inputs([EXAMPLES / task / "1"])
    assert session.name == f"{task}-1"
    assert set(session.words) == {"B"}
    found = sides(session)
    for side, path in zip(SIDES, (session.a, session.b), strict=True):
        rate_hz, pcm = wavfile.read(str(path))
        assert len(found[side]) == round(len(pcm) * 48_000 / rate_hz)
        assert np.abs(found[side]).max() > 1000
