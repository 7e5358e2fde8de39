"""The keys of a table that declares JSON over a WebSocket, as docs/systems/json-ws.md states them."""

import re
from collections.abc import Mapping, Set
from typing import Any, Final

from fdbcore.endpoints.vendors.errors import BUSY, KEY, LIMIT, QUOTA, SERVER, SETTING, Cause
from fdbcore.runtime.address import Setting

HEARS_HZ: Final = (8_000, 16_000, 24_000, 48_000)
SAYS_HZ: Final = (8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)

FORM: Final = re.compile(r"(pcm|ulaw|mulaw)_(\d{4,6})", re.ASCII)
"""Forms of audio: mono of 16 bits, little endian, or mu-law; and its rate in Hz."""


def _needed(name: str, meaning: str, **more: Any) -> Setting:  # noqa: ANN401
    return Setting(name, meaning, unset="needed", **more)


def _form(name: str, meaning: str) -> Setting:
    return _needed(name, meaning, form="pcm_RATE or ulaw_RATE", fits=lambda text: bool(FORM.fullmatch(text)))


TOP: Final = (
    _needed("server", "the vendor's server", form="http:// or https://"),
    Setting("path", "of the WebSocket, below `server`; not beside `[ticket]`", default=""),
    Setting("domain", "the key goes to servers of this domain alone", default="", unset="the host of `server`"),
    Setting("key_variable", "the variable of the environment, or of `.env`, with the key", default=""),
    Setting("place", "the setting that an address such as `elevenlabs:AGENT` has in its place", default=""),
    Setting("type_field", "the field with the name of a message", default="type"),
    Setting("untried", "what nobody has tried yet; `fdbcore doctor` says it", default=""),
)
TICKET: Final = (
    _needed("path", "of the request (GET), which carries the headers"),
    _needed("url", "the place in the answer of the address of the WebSocket"),
)
AUDIO: Final = (
    _form("hears", "what the system is sent, unless it confirms another form"),
    _form("says", "what the system sends, unless it confirms another form"),
    Setting("packet_ms", "how much it is sent at a time", int, 20, unit="ms", least=10, most=1000, step=10),
)
OPTION: Final = (
    _needed("meaning", "what it means"),
    Setting("kind", "of its value", default="text", choices=("text", "number", "flag", "json")),
    Setting("default", "its value unless the address has one", default="", unset="none: what needs it is left out"),
    Setting("choices", "the values that are allowed, with spaces between", default="", unset="any"),
    Setting("or_file", "whether `@FILE` stands for the text in a file", bool, False),
)

SENT: Final[Mapping[str, Set[str]]] = {
    "first": {"tools"},
    "audio": {"audio"},
    "tool": {"name", "description", "parameters"},
    "result": {"id", "name", "text", "failed"},
    "farewell": set(),
    "alive": set(),
}
"""The messages with times of their own, and the placeholders that they may have beside the settings."""

_EACH: Final = Setting("each", "where the list of calls is", default="")
RULES: Final[Mapping[str, tuple[Setting, ...]]] = {
    "ready": (
        Setting("hears", "where it confirms the form, or the rate, of what it hears", default=""),
        Setting("says", "where it confirms that of what it says", default=""),
    ),
    "send": (_needed("what", "the message that is sent, of `[send]`"),),
    "audio": (
        _needed("data", "where its audio is, in base64"),
        Setting("number", "where the number of this piece is", default=""),
    ),
    "cut": (Setting("number", "where the number is up to which pieces are dropped that still come", default=""),),
    "turn_begins": (),
    "turn_ends": (),
    "speech_started": (),
    "speech_stopped": (),
    "words": (
        _needed("of", "whose words", choices=("self", "partner")),
        _needed("text", "where the words are"),
        Setting("start_ms", "where their start is, in ms of the audio that it was sent", default=""),
        Setting("end_ms", "where their end is", default=""),
    ),
    "call": (
        _EACH,
        _needed("id", "where the id of the call is"),
        _needed("name", "where the name of the tool is"),
        _needed("arguments", "where its arguments are: an object, or a text with its JSON"),
    ),
    "cancel": (_EACH, _needed("id", "where the id of the call is")),
    "fail": (),
    "finish": (),
}
"""Actions of rules, with their fields: places in the message, but for `what` and `of`."""

AGENT: Final = Cause("agent", "there is no such agent or model for {key}: check its name, and whose account has it")
CAUSES: Final[Mapping[str, Cause]] = {
    "key": KEY,
    "agent": AGENT,
    "quota": QUOTA,
    "busy": BUSY,
    "limit": LIMIT,
    "setting": SETTING,
    "server": SERVER,
}
FINISHED: Final = "finished"
"""The ending that is no error: the system hung up."""
