"""Input health of a run in words: how many calls have each finding, and which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fdbcore.analysis.call_health import health_kinds
from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import Survey
from fdbcore.report.format import counted

NAMED: Final = 100
"""How many calls a finding names; all of them are in the list of calls."""

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


def line(run: Survey) -> str:
    """The input health of all calls in a line, such as "2 of 60 calls warn, 1 bad | echo 2, noise 1"."""
    examined = run.examined
    if not examined:
        return "not examined"
    verdicts = [health.verdict for _, health in examined]
    of = f"of {counted(len(examined), 'call')}" + (" examined" if len(examined) < len(run.scored) else "")
    worse = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in ("bad", "warn") if verdict in verdicts)
    listed = ", ".join(
        f"{KINDS[kind.id][0].lower().rstrip('?')} {len(kind.calls):,}" for kind in health_kinds(examined)
    )
    return " | ".join(filter(None, [f"{worse} {of}" if worse else f"ok {of}", listed]))


def panel(run: Survey, page: Callable[[Call], str | None]) -> dict[str, Any]:
    """What was found in how many calls, and in which, for the page. page: the address of a call's own, if made."""
    verdicts = {health.verdict for _, health in run.examined}
    return {
        "verdict": next((verdict for verdict in ("bad", "warn") if verdict in verdicts), "ok"),
        "line": line(run).split(" | ")[0],
        "kinds": [
            {
                "id": kind.id,
                "severity": kind.severity,
                "name": KINDS[kind.id][0],
                "means": KINDS[kind.id][1],
                "of": f"{len(kind.calls):,} of {counted(len(run.scored), 'call')}",
                "calls": [(call.name, page(call)) for call in kind.calls[:NAMED]],
                "more": len(kind.calls) - NAMED,
            }
            for kind in health_kinds(run.examined)
        ],
    }
