"""Engines that do the work: this machine, or the cluster that an address names."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from fdbcore.errors import told_as
from fdbcore.registry import ENGINES, STORE, resolve
from fdbcore.runs.held_here import HeldCalls
from fdbcore.runs.replay_jobs import Replays, replayed
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.session.converse import LiveSettings


class Engine(Executor, Protocol):
    """An executor of other machines, which hold live calls, too."""

    def held(self, run_path: Path, settings: LiveSettings, calls: int | None) -> HeldCalls:
        """The holder of a run's calls, so many at a time on each node; None for as many as it holds on time."""


def executor_of(engine: str | None, jobs: int | None = None) -> Executor:
    """The executor for many items, `jobs` at a time; engine: "ray" or "ray://HOST:PORT", None for this machine.

    SettingsError if there is no such engine, or none that can be reached; MissingExtraError without Ray.
    """
    return Workers(jobs) if engine is None else _engine(engine, jobs)


def held_calls(engine: str | None, jobs: int | str) -> Callable[[Path, LiveSettings], HeldCalls] | None:
    """The holder of live calls on the nodes of an engine, `jobs` at a time on each; None for this machine."""
    return None if engine is None else partial(_engine(engine).held, calls=jobs if isinstance(jobs, int) else None)


def _engine(address: str, jobs: int | None = None) -> Engine:
    with told_as("--engine", "engine"):
        make: Callable[[str, int | None], Engine] = resolve("engine", ENGINES, address.partition("://")[0])
    return make(address, jobs)


def replays_through(store: str | None) -> Replays:
    """The replay of calls, through the object store at an address if there is one.

    SettingsError for a store that cannot be used, MissingExtraError without its package.
    """
    made: Replays = replayed if store is None else resolve("store", STORE, "store")(store)
    return made
