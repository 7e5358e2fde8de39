"""`fdbcore dataset speak`: the clips that the paper asks for, whoever speaks, and nothing lost or spoken twice."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from fakes.talker import samples
from helpers.commands import command, done, is_running
from helpers.patience import PATIENCE_S, wait_until
from helpers.talker import TALKER, TEXTS, clip, record
from scipy.io import wavfile

from fdbcore.errors import InputError, MissingExtraError, RecordingError, SettingsError
from fdbcore.models.tts import open_jtalk
from fdbcore.protocols import Speaker
from fdbcore.registry import speaker
from fdbcore.suites.dialogue_acts.records import Record, jsonl
from fdbcore.suites.dialogue_acts.sets import RECORDS
from fdbcore.suites.dialogue_acts.writing.speak import RATE_HZ, SILENCE_SAMPLES, SPEAK, clip_of, speak_records
from fdbcore.types import Pcm

RECORDS_OF_TEXTS = [record(*item) for item in TEXTS.items()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / RECORDS).write_text(jsonl(RECORDS_OF_TEXTS), encoding="utf-8")
    return path


def spoken(folder: Path, tts: str, code: int | None = None) -> Result:
    return command("dataset", "speak", folder, "--tts", tts, code=code)


def edges(pcm: Pcm) -> tuple[int, int]:
    """How many zeros there are before and after."""
    sounding = np.flatnonzero(pcm)
    return int(sounding[0]), len(pcm) - 1 - int(sounding[-1])


def notes(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / SPEAK).read_text(encoding="utf-8"))
    return value


class Talks(Speaker):
    """Says noise at any rate, and remembers what it was asked for."""

    def __init__(self, rate_hz: int = 24_000, voice: str = "anna", fails: str = "") -> None:
        self.rate_hz, self.voice, self.fails = rate_hz, voice, fails
        self.asked: list[str] = []

    def speak(self, name: str, text: str) -> tuple[Pcm, int]:
        self.asked.append(name)
        if self.fails and self.fails in text:
            raise InputError("text: cannot be said")
        return samples(text, self.rate_hz, "plain"), self.rate_hz

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "talks", "voice": self.voice}


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("how", ["plain", "zeros"])
def test_any_rate_becomes_the_same_clip_between_exact_silences(rate_hz: int, how: str) -> None:
    text = "音量を20パーセントにして。"
    pcm = clip_of(samples(text, rate_hz, how), rate_hz)
    assert edges(pcm) == (2_880, 2_880)
    ringing = 0 if rate_hz == RATE_HZ else 80  # of the filters, before the first sample and after the last one
    length = len(text.encode()) * RATE_HZ // 100
    assert length <= len(pcm) - 2 * SILENCE_SAMPLES + 2 <= length + 2 * ringing + 2
    middle = np.abs(np.fft.rfft(pcm[SILENCE_SAMPLES:-SILENCE_SAMPLES].astype(float)))
    given = np.abs(np.fft.rfft(samples(text, rate_hz, "plain").astype(float)))
    band = slice(10, int(3_000 * length / RATE_HZ))
    assert np.sum(middle[band] ** 2) / RATE_HZ == pytest.approx(
        np.sum(given[band] ** 2) * RATE_HZ / rate_hz**2, rel=0.05
    )


def test_a_command_speaks_each_record(folder: Path) -> None:
    assert spoken(folder, f"exec:{TALKER} 44100", code=0).stdout.splitlines()[0] == "3 of 3 records spoken, 0:02"
    for name, text in TEXTS.items():
        pcm = clip(folder / f"{name}.wav")
        assert edges(pcm) == (2_880, 2_880)
        assert notes(folder)["files"][name]["samples"] == len(pcm)
        assert notes(folder)["files"][name]["text"] == text
    assert {path.name for path in folder.iterdir()} == {RECORDS, SPEAK, *(f"{name}.wav" for name in TEXTS)}


def test_a_wav_written_to_a_pipe_is_read_to_its_end(folder: Path) -> None:
    assert spoken(folder, f"exec:{TALKER} 24000 stream").exit_code == 0
    assert len(clip(folder / "timer-1.wav")) == len(TEXTS["timer-1"].encode()) * 240 + 2 * SILENCE_SAMPLES


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("fails", "expected a WAV on its standard output, got exit code 3: no such voice"),
        ("mutters", "got exit code 3: no such voice"),
        ("nothing", "got nothing"),
        ("echo", "got data that no decoder recognises as audio, or a format that is not read"),
        ("loud", "expected no clipping, got three samples in a row at full scale"),
        ("silent", "expected a sound, got silence"),
    ],
)
def test_what_a_command_does_wrong_is_one_line_for_all(folder: Path, how: str, expected: str) -> None:
    result = spoken(folder, f"exec:{TALKER} 24000 {how}", code=1)
    (line,) = result.stderr.splitlines()
    assert line.startswith("fdbcore dataset speak: timer-1, weather-1, music-1: ")
    assert line.endswith(expected)
    assert not list(folder.glob("*.wav*"))


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"{TALKER} 24000 hangs & echo $! > {shlex.quote(str(mark))}; echo loading >&2; wait"
    party = speaker(f"exec:timeout_s=1 sh -c {shlex.quote(child)}")
    with pytest.raises(InputError, match="got none within 1 s: "):
        party.speak("x", "あ")
    wait_until(lambda: not is_running(mark.read_text().strip()))


def test_a_command_that_never_stops_writing_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fdbcore.models.tts.command.MOST_BYTES", 1_000_000)
    with pytest.raises(InputError, match="got more than 1,000,000 bytes"):
        speaker("exec:yes").speak("x", "あ")
    with pytest.raises(InputError, match="got exit code 3: the end"):
        speaker("exec:sh -c 'yes | head -c 200000 >&2; echo the end >&2; exit 3'").speak("x", "あ")


def test_what_a_speaker_started_ends_with_the_command(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    tts = f"exec:sh -c 'echo $$ > {mark}.part; mv {mark}.part {mark}; sleep 600'"
    arguments = [
        sys.executable,
        "-c",
        "from fdbcore.cli.main import main; main()",
        "dataset",
        "speak",
        str(folder),
        "--tts",
        tts,
    ]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as process:
        wait_until(mark.is_file)
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, b"run the same command again to continue" in told) == (130, True)
    assert not is_running(mark.read_text().strip())


def test_one_text_that_cannot_be_said_stops_no_other(folder: Path) -> None:
    texts = [*RECORDS_OF_TEXTS, record("bad", "失敗して。"), record("../up", "あ"), record("last", "はい。")]
    (folder / RECORDS).write_text(jsonl(texts) + "no JSON\n", encoding="utf-8")
    result = spoken(folder, f"exec:{TALKER}", code=1)
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [
        f"{folder / RECORDS}, line 7",
        "../up",
        "bad",
    ]
    assert notes(folder)["files"]["bad"] is None
    assert len(list(folder.glob("*.wav"))) == 4
    assert not list(folder.parent.glob("*.wav"))


def test_done_files_are_spoken_again_only_for_another_text_or_speaker(folder: Path) -> None:
    def asked(speaker: Talks, records: list[Record] = RECORDS_OF_TEXTS) -> list[str]:
        assert speak_records(records, folder, speaker) == []
        return speaker.asked

    assert asked(Talks()) == list(TEXTS)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.wav")}
    assert asked(Talks()) == []
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.wav")} == before
    changed = [RECORDS_OF_TEXTS[0], record("weather-1", "あさっては？"), RECORDS_OF_TEXTS[2]]
    assert asked(Talks(), changed) == ["weather-1"]
    (folder / "music-1.wav").write_bytes(b"torn")
    assert asked(Talks(), changed) == ["music-1"]
    assert asked(Talks(voice="ben"), changed) == list(TEXTS)
    assert len(notes(folder)["speakers"]) == 1


def test_a_speaker_that_fails_destroys_nothing_that_says_the_right_text(folder: Path) -> None:
    speak_records(RECORDS_OF_TEXTS, folder, Talks())
    changed = [*RECORDS_OF_TEXTS[:2], record("music-1", "もっと静かな曲。")]
    problems = speak_records(changed, folder, Talks(voice="ben", fails="。"))
    assert [problem.where for problem in problems] == ["timer-1", "music-1"]
    assert sorted(path.name for path in folder.glob("*.wav")) == ["timer-1.wav", "weather-1.wav"]
    found = notes(folder)
    voices = {n: found["speakers"][file["speaker"]]["voice"] for n, file in found["files"].items() if file}
    assert voices == {"timer-1": "anna", "weather-1": "ben"}


def test_what_was_spoken_is_kept_when_it_is_stopped(folder: Path) -> None:
    slow, log = folder.parent / "slow.sh", folder.parent / "log"
    slow.write_text(f"#!/bin/sh\necho x >> {shlex.quote(str(log))}\nexec {TALKER}\n")
    command = [sys.executable, "-m", "fdbcore.cli", "dataset", "speak", str(folder), "--tts", f"exec:sh {slow}"]
    many = [record(f"r{i}", "はい。") for i in range(10)]
    (folder / RECORDS).write_text(jsonl(many), encoding="utf-8")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not log.exists() or len(log.read_text().splitlines()) < 4:  # three are done, and noted
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, stderr) == (
        130,
        "fdbcore dataset speak: interrupted; run the same command again to continue\n",
    )
    result = len(list(folder.glob("*.wav")))
    assert not list(folder.glob("*.part"))
    before = len(log.read_text().splitlines())
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert len(log.read_text().splitlines()) - before == 10 - result


def test_recordings_of_others_are_not_written_over(folder: Path) -> None:
    (folder / "timer-1.wav").write_bytes(b"mine")
    result = spoken(folder, f"exec:{TALKER}", code=2)
    assert "expected only recordings of speak.json, found others, which would be lost: timer-1.wav" in result.stderr
    assert (folder / "timer-1.wav").read_bytes() == b"mine"


def test_a_folder_of_recordings_speaks(folder: Path, tmp_path: Path) -> None:
    recordings = tmp_path / "voices"
    recordings.mkdir()
    pcm = samples("あ", 48_000, "plain")
    wavfile.write(recordings / "timer-1.wav", 48_000, np.stack([pcm, pcm], axis=1))
    result = spoken(folder, f"dir:{recordings}", code=1)
    assert result.stderr == (
        f"fdbcore dataset speak: weather-1, music-1: dir:{recordings}: expected one recording of it, found none\n"
    )
    assert edges(clip(folder / "timer-1.wav")) == (2_880, 2_880)
    for name in ("weather-1.WAV", "music-1.wav", "music-1.flac"):
        wavfile.write(recordings / name, 16_000, pcm)
    again = spoken(folder, f"dir:{recordings}")
    assert again.stderr.endswith(
        "music-1: dir:" + f"{recordings}: expected one recording of it, found music-1.flac and music-1.wav\n"
    )
    assert notes(folder)["files"]["weather-1"]["length_s"] == pytest.approx(0.24 + len(pcm) / 16_000, abs=0.01)


@pytest.mark.parametrize(
    ("tts", "expected"),
    [
        ("espeak", "tts: expected one of dir, espeak-ng, exec, hibari, open-jtalk, openai-tts, got 'espeak'"),
        ("exec:", "expected exec:COMMAND"),
        ("exec:'", "No closing quotation"),
        ("exec:timeout_s=0 x", "timeout_s: expected a whole number"),
        ("exec:/nowhere/tts", "/nowhere/tts: No such file or directory"),
        ("dir:", "expected dir:FOLDER"),
        ("dir:/nowhere", "found no folder '/nowhere'"),
        ("open-jtalk:fast", "expected no settings, got 'fast'"),
    ],
)
def test_a_speaker_that_is_none_is_explained(folder: Path, tts: str, expected: str) -> None:
    assert expected in spoken(folder, tts, code=2).stderr
    assert not list(folder.glob("*.wav"))


def test_a_folder_that_holds_no_data_set(tmp_path: Path) -> None:
    assert f"{tmp_path / RECORDS}: cannot be read" in spoken(tmp_path, f"exec:{TALKER}", code=2).stderr
    (tmp_path / RECORDS).write_text(jsonl(RECORDS_OF_TEXTS), encoding="utf-8")
    (tmp_path / SPEAK).write_text('{"schema": "other"}')
    with pytest.raises(RecordingError, match="expected schema"):
        speak_records(RECORDS_OF_TEXTS, tmp_path, Talks())
    (tmp_path / SPEAK).unlink()
    recordings = speaker(f"dir:{tmp_path}")
    with pytest.raises(SettingsError, match="in another folder"):
        speak_records(RECORDS_OF_TEXTS, tmp_path, recordings)


def test_secrets_of_a_command_are_not_written_down() -> None:
    assert "hush" not in json.dumps(dict(speaker("exec:tts --api-key hush VOICE_TOKEN=hush").describe()))


def test_without_its_packages_open_jtalk_names_the_extra(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyopenjtalk", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fdbcore\[ja\]'"):
        speaker("open-jtalk")
    result = spoken(folder, "open-jtalk")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


@pytest.mark.filterwarnings("ignore:Dictionary.create:DeprecationWarning")
class TestOpenJTalk:
    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("pyopenjtalk", reason="needs pyopenjtalk-plus: pip install 'fdbcore[ja]'")
        pytest.importorskip("onnxruntime", reason="needs ONNX Runtime: pip install 'fdbcore[ja]'")

    def test_it_speaks_the_same_each_time_and_says_whose_voice_it_is(self, folder: Path) -> None:
        assert spoken(folder, "open-jtalk").exit_code == 0
        first = {path.name: path.read_bytes() for path in folder.glob("*.wav")}
        for path in [*folder.glob("*.wav"), folder / SPEAK]:
            path.unlink()
        assert "CC BY 3.0" in spoken(folder, "open-jtalk").stdout
        assert {path.name: path.read_bytes() for path in folder.glob("*.wav")} == first
        for name in TEXTS:
            assert edges(clip(folder / f"{name}.wav")) == (2_880, 2_880)

    @pytest.mark.parametrize(
        ("text", "kana"),
        [
            ("10分", "ジュップン"),
            ("12月25日", "ジューニガツニジューゴニチ"),
            ("午後3時", "ゴゴサンジ"),
            ("1,280円", "センニヒャクハチジューエン"),
            ("4月1日", "シガツツイタチ"),
            ("20日", "ハツカ"),
            ("2人", "フタリ"),
            ("3本", "サンボン"),
            ("0.5", "レーテンゴ"),
            ("15%", "ジューゴパーセント"),
            ("今日は何日？", "キョーワナンニチ？"),
            ("今、何時？", "イマ、ナンジ？"),
        ],
    )
    def test_numbers_dates_and_kanji_are_read_as_written(self, text: str, kana: str) -> None:
        import pyopenjtalk

        assert pyopenjtalk.g2p(text, kana=True) == kana

    @pytest.mark.parametrize("text", ["", "…", "😀"])
    def test_a_text_without_a_word_is_no_speech(self, text: str) -> None:
        with pytest.raises(InputError, match="expected words that can be spoken"):
            open_jtalk.open_jtalk("").speak("x", text)


def test_a_command_that_stays_alive_speaks_all_texts(tmp_path: Path) -> None:
    talker = Path(__file__).parents[1] / "fakes" / "line_talker.py"
    voice = speaker(f"exec:alive=true {shlex.quote(sys.executable)} {shlex.quote(str(talker))} {tmp_path}")
    for text in ("first", "it is\nsized", "third one"):
        pcm, rate_hz = voice.speak("id", text)
        assert (len(pcm), rate_hz, set(pcm)) == (2400, 24_000, {1000 + len(text) + 1})
    assert (tmp_path / "begun").read_text() == "x"
    with pytest.raises(InputError, match="expected a line with the path or the size of a WAV, got its end"):
        voice.speak("id", "it ends")
    assert len(voice.speak("id", "again")[0]) == 2400
    assert (tmp_path / "begun").read_text() == "xx"


@pytest.mark.parametrize(
    ("says", "got"), [("echo 5", "got its end"), ("echo nowhere.wav", "no audio"), ("sleep 9", "none")]
)
def test_a_wrong_answer_of_a_command_that_stays_alive_is_told(says: str, got: str) -> None:
    voice = speaker(f"exec:alive=true timeout_s=1 sh -c 'read line; {says}'")
    with pytest.raises(InputError, match=got):
        voice.speak("id", "text")


def test_the_assistant_is_spoken_beside_the_users(folder: Path) -> None:
    assert spoken(folder, f"exec:{TALKER}").exit_code == 0
    done("dataset", "speak", folder, "--tts", f"exec:{TALKER}", "--assistant")
    for name in TEXTS:
        pcm = clip(folder / "assistant" / f"{name}.wav")
        assert edges(pcm) == (2_880, 2_880)
        assert notes(folder / "assistant")["files"][name]["text"] == "はい。"
        assert notes(folder)["files"][name]["text"] == TEXTS[name]
