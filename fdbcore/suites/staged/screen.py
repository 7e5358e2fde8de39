"""Scenarios as text: a list, one of them, and how many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fdbcore.suites.staged.scenarios import Scenario


def summary(scenarios: Sequence[Scenario], n_faults: int = 0) -> str:
    """How many scenarios there are, by family and language."""
    families = Counter(scenario.family for scenario in scenarios)
    languages = Counter(scenario.language for scenario in scenarios)
    parts = [f"{count} {name}" for name, count in families.items()]
    if len(languages) > 1:
        parts += [f"{count} in {name}" for name, count in languages.items()]
    if changing := sum(len(scenario.languages) > 1 for scenario in scenarios):
        parts.append(f"{changing} with a change of language")
    if n_faults:
        parts.append(f"{n_faults} fault{'s' if n_faults > 1 else ''}")
    plural = "" if len(scenarios) == 1 else "s"
    return f"{len(scenarios)} scenario{plural}{': ' if parts else ''}{', '.join(parts)}"
