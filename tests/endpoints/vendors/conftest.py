"""What the tests of vendors' systems share."""

from __future__ import annotations

import pytest
from fakes.far_end import FarEnd
from helpers.conformance import SECRET
from helpers.vendor_conformance import VARIABLE


@pytest.fixture(autouse=True)
def key_of_our_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one key of our servers, and where it is."""
    monkeypatch.setattr(FarEnd, "KEY", SECRET)
    monkeypatch.setenv(VARIABLE, SECRET)
