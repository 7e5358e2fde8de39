"""Write what the commands say of the sample and of generated calls, to compare two versions: `diff -r OLD NEW`.

    PYTHONPATH=tests:. python -m benchmarks.documents FOLDER [--suite NAME | FILE ...]

FOLDER gets the documents, screens, tables and pages of replays, of a live call in lockstep, of scores, groups,
comparisons, trends, gates, exports and of all suites, as text without what differs from run to run: dates, paths and
the machine's load. FILE: further recordings to replay. It takes three minutes; of one suite alone, half a minute.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import soundfile
from helpers.recorded_users import party, v1_data, v15_data

from benchmarks.planted_calls import make

CHECKOUT: Final = re.compile(rf"[./]*{re.escape(str(Path(__file__).resolve().parents[1])[1:])}(?=/)")
SAMPLE: Final = Path(__file__).parent / "sample" / "sample.flac"
CLERKS: Final = Path(__file__).parent / "clerks"
CALLS: Final = 12
VIRTUAL: Final = "--clock virtual --seed 7"
OF_CALLS: Final = f"""
replay {SAMPLE.name} --json --out sample
replay {SAMPLE.name} --vad energy --swap --out swapped
replay old --vad energy --meta old.csv --out old-run
replay new --vad energy --meta new.csv --out new-run
run --a scripted:caller --system scripted:clerk --clock virtual --seed 1 --max-s 40 --out live
report old-run --gate gates.toml
report new-run --baseline old-run --gate gates.toml --junit junit.xml
report old-run new-run
report new-run --by cut_off --figures figures --json
score new-run --by cut_off
score new-run --json --sensitivity
score live --json
export sample --format rttm
export sample --format textgrid
export sample --format csv
""".split("\n")[1:-1]
OF_SUITES: Final = f"""
score --suite dialogue-acts --json --out acts
score --suite dialogue-acts --out acts
run --suite clips --data clips --labels clips.csv --system a=scripted:clerk --system b=echo {VIRTUAL} --out clips-run
score --suite clips clips-run --json --out clips-scores
run --suite fdb-v3 --system a=rehearsed: --system b=rehearsed:?fault=stale {VIRTUAL} \
 --transcriber self-reported --out v3-run
score --suite fdb-v3 v3-run --transcriber self-reported --json --out v3-scores
run --suite staged --scenario entity.attribute.01 --scenario correction.next-turn.01 --pacing both \
 --system a=scripted:{CLERKS}/patient/entity.toml --system b=scripted:{CLERKS}/hasty/entity.toml {VIRTUAL} --out talks
score --suite staged talks --json --out talks-scores
""".split("\n")[1:-1]
_USERS: Final[Mapping[str, Callable[[Path], Path]]] = {"v1": v1_data, "v1.5": v15_data}
TOLD: Final = re.compile(
    r'"(created|began|ended|path|sha256|sealed|meta\.json|host|modified_ns|elapsed_s|machine|script)": *[^,}\n]*'
    r'|"load_averages?": *\[[^]]*\]|<code>[\d.]+, [\d.]+, [\d.]+</code>'
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|<script.*?</script>|(?<=,)\d{18,}(?=,)|\b[0-9a-f]{32}\b",
    re.DOTALL,
)
KEPT: Final = {".json", ".csv", ".html", ".rttm", ".TextGrid", ".txt", ".xml", ".svg", ".md", ".tex", ".jsonl"}
LEFT_OUT: Final = {"selftest.json", "workers.log", "made.json"}


def main(out: Path, further: list[str], suite: str = "") -> None:
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copyfile(SAMPLE, work / SAMPLE.name)
        os.utime(work / SAMPLE.name, (0, 0))  # a page tells when a file has changed
        for seed, calls in ((1, "old"), (2, "new")):
            make(work / calls, CALLS, premature=0.1 * seed, seed=seed)
        (work / "gates.toml").write_text('gates = ["premature_per_turn <= 0.2", "response_latency_ms.p90 <= 2000"]\n')
        _own_clips(work)
        further_commands = [
            f"replay {os.path.realpath(file)} --json --out further{n}" for n, file in enumerate(further)
        ]
        commands = [*OF_CALLS, *further_commands, *OF_SUITES]
        commands += [command for version in _USERS for command in _of_recorded_users(version, work)]
        of_suite = [(number, command) for number, command in enumerate(commands) if f"--suite {suite}" in command]
        for number, command in of_suite if suite else enumerate(commands):
            arguments = [sys.executable, "-m", "fdbcore.cli", *shlex.split(command)]
            done = subprocess.run(arguments, cwd=work, capture_output=True, text=True, check=False)
            said = f"fdbcore {command}\n{done.stdout}\n{done.stderr}\nexit code {done.returncode}\n"
            print(f"{done.returncode} {command}", flush=True)
            (out / f"{number:02}-{command.split()[0]}.txt").write_text(plain(said, work))
        for file in sorted(work.rglob("*")):
            if file.suffix in KEPT and file.name not in LEFT_OUT and file.is_file():
                kept = out / file.relative_to(work)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(plain(file.read_text(), work))


def _of_recorded_users(version: str, work: Path) -> Iterator[str]:
    """Make the samples of a version of Full-Duplex-Bench, and return what two systems that meet them are asked."""
    _USERS[version](work / version)
    systems = " ".join(f"--system {shlex.quote(f'{name}={party(work, name)}')}" for name in ("good", "hasty"))
    yield f"run --suite fdb-{version} --data {version} {systems} {VIRTUAL} --out {version}-run"
    yield f"score --suite fdb-{version} {version}-run --transcriber self-reported --json --out {version}-scores"


def _own_clips(work: Path) -> None:
    """Four clips of the sample's first speaker, with labels."""
    pcm, rate_hz = soundfile.read(SAMPLE, dtype="int16")
    (work / "clips").mkdir()
    rows = ["clip,kind,start_s,end_s,group"]
    for number, start_s in enumerate((0, 9, 18, 27)):
        own = pcm[start_s * rate_hz : (start_s + 8) * rate_hz, 0]
        soundfile.write(work / "clips" / f"{number}.wav", own, rate_hz)
        rows.append(f"{number}.wav,turn_end,7.5,7.5,{'even' if number % 2 else 'odd'}")
    (work / "clips.csv").write_text("\n".join(rows) + "\n")


def plain(text: str, work: Path) -> str:
    """A text without what differs from run to run; long lines are broken so that a comparison can show what differs."""
    text = CHECKOUT.sub("CHECKOUT", text.replace(str(work), "WORK"))
    told = TOLD.sub(lambda match: f'"{match[1]}": ...' if match[1] else "...", text)
    return re.sub(r"([,}>]) ?(?=[\"{<])", r"\1\n", told)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"expected a folder: python -m benchmarks.documents DIR\n\n{__doc__}")
    if sys.argv[2:3] == ["--suite"]:
        main(Path(sys.argv[1]), [], sys.argv[3])
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
