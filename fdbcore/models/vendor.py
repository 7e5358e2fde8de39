"""The shared part of all vendors' models."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from fdbcore.errors import MissingExtraError
from fdbcore.models.account import Account, Vendor
from fdbcore.protocols import Model
from fdbcore.runtime.redaction import needs_keys
from fdbcore.types import Reply, Request
from fdbcore.types.usage import Service

ATTEMPTS: Final = 6
"""Attempts at a request while its server is busy or down. With growing waits this lasts most of a minute."""

LONGEST_WAIT_S: Final = 120.0
"""A server that asks for a longer wait (an exhausted quota) is not asked again."""


class VendorModel(Account, Model):
    """A model at a vendor, or at another server with the vendor's API. A subclass calls it through the vendor's SDK.

    base_url, key_variable: see `Account`. `attempts`: how often a request is sent while its server is busy or down.
    MissingExtraError if the SDK is not installed, unless nobody is
    asked (`asking_nobody`); SettingsError as for an account.
    """

    vendor: ClassVar[Vendor]
    package: ClassVar[str]
    module: ClassVar[str]
    most_answer_bytes: ClassVar[int] = 4_000_000
    timeout_s: float = 120.0
    """The time limit of one attempt. Models that think need a minute."""

    def __init__(self, name: str, base_url: str | None = None, key_variable: str | None = None) -> None:
        super().__init__(self.vendor, name, base_url, key_variable)
        if needs_keys() and not _is_installed(self.module):
            how = "pip install 'fdbcore[judge]'"
            raise MissingExtraError(f"{self.name}: expected the package {self.package}, found none: {how}")
        self._model = name
        self.attempts = ATTEMPTS

    @abstractmethod
    def ask(self, request: Request) -> Reply:
        """See `Model.ask`."""

    def describe(self) -> Mapping[str, Any]:
        """See `Model.describe`. vendor: whose server it is; "" for one of one's own, whose address may change."""
        sdk = version(self.package) if _is_installed(self.module) else "none"
        about = {"name": self.name, "sdk": f"{self.package} {sdk}"}
        return {**about, "server": self.server, "vendor": self.services()[0].vendor}

    @abstractmethod
    def prepare(self) -> None:
        """Load the SDK and find the key now. Otherwise `ask` does it, which would stall a live process for a second.

        It contacts no server. SettingsError if there is no key, MissingExtraError if the SDK is not installed.
        """

    def services(self) -> Sequence[Service]:
        """See `Model.services`."""
        return [self.service("words")]

    @abstractmethod
    def probe(self) -> None:
        """Ask the server for its models, which costs nothing. PartyError as `ask` raises it."""


def bound(most_bytes: int, response: Any) -> None:  # noqa: ANN401
    """Let an answer fail that has no end: a hook of httpx and httpx2, which unpack and join all that comes."""
    blocks = response.iter_bytes

    def bounded(*arguments: Any) -> Iterator[bytes]:  # noqa: ANN401
        size = 0
        for block in blocks(*arguments):
            if (size := size + len(block)) > most_bytes:
                raise ValueError(f"expected an answer of at most {most_bytes:,} bytes, got more")
            yield block

    response.iter_bytes = bounded


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around the module is missing
        return False
