"""A WebRTC peer that tells on a data channel what happens in the call."""

from collections.abc import Mapping, Sequence
from typing import Any

from fdbcore.endpoints.frames import FrameStream, Pace
from fdbcore.endpoints.vendors.party_log import LoggedParty
from fdbcore.endpoints.webrtc.endpoint import WebRtcEndpoint
from fdbcore.types import Happening, Pcm


class WebRtcParty(LoggedParty, WebRtcEndpoint):
    """See the module. `stream` has the events and no audio."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.stream = FrameStream(Pace("burst"), self._join_s, names_its_ends=True)

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now, at `origin_ns` of time.monotonic_ns."""
        self.stream.start(origin_ns)
        super().start(origin_ns)

    def say(self, tick: int) -> Pcm | None:
        """The peer's frame of `tick`, int16 (480,); None once it has gone."""
        if self.left is None and self.stream.say(tick) is None:
            self.left = self.stream.left
        return super().say(tick)

    def log(self) -> Sequence[Happening]:
        """Events, and what arrived."""
        return [*self.stream.log(), *super().log()]

    def measured(self) -> Mapping[str, Any]:
        """See `WebRtcEndpoint.measured`; with audio that came beside the audio of the call."""
        return {**super().measured(), **self.stream.unplayed.measured()}

    def close(self) -> None:
        """Hang up."""
        self.stream.leave("closed")
        super().close()
