"""The lines that a dialogue comes over: what each adds or takes away, at a stated ratio.

Ratios are those to the side's own speech (its RMS where it speaks). Each side gets noise of its own. The lines of a set
are fixed: a detector is tuned on TUNING, and TEST has other ratios, codecs and rooms. Others came later: BETWEEN is
white noise that is softer than in these sets, but not yet out of the range of speech; ECHO_TUNING and ECHO_TEST have
echoes as of loudspeakers; TELEPHONE is mu-law over such noise, as most telephone calls are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy.signal import fftconvolve, lfilter

from benchmarks.voices.clips import CUT_DB, Phrase
from benchmarks.voices.dialogues import Dialogue
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Bools, Floats, Spans, samples_in

Encoding: TypeAlias = Literal["s16", "s24", "float", "mulaw", "alaw", "gsm", "opus24", "mp3"]


@dataclass(frozen=True)
class Material:
    """What lines add from outside: other voices, and music (perhaps none)."""

    voices: Mapping[str, Sequence[Phrase]]
    tracks: Sequence[Floats]


Make: TypeAlias = Callable[[Dialogue, Material, np.random.Generator], Floats]
Noise: TypeAlias = Callable[[int, Dialogue, Material, np.random.Generator], Floats]


@dataclass(frozen=True)
class Line:
    """make: the audio of both sides, float (n, 2), at RATE_HZ. music: whether it needs tracks."""

    name: str
    make: Make
    encoding: Encoding = "s16"
    music: bool = False

    def audio(self, dialogue: Dialogue, material: Material, seed: int) -> Floats:
        """The dialogue over this line; the same for the same seed."""
        return self.make(dialogue, material, np.random.default_rng([seed, zlib.crc32(self.name.encode())]))


def db(decibels: float) -> float:
    """The factor of an amplitude."""
    return float(10 ** (decibels / 20))


def rms(pcm: Floats) -> float:
    return float(np.sqrt(np.mean(pcm.astype(np.float64) ** 2)))


# What noise is made of: each of RMS 1.


def white(n_samples: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
    return rng.standard_normal(n_samples)


def falling(db_per_octave: float) -> Noise:
    """Noise whose power falls by so much each octave from 20 Hz on: 3 is pink, 6 brown."""

    def make(n_samples: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        padded = 1 << (n_samples - 1).bit_length()
        frequencies_hz = np.fft.rfftfreq(padded, 1 / RATE_HZ)
        slope = np.where(frequencies_hz >= 20, np.maximum(frequencies_hz, 20) ** (-db_per_octave / 6.02), 0)
        noise: Floats = np.fft.irfft(np.fft.rfft(rng.standard_normal(padded)) * slope)[:n_samples]
        return noise / rms(noise)

    return make


pink, brown = falling(3.01), falling(6.02)


def hoth(n_samples: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
    """Comfort noise: it falls softly towards high frequencies."""
    noise: Floats = lfilter([1.0], [1.0, -0.6], rng.standard_normal(n_samples))
    return noise / rms(noise)


def babble(n_samples: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
    """Six talkers at once who never pause: voices of others, if there are any."""
    others = sorted(material.voices.keys() - set(dialogue.voices)) or sorted(material.voices)
    noise = np.zeros(n_samples)
    for talker in range(6):
        phrases = material.voices[others[talker % len(others)]]
        said: list[Floats] = []
        skipped = int(rng.integers(2 * RATE_HZ))
        while sum(map(len, said)) < n_samples + skipped:
            pcm = phrases[int(rng.integers(len(phrases)))].pcm
            said.append(pcm / rms(pcm))
        noise += np.concatenate(said)[skipped : skipped + n_samples]
    return noise / rms(noise)


def music(n_samples: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
    """A track from somewhere in it."""
    track = material.tracks[int(rng.integers(len(material.tracks)))]
    played = np.resize(np.roll(track, -int(rng.integers(len(track)))), n_samples).astype(np.float64)
    return played / rms(played)


NOISES: Final[Mapping[str, Noise]] = {
    "white": white,
    "pink": pink,
    "brown": brown,
    "babble": babble,
    "music": music,
}


# Lines, by kind.


def clean(dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
    return dialogue.pcm


def each_side(make: Callable[[int, Dialogue, Material, np.random.Generator], Floats]) -> Make:
    """A line that treats the sides alike: make(side, ...) gives one, float (n,)."""

    def both(dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        return np.stack([make(side, dialogue, material, rng) for side in (0, 1)], axis=1)

    return both


def with_noise(kind: str, ratio_db: float) -> Line:
    """Steady for white, pink and brown; voices or music otherwise."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        noise = NOISES[kind](len(dialogue.pcm), dialogue, material, rng)
        return dialogue.pcm[:, side] + noise * dialogue.speech_rms(side) * db(-ratio_db)

    return Line(f"{kind} {ratio_db:g} dB", each_side(make), music=kind == "music")


def floor(level_dbfs: float) -> Line:
    """Steady white noise at a level."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        return dialogue.pcm[:, side] + rng.standard_normal(len(dialogue.pcm)) * db(level_dbfs)

    return Line(f"floor {level_dbfs:g}", each_side(make))


def gain(gain_db: float, encoding: Encoding = "s16") -> Line:
    """Both sides by a gain, and nothing else: their speech is at -30 to -22 dBFS before."""
    return Line(f"gain {gain_db:+g} {encoding}", lambda dialogue, *_: dialogue.pcm * np.float32(db(gain_db)), encoding)


def speech_at(level_dbfs: float, encoding: Encoding = "s16", floor_below_db: float | None = None) -> Line:
    """The speech of each side at a level, without any noise, or with white noise so far below it."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        pcm = dialogue.pcm[:, side] * np.float32(db(level_dbfs) / dialogue.speech_rms(side))
        if floor_below_db is None:
            return pcm
        return pcm + rng.standard_normal(len(pcm)) * db(level_dbfs - floor_below_db)

    floor_name = "" if floor_below_db is None else f", floor {-floor_below_db:g}"
    return Line(f"speech {level_dbfs:g} {encoding}{floor_name}", each_side(make), encoding)


def hung_over(spans: Spans, n_samples: int, hold_s: float) -> Bools:
    """Where there is speech, or was at most `hold_s` before."""
    held = spans + np.array([0, round(hold_s * RATE_HZ)])
    return samples_in(held, n_samples)


def comfort(level_dbfs: float) -> Line:
    """Noise suppression: none under the speech, comfort noise at a level from 80 ms after it to the next speech."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        n_samples = len(dialogue.pcm)
        noise = hoth(n_samples, dialogue, material, rng) * db(level_dbfs)
        speaking = hung_over(dialogue.spans[CUT_DB][side], n_samples, 0.08)
        return np.where(speaking, dialogue.pcm[:, side], noise)

    return Line(f"comfort {level_dbfs:g}", each_side(make))


def dtx(level_dbfs: float, step_db: float) -> Line:
    """Noise under the speech and 120 ms on at a level; between, comfort noise louder by a step, constant for 160 ms."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        n_samples = len(dialogue.pcm)
        sent = hung_over(dialogue.spans[CUT_DB][side], n_samples, 0.12)
        noise = brownish(n_samples, rng) * db(level_dbfs)
        described = np.repeat(rng.normal(0, 0.5, n_samples // 2560 + 1), 2560)[:n_samples]
        filled = hoth(n_samples, dialogue, material, rng) * db(level_dbfs + step_db) * 10 ** (described / 20)
        return np.where(sent, dialogue.pcm[:, side] + noise, filled)

    return Line(f"dtx {level_dbfs:g} {step_db:+g}", each_side(make))


def brownish(n_samples: int, rng: np.random.Generator) -> Floats:
    """A room's noise: white, softened above 1 kHz."""
    noise: Floats = lfilter([1.0], [1.0, -0.7], rng.standard_normal(n_samples))
    return noise / rms(noise)


def gate(level_dbfs: float, hold_ms: int) -> Line:
    """A noise gate: noise with the speech and so long after it, digital silence otherwise."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        n_samples = len(dialogue.pcm)
        is_open = hung_over(dialogue.spans[CUT_DB][side], n_samples, hold_ms / 1000)
        return np.where(is_open, dialogue.pcm[:, side] + brownish(n_samples, rng) * db(level_dbfs), 0)

    return Line(f"gate {level_dbfs:g} hold {hold_ms}", each_side(make))


def room(rt60_ms: int, direct_db: float = 5) -> Line:
    """Reverberation as decaying noise, the direct sound so far above all of it; and a floor of -70 dBFS."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        n_samples = len(dialogue.pcm)
        response = response_of(rt60_ms, direct_db, rng)
        reverberant: Floats = fftconvolve(dialogue.pcm[:, side], response)[:n_samples]
        return reverberant + rng.standard_normal(n_samples) * db(-70)

    return Line(f"room {rt60_ms} ms", each_side(make))


def response_of(rt60_ms: int, direct_db: float, rng: np.random.Generator) -> Floats:
    """What a room makes of a click: itself, and decaying noise from 3 ms on, which has so much less power."""
    times_s = np.arange(round(1.3 * rt60_ms / 1000 * RATE_HZ)) / RATE_HZ
    response: Floats = rng.standard_normal(len(times_s)) * db(-60) ** (times_s / (rt60_ms / 1000))
    response[: RATE_HZ * 3 // 1000] = 0
    response *= db(-direct_db) / np.sqrt(np.sum(response**2))
    response[0] = 1
    return response


def automatic_gain(target_dbfs: float) -> Line:
    """Automatic gain: down at once, up by 12 dB a second, by 30 dB at most; a floor of -68 dBFS comes up in pauses."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        pcm = dialogue.pcm[:, side] + rng.standard_normal(len(dialogue.pcm)) * db(-68)
        ticks = pcm.reshape(-1, TICK_SAMPLES)
        wanted_db = target_dbfs - 10 * np.log10(np.maximum(np.mean(ticks**2, axis=1), 1e-12))
        gains_db, now_db = np.empty(len(ticks)), 0.0
        for tick, most_db in enumerate(np.minimum(wanted_db, 30).tolist()):
            now_db = min(now_db + 0.12, 30.0) if now_db + 0.12 < most_db else now_db + 0.5 * (most_db - now_db)
            gains_db[tick] = now_db
        middles = np.arange(len(ticks)) * TICK_SAMPLES + TICK_SAMPLES // 2
        gains = np.interp(np.arange(len(pcm)), middles, gains_db)
        levelled: Floats = np.clip(pcm * 10 ** (gains / 20), -1, 1)
        return levelled

    return Line(f"agc {target_dbfs:g}", each_side(make))


def crosstalk(below_db: float) -> Line:
    """Each side hears the other so far below, 15 ms later, over a floor of -70 dBFS."""

    def make(dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        late = np.roll(dialogue.pcm, RATE_HZ * 15 // 1000, axis=0)
        return dialogue.pcm + late[:, ::-1] * db(-below_db) + rng.standard_normal(dialogue.pcm.shape) * db(-70)

    return Line(f"crosstalk {-below_db:g} dB", make)


def echo(below_db: float, rt60_ms: int, delay: Delay, encoding: Encoding = "s16", clipped_share: float = 0.0) -> Line:
    """Each side hears the other as from a loudspeaker in a room, so far below, over a floor of -70 dBFS.

    The loudspeaker clips the loudest share of the samples of speech. The direct sound is as strong as the rest.
    """

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        spoken = dialogue.pcm[:, 1 - side]
        played = delay.of(spoken)
        if clipped_share:
            speaking = samples_in(dialogue.spans[CUT_DB][1 - side], len(spoken))
            most = np.quantile(np.abs(spoken[speaking]), 1 - clipped_share)
            played = np.clip(played, -most, most)
        heard: Floats = fftconvolve(played, response_of(rt60_ms, 0, rng))[: len(spoken)]
        heard *= db(-below_db) * rms(spoken) / rms(heard)
        return dialogue.pcm[:, side] + heard + rng.standard_normal(len(spoken)) * db(-70)

    over = {"s16": "", "mulaw": ", mu-law", "gsm": ", GSM", "mp3": ", MP3"}[encoding]
    loud = ", clipped" if clipped_share else ""
    return Line(f"echo {-below_db:g} dB, room {rt60_ms} ms, {delay.name}{loud}{over}", each_side(make), encoding)


@dataclass(frozen=True)
class Delay:
    """From `least_ms` to `most_ms` and back, by `step_ms` every `every_s`, as behind a jitter buffer; or constant."""

    least_ms: int
    most_ms: int = 0
    step_ms: int = 0
    every_s: int = 1

    @property
    def name(self) -> str:
        """Such as "60 ms later"."""
        moves = f" to {self.most_ms} ms by {self.step_ms} every {self.every_s} s" if self.step_ms else " ms"
        return f"{self.least_ms}{moves} later"

    def of(self, pcm: Floats) -> Floats:
        """The delayed samples; where the delay moves, some are left out or said again."""
        ups = range(self.least_ms, self.most_ms, self.step_ms) if self.step_ms else [self.least_ms]
        downs = range(self.most_ms, self.least_ms, -self.step_ms) if self.step_ms else []
        starts = np.arange(0, len(pcm) + self.every_s * RATE_HZ, self.every_s * RATE_HZ)
        late_ms = np.resize([*ups, *downs], len(starts))
        padded = np.pad(pcm, (RATE_HZ, 0))
        parts = [
            padded[RATE_HZ + start - ms * RATE_HZ // 1000 :][: end - start]
            for (start, end), ms in zip(pairwise(starts.tolist()), late_ms.tolist(), strict=False)
        ]
        return np.concatenate(parts)[: len(pcm)]


def telephone(ratio_db: float) -> Line:
    """Mu-law at 8 kHz with white noise so far below the speech."""
    return Line(f"mu-law, white {ratio_db:g} dB", with_noise("white", ratio_db).make, "mulaw")


def clicks(a_second: float) -> Line:
    """Clicks of 1 to 4 ms, peaks at -26 to -10 dBFS, over a floor of -70 dBFS."""

    def make(side: int, dialogue: Dialogue, material: Material, rng: np.random.Generator) -> Floats:
        pcm = dialogue.pcm[:, side] + rng.standard_normal(len(dialogue.pcm)) * db(-70)
        for start in rng.integers(len(pcm) - RATE_HZ, size=round(a_second * len(pcm) / RATE_HZ)).tolist():
            length = int(rng.integers(RATE_HZ // 1000, RATE_HZ // 250))
            click = rng.standard_normal(length) * np.hanning(length)
            pcm[start : start + length] += click / np.abs(click).max() * db(rng.uniform(-26, -10))
        return pcm

    return Line(f"clicks {a_second:g} a second", each_side(make))


def coded(encoding: Encoding, name: str) -> Line:
    """The clean dialogue through a codec, with a floor of -70 dBFS before it."""
    return Line(name, lambda d, m, rng: d.pcm + rng.standard_normal(d.pcm.shape) * db(-70), encoding)


STEADY: Final = ("white", "pink", "brown")
CHANGING: Final = ("babble", "music")
TUNING: Final[Sequence[Line]] = (
    Line("clean", clean),
    floor(-68),
    gain(16),
    gain(-20),
    speech_at(-40),
    speech_at(-47),
    speech_at(-47, "s16", 35),
    speech_at(-57, "float"),
    *(with_noise(kind, ratio_db) for kind in STEADY for ratio_db in (17, 7)),
    *(with_noise(kind, ratio_db) for kind in CHANGING for ratio_db in (20, 12, 7)),
    coded("mulaw", "mu-law 8 kHz"),
    coded("gsm", "GSM 8 kHz"),
    coded("mp3", "MP3 48 kbit/s"),
    *(room(rt60_ms) for rt60_ms in (400, 650)),
    automatic_gain(-24),
    *(comfort(level_dbfs) for level_dbfs in (-67, -62, -57, -52, -43)),
    dtx(-53, -5),
    dtx(-53, 5),
    gate(-57, 150),
    gate(-47, 200),
    crosstalk(25),
    clicks(0.8),
)
TEST: Final[Sequence[Line]] = (
    Line("clean", clean),
    floor(-65),
    gain(18),
    gain(-24),
    speech_at(-35),
    speech_at(-45),
    speech_at(-50),
    speech_at(-45, "s16", 38),
    speech_at(-55, "s24"),
    speech_at(-60, "float"),
    *(with_noise(kind, ratio_db) for kind in (*STEADY, *CHANGING) for ratio_db in (20, 10, 5)),
    coded("mulaw", "mu-law 8 kHz"),
    coded("alaw", "A-law 8 kHz"),
    coded("gsm", "GSM 8 kHz"),
    coded("opus24", "Opus joint stereo 24 kbit/s"),
    coded("mp3", "MP3 48 kbit/s"),
    *(room(rt60_ms) for rt60_ms in (300, 500, 800)),
    automatic_gain(-22),
    *(comfort(level_dbfs) for level_dbfs in (-70, -65, -60, -55, -50, -45, -40)),
    dtx(-50, -6),
    dtx(-50, 0),
    dtx(-50, 6),
    *(gate(level_dbfs, hold_ms) for level_dbfs in (-60, -50) for hold_ms in (100, 300)),
    *(crosstalk(below_db) for below_db in (20, 30, 40)),
    clicks(0.5),
)
BETWEEN: Final[Sequence[Line]] = tuple(with_noise("white", ratio_db) for ratio_db in range(25, 39, 2))
DRIFTING: Final = Delay(60, 400, 20)
ECHO_TUNING: Final[Sequence[Line]] = (
    echo(17, 250, Delay(120)),
    echo(16, 450, Delay(330), "gsm"),
    echo(19, 350, Delay(220), "mulaw", 0.02),
    echo(18, 300, Delay(100, 340, 20), "gsm"),
    echo(16, 400, Delay(180, 480, 300, 17)),
)
ECHO_TEST: Final[Sequence[Line]] = (
    *(echo(below_db, 200, Delay(60), "gsm") for below_db in (14, 20)),
    *(echo(below_db, 350, Delay(260)) for below_db in (14, 20)),
    *(echo(below_db, 500, Delay(400), "mulaw") for below_db in (14, 20)),
    *(echo(below_db, 350, DRIFTING, "gsm") for below_db in (14, 20)),
    echo(20, 350, Delay(150, 250, 100, 23), "gsm"),
    echo(20, 350, Delay(260), "mulaw", 0.02),
    crosstalk(12),
)
TELEPHONE: Final[Sequence[Line]] = tuple(telephone(ratio_db) for ratio_db in (25, 29, 33, 38))
SETS: Final[Mapping[str, Sequence[Line]]] = {
    "tuning": TUNING,
    "test": TEST,
    "between": BETWEEN,
    "echo-tuning": ECHO_TUNING,
    "echo": ECHO_TEST,
    "telephone": TELEPHONE,
}
