"""Scores of recordings: their quantities, pooled over sessions, with intervals, counts and exclusions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore._version import __version__
from fdbcore.analysis.summary_types import KeptQuantities, Measures, Scores, Summary
from fdbcore.errors import RecordingError, writes
from fdbcore.measures import quantities as stored
from fdbcore.measures.answers import response_curve
from fdbcore.measures.catalogue import MEASURES, differences
from fdbcore.measures.caveats import caveats
from fdbcore.measures.compat import compat
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.findings import findings, nothing_to_measure
from fdbcore.measures.health.finding import OFF_THE_CLOCK
from fdbcore.measures.labelled import labelled_quantities
from fdbcore.measures.measure import Unit
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
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
from fdbcore.recording.places import PLACES, with_changed
from fdbcore.recording.reader import Recording
from fdbcore.stats import bootstrap as stats
from fdbcore.stats.bootstrap import Estimate
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference

SCORES_SCHEMA: Final = "fdbcore.scores/2"
QUANTITIES_SCHEMA: Final = "fdbcore.quantities/2"

_SCORED_FROM: Final = (META, HEALTH, LABELS, "derived/B.json")
"""With the hashes that META has, all that quantities come from."""
_OF_NO_MATTER: Final = ("created", "platform", "versions")
"""Of META."""
_OF_LATER_CALLS: Final = ("again", "usd")
"""Of an outcome: written when its case is to be held again, when its figures stand."""
_SEALED: Final = b', "sealed": "'

Quantities = Mapping[str, Quantity]


def score(reading: Reading, keep: bool = True) -> Scores:
    """The scores of a recording; also written to its derived data, as are its quantities, and its health if none is
    there, unless not `keep`. They depend on the recording alone.
    """
    reason = unscored(reading)
    latencies_ms, eligible = ([], 0) if reason else response_curve(reading.dialogue)
    found, with_echo = ({}, {}) if reason else _computed(reading)
    scores: Scores = {
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
    """Why a recording has no measures; None if it has.

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
    scores: Scores
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
    if kept_of_form(scores, SCORES_SCHEMA, Scores) is None or "sealed" not in kept:
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


def summarise_beside(sessions: Sequence[Quantities], with_echo: Sequence[Quantities]) -> Measures:
    """`summarise`, and in each summary that echo would change: that, as "with_echo".

    with_echo: per session, the quantities that differ if echo counts as speech.
    """
    names = {name for session in with_echo for name in session}
    names.update(*(ids for ids in differences().values() if names & set(ids)))
    whole = [{**session, **other} for session, other in zip(sessions, with_echo, strict=True)] if names else []
    beside = summarise([{name: session[name] for name in names if name in session} for session in whole])
    measures = summarise(sessions)
    for name, found in measures.items():
        if beside.get(name, found) != found:
            found["with_echo"] = beside[name]
    return measures


def summarise(sessions: Sequence[Quantities], clusters: Sequence[str] | None = None) -> Measures:
    """One summary an id over all sessions. clusters: of each session, the unit that intervals resample; else itself.

    clusters: per session, the unit that intervals resample; None for the sessions themselves. With one cluster there is
    no interval. "clusters" is the number of clusters that have the measure; for a share, "clusters_with_either" is the
    number of clusters that have the event, or that lack it, whichever is smaller.
    """
    units = [f"{number:09}" for number in range(len(sessions))] if clusters is None else clusters
    ids = dict.fromkeys(name for session in sessions for name in session)
    return {name: _summary(*pool(name, sessions, units)) for name in ids} | _differences(sessions, units)


def _differences(sessions: Sequence[Quantities], clusters: Sequence[str]) -> Measures:
    names = sorted(set(clusters))
    found: Measures = {}
    for difference, ids in differences().items():
        pools = [pool(name, sessions, clusters) for name in ids]
        counts = [
            share_by_cluster([quantity for quantity in pooled if isinstance(quantity, Share)], clusters_of, names)
            for pooled, clusters_of in pools
        ]
        if all(trials.sum() for _, trials in counts):
            found[difference] = _difference(*counts)
    return found


def _difference(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> Summary:
    """The summary of the difference of two shares. a, b: counts and trials by cluster, (2, k) each."""
    estimate = wilson_difference(*a, *b)
    n_a, n_b = (int(trials.sum()) for _, trials in (a, b))
    found = _without_median(n_a + n_b, estimate, "share")
    found["of"], found["clusters"] = (n_a, n_b), estimate.clusters
    return found


def _without_median(n: int, estimate: Estimate, unit: Unit) -> Summary:
    """The summary of a figure that is no median of items."""
    return {
        "n": n,
        "median": None,
        "p90": None,
        "mean": estimate.value,
        "ci95": estimate.interval,
        "unit": unit,
        "excluded": {},
    }


def pool(name: str, sessions: Sequence[Quantities], clusters: Sequence[str]) -> tuple[list[Quantity], list[str]]:
    """The quantities of the measure `name`, from the sessions that have it, and the cluster of each."""
    found = [(s[name], cluster) for s, cluster in zip(sessions, clusters, strict=True) if name in s]
    return [quantity for quantity, _ in found], [cluster for _, cluster in found]


def _summary(pooled: Sequence[Quantity], clusters: Sequence[str]) -> Summary:
    if isinstance(pooled[0], Share):
        found = _share([q for q in pooled if isinstance(q, Share)], clusters)
    elif isinstance(pooled[0], Ratio):
        found = _ratio([q for q in pooled if isinstance(q, Ratio)], clusters)
    else:
        found = _values([q for q in pooled if isinstance(q, Values)], clusters)
    found["clusters"] = len(set(clusters))
    return found


def _excluded(pooled: Sequence[Values | Share]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for quantity in pooled:
        counts.update(quantity.excluded)
    return {reason: count for reason, count in counts.items() if count}


def _values(pooled: Sequence[Values], clusters: Sequence[str]) -> Summary:
    values = np.array([value for q in pooled for value in q.values])
    of_values = np.repeat(clusters, [len(q.values) for q in pooled])
    median = stats.bootstrap_ci(values, of_values, stats.MEDIAN)
    p95 = stats.bootstrap_ci(values, of_values, stats.Quantile(0.95))
    return {
        "n": len(values),
        "median": median.value,
        "p90": stats.quantile(values, 0.9),
        "p95": p95.value,
        "p95_ci95": p95.interval,
        "mean": float(values.mean()) if len(values) else None,
        "max": float(values.max()) if len(values) else None,
        "ci95": median.interval,
        "unit": pooled[0].unit,
        "excluded": _excluded(pooled),
    }


def _share(pooled: Sequence[Share], clusters: Sequence[str]) -> Summary:
    count, n = sum(q.count for q in pooled), sum(q.n for q in pooled)
    counts, trials = share_by_cluster(pooled, clusters, sorted(set(clusters)))
    chances = [(q.chance, q.n) for q in pooled if q.chance is not None and q.n]
    weight = sum(weight for _, weight in chances)
    summary: Summary = {
        "n": n,
        "count": count,
        "median": None,
        "p90": None,
        "mean": count / n if n else None,
        "ci95": wilson_by_cluster(counts, trials),
        "unit": "share",
        "excluded": _excluded(pooled),
    }
    if n:
        summary["clusters_with_either"] = min(int((counts > 0).sum()), int((counts < trials).sum()))
    if chances:
        summary["by_chance"] = sum(chance * weight for chance, weight in chances) / weight
    return summary


def share_by_cluster(pooled: Sequence[Share], clusters: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.float64]:
    """The counts and trials of k clusters, (2, k). names: the sorted names of the clusters (k,)."""
    numbers = np.searchsorted(names, clusters)
    columns = ([q.count for q in pooled], [q.n for q in pooled])
    return np.array([np.bincount(numbers, weights=column, minlength=len(names)) for column in columns])


def _ratio(pooled: Sequence[Ratio], clusters: Sequence[str]) -> Summary:
    rows = np.array([(q.total, q.exposure) for q in pooled])
    ratio = stats.bootstrap_ci(rows, clusters, stats.ratio_of_sums)
    return _without_median(sum(q.n for q in pooled), ratio, pooled[0].unit)


def read_scores(reading: Reading, keep: bool = True) -> Scores:
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
