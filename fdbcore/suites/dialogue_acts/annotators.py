"""Which model annotates which set: as the user says, or else whoever made the set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols import Model
from fdbcore.registry import model
from fdbcore.runtime.redaction import redacted
from fdbcore.suites.dialogue_acts.records import REFERENCE, Response
from fdbcore.suites.dialogue_acts.sets import RecordSet, own_responses


@dataclass(frozen=True, slots=True)
class Named:
    """An annotator as the user names it. set: which set it annotates; "" for every set without one of its own."""

    set: str
    model: Model


def named(options: Mapping[str, Any]) -> list[Named]:
    """The annotators of the options: ADDRESS, or SET=ADDRESS."""
    with told_as("--annotator", "model"):
        return [_named(text) for text in options["annotator"]]


def _named(text: str) -> Named:
    of, sign, address = text.partition("=")
    if not sign or ":" in of or "?" in of:  # an address begins with its scheme
        return Named("", model(text))
    if not of or not address:
        raise SettingsError(f"model: expected SET=VENDOR:NAME, got {redacted(text)!r}")
    return Named(of, model(address))


def by_set(
    chosen: Sequence[Named], sets: Sequence[RecordSet], responses: Sequence[Response]
) -> Iterator[tuple[RecordSet, Model]]:
    """Each set with each of its annotators: its own, else those of every set, else whoever made it.

    Whoever made it is asked only if no reply to the set is annotated. SettingsError for the name of a set that is not
    there, and for a set that was made at a server whose address is not known.
    """
    there = [of.name for of in sets]
    for one in chosen:
        if one.set and one.set not in there:
            raise SettingsError(f"--annotator {one.set}=...: expected one of the sets {', '.join(there)}")
    for of in sets:
        own = [one.model for one in chosen if one.set == of.name] or [one.model for one in chosen if not one.set]
        for annotator in own or _maker(of, own_responses(of, sets, responses)):
            yield of, annotator


def _maker(of: RecordSet, responses: Sequence[Response]) -> list[Model]:
    """The model that made a set, if some reply to it is there and none is annotated."""
    replies = [response for response in responses if response.system != REFERENCE]
    if not of.made or not replies or any(reply.annotations for reply in replies):
        return []
    name, server = of.made["model"], of.made["server"]
    maker = model(name)
    if maker.describe().get("server") != server:
        raise SettingsError(
            f"{of.name}: expected its annotator, as it was made at {server}: "
            f"--annotator '{of.name}={name}?base_url=...&key_variable=...'"
        )
    return [maker]
