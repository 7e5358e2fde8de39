"""A Pipecat bot that we join by the offer endpoint of its SmallWebRTC transport, as its own clients do.

    pipecat://HOST:PORT[/PATH]?body={"request_data":{...}}     pipecats://HOST/... with TLS

The offer and the answer are JSON with the SDP. A path that ends in /start begins a session there first, as Pipecat
Cloud wants it: the offer then goes to sessions/ID/api/offer beside it. On a data channel we say at tick 0 that the
client is ready, after which a bot usually greets, and the bot tells the call in RTVI (`rtvi`).
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from fdbcore.clock import now_ns
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.rtvi import READY, RtviEvents
from fdbcore.endpoints.vendors.webrtc_party import WebRtcParty
from fdbcore.endpoints.webrtc.whip_client import DIALLED, SAID_CHARS, Dialled
from fdbcore.errors import PartyError, SettingsError
from fdbcore.runtime.address import Setting, text_of
from fdbcore.runtime.json_values import json_object
from fdbcore.runtime.network import event_loop

if TYPE_CHECKING:
    from yarl import URL

    from fdbcore.endpoints.webrtc.peer import Peer

CHANNEL: Final = "chat"
PING_S: Final = 1.0
"""A bot that was pinged once takes us for gone after 3 s without another ping."""
START: Final = "/start"
SETTINGS: Final = (
    *DIALLED,
    Setting("body", "further fields of the offer, as a JSON object; `@FILE` for those in a file", form="a JSON object"),
    Setting("rtvi", "whether the bot speaks RTVI; `false`: nothing goes over a data channel", bool, default=True),
)
READY_S: Final = 5.0
"""A bot whose pipeline runs says so much sooner."""


class PipecatBot(WebRtcParty, Dialled):
    """See the module. SettingsError as for `Dialled`, or for a wrong body."""

    settings: Sequence[Setting] = SETTINGS
    path: ClassVar[str] = "/api/offer"
    content_type: ClassVar[str] = "application/json"
    status: ClassVar[int] = 200
    server: ClassVar[str] = "a Pipecat bot"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.name = f"{self._kind}://{self._host}:{self._port}"
        self.without_key = self._told
        self._body = self._read_body()
        self._events = RtviEvents(self)
        self._put: Callable[[str], None] = lambda text: None
        self._pings: asyncio.Task[None] | None = None
        self._has_begun = False
        self._is_ready = Event()

    def _read_body(self) -> Json:
        text = text_of(self._options["body"] or "{}")
        if (body := json_object(text)) is None:
            raise SettingsError(f"{self._kind}: expected body to be a JSON object, got {text[:SAID_CHARS]!r}")
        return body

    async def _new_peer(self) -> "Peer":
        peer = await super()._new_peer()
        if self._options["rtvi"]:
            self._put = peer.channel(CHANNEL, self._receive, self._stop_pings, self._open_channel)
        return peer

    async def _offer_url(self) -> "URL":
        url = await super()._offer_url()
        if not url.path.endswith(START):
            return url
        asked = {"transport": "webrtc", "body": self._body.get("request_data", {})}
        told = await self._post(url, json.dumps(asked), "a session")
        session = (json_object(told) or {}).get("sessionId")
        if not isinstance(session, str):
            raise PartyError(f"{url}: expected a sessionId in JSON, got {self._told(told)[:SAID_CHARS]!r}")
        below = f"{url.path.removesuffix(START)}/sessions/{quote(session, safe='')}{self.path}"
        return url.with_path(below, encoded=True)

    def _request(self, offer_sdp: str) -> str:
        return json.dumps({**self._body, "sdp": offer_sdp, "type": "offer"})

    def _answer_in(self, body: str) -> str:
        sdp = (json_object(body) or {}).get("sdp")
        if not isinstance(sdp, str):
            raise PartyError(f"{self._resource}: expected an SDP answer in JSON, got {self._told(body)[:SAID_CHARS]!r}")
        return sdp

    # The data channel, on the network's thread

    def _open_channel(self) -> None:
        self._pings = asyncio.get_running_loop().create_task(self._ping())
        if self._has_begun:
            self._put(json.dumps(READY))

    async def _ping(self) -> None:
        while True:
            self._put(f"ping: {now_ns() // 1_000_000}")
            await asyncio.sleep(PING_S)

    def _stop_pings(self) -> None:
        if self._pings is not None:
            self._pings.cancel()

    def _receive(self, message: str | bytes) -> None:
        if self.stream.left is None and (event := self.event_in(message)) is not None:
            self.take_event(event)

    def take(self, event: Json) -> None:
        """Handle one message of the bot."""
        self._events.take(event)
        if self._events.ready:
            self._is_ready.set()

    def _begin(self) -> None:
        """The call has begun: say so, now or, as this is lost until then, once the channel is open."""
        self._has_begun = True
        self._put(json.dumps(READY))

    async def _hang_up(self) -> None:
        self._stop_pings()
        await super()._hang_up()

    def probe(self) -> None:
        """Join, and wait until the bot says that it is ready. PartyError if it does not."""
        self.open("B")
        event_loop().call_soon_threadsafe(self._begin)
        if self._options["rtvi"] and not self._is_ready.wait(READY_S):
            left = self._present_peer().left or self.stream.left
            told = f"; it left: {left}" if left else ""
            raise self.error(
                f"joined, but no bot-ready came within {READY_S:g} s{told}: does the bot's log show that its pipeline "
                "runs? (rtvi=false for a bot that does not speak RTVI)"
            )

    # Called by the loop

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now: the bot may greet. What it says before is not heard."""
        super().start(origin_ns)
        event_loop().call_soon_threadsafe(self._begin)

    def describe(self) -> Mapping[str, Any]:
        """The way to the bot, and what it said of itself as it got ready, as JSON values."""
        asked = {"asked": self._body} if self._body else {}
        return {**super().describe(), **asked, **({"session": self._events.ready} if self._events.ready else {})}
