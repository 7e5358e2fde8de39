"""A vendor whose WebSocket is declared in a table: JSON messages, with audio in them or in binary messages beside them.

    elevenlabs:AGENT?voice=ID&instructions=@FILE
    deepgram:gpt-4o-mini?listen=nova-3&speak=aura-2-thalia-en
    json-ws:FILE.toml?NAME=VALUE

What comes before tick 0 is kept, and heard from tick 0 on. docs/systems/json-ws.md explains the tables.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fdbcore.endpoints.vendors.items import Items
from fdbcore.endpoints.vendors.json_keys import FINISHED, HEARS_HZ, SAYS_HZ
from fdbcore.endpoints.vendors.json_rules import RuledParty, uplink_of
from fdbcore.endpoints.vendors.json_table import KEY, AudioForm, Table, read_table
from fdbcore.endpoints.vendors.json_template import at, text_with
from fdbcore.endpoints.vendors.party import OPEN_TIMEOUT_S, Session
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.websocket_line import Ending, Message
from fdbcore.errors import SettingsError
from fdbcore.models.account import NO_KEY, Account, Vendor
from fdbcore.models.account import SETTINGS as ACCOUNT_SETTINGS
from fdbcore.runtime.address import query_of, split_query, text_of, values
from fdbcore.runtime.json_values import json_object, json_value
from fdbcore.runtime.network import event_loop
from fdbcore.types.tools import Tool, ToolResult

OWN: Final = "json-ws"
"""The kind of an address with a table of the user's."""

ALIVE_S: Final = 5.0
"""Interval at which a server that is sent no audio yet is told that we are there. Deepgram waits for 10 s."""


def json_ws(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> "JsonWs":
    """The party at an address of the module. SettingsError for a wrong table or setting, or a missing file or key."""
    kind, _, rest = address.partition(":")
    place, query = split_query(rest, file=kind == OWN)
    if kind == OWN and not place:
        raise SettingsError(f"{OWN}: expected {OWN}:FILE.toml, got no file")
    table = read_table(Path(place) if kind == OWN else Path(__file__).parent / "data" / f"{kind}.toml")
    named = {} if kind == OWN else {table.top["place"]: place}
    asked = [setting for setting in table.settings if setting.name not in named]
    found = named | values(kind, query_of(query), (*ACCOUNT_SETTINGS, *asked))
    keys, domains = (tuple(filter(None, [table.top[name]])) for name in ("key_variable", "domain"))
    vendor = Vendor(kind, keys, table.top["server"], domains=domains)
    account = Account(vendor, place, **{each.name: found.pop(each.name) for each in ACCOUNT_SETTINGS})
    account.key()  # report a missing key before any case is held
    for name in (name for name, value in found.items() if value):
        found[name] = text_of(found[name]) if name in table.file_settings else found[name]
        found[name] = json_value(found[name]) if name in table.json_settings else found[name]
    return JsonWs(account, table, found, timeout_s)


class JsonWs(RuledParty):
    """One session. asked: the values of the table's settings, by name; None for one without."""

    def __init__(self, account: Account, table: Table, asked: Mapping[str, Any], timeout_s: float) -> None:
        super().__init__(account, table, {name: value for name, value in asked.items() if value is not None}, timeout_s)
        self._path = self._filled_path(table.ticket.get("path") or table.top["path"])
        self.speaks_in_bytes = not table.does("audio")

    def _filled_path(self, path: str) -> str:
        given = {name: quote(str(value), safe="") for name, value in self.asked.items()}
        try:
            return text_with(path, given)
        except KeyError as error:
            raise SettingsError(f"{self.name}: {error.args[0]}: expected a value, got none") from None

    def of_session(self) -> Json:
        """See `VendorParty.of_session`; with the table, and what nobody has tried of it."""
        table = {"name": self._table.name, "sha256": self._table.sha256}
        untried = {"untried": self._table.top["untried"]} if self._table.top["untried"] else {}
        return {**super().of_session(), "table": table, **untried}

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """See `Endpoint.take_tools`."""
        if not self._table.does("call"):
            raise SettingsError(f"{self.name}: its table has no rule that calls tools")
        super().take_tools(tools)

    # The connection

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`. The address that a ticket brings lets in whoever has it: it is recorded nowhere."""
        key, mark = self.account.key(), f"{{{KEY}}}"
        headers = {
            name: text.replace(mark, key)
            for name, text in self._table.headers.items()
            if key != NO_KEY or mark not in text
        }
        if not self._table.ticket:
            return self.account.websocket(self._path), headers
        place = self._table.ticket["url"]
        url = at(json_object(await self.rest("GET", self.account.at(self._path), headers)), place)
        if not isinstance(url, str) or not _is_websocket_of(url, self.account.server, self._table.top["domain"]):
            raise self.error(f"{self.account.server} gives no address of a WebSocket of its own at {place}")
        return url, {}

    async def begin(self, session: Session) -> None:
        """Shake hands until the server is ready, and take the forms of audio that it confirms."""
        if "first" in self._table.send:
            await session.send(self._message("first"))
        while True:
            event = await session.receive()
            fields = {rule.does: rule.fields for rule in self._table.of(event)}
            if "fail" in fields:
                raise self._told(event)
            if "send" in fields:
                await session.send(self._message(fields["send"]["what"], event))
            if "ready" in fields:
                break
            self._log(event)
        self.confirmed = self._redacted(self._without_type(event))
        hears = self._stated("hears", self._table.hears, fields["ready"]["hears"], HEARS_HZ)
        self._says = self._stated("says", self._table.says, fields["ready"]["says"], SAYS_HZ)
        self.uplink = uplink_of(hears, self._table.packet_ms)
        self.items = Items(self.stream, self._says.rate_hz, self._names_turns)
        event_loop().call_later(ALIVE_S, self._stay_alive)

    def _stated(self, what: str, form: AudioForm, place: str, rates_hz: Sequence[int]) -> AudioForm:
        try:
            return form.stated(at(self.confirmed, place), rates_hz) if place else form
        except ValueError as error:
            raise self.error(f"form of the audio that it {what}, at {place}: {error}") from None

    def _stay_alive(self) -> None:
        if not self.has_begun and self.stream.left is None and "alive" in self._table.send:
            self.send(self._message("alive"))
            event_loop().call_later(ALIVE_S, self._stay_alive)

    async def parting(self, ended: Ending) -> str | None:
        """See `VendorParty.parting`."""
        is_planned = self._table.ending(f"{ended.code or ''} {ended.reason}".strip()) == FINISHED
        return "finished" if is_planned else await super().parting(ended)

    def farewell(self) -> str:
        """See `VendorParty.farewell`."""
        return self.write(self._message("farewell")) if "farewell" in self._table.send else ""

    def is_due(self, message: Message) -> bool:
        """See `EarlyParty.is_due`: what the table answers."""
        event = None if isinstance(message, bytes) else self.read(message)
        return event is not None and any(rule.does == "send" for rule in self._table.of(event))

    def take_audio(self, data: bytes) -> None:
        """See `VendorParty.take_audio`."""
        self._play(data)

    # Messages out

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        if "audio" not in self._table.send:
            return packet
        return self.write(self._message("audio", audio=base64.b64encode(packet).decode("ascii")))

    def result(self, result: ToolResult) -> Sequence[Json]:
        """See `VendorParty.result`."""
        value = result.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return [self._message("result", id=result.id, name=result.name, text=text, failed=result.status != "ok")]

    def _message(self, name: str, event: Json | None = None, /, **more: object) -> Json:
        template = self._table.send[name]
        if "tools" in template.names:
            more["tools"] = [self._table.send["tool"].filled(each.to_json()) for each in self.tools] or None
        return template.filled({**dict.fromkeys(template.names), **self.asked, **more}, event)


def _is_websocket_of(url: str, server: str, domain: str) -> bool:
    """True if a URL is that of a WebSocket at a server, or at another one of its domain: audio goes to no other."""
    here = urlsplit(server)
    try:
        there = urlsplit(url)
        is_whole = bool(there.hostname) and there.port != 0
    except ValueError:  # the port is not a number
        return False
    is_there = there.hostname == here.hostname
    if domain and not is_there:
        is_there = all(f".{parts.hostname}".endswith(f".{domain}") for parts in (here, there))
    return is_whole and is_there and there.scheme == here.scheme.replace("http", "ws", 1)
