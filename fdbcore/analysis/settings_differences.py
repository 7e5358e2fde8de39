"""Which settings differ between runs, or between the calls of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from fdbcore.recording.meta_types import Settings

Leaves: TypeAlias = set[tuple[str, str]]

NO_SETTINGS: Final = ("bias_ms", "rate_hz")
"""The rate belongs to the call, such as one by telephone; earlier versions stated a bias of the detector."""


def between(runs: Mapping[str, Iterable[Settings]]) -> list[str]:
    """The settings that differ between two runs, each by its name with the settings of its calls:
    "turns min_silence_ms: run 300, baseline 200"."""
    leaves = {name: _of(made_by) for name, made_by in runs.items()}
    first, second = leaves.values()
    return [
        f"{setting}: " + ", ".join(f"{name} {_values(of, setting)}" for name, of in leaves.items())
        for setting in dict.fromkeys(setting for setting, _ in sorted(first ^ second))
    ]


def within(made_by: Sequence[Settings]) -> list[str]:
    """The settings that differ between calls of one run: "turns min_silence_ms: 200 and 300"."""
    every = [_of([settings]) for settings in made_by]
    differing: Leaves = {leaf for of_one in every for leaf in of_one if not all(leaf in other for other in every)}
    return [
        f"{setting}: {_values(differing, setting)}" for setting in dict.fromkeys(name for name, _ in sorted(differing))
    ]


def _of(made_by: Iterable[Settings]) -> Leaves:
    return {leaf for settings in made_by for leaf in _leaves(settings)}


def _leaves(settings: Mapping[str, object], name: str = "") -> Iterator[tuple[str, str]]:
    """The names and values of all settings that affect events."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name} {key}".strip())
        elif key not in NO_SETTINGS:
            yield f"{name} {key}".strip(), json.dumps(value)


def _values(leaves: Leaves, name: str) -> str:
    return " and ".join(sorted(value.strip('"') for key, value in leaves if key == name)) or "none"
