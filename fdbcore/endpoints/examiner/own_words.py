"""The words of a live party, by what was heard of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fdbcore.types import TICK_MS, TICKS_PER_S, Happening
from fdbcore.types.system_events import INTERRUPTED, ITEM, TRANSCRIPT

LATE_S: Final = 2.0
"""A transcript may come so long after its words were heard."""


class OwnWords:
    """Gathers what a party tells of its own words, item by item, and gives them out by sayings, in their order.

    unheard_ms: of the present saying, what had come and was cut short.
    """

    def __init__(self) -> None:
        self.unheard_ms = 0
        self._texts: list[tuple[str, str]] = []  # by item, until they are told
        self._heard: list[str] = []  # items, since the present saying began
        self._dropped: set[str] = set()
        self._takes_back = False
        self._saying = ""  # that is not told yet
        self._start_tick = 0
        self._end_tick: int | None = None
        self._happened: list[Happening] = []

    @property
    def are_over(self) -> bool:
        """Whether an item of the present saying was heard to its end, or was cut short."""
        return bool(self._heard)

    def begin(self, saying: str, tick: int) -> None:
        """What is heard from now on is this saying."""
        self._tell(tick)
        self._saying, self._start_tick, self._end_tick = saying, tick, None
        self._heard, self._takes_back, self.unheard_ms = [], False, 0

    def end(self, tick: int) -> None:
        """The saying is over."""
        self._end_tick = tick

    def take_back(self) -> None:
        """What is cut short before the next saying begins was not heard at all."""
        self._takes_back = True

    def take(self, happened: Iterable[Happening]) -> list[Happening]:
        """Take the words, and what was heard of them, out of a party's log; return the rest."""
        rest = []
        for each in happened:
            item = str(each.fields.get("item"))
            if each.kind == TRANSCRIPT and each.fields.get("of") == "self":
                if item not in self._dropped:
                    self._texts.append((item, str(each.fields["text"])))
            elif each.kind == INTERRUPTED and self._takes_back:
                self._dropped.add(item)
                self._texts = [told for told in self._texts if told[0] != item]
            elif each.kind in (ITEM, INTERRUPTED):
                self._heard.append(item)
                if each.kind == INTERRUPTED:
                    self.unheard_ms += int(each.fields["said_ms"]) - int(each.fields["heard_ms"])
            else:
                rest.append(each)
        return rest

    def told(self, tick: int) -> Sequence[Happening]:
        """The words of the saying before `tick`, once they are known."""
        if self._saying and self._end_tick is not None:
            known = {item for item, _ in self._texts}
            are_all_known = bool(self._heard) and known.issuperset(self._heard)
            if are_all_known or tick >= self._end_tick + LATE_S * TICKS_PER_S:
                self._tell(tick)
        happened, self._happened = self._happened, []
        return happened

    def _tell(self, tick: int) -> None:
        """Tell the words of the saying, as far as they are known: there is one text for each."""
        if not self._saying:
            return
        text = " ".join(text.strip() for item, text in self._texts if item in self._heard)
        self._texts = [told for told in self._texts if told[0] not in self._heard]
        end_ms = (tick if self._end_tick is None else self._end_tick) * TICK_MS
        times = {"start_ms": self._start_tick * TICK_MS, "end_ms": end_ms}
        fields = {"of": "self", "text": text, "item": self._saying, **times}
        self._happened.append(Happening(tick, TRANSCRIPT, fields))
        self._saying = ""
