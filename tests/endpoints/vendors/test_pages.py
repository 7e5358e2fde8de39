"""The pages of docs/systems state every setting, its default and what it may be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.settings_table import listed

from fdbcore.endpoints.cascaded.settings import SETTINGS as CASCADED
from fdbcore.endpoints.vendors.freeze_omni import SETTINGS as FREEZE_OMNI
from fdbcore.endpoints.vendors.gemini_session import SETTINGS as GEMINI_LIVE
from fdbcore.endpoints.vendors.live_session import SETTINGS as LIVE
from fdbcore.endpoints.vendors.livekit import SETTINGS as LIVEKIT
from fdbcore.endpoints.vendors.pipecat import SETTINGS as PIPECAT
from fdbcore.endpoints.vendors.realtime_session import SETTINGS as REALTIME
from fdbcore.endpoints.vendors.twilio import SETTINGS as TWILIO
from fdbcore.endpoints.vendors.ultravox_call import SETTINGS as ULTRAVOX
from fdbcore.endpoints.webrtc.endpoint import SETTINGS as WEBRTC
from fdbcore.runtime.address import Setting

PAGES = Path(__file__).parents[3] / "docs" / "systems"


@pytest.mark.skipif(not PAGES.is_dir(), reason="needs the checkout, not only the wheel")
@pytest.mark.parametrize(
    ("page", "settings"),
    [
        ("openai-realtime", REALTIME),
        ("openai-live", LIVE),
        ("gemini-live", GEMINI_LIVE),
        ("ultravox", ULTRAVOX),
        ("freeze-omni", FREEZE_OMNI),
        ("twilio", TWILIO),
        ("pipecat", PIPECAT[len(WEBRTC) :]),
        ("livekit", LIVEKIT),
        ("cascaded", CASCADED),
    ],
)
def test_the_page_lists_all_settings(page: str, settings: Sequence[Setting]) -> None:
    assert listed(settings) in (PAGES / f"{page}.md").read_text(encoding="utf-8")
