"""Scores of recordings: their quantities, pooled over sessions, with intervals, counts and exclusions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired, TypedDict

from msgspec import Meta

from fdbcore._version import __version__
from fdbcore.analysis.summaries import Measures, summarise_beside
from fdbcore.errors import RecordingError, writes
from fdbcore.measures import quantities as stored
from fdbcore.measures.answers import response_curve
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.caveats import caveats
from fdbcore.measures.compat import compat
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.findings import Finding, findings, nothing_to_measure
from fdbcore.measures.health.finding import OFF_THE_CLOCK
from fdbcore.measures.labelled import labelled_quantities
from fdbcore.measures.quantities import Quantity
from fdbcore.measures.reading import Reading
from fdbcore.measures.recoveries import recovery_quantities
from fdbcore.measures.timing import timing_quantities
from fdbcore.recording.files import (
    ACTIVITY,
    AUDIO,
    HEALTH,
    LABELS,
    META,
    QUANTITIES,
    SCORES,
    json_text,
    read_bytes,
    read_json,
    write_bytes,
    write_json,
)
from fdbcore.recording.form import damaged, kept_of_form
from fdbcore.recording.meta import Settings
from fdbcore.recording.places import PLACES, with_changed
from fdbcore.recording.reader import Recording
from fdbcore.types.units import Count


class ResponseCurve(TypedDict):
    """The share of its opportunities that B has begun to answer after x ms: the latencies of at most x over all."""

    latency_ms: list[int]
    eligible: Count


class Curves(TypedDict):
    """Curves, for drawing."""

    response: ResponseCurve


class KeptQuantities(TypedDict):
    """The quantities of a call by name, as `measures.quantities.to_json` writes them."""

    schema: Literal["fdbcore.quantities/2"]
    fdbcore: NotRequired[str]
    made_from: NotRequired[Annotated[dict[str, str | None], Meta(description="of each file that they rest on: a hash")]]
    quantities: dict[str, dict[str, Any]]
    with_echo: Annotated[dict[str, dict[str, Any]], Meta(description="those that differ if echo counts as speech")]
    sealed: NotRequired[Annotated[str, Meta(description="the hash of what stands before it, and of scores.json")]]


class CallScores(TypedDict):
    """The scores of a recording, as they are kept with it."""

    schema: Literal["fdbcore.scores/2"]
    settings: Settings
    measures: Measures
    curves: Curves
    findings: list[Finding]
    warnings: list[str]
    unscored: NotRequired[Annotated[str, Meta(description="why there are no measures")]]


SCORES_SCHEMA: Final = "fdbcore.scores/2"
QUANTITIES_SCHEMA: Final = "fdbcore.quantities/2"

_SCORED_FROM: Final = (META, HEALTH, LABELS, "derived/B.json")
"""With the hashes that META has, all that quantities come from."""
_OF_NO_MATTER: Final = ("created", "platform", "versions")
"""Of META."""
_OF_LATER_CALLS: Final = ("again", "usd")
"""Of an outcome: written when its case is to be held again, when its figures stand."""
_SEALED: Final = b', "sealed": "'


def score(reading: Reading, keep: bool = True) -> CallScores:
    """The scores of a recording; also written to its derived data, as are its quantities, and its health if none is
    there, unless not `keep`. They depend on the recording alone.
    """
    reason = unscored(reading)
    latencies_ms, eligible = ([], 0) if reason else response_curve(reading.dialogue)
    found, with_echo = ({}, {}) if reason else _computed(reading)
    scores: CallScores = {
        "schema": SCORES_SCHEMA,
        "settings": reading.meta["settings"],
        "measures": summarise_beside([found] if found else [], [with_echo] if found else []),
        "curves": {"response": {"latency_ms": latencies_ms, "eligible": eligible}},
        "findings": [] if reason else findings(reading),
        "warnings": warnings(reading),
    }
    if reason:
        scores["unscored"] = reason
    if not keep:
        return scores
    items = {"quantities": found, "with_echo": with_echo}
    values = {key: {name: stored.to_json(item) for name, item in each.items()} for key, each in items.items()}
    if reading.health is not None and not (reading.path / HEALTH).is_file():
        write_json(reading.path / HEALTH, reading.health)
    made = {"schema": QUANTITIES_SCHEMA, "fdbcore": __version__, "made_from": _hashes(reading)}
    of_quantities, of_scores = (json_text(each).encode("utf-8", "backslashreplace") for each in (made | values, scores))
    with writes(reading.path / QUANTITIES):  # so that nobody, killed or not, leaves or meets those of other scores
        (reading.path / QUANTITIES).unlink(missing_ok=True)
    write_bytes(reading.path / SCORES, of_scores)
    write_bytes(reading.path / QUANTITIES, _sealed(of_quantities, of_scores))
    reading.kept_figures = None
    return scores


def _sealed(of_quantities: bytes, of_scores: bytes) -> bytes:
    """The JSON of quantities with a hash that binds it to the scores that were written with it."""
    head = of_quantities.removesuffix(b"}\n")
    return head + _SEALED + hashlib.sha256(head + of_scores).hexdigest().encode() + b'"}\n'


def _hashes(reading: Reading) -> dict[str, str | None]:
    """Of each file that quantities come from, what decides them, as a hash: wherever the files lie that it names."""
    found: dict[str, str | None] = {ACTIVITY: reading.meta.get("sha256s", {}).get(ACTIVITY)}
    for part in _SCORED_FROM:
        with suppress(RecordingError):
            value = read_json(reading.path / part) if (reading.path / part).is_file() else None
            if part == META and isinstance(value, dict):
                value = {name: each for name, each in value.items() if name not in _OF_NO_MATTER}
                if "source" in value and isinstance(sha256s := value.get("sha256s"), dict):
                    value["sha256s"] = {name: each for name, each in sha256s.items() if name != AUDIO}
                if isinstance(outcome := value.get("outcome"), dict):
                    value["outcome"] = {name: each for name, each in outcome.items() if name not in _OF_LATER_CALLS}
            said = json.dumps(with_changed(value, lambda place: "", PLACES, ()))
            found[part] = None if value is None else hashlib.sha256(said.encode()).hexdigest()
    return found


def unscored(recording: Recording) -> str | None:
    """The reason why a recording has no measures; None if it has.

    It has none if it is invalid, never began, has no speech at all, was answered in text, or if the recorder put its
    sides where they were not heard (OFF_THE_CLOCK), unless --count-bad-input was given. A call in which the system
    failed has measures: the turns that it did not answer are in the denominators.
    """
    outcome = recording.outcome
    kind, reason = (outcome["kind"], outcome["reason"]) if outcome else (None, None)
    if outcome and (kind == "invalid" or (kind == "failed" and not recording.n_ticks) or (kind == "done" and reason)):
        who = f"side {outcome['side']}: " if outcome.get("side") else ""
        return f"{kind}: {who}{reason}"
    if not recording.n_ticks:
        return "nothing was recorded"
    with suppress(RecordingError):  # whoever reads the damaged part reports it
        return None if outcome else nothing_to_measure(recording) or _off_the_clock(recording)
    return None


def _off_the_clock(recording: Recording) -> str | None:
    is_live = any(party.get("kind") != "replay" for party in recording.parties.values())
    if is_live or recording.meta["settings"].get("count_bad_input") or (health := recording.health) is None:
        return None
    found = [each["text"] for each in health["findings"] if each["id"] in OFF_THE_CLOCK and each["severity"] == "bad"]
    return f"{found[0]}: not in the figures (--count-bad-input: it counts)" if found else None


def quantities(reading: Reading) -> dict[str, Quantity]:
    """All quantities that can be computed from a recording.

    They exclude echo, except those by the rules of published benchmarks, which ignore it.
    """
    found = _quantities_of(reading, reading.dialogue) | compat(reading)
    return {name: stored.without_spans(quantity) for name, quantity in found.items()}


def with_spans(reading: Reading) -> dict[str, Quantity]:
    """The same quantities with the spans of what they count, but without what chance would give."""
    return _quantities_of(reading, reading.dialogue, with_chance=False) | compat(reading)


def _quantities_of(reading: Reading, dialogue: Dialogue, with_chance: bool = True) -> dict[str, Quantity]:
    """The quantities of a dialogue of the recording, including those by labels, if there are labels."""
    found, labels = timing_quantities(dialogue, with_chance), reading.labels
    if labels:
        found |= labelled_quantities(dialogue, labels) | recovery_quantities(dialogue, labels, reading.spoken("B"))
    return found


def read_quantities(reading: Reading) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """The quantities that `score` stored for a recording, and those that differ if echo counts as speech.

    Both are empty if it is unscored. They are computed if none are stored, or if another version of fdbcore stored them
    by other definitions, or if what they rest on is damaged or another now. Raises RecordingError if they cannot be
    read, or are not as they were written.
    """
    kept = _kept(reading)
    return _computed(reading) if kept is None or reading.damaged_beside else kept[:2]


class _Kept(NamedTuple):
    """The stored figures of a recording. version: of fdbcore, that stored them. scores: as they were written."""

    quantities: dict[str, Quantity]
    with_echo: dict[str, Quantity]
    scores: CallScores
    version: str | None


def _kept(reading: Reading) -> _Kept | None:
    """The stored figures; None if scoring again might not only repeat them. The recording keeps them if it has any."""
    kept = reading.kept_figures
    if not isinstance(kept, _Kept):
        kept = reading.kept_figures = _read_kept(reading)
    return kept


def _read_kept(reading: Reading) -> _Kept | None:
    path, scores = reading.path / QUANTITIES, reading.path / SCORES
    kept = kept_of_form(path, QUANTITIES_SCHEMA, KeptQuantities)
    if kept is None:
        return None
    found = _quantities_in(reading, kept["quantities"]), _quantities_in(reading, kept["with_echo"])
    if kept_of_form(scores, SCORES_SCHEMA, CallScores) is None or "sealed" not in kept:
        return None
    data, of_scores = read_bytes(path), read_bytes(scores)
    if data != _sealed(data.rpartition(_SEALED)[0] + b"}\n", of_scores):
        raise damaged(path, f"it and {SCORES} are not as they were written together")
    then, now = kept.get("made_from", {}), _hashes(reading)
    if then.get(ACTIVITY) != now[ACTIVITY]:
        raise damaged(path, f"made from another {ACTIVITY}")
    for part in (META, HEALTH) if META in then else ():
        if then.get(part) != now.get(part):
            raise damaged(reading.path / part, f"not the one that {QUANTITIES} was made from")
    # The scores as they were written: whole numbers stay whole.
    return _Kept(*found, json.loads(of_scores), kept.get("fdbcore")) if then == now else None


def _quantities_in(reading: Reading, items: Mapping[str, Any]) -> dict[str, Quantity]:
    try:
        found = stored.all_from_json(items)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(reading.path / QUANTITIES, str(error)) from error
    for name, values in items.items():  # only what is of one kind and unit pools with that of other calls
        got = values["kind"], values.get("unit", "share")
        if name in MEASURES and got != (expected := (MEASURES[name].quantity, MEASURES[name].unit)):
            wrong = f"{name}: expected {' in '.join(expected)}, got {' in '.join(got)}"
            raise damaged(reading.path / QUANTITIES, wrong)
    return found


def current_quantities(reading: Reading) -> dict[str, Quantity] | None:
    """The quantities that this version of fdbcore stored, if scoring again would only repeat them; None if not."""
    with suppress(RecordingError):
        if (kept := _kept(reading)) and kept.version == __version__ and not reading.damaged_beside:
            return kept.quantities
    return None


def _computed(reading: Reading) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    found = quantities(reading)
    counting_echo = _quantities_of(reading, reading.dialogue_with_echo) if reading.has_suspects else {}
    differing = {name: quantity for name, quantity in counting_echo.items() if quantity != found.get(name)}
    return found, {name: stored.without_spans(quantity) for name, quantity in differing.items()}


def warnings(recording: Recording) -> list[str]:
    """The warnings that a reader must see before any number; `findings` adds those about the conversation itself."""
    found, original = [], recording.original_meta
    if original is not recording.meta and original["status"] == "running":
        found.append("the recording was cut off while the conversation went on")
    elif original is not recording.meta and original["status"] != "complete":
        found.append(f"the recording of the conversation is {original['status']}: {original['reason']}")
    labels = recording.labels
    return found + recording.damaged_beside + caveats(recording) + list(labels.notes if labels else ())


def pooled_measures(readings: Sequence[Reading]) -> Measures:
    """The measures of those recordings that can be scored, pooled, with intervals over recordings."""
    pooled = [read_quantities(reading) for reading in readings if unscored(reading) is None]
    return summarise_beside([found for found, _ in pooled], [with_echo for _, with_echo in pooled])


def read_scores(reading: Reading, keep: bool = True) -> CallScores:
    """The scores that `score` wrote for a recording. It is scored now if they might be others. keep: and they are kept.

    Raises RecordingError if they cannot be read.
    """
    kept = _kept(reading)
    return score(reading, keep) if kept is None or reading.damaged_beside else kept.scores


def check(reading: Reading) -> None:
    """RecordingError if a file that figures of a recording come from is damaged, what `score` stored included.

    One rule for all commands: such a call counts nowhere. What is damaged beside it is in `damaged_beside`.
    """
    reading.check()
    check_figures(reading)


def check_figures(reading: Reading) -> None:
    """RecordingError if what `score` stored is damaged, or what it was made from is another now."""
    _kept(reading)
