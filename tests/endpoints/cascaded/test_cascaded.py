"""A cascaded system over real sockets: each of its parts is a server of ours that speaks OpenAI's interface."""

import io
import re
import threading
import wave
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from fakes.fake_chat import KEY, FakeChat, Turn
from fakes.fake_speech import FakeSpeech
from fakes.model_server import NEEDS_OPENAI
from fakes.worlds import Shop
from helpers import live_calls
from helpers.conformance import SECRET, Behaviour, EndpointConformance, asks_twice
from helpers.live_calls import of_kind, said, speaks

from fdbcore.endpoints.sentences import whole_sentences
from fdbcore.errors import PartyError, SettingsError
from fdbcore.protocols import Endpoint, World
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse

pytestmark = NEEDS_OPENAI

Hold: TypeAlias = Callable[..., tuple[Recording, FakeChat]]


def written(folder: Path, chat: FakeChat, speech: FakeSpeech, **settings: object) -> Path:
    """A file of settings with these servers."""
    lines = [
        f'asr = "openai:whisper-1?{chat.settings}"',
        f'llm = "openai:gpt-4o?{chat.settings}"',
        f'tts = "openai-tts:tts-1?voice=nova&{speech.settings}"',
        *(f"{name} = {value!r}" for name, value in {"pause_ms": 400, **settings}.items()),
    ]
    path = folder / "mine.toml"
    path.write_text("\n".join(lines).replace("'", '"'))
    return path


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


class TestCascaded(EndpointConformance):
    speech = staticmethod(asks_twice)

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setattr("fakes.fake_chat.KEY", SECRET)
        monkeypatch.setattr("fakes.fake_speech.KEY", SECRET)
        self.path = tmp_path

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with FakeChat() as chat, FakeSpeech() as speech:
            yield endpoint(f"cascaded:{written(self.path, chat, speech)}")


def held(
    path: Path,
    turns: Sequence[Turn],
    *spoken: tuple[int, int],
    ticks: int,
    heard: Sequence[str] = ("Hello.",),
    world: World | None = None,
    live: bool = False,
    **settings: object,
) -> tuple[Recording, FakeChat]:
    """A call in which the caller speaks in these spans of ticks, in lockstep unless it is live."""
    with FakeChat(turns, heard) as chat, FakeSpeech() as speech:
        path.mkdir()
        party = endpoint(f"cascaded:{written(path, chat, speech, **settings)}")
        how = LiveSettings(vad="energy", realtime=live)
        return converse(
            speaks(*spoken, ticks=ticks), party, path / "call", how, {}, threading.Event(), world=world, seed="s"
        ), chat


def loud_ticks(recording: Recording) -> npt.NDArray[np.bool_]:
    loud: npt.NDArray[np.bool_] = np.abs(said(recording).reshape(-1, 480)).max(axis=1) > 1000
    return loud


@pytest.mark.parametrize(
    ("turn", "slow"),
    [
        (Turn("Never.", first_s=5), "openai:gpt-4o"),
        (Turn("Well then and so on and on.", word_s=0.6), "openai:gpt-4o or its speaker"),
    ],
)
def test_a_model_that_never_answers_in_lockstep_ends_the_call_in_seconds(tmp_path: Path, turn: Turn, slow: str) -> None:
    recording, _ = held(tmp_path / "x", [turn], (50, 100), ticks=400, answer_timeout_s=1)
    outcome = recording.outcome
    assert outcome is not None
    assert (outcome["kind"], outcome["side"]) == ("failed", "B")
    assert outcome["reason"] == f"nothing came from {slow} within 1 s (answer_timeout_s)"


def test_an_answer_comes_after_the_pause_and_is_said_whole(tmp_path: Path) -> None:
    text = "Good day to you. What can I do?"
    recording, chat = held(tmp_path / "x", [Turn(text)], (50, 100), ticks=400, instructions="Be brief.")
    loud = np.flatnonzero(loud_ticks(recording))
    assert loud[0] == pytest.approx(140, abs=2), "the pause of 400 ms; compute time does not count"
    # The fake says 10 ms for each character; 200 ms lie between the sentences.
    assert loud[-1] - loud[0] + 1 == pytest.approx(len("Good day to you.") + 20 + len("What can I do?"), abs=4)
    assert [message["role"] for message in chat.asked[0]["messages"]] == ["system", "user"]
    assert chat.asked[0]["messages"][1]["content"] == "Hello."
    assert [(event["of"], event["text"]) for event in of_kind(recording, "transcript")] == [
        ("partner", "Hello."),
        ("self", "Good day to you."),
        ("self", "What can I do?"),
    ]
    assert [event["name"] for event in of_kind(recording, "stage")] == [
        "speech final",
        "transcribed",
        "first token",
        "first audio",
    ]


def test_the_transcriber_hears_the_turn_with_a_lead(tmp_path: Path) -> None:
    _, chat = held(tmp_path / "x", [Turn("Yes.")], (100, 150), ticks=220)
    with wave.open(io.BytesIO(chat.wavs[0])) as file:
        assert (file.getframerate(), file.getnchannels()) == (16_000, 1)
        heard = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    loud = np.flatnonzero(np.abs(heard) > 1000)
    assert loud[0] == pytest.approx(0.3 * 16_000, abs=400)
    assert loud[-1] - loud[0] == pytest.approx(0.5 * 16_000, abs=400)


def test_the_conversation_keeps_what_was_heard(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(40)) + "."
    turns = [Turn(long), Turn("Sorry.")]
    recording, chat = held(tmp_path / "x", turns, (20, 60), (150, 190), ticks=400, heard=["One.", "Two."])
    (cut,) = of_kind(recording, "interrupted")
    loud = loud_ticks(recording)
    assert cut["heard_ms"] == 10 * loud[:200].sum()
    assert cut["said_ms"] == pytest.approx(10 * len(long), abs=10)
    messages = chat.asked[1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    share = cut["heard_ms"] / cut["said_ms"]
    assert len(messages[1]["content"].split()) == pytest.approx(40 * share, abs=1)


@pytest.mark.live
def test_a_turn_that_goes_on_before_the_answer_is_heard_as_a_whole(tmp_path: Path) -> None:
    turns = [Turn("Never heard.", word_s=1.5), Turn("Yes.")]
    recording, chat = held(tmp_path / "x", turns, (20, 60), (120, 160), ticks=320, heard=["Half.", "All."], live=True)
    assert not of_kind(recording, "interrupted"), "nothing of it was heard"
    assert len(chat.wavs[1]) > len(chat.wavs[0]) + 2 * 16_000 * 0.8
    assert [message["content"] for message in chat.asked[-1]["messages"]] == ["All."]
    assert loud_ticks(recording).any()


def test_tools_are_called_and_answered_before_it_goes_on(tmp_path: Path) -> None:
    calls = [("add", '{"item": "tea"}'), ("basket", "{}")]
    turns = [Turn("One moment.", calls=calls), Turn("Done.")]
    recording, chat = held(tmp_path / "x", turns, (20, 60), ticks=300, world=Shop([30, 60]))
    assert [tool["function"]["name"] for tool in chat.asked[0]["tools"]][:2] == ["add", "basket"]
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["ok", "ok"]
    told = {
        message["tool_call_id"]: message["content"]
        for message in chat.asked[1]["messages"]
        if "tool_call_id" in message
    }
    assert told["call_1_0"] == '{"items": [{"name": "tea", "count": 1}]}'
    results = [event["tick"] for event in of_kind(recording, "tool_result")]
    spoken = [event["tick"] for event in of_kind(recording, "transcript") if event["text"] == "Done."]
    assert spoken[0] >= max(results)


def test_an_interruption_cancels_the_calls_under_way(tmp_path: Path) -> None:
    turns = [Turn("Let me look that up for you, it takes a while.", calls=[("basket", "{}")]), Turn("Yes.")]
    spoken = ((20, 60), (130, 170))
    recording, chat = held(tmp_path / "x", turns, *spoken, ticks=300, heard=["One.", "Two."], world=Shop([500]))
    assert [event["stage"] for event in of_kind(recording, "tool_call")] == ["begun", "complete", "cancelled"]
    assert [message["role"] for message in chat.asked[1]["messages"]] == ["user", "assistant", "user"]


@pytest.mark.live
def test_tools_that_have_answered_are_not_called_again(tmp_path: Path) -> None:
    turns = [Turn(calls=[("add", '{"item": "tea"}')]), Turn("Never said.", word_s=3), Turn("Yes.")]
    spoken = ((20, 60), (150, 190))
    recording, chat = held(
        tmp_path / "x", turns, *spoken, ticks=330, heard=["Add tea.", "And?"], world=Shop(), live=True
    )
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["ok"]
    assert [message["role"] for message in chat.asked[2]["messages"]] == ["user", "assistant", "tool", "user"]
    assert chat.asked[2]["messages"][-1]["content"] == "And?"


def test_calls_without_ids_of_their_own_get_one(tmp_path: Path) -> None:
    turns = [Turn(calls=[("add", '{"item": "tea"}'), ("add", '{"item": "milk"}')], call_id="same"), Turn("Done.")]
    recording, chat = held(tmp_path / "x", turns, (20, 60), ticks=250, world=Shop())
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["ok", "ok"]
    assert len({message["tool_call_id"] for message in chat.asked[1]["messages"] if "tool_call_id" in message}) == 2


@pytest.mark.live
def test_what_an_answer_cost_that_was_cut_short_is_not_known(tmp_path: Path) -> None:
    turns = [Turn("one two three four five six seven eight", word_s=0.5), Turn("Yes.")]
    recording, _ = held(tmp_path / "x", turns, (20, 60), (150, 190), ticks=200, live=True)
    counted = [event for event in of_kind(recording, "usage") if event["model"] == "gpt-4o"]
    assert counted[-1].get("due"), "nothing was counted after it"


def test_what_it_costs_is_counted_by_part(tmp_path: Path) -> None:
    recording, _ = held(tmp_path / "x", [Turn("Yes.")], (20, 60), ticks=200)
    counted = {unit for event in of_kind(recording, "usage") for unit in event if unit not in ("tick", "side", "kind")}
    assert {"text_in_tokens", "cached_text_in_tokens", "text_out_tokens", "seconds", "characters"} <= counted


def test_a_part_that_is_not_there_ends_the_call(tmp_path: Path) -> None:
    recording, _ = held(tmp_path / "x", [Turn(status=400)], (20, 60), ticks=200)
    assert recording.outcome is not None
    assert recording.outcome["kind"] == "failed"
    assert "openai:gpt-4o" in str(recording.outcome["reason"])


def test_a_refusal_is_its_answer(tmp_path: Path) -> None:
    turns = [Turn(refusal="No."), Turn("Yes.")]
    recording, _ = held(tmp_path / "x", turns, (20, 60), (150, 190), ticks=320)
    (event,) = of_kind(recording, "event")
    assert event["name"] == "refused"
    assert loud_ticks(recording)[190:].any()


def test_two_runs_are_the_same_in_lockstep(tmp_path: Path) -> None:
    text = "Good day to you. What can I do for you today?"
    runs = [held(tmp_path / name, [Turn(text)], (20, 60), (130, 150), ticks=300)[0] for name in ("a", "b")]
    for name in ("session.wav", "events.jsonl"):
        first, second = ((run.path / name).read_bytes() for run in runs)
        assert first == second


def test_a_speaker_that_fails_is_the_systems_fault(tmp_path: Path) -> None:
    with FakeChat() as chat, FakeSpeech() as speech:
        path = written(tmp_path, chat, speech)
        path.write_text(re.sub('openai-tts[^"]*', "exec:false", path.read_text()))
        party = endpoint(f"cascaded:{path}")
        recording = live_calls.held(tmp_path / "call", speaks(ticks=20), party)
    assert recording.outcome is not None
    assert (recording.outcome["kind"], recording.outcome["side"]) == ("failed", "B")


def test_a_transcriber_that_is_not_there_is_found_before_a_call(tmp_path: Path) -> None:
    with FakeChat() as chat, FakeSpeech() as speech:
        path = written(tmp_path, chat, speech)
        there = f"127.0.0.1:{chat.server_port}"
        path.write_text(path.read_text().replace(there, "127.0.0.1:9", 1))
        party = endpoint(f"cascaded:{path}")
        try:
            with pytest.raises(PartyError, match="cannot be reached"):
                party.probe()
        finally:
            party.close()


@pytest.mark.parametrize(
    ("text", "sentences", "rest"),
    [
        ("Yes. It is 3.5 km. And", ["Yes. ", "It is 3.5 km. "], "And"),
        ("Is it? No! ", ["Is it? ", "No! "], ""),
        ("はい。そうです。次", ["はい。", "そうです。"], "次"),
        ("no end", [], "no end"),
        ("", [], ""),
    ],
)
def test_sentences(text: str, sentences: list[str], rest: str) -> None:
    assert whole_sentences(text) == (sentences, rest)


@pytest.mark.parametrize(
    ("text", "most_tokens", "said"),
    [
        ("Good day to you. What can I", 6, ["Good day to you."]),  # as a limit cuts it
        ("Good day to you. What can I?", 7, ["Good day to you.", "What can I?"]),
        ('Good day. She said "no."', 6, ["Good day.", 'She said "no."']),
        ("Good day. It takes 3.5", 6, ["Good day."]),
        ("Good day and", 3, ["Good day and"]),  # better than nothing
        ("Good day to you. What can I", 0, ["Good day to you.", "What can I"]),  # no limit: it ends as it wants to
    ],
)
def test_what_a_limit_cuts_off_is_not_said(text: str, most_tokens: int, said: list[str], tmp_path: Path) -> None:
    recording, _ = held(tmp_path / "x", [Turn(text)], (50, 100), ticks=400, most_tokens=most_tokens)
    assert [event["text"] for event in of_kind(recording, "transcript") if event["of"] == "self"] == said


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('asr = "openai:whisper-1"\nllm = "openai:x"', "expected tts, the address of one; found none"),
        ("pause = 3", "expected settings of asr, llm"),
        ("asr = ", "expected TOML: "),
        ('asr = "x"\nllm = "openai:x"\ntts = "hibari"', "asr: expected one of"),
        ('asr = "openai:x"\nllm = "y"\ntts = "hibari"', "llm: expected one of"),
    ],
)
def test_wrong_settings_are_one_line(content: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=re.escape(expected)) as error:
        endpoint(f"cascaded:{path}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_missing_is_one_line() -> None:
    with pytest.raises(SettingsError, match=r"expected FILE\.toml, or one of fdb3, local, got none at 'mine'"):
        endpoint("cascaded:mine")


@pytest.mark.parametrize(("name", "got"), [("", "no name"), ("?pause_ms=600", "no name"), ("/", "the folder '/'")])
def test_a_name_that_is_missing_or_a_folder_is_one_line(name: str, got: str) -> None:
    with pytest.raises(SettingsError, match=rf"^cascaded: expected FILE\.toml, or one of fdb3, local, got {got}$"):
        endpoint(f"cascaded:{name}")


def test_the_published_baseline_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    party = endpoint("cascaded:fdb3?pause_ms=600")
    described = party.describe()
    assert (described["asr"], described["llm"]) == ("openai:whisper-1", "openai:gpt-4o")
    assert described["pause_ms"] == 600
    assert {service.model for service in party.services()} == {"whisper-1", "gpt-4o", "tts-1"}
