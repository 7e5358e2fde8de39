"""Settings that differ between runs, or between the calls of one; and the voice activity detectors that decided them:
whether they are of an earlier version, and whether two runs differ.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, TypeAlias

from fdbcore.analysis.corpus import Run
from fdbcore.errors import FdbError, SettingsError
from fdbcore.recording.meta import Settings
from fdbcore.registry import is_installed_vad, vad
from fdbcore.types import SAMPLE_RATE_HZ, SIDES

Leaves: TypeAlias = set[tuple[str, str]]

NO_SETTINGS: Final = ("bias_ms", "rate_hz")
"""The rate belongs to the call, such as one by telephone; earlier versions stated a bias of the detector."""

ANYWAY = "--different-settings"
_MOST_CHARACTERS: Final = 60  # of a value, which may be a whole text
_OF_A_CALL: Final = re.compile(r"(^| )(id|object|created|\w+_at|(session|call|conversation)_?id)$", re.IGNORECASE)


def differing_between(runs: Mapping[str, Iterable[Settings]]) -> list[str]:
    """The settings that differ between two runs, each by its name with the settings of its calls:
    "turns min_silence_ms: run 300, baseline 200"."""
    leaves = {name: _of(made_by) for name, made_by in runs.items()}
    first, second = leaves.values()
    return [
        f"{setting}: " + ", ".join(f"{name} {_values(of, setting)}" for name, of in leaves.items())
        for setting in _names(first ^ second)
    ]


def confirmed_unlike(run: Run, other: Run) -> list[str]:
    """Differences between two runs in the settings that systems confirmed, a line each; one line if there are none."""
    here, there = _confirmed(run), _confirmed(other)
    names = _names(here ^ there)
    found = [f"confirmed {name}: {_values(here, name)} here, {_values(there, name)} in {other.path}" for name in names]
    if not (here and there):
        found = [f"confirmed settings: {len(here) or 'none'} here, {len(there) or 'none'} in {other.path}"]
    return found or [f"confirmed settings: as in {other.path}"]


def _confirmed(run: Run) -> Leaves:
    """The settings that the systems confirmed in any call, with their names if there are several."""
    found: Leaves = set()
    are_several = len({call.columns.get("system") for call in run.calls}) > 1
    for call in run.calls:
        with suppress(FdbError):
            session = (call.recording.original_meta.get("parties") or {}).get("B", {}).get("session")
            leaves = _leaves({call.columns.get("system", "") if are_several else "": session})
            found |= {(name, value) for name, value in leaves if value != "null" and not _OF_A_CALL.search(name)}
    return found


def _names(differing: Leaves) -> Iterable[str]:
    return dict.fromkeys(setting for setting, _ in sorted(differing))


def differing_within(made_by: Sequence[Settings]) -> list[str]:
    """The settings that differ between calls of one run: "turns min_silence_ms: 200 and 300"."""
    every = [_of([settings]) for settings in made_by]
    differing: Leaves = {leaf for of_one in every for leaf in of_one if not all(leaf in other for other in every)}
    return [f"{setting}: {_values(differing, setting)}" for setting in _names(differing)]


def _of(made_by: Iterable[Settings]) -> Leaves:
    return {leaf for settings in made_by for leaf in _leaves(settings)}


def _leaves(settings: Mapping[str, object], name: str = "") -> Iterator[tuple[str, str]]:
    """The names and values of all settings that affect events."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name} {key}".strip())
        elif key not in NO_SETTINGS:
            yield f"{name} {key}".strip(), json.dumps(value)


def _values(leaves: Leaves, name: str) -> str:
    return " and ".join(sorted(value.strip('"')[:_MOST_CHARACTERS] for key, value in leaves if key == name)) or "none"


def detectors(made_by: Iterable[Settings]) -> list[str]:
    """The detectors of recordings with these settings, each once, such as "silero 0.4.0", by name."""
    return sorted({_text(settings["vad"][side]) for settings in made_by for side in SIDES})


def earlier(made_by: Iterable[Settings]) -> list[str]:
    """A line for each of our detectors that decided in another version than that of today."""
    described = {_text(settings["vad"][side]): settings["vad"][side] for settings in made_by for side in SIDES}
    return [
        f"voice activity was decided by {text}, which is {now} now: `fdbcore replay` renews it"
        for text, own in sorted(described.items())
        if (now := _version_now(own.get("name", ""))) is not None and own.get("version") not in (None, now)
    ]


def check_one_detector(run: Run) -> None:
    """SettingsError if the calls of a run were decided by several detectors."""
    if len(found := detectors(run.all_settings)) > 1:
        name = found[0].partition(" ")[0]
        raise SettingsError(
            f"{run.path}: expected one voice activity detector, got {' and '.join(found)}: "
            f"{_replay(run, name)} decides all of it anew"
        )


def check_same_detector(run: Run, baseline: Run, others: str = "") -> None:
    """SettingsError if two runs were decided by different detectors; it names the command that mends it.

    others: what else differs in their settings, to be told too.
    """
    of_run, of_baseline = (detectors(each.all_settings) for each in (run, baseline))
    if of_run == of_baseline:
        return
    if not of_run or not of_baseline:
        raise SettingsError(f"{run.path} and {baseline.path}: expected scored calls in both")
    stale, fresh = (run, of_baseline) if earlier(run.all_settings) else (baseline, of_run)
    raise SettingsError(
        f"expected one voice activity detector, got {' and '.join(of_run)} in {run.path} and "
        f"{' and '.join(of_baseline)} in {baseline.path}: {_replay(stale, fresh[0].partition(' ')[0])} decides it anew"
        f"{others} (or compare them anyway with {ANYWAY})"
    )


def _replay(run: Run, name: str) -> str:
    path = str(run.path)
    return f"`fdbcore replay {shlex.quote(path)} --vad {shlex.quote(name)} --out {shlex.quote(f'{path}-{name}')}`"


def _text(described: Mapping[str, Any]) -> str:
    return " ".join(str(described[key]) for key in ("name", "version") if key in described) or "unknown"


@cache
def _version_now(name: str) -> str | None:
    """None for what is not installed, and for one that cannot say it."""
    if not is_installed_vad(name):
        return None
    try:
        return str(vad(name)(source_rate_hz=SAMPLE_RATE_HZ).describe()["version"])
    except Exception:  # its extra is not installed, or it is of another package
        return None
