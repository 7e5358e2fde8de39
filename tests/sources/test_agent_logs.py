"""Agents' logs: each form gives the same entries at the same times, and names mean what frameworks and people write."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fdbcore.errors import InputError
from fdbcore.recording.agent_log import Place
from fdbcore.sources.agent_logs import LogEvent, read_log
from fdbcore.sources.log_event_names import event_of, events_of, place_of

START_S = 1_793_500_000.125
"""Of a call, as seconds since 1970; with three digits every form can say it."""


def iso(after_s: float, form: str = "%Y-%m-%dT%H:%M:%S.%fZ") -> str:
    return datetime.fromtimestamp(START_S + after_s, UTC).strftime(form)


def ns(after_s: float) -> str:
    return str(round((START_S + after_s) * 1000) * 1_000_000)


def lines(*values: dict[str, Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def loguru(after_s: float, message: str, place: str = "pipecat.services.x:run:12") -> str:
    return f"{iso(after_s, '%Y-%m-%d %H:%M:%S.%f')[:-3]} | DEBUG    | {place} - {message}\n"


def span(name: str, begin_s: float, end_s: float, ttfb_s: float, **more: Any) -> dict[str, Any]:
    ttfb = {"key": "metrics.ttfb", "value": {"doubleValue": ttfb_s}}
    model = {"key": "gen_ai.request.model", "value": {"stringValue": "m"}}
    times = {"startTimeUnixNano": ns(begin_s), "endTimeUnixNano": ns(end_s)}
    return {"name": name, **times, "attributes": [model, ttfb], **more}


BOT = {"attributes": [{"key": "service.name", "value": {"stringValue": "bot"}}]}
ASKED = {"timeUnixNano": ns(2.125), "name": "asked"}
SPANNED = [span("llm", 2.0, 3.5, 0.25, events=[ASKED]), span("stt", 4.0, 4.125, 0.0625), span("tts", 4.0, 4.125, 0.5)]
SPANS = {"resourceSpans": [{"resource": BOT, "scopeSpans": [{"scope": {"name": "pipecat"}, "spans": SPANNED}]}]}
OF_SPANS = [
    *[(2.0, "llm begins"), (2.125, "llm: asked"), (2.25, "llm first output"), (3.5, "llm ends")],
    *[(4.0, "stt begins"), (4.0, "tts begins"), (4.125, "stt ends"), (4.125, "tts ends")],
]
"""Pipecat's `stt` begins when the transcript is there, and its `tts` may end before the first byte."""

LOGGED = [
    {"timeUnixNano": ns(1.0), "body": {"stringValue": "heard"}},
    {"observedTimeUnixNano": ns(2.0), "eventName": "spoke", "body": {"stringValue": "x"}},
    {"timeUnixNano": ns(3.0), "body": {"kvlistValue": {"values": []}}},
]
LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": LOGGED}]}]}

OF_USER = {"stopped_speaking_at": START_S + 1.5, "end_of_turn_delay": 0.625, "transcription_delay": 1.0}
OF_ASSISTANT = {
    **{"started_speaking_at": START_S + 3.25, "stopped_speaking_at": START_S + 5},
    **{"tts_node_ttfb": 0.125, "playback_latency": 0.0625, "e2e_latency": 1},
}
LIVEKIT_REPORT = {
    "job_id": "j",
    "timestamp": START_S + 60,
    "events": [
        {"type": "user_state_changed", "created_at": START_S + 1, "old_state": "listening", "new_state": "speaking"},
        {"type": "user_input_transcribed", "created_at": START_S + 2, "transcript": "hi", "is_final": False},
        {"type": "user_input_transcribed", "created_at": START_S + 2.5, "transcript": "hi.", "is_final": True},
        {"type": "agent_state_changed", "created_at": START_S + 3, "old_state": "thinking", "new_state": "speaking"},
        {"type": "close", "created_at": START_S + 9, "reason": "job_shutdown"},
    ],
    "chat_history": {
        "items": [
            {"type": "agent_config_update", "id": "c"},
            {"type": "message", "role": "user", "metrics": OF_USER},
            {"type": "message", "role": "assistant", "metrics": OF_ASSISTANT},
        ]
    },
}

PIPECAT = (
    loguru(0.5, "PipelineTask#0: starting")
    + loguru(1.0, "LLMUserAggregator#0: User started speaking (strategy: VADUserTurnStartStrategy#0)")
    + loguru(2.0, "User stopped speaking")
    + loguru(2.125, "OpenAILLMService#0: Generating chat from universal context [{'role': 'user'}]")
    + "  {'a message that goes on': 1}\n"
    + loguru(2.5, "OpenAILLMService#0 TTFB: 0.375s")
    + loguru(2.625, "CartesiaTTSService#1: Generating TTS [Hello.]")
    + loguru(3.0, "Bot started speaking")
)

VAPI = {
    "id": "call",
    "artifact": {
        "messages": [
            {"role": "system", "message": "Be kind.", "time": 1000 * START_S, "secondsFromStart": 0},
            {"role": "user", "message": "Hi", "secondsFromStart": 1}
            | {"time": 1000 * (START_S + 1), "endTime": 1000 * (START_S + 2)},
            {"role": "bot", "message": "Hello", "time": 1.0, "endTime": 1501.0, "secondsFromStart": 2.5},
        ]
    },
}
OF_VAPI = [(0, "system begins"), (1, "user begins"), (2, "user ends"), (2.5, "bot begins"), (4, "bot ends")]


@pytest.mark.parametrize(
    ("text", "start_s", "entries"),
    [
        (lines({"time": 2.5, "name": "b"}, {"time": 1, "name": "a", "more": 1}), 0, [(1, "a"), (2.5, "b")]),
        (lines({"time": iso(1), "name": "a"}, {"time": iso(2)[:-1], "name": "b"}), START_S, [(1, "a"), (2, "b")]),
        (lines({"time": "2026-11-01T09:00:01+09:00", "name": "a"}), 1_793_491_201.0, [(0, "a")]),
        (json.dumps(SPANS, indent=1), START_S, OF_SPANS),
        (lines(SPANS, LOGS), START_S, [(1.0, "heard"), (2.0, "spoke"), *OF_SPANS]),
        (
            json.dumps(LIVEKIT_REPORT),
            START_S,
            [
                *[(1, "user speaking"), (1.5, "user ends"), (2, "transcript"), (2.125, "turn decided")],
                *[(2.5, "transcript final"), (3, "agent speaking"), (3.0625, "first token")],
                *[(3.25, "assistant begins"), (5, "assistant ends")],
            ],
        ),
        (
            lines(
                {"message": "STT metrics", "level": "INFO", "name": "livekit.agents", "timestamp": iso(1)},
                {"message": "LLM metrics", "level": "INFO", "name": "livekit.agents", "ttft": 0.3, "timestamp": iso(2)},
            ),
            START_S,
            [(1, "STT metrics"), (2, "LLM metrics")],
        ),
        (
            PIPECAT,
            START_S,
            [
                (1.0, "User started speaking"),
                (2.0, "User stopped speaking"),
                (2.125, "OpenAILLMService asked"),
                (2.5, "OpenAILLMService first output"),
                (2.625, "CartesiaTTSService asked"),
                (3.0, "Bot started speaking"),
            ],
        ),
        (json.dumps(VAPI, indent=2), 0, OF_VAPI),
        (json.dumps({"message": {"type": "end-of-call-report", **VAPI}}), 0, OF_VAPI),
        (json.dumps([{"time": 2, "name": "b"}, {"time": 1, "name": "a"}], indent=1), 0, [(1, "a"), (2, "b")]),
        (json.dumps(SPANS).replace("metrics.ttfb", "gen_ai.response.time_to_first_chunk"), START_S, OF_SPANS),
    ],
    ids=[
        *("own", "iso", "zone", "otlp", "otlp lines", "livekit report", "livekit log", "pipecat", "vapi"),
        *("vapi report", "list", "genai"),
    ],
)
def test_every_form_gives_its_entries(
    tmp_path: Path, text: str, start_s: float, entries: list[tuple[float, str]]
) -> None:
    (tmp_path / "log").write_text(text)
    found = [(event.time_s - start_s, event.name) for event in read_log(tmp_path / "log").events]
    wanted = sorted(entries)
    assert [name for _, name in found] == [name for _, name in wanted]
    assert [time_s for time_s, _ in found] == pytest.approx([time_s for time_s, _ in wanted], abs=1e-3)


def test_the_example_of_the_file_exporters_specification_is_read(tmp_path: Path) -> None:
    """OpenTelemetry Protocol File Exporter, "Examples": times in nanoseconds, as text."""
    span = {"name": "operationA", "startTimeUnixNano": "1581452772000000321", "endTimeUnixNano": "1581452773000000789"}
    (tmp_path / "log").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": [span]}]}]}))
    begins, ends = read_log(tmp_path / "log").events
    assert begins == LogEvent(pytest.approx(1_581_452_772.0, abs=1e-6), "operationA begins")  # type: ignore[arg-type]
    assert ends == LogEvent(pytest.approx(1_581_452_773.0, abs=1e-6), "operationA ends")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected entries, got an empty file"),
        ("{", 'line 1: expected {"time": seconds or ISO 8601, "name": text}'),
        ('{"time": 1, "name": "x"}\n\n{"t": 1}\n{"t": 2}', "line 3: expected"),
        ('{"time": "1", "name": "x"}', "line 1: time: expected seconds as a number, or ISO 8601, got '1'"),
        ('{"time": NaN, "name": "x"}', "line 1: expected"),
        ('{"time": true, "name": "x"}', "line 1: time: expected seconds"),
        ('{"time": 1, "name": ""}', "line 1: name: expected a text, got ''"),
        ("[1]", "entry 1: expected"),
        ('[{"time": 1, "name": "x"}, {"time": 2}, 3]', "entry 2: expected"),
        ("09:30 hello", "line 1: expected"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}', "span 1: expected"),
        ('{"resourceSpans": []}', "expected entries, got none in it"),
        ('{"messages": [{"role": "bot", "message": "x"}]}', "expected entries, got none in it"),
        ('{"timestamp": "yesterday", "message": "x"}', "line 1: timestamp: expected seconds"),
    ],
)
def test_a_log_that_is_none_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(InputError) as caught:
        read_log(tmp_path / "log.jsonl")
    text = str(caught.value)
    assert message in text
    assert text.count("expected") == 1
    assert "\n" not in text


def colours(line: str) -> str:
    """A line as loguru writes it to a terminal: each part in its own colour."""
    time, level, rest = line.rstrip("\n").split(" | ", 2)
    place, _, message = rest.partition(" - ")
    parts = place.replace(":", "\x1b[0m:\x1b[36m")
    return f"\x1b[32m{time}\x1b[0m | \x1b[34m\x1b[1m{level}\x1b[0m | \x1b[36m{parts}\x1b[0m - \x1b[1m{message}\x1b[0m\n"


def serialized(line: str) -> str:
    """A line as `logger.add(..., serialize=True)` writes it: the time is a number there."""
    time, _, rest = line.rstrip("\n").split(" | ", 2)
    seconds = datetime.fromisoformat(f"{time}+00:00").timestamp()
    record = {"extra": {"session_id": "s-1"}, "message": rest.partition(" - ")[2], "time": {"timestamp": seconds}}
    return json.dumps({"text": line, "record": record}) + "\n"


BEFORE = (
    "",
    "2026-01-01T10:00:00.123456789Z stdout F ",
    "Jan 01 10:00:00 host bot[12]: ",
    "2026-01-01T10:00:00+0000 host bot[12]: ",
    "bot-1  | ",
    "[pod/bot-7/bot] ",
)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("written", [str, colours, serialized])
def test_pipecat_as_containers_print_it(tmp_path: Path, before: str, written: Callable[[str], str]) -> None:
    """The times are loguru's, not those that stand before them; what other programs print is no entry."""
    (tmp_path / "plain").write_text(PIPECAT)
    wanted = read_log(tmp_path / "plain").events
    printed = "".join(f"{before}{written(line)}" for line in PIPECAT.splitlines(keepends=True) if " | " in line)
    (tmp_path / "log").write_text(printed if written is serialized else f"{before}Starting\n{printed}")
    events, left_out = read_log(tmp_path / "log")
    assert [event.name for event in events] == [event.name for event in wanted]
    assert [event.time_s for event in events] == pytest.approx([event.time_s for event in wanted], abs=1e-6)
    assert left_out == []


def test_own_lines_on_the_stream_of_a_container_are_read(tmp_path: Path) -> None:
    own = "".join(f"bot-1  | {json.dumps({'time': iso(at), 'name': name})}\n" for at, name in ((1.5, "a"), (4.5, "b")))
    for others in ("", loguru(2.0, "User stopped speaking") + '{"no": "entry"}\n'):
        (tmp_path / "log").write_text(own + others)
        events, left_out = read_log(tmp_path / "log")
        assert [event.name for event in events] == (["a", "User stopped speaking", "b"] if others else ["a", "b"])
        assert left_out == []


def test_of_a_log_of_several_calls_the_entries_of_one_are_read(tmp_path: Path) -> None:
    two = json.loads(json.dumps(SPANS).replace('"name": "llm"', '"name": "llm", "traceId": "s-10"'))
    of_both = (
        "".join(f"[pod/s-{n}/bot] {loguru(n, 'User stopped speaking')}" for n in (1, 10, 1)),
        lines(*({"time": n, "name": "x", "call_id": f"s-{n}"} for n in (1, 10, 1))),
        json.dumps([{"time": n, "name": "x", "call_id": f"s-{n}"} for n in (1, 10, 1)]),
    )
    for text in of_both:
        (tmp_path / "log").write_text(text)
        assert [len(read_log(tmp_path / "log", session).events) for session in (None, "s-1")] == [3, 2]
        with pytest.raises(InputError, match="expected entries that hold 's-', got none"):
            read_log(tmp_path / "log", "s-")
    (tmp_path / "log").write_text(lines(two))
    assert {event.name[:3] for event in read_log(tmp_path / "log", "s-10").events} == {"llm"}


@pytest.mark.parametrize(
    ("document", "vendor"),
    [
        ({"transcript_object": [{"role": "agent", "words": [{"word": "Hi", "start": 0.5, "end": 0.8}]}]}, "Retell"),
        ([{"call_id": "x", "transcript_object": []}], "Retell"),
        ({"event": "call_ended", "call": {"transcript_object": []}}, "Retell"),
        ({"transcript": [{"role": "agent", "message": "Hi", "time_in_call_secs": 0}]}, "ElevenLabs"),
        ({"data": {"transcript": [{"role": "agent", "time_in_call_secs": 0}]}}, "ElevenLabs"),
        ({"transcripts": [{"created_at": iso(0), "text": "Hi"}], "concatenated_transcript": "user: Hi"}, "Bland"),
    ],
)
def test_a_vendors_call_without_times_of_stages_is_refused_by_name(tmp_path: Path, document: Any, vendor: str) -> None:
    (tmp_path / "log.json").write_text(json.dumps(document, indent=1))
    with pytest.raises(InputError, match=rf"got a (call|conversation) of {vendor}, .*: leave it out, or give"):
        read_log(tmp_path / "log.json")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"time": 1, "name": "x"}\n{"time": 2, "name": "y"}\n{"time": 61.2, "na', ["line 3"]),
        ('[{"time": 1, "name": "x"}, {"time": 2, "name": "y"}, {"time": null, "name": "z"}]', ["entry 3"]),
        (
            '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "startTimeUnixNano": 1000000000}, '
            '{"name": 3}, {"name": "y", "startTimeUnixNano": "2000000000"}]}]}]}',
            ["span 2"],
        ),
        (
            '{"messages": [{"role": "x", "secondsFromStart": 1}, {"role": "y", "secondsFromStart": 2}, 7, '
            '{"role": "z", "secondsFromStart": "soon"}]}',
            ["message 3", "message 4"],
        ),
        (
            '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "startTimeUnixNano": 1000000000}]}, '
            '{"scope": {}}]}, 3]}\n{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "y", '
            '"startTimeUnixNano": 2000000000}, {"name": "z", "startTimeUnixNano": null}]}]}]}\n'
            '{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": 1}, {"timeUnixNano": 2}]}]}]}',
            ["line 1, span 2", "line 1, span 3", "line 2, span 2"],
        ),
        (
            '{"events": null, "chat_history": {"items": [{"role": "x", "metrics": {"started_speaking_at": 1}}, null, '
            '{"role": "y", "metrics": {"started_speaking_at": 2}}]}}',
            ["item 2"],
        ),
    ],
)
def test_an_entry_that_cannot_be_read_costs_itself_and_is_named(tmp_path: Path, text: str, places: list[str]) -> None:
    (tmp_path / "log.json").write_text(text)
    events, left_out = read_log(tmp_path / "log.json")
    assert [(event.time_s, event.name[0]) for event in events] == [(1, "x"), (2, "y")]
    assert [each.removeprefix(f"{tmp_path / 'log.json'}: ").partition(":")[0] for each in left_out] == places
    assert not any(word in each for each in left_out for word in ("Error", "object", "isoformat"))


def test_times_of_a_livekit_report_may_be_texts(tmp_path: Path) -> None:
    item = {"role": "assistant", "metrics": {"started_speaking_at": "2026-01-05T09:30:07.800000Z"}}
    text = json.dumps({"chat_history": {"items": [item]}, "events": []})
    (tmp_path / "log.json").write_text(text)
    assert read_log(tmp_path / "log.json").events == [LogEvent(1767605407.8, "assistant begins")]


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("turn decided", "speech final"),
        ("end_of_turn", "speech final"),
        ("EOU metrics", "speech final"),
        ("eou_wait ends", "speech final"),
        ("User stopped speaking", "speech final"),
        ("transcript final", "speech final"),
        ("stt ends", "speech final"),
        ("endpoint", "speech final"),
        ("speechFinal", "speech final"),
        ("llm first output", "first token"),
        ("llm_node first output", "first token"),
        ("chat gpt-4o first output", "first token"),
        ("OpenAILLMService first output", "first token"),
        ("first_token", "first token"),
        ("ttft", "first token"),
        ("CartesiaTTSService first output", "first audio"),
        ("tts_node first output", "first audio"),
        ("first_audio_chunk", "first audio"),
        ("Bot started speaking", "playback"),
        ("agent speaking", "playback"),
        ("agent_speaking begins", "playback"),
        ("assistant begins", "playback"),
        ("bot begins", "playback"),
        ("audio_out", "playback"),
        ("VAD user stopped speaking", None),
        ("tts ends", None),
        ("llm begins", None),
        ("agent listening", None),
        ("tool called", None),
    ],
)
def test_names_stand_for_events(name: str, event: str | None) -> None:
    assert event_of(name) == event


def test_the_most_exact_name_stands_for_an_event_and_others_for_themselves() -> None:
    names = [
        "stt ends",
        "user_turn ends",
        "llm_request first output",
        "llm_node first output",
        "tool called",
        "llm ends",
    ]
    assert events_of(names) == {
        "user_turn ends": "speech final",
        "llm_node first output": "first token",
        "tool called": "tool called",
    }


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Bot started speaking", "starts of B's turns"),
        ("first_audio", "starts of B's turns"),
        ("anything", "starts of B's turns"),
        ("Bot stopped speaking", "ends of B's turns"),
        ("assistant ends", "ends of B's turns"),
        ("playback_finished", "ends of B's turns"),
        ("User started speaking", "starts of A's turns"),
        ("user_speaking begins", "starts of A's turns"),
        ("VAD user stopped speaking", "ends of A's turns"),
        ("user ends", "ends of A's turns"),
        ("user listening", "ends of A's turns"),
        ("User stopped speaking", None),
        ("TTS metrics", None),
        ("end of turn predicted", None),
    ],
)
def test_names_can_lie_close_to_what_they_say(name: str, place: Place | None) -> None:
    assert place_of(name) == place
