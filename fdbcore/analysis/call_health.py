"""Input health of the calls of a run: what is wrong with the audio of each, and how many calls have each finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fdbcore.analysis.corpus import Call
from fdbcore.measures.health.finding import SEVERITIES, Severity


class BriefFinding(NamedTuple):
    """A finding of `fdbcore.measures.health.examine`, without its figures and spans."""

    id: str
    side: str | None
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class CallHealth:
    """What is wrong with the audio of a call, in as few bytes as thousands of calls need."""

    verdict: str
    findings: Sequence[BriefFinding]

    @classmethod
    def of(cls, health: Mapping[str, Any]) -> CallHealth:
        """Of a recording's `health`."""
        fields = BriefFinding._fields
        return cls(health["verdict"], tuple(BriefFinding(*(f[key] for key in fields)) for f in health["findings"]))

    @property
    def ids(self) -> str:
        """The verdict, and what was found on which side: "warn: echo B, telephone A"."""
        found = ", ".join(" ".join(filter(None, (finding.id, finding.side))) for finding in self.findings)
        return f"{self.verdict}: {found}" if found else self.verdict


@dataclass(slots=True)
class HealthKind:
    """All findings of one id: the worst of their severities, and the calls that have any."""

    id: str
    severity: Severity = SEVERITIES[0]
    calls: list[Call] = field(default_factory=list)


def health_kinds(examined: Iterable[tuple[Call, CallHealth]]) -> list[HealthKind]:
    """What was found in any call: the gravest first, and then what most calls have."""
    found: dict[str, HealthKind] = {}
    for call, health in examined:
        for finding in health.findings:
            kind = found.setdefault(finding.id, HealthKind(finding.id))
            kind.severity = max(kind.severity, finding.severity, key=SEVERITIES.index)
            if call not in kind.calls[-1:]:
                kind.calls.append(call)
    return sorted(found.values(), key=lambda kind: (-SEVERITIES.index(kind.severity), -len(kind.calls)))
