"""Staged dialogues at the size of the published benchmark: scoring, judging, and calls at once.

A two-minute dialogue of each family is held on the virtual clock, and its recording copied to 200. They are scored from
their stored activity, without transcriber and network; goal: 60 s on two cores, and memory that does not grow with
the number of dialogues. A judge that answers in 300 ms marks them, 16 requests at once; beside it stands the least time
that its answers need; goal: 10 % more. Last, 16 calls are held at once in real time; goal: no tick is missed.
FDBCORE_STAGED_CALLS lowers the number of dialogues (200).
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.harness import Cost, cost_of, met, print_table
from fdbcore.recording.files import META, read_json, write_json
from fdbcore.recording.run import read_plan
from fdbcore.registry import judge
from fdbcore.runs.asking import Desk, ask_each_once
from fdbcore.sources.word_source import word_source_of
from fdbcore.suites.staged.cases import cases_of
from fdbcore.suites.staged.judging import Setup, requests_of
from fdbcore.suites.staged.transcription import hear
from fdbcore.suites.staged.users import families_of

CALLS: Final = int(os.environ.get("FDBCORE_STAGED_CALLS", "200"))
SCENARIOS: Final = ("daily.reservations.01", "correction.next-turn.01", "entity.attribute.01", "safety.cyber.02")
GOAL_S: Final = 60.0
AT_ONCE: Final = 16
ANSWER_S: Final = 0.3
LIVE_S: Final = 30
KEY: Final = "sk-benchmark-0123456789abcdef"
TESTS: Final = Path(__file__).parents[1] / "tests"
FDBCORE: Final = (sys.executable, "-m", "fdbcore.cli")
"""Commands run as users run them: the time of each holds the start of its process."""

LONG_ANSWER: Final = (
    "I have written all of that down, and I will read it back to you now, so that nothing is forgotten. We are here on "
    "every day of the week, from early in the morning until late in the evening. If anything should change on your "
    "side, please call again, and one of us will see to it at once. Is there anything else that I should know?"
)

_JUDGE: Final = """
import json, sys, time
from fakes.fake_openai import FakeOpenAI
FakeOpenAI.KEY = sys.argv[1]

def answer(asked):
    server.wait(float(sys.argv[2]))
    def filled(schema):
        if "properties" in schema:
            return {name: filled(each) for name, each in schema["properties"].items()}
        return True if "boolean" in schema["type"] else "by its times" if schema["type"] == "string" else 4
    if "events" not in asked.schema["properties"]:
        return json.dumps(filled(asked.schema))
    mark = filled(asked.schema["properties"]["events"]["items"])
    return json.dumps({"events": [{**mark, "event": each["event"]} for each in json.loads(asked.user)["events"]]})

with FakeOpenAI(answer) as server:
    print(server.base_url, flush=True)
    sys.stdin.readline()
"""
"""A judge that marks every event 4, after some seconds, until it is told to end."""


def main(calls: int = CALLS) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        held, few, many = folder / "held", folder / "few", folder / "many"
        _hold(held, folder / "clerk.toml", SCENARIOS, "--clock", "virtual", "--pacing", "slow")
        _copy(held, few, calls // 4)
        _copy(held, many, calls)
        _scoring({few: calls // 4, many: calls})
        _judging(many, calls)
        _at_once(folder)


def _hold(run: Path, script: Path, scenarios: Sequence[str], *how: str) -> None:
    """Dialogues of two minutes with a clerk who talks long."""
    line = f'[[line]]\nsay = "{LONG_ANSWER}"\nafter = "other_end"\ndelay_s = 0.8\nor_after_s = 60\n'
    script.write_text(f"tail_s = 60\n\n{line * 8}")
    chosen = [part for each in scenarios for part in ("--scenario", each)]
    systems = ("--system", f"clerk=scripted:{script}")
    _fdbcore("run", "--suite", "staged", *chosen, *systems, *how, "--no-score", "--out", str(run))


def _copy(held: Path, run: Path, calls: int) -> None:
    """A run of so many dialogues, each with the audio and the activity of one of a few, under a name of its own."""
    known = read_json(held / "run.json")
    cases = []
    for number in range(calls):
        case = known["cases"][number % len(known["cases"])]
        copied = {**case, "name": f"{case['columns']['family']}.{number:03}"}
        shutil.copytree(held / case["name"], run / copied["name"], copy_function=os.link)
        meta = read_json(run / copied["name"] / META)
        meta["parties"]["A"]["brief"]["id"] = copied["name"]
        (run / copied["name"] / META).unlink()
        write_json(run / copied["name"] / META, meta)
        cases.append(copied)
    write_json(run / "run.json", {**known, "cases": cases})
    shutil.copy(held / "users.json", run)


def _scoring(runs: Mapping[Path, int]) -> None:
    rows: list[tuple[object, ...]] = []
    for run, calls in runs.items():
        took_s, most_mb, scores = _score(run, "--transcriber", "self-reported")
        minutes = sum(read_json(path)["n_ticks"] for path in run.glob(f"*/{META}")) / 6_000
        rows.append((f"{calls} dialogues, {minutes:,.0f} min", took_s, 1_000 * took_s / calls, most_mb))
        assert len(scores["items"]) == calls, scores["problems"]
    print_table("Scoring from stored activity", ("", "s", "ms a dialogue", "MB"), rows)
    print(f"{met(f'staged: 200 dialogues scored in {GOAL_S:.0f} s', took_s < GOAL_S)} (goal: {GOAL_S:.0f} s for 200)")


def _judging(run: Path, calls: int) -> None:
    """Ask a judge about all dialogues. What it is asked is made before: only the asking is timed."""
    cases, _ = cases_of(run, read_plan(run), _silent)
    heard, *_ = hear(cases, word_source_of("self-reported"), True, None, _silent)
    command = [sys.executable, "-c", _JUDGE, KEY, str(ANSWER_S)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    os.environ["FDBCORE_BENCH_KEY"] = KEY
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as server:
        assert server.stdout is not None
        address = f"openai:gpt-5-nano?base_url={server.stdout.readline().strip()}&key_variable=FDBCORE_BENCH_KEY"
        asked = judge(address)
        setup = Setup("self-reported", asked, 0)
        planned = requests_of(cases, {setup.transcriber: heard}, [setup], {run: families_of(run)})
        requests = [each for own in planned for each in own.questions]
        asked.score(
            requests[0].question.rubric, requests[0].question.evidence
        )  # the SDK is imported with the first request
        began = time.perf_counter()
        answers = ask_each_once(requests, Desk(), AT_ONCE, _silent).answers
        took_s = time.perf_counter() - began
        server.communicate("\n")
    assert all(answer.scores is not None for answer in answers)
    least_s = math.ceil(len(requests) / AT_ONCE) * ANSWER_S
    rows = [(f"{len(requests)} questions, {AT_ONCE} at once", least_s, took_s, f"{took_s / least_s - 1:+.1%}")]
    print_table(f"Judging {calls} dialogues, {ANSWER_S} s an answer", ("", "least s", "s", "over"), rows)
    print(f"{met('staged: less than 10 % over the waiting', took_s < 1.1 * least_s)} (goal: less than 10 % over)")


def _silent(text: str) -> None:
    pass


def _at_once(folder: Path) -> None:
    """Calls in real time, with both parties on this machine."""
    run, how = folder / "at_once", ("--trials", str(AT_ONCE), "--jobs", str(AT_ONCE), "--max-s", str(LIVE_S))
    _hold(run, folder / "clerk.toml", SCENARIOS[:1], *how)
    timings = [read_json(path)["timing"] for path in run.glob(f"*/{META}")]
    worst_ms = max(each["resume"]["p99_us"] for each in timings) / 1_000
    missed = sum(each["missed"] for each in timings)
    ticks = sum(each["resume"]["n"] for each in timings)
    rows = [(f"{len(timings)} calls at once", ticks, worst_ms, sum(each["late"] for each in timings), missed)]
    print_table("Examiner and system in real time", ("", "ticks", "worst p99 ms", "late", "missed"), rows)
    print(f"{met('staged: no tick missed', not missed)} (goal: no tick missed)")


def _score(run: Path, *options: str) -> tuple[float, float, Any]:
    """Seconds, the most memory in MiB, and the document."""
    out = run.with_name(f"{run.name}-scores")
    shutil.rmtree(out, ignore_errors=True)
    cost = _fdbcore("score", "--suite", "staged", str(run), *options, "--out", str(out))
    return cost.seconds, cost.peak_mib, read_json(out / "scores.json")


def _fdbcore(*arguments: str) -> Cost:
    """Run a command; returns what it took."""
    return cost_of([*FDBCORE, *arguments], env={**os.environ, "FDBCORE_BENCH_KEY": KEY})


if __name__ == "__main__":
    main()
