"""A synthesiser for tests, as a command: a text on its standard input, noise of 10 ms a byte on its standard output.

    python talker.py [RATE_HZ [HOW]]

HOW: "stream" (sizes left open, as a writer to a pipe leaves them), "zeros" (half a second of zeros before and after),
"loud" (clipped), "silent", "echo" (what it was told instead of audio), "nothing", "fails", "hangs", or "mutters" (fails
with three lines on standard error). It also fails for a text that holds "失敗".
"""

import io
import sys
import time
import wave

import numpy as np


def samples(text: str, rate_hz: int, how: str) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """The speech of a text: the same for the same text, below 0.4 x rate."""
    length = len(text.encode()) * rate_hz // 100
    spectrum = np.fft.rfft(np.random.default_rng(len(text)).normal(0, 3000, length))
    spectrum[int(len(spectrum) * 0.4) :] = 0
    spoken = np.rint(np.fft.irfft(spectrum, length)).astype(np.int16)
    spoken[[0, -1]] = 100
    match how:
        case "zeros":
            spoken = np.pad(spoken, rate_hz // 2)
        case "loud":
            spoken[10:20] = 32_767
        case "silent":
            spoken[:] = 0
    return spoken


def main() -> None:
    given = sys.argv[1:]
    rate_hz, how = int(given[0]) if given else 24_000, given[1] if len(given) > 1 else "plain"
    told = sys.stdin.buffer.read()
    text = told.decode("utf-8")
    if how in ("fails", "mutters") or "失敗" in text:
        print("loading\nsome warning\nno such voice" if how == "mutters" else "no such voice", file=sys.stderr)
        raise SystemExit(3)
    if how == "hangs":
        print("thinking", file=sys.stderr, flush=True)
        time.sleep(60)
    if how in ("nothing", "echo"):
        sys.stdout.buffer.write(told if how == "echo" else b"")
        return
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate_hz)
        writer.writeframes(samples(text, rate_hz, how).tobytes())
    data = bytearray(file.getvalue())
    if how == "stream":
        data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
    sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main()
