"""Names that a user may type, and where what they mean lives; imported only when used."""

from __future__ import annotations

import importlib
from typing import Any, Final

from fdbcore.errors import SettingsError

VADS: Final = {
    "silero": "fdbcore.vad:silero",
    "energy": "fdbcore.vad:energy",
}


def resolve(kind: str, names: dict[str, str], name: str) -> Any:  # noqa: ANN401
    """The object that `name` stands for; SettingsError lists the known names."""
    if name not in names:
        raise SettingsError(f"{kind}: expected one of {', '.join(names)}, got {name!r}")
    module, attribute = names[name].split(":")
    return getattr(importlib.import_module(module), attribute)
