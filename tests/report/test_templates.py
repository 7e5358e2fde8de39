"""Compiled templates are kept, and a cache that is damaged, or cannot be written, harms no page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest

from fdbcore.report.html.templates import environment


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment.cache_clear()
    yield tmp_path / "cache"
    environment.cache_clear()


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Get the template of a call's page anew; the names of the templates that are compiled for that."""
    names: list[str | None] = []
    compile_source = jinja2.Environment.compile

    def noted(self: jinja2.Environment, source: str, name: str | None = None, *rest: object) -> object:
        names.append(name)
        return compile_source(self, source, name, *rest)  # type: ignore[call-overload]

    environment.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(jinja2.Environment, "compile", noted)
        environment().get_template("report.html")
    return names


def test_a_template_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "report.html" in compiled(monkeypatch)
    assert compiled(monkeypatch) == []


def test_a_damaged_cache_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(monkeypatch)
    for file in cache.rglob("*.cache"):
        file.write_bytes(file.read_bytes()[:100])
    assert "report.html" in compiled(monkeypatch)


def test_without_a_place_templates_are_compiled_each_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file, not a folder")
    assert "report.html" in compiled(monkeypatch)
    assert "report.html" in compiled(monkeypatch)


def test_a_full_disk_there_harms_no_page(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jinja2.bccache.tempfile.NamedTemporaryFile", full)
    assert "report.html" in compiled(monkeypatch)
