"""A cascaded system from a file: its transcriber, language model and speaker, and when it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of, typed_values
from fdbcore.runtime.toml_values import read_toml
from fdbcore.types import TICK_MS

SETTINGS: Final = (
    Setting("asr", "the transcriber's address", default="", form="an address"),
    Setting("llm", "the language model's address", default="", form="an address"),
    Setting("tts", "the speaker's address", default="", form="an address"),
    Setting("instructions", "what the model is told; `@FILE` for the text in a file", default=""),
    Setting("language", "of the conversation, as ISO 639-1", default="en"),
    Setting(
        "pause_ms", "how long the partner is silent when its turn is over", int, 700, unit="ms", least=10, step=TICK_MS
    ),
    Setting(
        "interrupt_ms",
        "how long the partner speaks until it counts as an interruption",
        int,
        0,
        unit="ms",
        least=0,
        step=TICK_MS,
    ),
    Setting(
        "most_tokens",
        "of an answer; a sentence that this cuts off is not said",
        int,
        0,
        unset="no limit",
        least=0,
    ),
    Setting(
        "answer_timeout_s",
        "with `--clock virtual`: for how long nothing more may come of an answer until the call ends",
        int,
        30,
        unit="s",
        least=1,
    ),
)


@dataclass(frozen=True, slots=True)
class CascadeSettings:
    """See SETTINGS. name: of the file, or of one that comes with the package."""

    name: str
    asr: str
    llm: str
    tts: str
    instructions: str
    language: str
    pause_ms: int
    interrupt_ms: int
    most_tokens: int | None
    answer_timeout_s: int


def read_settings(name: str, given: Mapping[str, Any]) -> CascadeSettings:
    """The settings in the file `name`, or in one that comes with the package; those in `given` go before them.

    SettingsError if there is no such file, or if something in it is wrong or missing.
    """
    packaged = Path(__file__).parent / "data"
    path = packaged / f"{name}.toml" if name in _names(packaged) else Path(name)
    expected = f"cascaded: expected FILE.toml, or one of {', '.join(_names(packaged))}"
    if not name or path.is_dir() or not path.exists():
        got = "no name" if not name else f"the folder {name!r}" if path.is_dir() else f"none at {name!r}"
        raise SettingsError(f"{expected}, got {got}")
    found = typed_values(str(path), {**read_toml(path).values, **given}, SETTINGS)
    for needed in ("asr", "llm", "tts"):
        if not found[needed]:
            raise SettingsError(f"{path}: expected {needed}, the address of one; found none")
    found["instructions"] = text_of(found["instructions"])
    found["most_tokens"] = found["most_tokens"] or None
    return CascadeSettings(name=name, **found)


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))
