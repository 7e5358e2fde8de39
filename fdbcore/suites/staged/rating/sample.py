"""Draws the dialogues that people rate, gives them names that say nothing, and keeps the key."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, to_builtins

from fdbcore.errors import InputError, SettingsError
from fdbcore.recording.files import write_json
from fdbcore.recording.form import kept_of_form
from fdbcore.runs.kept_scores import kept_scores

KEY: Final = "key.json"
KEY_SCHEMA: Final = "fdbcore.rating_key/1"
SCORES_SCHEMAS: Final = ("fdbcore.staged/2", "fdbcore.staged/1")
"""What is read of their dialogues is the same in both."""
STRATA: Final[Sequence[Literal["system", "pacing", "family"]]] = ("system", "pacing", "family")


class KeyedDialogue(Struct, frozen=True):
    """Which dialogue stands behind a name that says nothing."""

    dialogue: Annotated[str, Meta(description="its name on the page and in ratings: D001")]
    call: Annotated[str, Meta(description="folder of its recording, absolute")]
    system: str
    pacing: str
    family: str
    scenario: str
    trial: int


class RatingKey(Struct, frozen=True):
    """The key of a sample. Raters do not get it."""

    schema: Literal["fdbcore.rating_key/1"]
    suite: Literal["staged"]
    sample: Annotated[str, Meta(description="tells samples apart, and says nothing")]
    seed: int
    dialogues: Annotated[list[KeyedDialogue], Meta(description="in the order of the page")]


def scores_in(path: Path) -> Mapping[str, Any] | None:
    """The scores of staged dialogues; None if there are none.

    path: their file, the folder that `fdbcore score` made, or a run that has its scores beside it.
    """
    return next((found for each in SCORES_SCHEMAS if (found := kept_scores(path, each)) is not None), None)


def draw_sample(paths: Sequence[Path], n: int, seed: int, out: Path) -> RatingKey:
    """Draw n dialogues from scores, write the key into the new folder `out`, and return it.

    SettingsError for scores that cannot be used, for more dialogues than there are, or if `out` holds something.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"--out {out}: expected a new or empty folder, got one that holds something")
    items: dict[Path, Mapping[str, Any]] = {}
    for path in paths:
        if (scores := scores_in(path)) is None:
            raise SettingsError(f"{path}: expected scores that fdbcore score --suite staged RUN has made, got none")
        items |= {_recording(path, item["call"]): item for item in scores["items"]}
    if n > len(items):
        raise SettingsError(f"--sample {n}: expected at most {len(items)}, so many dialogues are scored")
    drawn = drawn_evenly(list(items.items()), n, seed)
    sample = hashlib.sha256(json.dumps([seed, *(str(call) for call, _ in drawn)]).encode()).hexdigest()[:8]
    dialogues = [
        KeyedDialogue(f"D{number:03}", str(call), *(item[name] for name in (*STRATA, "scenario", "trial")))
        for number, (call, item) in enumerate(drawn, 1)
    ]
    key = RatingKey(KEY_SCHEMA, "staged", sample, seed, dialogues)
    write_json(out / KEY, to_builtins(key))
    return key


def _recording(scores: Path, call: str) -> Path:
    """The folder of a recording that scores name, absolute."""
    path = Path(call).absolute()
    if not path.is_dir():
        raise SettingsError(f"{scores}: expected its recording {path}, found none: begin in the folder of that scoring")
    return path


def drawn_evenly(items: Sequence[tuple[Path, Mapping[str, Any]]], n: int, seed: int) -> list[tuple[Path, Any]]:
    """n of the items in random order, as evenly from the systems, pacings and families as their counts allow.

    One after the other is drawn: from the combination of system, pacing and family that has the fewest so far; among
    these of the system, then the pacing, the family, and the scenario that have the fewest; and among these at random.
    """
    random = Random(seed)
    left = sorted(items, key=lambda each: each[0])
    random.shuffle(left)
    counts: Counter[tuple[str, ...]] = Counter()

    def groups(item: Mapping[str, Any]) -> list[tuple[str, ...]]:
        strata = tuple(str(item[field]) for field in STRATA)
        return [strata, *((field, str(item[field])) for field in (*STRATA, "scenario"))]

    drawn = []
    for _ in range(n):
        chosen = min(left, key=lambda each: [counts[group] for group in groups(each[1])])
        left.remove(chosen)
        counts.update(groups(chosen[1]))
        drawn.append(chosen)
    random.shuffle(drawn)
    return drawn


def read_key(path: Path) -> RatingKey:
    """The key of a sample, by its folder or its file. InputError if there is none."""
    key: RatingKey | None = kept_of_form(path / KEY if path.is_dir() else path, KEY_SCHEMA, RatingKey)
    if key is None:
        raise InputError(f"{path}: expected the folder of a sample (fdbcore agree --sample), or its {KEY}, got none")
    return key
