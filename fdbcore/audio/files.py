"""A file of audio as it lies on the disk: what is known of it, its content and its state."""

import hashlib
from pathlib import Path
from typing import Annotated, Required, TypedDict

from msgspec import Meta


class SourceFile(TypedDict, total=False):
    """A file that was read."""

    path: Required[Annotated[str, Meta(description="in a recording from its folder")]]
    sha256: str
    bytes: int
    modified_ns: Annotated[int, Meta(description="since 1970")]
    container: str
    codec: str
    rate_hz: int
    channels: int
    bit_depth: int | None
    samples: Annotated[int, Meta(description="at rate_hz")]
    notes: Annotated[list[str], Meta(description="what is odd about it")]
    damage: Annotated[str | None, Meta(description="what is missing of it")]
    playable_in_browser: Annotated[bool, Meta(description="with the same timing")]
    channel: Annotated[str, Meta(description="that a clip plays")]


def content_hash(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def state_of(path: Path) -> dict[str, int]:
    """Size and modification time of a file: if both are the same, its content counts as the same. Raises OSError."""
    stat = path.stat()
    return {"bytes": stat.st_size, "modified_ns": stat.st_mtime_ns}
