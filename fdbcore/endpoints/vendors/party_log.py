"""Events that a party of a vendor logs, whatever carries its session."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from fdbcore.endpoints.frames import FrameStream
from fdbcore.endpoints.websocket_line import Message, one_line
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.runtime.json_values import json_object
from fdbcore.types.usage import USAGE, ModelUsage

MOST_SHOWN_CHARS: Final = 200

UNREADABLE: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of reading a message whose JSON has another form than the protocol's."""

Json: TypeAlias = dict[str, Any]


class LoggedParty(Endpoint):
    """A party whose `stream` has what happened, and why it left.

    name: in messages. without_key: takes the key out of a text.
    """

    name: str
    stream: FrameStream
    without_key: Callable[[str], str]

    @abstractmethod
    def take(self, event: Json) -> None:
        """Handle one message of the server."""

    def read(self, message: Message) -> Json | None:
        """A message of the server as `take` gets it; None if it is none."""
        return json_object(message)

    def event_in(self, message: Message) -> Json | None:
        """See `read`; what is none is logged. Bytes that are none are taken for audio."""
        if (event := self.read(message)) is None:
            if isinstance(message, bytes):
                self.stream.unplayed.add("binary", len(message))
            self.odd("not an event", str(message))
        return event

    def take_event(self, event: Json) -> None:
        """Handle one message of the server, unless it cannot be read."""
        try:
            self.take(event)
        except UNREADABLE:
            self.odd("cannot be read", str(event))

    def note(self, kind: str, **fields: object) -> None:
        """Log something that happens now."""
        self.stream.note(kind, **fields)

    def log_event(self, name: str, event: Mapping[str, Any]) -> None:
        """Log a message of the server as it came, without its audio, which counts as not played."""
        name = self.without_key(name)
        event = self.stream.unplayed.taken_from(name, event)
        if self.stream.allows(len(str(event))):
            self.note("event", name=name, data=self._redacted(event))

    def odd(self, name: str, data: object) -> None:
        """Log that a message is of no use. name: why. data: what shows it; of a text its beginning."""
        if self.stream.allows(len(str(data))):
            shown = data[:MOST_SHOWN_CHARS] if isinstance(data, str) else data
            self.note("event", name=name, data=self._redacted(shown))

    def not_audio(self, text: str) -> None:
        """Log that a text that should be audio is none; as audio that is not played."""
        self.stream.unplayed.add("not audio", len(text) * 3 // 4)
        self.odd("not audio", text)

    def _redacted(self, value: Any) -> Any:  # noqa: ANN401
        """A JSON value whose texts do not hold the key."""
        if isinstance(value, str):
            return self.without_key(value)
        if isinstance(value, Mapping):
            return {self.without_key(str(name)): self._redacted(each) for name, each in value.items()}
        return [self._redacted(each) for each in value] if isinstance(value, list) else value

    def log_usage(self, usage: ModelUsage) -> None:
        """Log what the model counted."""
        self.note(USAGE, **usage.happening(0).fields)

    def end(self, reason: str, transient: bool = False, since_ns: int | None = None) -> None:
        """Note that the party has left, and why. since_ns: see `FrameStream.leave`."""
        self.transient |= transient
        self.stream.leave(one_line(self.without_key(reason)), since_ns)

    def error(self, reason: str, transient: bool = False) -> PartyError:
        """The error that the party is not available."""
        return PartyError(f"{self.name}: {one_line(self.without_key(reason))}", transient)

    def send(self, *messages: Json) -> None:
        """Send messages. On the network's thread."""
        raise NotImplementedError  # a party whose session takes messages has it
