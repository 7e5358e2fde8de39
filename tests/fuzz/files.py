"""Commands over files of somebody else that were changed at random: each ends in a line or a result, and in its folder.

    PYTHONPATH=tests:. python -m fuzz.files

runs for FDBCORE_FUZZ_MINUTES (20) on all processors, with at least PER_MINUTE cases a minute, and prints its seed.
FDBCORE_FUZZ_SEED repeats a run; with FDBCORE_FUZZ_CASE, one case of it, whose folder is kept.
"""

import atexit
import faulthandler
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Final, NamedTuple
from unittest.mock import patch

from click.testing import CliRunner
from fakes.fake_openai import FakeOpenAI
from fuzz.mutations import VICTIM, mutate
from fuzz.seeds import build

from fdbcore.cli.main import main

MOST_S, MOST_WAIT_S, MOST_BYTES, PER_MINUTE, AT_ONCE = 5.0, 30.0, 4 * 2**30, 500, 50
CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PARTS: Final = "{0}/*.json {0}/*.parquet {0}/c*/meta.json {0}/c*/events.jsonl {0}/c*/derived/* {0}/c*/session.wav"
RUN: Final = """
report {0} --quiet|report {0} --call c1 --json|report {0} --embed --call c1|report {0} old|report {0} --figures out|
report {0} --baseline old --comment out.md --junit out.xml|report {0} --gate defaults|doctor {0}/c0|score {0}/c0|
score {0} --jobs 1 --by language --out out|score {0} --jobs 1 --sensitivity --vad energy --out out|
export {0} --format json --out out|export {0} --format turnbench --out out|
export {0} --format fdb2 --out out|transcribe {0} --transcriber told|replay {0}/c0 --out out|
agree {0} labels/labels.csv|gate init {0} --out out.toml"""
REPLAY: Final = "replay calls/c0.wav --vad energy --out out"
ACTS: Final = "score --suite dialogue-acts good.jsonl --references records.jsonl"
LIVE: Final = "--clock virtual --max-s 4 --vad energy --dry-run --out out"
KINDS: Final = {
    "run": (PARTS.format("run"), RUN.format("run")),
    "live run": (PARTS.format("live"), RUN.format("live")),
    "labels": ("labels/*", f"{REPLAY} --labels {{}}|agree {{}} {{}}|agree {{}} run|"
               "score --suite clips live --labels {} --out out"),
    "logs": ("logs/*", f"{REPLAY} --agent-log {{}}|report run --agent-log {{}} --call c0"),
    "table": ("calls.csv", f"{REPLAY} --meta {{}}"),
    "words": ("words/*/*", "transcribe run --transcriber words:words"),
    "ratings": ("tags.csv people.csv verdicts.csv", "agree {} {}"),
    "acts": ("records.jsonl good.jsonl acts.toml",
             f"{ACTS} --out out|agree good.jsonl good.jsonl|acts validate acts.toml"),
    "judge": ("answer.json kept/*.json",
              f"{ACTS} --judge JUDGE --out out|{ACTS} --judge JUDGE --out kept|agree kept kept"),
    "released": ("v1/*/1/* v2/*/* v3/*/* v3/*.json human.json",
                 "score --suite fdb-v1 v1 --human human.json --out out|score --suite staged v2 --out out|"
                 "score --suite fdb-v3 v3 --out out|scenarios import v3 --out out.json"),
    "audio": ("calls/*", "replay {} --vad energy --out out|doctor {} --vad energy|"
              f"run --system echo --clips {{}} {LIVE}"),
    "settings": ("*.toml tools.json tasks.json .env",
                 "report run --baseline old --gate gates.toml|scenarios validate mug.toml|acts validate acts.toml|"
                 "scenarios import tasks.json --out out.toml|export run --format json --out out|"
                 f"run --system scripted:party.toml --clips calls/c0.wav --tools tools.json {LIVE}"),
}  # fmt: skip
"""Of each kind of files: patterns of what is changed, and the commands that read it (`{}`: the changed file)."""
NAMES: Final = [*KINDS, "run", "live run", "run", "live run"]
"""The kind of each case, by its number; files of a run have the most readers."""
WRITTEN: Final = frozenset({"run", "live", "old", "kept", "v3"})
"""Folders that a command may write into if it is given them, beside `out`."""


class Fault(NamedTuple):
    """What went wrong, alike for all cases with the same fault; the number of the case, what it was, and details."""

    what: str
    case: int
    told: str
    detail: str


class TooLong(BaseException):
    """Derives from what no command catches."""


@cache
def seeds() -> tuple[Path, str]:
    """The folder of the files that cases change, made once in each process, and the address of a judge."""
    folder, answer = Path(tempfile.mkdtemp(prefix="fdbcore-fuzz-")), Path("answer.json")
    server = FakeOpenAI(lambda asked: answer.read_text(errors="replace") if answer.is_file() else "").__enter__()
    atexit.register(server.__exit__)
    sys.addaudithook(lambda event, given: connected.append(given[1]) if event == "socket.connect" else None)
    os.environ[FakeOpenAI.VARIABLE] = FakeOpenAI.KEY
    (folder / "seeds").mkdir()
    with chdir(folder / "seeds"), patch.dict(os.environ):  # a `.env` sets variables
        build(folder / "seeds", judge := server.address_of("openai:gpt-5-nano"))
    return folder, judge


connected: Final[list[object]] = []


def run_case(seed: int, number: int, keep: bool = False) -> Fault | None:
    """One case, in a folder of its own; what is wrong with how it ended."""
    (folder, judge), rng, kind = seeds(), Random(f"{seed}:{number}"), NAMES[number % len(NAMES)]
    with copied(folder, f"case-{seed}-{number}", keep) as work:
        patterns, commands = KINDS[kind][0].split(), KINDS[kind][1].split("|")
        path = rng.choice(sorted(file for pattern in patterns for file in work.glob(pattern)))
        name = str(path.relative_to(work))
        done = "; ".join(mutate(path, rng) for _ in range(rng.choice((1, 1, 1, 2))))
        fitting = [each for each in commands if name in each] or commands
        words = rng.choice(fitting).replace("{}", name).replace("JUDGE", judge).split()
        told = f"{kind}: {name}: {done}: fdbcore {' '.join(words)}"
        what, detail = ended(words, work)
        return Fault(what, number, told, detail) if what else None


@contextmanager
def copied(folder: Path, name: str, keep: bool = False) -> Iterator[Path]:
    """The files for one case, beside what it must leave alone."""
    box = folder / name
    try:
        work = Path(shutil.copytree(folder / "seeds", box / "work"))
        shutil.copytree(work / "old" / "c0", box / VICTIM)
        (box / VICTIM / "own.txt").write_text("own")
        (box / "home").mkdir()
        yield work
    finally:
        if not keep:
            shutil.rmtree(box, ignore_errors=True)


def contents(box: Path) -> set[tuple[str, int, int, int]]:
    """Every file below a folder, with what changes if it is written."""
    files = [f"{folder}/{name}" for folder, _, names in os.walk(box) for name in names]
    states = [(os.path.relpath(file, box), os.lstat(file)) for file in files]
    return {(name, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in states}


def ended(words: Sequence[str], work: Path) -> tuple[str, str]:
    """Run a command in the folder; what is wrong with how it ended, and details ("" and what it printed: nothing)."""
    box, error = work.parent, None
    before = contents(box)
    connected.clear()
    environment = {"HOME": str(box / "home"), "XDG_CACHE_HOME": None, FakeOpenAI.VARIABLE: FakeOpenAI.KEY}
    try:
        with chdir(work), limits(), patch.dict(os.environ):
            result = CliRunner().invoke(main, words, env=environment)
            error = None if isinstance(result.exception, SystemExit) else result.exception
    except TooLong as late:
        error = late
    if error is not None:
        frames = [
            each for each in traceback.extract_tb(error.__traceback__) if re.search(r"/(fdbcore|cli)/\w", each.filename)
        ]
        frames = [each for each in frames if "site-packages" not in each.filename][-3:]
        where = " < ".join(f"{re.sub('.*/(fdbcore|cli)/', '', each.filename)}:{each.name}" for each in reversed(frames))
        return f"{type(error).__name__} in {where}", f"{str(error)[:300]}\n{''.join(traceback.format_list(frames))}"
    printed = result.output
    allowed = tuple(f"work/{each}" for each in ({word.split("/")[0] for word in words} & WRITTEN) | {"out"})
    outside = sorted({each[0] for each in before ^ contents(box) if not each[0].startswith((*allowed, "home/.cache/"))})
    remote = [each for each in connected if isinstance(each, tuple) and each[0] != "127.0.0.1"]
    odd = CONTROLS.search(printed)
    for is_so, what, detail in (
        ("Traceback" in printed, "prints a traceback", printed[-2000:]),
        (outside, "writes outside", str(outside)),
        (remote, "connects", str(remote)),
        (odd, "prints control characters", repr(printed[max(odd.start() - 80, 0) :][:200]) if odd else ""),
        (result.exit_code not in (0, 1, 2, 3), f"exit code {result.exit_code}", printed),
        (result.exit_code and not printed.strip(), f"exit code {result.exit_code} without a word", ""),
    ):
        if is_so:
            return f"{what}: {' '.join(words[:1])}", detail
    return "", printed


@contextmanager
def limits() -> Iterator[None]:
    """Stop what takes too much time of a processor, waits for too long, or takes too much memory."""

    def stop(number: int, _: object) -> None:
        raise TooLong(f"more than {MOST_S:g} s of a processor" if number == signal.SIGPROF else f"{MOST_WAIT_S:g} s")

    memory = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = [(each, signal.signal(each, stop)) for each in (signal.SIGPROF, signal.SIGALRM)]
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, memory[1]))
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    signal.setitimer(signal.ITIMER_REAL, MOST_WAIT_S)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        resource.setrlimit(resource.RLIMIT_AS, memory)
        for each, handler in before:
            signal.signal(each, handler)


def run_cases(seed: int, first: int) -> list[Fault]:
    """The faults of AT_ONCE cases from `first` on."""
    faulthandler.enable()
    return [fault for number in range(first, first + AT_ONCE) if (fault := run_case(seed, number))]


def run(seed: int, minutes: float) -> int:
    """Run cases on all processors until the time is up; the exit code."""
    began_s, counted, faults = time.monotonic(), Counter[str](), dict[str, list[Fault]]()
    print(f"fuzz: seed {seed}, {minutes:g} minutes", flush=True)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        begun = {first: pool.submit(run_cases, seed, first) for first in range(0, 4 * AT_ONCE, AT_ONCE)}
        for first in count(0, AT_ONCE):
            if first not in begun:
                break
            for fault in begun.pop(first).result():
                if fault.what not in faults:
                    print(f"\n{fault.what}\n  case {fault.case}, {fault.told}\n{fault.detail}\n", flush=True)
                faults.setdefault(fault.what, []).append(fault)
            counted.update(NAMES[number % len(NAMES)] for number in range(first, first + AT_ONCE))
            left_s = 60 * minutes - (time.monotonic() - began_s)
            if left_s > 0 or first + AT_ONCE < PER_MINUTE * minutes:
                begun[first + 4 * AT_ONCE] = pool.submit(run_cases, seed, first + 4 * AT_ONCE)
            if not first % (10 * AT_ONCE):
                print(f"fuzz: {counted.total():,} cases, {len(faults)} faults, {max(left_s, 0):.0f} s left", flush=True)
    kinds = ", ".join(f"{name} {n:,}" for name, n in counted.items())
    print(f"fuzz: seed {seed}: {counted.total():,} cases ({kinds}), {len(faults)} faults")
    for what, found in sorted(faults.items()):
        print(f"  {len(found)} x {what}: FDBCORE_FUZZ_SEED={seed} FDBCORE_FUZZ_CASE={found[0].case}")
    return 1 if faults else 0


if __name__ == "__main__":
    chosen = int(os.environ.get("FDBCORE_FUZZ_SEED") or time.time())
    if case := os.environ.get("FDBCORE_FUZZ_CASE"):
        found = run_case(chosen, int(case), keep=True)
        print(f"kept in {seeds()[0]}", *(found or ["no fault"]), sep="\n")
        sys.exit(found is not None)
    sys.exit(run(chosen, float(os.environ.get("FDBCORE_FUZZ_MINUTES") or 20)))
