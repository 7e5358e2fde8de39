"""Input health of the calls of a run: the findings of each call, and how many calls have each finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fdbcore.analysis.corpus import Call
from fdbcore.measures.health.finding import SEVERITIES

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import Health, Severity


class BriefFinding(NamedTuple):
    """A finding of `fdbcore.measures.health.examine`, without its figures and spans."""

    id: str
    side: str | None
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class CallHealth:
    """The input health of a call, without figures and spans, so that thousands of calls need little memory."""

    verdict: str
    findings: Sequence[BriefFinding]

    @classmethod
    def of(cls, health: Health) -> CallHealth:
        """The health of a call, from the `health` of its recording."""
        found = health["findings"]
        return cls(health["verdict"], tuple(BriefFinding(f["id"], f["side"], f["severity"], f["text"]) for f in found))

    @property
    def ids(self) -> str:
        """The verdict and the findings with their sides: "warn: echo B, telephone A"."""
        found = ", ".join(" ".join(filter(None, (finding.id, finding.side))) for finding in self.findings)
        return f"{self.verdict}: {found}" if found else self.verdict


@dataclass(slots=True)
class HealthKind:
    """All findings of one id: their worst severity, and the calls that have one."""

    id: str
    severity: Severity = SEVERITIES[0]
    calls: list[Call] = field(default_factory=list)


def health_kinds(examined: Iterable[tuple[Call, CallHealth]]) -> list[HealthKind]:
    """The findings in these calls by id, the most severe first, then those that most calls have."""
    found: dict[str, HealthKind] = {}
    for call, health in examined:
        for finding in health.findings:
            kind = found.setdefault(finding.id, HealthKind(finding.id))
            kind.severity = max(kind.severity, finding.severity, key=SEVERITIES.index)
            if call not in kind.calls[-1:]:
                kind.calls.append(call)
    return sorted(found.values(), key=lambda kind: (-SEVERITIES.index(kind.severity), -len(kind.calls)))
