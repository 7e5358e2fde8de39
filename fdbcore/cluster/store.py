"""An object store that keeps the finished calls of a run, for machines that do not see each other's disks.

Any store that fsspec knows: "s3://BUCKET/FOLDER", with its keys where its own tools look for them.
"""

import shutil
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fdbcore.errors import MissingExtraError, RecordingError, SettingsError
from fdbcore.recording.files import DERIVED, LABELS, MARKS, META, part_of, read_json, write_json
from fdbcore.recording.places import with_places_from
from fdbcore.runs.replay_jobs import ReplayResult, Replays, ReplaySettings, died_at, replay_one
from fdbcore.runtime.executor import Executor
from fdbcore.sources.sessions import SessionInput
from fdbcore.types import SIDES


def through(url: str) -> Replays:
    """A replay of calls through the store at an address, as `replay_jobs.replayed` is without one.

    MissingExtraError without its package, SettingsError if it is unknown or cannot be written.
    """
    store = Store(url)
    try:
        store.touch()
    except RecordingError as error:
        raise SettingsError(f"--store {error}") from None
    return store.replayed


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
            # What is listed is never remembered: other machines write, too.
            self._files: Any = fsspec.filesystem(scheme, use_listings_cache=False)
        except ValueError as error:
            raise SettingsError(f"--store {url}: {error}") from None
        except ImportError as error:
            raise MissingExtraError(f"--store {url}: {error}; pip install 'fdbcore[store]' for s3") from None
        self._place = place.rstrip("/")

    def touch(self) -> None:
        """RecordingError if it cannot be written."""
        with self._told():
            self._files.pipe_file(f"{self._place}/.fdbcore", b"")

    def replayed(
        self, sessions: Iterable[tuple[int, SessionInput]], settings: ReplaySettings, executor: Executor
    ) -> Generator[ReplayResult | None]:
        """Replay numbered sessions; what is in the store comes into the run as each call ends."""
        names: dict[int, str] = {}

        def drawn() -> Iterator[tuple[int, SessionInput]]:
            for number, session in sessions:
                names[number] = session.name
                yield number, session

        work = partial(_replay_into_store, url=self._url, settings=settings)
        with closing(executor.results(work, drawn(), died_at)) as results:
            for each in results:
                if each is not None:
                    self.fetch(names.pop(each.number), settings.run_path)
                yield each

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


def _replay_into_store(task: tuple[int, SessionInput], url: str, settings: ReplaySettings) -> ReplayResult:
    """Replay a session in a folder of this machine, which has its earlier recording from the store, and put it there.

    RecordingError if the store cannot be read or written.
    """
    store, call = Store(url), task[1].name
    with TemporaryDirectory(prefix="fdbcore-") as scratch:
        here, there = Path(scratch) / call, settings.run_path / call
        store.fetch(call, Path(scratch))
        _move_places(here, there, here)
        before = _files_of(here)
        found = replay_one(task, replace(settings, run_path=Path(scratch)))
        if _files_of(here) != before:
            _move_places(here, here, there)
            store.put(call, Path(scratch))
        told = [text and text.replace(scratch, str(settings.run_path)) for text in (found.reason, found.unscored)]
    return replace(found, reason=told[0], unscored=told[1])


def _move_places(recording: Path, old: Path, new: Path) -> None:
    """Make a recording name files from where it will lie, in place of where it was made."""
    for name in (META, LABELS, MARKS, *(f"{DERIVED}/{side}.json" for side in SIDES)):
        with suppress(RecordingError):  # a damaged one is made anew
            if (path := recording / name).is_file():
                write_json(path, with_places_from(new, read_json(path), written_in=old))


def _files_of(folder: Path) -> dict[Path, int]:
    """When each file of a folder was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
