"""Scores of one or several recordings: quantities pooled over sessions, with intervals, counts and exclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import numpy.typing as npt

from fdbcore.errors import RecordingError
from fdbcore.measures import quantities as stored
from fdbcore.measures.answers import response_curve
from fdbcore.measures.catalogue import differences
from fdbcore.measures.caveats import caveats
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.fdb_v1 import compat
from fdbcore.measures.findings import findings, nothing_to_measure
from fdbcore.measures.labelled import labelled
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.measures.reading import Reading
from fdbcore.measures.recoveries import recoveries
from fdbcore.measures.timing import timing
from fdbcore.recording.files import QUANTITIES, SCORES, read_json, write_json
from fdbcore.recording.reader import Recording
from fdbcore.stats import bootstrap as stats
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Measures, PooledRecordings, Scores, Summary

SCORES_SCHEMA: Final = "fdbcore.scores/2"
QUANTITIES_SCHEMA: Final = "fdbcore.quantities/2"
SUMMARY_SCHEMA: Final = "fdbcore.summary/2"

Quantities = Mapping[str, Quantity]


def score(reading: Reading) -> Scores:
    """The scores of a recording; also written to its derived data, as are its quantities. A function of the recording.

    Keys: schema, measures {id: {n, median, p90, mean, ci95, unit, excluded, ...}}, curves, findings, warnings; and
    unscored, the reason why there are no measures, where a conversation gives none. A measure that echo would change
    has a second summary, with_echo.
    """
    reason = unscored(reading)
    latencies_ms, eligible = ([], 0) if reason else response_curve(reading.dialogue)
    found, with_echo = ({}, {}) if reason else _computed(reading)
    scores: Scores = {
        "schema": SCORES_SCHEMA,
        "settings": reading.meta["settings"],
        "measures": summarise_beside([found] if found else [], [with_echo] if found else []),
        "curves": {"response": {"latency_ms": latencies_ms, "eligible": eligible}},
        "findings": [] if reason else [finding.to_json() for finding in findings(reading)],
        "warnings": warnings(reading),
    }
    if reason:
        scores["unscored"] = reason
    items = {"quantities": found, "with_echo": with_echo}
    kept = {key: {name: stored.to_json(item) for name, item in of.items()} for key, of in items.items()}
    write_json(reading.path / QUANTITIES, {"schema": QUANTITIES_SCHEMA, **kept}, in_one_line=True)
    write_json(reading.path / SCORES, scores, in_one_line=True)
    return scores


def unscored(recording: Recording) -> str | None:
    """Why a recording has no measures: it is invalid, by the fault of the harness, never began, holds no speech at all,
    or is no speech of B's.

    A system that has failed in a conversation that was held counts: what it did not answer is in the denominators.
    """
    outcome = recording.original_meta.get("outcome") or {}
    kind, reason = outcome.get("kind"), outcome.get("reason")
    if kind == "invalid" or (kind == "failed" and not recording.n_ticks) or (kind == "done" and reason):
        who = f"side {outcome['side']}: " if outcome.get("side") else ""
        return f"{kind}: {who}{reason}"
    if not recording.n_ticks:
        return "nothing was recorded"
    with suppress(RecordingError):  # what is damaged is told where it is read
        return None if outcome else nothing_to_measure(recording)
    return None


def quantities(reading: Reading) -> dict[str, Quantity]:
    """Every quantity that a recording has the material for.

    None is of echo, but those under the names and rules of published benchmarks, which know of none.
    """
    return _told(reading, reading.dialogue) | compat(reading)


def _with_echo(reading: Reading, found: Quantities) -> dict[str, Quantity]:
    """Those quantities that are others where echo counts as speech."""
    told = _told(reading, reading.dialogue_with_echo) if reading.has_suspects else {}
    return {name: quantity for name, quantity in told.items() if quantity != found.get(name)}


def _told(reading: Reading, dialogue: Dialogue) -> dict[str, Quantity]:
    """The quantities of a dialogue, and those by labels, where there are any."""
    found, labels = timing(dialogue), reading.labels
    if labels:
        found |= labelled(dialogue, labels) | recoveries(dialogue, labels, reading.spoken("B"))
    return found


def read_quantities(reading: Reading) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """The quantities that `score` kept for a recording, and those of them that echo would change, with it.

    None if it is unscored; computed if it was scored by a version that kept none, or others. RecordingError if they
    cannot be read.
    """
    path = reading.path / QUANTITIES
    if not path.is_file():
        return _computed(reading)
    try:
        kept = read_json(path)
        if kept["schema"] != QUANTITIES_SCHEMA:  # what is compared is by one definition
            return _computed(reading)
        found, with_echo = (
            {name: stored.from_json(values) for name, values in items.items()}
            for items in (kept["quantities"], kept["with_echo"])
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordingError(f"{path}: expected quantities of schema {QUANTITIES_SCHEMA}, got {error!r}") from error
    return found, with_echo


def _computed(reading: Reading) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    found = quantities(reading)
    return found, _with_echo(reading, found)


def warnings(recording: Recording) -> list[str]:
    """What a reader must know before any number, beside what was found in the call itself."""
    labels = recording.labels
    return _cut_off(recording) + caveats(recording) + list(labels.notes if labels else ())


def _cut_off(recording: Recording) -> list[str]:
    """That the recording which this one replays is not whole."""
    held = recording.original_meta
    if held is recording.meta or held["status"] == "complete":
        return []
    if held["status"] == "running":
        return ["the recording was cut off while the conversation went on"]
    return [f"the recording of the conversation is {held['status']}: {held['reason']}"]


def summary(readings: Sequence[Reading]) -> PooledRecordings:
    """The measures of a run: those of all its recordings pooled, with intervals over recordings.

    Recordings that cannot be scored are no part of them: "unscored" names these, with the reason.
    """
    reasons = {reading.name: reason for reading in readings if (reason := unscored(reading))}
    pooled = [read_quantities(reading) for reading in readings if reading.name not in reasons]
    measures = summarise_beside([found for found, _ in pooled], [with_echo for _, with_echo in pooled])
    names = [reading.name for reading in readings]
    return {"schema": SUMMARY_SCHEMA, "recordings": names, "unscored": reasons, "measures": measures}


def summarise_beside(sessions: Sequence[Quantities], with_echo: Sequence[Quantities]) -> Measures:
    """`summarise`, and in each summary that echo would change: that, as "with_echo".

    with_echo: of each session, the quantities that are others then.
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

    Nothing has an interval of one cluster. A summary's "clusters" says how many there are that have the measure; of a
    share, "clusters_with_either" how many have the event, or lack it, whichever are fewer.
    """
    of = [f"{number:09}" for number in range(len(sessions))] if clusters is None else clusters
    ids = dict.fromkeys(name for session in sessions for name in session)
    return {name: _summary(*pool(name, sessions, of)) for name in ids} | _differences(sessions, of)


def _differences(sessions: Sequence[Quantities], clusters: Sequence[str]) -> Measures:
    names = sorted(set(clusters))
    found: Measures = {}
    for difference, ids in differences().items():
        pools = [pool(name, sessions, clusters) for name in ids]
        counts = [share_by_cluster([q for q in of if isinstance(q, Share)], by, names) for of, by in pools]
        if all(trials.sum() for _, trials in counts):
            found[difference] = _difference(*counts)
    return found


def _difference(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> Summary:
    """a, b: counts and trials by cluster, (2, k)."""
    estimate = wilson_difference(*a, *b)
    n_a, n_b = (int(trials.sum()) for _, trials in (a, b))
    return {
        "n": n_a + n_b,
        "median": None,
        "p90": None,
        "mean": estimate.value,
        "ci95": estimate.interval,
        "unit": "share",
        "excluded": {},
        "of": (n_a, n_b),
        "clusters": estimate.clusters,
    }


def pool(name: str, sessions: Sequence[Quantities], clusters: Sequence[str]) -> tuple[list[Quantity], list[str]]:
    """The quantities `name` of those sessions that have it, and the cluster of each."""
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
    """Counts and trials of each of the clusters `names` (sorted, k of them), (2, k)."""
    numbers = np.searchsorted(names, clusters)
    columns = ([q.count for q in pooled], [q.n for q in pooled])
    return np.array([np.bincount(numbers, weights=column, minlength=len(names)) for column in columns])


def _ratio(pooled: Sequence[Ratio], clusters: Sequence[str]) -> Summary:
    rows = np.array([(q.total, q.exposure) for q in pooled])
    ratio = stats.bootstrap_ci(rows, clusters, stats.ratio_of_sums)
    return {
        "n": sum(q.n for q in pooled),
        "median": None,
        "p90": None,
        "mean": ratio.value,
        "ci95": ratio.interval,
        "unit": pooled[0].unit,
        "excluded": {},
    }


def read_scores(reading: Reading) -> Scores:
    """The scores that `score` wrote for a recording; it is scored if it has not been, or by other definitions."""
    path = reading.path / SCORES
    if not path.is_file():
        return score(reading)
    kept = read_json(path)
    if not (isinstance(kept, dict) and "measures" in kept):
        raise RecordingError(f"{path}: expected scores, got something else")
    return cast("Scores", kept) if kept.get("schema") == SCORES_SCHEMA else score(reading)
