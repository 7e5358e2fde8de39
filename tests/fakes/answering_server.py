"""Systems that answer each time the other side falls silent, and tell what they say or not.

with PcmServer(answering("One mug, four dollars.")) as server:
    run(..., "--system", server.address, "--system", telling_command("One mug, four dollars."))
"""

import json

import numpy as np
from fakes.pcm_server import Call, Script
from helpers.exec_scripts import script

from fdbcore.types import FRAME_BYTES

WAIT_TICKS = 120
ANSWER_TICKS = 100
BEEP = np.where(np.arange(480) // 40 % 2, 3000, -3000).astype("<i2").tobytes()


def answering(text: str | None) -> Script:
    """A server whose answer is a second of sound; it tells the text once it has said it. None: it tells nothing."""

    async def talk(call: Call) -> None:
        quiet = left = 0
        await call.ready(clocking="input")
        async for frame in call.listen():
            quiet = 0 if np.abs(np.frombuffer(frame, "<i2").astype(int)).max() > 600 else quiet + 1
            if quiet == WAIT_TICKS and len(call.heard) > WAIT_TICKS:
                left = ANSWER_TICKS
            await call.say([BEEP if left > 0 else bytes(FRAME_BYTES)])
            left -= 1
            if left == 0 and text is not None:
                await call.tell("text", text=text)

    return talk


def telling_command(text: str) -> str:
    """The address of a command that does the same, but tells the text before it says it, beside other lines."""
    return script(f"""
quiet, left, heard = 0, 0, 0
while True:
    quiet, heard = 0 if max(map(abs, memoryview(read()).cast("h"))) > 600 else quiet + 1, heard + 1
    if quiet == {WAIT_TICKS} and heard > {WAIT_TICKS}:
        left = {ANSWER_TICKS}
        print('one moment\\n' + {json.dumps({"type": "text", "text": text})!r}, file=sys.stderr)
    write({BEEP!r} if left > 0 else bytes({FRAME_BYTES}))
    left -= 1
""")
