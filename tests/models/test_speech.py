"""Synthetic speech: the same each time, at the level asked for; and by OpenAI's interface, against a fake of it."""

import hashlib
import itertools
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import numpy as np
import pytest
from fakes.fake_speech import KEY, KNOWN, RATE_HZ, VOICES, FakeSpeech, spoken
from oracles.speech_level import active_level_dbov as standard_level_dbov

from fdbcore.audio.level import FULL_SCALE, active_level_dbov, levelled, tick_powers, within_range
from fdbcore.errors import InputError, MissingExtraError, PartyError, SettingsError
from fdbcore.models.tts.espeak import Voice, synthesise
from fdbcore.registry import speaker
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

SAYINGS = (
    ("Hello, I would like to change my booking.", Voice("en-us+m3", 170)),
    ("Moment, ich schaue kurz nach.", Voice("de+f2", 150, pitch=70)),
    ("Right, so what shall we do about the dog?", Voice("en-gb-x-rp", 200, pitch=30)),
)


def digest(saying: tuple[str, Voice]) -> str:
    return hashlib.sha256(synthesise(*saying).tobytes()).hexdigest()


def test_the_same_text_gives_the_same_bytes_in_any_order_and_at_once() -> None:
    said: dict[tuple[str, Voice], set[str]] = {saying: set() for saying in SAYINGS}
    for order in itertools.permutations(SAYINGS):
        time.sleep(0.2)  # more than a second in all: espeak-ng's own random numbers come from the time of day
        for saying in order:
            said[saying].add(digest(saying))
    with ThreadPoolExecutor(4) as pool:
        for saying, made in zip(SAYINGS * 2, pool.map(digest, SAYINGS * 2), strict=True):
            said[saying].add(made)
    assert [len(digests) for digests in said.values()] == [1, 1, 1]
    assert len(set.union(*said.values())) == 3


def test_settings_are_heard() -> None:
    text = "Could you tell me what it costs?"
    quick, slow = synthesise(text, Voice(words_per_minute=240)), synthesise(text, Voice(words_per_minute=120))
    assert 1.5 < len(slow) / len(quick) < 2.6
    assert not np.array_equal(synthesise(text, Voice(pitch=20)), synthesise(text, Voice(pitch=80)))


def test_speech_begins_and_ends_with_its_words() -> None:
    pcm = synthesise("Okay.", Voice())
    assert pcm.dtype == np.int16
    assert pcm.ndim == 1
    assert 0.2 < len(pcm) / SAMPLE_RATE_HZ < 1.0
    powers = tick_powers(pcm)
    assert min(powers[0], powers[-1]) >= powers.max() / 1e4
    assert within_range(pcm)[[0, -1]].all()


@pytest.mark.parametrize("name", ["xx", "en-us+nobody", "en-us+../en"])
def test_a_voice_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(
        SettingsError, match=r"name: expected a voice of espeak-ng .*, got '" + name.replace("+", r"\+")
    ):
        synthesise("Hello.", Voice(name))


@pytest.mark.parametrize("text", ["", "...", "   \n"])
def test_a_text_without_a_sound_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="text: expected words that can be spoken"):
        synthesise(text, Voice())


@pytest.mark.parametrize(
    "settings", [{"name": ""}, {"words_per_minute": 20}, {"words_per_minute": 175.5}, {"pitch": 100}, {"pitch": True}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    (name,) = settings
    with pytest.raises(SettingsError, match=f"^voice: {name}: expected "):
        Voice(**settings)  # type: ignore[arg-type]


def test_a_missing_synthesiser_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fdbcore\[live\]'"):
        synthesise("Hello.", Voice())


def test_the_synthesiser_is_described() -> None:
    described = speaker("espeak-ng:de+f2?words_per_minute=160").describe()
    assert described["kind"] == "espeak-ng"
    assert described["voice"] == {"name": "de+f2", "words_per_minute": 160, "pitch": 50}


def test_the_speaker_of_that_name_has_the_voice_of_its_address() -> None:
    pcm, rate_hz = speaker("espeak-ng:de+f2?words_per_minute=160&pitch=70").speak("x", "Das passt mir gut.")
    assert rate_hz == SAMPLE_RATE_HZ
    assert np.array_equal(pcm, synthesise("Das passt mir gut.", Voice("de+f2", 160, 70)))
    with pytest.raises(SettingsError, match=r"pitch: expected a whole number from 0 to 99, got '200'"):
        speaker("espeak-ng:de?pitch=200")


def with_noise(pcm: Pcm, level_dbov: float) -> Pcm:
    noise = np.random.default_rng(5).normal(0, FULL_SCALE * 10 ** (level_dbov / 20), len(pcm))
    return np.clip(np.rint(pcm + noise), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def silence(seconds: float) -> Pcm:
    return np.zeros(round(seconds * SAMPLE_RATE_HZ), np.int16)


@pytest.mark.parametrize("noise_dbov", [None, -70, -50])
@pytest.mark.parametrize("saying", SAYINGS)
def test_the_active_level_is_that_of_the_standard(saying: tuple[str, Voice], noise_dbov: float | None) -> None:
    """Whatever silence or room there is between the words; 0.4 dB apart at the most, for speech of 2 s."""
    words = synthesise(*saying)
    pcm = np.concatenate((silence(1), words, silence(10), words, silence(3)))
    if noise_dbov is not None:
        pcm = with_noise(pcm, noise_dbov)
    assert active_level_dbov(pcm) == pytest.approx(standard_level_dbov(pcm, SAMPLE_RATE_HZ), abs=0.4)


def test_the_active_level_of_what_never_pauses_is_its_power() -> None:
    square = np.where(np.arange(SAMPLE_RATE_HZ) // 50 % 2, 3277, -3277).astype(np.int16)
    assert active_level_dbov(square) == pytest.approx(-20, abs=0.01)
    assert active_level_dbov(silence(1)) == -np.inf
    assert active_level_dbov(silence(0)) == -np.inf


def test_levelled_speech_has_the_level() -> None:
    pcm, gain_db = levelled(synthesise(*SAYINGS[0]), -26)
    assert active_level_dbov(pcm) == pytest.approx(-26, abs=0.02)
    again, more_db = levelled(pcm, -40)
    assert active_level_dbov(again) == pytest.approx(-40, abs=0.05)
    assert more_db == pytest.approx(-14, abs=0.05)
    assert np.corrcoef(pcm, again)[0, 1] > 0.999
    assert gain_db != 0


def test_a_level_that_clips_is_refused_with_the_highest_that_does_not() -> None:
    pcm = synthesise(*SAYINGS[0])
    with pytest.raises(SettingsError, match=r"expected at most -\d+\.\d, or it clips, got -5") as refused:
        levelled(pcm, -5)
    highest_dbov = float(str(refused.value).split("at most ")[1].split(",")[0])
    assert np.abs(levelled(pcm, highest_dbov - 0.1)[0].astype(int)).max() > 0.97 * FULL_SCALE
    for level_dbov in (1.0, -80.0, float("nan")):
        with pytest.raises(SettingsError, match="level_dbov: expected from -70 to 0"):
            levelled(pcm, level_dbov)


def test_silence_has_no_level_to_change() -> None:
    pcm, gain_db = levelled(silence(0.1), -26)
    assert gain_db == 0
    assert not pcm.any()
    assert len(pcm) == 10 * FRAME_SAMPLES


pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSpeech]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeSpeech() as running:
        yield running


def test_the_fake_knows_what_the_sdk_knows() -> None:
    from openai.types.audio import speech_create_params as params

    assert params.SpeechCreateParams.__annotations__.keys() == KNOWN
    assert {*get_args(get_args(params.Voice)[1])} == {*VOICES}


def test_the_text_is_spoken_with_the_settings_of_the_address(server: FakeSpeech) -> None:
    voice = speaker(f"openai-tts:gpt-4o-mini-tts?voice=nova&speed=1.5&instructions=Speak%20low.&{server.settings}")
    pcm, rate_hz = voice.speak("x", "Good morning.")
    assert pcm.dtype == np.int16
    assert rate_hz == RATE_HZ
    assert pcm.astype("<i2").tobytes() == spoken("Good morning.")
    settings = {"voice": "nova", "speed": 1.5, "instructions": "Speak low."}
    named = {"model": "gpt-4o-mini-tts", "input": "Good morning.", "response_format": "pcm"}
    assert server.asked == [named | settings]
    described = voice.describe()
    assert {name: described[name] for name in settings} == settings
    assert (described["kind"], described["model"]) == ("openai-tts", "gpt-4o-mini-tts")
    assert KEY not in str(described)


def test_a_server_of_this_machine_is_not_asked_through_a_proxy(
    server: FakeSpeech, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "Hm.")
    assert len(server.asked) == 1


def test_what_is_not_given_is_left_to_the_server(server: FakeSpeech) -> None:
    speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "Hm.")
    assert server.asked == [{"model": "tts-1", "voice": "alloy", "input": "Hm.", "response_format": "pcm"}]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("openai-tts:tts-1?voice=nobody", "does not take the request (400): Input should be alloy"),
        ("openai-tts:tts-1?", "does not take the key"),
    ],
)
def test_what_goes_wrong_is_one_line_without_the_key(
    server: FakeSpeech, address: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "key" in told:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789")
    with pytest.raises(PartyError) as error:
        speaker(f"{address}&{server.settings}").speak("x", "Hm.")
    assert told in str(error.value)
    assert "0123456789" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"", "audio/pcm"), (b"\0\0\0", "audio/pcm"), (b"RIFF\0\0\0\0", "audio/wav"), (b'{"a": 1}', "application/json")],
)
def test_what_is_no_pcm_is_refused_and_not_played(server: FakeSpeech, data: bytes, kind: str) -> None:
    server.answer = data, kind
    with pytest.raises(PartyError, match=r"something other than 16-bit PCM"):
        speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "Hm.")


def test_what_cannot_be_asked_is_refused_before_anything_is_contacted(server: FakeSpeech) -> None:
    with pytest.raises(SettingsError, match="instructions: expected none for tts-1"):
        speaker(f"openai-tts:tts-1?instructions=Whisper&{server.settings}")
    with pytest.raises(SettingsError, match=r"speed: expected a number from 0.25 to 4, got '5'"):
        speaker(f"openai-tts:tts-1?speed=5&{server.settings}")
    with pytest.raises(InputError, match="expected words that can be spoken"):
        speaker(f"openai-tts:tts-1?{server.settings}").speak("x", "  ")
    assert server.asked == []
