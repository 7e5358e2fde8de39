"""Say one text with espeak-ng: a program of its own, of the standard library alone, that `fdbcore.audio.level` runs.

    _espeak.py LIBRARY DATA VOICE WORDS_PER_MINUTE PITCH < text > rate (uint32), then int16 mono

espeak-ng keeps state from one text to the next, also after it is initialised and its random numbers are seeded again:
only in a new process, and seeded, is a text said in the same way each time.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Final

NO_SUCH_VOICE: Final = 3

_SYNCHRONOUS, _UTF8 = 2, 1
_RATE_PARAMETER, _PITCH_PARAMETER = 1, 3
_RECEIVER: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def main(library_path: str, data_path: str, voice: str, words_per_minute: str, pitch: str) -> int:
    """Write what espeak-ng makes of the text; return the exit status."""
    library = ctypes.CDLL(library_path)
    rate_hz = library.espeak_Initialize(_SYNCHRONOUS, 0, data_path.encode(), 0)
    if library.espeak_SetVoiceByName(voice.encode()):
        return NO_SUCH_VOICE
    library.espeak_ng_SetRandSeed(1)  # by itself it seeds breath and flutter from the time of day, in seconds
    sys.stdout.buffer.write(struct.pack("<I", rate_hz))

    def receive(pcm: int | None, samples: int, _events: int | None) -> int:
        if pcm and samples:
            sys.stdout.buffer.write(ctypes.string_at(pcm, 2 * samples))
        return 0

    receiver = _RECEIVER(receive)  # kept: the library calls it
    library.espeak_SetSynthCallback(receiver)
    library.espeak_SetParameter(_RATE_PARAMETER, int(words_per_minute), 0)
    library.espeak_SetParameter(_PITCH_PARAMETER, int(pitch), 0)
    text = sys.stdin.buffer.read() + b"\0"
    return int(library.espeak_Synth(text, len(text), 0, 0, 0, _UTF8, None, None))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
