"""What a run changed since its baseline, as a line on the page of the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.recording.files import write_text
from fdbcore.report.comparison import words
from fdbcore.report.html.templates import INDEX, render

if TYPE_CHECKING:
    from fdbcore.analysis.comparison_types import Comparison

OPENS, CLOSES = "<!-- comparison -->", "<!-- end of the comparison -->"
_CSS: Final = {"worse": "failed", "better": "passed"}


def html(document: Comparison | None, is_linked: bool = True) -> str:
    """The line, between OPENS and CLOSES; without a comparison these alone. is_linked: to compare.html."""
    return f"{OPENS}{'' if document is None else _line(document, is_linked)}{CLOSES}"


def replace_line(folder: Path, document: Comparison) -> None:
    """Write the line anew into index.html of a run, if there is such a page: to draw all of it takes much longer.

    RecordingError if it cannot be written.
    """
    path = folder / INDEX
    if path.is_file():
        before, opens, rest = path.read_text(encoding="utf-8").partition(OPENS)
        after = rest.partition(CLOSES)[2]
        if opens:
            write_text(path, f"{before}{html(document)}{after}")


def _line(document: Comparison, is_linked: bool) -> str:
    verdict, baseline = words.verdict_of_all(document), document["baseline"]
    assert baseline is not None
    return render(
        "compared-line.html",
        css=_CSS.get(verdict, "not-measured"),
        sign=words.SIGNS[verdict],
        baseline=words.name(baseline),
        sentence=words.lead(document),
        listens=bool(words.moments_of(document)),
        made=words.made_on(document),
        is_linked=is_linked,
    )
