"""The doors of packages: what a package gives to others stands in its `__init__.pyi`, and is imported when first used.

So are the parts of a benchmark, which are listed long before they are needed (`Later`).

As in SPEC 1 of Scientific Python (https://scientific-python.org/specs/spec-0001): type checkers and editors read the
stub, so that a package can offer all its modules in one place and still cost nothing to import.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # as in typing, whose import takes so long that a Ctrl-C may come within it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Later:
    """A function of another module, "MODULE:NAME", which is imported when the function is first called.

    given: its first arguments.
    """

    def __init__(self, place: str, *given: object) -> None:
        self.place, self.given = place, given

    def __call__(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        """Import the module, and call the function."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)(*self.given, *args, **options)


def _names_through(package: str) -> dict[str, str]:
    """{name: its module} of the stub of a package: each of its lines is `from .MODULE import NAME as NAME`."""
    with open(f"{sys.modules[package].__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        lines = [line.split() for line in stub if line.startswith("from .")]
    return {line[-1]: package + line[1] for line in lines}


def door(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that has a stub. AttributeError for a name that is not in it."""
    names: dict[str, str] = {}

    def through(name: str) -> Any:  # noqa: ANN401
        if not names:
            names.update(_names_through(package))
        if name == "__all__":
            return sorted(names)
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(names[name]), name)
        setattr(sys.modules[package], name, value)  # the next access finds it there and does not come here
        return value

    return through
