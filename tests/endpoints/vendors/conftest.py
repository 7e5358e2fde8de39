"""What the tests of vendors' systems share."""

import pytest
from fakes.far_end import FarEnd
from fakes.realtime.dialects import DIALECTS
from fakes.vendor_server import VendorServer
from helpers.conformance import SECRET
from helpers.vendor_conformance import VARIABLE


@pytest.fixture(autouse=True)
def key_of_our_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one key of our servers, and where it is."""
    for server in (FarEnd, VendorServer):
        monkeypatch.setattr(server, "KEY", SECRET)
    for variable in (VARIABLE, *(dialect.variable for dialect in DIALECTS.values() if dialect.variable)):
        monkeypatch.setenv(variable, SECRET)
