"""The workflows of the repository: their lines are run as GitHub runs them, with the tools behind `make` faked."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
TOOL = '#!/bin/sh\necho "$(basename "$0") $*" >> "$FAKE_LOG"\n'
TOOLS = ("mypy", "pip", "pytest", "python", "ruff", "twine")
PYTHON = f"""#!/bin/sh
[ "$1" != -m ] || {{ echo "python3 $*" >> "$FAKE_LOG"; exit; }}
exec {sys.executable} "$@"
"""

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="needs the checkout, not only the wheel")


def content(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def lines() -> list[tuple[str, str, dict[str, str]]]:
    """Each `run:` of a workflow: the file's name, the line and its environment."""
    return [
        (path.name, step["run"], {name: str(value) for name, value in step.get("env", {}).items()})
        for path in WORKFLOWS
        for job in content(path)["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is set up, whose tools only write down how they were called, and a release that could be cut."""
    made = tmp_path / "checkout"
    for name in ("Makefile", "pyproject.toml", "setup.py", "CHANGELOG.md", ".ci/notes.py", "fdbcore/_version.py"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, made / name)
    (newest,) = re.findall(r"^## (\d\S*)", (made / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[:1]
    (made / "fdbcore" / "_version.py").write_text(f'__version__ = "{newest}"\n')
    (made / "dist").mkdir()
    for folder in (made / ".venv", made / "build" / "release" / ".venv"):
        (folder / "bin").mkdir(parents=True)
        for name in (*TOOLS, "python3"):
            (folder / "bin" / name).write_text(PYTHON if name == "python3" else TOOL)
            (folder / "bin" / name).chmod(0o755)
    for name in ("core", "base", "test", "dev"):
        (made / ".venv" / name).touch()
    return made


def run(line: str, environment: dict[str, str], checkout: Path) -> list[str]:
    """The tools that a line calls, with their arguments, as GitHub's shell runs it."""
    log = checkout / "log"
    known = {"github.ref_name": "v" + re.findall('"(.*)"', (checkout / "fdbcore" / "_version.py").read_text())[0]}
    filled = {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known.get(found[1], ""), value)
        for name, value in environment.items()
    }
    environment = {"PATH": os.environ["PATH"], "HOME": str(checkout), "FAKE_LOG": str(log)} | filled
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = log.read_text().splitlines()
    log.unlink()
    return calls


def called(name: str, checkout: Path, *given: str) -> list[str]:
    """The tools that all lines of a workflow call."""
    return [
        call
        for workflow, line, environment in lines()
        if workflow == name
        for call in run(" ".join((line, *given)), environment, checkout)
    ]


def test_a_pull_request_has_linters_types_and_tests(checkout: Path) -> None:
    calls = called("tests.yml", checkout)
    assert [call for call in calls if call.startswith("mypy")]
    assert [call.rsplit(" ", 1)[1] for call in calls if call.startswith("pytest")] == ["@tests/smoke.txt", "tests/"]
    assert content(GITHUB / "workflows" / "tests.yml")["jobs"]["quick"]["strategy"]["matrix"]["python"] == [
        f"3.{minor}" for minor in (min(supported()), max(supported()))
    ]


def supported() -> set[int]:
    """Minor versions of Python 3 that the package names."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    return {int(name.rsplit(".", 1)[1]) for name in classifiers if "Python :: 3." in name}


def test_the_weekly_run_changes_files_and_runs_long_property_tests(checkout: Path) -> None:
    assert called("fuzz.yml", checkout) == [
        "python -m fuzz.files",
        f"pytest -n {len(os.sched_getaffinity(0))} -o faulthandler_timeout=0 --fuzz",
    ]


def test_a_tag_makes_a_release_and_its_notes(checkout: Path) -> None:
    # `.ci/run` makes the wheel itself; here it is there already.
    calls = called("release.yml", checkout, "--assume-old=wheel", "PYTHON=.venv/bin/python3")
    assert [call.split()[:3] for call in calls][-1] == ["twine", "check", "--strict"]
    notes = (checkout / "build" / "release" / "notes.md").read_text(encoding="utf-8")
    assert notes.startswith("# fdbcore 0.")
    assert "### Scores" in notes


def test_every_line_names_a_target_of_ours_and_takes_values_by_its_environment_alone() -> None:
    targets = re.findall(r"^([a-z]\w*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for _, line, _ in lines():
        assert "${{" not in line
        assert line.split()[0] == "make"
        assert {*line.split()[1:]} <= {*targets}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read_and_name_versions(path: Path) -> None:
    found = content(path)
    assert found["permissions"]["contents"] == "read"
    for job in found["jobs"].values():
        used = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(name.startswith("./") or re.search(r"@v\d", name) for name in used), used


def test_hooks_run_the_ruff_of_the_developers() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    (ruff,) = [each for each in required if each.startswith("ruff")]
    (repository,) = content(ROOT / ".pre-commit-config.yaml")["repos"]
    for hook in repository["hooks"]:
        assert hook["additional_dependencies"] == [ruff]
        subprocess.run([sys.executable, "-m", *hook["entry"].split(), "--help"], capture_output=True, check=True)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_are_as_github_takes_them(path: Path) -> None:
    form = content(path)
    assert {"name", "description", "body"} <= form.keys() <= {"name", "description", "labels", "body"}
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    for field in form["body"]:
        assert field["type"] in {"input", "textarea"}
        assert field["attributes"]["label"]


def test_the_citation_has_what_its_format_asks_for() -> None:
    citation = content(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["license"], citation["keywords"]) == (project["license"], project["keywords"])


def test_a_tag_of_another_version_makes_no_release(checkout: Path) -> None:
    (checkout / "changelog.d").mkdir()
    (checkout / "changelog.d" / "new.added.md").write_text("It is new.\n")
    command = [sys.executable, ".ci/notes.py"]
    tagged = os.environ | {"TAG": "v9.9.0"}
    done = subprocess.run(command, cwd=checkout, env=tagged, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    version, changelog, fragments = done.stderr.splitlines()
    assert "_version.py: expected 9.9.0" in version
    assert "CHANGELOG.md: expected 9.9.0" in changelog
    assert "new.added.md" in fragments
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:10]) == (0, "# fdbcore ")
    assert done.stderr == fragments + "\n"
