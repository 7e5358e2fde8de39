"""Addresses of parties that cannot be: each is refused in one line, before anybody is contacted."""

import pytest
from helpers.live_calls import assert_refused

VARIABLES = ["OPENAI_API_KEY", "XAI_API_KEY", "GOOGLE_API_KEY", "ULTRAVOX_API_KEY", "ELEVENLABS_API_KEY"]
VARIABLES += ["LIVEKIT_API_KEY", "LIVEKIT_API_SECRET", "STEPFUN_API_KEY"]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "a-key-of-nobody")
    for variable in ("OPENAI_BASE_URL", "LIVEKIT_TOKEN"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("openai-live:m?turn_detection=x", "expected settings of base_url, key_variable"),
        ("openai-live:m?responses_tool_choice=auto", "expected responses_model=NAME beside it"),
        ("openai-live:m?store=maybe", "store: expected true or false, got 'maybe'"),
        ("openai-live:", "expected openai-live:NAME, got no name"),
        ("openai-live:m?key_variable=NO_SUCH_KEY", "expected a key in NO_SUCH_KEY"),
        ("openai-realtime:m?loudness=3", "expected settings of base_url, key_variable"),
        ("openai-realtime:m?turn_detection=mine", "expected one of server_vad, semantic_vad, none, got 'mine'"),
        ("openai-realtime:", "expected openai-realtime:NAME, got no name"),
        ("openai-realtime:m?instructions=@none.txt&base_url=http://x", "none.txt: cannot be read: No such file"),
        ("openai-realtime:m?base_url=ftp://x", "expected http://HOST"),
        ("openai-realtime:m?input_rate_hz=16000", "expected settings of"),
        ("grok:m?transport=webrtc", "grok: transport: expected websocket"),
        ("azure-realtime:m", "expected the server, ?base_url=https://HOST..., got none"),
        ("azure-voice-live:m", "azure-voice-live:m: expected the server, ?base_url=https://HOST"),
        ("realtime-beta:m", "expected the server"),
        ("qwen-omni:m?transport=webrtc", "expected websocket, got 'webrtc'"),
        ("qwen-omni:m?input_rate_hz=8000", "input_rate_hz: expected 16000 or 24000, got '8000"),
        ("stepfun:m?turn_detection=none&threshold=0.3", "threshold: expected turn_detection=server_vad beside it"),
        ("gemini-live:gemini-3.8-live?voice=Kore", "expected settings of base_url, key_variable, instructions, voice_"),
        ("gemini-live:gemini-3.8-live?tool_behavior=WAIT", "expected BLOCKING or NON_BLOCKING, got 'WAIT'"),
        ("gemini-live:gemini-3.1-flash-live-preview?tool_behavior=NON_BLOCKING", "live-preview only has BLOCKING"),
        (
            "gemini-live:gemini-3.1-flash-live-preview?proactive_audio=true",
            "proactive_audio: gemini-3.1-flash-live-preview does not take it",
        ),
        (
            "gemini-live:gemini-3.8-live-extended-thinking?tool_behavior=BLOCKING&thinking_level=LOW",
            "gemini-3.8-live-extended-thinking only has NON_BLOCKING",
        ),
        ("gemini-live:gemini-3.8-live-extended-thinking", "thinking_level: gemini-3.8-live-extended-thinking needs it"),
        ("gemini-live:", "expected gemini-live:NAME, got no name"),
        ("gemini-live:gemini-3.8-live?key_variable=NO_SUCH_KEY", "expected a key in NO_SUCH_KEY"),
        ("gemini-live:gemini-3.8-live?base_url=http://x&instructions=@none.txt", "none.txt: cannot be read: No such"),
        ("ultravox:ultravox-v0.7?voices=x", "expected settings of base_url, key_variable, instructions, voice"),
        ("ultravox:ultravox-v0.7?maxDuration=600", "maxDuration: expected a duration such as 0.5s, got '600'"),
        ("ultravox:ultravox", "expected a name with its version, as in ultravox-v0.7, got 'ultravox'"),
        ("ultravox:", "expected ultravox:NAME, got no name"),
        ("ultravox:ultravox-v0.7?key_variable=NO_SUCH_KEY", "expected a key in NO_SUCH_KEY"),
        ("freeze-omni:server", "expected freeze-omni://HOST:PORT"),
        ("freeze-omni://h:8081/room", "expected freeze-omni://HOST:PORT"),
        ("freeze-omni://h:8081?voice=x", "expected settings of tls, instructions"),
        ("freeze-omni://h:8081?tls=yes", "tls: expected 0 or 1"),
        ("freeze-omni://h:8081?instructions=@/no/such/file", "/no/such/file: cannot be read"),
        ("twilio:bot", "expected twilio://HOST:PORT/PATH"),
        ("twilio://h:1/x?digits=5:x", "digits: expected SECONDS:KEYS"),
        ("twilio://h:1/x?parameters=a", "parameters: expected NAME:VALUE"),
        ("twilio://h:1/x?rate=8000", "expected settings of parameters, digits, key_variable"),
        ("twilio://h:1/x?key_variable=NO_SUCH_TOKEN", "expected a token in NO_SUCH_TOKEN"),
        ("elevenlabs:agent_1?voices=x", "expected settings of base_url, key_variable, instructions, first_message"),
        ("elevenlabs:agent_1?agent=agent_2", "expected settings of base_url, key_variable, instructions, first_m"),
        ("elevenlabs:agent_1?speed=fast", "elevenlabs: speed: expected a number, got 'fast'"),
        ("elevenlabs:agent_1?dynamic_variables=x", "dynamic_variables: expected a JSON object, got 'x'"),
        ("elevenlabs:", "expected elevenlabs:NAME, got no name"),
        ("elevenlabs:agent_1?key_variable=NO_SUCH_KEY", "expected a key in NO_SUCH_KEY"),
        ("json-ws:", "json-ws: expected json-ws:FILE.toml, got no file"),
        ("json-ws:none.toml", "none.toml: cannot be read: No such file or directory"),
        ("livekit:lobby", "expected livekit://HOST[:PORT]/ROOM"),
        ("livekit://127.0.0.1", "expected livekit://HOST[:PORT]/ROOM"),
        ("livekit://example.com/lobby", "expected livekits:// for a token beyond this machine"),
        ("livekit://127.0.0.1/lobby?room=x", "expected settings of participant, identity, new_room, join_s"),
        ("moshi:h", "expected moshi://host"),
        ("moshi://h:port", "expected moshi://host"),
        ("moshi://me:secret@h", "expected moshi://host"),
        ("moshi://h?tls=yes", "tls: expected 0 or 1, got 'yes'"),
        ("moshi://h?lag_steps=-1", "lag_steps: expected a whole number from 0 to 9, got '-1'"),
        ("moshi://h?temperature=1", "got 'temperature'"),
        ("moshi://h?text_prompt=hi", "got 'text_prompt'"),
        ("personaplex://h?seed=1", "got 'seed'"),
        ("gemini:", "expected gemini:NAME of a model"),
        ("gemini:x?pause_ms=705", "pause_ms: expected a multiple of 10"),
        ("openai-chat:x?voice=alloy", "base_url, key_variable, pause_ms, hears, system, user, got 'voice'"),
        ("gemini:x?base_url=localhost:1", "gemini:x: expected http://"),
        ("gemini:x?system=@/nowhere/p.txt", "/nowhere/p.txt: cannot be read: No such file or directory"),
        ("exec", "expected exec:COMMAND"),
        ("exec:", "expected exec:COMMAND"),
        ("exec:clocking=burst", "expected exec:COMMAND"),
        ("exec:cat 'open", "No closing quotation"),
        ("exec:clocking=realtime cat", "clocking: expected input or burst, got 'realtime'"),
        ("exec:step_ms=15 cat", "step_ms: expected a multiple of 10"),
        ("exec:step_ms=ten cat", "step_ms: expected a multiple of 10 from 10 to 1000, got 'ten'"),
        ("exec:timeout_s=0 cat", "timeout_s: expected a whole number of at least 1"),
        ("webrtc:?ptime=15", "expected"),
        ("webrtc:join_s=4", "expected"),
        ("webrtc://h:99999", "expected"),
        ("webrtc:?nope=1", "expected"),
        ("whip://h:1/x?join_s=z", "expected"),
        ("echo:", "expected"),
        ("echo:200", "expected"),
        ("echo:delay_ms=", "expected"),
        ("echo:delay_ms=15", "expected"),
        ("echo:delay_ms=0", "expected"),
        ("echo:delay_ms=-10", "expected"),
    ],
)
def test_a_wrong_address_is_one_line(address: str, expected: str) -> None:
    assert_refused(address, expected)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "XAI_API_KEY"])
def test_a_missing_key_is_one_line(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable)
    assert_refused({"OPENAI_API_KEY": "openai-realtime:m", "XAI_API_KEY": "grok:m"}[variable], f"a key in {variable}")
