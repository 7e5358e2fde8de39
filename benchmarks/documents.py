"""Write what the commands say of the sample and of generated calls, to compare two versions: `diff -r OLD NEW`.

    python -m benchmarks.documents FOLDER [FILE ...]

FOLDER gets the documents, screens, tables and pages of replays, of a live call in lockstep, of scores, groups,
comparisons, gates, exports and scored dialogue acts, as text without what differs from run to run: dates, paths and the
machine's load. FILE: further recordings to replay. It takes half a minute.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.planted_calls import make

SAMPLE: Final = Path(__file__).parent / "sample" / "sample.flac"
CALLS: Final = 12
TOLD: Final = re.compile(
    r'"(created|began|ended|path|sha256|host|modified_ns|elapsed_s|machine|script)": *[^,}\n]*'
    r'|"load_averages?": *\[[^]]*\]|<code>[\d.]+, [\d.]+, [\d.]+</code>'
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|<script.*?</script>|(?<=,)\d{18,}(?=,)",
    re.DOTALL,
)
KEPT: Final = {".json", ".csv", ".html", ".rttm", ".TextGrid", ".txt", ".xml", ".svg", ".md", ".tex", ".jsonl"}
LEFT_OUT: Final = {"selftest.json", "workers.log"}


def main(out: Path, further: list[str]) -> None:
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copyfile(SAMPLE, work / SAMPLE.name)
        os.utime(work / SAMPLE.name, (0, 0))  # a page tells when a file has changed
        for seed, calls in ((1, "old"), (2, "new")):
            make(work / calls, CALLS, premature=0.1 * seed, seed=seed)
        (work / "gates.toml").write_text('gates = ["premature_per_turn <= 0.2", "response_latency_ms.p90 <= 2000"]\n')
        commands = [
            "replay sample.flac --json --out sample",
            "replay sample.flac --vad energy --swap --out swapped",
            *(f"replay {os.path.realpath(file)} --json --out further{n}" for n, file in enumerate(further)),
            *(f"replay {calls} --vad energy --meta {calls}.csv --out {calls}-run" for calls in ("old", "new")),
            "run --a scripted:caller --system scripted:clerk --clock virtual --seed 1 --max-s 40 --out live",
            "report old-run --gate gates.toml",
            "report new-run --baseline old-run --gate gates.toml --junit junit.xml",
            "report new-run --by cut_off --figures figures --json",
            "score new-run --by cut_off",
            "score new-run --json --sensitivity",
            "score live --json",
            "export sample --format rttm",
            "export sample --format textgrid",
            "export sample --format csv",
            "score --suite dialogue-acts --json --out acts",
            "score --suite dialogue-acts --out acts",
        ]
        for number, command in enumerate(commands):
            arguments = [sys.executable, "-m", "fdbcore.cli", *command.split()]
            done = subprocess.run(arguments, cwd=work, capture_output=True, text=True, check=False)
            said = f"fdbcore {command}\n{done.stdout}\n{done.stderr}\nexit code {done.returncode}\n"
            (out / f"{number:02}-{command.split()[0]}.txt").write_text(plain(said, work))
        for file in sorted(work.rglob("*")):
            if file.suffix in KEPT and file.name not in LEFT_OUT and file.is_file():
                kept = out / file.relative_to(work)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(plain(file.read_text(), work))


def plain(text: str, work: Path) -> str:
    """A text without what differs from run to run; long lines are broken so that a comparison can show what differs."""
    told = TOLD.sub(lambda match: f'"{match[1]}": ...' if match[1] else "...", text.replace(str(work), "WORK"))
    return re.sub(r"([,}>]) ?(?=[\"{<])", r"\1\n", told)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"expected a folder: python -m benchmarks.documents DIR\n\n{__doc__}")
    main(Path(sys.argv[1]), sys.argv[2:])
