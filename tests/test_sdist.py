"""What the sdist contains: all that the wheel, the tests and the pages need, and nothing that was made here."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = {"PKG-INFO", "setup.cfg"}
"""By setuptools, beside `fdbcore.egg-info`."""

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None, reason="needs the repository, not only its files"
)


def of_the_repository() -> set[str]:
    """Every file that git keeps or would add, but for its own, those of GitHub, and those of continuous integration."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return {name for name in names if name and not name.startswith(".") and (ROOT / name).is_file()}


def made(checkout: Path, folder: Path) -> set[str]:
    command = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(folder)]
    subprocess.run(command, cwd=checkout, capture_output=True, check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {member.name.partition("/")[2] for member in opened if member.isfile()}
    return {name for name in names if not name.startswith("fdbcore.egg-info/")} - WRITTEN


def test_the_sdist_has_the_repository_and_nothing_that_was_made_in_it(tmp_path: Path) -> None:
    expected = of_the_repository()
    checkout = tmp_path / "checkout"
    for name in expected:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, checkout / name)
    for junk in (
        *("fdbcore/_ext/turns.cpython-311-x86_64-linux-gnu.so", "fdbcore/__pycache__/clock.cpython-311.pyc"),
        *(".venv/bin/python", "build/lib/fdbcore/_ext/turns.so", "dist/fdbcore-0.1.0.tar.gz", ".env"),
        *(f"tests/fakes/{peer}/node_modules/ws/index.js" for peer in ("aimock", "axe", "node_peer")),
    ):
        (checkout / junk).parent.mkdir(parents=True, exist_ok=True)
        (checkout / junk).write_text("made here")
    if (translated := ROOT / "build" / "cython").is_dir():  # else it takes a quarter of a minute again
        shutil.copytree(translated, checkout / "build" / "cython")
    assert made(checkout, tmp_path / "dist") == expected
