"""Print the notes of a release, from CHANGELOG.md; `make release` keeps them.

It tells what stands in the way of a tag; with TAG=v0.2.0 in the environment, that makes it fail.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE = re.compile(r"^## (\d\S*) \((\d{4}-\d\d-\d\d)\)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def fragments(root: Path) -> list[str]:
    """Names of the changes that no release has yet."""
    return sorted(path.name for path in (root / "changelog.d").glob("*.*.md"))


def faults(root: Path, tag: str) -> list[str]:
    """What stands in the way of a release under this tag."""
    version = re.findall(r'^__version__ = "(.*)"', (root / "fdbcore" / "_version.py").read_text(), re.MULTILINE)[0]
    newest = RELEASE.findall((root / "CHANGELOG.md").read_text(encoding="utf-8"))[0][0]
    found = []
    if tag != f"v{version}":
        found.append(f"fdbcore/_version.py: expected {tag.removeprefix('v')}, the version of the tag, got {version}")
    if tag != f"v{newest}":
        found.append(f"CHANGELOG.md: expected {tag.removeprefix('v')} as the newest release, got {newest}")
    if left := fragments(root):
        found.append(f"changelog.d: expected none, as `make changelog` leaves it, got {', '.join(left)}")
    return found


def main(root: Path = ROOT) -> None:
    """Print the notes; what is wrong ends a release of a tag, and is told of any other."""
    version, date, text = RELEASE.findall((root / "CHANGELOG.md").read_text(encoding="utf-8"))[0]
    tag = os.environ.get("TAG")
    if wrong := faults(root, tag or f"v{version}"):
        print(*wrong, sep="\n", file=sys.stderr)
        if tag:
            sys.exit(1)
    print(f"# fdbcore {version} ({date})\n\n{text.strip()}")


if __name__ == "__main__":
    main()
