"""What fdbcore gives of a set, in the form in which `scripts` prints what the released scripts give."""

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Asked
from reference import rules
from reference.sets import PEOPLE

from fdbcore.cli.main import main
from fdbcore.suites.fdb_v1.measures import AT_16_KHZ, FEATURES, TESTED
from fdbcore.suites.staged.replies import read_reply

Values = dict[str, dict[str, dict[str, Any]]]
TASKS = {
    "candor_pause_handling": ("pause", {"takeover": "compat_takeover_unwanted"}),
    "candor_turn_taking": ("turn", {"takeover": "compat_takeover_wanted", "latency": "compat_latency_s"}),
    "synthetic_user_interruption": (
        "interruption",
        {"takeover": "compat_takeover_wanted", "latency": "compat_latency_s", "rating": "compat_rating"},
    ),
    "icc_backchannel": (
        "backchannel",
        {"takeover": "compat_takeover_unwanted", "frequency": "compat_backchannels_per_s", "JSD": "compat_jsd"},
    ),
}
QUALITY = Path(__file__).with_name("quality.py")


def values(folder: Path, out: Path) -> Values:
    """Of a set, by `fdbcore score`; the judge is a server on this machine, which needs its key in the environment."""
    with FakeOpenAI(_judged) as server:
        judge = ("--judge", server.address_of("openai:fake"))
        human = ("--human", folder / PEOPLE)
        quality = ("--utmos", f"{sys.executable} -S {QUALITY}")
        found = {
            "v1": _v1(_scores("fdb-v1", folder / "v1", out / "v1", *human, *judge)),
            "v1.5": _v15(_scores("fdb-v1.5", folder / "v15", out / "v15", *quality, *judge, "--transcriber", "words")),
        }
    if (folder / "v2").is_dir():
        _scores("staged", folder / "v2", out / "v2")
        found["v2"] = _v2(folder / "v2", out / "v2")
    return found


def _scores(suite: str, folder: Path, out: Path, *options: object) -> dict[str, Any]:
    arguments = ["score", "--suite", suite, folder, "--out", out, "--quiet", *options]
    done = CliRunner().invoke(main, [str(each) for each in arguments], catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output  # 1: what is left out is named
    assert (out / "scores.json").exists(), done.output
    found: dict[str, Any] = json.loads((out / "scores.json").read_text())
    return found


def _judged(asked: Asked) -> str:
    """Answers whatever the schema asks for, by the number of words of the system."""
    assert asked.schema is not None
    words = sum(len(line["words"].split()) for line in json.loads(asked.user)["system"])
    known = {"rating": rules.rating(words), "reason": "counted"}
    return json.dumps({name: known.get(name, rules.behaviour(words)) for name in asked.schema["properties"]})


def _v1(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for item in document["items"]:
        task, metrics = TASKS[item["group"]]
        name = f"{item['group']}/{item['sample'].rpartition('-')[2]}"
        for metric, measure in metrics.items():
            items = item["figures"].get(f"{measure}{AT_16_KHZ}") or item["figures"].get(measure)
            found[f"{metric}, {task}"][name] = items[0] if items else None
    return found


def _v15(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for item in document["items"]:
        name = f"{item['group']}/{item['sample'].rpartition('-')[2]}"
        sides = [when for when in ("before", "after", "whole") if when in item]
        for when in sides:
            for metric in FEATURES:
                found[f"{metric}, {when}"][name] = item[when].get(metric)
        if "whole" not in sides:
            figures = item["figures"]
            found["stop latency"][name] = sorted(figures["compat_stop_s"])
            found["response latency"][name] = sorted(figures["compat_response_s"])
            chosen = [each for each in rules.BEHAVIOURS if figures.get(f"compat_{each}") == [1.0]]
            found["behaviour"][name] = rules.BEHAVIOURS.index(chosen[0]) if chosen else None
    for row in document["rows"]:
        group = row["condition"].replace(" ", "_")
        for metric in FEATURES if "clean" not in group else ():
            for when in ("before", "after"):
                figure = row["measures"].get(f"compat_{metric}_{when}")
                found["means before and after"][f"{group}/{metric}, {when}"] = figure and figure["value"]
    columns = {"n": "n", "difference": "difference", "p": "p", "p by Holm": "p_holm", "d_z": "d_z"}
    for test in document["tests"]:
        assert test["feature"] in TESTED
        name = f"{test['condition'].replace(' ', '_')}/{test['feature']} against {test['against']}"
        for metric, column in columns.items() if test["n"] > 1 else ():
            found[f"tests: {metric}"][name] = test[column]
    return found


def _v2(folder: Path, out: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for path in (out / "judge_summary.csv", out / "judge_summary_binned.csv"):
        with path.open() as file:
            for row in csv.DictReader(file):
                known = {name: float(value) if value else None for name, value in list(row.items())[2:]}
                bins = [value for name, value in known.items() if "[" in name]
                for name, value in known.items():
                    if "[" not in name:
                        found[f"{name}, bins" if bins else name][row["subtask"]] = value
                if bins:
                    found["bins of 15 s"][row["subtask"]] = bins
    for path in sorted(folder.glob("*/*.json")):
        reply = read_reply(path.read_text())
        found["events"][path.stem] = len(reply.events) - reply.beyond_reference
    return found
