"""A suite's statements on a call, for its page: remarks on spans of it, in rows, and facts about the whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Remark:
    """A suite's statement on a span of a call, in ticks; it may have no length.

    name: a few characters, for a bar of the timeline ("1 met"). text: the same in words. lines: more about it, each a
    sentence. is_fault: whether it tells of a failure; such bars are hatched.
    """

    start_tick: int
    end_tick: int
    name: str
    text: str
    lines: Sequence[str] = ()
    is_fault: bool = False


@dataclass(frozen=True, slots=True)
class RemarkRow:
    """Remarks that share a row of the timeline.

    title: at most ten characters, beside the row. about: what its bars are, for the legend. is_first: whether its
    remarks stand before what was said at the same time, as headings do, and not after it.
    """

    title: str
    about: str
    remarks: Sequence[Remark]
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class CallRemarks:
    """All that a suite says of a call. facts: about the whole, each a name and a text."""

    facts: Sequence[tuple[str, str]] = ()
    rows: Sequence[RemarkRow] = ()


NO_REMARKS: Final = CallRemarks()
