"""README and docs: every command they show runs, or says what it needs, and the pages agree with the code."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import click
import pytest
import soundfile
from click.testing import CliRunner
from helpers.patience import PATIENCE_S

from fdbcore.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted(ROOT.glob("CONTRIBUTING.md")), *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"^( *)```(\w*)(?: title=\"(needs [^\"]+)\")?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
TRANSLATED = ("README.ja.md", "dialogue_acts.ja.md")
"""Pages with the commands of others."""
DECIDES = "--gate"
"""A command with gates may end with 1 or 3: its exit code is the decision."""

pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").is_file(), reason="needs the checkout, not only the wheel")


class Block(NamedTuple):
    language: str
    needs: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(found[2], found[3] or "", found[4]) for found in FENCE.finditer(page.read_text(encoding="utf-8"))]


def commands(block: Block) -> Iterator[str]:
    """The commands of a block, without comments; a line that ends with a backslash goes on."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield shlex.join(words) if words[0] == "fdbcore" else line


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages name: a call, a folder of calls with its table, labels, a log, gates, conversations of people."""
    folder = tmp_path_factory.mktemp("data")
    pcm, rate_hz = soundfile.read(ROOT / "benchmarks" / "sample" / "sample.flac", dtype="int16")
    spans_s = {
        "call": (0, 14),
        "calls/one": (0, 14),
        "calls/two": (20, 34),
        "calls/three": (40, 54),
        "people/p": (0, 14),
    }
    for name, (start_s, end_s) in spans_s.items():
        (folder / name).parent.mkdir(exist_ok=True)
        soundfile.write(folder / f"{name}.wav", pcm[start_s * rate_hz : end_s * rate_hz], rate_hz)
    (folder / "pairs").mkdir()
    for side, name in enumerate(("caller", "agent", "pairs/one-caller", "pairs/one-agent")):
        soundfile.write(folder / f"{name}.wav", pcm[: 14 * rate_hz, side % 2], rate_hz)
    (folder / "calls.csv").write_text("file,version,caller\none.wav,1,c1\ntwo.wav,1,c2\nthree.wav,2,c3\n")
    (folder / "hand.csv").write_text("call,side,kind,start_s,end_s\none,A,turn_end,7.5,7.5\none,A,pause,8.1,10.1\n")
    (folder / "agent.jsonl").write_text('{"time": 11.2, "name": "heard"}\n{"time": 11.7, "name": "spoke"}\n')
    (folder / "logs").mkdir()
    (folder / "logs" / "one.jsonl").write_text('{"time": 11.2, "name": "end of turn"}\n')
    (folder / "gates.toml").write_text('gates = ["premature_per_turn <= baseline + 0.02"]\n')
    for block in (
        block for name in ("systems.md", "detectors.md", "live.md") for block in blocks(ROOT / "docs" / name)
    ):
        if named := re.match(r"# (\w+\.(py|toml))\n", block.text):
            (folder / named[1]).write_text(block.text)
    (brief,) = (block.text for block in blocks(ROOT / "docs" / "examiner.md") if block.language == "json")
    (folder / "coffee.json").write_text(brief)
    (labels,) = (block.text for block in blocks(ROOT / "docs" / "clips.md") if block.language == "csv")
    (folder / "mine.csv").write_text(labels)
    command = ["replay", "--quiet", str(folder / "calls"), "--meta", str(folder / "calls.csv")]
    ran = CliRunner().invoke(main, [*command, "--out", str(folder / "RUN")])
    assert ran.exit_code == 0, ran.stderr
    shutil.copytree(folder / "RUN", folder / "OLD")
    return folder


@pytest.fixture
def clone(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh clone, with that data in it; it is the current folder, and its commands are those under test."""
    for path in ROOT.iterdir():
        if path.name in ("benchmarks", "docs", "fdbcore", "tests", "pyproject.toml"):
            (tmp_path / path.name).symlink_to(path)
    for path in data.iterdir():
        if path.is_dir():
            shutil.copytree(path, tmp_path / path.name)
        else:
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_both_readmes_show_the_same_commands() -> None:
    of_each = [
        [each for block in blocks(ROOT / name) if block.language == "sh" for each in commands(block)]
        for name in ("README.md", "README.ja.md")
    ]
    assert [shlex.split(each, comments=True) for each in of_each[0]] == [
        shlex.split(each, comments=True) for each in of_each[1]
    ]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.live] if page.name == "live.md" else [])
        for page in PAGES
        if page.name not in TRANSLATED
    ],
)
def test_the_commands_of_a_page_run(page: Path, clone: Path) -> None:
    """The first as a visitor gives it; of the others, those of ours in this process, which has loaded everything."""
    shown = [each for block in blocks(page) if block.language == "sh" and not block.needs for each in commands(block)]
    for number, command in enumerate(shown):
        code, told = ran_here(command) if number and command.startswith("fdbcore ") else ran_in_shell(command)
        assert code in ((0, 1, 3) if DECIDES in command else (0,)), f"{command}\n{told}"


def ran_in_shell(command: str) -> tuple[int, str]:
    ran = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, timeout=PATIENCE_S)
    return ran.returncode, f"{ran.stdout[-1500:]}\n{ran.stderr[-1500:]}"


def ran_here(command: str) -> tuple[int, str]:
    """It has plain words alone: `commands` has quoted whatever the shell would change."""
    ran = CliRunner().invoke(main, shlex.split(command)[1:], catch_exceptions=False)
    return ran.exit_code, ran.output[-3000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_need_something_are_well_formed(page: Path) -> None:
    found = [each for block in blocks(page) if block.language == "sh" and block.needs for each in commands(block)]
    for words in (shlex.split(command) for command in found if command.startswith("fdbcore ")):
        assert understood(words[1:]), shlex.join(words)


def helped(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Each command with what its --help says."""
    yield name, command.help or ""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from helped(found, f"{name} {below}")


EXAMPLE = re.compile(r"^\s*Example(?: \((needs [^)]+)\))?: (fdbcore .+)$", re.MULTILINE)
HELPED = dict(helped(main, "fdbcore"))


@pytest.mark.parametrize("name", HELPED)
def test_the_help_of_a_command_has_an_example_that_runs(name: str, clone: Path) -> None:
    ((needs, command),) = EXAMPLE.findall(HELPED[name])
    if needs:
        assert understood(shlex.split(command)[1:])
        return
    if "dataset" in command:
        pytest.importorskip("pyopenjtalk", reason="needs Open JTalk (pip install 'fdbcore[ja]')")
        (clone / "SET").mkdir()
        with (ROOT / "fdbcore" / "suites" / "dialogue_acts" / "data" / "smoke" / "records.jsonl").open() as records:
            (clone / "SET" / "records.jsonl").write_text(records.readline())
    (clone / "gates.toml").unlink()  # the example of one command makes it
    code, told = ran_here(command)
    assert code == 0, told


def test_without_a_command_it_says_what_people_do_first() -> None:
    told = CliRunner().invoke(main, [])
    assert told.exit_code == 0
    shown = re.findall(r"^ +(fdbcore .+)$", told.stdout, re.MULTILINE)
    assert [shlex.split(command)[1] for command in shown] == ["replay", "report", "run"]
    for command in shown:
        assert understood(shlex.split(command)[1:])


def understood(arguments: list[str]) -> bool:
    """Whether the command line knows these options; nothing is run."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, arguments)
        assert name is not None
        assert found is not None
        command = found
    command.make_context("fdbcore", arguments)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_of_a_known_kind(page: Path) -> None:
    """A command outside of a block of its kind would be run by no test."""
    assert {block.language for block in blocks(page)} <= {"", "sh", "python", "toml", "json", "yaml", "csv"}
    plain = [block.text for block in blocks(page) if block.language == ""]
    assert not [text for text in plain if re.search(r"^(\$ )?(fdbcore|make|pip|python) ", text, re.MULTILINE)]
    fences = re.findall(r"^ *```(?!`)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(blocks(page))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.is_relative_to(ROOT / "docs")], ids=lambda page: page.name
)
def test_a_page_begins_with_a_command(page: Path) -> None:
    assert blocks(page)[0].language == "sh"


def test_the_code_of_the_library_runs_from_top_to_bottom(clone: Path) -> None:
    for page in (ROOT / "docs" / "library.md", ROOT / "docs" / "measures.md", ROOT / "README.md"):
        script = clone / f"{page.stem}.py"
        code = [block.text for block in blocks(page) if block.language == "python" and not block.needs]
        script.write_text("\n".join(['if __name__ == "__main__":', *(indent(text, "    ") for text in code)]))
        ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    assert (clone / "answers.svg").is_file()


def test_the_picture_of_the_rooms_is_what_the_packages_say() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_rooms.py"))["svg"]()
    assert drawn == (ROOT / "docs" / "images" / "rooms.svg").read_text(encoding="utf-8"), "python docs/draw_rooms.py"


MOST_WORDS = 45_000


def test_the_pages_are_read_in_a_day_and_the_readme_in_minutes() -> None:
    """What `wc -w` counts. Say a thing once, and link it."""
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").glob("**/*.md")}
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda of: -of[1])[:5]
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 550
    assert len((ROOT / "README.ja.md").read_text(encoding="utf-8").splitlines()) <= 110


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda page: page.name)
def test_a_page_says_first_for_whom_it_is(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8")).split("\n## ")[0]
    assert re.search(r"\b[Ff]or (those|engineers|whoever)\b|ためのページ", text), page


def test_servers_of_ours_were_checked_with_the_clients_that_are_installed() -> None:
    page = ROOT / "docs" / "systems.md"
    written = set(re.findall(r"^\|.*?`(openai|google-genai)` ([\d.]+):", page.read_text(), re.MULTILINE))
    assert {name for name, _ in written} == {"openai", "google-genai"}
    installed = {(name, ".".join(version(name).split(".")[:2])) for name, _ in written}
    wrong = [f"`{name}` {new}:, not {old}" for name, old in written for _, new in installed - written if _ == name]
    assert not wrong, f"{page}: if the tests of vendors pass, write {'; '.join(wrong)}"
