"""The smoke set of Full-Duplex-Bench v3 that ships: its texts can be answered, and its recordings are what it says."""

import asyncio
import json
import re
from collections import Counter
from contextlib import closing
from importlib.metadata import version
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from helpers.commands import done
from jsonschema import Draft202012Validator
from msgspec import to_builtins

from benchmarks.smoke_set import room_tone, smoke_file, smoke_items, spoken_item
from fdbcore.registry import world
from fdbcore.runtime.json_values import resolved
from fdbcore.sources.clips import read_clip
from fdbcore.suites.fdb_v3.compat import AsrWord, user_end_s
from fdbcore.suites.fdb_v3.scenarios import FOLDER, SMOKE, Difficulty, Disfluency, Domain
from fdbcore.suites.fdb_v3.world import FunctionCall, outcome, state_differences
from fdbcore.suites.schemas import schema
from fdbcore.types import TICKS_PER_S

FILE = json.loads(SMOKE.read_text(encoding="utf-8"))
RECORDS: list[dict[str, Any]] = FILE["record"]
ITEMS = {item.text.id: item for item in smoke_items()}
QUICK = ("travel_01", "shop_04", "finance_09")
MADE_BY = "0.2.4"
by_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
same_voices = pytest.mark.skipif(
    version("espeakng-loader") != MADE_BY, reason=f"the set was spoken by espeakng-loader {MADE_BY}"
)


def audio(record: dict[str, Any]) -> npt.NDArray[np.int16]:
    """The recording at 16 kHz, decoded by FFmpeg."""
    import av

    with av.open(str(FOLDER / record["audio"]["path"])) as container:
        assert container.streams.audio[0].rate == 16_000
        return np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)]).astype(np.int16)


def test_the_set_is_valid_and_says_that_it_is_synthetic() -> None:
    Draft202012Validator(schema("fdb_v3/scenarios")).validate(FILE)
    result = done("scenarios", "validate", SMOKE)
    assert "40 recordings of 40 scenarios by 8 speakers, synthetic" in result.stdout
    assert "guideline: docs/fdb_v3.md#the-five-disfluencies" in result.stdout
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 8_000_000


def test_each_domain_has_all_disfluencies_and_numbers_of_calls() -> None:
    for domain in get_args(Domain):
        mine = [record for record in RECORDS if record["domain"] == domain]
        assert Counter(kind for record in mine for kind in record["disfluencies"]) == dict.fromkeys(
            get_args(Disfluency), 2
        )
        assert Counter(min(len(record["as_released"]), 3) for record in mine) == {1: 5, 2: 3, 3: 2}
        assert {record["difficulty"] for record in mine} == set(get_args(Difficulty))
        assert any("$RESULT_" in json.dumps(record["as_released"]) for record in mine), "chained by results"
        assert any(record.get("rollback_test") for record in mine)
    lengths_s = [
        (span["end_tick"] - span["start_tick"]) / TICKS_PER_S
        for record in RECORDS for span in record["spans"] if span["kind"] == "PAUSE"
    ]  # fmt: skip
    assert min(lengths_s) == 0.5
    assert max(lengths_s) == 3.0


@by_record
def test_the_world_answers_what_is_expected(record: dict[str, Any]) -> None:
    async def made() -> list[Any]:
        results: list[Any] = []
        for call in record["as_released"]:
            args = resolved(call["args"], results)
            assert "$" not in json.dumps(args), "a reference that refers to nothing"
            Draft202012Validator(dict(tools[call["function"]].parameters)).validate(args)
            results.append(await services.do(call["function"], args))
        return results

    with closing(world("fdb-v3:")) as services:
        services.open()
        tools = {tool.name: tool for tool in services.tools}
        results = asyncio.run(made())
        state: Any = services.state()
    calls = [FunctionCall(each["function"], each["args"]) for each in record["repaired"]]
    assert state_differences(outcome(calls).state, state) == []
    known = {str(number).removesuffix(".0") for number in re.findall(r"\d+(?:\.\d+)?", json.dumps([results, record]))}
    assert set(re.findall(r"\d+", record["reply"])) <= known | set(re.findall(r"\d+", " ".join(known)))


@by_record
def test_what_is_expected_is_said(record: dict[str, Any]) -> None:
    """Each text that a label expects is in the user's words; numbers are said in words."""
    said = re.sub(r"[^\w ]", "", record["script"]).lower()
    for call in record["as_released"]:
        for name, value in call["args"].items():
            if isinstance(value, str) and value.isalpha() and name not in ("from_currency", "to_currency", "mode"):
                assert value.lower() in said
    rollback = record.get("rollback")
    assert (rollback is not None) == ("SELF_CORRECTION" in record["disfluencies"])
    if rollback:
        assert (
            rollback["corrected"].items()
            <= {name: value for call in record["as_released"] for name, value in call["args"].items()}.items()
        )
    assert " ".join(word["text"] for word in record["words"]) == record["script"]


@by_record
def test_edges_lie_where_the_audio_has_them(record: dict[str, Any]) -> None:
    pcm, _ = read_clip(FOLDER / record["audio"]["path"])
    ticks = pcm[: len(pcm) // 480 * 480].reshape(-1, 480).astype(np.float64)
    levels = np.sqrt(np.mean(ticks**2, axis=1))
    speaks = levels > 4 * np.median(levels[:40])
    heard = np.flatnonzero(speaks)
    assert abs(heard[0] - record["words"][0]["start_tick"]) <= 5
    assert abs(heard[-1] + 1 - record["user_end_tick"]) <= 8, "soft ends sink into the room tone"
    assert record["user_end_tick"] == record["words"][-1]["end_tick"]
    assert len(levels) - record["user_end_tick"] >= 200, "room tone after"
    edges = np.flatnonzero(np.diff(speaks.astype(np.int8)))
    silences = [(end - start, start) for start, end in zip(edges[1::2], edges[2::2], strict=False)]
    pauses = [span for span in record["spans"] if span["kind"] == "PAUSE"]
    for pause in pauses:
        assert not speaks[pause["start_tick"] + 2 : pause["end_tick"] - 2].any()
    longer = [start for length, start in silences if length >= 50]
    assert len(longer) == len(pauses), "a silence of 0.5 s is a pause, and all pauses are such silences"
    for span in record["spans"]:
        if span["kind"] != "PAUSE":
            assert speaks[span["start_tick"] : span["end_tick"]].mean() > 0.5


def test_only_a_pause_beyond_two_seconds_misleads_the_published_end_of_the_user() -> None:
    for record in RECORDS:
        words = [AsrWord(each["text"], each["start_tick"] / 100, each["end_tick"] / 100) for each in record["words"]]
        long = [s for s in record["spans"] if s["kind"] == "PAUSE" and s["end_tick"] - s["start_tick"] > 200]
        assert (user_end_s(words) < record["user_end_tick"] / 100) == bool(long)


@same_voices
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in ITEMS]
)
def test_an_item_is_made_again_with_the_same_bits(name: str) -> None:
    spoken = spoken_item(ITEMS[name])
    (record,) = (each for each in RECORDS if each["id"] == name)
    assert np.array_equal(spoken.pcm, audio(record))
    assert to_builtins(smoke_file([ITEMS[name]], [spoken]).record) == [record]


def test_room_tone_is_soft_and_the_same_each_time() -> None:
    tone = room_tone(16_000, [1, 2])
    assert np.array_equal(tone, room_tone(16_000, [1, 2]))
    assert not np.array_equal(tone, room_tone(16_000, [1, 3]))
    assert -90 < 20 * np.log10(tone.std() / 32768) < -70
