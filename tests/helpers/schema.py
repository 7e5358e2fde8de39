"""The schema of the document of one recording."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

SCHEMA: dict[str, Any] = json.loads((files("fdbcore.report") / "static" / "replay.schema.json").read_text())
