"""An object store that keeps the finished calls of a run, for machines that do not see each other's disks.

Any store that fsspec knows: "s3://BUCKET/FOLDER", with its keys where its own tools look for them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fdbcore.errors import MissingExtraError, RecordingError, SettingsError
from fdbcore.recording.files import META, part_of


class Store:
    """The folder of a run in an object store. MissingExtraError without its package, SettingsError if it is unknown."""

    def __init__(self, url: str) -> None:
        scheme, _, place = url.partition("://")
        if not (scheme and place.strip("/")):
            raise SettingsError(f"--store {url}: expected an address such as s3://BUCKET/FOLDER")
        if find_spec("fsspec") is None:
            raise MissingExtraError(f"--store {url} needs fsspec: pip install 'fdbcore[store]'")
        import fsspec

        self._url = url
        try:
            # Listings are never remembered: other machines write, too.
            self._files: Any = fsspec.filesystem(scheme, use_listings_cache=False)
        except ValueError as error:
            raise SettingsError(f"--store {url}: {error}") from None
        except ImportError as error:
            raise MissingExtraError(f"--store {url}: {error}; pip install 'fdbcore[store]' for s3") from None
        self._place = place.rstrip("/")

    def check(self) -> None:
        """SettingsError if it cannot be written."""
        try:
            with self._told():
                self._files.pipe_file(f"{self._place}/.fdbcore", b"")
        except RecordingError as error:
            raise SettingsError(f"--store {error}") from None

    def fetch(self, call: str, run_path: Path) -> bool:
        """Make the folder of a call in a run what it is in the store; False if it is not there. RecordingError."""
        there, here = f"{self._place}/{call}", part_of(run_path, call)
        with self._told():
            names = self._names(there)
            if META not in names:
                return False
            for name in names:
                part_of(here, *name.split("/"))
            shutil.rmtree(here, ignore_errors=True)
            for name in sorted(names, key=lambda name: name == META):  # last: until then the call has not ended
                (here / name).parent.mkdir(parents=True, exist_ok=True)
                self._files.get_file(f"{there}/{name}", str(here / name))
        return True

    def put(self, call: str, run_path: Path) -> None:
        """Make the folder of a call in the store what it is in a run. RecordingError."""
        there, here = f"{self._place}/{call}", run_path / call
        names = [str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()]
        with self._told():
            before = self._names(there)
            for name in sorted(before, key=lambda name: name != META):  # first: from here on the call has not ended
                self._files.rm_file(f"{there}/{name}")
            for name in sorted(names, key=lambda name: name == META):
                self._files.put_file(str(here / name), f"{there}/{name}")

    def _names(self, there: str) -> list[str]:
        found = self._files.find(there)
        return [path.partition(f"{there}/")[2] for path in found]

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # each store has errors of its own
            why = " ".join(str(error).split()) or type(error).__name__
            raise RecordingError(f"{self._url}: {why}") from error
