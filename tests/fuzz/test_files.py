"""Files of somebody else, changed in each way, and each that once ended a command otherwise than by a line."""

import io
import os
import re
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
import pytest
from fakes.model_server import NEEDS_OPENAI
from fuzz.files import ACTS, LIVE, NAMES, REPLAY, copied, ended, run_case, seeds
from fuzz.mutations import VICTIM, mutate

pytestmark = NEEDS_OPENAI

TURNS, QUANTITIES, HEALTH = (f"run/c0/derived/{name}.json" for name in ("turns", "quantities", "health"))
ACTIVITY, LINK, PIPE = "run/c0/derived/activity.npz", "link", "pipe"
EXPORT, SCORE = "export run --format json --out out", "score run --jobs 1 --out out"
STAGED = "score --suite staged v2 --out out"
REPLY, BACK = "v2/Safety/Safety.x.001.json", "`" * 3
FOUND: Final = (
    (TURNS, r'"start_tick": \d+', '"start_tick": [196]', EXPORT, "c0.*turns.json"),
    (TURNS, r'"end_tick": \d+', '"end_tick": {"x": 1}', "report run --gate defaults", "c0"),
    (TURNS, '"side": "B"', '"side": ["B"]', "report run old", "c0"),
    (TURNS, r'"end_tick": (\d+)', r'"end_tick": "\1"', EXPORT, "c0.*turns.json"),
    (QUANTITIES, r'"censored": \d+', '"censored": [[]]', "report run old", "c0"),
    (QUANTITIES, r'"values": \[\]', '"values": [1e308, 1e308, 1e308]', "report run", "."),
    (
        QUANTITIES,
        r'("b_ipu_per_min": )\{[^}]*\}',
        r'\g<1>{"kind": "values", "unit": "s", "values": [0.31], "excluded": {}}',
        "report run --gate defaults",
        "b_ipu_per_min: expected ratio in 1/min, got values in s",
    ),
    (
        QUANTITIES,
        r'("response_latency_ms": \{"kind": "values", "unit": )"ms"',
        r'\g<1>"s"',
        "report run",
        "response_latency_ms: expected values in ms, got values in s",
    ),
    (QUANTITIES, r'("exposure": [^,]+, "n": )\d+', r"\g<1>1000000000000000000", "report run", "quantities.json"),
    (HEALTH, r"[\s\S]{9}$", "", "report run --embed --call c0", "c0.*health.json"),
    (HEALTH, r'"suspect": {', '"suspect": 0.1, "x": {', SCORE, "c0.*health.json"),
    ("run/c0/meta.json", r'"A": {', '"A": "x", "y": {', EXPORT, "c0.*meta.json"),
    ("run/c0/meta.json", r'"name": "energy"', '"name": []', "replay run/c0 --out out", "c0.*got \\[\\]"),
    ("run/c0/meta.json", r'"parties": {', '"parties": 1, "y": {', SCORE, "c0.*meta.json"),
    ("live/run.json", '"cases"', '"x"', "score live --jobs 1 --out out", "run.json"),
    ("run/corpus.json", r'"files": \[', '"files": 1, "x": [', SCORE, "corpus.json"),
    ("run/corpus.json", '"began"', r'"\\ud800": 1, "began"', SCORE, "corpus.json: damaged: it holds text"),
    ("run/corpus.json", '"name": "c0"', f'"name": "../../{VICTIM}"', "report run", "corpus.json"),
    ("run/index.html.part", LINK, "", "report run", "."),
    (ACTIVITY, "peaks", "", "report run --gate defaults", "c0.*activity.npz"),
    (ACTIVITY, "a", "", "doctor run/c0", "activity.npz"),
    ("calls.csv", "language", "\0", f"{REPLAY} --meta calls.csv", "calls.csv"),
    ("calls.csv", "right", "x", f"{REPLAY} --meta calls.csv", "agent_channel"),
    ("labels/labels.csv", "A,pause", f"{'x' * 140_000},pause", "agree labels/labels.csv run", "labels.csv"),
    ("labels/c0.TextGrid", "size = 3", "size = 1e999", "agree labels/c0.TextGrid run", "c0.TextGrid"),
    ("logs/own.json", "0.3", f"1{'0' * 400}", f"{REPLAY} --agent-log logs/own.json", "own.json"),
    ("logs/own.json", "0.3", "[" * 100_000, f"{REPLAY} --agent-log logs/own.json", "own.json"),
    ("logs/logs.jsonl", '"stringValue": "heard"', '"stringValue": 1', f"{REPLAY} --agent-log logs/logs.jsonl", "."),
    ("good.jsonl", '"id": "timer-01"', '"id": {"x": 1}', f"{ACTS} --out out", "good.jsonl"),
    ("good.jsonl", '"authored"', '"\\\\u009b2J"', f"{ACTS} --out out", "."),
    ("answer.json", "{", "[" * 5_000, f"{ACTS} --judge JUDGE --out out", "unscored"),
    (REPLY, "^", f"{BACK}json {' ' * 6_000}", STAGED, "."),
    (REPLY, '"Task-specific score": 3', '"Task-specific score": NaN', STAGED, "Safety.x.001.json"),
    (
        "v3/benchmark_data_v2.json",
        '"ai"',
        '"\\\\u0000"',
        "scenarios import v3 --out out.json",
        "benchmark_data_v2.json",
    ),
    ("mug.toml", PIPE, "", "scenarios validate mug.toml", "pipe"),
    ("acts.toml", PIPE, "", "acts validate acts.toml", "pipe"),
    ("gate.toml", PIPE, "", "report run --baseline old --gate gate.toml", "pipe"),
    ("records.jsonl", PIPE, "", ACTS, "pipe"),
    (
        "tools.json",
        PIPE,
        "",
        f"run --system scripted:party.toml --clips calls/c0.wav --tools tools.json {LIVE}",
        "pipe",
    ),
    (".env", "OPENAI", "\xff", EXPORT, "out/c0.json"),
    (
        "words/c0/B.json",
        r"(timestamp.: \[[\d.]+, )[\d.]+",
        r"\g<1>1e308",
        "transcribe run --transcriber words:words",
        "B.json",
    ),
)
"""The file, what is replaced in it by what, the command, and what it prints. Of arrays, one is left out."""


def test_every_way_of_changing_a_file_ends_in_a_line_or_a_result() -> None:
    assert [fault for number in range(3 * len(NAMES)) if (fault := run_case(33, number))] == []


def test_every_way_is_tried(tmp_path: Path) -> None:
    (tmp_path / VICTIM).mkdir()
    told = set()
    for number in range(600):
        path = tmp_path / "work" / f"c{number}" / "x.json"
        path.parent.mkdir(parents=True)
        path.write_text('{"events": [{"tick": 1}, {"tick": 2}]}')
        told |= set(re.findall(r": (\w+)", mutate(path, Random(number)))[:1])
    assert told >= {
        "gone",
        "renamed",
        "twice",
        "moved",
        "near",
        "wrapped",
        "deep",
        "odd",
        "empty",
        "half",
        "link",
        "part",
    }


@pytest.mark.parametrize(("file", "old", "new", "command", "expected"), FOUND)
def test_what_once_went_wrong(file: str, old: str, new: str, command: str, expected: str) -> None:
    folder, judge = seeds()
    with copied(folder, "found") as work:
        path = work / file
        if old == LINK:
            path.symlink_to(work.parent / VICTIM / "own.txt")
        elif old == PIPE:
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        elif path.suffix == ".npz":
            with np.load(io.BytesIO(path.read_bytes())) as held:
                np.savez(path, **{name: held[name] for name in held if name != old})
        else:
            text, n = re.subn(old, new, path.read_text("latin-1"), count=1)
            assert n
            path.write_text(text, "latin-1")
        wrong, printed = ended(command.replace("JUDGE", judge).split(), work)
    assert not wrong, printed
    assert re.search(expected, printed), printed
