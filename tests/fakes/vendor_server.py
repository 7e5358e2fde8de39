"""What the servers of a vendor share: who is let in, what was asked, and how HTTP requests are refused."""

import hmac
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from fakes.loopback import Loopback
from fakes.realtime.checks import Wrong
from fakes.realtime.plan import Faults

BODIES: Mapping[int, tuple[str, str, str | None]] = {
    401: ("invalid_request_error", "Incorrect API key provided.", "invalid_api_key"),
    403: ("request_forbidden", "Country, region, or territory not supported", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "Invalid URL", None),
    500: ("server_error", "The server had an error while processing your request. Sorry about that!", None),
    503: ("server_error", "The engine is currently overloaded, please try again later.", None),
}
QUOTA = ("insufficient_quota", "You exceeded your current quota, please check your plan.", "insufficient_quota")
RATE = ("requests", "Rate limit reached. Please try again later.", "rate_limit_exceeded")


@dataclass(frozen=True)
class Asked:
    """An HTTP request, be it refused or not."""

    at_s: float
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


class VendorServer(Loopback):
    """key: lets in; "" for anybody. header: carries it, if there is one. asked: all requests."""

    KEY: ClassVar[str] = "sk-fake-openai-0123456789abcdef"

    def __init__(self, header: str, faults: Faults | None) -> None:
        super().__init__()
        self.key, self.header, self.faults = self.KEY if header else "", header, faults or Faults()
        self.asked: list[Asked] = []

    @property
    @abstractmethod
    def base_url(self) -> str:
        """What a client of the vendor calls so."""

    def introduction(self) -> str:
        return f"{self.base_url} {self.key}"

    def middlewares(self) -> Sequence[Middleware]:
        return (self._note,)

    @web.middleware
    async def _note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.append(
            Asked(time.monotonic(), request.method, request.path, dict(request.query), dict(request.headers))
        )
        if self.faults.http_status is not None and len(self.asked) <= self.faults.refused:
            return refusal(self.faults)
        return await handler(request)

    def keeps_out(self, request: web.Request) -> web.Response | None:
        """The refusal, where the key is not the right one."""
        if not self.header:
            return None
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = request.headers.get(self.header, given) if self.header != "authorization" else given
        if hmac.compare_digest(given, self.key):
            return None
        shown = f"{given[:8]}{'*' * max(0, len(given) - 12)}{given[-4:]}"  # as the vendor echoes it
        told = f"Incorrect API key provided: {shown}. You can find your API key in your settings."
        return failure(401, Wrong("invalid_api_key", told if given else "Missing bearer authentication in header"))


def refusal(faults: Faults) -> web.Response:
    """What an HTTP request gets instead of what it asks for; 429 is the rate if it says when, the quota if not."""
    status = faults.http_status or 500
    kind, message, code = BODIES.get(status, QUOTA if faults.retry_after_s is None else RATE)
    headers = {} if faults.retry_after_s is None else {"Retry-After": f"{faults.retry_after_s:g}"}
    return failure(status, Wrong(code or "", message, kind=kind), headers)


def failure(status: int, wrong: Wrong, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error of HTTP, as the vendor has it."""
    told = {"message": wrong.message, "type": wrong.kind, "param": wrong.param, "code": wrong.code or None}
    return web.json_response({"error": told}, status=status, headers=headers)
