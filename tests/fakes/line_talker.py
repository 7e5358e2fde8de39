"""A synthesiser that stays alive: `python line_talker.py FOLDER`. It says where its audio is, or how much follows.

A text with "sized" is answered by the audio itself, one with "ends" by the end of the process, any other by a path.
The number of processes stands in FOLDER/begun.
"""

import io
import sys
import wave
from pathlib import Path

folder = Path(sys.argv[1])
with (folder / "begun").open("a") as begun:
    begun.write("x")
for number, line in enumerate(sys.stdin):
    if "ends" in line:
        sys.exit(1)
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setparams((1, 2, 24_000, 0, "NONE", ""))
        wav.writeframes((1000 + len(line)).to_bytes(2, "little") * 2400)
    if "sized" in line:
        sys.stdout.buffer.write(b"%d\n%b" % (len(file.getvalue()), file.getvalue()))
    else:
        path = folder / f"{number}.wav"
        path.write_bytes(file.getvalue())
        sys.stdout.buffer.write(f"{path}\n".encode())
    sys.stdout.buffer.flush()
