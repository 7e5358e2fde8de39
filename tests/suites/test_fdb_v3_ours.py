"""Our measures of Full-Duplex-Bench v3: edges, each class of failure, and random logs against a plain script."""

import copy
import random
from collections import Counter
from typing import Any

import pytest
from helpers.v3_items import record_of
from oracles import fdb_v3_ours as oracle

from fdbcore.suites.fdb_v3 import tool_calls as calls_module
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat import AsrWord, LoggedCall, SystemLog
from fdbcore.suites.fdb_v3.measures import MEASURES, figures
from fdbcore.suites.fdb_v3.rows import measured
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry
from fdbcore.suites.fdb_v3.tool_calls import FAILURES

USER_END = 1000


def expect(function: str, optional: bool = False, **args: Any) -> dict[str, Any]:
    return {"function": function, "args": args, "optional": optional}


def call(name: str, tick: int = 1100, status: str = "ok", took: int = 50, **args: Any) -> dict[str, Any]:
    """A call whose result is that of the plain script, `took` ticks later."""
    end = None if status == "ended" else tick + took
    result = oracle.do({}, name, args) if status == "ok" else None
    return {"name": name, "args": args, "tick": tick, "end": end, "status": status, "result": result}


def record(*label: dict[str, Any], calls: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A record of the plain script, of a system that answers 2 s after the user's end unless `more` says otherwise."""
    base: dict[str, Any] = {
        "label": list(label),
        "rollback": None,
        "corrects": bool(more.get("rollback")),
        "calls": calls,
        "end": USER_END,
        "speech": [[1200, 1300]],
        "words": None,
        "transcript": "",
        "filler": None,
        "key": None,
        "response": None,
        "state": None,
    }
    return {**base, **more}


def typed(record: dict[str, Any]) -> V3Case:
    """The record as a case."""
    words = None if record["words"] is None else tuple(AsrWord(*word) for word in record["words"])
    filler = None if record["filler"] is None else " ".join(text for text, *_ in record["words"][: record["filler"]])
    log = SystemLog((), (), record["transcript"], words or (), None, None, record["response"], filler, record["key"])
    fields = {
        "repaired": record["label"],
        "disfluencies": ["SELF_CORRECTION"] if record["corrects"] else [],
        **({"rollback": record["rollback"]} if record["rollback"] else {}),
    }
    calls: list[Any] = [
        {
            "id": str(number),
            "name": each["name"],
            "side": "B",
            "status": each["status"],
            "begun_tick": each["tick"],
            "complete_tick": each["tick"],
            "end_tick": each["end"],
            "latency_ms": 0,
            "arguments": each["args"],
            "result": each["result"],
        }
        for number, each in enumerate(record["calls"])
    ]
    speech = [(start, end) for start, end in record["speech"]]
    state = copy.deepcopy(record["state"])
    return V3Case(None, "x", 1, record_of(**fields), log, calls, record["end"], speech, words, None, state, None)


TRACK, TRACK_B2 = (expect("track_order", order_id=order) for order in ("A1", "B2"))
CART = expect("add_to_cart", product_id="PROD1", quantity=5)
TWO_FOR_FIVE = {"original": {"quantity": 2}, "corrected": {"quantity": 5}}
SEARCH = expect("search_products", query="tent")
CHAINED = expect("add_to_cart", product_id="$RESULT_0.products[0].product_id")
SEARCHED = call("search_products", 1010, query="tent")
REFUSAL = {"status": "error", "message": "the service is not available"}
OPTIONAL = {"optional": True}


def track(order: str = "A1", tick: int = 1100, status: str = "ok") -> dict[str, Any]:
    return call("track_order", tick, status, order_id=order)


def add(quantity: int, tick: int = 1100, status: str = "ok") -> dict[str, Any]:
    return call("add_to_cart", tick, status, product_id="PROD1", quantity=quantity)


def pay(account: str, tick: int) -> dict[str, Any]:
    return call("modify_autopay", tick, bill_type="gas", source_account=account)


def tracking(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A record of these calls where one is expected, to track_order."""
    return record(TRACK, calls=list(calls), **more)


EXAMPLES: dict[str, tuple[dict[str, Any], str | None]] = {
    "right": (tracking(track("a1 ")), None),
    "nothing is expected": (record(calls=[]), None),
    "silent, with the right call": (tracking(track(), speech=[]), "silent"),
    "words without speech are heard": (tracking(track(), speech=[], words=[["yes", 12.0, 12.3]]), None),
    "another tool": (tracking(call("search_products", query="A1")), "wrong_tool"),
    "a tool too many": (tracking(track(), call("search_products", 1150, query="x")), "wrong_tool"),
    "an unknown tool, then the right one": (tracking(call("find_order", 1100, "unknown"), track("A1", 1150)), None),
    "an unknown tool alone": (tracking(call("find_order", 1100, "unknown")), "wrong_tool"),
    "another tool, withdrawn": (
        tracking(call("search_products", 1100, "cancelled", query="x"), track("A1", 1150)),
        None,
    ),
    "another value": (tracking(track("B2")), "wrong_argument"),
    "another value, put right": (tracking(track("B2"), track("A1", 1150)), None),
    "the right value, then another": (tracking(track(), track("B2", 1150)), "wrong_argument"),
    "malformed, and left so": (tracking(call("track_order", 1100, "malformed")), "wrong_argument"),
    "malformed, then right": (tracking(call("track_order", 1100, "malformed"), track("A1", 1150)), None),
    "the value that was taken back": (record(CART, calls=[add(2, 900)], rollback=TWO_FOR_FIVE), "stale_value"),
    "taken back, and both in the cart": (
        record(CART, calls=[add(2, 900), add(5, 900)], rollback=TWO_FOR_FIVE),
        "stale_value",
    ),
    "withdrawn, and both in the cart": (
        record(CART, calls=[add(2, 900, "cancelled"), add(5)], rollback=TWO_FOR_FIVE),
        "stale_value",
    ),
    "taken back, and set anew": (
        record(
            expect("modify_autopay", bill_type="gas", source_account="checking"),
            calls=[pay("savings", 900), pay("checking", 1100)],
            rollback={"original": {"source_account": "savings"}, "corrected": {"source_account": "checking"}},
        ),
        None,
    ),
    "no call": (tracking(), "missing_step"),
    "one of two": (record(SEARCH, CHAINED, calls=[SEARCHED]), "missing_step"),
    "failed": (tracking(track(status="error")), "missing_step"),
    "an error object": (tracking({**track(), "result": REFUSAL}), "missing_step"),
    "an error object, then tried again": (tracking({**track(), "result": REFUSAL}, track("A1", 1200)), None),
    "timed out, then tried again": (tracking(track(status="timeout"), track("A1", 1200)), None),
    "ended before the result": (tracking(track(status="ended")), "missing_step"),
    "before the result it needs": (
        record(SEARCH, CHAINED, calls=[SEARCHED, call("add_to_cart", 1020, product_id="PROD1")]),
        "wrong_order",
    ),
    "after the result it needs": (record(SEARCH, CHAINED, calls=[SEARCHED, add(1, 1060)]), None),
    "two of one function, swapped": (record(TRACK, TRACK_B2, calls=[track("B2"), track()]), None),
    "the same twice, read": (tracking(track(), track()), None),
    "the same twice, written": (record(CART, calls=[add(5), add(5)]), "wrong_outcome"),
    "the first of two of one function, twice": (record(TRACK, TRACK_B2, calls=[track(), track()]), "missing_step"),
    "the second of two of one function, twice": (
        record(TRACK, TRACK_B2, calls=[track(" b2"), track(" b2")]),
        "missing_step",
    ),
    "the first of two of one function, twice, and a wrong one": (
        record(TRACK, TRACK_B2, calls=[track(), track("A1", 1110), track("C3", 1120)]),
        "wrong_argument",
    ),
    "two alike expected, and one made": (record(TRACK, TRACK, calls=[track()]), "missing_step"),
    "an optional call left out, and the required one twice": (
        record(TRACK, TRACK_B2 | OPTIONAL, calls=[track(), track()]),
        None,
    ),
    "an optional call left out": (record(TRACK, SEARCH | OPTIONAL, calls=[track()]), None),
    "an optional call made wrong": (
        record(TRACK, SEARCH | OPTIONAL, calls=[track(), call("search_products", query="x")]),
        "wrong_argument",
    ),
    "any value": (record(expect("track_order", order_id="$ANY"), calls=[track("Z")]), None),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_class_of_failure_by_example(name: str) -> None:
    example, kind = EXAMPLES[name]
    assert figures(typed(example)).failure == kind
    assert figures(typed(example)).values["passed"] == (kind is None)
    assert oracle.report(example)[1] == kind


def test_every_class_has_an_example() -> None:
    assert {kind for _, kind in EXAMPLES.values() if kind} == {*FAILURES}


def values(name: str, *measures: str) -> list[float | None]:
    found = figures(typed(EXAMPLES[name][0])).values
    return [found[measure] for measure in measures]


def test_a_call_ahead_of_the_end_and_what_became_of_it() -> None:
    measures = ("preemptive", "preemptive_right", "preemptive_wrong", "corrected", "recovered", "final_state")
    assert values("the value that was taken back", *measures) == [1, 0, 1, 0, 0, 0]
    assert values("taken back, and set anew", *measures) == [1, 0, 0, 1, 1, 1]
    assert values("taken back, and both in the cart", *measures) == [1, 0.5, 0, 0, 0, 0]
    assert values("right", *measures) == [0, None, 0, None, None, 1]


def test_a_call_that_is_tried_again_after_an_error_object_counts_once() -> None:
    assert values("an error object, then tried again", "tool_selection", "calls_ms", "world_ms") == [1, 1500, 1000]
    assert values("an error object", "arguments", "calls_ms") == [1, None]


def test_order_and_needs() -> None:
    assert values("before the result it needs", "in_order", "needs_met", "arguments") == [1, 0, 1]
    assert values("after the result it needs", "in_order", "needs_met") == [1, 1]
    assert values("two of one function, swapped", "in_order", "needs_met", "arguments") == [0, None, 1]
    assert values("one of two", "in_order", "needs_met", "arguments", "tool_selection") == [0, 0, 0.5, 0.667]
    assert values("silent, with the right call", "tool_selection", "arguments", "answered") == [1, 1, 0]


def test_an_optional_call_never_takes_what_a_required_one_needs() -> None:
    both = record(TRACK | OPTIONAL, TRACK, calls=[track()])
    assert figures(typed(both)).failure is None
    chained = record(TRACK | OPTIONAL, SEARCH, CHAINED, calls=[SEARCHED, call("add_to_cart", product_id="PROD1")])
    chained["label"][2] = expect("add_to_cart", product_id="$RESULT_1.products[0].product_id")
    assert figures(typed(chained)).failure is None


def test_the_latency_in_its_parts() -> None:
    """User 10 s; calls from 11 to 11.5 and from 11.3 to 12 s, then from 13 to 13.2; sound at 10.8; key at 14 s."""
    calls = [
        call("search_products", 1100, query="tent"),
        call("track_order", 1130, took=70, order_id="A1"),
        call("add_to_cart", 1300, took=20, product_id="PROD1"),
    ]
    case = typed(record(SEARCH, calls=calls, speech=[[1080, 1150], [1350, 1500]], key=14.0))
    found = figures(case).values
    times = {name: found[name] for name, measure in MEASURES.items() if measure.unit == "ms"}
    assert times == {
        "first_sound_ms": 800, "first_call_ms": 1000, "calls_ms": 2200, "world_ms": 1200, "between_calls_ms": 1000,
        "result_to_speech_ms": 300, "result_to_key_ms": 800, "key_ms": 4000, "own_ms": 2800,
    }  # fmt: skip


def test_without_the_end_of_the_user_nothing_is_measured_from_it() -> None:
    found = figures(typed(tracking(track(), end=None, key=14.0))).values
    unknown = {name for name, value in found.items() if value is None}
    assert {"preemptive", "preemptive_wrong", "interrupted", "answered", "first_sound_ms", "key_ms"} < unknown
    assert (found["passed"], found["calls_ms"], found["result_to_key_ms"]) == (1, 500, 2500)


def test_filler_by_words_and_by_time() -> None:
    words = [["One", 11.0, 11.5], ["moment.", 11.5, 12.5]]
    words += [["Your", 13.0, 13.2], ["order", 13.2, 13.6], ["is", 13.6, 13.9]]
    case = typed(tracking(words=words, filler=2))
    case.log = SystemLog((), (), "", (), None, filler="one moment")
    found = figures(case).values
    assert found["filler_words"] == 0.4
    assert found["filler_time"] == pytest.approx(1.5 / 2.4)
    case.log = SystemLog((), (), "", (), None, filler="")
    assert (figures(case).values["filler_words"], figures(case).values["filler_time"]) == (0, 0)
    case.log = SystemLog((), (), "", (), None)
    assert figures(case).values["filler_words"] is None


def test_what_a_judge_takes_for_right_is_right() -> None:
    case = typed(record(TRACK, SEARCH | OPTIONAL, calls=[track("order A1")]))
    expected, made = (ExpectedCallEntry("track_order", {"order_id": "A1"}),), (LoggedCall("track_order", {}, 11.0),)
    log = SystemLog(expected, made, "", (), None, arguments_right=(True,))
    assert (figures(case).failure, figures(case, log=log).failure) == ("wrong_argument", None)
    refused = SystemLog(expected, made, "", (), None, arguments_right=(None,))
    assert figures(case, log=refused).failure == "wrong_argument"


def random_record(draw: random.Random) -> dict[str, Any]:
    def args(function: str) -> dict[str, Any]:
        if function == "track_order":
            return {"order_id": draw.choice(["A1", "B2", " a1"])}
        if function == "search_products":
            return {"query": draw.choice(["tent", "Tent", "boots"])}
        if function == "add_to_cart":
            amount = {"quantity": draw.choice([1, 2, 5])} if draw.random() < 0.7 else {}
            return {"product_id": draw.choice(["PROD1", "X"]), **amount}
        return {"bill_type": draw.choice(["gas", "GAS "]), "source_account": draw.choice(["savings", "checking"])}

    functions = ["track_order", "search_products", "add_to_cart", "modify_autopay"]
    label: list[dict[str, Any]] = []
    for _ in range(draw.choice([0, 1, 1, 2, 2, 3])):
        function = draw.choice(functions)
        label.append({"function": function, "args": args(function), "optional": draw.random() < 0.2})
        if draw.random() < 0.4:
            name = {"add_to_cart": "product_id", "track_order": "order_id"}.get(function)
            if name:
                path = draw.choice([".products[0].product_id", ".order_id"])
                label[-1]["args"][name] = draw.choice([f"$RESULT_{draw.randint(0, 3)}{path}", "$ANY"])
    made: list[dict[str, Any]] = []
    tick = draw.randint(850, 1100)
    resolved = oracle.label_of({"label": label})
    wanted = [each for each in resolved if draw.random() < 0.9]
    while len(made) < 5:
        given: dict[str, Any]
        if wanted and draw.random() < 0.8:
            each = wanted.pop(0)
            function = each["function"]
            given = {name: "Z" if str(value).startswith("$") else value for name, value in each["args"].items()}
        elif draw.random() < 0.6:
            break
        else:
            function = draw.choice([each["function"] for each in label] * 3 + functions)
            given = args(function)
        status = draw.choices(
            ["ok", "error", "timeout", "cancelled", "malformed", "ended", "unknown"], [30, 1, 1, 3, 1, 1, 1]
        )[0]
        made.append(call(function, tick, status, draw.randint(1, 80), **given))
        if status == "ok" and draw.random() < 0.1 and isinstance(made[-1]["result"], dict):
            made[-1]["result"] = draw.choice([{"order_id": "B2", "products": [{"product_id": "X"}]}, REFUSAL])
        if draw.random() < 0.2 and len(made) < 5:
            made.append({**made[-1], "tick": tick + 5, "status": "ok", "end": tick + 90})
            tick += 5
        tick += draw.choice([0, 20, 100])
    words: list[list[Any]] | None = None
    if draw.random() < 0.5:
        at, words = draw.randint(900, 1200), []
        for number in range(draw.randint(0, 6)):
            words.append([f"word{number}", at / 100, (at := at + draw.randint(1, 40)) / 100])
    speech = [[start, start + draw.randint(10, 200)] for start in (draw.randint(800, 1100), draw.randint(1320, 1600))]
    rollback = {
        "original": {draw.choice(["quantity", "source_account", "what"]): draw.choice([1, 2, "savings", "A1"])},
        "corrected": {"quantity": draw.choice([2, 5]), "source_account": "checking"},
    }
    has_rollback = draw.random() < 0.6
    return record(
        *label,
        calls=made,
        rollback=rollback if has_rollback else None,
        corrects=has_rollback or draw.random() < 0.2,
        end=draw.choice([None, *[draw.randint(900, 1200)] * 9]),
        speech=draw.choice([[], *[speech[:1], speech[1:], speech] * 4]),
        words=words,
        transcript=draw.choice(["", " ", "ok"]),
        filler=draw.randint(0, len(words)) if words else None,
        key=draw.choice([None, draw.randint(900, 1900) / 100]),
        response=draw.choice([None, True, False]),
        state=draw.choice([None] * 8 + [{"cart": {"PROD1": 5}}, {}]),
    )


@pytest.mark.parametrize(
    ("expected", "made", "is_right"),
    [
        ("0042", "42", False),
        ("0042", " 0042 ", True),
        ("1e5", "100000", False),
        ("42", "42.0", True),
        (1800, "1800.00", True),
        ("1800", 1800.0, True),
        ("12345678901234567890123456789012", "12345678901234567890123456789013", False),
        ("-0.0", 0, True),
        ("NaN", "nan", True),
    ],
)
def test_numbers_are_compared_as_numbers_and_names_as_texts(expected: object, made: object, is_right: bool) -> None:
    calls = [call("track_order", order_id=made)]
    found = figures(typed(record(expect("track_order", order_id=expected), calls=calls))).values
    assert found["arguments"] == is_right


def test_a_thousand_random_logs_score_as_a_plain_script_scores_them() -> None:
    draw, kinds = random.Random(20), Counter[str | None]()
    for _ in range(1000):
        each = random_record(draw)
        wanted, kind = oracle.report(copy.deepcopy(each))
        case = typed(each)
        found = figures(case).values
        for name in MEASURES:
            value = wanted.get(name)
            assert found[name] == (None if value is None else pytest.approx(float(value))), (name, each)
        assert figures(case).failure == kind, each
        kinds[kind] += 1
    assert {*kinds} == {None, *FAILURES}
    assert min(kinds.values()) >= 5


def test_the_calls_of_a_case_are_reviewed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reviews = []
    review = calls_module.review

    def counting(*given: Any) -> Any:
        reviews.append(given)
        return review(*given)

    monkeypatch.setattr(calls_module, "review", counting)
    cases = [typed(example) for example, _ in EXAMPLES.values()]
    assert len(list(measured("tools: instant", cases, is_judged=False))) == len(reviews) == len(cases)
