"""Changes the stored quantities of a call as a scoring by other rules would: without a change they are damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fdbcore.analysis.score import _sealed
from fdbcore.recording.files import QUANTITIES, SCORES, read_json


def scored_otherwise(call: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write what `change` makes of the quantities of the call in a folder."""
    made = change(read_json(call / QUANTITIES))
    made.pop("sealed")
    sealed = _sealed(json.dumps(made).encode() + b"\n", (call / SCORES).read_bytes())
    (call / QUANTITIES).write_bytes(sealed)
