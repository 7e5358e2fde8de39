"""A party whose system may speak before the call begins: what comes before tick 0 is kept, and heard from tick 0 on."""

from typing import Any, Final

from fdbcore.endpoints.vendors.party import VendorParty
from fdbcore.endpoints.websocket_line import Message
from fdbcore.runtime.network import event_loop

MOST_EARLY_MESSAGES: Final = 50_000
"""Messages kept: the 30 s that may be ahead, in packets of 20 ms, many times over."""


class EarlyParty(VendorParty):
    """See the module. has_begun: tick 0 has come, and what was kept is heard."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self.has_begun = False
        self._early: list[Message] = []

    def start(self, origin_ns: int | None) -> None:
        """See `VendorParty.start`; what the system has said is heard now."""
        super().start(origin_ns)
        event_loop().call_soon_threadsafe(self._take_early)

    def is_due(self, message: Message) -> bool:
        """True if a message must be handled before tick 0, as a ping is."""
        return False

    def _take_early(self) -> None:
        early, self._early, self.has_begun = self._early, [], True
        for message in early:
            self._take(message)

    def _take(self, message: Message) -> None:
        if self.has_begun or self.is_due(message):
            super()._take(message)
        elif len(self._early) < MOST_EARLY_MESSAGES:
            self._early.append(message)
        else:
            self.end(f"sent {MOST_EARLY_MESSAGES} messages before the conversation began")
