"""What a model's server is, and what looking a model up tells of it, over the sockets of fakes."""

import pytest
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_GEMINI, NEEDS_OPENAI, Fails, FakeModelServer

from fdbcore import registry
from fdbcore.endpoints.vendors.openai_realtime import DIALECTS
from fdbcore.errors import PartyError
from fdbcore.models.account import NO_KEY, Account, Vendor
from fdbcore.types.usage import Service

pytestmark = [NEEDS_OPENAI, NEEDS_GEMINI]

SYSTEMS = {"openai-chat:gpt-5-nano": FakeOpenAI, "gemini:gemini-2.5-flash": FakeGemini}
both = pytest.mark.parametrize(("system", "kind"), SYSTEMS.items(), ids=["openai", "gemini"])


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (FakeOpenAI, FakeGemini):
        monkeypatch.setenv(kind.VARIABLE, kind.KEY)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)


def probe(system: str, server: FakeModelServer) -> None:
    registry.endpoint(server.address_of(system)).probe()


@both
def test_a_model_that_is_there_is_found_without_a_request(system: str, kind: type[FakeModelServer]) -> None:
    with kind([], models=[system.partition(":")[2]]) as server:
        probe(system, server)
        assert server.asked == []


@both
def test_a_wrong_key_and_an_unknown_model_are_named(
    system: str, kind: type[FakeModelServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind([], models=["another"]) as server:
        with pytest.raises(PartyError, match="has no such model") as unknown:
            probe(system, server)
        monkeypatch.setenv(kind.VARIABLE, "sk-not-the-right-one")
        with pytest.raises(PartyError, match=f"does not take the key in {kind.VARIABLE}") as wrong:
            probe(system, server)
    assert not unknown.value.transient
    assert "not-the-right" not in str(wrong.value)


@both
def test_a_region_that_is_not_served_is_named(system: str, kind: type[FakeModelServer]) -> None:
    refusals = {
        FakeOpenAI: Fails(403, "Country, region, or territory not supported", "unsupported_country_region_territory"),
        FakeGemini: Fails(400, "User location is not supported for the API use.", "FAILED_PRECONDITION"),
    }
    with kind([]) as server:
        server.refuses = refusals[kind]
        with pytest.raises(PartyError, match="does not serve this region"):
            probe(system, server)


@both
def test_a_server_that_is_not_there_is_named(system: str, kind: type[FakeModelServer]) -> None:
    with kind([]) as server:
        pass
    with pytest.raises(PartyError, match="cannot be reached") as raised:
        probe(system, server)
    assert raised.value.transient


def test_another_server_need_not_list_its_models() -> None:
    with FakeOpenAI([]) as server:
        server.refuses = Fails(404, "Not Found")
        probe("openai-chat:gpt-5-nano", server)


def test_the_vendors_own_servers_alone_have_its_models() -> None:
    def services(system: str) -> list[Service]:
        return list(registry.endpoint(system).services())

    own = [Service("audio", "api.openai.com", "openai", "gpt-5-nano")]
    assert services("openai-chat:gpt-5-nano") == own
    assert services("openai-chat:gpt-5-nano?base_url=https://eu.api.openai.com/v1&key_variable=OPENAI_API_KEY") == [
        own[0]._replace(host="eu.api.openai.com")
    ]
    assert services("openai-chat:gpt-5-nano?base_url=http://127.0.0.1:8000/v1") == [Service("audio", "127.0.0.1")]
    assert services("gemini:x") == [Service("audio", "generativelanguage.googleapis.com", "gemini", "x")]


def test_parties_without_a_vendor_name_their_hosts() -> None:
    hosts = {
        "pcm_wss://user:password@agent.example.com/talk?token=x": ["agent.example.com"],
        "moshi://10.0.0.7:8998": ["10.0.0.7"],
        "personaplex://[::1]:8998": ["::1"],
        "whips://example.org/whip/b": ["example.org"],
        "webrtc": ["127.0.0.1"],
        "far:pcm_ws://agent.example.com/talk": ["agent.example.com"],
        "exec:cat": [],
        "echo": [],
        "scripted:caller": [],
    }
    assert {address: [service.host for service in registry.endpoint(address).services()] for address in hosts} == hosts


def test_a_vendors_server_without_a_list_of_models_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vendor, "owns", lambda *_: True)
    with FakeOpenAI([]) as server:
        server.refuses = Fails(404, "Not Found")
        with pytest.raises(PartyError, match="has no such model"):
            probe("openai-chat:gpt-5-nano", server)


@pytest.mark.parametrize(
    ("system", "url", "is_sent"),
    [
        ("openai-realtime", "https://eu.api.openai.com/v1", True),
        ("openai-realtime", "http://api.openai.com/v1", False),
        ("azure-realtime", "https://mine.openai.azure.com/openai/v1", True),
        ("azure-realtime", "https://mine.cognitiveservices.azure.com/openai/v1", True),
        ("azure-realtime", "https://mine.services.ai.azure.com/openai/v1", True),
        ("azure-realtime", "http://mine.openai.azure.com/openai/v1", False),
        ("azure-realtime", "https://stranger.westeurope.cloudapp.azure.com/openai/v1", False),
    ],
)
def test_a_key_goes_to_the_vendors_own_servers_alone_and_with_tls(
    system: str, url: str, is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-0123456789abcdef")
    assert (Account(DIALECTS[system].vendor, "m", url).key() != NO_KEY) is is_sent
