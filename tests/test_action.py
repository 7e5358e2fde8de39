"""The GitHub Action and the workflow that uses it: their steps are run in order, with the services of GitHub faked."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import soundfile
import yaml

ROOT = Path(__file__).resolve().parents[1]
ACTION = ROOT / ".github" / "actions" / "fdbcore" / "action.yml"
WORKFLOW = ROOT / ".github" / "workflows" / "conversations.yml"
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")

pytestmark = pytest.mark.skipif(not ACTION.is_file(), reason="needs the checkout, not only the wheel")

GH = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
store = Path(os.environ["FAKE_COMMENTS"])
comments = json.loads(store.read_text())
_, *arguments = sys.argv
assert arguments.pop(0) == "api" and os.environ["GH_TOKEN"]
method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "GET"
path = next(each for each in arguments if each.startswith("repos/"))
if method == "GET":
    assert "startswith($ENV.MARKER)" in arguments[arguments.index("--jq") + 1]
    found = [number for number, body in comments.items() if body.startswith(os.environ["MARKER"])]
    print("\\n".join(found))
    sys.exit()
if os.environ["GH_TOKEN"] == "read-only":
    print("HTTP 403: Resource not accessible by integration", file=sys.stderr)
    sys.exit(1)
body = Path(arguments[arguments.index("--field") + 1].removeprefix("body=@")).read_text()
number = path.rsplit("/", 1)[1] if method == "PATCH" else str(len(comments) + 1)
assert (method == "PATCH") == (number in comments)
comments[number] = body
store.write_text(json.dumps(comments))
"""


@dataclass
class Runner:
    """A machine of GitHub: its folder, its event, and what the steps have put out."""

    folder: Path
    event: str = "pull_request"
    token: str = "writes"
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    uploaded: list[Path] = field(default_factory=list)
    said: str = ""

    def __post_init__(self) -> None:
        for name, text in {"gh": GH, "python": '#!/bin/sh\necho "$@" >> "$FAKE_LOG"\n'}.items():
            tool = self.folder / "tools" / name
            tool.parent.mkdir(parents=True, exist_ok=True)
            tool.write_text(text)
            tool.chmod(0o755)
        (self.folder / "comments.json").write_text("{}")
        (self.folder / "work").mkdir()

    @property
    def comments(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.folder / "comments.json").read_text())
        return found

    def value(self, expression: str, inputs: Mapping[str, str]) -> str:
        """The value of an expression: names, texts, ==, && and ||."""
        known = {
            "github.token": self.token,
            "github.action_path": str(ACTION.parent),
            "github.event_name": self.event,
            "github.base_ref": "main" if self.event == "pull_request" else "",
            "github.ref_name": "main" if self.event == "push" else "7/merge",
            "github.repository": "o/r",
            "github.run_id": "77",
            "github.run_attempt": "1",
            "github.server_url": "https://github.example",
            "github.event.pull_request.number": "7",
            **{f"inputs.{name}": value for name, value in inputs.items()},
            **{f"steps.{id}.outputs.{name}": v for id, found in self.outputs.items() for name, v in found.items()},
        }
        python = expression.replace("&&", " and ").replace("||", " or ")
        named = re.sub(r"(?<!')\b(?:github|inputs|steps)\.[\w.-]+", lambda name: repr(known[name[0]]), python)
        return eval(named, {"__builtins__": {}})  # type: ignore[no-any-return]  # the expressions of our own file

    def filled(self, text: str, inputs: Mapping[str, str]) -> str:
        return EXPRESSION.sub(lambda found: str(self.value(found[1], inputs)), text)

    def run(self, **given: str) -> int:
        """Run the steps of the action with these inputs; the exit code of the first that fails."""
        action = yaml.safe_load(ACTION.read_text())
        inputs = {name: given.get(name.replace("-", "_"), of.get("default")) for name, of in action["inputs"].items()}
        inputs = {name: self.filled(value, {}) for name, value in inputs.items()}
        for step in action["runs"]["steps"]:
            if "if" in step and not self.value(step["if"], inputs):
                continue
            if "uses" in step:
                self.use(step, inputs)
            elif code := self.shell(step, inputs):
                return code
        return 0

    def use(self, step: dict[str, Any], inputs: Mapping[str, str]) -> None:
        name = step["uses"].partition("@")[0]
        told = {key: self.filled(str(value), inputs) for key, value in step["with"].items()}
        if name == "actions/upload-artifact":
            self.uploaded = [self.folder / "work" / line for line in told["path"].splitlines()]
        elif name == "actions/cache/save":
            assert told["key"].startswith("fdbcore-fdbcore-report-main-")
            (self.folder / "work" / told["path"]).rename(self.folder / "cache")
        elif name == "actions/cache/restore":
            assert told["restore-keys"] == "fdbcore-fdbcore-report-main-"
            if (self.folder / "cache").is_dir():
                subprocess.run(["cp", "-r", self.folder / "cache", self.folder / "work" / told["path"]], check=True)

    def shell(self, step: dict[str, Any], inputs: Mapping[str, str]) -> int:
        assert step["shell"] == "bash"
        files = {name: self.folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "FAKE_LOG")}
        files["GITHUB_OUTPUT"].write_text("")
        tools = f"{self.folder / 'tools'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {"PATH": tools, "HOME": os.environ.get("HOME", "/"), "RUNNER_TEMP": str(self.folder)}
        environment |= {name: str(path) for name, path in files.items()}
        environment |= {"FAKE_COMMENTS": str(self.folder / "comments.json")}
        environment |= {name: self.filled(str(value), inputs) for name, value in step.get("env", {}).items()}
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]  # as GitHub runs `shell: bash`
        done = subprocess.run(command, cwd=self.folder / "work", env=environment, capture_output=True, text=True)
        self.said += done.stdout + done.stderr
        pairs = (line.partition("=") for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        self.outputs.setdefault(step.get("id", ""), {}).update({name: value for name, _, value in pairs})
        return done.returncode


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A machine with a folder of one short call, and gates that it passes."""
    made = Runner(tmp_path)
    pcm, rate_hz = soundfile.read(ROOT / "benchmarks" / "sample" / "sample.flac", dtype="int16")
    (tmp_path / "work" / "my calls").mkdir()
    soundfile.write(tmp_path / "work" / "my calls" / "call.wav", pcm[: 14 * rate_hz], rate_hz)
    (tmp_path / "work" / "gates.toml").write_text('cannot_tell = "pass"\ngates = ["premature_per_turn <= 0.05"]\n')
    return made


INPUTS = {"calls": "my calls", "gate": "gates.toml", "replay_options": "--vad energy"}


def test_every_step_is_valid_bash_and_takes_values_by_its_environment_alone() -> None:
    for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]:
        if "run" in step:
            assert "${{" not in step["run"]  # a name in it would be code
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)


def test_a_pull_request_gets_one_comment_that_is_updated_in_place(runner: Runner) -> None:
    assert runner.run(**INPUTS) == 0, runner.said
    (first,) = runner.comments.values()
    marker, heading, *_ = first.splitlines()
    assert marker == "<!-- fdbcore fdbcore-report -->"
    assert heading.startswith("### ? Undecided: of 1 gate, 1 undecided.")
    assert "https://github.example/o/r/actions/runs/77#artifacts" in first
    report, calls = runner.uploaded
    assert {"index.html", "compare.html", "gates.xml", "comment.md"} <= {path.name for path in report.iterdir()}
    assert [path.name for path in calls.iterdir()] == ["call.wav"]
    assert heading in (runner.folder / "github_step_summary").read_text()
    assert runner.outputs["report"] == {"code": "0"}
    assert str(ROOT) == os.path.normpath((runner.folder / "fake_log").read_text().split()[-1])

    (runner.folder / "comments.json").write_text(json.dumps({"1": "of a person", "2": first}))
    runner.event = "pull_request"
    assert runner.run(**INPUTS | {"gate": "defaults"}) == 3
    assert [*runner.comments] == ["1", "2"]
    assert runner.comments["1"] == "of a person"
    assert "### ? Undecided: of 5 gates" in runner.comments["2"]


def test_a_token_that_can_only_read_fails_nothing(runner: Runner) -> None:
    runner.token = "read-only"
    assert runner.run(**INPUTS) == 0, runner.said
    assert runner.comments == {}
    assert "::warning::The report could not be posted as a comment" in runner.said


def test_a_push_leaves_its_run_as_the_baseline_of_pull_requests(runner: Runner) -> None:
    runner.event = "push"
    assert runner.run(**INPUTS) == 0, runner.said
    assert runner.comments == {}
    assert not [path for path in (runner.folder / "cache").rglob("*.html")]
    runner.event = "pull_request"
    assert runner.run(**INPUTS) == 0, runner.said
    (comment,) = runner.comments.values()
    assert "`fdbcore-report` (1 call) against `.fdbcore-baseline` (1 call)" in comment
    assert "| verdict | measure | `run` | `baseline` |" in comment


def test_a_failed_gate_and_a_wrong_file_fail_the_job_after_the_comment(runner: Runner) -> None:
    (runner.folder / "work" / "gates.toml").write_text('cannot_tell = "fail"\ngates = ["premature_per_turn <= 0.05"]\n')
    assert runner.run(**INPUTS) == 1
    (runner.folder / "work" / "gates.toml").write_text('gates = ["nothing <= 0.05"]\n')
    assert runner.run(**INPUTS) == 2
    (comment,) = runner.comments.values()
    assert "### ✕ Nothing could be compared" in comment


def test_recordings_that_cannot_be_read_fail_the_job_and_the_others_are_reported(runner: Runner) -> None:
    (runner.folder / "work" / "my calls" / "junk.wav").write_bytes(b"no audio" * 99)
    assert runner.run(**INPUTS) == 1
    assert len(runner.comments) == 1
    assert runner.outputs["replay"] == {"code": "1"}


def shown(title: str) -> dict[str, Any]:
    """The file of that name that docs/ci.md shows."""
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```yaml\n# {re.escape(title)}\n(.*?)```", text, re.DOTALL)
    content: dict[str, Any] = yaml.safe_load(found)
    return content


def test_the_page_shows_workflows_that_are_valid() -> None:
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    workflow = shown(".github/workflows/conversations.yml")
    (step,) = [step for step in workflow["jobs"]["gates"]["steps"] if "fdbcore" in step["uses"]]
    assert step["uses"].split("@")[0] == "fdbcore/fdbcore/.github/actions/fdbcore"
    assert {*step["with"]} <= {*inputs}
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert {name for name in inputs if f"`{name}`" in text} == {*inputs}
    job = shown(".gitlab-ci.yml")["conversations"]
    for script in (*job["script"], *job["after_script"]):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    assert job["artifacts"]["reports"] == {"junit": "gates.xml"}


def test_the_workflow_uses_the_action_as_it_stands() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    (job,) = workflow["jobs"].values()
    used = next(step for step in job["steps"] if step["uses"].startswith("./"))
    assert (ROOT / used["uses"] / "action.yml").samefile(ACTION)
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert {name for name, of in inputs.items() if of.get("required")} <= {*used["with"]} <= {*inputs}
    assert (ROOT / used["with"]["calls"]).is_dir()
    assert (ROOT / used["with"]["gate"]).is_file()
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
