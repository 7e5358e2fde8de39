"""Many cases: their order, how each ends, what a dead process and a stopped run leave, and what is held again."""

import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.parties import Speaker
from fakes.run_parties import Fake, install
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.systems import RunSummary
from fdbcore.errors import FdbError, PartyError, RecordingError, SettingsError
from fdbcore.recording.files import EVENTS, META
from fdbcore.recording.meta import RecordingMeta
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import LOG, RUN
from fdbcore.registry import endpoint
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.live import score_calls, summarise
from fdbcore.runs.plan import PlannedSystem, RunPlan, make_plan
from fdbcore.runs.runner import expected_wall_s, hold_calls
from fdbcore.runs.watch import FINISH, GO_ON, NOW, RunWatch
from fdbcore.session.converse import OPENING, WAITING, LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, Pcm, Side, User

FAST = LiveSettings(vad="energy", max_s=2.0, realtime=False)
REAL = LiveSettings(vad="energy", max_s=30.0)
USER = "fake:?speak=20-60&finish=100"


@pytest.fixture(autouse=True)
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))


def plan(systems: Mapping[str, str], users: tuple[str, ...] = (USER,), **options: Any) -> RunPlan:
    named = [User(f"u{i}" if len(users) > 1 else "", address) for i, address in enumerate(users)]
    return make_plan([PlannedSystem(*item) for item in systems.items()], named, **{"settings": FAST, **options})


def held(path: Path, plan: RunPlan, **options: Any) -> dict[str, Any]:
    """Run the plan; how each of its cases has ended."""
    with RunFolder(path, plan) as folder:
        hold_calls(folder, **{"back_off_s": (0.0,), **options})
        return {case.name: folder.outcome(case) for case in plan.cases}


def meta(path: Path) -> RecordingMeta:
    return Recording(path).meta


class Once(RunWatch):
    """Asks for something as soon as a case has ended, or a call has got so far."""

    def __init__(self, request: int, after_ticks: int | None = None) -> None:
        self.request = request
        self.after_ticks = after_ticks
        self.asked_for = GO_ON
        self.names: list[str] = []

    def asked(self) -> int:
        return self.asked_for

    def ended(self, case: Any, outcome: Any, again: bool) -> None:
        self.names.append(case.name)
        if self.after_ticks is None:
            self.asked_for = self.request

    def progress(self, progress: Any) -> None:
        if self.after_ticks is not None and any(tick >= self.after_ticks for _, tick in progress.live):
            self.asked_for = self.request


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 3), st.integers(0, 2**31))
def test_systems_take_turns_in_balanced_order(n_systems: int, n_users: int, trials: int, seed: int) -> None:
    users = [User(f"u{i}", "fake") for i in range(n_users)]
    systems = [PlannedSystem(f"s{i}", f"fake:?speak={i}-{i + 9}") for i in range(n_systems)]
    made = make_plan(systems, users, FAST, trials=trials, seed=seed)
    assert made == make_plan(systems, users, FAST, trials=trials, seed=seed)
    names = [case.system.name for case in made.cases]
    blocks = [names[i : i + n_systems] for i in range(0, len(names), n_systems)]
    assert all(sorted(block) == made.systems for block in blocks)
    in_squares = blocks[: len(blocks) // n_systems * n_systems]
    for place in range(n_systems):
        first = Counter(block[place] for block in in_squares)
        assert all(count == len(in_squares) // n_systems for count in first.values())
    each = Counter((case.user.name, case.system.name, case.trial) for case in made.cases)
    assert set(each.values()) == {1}
    assert len(each) == n_systems * n_users * trials
    assert [case.trial for case in made.cases] == sorted(case.trial for case in made.cases)
    assert len({case.name for case in made.cases}) == len(made.cases)


def test_the_order_is_random() -> None:
    users = tuple(USER for _ in range(6))
    orders = {tuple(c.name for c in plan({"a": "fake", "b": "fake"}, users, seed=seed).cases) for seed in range(20)}
    assert len(orders) == 20


@pytest.mark.parametrize(
    ("systems", "options", "expected"),
    [
        ({"x": "nope://h"}, {}, "expected one of .*fake"),
        ({"x": "fake:?clocking=realtime&key=hush"}, {}, r"&key=\*\*\*: a virtual clock cannot drive"),
        ({"x": "fake"}, {"limits": {"y": 1}}, "expected the name of a system, x, got y"),
        ({"a b": "fake", "a-b": "fake"}, {}, "got a-b 2 times: name systems"),
        ({}, {}, "expected systems and users, got 0 and 1"),
    ],
)
def test_a_wrong_plan_is_refused_before_anything_starts(
    systems: dict[str, str], options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(SettingsError, match=expected):
        plan(systems, **options)


@pytest.mark.parametrize("text", ["x y=echo", "a/b=echo", "=echo", "x="])
def test_a_wrong_name_is_told_the_rule_for_names(text: str) -> None:
    with pytest.raises(SettingsError, match="NAME=ADDRESS, the name of letters, digits"):
        PlannedSystem.of(text)


def test_the_same_system_twice_needs_names() -> None:
    same = ["fake:?speak=1-2", "fake:?speak=1-2"]
    with pytest.raises(SettingsError, match=r"got fake:\?speak=1-2 2 times"):
        make_plan([PlannedSystem.of(text) for text in same], [User("", USER)], FAST)
    named = [PlannedSystem.of(f"s{i}={text}") for i, text in enumerate(same)]
    assert [case.name for case in make_plan(named, [User("", USER)], FAST, seed=3).cases] in (
        ["s0", "s1"],
        ["s1", "s0"],
    )


def test_every_case_ends_as_done_failed_or_invalid(tmp_path: Path) -> None:
    everything = plan(
        {
            "good": "fake:?speak=30-80",
            "silent": "fake:?speak=0-0",
            "leaves": "fake:?leave=50",
            "refuses": "fake:?open_error=refused",
            "broken": "fake:?say_error=bug",
            "crashes": "fake:?die=40",
        }
    )
    outcomes = held(tmp_path / "run", everything, jobs=2, calls_per_process=1)
    died = "the process that held the call died: killed by SIGKILL"
    assert {name: (o["kind"], o["side"], o["reason"]) for name, o in outcomes.items()} == {
        "good": ("done", None, None),
        "silent": ("failed", "B", "no speech found"),
        "leaves": ("failed", "B", "closed by the server: 1011"),
        "refuses": ("failed", "B", "fake: refused with 401"),
        "broken": ("invalid", None, "RuntimeError: a bug of the endpoint"),
        "crashes": ("invalid", None, died),
    }
    metas = {name: meta(tmp_path / "run" / name) for name in outcomes}
    assert {name: m["outcome"] for name, m in metas.items()} == outcomes
    assert {name: m["status"] for name, m in metas.items() if m["status"] != "complete"} == {
        "broken": "failed",
        "crashes": "failed",
    }
    assert [attempt["reason"] for attempt in metas["crashes"]["attempts"]] == [died, died]
    assert metas["good"]["settings"]["clock"] == "virtual: compute time not counted"
    assert "a bug of the endpoint" in (tmp_path / "run" / LOG).read_text()
    found = summary_of(tmp_path / "run", everything)["systems"]
    assert {name: system["recordings"] for name, system in found.items() if system["recordings"]} == {
        name: [name] for name in ("good", "silent", "leaves")
    }
    ended = {"planned": 1, "done": 0, "declined": 0, "failed": 1, "invalid": 0, "left": 0, "again": 0}
    assert found["leaves"]["cases"] == ended
    assert found["leaves"]["reasons"] == {"failed: closed by the server: 1011": 1}
    lines = found["good"]["lines"]
    assert lines is not None
    assert lines["calls"] == 1


def test_a_call_that_the_rule_for_examiners_cannot_read_is_invalid_and_the_run_goes_on(tmp_path: Path) -> None:
    some = plan({"unread": "fake:?rule=unreadable", "good": "fake:?speak=30-80"})
    outcomes = held(tmp_path / "run", some, jobs=2, calls_per_process=1)
    assert {name: outcome["kind"] for name, outcome in outcomes.items()} == {"unread": "invalid", "good": "done"}
    reason = f"the rule for examiners could not be asked: {tmp_path / 'run' / 'unread' / EVENTS}: cannot be read"
    assert outcomes["unread"] == {"kind": "invalid", "side": None, "reason": reason}


def summary_of(path: Path, plan: RunPlan) -> RunSummary:
    with RunFolder(path, plan) as folder:
        list(score_calls(folder))
        return summarise(folder)


@pytest.mark.parametrize(
    ("amplitude", "vad", "reason"),
    [
        (5827, "silero", "audio to -15 dBFS, but no speech found by silero; --vad energy"),
        (100, "silero", "no speech found"),
        (0, "energy", "no speech found"),
    ],
)
def test_a_system_that_only_plays_tones_is_told_so(tmp_path: Path, amplitude: int, vad: str, reason: str) -> None:
    """A system of a full sine at 15.0 dB under full scale; its user is real speech."""
    user = endpoint(f"clip:{Path(__file__).parents[2] / 'benchmarks/sample/sample.flac'}?channel=left&tail_s=1")
    n = np.arange(FRAME_SAMPLES)
    tone = (amplitude * np.sin(2 * np.pi * 10 * n / FRAME_SAMPLES)).astype(np.int16)

    class Tones(Speaker):
        def say(self, tick: int) -> Pcm | None:
            return tone

    how = LiveSettings(vad=vad, max_s=10, realtime=False)
    call = converse(user, Tones([]), tmp_path / "call", how, {}, threading.Event())
    reason += "; the call was cut at --max-s 10"
    assert call.meta["outcome"] == {"kind": "failed", "side": "B", "reason": reason}


def test_what_may_pass_is_tried_again_and_recorded(tmp_path: Path) -> None:
    busy = [f"fake:?busy={tmp_path / name}:{times}" for name, times in (("twice", 2), ("always", 9))]
    died = f"fake:?die=40&once={tmp_path / 'died'}"
    outcomes = held(tmp_path / "run", plan({"twice": busy[0], "always": busy[1], "died": died}))
    assert {name: outcome["kind"] for name, outcome in outcomes.items()} == {
        "twice": "done",
        "always": "failed",
        "died": "done",
    }
    reasons = {name: [attempt["reason"] for attempt in meta(tmp_path / "run" / name)["attempts"]] for name in outcomes}
    assert reasons == {
        "twice": ["fake: busy"] * 2,
        "always": ["fake: busy"] * 2,
        "died": ["the process that held the call died: killed by SIGKILL"],
    }
    assert (tmp_path / "always").stat().st_size == 3


def calls_at_once(log: Path) -> tuple[int, int]:
    """The most parties that were open at once, and in how many processes, as their log has it."""
    now = most = 0
    lines = log.read_text().split("\n")[:-1]
    for line in lines:
        now += 1 if line.startswith("open") else -1
        most = max(most, now)
    assert now == 0
    return most, len({line.split()[1] for line in lines})


@pytest.mark.parametrize(("declared", "limits", "most"), [("&at_once=1", {}, 1), ("&at_once=1", {"x": 2}, 2)])
def test_a_server_holds_no_more_calls_than_it_can(
    tmp_path: Path, declared: str, limits: dict[str, int], most: int
) -> None:
    log = tmp_path / "log"
    system = f"fake:?log={log}&hang_s=0.2{declared}"
    held(tmp_path / "run", plan({"x": system}, (USER,) * 4, limits=limits), jobs=4, calls_per_process=2)
    assert calls_at_once(log)[0] == most


def test_several_calls_share_a_process_in_real_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch = Once(GO_ON)
    shared = plan({"x": f"fake:?log={log}"}, ("fake:?finish=60",) * 3, settings=REAL)
    outcomes = held(tmp_path / "run", shared, jobs=3, watch=watch)
    assert calls_at_once(log) == (3, 1)
    assert sorted(watch.names) == sorted(outcomes)
    timing = meta(tmp_path / "run" / "u0")["timing"]
    assert (timing["realtime"], timing["spin_ns"]) == (True, 0)


def test_a_run_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    log, run = tmp_path / "log", tmp_path / "run"
    same = plan({"x": f"fake:?log={log}"}, (USER,) * 3)
    watch = Once(FINISH)
    assert Counter(map(bool, held(run, same, watch=watch).values())) == {True: 1, False: 2}
    first = meta(run / watch.names[0])["created"]
    assert None not in held(run, same).values()
    assert log.read_text().count("open") == 3
    assert meta(run / watch.names[0])["created"] == first
    assert not (run / LOG).exists()


def test_ending_a_run_now_leaves_readable_recordings_to_be_held_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    endless = plan({"x": "fake"}, ("fake:?finish=9999",), settings=REAL)
    watch = Once(NOW, after_ticks=30)
    assert held(run, endless, watch=watch) == {"x": None}
    recording = Recording(run / "x")
    assert recording.meta["status"] == "interrupted"
    assert recording.n_ticks >= 30
    assert len(recording.activity[0]) == recording.n_ticks


@pytest.mark.parametrize("error", ["extra", "settings"])
def test_what_no_case_would_escape_ends_the_run_and_no_case(tmp_path: Path, error: str) -> None:
    broken = plan({"x": f"fake:?open_error={error}"}, (USER,) * 3)
    with RunFolder(tmp_path / "run", broken) as folder:
        with pytest.raises(FdbError, match="fake: "):
            hold_calls(folder)
        assert [folder.outcome(case) for case in broken.cases] == [None] * 3


def test_a_process_that_cannot_start_ends_the_run(tmp_path: Path) -> None:
    some = plan({"x": "fake:"}, (USER,) * 3)
    with RunFolder(tmp_path / "run", some) as folder:
        (tmp_path / "run" / LOG).mkdir()
        with pytest.raises(FdbError, match=r"could not start \(exit code 1\)"):
            hold_calls(folder, jobs=2, calls_per_process=1)
        assert [folder.outcome(case) for case in some.cases] == [None] * 3


def test_another_plan_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunFolder(run, plan({"x": "fake:?rate=1&key=hush"})):
        pass
    assert "hush" not in (run / RUN).read_text()
    with RunFolder(run, plan({"x": "fake:?rate=1&key=new"})):
        pass
    for other, difference in [
        (plan({"x": "fake:?rate=2&key=hush"}), r'another run \(systems x rate: "1" there, "2" here\): choose'),
        (plan({"y": "fake:?rate=1"}), r"another run \(systems x: only there; systems y: only here\): choose"),
        (plan({"x": "fake:?rate=1"}, trials=2), "trials: 1 there, 2 here"),
        (plan({"x": "fake:?rate=1"}, seed=5), "seed: 0 there, 5 here"),
        (plan({"x": "fake:?rate=1"}, (USER, USER)), "1 cases there, 2 here, such as u"),
    ]:
        with pytest.raises(SettingsError, match=difference), RunFolder(run, other):
            pass


def test_two_plans_of_many_systems_differ_in_one_short_line(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", plan({f"old{i}": "fake" for i in range(30)})):
        pass
    with (
        pytest.raises(SettingsError) as refused,
        RunFolder(tmp_path / "run", plan({f"new{i}": "fake" for i in range(30)})),
    ):
        pass
    assert len(str(refused.value)) - len(str(tmp_path)) < 250


def test_what_has_ended_is_held_again_where_that_is_asked_for_and_its_earlier_ends_are_kept(tmp_path: Path) -> None:
    run, busy = tmp_path / "run", tmp_path / "busy"
    some = plan({"good": "fake:?speak=30-80", "mute": "fake:?speak=0-0", "busy": f"fake:?busy={busy}:8"})
    before = held(run, some)
    created = {name: meta(run / name)["created"] for name in before}
    assert {name: outcome["kind"] for name, outcome in before.items()} == {
        "good": "done",
        "mute": "failed",
        "busy": "failed",
    }
    assert held(run, some) == before  # the busy one in vain: what may pass is tried anew whenever a run goes on
    with RunFolder(run, some) as folder:
        folder.hold_again("failed")
        assert [case.name for case in some.cases if folder.outcome(case) is not None] == ["good"]
    after = held(run, some)
    assert {name: outcome["kind"] for name, outcome in after.items()} == {
        "good": "done",
        "mute": "failed",
        "busy": "done",
    }
    assert {name for name, time in created.items() if meta(run / name)["created"] == time} == {"good"}
    assert [attempt.get("again", False) for attempt in meta(run / "busy")["attempts"]] == [
        *(False, False, True),
        *(False, False, True),
        *(False, False),
    ]
    assert summary_of(run, some)["systems"]["mute"]["cases"]["again"] == 1
    assert held(run, some) == after


def test_a_case_whose_state_was_torn_is_held_again(tmp_path: Path) -> None:
    some = plan({"x": "fake"}, (USER,) * 2)
    held(tmp_path / "run", some)
    (tmp_path / "run" / "u1" / META).write_text("")
    assert [call.status for call in Run(tmp_path / "run").calls if call.name == "u1"] == ["waiting"]
    assert [outcome["kind"] for outcome in held(tmp_path / "run", some).values()] == ["done", "done"]


def test_a_folder_with_something_else_or_with_another_process_is_refused(tmp_path: Path) -> None:
    some = plan({"x": "fake"})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(SettingsError, match="expected a new folder"), RunFolder(tmp_path / "mine", some):
        pass
    assert [item.name for item in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    with (
        RunFolder(tmp_path / "run", some),
        pytest.raises(RecordingError, match="another process"),
        RunFolder(tmp_path / "run", some, leaving_s=0),
    ):
        pass
    with (
        pytest.raises(RecordingError, match="cannot be written"),
        RunFolder(tmp_path / "mine" / "thesis.txt" / "r", some),
    ):
        pass


def test_the_wall_time_is_bounded_by_the_slots_the_servers_and_the_longest_case() -> None:
    users = [User(f"u{i}", "fake", length_s=1.5) for i in range(8)]

    def wall_s(slots: int, **limits: int) -> float:
        made = make_plan([PlannedSystem("x", "fake:?s=1")], users, LiveSettings(max_s=10.0), limits=limits)
        return expected_wall_s(made, made.cases, slots)

    assert wall_s(1) == pytest.approx(12)
    assert wall_s(4) == pytest.approx(3)
    assert wall_s(4, x=2) == pytest.approx(6)
    assert wall_s(100) == pytest.approx(1.5)


def test_two_sides_that_never_spoke_are_no_failure_of_the_system(tmp_path: Path) -> None:
    silent = plan({"x": "fake:?speak=0-0"}, ("fake:?speak=0-0&finish=60",))
    assert held(tmp_path / "run", silent)["x"] == {"kind": "invalid", "side": "A", "reason": "no speech found"}


class Awaited(Fake):
    """Waits to be joined until it is closed."""

    def __init__(self) -> None:
        super().__init__({})
        self.closed = threading.Event()

    def open(self, side: Side) -> None:
        self.waits = True
        self.closed.wait(60)
        raise PartyError("closed while it was being opened")

    def close(self) -> None:
        self.closed.set()


def test_who_waits_to_be_joined_says_so_and_a_stop_does_not_wait_for_it(tmp_path: Path) -> None:
    stop, party, seen = threading.Event(), Awaited(), list[int]()

    def progress(tick: int) -> None:
        seen.append(tick)
        if tick == WAITING:
            stop.set()

    with pytest.raises(KeyboardInterrupt):
        converse(endpoint("fake:"), party, tmp_path, REAL, {}, stop, progress)
    assert set(seen) == {OPENING, WAITING}
    assert party.closed.is_set()
    assert meta(tmp_path)["status"] == "interrupted"


def test_a_conversation_that_is_stopped_has_no_outcome(tmp_path: Path) -> None:
    stop, seen = threading.Event(), list[int]()

    def progress(tick: int) -> None:
        seen.append(tick)
        if tick == 40:
            stop.set()

    with pytest.raises(KeyboardInterrupt):
        converse(endpoint("fake"), endpoint("fake"), tmp_path / "c", FAST, {}, stop, progress)
    recording = Recording(tmp_path / "c")
    assert (recording.meta["status"], recording.n_ticks) == ("interrupted", 41)
    assert "outcome" not in recording.meta
    assert seen == [-1, *range(41), -2]
