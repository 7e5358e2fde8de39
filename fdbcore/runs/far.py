"""The far end of `far:ADDRESS`: `python -m fdbcore.runs.far ADDRESS SEAT` lets a party join a hub until either leaves.

What went wrong with the party is printed at the end, as JSON: {"reason", "transient"}; nothing else is.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from fdbcore.registry import endpoint
from fdbcore.runtime.redaction import write_no_secrets
from fdbcore.session.converse import SILENT, LiveSettings, converse


def main() -> None:
    """Hold the party's own side of the conversation; what it hears and says is recorded at the hub."""
    told = os.dup(1)
    os.dup2(2, 1)  # a party may print what it likes
    write_no_secrets()
    party, seat = endpoint(sys.argv[1]), endpoint(sys.argv[2])
    with TemporaryDirectory() as folder:
        outcome = converse(party, seat, Path(folder), LiveSettings(vad="energy"), {}, Event()).meta["outcome"]
    if outcome["side"] == "A" and SILENT not in outcome["reason"]:  # whether it was silent is for the hub to say
        fault = {"reason": outcome["reason"], "transient": outcome.get("transient", party.transient)}
        os.write(told, json.dumps(fault).encode())


if __name__ == "__main__":
    main()
