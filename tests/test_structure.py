"""The shape of the project: who imports whom, what is public, what ships, and what importing costs."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

import fdbcore
from fdbcore import registry
from fdbcore.doors import Later
from fdbcore.protocols.suite import Suite
from fdbcore.registry import SUITES

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(str(files("fdbcore")))
CHECKOUT = pytest.mark.skipif(not (ROOT / "setup.py").is_file(), reason="needs the checkout, not only the wheel")

BASE = ("doors", "errors", "types", "_ext", "_version", "protocols", "clock", "registry")
"""The modules beside the packages, and the compiled core, in their order: each may import the earlier ones. All other
packages may import these modules. `types` and `protocols` are packages: scorecards and suites have modules of their
own in them."""
ROOT_MODULES = {*BASE} - {"_ext"}


def sources() -> dict[str, Path]:
    """Every module of the package by its dotted name, without that of the package; compiled ones are in `_ext`."""
    found = {}
    for source in [*PACKAGE.rglob("*.py"), *Path(str(files("fdbcore.cli"))).glob("*.py")]:
        base = PACKAGE if source.is_relative_to(PACKAGE) else PACKAGE / "cli"
        parts = source.relative_to(base if base == PACKAGE else source.parent).with_suffix("").parts
        parts = parts if base == PACKAGE else ("cli", *parts)
        found[".".join(parts).removesuffix(".__init__")] = source
    return found


SOURCES = {name: source for name, source in sources().items() if name != "__init__"}


@cache
def tree(source: Path) -> ast.Module:
    return ast.parse(source.read_text())


@cache
def imported(source: Path) -> set[str]:
    """The modules of fdbcore that a source file imports anywhere, also in a function or for its types alone.

    Relative imports are those of the package in whose folder the file is.
    """
    found = set()
    packages = ["fdbcore", *(source.parent.relative_to(PACKAGE).parts if source.is_relative_to(PACKAGE) else ["cli"])]
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            above = packages[: len(packages) + 1 - node.level] if node.level else []
            named = ".".join([*above, *filter(None, [node.module])])
            found |= {
                full if (full := f"{named}.{alias.name}").removeprefix("fdbcore.") in SOURCES else named
                for alias in node.names
            }
    return {name.removeprefix("fdbcore.") for name in found if name.startswith("fdbcore.")}


def room(module: str) -> str:
    return module.partition(".")[0]


def allowed(name: str) -> set[str]:
    """What a root module or a package may import."""
    if name in BASE:
        return {*BASE[: BASE.index(name)]}
    said = ast.get_docstring(tree(SOURCES[name])) or ""
    (names,) = re.findall(r"^May import: (.*)\.$", said, re.MULTILINE)
    if names == "all others":
        return {room(module) for module in SOURCES}
    return {*ROOT_MODULES, *(names.split(", ") if names != "nothing" else ())}


def test_the_root_holds_packages_and_a_few_modules() -> None:
    modules = {name for name, source in SOURCES.items() if "." not in name and source.name != "__init__.py"}
    assert modules == ROOT_MODULES - {"types", "protocols"}


@pytest.mark.parametrize("name", sorted({room(module) for module in SOURCES}))
def test_packages_import_what_they_say(name: str) -> None:
    found = {
        room(other) for module, source in SOURCES.items() if room(module) == name for other in imported(source)
    } - {name}
    assert found <= allowed(name)
    if name not in (*BASE, "cli"):
        assert allowed(name) - ROOT_MODULES <= found, "says that it imports more than it does"


def circles(imports: Mapping[str, set[str]]) -> list[str]:
    """What is left when again and again all is taken away that imports nothing which is left."""
    left = {name: set(others) - {name} for name, others in imports.items()}
    while done := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in done}
    return sorted(left)


def test_no_circles() -> None:
    assert circles({module: imported(source) for module, source in SOURCES.items()}) == []
    assert circles({name: allowed(name) - {name} for name in {room(module) for module in SOURCES} - {"cli"}}) == []


def test_every_public_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name
        for source in SOURCES.values()
        for node in ast.walk(tree(source))
        if isinstance(node, ast.ClassDef) and node.name[0] != "_"
    )
    assert [name for name, times in names.items() if times > 1] == []


WORDS = {"clips"}
"""Names of suites that are words of the whole project, too; the names of their packages are not."""


@pytest.mark.parametrize("module", sorted(set(SOURCES) - {"registry"}))
def test_only_the_registry_names_a_suite(module: str) -> None:
    """`fdbcore/__init__` alone hands names of suites on, for users of the library."""
    if room(module) == "suites":
        return
    assert {other for other in imported(SOURCES[module]) if other.startswith("suites.")} == set()
    text = SOURCES[module].read_text()
    packages = {name.split(".")[1] for name in SOURCES if name.startswith("suites.") and name.count(".") > 1}
    assert [name for name in ({*SUITES} - WORDS) | packages if name in text] == []


def test_every_public_name_resolves() -> None:
    assert fdbcore.__all__ == sorted(fdbcore.__all__)
    assert all(getattr(fdbcore, name) is not None for name in fdbcore.__all__)
    with pytest.raises(AttributeError, match="nope"):
        _ = fdbcore.nope  # type: ignore[attr-defined]


@pytest.mark.parametrize("stub", sorted(PACKAGE.rglob("__init__.pyi")), ids=lambda stub: stub.parent.name)
def test_doors_open_and_each_of_their_names_is_asked_for(stub: Path) -> None:
    package = ".".join(("fdbcore", *stub.parent.relative_to(PACKAGE).parts))
    names = [alias.name for node in tree(stub).body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(importlib.import_module(package).__all__) == sorted({*names})
    assert all(hasattr(importlib.import_module(package), name) for name in names)
    if package != "fdbcore":
        asked = {
            alias.name
            for source in SOURCES.values()
            for node in ast.walk(tree(source))
            if isinstance(node, ast.ImportFrom) and node.module == package
            for alias in node.names
        }
        assert {*names} <= asked | {"ItemSuite"}  # a suite of one's own: docs/adding.md


@pytest.mark.parametrize(
    "suite", sorted({name.split(".")[1] for name in SOURCES if name.count(".") > 1 and room(name) == "suites"})
)
def test_a_suite_knows_few_modules_of_others(suite: str) -> None:
    own = f"suites.{suite}"
    others = {
        other for name, source in SOURCES.items() if f"{name}.".startswith(f"{own}.") for other in imported(source)
    }
    assert len({other for other in others if not f"{other}.".startswith(f"{own}.")}) <= 25


def places(value: object) -> Iterator[tuple[Later, str]]:
    """What stands in other modules, with what it is called there: of a suite, its labels and its commands."""
    for name, part in inspect.getmembers(value):
        if isinstance(part, Later):
            yield part, name


def found(part: Later) -> Callable[..., object]:
    module, name = part.place.split(":")
    function: Callable[..., object] = getattr(importlib.import_module(module), name)
    return function


@pytest.mark.parametrize("name", SUITES)
def test_what_stands_in_another_module_is_called_as_the_interface_says(name: str) -> None:
    suite = registry.suite(name)
    methods = {part: inspect.signature(getattr(Suite, method)).parameters for part, method in places(suite)}
    assert methods
    for part, expected in methods.items():
        assert len(inspect.signature(found(part)).parameters) == len(part.given) + len(expected) - 1, part.place
    fields = {"holds": 1, "agree": 4, "rate": 3, "do": 2, "reads": 1}
    for owner in filter(None, (suite.labels, *suite.commands)):
        for part, field in places(owner):
            assert len(inspect.signature(found(part)).parameters) == fields[field], part.place


@pytest.mark.parametrize("module", ["fdbcore", "fdbcore.cli.main", "fdbcore.runs.replay"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) & {"av", "numba", "plotly", "rich", "scipy", "soxr", "asyncio"} == set()


def others_imported(source: Path) -> set[str]:
    """The packages of others that a source file imports anywhere."""
    nodes = [*ast.walk(tree(source))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def test_one_room_alone_knows_of_a_cluster_and_of_a_store() -> None:
    """The registry has the names of its parts, so that nothing imports it."""
    outside = {module: source for module, source in SOURCES.items() if room(module) != "cluster"}
    assert {module for module, source in outside.items() if "cluster" in map(room, imported(source))} == set()
    assert {module for module, source in outside.items() if {"ray", "fsspec"} & others_imported(source)} == set()
    assert {"ray", "fsspec"} <= {
        name for module in SOURCES.keys() - outside for name in others_imported(SOURCES[module])
    }


@CHECKOUT
def test_without_an_address_nothing_of_a_cluster_is_loaded(tmp_path: Path) -> None:
    code = f"""
import sys
import fdbcore
sample, out = {str(ROOT / "benchmarks" / "sample" / "sample.flac")!r}, {str(tmp_path)!r}
fdbcore.replay(sample, out=out + "/one", vad="energy")
fdbcore.score(fdbcore.replay_all(sample, out=out + "/many", vad="energy", jobs=1))
fdbcore.run("echo", clips=[sample], clock="virtual", max_s=1, vad="energy", out=out + "/live")
print(*(name for name in sys.modules if name.startswith(("fdbcore.cluster", "ray", "fsspec"))))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.split() == []


def test_every_module_can_be_imported_on_its_own() -> None:
    for source in sorted(PACKAGE.rglob("*.py")):
        parts = source.relative_to(PACKAGE.parent).with_suffix("").parts
        importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def test_docstrings_name_the_value_first() -> None:
    """Thus "The wait of B", not "How long B waited"; those of methods too, and what stands below a field."""
    opening = re.compile(r'"""(?:That|Those|What|Whether|Which|How)\b')
    files = {*SOURCES.values(), *PACKAGE.rglob("*.py[ix]"), PACKAGE / "__init__.py"}
    lines = ((file, line) for file in files for line in file.read_text().splitlines())
    assert [f"{file}: {line.strip()}" for file, line in lines if opening.search(line)] == []


@CHECKOUT
def test_a_replay_of_a_file_seldom_climbs_to_a_higher_package_again() -> None:
    walk = [sys.executable, "-m", "benchmarks.walk", "fdbcore.runs.replay:replay_session:session"]
    told = subprocess.run(walk, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    stays = [line for line in told if line[2:].startswith("fdbcore.")]
    assert any("fdbcore.runs.amend keep_log" in line for line in stays), "it came to the end"
    assert sum(line.startswith("^") for line in stays) <= 6
    assert max(Counter(line.split()[0 if line[0] == " " else 1] for line in stays).values()) <= 3


@CHECKOUT
def test_every_package_ships() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "fdbcore").rglob("__init__.py")}
    assert set(project["packages"]) == {".".join(folder.parts) for folder in folders} | {"fdbcore.cli"}


@CHECKOUT
def test_every_compiled_module_is_built_and_has_a_stub() -> None:
    sources = {path.stem for path in (ROOT / "fdbcore" / "_ext").glob("*.pyx")}
    assert {path.stem for path in (ROOT / "fdbcore" / "_ext").glob("*.pyi")} == sources
    assert all(f'"{name}"' in (ROOT / "setup.py").read_text() for name in sources)
