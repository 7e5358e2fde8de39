"""The options of `fdbcore report`, and which of them go together."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The given options, as `fdbcore report --help` describes them. names: of --call. strips: of --strip."""

    runs: Sequence[Path]
    names: Sequence[str]
    embed: bool
    no_audio: bool
    no_words: bool
    baseline: Path | None
    by: str | None
    cluster: str | None
    different_settings: bool
    gate: Path | None
    junit: Path | None
    comment: Path | None
    link: str
    figures: Path | None
    reference: Path | None
    strips: Sequence[str]
    since: str
    marks: Path | None
    marks_offset_ms: float | None
    marks_session: str | None
    as_json: bool
    quiet: bool

    @property
    def compares(self) -> bool:
        """True if more is asked for than pages."""
        return self.has("baseline", "gate", "figures")

    def has(self, *names: str) -> bool:
        """True if the user gave one of these options."""
        values = [getattr(self, name) for name in names]
        return any(value is not None and value is not False and value not in ("", ()) for value in values)

    def check(self) -> None:
        """Raise UsageError if options are given that do not go together."""
        for rule in RULES:
            if self.has(*rule.given) and (self.has(*rule.none_of) or (rule.any_of and not self.has(*rule.any_of))):
                run = self.runs[0] if self.runs else "RUN"
                raise click.UsageError(rule.message.format(run=run, by=self.by))
        if self.junit and self.comment and os.path.realpath(self.junit) == os.path.realpath(self.comment):
            raise click.UsageError(f"--junit {self.junit}: expected another file than that of --comment, got the same")


@dataclass(frozen=True, slots=True)
class Rule:
    """If one of `given` is given, one of `any_of` must be too (unless that is empty), and none of `none_of`."""

    message: str
    given: Sequence[str]
    any_of: Sequence[str] = ()
    none_of: Sequence[str] = ()


RULES: Final = (
    Rule("--embed and --no-audio exclude each other", ["embed"], none_of=["no_audio"]),
    Rule("--junit: expected --gate", ["junit"], ["gate"]),
    Rule("--comment: expected --baseline, --by or --gate", ["comment"], ["baseline", "by", "gate"]),
    Rule("--link: expected --comment", ["link"], ["comment"]),
    Rule("--reference and --strip: expected --figures", ["reference", "strips"], ["figures"]),
    Rule(
        "--by: expected --baseline or --figures; the groups of one run are compared by: fdbcore score {run} --by {by}",
        ["by"],
        ["baseline", "figures"],
    ),
    Rule("--agent-log: expected --call, to say which call the log belongs to", ["marks"], ["names"]),
    Rule("--agent-log-offset-ms: expected --agent-log", ["marks_offset_ms"], ["marks"]),
    Rule("--agent-log-session: expected --agent-log", ["marks_session"], ["marks"]),
    Rule("--call, --embed: expected no --figures", ["names", "embed"], none_of=["figures"]),
    Rule("--json: expected --baseline, --gate or --figures", ["as_json"], ["baseline", "gate", "figures"]),
)
