"""Models that come inside packages of the package index, pinned by their SHA-256, and kept in a cache.

The catalogue (data/packages.toml) names the exact bytes. `fdbcore.models.fetch` puts them into the cache:

    FOLDER/NAME-VERSION/...         FOLDER: $FDBCORE_MODELS, else $XDG_CACHE_HOME/fdbcore/models, else ~/.cache/...
    FOLDER/NAME-VERSION/files.json  the size, time of change and SHA-256 of each file
    FOLDER/fetched/                 wheels of a `get` that was interrupted; the next one continues with them
"""

import functools
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import MissingExtraError, RecordingError, SettingsError, nearest
from fdbcore.runtime.cache_folder import cache_folder
from fdbcore.runtime.whole_files import whole_file

CATALOGUE: Final = Path(__file__).parent / "data" / "packages.toml"
FOLDER_VARIABLE: Final = "FDBCORE_MODELS"
FILES: Final = "files.json"


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel of the package index. file: its name. bytes, sha256: of the wheel. root, keep: see the catalogue."""

    name: str
    version: str
    file: str
    bytes: int
    sha256: str
    root: str
    keep: str


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model of the catalogue. bytes, digest: of its files (see the catalogue)."""

    name: str
    what: str
    version: str
    licence: str
    publisher: str
    source: str
    bytes: int
    digest: str
    packages: tuple[Package, ...]

    @property
    def folder(self) -> Path:
        """The folder where it is kept, or would be."""
        return home() / f"{self.name}-{self.version}"

    @property
    def download_bytes(self) -> int:
        """The size of its wheels."""
        return sum(package.bytes for package in self.packages)

    def describe(self) -> Mapping[str, Any]:
        """Version and exact bytes, as JSON values for a recording."""
        names = ("name", "version", "digest", "licence", "publisher")
        return {name: getattr(self, name) for name in names}


def home() -> Path:
    """The folder of all models."""
    if own := os.environ.get(FOLDER_VARIABLE):
        return Path(own)
    return cache_folder() / "models"


def catalogue() -> Mapping[str, PackagedModel]:
    """All models by name."""
    return _read(CATALOGUE)


@functools.cache
def _read(path: Path) -> Mapping[str, PackagedModel]:
    made = {}
    for entry in tomllib.loads(path.read_text())["model"]:
        packages = tuple(Package(**each) for each in entry.pop("package"))
        made[entry["name"]] = PackagedModel(**entry, packages=packages)
    return made


def packaged(name: str) -> PackagedModel:
    """The model of that name. SettingsError if the catalogue has none."""
    known = catalogue()
    if name not in known:
        raise SettingsError(f"model: expected {', '.join(known)}, got {name!r}{nearest(name, known)}")
    return known[name]


def ready(name: str) -> PackagedModel:
    """The model, whose files are there and unchanged since they were checked; see `why_not`.

    MissingExtraError, which names the command that gets it, if it is not there, or has been changed.
    """
    model = packaged(name)
    if (reason := why_not(model)) is not None:
        raise MissingExtraError(
            f"{name}: expected the model in {model.folder}, {reason}: "
            f"fdbcore models get {name} ({megabytes(model.download_bytes)})"
        )
    return model


def why_not(model: PackagedModel) -> str | None:
    """The obstacle to using the files of a model; None if there is none.

    Sizes and times of change decide. Where only times differ, as after a copy, the SHA-256 decides, and the new times
    are noted.
    """
    try:
        record = json.loads((model.folder / FILES).read_text())
    except FileNotFoundError:
        return "found none"
    except (OSError, ValueError):
        return f"found no {FILES} that can be read"
    if record["digest"] != model.digest:
        return "found another one"
    has_other_times = False
    for path, known in record["files"].items():
        try:
            found = (model.folder / path).stat()
        except OSError:
            return f"found no {path}"
        if found.st_size != known["bytes"]:
            return f"found that {path} was changed"
        has_other_times |= found.st_mtime_ns != known["mtime_ns"]
    return _why_not_read(model, record["files"]) if has_other_times else None


def _why_not_read(model: PackagedModel, files: Mapping[str, Any]) -> str | None:
    """As `why_not`, by every byte. files: those of the record."""
    sha256 = {path: sha256_of(model.folder / path) for path in files}
    if digest_of(sha256) != model.digest:
        changed = [path for path in files if sha256[path] != files[path]["sha256"]]
        return f"found that {changed[0]} was changed" if changed else "found another one"
    with suppress(OSError):  # of a cache that cannot be written, which is read each time
        write_record(model.folder, sha256)
    return None


def write_record(folder: Path, sha256: Mapping[str, str]) -> None:
    """Note the files of a model in `folder`, so that `why_not` sees a change of them. sha256: of each, by its path."""
    record: dict[str, Any] = {"digest": digest_of(sha256), "files": {}}
    for path, digest in sha256.items():
        state = (folder / path).stat()
        record["files"][path] = {"bytes": state.st_size, "mtime_ns": state.st_mtime_ns, "sha256": digest}
    with whole_file(folder / FILES) as file:
        file.write(json.dumps(record, indent=1).encode())


def verify(name: str) -> None:
    """Read every file of a model that is there, and compare their SHA-256 with the catalogue.

    MissingExtraError if it is not there; RecordingError, which says what to do, if its content is another.
    """
    model = ready(name)
    paths = json.loads((model.folder / FILES).read_text())["files"]
    if (found := digest_of({path: sha256_of(model.folder / path) for path in paths})) != model.digest:
        raise RecordingError(
            f"{model.folder}: expected the SHA-256 {model.digest[:12]}..., got {found[:12]}...: "
            f"remove the folder, and run: fdbcore models get {name}"
        )


def digest_of(sha256: Mapping[str, str]) -> str:
    """The digest of a model's files, as the catalogue states it. sha256: of each file, by its path."""
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(sha256.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def megabytes(size: int) -> str:
    """A number of bytes in words."""
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
