"""The far end of `far:ADDRESS`: `python -m fdbcore.far ADDRESS SEAT` lets a party join a hub until either leaves."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from fdbcore.live import LiveSettings, converse
from fdbcore.registry import endpoint


def main() -> None:
    """Hold the party's own side of the conversation; what it hears and says is recorded at the hub."""
    party, seat = sys.argv[1:]
    with TemporaryDirectory() as folder:
        converse(endpoint(party), endpoint(seat), Path(folder), LiveSettings(vad="energy"), {}, Event())


if __name__ == "__main__":
    main()
