"""Chat models as examiners, over real HTTP: they judge goals by words, and write what is said next."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import pytest
from fakes.fake_chat import KEY, FakeChat, Turn
from fakes.fake_speech import FakeSpeech
from helpers.examiners import Answerer, Stepped, Told, answers, never
from msgspec import structs, to_builtins

from fdbcore.endpoints.examiner import llm_prompt, thought
from fdbcore.endpoints.examiner.agenda import Agenda
from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.endpoints.examiner.llm_prompt import LlmReply, read_reply
from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.errors import PartyError, SettingsError
from fdbcore.measures.examined import examined_in
from fdbcore.measures.examiner_rule import fault_of_call
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Endpoint
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse

CLOSING = "That is all, goodbye."
WISHES = ("Order a latte.", "Ask for it hot.", "Ask for the price.")


def says(text: str, met: bool = False, reason: str = "", **turn: Any) -> Turn:
    """A reply of the model."""
    return Turn(json.dumps({"reason": reason, "met": met, "say": text}), **turn)


def brief(n_goals: int = 2, **settings: Any) -> Brief:
    """Goals in meanings alone, as the released file has them."""
    goals = [Goal(wish, (), f"it grants wish {n}", (), "en") for n, wish in enumerate(WISHES[:n_goals], 1)]
    return Brief(
        "a.b.1", "en", "Maya, a baker", "She is in a hurry.", goals, **{"closing": CLOSING, **LIMITS, **settings}
    )


LIMITS = {"most_turns": 20, "most_s": 120.0}


class Servers:
    """A model that also transcribes, and a speaker of 10 ms a character. They are asked over sockets."""

    def __init__(self, folder: Path, chat: FakeChat, speech: FakeSpeech) -> None:
        self.folder, self.chat, self.speech = folder, chat, speech

    def plays(self, turns: Sequence[Turn], heard: Sequence[str] = ("Yes.",)) -> None:
        """What the model replies, and what the transcriber hears; the last of each comes again."""
        self.chat.turns, self.chat.heard = turns, heard

    def party(self, of: Brief, pacing: str = "slow", **settings: object) -> Examiner:
        """The examiner at its address."""
        (self.folder / "brief.json").write_text(json.dumps(to_builtins(of)))
        given = {
            "pacing": pacing,
            "actor": f"llm:openai:gpt-4o?{self.chat.settings}",
            "transcriber": f"openai:whisper-1?{self.chat.settings}",
            "voice": f"openai-tts:tts-1?{self.speech.settings}",
            **settings,
        }
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in given.items())
        party = endpoint(f"examiner:{self.folder / 'brief.json'}?{query}")
        assert isinstance(party, Examiner)
        return party

    def stepped(self, party: Examiner, speaks: Callable[[int, int | None], bool], most_ticks: int = 20_000) -> Stepped:
        """The examiner on a clock that never waits."""
        party.open("A")
        return Stepped(party, speaks, most_ticks)

    def held(self, party: Examiner, system: Endpoint, max_s: float = 12) -> "Held":
        """The examiner on the real clock."""
        settings = LiveSettings(vad="energy", max_s=max_s)
        return Held(converse(party, system, self.folder / "call", settings, {}, Event()))

    def asked(self, number: int) -> str:
        """What the model was told last in request `number`, from 0."""
        text: str = self.chat.asked[number]["messages"][-1]["content"]
        return text


class Held(Told):
    """A call that was held."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.events = [each for each in recording.events if each["side"] == "A"]


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeChat() as chat, FakeSpeech() as speech:
        yield Servers(tmp_path, chat, speech)


def test_the_model_judges_goals_and_writes_what_is_said(servers: Servers) -> None:
    servers.plays(
        [
            says("Hi, one latte please."),
            says("Did you get my latte?", reason="only said yes"),
            says("And hot, please. Very hot.", met=True, reason="said latte"),
            says("it says nothing", met=True, reason="said hot"),
        ],
        ["Yes?", "A latte.", "Hot it is."],
    )
    held = servers.stepped(servers.party(brief()), answers())
    assert held.left == "finished"
    assert [(each["what"], each["cue"], each.get("goal"), each.get("saying")) for each in held.of("examiner_says")] == [
        ("goal", "opening", 1, 1),
        ("goal", "answered", 1, 2),
        ("goal", "answered", 2, 1),
        ("closing", "answered", None, None),
    ]
    own = [each["text"] for each in held.of("transcript", of="self")]
    assert own == ["Hi, one latte please.", "Did you get my latte?", "And hot, please. Very hot.", CLOSING]
    assert [each["text"] for each in held.of("transcript", of="partner")] == ["Yes?", "A latte.", "Hot it is."]
    judged = [(each["goal"], each["met"], each["reason"]) for each in held.of("examiner_judged")]
    assert judged == [(1, False, "only said yes"), (1, True, "said latte"), (2, True, "said hot")]
    goals = [(each["goal"], each["verdict"], each["sayings"], each["reason"]) for each in held.of("examiner_goal")]
    assert goals == [(1, "met", 2, "said latte"), (2, "met", 1, "said hot")]
    # Two sentences are spoken one after the other, 200 ms apart.
    spoken = [each["input"] for each in servers.speech.asked]
    assert spoken == [CLOSING, "Hi, one latte please.", "Did you get my latte?", "And hot, please.", "Very hot."]
    third = held.of("examiner_said")[2]
    assert third["said_ms"] == 10 * len("And hot, please.") + 200 + 10 * len("Very hot.")


def test_the_model_knows_its_part_and_the_next_goal_but_no_later_one(servers: Servers) -> None:
    met = [says(f"wish {n}", met=True) for n in (2, 3, 4)]
    servers.plays([says("wish 1"), *met], ["granted 1", "granted 2", "granted 3"])
    servers.stepped(servers.party(brief(3)), answers())
    system = servers.chat.asked[0]["messages"][0]["content"]
    assert "Maya, a baker" in system
    assert "She is in a hurry." in system
    assert CLOSING not in system
    told = [servers.asked(number) for number in range(4)]
    latte, hot, price = ([wish in each for each in told] for wish in WISHES)
    assert (latte, hot, price) == ([True, True, False, False], [False, True, True, False], [False, False, True, True])
    assert all(f"it grants wish {n}" in told[at] for at, n in enumerate((1, 1, 2, 3)))
    assert "You: wish 1\nAssistant: granted 1\n" in told[1]
    assert "You: wish 1\nAssistant: granted 1\nYou: wish 2\nAssistant: granted 2\n" in told[2]
    (form,) = {json.dumps(each["response_format"]) for each in servers.chat.asked}
    assert json.loads(form)["json_schema"]["schema"] == llm_prompt.SCHEMA


def test_a_goal_is_unmet_after_so_many_turns_unless_the_profile_insists(servers: Servers) -> None:
    unmet = [says(f"in words {n}", reason="no") for n in range(1, 8)]
    servers.plays(unmet, ["No.", "Never."])
    party = servers.party(brief(), wordings=2)
    assert party.describe()["wordings"] == 2
    held = servers.stepped(party, answers())
    assert held.verdicts == ["unmet", "unmet"]
    assert [each.get("goal") for each in held.of("examiner_says")] == [1, 1, 2, 2, None]
    assert "drop it without a word" in servers.asked(2)
    by_default = servers.stepped(servers.party(brief(1)), answers())
    assert [each["sayings"] for each in by_default.of("examiner_goal")] == [3]

    servers.chat.asked.clear()
    servers.plays([*unmet[:6], says("", met=True)], ["No."] * 5 + ["Yes."])
    insists = servers.stepped(servers.party(brief(1), "fdb2-slow"), answers())
    assert (insists.verdicts, insists.of("examiner_goal")[0]["sayings"]) == (["met"], 6)
    servers.chat.asked.clear()
    limited = servers.stepped(servers.party(brief(most_turns=3), "fdb2-slow"), answers())
    assert limited.verdicts == ["unmet", "not reached"]
    assert limited.of("examiner_ends")[0]["reason"] == "turn limit"


def test_a_system_that_says_nothing_meets_nothing(servers: Servers) -> None:
    servers.plays([says("wish 1"), says("again", met=True, reason="it dreams")])
    held = servers.stepped(servers.party(brief(1), wordings=2), never)
    assert {each["cue"] for each in held.of("examiner_says")} == {"opening", "no answer"}
    assert held.verdicts == ["unmet"]
    assert held.of("examiner_judged") == []
    assert "Assistant: (has said nothing)" in servers.asked(1)
    assert servers.chat.wavs == []


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(Turn("Hi, a latte please."), id="no JSON"),
        pytest.param(Turn('{"reason": "", "met": false, "say": "Hi, a la'), id="truncated"),
        pytest.param(Turn('{"reason": "", "met": "no", "say": "Hi."}'), id="wrong type"),
        pytest.param(says(" ... "), id="no words"),
        pytest.param(Turn(refusal="I cannot play this."), id="refused"),
        pytest.param(Turn(status=429), id="busy"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again(servers: Servers, unusable: Turn) -> None:
    servers.plays([unusable, says("wish 1"), unusable, says("", met=True)])
    held = servers.stepped(servers.party(brief(1)), answers())
    assert (held.left, held.verdicts, len(servers.chat.asked)) == ("finished", ["met"], 4)


def test_a_model_that_gives_nothing_usable_makes_the_call_invalid(servers: Servers) -> None:
    servers.plays([Turn("Hello there")])
    with pytest.raises(
        PartyError, match=r"has no words: openai:gpt-4o: expected one JSON object, .*, 3 times"
    ) as error:
        servers.party(brief()).open("A")
    assert error.value.transient
    servers.plays([Turn(status=400)])
    with pytest.raises(PartyError, match="has no words: openai:gpt-4o"):
        servers.party(brief()).open("A")
    servers.chat.asked.clear()
    servers.plays([says("wish 1"), Turn(refusal="Not this.")])
    party = servers.party(brief())
    held = servers.stepped(party, answers())
    assert str(held.left).startswith("the examiner has no words: openai:gpt-4o")
    assert "Not this." in str(held.left)
    assert party.transient, "it may play the next one"
    assert len(servers.chat.asked) == 1 + thought.TRIES


def test_while_the_system_speaks_the_fast_one_looks_whether_the_goal_is_met(servers: Servers) -> None:
    opening = "wish 1 is put in so many words that it takes a second to say it all, as one does in such a place here"
    begins = 30 + len(opening) + 30
    servers.plays(
        [says(opening), says("not yet", reason="still asks"), says("wish 2", met=True), says("", met=True)],
        ["Let me see.", "Let me see. Hot.", "Done."],
    )
    held = servers.stepped(servers.party(brief(), "fast"), lambda tick, _: begins <= tick < begins + 650)
    second = held.of("examiner_says", what="goal")[1]
    assert (second["cue"], second["goal"], second["tick"]) == ("goal met", 2, begins + 400)
    assert "Assistant: Let me see. ... (still speaks)" in servers.asked(1)
    assert next(each["met"] for each in held.of("examiner_judged")), "a look that finds nothing is no judgement"
    assert [each.kind for each in held.planted][:2] == ["backchannel", "interruption"]


def test_it_yields_and_knows_what_was_heard_of_it(servers: Servers) -> None:
    text = " ".join(f"word{n}" for n in range(20))
    servers.plays([says(text), says("", met=True)], ["Wait.", "Fine."])
    held = servers.stepped(
        servers.party(brief(1), "fdb2-slow"),
        lambda tick, silent: 90 <= tick < 300 or (tick > 450 and answers()(tick, silent)),
    )
    first = held.of("examiner_said")[0]
    assert (first["said_ms"], first["of_ms"]) == (520, 1290)
    n_heard = round(20 * 520 / 1290)
    broken_off = f"You: {' '.join(text.split()[:n_heard])} ... (broken off)"
    assert f"{broken_off}\nAssistant: Wait.\nYou: {text}\nAssistant: Fine.\n" in servers.asked(1)
    assert [each["text"] for each in held.of("transcript", of="self", item="saying 2")] == [text], "it says it again"
    assert held.of("examiner_said")[1]["said_ms"] == 1290
    assert [each["saying"] for each in held.of("examiner_says", what="goal")] == [1, 1]
    assert (held.verdicts, held.of("examiner_goal")[0]["sayings"]) == (["met"], 1)


def test_all_that_its_models_count_is_logged(servers: Servers) -> None:
    servers.plays([says("wish 1"), Turn("no JSON"), says("wish 2", met=True), says("", met=True)])
    party = servers.party(brief())
    held = servers.stepped(party, answers())
    counted = [each for each in (*held.of("usage"), *(each.fields for each in party.log()))]
    tokens = [each for each in counted if "text_out_tokens" in each]
    assert len(tokens) == len(servers.chat.asked) == 4
    assert sum(each.get("characters", 0) for each in counted) == sum(len(e["input"]) for e in servers.speech.asked)
    assert len([each for each in counted if "seconds" in each]) == len(servers.chat.wavs) == 2
    assert {service.takes for service in party.services()} == {"words", "audio"}
    described = party.describe()
    assert described["actor"].startswith("llm:openai:gpt-4o")
    assert described["chat"]["name"] == "openai:gpt-4o"
    assert described["prompt"] == llm_prompt.VERSION


def test_what_is_asked_for_wrongly_is_one_line(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    (servers.folder / "brief.json").write_text(json.dumps(to_builtins(brief())))
    address = f"examiner:{servers.folder / 'brief.json'}"
    with pytest.raises(SettingsError, match=r"actor llm:openai:x: expected a transcriber .*--examiner-transcriber"):
        endpoint(f"{address}?actor=llm:openai:x")
    with pytest.raises(SettingsError, match="actor llm:nobody:x: expected one of"):
        servers.party(brief(), actor="llm:nobody:x")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        servers.party(brief(), actor="llm:openai:gpt-4o")


class TestPrompt:
    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            ("", "expected one JSON object"),
            ("[1]", "expected one JSON object"),
            ('{"met": true, "say": "x"}', "reason: expected a text, got None"),
            ('{"reason": "", "met": 1, "say": "x"}', "met: expected true or false, got 1"),
            ('{"reason": "", "met": false, "say": ["x"]}', "say: expected a text"),
            ('{"reason": "", "met": false, "say": "?!"}', "say: expected words to speak"),
        ],
    )
    def test_a_reply_that_cannot_be_used_says_why(self, text: str, wrong: str) -> None:
        with pytest.raises(ValueError, match=f"^{wrong}"):
            read_reply(text, llm_prompt.request(brief(), Agenda(brief(), False, 3), [], None))

    def test_a_reply_may_stand_in_other_text(self) -> None:
        agenda = Agenda(brief(), False, 3)
        agenda.say(0)
        asked = llm_prompt.request(brief(), agenda, [], "A latte.")
        text = '```json\n{"reason": "it  said\\nlatte", "met": true, "say": " And\\n hot. "}\n```'
        assert read_reply(text, asked) == LlmReply("it said latte", True, "And hot.")

    def test_the_language_of_a_goal_is_told_before_it_begins(self) -> None:
        goals = [Goal("Order.", (), "", (), "en"), Goal("値段を聞く。", (), "", (), "ja")]
        of = structs.replace(brief(), goals=goals)
        agenda = Agenda(of, False, 3)
        agenda.say(0)
        asked = llm_prompt.request(of, agenda, [], "Fine.")
        assert "Speak this language: en" in asked.messages[-1].text
        assert "値段を聞く。 (from now on, speak the language ja)" in asked.messages[-1].text
        assert asked.say_if == {True: goals[1], False: goals[0]}


# On the real clock


@pytest.mark.live
def test_it_thinks_while_it_waits(servers: Servers) -> None:
    """The model takes 0.5 s; the profile answers after 1.5 to 1.8 s, of which 0.2 s are needed to know of the end."""
    servers.plays([says("wish 1"), says("", met=True, first_s=0.5)])
    held = servers.held(servers.party(brief(1)), Answerer([[60]]))
    assert held.recording.outcome == {"kind": "done", "side": None, "reason": None}
    (closing,) = held.of("examiner_says", cue="answered")
    assert 1500 <= closing["reaction_ms"] <= 1900
    assert "waited_ms" not in closing
    assert held.verdicts == ["met"]


@pytest.mark.live
def test_a_slow_model_is_late_and_the_measures_of_the_examiner_say_so(servers: Servers) -> None:
    servers.plays([says("wish 1"), says("", met=True, reason="yes", first_s=2.6)])
    held = servers.held(servers.party(brief(1)), Answerer([[60]]))
    (late,) = held.of("examiner_says", cue="answered")
    assert late["reaction_ms"] == pytest.approx(2850, abs=300)
    assert late["waited_ms"] == pytest.approx(late["reaction_ms"] - 1650, abs=200)
    found = examined_in(Reading(held.recording.path))
    assert found is not None
    assert [each.what for each in found.too_late] == [f"it spoke {late['reaction_ms']} ms after the system"]
    assert (found.cut_in, found.off_script, found.unstated, found.closed_early, found.stalled) == ([], [], [], [], [])
    assert fault_of_call(Reading(held.recording.path)) is None, "late is no fault"


@pytest.mark.live
def test_half_an_answer_is_thought_about_in_vain(servers: Servers) -> None:
    """The system pauses for 0.6 s, after which the model has begun to think."""
    turns = [says("wish 1"), says("too early", met=True, first_s=0.4), says("wish 1 again"), says("", met=True)]
    servers.plays(turns, ["A", "A latte."])
    held = servers.held(servers.party(brief(1)), Answerer([[60, 60, 60]]), max_s=9)
    assert [each["text"] for each in held.of("transcript", of="self")] == ["wish 1", "wish 1 again"]
    assert [each["text"] for each in held.of("transcript", of="partner")] == ["A latte."]
    assert "Assistant: A\n" in servers.asked(1)
    assert "Assistant: A latte.\n" in servers.asked(2)
    counted = [each for each in held.of("usage") if "text_out_tokens" in each]
    assert len(counted) == 3, "what is dropped is billed, too"


@pytest.mark.live
def test_an_answer_that_ends_before_it_breaks_in_is_heard_whole(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        PACINGS, "fast", replace(PACINGS["fast"], breaks_in_ms=1000, looks_ms=None, backchannels_ms=None)
    )
    turns = [says("wish 1"), says("half", met=False, first_s=0.8), says("", met=True, reason="all of it")]
    servers.plays(turns, ["A lat", "A latte it is."])
    held = servers.held(servers.party(brief(1), "fast"), Answerer([[140]]))
    assert [each["cue"] for each in held.of("examiner_says")] == ["opening", "goal met"]
    assert [(each["met"], each["reason"]) for each in held.of("examiner_judged")] == [(True, "all of it")]
    assert "Assistant: A latte it is." in servers.asked(2)


@pytest.mark.live
def test_the_system_may_speak_before_and_after_the_conversation(servers: Servers) -> None:
    """Nobody is asked about a greeting, nor about a goodbye."""
    servers.plays([says("wish 1"), says("", met=True)])

    class Polite(Answerer):
        def __init__(self) -> None:
            super().__init__([[60], [50]])
            self._saying = [5 <= tick < 40 for tick in range(40)]

    held = servers.held(servers.party(brief(1)), Polite())
    assert held.recording.outcome == {"kind": "done", "side": None, "reason": None}
    assert held.of("spoke_before_examiner")
    assert [each["what"] for each in held.of("examiner_says")] == ["goal", "closing"]
    assert len(servers.chat.asked) == 2


@pytest.mark.live
@pytest.mark.parametrize(
    ("turn", "told"),
    [
        (says("wish 2. And more of it.", met=True), "the examiner has no words: openai:tts-1"),
        (says("wish 2", met=True, first_s=1.5), "the examiner has no words: nothing came from openai:gpt-4o"),
    ],
    ids=["speaker fails", "nothing comes"],
)
def test_an_examiner_without_words_makes_the_call_invalid(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, turn: Turn, told: str
) -> None:
    monkeypatch.setattr(thought, "MOST_S", 0.7)
    servers.plays([says("wish 1"), turn])

    tone = servers.speech.say

    def fails_after(text: str) -> bytes:
        if text == "wish 2.":
            servers.speech.answer = (b"{}", "application/json")
        return tone(text)

    servers.speech.say = fails_after
    held = servers.held(servers.party(brief()), Answerer([[60], [60]]))
    outcome = held.recording.outcome
    assert outcome is not None
    assert (outcome["kind"], outcome["side"]) == ("invalid", "A")
    assert str(outcome["reason"]).startswith(told)
