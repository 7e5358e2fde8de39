"""Renders pages from Jinja2 templates in the folder `static` of the report, or of the package that owns a page.

Each page is one file that works without a network; it loads only what it contains or names. Python passes plain values
to a template. The template escapes them, and has all tags except those of drawings (SVG).
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from fdbcore._version import __version__
from fdbcore.recording.files import json_pieces
from fdbcore.report.format import clock_text, counted
from fdbcore.report.glossary import in_words
from fdbcore.report.html.values import NOTES
from fdbcore.runtime.cache_folder import cache_folder

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from markupsafe import Markup

INDEX: Final = "index.html"
"""The page of a run."""
COMPARE: Final = "compare.html"
"""The page of its comparison."""
OWN: Final = "fdbcore.report"


def render(template: str, package: str = OWN, **values: Any) -> str:  # noqa: ANN401
    """Render a template of a package with these values."""
    return "".join(render_pieces(template, package, **values))


def render_pieces(template: str, package: str = OWN, **values: Any) -> Iterator[str]:  # noqa: ANN401
    """Render it in pieces, so that a large page is never held as one text."""
    return environment(package).get_template(template).generate(values)


@cache
def environment(package: str = OWN) -> "Environment":
    """The Jinja2 environment of a package; its templates may extend and import those of the report."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(name, "static") for name in dict.fromkeys((package, OWN))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )
    made.filters |= {
        "clock": clock_text,
        "counted": counted,
        "embedded": embedded_json,
        "embedded_pieces": embedded_pieces,
        "g": lambda value: f"{value:g}",
        "in_words": in_words,
        "linked": linked,
        "sentence": lambda text: text[:1].upper() + text[1:],
        "unbroken": lambda text: re.sub(r"(?<=\d) (?=s\b|%)", "\N{NO-BREAK SPACE}", text),
    }
    made.globals["NOTES"] = NOTES
    made.globals["static"] = lambda name, owner=package: static(name, owner)
    return made


def _compiled() -> "BytecodeCache | None":
    """The cache of compiled templates, kept as Python keeps modules: to compile them takes a tenth of a short replay.

    None if there is no place for them. Jinja2 tells by its source whether a template is still the same.
    """
    from jinja2 import FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    class KeptTemplates(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):  # a full disk there is no reason to refuse a page here
                super().dump_bytecode(bucket)

    try:
        folder = cache_folder() / f"templates-{__version__}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return KeptTemplates(str(folder))


@cache
def static(name: str, package: str = OWN) -> str:
    """The text of a file in the folder `static` of a package."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")


def linked(text: str) -> "Markup":
    """A text with the links of `values.Links`, escaped."""
    from markupsafe import Markup, escape

    plain, *parts = re.split(r"\[([^][]*)\]\(([\w./%~-]*#[^)[]*)\)", text)
    linked = [
        Markup('<a href="{}">{}</a>{}').format(address, number, after)
        for number, address, after in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]
    return Markup("").join([escape(plain), *linked])


def embedded_json(value: object) -> str:
    """JSON that is safe in a script element: nothing in it can end the element or open a comment."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def embedded_pieces(value: Mapping[str, object]) -> Iterator[str]:
    """The same of a mapping, in pieces."""
    return (piece.replace("<", "\\u003c") for piece in json_pieces(value, (",", ":")))
