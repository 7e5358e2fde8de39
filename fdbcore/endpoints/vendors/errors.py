"""Names the errors of vendors, and says what to do about each."""

from dataclasses import dataclass
from typing import Final

from fdbcore.errors import PartyError
from fdbcore.models.account import Account


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a vendor's refusal to go on.

    name: in one word or two. remedy: what the user can do; "{key}" is where the key comes from. transient: another
    try may succeed. ends: the session is over, and not only one request of it.
    """

    name: str
    remedy: str
    transient: bool = False
    ends: bool = True


KEY: Final = Cause("key", "{key} is not taken: check it, and that it belongs to this server")
MODEL: Final = Cause("model", "there is no such model for {key}: check its name, and whether the account has access")
QUOTA: Final = Cause("quota", "the account has used up its money or quota: raise it at the vendor")
BUSY: Final = Cause("busy", "too many requests or sessions: try later, or with fewer --jobs", transient=True)
REGION: Final = Cause("region", "the vendor does not serve this place: use a server of another region")
MODERATION: Final = Cause("moderation", "the vendor declined the content of this call")
VERSION: Final = Cause("version of the interface", "the server no longer speaks this interface: use a newer fdbcore")
LIMIT: Final = Cause("session limit", "the session reached its longest duration: use a smaller --max-s")
GOING: Final = Cause("going away", "the server ends its sessions: try again", transient=True)
SERVER: Final = Cause("server", "the server failed: try again", transient=True)
SETTING: Final = Cause("setting", "the server does not take a setting or message", ends=False)

_BY_CODE: Final[dict[str, Cause]] = {
    code: cause
    for cause, codes in (
        (
            KEY,
            "invalid_api_key missing_api_key authentication_error unauthorized account_deactivated forbidden 401 403",
        ),
        (MODEL, "model_not_found invalid_model deploymentnotfound 404"),
        (QUOTA, "insufficient_quota credit_balance_exhausted billing_hard_limit_reached 402"),
        (BUSY, "rate_limit_exceeded rate_limit_error too_many_requests session_limit_reached overloaded 429 503 529"),
        (REGION, "unsupported_country_region_territory unsupported_region"),
        (MODERATION, "content_filter content_policy_violation moderation_blocked"),
        (VERSION, "beta_api_shape_disabled"),
        (LIMIT, "session_expired session_timeout max_duration_reached"),
        (GOING, "server_shutdown going_away"),
        (SERVER, "server_error internal_error internal_server_error service_unavailable 500 502 504"),
    )
    for code in codes.split()
}


class VendorError(PartyError):
    """A named error of a vendor."""

    def __init__(self, account: Account, cause: Cause, said: str) -> None:
        remedy = cause.remedy.format(key=account.which_key)
        said = f" ({account.redacted(said)})" if said.strip() else ""
        super().__init__(f"{account.name}: {cause.name}: {remedy}{said}", cause.transient)
        self.cause = cause


def named_error(account: Account, code: object, message: object) -> VendorError:
    """The error behind a vendor's code and message. A code that is not known counts as a SETTING."""
    cause = _BY_CODE.get(str(code or "").lower(), SETTING)
    return VendorError(account, cause, " ".join(str(part) for part in (code, message) if part))
