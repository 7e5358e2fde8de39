"""Input health of a run: how many calls have each finding, and which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import Survey
from fdbcore.report.format import counted

NAMED: Final = 100
"""How many calls a finding names; all of them are in the list of calls."""
SEVERITIES: Final = ("note", "warn", "bad")

KINDS: Final = {
    "echo": (
        "Echo",
        "One side is heard again on the other: overlaps, interruptions and early answers that never were. "
        "No figure counts them, but those by the rules of published benchmarks; the tables say beside it what each "
        "would be with echo.",
    ),
    "same_channels": ("Both sides hold the same", "No measure of these calls means anything."),
    "repeats": (
        "One side repeats the other",
        "It has hardly a word of its own. What it repeats is no answer, and in no figure.",
    ),
    "mixed": ("One side holds both", "Its own speech cannot be told from the other's: no measure means anything."),
    "offset": ("Sides misplaced", "One side is heard on the other before it speaks: every latency is wrong."),
    "exchanged": ("Sides exchanged?", "If A is the system, every measure is told of the wrong side."),
    "out_of_step": ("Files out of step?", "If the files did not begin together, every latency is wrong."),
    "no_speech": ("No speech", "Nothing of that side can be measured."),
    "noise": ("Noise", "Onsets and ends are less certain, and noise may count as speech."),
    "soft": ("Soft", "Speech begins late and ends early, and parts are lost."),
    "loud": ("Loud", "Noise between words is loud, too, and may count as speech."),
    "clipping": ("Clipping", "Levels and echo are measured on a bent signal."),
    "dropouts": ("Dropouts", "Silence inside speech may count as a pause, and end a turn."),
    "dc": ("Direct current", "A sample that is off by that much clips sooner."),
    "telephone": ("Telephone band", "Words that begin or end above 4 kHz seem later or shorter."),
    "dtmf": ("Dialled digits", "They may count as speech."),
    "ringing": ("Ringing", "It may count as speech."),
    "tone": ("Tones", "They may count as speech."),
    "music": ("Music", "It may count as a long turn, or as an interruption."),
}


@dataclass(slots=True)
class Kind:
    """All findings of one kind: the worst of their severities, and the calls that have any."""

    id: str
    severity: str = SEVERITIES[0]
    calls: list[Call] = field(default_factory=list)

    @property
    def name(self) -> str:
        """In words."""
        return KINDS[self.id][0]


def kinds(run: Survey) -> list[Kind]:
    """What was found in any call: the gravest first, and then what most calls have."""
    found: dict[str, Kind] = {}
    for row in run.scored:
        for finding in row.health.findings if row.health else ():
            kind = found.setdefault(finding.id, Kind(finding.id))
            kind.severity = max(kind.severity, finding.severity, key=SEVERITIES.index)
            if row.call not in kind.calls[-1:]:
                kind.calls.append(row.call)
    return sorted(found.values(), key=lambda kind: (-SEVERITIES.index(kind.severity), -len(kind.calls)))


def line(run: Survey) -> str:
    """The input health of all calls in a line, such as "2 of 60 calls warn, 1 bad | echo 2, noise 1"."""
    examined = [row.health for row in run.scored if row.health]
    if not examined:
        return "not examined"
    verdicts = [health.verdict for health in examined]
    of = f"of {counted(len(examined), 'call')}" + (" examined" if len(examined) < len(run.scored) else "")
    worse = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in ("bad", "warn") if verdict in verdicts)
    listed = ", ".join(f"{kind.name.lower().rstrip('?')} {len(kind.calls):,}" for kind in kinds(run))
    return " | ".join(filter(None, [f"{worse} {of}" if worse else f"ok {of}", listed]))


def panel(run: Survey, page: Callable[[Call], str | None]) -> dict[str, Any]:
    """What was found in how many calls, and in which, for the page. page: the address of a call's own, if made."""
    verdicts = {row.health.verdict for row in run.scored if row.health}
    return {
        "verdict": next((verdict for verdict in ("bad", "warn") if verdict in verdicts), "ok"),
        "line": line(run).split(" | ")[0],
        "kinds": [
            {
                "id": kind.id,
                "severity": kind.severity,
                "name": kind.name,
                "means": KINDS[kind.id][1],
                "of": f"{len(kind.calls):,} of {counted(len(run.scored), 'call')}",
                "calls": [(call.name, page(call)) for call in kind.calls[:NAMED]],
                "more": len(kind.calls) - NAMED,
            }
            for kind in kinds(run)
        ],
    }
