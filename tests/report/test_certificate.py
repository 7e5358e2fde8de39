"""How a conversation was held, as document, page and screen tell it; and that what failed has no numbers."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.browser import BROWSER, dump_dom
from fakes.conversations import Voice, hold, voices
from fakes.recordings import drawn_recording
from helpers.documents import document_of
from helpers.schema import validator
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import pooled_measures, score, unscored
from fdbcore.analysis.survey import survey
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META, read_json, write_json
from fdbcore.recording.writer import RecordingWriter
from fdbcore.report.call import certificate
from fdbcore.report.call.page import page, write_report
from fdbcore.report.call.screen import run_screen, screen
from fdbcore.report.glossary import LATENESS, SIDE_COUNTS
from fdbcore.runs.replays import replay

WIRE = {"n": 300, "min_us": 3.0, "p50_us": 61.5, "p99_us": 512.5, "p99_9_us": 901.0, "max_us": 1402.5}
DRAWING = "A 0-3 5-6 | B 3.4-3.8"


def text_of(recording: Reading) -> str:
    """The text of the page, without its scripts, in single spaces."""
    html = re.sub(r"<(script|style)\b.*?</\1>", "", page(recording, document_of(recording)), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def timing(**more: Any) -> dict[str, Any]:
    lateness = {"wake": {**WIRE, "n": 900}, "resume": {**WIRE, "n": 900}}
    return {"realtime": True, **lateness, "late": 0, "missed": 0, "suspends": [], "sides": {"A": {}, "B": {}}, **more}


def held_recording(path: Path, drawing: str = DRAWING, **meta: Any) -> Reading:
    """A drawn recording with the meta.json of a live one."""
    known = {"outcome": {"kind": "done", "side": None, "reason": None}, "timing": timing()}
    return drawn_recording(path, drawing, **{**known, **meta})


def append_events(recording: Reading, *events: dict[str, Any]) -> Reading:
    with open(recording.path / "events.jsonl", "a") as lines:
        lines.writelines(json.dumps(event) + "\n" for event in events)
    return Reading(recording.path)


def missed(*ticks: int) -> list[dict[str, Any]]:
    return [{"tick": tick, "side": None, "kind": "missed"} for tick in ticks]


# --- the document


def test_the_document_of_a_conversation_and_of_its_replay_keep_to_the_schema(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", *voices())
    replayed = replay(held.path, out=tmp_path / "again")
    one, other = json.loads(json.dumps([document_of(held), document_of(replayed)]))
    for written in (one, other):
        validator("replay").validate(written)
    assert other["held"].pop("replay_of") == {"path": "../../case", "same": True, "differences": []}
    assert one["held"].pop("replay_of") is None
    assert one["held"] == other["held"]
    assert one["events"] == other["events"]
    assert one["measures"] == other["measures"]
    assert document_of(drawn_recording(tmp_path / "files", DRAWING))["held"] is None


@given(ticks=st.sets(st.integers(0, 300)))
def test_missed_ticks_are_told_as_spans(tmp_path_factory: pytest.TempPathFactory, ticks: set[int]) -> None:
    recording = append_events(held_recording(tmp_path_factory.mktemp("run") / "x", "A 0-0.1 |"), *missed(*ticks))
    told = document_of(recording)["held"]["missed"]
    assert {tick for start, end in told for tick in range(start, end)} == ticks
    assert all(start > end for (_, end), (start, _) in pairwise(told))


def test_arrivals_are_told_by_their_spacing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    at_us = np.cumsum(rng.integers(1_000, 40_000, 500))
    lists = {"at_us": at_us.tolist(), "start_sample": list(range(0, 480_000, 960)), "samples": [960] * 500}
    parts = [
        {"tick": 0, "side": "B", "kind": "arrivals"} | {name: values[part] for name, values in lists.items()}
        for part in (slice(0, 200), slice(200, 500))
    ]
    recording = append_events(held_recording(tmp_path / "x"), *parts)
    told = document_of(recording)["held"]["arrivals"]
    assert told["A"] is None
    assert told["B"]["n"] == 500
    assert told["B"]["length_ms"] == 20.0
    spacing_ms = np.diff(at_us) / 1000
    assert [told["B"][f"{name}_ms"] for name in ("p50", "p99", "max")] == pytest.approx(
        [np.median(spacing_ms), np.quantile(spacing_ms, 0.99), spacing_ms.max()]
    )
    assert "500 of 20 ms" in text_of(recording)


@pytest.mark.parametrize(("lag_steps", "stated"), [(0, 0), (1, 1), (2, 2), (0, None), (0, 1)])
def test_steps_are_answered_from_when_they_have_left(tmp_path: Path, lag_steps: int, stated: int | None) -> None:
    """Answers of 80 ms, in two pieces; a step whose last tick is missed leaves in the next one that is not."""
    rng, gone = np.random.default_rng(0), {23, 24, 79, 100}
    late_us, n = rng.integers(1_000, 60_000, 110), 110 - lag_steps
    sent = [next(tick for tick in range(8 * step + 7, 900) if tick not in gone) for step in range(110)]
    came_us = [10_000 * sent[step] + late_us[step] for step in range(lag_steps, 110)]
    at_us = sorted([at - 500 for at in came_us] + came_us)
    assert len(at_us) == 2 * n
    arrived = {"at_us": [*map(int, at_us)], "start_sample": [1920 * i for i in range(2 * n)], "samples": [1920] * 2 * n}
    measured = {"step_ms": 80, "lag_steps": stated, "wire": {**WIRE, "p50_us": 400.0}}
    recording = held_recording(tmp_path / "x", timing=timing(sides={"A": {}, "B": measured}))
    recording = append_events(recording, {"tick": 899, "side": "B", "kind": "arrivals", **arrived}, *missed(*gone))
    document = document_of(recording)
    validator("replay").validate(json.loads(json.dumps(document)))
    told = document["held"]["arrivals"]["B"]
    if (stated or 0) > lag_steps:
        assert "steps" not in told, "answers that come before their steps"
        return
    late_ms = (late_us[lag_steps:] - 400) / 1000
    p50, p99 = np.median(late_ms), np.quantile(late_ms, 0.99)
    assert told["steps"] == {"n": n, "step_ms": 80, "p50_ms": pytest.approx(p50), "p99_ms": pytest.approx(p99)}
    text = f"B answers each step {p50:.1f} ms after it (p99 {p99:.1f}) of 80"
    assert text in text_of(recording)
    assert text in " ".join(screen(recording, document).split())


# --- the verdict


@pytest.mark.parametrize(
    ("measured", "ticks", "expected"),
    [
        ({}, [], "on time: none of 900 ticks missed"),
        ({"late": 3}, [], "on time: none of 900 ticks missed; 3 late by at most 50 ms and made up"),
        ({"missed": 9}, range(9), "9 of 900 ticks missed (1 %)"),
        ({"missed": 2}, [], "on time: none of 900 ticks missed; 2 later than that, but not missed"),
        (
            {"suspends": [{"tick": 3, "ms": 900.0}]},
            [],
            "on time: none of 900 ticks missed; the machine was suspended 1",
        ),
        ({"realtime": False}, [], "on a virtual clock"),
    ],
)
def test_the_verdict_in_a_line(tmp_path: Path, measured: dict[str, Any], ticks: range, expected: str) -> None:
    recording = held_recording(tmp_path / "x", timing=timing(**measured))
    recording = append_events(recording, *missed(*ticks))
    assert certificate.verdict(document_of(recording)).startswith(expected)
    assert expected in screen(recording, document_of(recording)).replace("\n                 ", " ")
    assert expected.capitalize() in text_of(recording)


def test_what_each_side_measured_is_in_the_table_and_its_disturbances_on_the_screen(tmp_path: Path) -> None:
    a = {"heard_samples": 480_000, "padded_samples": 0, "wire": WIRE}
    b = {
        "padded_samples": 960,
        "lost": 3,
        "own_delay": {"look_ahead_ms": 2.5},
        "<odd>": "<b>",
        "delay_changes": [
            {"tick": 0, "why": "anchor", "delay_samples": 960},
            {"tick": 250, "why": "slip", "delay_samples": 1440},
        ],
    }
    recording = held_recording(tmp_path / "x", timing=timing(sides={"A": a, "B": b}))
    text = text_of(recording)
    assert f"wire A {LATENESS['wire']} 300 61.5 512.5 901.0 1,402.5" in text
    assert f"Padded {SIDE_COUNTS['padded_samples'].meaning} 0 ms 20 ms" in text
    assert "own delay look ahead ms 2.5" in text
    assert "&lt;odd&gt; &lt;b&gt;" in text
    assert "0:00 B anchor 20 ms 0:02 B slip 30 ms" in text
    shown = " ".join(screen(recording, document_of(recording)).split())
    assert "timing on time: none of 900 ticks missed | B: 20 ms padded, 3 packets lost, 1 delay change" in shown


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_draws_missed_ticks_and_delay_changes_and_nothing_of_what_never_began(tmp_path: Path) -> None:
    changes = [{"tick": tick, "why": "slip", "delay_samples": 1440} for tick in (250, 300)]
    recording = held_recording(tmp_path / "x", timing=timing(sides={"A": {}, "B": {"delay_changes": changes}}))
    recording = append_events(recording, *missed(400, 401))
    html = dump_dom(write_report(recording, document_of(recording)).as_uri(), tmp_path)
    assert 'data-drawn="yes"' in html
    diamonds = re.findall(r'd="M([\d.]+),0L0,\1L-\1,0L0,-\1Z"', html)
    assert len(diamonds) == len(changes)
    assert re.search(r'id="legend-missed">', html)
    never = hold(tmp_path / "never", Voice([], 1), Voice([], 2))
    assert 'data-drawn="yes"' in dump_dom(write_report(never, document_of(never)).as_uri(), tmp_path)


# --- what cannot be scored


INVALID, REASON = {"kind": "invalid", "side": None, "reason": "too slow"}, "invalid: too slow"
FAILED = {"kind": "failed", "side": "B", "reason": "closed early"}


def test_what_is_invalid_has_no_numbers(tmp_path: Path) -> None:
    reason = REASON
    recording = held_recording(tmp_path / "x", outcome=INVALID)
    told = document_of(recording)
    validator("replay").validate(json.loads(json.dumps(told)))
    assert unscored(recording) == told["unscored"] == reason
    assert (told["measures"], told["moments"], told["curves"]["response"]["eligible"]) == ({}, [], 0)
    text = text_of(recording)
    assert f"This call is in no figure. {reason[0].upper()}{reason[1:]}." in text
    assert not re.search(r"B answered|All measures|Listen to these first", text)
    assert f"not scored          {reason}" in screen(recording, told)


def test_a_conversation_that_never_began_has_a_report(tmp_path: Path) -> None:
    recording = hold(tmp_path / "x", Voice([], 1), Voice([], 2))
    assert recording.n_ticks == 0
    html = write_report(recording, document_of(recording)).read_text()
    assert "This call is in no figure. Invalid: " in html
    assert re.search(r'<section [^>]*id="timeline-section" hidden>', html)
    with RecordingWriter(tmp_path / "y", {"settings": recording.meta["settings"]}, keep_audio=True):
        pass
    assert unscored(Reading(tmp_path / "y")) == "nothing was recorded"


def test_a_run_pools_all_but_what_is_invalid(tmp_path: Path) -> None:
    invalid = held_recording(tmp_path / "invalid", outcome=INVALID)
    done = held_recording(tmp_path / "done")
    failed = held_recording(tmp_path / "failed", outcome=FAILED)
    for recording in (invalid, done, failed):
        score(recording)
    pooled = pooled_measures([invalid, done, failed])
    assert unscored(invalid) == REASON
    assert pooled == pooled_measures([done, failed])
    assert pooled["answered_per_turn"]["n"] == 2 * pooled_measures([done])["answered_per_turn"]["n"]
    lines = run_screen(survey(Run(tmp_path))).splitlines()
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in lines}
    assert rows.keys() >= {"done", "failed"}
    assert "invalid" not in rows
    assert rows["all"][1].startswith("2/2 ")


def test_a_system_that_never_spoke_counts_in_the_replay_as_well(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", voices()[0], voices("A 0-0.1 |")[1])
    assert held.meta["outcome"]["reason"] == "no speech found"
    again = replay(held.path, out=tmp_path / "again")
    assert unscored(again) is None
    assert "no speech found" in text_of(again)


def test_a_replay_of_what_was_cut_off_warns(tmp_path: Path) -> None:
    held = hold(tmp_path / "case", *voices())
    meta = read_json(held.path / META)
    for known in ("n_ticks", "outcome", "timing"):
        del meta[known]
    write_json(held.path / META, meta | {"status": "running"})
    (held.path / "derived" / "turns.json").unlink()
    replayed = replay(held.path, out=tmp_path / "again")
    assert replayed.turn_events
    text = text_of(replayed)
    assert "The recording was cut off while the conversation went on." in text
    assert "Replayed: of a recording that was cut off: 5.40 s of it exist." in text
