"""A WebRTC server that we join by WHIP (RFC 9725): `whip://HOST[:PORT]/PATH`, or `whips://` with TLS.

Its settings are those of `webrtc`, and `?key_variable=VARIABLE`. The value of that environment variable is sent to the
server as a bearer token (RFC 6750). We go to no other server: a redirection to one is refused, and a session that the
answer puts at one is not ended, which the settings of the call tell as `not_deleted`. Without the setting no token is
sent. To another machine a token is sent only with TLS, and FDBCORE_TOKEN, which opens our own port, is never sent
there. Certificates are verified with the system's, or those of SSL_CERT_FILE.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from fdbcore.endpoints.webrtc.endpoint import SETTINGS, TOKEN, WebRtcEndpoint
from fdbcore.endpoints.websocket_line import without_redirections
from fdbcore.errors import PartyError, SettingsError
from fdbcore.runtime.address import KEY_VARIABLE, Setting, host_port, is_loopback
from fdbcore.runtime.network import text_of
from fdbcore.runtime.redaction import secret
from fdbcore.runtime.traces import without_traces

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

HANG_UP_S: Final = 2.0
SAID_CHARS: Final = 80  # shown of a server's error text
TLS_PORT: Final = 443

DIALLED: Final = (*SETTINGS, KEY_VARIABLE)


class Dialled(WebRtcEndpoint):
    """A peer that we join by WHIP; see the module. SettingsError for a wrong address or a missing token."""

    settings: Sequence[Setting] = DIALLED
    path: ClassVar[str] = "/whip/b"
    """Of the server, where the address names none."""
    content_type: ClassVar[str] = "application/sdp"
    status: ClassVar[int] = 201
    """Of the answer."""
    server: ClassVar[str] = "a WHIP server"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._tls = self._kind.endswith("s")
        if self._tls and not self._states_port:
            self._port = TLS_PORT
        self._variable: str = self._options["key_variable"] or ""
        self._bearer = self._read_bearer()
        self._location: URL | None = None

    def _read_bearer(self) -> str:
        kind, variable = self._kind, self._variable
        if not variable:
            return ""
        if not is_loopback(self._host) and not self._tls:
            raise SettingsError(f"{kind}: expected {kind}s:// for a bearer beyond this machine, got {kind}://: no TLS")
        if not is_loopback(self._host) and variable == TOKEN:
            raise SettingsError(f"{kind}: expected a bearer of that server's own, got {TOKEN}, which opens our port")
        if not (bearer := secret(variable)):
            raise SettingsError(f"{kind}: expected the bearer in the variable {variable!a}, here or in .env: not set")
        return bearer

    @property
    def _resource(self) -> str:
        session = f"?session={self._options['session']}" if self._options["session"] else ""
        return f"http{'s' * self._tls}://{host_port(self._host, self._port)}{self._path or self.path}{session}"

    async def _connect(self) -> None:
        peer = await self._new_peer()
        offer = self._request(await peer.offer())
        answer = await self._post(await self._offer_url(), offer, "an SDP answer")
        sdp = self._answer_in(answer)
        try:
            await peer.accept(sdp)
        except PartyError as error:  # it quotes the answer
            raise PartyError(self._told(str(error)), error.transient) from error

    async def _offer_url(self) -> URL:
        """The URL for the offer."""
        from yarl import URL

        return URL(self._resource)

    async def _post(self, url: URL, body: str, what: str) -> str:
        """The server's answer. PartyError if that is not `what`, by its status, or nothing."""
        import aiohttp
        from yarl import URL

        headers = {"Content-Type": self.content_type, **self._authorization()}
        try:
            async with self._http(self._join_s) as http, http.post(url, data=body, headers=headers) as response:
                answer = await text_of(response)
                if response.status != self.status:
                    said = self._told(answer)[:SAID_CHARS]  # in this order: a few characters would not be recognised
                    raise PartyError(f"{url}: expected {self.status} and {what}, got {response.status} {said!r}")
                with suppress(KeyError, ValueError):  # no usable Location: then there is no session to end
                    self._location = response.url.join(URL(response.headers["Location"]))
                return answer
        except (aiohttp.ClientError, TimeoutError) as error:
            refused = isinstance(error, aiohttp.ClientConnectorCertificateError)
            found = getattr(error, "os_error", None) or str(error) or f"no answer within {self._join_s:g} s"
            told = f"{url}: expected {self.server}, got: {self._told(str(found))}"
            raise PartyError(told, transient=not refused) from error

    def _told(self, text: str) -> str:
        """The server's words, without the bearer and its parts."""
        return without_traces(text, [self._bearer])

    def _request(self, offer_sdp: str) -> str:
        """The body that carries our offer."""
        return offer_sdp

    def _answer_in(self, body: str) -> str:
        """The SDP answer in the body of the answer. PartyError if it holds none."""
        return body

    async def _hang_up(self) -> None:
        import aiohttp

        if self._location is not None and self._is_named(self._location):
            with suppress(aiohttp.ClientError, TimeoutError):
                async with self._http(HANG_UP_S) as http:
                    await http.delete(self._location, headers=self._authorization())

    def _http(self, timeout_s: float) -> aiohttp.ClientSession:
        import aiohttp

        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context() if self._tls else True)
        stays = [without_redirections(self._is_named)]
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        return aiohttp.ClientSession(timeout=timeout, connector=connector, trace_configs=stays)

    def _is_named(self, url: URL) -> bool:
        """True if `url` is at the server that the address names."""
        from yarl import URL

        named = URL(self._resource)
        return (url.scheme, url.user, url.host, url.port) == (named.scheme, None, named.host, named.port)

    def _authorization(self) -> dict[str, str]:
        """The header with the bearer token, if there is one."""
        return {"Authorization": f"Bearer {self._bearer}"} if self._bearer else {}

    def describe(self) -> Mapping[str, Any]:
        """The way to the peer, the name of the variable with its token, and a session elsewhere, as JSON values."""
        described = {**super().describe(), "key_variable": self._variable}
        if self._location is not None and not self._is_named(self._location):
            described["not_deleted"] = self._told(str(self._location))
        return described
