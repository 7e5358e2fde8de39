"""Draws the dialogues that people rate, gives them names that say nothing, and keeps the key."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from fdbcore.errors import InputError, SettingsError
from fdbcore.recording.files import read_json, write_json
from fdbcore.recording.form import of_form
from fdbcore.runs.kept_scores import kept_scores
from fdbcore.suites.staged.rating.rating_types import KeyedDialogue, RatingKey

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedItem

KEY: Final = "key.json"
KEY_SCHEMA: Final = "fdbcore.rating_key/1"
SCORES_SCHEMA: Final = "fdbcore.staged/1"
STRATA: Final[Sequence[Literal["system", "pacing", "family"]]] = ("system", "pacing", "family")


def scores_in(path: Path) -> StagedDocument | None:
    """The scores of staged dialogues; None if there are none.

    path: their file, the folder that `fdbcore score` made, or a run that has its scores beside it.
    """
    return cast("StagedDocument | None", kept_scores(path, SCORES_SCHEMA))


def draw_sample(paths: Sequence[Path], n: int, seed: int, out: Path) -> RatingKey:
    """Draw n dialogues from scores, write the key into the new folder `out`, and return it.

    SettingsError for scores that cannot be used, for more dialogues than there are, or if `out` holds something.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"--out {out}: expected a new or empty folder, got one that holds something")
    items: dict[Path, StagedItem] = {}
    for path in paths:
        if (scores := scores_in(path)) is None:
            raise SettingsError(f"{path}: expected scores that fdbcore score --suite staged RUN has made, got none")
        items |= {_recording(path, item["call"]): item for item in scores["items"]}
    if n > len(items):
        raise SettingsError(f"--sample {n}: expected at most {len(items)}, so many dialogues are scored")
    drawn = drawn_evenly(list(items.items()), n, seed)
    key: RatingKey = {
        "schema": KEY_SCHEMA,
        "suite": "staged",
        "sample": hashlib.sha256(json.dumps([seed, *(str(call) for call, _ in drawn)]).encode()).hexdigest()[:8],
        "seed": seed,
        "dialogues": [_keyed(f"D{number:03}", *each) for number, each in enumerate(drawn, 1)],
    }
    write_json(out / KEY, key)
    return key


def _recording(scores: Path, call: str) -> Path:
    """The folder of a recording that scores name, absolute."""
    path = Path(call).absolute()
    if not path.is_dir():
        raise SettingsError(f"{scores}: expected its recording {path}, found none: begin in the folder of that scoring")
    return path


def _keyed(name: str, call: Path, item: StagedItem) -> KeyedDialogue:
    return {
        "dialogue": name,
        "call": str(call),
        "system": item["system"],
        "pacing": item["pacing"],
        "family": item["family"],
        "scenario": item["scenario"],
        "trial": item["trial"],
    }


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
    file = path / KEY if path.is_dir() else path
    content = read_json(file) if file.is_file() else None
    if not isinstance(content, dict) or content.get("schema") != KEY_SCHEMA:
        raise InputError(f"{path}: expected the folder of a sample (fdbcore agree --sample), or its {KEY}, got none")
    of_form(file, content, RatingKey)
    return cast("RatingKey", content)
