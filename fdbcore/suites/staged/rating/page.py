"""The page on which people rate a sample: one file that works offline, and says nothing about who is heard.

It has the audio of all dialogues, up to the closing statement, where the judge's material ends, too. Each is a text of
its own in the page, and is unpacked when it is opened. Order and names are those of the key, which are random.
"""

import base64
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, to_builtins

from fdbcore.endpoints import Brief
from fdbcore.errors import InputError
from fdbcore.measures import Reading
from fdbcore.recording import converted
from fdbcore.report import CLIP_TYPE, clip, environment
from fdbcore.runtime import whole_file
from fdbcore.sources import FORMULA, changed_source
from fdbcore.suites.staged.rating.agreement import CANNOT_TELL, COLUMNS, KeyedDialogue, read_key
from fdbcore.suites.staged.scenarios import RubricWording, rubrics_of_marks
from fdbcore.suites.staged.transcription import closing_tick
from fdbcore.suites.staged.users import families_of
from fdbcore.types import TICKS_PER_S

ENCODERS: Final = 2
"""Encoding keeps a core busy, and holds the samples of a dialogue."""
TITLES: Final = {"turn_taking": "Turn-taking", "instruction_following": "Following what was asked"}


def rate(sample: Path, out: Path, show: Callable[[str], None]) -> str:
    """Write the page of a sample, for raters who do not know who is heard; see `fdbcore.protocols.suite.Labels`."""
    size = write_page(sample, out, show)
    return (
        f"{out} ({size / 1e6:.0f} MB)\n"
        f"Give raters this file alone: {sample} holds the key. They send back what the page lets them download:\n"
        f"fdbcore agree RATINGS.csv RATINGS.csv"
    )


def write_page(sample: Path, out: Path, show: Callable[[str], None]) -> int:
    """Write the page of a sample, and return how many bytes it has. InputError if a recording cannot be played."""
    key = read_key(sample)
    dialogues = [_dialogue(each) for each in key.dialogues]
    families = {each.family: families_of(Path(each.call).parent).get(each.family) for each in key.dialogues}
    tasks = {
        name: _metric("task_score", each.score.title, each.rubric[0].ask, each.rubric[0])
        for name, each in families.items()
        if each is not None and each.score is not UNSET
    }
    data = {
        "sample": key.sample,
        "cannot_tell": CANNOT_TELL,
        "audio_type": CLIP_TYPE,
        "columns": COLUMNS,
        "formula": FORMULA,
        "metrics": [
            _metric(name, title, of.ask_of_dialogue, of)
            for name, title in TITLES.items()
            for of in rubrics_of_marks()[name][:1]
        ],
        "tasks": tasks,
        "dialogues": dialogues,
    }
    page = (
        environment(__package__)
        .get_template("rate.html")
        .generate(
            title="Rate spoken dialogues",
            n=len(dialogues),
            minutes=max(1, round(sum(each["length_s"] for each in dialogues) / 60)),
            data=data,
            sounds=_sounds(key.dialogues, show),
        )
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(out) as file:
        return sum(file.write(text.encode()) for text in page)


def _metric(id_: str, title: str, ask: str, of: RubricWording) -> dict[str, Any]:
    return {"id": id_, "title": title, "ask": ask, "levels": of.levels, "checks": to_builtins(of.check)}


def _dialogue(keyed: KeyedDialogue) -> dict[str, Any]:
    """The parts of a dialogue that a rater reads. InputError if its audio cannot be played any more."""
    recording = Reading(Path(keyed.call))
    if (why := changed_source(recording)) is not None:
        raise InputError(f"{keyed.call}: expected audio, got none: {why}")
    brief: Brief = converted(recording.meta["parties"]["A"]["brief"], Brief)
    return {
        "name": keyed.dialogue,
        "family": keyed.family,
        "language": brief.language,
        "role": brief.role,
        "goals": [{"goal": goal.goal, "met": goal.met, "language": goal.language} for goal in brief.goals],
        "length_s": _end_tick(recording) / TICKS_PER_S,
    }


def _end_tick(recording: Reading) -> int:
    return closing_tick(recording.events, recording.n_ticks)


def _sounds(dialogues: list[KeyedDialogue], show: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """The name of each dialogue, and its audio as text."""
    with ThreadPoolExecutor(ENCODERS) as pool:
        waiting = []
        for number, each in enumerate(dialogues):
            show(f"encoding dialogue {number + 1} of {len(dialogues)}")
            waiting.append((each.dialogue, pool.submit(_sound, Path(each.call))))
            if len(waiting) > ENCODERS:
                name, made = waiting.pop(0)
                yield name, made.result()
        for name, made in waiting:
            yield name, made.result()


def _sound(call: Path) -> str:
    recording = Reading(call)
    return base64.b64encode(clip(recording, 0, _end_tick(recording))).decode("ascii")
