"""OpenAI's Realtime interface over WebRTC: the audio on a media track, the events on a data channel.

The offer goes to `POST BASE_URL/realtime/calls`, with the session beside it; `Location` of the answer names the call.
The server plays what it says in real time, so interruptions are its own affair: it falls silent, and truncates the item
itself. `output_audio_buffer.started`, `.stopped` and `.cleared` say when.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from fdbcore.clock import now_ns
from fdbcore.endpoints.vendors.account_party import key_header
from fdbcore.endpoints.vendors.errors import SETTING, named_error
from fdbcore.endpoints.vendors.party_log import UNREADABLE, Json
from fdbcore.endpoints.vendors.patience import Patience
from fdbcore.endpoints.vendors.realtime_events import Dialect, RealtimeParty
from fdbcore.endpoints.vendors.webrtc_party import WebRtcParty
from fdbcore.endpoints.webrtc.endpoint import MOST_WAIT_S
from fdbcore.endpoints.webrtc.whip_client import HANG_UP_S
from fdbcore.endpoints.websocket_line import Message, failure, require_aiohttp
from fdbcore.errors import PartyError
from fdbcore.models.account import Account
from fdbcore.runtime.address import host_port
from fdbcore.runtime.json_values import json_object
from fdbcore.runtime.network import text_of
from fdbcore.types import TICK_NS, Pcm, Side

if TYPE_CHECKING:
    import aiohttp

CHANNEL: Final = "oai-events"
PACKET_MS: Final = 20
HUNG_UP: Final = "the server hung up"
LOST_S: Final = 5.0
"""A server from which nothing came for so long before the end may also have been lost."""
_PORTS: Final = {"http": 80, "https": 443}


class OpenAIRealtimeCall(RealtimeParty, WebRtcParty):
    """One call. asked: its settings, in the form of the server. timeout_s: of answer, connection and session."""

    def __init__(self, dialect: Dialect, account: Account, model: str, asked: Json, timeout_s: float) -> None:
        server = urlsplit(account.base_url)
        place = host_port(server.hostname or "", server.port or _PORTS[server.scheme])
        # A server may send no packets while it is silent: that alone does not mean that it has gone.
        waits = f"join_s={timeout_s}&silent_s={MOST_WAIT_S:.0f}"
        WebRtcParty.__init__(self, f"webrtc://{place}?ptime={PACKET_MS}&{waits}")
        RealtimeParty.__init__(self, dialect, account, model, asked)
        self._opening: asyncio.Queue[Message | None] | None = asyncio.Queue()  # until the session has begun
        self._put: Callable[[str], None] = lambda text: None
        self._call_id = ""

    def open(self, side: Side) -> None:
        """Call, and agree on the session. PartyError if the server is not available."""
        require_aiohttp(self.name)
        try:
            super().open(side)
        except TimeoutError:
            raise self.error(f"no session within {self._join_s:g} s", transient=True) from None

    async def _connect(self) -> None:
        import aiohttp

        peer = await self._new_peer()
        self._put = peer.channel(CHANNEL, self._receive, lambda: self._receive(None))
        offer = await peer.offer()
        try:
            answer = await Patience(self._join_s).connect(lambda: self._dial(offer))
        except TimeoutError:
            raise self.error(f"no answer within {self._join_s:g} s", transient=True) from None
        except aiohttp.ClientResponseError as error:
            raise self._refusal(error.status, error.message) from None
        except aiohttp.ClientError as error:
            raise failure(error, self.name) from None
        await peer.accept(answer)

    async def _dial(self, offer: str) -> str:
        """The answer to our offer. PartyError if the server refuses; ClientResponseError if it may not do so later."""
        import aiohttp

        session = {**self.asked_with_tools(), "model": self.model}
        form = aiohttp.FormData()
        form.add_field("sdp", offer, content_type="application/sdp")
        form.add_field("session", json.dumps(session), content_type="application/json")
        async with (
            await self._http(self._join_s) as http,
            http.post(self._url(), data=form, headers=self._headers(), allow_redirects=False) as response,
        ):
            body = await text_of(response)
            if response.status not in (200, 201):
                if not (refusal := self._refusal(response.status, body)).transient:
                    raise refusal
                raise aiohttp.ClientResponseError(
                    response.request_info, (), status=response.status, message=body, headers=response.headers
                )
            self._call_id = urlsplit(response.headers.get("Location", "")).path.rpartition("/")[2]
            return body

    def _refusal(self, status: int, body: str) -> PartyError:
        """The named error behind a refused call: by the code in its body, if that has a name, else by its status."""
        told = (json_object(body) or {}).get("error")
        code, message = (told.get("code"), told.get("message")) if isinstance(told, dict) else (None, body)
        by_code = named_error(self.account, code, message)
        return by_code if by_code.cause is not SETTING else named_error(self.account, status, message)

    async def _agree(self) -> None:
        try:
            async with asyncio.timeout(self._join_s):
                await self.begin_session(self._send_first, self._next_event)
        except UNREADABLE:
            raise self.error("broke the protocol: its session cannot be read") from None
        except TimeoutError:
            raise self.error(f"no session within {self._join_s:g} s", transient=True) from None
        early, self._opening = self._opening, None
        while early is not None and not early.empty():
            self._receive_one(early.get_nowait())

    async def _hang_up(self) -> None:
        import aiohttp

        if self._call_id:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with await self._http(HANG_UP_S) as http:
                    await http.post(
                        self._url(f"/{quote(self._call_id, safe='')}/hangup"),
                        headers=self._headers(),
                        allow_redirects=False,
                    )

    async def _http(self, timeout_s: float) -> "aiohttp.ClientSession":
        import aiohttp

        # Made on a thread: reading the certificates of the system takes 30 ms, which other calls must not wait for.
        secure = self.account.base_url.startswith("https:")
        tls = await asyncio.to_thread(ssl.create_default_context) if secure else True
        connector = aiohttp.TCPConnector(ssl=tls)
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout_s), connector=connector)

    def _url(self, below: str = "") -> str:
        """Only ever at the server that the key belongs to, whatever its answer says."""
        return self.account.at(f"/realtime/calls{below}")

    def _headers(self) -> Mapping[str, str]:
        return key_header(self.account, self._dialect.key_header, self._dialect.key_form)

    # The data channel, on the network's thread

    def _receive(self, message: Message | None) -> None:
        """Take a message; None once the channel has closed."""
        if self._opening is not None:
            self._opening.put_nowait(message)
        else:
            self._receive_one(message)

    def _receive_one(self, message: Message | None) -> None:
        if message is None:
            self.stream.leave(HUNG_UP)
        elif self.stream.left is None and (event := self.event_in(message)) is not None:
            self.take_event(event)

    async def _send_first(self, message: Json) -> None:
        self.send(message)

    async def _next_event(self) -> Json:
        """The next event while the session begins. PartyError if the server hangs up."""
        while self._opening is not None and (message := await self._opening.get()) is not None:
            if (event := self.event_in(message)) is not None:
                return event
        raise self.error("the server hung up before the session began", transient=True)

    def send(self, *messages: Json) -> None:
        """See `LoggedParty.send`."""
        for message in messages:
            self._put(json.dumps(message))

    def interrupt(self) -> None:
        """See `RealtimeParty.interrupt`. The server itself falls silent."""
        return

    def session_ms(self, party_ms: float) -> float:
        """See `RealtimeParty.session_ms`. The server's clock is taken to begin with our first packet."""
        return self._opened_leg().session_ms(party_ms)

    # Called by the loop

    def say(self, tick: int) -> Pcm | None:
        """The server's frame of `tick`, int16 (480,); None once it has gone."""
        frame = super().say(tick)
        if self.left == HUNG_UP and self.gone_tick is None:
            # A server that was killed says no good-bye: by ICE it counts as there for half a minute more.
            last_ns = max(self._opened_leg().last_arrival_ns or 0, self._started_ns)
            self.gone_tick = (last_ns - self._started_ns) // TICK_NS
            if now_ns() - last_ns > LOST_S * 1e9:
                self.left = "the server hung up or was lost"
        return frame

    def _departure(self) -> str | None:
        left = super()._departure()
        return HUNG_UP if left == "finished" else left

    def describe(self) -> Mapping[str, Any]:
        """The party, how it is reached, and the session as the server confirmed it, as JSON values without secrets."""
        session = {"session": self.confirmed} if self.confirmed else {}
        of_call = {"kind": self._dialect.vendor.name, "name": self.name, "transport": "webrtc"}
        return {**WebRtcParty.describe(self), **of_call, **self.of_session(), **session}
