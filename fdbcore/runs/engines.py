"""Engines that do the work: this machine, or the cluster that an address names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from fdbcore.errors import SettingsError
from fdbcore.runs.held_here import HeldCalls
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.session.converse import LiveSettings


def executor_of(engine: str | None, jobs: int | None = None) -> Executor:
    """The executor for many items, `jobs` at a time; engine: "ray" or "ray://HOST:PORT", None for this machine.

    SettingsError if there is no such engine, or none that can be reached; MissingExtraError without Ray.
    """
    if engine is None:
        return Workers(jobs)
    from fdbcore.runs.ray_cluster import RayCluster

    kind, _, address = engine.partition("://")
    if kind != "ray" or (not address and engine != kind):
        raise SettingsError(f"--engine: expected ray or ray://HOST:PORT, got {engine}")
    return RayCluster(address, jobs)


def held_calls(executor: Executor, jobs: int | str) -> Callable[[Path, LiveSettings], HeldCalls] | None:
    """The holder of live calls on the nodes of `executor`, `jobs` at a time on each; None for this machine."""
    if isinstance(executor, Workers):
        return None
    from fdbcore.runs.ray_calls import CallsOnCluster
    from fdbcore.runs.ray_cluster import RayCluster

    assert isinstance(executor, RayCluster)
    return partial(CallsOnCluster, executor.entry, calls_per_node=jobs if isinstance(jobs, int) else None)
