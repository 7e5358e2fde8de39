"""The functions of Full-Duplex-Bench v3 as a world: what they say of themselves, give, and change."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from fakes.pcm_server import PcmServer
from fakes.run_parties import NOISE
from fakes.tool_caller import Message, ToolCaller, calls
from helpers.commands import command

from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import SettingsError
from fdbcore.recording.reader import Recording
from fdbcore.registry import world
from fdbcore.suites.fdb_v3.cases import SystemResult
from fdbcore.suites.fdb_v3.compat import LoggedCall
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry
from fdbcore.suites.fdb_v3.world import FunctionCall, outcome, state_differences
from fdbcore.types import SAMPLE_RATE_HZ

TEXT, NUMBER, WHOLE = "string", "number", "integer"
RELEASED = {
    "search_flights": ({"destination": TEXT, "date": TEXT}, {}),
    "book_flight": ({"passenger_name": TEXT}, {}),
    "update_identity_doc": ({"doc_type": TEXT, "doc_number": TEXT}, {}),
    "get_card_benefits": ({"card_type": TEXT}, {}),
    "get_exchange_rate": ({"amount": NUMBER, "from_currency": TEXT, "to_currency": TEXT}, {}),
    "modify_autopay": ({"bill_type": TEXT, "source_account": TEXT}, {}),
    "search_apartments": ({"city": TEXT, "bedrooms": WHOLE, "max_price": NUMBER}, {}),
    "calculate_commute": ({"origin_address": TEXT, "destination_address": TEXT}, {"mode": "driving"}),
    "update_search_filter": ({"filter_name": TEXT, "value": TEXT}, {}),
    "track_order": ({"order_id": TEXT}, {}),
    "search_products": ({"query": TEXT}, {"max_price": None}),
    "add_to_cart": ({"product_id": TEXT}, {"quantity": 1}),
}
"""The required arguments with their types, and the others with their defaults, as published."""
PAPER = {
    "search_flights": "destination, date",
    "book_ticket": "passenger_name, flight_id",
    "update_travel_profile": "document_type, document_number",
    "query_card_benefits": "card_last_4, category",
    "calculate_currency_exchange": "amount, from_currency, to_currency",
    "modify_autopay_source": "new_account_id",
    "search_apartments": "max_budget, amenities",
    "update_search_filter": "condition, new_value",
    "check_order_status": "order_id",
    "cancel_pending_action": "action_type",
    "process_exchange": "order_id, new_shipping_address",
}


def done(*calls: tuple[str, dict[str, Any]], address: str = "fdb-v3:") -> tuple[list[Any], Any]:
    """What calls give one after the other, and the state after them."""

    async def each() -> list[Any]:
        return [await made.do(*call) for call in calls]

    with closing(world(address)) as made:
        made.open()
        return json.loads(json.dumps(asyncio.run(each()))), made.state()


def test_the_released_functions_have_the_published_arguments() -> None:
    made = world("fdb-v3:")
    made.open()
    found = {}
    for tool in made.tools:
        properties = tool.parameters["properties"]
        required = {name: properties[name]["type"] for name in tool.parameters["required"]}
        found[tool.name] = required, {name: properties[name]["default"] for name in properties.keys() - required}
    assert found == RELEASED
    assert made.describe()["list"] == "released"


def test_the_functions_of_the_paper_are_another_list() -> None:
    made = world("fdb-v3:paper")
    made.open()
    assert {tool.name: ", ".join(tool.parameters["required"]) for tool in made.tools} == PAPER
    (book,), state = done(("book_ticket", {"passenger_name": "Ann", "flight_id": "FL123"}), address="fdb-v3:paper")
    assert book["flight_id"] == "FL123"
    assert state == {"bookings": {"Ann on FL123": 1}}


def test_results_are_those_of_the_facts() -> None:
    results, state = done(
        ("search_flights", {"destination": "Oslo", "date": "May 2"}),
        ("book_flight", {"passenger_name": "Ann"}),
        ("update_identity_doc", {"doc_type": "passport", "doc_number": "X1234567"}),
        ("get_exchange_rate", {"amount": 200, "from_currency": "EUR", "to_currency": "USD"}),
        ("get_exchange_rate", {"amount": 200.0, "from_currency": "USD", "to_currency": "EUR"}),
        ("search_apartments", {"city": "Bonn", "bedrooms": 2, "max_price": 1800}),
        ("calculate_commute", {"origin_address": "A", "destination_address": "B"}),
        ("search_products", {"query": "tent"}),
        ("search_products", {"query": "tent", "max_price": 60}),
        ("add_to_cart", {"product_id": "PROD1", "quantity": 3}),
    )
    assert results[0]["flights"] == [{"flight_id": "FL123", "destination": "Oslo", "date": "May 2", "price": 450.0}]
    assert results[1]["booking_reference"] == "B789"
    assert results[2]["last_4"] == "4567"
    assert [each["converted_amount"] for each in results[3:5]] == [220.0, 180.0]
    assert results[5]["apartments"] == [{"apartment_id": "APT1", "price": 1700, "bedrooms": 2}]
    assert results[6] == {"duration_minutes": 25, "mode": "driving"}
    assert [each["products"][0]["price"] for each in results[7:9]] == [99.99, 50]
    assert results[9]["total"] == 299.97
    assert state == {"bookings": {"Ann": 1}, "documents": {"passport": "X1234567"}, "cart": {"PROD1": 3}}


def test_each_conversation_has_a_state_of_its_own() -> None:
    booking = ("book_flight", {"passenger_name": "Ann"})
    assert done(booking, booking)[1] == {"bookings": {"Ann": 2}}
    assert done(booking)[1] == {"bookings": {"Ann": 1}}


def test_latencies_as_released_are_those_of_four_functions() -> None:
    made, random = world("fdb-v3:?latency=as-released"), Random(1)
    made.open()
    drawn = {name: {made.latency_ticks(name, n, random) for n in range(2000)} for name in RELEASED}
    slow = {"search_flights", "search_apartments", "calculate_commute"}
    for name, ticks in drawn.items():
        assert ticks == set(range(20, 81) if name in slow else range(5, 21) if name == "update_search_filter" else [0])
    assert made.describe()["latency"] == "as-released"


@pytest.mark.parametrize("address", ["fdb-v3:mine", "fdb-v3:?latency=late", "fdb-v3:?speed=1", "fdb-v3:?timeout_s=0"])
def test_another_list_or_setting_is_one_line(address: str) -> None:
    with pytest.raises(SettingsError, match=r"^fdb-v3: ") as refused:
        world(address)
    assert "\n" not in str(refused.value)


def test_references_are_resolved_from_earlier_results() -> None:
    found = outcome(
        [
            FunctionCall("search_products", {"query": "tent", "max_price": "$ANY"}),
            FunctionCall("add_to_cart", {"product_id": "$RESULT_0.products[0].product_id"}),
            FunctionCall("add_to_cart", {"product_id": "$RESULT_0.cheapest"}),
            FunctionCall("teleport", {}),
            FunctionCall("get_exchange_rate", {"amount": 10**400, "from_currency": "EUR", "to_currency": "USD"}),
            FunctionCall("search_apartments", {"city": "Bonn", "bedrooms": 1, "max_price": "1800"}),
        ]
    )
    assert found.calls[1].args == {"product_id": "PROD1"}
    assert found.results[3:] == [None, None, None]
    assert outcome(found.calls[:2], resolves=False).state == {"cart": {"PROD1": 1}}
    literal = FunctionCall("add_to_cart", {"product_id": "$RESULT_0.products[0].product_id"})
    assert list(outcome([found.calls[0], literal], resolves=False).state["cart"]) == [literal.args["product_id"]]
    assert found.state == {"cart": {"PROD1": 1, "$RESULT_0.cheapest": 1}}


def differences(expected: list[FunctionCall], made: list[FunctionCall]) -> list[str]:
    return state_differences(outcome(expected).state, outcome(made).state)


def pay(account: str) -> FunctionCall:
    return FunctionCall("modify_autopay", {"bill_type": "power", "source_account": account})


def test_an_update_that_a_correction_takes_back_leaves_no_difference() -> None:
    assert differences([pay("savings")], [pay("checking"), pay("Savings ")]) == []
    assert differences([pay("savings")], [pay("savings"), pay("checking")]) == [
        "autopay: expected power = savings, got checking"
    ]
    ann, ben = (FunctionCall("book_flight", {"passenger_name": name}) for name in ("Ann", "Ben"))
    assert differences([ben], [ann, ben]) == ["bookings: expected no ann, got 1"]
    assert differences([ben], []) == ["bookings: expected ben = 1, got none"]


def test_a_reference_counts_optional_calls_that_were_not_made() -> None:
    label = [
        ExpectedCallEntry("track_order", {"order_id": "A1"}, optional=True),
        ExpectedCallEntry("search_products", {"query": "tent"}),
        ExpectedCallEntry("add_to_cart", {"product_id": "$RESULT_1.products[0].product_id"}),
    ]
    made = (
        LoggedCall("search_products", {"query": "tent"}, 1.0),
        LoggedCall("add_to_cart", {"product_id": "PROD1"}, 2.0),
    )
    result = SystemResult(False, "", (), (), None, made)
    assert result.leaves_right_state(label)
    assert not replace(result, calls=made[:1]).leaves_right_state(label)


def test_states_are_compared_by_what_they_mean() -> None:
    def stored(kind: str, number: str) -> FunctionCall:
        return FunctionCall("update_identity_doc", {"doc_type": kind, "doc_number": number})

    assert differences([stored("drivers_license", "12345678")], [stored("Drivers License", "12345678.0")]) == []
    assert differences([stored("passport", "12345678")], [stored("passport", "12345679")]) != []
    assert differences([stored("passport", "$ANY")], [stored("passport", "7")]) == []
    any_product = FunctionCall("add_to_cart", {"product_id": "$ANY"})
    bought = [FunctionCall("add_to_cart", {"product_id": each}) for each in ("PROD1", "PROD2")]
    assert differences([any_product, bought[1]], bought) == []
    assert differences([any_product], bought) == ["cart: expected no prod2, got 1"]


def run(folder: Path, tools: str) -> Result:
    """A user of the sample call's length, and a system that finds a product, buys it, and tracks an order."""
    pcm = np.tile(NOISE, 60) * np.repeat(np.arange(60) % 30 >= 10, len(NOISE))
    (folder / "user.wav").write_bytes(wav_bytes(pcm.astype(np.int16), SAMPLE_RATE_HZ))

    def buy(result: Any) -> Message:
        return calls("c2", "add_to_cart", product_id=result["products"][0]["product_id"], quantity=2)

    at_frame = {11: [calls("c1", "search_products", query="tent")], 16: [calls("c3", "track_order", order_id="1")]}
    system = ToolCaller(at_frame, {"c1": buy})
    with PcmServer(system) as server:
        given = ("--clips", f"{folder}/user.wav", "--system", f"buyer={server.address}", "--tools", tools)
        settings = ("--clock", "virtual", "--seed", "7", "--max-s", "3", "--vad", "energy")
        return command("run", *given, *settings, "--out", folder / "RUN")


def test_a_run_keeps_what_the_calls_have_changed(tmp_path: Path) -> None:
    result = run(tmp_path, "fdb-v3:?latency=normal&timeout_s=1&faults=timeout@track_order")
    assert result.exit_code == 0, result.output
    assert "3 calls: 2 ok, 1 timeout" in result.stdout
    (meta,) = (tmp_path / "RUN").rglob("meta.json")
    tools = json.loads(meta.read_text())["tools"]
    assert tools["state"] == {"cart": {"PROD1": 2}}
    assert (tools["kind"], tools["list"], tools["faults"]) == ("fdb-v3", "released", "timeout@track_order")
    events = [event for event in Recording(meta.parent).events if event["kind"] == "tool_result"]
    assert sorted((event["name"], event["status"]) for event in events) == [
        ("add_to_cart", "ok"),
        ("search_products", "ok"),
        ("track_order", "timeout"),
    ]


def test_a_wrong_setting_is_told_as_one_of_tools(tmp_path: Path) -> None:
    result = run(tmp_path, "fdb-v3:?latency=late")
    assert result.exit_code == 2
    assert "--tools: latency: expected as-released, instant, fast, " in result.stderr
