"""The script and the style that all pages of calls share: two files in the folder `pages` of their run.

Their names hold a part of their hash, so pages that another version wrote keep what they were written for.
"""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Final

from fdbcore.errors import MissingExtraError
from fdbcore.recording.files import part_of, write_bytes
from fdbcore.report.html.templates import static

PAGES: Final = "pages"
"""The folder of a run with what its pages share."""

SCRIPTS: Final = (
    "data.js",
    "events.js",
    "drawing.js",
    "remarks.js",
    "timeline.js",
    "overview.js",
    "curve.js",
    "moments.js",
    "copy.js",
    "two-files.js",
    "main.js",
)


def script() -> str:
    """The plotting library, and the scripts of the page in a scope of their own."""
    return _script().decode()


@cache
def _script() -> bytes:
    """The same as it is written: 5 MB, which would take longer to decode and to encode again than a call to score."""
    own = "\n".join(map(static, SCRIPTS))
    return _plotly() + f'\n(() => {{\n"use strict";\n{own}\n}})();\n'.encode()


def style() -> str:
    """The style sheet."""
    return static("report.css")


@cache
def shared_names() -> tuple[str, str]:
    """The names of the two files: script and style."""
    script_hash, style_hash = (hashlib.sha256(each).hexdigest()[:8] for each in (_script(), style().encode()))
    return f"page-{script_hash}.js", f"page-{style_hash}.css"


def share(run_path: Path) -> None:
    """Write both files into the folder of a run, if they are not there. RecordingError if that fails."""
    for name, content in zip(shared_names(), (_script(), style().encode()), strict=True):
        path = part_of(run_path, PAGES, name)
        if not path.is_file():
            write_bytes(path, content)


def _plotly() -> bytes:
    """The script of the installed plotly package. It is found without an import, which would take seconds."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("plotly: expected it for the report, but it is not installed (pip install plotly)")
    return (Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_bytes()
