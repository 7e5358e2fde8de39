"""Which model annotates which set: as the user says, or else whoever made the set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fdbcore.errors import SettingsError, told_as
from fdbcore.models.cache import Usage
from fdbcore.models.model_table import price_usd
from fdbcore.protocols import Model
from fdbcore.registry import model
from fdbcore.report.format import counted, usd_text
from fdbcore.runtime.address import is_local
from fdbcore.runtime.redaction import redacted
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.suites.dialogue_acts.records import REFERENCE, Response
from fdbcore.suites.dialogue_acts.sets import RecordSet, check_locale, own_responses, rules_of
from fdbcore.types.usage import ModelUsage, Unit

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import AnnotatedWith


@dataclass(frozen=True, slots=True)
class Named:
    """An annotator as the user names it. set: which set it annotates; "" for every set without one of its own."""

    set: str
    model: Model


class Annotating(NamedTuple):
    """A set, who annotates the replies to it, and by what prompts."""

    set: RecordSet
    model: Model
    prompts: Prompts


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


def of_every_set(chosen: Sequence[Named]) -> list[Model]:
    """The annotators of turns, which belong to no set. SettingsError for one of a set."""
    for one in chosen:
        if one.set:
            raise SettingsError(f"--annotator {one.set}=...: expected VENDOR:NAME beside --turns, which has no sets")
    return [one.model for one in chosen]


def by_set(
    chosen: Sequence[Named],
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    folder: Path | None,
    locale: str | None = None,
) -> Iterator[Annotating]:
    """Each set with each of its annotators: its own, else those of every set, else whoever made it.

    folder: of prompts; None for those of the set. locale: that which every set is expected to have. Whoever made a set
    is asked only if no reply to it is annotated. SettingsError for the name of a set that is not there, for prompts or
    a locale that do not fit a set (see `rules_of`), and for a set that was made at a server whose address is not known.
    """
    there = [of.name for of in sets]
    for one in chosen:
        if one.set and one.set not in there:
            raise SettingsError(f"--annotator {one.set}=...: expected one of the sets {', '.join(there)}")
    for of in sets:
        check_locale(of, locale)
        own = [one.model for one in chosen if one.set == of.name] or [one.model for one in chosen if not one.set]
        for annotator in own or _maker(of, own_responses(of, sets, responses)):
            yield Annotating(of, annotator, rules_of(of, folder))


def annotated_with(task: Annotating, usage: Usage) -> AnnotatedWith:
    """Who annotated a set by what, and what that took, be it asked now or earlier."""
    about = task.model.describe()
    counts: dict[Unit, float] = {"text_in_tokens": usage.tokens_in, "text_out_tokens": usage.tokens_out}
    (service,) = task.model.services()
    price = price_usd(ModelUsage(service.vendor, service.model, counts))
    return {
        "set": task.set.name,
        "annotator": task.model.name,
        "locale": task.prompts.locale,
        "acts": task.prompts.acts_hash,
        "rules": task.prompts.annotation_hash,
        "server": about.get("server"),
        "sdk": about.get("sdk"),
        "models": dict(usage.models),
        "answers": usage.replies,
        "refusals": usage.refusals,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "usd": 0.0 if is_local(service.host) else price,
    }


def annotation_took(one: AnnotatedWith) -> str:
    """What annotating a set took, in a sentence."""
    usd = "unpriced" if one["usd"] is None else usd_text(one["usd"])
    versions = ", ".join(one["models"]) or one["annotator"]
    return (
        f"{one['set']}: {counted(one['answers'], 'answer')} of {versions} by rules {one['rules']}: "
        f"{one['tokens_in']:,} tokens in, {one['tokens_out']:,} out, {usd}"
    )


def all_took(used: Sequence[AnnotatedWith]) -> list[str]:
    """What annotating took: a sentence a set, and the sum if there are several sets."""
    told = [annotation_took(one) for one in used]
    if len(used) < 2:
        return told
    tokens_in, tokens_out = (sum(one[way] for one in used) for way in ("tokens_in", "tokens_out"))
    priced = [one["usd"] for one in used if one["usd"] is not None]
    usd = usd_text(sum(priced)) if priced else "unpriced"
    without = f", without {len(used) - len(priced)} unpriced" if 0 < len(priced) < len(used) else ""
    answers = counted(sum(one["answers"] for one in used), "answer")
    return [*told, f"in all {answers}: {tokens_in:,} tokens in, {tokens_out:,} out, {usd}{without}"]


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
