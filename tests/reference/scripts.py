"""Runs the scripts of a checkout of Full-Duplex-Bench, unchanged, over a set, and prints what they give, as JSON.

    PYTHONPATH=tests PYTHON -m reference.scripts CHECKOUT SET

PYTHON has torch and what else the scripts import (`make reference` makes such an environment), and nothing of fdbcore.
Stand-ins: sound is read and written by soundfile, Silero comes from its package in place of the hub, the judges and
UTMOS go by `rules`, SQuIM is not asked. Silero is that of the environment; so is librosa, which the scripts use where
Praat fails.

It prints {PART: {METRIC: {SAMPLE: VALUE}}}; a value is a number, a list of numbers, or null; a script that stops at a
sample gives it the name of its error.
"""

import contextlib
import csv
import importlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reference import rules

warnings.filterwarnings("ignore")
Values = dict[str, dict[str, dict[str, Any]]]

NUMBER = r"\s*(-?\d[\d.]*(?:e-?\d+)?)"
FEATURES = {
    "wpm": "words_per_minute",
    "speech_dur_s": "words_span_s",
    "mean_pitch": "pitch_mean_hz",
    "std_pitch": "pitch_sd_hz",
    "mean_intensity": "intensity_mean_db",
    "std_intensity": "intensity_sd_db",
    "utmosv2": "utmos",
}
SIDES = {"pre": "before", "post": "after", "clean": "whole"}
CONFIG = {
    "trim_silence": True,
    "squim": False,
    "utmosv2": True,
    "speaking_rate": True,
    "trim_mode": "silero",
    "agg": {"mode": "trim", "trim_prop": 0.05},
    "pitch": True,
    "intensity": True,
}
"""As the benchmark's own command sets it."""
PACKAGES = ("torch", "torchaudio", "silero-vad", "praat-parselmouth", "librosa", "scipy", "statsmodels", "numpy")


class Judge:
    """A client of OpenAI's interface, as far as the scripts use it."""

    def __init__(self) -> None:
        self.chat = types.SimpleNamespace(completions=types.SimpleNamespace(create=self._create))

    def _create(self, messages: Sequence[dict[str, str]], **_: object) -> Any:
        asked = messages[-1]["content"]
        if asked.strip().startswith("{"):
            said = rules.behaviour(len(json.loads(asked)["output_noisy"]["chunks"]))
            long = {"uncertain": "uncertain_handling"}.get(said, said)
            answer = json.dumps({"behaviour": [f"C_{long.upper()}"]})
        else:  # in the form that the last two lines of the script's own instructions show
            form = [line.strip() for line in messages[0]["content"].strip().splitlines()][-2:]
            marks = ("counted", str(rules.rating(len(asked.rstrip().rpartition(":")[2].split()))))
            filled = [re.sub(r"\[[^\]]*\]", mark, line) for line, mark in zip(form, marks, strict=True)]
            answer = "\n".join(filled)
        message = types.SimpleNamespace(content=answer)
        return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])


def stand_in() -> None:
    """Puts the stand-ins where the scripts look."""
    import soundfile
    import torch
    import torchaudio

    def load(path: object, *_: object, **__: object) -> tuple[Any, int]:
        samples, rate_hz = soundfile.read(str(path), dtype="float32", always_2d=True)
        return torch.from_numpy(samples.T.copy()), rate_hz

    def save(path: object, samples: Any, rate_hz: int, *_: object, **__: object) -> None:
        soundfile.write(str(path), samples.detach().cpu().numpy().T, rate_hz, subtype="FLOAT")

    def hub(*_: object, **__: object) -> tuple[Any, tuple[Any, ...]]:
        import silero_vad as package

        names = ("get_speech_timestamps", "save_audio", "read_audio", "VADIterator", "collect_chunks")
        return package.load_silero_vad(), tuple(getattr(package, name) for name in names)

    def predict(input_path: str) -> float:
        return rules.quality(soundfile.info(input_path).frames)

    model = types.SimpleNamespace(predict=predict)
    torchaudio.load, torchaudio.save, torch.hub.load = load, save, hub
    squim = types.SimpleNamespace(get_model=lambda: None)
    torchaudio.pipelines.SQUIM_OBJECTIVE = torchaudio.pipelines.SQUIM_SUBJECTIVE = squim
    sys.modules["utmosv2"] = types.SimpleNamespace(create_model=lambda **_: model)  # type: ignore[assignment]


def told(run: Callable[..., object], *arguments: object) -> tuple[str, str]:
    """What a script prints, and the name of the error at which it stops, if it does."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            run(*arguments)
        except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            return out.getvalue(), type(error).__name__
    return out.getvalue(), ""


def number(name: str, text: str) -> float | None:
    """The last number that is printed behind a name."""
    found = re.findall(re.escape(name) + NUMBER, text)
    return float(found[-1]) if found else None


def v1(folder: Path) -> dict[str, dict[str, Any]]:
    """Each sample of v1 by itself."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    os.chdir(folder)  # in which the backchannels of people lie
    for sample in sorted((folder / "v1").glob("*/*")):
        task, name = sample.parent.name, f"{sample.parent.name}/{sample.name}"
        with tempfile.TemporaryDirectory() as alone:
            shutil.copytree(sample, Path(alone) / sample.name)
            for metric, value in _v1_sample(task, alone).items():
                found[metric][name] = value
    return found


def _v1_sample(task: str, root: str) -> dict[str, Any]:
    if "pause" in task:
        text, error = told(importlib.import_module("eval_pause_handling").eval_pause_handling, root)
        return {"takeover, pause": error or number("Average take turn:", text)}
    if "turn" in task:
        text, error = told(importlib.import_module("eval_smooth_turn_taking").eval_smooth_turn_taking, root)
        if error not in ("", "ZeroDivisionError"):
            return {"takeover, turn": error, "latency, turn": error}
        return {"takeover, turn": number("the TOR is", text), "latency, turn": number("Average latency:", text)}
    if "interruption" in task:
        text, error = told(importlib.import_module("eval_user_interruption").eval_user_interruption, root, Judge())
        names = {"takeover": "Average take turn:", "latency": "Average latency:", "rating": "Average rating:"}
        found: dict[str, Any] = {f"{metric}, interruption": number(printed, text) for metric, printed in names.items()}
        # Without a takeover it divides by none of them.
        return found | {"takeover, interruption": 0.0} if error == "ZeroDivisionError" else found
    text, error = told(importlib.import_module("eval_backchannel").eval_backchannel, root)
    names = {"takeover": "TOR - Mean:", "frequency": "Frequency - Mean:", "JSD": "JSD:"}
    return {f"{metric}, backchannel": error or number(printed, text) for metric, printed in names.items()}


def v15(folder: Path, checkout: Path) -> dict[str, dict[str, Any]]:
    """The folders of v1.5: latencies, behaviours, features, their means, and the tests."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    timing, behaviour = importlib.import_module("get_timing"), importlib.import_module("eval_behavior")
    general = importlib.import_module("eval_general_before_after")
    for task in sorted((folder / "v15").iterdir()):
        samples = sorted(task.iterdir())
        for sample in samples:
            told(timing.process_folder, sample)
            latencies = json.loads((sample / "latency_intervals.json").read_text())
            for key, metric in (("latency_stop_list", "stop"), ("latency_resp_list", "response")):
                lengths = sorted(round(end - start, 3) for start, end in latencies[key])
                found[f"{metric} latency"][f"{task.name}/{sample.name}"] = lengths
        os.chdir(checkout)  # in which the instructions lie
        told(behaviour.eval_behavior_all, str(task), Judge(), "behavior", True)
        means: dict[str, Any] = {}
        told(lambda at=task, to=means: to.update(general.eval_general_all_split(CONFIG, str(at), aggregate=True)))
        for sample in samples:
            tag = json.loads((sample / "content_tag.json").read_text())["behaviour"][0]
            name = f"{task.name}/{sample.name}"
            found["behaviour"][name] = rules.BEHAVIOURS.index(
                tag[2:].lower().replace("uncertain_handling", "uncertain")
            )
            split = json.loads((sample / "general_split.json").read_text())
            for side, when in SIDES.items():
                for key, metric in FEATURES.items():
                    found[f"{metric}, {when}"][name] = split[side].get(key)
        for side, when in list(SIDES.items())[:2]:
            for key, metric in FEATURES.items():
                found["means before and after"][f"{task.name}/{metric}, {when}"] = means[side].get(key)
        _tests(task, found)
    return found


def _tests(task: Path, found: dict[str, dict[str, Any]]) -> None:
    """The paired tests of a folder, as its command gives them, before it rounds them."""
    module: Any = importlib.import_module("significance_test")
    run, tables = module.run_batch_tests, []

    def watched(**arguments: Any) -> Any:
        tables.append(run(**arguments))
        return tables[-1]

    metrics = [key for key in FEATURES if key != "speech_dur_s"]
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        module.run_batch_tests = watched
        sys.argv = ["significance_test.py", "--root_dir", str(task), "--metrics", *metrics]
        told(module.main_cli)
        module.run_batch_tests = run
    columns = {"n": "n_used", "difference": "mean_diff", "p": "p_t", "p by Holm": "p_adj", "d_z": "cohen_dz"}
    for row in tables[0].to_dict("records") if tables else ():
        against = "clean" if row["pair"].startswith("clean") else "before"
        for metric, column in columns.items():
            value = float(row[column])
            name = f"{task.name}/{FEATURES[row['metric']]} against {against}"
            found[f"tests: {metric}"][name] = None if value != value else value


def v2(folder: Path, scripts: Path) -> dict[str, dict[str, Any]]:
    """The tables of v2, and how many events its parser finds."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    root = folder / "v2"
    for script in ("parse.py", "score.py", "score_time.py"):
        command = [sys.executable, str(scripts / script), "--root_dir", str(root)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        if script == "score.py":
            _table(folder / "judge_summary.csv", found)
    _table(folder / "judge_summary_binned.csv", found)
    for path in sorted(root.glob("*/*_processed.json")):
        events = json.loads(path.read_text())["Turn-taking event and score"]
        found["events"][path.stem.removesuffix("_processed")] = len(events)
    return found


def _table(path: Path, found: dict[str, dict[str, Any]]) -> None:
    with path.open() as file:
        for row in csv.DictReader(file):
            bins = [float(value) if value else None for column, value in row.items() if "[" in column]
            if bins:
                found["bins of 15 s"][row["subtask"]] = bins
            ending = ", bins" if bins else ""
            for column, value in list(row.items())[2:]:
                if "[" not in column:
                    found[f"{column}{ending}"][row["subtask"]] = float(value) if value else None


def main() -> None:
    checkout, given = (Path(each).resolve() for each in sys.argv[1:])
    evaluation = checkout / "v1_v1.5" / "evaluation"
    found: Values = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "set"
        shutil.copytree(given, folder)
        stand_in()
        sys.path.insert(0, str(evaluation))
        found["v1"] = v1(folder)
        found["v1.5"] = v15(folder, evaluation)
        if (folder / "v2").is_dir():
            found["v2"] = v2(folder, checkout / "v2" / "scoring")
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    print(json.dumps({"versions": versions, "values": found}))


if __name__ == "__main__":
    main()
