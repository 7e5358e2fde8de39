"""What all pages share: one file each that needs no network, and may load nothing but what it holds or names."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

INDEX = "index.html"
"""The page of a run."""


def static(name: str, package: str = "fdbcore.report") -> str:
    """The text of a file in a package's folder `static`."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")


def shell(body: str, title: str, style: str, sources: str) -> str:
    """A whole page: `body` (its element, everything in it escaped), with the report's style and `style` after it.

    title: not yet escaped. sources: the directives of the Content-Security-Policy beside that of styles.
    """
    style = f"{static('report.css')}\n{style}" if style else static("report.css")
    return Template(static("shell.html")).substitute(body=body, title=escape(title), style=style, sources=sources)
