"""A package index on 127.0.0.1, as pip asks one (PEP 503), with wheels of a test. It notes what is asked for."""

import hashlib
import io
from collections.abc import Mapping
from zipfile import ZipFile

from fakes.threaded import Handler, ThreadedServer


def wheel(name: str, version: str, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The file name and bytes of a wheel with these files; it says that it depends on a package that is nowhere."""
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: is-nowhere\n"
    info = {
        "METADATA": metadata.encode(),
        "WHEEL": b"Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "licenses/LICENSE": b"Do as you like.\n",
        "RECORD": b"",
    }
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for path, content in {**files, **{f"{stem}.dist-info/{key}": value for key, value in info.items()}}.items():
            archive.writestr(path, content)
    return f"{stem}-py3-none-any.whl", made.getvalue()


class PackageIndex(ThreadedServer):
    """A context manager; `wheels` by their names may change while it runs."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.wheels: dict[str, bytes] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        """What PIP_INDEX_URL has to be."""
        return f"http://127.0.0.1:{self.server_port}/simple/"


class _Handler(Handler):
    server: PackageIndex

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        _, kind, name, *_ = self.path.split("/")
        if kind == "simple":
            files = {file: data for file, data in self.server.wheels.items() if file.startswith(name.replace("-", "_"))}
            links = [
                f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>'
                for file, data in files.items()
            ]
            self.send(f"<!DOCTYPE html><body>{''.join(links)}</body>".encode(), 200 if files else 404, "text/html")
        else:
            self.send(self.server.wheels[name], kind="application/octet-stream")
