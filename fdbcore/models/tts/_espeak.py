"""Speaks one text with espeak-ng: a program of its own that `fdbcore.models.tts.espeak` runs in a new process.

    _espeak.py LIBRARY DATA VOICE WORDS_PER_MINUTE PITCH < text > rate (uint32), then int16 mono

espeak-ng keeps state from one text to the next, even if it is initialised and seeded again. Only a new process with a
fixed seed speaks a text in the same way each time. It imports the standard library only, to start fast.
"""

import ctypes
import struct
import sys
from typing import Final

NO_SUCH_VOICE: Final = 3

_SYNCHRONOUS, _UTF8 = 2, 1
_RATE_PARAMETER, _PITCH_PARAMETER = 1, 3
_RECEIVER: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def main(library_path: str, data_path: str, voice: str, words_per_minute: str, pitch: str) -> int:
    """Write the speech for the text on standard input to standard output; return the exit status."""
    library = ctypes.CDLL(library_path)
    rate_hz = library.espeak_Initialize(_SYNCHRONOUS, 0, data_path.encode(), 0)
    if library.espeak_SetVoiceByName(voice.encode()):
        return NO_SUCH_VOICE
    library.espeak_ng_SetRandSeed(1)  # its default seed for breath and flutter is the time of day
    sys.stdout.buffer.write(struct.pack("<I", rate_hz))

    def receive(pcm: int | None, samples: int, _events: int | None) -> int:
        if pcm and samples:
            sys.stdout.buffer.write(ctypes.string_at(pcm, 2 * samples))
        return 0

    receiver = _RECEIVER(receive)  # a reference must be kept as long as the library calls it
    library.espeak_SetSynthCallback(receiver)
    library.espeak_SetParameter(_RATE_PARAMETER, int(words_per_minute), 0)
    library.espeak_SetParameter(_PITCH_PARAMETER, int(pitch), 0)
    text = sys.stdin.buffer.read() + b"\0"
    return int(library.espeak_Synth(text, len(text), 0, 0, 0, _UTF8, None, None))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
