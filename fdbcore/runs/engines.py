"""Where work is done: on this machine, or on the cluster that an address names."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from fdbcore.errors import told_as
from fdbcore.registry import ENGINES, STORE, resolve
from fdbcore.runs.held_here import HeldCalls
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.session.converse import LiveSettings
from fdbcore.sources.sessions import SessionInput


class Engine(Executor, Protocol):
    """An executor of other machines, which hold live calls, too."""

    def held(self, run_path: Path, settings: LiveSettings, calls_per_node: int | None) -> HeldCalls:
        """What holds the calls of a run, so many at a time on each node; None for as many as it holds on time."""


class ReplayStore(Protocol):
    """Where calls are kept between machines that do not see each other's disks."""

    def check(self) -> None:
        """SettingsError if it cannot be written."""

    def replayed(
        self, sessions: Iterable[tuple[int, SessionInput]], settings: ReplaySettings, executor: Executor
    ) -> Generator[ReplayResult | None]:
        """`replay_jobs.replayed`, whose calls go through the store."""


def executor_of(engine: str | None, jobs: int | None = None) -> Executor:
    """What works on many items, `jobs` at a time; engine: "ray" or "ray://HOST:PORT", None for this machine.

    SettingsError if there is no such engine, or none that can be reached; MissingExtraError without Ray.
    """
    return Workers(jobs) if engine is None else _engine(engine, jobs)


def held_calls(engine: str | None, jobs: int | str) -> Callable[[Path, LiveSettings], HeldCalls] | None:
    """What holds live calls on the nodes of an engine, `jobs` at a time on each; None for this machine."""
    calls_per_node = jobs if isinstance(jobs, int) else None
    return None if engine is None else partial(_engine(engine).held, calls_per_node=calls_per_node)


def _engine(address: str, jobs: int | None = None) -> Engine:
    with told_as("--engine", "engine"):
        made: Engine = resolve("engine", ENGINES, address.partition("://")[0])(address, jobs)
    return made


def store_at(url: str) -> ReplayStore:
    """The store at an address. SettingsError if there is none, MissingExtraError without its package."""
    made: ReplayStore = resolve("store", STORE, "store")(url)
    return made
