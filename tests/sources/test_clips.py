"""Recorded users: what folders and lists hold, how a clip is played, and what is exported of a run over clips."""

import json
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from click.testing import Result
from fakes.parties import LoudVad
from helpers.commands import command

from fdbcore.audio.level import active_level_dbov
from fdbcore.clock import VirtualClock
from fdbcore.endpoints.clip import ClipEndpoint
from fdbcore.errors import AudioError, InputError, PartyError, SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.recording.files import AUDIO, settings_hash
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.registry import endpoint
from fdbcore.session.loop import run
from fdbcore.sources.clips import clips_in, read_clip
from fdbcore.sources.sessions import session_inputs
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, Clip, Pcm, TurnSettings

REAL: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "fdb_v1_examples"


def pcm_of(seconds: float, rate_hz: int = SAMPLE_RATE_HZ, seed: int = 0) -> Pcm:
    rng = np.random.default_rng(seed)
    return rng.integers(-5000, 5000, round(seconds * rate_hz), endpoint=True).astype(np.int16)


def write_wav(path: Path, pcm: Pcm, rate_hz: int = SAMPLE_RATE_HZ) -> Path:
    """int16 (n,) or (n, channels)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if pcm.ndim == 1 else pcm.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.tobytes())
    return path


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """A folder with samples of v1, v1.5 and v3 in their layouts, and with results that are no clips."""
    root = tmp_path / "data"
    beep = pcm_of(0.1, 16_000)
    for number in (1, 2, 10):
        folder = write_wav(root / "pause" / str(number) / "input.wav", beep, 16_000).parent
        write_json(folder / "pause.json", [{"text": "[PAUSE]", "timestamp": [0.1, 0.4 + number]}])
        write_json(folder / "output.json", {"text": "a result", "chunks": []})
        write_wav(folder / "output.wav", beep, 16_000)
    overlap = root / "talking_to_other" / "7"
    write_wav(overlap / "input.wav", beep, 16_000)
    write_wav(overlap / "clean_input.wav", beep, 16_000)
    write_json(overlap / "metadata.json", {"context": "a", "timestamps": [4.0, 5.5]})
    v3 = root / "fdb_v3_data_released" / "travel_03_spk2"
    write_wav(v3 / "input.wav", np.stack([beep, beep], axis=1))
    write_json(v3 / "metadata.json", {"domain": "travel_identity", "expected": []})
    return root


def test_folders_of_the_benchmarks(benchmark: Path) -> None:
    clips = clips_in(benchmark)
    assert [clip.name for clip in clips] == [
        "fdb_v3_data_released-travel_03_spk2",
        "pause-1",
        "pause-2",
        "pause-10",
        "talking_to_other-7",
        "talking_to_other-7-clean",
    ]
    assert [clip.group for clip in clips[::2]] == ["fdb_v3_data_released", "pause", "talking_to_other"]
    assert clips[1].path == benchmark / "pause" / "1" / "input.wav"
    assert clips[1].labels == {"pause": [{"text": "[PAUSE]", "timestamp": [0.1, 1.4]}]}
    assert clips[0].labels == {"metadata": {"domain": "travel_identity", "expected": []}}
    assert clips[5].path.name == "clean_input.wav"
    assert clips[5].labels == clips[4].labels
    assert json.loads(json.dumps(clips[1].to_json())) == {
        "path": str(clips[1].path),
        "name": "pause-1",
        "group": "pause",
        "labels": clips[1].labels,
    }


@pytest.mark.parametrize(
    ("below", "names"),
    [("pause", ["pause-1", "pause-2", "pause-10"]), ("pause/2", ["pause-2"]), ("pause/2/input.wav", ["pause-2"])],
)
def test_part_of_a_benchmark_has_the_same_names(
    benchmark: Path, monkeypatch: pytest.MonkeyPatch, below: str, names: list[str]
) -> None:
    assert [clip.name for clip in clips_in(benchmark / below)] == names
    monkeypatch.chdir((benchmark / below) if (benchmark / below).is_dir() else benchmark)
    if (benchmark / below).is_dir():
        assert [clip.name for clip in clips_in(".")] == names


def test_a_plain_folder(tmp_path: Path) -> None:
    write_wav(tmp_path / "b one.wav", pcm_of(0.1))
    write_wav(tmp_path / "loud" / "a.wav", pcm_of(0.1))
    write_json(tmp_path / "loud" / "a.json", {"kind": "interruption"})
    (tmp_path / "notes.md").write_text("not audio")
    assert clips_in(tmp_path) == [
        Clip("b_one", tmp_path / "b one.wav"),
        Clip("loud-a", tmp_path / "loud" / "a.wav", "loud", {"kind": "interruption"}),
    ]


def test_a_list(tmp_path: Path) -> None:
    write_wav(tmp_path / "audio" / "a.wav", pcm_of(0.1))
    write_wav(tmp_path / "pause" / "3" / "input.wav", pcm_of(0.1))
    listed = {"path": "audio/a.wav", "name": "again", "group": "g", "labels": {"end_s": 2.5}}
    (tmp_path / "users.jsonl").write_text(
        f"# a comment\naudio/a.wav\n\n{json.dumps(listed)}\n{tmp_path}/pause/3/input.wav\n"
    )
    assert clips_in(tmp_path / "users.jsonl") == [
        Clip("a", tmp_path / "audio" / "a.wav"),
        Clip("again", tmp_path / "audio" / "a.wav", "g", {"end_s": 2.5}),
        Clip("pause-3", tmp_path / "pause" / "3" / "input.wav", "pause"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"users.jsonl, line 2: expected a path or a JSON object, got: "),
        ('{"name": "x"}', r"users.jsonl, line 2: expected a path, got"),
        (
            '{"path": "a.wav", "labels": 3}',
            r"line 2: expected path, name, group .text. and labels .an object., got labels",
        ),
        ('{"path": "a.wav", "kind": "x"}', r"line 2: expected path, .* got kind = 'x'"),
        ("none.wav", r"none.wav: expected an audio file, got no such file"),
        ("a.wav", r"a.wav: expected another name than that of .*a.wav, got 'a' for both"),
    ],
)
def test_a_wrong_list_is_one_clear_line(tmp_path: Path, line: str, message: str) -> None:
    write_wav(tmp_path / "a.wav", pcm_of(0.1))
    (tmp_path / "users.jsonl").write_text(f"a.wav\n{line}\n")
    with pytest.raises(InputError, match=message) as refused:
        clips_in(tmp_path / "users.jsonl")
    assert "\n" not in str(refused.value)


def test_what_holds_no_clip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected clips \(input.wav .*found none"):
        clips_in(tmp_path)
    with pytest.raises(InputError, match=r"none.txt: cannot be read: No such file"):
        clips_in(tmp_path / "none.txt")
    with pytest.raises(AudioError, match=r"none: expected an audio file or a folder, got no such file or folder"):
        clips_in(tmp_path / "none")
    (tmp_path / "text.wav").write_text("not audio")
    with pytest.raises(AudioError, match=r"text.wav: expected audio"):
        clips_in(tmp_path)


def test_labels_that_are_no_json_are_refused(benchmark: Path) -> None:
    (benchmark / "pause" / "2" / "pause.json").write_text("[")
    with pytest.raises(InputError, match=r"pause.json: expected labels as JSON, got"):
        clips_in(benchmark)


def test_links_to_a_store_of_data_keep_the_names_of_their_folders(benchmark: Path, tmp_path: Path) -> None:
    found = [(clip.name, clip.group) for clip in clips_in(benchmark)]
    outputs = write_wav(benchmark / "pause" / "1" / "output.wav", pcm_of(0.1))
    (tmp_path / "store").mkdir()
    for number, file in enumerate(sorted(benchmark.rglob("*.wav"))):
        file.rename(tmp_path / "store" / f"{number}.wav")
        file.symlink_to(tmp_path / "store" / f"{number}.wav")
    assert [(clip.name, clip.group) for clip in clips_in(benchmark)] == found
    (session,) = session_inputs([outputs.parent])
    assert session.name == "pause-1"


def test_linked_folders_are_followed_but_not_in_a_circle(benchmark: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.mkdir()
    for group in (each for each in benchmark.iterdir() if each.is_dir()):
        (linked / group.name).symlink_to(group, target_is_directory=True)
    (linked / "circle").symlink_to(linked, target_is_directory=True)
    (linked / "broken").symlink_to(tmp_path / "nothing")
    names = [clip.name for clip in clips_in(benchmark)]
    assert names
    assert [clip.name for clip in clips_in(linked)] == names


def test_names_are_fit_for_folders(tmp_path: Path) -> None:
    for name in (".hidden", "a:b?c", "a: d", "é", "x" * 150, f"{'x' * 249}1", f"{'x' * 249}2", "長" * 83):
        write_wav(tmp_path / f"{name}.wav", pcm_of(0.1))
    names = [clip.name for clip in clips_in(tmp_path)]
    assert len(set(names)) == 8
    assert set(names) >= {"_hidden", "a_b_c", "a_d", "é", "x" * 150}
    assert max(len(name.encode()) for name in names) == 200
    assert {name[0] for name in names if len(name.encode()) >= 199} == {"x", "長"}


def say_all(party: Endpoint) -> list[Pcm]:
    frames: list[Pcm] = []
    while (frame := party.say(len(frames))) is not None:
        frames.append(frame.copy())
        party.hear(len(frames) - 1, SILENT_FRAME)
    assert party.left == "finished"
    assert party.say(len(frames) + 1) is None
    return frames


def opened(address: str) -> ClipEndpoint:
    party = endpoint(address)
    assert isinstance(party, ClipEndpoint)
    party.open("A")
    return party


def test_a_clip_is_played_as_it_was_recorded(tmp_path: Path) -> None:
    pcm = pcm_of(1.004)
    party = opened(f"clip:{write_wav(tmp_path / 'user.wav', pcm)}")
    frames = np.array(say_all(party))
    assert frames.shape == (101 + 1000, FRAME_SAMPLES)  # and then 10 s in which to answer
    assert np.array_equal(frames.reshape(-1)[: len(pcm)], pcm)
    assert not frames.reshape(-1)[len(pcm) :].any()
    described = json.loads(json.dumps(party.describe()))
    assert (described["kind"], described["samples"], described["gain_db"]) == ("clip", len(pcm), 0.0)
    assert described["recorded_dbov"] == pytest.approx(active_level_dbov(pcm), abs=0.01)
    assert len(described["file"]["sha256"]) == 64


def test_other_rates_start_at_the_same_time(tmp_path: Path) -> None:
    """A click at 0.5 s of a file of 16 kHz is at 0.5 s of the session."""
    pcm = np.zeros(16_000, np.int16)
    pcm[8_000] = 20_000
    frames = say_all(opened(f"clip:{write_wav(tmp_path / 'user.wav', pcm, 16_000)}?tail_s=0"))
    assert len(frames) == 100
    assert int(np.abs(np.concatenate(frames).astype(int)).argmax()) == 24_000


@pytest.mark.parametrize(
    ("query", "column"), [("", 0), ("channel=mean", None), ("channel=left", 0), ("channel=right", 1)]
)
def test_of_a_call_side_a_is_played_unless_another_channel_is_asked_for(
    tmp_path: Path, query: str, column: int | None
) -> None:
    stereo = np.stack([pcm_of(0.1, seed=1), pcm_of(0.1, seed=2)], axis=1)
    played = np.concatenate(
        say_all(opened(f"clip:{write_wav(tmp_path / 'user.wav', stereo)}?tail_s=0" + (query and f"&{query}")))
    )
    expected = stereo.mean(axis=1) if column is None else stereo[:, column]
    assert np.abs(played - expected).max() <= 0.5


def test_level_and_tail_are_as_asked_for(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "user.wav", pcm_of(1))
    party = opened(f"clip:{path}?level_dbov=-30&tail_s=2&noise_dbov=-60&seed=4")
    frames = np.array(say_all(party))
    assert len(frames) == 300
    assert active_level_dbov(frames[:100].reshape(-1)) == pytest.approx(-30, abs=0.02)
    assert 10 * np.log10(np.mean(frames[100:].astype(float) ** 2) / 32768**2) == pytest.approx(-60, abs=0.1)
    described = party.describe()
    assert described["gain_db"] == pytest.approx(-30 - described["recorded_dbov"], abs=0.02)
    assert np.array_equal(frames, say_all(opened(f"clip:{path}?level_dbov=-30&tail_s=2&noise_dbov=-60&seed=4")))


def test_a_clip_has_an_address_whatever_its_name(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "what? when&where=50%.wav", pcm_of(0.1))
    (clip,) = clips_in(tmp_path)
    assert len(say_all(opened(clip.address))) == 1010
    assert len(say_all(opened(f"{clip.address}tail_s=1"))) == 110
    assert opened(clip.address).describe()["path"] == str(path)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("channel=top", "channel: expected one of mean, left, right, got 'top'"),
        ("speed=2", "clip: expected settings of channel, .*, got 'speed'"),
        ("tail_s=long", "clip: tail_s: expected a number from 0 to 600, got 'long'"),
        ("tail_s=-1", "tail_s: expected a number from 0 to 600, got '-1'"),
        ("tail_s=nan", "tail_s: expected a number from 0 to 600, got 'nan'"),
        ("noise_dbov=0", "noise_dbov: expected a number from -96 to -30, got '0'"),
        ("level_dbov=10", "level_dbov: expected a number from -70 to 0, got '10'"),
        ("seed=-1", "seed: expected a whole number of at least 0, got '-1'"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(tmp_path: Path, query: str, message: str) -> None:
    path = write_wav(tmp_path / "user.wav", pcm_of(0.1))
    with pytest.raises(SettingsError, match=message):
        endpoint(f"clip:{path}?{query}")


def test_a_file_that_is_not_there_or_no_audio(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="clip: expected an audio file, found none at 'none"):
        endpoint("clip:none.wav")
    (tmp_path / "text.wav").write_text("not audio")
    with pytest.raises(PartyError, match=r"text.wav: expected audio"):
        opened(f"clip:{tmp_path / 'text.wav'}")
    loud = write_wav(tmp_path / "user.wav", pcm_of(0.1))
    with pytest.raises(PartyError, match=r"user.wav: level_dbov: expected at most"):
        opened(f"clip:{loud}?level_dbov=0")


def recorded(run_path: Path, clip: Clip, *, system: str = "echo", trial: int = 1, **more: object) -> Recording:
    """A run over one clip, answered from tick 100 on by a click at every tick; the system leaves after 3 s."""

    class System(Endpoint):
        def say(self, tick: int) -> Pcm | None:
            frame = np.zeros(FRAME_SAMPLES, np.int16)
            frame[0] = 9000 * (tick >= 100)
            return frame if tick < 300 else None

        def hear(self, tick: int, frame: Pcm) -> None:
            pass

        def describe(self) -> Mapping[str, Any]:
            return {"kind": "clicks"}

    user = opened(clip.address)
    name = f"{clip.name}-{system.partition(':')[0]}-{trial}"
    case = {"name": name, "clip": clip.to_json(), "system": system, "trial": trial}
    meta: Any = {
        "settings": {"turns": {}, "vad": {"A": {}, "B": {}}},
        "case": case,
        "parties": {"A": dict(user.describe())},
        **more,
    }
    meta = {field: value for field, value in meta.items() if value is not None}
    meta["settings_sha256"] = settings_hash(meta["settings"])
    path = run_path / name
    with RecordingWriter(path, meta, keep_audio=True) as recording:
        over = lambda tick, a_left, b_left: a_left or b_left  # noqa: E731
        run(user, System(), VirtualClock(), (LoudVad(), LoudVad()), TurnSettings(), recording, over=over)
    return Recording(path)


def export(*arguments: object, code: int | None = None) -> Result:
    return command("export", *arguments, "--format", "fdb1", code=code)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_run_is_exported_in_the_form_of_v1(benchmark: Path, tmp_path: Path) -> None:
    long = write_wav(benchmark / "pause" / "1" / "input.wav", pcm_of(5.0, 16_000), 16_000)
    short = write_wav(benchmark / "talking_to_other" / "7" / "clean_input.wav", pcm_of(1.5003, 24_000), 24_000)
    for clip in clips_in(benchmark):
        if clip.name in ("pause-1", "talking_to_other-7-clean"):
            recorded(tmp_path / "run", clip)
    export(tmp_path / "run", code=0)
    out = tmp_path / "run" / "fdb1"
    assert files_in(out) == [
        "pause/1/input.wav",
        "pause/1/output.wav",
        "pause/1/pause.json",
        "talking_to_other/7/clean_input.wav",
        "talking_to_other/7/clean_output.wav",
        "talking_to_other/7/metadata.json",
    ]
    assert (out / "pause/1/input.wav").read_bytes() == long.read_bytes()
    assert (out / "talking_to_other/7/clean_input.wav").read_bytes() == short.read_bytes()
    assert json.loads((out / "pause/1/pause.json").read_text())[0]["timestamp"] == [0.1, 1.4]
    for name, samples, clicks in (
        ("pause/1/output.wav", 240_000, 200),
        ("talking_to_other/7/clean_output.wav", 72_014, 51),
    ):
        with wave.open(str(out / name)) as file:
            assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (48_000, 1, samples)
            said = np.frombuffer(file.readframes(samples), np.int16)
        assert np.flatnonzero(said).tolist() == [(100 + click) * FRAME_SAMPLES for click in range(clicks)]
        assert files_in(tmp_path / "run" / "fdb1") == files_in(out)


def test_several_systems_and_trials_do_not_mix(benchmark: Path, tmp_path: Path) -> None:
    clip = clips_in(benchmark)[1]
    for system in ("moshi://localhost:8998", "echo"):
        for trial in (1, 2):
            recorded(tmp_path / "run", clip, system=system, trial=trial)
    assert export(tmp_path / "run", "--out", tmp_path / "out").exit_code == 0
    assert [name for name in files_in(tmp_path / "out") if name.endswith("output.wav")] == [
        "echo/trial-1/pause/1/output.wav",
        "echo/trial-2/pause/1/output.wav",
        "moshi_localhost_8998/trial-1/pause/1/output.wav",
        "moshi_localhost_8998/trial-2/pause/1/output.wav",
    ]


def test_what_has_no_such_form_is_left_out_by_name(benchmark: Path, tmp_path: Path) -> None:
    clips = clips_in(benchmark)
    recorded(tmp_path / "run", clips[1])
    recorded(tmp_path / "run", clips[2], case=None)
    recorded(tmp_path / "run", clips[3], outcome={"kind": "invalid", "side": None, "reason": "9 of 90 ticks missed"})
    other = Clip("other", write_wav(tmp_path / "other.wav", pcm_of(0.1)))
    recorded(tmp_path / "run", other)
    result = export(tmp_path / "run", code=1)
    assert len(result.stdout.splitlines()) == 1
    assert sorted(line.partition("left out, ")[2].partition(",")[0] for line in result.stderr.splitlines()) == [
        "expected a clip named input.wav or clean_input.wav (Full-Duplex-Bench v1",
        "expected a valid conversation",
        "expected one made from a clip",
    ]


def test_no_group_leads_out_of_the_folder(benchmark: Path, tmp_path: Path) -> None:
    clip = clips_in(benchmark)[1]
    recorded(tmp_path / "run", Clip("one", clip.path, "../..", clip.labels))
    assert export(tmp_path / "run", "--out", tmp_path / "deep" / "out").exit_code == 0
    assert files_in(tmp_path / "deep" / "out") == [
        ".fdbcore-written.json",
        "__../1/input.wav",
        "__../1/output.wav",
        "__../1/pause.json",
    ]
    assert files_in(tmp_path / "deep") == [f"out/{name}" for name in files_in(tmp_path / "deep" / "out")]


def test_what_would_be_wrong_is_not_exported(benchmark: Path, tmp_path: Path) -> None:
    clip = clips_in(benchmark)[1]
    recorded(tmp_path / "run", clip)
    into_the_data = export(tmp_path / "run", "--out", benchmark, code=1)
    assert "expected a folder apart from the clips, got that of" in into_the_data.stderr
    recorded(tmp_path / "twice", clip)
    recorded(tmp_path / "twice", Clip("same", clip.path, clip.group))
    assert "expected another clip than that of" in export(tmp_path / "twice", code=1).stderr
    write_wav(clip.path, pcm_of(0.2), 16_000)
    assert "expected the file that was played (SHA-256" in export(tmp_path / "run", code=1).stderr
    clip.path.unlink()
    gone = export(tmp_path / "run", code=1)
    assert gone.stderr.count("\n") == 1
    assert "no such file" in gone.stderr


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs the examples of Full-Duplex-Bench v1 in {REAL}")
def test_the_real_examples(tmp_path: Path) -> None:
    clips = clips_in(REAL)
    assert [(clip.name, sorted(clip.labels)) for clip in clips] == [
        ("pause_handling_example-1", ["pause"]),
        ("smooth_turn_taking_example-1", ["transcription", "turn_taking"]),
    ]
    for clip in clips:
        recording = recorded(tmp_path / "run", clip)
        played, _ = read_clip(clip.path)
        left, _ = read_clip(recording.path / AUDIO, "left")
        assert np.array_equal(left[: len(played)], played[: len(left)])
    assert export(tmp_path / "run").exit_code == 0
    assert len(files_in(tmp_path / "run" / "fdb1")) == 7
