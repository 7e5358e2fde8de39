"""An account at a vendor, or at another server with its interface: the key, the server, and errors of one line.

The errors never show the key.
"""

import os
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from fdbcore.errors import CutOffError, PartyError, RefusalError, SettingsError
from fdbcore.runtime.address import KEY_VARIABLE, Setting, is_loopback
from fdbcore.runtime.redaction import needs_keys, secret, without_values
from fdbcore.runtime.traces import without_traces
from fdbcore.types.usage import Service, Takes

NO_KEY: Final = "none"
"""The key that is sent to a server without keys, because the SDKs always send one."""

SETTINGS: Final = (
    Setting(
        "base_url",
        "another server that speaks the same interface; it is never sent the vendor's key",
        unset="the vendor's",
        form="http:// or https://",
    ),
    replace(KEY_VARIABLE, unset="the vendor's; none beside `base_url`"),
)
"""The settings of the address of whatever has an account."""

_SHOWN_CHARS: Final = 300
_READ_CHARS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Vendor:
    """The company that runs a server.

    name: as an address names it. key_variables: where its key may be, the first one first. base_url: of its server;
    "" if each user has one. base_url_variable: the environment variable that may name another server; "" if there is
    none. domains: of all its servers; () for the host of base_url. billed_as: its name in the table of models; "" for
    `name`.
    """

    name: str
    key_variables: tuple[str, ...]
    base_url: str
    base_url_variable: str = ""
    domains: tuple[str, ...] = ()
    billed_as: str = ""

    def owns(self, url: str) -> bool:
        """True if the server at a URL is the vendor's, so that it may be sent the vendor's key; never without TLS."""
        parts = urlsplit(url)
        host, domains = parts.hostname or "", self.domains or (urlsplit(self.base_url).hostname or "",)
        return parts.scheme == "https" and any(host == each or host.endswith(f".{each}") for each in domains if each)


class Account:
    """An account of the user.

    base_url: the server; None for the vendor's, or for the one in the vendor's variable. key_variable: the environment
    variable with the key; None for the vendor's. If base_url is another's and there is no key_variable, no key is sent:
    the vendor's key must not go to another server. A server that the vendor's variable names is sent the vendor's key,
    if there is one. The key is read only when it is needed. SettingsError if there is no name, or if base_url is not
    an http address.
    """

    def __init__(self, vendor: Vendor, name: str, base_url: str | None = None, key_variable: str | None = None) -> None:
        if not name.strip():
            raise SettingsError(f"model: expected {vendor.name}:NAME, got no name")
        self.name = f"{vendor.name}:{name}"
        self.attempts = 1
        self._vendor = vendor
        self.base_url = (base_url or os.environ.get(vendor.base_url_variable) or vendor.base_url).rstrip("/")
        if not self.base_url:
            raise SettingsError(f"{self.name}: expected the server, ?base_url=https://HOST..., got none")
        if not _is_http(self.base_url):
            raise SettingsError(f"base URL of {self.name}: expected http://HOST... or https://HOST...")
        if key_variable is not None:
            self.key_variables: tuple[str, ...] = (key_variable,)
        else:
            self.key_variables = vendor.key_variables if base_url is None or vendor.owns(base_url) else ()
        self._needs_key = key_variable is not None or vendor.owns(self.base_url)

    @property
    def server(self) -> str:
        """The address of the server, without user name, password and query."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def is_here(self) -> bool:
        """True if the server is this machine, which no proxy can reach."""
        return is_loopback(urlsplit(self.base_url).hostname)

    def service(self, takes: Takes) -> Service:
        """The service of the server. It is the vendor's if it has the vendor's name, and then also has the model's."""
        host = urlsplit(self.base_url).hostname or ""
        if not self._vendor.owns(self.base_url):
            return Service(takes, host)
        return Service(takes, host, self._vendor.billed_as or self._vendor.name, self.name.partition(":")[2])

    def at(self, path: str) -> str:
        """A URL at the server. path: below the base URL, with its query; a query of the base URL goes behind it."""
        base, _, query = self.base_url.partition("?")
        url = base.rstrip("/") + path
        return f"{url}{'&' if '?' in path else '?'}{query}" if query else url

    def websocket(self, path: str) -> str:
        """The URL of a WebSocket at the server; see `at`."""
        return self.at(path).replace("http", "ws", 1)

    def key(self) -> str:
        """The key from the environment; NO_KEY if the server takes none, and if nobody is asked (`asking_nobody`).

        SettingsError, which names the variable, if it is missing, or too short to be a secret, or if the server is
        another machine without TLS: everybody on the way would read it.
        """
        if not self.key_variables:
            return NO_KEY
        for variable in self.key_variables:
            if key := secret(variable):
                if not (key.isascii() and key.isprintable()):
                    raise SettingsError(f"{self.name}: expected a key of ASCII characters in {variable}, got others")
                if not (self.is_here or urlsplit(self.base_url).scheme == "https"):
                    expected = f"expected https:// for the key in {variable} beyond this machine"
                    raise SettingsError(f"{self.name}: {expected}, got {self.server}: no TLS")
                return key
        if not (self._needs_key and needs_keys()):
            return NO_KEY
        expected = " or ".join(self.key_variables)
        raise SettingsError(f"{self.name}: expected a key in {expected} (environment or .env), found none")

    def check_key(self) -> None:
        """Raise SettingsError as `key` does."""
        self.key()

    def error(self, reason: str, transient: bool = False) -> PartyError:
        """The error that the server is not available, with a reason."""
        return PartyError(f"{self.name}: {self.redacted(reason)}", transient)

    def cut_off(self, text: str) -> CutOffError:
        """The error of an answer that reached its limit of tokens. text: what there is of it."""
        return CutOffError(f"{self.name}: the answer was cut off at its limit of tokens", without_values(text))

    def refusal(self, reason: str) -> RefusalError:
        """The error that the server declined this one request, with a reason."""
        return RefusalError(f"{self.name}: {self.redacted(reason)}")

    def status_error(self, status: int, message: str) -> PartyError:
        """The error for an HTTP status, after all attempts."""
        times = f", {self.attempts} times" if self.attempts > 1 else ""
        match status:
            case 401:
                return self.error(f"{self.server} does not take {self.which_key}")
            case 403:
                return self.error(f"{self.which_key} may not do this at {self.server}: {message}")
            case 404:
                return self.error(f"{self.server} has no such model: {message}")
            case 429:
                return self.error(f"too many requests{times}: {message}", transient=True)
            case 408 | 409 | 500 | 502 | 503 | 504 | 529:
                return self.error(f"{self.server} fails with {status}{times}: {message}", transient=True)
        return self.error(f"{self.server} does not take the request ({status}): {message}", status >= 500)

    @property
    def which_key(self) -> str:
        """The key in words: where it comes from."""
        if not self.key_variables:
            return "a request without a key (key_variable=VARIABLE beside base_url names one)"
        return f"the key in {' or '.join(self.key_variables)}"

    def without_key(self, text: str) -> str:
        """`text` of the server without the key and its parts."""
        return without_traces(text, [os.environ.get(variable, "").strip() for variable in self.key_variables])

    def redacted(self, text: str) -> str:
        """`text` as one line, without words that hold the key or a part of it, which vendors quote in their errors."""
        line = " ".join(self.without_key(text[:_READ_CHARS]).split())
        return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 1]}…"


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number
        return False
