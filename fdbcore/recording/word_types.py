"""The types of the words of a side, as JSON values.

They are for type checkers and the schemas, and the forms by which the files of a run are checked as they are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Count, OfActivity, Seconds
from fdbcore.types import Side


class KnownWord(TypedDict):
    """A word that a Full-Duplex-Bench v1 folder brings."""

    text: str
    start_s: Seconds
    end_s: Seconds


class KnownWords(TypedDict):
    """The words of a side in a Full-Duplex-Bench v1 folder. left_out: how many have no times. unread: why none is
    known, although there is a file of them."""

    words: list[KnownWord]
    activity_sha256: NotRequired[OfActivity]
    left_out: NotRequired[Count]
    unread: NotRequired[str]


class Doubts(TypedDict):
    """Why most likely nobody said words that a transcriber heard."""

    in_silence: NotRequired[
        Annotated[
            Literal[True],
            Meta(description="the side was silent there by its voice activity; most likely nobody said it"),
        ]
    ]
    in_loop: NotRequired[
        Annotated[
            Literal[True],
            Meta(description="the transcriber says this phrase again and again; most likely nobody said it"),
        ]
    ]


class StoredWord(Doubts):
    """A word, in the half-open span [start_ms, end_ms) of the session."""

    text: str
    start_ms: Count
    end_ms: Count


class StoredTranscript(TypedDict):
    """What one transcriber heard."""

    transcriber: Annotated[str, Meta(description="its address")]
    described: Annotated[dict[str, Any], Meta(description="what decides its words, in its own fields")]
    language: Annotated[str, Meta(description="as ISO 639-1; empty if the transcriber had to find it out")]
    audio_sha256: Annotated[str, Meta(description="of the side's audio on the session's clock: mono int16 at 48 kHz")]
    untimed: NotRequired[Annotated[Count, Meta(description="words left out because their times are not known")]]
    words: Annotated[list[StoredWord], Meta(description="by their start")]


class HashedAudio(TypedDict):
    """The audio of a side as it was last read in whole: while its files stay as they are, it is not read again."""

    sha256: Annotated[str, Meta(description="as `audio_sha256` of a transcript")]
    state: Annotated[dict[str, Any], Meta(description="size and modification time of its files, and their place")]


class SideWords(TypedDict):
    """derived/words_A.json or words_B.json: the words of a side. Fields may be added under the same version; a field is
    never given another meaning."""

    schema: Literal["fdbcore.words/1"]
    side: Side
    activity_sha256: NotRequired[OfActivity]
    audio: NotRequired[HashedAudio]
    transcripts: Annotated[
        list[StoredTranscript],
        Meta(description="one of each transcriber and language; that which was last asked for stands last"),
    ]
