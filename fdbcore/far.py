"""The far end of `far:ADDRESS`: `python -m fdbcore.far ADDRESS SEAT` lets a party join a hub until either leaves.

What went wrong with the party is printed at the end, in a line of JSON: {"reason", "transient"}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from fdbcore.live import SILENT, LiveSettings, converse
from fdbcore.registry import endpoint


def main() -> None:
    """Hold the party's own side of the conversation; what it hears and says is recorded at the hub."""
    party, seat = sys.argv[1:]
    with TemporaryDirectory() as folder:
        held = converse(endpoint(party), endpoint(seat), Path(folder), LiveSettings(vad="energy"), {}, Event())
        outcome = held.meta["outcome"]
    if (
        outcome["side"] == "A" and outcome["kind"] != "done" and outcome["reason"] != SILENT
    ):  # that is for the hub to say
        print(json.dumps({"reason": outcome["reason"], "transient": outcome.get("transient", False)}))


if __name__ == "__main__":
    main()
