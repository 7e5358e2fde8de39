"""What names in logs mean, as frameworks and people write them."""

from __future__ import annotations

import pytest

from fdbcore.recording.marks import Place
from fdbcore.sources.mark_names import event_of, events_of, place_of


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
