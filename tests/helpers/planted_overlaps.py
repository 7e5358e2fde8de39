"""Outputs of systems on the tasks of v1.5 whose behaviour after the overlap is known, with the words of both sides.

Each system behaves in one way on all samples. Words are drawn wherever it speaks: one each 0.3 s.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from helpers.recorded_users import put, said, v15_data

from fdbcore.sources.clips import read_clip
from fdbcore.types import SAMPLE_RATE_HZ

WORD_S = 0.3
SAID = {
    "user_interruption": "and what about the moon",
    "user_backchannel": "right okay",
    "talking_to_other": "put the kettle on",
    "background_speech": "this train stops here",
}
"""What is said in the overlap of each task."""
ANSWER = "the sea is wide and ships cross it in all weathers when winds allow"
REPLIES = {
    "user_interruption": "the moon pulls it up and down twice a day",
    "user_backchannel": "right glad that is okay with you then friend",
    "talking_to_other": "a kettle takes some three minutes until it boils",
    "background_speech": "a train goes there at nine and at noon",
}
AGAIN = "sorry could you say that again for me please"
Part = tuple[float, float, str]
"""From, to (s after the start of the overlap), and from which text the words are."""
PLANTS: Mapping[str, Sequence[Part]] = {
    "talks_on": [(-2.4, 3.0, ANSWER)],
    "was_over": [(-2.4, -0.6, ANSWER)],
    "takes_up": [(-2.4, 0.3, ANSWER), (1.8, 4.5, ANSWER)],
    "breaks_off": [(-2.4, 0.3, ANSWER)],
    "replies": [(-2.4, 0.3, ANSWER), (1.8, 4.2, "reply")],
    "replies_late": [(-2.4, 1.8, ANSWER), (2.4, 4.5, "reply")],
    "asks_again": [(-2.4, 0.3, ANSWER), (1.8, 4.2, AGAIN)],
}
"""What each system says with the overlap. Without it, all say the whole answer; the one that was over says no more."""


def truth(plant: str, task: str) -> str:
    """What the system did, in the words of our rubric."""
    if plant == "was_over":
        return "neither" if task == "user interruption" else "resumes"
    known = {"breaks_off": "neither", "replies": "responds", "replies_late": "responds", "asks_again": "asks_again"}
    return known.get(plant, "resumes")


def planted_outputs(folder: Path, numbers: Sequence[int] = (1, 2)) -> list[Path]:
    """A folder of outputs for each system, with the four files of words of each sample."""
    data = v15_data(folder / "data", numbers)
    return [_outputs(Path(shutil.copytree(data, folder / plant)), plant) for plant in PLANTS]


def _outputs(folder: Path, plant: str) -> Path:
    for sample in sorted(folder.glob("*/*")):
        task = sample.parent.name
        start_s, end_s = json.loads((sample / "metadata.json").read_text())["timestamps"]
        reply = REPLIES[task]
        spoken = [(start_s + a, start_s + b, reply if text == "reply" else text) for a, b, text in PLANTS[plant]]
        calm = spoken if plant == "was_over" else [(start_s - 2.4, start_s + 3.0, ANSWER)]
        question = (0.0, start_s - 3, "tell me of that please")
        length = len(read_clip(sample / "input.wav")[0])
        _side(sample, "output", length, spoken)
        _side(sample, "clean_output", length, calm)
        _words(sample / "input.json", [question, (start_s, end_s, SAID[task])])
        _words(sample / "clean_input.json", [question])
    return folder


def _side(sample: Path, name: str, length: int, spoken: Sequence[Part]) -> None:
    pcm = np.zeros(length, np.int16)
    for start_s, end_s, _ in spoken:
        voice = said(end_s - start_s)[::-1]  # backwards: the user's own recording would be an echo
        pcm[round(start_s * SAMPLE_RATE_HZ) :][: len(voice)] = voice
    put(sample, f"{name}.wav", pcm)
    _words(sample / f"{name}.json", spoken)


def _words(file: Path, spoken: Sequence[Part]) -> None:
    file.write_text(json.dumps({"chunks": list(_chunks(spoken))}))


def _chunks(spoken: Sequence[Part]) -> Iterator[Mapping[str, object]]:
    """The words of each part; a text that comes again goes on where it was left."""
    left = {text: cycle(text.split()) for *_, text in spoken}
    for start_s, end_s, text in spoken:
        n = max(round((end_s - start_s) / WORD_S), len(text.split()) if text in SAID.values() else 1)
        step_s = (end_s - start_s) / n
        for place, word in enumerate(islice(left[text], n)):
            yield {"text": word, "timestamp": [start_s + place * step_s, start_s + (place + 1) * step_s]}
