"""The published measures of Full-Duplex-Bench v3, step by step over plain dictionaries, as its paper and code are told.

A record has: expected and actual (lists of {"function", "args"}; actual with "t", in s or None), transcript, chunks
(lists of [start, end] of the system's words), perhaps start (of the first of them, as stated), user_chunks (of the
user's), verdicts (a list of True, False or None; or None), response (True, False or None), filler (text or None), key
(s or None).
"""

import copy
from typing import Any


def user_end(chunks: list[list[float]]) -> float:
    if len(chunks) == 0:
        return 0.0
    index = 0
    while index + 1 < len(chunks):
        gap = chunks[index + 1][0] - chunks[index][1]
        if gap > 2.0:
            break
        index += 1
    return chunks[index][1]


def f1(expected: list[str], actual: list[str]) -> float:
    rest = list(actual)
    hits = 0
    for name in expected:
        if name in rest:
            rest.remove(name)
            hits += 1
    recall = 1.0 if len(expected) == 0 else hits / len(expected)
    precision = 1.0 if len(actual) == 0 else hits / len(actual)
    if recall + precision == 0:
        return 0.0
    return round(2 * recall * precision / (recall + precision), 3)


def equal_arguments(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    for key in expected:
        if key not in actual:
            return False
        want, got = expected[key], actual[key]
        if isinstance(want, str) and want[:1] == "$":
            continue
        if isinstance(want, str) and isinstance(got, str):
            if want.strip().lower().replace("_", " ") != got.strip().lower().replace("_", " "):
                return False
        elif want != got:
            return False
    return True


def arguments(record: dict[str, Any]) -> list[int | None]:
    queue = copy.deepcopy(record["actual"])
    scores: list[int | None] = []
    for place, wanted in enumerate(record["expected"]):
        score: int | None = 0
        for index in range(len(queue)):
            if queue[index]["function"] == wanted["function"]:
                made = queue.pop(index)
                if record["verdicts"] is not None:
                    score = record["verdicts"][place]
                else:
                    score = int(equal_arguments(wanted["args"], made["args"]))
                break
        scores.append(score)
    return scores


def summary(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1) if n > 1 else 0.0
    return {
        "n": n,
        "mean": mean,
        "stdev": variance**0.5,
        "min": min(values),
        "max": max(values),
        "median": sorted(values)[n // 2],
    }


def report(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Pairs of (sum, n) and summaries."""
    sums: dict[str, list[float]] = {}
    first, call, done = [], [], []

    def since(end: float, time: float | None) -> float | None:
        if end == 0 or time is None:
            return None
        return round(time - end, 3)

    failed = {"wrong_tools": 0, "wrong_arguments": 0}

    def add(name: str, value: float) -> None:
        entry = sums.setdefault(name, [0.0, 0])
        entry[0] += value
        entry[1] += 1

    for record in records:
        taken = record["transcript"].strip() != "" or len(record["chunks"]) > 0
        add("turn_take", taken)
        end = user_end(record["user_chunks"])
        names = [each["function"] for each in record["expected"]]
        made = [each["function"] for each in record["actual"]]
        add("tool_selection_all", f1(names, made))
        right = arguments(record)
        if sorted(names) != sorted(made):
            failed["wrong_tools"] += 1
        elif any(score is not None and not score for score in right):
            failed["wrong_arguments"] += 1
        if sorted(names) != sorted(made) or any(score is not None and not score for score in right):
            add("passed", 0)
        elif None not in right:
            add("passed", 1)
        ahead = since(end, record["actual"][0]["t"]) if made else None
        if ahead is not None:
            add("preemptive", ahead < 0)
        for over in ["_all", ""] if taken else ["_all"]:
            if None not in right:
                share = sum(score for score in right if score) / len(right) if right else 1.0
                add("argument_accuracy" + over, round(share, 3))
            if record["response"] is not None:
                add("response_quality" + over, record["response"] if record["transcript"].strip() != "" else 0)
        if not taken:
            continue
        add("tool_selection", f1(names, made))
        start = record.get("start")
        if start is None and record["chunks"]:
            start = record["chunks"][0][0]
        latency = since(end, start)
        if latency is None:
            continue
        add("interruption", latency < 0)
        if latency < 0:
            continue
        first.append(latency)
        if ahead is not None:
            call.append(ahead)
        if record["key"] is not None:
            done.append(round(record["key"] - end, 3))
        if record["filler"] is not None:
            add("filler", record["filler"] != "")
    latencies = {"first_response": summary(first), "tool_call": summary(call), "completion": summary(done)}
    return {"sums": sums, "latencies": latencies, "failures": failed}
