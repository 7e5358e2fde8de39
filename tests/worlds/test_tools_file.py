"""The tools of a file: their schemas, what they give, and what becomes of those that misbehave."""

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from helpers.conformance import assert_leaves_nothing
from helpers.patience import PATIENCE_S
from jsonschema import Draft202012Validator

from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols import World
from fdbcore.registry import world
from fdbcore.runtime.network import event_loop
from fdbcore.types.tools import MOST_RESULT_BYTES
from fdbcore.worlds.commands import commands_in
from fdbcore.worlds.functions import functions_in

Call: TypeAlias = tuple[str, Mapping[str, Any]]

FUNCTIONS = '''
import asyncio
import os
import sys
import time
from dataclasses import dataclass
from typing import Literal

from rates import RATE


@dataclass
class Passenger:
    """Who travels."""

    name: str
    age: int


basket: list[str] = []


def search(city: str, nights: int = 1, most: float | None = None, kind: Literal["room", "suite"] = "room") -> dict:
    """Find hotels.

    Args:
        city: where
    """
    print("looking", input if False else "")
    return {"hotels": [{"city": city, "price": RATE * nights, "kind": kind}]}


def book(passengers: list[Passenger]) -> list[str]:
    """Book a trip."""
    return [f"{each.name}, {each.age}" for each in passengers]


def add(item: str, after_s: float = 0.0) -> list[str]:
    """Put an item into the basket."""
    time.sleep(after_s)
    basket.append(item)
    return basket


async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


def stuck() -> None:
    """Never come back."""
    time.sleep(3600)


def fail() -> None:
    """Raise."""
    raise ValueError("no room left")


def rant() -> None:
    """Raise at length, and what is no text."""
    raise ValueError("\\ud800\\n" + "x" * 1_000_000)


def crash() -> None:
    """End the process."""
    os._exit(3)


def odd() -> object:
    """What is no JSON."""
    return object()


def huge() -> int:
    """A number that Python does not read again."""
    return 10 ** 6000


def long() -> str:
    """Too much."""
    return "x" * 300_000


def read() -> str:
    """Read standard input, which is at its end."""
    return sys.stdin.read()


def _helper() -> None: ...
'''

COMMANDS: list[dict[str, Any]] = [
    {
        "name": "track",
        "type": "function",
        "description": "Where an order is.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
        "command": f"{sys.executable} track.py",
    },
    {"name": "text", "description": "Print a text.", "command": "echo 25 minutes"},
    {"name": "deaf", "description": "Read nothing.", "command": "sleep 0"},
    {"name": "fail", "description": "Fail.", "command": "sh -c 'echo gone >&2; exit 4'"},
    {"name": "missing", "description": "Not there.", "command": "./not-there --at all"},
    {"name": "endless", "description": "Print too much.", "command": "yes"},
    {"name": "stuck", "description": "Never come back.", "command": "sh -c 'sleep 3600; true'"},
]


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    (tmp_path / "rates.py").write_text("RATE = 50\n")
    (tmp_path / "tools.py").write_text(FUNCTIONS)
    return tmp_path / "tools.py"


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    (tmp_path / "track.py").write_text("import json, sys\nprint(json.dumps({'at': json.load(sys.stdin)['order']}))\n")
    (tmp_path / "tools.json").write_text(json.dumps(COMMANDS))
    return tmp_path / "tools.json"


@contextmanager
def opened(path: Path) -> Iterator[World]:
    with closing(world(f"file:{path}")) as made:
        made.open()
        yield made


def done(world: World, *calls: Call, within_s: float = PATIENCE_S, ended: list[str] | None = None) -> list[Any]:
    """What calls gave, or the text of their error; they begin at the same time, in this order.

    ended: gets their names as they end.
    """

    async def each(name: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return await asyncio.wait_for(world.do(name, arguments), within_s)
        except (InputError, TimeoutError) as error:
            return str(error) or "timeout"
        finally:
            if ended is not None:
                ended.append(name)

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(each(*call) for call in calls))

    return asyncio.run_coroutine_threadsafe(all_of_them(), event_loop()).result(PATIENCE_S)


def test_functions_become_tools_with_schemas(functions: Path) -> None:
    with opened(functions) as tools:
        described = json.loads(json.dumps(tools.describe()))
        by_name = {tool.name: tool for tool in tools.tools}
    assert list(by_name) == [
        "search",
        "book",
        "add",
        "wait",
        "stuck",
        "fail",
        "rant",
        "crash",
        "odd",
        "huge",
        "long",
        "read",
    ]
    assert by_name["search"].description == "Find hotels.\n\nArgs:\n    city: where"
    assert by_name["search"].parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "nights": {"type": "integer", "default": 1},
            "most": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "kind": {"enum": ["room", "suite"], "default": "room"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    book = Draft202012Validator(by_name["book"].parameters)
    assert book.is_valid({"passengers": [{"name": "Ann", "age": 30}]})
    assert not book.is_valid({"passengers": [{"name": "Ann", "age": "30"}]})
    assert described["sha256"] == hashlib.sha256(functions.read_bytes()).hexdigest()
    assert (described["latency"], described["timeout_s"]) == ("instant", 30)
    assert [each["name"] for each in described["functions"]] == list(by_name)


def test_functions_give_what_they_return(functions: Path) -> None:
    with opened(functions) as tools:
        calls: list[Call] = [
            ("search", {"city": "Rome", "nights": 2}),
            ("book", {"passengers": [{"name": "Ann", "age": 30}]}),
            ("read", {}),
            ("fail", {}),
            ("odd", {}),
            ("huge", {}),
            ("long", {}),
            ("rant", {}),
            ("add", {"item": "tea"}),
        ]
        found = done(tools, *calls)
    assert found[:4] == [
        {"hotels": [{"city": "Rome", "price": 100, "kind": "room"}]},
        ["Ann, 30"],
        "",
        "ValueError: no room left",
    ]
    assert found[4].startswith("expected a JSON value as its result, got object")
    assert found[5].startswith("expected a JSON value as its result, got int")
    assert found[6] == f"expected a result of at most {MOST_RESULT_BYTES} bytes, got 300002"
    assert found[7].startswith("ValueError: ? xxx")
    assert len(found[7]) <= 1000
    assert found[8] == ["tea"]


def test_functions_run_one_after_the_other_and_coroutines_beside_them(functions: Path) -> None:
    ended: list[str] = []
    with opened(functions) as tools:
        calls: list[Call] = [
            ("add", {"item": "first", "after_s": 0.5}),
            ("add", {"item": "second"}),
            ("wait", {"seconds": 0.01}),
        ]
        assert done(tools, *calls, ended=ended)[1:] == [["first", "second"], "waited"]
    assert ended == ["wait", "add", "add"]


def test_a_function_that_never_comes_back_holds_up_no_other_once_it_is_given_up(functions: Path) -> None:
    with opened(functions) as tools:
        assert done(tools, ("stuck", {}), within_s=0.2) == ["timeout"]
        assert done(tools, ("add", {"item": "tea"})) == [["tea"]]


def test_a_process_that_ends_fails_all_calls_from_then_on(functions: Path) -> None:
    with opened(functions) as tools:
        gone = "the process of the tools exited with code 3"
        assert done(tools, ("wait", {"seconds": 60}), ("crash", {})) == [gone, gone]
        assert done(tools, ("add", {"item": "tea"})) == [gone]


def test_commands_get_the_arguments_and_print_the_result(commands: Path) -> None:
    with opened(commands) as tools:
        assert [tool.name for tool in tools.tools] == [each["name"] for each in COMMANDS]
        assert tools.tools[1].parameters == {"type": "object", "properties": {}}
        names = ["track", "text", "deaf", "fail", "missing", "endless"]
        found = done(tools, *((name, {"order": "é" * 20_000}) for name in names))
        assert done(tools, ("stuck", {}), within_s=0.2) == ["timeout"]
    assert found[:4] == [{"at": "é" * 20_000}, "25 minutes", "", "sh: exited with code 4: gone"]
    assert found[4] == "./not-there: No such file or directory"
    assert found[5] == f"expected a result of at most {MOST_RESULT_BYTES} bytes, got more"


@pytest.mark.parametrize("kind", ["functions", "commands"])
def test_nothing_is_left_behind(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)

    def act() -> None:
        with opened(path) as tools:
            done(tools, ("stuck", {}), within_s=0.2)
            asyncio.run_coroutine_threadsafe(tools.do("stuck", {}), event_loop())
            time.sleep(0.1)

    assert_leaves_nothing(act)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.py", "x = 1\n", "a.py: expected functions with type hints and docstrings, got none"),
        ("a.py", "def f(x: int):\n    pass\n", "a.py: f: expected a docstring"),
        ("a.py", 'def f(x):\n    "Do."\n', "a.py: f: expected parameters with a name and a type, got 'x'"),
        ("a.py", 'def f(*x: int):\n    "Do."\n', r"a.py: f: expected parameters .*, got '\*x: int'"),
        ("a.py", 'def f(x: "Nope"):\n    "Do."\n', "a.py: f: expected types that are defined: name 'Nope'"),
        ("a.py", 'def f(x: complex):\n    "Do."\n', "a.py: f: expected types that JSON has: .*complex"),
        ("a.py", 'def f(x: list = [1]):\n    "Do."\n', "a.py: f: "),
        ("a.py", "def f(:\n", "a.py, line 1: invalid syntax"),
        ("a.py", "x = 1\nraise KeyError('key')\n", "a.py, line 2: KeyError: 'key'"),
        ("a.py", "import nowhere_to_be_found\n", "a.py, line 1: ModuleNotFoundError"),
        ("a.py", "raise SystemExit(3)\n", "a.py, line 1: SystemExit: 3"),
        ("a.txt", "", r"a.txt: expected a Python file \(.py\) or a JSON file \(.json\)"),
        ("a.json", "{", "a.json: expected a list of tools as JSON, got: "),
        ("a.json", "{}", "a.json: expected a list of tools, each an object"),
        ("a.json", "[]", "a.json: expected a list of tools, each an object"),
        ("a.json", '[{"name": "f", "command": "true"}]', "a.json: tool 1: expected a description, got none"),
        ("a.json", '[{"description": "Do.", "command": "true"}]', "a.json: tool 1: expected a name, got none"),
        ("a.json", '[{"name": "f", "description": "Do."}]', "a.json: tool 1: expected a command, got none"),
        ("a.json", '[{"name": "f g", "description": "Do.", "command": "true"}]',
         "tool 1: name: expected letters, digits, _ and -, at most 64, got 'f g'"),
        ("a.json", '[{"nam": "f"}]', "tool 1: expected settings of name, .*, got 'nam'; perhaps name"),
        ("a.json", '[{"name": "f", "description": "Do.", "command": ""}]', "command: expected a command"),
        ("a.json", '[{"name": "f", "description": "Do.", "command": "a \'b"}]', "command: No closing quotation"),
        ("a.json", '[{"name": "f", "description": "Do.", "command": "true", "parameters": {}}]',
         "parameters: expected a JSON Schema with"),
        ("a.json", '[{"name": "f", "description": "Do.", "command": "true", "parameters": {"type": "object", '
         '"properties": {"x": {"type": "text"}}}}]', "a.json: tool 1: parameters: expected a JSON Schema, got: "),
        ("a.json", json.dumps([COMMANDS[1]] * 2), "a.json: tool 2: expected another name, got text twice"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_clear_line(
    tmp_path: Path, name: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as refused:
        (commands_in if name.endswith(".json") else functions_in)(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise KeyError('key')\n", "a.py, line 1: KeyError: 'key'"),
        ("import os\nos._exit(3)\n", "a.py: the process that loads it exited with code 3"),
    ],
)
def test_a_process_that_cannot_load_the_file_says_why(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.py").write_text(text)

    def act() -> None:
        with pytest.raises(SettingsError, match=message), opened(tmp_path / "a.py"):
            pass

    assert_leaves_nothing(act)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("file:{}/none.py", "none.py: expected a Python or a JSON file, got: No such file"),
        ("file:{}", "expected a Python or a JSON file, got: Is a directory"),
        (
            "file:{}/tools.py?latency=soon",
            "latency: expected instant, .*, or a range of ms such as 200-800, got 'soon'",
        ),
        ("file:{}/tools.py?timeout_s=0", "timeout_s: expected a number from 0.01 to 600, got '0'"),
        ("file:{}/tools.py?speed=2", "expected settings of latency, timeout_s, faults, got 'speed'"),
        ("shelf:x", "tools: expected one of file"),
    ],
)
def test_a_wrong_address_is_refused_at_once(functions: Path, address: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        world(address.format(functions.parent))


def test_what_was_never_opened_can_be_closed(functions: Path) -> None:
    assert_leaves_nothing(lambda: world(f"file:{functions}").close())
