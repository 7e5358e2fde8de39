"""The folder of the user's cache: what stands in it can be made or fetched again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/fdbcore, by default ~/.cache/fdbcore. It may be missing."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fdbcore"
