"""The smoke set that ships: 40 synthetic requests, with known ends, words and disfluencies, and what is expected.

SMOKE is a file of recorded scenarios, with its recordings beside it. `smoke.make` makes it from items.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict, cast

if TYPE_CHECKING:
    from fdbcore.models.tts.espeak import Voice
    from fdbcore.suites.fdb_v3.released.released_types import Difficulty, Disfluency, Domain
    from fdbcore.suites.fdb_v3.scenario_types import ExpectedCallEntry, RollbackEntry

FOLDER: Final = Path(str(files("fdbcore.suites.fdb_v3"))) / "data" / "smoke"
SMOKE: Final = FOLDER / "smoke.json"
ITEMS: Final = FOLDER / "items.toml"

_DOMAINS: Final[dict[str, Domain]] = {
    "travel": "travel_identity",
    "finance": "finance_billing",
    "housing": "housing_location",
    "shop": "ecommerce_support",
}
_MARKED: Final = re.compile(r"\{(\w+)\|([^}]+)\}")


class SmokeText(TypedDict):
    """An item of the file, as TOML."""

    id: str
    title: str
    difficulty: Difficulty
    voice: str
    said: str
    calls: list[ExpectedCallEntry]
    reply: str
    rollback: RollbackEntry


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


def uncorrected(args: Mapping[str, Any], rollback: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call as they were before the user's correction."""
    corrected, original = rollback["corrected"], rollback["original"]
    return {name: original[name] if corrected.get(name) == value else value for name, value in args.items()}


def smoke_items() -> list[SmokeItem]:
    """All items."""
    from fdbcore.models.tts.espeak import Voice

    content = tomllib.loads(ITEMS.read_text(encoding="utf-8"))
    voices = {name: Voice(**voice) for name, voice in content["voices"].items()}
    return [
        SmokeItem(text, _DOMAINS[text["id"].partition("_")[0]], voices[text["voice"]], tuple(_stretches(text["said"])))
        for text in cast("list[SmokeText]", content["item"])
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
