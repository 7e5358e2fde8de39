"""The far end of `far:ADDRESS`: `python -m fdbcore.runs.far ADDRESS SEAT` joins a party to a hub until one leaves.

It prints only one thing, at its end: what went wrong with the party, as JSON: {"reason", "transient"}.
"""

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
    """Hold the party's own side of the conversation. The hub records it, so the recording made here is thrown away."""
    result_fd = os.dup(1)
    os.dup2(2, 1)  # prints of the party go to stderr: stdout is kept for the result
    write_no_secrets()
    party, seat = endpoint(sys.argv[1]), endpoint(sys.argv[2])
    with TemporaryDirectory() as folder:
        recording = converse(party, seat, Path(folder), LiveSettings(vad="energy", in_turn=True), {}, Event())
        outcome = recording.meta["outcome"]
    # The hub judges by itself whether the party was silent.
    if outcome["side"] == "A" and SILENT not in str(outcome["reason"]):
        fault = {"reason": outcome["reason"], "transient": outcome.get("transient", party.transient)}
        os.write(result_fd, json.dumps(fault).encode())


if __name__ == "__main__":
    main()
