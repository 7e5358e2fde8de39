"""A package of a user's that brings parts of its own."""

from pathlib import Path


def plugin(path: Path, name: str, entry_points: str) -> Path:
    """Make a folder that, on the path of imports, is this package with these entry points; return it."""
    distribution = path / f"fdbcore_{name}-1.0.dist-info"
    distribution.mkdir(parents=True)
    (distribution / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fdbcore-{name}\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text(entry_points)
    return path
