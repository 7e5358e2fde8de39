"""What a fake of GPT-Live says, hears and hands over, and where it goes wrong."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fakes.realtime.plan import Reply

Reason: TypeAlias = Literal["close_requested", "expired", "content", "remote_hangup", "connection_lost"]

TICK_S = 0.4
"""So long after the start its silence is not quite zero."""


@dataclass(frozen=True)
class LivePlan:
    """A conversation in which both may speak at any time.

    replies: one for each turn of the user, in their order, the last one again for all that follow; the calls of one are
    handed over once its words were said, and what it says about their results is the next reply.
    heard: transcripts of the user's turns, likewise.
    greets: the first reply comes at once. reply_ms: from the end of the user's speech to the first sound.
    yield_ms: from the user's first sound until it falls silent; None: it never does.
    frame_ms: of audio in a message. usage_s: between reports of the usage. ends_ms, ends: when and why the server ends
    the session itself. drain_s: how long it may go on speaking after `session.close`. dropped: numbers of the frames
    of output that are lost in the server.
    """

    replies: Sequence[Reply] = (Reply(),)
    heard: Sequence[str] = ("I would like to book a table.",)
    greets: bool = False
    reply_ms: int = 400
    yield_ms: int | None = 200
    frame_ms: int = 100
    usage_s: float = 15.0
    ends_ms: int | None = None
    ends: Reason = "content"
    drain_s: float = 10.0
    dropped: Collection[int] = ()

    def reply(self, number: int) -> Reply:
        return self.replies[min(number, len(self.replies) - 1)]

    def transcript(self, turn: int) -> str:
        return self.heard[min(turn, len(self.heard) - 1)]
