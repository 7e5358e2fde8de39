"""The shared part of parties whose vendor gives the user an account."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.endpoints.vendors.errors import SETTING, named_error
from fdbcore.endpoints.vendors.party_log import Json, LoggedParty
from fdbcore.errors import PartyError
from fdbcore.models.account import NO_KEY, SETTINGS, Account, Vendor
from fdbcore.runtime.address import Address, Setting, parsed
from fdbcore.runtime.network import event_loop, text_of
from fdbcore.types.tools import Tool, ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage, Service, Unit

REST_TIMEOUT_S: Final = 5.0


def parsed_with_account(address: str, known: Sequence[Setting]) -> Address:
    """The parts of an address whose settings are `known`, and those of an account. SettingsError as of `parsed`."""
    return parsed(address, (*SETTINGS, *known))


def account_of(vendor: Vendor, found: Address) -> tuple[Account, dict[str, Any]]:
    """The account that an address names, and the other settings that were given. SettingsError for a missing key."""
    account = Account(vendor, found.place, **{each.name: found.settings.pop(each.name) for each in SETTINGS})
    account.key()  # report a missing key before any case is held
    return account, {name: value for name, value in found.settings.items() if value is not None}


def key_header(account: Account, name: str = "Authorization", form: str = "Bearer {}") -> Mapping[str, str]:
    """The header with the key; none for a server without keys."""
    key = account.key()
    return {} if key == NO_KEY else {name: form.format(key)}


class AccountParty(LoggedParty):
    """A party with an account. model: its name. asked: the session's settings in the server's form, without tools.

    tools: those that the model may call. differences: where the server's settings differ from what was asked. Call
    `__init__` after that of the party.
    """

    tools: Sequence[Tool] = ()

    def __init__(self, account: Account, model: str, asked: Json) -> None:
        self.name = account.name
        self.without_key = account.without_key
        self.account = account
        self.model = model
        self.asked = asked
        self.differences: list[Json] = []

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        return [self.account.service("audio")]

    def usage(self, counts: Mapping[Unit, float], due: bool = False, model: str | None = None) -> ModelUsage:
        """Usage that a model has counted, by default the party's own."""
        return ModelUsage(self.account.service("audio").vendor, self.model if model is None else model, counts, due)

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`. A close that has a reason of the server's was explained by an error before it."""
        error = named_error(self.account, code, said)
        return None if error.cause is SETTING else error

    def of_session(self) -> Json:
        """See `VendorParty.of_session`; with where the server's settings differ."""
        differ = {"differs": self.differences} if self.differences else {}
        return {"server": self.account.server, "asked": self.asked, **differ}

    async def rest(self, method: str, url: str, headers: Mapping[str, str], body: Json | None = None) -> str:
        """The answer to a request. PartyError if there is none in time; aiohttp's errors if there is no server, or it
        refuses."""
        import aiohttp

        limit = aiohttp.ClientTimeout(total=REST_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(headers=headers, timeout=limit) as http,
                http.request(method, url, json=body, allow_redirects=False) as answer,
            ):
                text = await text_of(answer)
                if answer.status >= 300:
                    raise aiohttp.ClientResponseError(
                        answer.request_info, (), status=answer.status, message=text, headers=answer.headers
                    )
                return text
        except TimeoutError:
            path = url.removeprefix(self.account.base_url).partition("?")[0]
            late = f"{self.account.server} gave no answer to {method} {path} within {REST_TIMEOUT_S:g} s"
            raise self.error(late, transient=True) from None

    # Its calls of tools

    def call(self, call: ToolCall) -> None:
        """Pass on what the party did with a call of a tool."""
        if self.tools:
            self.stream.call(call)

    def result(self, result: ToolResult) -> Sequence[Json]:
        """The messages that carry the result of a call of a tool."""
        raise NotImplementedError  # a party that takes tools has them

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Declare these tools when the session begins."""
        self.tools = tools

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Send the result."""
        event_loop().call_soon_threadsafe(lambda: self.send(*self.result(result)))

    def tool_calls(self) -> Sequence[ToolCall]:
        """Calls of tools that the party began, completed or cancelled since this was last asked."""
        return self.stream.tool_calls()
