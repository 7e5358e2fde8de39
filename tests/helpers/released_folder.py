"""A folder as the release of Full-Duplex-Bench v3 has it, made from what is known of its form; all texts are ours.

100 recordings of 79 scenarios (21 of them by two speakers) by 12 speakers, 21 scenarios without a recording; mixed
rates, channels and widths; two layouts; and labels with the defects that an audit found, in 22 records.
"""

import json
import struct
import wave
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from click.testing import Result
from helpers.commands import command

SPEAKERS = [f"{number:024x}" for number in range(0xA1, 0xA1 + 12)]
DOMAINS = ["travel_identity"] * 20 + ["finance_billing"] * 25 + ["housing_location"] * 26 + ["ecommerce_support"] * 29
DIFFICULTIES = ["easy"] * 36 + ["medium"] * 34 + ["hard"] * 30
FORMATS = [(48_000, 1, 2), (48_000, 2, 2), (16_000, 1, 2), (48_000, 1, 4)]
"""Rate, channels, bytes a sample."""
Calls = list[dict[str, Any]]


def call(function: str, **args: Any) -> dict[str, Any]:
    return {"function": function, "args": args}


def housing(number: int) -> Calls:
    """17 searches: 12 lack arguments, one has another; then filters of a wrong type, an address, and a city unsaid."""
    search = call("search_apartments", city="Bonn", bedrooms=2, max_price=1500)
    missing = {"city": {0}, "bedrooms": {*range(6)}, "max_price": {*range(4, 12)}}
    for name, numbers in missing.items():
        if number in numbers:
            del search["args"][name]
    if number == 12:
        search["args"]["pets_allowed"] = True
    if number == 15:
        return [search, call("calculate_commute", origin_address="$RESULT_0.apartments[0].address",
                             destination_address="Main Square")]  # fmt: skip
    if number == 16:
        search["args"]["city"] = "Oslo"
    if number in (13, 14, 17):
        return [call("update_search_filter", filter_name="pets", value=[True, 2, 1800.5][number % 3])]
    return [search] if number < 18 else [call("update_search_filter", filter_name="pets", value="yes")]


def shop(number: int) -> Calls:
    search = call("search_products", query="tent")
    if number == 0:
        return [search, call("add_to_cart", product_id="$RESULT_0.cheapest_product_id")]
    if number == 1:
        search["args"]["category"] = "outdoor"
    return [search, call("add_to_cart", product_id="$RESULT_0.products[0].product_id")] if number % 2 else [search]


def finance(number: int) -> Calls:
    calls = [call("get_exchange_rate", amount=100, from_currency="EUR", to_currency="USD")]
    pay = call("modify_autopay", bill_type="power", source_account="savings")
    if number < 2:
        return [*calls, {**pay, "condition": "only if the rate is good"}]
    return [*calls, {**pay, "condition": "only if the rate is above 1.0"}] if number < 4 else [pay]


def travel(number: int) -> Calls:
    return [call("search_flights", destination="Rome", date="2026-05-02"), call("book_flight", passenger_name="Ann")]


CALLS = dict(zip(dict.fromkeys(DOMAINS), (travel, finance, housing, shop), strict=True))


def scenarios() -> list[dict[str, Any]]:
    """100 scenarios, of which the first 79 have recordings."""
    found = []
    numbers = dict.fromkeys(CALLS, 0)
    for number in range(100):
        domain = DOMAINS[number]
        calls = CALLS[domain](numbers[domain])
        numbers[domain] += 1
        found.append(
            {
                "id": f"{domain.partition('_')[0]}_{numbers[domain]:02}",
                "domain": domain,
                "title": "",
                "difficulty": DIFFICULTIES[number],
                "dialogue": [{"user": f"Um, case {number}: in Bonn, please.", "ai": ""}, {"ai": "Done."}],
                "acting_notes": "Take your time.",
                "disfluency_features": ["FILLER", "PAUSE"] if number % 3 == 0 else [],
                "expected_tool_calls": calls,
                "num_expected_calls": len(calls),
                "state_rollback_test": number % 10 == 0,
                "state_rollback_details": {"original_param": {"date": None}} if number % 10 == 0 else None,
                "latency_profile": "normal",
            }
        )
    return found


def write_wav(path: Path, rate_hz: int, channels: int, width: int, n: int = 480) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate_hz)
        file.writeframes(struct.pack(f"<{n * channels}{'h' if width == 2 else 'i'}", *range(n * channels)))


def result(expected: Calls, **changes: Any) -> dict[str, Any]:
    """A run that makes the expected calls 1 s after the user's end at 10 s, and says a word 2 s after it."""
    made = [{**each, "timestamp_start": 11.0 + n, "timestamp_end": 11.5 + n} for n, each in enumerate(expected)]
    return {
        "pid": "p1",
        "example_id": "x",
        "provider": "ours",
        "status": "completed",
        "input_asr_chunks": [{"text": "hello", "timestamp": [9.0, 10.0]}],
        "asr_chunks": [{"text": "done", "timestamp": [12.0, 12.5]}],
        "transcript": "done",
        "user_speech_end_rel": 10.0,
        "latency": {"input_duration_s": 40.0, "first_speech_s": None},
        "actual_tool_calls": made,
        **changes,
    }


def release(folder: Path) -> Path:
    """All 100 recordings: each scenario that has two is there once in either layout."""
    data = folder / "fdb_v3_data_released"
    entries = scenarios()
    flagged = {"housing_location": 18, "ecommerce_support": 2, "finance_billing": 2}
    first = [each for each in entries if int(each["id"].rpartition("_")[2]) <= flagged.get(each["domain"], 0)]
    others = [each for each in entries if each not in first]
    with_audio = [*first, *others][:79]
    twice = [each for each in with_audio if each not in first][:21]
    data.mkdir(parents=True)
    (data / "benchmark_data_v2.json").write_text(json.dumps({"benchmark_name": "b", "scenarios": entries}))
    speakers, formats = cycle(SPEAKERS), cycle(FORMATS)
    for entry in with_audio:
        place = data / f"{entry['id']}_{next(speakers)}"
        place.mkdir()
        (place / "metadata.json").write_text(json.dumps(entry))
        write_wav(place / "input.wav", *next(formats))
    for entry in twice:
        place = data / next(speakers) / f"example_{entry['id']}"
        place.mkdir(parents=True)
        write_wav(place / "input.wav", *next(formats))
    return data


def recording(
    data: Path, number: int, results: Mapping[str, dict[str, Any]], changes: Mapping[str, Any] | None = None
) -> None:
    """A recording by a speaker of its own. results: by system. changes: of the first scenario."""
    entry = {**scenarios()[0], **(changes or {})}
    place = data / f"{entry['id']}_{SPEAKERS[number]}"
    place.mkdir(parents=True)
    (place / "metadata.json").write_text(json.dumps(entry))
    write_wav(place / "input.wav", 16_000, 1, 2)
    for name, made in results.items():
        (place / f"result_{name}.json").write_text(json.dumps(made))


def scored(data: Path, *options: str) -> tuple[dict[str, Any], str]:
    """The document of scores beside the data, and what was printed."""
    out = data.with_name("scores")
    result = command("score", "--suite", "fdb-v3", data, "--out", out, *options, code=0, columns=150)
    return json.loads((out / "scores.json").read_text()), result.output


def imported(data: Path, out: Path, code: int | None = None) -> Result:
    return command("scenarios", "import", data, "--out", out, code=code)
