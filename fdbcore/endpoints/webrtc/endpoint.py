"""A WebRTC peer that joins us. (`whip_client` has the peer that we join.)

`webrtc[://HOST:PORT]` waits for a peer at the seat of its side, by default on 127.0.0.1:8790; both sides of a
conversation share the port. `far:ADDRESS` runs another registered party in a process of its own, which joins us by
WebRTC: a real connection on this machine.

The environment variable FDBCORE_TOKEN holds the bearer token that peers must send to our port.
"""

from __future__ import annotations

import asyncio
import json
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fdbcore.clock import now_ns
from fdbcore.endpoints.background import Background
from fdbcore.endpoints.webrtc import HUNG_UP
from fdbcore.endpoints.webrtc.early import EarlyPort, Place, close_own, early
from fdbcore.errors import MissingExtraError, PartyError
from fdbcore.protocols import Clocking, Endpoint
from fdbcore.registry import endpoint
from fdbcore.runtime.address import KEY_VARIABLE, Setting, host_port, location, parsed
from fdbcore.runtime.guard import Guard
from fdbcore.runtime.redaction import redacted, secret
from fdbcore.types import Happening, Pcm, Side
from fdbcore.types.usage import Service

if TYPE_CHECKING:
    from fdbcore.endpoints.webrtc.leg import Leg
    from fdbcore.endpoints.webrtc.peer import Peer
    from fdbcore.endpoints.webrtc.seats import Seat
    from fdbcore.endpoints.webrtc.signalling import SignallingServer

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8790
TOKEN: Final = "FDBCORE_TOKEN"
LOOPBACK: Final = ("127.0.0.1",)
FAR_ENDS_S: Final = 3.0
MOST_WAIT_S: Final = 86_400.0
_CLOSE_S: Final = 10.0


def _is_stun(address: str) -> bool:
    scheme, _, place = address.partition(":")
    try:
        url = urlsplit(f"//{place}")
        return scheme == "stun" and bool(url.hostname) and url.netloc == place and url.port != 0
    except ValueError:
        return False


SETTINGS: Final = (
    Setting("ptime", "the length of the packets that it is sent", int, 10, unit="ms", choices=("10", "20")),
    Setting(
        "join_s",
        "how long to wait until the peer is connected; after it the call has failed: `nobody joined side B`",
        float,
        60.0,
        unit="s",
        least=0.001,
        most=MOST_WAIT_S,
    ),
    Setting(
        "silent_s",
        "after so long without a packet the peer is gone",
        float,
        10.0,
        unit="s",
        least=0.001,
        most=MOST_WAIT_S,
    ),
    Setting("ice", "a STUN server", default="", form="stun:HOST:PORT", fits=lambda text: not text or _is_stun(text)),
    Setting(
        "candidates",
        "`all`: audio may come to any address of this machine, though the port is on loopback; for peers that leave "
        "out loopback, as GStreamer's do. Beyond loopback always `all`",
        default="",
        unset="loopback",
        choices=("", "all"),
    ),
    Setting("session", "the name of a conversation, where several wait at one port", default=""),
)
SHOWS: Final = Setting("shows", "what the page of this side shows to whoever joins, such as their part", default="")


class WebRtcEndpoint(Endpoint):
    """A WebRTC peer, however it is reached. It sends at its own pace, and is heard where its RTP timestamps place it.

    settings: the settings that its address may have.
    """

    clocking: Clocking = "realtime"
    settings: Sequence[Setting] = SETTINGS

    def __init__(self, address: str) -> None:
        self._kind, place, self._options = parsed(address, self.settings)
        place = place or f"//{DEFAULT_HOST}:{DEFAULT_PORT}"
        url = location(f"{self._kind}:{place}", f"{self._kind}://HOST:PORT?join_s=60 or {self._kind}:?join_s=60")
        self._host = url.hostname or DEFAULT_HOST
        self._port = DEFAULT_PORT if url.port is None else url.port
        self._states_port = url.port is not None
        self._path = url.path
        self._join_s: float = self._options["join_s"]
        self._silent_s: float = self._options["silent_s"]
        self._background = Background()
        self._peer: Peer | None = None
        self._leg: Leg | None = None
        self._side: Side = "B"
        self._started_ns = 0

    @abstractmethod
    async def _connect(self) -> None:
        """Make the peer: exchange offer and answer within `_join_s`. PartyError if the party is not available."""

    async def _agree(self) -> None:
        """Agree with the connected peer on what follows. PartyError if that fails."""
        return

    async def _hang_up(self) -> None:
        """Release what `_connect` has set up."""
        return

    def open(self, side: Side) -> None:
        """Wait until the peer is connected, and then for a second of its packets, or for two seconds if none come."""
        self._side = side
        try:
            import fdbcore.endpoints.webrtc.peer  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(f"WebRTC: expected {error.name}: pip install 'fdbcore[live]'") from error
        self._background.open(self._hold, 2 * self._join_s + _CLOSE_S)

    async def _hold(self, ready: Callable[[], None]) -> None:
        try:
            await self._connect()
            self._leg = await self._present_peer().connected(self._join_s)
            await self._agree()
            ready()
            await asyncio.Event().wait()
        finally:
            if self._peer is not None:
                await self._peer.close()
            await self._hang_up()

    async def _new_peer(self) -> Peer:
        """A new peer. An earlier one, which has failed, is closed."""
        from fdbcore.endpoints.webrtc.peer import Peer

        if self._peer is not None:
            await self._peer.close()
        self._peer = Peer(
            packet_ms=self._options["ptime"],
            ice_servers=[self._options["ice"]] if self._options["ice"] else [],
            addresses=LOOPBACK if self._stays_here else None,
        )
        return self._peer

    @property
    def _stays_here(self) -> bool:
        """True if the audio uses only loopback addresses."""
        return self._host in ("localhost", *LOOPBACK) and not self._options["candidates"]

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now, at `origin_ns` of time.monotonic_ns."""
        assert origin_ns is not None
        self._started_ns = origin_ns
        self._opened_leg().start(origin_ns)

    def say(self, tick: int) -> Pcm | None:
        """The peer's frame of `tick`, int16 (480,); None once it has gone."""
        if self.left is None:
            self.left = self._departure()
        return None if self.left else self._opened_leg().play(tick)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Send the partner's frame to the peer."""
        if self.left is None:
            self._opened_leg().send(tick, frame)

    def _departure(self) -> str | None:
        """The reason why the peer counts as gone; None while it is there."""
        peer, leg = self._peer, self._opened_leg()
        if peer is not None and peer.left is not None:
            return "finished" if peer.left == HUNG_UP else peer.left
        last_ns = max(leg.last_arrival_ns or 0, self._started_ns)
        if now_ns() - last_ns <= self._silent_s * 1e9:
            return None
        refused = leg.not_taken()
        return f"sent nothing for {self._silent_s:g} s" + (f"; packets not taken: {refused}" if refused else "")

    def log(self) -> Sequence[Happening]:
        """Changes of the delay and, every second, the arrivals."""
        return self._leg.log() if self._leg else ()

    def measured(self) -> Mapping[str, Any]:
        """The leg's measurements: lateness on the wire, loss, delays; as JSON values."""
        return self._leg.measured() if self._leg else {}

    def services(self) -> Sequence[Service]:
        """The peer: at the host that we join, or whoever joins us at ours."""
        return [Service("audio", self._host)]

    def describe(self) -> Mapping[str, Any]:
        """The way to the peer, and the packets that it is sent, as JSON values."""
        return {
            "kind": self._kind,
            "address": f"{self._host}:{self._port}{self._path}",
            "ptime_ms": self._leg.packet_ms if self._leg else self._options["ptime"],
            "join_s": self._join_s,
            "silent_s": self._silent_s,
            "ice_servers": self._options["ice"],
            "candidates": "loopback" if self._stays_here else "all",
            "opus": {"channels": 1, "bit_rate": 64_000, "application": "lowdelay"},
        }

    def close(self) -> None:
        """Hang up."""
        self._background.close()

    def _present_peer(self) -> Peer:
        assert self._peer is not None, "_connect() comes first"
        return self._peer

    def _opened_leg(self) -> Leg:
        assert self._leg is not None, "open() comes first"
        return self._leg


class Joined(WebRtcEndpoint):
    """A peer that joins us at the seat of its side; see the module. SettingsError for a wrong address.

    Implements `seats.Negotiator`.
    """

    settings = (*SETTINGS, SHOWS)
    calls_at_once: int | None = 1  # a peer that joins does not say which conversation of the port it means

    def __init__(self, address: str) -> None:
        super().__init__(address)
        secret(TOKEN)  # one that is refused is told before anything is begun
        self._early = early.get(self.place) if self.page else None
        self._port = self._early.number if self._early else self._port
        self._seat: Seat | None = None
        self._uses_server = False  # True: the server of its port must be released
        self._begun = False  # True: a peer is connected; no other may come after it

    @property
    def place(self) -> Place:
        """The host and port at which peers join."""
        return self._host, self._port

    @property
    def page(self) -> str | None:
        """The address at which a browser joins; None if nobody should join by hand."""
        return f"http://{host_port(*self.place)}/"

    async def answer(self, offer_sdp: str) -> str:
        """Our answer to a peer's offer. PartyError once the conversation has begun."""
        return await (await self._next_peer()).answer(offer_sdp)

    async def offer(self) -> str:
        """Our offer to a peer that asks for one. PartyError once the conversation has begun."""
        return await (await self._next_peer()).offer()

    async def accept(self, answer_sdp: str) -> None:
        """Take the peer's answer to our offer."""
        await self._present_peer().accept(answer_sdp)

    async def connected(self, timeout_s: float) -> None:
        """Wait until the peer's connection is up: then the conversation has begun."""
        await self._present_peer().transceiver(timeout_s)
        self._begun = True

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        """Take one more ICE candidate of the peer."""
        await self._present_peer().add_candidate(candidate, mid, line_index)

    async def hang_up(self, reason: str) -> None:
        """Note that the peer has left. If it was never connected, another may come."""
        peer = self._present_peer()
        peer.leave(reason)
        if not self._begun:
            await peer.close()

    async def _connect(self) -> None:
        self._uses_server = True  # before the call: it counts this seat even if it fails
        server = await _shared_server(self.place, self._early)
        self._seat = server.seat(self._side, self, self._options["session"], self._options["shows"])
        await server.serve()
        await self._invite(server)
        self.waits = True
        await self._seat.taken(self._join_s)
        self.waits = False

    async def _invite(self, server: SignallingServer) -> None:
        """Bring the peer to its seat. Here nothing is to be done: it comes by itself."""
        return

    async def _hang_up(self) -> None:
        if self._seat is not None:
            self._seat.close()
        if self._uses_server:
            at = self.place
            _seats[at] -= 1
            if not _seats[at] and not (starting := _servers.pop(at)).exception():  # the last seat stops the server
                await starting.result().stop()

    async def _next_peer(self) -> Peer:
        if self._begun:
            raise PartyError(f"side {self._side}: the conversation has begun; whoever left cannot come back")
        return await self._new_peer()


class Far(Joined):
    """A registered party in a process of its own, which joins us as any peer would. SettingsError as it raises it."""

    calls_at_once: int | None = None

    def __init__(self, address: str) -> None:
        super().__init__(f"far://{LOOPBACK[0]}:0?session={token_hex(8)}&join_s=20")
        self._party = address.partition(":")[2]
        self._there = endpoint(self._party)  # refuses a wrong address here and not in the other process
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None

    @property
    def page(self) -> str | None:
        """None: the party is started here."""
        return None

    def services(self) -> Sequence[Service]:
        """The services of the party."""
        return self._there.services()

    async def _invite(self, server: SignallingServer) -> None:
        seat = f"whip://{self._host}:{server.port}/whip/{self._side.lower()}?session={self._options['session']}"
        if secret(TOKEN):
            seat += f"&{KEY_VARIABLE.name}={TOKEN}"
        command = (sys.executable, "-P", "-m", "fdbcore.runs.far", self._party, seat)
        self._process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        self._guard = Guard(self._process.pid)

    async def _hang_up(self) -> None:
        try:
            await super()._hang_up()
            if self._process is not None:
                await self._see_off(self._process)
        finally:
            if self._guard is not None:
                self._guard.release()

    async def _see_off(self, process: asyncio.subprocess.Process) -> None:
        try:
            async with asyncio.timeout(FAR_ENDS_S):
                stdout, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return
        if stdout:  # the party's error: through WebRTC we only see that it hung up
            fault = json.loads(stdout)
            self.left, self.transient = fault["reason"], fault["transient"]
        elif process.returncode:
            self.left = f"its process ended with code {process.returncode}"

    def describe(self) -> Mapping[str, Any]:
        """The party in the other process and the connection to it, as JSON values."""
        return {**super().describe(), "kind": "far", "party": redacted(self._party), "address": "this machine"}


_servers: dict[Place, asyncio.Task[SignallingServer]] = {}
_seats: Counter[Place] = Counter()


async def _shared_server(place: Place, opened: EarlyPort | None) -> SignallingServer:
    """The server of this process at a port, which is started for the first seat. SettingsError if it cannot listen.

    opened: the port, if it was opened early. Each call counts one seat more in `_seats`, even if it fails.
    """
    from fdbcore.endpoints.webrtc.signalling import SignallingServer

    async def started() -> SignallingServer:
        server = SignallingServer(*place, secret(TOKEN) or None)
        await server.start(*(opened.take() if opened else ()))
        return server

    _seats[place] += 1
    if place not in _servers:
        _servers[place] = asyncio.get_running_loop().create_task(started())
    return await _servers[place]


@contextmanager
def opened_early(addresses: Iterable[str]) -> Iterator[None]:
    """In the `with` block, the ports at which peers join a call are open. SettingsError if one cannot be opened.

    addresses: of the sides of the call.
    """
    from fdbcore.endpoints.webrtc.signalling import SignallingServer

    parties = map(endpoint, addresses)
    places = Counter(party.place for party in parties if isinstance(party, Joined) and party.page)
    try:
        for place, seats in places.items():
            listening = SignallingServer(*place, secret(TOKEN) or None).listen()
            early[place] = EarlyPort(listening.getsockname()[1], listening, seats)
        yield
    finally:
        close_own()
        early.clear()
