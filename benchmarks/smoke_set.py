"""Makes the smoke set of fdb-v3: data/smoke/smoke.json of the suite, and a FLAC file for each item of smoke_set.toml.

    python -m benchmarks.smoke_set [NAME ...]   makes the whole file, and the audio of all or of some items

The voices are those of espeak-ng. The same version of it always gives the same samples. Each stretch of a request is
spoken by itself and cut where it falls 40 dB below its loudest tick, so that all edges are known to a tick.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, cast

import av
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, UnsetType, convert, to_builtins

from fdbcore.audio.level import levelled
from fdbcore.audio.speech import TRANSCRIBER_RATE_HZ, at_transcriber_rate, without_long_pauses
from fdbcore.models.tts.espeak import Voice, synthesise
from fdbcore.suites.fdb_v3.rehearsed import uncorrected
from fdbcore.suites.fdb_v3.scenarios import (
    FOLDER,
    SCHEMA,
    SMOKE,
    DataCard,
    Difficulty,
    Disfluency,
    DisfluencySpan,
    Domain,
    ExpectedCallEntry,
    RecordedAudioEntry,
    RecordedScenarioEntry,
    RecordedScenarioFile,
    RollbackEntry,
    SpokenWordEntry,
    counts_of,
)
from fdbcore.suites.fdb_v3.world import FunctionCall, outcome
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Pcm

ITEMS: Final = Path(__file__).with_suffix(".toml")

_DOMAINS: Final[dict[str, Domain]] = {
    "travel": "travel_identity",
    "finance": "finance_billing",
    "housing": "housing_location",
    "shop": "ecommerce_support",
}
_MARKED: Final = re.compile(r"\{(\w+)\|([^}]+)\}")

LEVEL_DBOV: Final = -26.0
LEAD_TICKS, TAIL_TICKS = 50, 200
"""Room tone before and after the request."""
GAP_TICKS, DISFLUENT_GAP_TICKS = 5, 14
"""Between two stretches that are fluent, or of which one is not."""
MOST_PAUSE_TICKS: Final = 35
"""What is longer within a stretch would be a pause of the guideline; voices make longer ones between sentences."""
FILLER_WORDS_PER_MINUTE: Final = 110
TONE_STEPS, TONE_WIDTH = 24, 32
"""Room tone is the mean of so many neighbours of a uniform noise of so many steps: soft, and mostly below 500 Hz."""
CREDIT: Final = "texts and labels of fdbcore, spoken by espeak-ng"


class SmokeText(Struct, frozen=True):
    """An item of the file, as TOML."""

    id: str
    title: str
    difficulty: Difficulty
    voice: str
    said: str
    calls: list[ExpectedCallEntry]
    reply: str
    rollback: RollbackEntry | UnsetType = UNSET


class Stretch(NamedTuple):
    """A part of a request: a text, or a silence. kind: of its disfluency; None if it is fluent."""

    text: str
    silence_s: float
    kind: Disfluency | None


class SmokeItem(NamedTuple):
    """An item: its text, the speaker's name, its voice, and its stretches in their order."""

    text: SmokeText
    domain: Domain
    voice: Voice
    stretches: tuple[Stretch, ...]

    @property
    def script(self) -> str:
        """All words."""
        return " ".join(each.text for each in self.stretches if each.text)


def smoke_items() -> list[SmokeItem]:
    """All items."""
    content = tomllib.loads(ITEMS.read_text(encoding="utf-8"))
    voices = {name: Voice(**voice) for name, voice in content["voices"].items()}
    return [
        SmokeItem(text, _DOMAINS[text.id.partition("_")[0]], voices[text.voice], tuple(_stretches(text.said)))
        for text in convert(content["item"], list[SmokeText])
    ]


def _stretches(said: str) -> Iterator[Stretch]:
    """The fluent and the marked stretches of a text."""
    start = 0
    for match in _MARKED.finditer(said):
        if fluent := said[start : match.start()].strip():
            yield Stretch(fluent, 0.0, None)
        kind, content = cast("Disfluency", match[1].upper()), match[2]
        yield Stretch("", float(content), kind) if kind == "PAUSE" else Stretch(content, 0.0, kind)
        start = match.end()
    if fluent := said[start:].strip():
        yield Stretch(fluent, 0.0, None)


@dataclass(frozen=True, slots=True)
class SpokenItem:
    """An item as it sounds. pcm: int16 (n,) at 16 kHz. Ticks count from its beginning."""

    pcm: Pcm
    user_end_tick: int
    words: list[SpokenWordEntry]
    spans: list[DisfluencySpan]


def spoken_item(item: SmokeItem) -> SpokenItem:
    """An item, spoken in a room."""
    parts: list[Pcm] = []
    words: list[SpokenWordEntry] = []
    spans: list[DisfluencySpan] = []
    tick = LEAD_TICKS
    for number, stretch in enumerate(item.stretches):
        if number and not stretch.silence_s and not item.stretches[number - 1].silence_s:
            gap = DISFLUENT_GAP_TICKS if stretch.kind or item.stretches[number - 1].kind else GAP_TICKS
            parts.append(np.zeros(gap * FRAME_SAMPLES, np.int16))
            tick += gap
        pcm = _sound(item, number)
        end = tick + len(pcm) // FRAME_SAMPLES
        words += _words(stretch.text.split(), tick, end)
        if stretch.kind:
            spans.append(DisfluencySpan(stretch.kind, tick, end))
        parts.append(pcm)
        tick = end
    speech, _ = levelled(np.concatenate(parts), LEVEL_DBOV)
    whole = np.pad(speech, (LEAD_TICKS * FRAME_SAMPLES, TAIL_TICKS * FRAME_SAMPLES))
    pcm = at_transcriber_rate(whole)
    seed = [*item.text.id.encode()]
    return SpokenItem((pcm + room_tone(len(pcm), seed)).astype(np.int16), tick, words, spans)


def _sound(item: SmokeItem, number: int) -> Pcm:
    """A stretch of an item, in whole ticks: int16 (n,) at 48 kHz."""
    stretch = item.stretches[number]
    if stretch.silence_s:
        return np.zeros(round(stretch.silence_s * TICKS_PER_S) * FRAME_SAMPLES, np.int16)
    is_last = number == len(item.stretches) - 1
    text = stretch.text if is_last or stretch.text[-1] in ".,?" else f"{stretch.text},"  # the voice stays up
    voice = item.voice
    if stretch.kind == "FILLER":
        voice = replace(voice, words_per_minute=FILLER_WORDS_PER_MINUTE)
    pcm = without_long_pauses(synthesise(text, voice), MOST_PAUSE_TICKS)
    return np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES))


def _words(texts: Sequence[str], start: int, end: int) -> Iterator[SpokenWordEntry]:
    """The words of a stretch, each as long as its share of the letters. A silence has none."""
    if not texts:
        return
    letters = np.cumsum([0, *map(len, texts)])
    edges = [start + round((end - start) * int(count) / int(letters[-1])) for count in letters]
    for text, first, last in zip(texts, edges, edges[1:], strict=False):
        yield SpokenWordEntry(text, first, last)


def room_tone(samples: int, seed: Sequence[int]) -> npt.NDArray[np.int64]:
    """The noise of a quiet room, (samples,): whole numbers alone, so that all machines make the same."""
    noise = np.random.default_rng(seed).integers(-TONE_STEPS, TONE_STEPS + 1, samples + TONE_WIDTH)
    sums = np.cumsum(noise)
    tone: npt.NDArray[np.int64] = (sums[TONE_WIDTH:] - sums[:-TONE_WIDTH]) // TONE_WIDTH
    return tone


def entry(item: SmokeItem, spoken: SpokenItem) -> RecordedScenarioEntry:
    """The record of an item. It tests whether state is rolled back where what was taken back would leave another."""
    text = item.text
    tests_rollback: bool | UnsetType = UNSET
    if text.rollback:
        before = [FunctionCall(each.function, uncorrected(each.args, text.rollback)) for each in text.calls]
        tests_rollback = outcome(before).state != outcome(text.calls).state
    length_s = len(spoken.pcm) / TRANSCRIBER_RATE_HZ
    return RecordedScenarioEntry(
        id=text.id,
        scenario=text.id,
        speaker=text.voice,
        domain=item.domain,
        difficulty=text.difficulty,
        title=text.title,
        script=item.script,
        reply=text.reply,
        disfluencies=list(dict.fromkeys(each.kind for each in item.stretches if each.kind)),
        rollback_test=tests_rollback,
        rollback=text.rollback,
        audio=RecordedAudioEntry(f"{text.id}.flac", TRANSCRIBER_RATE_HZ, 1, 16, length_s),
        user_end_tick=spoken.user_end_tick,
        words=spoken.words,
        spans=spoken.spans,
        as_released=text.calls,
        repaired=text.calls,
    )


def smoke_file(items: Sequence[SmokeItem], spoken: Sequence[SpokenItem]) -> RecordedScenarioFile:
    """The file of the set."""
    records = [entry(*each) for each in zip(items, spoken, strict=True)]
    card = DataCard(
        **counts_of(records),
        silent_scenarios=0,
        annotators="none: the tags and spans say how the recordings were made",
        guideline="docs/fdb_v3.md#the-five-disfluencies",
        agreement="none: nobody annotated them",
        synthetic=True,
    )
    return RecordedScenarioFile(SCHEMA, CREDIT, card, records)


def write_flac(path: Path, pcm: Pcm) -> None:
    """Write int16 (n,) at 16 kHz as FLAC."""
    with av.open(str(path), "w", format="flac") as container:
        stream = container.add_stream("flac", rate=TRANSCRIBER_RATE_HZ, layout="mono", format="s16")
        stream.options = {"compression_level": "12"}
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = TRANSCRIBER_RATE_HZ
        container.mux([*stream.encode(frame), *stream.encode(None)])


def main(names: Collection[str], folder: Path = FOLDER) -> None:
    """Write the file of the set, and the audio of the items of these names, or of all."""
    items = smoke_items()
    with ThreadPoolExecutor() as pool:  # each stretch is spoken by a process of its own
        spoken = list(pool.map(spoken_item, items))
    for item, each in zip(items, spoken, strict=True):
        if not names or item.text.id in names:
            write_flac(folder / f"{item.text.id}.flac", each.pcm)
    text = json.dumps(to_builtins(smoke_file(items, spoken)), ensure_ascii=False, indent=1)
    (folder / SMOKE.name).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
