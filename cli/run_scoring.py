"""How `fdbcore run` scores by a benchmark once all its calls have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import SettingsError
from fdbcore.protocols.suite import Suite

if TYPE_CHECKING:
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runtime.executor import Executor

    from .run_plan import Wanted


@dataclass(frozen=True, slots=True)
class RunScoring:
    """The benchmark that scores, and the values of its options of scoring by name."""

    suite: Suite
    options: Mapping[str, Any]

    def score(self, folder: RunFolder, executor: Executor, quiet: bool, same: str) -> int:
        """Score the run into a folder beside it, and return the exit code. same: how to give the same command again."""
        from fdbcore.runs.plan import scores_beside

        from .score_suite import score_suite

        paths, out = [folder.path], scores_beside(folder.path)
        to_continue = f"{same} to continue"
        return score_suite(self.suite, paths, self.options, None, executor, None, out, False, quiet, to_continue)


def scoring_of(wanted: Wanted) -> RunScoring | None:
    """What scores the run that a user wants, if its benchmark does, and --no-score is not given.

    InputError for options of scoring that do not fit together, or to this run, before a call is made.
    """
    from fdbcore.models.model_table import recipient
    from fdbcore.runtime.address import is_local

    suite = wanted.suite
    if suite is None or wanted.no_score or not suite.run_scores:
        return None
    options = {option.name: wanted.suite_options.get(option.name, option.unset) for option in suite.score_options}
    suite.check_keys(options)
    services = suite.services(options)
    if services and wanted.max_usd is not None:
        raise SettingsError(
            "--max-cost limits calls alone: expected --no-score beside it, then fdbcore score --max-cost"
        )
    if wanted.local_only and (remote := [recipient(service) for service in services if not is_local(service.host)]):
        raise SettingsError(
            f"--local-only: expected nothing to leave this machine or its network, but scoring asks {remote[0]}"
        )
    if wanted.dry_run and services and not (wanted.as_json or wanted.quiet):
        click.echo(
            "what scoring asks is not counted: fdbcore score --dry-run counts it once calls are recorded", err=True
        )
    return RunScoring(suite, options)
