"""Two-channel dialogues of synthetic speech with known boundaries, and how well these are found.

Clips of espeak-ng voices are cut where they fall 40 dB below their own loudest tick, and placed at known samples. A
tick is truly active if the clip there is within those 40 dB; inter-pausal units (IPUs) follow by the definition of the
turn detector's layer 0. Noise is added afterwards, so a noisy dialogue has the truth of the clean one. The
signal-to-noise ratio uses the mean power of the truly active ticks of a channel, 0-24 kHz.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.audio.level import FULL_SCALE, within_range
from fdbcore.models.tts.espeak import Voice, synthesise
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_MS, TICKS_PER_S

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Span: TypeAlias = tuple[int, int]
Noise: TypeAlias = Literal["white", "pink", "babble"]

MIN_SPEECH_TICKS, MIN_SILENCE_TICKS = 6, 20
VARIANTS = ("m1", "m3", "m4", "m7", "f1", "f2", "f4", "f5", "Alex", "Annie", "linda", "david")
SENTENCES = {
    "en-us": (
        "Hello, I would like to change my booking for next Thursday.",
        "Could you tell me what it costs if I add another bag?",
        "Sure, let me have a look at that for you.",
        "I think we met last summer, on the ferry to the islands.",
        "No, that is not what I asked for.",
        "The cheapest one leaves at six in the morning, which is far too early.",
        "Wait, please stop for a second.",
        "That sounds good to me.",
        "Seventeen, forty two, eighty six, and then a nine.",
        "So what happens if the parcel never shows up?",
    ),
    "en-gb-x-rp": (
        "My postcode starts with a seven, and then there are two letters.",
        "We could try the other shop, the one behind the station.",
        "It keeps ringing, but nobody answers the phone.",
        "Right, so what shall we do about the dog?",
        "Thank you very much, that was all.",
        "Honestly, I have not decided yet.",
        "Half past four would suit us perfectly.",
        "There is a charge of twelve pounds fifty for each change.",
    ),
    "de": (
        "Ich habe gestern schon angerufen, aber niemand wusste etwas davon.",
        "Das passt mir gut, vielen Dank.",
        "Können wir das auf nächste Woche verschieben?",
        "Moment, ich schaue kurz nach.",
        "Nein, die Rechnung ist noch nicht bezahlt.",
    ),
    "fr": (
        "Je voudrais réserver une table pour quatre personnes, demain soir.",
        "Oui, c'est exactement cela.",
        "Attendez, je ne trouve plus mon numéro de client.",
        "Il fait beau ici, et chez vous?",
    ),
    "es": (
        "¿Me puede decir a qué hora sale el próximo tren para Sevilla?",
        "No lo sé, pero puedo preguntar.",
        "Gracias, hasta luego.",
        "Mi hermana vive cerca del puerto, en una casa azul.",
    ),
    "it": (
        "Non ho capito bene, può ripetere il numero più lentamente?",
        "Va bene, ci vediamo domani.",
        "Quanto costa il biglietto per due persone?",
        "Stavo pensando di partire sabato, se il tempo è bello.",
    ),
}
BACKCHANNELS = ("Yeah.", "Okay.", "Right.", "I see.", "Sure.", "Really?")


@dataclass(frozen=True)
class Dialogue:
    """A clean dialogue: pcm float64 (n, 2) with full scale 1, and the true activity, bool (ticks, 2)."""

    pcm: Floats
    active: Bools

    def units(self, side: int) -> list[Span]:
        """The true IPUs of one channel, in ticks."""
        return inter_pausal_units(self.active[:, side])


def runs(active: Bools) -> list[Span]:
    """The maximal runs of True, as half-open spans."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], active.astype(np.int8), [0]))))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def inter_pausal_units(active: Bools) -> list[Span]:
    """IPUs of one side: from the first run of 60 ms of activity to the first tick of 200 ms without any."""
    units: list[Span] = []
    for start, end in runs(active):
        if units and start - units[-1][1] < MIN_SILENCE_TICKS:
            units[-1] = (units[-1][0], end)
        elif end - start >= MIN_SPEECH_TICKS:
            units.append((start, end))
    return units


@dataclass
class Speaker:
    """One side's voice and level, drawn from `rng`."""

    rng: random.Random
    language: str = field(init=False)
    variant: str = field(init=False)
    words_per_minute: int = field(init=False)
    pitch: int = field(init=False)
    level_dbfs: float = field(init=False)

    def __post_init__(self) -> None:
        self.language = self.rng.choice(list(SENTENCES))
        self.variant = self.rng.choice(VARIANTS)
        self.words_per_minute = self.rng.randint(140, 210)
        self.pitch = self.rng.randint(35, 65)
        self.level_dbfs = self.rng.uniform(-32, -20)

    def clip(self, short: bool = False) -> Floats:
        """One trimmed utterance at this speaker's level, give or take 2 dB."""
        text = self.rng.choice(BACKCHANNELS if short else SENTENCES[self.language])
        voice = f"{'en-us' if short else self.language}+{self.variant}"
        words_per_minute = self.words_per_minute + self.rng.randint(-15, 15)
        pcm = synthesise(text, Voice(voice, words_per_minute, self.pitch)) / FULL_SCALE
        power = float(np.mean(pcm**2))
        return pcm * math.sqrt(10 ** ((self.level_dbfs + self.rng.uniform(-2, 2)) / 10) / power)


def place(dialogue: Dialogue, side: int, clip: Floats, start: int) -> None:
    """Add `clip` to one channel from sample `start`, with its truth on the session's ticks."""
    first_tick, offset = divmod(start, FRAME_SAMPLES)
    active = within_range(np.concatenate((np.zeros(offset), clip)))
    dialogue.pcm[start : start + len(clip), side] += clip
    dialogue.active[first_tick : first_tick + len(active), side] |= active


def make_dialogue(seed: int, duration_s: int = 60) -> Dialogue:
    """Two speakers who alternate with gaps and overlaps, pause inside their turns, and give backchannels."""
    rng = random.Random(seed)
    speakers = (Speaker(rng), Speaker(rng))
    samples = duration_s * SAMPLE_RATE_HZ
    dialogue = Dialogue(np.zeros((samples, 2)), np.zeros((duration_s * TICKS_PER_S, 2), dtype=np.bool_))
    free = [0, 0]  # per side: the first sample at which it may speak again
    side, start = rng.randrange(2), int(rng.uniform(0.5, 1.5) * SAMPLE_RATE_HZ)
    while True:
        for _ in range(rng.choice((1, 1, 2, 3))):
            clip = speakers[side].clip()
            start = max(start, free[side])
            end = start + len(clip)
            if end + SAMPLE_RATE_HZ > samples:
                return dialogue
            place(dialogue, side, clip, start)
            if rng.random() < 0.25:
                short = speakers[1 - side].clip(short=True)
                at = start + int(rng.uniform(0.3, 0.8) * len(clip))
                if at >= free[1 - side] and at + len(short) + SAMPLE_RATE_HZ < samples:
                    place(dialogue, 1 - side, short, at)
                    free[1 - side] = at + len(short) + SAMPLE_RATE_HZ // 2
            free[side] = end + SAMPLE_RATE_HZ // 2
            start = end + int(rng.uniform(0.25, 1.2) * SAMPLE_RATE_HZ)
        side = 1 - side
        start = end + int(np.clip(rng.gauss(0.3, 0.5), -0.8, 2.0) * SAMPLE_RATE_HZ)


def pink_noise(samples: int, rng: np.random.Generator) -> Floats:
    """Noise of equal power per octave from 20 Hz on."""
    frequencies_hz = np.fft.rfftfreq(samples, 1 / SAMPLE_RATE_HZ)
    amplitudes = np.where(frequencies_hz >= 20, 1 / np.sqrt(np.maximum(frequencies_hz, 20)), 0)
    return np.fft.irfft(amplitudes * np.exp(2j * np.pi * rng.random(len(amplitudes))), samples)


@functools.cache
def _talkers(samples: int) -> Floats:
    """Eight people who talk without a pause, all equally loud: float64 (8, samples)."""
    talkers = np.zeros((8, samples))
    for seed, talker in enumerate(talkers, 900):
        speaker = Speaker(random.Random(seed))
        end = 0
        while end < samples:
            clip = speaker.clip()[: samples - end]
            talker[end : end + len(clip)] = clip
            end += len(clip)
        talker /= np.sqrt(np.mean(talker**2))
    return talkers


def babble(samples: int, rng: np.random.Generator) -> Floats:
    """Eight voices at once."""
    noise: Floats = np.sum([np.roll(talker, rng.integers(samples)) for talker in _talkers(samples)], axis=0)
    return noise


def with_noise(dialogue: Dialogue, kind: Noise, snr_db: float, seed: int) -> Floats:
    """The dialogue with independent noise on each channel, float64 (n, 2)."""
    rng = np.random.default_rng(seed)
    make: dict[Noise, Callable[[int, np.random.Generator], Floats]] = {
        "white": lambda samples, rng: rng.standard_normal(samples),
        "pink": pink_noise,
        "babble": babble,
    }
    noisy = dialogue.pcm.copy()
    for side in (0, 1):
        noise = make[kind](len(noisy), rng)
        speech_power = np.mean(noisy[np.repeat(dialogue.active[:, side], FRAME_SAMPLES), side] ** 2)
        noisy[:, side] += noise * np.sqrt(speech_power / np.mean(noise**2) / 10 ** (snr_db / 10))
    return noisy


def int16(pcm: Floats) -> npt.NDArray[np.int16]:
    """Rounded to int16, saturated."""
    return np.clip(np.rint(pcm * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def matches(truth: Sequence[Span], found: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """The pairs whose intersection is at least half of their union; no span is in two of them."""
    for true, other in itertools.product(truth, found):
        common = min(true[1], other[1]) - max(true[0], other[0])
        if 2 * common >= max(true[1], other[1]) - min(true[0], other[0]):
            yield true, other


@dataclass
class Accuracy:
    """How well IPUs were found, over many channels."""

    n_true: int = 0
    n_found: int = 0
    onset_errors_ms: list[int] = field(default_factory=list)  # of the matched; positive: found too late
    offset_errors_ms: list[int] = field(default_factory=list)

    def add(self, truth: Sequence[Span], found: Sequence[Span]) -> None:
        """Count one channel's IPUs, in ticks."""
        self.n_true += len(truth)
        self.n_found += len(found)
        for true, other in matches(truth, found):
            self.onset_errors_ms.append((other[0] - true[0]) * TICK_MS)
            self.offset_errors_ms.append((other[1] - true[1]) * TICK_MS)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall of IPUs."""
        return 2 * len(self.onset_errors_ms) / max(self.n_true + self.n_found, 1)

    @property
    def median_ms(self) -> float:
        """Median absolute error of the matched boundaries; NaN if nothing matched."""
        return self._quantile_ms(0.5)

    @property
    def p95_ms(self) -> float:
        """95th percentile of the absolute error of the matched boundaries; NaN if nothing matched."""
        return self._quantile_ms(0.95)

    @property
    def bias_ms(self) -> tuple[float, float]:
        """Mean signed error of onsets and of offsets; NaN if nothing matched."""
        if not self.onset_errors_ms:
            return math.nan, math.nan
        return float(np.mean(self.onset_errors_ms)), float(np.mean(self.offset_errors_ms))

    def _quantile_ms(self, share: float) -> float:
        errors_ms = np.abs(self.onset_errors_ms + self.offset_errors_ms)
        return float(np.quantile(errors_ms, share)) if len(errors_ms) else math.nan
