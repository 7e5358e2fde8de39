"""A transcriber and a language model that know the smoke set, for a cascaded system: real HTTP, loopback.

    with smoke_chat() as server:
        cascade(folder, server)      # the address of a cascaded system that uses it

The transcriber knows a recording by its sound. The model makes the calls that the label of what was said expects, one
after the other with values of earlier results, and then says the reply.

Run alone, it prints a key and the system that uses it: `PYTHONPATH=tests python -m fakes.smoke_chat FOLDER`.
"""

import io
import json
import signal
import sys
import wave
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from fakes.fake_chat import KEY, FakeChat, Turn

from fdbcore.runtime.json_values import resolved
from fdbcore.suites.fdb_v3.rehearsed import known_sound, level, smoke_records
from fdbcore.types import TICKS_PER_S

NOT_HEARD = "I did not hear you."


def smoke_chat() -> FakeChat:
    """The server of both."""
    return FakeChat(turns=answer, heard=heard)


def heard(wav: bytes) -> str:
    """What the user of the recording in a WAV file says."""
    with wave.open(io.BytesIO(wav)) as file:
        samples, pcm = file.getframerate() // TICKS_PER_S, np.frombuffer(file.readframes(file.getnframes()), "<i2")
    found = known_sound([level(pcm[at : at + samples]) for at in range(0, len(pcm) - samples, samples)])
    return "" if found is None else found.record.script


def answer(body: Mapping[str, Any]) -> Turn:
    """The next call that is expected for what was said, or the reply."""
    messages = body["messages"]
    said = [each["content"] for each in messages if each["role"] == "user"][-1]
    record = next((each for each in smoke_records().values() if each.script == said), None)
    if record is None:
        return Turn(NOT_HEARD)
    results = [json.loads(each["content"]) for each in messages if each["role"] == "tool"]
    expected = record.as_released
    if len(results) == len(expected):
        return Turn(record.reply)
    call = expected[len(results)]
    return Turn(calls=[(call.function, json.dumps(resolved(call.args, results)))])


def cascade(folder: Path, server: FakeChat) -> str:
    """The address of a cascaded system that asks the server. It waits longer than the longest pause in the set."""
    path = folder / "cascade.toml"
    path.write_text(
        f'asr = "openai:whisper-1?{server.settings}"\nllm = "openai:gpt-4o?{server.settings}"\n'
        'tts = "espeak-ng:en-us+f3"\npause_ms = 3500\n'
    )
    return f"cascaded:{path}"


def main() -> None:
    """Serve until Ctrl-C or the end of the process."""
    with smoke_chat() as server, suppress(KeyboardInterrupt):
        print(f"OPENAI_API_KEY={KEY}\n{cascade(Path(sys.argv[1]), server)}", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
