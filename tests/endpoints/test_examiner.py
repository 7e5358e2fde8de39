"""Examiners: when they speak, hold back, break in and yield; and what becomes of their goals."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from fakes.fake_speech import KEY, FakeSpeech
from fakes.parties import Caller
from helpers.examiners import Stepped, SystemSpeaks, answers, never
from helpers.patience import PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs, to_builtins
from scipy.io import wavfile

from fdbcore.endpoints.examiner.brief import Brief, Goal, read_brief
from fdbcore.endpoints.examiner.edges import EarlyEdges, FinalCheck
from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.errors import SettingsError
from fdbcore.measures.examined import examined_in
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording.labels import given_labels
from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, Planted, TurnEvent

SAYING_TICKS = 100  # the fake synthesiser gives 10 ms a character
TEXT = "a" * SAYING_TICKS


def answers_in_sentences(pause_s: float, goes_on: bool = False) -> SystemSpeaks:
    """A system that answers in two sentences of 1 s with a pause between them. goes_on: also over the examiner."""
    began: list[int] = []

    def speaks(tick: int, silent_since: int | None) -> bool:
        if silent_since is not None and (not began or silent_since > began[-1]):
            began.append(silent_since)
        at = tick - began[-1] - 30 if began and (goes_on or silent_since is not None) else -1
        second = 100 + round(100 * pause_s)
        return 0 <= at < 100 or second <= at < second + 100

    return speaks


@pytest.fixture
def synthesiser(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeSpeech() as server:
        yield f"openai-tts:tts-1?{server.settings}"


def brief(*heard: Sequence[Sequence[str]], sayings: int = 2, **settings: Any) -> Brief:
    """A goal for each of `heard`."""
    goals = [Goal(f"goal {n}", (TEXT,) * sayings, "", groups, "en") for n, groups in enumerate(heard, 1)]
    known = {"closing": TEXT, "most_turns": 20, "most_s": 300.0, **settings}
    return Brief("a.b.1", "en", "", "", goals, **known)


def examiner(folder: Path, synthesiser: str, of: Brief, settings: str = "pacing=fdb2-slow") -> Examiner:
    (folder / "brief.json").write_text(json.dumps(to_builtins(of)))
    voice = f"voice={quote(synthesiser, safe='')}"
    party = endpoint(f"examiner:{folder / 'brief.json'}?{settings}&{voice}")
    assert isinstance(party, Examiner)
    party.open("A")
    return party


@pytest.mark.parametrize(("pacing", "reaction_ms"), [("fdb2-slow", 500), ("fdb2-fast", 600)])
def test_it_speaks_so_long_after_the_system_as_the_profile_says(
    tmp_path: Path, synthesiser: str, pacing: str, reaction_ms: int
) -> None:
    held = Stepped(examiner(tmp_path, synthesiser, brief([], [], []), f"pacing={pacing}"), answers())
    said = held.of("examiner_says")
    assert [each["cue"] for each in said] == ["opening", "answered", "answered", "answered"]
    assert [each["reaction_ms"] for each in said[1:]] == [reaction_ms] * 3
    # By hand: its words, 30 ticks, the system's 200 ticks, and the silence of the profile.
    assert np.diff([each["tick"] for each in said]).tolist() == [SAYING_TICKS + 230 + reaction_ms // 10] * 3
    assert said[0]["tick"] == 50
    assert held.verdicts == ["not heard"] * 3
    assert held.left == "finished"


@pytest.mark.parametrize("pacing", ["slow", "fast"])
def test_its_own_profiles_vary_by_seed_within_their_limits(tmp_path: Path, synthesiser: str, pacing: str) -> None:
    def reactions(seed: int) -> list[int]:
        party = examiner(tmp_path, synthesiser, brief(*[[]] * 12), f"pacing={pacing}&seed={seed}")
        return [each["reaction_ms"] for each in Stepped(party, answers()).of("examiner_says", cue="answered")]

    least, most = {"slow": (1500, 1800), "fast": (1500, 1600)}[pacing]
    assert reactions(1) == reactions(1) != reactions(2)
    assert least <= min(reactions(1)) < max(reactions(1)) <= most


def test_a_system_that_says_nothing_is_asked_again_and_given_up(tmp_path: Path, synthesiser: str) -> None:
    held = Stepped(examiner(tmp_path, synthesiser, brief([], []), "pacing=slow"), never)
    said = held.of("examiner_says")
    assert [(each.get("goal"), each.get("saying")) for each in said] == [(1, 1), (1, 2), (2, 1), (2, 2), (None, None)]
    assert {each["cue"] for each in said[1:]} == {"no answer"}
    assert np.diff([each["tick"] for each in said]).tolist() == [SAYING_TICKS + 600] * 4
    assert held.verdicts == ["unmet", "unmet"]
    insists = Stepped(examiner(tmp_path, synthesiser, brief([]), "pacing=fdb2-slow"), never)
    assert insists.verdicts == ["unmet"], "without ears there is nothing to insist on"


def test_silence_of_the_system_and_limits_end_it(tmp_path: Path, synthesiser: str) -> None:
    silent = Stepped(examiner(tmp_path, synthesiser, brief(*[[]] * 9), "pacing=slow"), never)
    assert silent.of("examiner_ends")[0]["reason"] == "silence"
    assert silent.verdicts[-2:] == ["not reached"] * 2
    turns = Stepped(examiner(tmp_path, synthesiser, brief(*[[]] * 9, most_turns=3), "pacing=slow"), answers())
    assert (turns.of("examiner_ends")[0]["reason"], len(turns.of("examiner_says", what="goal"))) == ("turn limit", 3)
    assert turns.verdicts == ["not heard"] * 3 + ["not reached"] * 6
    monologue = Stepped(examiner(tmp_path, synthesiser, brief([], most_s=20.0), "pacing=slow"), answers(30, 10_000))
    (ends,) = monologue.of("examiner_ends")
    assert (ends["reason"], ends["tick"], monologue.left) == ("time limit", 2000, "finished")


def test_the_slow_one_yields_and_says_it_again(tmp_path: Path, synthesiser: str) -> None:
    def talks_over(tick: int, silent_since: int | None) -> bool:
        return 70 <= tick < 300  # 20 ticks after its first words

    held = Stepped(examiner(tmp_path, synthesiser, brief([]), "pacing=fdb2-slow"), talks_over)
    said, stopped = held.of("examiner_says"), held.of("examiner_said")
    # A profile that yields after 100 ms: in the tick after, 20 ms of fading.
    assert (stopped[0]["of_ms"], stopped[0]["said_ms"]) == (1000, 320)
    (cut,) = held.of("interrupted")
    assert cut["item"] == held.of("transcript", of="self")[0]["item"]
    assert (cut["said_ms"], cut["heard_ms"]) == (1000, 320)
    assert (said[1]["goal"], said[1]["saying"]) == (1, 1), "what was cut before its half is said again"
    assert said[1]["tick"] == 300 + 50
    never_lets_it_finish = Stepped(
        examiner(tmp_path, synthesiser, brief([], [], most_turns=6), "pacing=fdb2-slow"),
        lambda tick, silent: silent is None and tick % 150 > 60,
    )
    assert never_lets_it_finish.verdicts == ["unmet", "not reached"]
    assert [each["sayings"] for each in never_lets_it_finish.of("examiner_goal")] == [0, 0]
    assert len(never_lets_it_finish.of("examiner_says", goal=1, saying=1)) == 6, "it does not go on for ever"
    stubborn = Stepped(examiner(tmp_path, synthesiser, brief([]), "pacing=fdb2-fast"), talks_over)
    assert all(each["said_ms"] == each["of_ms"] for each in stubborn.of("examiner_said"))


def test_the_fast_one_gives_backchannels_and_breaks_in(tmp_path: Path, synthesiser: str) -> None:
    begins = 30 + SAYING_TICKS + 30

    def holds_forth(tick: int, silent_since: int | None) -> bool:
        return begins <= tick < begins + 1300

    held = Stepped(examiner(tmp_path, synthesiser, brief([], []), "pacing=fast"), holds_forth)
    goals = held.of("examiner_says", what="goal")
    assert (goals[1]["cue"], goals[1]["goal"], goals[1]["saying"]) == ("breaks in", 1, 2)
    assert 0 <= goals[1]["tick"] - begins - 700 <= SAYING_TICKS, "not while it gives a backchannel"
    interruption = next(each for each in held.planted if each.kind == "interruption")
    assert interruption == Planted("interruption", goals[1]["tick"], goals[1]["tick"] + SAYING_TICKS)
    backchannels = [each["tick"] for each in held.of("examiner_says", what="backchannel")]
    assert len(backchannels) > 2
    assert [each.start_tick for each in held.planted if each.kind == "backchannel"] == backchannels
    assert min(np.diff([begins, *backchannels])) >= 80
    slow = Stepped(examiner(tmp_path, synthesiser, brief([], []), "pacing=slow"), holds_forth)
    assert slow.planted == []


def test_short_pauses_do_not_keep_the_fast_one_from_breaking_in(tmp_path: Path, synthesiser: str) -> None:
    """Pauses of 220 ms end the early edge, and are too short for an answer."""
    begins = 30 + SAYING_TICKS + 30

    def holds_forth(tick: int, silent_since: int | None) -> bool:
        return 0 <= tick - begins < 1300 and (tick - begins) % 150 < 128

    held = Stepped(examiner(tmp_path, synthesiser, brief([], []), "pacing=fast"), holds_forth)
    second = held.of("examiner_says", what="goal")[1]
    assert second["cue"] == "breaks in"
    # it would have begun in a pause, or with the speech after it, which interrupts nobody
    assert 40 <= (second["tick"] - begins) % 150 <= 128
    assert 700 <= second["tick"] - begins <= 700 + 150 + SAYING_TICKS


def test_backchannels_come_at_random(tmp_path: Path, synthesiser: str) -> None:
    """So that a system that does not heed them stops after them as chance has it."""
    gaps: list[int] = []
    for seed in range(6):
        party = examiner(tmp_path, synthesiser, brief([], sayings=1), f"pacing=fast&seed={seed}")
        held = Stepped(party, lambda tick, silent_since: 160 <= tick < 2_900, 2_900)
        gaps += np.diff([160, *(each["tick"] for each in held.of("examiner_says", what="backchannel"))]).tolist()
    assert min(gaps) >= 80
    assert np.mean(gaps) == pytest.approx(250, rel=0.25)
    assert np.std(gaps) > 80


def test_a_system_that_speaks_first_is_let_finish(tmp_path: Path, synthesiser: str) -> None:
    held = Stepped(
        examiner(tmp_path, synthesiser, brief([]), "pacing=fdb2-slow"), lambda tick, silent: 10 <= tick < 210
    )
    assert held.of("spoke_before_examiner")
    assert held.of("examiner_says")[0]["tick"] == 260


def test_one_that_waits_for_a_greeting_opens_after_it_or_when_its_patience_ends(
    tmp_path: Path, synthesiser: str
) -> None:
    party = examiner(tmp_path, synthesiser, brief([]), "pacing=fdb2-slow&opens=system")
    assert party.mutes_ticks == 0
    greeted = Stepped(party, lambda tick, silent: 300 <= tick < 410)
    assert greeted.of("examiner_says")[0] == {
        "tick": 410 + 50, "kind": "examiner_says", "what": "goal", "cue": "opening", "goal": 1, "saying": 1,
    }  # fmt: skip
    for pacing, patience_ticks in (("slow", 600), ("fast", 300)):
        silent = Stepped(examiner(tmp_path, synthesiser, brief([]), f"pacing={pacing}&opens=system"), never)
        assert [each["tick"] for each in silent.of("examiner_says", cue="opening")] == [patience_ticks]


@pytest.mark.parametrize(
    ("settings", "opens", "mutes_ms"),
    [
        ("pacing=slow", "either", 0),
        ("pacing=fast", "either", 0),
        ("pacing=fdb2-slow", "examiner", 4000),
        ("pacing=fdb2-fast", "examiner", 4000),
        ("pacing=fdb2-fast&opens=either", "either", 0),
        ("pacing=fast&opens=examiner", "examiner", 4000),
    ],
)
def test_who_opens_is_by_the_pacing_or_a_setting(
    tmp_path: Path, synthesiser: str, settings: str, opens: str, mutes_ms: int
) -> None:
    party = examiner(tmp_path, synthesiser, brief([]), settings)
    told = party.describe()["pacing"]
    assert (told["opens"], told["mutes_ms"], party.mutes_ticks) == (opens, mutes_ms, mutes_ms // 10)
    with pytest.raises(SettingsError, match="opens: expected one of either, examiner, system"):
        examiner(tmp_path, synthesiser, brief([]), "opens=nobody")


@pytest.mark.parametrize("realtime", [False, pytest.param(True, marks=pytest.mark.live)])
def test_it_opens_although_the_system_greets_which_is_told(tmp_path: Path, synthesiser: str, realtime: bool) -> None:
    """The system greets from 0.1 to 3 s, and answers from 4.5 to 5.5 s. The tone may be found a few ticks early."""
    spoken = [10 <= tick < 300 or 450 <= tick < 550 for tick in range(900)]
    settings = LiveSettings(vad="energy", realtime=realtime, max_s=7)
    of = brief([], sayings=1)
    party = examiner(tmp_path, synthesiser, of, "pacing=fdb2-slow")
    call = converse(party, Caller(spoken), tmp_path / "call", settings, {}, Event())
    says = [each for each in call.events if each["kind"] == "examiner_says"]
    assert next((each["tick"], each["cue"]) for each in says) == (50, "opening")
    assert (says[1]["cue"], says[1]["tick"]) == ("answered", pytest.approx(600, abs=5))
    assert not [each for each in call.events if each["kind"] == "spoke_before_examiner"]
    (muted,) = (each for each in call.events if each["kind"] == "muted")
    assert (muted["side"], muted["to_tick"], muted["loud_ms"]) == ("B", 400, 2900)
    _, audio = wavfile.read(call.path / "session.wav")
    assert not audio[: 400 * FRAME_SAMPLES, 1].any()
    found = examined_in(Reading(call.path))
    assert found is not None
    assert (found.opened, [proof.what for proof in found.muted]) == (
        True,
        ["the system was muted, and was loud for 2900 ms meanwhile"],
    )


def test_what_it_plants_becomes_labels_of_the_recording(tmp_path: Path, synthesiser: str) -> None:
    party = examiner(tmp_path, synthesiser, brief([], []), "pacing=fast")
    settings = LiveSettings(vad="energy", realtime=False, max_s=30)
    system = Caller([160 <= tick < 1460 and tick % 100 < 90 for tick in range(2000)])  # dips, as speech has them
    recording = converse(party, system, tmp_path / "call", settings, {}, Event())
    assert recording.meta["outcome"]["kind"] == "done"
    assert recording.meta["parties"]["A"]["pacing"]["name"] == "fast"
    found = given_labels(recording.path)
    assert found is not None
    says = [event for event in recording.events if event["kind"] == "examiner_says"]
    kinds = {"backchannel": "backchannel", "breaks in": "interruption"}
    told = [(each["tick"], kinds.get(each["what"], kinds.get(each["cue"], ""))) for each in says]
    labels = [(label.start_tick, label.kind) for label in sorted(found[1], key=lambda label: label.start_s)]
    assert {kind for _, kind in labels} == {"backchannel", "interruption"}
    assert labels == [each for each in told if each[1]]


class Words(Transcriber):
    """Hears the next of some texts each time it is asked."""

    name = "words"

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def transcribe(self, wav: bytes, language: str) -> str:
        return self.texts.pop(0) if self.texts else "nothing more"


def hearing(folder: Path, synthesiser: str, of: Brief, pacing: str, *texts: str) -> Examiner:
    party = Examiner(of, pacing, voice=synthesiser, transcriber=Words(*texts))
    party.open("A")
    return party


def test_with_ears_a_goal_is_met_by_words_or_left_unmet(tmp_path: Path, synthesiser: str) -> None:
    goals = brief([["latte", "lattes"], ["oat"]], [["hot"]], [["nine"]])
    texts = ["Two lattes.", "Two lattes, with oat milk!", "Iced it is.", "Iced.", "At nine."]
    held = Stepped(hearing(tmp_path, synthesiser, goals, "slow", *texts), answers())
    assert held.verdicts == ["met", "unmet", "met"]
    assert [each["sayings"] for each in held.of("examiner_goal")] == [2, 2, 1]
    assert [each["text"] for each in held.of("transcript", of="partner")] == texts
    insists = Stepped(hearing(tmp_path, synthesiser, brief([["hot"]]), "fdb2-slow", *["Iced."] * 5, "Hot."), answers())
    assert insists.of("examiner_goal")[0]["sayings"] == 6
    assert insists.verdicts == ["met"]


@pytest.mark.parametrize("pacing", ["slow", "fast"])
def test_an_answer_to_a_saying_that_was_broken_off_does_not_meet_its_goal(
    tmp_path: Path, synthesiser: str, pacing: str
) -> None:
    """The system says all of it over the first words of the goal, for longer than the fast one looks."""
    goals = structs.replace(brief(), goals=[Goal("goal 1", (TEXT * 6, "b"), "", [["hot"]], "en")])
    party = hearing(tmp_path, synthesiser, goals, pacing, *["Hot, hot."] * 20)
    held = Stepped(party, lambda tick, silent: 60 <= tick < 560 or (tick > 900 and answers()(tick, silent)))
    first, second = held.of("examiner_says", what="goal")
    assert (first["saying"], second["saying"]) == (1, 1)
    assert held.of("examiner_said")[0]["said_ms"] < 3000 < 6000 == held.of("examiner_said", said_ms=6000)[0]["of_ms"]
    assert held.verdicts == ["met"]
    assert held.of("examiner_goal")[0]["tick"] > second["tick"] + 600
    assert held.of("examiner_goal")[0]["sayings"] == 1


@pytest.mark.parametrize("wordings", [1, 3])
def test_how_often_a_goal_is_put_can_be_set(tmp_path: Path, synthesiser: str, wordings: int) -> None:
    """Three wordings of two sayings: the first one comes again."""
    party = Examiner(brief([["hot"]]), "slow", voice=synthesiser, transcriber=Words(), wordings=wordings)
    party.open("A")
    held = Stepped(party, answers())
    assert held.verdicts == ["unmet"]
    assert [each["saying"] for each in held.of("examiner_says", what="goal")] == [1, 2, 1][:wordings]
    assert party.describe()["wordings"] == wordings


def test_the_fast_one_moves_on_as_soon_as_a_goal_is_met(tmp_path: Path, synthesiser: str) -> None:
    begins = 30 + SAYING_TICKS + 30
    party = hearing(tmp_path, synthesiser, brief([["hot"]], []), "fast", "Let me see.", "Hot, yes.", "Fine.")
    held = Stepped(party, lambda tick, silent_since: begins <= tick < begins + 650)
    second = held.of("examiner_says", what="goal")[1]
    assert (second["cue"], second["goal"]) == ("goal met", 2)
    assert second["tick"] == begins + 400, "it looks each 2 s"
    assert Planted("interruption", second["tick"], second["tick"] + SAYING_TICKS) in held.planted


def test_in_a_pause_the_fast_one_goes_on_only_with_a_goal_that_is_met(tmp_path: Path, synthesiser: str) -> None:
    """It hears "I changed them." in a pause of 0.4 s and as it looks at 2 s, and the rest at the end."""
    heard = ["I changed them."] * 2 + ["I changed them. They are hot now."] + ["It is"] * 2 + ["It is at nine."]
    party = hearing(tmp_path, synthesiser, brief([["hot"]], [["nine"]]), "fast", *heard)
    held = Stepped(party, answers_in_sentences(0.4))
    assert held.verdicts == ["met", "met"]
    assert [each["sayings"] for each in held.of("examiner_goal")] == [1, 1]
    ends = [each["tick"] + 30 + 240 for each in held.of("examiner_said", said_ms=1000)[:2]]
    met = held.of("examiner_says", cue="goal met")
    reactions_ms = [10 * (each["tick"] - end) for each, end in zip(met, ends, strict=True)]
    assert all(250 <= reaction_ms <= 360 for reaction_ms in reactions_ms), reactions_ms


@pytest.mark.parametrize("pause_s", [0.3, 0.79, 1.2])
@pytest.mark.parametrize("pacing", ["fast", "slow"])
def test_a_pause_between_two_sentences_is_no_end(
    tmp_path: Path, synthesiser: str, pacing: str, pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PACINGS, pacing, replace(PACINGS[pacing], backchannels_ms=None))
    held = Stepped(
        examiner(tmp_path, synthesiser, brief([], [], []), f"pacing={pacing}"), answers_in_sentences(pause_s)
    )
    assert held.verdicts == ["not heard"] * 3
    assert [each["sayings"] for each in held.of("examiner_goal")] == [1, 1, 1]
    assert all(each["reaction_ms"] >= 1500 for each in held.of("examiner_says", cue="answered"))


@pytest.mark.parametrize("ears", [False, True])
def test_an_answer_of_12_s_is_broken_into_once_and_then_heard(
    tmp_path: Path, synthesiser: str, ears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words that meet the goal come at the end of each answer."""
    monkeypatch.setitem(PACINGS, "fast", replace(PACINGS["fast"], backchannels_ms=None))
    goals = brief([["hot"]], [["nine"]])
    late = ["Well, as to that,"] * 8 + ["They are hot."] + ["Well, as to that,"] * 8 + ["It is at nine."]
    if ears:
        party = hearing(tmp_path, synthesiser, goals, "fast", *late)
    else:
        party = examiner(tmp_path, synthesiser, goals, "pacing=fast")
    held = Stepped(party, answers(30, 1200))
    cues = [(each["goal"], each["saying"], each["cue"]) for each in held.of("examiner_says", what="goal")]
    assert [cue for cue in cues if cue[2] == "breaks in"] == [(1, 2, "breaks in"), (2, 2, "breaks in")]
    assert held.verdicts == (["met", "met"] if ears else ["not heard", "not heard"])


def test_who_answers_the_first_wording_alone_was_not_heard(tmp_path: Path, synthesiser: str) -> None:
    """The second wording broke into its answer, which may have met the goal."""
    begins = 30 + SAYING_TICKS + 30
    party = examiner(tmp_path, synthesiser, brief([["hot"]], [["nine"]]), "pacing=fast")
    held = Stepped(party, lambda tick, silent_since: begins <= tick < begins + 730)
    assert held.verdicts == ["not heard", "unmet"]


def test_who_never_ends_is_left_after_28_s(tmp_path: Path, synthesiser: str) -> None:
    held = Stepped(examiner(tmp_path, synthesiser, brief([], []), "pacing=fast"), answers(30, 100_000))
    said = held.of("examiner_says", what="goal")
    assert [(each["goal"], each["cue"]) for each in said[1:]] == [(1, "breaks in"), (2, "breaks in"), (2, "breaks in")]
    assert 0 <= said[2]["tick"] - said[1]["tick"] - SAYING_TICKS - 30 - 2800 <= SAYING_TICKS


def test_it_learns_how_long_a_system_pauses(tmp_path: Path, synthesiser: str) -> None:
    """Pauses of 2 s: it speaks in the first one and never again."""
    party = examiner(tmp_path, synthesiser, brief(*[[]] * 5, sayings=1), "pacing=fast")
    held = Stepped(party, answers_in_sentences(2.0, goes_on=True))
    silences = [each["silence_ms"] for each in held.of("examiner_says", cue="answered")]
    assert 1500 <= silences[0] <= 1600
    assert all(2300 <= silence_ms <= 2400 for silence_ms in silences[1:])


def test_the_end_of_an_answer_is_heard_if_the_transcriber_was_still_at_work(tmp_path: Path, synthesiser: str) -> None:
    """On a real clock the transcriber takes time: what it was given in mid-speech is not the whole answer."""
    at_work = Event()

    class Slow(Words):
        def transcribe(self, wav: bytes, language: str) -> str:
            at_work.wait(PATIENCE_S)
            return super().transcribe(wav, language)

    begins = 30 + SAYING_TICKS + 30

    def speaks(tick: int, silent_since: int | None) -> bool:
        if tick == begins + 320:  # 0.2 s after the cue that the system has answered
            at_work.set()
        if tick >= begins + 320:
            time.sleep(0.002)
        return begins <= tick < begins + 250

    party = Examiner(brief([["hot"]]), "fast", voice=synthesiser, transcriber=Slow("Let me see.", "Let me see. Hot."))
    party.open("A")
    held = Stepped(party, speaks, begins + 700, origin_ns=0)
    assert held.verdicts == ["met"]


def test_an_examiner_that_goes_deaf_says_so(tmp_path: Path, synthesiser: str) -> None:
    class Deaf(Words):
        def transcribe(self, wav: bytes, language: str) -> str:
            raise SettingsError("the transcriber is gone")

    party = Examiner(brief([["hot"]]), "slow", voice=synthesiser, transcriber=Deaf())
    party.open("A")
    assert Stepped(party, answers()).left == "the examiner cannot hear: the transcriber is gone"


def naive_edges(active: Sequence[bool]) -> list[tuple[int, str, int]]:
    """(tick in which it is known, edge, tick of the edge): each looks back over the whole past."""
    found: list[tuple[int, str, int]] = []
    speaks = False
    for tick in range(len(active)):
        needed = 20 if speaks else 6
        last = active[max(0, tick + 1 - needed) : tick + 1]
        if len(last) == needed and all(each != speaks for each in last):
            speaks = not speaks
            found.append((tick, "start" if speaks else "end", tick + 1 - needed))
    return found


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=30))
def test_early_edges_are_those_of_a_naive_search(runs: list[tuple[bool, int]]) -> None:
    active = [each for each, length in runs for _ in range(length)]
    edges, found = EarlyEdges(), []
    for tick, each in enumerate(active):
        if (edge := edges.push(tick, each)) is not None:
            found.append((tick, edge, edges.since_tick))
    assert found == naive_edges(active)


def test_an_early_edge_that_no_final_event_confirms_is_told_once() -> None:
    check = FinalCheck()
    check.acted_on("start", 100)
    check.acted_on("end", 300)
    check.notice(TurnEvent("speech_start", "B", 104, None, 130))
    check.notice(TurnEvent("speech_end", "B", 104, 420, 460))
    assert check.contradicted(174) == []
    assert check.contradicted(176) == [], "a final start lies near"
    assert [(each.edge, each.tick) for each in check.contradicted(500)] == [("end", 300)]
    assert check.contradicted(900) == []


@pytest.mark.parametrize(
    ("groups", "words", "is_met"),
    [
        ([["latte"], ["oat", "oat milk"]], "Two LATTE, with oat-milk.", True),
        ([["latte"]], "Two flattened ones.", False),  # a whole word
        ([["can't", "cannot"]], "I can\u2019t do that.", True),
        ([["victor"], ["it's a no"]], "That's Victor's, and it is... it's a no.", True),
        ([["11"], ["1620"]], "At 11am, and that's GHS1620.", True),
        ([["11"]], "At 1100m.", False),
        ([["9 30", "half past nine"]], "Half past nine, then.", True),
        ([["火曜"], ["2時", "二時"]], "では、火曜日の２時にお待ちしております。", True),
        ([["火曜"], ["3時"]], "では、火曜日の2時に。", False),
        ([["40", "四十"], ["300g"]], "40個ですね。300gでお包みします。", True),
        ([["40"]], "140個ですね。", False),
        ([["3時"]], "13時です。", False),
        ([["3時"]], "13時か3時です。", True),
        ([["三時"], ["六百"]], "十三時に千六百円です。", False),
        ([["三時"], ["六百"]], "午後三時に六百円です。", True),
        ([["千八百"]], "二千八百円です。", False),
        ([["千八百"]], "一千八百円です。", True),
        ([], "anything", False),
    ],
)
def test_words_meet_a_goal(groups: list[list[str]], words: str, is_met: bool) -> None:
    assert Goal("", (), "", groups, "en").is_met_by(words) is is_met


def test_a_brief_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "brief.json"
    empty = '{"schema": "fdbcore.brief/1"}'
    for text, told in [("{", "brief"), ('{"schema": "x/1"}', "Invalid value 'x/1'"), (empty, "required field `id`")]:
        path.write_text(text)
        with pytest.raises(SettingsError, match=told) as error:
            read_brief(path)
        assert "\n" not in str(error.value)
        assert str(path) in str(error.value)
    silent = Brief("a", "en", "", "", [Goal("g", (), "", [], "en")], "Bye.", 20, 100)
    path.write_text(json.dumps(to_builtins(silent)))
    assert json.dumps(to_builtins(read_brief(path))) == path.read_text()
    for address in ("examiner:", f"examiner:{path}", f"examiner:{path}?pacing=brisk", "examiner:nowhere.json"):
        with pytest.raises(SettingsError):
            endpoint(address)
