"""Logs as LiveKit, Pipecat and Vapi write them, of calls whose stages are known: the same stages come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.drawn import dialogue
from helpers.logged import Exchange, exchanges

from fdbcore.analysis.stages import stage_table
from fdbcore.measures.agent_log import laid
from fdbcore.measures.log_clock import find_clock
from fdbcore.sources.agent_logs import read_log

CLOCK_S = 1_793_500_000.0
DECIDED_S, MODEL_S, VOICE_S, SENT_S = 0.3, 0.35, 0.2, 0.05
"""From A's end to the decision, the model, the voice; and from playback to B's onset. The rest is buffering."""


def times_s(of: Exchange) -> tuple[float, float, float, float]:
    """The decision, the first token, the first audio and playback, by the clock of the log."""
    decided = CLOCK_S + of.end_s + DECIDED_S
    return decided, decided + MODEL_S, decided + MODEL_S + VOICE_S, CLOCK_S + of.onset_s - SENT_S


def pipecat_log(found: Sequence[Exchange]) -> str:
    entries = []
    for of in found:
        decided, token, audio, playback = times_s(of)
        entries += [
            (decided - DECIDED_S - 1, "User started speaking"),
            (decided, "User stopped speaking"),
            (decided + 0.01, "OpenAILLMService#0: Generating chat from universal context [{'role': 'user'}]"),
            (token, f"OpenAILLMService#0 TTFB: {MODEL_S - 0.01:.3f}s"),
            (audio, f"CartesiaTTSService#0 TTFB: {VOICE_S:.3f}s"),
            (playback, "Bot started speaking"),
            (CLOCK_S + of.done_s + 0.35, "Bot stopped speaking"),
        ]
    stamp = "%Y-%m-%d %H:%M:%S.%f"
    return "".join(
        f"{datetime.fromtimestamp(time_s, UTC).strftime(stamp)[:-3]} | DEBUG    | pipecat.x:y:1 - {text}\n"
        for time_s, text in sorted(entries)
    )


def span(name: str, start_s: float, end_s: float, **attributes: float) -> dict[str, Any]:
    return {
        "name": name,
        "startTimeUnixNano": str(round(start_s * 1e9)),
        "endTimeUnixNano": str(round(end_s * 1e9)),
        "attributes": [
            {"key": key.replace("_", "."), "value": {"doubleValue": value}} for key, value in attributes.items()
        ],
    }


def otlp(spans: Sequence[dict[str, Any]]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]})


def livekit_traces(found: Sequence[Exchange]) -> str:
    spans = []
    for of in found:
        decided, token, audio, playback = times_s(of)
        end_s, done_s = CLOCK_S + of.end_s, CLOCK_S + of.done_s
        spans += [
            span("user_turn", end_s - 1, decided),
            span("user_speaking", end_s - 1, end_s + 0.1),
            span("eou_wait", end_s, decided),
            span("llm_node", decided, token + 1, lk_response_ttft=token - decided),
            span("tts_node", token, audio + 1, lk_response_ttfb=audio - token),
            span("agent_turn", decided, done_s),
            span("agent_speaking", playback, done_s),
        ]
    return otlp(spans)


def pipecat_traces(found: Sequence[Exchange]) -> str:
    spans = []
    for of in found:
        decided, token, audio, _ = times_s(of)
        spans += [
            span("turn", CLOCK_S + of.end_s - 1, CLOCK_S + of.done_s),
            span("stt", decided - 0.001, decided, metrics_ttfb=DECIDED_S),
            span("llm", decided, token + 1, metrics_ttfb=token - decided),
            span("tts", token, audio + 1, metrics_ttfb=audio - token),
        ]
    return otlp(spans)


def livekit_report(found: Sequence[Exchange]) -> str:
    items: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for of in found:
        decided, token, _, playback = times_s(of)
        ended = {"stopped_speaking_at": CLOCK_S + of.end_s, "end_of_turn_delay": decided - CLOCK_S - of.end_s}
        begun = {"started_speaking_at": playback, "stopped_speaking_at": CLOCK_S + of.done_s}
        items += [
            {"type": "message", "role": "user", "metrics": ended},
            {"type": "message", "role": "assistant", "metrics": {**begun, "tts_node_ttfb": playback - token}},
        ]
        events.append({"type": "agent_state_changed", "created_at": playback, "new_state": "speaking"})
        events.append({"type": "agent_state_changed", "created_at": CLOCK_S + of.done_s, "new_state": "listening"})
    return json.dumps({"job_id": "j", "events": events, "chat_history": {"items": items}})


def vapi_report(found: Sequence[Exchange]) -> str:
    messages: list[dict[str, Any]] = []
    for of in found:
        for role, start_s, end_s in (("user", of.end_s - 1, of.end_s), ("bot", of.onset_s - SENT_S, of.done_s)):
            time_ms = 1000 * (CLOCK_S + start_s)
            ends_ms = 1000 * (CLOCK_S + end_s)
            messages.append({"role": role, "time": time_ms, "endTime": ends_ms, "secondsFromStart": start_s + 2.5})
    return json.dumps({"message": {"type": "end-of-call-report", "artifact": {"messages": messages}}})


ALL = ("speech final", "first token", "first audio", "playback")


@pytest.mark.parametrize(
    ("written", "events"),
    [
        (pipecat_log, ALL),
        (livekit_traces, ALL),
        (pipecat_traces, ("speech final", "first token", "first audio")),
        (livekit_report, ("speech final", "first token", "playback")),
        (vapi_report, ("playback",)),
    ],
)
def test_the_stages_of_each_form(
    written: Callable[[Sequence[Exchange]], str], events: tuple[str, ...], tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    drawing, found = exchanges(rng, 14)
    found = [of for of in found if of.onset_s - of.end_s > DECIDED_S + MODEL_S + VOICE_S + SENT_S] or found
    (tmp_path / "log").write_text(written(found))
    marks, talk = read_log(tmp_path / "log").marks, dialogue(drawing)
    log = laid(marks, talk, find_clock(marks, talk))
    assert set(log["events"]) == set(events)
    table = stage_table([log])
    assert table is not None
    assert tuple(table.events) == events
    medians = {stage.name: stage.median_ms for stage in table.stages}
    if "playback" in events:  # so the way of the sound is in the first stage
        assert medians["playback to B's onset"] == pytest.approx(0, abs=2)
    if events == ALL:
        assert medians["A's end to speech final"] == pytest.approx(1000 * (DECIDED_S + SENT_S), abs=6)
    if {"speech final", "first token"} <= set(events):
        assert medians["speech final to first token"] == pytest.approx(1000 * MODEL_S, abs=2)
    if {"first token", "first audio"} <= set(events):
        assert medians["first token to first audio"] == pytest.approx(1000 * VOICE_S, abs=2)
