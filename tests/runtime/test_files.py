"""Files: JSON and TOML of others, read if they can be written again; ours, whole whoever writes or is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import commands
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.gate_file import read_gates
from fdbcore.errors import InputError
from fdbcore.recording.files import write_text
from fdbcore.runtime.json_values import MOST_DEPTH, json_or_text, json_value, resolved
from fdbcore.runtime.toml_values import toml_values
from fdbcore.runtime.whole_files import read_whole

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)  # fmt: skip


@given(VALUES)
def test_what_was_written_is_read(value: Any) -> None:
    assert json_value(json.dumps(value)) == json_or_text(json.dumps(value)) == value
    assert json_value(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[-Infinity]", "1e999", '"\\ud800"', '{"\\ud800": 1}', "9" * 5000, "9" * 400,
     f"[{'9' * 309}]", "[" * 100_000,
     "[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1)],
)  # fmt: skip
def test_what_could_not_be_written_again_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json_value(text)
    assert json_or_text(text) == text


RESULTS: list[Any] = [{"flights": [{"id": "FL1", "stops": [1, 2]}], "x-y": 0}, [None, "text"], "abc"]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("$RESULT_0.flights[0].id", "FL1"),
        ("$RESULT_0.flights[0].stops[1]", 2),
        ("$RESULT_0.flights", [{"id": "FL1", "stops": [1, 2]}]),
        ("$RESULT_0.x-y", 0),
        ("$RESULT_1[0]", None),
        ("$RESULT_1", [None, "text"]),
    ],
)
def test_a_reference_becomes_what_it_refers_to(reference: str, found: Any) -> None:
    assert resolved(reference, RESULTS) == found
    assert resolved({"a": [reference, 1], "b": {"c": reference}}, RESULTS) == {"a": [found, 1], "b": {"c": found}}


@pytest.mark.parametrize(
    "text",
    ["$RESULT_0.flights[1].id", "$RESULT_0.hotels", "$RESULT_9", "$RESULT_1.name", "$RESULT_2.a", "$RESULT_0[0]",
     "$RESULT_0.flights[0].id and more", "$RESULT_", "$RESULT_0.", "$5", "", "RESULT_0"],
)  # fmt: skip
def test_a_text_that_refers_to_nothing_stays(text: str) -> None:
    assert resolved(text, RESULTS) == text


DEEP = "x = " + 3000 * "[" + 3000 * "]"


@pytest.mark.parametrize(
    "command",
    [
        "scenarios validate deep.toml",
        "run --a scripted:deep.toml --system exec:cat",
        "run --a scripted:caller --system cascaded:deep.toml",
    ],
)
def test_nesting_without_end_is_a_line(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.toml").write_text(DEEP)
    result = commands.command(*command.split())
    assert result.exit_code
    assert "it is nested deeper than 32" in " ".join(result.output.split())


def test_gates_nested_without_end_are_a_line(tmp_path: Path) -> None:
    path = tmp_path / "gates.toml"
    path.write_text(DEEP)
    with pytest.raises(InputError, match="expected TOML: it is nested deeper than 32"):
        read_gates(path)


def test_a_key_of_many_parts_is_refused_before_it_takes_all_memory() -> None:
    with pytest.raises(ValueError, match="more than 1,000 points"):
        toml_values(".".join("a" * 30_000) + " = 1")


WRITE = """
import sys
from pathlib import Path
from fdbcore.recording.files import write_text
from fdbcore.report.run.tables import write_calls

path = Path(sys.argv[1])
for _ in range(300):
    write_text(path / "page.html", sys.argv[2] * 100_000)
    write_calls(path, [])
"""
STAND_STILL = """
import sys, time
from pathlib import Path
from fdbcore.runtime.whole_files import whole_file

with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    time.sleep(600)
"""


def test_processes_that_write_the_same_files_at_once_all_succeed(tmp_path: Path) -> None:
    ended = [
        process.communicate()[1]
        for process in [
            subprocess.Popen([sys.executable, "-c", WRITE, tmp_path, letter], stderr=subprocess.PIPE, text=True)
            for letter in "ab"
        ]
    ]
    assert ended == ["", ""]
    text = (tmp_path / "page.html").read_text()
    assert text in ("a" * 100_000, "b" * 100_000)
    assert not list(tmp_path.glob("*.part"))


def test_what_a_kill_leaves_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with subprocess.Popen([sys.executable, "-c", STAND_STILL, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        assert path.read_text() == "old"
        process.send_signal(signal.SIGKILL)
    assert [file.name for file in tmp_path.glob("*.part")] == ["page.html.part"]
    write_text(path, "new")
    assert path.read_text() == "new"
    assert not list(tmp_path.glob("*.part"))


def test_what_may_never_end_or_is_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**30)
    for name, why in (("pipe", "a pipe"), ("zeros", "a device"), ("large", r"at most 536,870,912 are read")):
        with pytest.raises(OSError, match=why):
            read_whole(tmp_path / name)


def test_what_a_shell_hands_over_is_read() -> None:
    """As in `--labels <(...)`."""
    reader, writer = os.pipe()
    os.write(writer, b"told")
    os.close(writer)
    assert read_whole(Path(f"/dev/fd/{reader}")) == b"told"
    os.close(reader)
