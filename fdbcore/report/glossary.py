"""Meanings of every measure, event and term, in plain words, with the name that the literature gives it.

The texts are in static/glossary.json: JSON, as reading it takes no time.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, cast

from fdbcore.types import TurnKind, TurnSettings


@dataclass(frozen=True, slots=True)
class CountText:
    """The words for a count of a side. is_disturbance: the count should be zero."""

    label: str
    meaning: str
    is_disturbance: bool = False


_TEXTS: Final[Mapping[str, Mapping[str, Any]]] = json.loads(
    (files("fdbcore.report") / "static" / "glossary.json").read_text(encoding="utf-8")
)

SETTINGS: Final[Mapping[str, Mapping[str, str]]] = _TEXTS["settings"]
"""The name and the meaning of each setting of the turn detector."""
EVENTS: Final = cast("Mapping[TurnKind, str]", _TEXTS["events"])
TERMS: Final[Mapping[str, str]] = _TEXTS["terms"]
EXCLUSIONS: Final[Mapping[str, str]] = _TEXTS["exclusions"]
"""Reasons why items are left out of a measure."""
LATENESS: Final[Mapping[str, str]] = _TEXTS["lateness"]
SIDE_COUNTS: Final = {name: CountText(**text) for name, text in _TEXTS["side_counts"].items()}
HEALTH: Final[Mapping[str, Mapping[str, str]]] = _TEXTS["health"]
"""The name of each finding about the input, and what it does to figures."""


def terms(settings: TurnSettings) -> dict[str, str]:
    """All terms with their explanations, the settings filled in."""
    return {name: in_words(text, settings) for name, text in TERMS.items()}


def in_words(text: str, settings: TurnSettings) -> str:
    """`text` with the settings in braces replaced by their values in seconds."""
    return text.format(**settings_in_words(settings))


def settings_in_words(settings: TurnSettings) -> dict[str, str]:
    """The settings of the turn detector in seconds: "10 s"."""
    return {name: f"{getattr(settings, name) / 1000:g} s" for name in TurnSettings.__slots__}
