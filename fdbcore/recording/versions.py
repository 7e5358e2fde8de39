"""The software versions that the numbers of a recording depend on."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fdbcore._version import __version__


def installed_versions() -> dict[str, str]:
    """Versions of fdbcore, Python and the packages that affect results; a package that is not installed is left out."""
    return dict(_installed())


@cache
def _installed() -> dict[str, str]:
    found = {"fdbcore": __version__, "python": platform.python_version()}
    for name in ("numpy", "av", "aiortc", "aiohttp", "uvloop", "espeakng-loader"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
