"""The models that run here, if they have been fetched: what a voice says is what a transcriber hears."""

import gc
import hashlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from helpers.patience import wait_until
from oracles.word_errors import word_error_rate

from fdbcore.audio.files import content_hash
from fdbcore.audio.speech import without_edges
from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import InputError, MissingExtraError, RefusalError, SettingsError
from fdbcore.models.local import LocalModel
from fdbcore.models.packaged import packaged, why_not
from fdbcore.registry import model, speaker, transcriber
from fdbcore.types import SAMPLE_RATE_HZ, Pcm, Request

VOICES = ("hibari", "hibari:heart?pitch_semitones=-4")
"""Of the two sides of a call."""

TEXT = (
    "Hello, I would like to book a table for two people tomorrow evening. Actually, make it three people, and please "
    "tell me whether there is a vegetarian menu."
)

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}

NEEDS_WHISPER, NEEDS_LLAMA = (
    pytest.mark.skipif(find_spec(module) is None, reason=f"needs {module} (pip install 'fdbcore[local]')")
    for module in ("faster_whisper", "xllamacpp")
)


def needs(*names: str) -> pytest.MarkDecorator:
    missing = [name for name in names if why_not(packaged(name)) is not None]
    return pytest.mark.skipif(bool(missing), reason=f"needs models: fdbcore models get {' '.join(missing)}")


def spoken(address: str, text: str = TEXT) -> Pcm:
    return without_edges(*speaker(address).speak("x", text))


def pitch_hz(pcm: Pcm) -> float:
    """The median over voiced frames of 50 ms, by the highest peak of the autocorrelation from 70 to 400 Hz."""
    found = []
    size = SAMPLE_RATE_HZ // 20
    for start in range(0, len(pcm) - size, size // 2):
        frame = np.asarray(pcm[start : start + size], float) * np.hanning(size)
        power = np.fft.irfft(np.abs(np.fft.rfft(frame, 2 * size)) ** 2)
        lag = SAMPLE_RATE_HZ // 400 + int(power[SAMPLE_RATE_HZ // 400 : SAMPLE_RATE_HZ // 70].argmax())
        if power[0] > 1e8 and power[lag] > power[0] / 2:
            found.append(SAMPLE_RATE_HZ / lag)
    return float(np.median(found))


@needs("hibari", "whisper")
@NEEDS_WHISPER
@pytest.mark.parametrize("address", [*VOICES, "espeak-ng:en-us"])
def test_whisper_hears_every_word_of_both_sides(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    hears = transcriber("whisper")
    heard = hears.transcribe(wav_bytes(spoken(address), SAMPLE_RATE_HZ), "en")
    rate = word_error_rate(TEXT, heard)
    with capsys.disabled():
        print(f"\n{address}, heard by {hears.name}: word error rate {rate:.3f}")
    assert rate == 0


@needs("hibari")
def test_two_processes_say_the_same_bits() -> None:
    code = (
        "import hashlib, sys; from fdbcore.registry import speaker; "
        "print(*[hashlib.sha256(speaker(a).speak('x', sys.argv[1])[0].tobytes()).hexdigest() for a in sys.argv[2:]])"
    )
    other = subprocess.run([sys.executable, "-c", code, TEXT, *VOICES], capture_output=True, text=True, check=True)
    here = [hashlib.sha256(speaker(address).speak("x", TEXT)[0].tobytes()).hexdigest() for address in VOICES]
    assert other.stdout.split() == here
    assert here[0] != here[1]


@needs("hibari")
def test_the_pitch_and_the_speed_are_those_asked_for() -> None:
    own, lower = (spoken(address) for address in VOICES)
    quick = spoken("hibari:heart?speed=1.4")
    assert 12 * np.log2(pitch_hz(own) / pitch_hz(lower)) == pytest.approx(4, abs=0.7)
    assert len(lower) / len(own) == pytest.approx(1, abs=0.15)
    assert len(own) / len(quick) == pytest.approx(1.4, abs=0.25)  # the model rounds its durations
    assert speaker("hibari").speak("x", "Hm.")[1] == 24_000


@needs("hibari")
@pytest.mark.parametrize("text", ["", "...", "\n", "晴れです。"])
def test_a_text_without_english_words_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="text: expected words that can be spoken"):
        speaker("hibari").speak("x", text)


@needs("hibari")
def test_the_exact_voice_is_described() -> None:
    described = speaker("hibari:heart?pitch_semitones=-4").describe()
    assert (described["kind"], described["pitch_semitones"], described["seed"]) == ("hibari", -4, 0)
    assert described["model"]["digest"] == packaged("hibari").digest
    assert described["model"]["version"] == "0.2.1"


@needs("hibari")
def test_other_names_and_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="hibari: expected the voice heart, got 'emma'"):
        speaker("hibari:emma")
    with pytest.raises(SettingsError, match=r"pitch_semitones: expected a number from -5 to 5, got '-7'"):
        speaker("hibari:?pitch_semitones=-7")


@pytest.mark.parametrize(
    ("make", "address", "name"),
    [(speaker, "hibari", "hibari"), (transcriber, "whisper", "whisper"), (model, "local:smollm2", "smollm2")],
)
def test_a_model_that_is_not_there_is_named_with_its_command(
    make: Callable[[str], object], address: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FDBCORE_MODELS", str(tmp_path))
    with pytest.raises(MissingExtraError, match=rf"found none: fdbcore models get {name} \(\d+ MB\)"):
        make(address)


@needs("whisper")
@NEEDS_WHISPER
def test_what_is_not_audio_and_unknown_languages_are_refused() -> None:
    hears = transcriber("whisper")
    silence = wav_bytes(np.zeros(SAMPLE_RATE_HZ, np.int16), SAMPLE_RATE_HZ)
    for wav, language in ((b"no audio", "en"), (silence, "xx")):
        with pytest.raises(InputError, match=r"^whisper: "):
            hears.transcribe(wav, language)


@needs("hibari", "whisper")
@NEEDS_WHISPER
def test_a_folder_holds_a_model_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine").symlink_to(packaged("whisper").folder)
    ours, own = transcriber("whisper"), transcriber(f"whisper:{tmp_path / 'mine'}")
    said = wav_bytes(*speaker("hibari").speak("x", "Good morning to you."))
    assert own.words(said, "en") == ours.words(said, "en") != []
    assert own.describe()["model"] == {"sha256": content_hash(packaged("whisper").folder / "model.bin")}
    assert own.name == f"whisper:{tmp_path / 'mine'}"


@needs("whisper")
@NEEDS_WHISPER
def test_a_live_call_is_not_stalled_by_a_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    collections: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda generation=2: collections.append(generation))
    silence = wav_bytes(np.zeros(SAMPLE_RATE_HZ, np.int16), SAMPLE_RATE_HZ)
    transcriber("whisper").transcribe(silence, "en")
    assert collections == []


@needs("smollm2")
@NEEDS_LLAMA
def test_the_language_model_answers_by_a_schema_and_repeats_itself() -> None:
    talks = model("local:smollm2")
    asked = Request("What is the capital of France?", schema=CITY, seed=1, temperature=0)
    replies = [talks.ask(asked) for _ in range(2)]
    assert [list(json.loads(reply.text)) for reply in replies] == [["city"], ["city"]]
    assert replies[0] == replies[1]
    assert replies[0].model == "smollm2"
    assert talks.services() == ()
    assert talks.describe()["model"]["digest"] == packaged("smollm2").digest
    with pytest.raises(RefusalError, match="local:smollm2: expected words, got audio"):
        talks.ask(Request("", wav=b"RIFF"))


@needs("smollm2")
@NEEDS_LLAMA
def test_all_of_a_process_share_one_server_which_is_on_this_machine_alone() -> None:
    with ThreadPoolExecutor(4) as pool:
        urls = set(pool.map(lambda _: LocalModel("local:smollm2").base_url, range(4)))
    (url,) = urls
    assert urlsplit(url).hostname == "127.0.0.1"


@needs("smollm2")
@NEEDS_LLAMA
@pytest.mark.parametrize("end", ["return", "kill"])
def test_the_server_outlives_no_process_however_that_ends(end: str) -> None:
    code = "from fdbcore.models.local import local; print(local('local:smollm2').base_url, flush=True); input()"
    program, pipe = (sys.executable, "-c", code), subprocess.PIPE
    with subprocess.Popen(program, text=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline()).port
        assert port is not None
        socket.create_connection(("127.0.0.1", port)).close()
        if end == "kill":
            process.kill()
        else:
            process.communicate("\n")
    wait_until(lambda: not is_open(port))


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
