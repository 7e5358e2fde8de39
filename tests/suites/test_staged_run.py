"""`fdbcore run` and `fdbcore score` of the suite of staged dialogues: examiners of scenarios, and what is scored."""

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from fakes.answering_server import answering, telling_command
from fakes.fake_chat import KEY, FakeChat
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Asked, Refuses, Says
from fakes.pcm_server import PcmServer
from helpers.commands import command, done, printed, refused
from helpers.exec_scripts import script
from helpers.score_rows import rows, value
from helpers.staged_runs import MUG, NEEDS_VOICE, beeping_run, hold, judge_at, marks
from msgspec.structs import replace

from fdbcore import clock
from fdbcore.analysis.held import LostCall
from fdbcore.errors import InputError, MissingExtraError, RecordingError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_json
from fdbcore.recording.run import RUN
from fdbcore.registry import endpoint, suite
from fdbcore.runs.plan import side_a_of
from fdbcore.runs.requests import option_values
from fdbcore.suites.staged.card import card
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.document import document
from fdbcore.suites.staged.examined import HEADS
from fdbcore.suites.staged.goals import GoalResult
from fdbcore.suites.staged.scenario_files import read_set
from fdbcore.suites.staged.users import USERS, families_of
from fdbcore.types import SideA


def users(tmp_path: Path, **options: Any) -> SideA:
    staged = suite("staged")
    values = option_values(staged.options.run, options, staged.name)
    return side_a_of(staged, None, tmp_path / "run", values, lambda text: None)


class TestUsers:
    def test_an_examiner_for_each_scenario_and_pacing(self, tmp_path: Path) -> None:
        found = users(tmp_path, pacing="both").users
        scenarios = read_set("builtin").scenarios
        assert len(found) == 2 * len(scenarios) == 160
        assert {user.columns["pacing"] for user in found} == {"slow", "fast"}
        assert len({user.name for user in found}) == 160
        settings = {user.name: parse_qs(urlsplit(user.address).query) for user in found}
        seeds = {name: each["seed"] for name, each in settings.items()}
        assert seeds["daily.ordering.01.slow"] == seeds["daily.ordering.01.fast"] != seeds["daily.ordering.02.fast"]
        assert settings["daily.ordering.01.fast"]["pacing"] == ["fast"]

    def test_seeds_of_the_examiner_are_users_of_their_own(self, tmp_path: Path) -> None:
        found = users(tmp_path, scenario=("daily.ordering.02",), examiner_seeds=3).users
        assert [user.name for user in found] == [f"daily.ordering.02.slow.seed{number}" for number in (1, 2, 3)]
        assert len({user.address for user in found}) == 3
        one = users(tmp_path / "one", scenario=("daily.ordering.02",), examiner_seed=2).users[0]
        assert one.address.partition("?")[2] == found[2].address.partition("?")[2]

    def test_scenarios_are_chosen_by_family_name_and_draw(self, tmp_path: Path) -> None:
        def chosen(**options: Any) -> list[str]:
            return [user.columns["scenario"] for user in users(tmp_path, **options).users]

        assert {name.partition(".")[0] for name in chosen(family=("entity", "safety"))} == {"entity", "safety"}
        assert chosen(scenario=("daily.ordering.02",)) == ["daily.ordering.02"]
        drawn = chosen(per_family=2, examiner_seed=1)
        assert [name.partition(".")[0] for name in drawn] == [
            family for family in ("daily", "correction", "entity", "safety") for _ in range(2)
        ]
        assert drawn == chosen(per_family=2, examiner_seed=1) != chosen(per_family=2, examiner_seed=2)

    def test_families_of_its_own_file_come_with_a_run(self, tmp_path: Path) -> None:
        family = (
            '[[family]]\nid = "haggling"\ntitle = "Haggling"\nabout = "A price is agreed."\n'
            'class = [{ id = "ordering", title = "Of an order" }]\n[family.score]\ntitle = "Deal"\n'
            '[[family.score.rubric]]\nask = "Is there a deal?"\nlevels = ["1", "2", "3", "4", "5"]\n'
        )
        (tmp_path / "own.toml").write_text(
            MUG.replace("[[scenario]]", f"{family}\n[[scenario]]", 1).replace('"daily"', '"haggling"')
        )
        (user,) = users(tmp_path, scenarios=str(tmp_path / "own.toml")).users
        assert user.columns["family"] == "haggling"
        found = families_of(tmp_path / "run-users")
        assert found["haggling"].rubric[0].ask == "Is there a deal?"
        assert set(found) == {"daily", "correction", "entity", "safety", "haggling"}

    def test_a_damaged_list_is_told_in_one_line(self, tmp_path: Path) -> None:
        users(tmp_path, scenario=("daily.ordering.02",))
        listed = json.loads((tmp_path / "run-users" / USERS).read_text())
        listed["users"][0]["settings"] = 7
        (tmp_path / "run-users" / USERS).write_text(json.dumps(listed))
        with pytest.raises(RecordingError, match=r"users\.json: damaged: .*`\$\.users\[0\]\.settings`$"):
            suite("staged").side_a(str(tmp_path / "run-users"))

    def test_what_cannot_be_asked_for(self, tmp_path: Path) -> None:
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"pacing": "brisk"}, "--pacing: expected one of slow, fast"),
            ({"family": ("sports",)}, "--family: expected one of daily"),
            (
                {"scenario": ("daily.ordering.5",)},
                r"an id of builtin .fdbcore scenarios list .*5'; perhaps daily.order",
            ),
            ({"examiner_transcriber": "nobody"}, "--examiner-transcriber"),
            ({"examiner": "nobody:x"}, "^--examiner: expected one of .*, got 'nobody'"),
            ({"nonsense": 1}, "staged: nonsense: expected one of its options"),
        ]
        for options, told in wrong:
            with pytest.raises(SettingsError, match=told):
                users(tmp_path, **options)
        silent = tmp_path / "silent.toml"
        unsaid = ("say", "rephrase", "probe", "heard")
        silent.write_text("".join(line for line in MUG.splitlines(keepends=True) if not line.startswith(unsaid)))
        with pytest.raises(InputError, match=r"daily.ordering.90.*words of side A"):
            users(tmp_path, scenarios=str(silent))
        with pytest.raises(InputError, match="expected examiners"):
            suite("staged").side_a(str(tmp_path))

    def test_a_message_names_the_option_that_was_typed(self, tmp_path: Path) -> None:
        for option in ("--transcriber", "--judge"):
            told = command("score", "--suite", "staged", tmp_path, option, "nobody", "--out", tmp_path / "s", code=2)
            assert f"Error: {option}: expected one of " in told.stderr

    @NEEDS_VOICE
    def test_a_scenario_without_its_voice_is_left_out_and_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyopenjtalk", None)
        found = users(tmp_path, family=("safety",), pacing="both")
        (problem,) = found.warnings
        scenarios = {user.columns["scenario"] for user in found.users}
        in_japanese = {
            each.id
            for each in read_set("builtin").scenarios
            if each.family == "safety" and "ja" in [goal.language for goal in each.goals]
        }
        assert in_japanese == {problem.where}
        assert (len(scenarios), len(found.users)) == (19, 38)
        assert problem.where not in scenarios
        assert re.match(r"left out: .*pip install 'fdbcore\[ja\]'", problem.reason)
        for only in ({"scenario": (problem.where,)}, {"scenarios": "builtin-ja"}):
            with pytest.raises(MissingExtraError, match=r"fdbcore\[ja\]"):
                users(tmp_path, **only)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        speaks_itself = users(tmp_path, examiner="openai-realtime:m").users
        assert problem.where in {user.columns["scenario"] for user in speaks_itself}

    @pytest.mark.parametrize(
        "party",
        [
            *("openai-realtime:m", "openai-live:m", "gemini-live:m"),
            *("ultravox:ultravox-v0.7", "grok:m", "cascaded:own.toml"),
        ],
    )
    def test_a_dry_run_needs_no_key(self, party: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ULTRAVOX_API_KEY", "XAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        (tmp_path / "own.toml").write_text('asr = "openai:whisper-1"\nllm = "openai:x"\ntts = "openai-tts:y"\n')
        monkeypatch.chdir(tmp_path)
        as_examiner = ("--suite", "staged", "--scenario", "daily.ordering.01", "--system", "echo", "--examiner", party)
        as_system = ("--a", "echo", "--system", party)
        arguments = [as_system, as_examiner] if party.startswith("openai-realtime") else [as_system]
        for each in arguments:
            done("run", *each, "--dry-run")
            assert [path.name for path in tmp_path.iterdir()] == ["own.toml"]
            assert "expected a key in" in refused("run", *each)

    @NEEDS_VOICE
    def test_a_run_that_is_refused_leaves_nothing(self, tmp_path: Path) -> None:
        plan = ("--suite", "staged", "--scenario", "daily.ordering.01", "--system", "echo")
        arguments = ("run", *plan, "--limit", "x=1")
        assert "--limit: expected the name of a system, echo, got x" in refused(*arguments, "--out", tmp_path / "run")
        assert list(tmp_path.iterdir()) == []
        kept = tmp_path / "run-users" / "kept"
        kept.mkdir(parents=True)
        command(*arguments, "--out", tmp_path / "run")
        assert kept.is_dir()

    def test_options_of_the_suite_need_it(self) -> None:
        assert "--pacing needs --suite" in refused("run", "--system", "echo", "--a", "echo", "--pacing", "fast")

    @NEEDS_VOICE
    def test_every_scenario_that_ships_can_be_played(self, tmp_path: Path) -> None:
        for user in users(tmp_path, pacing="fdb2").users:
            assert endpoint(user.address).describe()["kind"] == "examiner"


SLOW_BEEP = """
quiet, due, left, tick = 0, [], 0, 0
while True:
    loud = max(map(abs, memoryview(read()).cast("h"))) > 600
    quiet = 0 if loud else quiet + 1
    if quiet == 80 and tick > 100:
        due.append(tick - 80 + DELAY)
    if due and tick >= due[0]:
        due, left = due[1:], 100
    write(b"".join((3000 if n // 40 % 2 else -3000).to_bytes(2, "little", signed=True) for n in range(480))
          if left > 0 else bytes(960))
    left, tick = left - 1, tick + 1
"""
"""It answers DELAY ticks after A fell silent, with a second of sound, whatever A does meanwhile."""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beeping_run(tmp_path_factory.mktemp("staged"))


@pytest.fixture
def hearing(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeChat]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("JUDGE_KEY", FakeOpenAI.KEY)
    with FakeChat(
        heard=["One blue mug. Cannot tell now. Good bye then.", "Not that one. Four dollars each. So good bye."]
    ) as server:
        yield server


@NEEDS_VOICE
class TestScores:
    def test_without_ears_timing_is_scored_and_goals_are_not(self, held: Path, tmp_path: Path) -> None:
        found = printed("score", "--suite", "staged", held, "--out", tmp_path / "scores")
        assert found["warnings"] == [], "nobody asked for words"
        assert [row["condition"] for row in rows(found)] == ["slow", "fast"]
        for row in rows(found):
            assert value(row, "goals_met") is None, "unknown, not 0"
            assert value(row, "timing") == pytest.approx(1.0), "every answer comes after 0.5 s"
            assert value(row, "answer_ms") == pytest.approx(500, abs=20)
            assert [value(row, name) for name in ("wordings", "probes", "no_response_per_turn")] == [1, 0, 0]
        for item in found["items"]:
            length_s = Reading(Path(item["call"])).n_ticks / 100
            assert item["measures"]["b_talk_share"] * length_s == pytest.approx(4, abs=0.1), "four answers of 1 s each"
            assert item["measures"]["overlap_s_per_min"] * length_s / 60 == pytest.approx(1, abs=0.03), "the last one"
            assert [goal["probes"] for goal in item["goals"]] == [0, 0]
        (note,) = found["notes"]
        assert note.startswith("In 2 of 2 dialogues it is not known whether goals were met")
        assert "told" not in note, "the system tells no words"
        page = (tmp_path / "scores" / "report.html").read_text()
        shown = command("score", "--suite", "staged", held, "--out", tmp_path / "scores")
        assert "timing score" in shown.stdout
        assert "The examiner itself" in shown.stdout
        assert "The examiner itself</h2>" in page
        assert [row["counts"]["cut_in"] for row in found["examiners"]] == [0, 0]
        table = page.partition("The examiner itself</h2>")[2].partition("</table>")[0]
        assert re.findall(r'<th scope="col">([^<]*)', table) == ["examiner", "slow", "fast"]
        heads = set(re.findall(r'<th scope="row">([^<]*)', table))
        assert heads - set(HEADS) == {"median ms", "p95 ms", "sooner", "later"}

    @pytest.mark.parametrize("answers_after_s", [None, 4])
    def test_a_silence_that_the_examiner_gave_up_was_not_answered(
        self, tmp_path: Path, answers_after_s: int | None
    ) -> None:
        code = "while True: read(); write(bytes(960))"
        if answers_after_s:
            code = SLOW_BEEP.replace("DELAY", str(100 * answers_after_s))
        run = hold(tmp_path, "--pacing", "both", "--system", script(code), code=None)
        items = printed("score", "--suite", "staged", run, "--out", tmp_path / "s", code=None)["items"]
        found = {item["pacing"]: item for item in items}
        assert set(found) == {"slow", "fast"}
        for pacing, item in found.items():
            gave_up = [each for each in Reading(Path(item["call"])).events if each.get("cue") == "no answer"]
            assert bool(gave_up) == (answers_after_s is None or pacing == "fast"), "the slow one waits for 6 s"
            missed, of = item["measures"]["no_response_per_turn"], item["measures"]
            if answers_after_s is None:
                assert (of["timing"], missed, of["answered_per_turn"], of["premature_per_turn"]) == (0, 1, 0, 0)
            elif pacing == "slow":
                assert (of["timing"], missed, of["answer_ms"]) == (0, 0, pytest.approx(4000, abs=50))
            else:
                n = len(gave_up) / missed
                assert n == pytest.approx(round(n)), (len(gave_up), of)
                assert n > len(gave_up)

    def test_a_system_that_only_gives_back_its_echo_is_told_so(self, tmp_path: Path) -> None:
        score = ("score", "--suite", "staged", hold(tmp_path, "--system", "echo"), "--out", tmp_path / "scores")
        (row,) = rows(printed(*score))
        assert (row["counts"]["only_echo"], value(row, "timing")) == (1, 0.0)
        (told,) = (line for line in command(*score).stdout.splitlines() if line.startswith("echo: "))
        assert "1 only echo of the" in told
        (page,) = (tmp_path / "scores" / "calls").glob("*.html")
        assert "all that the system said is echo of the examiner" in page.read_text()

    def test_a_dialogue_that_is_only_echo_is_not_judged(self, tmp_path: Path, hearing: FakeChat) -> None:
        """Also not by the rubric of its family; nobody is asked for its words."""
        run = ("run", "--suite", "staged", "--scenario", "safety.physical-health.01", "--system", "echo")
        done(*run, "--clock", "virtual", "--out", tmp_path / "run")
        with FakeOpenAI(lambda asked: json.dumps({"score": 5, "reason": "“mug”"})) as judges:
            asks = ("--transcriber", f"openai:whisper-1?{hearing.settings}", "--judge", judge_at(judges, "any"))
            found = printed("score", "--suite", "staged", tmp_path / "run", *asks, "--out", tmp_path / "s")
        (item,), (row,) = found["items"], rows(found)
        assert (item["only_echo"], item["task"], item["events"], judges.asked) == (True, None, [], [])
        assert value(row, "task_score") is None
        assert hearing.wavs == []

    def test_words_that_are_missing_are_told_with_what_mends_it(
        self, held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        score = ("score", "--suite", "staged", held, "--transcriber", "self-reported", "--out", tmp_path / "s")
        found = printed(*score)
        goals, words = found["warnings"]
        assert "because self-reported has no words of the system; --transcriber whisper" in goals
        call = held / "daily.ordering.90.fast"
        assert words == f"self-reported: no words of B in {call} and 1 more: it did not tell what it said"
        shown = command(*score)
        assert (shown.exit_code, "left out" in shown.stdout, "scored in part" in shown.stdout) == (0, False, False)
        assert words in (tmp_path / "s" / "report.html").read_text()
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
        (note,) = printed("score", "--suite", "staged", held, "--out", tmp_path / "s")["notes"]
        assert "--transcriber whisper hears them once it is there" in note
        assert "pip install 'fdbcore[local]'" in note

    def test_what_systems_of_ones_own_tell_decides_goals_and_is_judged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mug.toml").write_text(MUG)
        text, out = "One mug, four dollars.", tmp_path / "run"
        with PcmServer(answering(text)) as tells, PcmServer(answering(None)) as mute, FakeOpenAI(marks) as judges:
            monkeypatch.setenv("JUDGE_KEY", judges.KEY)
            systems = {"socket": tells.address, "command": telling_command(text), "mute": mute.address}
            run: list[object] = ["run", "--suite", "staged", "--scenarios", tmp_path / "mug.toml", "--vad", "energy"]
            run += [word for each in systems.items() for word in ("--system", "=".join(each))]
            judge = ("--transcriber", "self-reported", "--judge", judge_at(judges, "strict"))
            done(*run, "--clock", "virtual", *judge, "--out", out)
        found = json.loads((tmp_path / "run-scores" / "scores.json").read_text())
        verdicts = {item["system"]: [goal["verdict"] for goal in item["goals"]] for item in found["items"]}
        assert verdicts == {"socket": ["met", "met"], "command": ["met", "met"], "mute": ["not heard"] * 2}
        marked = {row["system"]: value(row, "turn_taking") for row in rows(found)}
        assert (marked, found["problems"]) == ({"socket": 4.0, "command": 4.0, "mute": None}, [])
        why = f"self-reported: no words of B in {out / 'daily.ordering.90.slow-mute'}: it did not tell what it said"
        assert [line for line in found["warnings"] if line.startswith("self-reported")] == [why]
        again = tmp_path / "again"
        done("replay", out, "--out", again, "--vad", "energy")
        for each in (out, again):
            told = command("transcribe", each, "--transcriber", "self-reported", "--language", "en")
            assert (told.exit_code, told.stderr) == (0, "")
            lines = {name: words for name, _, words in (line.partition(": ") for line in told.stdout.splitlines())}
            words = [lines[f"daily.ordering.90.slow-{system}"].partition("B ")[2] for system in ("socket", "command")]
            assert [each.partition(" (")[0] for each in words] == ["8 words", "12 words"], (
                "the end came before the last"
            )
            assert lines["daily.ordering.90.slow-mute"].endswith("B unscored: it did not tell what it said")

    def test_told_words_are_named_where_the_system_tells_them(self, tmp_path: Path) -> None:
        line = '[[line]]\nsay = "One mug, four dollars."\nafter = "other_end"\ndelay_s = 0.5\n'
        (tmp_path / "says.toml").write_text(line)
        run = hold(tmp_path, "--system", f"scripted:{tmp_path / 'says.toml'}")
        score = ("score", "--suite", "staged", run, "--out", tmp_path / "s")
        (note,) = printed(*score)["notes"]
        assert "--transcriber self-reported takes what the system tells of its own words" in note
        found = printed(*score, "--transcriber", "self-reported")
        assert (found["warnings"], found["notes"]) == ([], [])

    def test_a_call_of_which_nothing_is_left_counts_for_the_examiner_that_was_planned(
        self, held: Path, tmp_path: Path
    ) -> None:
        run = shutil.copytree(held, tmp_path / "run")
        listed = json.loads((run / USERS).read_text())
        (run / USERS).write_text(json.dumps({**listed, "left_out": {"safety.9": "no voice"}}))
        plan = json.loads((run / RUN).read_text())
        gone = plan["cases"][0]
        gone["columns"]["examiner"] = "openai-realtime:m"
        (run / RUN).write_text(json.dumps(plan))
        shutil.rmtree(run / gone["name"])
        found = printed("score", "--suite", "staged", run, "--out", tmp_path / "s", code=1)
        assert found["warnings"][-1] == f"left out of {run}: safety.9: no voice"
        counts = {row["condition"]: (row["n"], row["counts"]["missing"]) for row in rows(found)}
        other = plan["cases"][1]["columns"]["pacing"]
        assert counts == {f"{gone['columns']['pacing']}, openai-realtime:m": (0, 1), f"{other}, scripted": (1, 0)}

    def test_a_transcriber_judges_goals_after_the_call_once(
        self, held: Path, tmp_path: Path, hearing: FakeChat
    ) -> None:
        hears = ("--transcriber", f"openai:whisper-1?{hearing.settings}", "--jobs", 1)
        arguments = ("score", "--suite", "staged", held, *hears, "--out", tmp_path / "s")
        found = printed(*arguments)
        verdicts = [[goal["verdict"] for goal in item["goals"]] for item in found["items"]]
        assert verdicts == [["met", "unmet"], ["unmet", "met"]]
        assert [value(row, "all_goals_met") for row in rows(found)] == [0.5, 0.5]
        assert [value(row, "goals_met") for row in rows(found)] == [1, 0], "the user says mug, too"
        assert [[goal["floors"] for goal in item["goals"]] for item in found["items"]] == [
            [["parrot", "reciter"], []]
        ] * 2
        assert len(hearing.wavs) == 2
        assert printed(*arguments)["items"] == found["items"]
        assert len(hearing.wavs) == 2, "what was heard is kept"

    def test_other_judges_and_wordings_are_compared_with_the_first(
        self, held: Path, tmp_path: Path, hearing: FakeChat
    ) -> None:
        def differing(asked: Asked) -> str:
            return marks(asked, 5 if asked.model == "kind" else 2 if "Rate the timing" in asked.system else 3)

        with FakeOpenAI(differing) as judges:
            asks = [judge_at(judges, name) for name in ("strict", "kind")]
            hears = f"openai:whisper-1?{hearing.settings}"
            arguments: list[object] = ["score", "--suite", "staged", held, "--transcriber", hears, "--jobs", 1]
            arguments += [*("--judge", asks[0], "--judge", asks[1], "--rubrics", "both", "--out", tmp_path / "s")]
            found = printed(*arguments)
            n = len(judges.asked)
            shown = command(*arguments)
            assert (shown.exit_code, len(judges.asked)) == (0, n), "rescoring is free"
        assert [value(row, "turn_taking") for row in rows(found)] == [3.0, 3.0]
        moved = {
            (each["aspect"], row["measure"], row["pacing"]): (row["main"], row["other"], row["difference"])
            for each in found["variants"]
            for row in each["rows"]
        }
        marked = ("turn_taking", "instruction_following")
        assert moved == {
            (aspect, measure, pacing): (3.0, other, other - 3.0)
            for aspect, other in (("judge", 5.0), ("rubrics", 2.0))
            for measure in marked
            for pacing in ("slow", "fast")
        }
        assert found["judging"]["requests"] == n == 6, "a daily dialogue has events alone"
        reasons = sum(2 * len(item["events"]) for item in found["items"])
        unquoted = sum(len(each["marks"].get("unquoted", ())) for item in found["items"] for each in item["events"])
        assert (found["judging"]["reasons"], found["judging"]["unquoted"]) == (reasons, unquoted)
        assert 0 < unquoted < reasons, "“mug” is said in one of the dialogues"
        assert f"{unquoted} of {reasons} reasons quote neither words nor a time." in " ".join(shown.stdout.split())
        told = re.sub(r" at\s+http://127\.0\.0\.1:\d+/v1", "", shown.stdout)  # whose server each judge is at
        assert "judge: openai:kind in place of openai:strict" in " ".join(told.split())
        page = re.sub(r" at http://127\.0\.0\.1:\d+/v1", "", (tmp_path / "s" / "report.html").read_text())
        tables = re.findall(r"<h3>([^<]*in place of[^<]*)</h3>(.*?)(?=<h[23]>)", page, re.DOTALL)
        assert [title for title, _ in tables] == [
            "Judge: openai:kind in place of openai:strict",
            "Wording of the rubrics: wording 2 in place of wording 1",
        ]
        for (_, table), other, difference in zip(tables, ("5.00", "2.00"), ("+2.00", "-1.00"), strict=True):
            cells = re.findall(r"<td[^>]*>(?:<strong>)?([^<]*)", table)
            assert [cells[at : at + 4] for at in range(0, 24, 6)] == [
                [label, "3.00", other, difference]
                for _ in range(2)
                for label in ("turn-taking", "instruction following")
            ]
        assert "Judging these dialogues took 6 requests so far" in " ".join(shown.stdout.split())
        assert "fdbcore score: questions to judges: 0 asked now, 6 answered before" in shown.stderr.splitlines()
        wrong = command("score", "--suite", "staged", held, "--rubrics", "third")
        assert "Invalid value for '--rubrics': 'third' is not one of '1', '2', 'both'" in wrong.stderr
        for option in (("--rubrics", "both"), ("--repeats", "3"), ("--max-cost", "1")):
            alone = command("score", "--suite", "staged", held, *option)
            assert (alone.exit_code, alone.stdout) == (2, "")
            assert f"{option[0]}: expected --judge beside it, got none" in alone.stderr

    def test_a_repeat_that_was_refused_is_paid_for_and_told_as_one_of_three(
        self, held: Path, tmp_path: Path, hearing: FakeChat
    ) -> None:
        def shy(asked: Asked) -> Says | Refuses:
            """It refuses the first repeat of the first dialogue, and once more with the error."""
            return Refuses("refusal", 1000, 10) if asked.number < 2 else Says(marks(asked), 1000, 10)

        with FakeOpenAI(shy) as judges:
            asks = ("--transcriber", f"openai:whisper-1?{hearing.settings}", "--judge", judge_at(judges, "shy"))
            how = ("--repeats", 3, "--jobs", 1, "--out", tmp_path / "s")
            found = printed("score", "--suite", "staged", held, *asks, *how, code=1)
        assert [value(row, "turn_taking") for row in rows(found)] == [4.0, 4.0]
        assert found["judging"]["requests"] == len(judges.asked) == 7
        assert found["judging"]["counts"] == {"text_in_tokens": 7000, "text_out_tokens": 70}
        (problem,) = found["problems"]
        assert problem["reason"].startswith("2 of 3 answers: events: openai:shy: declined")

    def test_another_transcriber_is_compared_with_the_first(self, held: Path, tmp_path: Path) -> None:
        head, _, scenario = MUG.replace("a blue mug", "a blue one").partition("[[scenario]]")  # no reciter meets a goal
        scenarios = [head, *(f"[[scenario]]{scenario}".replace(".90", f".9{n}") for n in range(3))]
        one, two = (f"{name}=scripted:{held.parent / 'beeps.toml'}" for name in ("one", "two"))
        run = hold(tmp_path, "--system", one, "--system", two, scenarios="".join(scenarios))
        score = ("score", "--suite", "staged", run, "--out", tmp_path / "s")
        items = printed(*score)["items"]
        shares = {
            "main": {"one": [0.5, 0.5, 1.0], "two": [1.0, 1.0, 1.0]},
            "other": {"one": [1.0, 1.0, 1.0], "two": [0.5, 0.0, 0.5]},
        }
        for item in items:
            call = Path(item["call"])
            spans = Reading(call).dialogue.ipus["B"] / 100
            for source, by_system in shares.items():
                n_met = 2 * by_system[item["system"]][int(item["scenario"][-1])]
                said = zip(("mug", "dollars"), item["goals"], strict=True)
                chunks = [
                    {"text": word if number < n_met else "well", "timestamp": [start_s + 0.1, start_s + 0.5]}
                    for number, (word, goal) in enumerate(said)
                    for start_s, _ in spans.tolist()
                    if goal["start_s"] < start_s < goal["end_s"]
                ]
                write_json(tmp_path / source / call.name / "B.json", {"chunks": chunks})
        both = [part for source in shares for part in ("--transcriber", f"words:{tmp_path / source}")]
        (variant,) = printed(*score, *both)["variants"]
        rows = {row["system"]: row for row in variant["rows"]}
        for system, row in rows.items():
            main, other = (np.array(shares[source][system]) for source in ("main", "other"))
            assert (row["measure"], row["n"], row["main"], row["other"]) == ("goals_met", 3, main.mean(), other.mean())
            assert row["difference"] == pytest.approx((other - main).mean())
            drawn = [np.mean(draw) for draw in product(other - main, repeat=3)]  # all 27 that a bootstrap draws from
            low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
            assert row["ci95"] == pytest.approx((low, high))
            assert row["moves"] == (not low <= 0 <= high)
        assert [rows["one"]["moves"], rows["two"]["moves"]] == [False, True]
        assert [(order["main"], order["other"], order["changes"]) for order in variant["orders"]] == [
            (["two", "one"], ["one", "two"], True)
        ]
        screen = command(*score, *both).stdout.split()
        told = " ".join(screen)
        another = f"Another transcriber (words:{tmp_path / 'other'} in place of words:{tmp_path / 'main'})"
        assert another.replace(" ", "") in "".join(screen)  # a line is folded within a long path
        assert "moves goals met of two, slow from 1.00 to 0.33 (-0.67" in told
        assert "the order of systems changes by goals met (slow: two, one; now one, two)" in told

    def test_a_dry_run_says_what_is_left_to_ask_and_asks_nobody(
        self, held: Path, tmp_path: Path, hearing: FakeChat
    ) -> None:
        run = tmp_path / "run"
        shutil.copytree(held, run, ignore=shutil.ignore_patterns("words_*.json", "judged.json"))
        with FakeOpenAI(marks) as judges:
            arguments: list[object] = ["score", "--suite", "staged", run, "--out", tmp_path / "s", "--jobs", 1]
            arguments += ["--judge", judge_at(judges, "other"), "--repeats", 2]
            arguments += ["--transcriber", f"openai:whisper-1?{hearing.settings}"]
            before = command(*arguments, "--dry-run")
            assert (before.exit_code, len(hearing.wavs), judges.asked, (tmp_path / "s").exists()) == (0, 0, [], False)
            for meta in shutil.copytree(run, tmp_path / "again").glob("*/meta.json"):
                write_json(meta, json.loads(meta.read_text()) | {"created": "another time"})
            twice = command(*arguments, tmp_path / "again", "--dry-run")
            done(*arguments)
            n, prompts = len(judges.asked), [asked.user + asked.system for asked in judges.asked]
            after = command(*arguments, "--dry-run")
            assert (len(judges.asked), len(hearing.wavs)) == (n, 4)
        hears, judging, total = before.stdout.splitlines()
        sent_s = sum(len(wav) - 44 for wav in hearing.wavs) / 2 / 16_000
        assert hears == f"openai:whisper-1: 2 of 2 dialogues left, 0:{sent_s:.0f} of audio, 0.00 USD"
        left = r"openai:other at http://127\.0\.0\.1:\d+/v1: {0} of {0} questions left, "
        assert re.search(left.format(n), judging)
        assert re.search(left.format(2 * n), twice.stdout), "answers are of one recording"
        tokens_in = int(re.findall(r"([\d,]+) tokens in", judging)[0].replace(",", ""))
        assert tokens_in == pytest.approx(sum(map(len, prompts)) / 4, rel=0.3), "the schema comes on top"
        assert total.startswith("in all about 0.00 USD;"), "it is on this machine"
        assert "openai:whisper-1: 0 of 2 dialogues left, 0.00 USD" in after.stdout
        assert re.search(
            rf"openai:other at http://127\.0\.0\.1:\d+/v1: 0 of {n} questions left, 0.00 USD", after.stdout
        )

    def test_a_dry_run_prices_by_the_list_and_invents_no_price(
        self, held: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setattr(clock, "utc_today", lambda: date(2026, 11, 1))  # no model ends soon
        arguments = ["score", "--suite", "staged", held, "--transcriber", "openai:whisper-1", "--dry-run"]
        told = done(*arguments, "--judge", "openai:gpt-4o", "--judge", "openai:gpt-nobody-has-priced")
        hears, priced, unpriced, *folded = told.stdout.splitlines()
        total = " ".join(folded)
        minutes, seconds = (int(part) for part in re.findall(r"(\d+):(\d\d) of audio", hears)[0])
        heard_usd = float(re.findall(r"([\d.]+) USD", hears)[0])
        assert heard_usd == pytest.approx((minutes * 60 + seconds) / 60 * 0.006, rel=0.05)
        tokens = [int(text.replace(",", "")) for text in re.findall(r"([\d,]+) tokens", priced)]
        usd = float(re.findall(r"([\d.]+) USD", priced)[0])
        assert usd == pytest.approx(tokens[0] * 2.5e-6 + tokens[1] * 10e-6, rel=0.01)
        assert unpriced.endswith(", unpriced")
        assert float(re.findall(r"about ([\d.]+) USD", total)[0]) == pytest.approx(usd + heard_usd, abs=0.0002)
        assert "without openai:gpt-nobody-has-priced" in total

    def test_a_dry_run_that_asks_nobody_says_so(self, held: Path) -> None:
        told = command("score", "--suite", "staged", held, "--dry-run")
        assert (told.exit_code, told.stdout) == (0, "score --suite staged asks nobody with these options\n")
        wrong = command("score", "--suite", "staged", held, "--dry-run", "--judge", "openai:gpt-4o")
        assert "--judge: expected --transcriber" in wrong.stderr
        assert "--dry-run needs --suite" in refused("score", held, "--dry-run")

    def test_other_options_are_refused_by_what_differs(self, held: Path) -> None:
        again = [
            *("run", "--suite", "staged", "--scenarios", held.parent / "mug.toml", "--clock", "virtual"),
            *("--system", f"beeps=scripted:{held.parent / 'beeps.toml'}", "--vad", "energy", "--out", held),
        ]
        for options, told in (
            (["--pacing", "fast"], "a: 2 there, 1 here;"),
            (["--pacing", "fdb2"], 'a 1 pacing name: "slow" there, "fdb2-slow" here;'),
            (["--pacing", "both", "--examiner-seed", "1"], "a 1 seed: "),
        ):
            assert f"holds another run ({told}" in refused(*again, *options)

    def test_the_columns_of_the_run_say_scenario_and_pacing(self, held: Path) -> None:
        header, *rows = (held / "calls.csv").read_text().splitlines()
        assert {"scenario", "family", "class", "pacing"} <= set(header.split(","))
        assert len(rows) == 2


def planted(system: str, pacing: str, met: Sequence[Sequence[float]], timing: float = 1.0) -> list[StagedCase]:
    """Cases of a system: for each scenario the goals met in each trial."""
    return [
        StagedCase(
            f"{system}-{pacing}-{scenario}-{trial}", system, trial, f"daily.ordering.{scenario}", "daily",
            "ordering", pacing, "en", [GoalResult("g", "met", 1, 0.0, 1.0)],
            values={"goals_met": share, "timing": timing},
        )
        for scenario, of_trials in enumerate(met)
        for trial, share in enumerate(of_trials, 1)
    ]  # fmt: skip


def test_each_scenario_has_the_same_weight_and_systems_and_pacings_are_paired_by_it() -> None:
    good = [[1.0, 1.0], [1.0], [1.0, 1.0], [0.75, 1.0]]
    bad = [[0.0, 0.5], [0.5, 0.5], [0.25], [0.0, 0.0, 0.0]]
    cases = [*planted("good", "slow", good), *planted("bad", "slow", bad), *planted("good", "fast", bad)]
    found = document(cases, [])
    means = {(row["system"], row["condition"]): value(row, "goals_met") for row in rows(found)}
    of_good, of_bad = (float(np.mean([np.mean(trials) for trials in each])) for each in (good, bad))
    assert means == {("good", "slow"): of_good, ("bad", "slow"): of_bad, ("good", "fast"): of_bad}
    expected = of_good - of_bad
    compared = {(one["a"], one["b"]): one for one in found["differences"] if one["measure"] != "timing"}
    assert compared["bad", "good"]["difference"] == pytest.approx(-expected)
    assert compared["good [slow examiner]", "good [fast examiner]"]["difference"] == pytest.approx(expected)
    assert len(compared) == 2
    assert all(one["p"] == pytest.approx(2 / 2**4) for one in compared.values()), "the exact test of 4 pairs"


def test_dialogues_of_different_examiners_are_never_put_together() -> None:
    scripted = planted("s", "slow", [[1.0], [0.5]])
    by_model = [replace(case, examiner="llm:local:smollm2") for case in planted("s", "slow", [[0.0], [0.5]])]
    found = document([*scripted, *by_model], [])
    means = {row["condition"]: value(row, "goals_met") for row in rows(found)}
    assert means == {"slow, llm:local:smollm2": 0.25, "slow, scripted": 0.75}
    assert found["differences"] == []
    assert [row.condition for row in card(found).rows] == ["slow, llm:local:smollm2", "slow, scripted"]


def test_what_is_not_scored_is_counted_beside_the_means() -> None:
    lost = [
        LostCall(Path("x"), "s", {"family": "daily", "pacing": "slow"}, kind, "why")
        for kind in ("failed", "failed", "invalid", "missing")
    ]
    gone = LostCall(Path("y"), "gone", {"family": "daily", "pacing": "slow"}, "failed", "it hung up")
    found = document(planted("s", "slow", [[1.0, 0.5], [0.5]]), [], lost=[*lost, gone])
    told = {row["system"]: (row["n"], *(row["counts"][name] for name in ("dialogues", "failed", "invalid")))
            for row in rows(found)}  # fmt: skip
    assert told == {"gone": (0, 0, 1, 0), "s": (2, 3, 2, 1)}
    assert found["rows"][0]["measures"] == {}
    assert card(found).rows[1].note == "3 dialogues, 2 failed, not scored, 1 invalid, not scored, 1 missing"
