"""Our measures of Full-Duplex-Bench v3, step by step over plain dictionaries, by trying all ways to deal calls.

A record has: label (dictionaries with function, args, optional), rollback (dictionary, or None), corrects, calls (in
the order of their ticks: name, args, tick, end, status, result), end (tick or None), speech (lists of [start, end]),
words (lists of [text, start, end] in s, or None), transcript, filler (how many of the first words; None: no verdict),
key (s or None), response, state (or None). It knows five functions.
"""

from itertools import product
from typing import Any

REFUSED = ("unknown", "malformed")
DEFAULTS: dict[str, dict[str, Any]] = {"search_products": {"max_price": None}, "add_to_cart": {"quantity": 1}}


def do(state: dict[str, dict[str, Any]], function: str, args: dict[str, Any]) -> Any:
    """What a call gives, and what it writes into the state."""
    full = {**DEFAULTS.get(function, {}), **args}
    if function == "search_products":
        return {"products": [{"product_id": "PROD1", "name": full["query"]}]}
    if function == "track_order":
        return {"order_id": full["order_id"], "status": "out for delivery"}
    if function == "add_to_cart":
        cart = state.setdefault("cart", {})
        cart[full["product_id"]] = cart.get(full["product_id"], 0) + full["quantity"]
        return {"product_id": full["product_id"], "quantity": full["quantity"]}
    if function == "modify_autopay":
        state.setdefault("autopay", {})[full["bill_type"]] = full["source_account"]
        return {"bill_type": full["bill_type"]}
    return None


def plain(value: object) -> str:
    return str(value).strip().lower().replace("_", " ")


def look_up(reference: str, result: Any) -> Any:
    """The value of one of the two references that records have."""
    if not isinstance(result, dict):
        return None
    if reference.endswith(".product_id") and "products" in result:
        return result["products"][0]["product_id"]
    if reference.endswith(".order_id") and "order_id" in result:
        return result["order_id"]
    return None


def number_of(value: object) -> int | None:
    return int(value[len("$RESULT_")]) if isinstance(value, str) and value.startswith("$RESULT_") else None


def label_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The label with what references lead to; "$" where they lead to nothing."""
    results: list[Any] = []
    found = []
    state: dict[str, dict[str, Any]] = {}
    for each in record["label"]:
        args = {}
        for name, value in each["args"].items():
            at = number_of(value)
            if at is None:
                args[name] = value
            else:
                reached = look_up(value, results[at]) if at < len(results) else None
                args[name] = "$" if reached is None else reached
        results.append(do(state, each["function"], args))
        found.append({"function": each["function"], "args": args})
    return found


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = ({**DEFAULTS.get(each["name"], {}), **each["args"]} for each in (one, other))
    return one["name"] == other["name"] and {k: plain(v) for k, v in a.items()} == {k: plain(v) for k, v in b.items()}


def ended(call: dict[str, Any]) -> str:
    """How a call ended; one that is answered by an error object has failed."""
    told_error = isinstance(call["result"], dict) and call["result"].get("status") == "error"
    return "error" if call["status"] == "ok" and told_error else call["status"]


def counting(calls: list[dict[str, Any]]) -> list[int]:
    kept = []
    for place, call in enumerate(calls):
        later = [each for each in calls[place + 1 :] if each["status"] not in REFUSED]
        drop = call["status"] == "cancelled"
        if call["status"] == "unknown" and later:
            drop = True
        if call["status"] == "malformed":
            drop = any(each["name"] == call["name"] for each in later)
        if call["status"] in ("error", "timeout"):
            drop = any(alike(each, call) for each in later)
        if not drop:
            kept.append(place)
    return kept


def fits(record: dict[str, Any], number: int, place: int) -> bool:
    wanted, call = record["label"][number], record["calls"][place]
    resolved = label_of(record)[number]["args"]
    if call["name"] != wanted["function"] or call["status"] in REFUSED:
        return False
    args = {**DEFAULTS.get(call["name"], {}), **call["args"]}
    for name, value in wanted["args"].items():
        if name not in args:
            return False
        possible = [resolved[name]]
        at = number_of(value)
        if at is not None and at < len(record["label"]):
            for other in record["calls"]:
                if other["name"] == record["label"][at]["function"] and other["status"] == "ok":
                    if other["end"] <= call["tick"] and (reached := look_up(value, other["result"])) is not None:
                        possible.append(reached)
        if not any(str(each).startswith("$") or plain(each) == plain(args[name]) for each in possible):
            return False
    return True


def deal(record: dict[str, Any], kept: list[int]) -> tuple[dict[int, int], set[int]]:
    """The pairs, and which of them are right: the best of all ways."""
    n = len(record["label"])
    optional = [each["optional"] for each in record["label"]]
    weight = [k for k in range(n) if not optional[k]] + [k for k in range(n) if optional[k]]
    choices = [[None, *(place for place in kept if fits(record, k, place))] for k in range(n)]
    best: tuple[Any, ...] | None = None
    for way in product(*choices):
        used = [place for place in way if place is not None]
        if len(used) != len({*used}):
            continue
        key = ([way[k] is not None for k in weight], [-1000 if place is None else -place for place in way])
        if best is None or key > best[0]:
            best = (key, way)
    assert best is not None
    pairs = {k: place for k, place in enumerate(best[1]) if place is not None}
    right = {*pairs}
    rightly = [record["calls"][place] for place in pairs.values()]
    kept = [place for place in kept if not any(alike(record["calls"][place], each) for each in rightly)]
    for k in weight:
        if k in pairs:
            continue
        for place in kept:
            if place not in pairs.values() and record["calls"][place]["name"] == record["label"][k]["function"]:
                pairs[k] = place
                break
    return pairs, right


def stale(record: dict[str, Any], place: int) -> bool:
    if not record["rollback"]:
        return False
    back = {
        name: value
        for name, value in record["rollback"]["original"].items()
        if plain(record["rollback"]["corrected"].get(name, "nothing")) != plain(value)
    }
    args = record["calls"][place]["args"]
    if any(name in each["args"] for name in back for each in record["label"]):
        return any(name in args and plain(args[name]) == plain(value) for name, value in back.items())
    return any(plain(value) == plain(made) for value in back.values() for made in args.values())


def differs(expected: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]]) -> bool:
    """Whether a state is another one; the key "$ANY" is the same as one key that no other expected one has."""
    for table in {*expected, *found}:
        left = {plain(key): plain(value) for key, value in found.get(table, {}).items()}
        wanted = {plain(key): plain(value) for key, value in expected.get(table, {}).items()}
        free = [wanted.pop(key) for key in list(wanted) if key == plain("$ANY")]
        if any(left.pop(key, None) != value for key, value in wanted.items()) or list(left.values()) != free:
            return True
    return False


def report(record: dict[str, Any]) -> tuple[dict[str, float | None], str | None]:
    """All measures, and the class of the failure."""
    record = {**record, "calls": [{**call, "status": ended(call)} for call in record["calls"]]}
    calls, label, end = record["calls"], label_of(record), record["end"]
    kept = counting(calls)
    pairs, right = deal(record, kept)
    count = [k for k in range(len(label)) if k in pairs or not record["label"][k]["optional"]]
    left = [place for place in kept if place not in pairs.values()]
    known = {each["function"] for each in label}

    def repeat(place: int) -> bool:
        return any(alike(calls[place], calls[pairs[k]]) for k in right)

    def comes_right(place: int) -> bool:
        return any(pairs[k] > place and label[k]["function"] == calls[place]["name"] for k in right)

    foreign = [place for place in left if calls[place]["name"] not in known]
    needless = [p for p in left if p not in foreign and calls[p]["status"] not in REFUSED and not repeat(p)]
    wrong = [pairs[k] for k in pairs if k not in right] + [place for place in needless if not comes_right(place)]
    undone = [place for place in needless if comes_right(place)] + [
        p
        for p in range(len(calls))
        if calls[p]["status"] == "cancelled" and calls[p]["name"] in known and not repeat(p)
    ]
    missing = [k for k in count if k not in pairs or (k in right and calls[pairs[k]]["status"] != "ok")]
    references = sorted(
        {
            (k, at)
            for k in count
            for v in record["label"][k]["args"].values()
            if (at := number_of(v)) is not None and at < k
        }
    )
    unmet = 0
    for k, at in references:
        ok = k in pairs and at in pairs and calls[pairs[at]]["status"] == "ok"
        if not (ok and calls[pairs[at]]["end"] <= calls[pairs[k]]["tick"]):
            unmet += 1
    expected_state: dict[str, dict[str, Any]] = {}
    for k in count:
        do(expected_state, label[k]["function"], calls[pairs[k]]["args"] if k in right else label[k]["args"])
    found_state = record["state"]
    if found_state is None:
        found_state = {}
        for call in calls:
            if call["status"] in ("ok", "ended", "cancelled"):
                do(found_state, call["name"], call["args"])
    state_wrong = differs(expected_state, found_state)
    speech = record["speech"] or [[round(s * 100), round(e * 100)] for _, s, e in record["words"] or []]

    kind: str | None = None
    if not speech and not record["transcript"].strip():
        kind = "silent"
    elif foreign:
        kind = "wrong_tool"
    elif wrong:
        kind = "stale_value" if any(stale(record, place) for place in wrong) else "wrong_argument"
    elif missing:
        kind = "missing_step"
    elif unmet:
        kind = "wrong_order"
    elif state_wrong and undone:
        kind = "stale_value" if any(stale(record, place) for place in undone) else "wrong_argument"
    elif state_wrong:
        kind = "wrong_outcome"

    wanted_names, made_names = [label[k]["function"] for k in count], [calls[p]["name"] for p in kept]
    hits, rest = 0, list(made_names)
    for name in wanted_names:
        if name in rest:
            rest.remove(name)
            hits += 1
    total = len(wanted_names) + len(made_names)
    values: dict[str, float | None] = {
        "passed": kind is None,
        "tool_selection": round(2 * hits / total, 3) if total else 1.0,
        "arguments": sum(k in right for k in count) / len(count) if count else 1.0,
        "final_state": not state_wrong,
        "response": record["response"],
    }
    if len(count) > 1:
        places = [pairs[k] for k in count if k in pairs]
        values["in_order"] = len(places) == len(count) and places == sorted(places)
    if references:
        values["needs_met"] = (len(references) - unmet) / len(references)
    if record["corrects"]:
        good = not state_wrong and not wrong and not missing
        values["corrected"] = good
        if any(stale(record, p) for p in range(len(calls)) if p not in [pairs[k] for k in right]):
            values["recovered"] = good
    if record["filler"] is not None and record["words"]:
        chosen = record["words"][: record["filler"]]
        values["filler_words"] = len(chosen) / len(record["words"])
        values["filler_time"] = sum(e - s for _, s, e in chosen) / sum(e - s for _, s, e in record["words"])
    if end is not None:
        ahead = [p for p in range(len(calls)) if calls[p]["tick"] < end]
        values["preemptive"] = len(ahead) > 0
        values["preemptive_wrong"] = any(p in wrong or p in foreign for p in ahead)
        if ahead:
            values["preemptive_right"] = sum(p in [pairs[k] for k in right] for p in ahead) / len(ahead)
        values["interrupted"] = any(s < end for s, _ in speech)
        after = [s for s, e in speech if e > end]
        values["answered"] = bool(after)
        if after:
            values["first_sound_ms"] = 10 * (after[0] - end)
        if calls:
            values["first_call_ms"] = 10 * (calls[0]["tick"] - end)
    waiting = {t for call in calls if call["end"] is not None for t in range(call["tick"], call["end"])}
    key = None if record["key"] is None else round(record["key"] * 100)
    if key is not None and end is not None:
        values["key_ms"] = 10 * (key - end)
        values["own_ms"] = 10 * (key - end - sum(end <= t < key for t in waiting))
    results = [call["end"] for call in calls if call["status"] == "ok"]
    if results:
        first, last = calls[0]["tick"], max(results)
        world = sum(first <= t < last for t in waiting)
        values |= {
            "calls_ms": 10 * (last - first),
            "world_ms": 10 * world,
            "between_calls_ms": 10 * (last - first - world),
        }
        if key is not None:
            values["result_to_key_ms"] = 10 * (key - last)
        later = [max(s - last, 0) for s, e in speech if e > last]
        if later:
            values["result_to_speech_ms"] = 10 * later[0]
    return values, kind
