"""An agent in a LiveKit room, which we join by LiveKit's own SDK.

    livekit://HOST[:PORT]/ROOM
    livekits://HOST/ROOM?participant=NAME&identity=NAME

Experimental: a server of LiveKit was not at hand, so its SDK was tried against a server of ours alone.

The token is that in LIVEKIT_TOKEN, or is made with LIVEKIT_API_KEY and LIVEKIT_API_SECRET. We publish one track of 48
kHz mono, and hear one of the agent's, in real time; what the SDK's jitter buffer holds back is part of the system.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import unquote
from uuid import uuid4

from fdbcore.endpoints.frames import MOST_UNSENT_FRAMES, FrameStream, Pace, StreamParty
from fdbcore.endpoints.vendors.livekit_room import AgentRoom
from fdbcore.endpoints.vendors.party_log import Json, LoggedParty
from fdbcore.errors import MissingExtraError, PartyError, SettingsError
from fdbcore.protocols import Clocking
from fdbcore.runtime.address import Setting, host_port, is_loopback, location, query_of, values
from fdbcore.runtime.network import event_loop
from fdbcore.runtime.redaction import needs_keys, secret
from fdbcore.runtime.traces import without_traces
from fdbcore.types import TICKS_PER_S, Pcm, Side
from fdbcore.types.tools import Tool
from fdbcore.types.usage import Service

TOKEN: Final = "LIVEKIT_TOKEN"
DEFAULT_IDENTITY: Final = "fdbcore"
KEYS: Final = ("LIVEKIT_API_KEY", "LIVEKIT_API_SECRET")

SETTINGS: Final = (
    Setting("participant", "whose audio is heard, by identity", unset="the first agent in the room"),
    Setting("identity", "who we are in the room", unset="fdbcore; that of the token, if one is given"),
    Setting(
        "new_room",
        "whether each call has a room of its own, ROOM-xxxxxxxx; a new room is what starts an agent",
        bool,
        default=False,
    ),
    Setting("join_s", "how long to wait until the agent is heard", float, 30.0, unit="s", least=0.001, most=86400),
)

_STATUS: Final = re.compile(r"(?:client|server) error: (\d{3})[^-]*(?:- (.*))?")


@dataclass(frozen=True, slots=True)
class Access:
    """A token as it was given, or the key and the secret that make one."""

    token: str
    key: str = ""
    secret: str = ""

    def for_room(self, room: str, identity: str) -> str:
        """The token to join with. ValueError if the given one cannot be read, or is for another room."""
        from livekit import api

        if not self.token:
            grants = api.VideoGrants(room_join=True, room=room)
            made: str = api.AccessToken(self.key, self.secret).with_identity(identity).with_grants(grants).to_jwt()
            return made
        claims = api.TokenVerifier("-", "-").verify(self.token, verify_signature=False)
        if claims.video is None or claims.video.room != room:
            raise ValueError(f"is for the room {claims.video.room!r}" if claims.video else "is for no room")
        return self.token


def livekit(address: str) -> "LiveKit":
    """The party at an address of the module. SettingsError for any other form, or a key that is missing."""
    kind = address.partition(":")[0]
    form = "livekit://HOST[:PORT]/ROOM, or livekits:// with TLS"
    parts = location(address, form)
    room = unquote(parts.path.strip("/"))
    if not parts.hostname or not room:
        raise SettingsError(f"{kind}: expected {form}")
    if kind == "livekit" and not is_loopback(parts.hostname):
        raise SettingsError(f"{kind}: expected livekits:// for a token beyond this machine, got livekit://: no TLS")
    settings = values(kind, query_of(parts.query), SETTINGS)
    access = Access(secret(TOKEN)) if secret(TOKEN) else Access("", *(secret(name) for name in KEYS))
    if not access.token and not (access.key and access.secret) and needs_keys():
        raise SettingsError(f"{kind}: expected a token in {TOKEN}, or {' and '.join(KEYS)} (environment or .env)")
    if access.token and (settings["new_room"] or settings["identity"]):
        wrong = "new_room" if settings["new_room"] else "identity"
        raise SettingsError(f"{kind}: {wrong}: expected {' and '.join(KEYS)}, as a token is for one room and identity")
    return LiveKit(kind, host_port(parts.hostname, parts.port), room, access, **settings)


class LiveKit(StreamParty, LoggedParty):
    """One call in a room. join_s: how long `open` waits for the room, and for the agent's audio."""

    clocking: Clocking = "realtime"
    knows_when_it_left: ClassVar[bool] = False

    def __init__(
        self,
        kind: str,
        place: str,
        room: str,
        access: Access,
        participant: str | None,
        identity: str | None,
        new_room: bool,
        join_s: float,
    ) -> None:
        super().__init__(FrameStream(Pace("realtime"), join_s))
        self.name = f"{kind}://{place}/{room}"
        self._token = ""
        self.without_key = self._without_token
        self._kind, self._place = kind, place
        self._room_name = f"{room}-{uuid4().hex[:8]}" if new_room else room
        self.calls_at_once = None if new_room else 1  # a party in a room hears all others there
        self._access = access
        self._wanted, self._identity = participant, identity or DEFAULT_IDENTITY
        self._join_s = join_s
        self._unsent: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._visit: AgentRoom | None = None

    def _without_token(self, text: str) -> str:
        """A text without the secrets of the environment, and without the token that was made with them."""
        return without_traces(text, [self._token])

    # Called by the loop

    def open(self, side: Side) -> None:
        """Join, and wait until the agent is heard. PartyError if it is not; MissingExtraError without the SDK."""
        try:
            from livekit import api, rtc  # noqa: F401
        except ImportError:
            raise MissingExtraError(f"{self._kind} needs LiveKit's SDK: pip install 'fdbcore[livekit]'") from None
        logging.getLogger("livekit").setLevel(logging.CRITICAL)  # its warnings are in our own errors
        try:
            self._token = self._access.for_room(self._room_name, self._identity)
        except Exception as error:  # PyJWT's, and others
            raise self.error(f"key: the token in {TOKEN} cannot be used: {error}") from None
        try:
            self._background.open(self._hold, self._join_s)
        except TimeoutError:
            raise self.error(self._absence(), transient=True) from None

    def _absence(self) -> str:
        waited = f"within {self._join_s:g} s"
        if self._visit is None or not self._visit.is_joined:
            return f"the server did not let us in {waited}"
        who = f"{self._wanted!r} is" if self._wanted else "no agent is"
        others = ", ".join(self._visit.others)
        return f"{who} heard {waited}; {f'in the room: {others}' if others else 'nobody else is in the room'}"

    def hear(self, tick: int, frame: Pcm) -> None:
        """Send the frame."""
        for data in self.stream.hear(tick, frame):
            event_loop().call_soon_threadsafe(self._unsent.put_nowait, (tick, data))
        if self._unsent.qsize() > MOST_UNSENT_FRAMES:
            self.end(f"the SDK takes no audio: {MOST_UNSENT_FRAMES // TICKS_PER_S} s of it wait")

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """SettingsError: the tools of the agent are its own matter."""
        raise SettingsError("no call of a tool crosses a LiveKit room")

    def services(self) -> Sequence[Service]:
        """The server."""
        return [Service("audio", self._place.rpartition(":")[0] or self._place)]

    def describe(self) -> Mapping[str, Any]:
        """The room, who we are there, and whom we hear, as JSON values without secrets."""
        agent = self._visit.describe() if self._visit is not None else {}
        return {
            "kind": self._kind,
            "name": self.name,
            "room": self._room_name,
            "participant": self._wanted,
            **agent,
        }

    # The room, on the network's thread

    async def _hold(self, ready: Callable[[], None]) -> None:
        from livekit import rtc

        room = rtc.Room(asyncio.get_running_loop())
        self._visit = visit = AgentRoom(self, room, self._wanted)
        url = f"{'wss' if self._kind == 'livekits' else 'ws'}://{self._place}"
        # Two connections, one each way, are what every server knows.
        options = rtc.RoomOptions(connect_timeout=self._join_s, single_peer_connection=False)
        joining = asyncio.ensure_future(room.connect(url, self._token, options))
        try:
            await asyncio.shield(joining)
            await visit.publish()
            await visit.heard
            ready()
            await visit.converse(self._unsent)
        except rtc.ConnectError as error:
            raise self._refusal(error.message) from None
        finally:
            leaving = asyncio.ensure_future(visit.leave(joining))
            if joining.done():
                await leaving

    def _refusal(self, told: str) -> PartyError:
        """The error behind the SDK's. It names the HTTP status, and what the server said."""
        found = _STATUS.search(told)
        status, said = (int(found[1]), found[2] or "") if found else (0, told.rpartition("error: ")[2])
        if status in (401, 403):
            which = TOKEN if self._access.token else " and ".join(KEYS)
            return self.error(f"key: the token is not taken: check {which} (HTTP {status} {said})")
        if status:
            return self.error(f"refused with HTTP {status} {said}", transient=status == 429 or status >= 500)
        return self.error(f"cannot connect: {said}", transient="refused" in said)

    def take(self, event: Json) -> None:
        """Log what happened in the room."""
        self.log_event(event.pop("type"), event)
