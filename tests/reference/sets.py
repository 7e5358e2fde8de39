"""Samples of Full-Duplex-Bench v1, v1.5 and v2 in its released layouts, of synthetic speech: by a seed, or edges.

A set is a folder with `v1` and `v15` (GROUP/ID/...), `v2` (FAMILY/TASK.json: replies of a judge), the backchannels of
people (`PEOPLE`), and `names.json`: what is special about a sample, or all of a group. Words share the time of what is
said by their letters, and lie a little beside it, as a transcriber's do: some cross the edges of what sounds.
"""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext.resample import Resampler
from fdbcore.audio.wav import wav_bytes
from fdbcore.models.tts.espeak import Voice, synthesise

PEOPLE: Final = "icc_gt_distribution.json"
"""The name that the script of backchannels opens in its folder."""
NAMES: Final = "names.json"
RATE_HZ: Final = 16_000
SESSION_HZ: Final = 48_000
ASKED: Final = (
    "I would like to change my booking for next Thursday.",
    "Could you tell me what it costs if I add another bag?",
    "So what happens if the parcel never shows up?",
    "Wait, please stop for a second.",
)
SHORT: Final = ("Yeah.", "Okay.", "Right.", "I see.", "Sure, go on.", "Oh, really?", "Yes, that is quite right.")
ANSWERS: Final = (
    "Sure, let me have a look at that for you.",
    "The cheapest one leaves at six in the morning, which is far too early.",
    "That sounds good to me.",
    "No problem at all.",
    "There is a charge of twelve pounds fifty for each change.",
)
LONG: Final = (
    "The train leaves at nine in the morning from the second platform, and it arrives in the city at noon, with a bag "
    "for each of you."
)

Pcm: TypeAlias = npt.NDArray[np.int16]
Chunks: TypeAlias = list[dict[str, Any]]
Said: TypeAlias = Sequence[tuple[float, str]]
"""What a side says from when on, in s."""
Span: TypeAlias = tuple[float | None, float | None]


def digest(folder: Path) -> str:
    """Of all files of a set: two sets of one digest are the same."""
    found = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def make(folder: Path, seed: int) -> None:
    """A set by its seed: 20 samples of v1, 16 of v1.5, and replies in all forms for four families."""
    rng = Random(seed)
    for task in ("candor_pause_handling", "candor_turn_taking", "icc_backchannel", "synthetic_user_interruption"):
        for number in range(5):
            _v1_sample(folder / "v1" / task / str(number), task, number, rng)
    counts = {"user_interruption": 10, "user_backchannel": 2, "talking_to_other": 2, "background_speech": 2}
    for task, n in counts.items():
        for number in range(n):
            _v15_sample(folder / "v15" / task / str(number), number, rng)
    names = {}
    for family in ("Daily.ordering", "Correction", "EntityTracking", "Safety.privacy"):
        for name, text in replies(rng):
            path = folder / "v2" / family.partition(".")[0] / f"{family}.{name}.json"
            _write(path, text)
            names[path.stem] = name
    _write(folder / PEOPLE, json.dumps({str(n): [rng.randint(0, 6) + 0.01 for _ in range(120)] for n in range(40)}))
    _write(folder / NAMES, json.dumps(names))


def _v1_sample(folder: Path, task: str, number: int, rng: Random) -> None:
    length_s = rng.choice([8.0, 10.0, 9.37, 12.2])
    first, second = rng.sample(ASKED, 2)
    begins_s = rng.uniform(4.2, 4.8)
    asked, asked_words = side(length_s, [(0.3, first), (begins_s, second)], "en-us+m3", rng)
    ended_s = asked_words[-1]["timestamp"][1]
    if task == "icc_backchannel":
        times = [rng.uniform(0.5, 1.5) + 2.4 * place for place in range(number)]
        said = [(at, rng.choice(SHORT if rng.random() < 0.7 else ANSWERS)) for at in times]
    elif task == "synthetic_user_interruption":
        said = [(rng.uniform(ended_s + 0.1, ended_s + 0.9), rng.choice(SHORT if number == 1 else ANSWERS))]
    else:
        said = [(rng.uniform(2.0, ended_s + 0.8), rng.choice([*ANSWERS, *SHORT]))]
    spoken_s = {3: length_s + 1.5, 4: length_s - 0.3}.get(number, length_s)
    answer, answer_words = side(spoken_s, said if number else [], "en-gb-x-rp+f2", rng)
    content = {"input.wav": asked, "output.wav": answer, "output.json": answer_words}
    paused_s = asked_words[len(first.split()) - 1]["timestamp"][1]
    _put(folder, content | _labels(task, (paused_s, begins_s, ended_s), (first, second)))


def _labels(task: str, at_s: tuple[float, float, float], texts: tuple[str, str]) -> dict[str, Any]:
    """The file of labels. at_s: the end of the first part, the start of the second one and its end."""
    paused_s, begins_s, ended_s = at_s
    if "pause" in task:
        return {"pause.json": [{"text": "[PAUSE]", "timestamp": [paused_s, begins_s]}]}
    if "turn" in task:
        return {"turn_taking.json": [{"text": "[TURN-TAKING]", "timestamp": [ended_s, ended_s + 0.4]}]}
    told = {"context": texts[0], "interrupt": texts[1], "timestamp": [begins_s, ended_s]}
    return {"interrupt.json": [told]} if "interruption" in task else {}


def _v15_sample(folder: Path, number: int, rng: Random) -> None:
    length_s = rng.choice([12.0, 14.3, 13.37])
    first, over = rng.choice(ASKED), rng.choice(ASKED)
    begins_s = rng.uniform(5.0, 6.0)
    asked, asked_words = side(length_s, [(0.3, first), (begins_s, over)], "en-us+m3", rng)
    clean, clean_words = side(length_s, [(0.3, first)], "en-us+m3", rng)
    ended_s = asked_words[-1]["timestamp"][1]
    later = (ended_s + rng.uniform(0.3, 0.9), rng.choice(ANSWERS))
    kinds: Sequence[Said] = (
        [(3.4, ANSWERS[2]), later],
        [(rng.uniform(3.2, 3.8), LONG)],
        [(3.4, LONG), (max(later[0], 9.8), later[1])],
        [(3.4, ANSWERS[3])],
        [(3.4, ANSWERS[4]), later],
    )
    answer, answer_words = side(length_s, kinds[number % len(kinds)], "en-gb-x-rp+f2", rng)
    calm, calm_words = side(length_s, [(3.4, rng.choice(ANSWERS)), (7.0, rng.choice(ANSWERS))], "en-gb-x-rp+f2", rng)
    _put_overlapped(
        folder, (asked, clean, answer, calm), (asked_words, clean_words, answer_words, calm_words), (begins_s, ended_s)
    )


def _put_overlapped(
    folder: Path, sounds: Sequence[Pcm], words: Sequence[Chunks], overlap_s: tuple[float, float], rate_hz: int = RATE_HZ
) -> None:
    sides = ("input", "clean_input", "output", "clean_output")
    content: dict[str, Any] = {f"{name}.json": own for name, own in zip(sides, words, strict=True)}
    content |= {f"{name}.wav": own for name, own in zip(sides, sounds, strict=True)}
    _put(folder, content | {"metadata.json": {"timestamps": overlap_s}}, rate_hz)


def side(length_s: float, said: Said, voice: str, rng: Random, rate_hz: int = RATE_HZ) -> tuple[Pcm, Chunks]:
    """The sound of a side over a soft noise, int16 (n,), and its words."""
    sound = np.random.default_rng(rng.randint(0, 10**6)).normal(0, 10, round(length_s * rate_hz))
    chunks: Chunks = []
    free_s = 0.0
    for wanted_s, text in said:
        start_s = max(wanted_s, free_s)
        spoken = speech(text, voice, rng.randrange(150, 190, 10), rate_hz)
        free_s = start_s + len(spoken) / rate_hz + 0.3
        place = sound[round(start_s * rate_hz) :][: len(spoken)]
        place += spoken[: len(place)]
        chunks += _words(text, start_s, len(spoken) / rate_hz, length_s, rng)
    return np.clip(np.rint(sound), -32_768, 32_767).astype(np.int16), chunks


def _words(text: str, start_s: float, spoken_s: float, length_s: float, rng: Random) -> Iterator[dict[str, Any]]:
    """The words of a text that begin within the sound of a side, with their times."""
    letters = sum(len(word) + 1 for word in text.split())
    at_s = start_s
    for word in text.split():
        ends_s = at_s + spoken_s * (len(word) + 1) / letters
        times = [round(at_s + rng.uniform(-0.04, 0.03), 3), round(ends_s + rng.uniform(-0.03, 0.12), 3)]
        start_s, end_s = sorted(times)
        if start_s < length_s - 0.05:
            yield {"text": word, "timestamp": [start_s, min(end_s, length_s)]}
        at_s = ends_s


@functools.cache
def speech(text: str, voice: str, words_per_minute: int, rate_hz: int) -> Pcm:
    """Half as loud as a file can be: int16 (n,) at 16, 24 or 48 kHz."""
    pcm = synthesise(text, Voice(voice, words_per_minute))
    if rate_hz != SESSION_HZ:
        resampler = Resampler(SESSION_HZ, rate_hz, "best")
        pcm = np.concatenate([resampler.process(pcm), resampler.flush()])
    loud: Pcm = np.rint(pcm * (16_000 / np.abs(pcm).max())).astype(np.int16)
    return loud


def _put(folder: Path, content: Mapping[str, Any], rate_hz: int = RATE_HZ) -> None:
    for name, own in content.items():
        if name.endswith(".wav"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(wav_bytes(own, RATE_HZ if "input" in name else rate_hz))
        elif name.endswith("put.json"):
            _write(folder / name, json.dumps({"text": " ".join(each["text"] for each in own), "chunks": own}))
        else:
            _write(folder / name, json.dumps(own))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def replies(rng: Random) -> Iterator[tuple[str, str]]:
    """Replies of a judge by the name of their form: JSON, the form that it is asked for, and what is neither."""
    at_s, events = 2.0, []
    for _ in range(rng.randint(2, 7)):
        start_s = round(at_s + rng.uniform(0, 6), 2)
        at_s = round(start_s + rng.uniform(0.3, 22), 2)
        events.append((start_s, at_s, rng.randint(1, 5), rng.randint(1, 5)))
    task = rng.randint(1, 5)
    listed = [[[a, b], x, y] for a, b, x, y in events]

    def clock(time_s: float) -> str:
        return f"{int(time_s // 60)}:{time_s % 60:05.2f}"

    def reply(items: object, score: object = task) -> str:
        return json.dumps({"Turn-taking event and score": items, "Task-specific score": score}, indent=2)

    def loose(form: str, between: str = ", ") -> str:
        items = between.join(form.format(a=a, b=b, x=x, y=y, ca=clock(a), cb=clock(b)) for a, b, x, y in events)
        return reply("HERE").replace('"HERE"', f"[{items}]")

    def fenced(text: str) -> str:
        return f"My view:\n```json\n{text}\n```\nDone."

    yield "json", reply(listed)
    yield "fenced", fenced(reply(listed))
    yield "colon", loose("[{a}, {b}]: {x}, {y}")
    yield "colon_nested", loose("[[{a}, {b}]]: {x}, {y}")
    yield "colon_lines", fenced(loose("    [{a}, {b}]: {x}, {y}", ",\n"))
    yield "colon_clock", loose('["{ca}", "{cb}"]: {x}, {y}')
    yield "colon_dots", loose("[{a}, {b}]: {x}, {y}").replace('],\n  "Task', ', ...],\n  "Task')
    yield "colon_open_score", loose("[{a}, {b}]: {x}, null")
    yield "colon_objects", loose('[{{"start_time": {a}, "end_time": {b}}}]: {x}, {y}')
    yield "cut_off", loose("[{a}, {b}]: {x}, {y}").partition("],\n")[0]
    yield "json_cut_off", reply(listed)[:-40]
    yield "braces", loose("[{{{a}, {b}}}, {x}, {y}]")
    yield "objects", loose('[{{"start_time": {a}, "end_time": {b}}}, {x}, {y}]')
    yield "objects_backwards", loose('[{{"end": {b}, "start": {a}}}, {x}, {y}]')
    yield "clock", reply([[[clock(a), clock(b)], x, y] for a, b, x, y in events])
    yield "texts", reply([[[str(a), str(b)], str(x), str(y)] for a, b, x, y in events], str(task))
    yield "fractions", reply([[[a, b], min(x + 0.5, 5), min(y + 0.7, 5)] for a, b, x, y in events], task)
    yield "open_scores", reply([[[a, b], None if a > 9 else x, "null" if b > 20 else y] for a, b, x, y in events])
    yield "several", reply([[[[a, b], [b + 0.1, b + 1.3]], x, y] for a, b, x, y in events])
    yield "flat", reply([[a, b, x, y] for a, b, x, y in events])
    yield "late", reply([[[a + 100, b + 130], x, y] for a, b, x, y in events])
    yield "no_task", reply(listed, None)
    yield "none", reply([])
    yield "two_blocks", fenced(reply(listed[:1], 1)) + fenced(reply(listed[1:]))
    yield "prose", "I cannot rate this dialogue."
    yield "colon_inside", loose("[[{a}, {b}]: {x}, {y}]")
    yield "single_quotes", str(json.loads(reply(listed)))
    yield "comma_too_many", reply(listed).replace("\n}", ",\n}")
    yield "words_around", f"My view:\n{reply(listed)}\nThat is all."


LEFT_OUT: Final = "words that the audio cannot hold, or without an end, are named and left out"
CHOICES: Final[Mapping[str, str]] = {
    "backwards": LEFT_OUT,
    "last without an end": LEFT_OUT,
    "far last without an end": LEFT_OUT,
    "beyond by 1 s": LEFT_OUT,
    "all beyond": LEFT_OUT,
    "some beyond": LEFT_OUT,
    "before 0": LEFT_OUT,
    "not cropped": "only words after the interruption count; the script expects outputs that were cropped there",
    "ends with the overlap": "an output that ends before what is measured is named and left out",
    "24 kHz": "another filter resamples to 16 kHz",
    "colon_inside": "read here, and counted in a warning",
    "single_quotes": "read here, and counted in a warning",
    "comma_too_many": "read here, and counted in a warning",
    "words_around": "read here, and counted in a warning",
}
"""Where a figure of ours differs on purpose, by what is special about the sample."""


def _timed(*spans: Span) -> Chunks:
    return [{"text": f"word{place}", "timestamp": list(span)} for place, span in enumerate(spans)]


WORDS: Final[Mapping[str, Sequence[Span]]] = {
    "none": [],
    "one short": [(3.5, 3.9)],
    "one of 1.1 s": [(3.5, 4.6)],
    "one of 1 s": [(3.5, 4.5)],
    "three in 0.99 s": [(3.5, 3.7), (3.8, 4.0), (4.1, 4.49)],
    "four in 0.4 s": [(3.5, 3.6), (3.6, 3.7), (3.7, 3.8), (3.8, 3.9)],
    "overlapping": [(3.5, 4.2), (3.8, 4.0), (3.9, 4.1)],
    "of no length": [(3.5, 3.5)],
    "before the label": [(1.0, 1.3), (1.3, 2.5)],
    "from the label on": [(3.0, 3.4), (3.4, 4.4)],
    "backwards": [(3.5, 3.7), (4.0, 3.9), (4.1, 4.2), (4.2, 4.3)],
    "last without an end": [(3.5, 3.7), (3.7, 3.8), (3.9, 4.0), (4.1, None)],
    "far last without an end": [(3.5, 3.7), (5.0, None)],
    "beyond by 1 s": [(7.9, 8.4), (8.4, 9.2)],
    "all beyond": [(9.0, 9.5), (9.5, 11.0)],
    "some beyond": [(3.5, 3.7), (3.7, 4.0), (9.5, 11.0)],
    "before 0": [(-0.2, 0.3), (0.3, 1.2)],
}
AFTER: Final[Mapping[str, Sequence[Span]]] = {
    "none": [],
    "cropped": [(3.4, 3.7), (3.7, 5.0)],
    "at the end": [(3.0, 3.3), (3.3, 4.4)],
    "short": [(3.5, 3.9), (4.0, 4.2)],
    "not cropped": [(0.5, 0.9), (0.9, 1.6), (1.6, 2.2)],
}
SOUNDS: Final[Mapping[str, tuple[int, float, Sequence[tuple[float, float]], Sequence[Span]]]] = {
    "a word across the end": (16, 10.0, [(2.0, 2.7)], [(2.05, 2.3), (2.3, 2.6), (2.62, 2.95)]),
    "a word across the start": (16, 10.0, [(2.0, 2.7)], [(1.7, 2.05), (2.1, 2.3), (2.3, 2.6)]),
    "of 0.96 s": (16, 10.0, [(2.02, 2.98)], [(2.05, 2.9)]),
    "of 0.92 s": (16, 10.0, [(2.0, 2.92)], [(2.05, 2.9)]),
    "of 1.04 s": (16, 10.0, [(2.0, 3.04)], [(2.05, 2.9)]),
    "of 2.95 s": (16, 10.0, [(2.03, 4.98)], [(2.05, 2.9)]),
    "of 3 s": (16, 10.0, [(2.0, 5.0)], [(2.05, 2.9)]),
    "of 3.04 s": (16, 10.0, [(2.0, 5.04)], [(2.05, 2.9)]),
    "silence": (16, 10.0, [], []),
    "no words": (16, 10.0, [(2.0, 2.7)], []),
    "longer than its input": (16, 14.0, [(2.0, 2.7), (12.0, 12.6)], [(2.05, 2.3), (12.0, 12.4)]),
    "of 9.97 s": (16, 9.97, [(2.0, 2.7), (8.5, 9.97)], [(2.05, 2.3)]),
    "at 24 kHz": (24, 10.0, [(2.0, 2.7), (6.0, 6.6)], [(2.05, 2.3)]),
    "long at 24 kHz": (24, 10.0, [(2.0, 4.4)], [(2.05, 2.3)]),
    "at 48 kHz": (48, 10.0, [(2.0, 2.7), (6.0, 6.6)], [(2.05, 2.3)]),
}
"""Of backchannels: the rate in kHz, the length, where the output sounds, and its words."""


def make_edges(folder: Path) -> None:
    """Hard samples, each with one thing that is special about it."""
    rng = Random(0)
    names: dict[str, str] = {}

    def put(task: str, number: int, name: str, content: Mapping[str, Any], rate_hz: int = RATE_HZ) -> None:
        _put(folder / "v1" / task / str(number), content, rate_hz)
        names[f"{task}/{number}"] = name

    asked, _ = side(8.0, [(0.3, ASKED[0])], "en-us+m3", rng)
    heard, _ = side(8.0, [(3.5, ANSWERS[0])], "en-gb-x-rp+f2", rng)
    both = {"input.wav": asked, "output.wav": heard}
    for number, (name, spans) in enumerate(WORDS.items()):
        for task in ("candor_pause_handling", "candor_turn_taking"):
            labels = _labels(task, (2.6, 3.5, 3.0), ("", ""))
            put(task, number, name, both | labels | {"output.json": _timed(*spans)})
    for number, (name, spans) in enumerate(AFTER.items()):
        labels = _labels("interruption", (1.5, 2.0, 3.0), ("the sea", "and the moon"))
        put("synthetic_user_interruption", number, name, both | labels | {"output.json": _timed(*spans)})
    asked, _ = side(10.0, [(at, ASKED[1]) for at in (0.2, 3.5, 6.8)], "en-us+m3", rng)
    for number, (name, (khz, length_s, sounding, spans)) in enumerate(SOUNDS.items()):
        pcm = np.zeros(round(length_s * khz * 1000), np.int16)
        for start_s, end_s in sounding:
            place = pcm[round(start_s * khz * 1000) : round(end_s * khz * 1000)]
            place[:] = np.tile(speech(LONG, "en-gb-x-rp+f2", 170, khz * 1000), 2)[: len(place)]
        content = {"input.wav": asked, "output.wav": pcm, "output.json": _timed(*spans)}
        put("icc_backchannel", number, name, content, khz * 1000)
    _overlap_edges(folder, names, rng)
    _write(folder / PEOPLE, json.dumps({str(n): [rng.randint(0, 6) + 0.01 for _ in range(120)] for n in range(40)}))
    _write(folder / NAMES, json.dumps(names))


def _overlap_edges(folder: Path, names: dict[str, str], rng: Random) -> None:
    """Of v1.5, in which the user is overlapped from 5 to 6.5 s of 12."""
    spoken = [(3.0, ANSWERS[0]), (7.5, ANSWERS[1])]
    asked, asked_words = side(12.0, [(0.3, ASKED[0]), (5.0, ASKED[3])], "en-us+m3", rng)
    clean, clean_words = side(12.0, [(0.3, ASKED[0])], "en-us+m3", rng)
    calm, calm_words = side(12.0, spoken, "en-gb-x-rp+f2", rng)
    usual, words = side(12.0, spoken, "en-gb-x-rp+f2", rng)
    first = [each for each in words if each["timestamp"][0] < 6]
    silent_after = usual.copy()
    silent_after[6 * RATE_HZ :] = 0
    cases = {
        "no words": (usual, []),
        "all words before": (usual, first),
        "a word across the end of the overlap": (usual, [*first, *_timed((6.2, 6.9), (7.5, 8.0), (8.1, 9.0))]),
        "words of one time": (usual, _timed((3.0, 3.0), (8.0, 8.0))),
        "digital silence after": (silent_after, first),
        "digital silence": (np.zeros_like(usual), []),
        "shorter": (usual[: 10 * RATE_HZ], [each for each in words if each["timestamp"][1] < 10]),
    }
    for number, (name, (output, own)) in enumerate(cases.items()):
        place = folder / "v15" / "user_interruption" / str(number)
        _put_overlapped(place, (asked, clean, output, calm), (asked_words, clean_words, own, calm_words), (5.0, 6.5))
        names[f"user_interruption/{number}"] = name
    place = folder / "v15" / "background_speech" / "0"
    short = usual[: round(6.5 * RATE_HZ)]
    _put_overlapped(place, (asked, clean, short, calm), (asked_words, clean_words, first, calm_words), (5.0, 6.5))
    names["background_speech"] = "ends with the overlap"
    at_24, words = side(12.0, spoken, "en-gb-x-rp+f2", rng, 24_000)
    place = folder / "v15" / "talking_to_other" / "0"
    _put_overlapped(place, (asked, clean, at_24, at_24), (asked_words, clean_words, words, words), (5.0, 6.5), 24_000)
    names["talking_to_other"] = "24 kHz"
