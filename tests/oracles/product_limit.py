"""The product-limit estimate, item by item: of those that are left at each time, the share that has no event then."""

from collections.abc import Sequence


def share_left(times: Sequence[float], is_event: Sequence[bool], at: float) -> float:
    share = 1.0
    for moment in sorted({time for time, event in zip(times, is_event, strict=True) if event and time <= at}):
        left = [time for time in times if time >= moment]
        gone = [time for time, event in zip(times, is_event, strict=True) if event and time == moment]
        share *= 1 - len(gone) / len(left)
    return share
