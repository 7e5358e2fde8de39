"""The clock of an agent's log, what is refused, and the stages of calls in the logs of each framework."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.drawn import dialogue
from helpers.logged import Exchange, exchanges, log_of

from fdbcore.analysis.stages import stage_table
from fdbcore.errors import InputError
from fdbcore.measures.agent_log import laid
from fdbcore.measures.log_clock import find_clock, in_log, on_timeline
from fdbcore.sources.agent_logs import LogEvent, read_log

TRANSPORT_S = 0.05


def test_an_offset_of_1000_s_is_found_within_its_limits() -> None:
    """With jitter of +-30 ms, and a tenth of the marks missing; the limits hold the truth in 95 % of all logs."""
    rng, held, studies = np.random.default_rng(1), 0, 60
    for _ in range(studies):
        drawing, found = exchanges(rng, 14)
        clock = find_clock(log_of(rng, found, clock_s=1000.0, missing=0.1), dialogue(drawing))
        assert clock.anchor == "audio_out"
        assert clock.place == "starts of B's turns"
        assert clock.drift_ppm == 0
        assert clock.low_s is not None
        assert clock.high_s is not None
        assert clock.spread_s is not None
        assert clock.spread_s < 0.03
        assert abs(clock.offset_s + 1000 - TRANSPORT_S) < 0.03
        held += clock.low_s <= -1000 + TRANSPORT_S <= clock.high_s
    assert held / studies > 0.88  # 95 % less what 60 studies may miss by


def test_names_that_agree_place_the_log_of_a_short_call() -> None:
    """Five answers, too few for any name alone, with jitter of +-30 ms; the limits hold in 95 % of all logs."""
    rng, held, studies = np.random.default_rng(21), 0, 200
    for _ in range(studies):
        drawing, found = exchanges(rng, 5)
        events, talk = log_of(rng, found), dialogue(drawing)
        clock = find_clock(events, talk)
        assert (clock.anchor, clock.place, clock.matched) == ("audio_out", "starts of B's turns", 5)
        assert clock.also == ["playback_finished"]
        assert abs(clock.offset_s + 1000 - TRANSPORT_S) < 0.03
        assert clock.low_s is not None
        assert clock.high_s is not None
        held += clock.low_s <= -1000 + TRANSPORT_S <= clock.high_s
        for only in ("audio_out", "playback_finished"):
            with pytest.raises(InputError, match=r"fits 5 \w+ of B's turns; at least 6 are needed, or 9 of several"):
                find_clock([event for event in events if event.name == only], talk)
        apart = [LogEvent(event.time_s + 1.2 * (event.name == "playback_finished"), event.name) for event in events]
        with pytest.raises(InputError, match="its clock cannot be found"):
            find_clock(sorted(apart), talk)
        twice = [event for event in events if event.name == "audio_out"]
        with pytest.raises(InputError, match="its clock cannot be found"):  # one place tells the same twice
            find_clock(sorted([*twice, *(LogEvent(event.time_s, "audio sent") for event in twice)]), talk)
    assert held / studies > 0.95 - 2 * 0.016


def test_names_that_agree_place_no_log_of_another_call() -> None:
    """Short calls of one script: B's prompts last the same in all, and A's turns differ by little."""
    rng, placed = np.random.default_rng(22), {"other": 0, "own": 0}
    prompts_s = rng.uniform(1.5, 6, 5)
    calls = []
    for _ in range(40):
        now, found, a, b = 0.5, [], "A", "| B"
        for prompt_s in prompts_s:
            end_s = round(now + rng.uniform(2, 3), 2)
            onset_s = round(end_s + rng.uniform(0.55, 0.75), 2)
            done_s = round(onset_s + prompt_s, 2)
            a, b = f"{a} {now:g}-{end_s:g}", f"{b} {onset_s:g}-{done_s:g}"
            found.append(Exchange(end_s, onset_s, done_s))
            now = round(done_s + rng.uniform(0.4, 1.5), 2)
        calls.append((dialogue(f"{a} {b}"), log_of(rng, found)))
    for talk, log in product((talk for talk, _ in calls), (log for _, log in calls)):
        whose = "own" if any(talk is each and log is own for each, own in calls) else "other"
        try:
            find_clock(log, talk)
        except InputError:
            continue
        placed[whose] += 1
    assert placed["own"] == 40
    assert placed["other"] <= 1  # of 1,560


@pytest.mark.parametrize("ppm", [50.0, -50.0, 150.0])
def test_drift_over_a_long_call_is_found(ppm: float) -> None:
    rng = np.random.default_rng(2)
    drawing, found = exchanges(rng, 200)  # 27 minutes: 50 ppm are 80 ms
    clock = find_clock(log_of(rng, found, drift_ppm=ppm, missing=0.1), dialogue(drawing))
    assert clock.drift_ppm == pytest.approx(ppm, abs=6)
    assert clock.offset_s == pytest.approx(-1000 + TRANSPORT_S, abs=0.02)
    event = LogEvent(1234.5, "x")
    assert in_log(clock, on_timeline(clock, event)) == pytest.approx(event)
    last = log_of(rng, found[-1:], drift_ppm=ppm, jitter_s=0)
    (heard,) = (on_timeline(clock, event).time_s for event in last if event.name == "audio_out")
    assert heard == pytest.approx(found[-1].onset_s, abs=0.02)


def test_no_drift_is_made_up() -> None:
    rng = np.random.default_rng(3)
    for turns in (10, 30, 100):
        drawing, found = exchanges(rng, turns)
        assert find_clock(log_of(rng, found), dialogue(drawing)).drift_ppm == 0


def test_the_log_of_another_call_is_refused() -> None:
    rng = np.random.default_rng(4)
    for turns in (8, 12, 30):
        for _ in range(25):
            drawing, _ = exchanges(rng, turns)
            _, others = exchanges(rng, turns)
            with pytest.raises(InputError, match=r"its clock cannot be found: '.*give --agent-log-offset-ms"):
                find_clock(log_of(rng, others), dialogue(drawing))


def test_a_regular_conversation_is_ambiguous_and_refused() -> None:
    regular = " ".join(f"{6 * k:g}-{6 * k + 2:g}" for k in range(10))
    answers = " ".join(f"{6 * k + 3:g}-{6 * k + 5:g}" for k in range(10))
    every_six_s = [LogEvent(6.0 * k, "audio_out") for k in range(10)]
    with pytest.raises(InputError, match="'audio_out' fits 10 starts of B's turns with one offset, but 9 with another"):
        find_clock(every_six_s, dialogue(f"A {regular} | B {answers}"))


def test_too_few_turns_are_refused() -> None:
    rng = np.random.default_rng(5)
    drawing, found = exchanges(rng, 3)
    with pytest.raises(InputError, match=r"can fit only 3 \w+ of B's turns; at least 6 are needed, or 9 of several"):
        find_clock(log_of(rng, found), dialogue(drawing))
    with pytest.raises(InputError, match=r"no event says that somebody begins or ends to speak \(but endpoint, EOU m"):
        find_clock([LogEvent(1.0, "endpoint"), LogEvent(2.0, "EOU metrics")], dialogue(drawing))


@pytest.mark.parametrize(
    "name", ["tts ends", "Bot stopped speaking", "agent_speaking_stopped", "playback_finished", "agent listening"]
)
def test_what_says_that_b_ended_is_no_anchor_for_onsets(name: str) -> None:
    """Marks a constant time after B's onsets, as a short prompt's end would be: they may anchor ends alone."""
    rng = np.random.default_rng(6)
    drawing, found = exchanges(rng)
    at_onsets = [LogEvent(exchange.onset_s + 0.8, name) for exchange in found]
    with pytest.raises(InputError, match="ends of B's turns"):
        find_clock(at_onsets, dialogue(drawing))
    at_ends = [LogEvent(exchange.done_s + 7.0, name) for exchange in found]
    clock = find_clock(at_ends, dialogue(drawing))
    assert clock.place == "ends of B's turns"
    assert clock.offset_s == pytest.approx(-7.0, abs=1e-6)
    both = sorted([*at_ends, *(LogEvent(exchange.onset_s - 0.05, "audio_out") for exchange in found)])
    assert find_clock(both, dialogue(drawing)).anchor == "audio_out"


def test_when_a_begins_to_speak_is_an_anchor_too() -> None:
    rng = np.random.default_rng(7)
    drawing, found = exchanges(rng)
    begins = [float(span.split("-")[0]) for span in drawing.split("|")[0].split()[1:]]
    clock = find_clock([LogEvent(begin + 0.2 + 50, "User started speaking") for begin in begins], dialogue(drawing))
    assert (clock.place, clock.matched, clock.of) == ("starts of A's turns", len(found), len(found))
    assert clock.offset_s == pytest.approx(-50.2, abs=1e-6)


def test_the_decision_that_a_has_finished_is_no_anchor() -> None:
    """How long it takes is what the log is read for, and it may always take the same."""
    rng = np.random.default_rng(8)
    drawing, found = exchanges(rng)
    with pytest.raises(InputError, match="its clock cannot be found"):
        find_clock([LogEvent(exchange.end_s + 0.5, "endpoint") for exchange in found], dialogue(drawing))


def test_of_marks_that_repeat_the_first_counts() -> None:
    rng = np.random.default_rng(9)
    drawing, found = exchanges(rng)
    frames = [LogEvent(exchange.onset_s - 0.12 + 0.02 * k, "frame") for exchange in found for k in range(60)]
    clock = find_clock(sorted(frames), dialogue(drawing))
    assert clock.offset_s == pytest.approx(0.12, abs=1e-6)


def test_a_log_in_another_unit_is_told_so() -> None:
    drawing, found = exchanges(np.random.default_rng(10))
    events = [LogEvent(1000 * exchange.onset_s, "audio_out") for exchange in found]
    with pytest.raises(InputError, match=r"its times span [\d,]+, the recording \d+ s: times are expected in seconds"):
        find_clock(events, dialogue(drawing))


def test_an_earlier_event_is_no_anchor_where_a_later_one_is_logged() -> None:
    """The model always needs the same time before B is heard, but playback is noted at any time: not a good clock."""
    rng = np.random.default_rng(11)
    drawing, found = exchanges(rng)
    tokens = [LogEvent(exchange.onset_s - 0.5, "first token") for exchange in found]
    assert find_clock(tokens, dialogue(drawing)).anchor == "first token"
    loose = [LogEvent(exchange.onset_s - rng.uniform(0, 0.4), "playback started") for exchange in found]
    with pytest.raises(InputError, match="its clock cannot be found: 'playback started' fits at most"):
        find_clock(sorted([*tokens, *loose]), dialogue(drawing))


def test_a_name_that_fits_by_chance_elsewhere_does_not_win() -> None:
    rng = np.random.default_rng(12)
    drawing, found = exchanges(rng)
    events = log_of(rng, found, jitter_s=0.02, without=["playback_finished"])
    elsewhere = [LogEvent(exchange.onset_s + 1030 + rng.uniform(-0.05, 0.05), "heartbeat") for exchange in found]
    clock = find_clock(sorted([*events, *elsewhere]), dialogue(drawing))
    assert clock.anchor == "audio_out"
    assert clock.offset_s == pytest.approx(-1000 + TRANSPORT_S, abs=0.03)


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
    logged, talk = read_log(tmp_path / "log").events, dialogue(drawing)
    log = laid(logged, talk, find_clock(logged, talk))
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
