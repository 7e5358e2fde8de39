"""Packets of Socket.IO 5 on the WebSocket of Engine.IO 4: the texts of a client of the main namespace.

A text begins with the number of its kind; a number of an acknowledgement may follow, then JSON. An event is a list of
its name and its data. Bytes in the data follow as a binary message of their own, which the event announces. Source:
socket.io-protocol, revision 5, and engine.io-protocol, revision 4.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from fdbcore.runtime.json_values import json_value

PATH: Final = "/socket.io/?EIO=4&transport=websocket"

_KINDS: Final = {
    "0": "open",
    "1": "close",
    "2": "ping",
    "3": "pong",
    "6": "noop",
    "40": "connect",
    "41": "disconnect",
    "42": "event",
    "43": "ack",
    "44": "connect_error",
    "45": "event",
}
_NUMBERS: Final = {kind: number for number, kind in reversed(_KINDS.items())}
_PACKET: Final = re.compile(r"(4?\d)(?:\d+-)?\d*(.*)", re.DOTALL)


def read_packet(text: str) -> dict[str, Any] | None:
    """The packet in a text: {"packet": its kind}, with "data" if it has some, and of an event "name" and a list "data".

    None if it is none.
    """
    parts = _PACKET.fullmatch(text)
    if parts is None or (kind := _KINDS.get(parts[1])) is None:
        return None
    try:
        data = json_value(parts[2]) if parts[2] else None
    except ValueError:
        return None
    if kind != "event":
        return {"packet": kind} if data is None else {"packet": kind, "data": data}
    if not isinstance(data, list) or not data or not isinstance(data[0], str):
        return None
    return {"packet": kind, "name": data[0], "data": data[1:]}


def write_packet(packet: Mapping[str, Any]) -> str:
    """The text of a packet as `read_packet` gives it, without bytes."""
    told = [packet["name"], *packet["data"]] if packet["packet"] == "event" else packet.get("data")
    return _NUMBERS[packet["packet"]] + ("" if told is None else json.dumps(told))
