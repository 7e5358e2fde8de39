"""Replies of the judge of Full-Duplex-Bench-v2: how they are read, and scored as the benchmark's own scripts do."""

import csv
import json
import shutil
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command, printed
from helpers.score_rows import rows, value
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.stats.bootstrap import Floats
from fdbcore.suites.staged.document import published, published_rows
from fdbcore.suites.staged.replies import (
    EVENTS,
    TASK,
    JudgedEvent,
    JudgeReply,
    dialogue_scores,
    early_means,
    read_reply,
)

FENCE = "```"
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "fdb_v2" / "judge_reply_Daily.ordering.001.json"


def events(text: str) -> list[tuple[float, float, float | None, float | None]]:
    return [
        (event.start_s, event.end_s, event.turn_taking, event.instruction_following)
        for event in read_reply(text).events
    ]


def in_json(items: object, task: object = 3) -> str:
    return json.dumps({EVENTS: items, TASK: task})


def as_asked(items: str, task: str = "3") -> str:
    """A reply in the form that the judge is asked for, which is no JSON."""
    return f'{{\n  "{EVENTS}": [\n{items}\n  ],\n  "{TASK}": {task}\n}}'


ONE = [(1.5, 4.0, 4, 5)]


@pytest.mark.parametrize(
    "text",
    [
        in_json([[[1.5, 4.0], 4, 5]]),
        in_json([[[1.5, 4.0], "4", 5.9]]),
        in_json([[1.5, 4.0, 4, 5]]),
        in_json([[{"start_time": 1.5, "end_time": 4.0}, 4, 5]]),
        in_json([[["0:01.5", "0:04"], 4, 5]]),
        in_json([[[1.5, 4.0], 4, 5], [[6, 7], 4], "none", 3]),
        as_asked("[1.5, 4.0]: 4, 5"),
        as_asked("    [1.5, 4.0]: 4, 5,\n"),
        as_asked("[1.5, 4.0]: '4', 5.9,"),
        as_asked("{1.5, 4.0}: 4, 5"),
        as_asked('{"end_time": 4.0, "start_time": 1.5}: 4, 5'),
        as_asked('["0:01.5", "0:04"]: 4, 5'),
        as_asked("[[1.5, 4.0], 4, 5],"),
        as_asked("[{1.5, 4.0}, 4, 5]"),
        f"I looked at the times.\n{FENCE}json\n{as_asked('[1.5, 4.0]: 4, 5')}\n{FENCE}\nDone.",
        f"Well:\n{in_json([[[1.5, 4.0], 4, 5]])}\nDone.",
    ],
)
def test_one_event_in_the_forms_that_judges_write(text: str) -> None:
    assert events(text) == ONE
    assert read_reply(text).task == 3


@pytest.mark.parametrize("form", [in_json, lambda items: as_asked(json.dumps(items)[1:-1])])
def test_an_item_with_several_intervals_is_several_events(form: object) -> None:
    assert callable(form)
    for item in ([[1, 2], [3, 4], 5, 2], [[[1, 2], [3, 4]], 5, 2]):
        assert events(form([item])) == [(1, 2, 5, 2), (3, 4, 5, 2)]


def test_several_intervals_before_a_colon_are_several_events() -> None:
    expected = [(1, 2, 5, 2), (3, 4, 5, 2), (5, 6, 5, 2), (7, 8, 1, 1)]
    assert events(as_asked("[[1, 2], [3, 4], [5, 6]]: 5, 2, [7, 8]: 1, 1")) == expected
    assert events(as_asked("[1, 2], [3, 4], [5, 6]: 5, 2,\n[7, 8]: 1, 1")) == expected


@pytest.mark.parametrize(
    "text", [in_json([[[1, 2], None, 4], [[3, 4], 2, "good"]]), as_asked("[1,2]: null, 4, [3,4]: 2")]
)
def test_scores_that_are_no_number_are_missing(text: str) -> None:
    assert events(text) == [(1, 2, None, 4), (3, 4, 2, None)]
    assert all(event.scores is None for event in read_reply(text).events)
    assert dialogue_scores("Daily", "Daily.x.001", [read_reply(text)]).n_events == 0


def test_fenced_blocks_are_joined_and_the_last_task_score_wins() -> None:
    first, second = in_json([[[1, 2], 1, 2]], task=5), as_asked("[3, 4]: 3, 4", "2")
    other = json.dumps({"note": "no events"})
    text = "\n".join(f"{FENCE}json\n{block}\n{FENCE}" for block in (first, other, second, in_json([], task=None)))
    reply = read_reply(text)
    assert [event.start_s for event in reply.events] == [1, 3]
    assert (reply.task, reply.beyond_reference) == (2, 0)


@pytest.mark.parametrize(
    ("text", "task"),
    [
        (in_json([], 4.5), 4.5),
        (in_json([], "4"), None),
        (as_asked("[1, 2]: 3, 4", '"4.5"'), 4),
        (as_asked("[1, 2]: 3, 4", "null"), None),
        ("I cannot judge this.", None),
        (as_asked("[1, 2]: 3, 4").partition("]: 3")[0], None),
    ],
)
def test_task_scores_as_the_scripts_take_them(text: str, task: float | None) -> None:
    assert read_reply(text).task == task


@pytest.mark.parametrize("odd", ["45", "0", "true", "NaN", "Infinity", "1e999", '"good"', "[3]", "9" * 400])
def test_marks_that_are_none_are_left_out_and_counted(odd: str, tmp_path: Path) -> None:
    reply = read_reply(in_json([[[1.5, 4.0], 4, 5]]).replace(" 4, 5", f" {odd}, 5").replace(": 3", f": {odd}"))
    assert (reply.task, reply.left_out) == (None, 2)
    (tmp_path / "Safety").mkdir()
    for task, mark in (("001", "4"), ("002", odd)):
        text = in_json([[[1.5, 4.0], 4, 5]]).replace(" 4, 5", f" {mark}, 5")
        (tmp_path / "Safety" / f"Safety.x.{task}.json").write_text(text)
    found = printed("score", "--suite", "staged", tmp_path, "--out", f"{tmp_path}-S", code=1)
    assert value(found["rows"][0], "turn_taking") == 4
    assert [each["reason"] for each in found["problems"]] == ["left out: 1 score not from 1 to 5"]
    assert found["problems"][0]["where"].endswith("Safety.x.002.json")


@pytest.mark.parametrize("text", [f'"{EVENTS}": [' + "[" * 3000, f'{{"{EVENTS}": {"[" * 3000}{"]" * 3000}}}'])
def test_a_reply_that_is_too_deep_has_no_events(text: str) -> None:
    assert read_reply(text) == JudgeReply([], None)


@given(st.text(alphabet="[]{}\",:0159.'\n eE-+`nul", max_size=60), st.booleans())
def test_any_text_is_read_without_an_error(text: str, inside: bool) -> None:
    for event in read_reply(as_asked(text) if inside else text).events:
        assert event.turn_taking is None or isinstance(event.turn_taking, int)


SCORES = st.none() | st.integers(1, 5)
TIMES = st.floats(0, 130).map(lambda time_s: round(time_s, 2))
EVENT_LISTS = st.lists(st.tuples(TIMES, TIMES, SCORES, SCORES), max_size=8)


@given(EVENT_LISTS)
def test_both_forms_give_the_same_events(items: list[tuple[float, float, int | None, int | None]]) -> None:
    strict = in_json([[[start, end], first, second] for start, end, first, second in items])
    loose = as_asked(
        ",\n".join(
            f"[{start}, {end}]: {json.dumps(first)}, {json.dumps(second)}" for start, end, first, second in items
        )
    )
    assert events(strict) == events(loose) == items
    assert read_reply(strict).beyond_reference == 0
    assert read_reply(loose).beyond_reference == 0


@given(EVENT_LISTS)
def test_bins_and_means_are_those_of_a_walk_in_hundredths_of_a_second(
    items: list[tuple[float, float, int | None, int | None]],
) -> None:
    scored = [(round(100 * a), round(100 * b), x, y) for a, b, x, y in items if x is not None and y is not None]
    scores = dialogue_scores("Daily", "Daily.x.001", [JudgeReply([JudgedEvent(*item) for item in items], None)])
    assert (scores.n_events, scores.n_timed) == (len(scored), sum(b > a for a, b, *_ in scored))
    if scored:
        assert scores.means == pytest.approx((fmean(x for *_, x, _ in scored), fmean(y for *_, y in scored)))
    for number, means in enumerate(scores.bins.tolist()):
        walked = [
            (x, y)
            for a, b, x, y in scored
            for hundredth in range(max(a, 1500 * number), min(b, 1500 * (number + 1)))
            if a <= hundredth < b
        ]
        expected = (fmean(x for x, _ in walked), fmean(y for _, y in walked)) if walked else (nan, nan)
        assert means == pytest.approx(expected, nan_ok=True)


def binned(*events: JudgedEvent) -> Floats:
    return dialogue_scores("Daily", "Daily.x.001", [JudgeReply(events, None)]).bins


def test_an_event_over_two_bins_counts_in_both() -> None:
    bins = binned(JudgedEvent(10, 20, 4, 2), JudgedEvent(20, 20, 1, 1), JudgedEvent(25, 20, 1, 1))
    assert bins == pytest.approx(np.array([(4, 2), (4, 2), *[(nan, nan)] * 6]), nan_ok=True)
    weighted = binned(JudgedEvent(0, 10, 5, 1), JudgedEvent(10, 15, 2, 4))
    assert weighted[0] == pytest.approx((4.0, 2.0))


def test_the_mean_up_to_75_s_is_over_the_bins_that_have_a_score() -> None:
    bins = binned(JudgedEvent(0, 15, 5, 1), JudgedEvent(60, 70, 2, 4), JudgedEvent(80, 110, 1, 1))
    assert early_means(bins) == pytest.approx({"turn_taking_75_s": 3.5, "instruction_following_75_s": 2.5})


@pytest.mark.parametrize(("system", "expected"), [("GPT-Realtime", 4.32), ("Moshi", 3.10), ("Freeze-Omni", 3.10)])
def test_the_published_task_scores_have_the_means_that_the_paper_quotes(system: str, expected: float) -> None:
    (row,) = (
        each for each in published_rows(published())
        if (each.system, each.condition, each.subset) == (system, "published fast", "")
    )  # fmt: skip
    assert round(row.measures["task_score"].value or 0, 2) == expected


def test_the_published_tables_say_what_they_are() -> None:
    shipped = published()
    assert shipped.label == "published, not measured here"
    assert [len(table.line) for table in shipped.table] == [6, 6, 6]
    assert {len(line.scores) for table in shipped.table[1:] for line in table.line} == {4}
    assert all(table.source for table in shipped.table)
    assert all(abs(line.alpha - line.r) < 0.01 for line in shipped.agreement.line)


def scored(folder: Path, out: Path, *arguments: str, code: int | None = None) -> Result:
    return command("score", "--suite", "staged", folder, "--out", out, *arguments, code=code)


def means(document: dict[str, Any], system: str) -> dict[str, list[float | None]]:
    """Turn-taking and instruction following, in full and to 75 s, and the task score; of families, and their mean."""
    names = ("turn_taking", "instruction_following", "turn_taking_75_s", "instruction_following_75_s", "task_score")
    own = [*rows(document, subset=None), *rows(document, "overall", "mean of families")]
    return {
        row["subset"] or "all": [None if (mean := value(row, name)) is None else round(mean, 2) for name in names]
        for row in own
        if row["system"] == system
    }


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_folder_of_replies_is_scored_and_written_in_the_form_of_the_scripts(tmp_path: Path) -> None:
    folder, out = tmp_path / "eval_results", tmp_path / "scores"
    write(folder / "Daily" / "Daily.ordering.001.json", in_json([[[10, 20], 4, 2]], task=1))
    write(folder / "Daily" / "Daily.ordering.001_processed.json", in_json([], task=1))
    write(folder / "Daily" / "Daily.ordering.002_processed.json", in_json([[[0, 6], 4, 5], [[0, 3], 3, 3]], None))
    write(folder / "Safety" / "Safety.privacy.001.json", as_asked("[0, 6]: 2, 3,\n[0, 1]: null, 1", "4"))
    write(folder / "Safety" / "A.json", json.dumps({"text": "", "chunks": []}))
    result = scored(folder, out, "--published", code=0)
    assert "examiner of unknown pacing: Full-Duplex-Bench v2" in result.stdout
    assert "published, not measured here" in result.stdout
    document = json.loads((out / "scores.json").read_text())
    found = means(document, "eval_results")
    assert found["daily"] == [3.75, 3.00, 3.83, 3.17, None]
    assert found["safety"] == [2.00, 3.00, 2.00, 3.00, 4.00]
    assert found["mean of families"][:4] == [2.88, 3.00, 2.92, 3.08]
    assert found["all"][4] == 4.00
    assert document["settings"]["judge"] == "replies of the judge of Full-Duplex-Bench v2"
    assert document["passes"] == [], "nobody knows what goals were met"
    assert not any("scripts" in warning for warning in document["warnings"]), "they read `[0, 6]: 2, 3`, too"
    (head, first, second, third) = csv.reader((out / "judge_summary.csv").read_text().splitlines())
    assert head[:4] == ["setup", "subtask", "n_files", "n_events"]
    assert first == ["Daily", "Daily.ordering.001", "1", "1", "4.0", "2.0", "1.0"]
    assert second == ["Daily", "Daily.ordering.002", "0", "2", "3.5", "4.0", ""]
    assert third == ["Safety", "Safety.privacy.001", "1", "1", "2.0", "3.0", "4.0"]
    (head, first, second, _) = csv.reader((out / "judge_summary_binned.csv").read_text().splitlines())
    assert (head[4:6], head[-1], len(head)) == (["TT[0-15]", "IF[0-15]"], "IF[105-120]", 20)
    assert first[2:] == ["1", "1", "4.0", "2.0", "4.0", "2.0", *[""] * 12]
    assert second[2:6] == ["0", "2", "3.667", "4.333"]


@pytest.mark.parametrize(
    ("text", "beyond"),
    [
        (as_asked("[1, 2]: 3, 4, [3, 4]: 1, 2"), 0),
        (as_asked("[[1, 2], [3, 4]]: 3, 4"), 0),
        (as_asked('["0:01", "0:02"] : 3, 4, ...'), 0),
        (as_asked("[1, 2]: null, 4"), 0),
        (as_asked("[1, 2]: [3, 4], [3, 4]: [1, 2]") + in_json([]), 0),
        (as_asked("[1, 2], [3, 4]: 3, 4"), 1),
        (as_asked("[[1, 2]: 3, 4], [[3, 4]: 1, 2]"), 2),
        (as_asked("[[1, 2], 3, 4], [3, 4]: 1, 2"), 1),
        (as_asked("{1, 2}: 3, 4"), 1),
        (as_asked("[1, 2] 3, 4"), 1),
        (as_asked("['0:01', '0:02']: 3, 4"), 1),
        (str({EVENTS: [[[1, 2], 3, 4]], TASK: 2}), 1),
        (in_json([[[1, 2], 3, 4]])[:-1] + ",}", 1),
        (f"Well:\n{in_json([[[1, 2], 3, 4]])}", 1),
    ],
)
def test_what_the_scripts_do_not_find_is_counted_and_nothing_else(text: str, beyond: int, tmp_path: Path) -> None:
    """By what their parser does with these replies (`make reference`)."""
    assert read_reply(text).beyond_reference == beyond
    write(tmp_path / "Safety" / "Safety.001.json", text)
    warnings = json.loads(scored(tmp_path, tmp_path / "out", "--json").stdout)["warnings"]
    assert sum("in which the benchmark's own scripts do not find" in warning for warning in warnings) == bool(beyond)


def test_experiments_are_not_mixed(tmp_path: Path) -> None:
    for system, score in (("moshi", 2), ("echo", 4)):
        write(tmp_path / system / "Safety" / "Safety.001.json", in_json([[[0, 6], score, score]], score))
    document = json.loads(scored(tmp_path, tmp_path / "scores", "--json").stdout)
    assert {name: means(document, name)["all"][0] for name in ("moshi", "echo")} == {"moshi": 2.0, "echo": 4.0}


def test_files_that_are_no_replies_are_named(tmp_path: Path) -> None:
    write(tmp_path / "Safety" / "Safety.001.json", in_json([[[0, 6], 4, 4]]))
    write(tmp_path / "Safety" / "Safety.002.json", "I cannot help with that.")
    result = scored(tmp_path, tmp_path / "out", code=1)
    reason = "expected a reply of a judge with events, got one without"
    assert reason in json.loads((tmp_path / "out" / "scores.json").read_text())["problems"][0]["reason"]
    shutil.rmtree(tmp_path / "out")
    for option in (["--transcriber", "self-reported"], ["--transcriber", "self-reported", "--judge", "openai:m"]):
        assert "expected runs, got replies of a judge" in scored(tmp_path, tmp_path / "out", *option).stderr
    (tmp_path / "Safety" / "Safety.001.json").unlink()
    result = scored(tmp_path, tmp_path / "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected replies of a judge, such as Daily/Daily.ordering.001.json, found none" in result.stderr


@pytest.mark.skipif(not REAL.is_file(), reason="the example of Full-Duplex-Bench v2 is not there")
def test_a_real_reply_is_read() -> None:
    content = json.loads(REAL.read_text())
    reply = read_reply(REAL.read_text())
    assert [[[each.start_s, each.end_s], each.turn_taking, each.instruction_following] for each in reply.events] == (
        content[EVENTS]
    )
    assert reply.task == content[TASK]
