"""A file of audio as it lies on the disk: what is known of it, its content and its state."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta


class SourceFile(TypedDict):
    """A file that was read."""

    path: Annotated[str, Meta(description="in a recording from its folder")]
    sha256: NotRequired[str]
    bytes: NotRequired[int]
    modified_ns: NotRequired[Annotated[int, Meta(description="since 1970")]]
    container: NotRequired[str]
    codec: NotRequired[str]
    rate_hz: NotRequired[int]
    channels: NotRequired[int]
    bit_depth: NotRequired[int | None]
    samples: NotRequired[Annotated[int, Meta(description="at rate_hz")]]
    notes: NotRequired[Annotated[list[str], Meta(description="what is odd about it")]]
    damage: NotRequired[Annotated[str | None, Meta(description="what is missing of it")]]
    playable_in_browser: NotRequired[Annotated[bool, Meta(description="with the same timing")]]
    channel: NotRequired[Annotated[str, Meta(description="that a clip plays")]]


def content_hash(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def state_of(path: Path) -> dict[str, int]:
    """Size and modification time of a file: if both are the same, its content counts as the same. Raises OSError."""
    stat = path.stat()
    return {"bytes": stat.st_size, "modified_ns": stat.st_mtime_ns}
