"""What got worse in too few calls to move a median is found, and chance is not: by simulation, and on runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run

from fdbcore.analysis.comparison import ComparedCalls, compare
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.longer_moments import LongerMoments, longer_moments, read_moments
from fdbcore.analysis.matching import Matched, match
from fdbcore.measures.measure import MomentKind
from fdbcore.measures.moments import Moment
from fdbcore.types import TurnSettings

CALLS = 100
LIMIT_TICKS = 100  # of slow and missing answers, and of other long silences
Lengths: TypeAlias = Mapping[MomentKind, npt.NDArray[np.float64]]
"""Lengths of moments in ticks, (calls, moments); those below their limit are none."""


@dataclass(frozen=True)
class DrawnCall(Call):
    """A call with moments and no files."""

    found: Sequence[Moment] = ()

    @property
    def recording(self) -> Any:
        return SimpleNamespace(
            moments=self.found, moments_of_any_length=self.found, meta={"settings": {"turns": asdict(TurnSettings())}}
        )


def drawn_side(name: str, lengths: Lengths) -> CallGroup:
    n_calls = len(next(iter(lengths.values())))
    found = [
        [
            Moment(kind, "B", 0, int(t), 2.0, "", 0.0, t / 100)
            for kind, of in lengths.items()
            for t in of[k]
            if t > LIMIT_TICKS
        ]
        for k in range(n_calls)
    ]
    calls = [DrawnCall(f"call{k}", Path(f"/{name}/{k}"), found=each) for k, each in enumerate(found)]
    return CallGroup(name, calls, [{}] * n_calls)


def matched(a: Lengths, b: Lengths) -> Matched:
    return match("", drawn_side("a", a), drawn_side("b", b), None)


def unpaired(of: Matched) -> Matched:
    a, b = ([f"{group.name} {call.name}" for call in group.calls] for group in (of.a, of.b))
    return replace(of, paired_by=None, clusters_a=a, clusters_b=b)


def found_in(of: Matched) -> list[LongerMoments]:
    (found,) = longer_moments([of], read_moments([of]))
    return found


Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[np.float64]]


def usual_lengths(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return 80 * rng.lognormal(0, 0.4, shape)


def heavy_tails(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return 60 * (1 + rng.pareto(1.2, shape))


def many_ties(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return rng.integers(100, 104, shape).astype(np.float64)  # ticks of 10 ms


def slow_callers(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Both answers of a call are slow, or none: the moments of a call are alike."""
    return 90 * rng.lognormal(0, 0.6, (*shape[:-1], 1)) * rng.lognormal(0, 0.1, shape)


@pytest.mark.parametrize("draw", [usual_lengths, heavy_tails, many_ties, slow_callers])
@pytest.mark.parametrize("paired", [True, False])
def test_two_runs_of_one_system_rarely_differ(draw: Draw, paired: bool) -> None:
    """At most 5 % of pairs of runs, give or take: three standard errors of 60 trials are 8.4 points."""
    rng, found = np.random.default_rng(3), 0
    kinds: Sequence[MomentKind] = ("slow_answer", "no_answer", "lapse")
    for _ in range(60):
        a, b = ({kind: draw(rng, (40, 2)) for kind in kinds} for _ in "ab")
        found += bool(found_in(matched(a, b) if paired else unpaired(matched(a, b))))
    assert found <= 60 * 0.134


@pytest.mark.parametrize("draw", [usual_lengths, heavy_tails, many_ties, slow_callers])
def test_of_all_ways_to_exchange_the_runs_call_by_call_few_find_anything(draw: Draw) -> None:
    """The error rate is exact: of the 256 ways, chance takes each equally often."""
    rng = np.random.default_rng(4)
    of_a, of_b = draw(rng, (8, 3)), draw(rng, (8, 3))
    of_a[0] = 40.0  # no moment in this run, and a long one in the other
    of_b[0] = 900.0
    found = 0
    for ways in product([True, False], repeat=8):
        exchanged = np.array(ways)[:, None]
        a, b = np.where(exchanged, of_b, of_a), np.where(exchanged, of_a, of_b)
        found += bool(found_in(matched({"slow_answer": a, "lapse": a[::-1]}, {"slow_answer": b, "lapse": b[::-1]})))
    assert found <= 256 * 0.05


@pytest.mark.parametrize(("worse", "others"), [(6, ()), (8, ("no_answer", "lapse", "cut_off", "talk_over"))])
def test_of_200_calls_six_that_got_worse_are_found_or_eight_among_other_kinds(
    worse: int, others: Sequence[MomentKind]
) -> None:
    """In nine of ten trials or more."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(12):
        a: dict[MomentKind, npt.NDArray[np.float64]] = {}
        b: dict[MomentKind, npt.NDArray[np.float64]] = {}
        for kind in ("slow_answer", *others):
            a[kind], b[kind] = usual_lengths(rng, (200, 4)), usual_lengths(rng, (200, 4))
        a["slow_answer"][rng.choice(200, worse, replace=False), 2] += 400
        found += any(each["kind"] == "slow_answer" for each in found_in(matched(a, b)))
    assert found >= 11


def test_only_moments_that_are_longer_than_their_like_are_listed() -> None:
    before = np.full((12, 3), 50.0)
    before[:, 0] = 600.0  # each call had a long one, and has it still
    now = before.copy()
    now[:8, 1] = 500.0
    (found,) = found_in(matched({"slow_answer": now}, {"slow_answer": before}))
    assert (found["moments"], found["least_s"]) == (8, 4.0)
    assert (found["a"], found["b"]) == ({"clusters": 8, "of": 12}, {"clusters": 0, "of": 12})
    assert found["p"] == pytest.approx(2**-8)


def test_more_calls_on_one_side_are_no_worse_calls() -> None:
    """Of three calls of a caller the longest moment is longer than that of one."""
    lengths = usual_lengths(np.random.default_rng(6), (40, 4)) + 100
    group = drawn_side("a", {"slow_answer": np.concatenate([lengths] * 3)})
    a = replace(group, calls=[replace(call, columns={"caller": str(k % 40)}) for k, call in enumerate(group.calls)])
    b = replace(a, name="b", calls=[replace(call, path=Path(f"/b/{call.name}")) for call in a.calls[:40]])
    more = match("", a, b, "caller")
    assert more.paired_by == "caller"
    assert found_in(more) == []


def test_of_groups_without_an_order_either_may_be_the_worse_one() -> None:
    usual, late = np.full((20, 1), 50.0), np.full((20, 1), 50.0)
    late[:9] = 500.0
    of = matched({"slow_answer": usual}, {"slow_answer": late})
    assert found_in(of) == []
    (found,) = found_in(replace(of, is_later=False))
    assert (found["longer_in"], found["a"]["clusters"], found["b"]["clusters"]) == ("b", 0, 9)
    assert len(found["worst"]) == 9


def usual(number: int) -> Manner:
    return Manner(spread=0.1, turns=2)


def slow_in_ten(number: int) -> Manner:
    return Manner(0.8 if number % 10 else 3.0, spread=0.1, turns=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of 100 calls, a run like it, and one in which B takes 3 s for each answer in ten calls."""
    path = tmp_path_factory.mktemp("longer")
    for name, seed, manner in (("old", 1, usual), ("like", 4, usual), ("slow", 3, slow_in_ten)):
        made_run(path / name, drawn_calls(CALLS, seed, manner))
    return path


def compared(folder: Path, name: str) -> ComparedCalls:
    (found,) = compare(Run(folder / name), Run(folder / "old"))["comparisons"]
    return found


def test_a_few_slow_answers_are_found_although_the_median_stays(folder: Path) -> None:
    with_slow_calls = compared(folder, "slow")
    (answers,) = [row for row in with_slow_calls["measures"] if row["measure"] == "response_latency_ms"]
    assert answers["verdict"] == "no difference found"
    (slow,) = with_slow_calls["longer"]
    assert slow["kind"] == "slow_answer"
    assert slow["a"] == {"clusters": 10, "of": CALLS}
    assert slow["b"] == {"clusters": 0, "of": CALLS}
    assert {moment["call"] for moment in slow["worst"]} == {f"call{number:04}" for number in range(0, CALLS, 10)}


def test_moments_as_long_as_before_are_none_that_got_worse(folder: Path) -> None:
    assert compared(folder, "like")["longer"] == []


@pytest.mark.parametrize("paired", [True, False])
def test_eight_calls_that_got_worse_are_found_and_no_others(folder: Path, tmp_path: Path, paired: bool) -> None:
    worse = {f"call{number:04}" for number in range(8)}
    slower = drawn_calls(8, 7, lambda number: Manner(3.0, spread=0.1, turns=2))
    calls = [*slower, *drawn_calls(CALLS, 1, usual)[8:]]
    made_run(tmp_path / "new", calls if paired else [MadeCall(f"new-{call.name}", call.activity) for call in calls])
    (found,) = compare(Run(tmp_path / "new"), Run(folder / "old"))["comparisons"]
    assert (found["paired_by"] is not None) == paired
    (slow,) = found["longer"]
    assert {moment["call"].removeprefix("new-") for moment in slow["worst"]} == worse
    assert slow["b"]["clusters"] == 0
    assert slow["least_s"] == pytest.approx(1.9 if paired else 2.9, abs=0.4)


def test_what_got_worse_in_few_calls_of_each_group_is_listed_of_all(tmp_path: Path) -> None:
    """Three late answers a group are too few to tell from chance; twelve of all calls are not."""
    languages = ("de", "en", "fr", "ja")

    def made(name: str, late: bool) -> Run:
        drawn = [
            replace(call, columns={"language": languages[number % 4]})
            for number, call in enumerate(
                drawn_calls(120, 7, lambda number: Manner(latency_s=6.0 if late and number < 12 else 0.8, spread=0.1))
            )
        ]
        return Run(made_run(tmp_path / name, drawn))

    found = compare(made("this", True), made("last", False), by="language")
    (listed,) = [each for each in found["comparisons"] if each["longer"]]
    assert (listed["title"], listed["measures"]) == ("all calls", [])
    assert listed["longer"][0]["b" if listed["longer"][0]["longer_in"] == "b" else "a"]["clusters"] == 12
    assert {each["title"] for each in found["comparisons"] if each["measures"]} == {
        f"language = {name}" for name in languages
    }
