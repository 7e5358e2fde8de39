"""A call of 24 hours, from its audio to its page: the memory of each command that a user would run on it.

The audio is the sample session as MP3, repeated: 1.4 GB in the folder for temporary files, and 0.4 GB beside it while
the replay looks for echo. It takes twenty minutes. Goal: 300 MiB at most in each.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import av

from benchmarks.bench_replay import SAMPLE
from benchmarks.harness import cost_of, met, print_table

HOURS = 24
MOST_MIB = 300


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        audio, run = folder / "day.mp3", folder / "run"
        _repeated(audio)
        commands = {
            "replay by silero, with health and page": ["replay", "--quiet", "--out", folder / "by_silero", audio],
            "replay by energy": ["replay", "--quiet", "--vad", "energy", "--out", run, audio],
            "score": ["score", run],
            "report, with pages and tables": ["report", run],
        }
        rows: list[tuple[object, ...]] = []
        for what, command in commands.items():
            cost = cost_of([sys.executable, "-m", "fdbcore.cli", *map(str, command)])
            goal = met(f"day: {what} in {MOST_MIB} MiB", cost.peak_mib <= MOST_MIB)
            rows.append((what, cost.seconds, cost.cpu_s, cost.peak_mib, goal))
        page_mib = (run / audio.stem / "report.html").stat().st_size / 2**20
    print_table(
        f"A call of {HOURS} h (goal: {MOST_MIB} MiB at most); its page has {page_mib:.0f} MiB",
        ("command", "s", "CPU s", "peak MiB", "goal"),
        rows,
    )


def _repeated(path: Path) -> None:
    """Write the sample as MP3, again and again. Its frames need no index, so that a copy is enough."""
    once = path.with_name("once.mp3")
    with (
        av.open(str(SAMPLE)) as sample,
        av.open(str(once), "w", options={"write_xing": "0", "id3v2_version": "0"}) as out,
    ):
        rate_hz = sample.streams.audio[0].rate
        stream = out.add_stream("libmp3lame", rate=rate_hz)
        stream.layout, stream.bit_rate = "stereo", 128_000
        resampler = av.AudioResampler(format="s16p", layout="stereo", rate=rate_hz)
        for frame in [*sample.decode(audio=0), None]:
            for resampled in resampler.resample(frame):
                out.mux(stream.encode(resampled))
        out.mux(stream.encode(None))
        length_s = float(sample.duration or 0) / 1_000_000
    data = once.read_bytes()
    with path.open("wb") as file:
        file.writelines(data for _ in range(int(HOURS * 3600 / length_s)))


if __name__ == "__main__":
    main()
