"""Tables of a user's own: what they declare holds calls over real sockets, and what is wrong with one is one line."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from fakes.declared_servers import AssemblyAgent, DeclaredServer, LineAgent
from fakes.far_end import Reply
from fakes.planted_speech import find
from fakes.voice_agent import Quirks
from fakes.worlds import Shop
from helpers.commands import command
from helpers.live_calls import DONE, held, of_kind, said, speaks
from helpers.settings_table import listed
from helpers.vendor_conformance import KEYED

from fdbcore.endpoints.vendors.json_keys import AUDIO, OPTION, RULES, TICKET, TOP
from fdbcore.endpoints.vendors.json_table import read_table
from fdbcore.endpoints.vendors.json_template import JsonTemplate
from fdbcore.endpoints.vendors.json_ws import JsonWs, json_ws
from fdbcore.errors import PartyError, SettingsError
from fdbcore.registry import INSTRUCTED, endpoint

PAGES = Path(__file__).parents[3] / "docs" / "systems"
DATA = Path(str(files("fdbcore.endpoints.vendors"))) / "data"
LINE = """
server = "https://line.example"
path = "/v1/ws?voice={voice}"
key_variable = "LINE_KEY"
type_field = "event"
on = [
  {message = "ack", does = "ready", hears = "config.input_format", says = "config.output_rate"},
  {message = "media_output", does = "audio", data = "media.payload"},
  {message = "clear", does = "cut"},
  {message = "user", does = "words", of = "partner", text = "text", start_ms = "time.begin", end_ms = "time.end"},
]
[headers]
Authorization = "Bearer {key}"
[settings]
voice = {meaning = "of the agent", choices = "ann bob"}
[audio]
hears = "ulaw_8000"
says = "ulaw_8000"
[send]
first = '{"event": "start", "stream_id": "fdbcore", "config": {"input_format": "ulaw_8000", "output_rate": 8000}}'
audio = '{"event": "media_input", "stream_id": "fdbcore", "media": {"payload": "{audio}"}}'
"""
"""After Cartesia's Line, with words as Hume's EVI tells them."""


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    """The complete example of the page."""
    page = PAGES / "json-ws.md"
    if not page.is_file():
        pytest.skip("needs the checkout, not only the wheel")
    (block,) = re.findall(r"```toml\n(# assembly.toml\n.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "assembly.toml"
    path.write_text(block)
    return path


@pytest.fixture
def line(tmp_path: Path) -> Path:
    path = tmp_path / "line.toml"
    path.write_text(LINE)
    return path


def at(server: DeclaredServer, table: Path, settings: str = "") -> JsonWs:
    return json_ws(f"json-ws:{table}?base_url={server.url('http')}&{KEYED}{settings}", 10)


@pytest.mark.live
def test_the_example_of_the_page_holds_a_call_with_an_interruption(assembly: Path, tmp_path: Path) -> None:
    quirks = Quirks([Reply(2.0, "it is noon"), Reply(0.5, "very well")], greeting=Reply(0.4, "hello"))
    with DeclaredServer(AssemblyAgent, quirks) as server:
        caller = speaks((60, 90), (170, 200), ticks=330)
        recording = held(tmp_path / "call", caller, at(server, assembly, "&instructions=Be+brief."))
        (agent,) = server.parties
    assert recording.outcome == DONE
    assert isinstance(agent, AssemblyAgent)
    assert agent.session == {
        "system_prompt": "Be brief.",
        "input": {"format": {"encoding": "audio/pcm", "sample_rate": 24_000}},
        "output": {"voice": "ivy", "format": {"encoding": "audio/pcm", "sample_rate": 24_000}},
    }
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_1", "turn_3"]
    (cut,) = of_kind(recording, "interrupted")
    assert (cut["item"], cut["said_ms"]) == ("turn_2", pytest.approx(2000, abs=20))
    begin, heard = find(said(recording), agent.said[1], 24_000)
    assert (begin + heard) / 480 == pytest.approx(176, abs=4), "60 ms after the caller began"
    assert [event["name"] for event in of_kind(recording, "system_turn")] == ["speech_started", "speech_stopped"] * 2
    texts = [(event["of"], event["text"], event["item"]) for event in of_kind(recording, "transcript")]
    assert texts[:3] == [
        ("self", "hello", "turn_1"),
        ("partner", "what is the time", "input_1"),
        ("self", "it is noon", "turn_2"),
    ]
    assert agent.received[-1].message == {"type": "session.end"}, "we say so when we leave"
    assert agent.unknown == []


@pytest.mark.live
@pytest.mark.parametrize(("cue", "outcome"), [("end", ""), ("fail", "busy: too many requests or sessions")])
def test_a_system_that_ends_the_call_says_why(cue: str, outcome: str, assembly: Path, tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.4)], cues={100: "answer", 700: cue}, deaf=True)
    with DeclaredServer(AssemblyAgent, quirks) as server:
        recording = held(tmp_path / "call", speaks((10, 20), ticks=150), at(server, assembly))
    assert recording.outcome is not None
    assert (recording.outcome == DONE) == (not outcome)
    assert outcome in str(recording.outcome["reason"])


@pytest.mark.live
def test_mu_law_in_json_both_ways_and_words_with_times(line: Path, tmp_path: Path) -> None:
    quirks = Quirks([Reply(2.0), Reply(0.5)], cues={1000: "answer"}, think_s=0)
    with DeclaredServer(LineAgent, quirks) as server:
        party = at(server, line, "&voice=bob")
        recording = held(tmp_path / "call", speaks((30, 60), (150, 180), ticks=250), party)
        (agent,) = server.parties
    assert recording.outcome == DONE
    assert agent.request.query["voice"] == "bob"
    first, *_ = of_kind(recording, "transcript")
    lead_ms = party.uplink.lead_ms
    assert (first["start_ms"], first["end_ms"]) == (
        pytest.approx(300 - lead_ms, abs=0.1),
        pytest.approx(600 - lead_ms, abs=0.1),
    )
    assert of_kind(recording, "interrupted")
    assert (abs(agent.heard[0]).max(), len(agent.heard[0])) == (pytest.approx(0, abs=8), 160)
    assert said(recording).any()


@pytest.mark.live
@pytest.mark.parametrize("forms", [{"input_format": "pcm_44100"}, {"output_rate": 12_000}, {"output_rate": "fast"}])
def test_a_form_that_cannot_be_had_is_no_session(forms: dict[str, object], line: Path) -> None:
    with DeclaredServer(LineAgent, Quirks(forms=forms)) as server:
        party = at(server, line, "&voice=ann")
        with pytest.raises(
            PartyError, match=r"form of the audio that it (hears|says), at config\.\w+: expected pcm_RATE"
        ):
            party.probe()
        party.close()


@pytest.mark.live
def test_doctor_holds_the_first_exchange(assembly: Path) -> None:
    with DeclaredServer(AssemblyAgent) as server:
        address = f"json-ws:{assembly}?base_url={server.url('http')}&{KEYED}"
        told = command("doctor", address)
        assert "ready in" in told.output
        assert "untried" not in told.output
        assert "key: a request without a key" in command("doctor", address.replace(KEYED, ""), code=1).output


def test_a_party_without_a_rule_for_tools_takes_none(assembly: Path) -> None:
    party = json_ws(f"json-ws:{assembly}?base_url=http://127.0.0.1:9")
    with pytest.raises(SettingsError, match="its table has no rule that calls tools"):
        party.take_tools(Shop([]).tools)


def test_the_key_of_a_table_goes_to_its_own_domain_alone(assembly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSEMBLYAI_API_KEY", "a-key-of-nobody")
    services = json_ws(f"json-ws:{assembly}").services()
    assert [service.host for service in services] == ["agents.assemblyai.com"]
    monkeypatch.delenv("ASSEMBLYAI_API_KEY")
    with pytest.raises(SettingsError, match="expected a key in ASSEMBLYAI_API_KEY"):
        json_ws(f"json-ws:{assembly}")
    json_ws(f"json-ws:{assembly}?base_url=http://127.0.0.1:9")  # it is sent none


def test_packaged_tables_can_be_used_as_files() -> None:
    party = endpoint(f"json-ws:{DATA / 'elevenlabs.toml'}?agent=agent_1&base_url=http://127.0.0.1:9")
    assert party.describe()["asked"] == {"agent": "agent_1"}
    assert {"elevenlabs", "deepgram"} < INSTRUCTED
    with pytest.raises(SettingsError, match="agent: expected a value, got none"):
        endpoint(f"json-ws:{DATA / 'elevenlabs.toml'}?base_url=http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('server = "https', 'serve = "https', "expected server, path, domain, key_variable"),
        ('server = "https://agent.deepgram.com"\n', "", "server: expected http:// or https://, got none"),
        ("[headers]", "[header]", "got 'header'; perhaps headers"),
        ('place = "think"', 'place = "thin"', "place: expected the name of a setting, got 'thin'"),
        ('path = "/v1/agent/converse"', 'path = "/{agent}"', "path: expected {NAME} of greeting, instructions"),
        ('path = "/v1/agent/converse"\n', "", "path: expected either path or [ticket], got neither"),
        ('{message = "SettingsApplied", does = "ready"}', "3", "on: expected a table, got 3"),
        ('does = "ready"', 'does = "redy"', "on[2]: does: expected one of ready, send, audio"),
        ('{message = "SettingsApplied", does = "ready"},', "", "on: expected a rule with does = 'ready', got none"),
        ('what = "settings"', 'what = "setings"', "on: expected a message of [send], such as settings"),
        ('of = "self", text', 'of = "me", text', "on[7]: of: expected self or partner, got 'me'"),
        ('of = "self", text = "content"', 'of = "self"', "on[7]: text: expected a text, got none"),
        ('of = "self", text', 'of = "self", txt = "x", text', "on[7]: expected settings of message, does, of, text"),
        ('where = {role = "user"}', "where = 3", "on[5]: where: expected a table, got 3"),
        ('"{listen}"', '"{lissen}"', "send.settings: expected {NAME} of greeting, instructions"),
        ('"{listen}"', '"nova-3"', "settings.listen: expected {listen} in a path or a message, got it in none"),
        ('hears = "pcm_24000"', 'hears = "pcm_11025"', "audio.hears: expected pcm_RATE or ulaw_RATE of 8000, 16000"),
        ('hears = "pcm_24000"', 'hears = "opus"', "audio: hears: expected pcm_RATE or ulaw_RATE, got 'opus'"),
        ("[audio]", "[audio]\npacket_ms = 15", "audio: packet_ms: expected a multiple of 10 from 10 to 1000, got 15"),
        ('"type": "KeepAlive"}', '"type": KeepAlive}', "send.alive: expected a JSON object, got: Expecting value"),
        ('{"type": "KeepAlive"}', "[3]", "send.alive: expected a JSON object, got '[3]'"),
        ("alive = '", "awake = '", "send.awake: expected a rule that sends it, got none"),
        ("setting = 'INV", "setting = '(INV", "endings.setting: expected a regular expression, got: missing )"),
        ("setting = 'INV", "settings = 'INV", "endings.settings: expected one of key, agent, quota"),
        ("setting = 'INV", "setting = 3 # 'INV", "endings.setting: expected a text, got 3"),
        ('kind = "flag"', 'kind = "bool"', "settings.mip_opt_out: kind: expected one of text, number, flag, json"),
        ('default = "open_ai"', 'default = "openai"', "settings: think_provider: expected one of open_ai, anthropic"),
        ("instructions = {meaning", "base_url = {meaning", "settings: expected names of letters, other than base_url"),
        ("result = '{", "outcome = '{", "send.outcome: expected {NAME} of"),
        ("[audio]", "[audio", "expected TOML: "),
    ],
)  # fmt: skip
def test_a_wrong_table_is_one_line(before: str, after: str, expected: str, tmp_path: Path) -> None:
    text = (DATA / "deepgram.toml").read_text(encoding="utf-8")
    assert before in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(SettingsError) as error:
        json_ws(f"json-ws:{path}")
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_what_has_no_value_is_left_out_of_a_message() -> None:
    template = JsonTemplate(
        '{"a": "{x}", "b": {"kind": "k", "c": "{y}"}, "d": ["{x}", "{y}", 1], "e": "{x} and {y}", "f": {"g": 1}, '
        '"h": "{message.p.q}", "i": "at {x}"}',
        "here",
    )
    assert template.filled({"x": 3, "y": None}, {"p": {"q": False}}) == {
        "a": 3, "d": [3, 1], "f": {"g": 1}, "h": False, "i": "at 3",
    }  # fmt: skip
    assert template.filled({"x": None, "y": [1]}) == {"b": {"kind": "k", "c": [1]}, "d": [[1], 1], "f": {"g": 1}}


@pytest.mark.parametrize("name", ["elevenlabs", "deepgram"])
def test_the_pages_state_the_settings_of_the_packaged_tables(name: str) -> None:
    page = PAGES / f"{name}.md"
    if not page.is_file():
        pytest.skip("needs the checkout, not only the wheel")
    settings = read_table(DATA / f"{name}.toml").settings
    place = read_table(DATA / f"{name}.toml").top["place"]
    shown = [setting for setting in settings if setting.name != place]
    assert listed(shown) in page.read_text(encoding="utf-8")


def test_the_page_states_every_key() -> None:
    page = PAGES / "json-ws.md"
    if not page.is_file():
        pytest.skip("needs the checkout, not only the wheel")
    parts = {"at the top": TOP, "`[ticket]`": TICKET, "`[audio]`": AUDIO, "a setting of `[settings]`": OPTION}
    parts |= {f"a rule that does `{name}`": fields for name, fields in RULES.items() if fields}
    stated = "\n".join(listed(keys, part) for part, keys in parts.items())
    assert stated in page.read_text(encoding="utf-8")
