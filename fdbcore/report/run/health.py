"""The input health of a run in words: which calls have each finding, and how many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.line_effects import pooled_text
from fdbcore.analysis.survey import Survey, health_kinds
from fdbcore.report.format import counted

NAMED: Final = 100
"""A finding names at most this many calls; the list of calls has all."""

KINDS: Final = {
    "echo": (
        "Echo",
        "One side is heard again on the other: this makes false overlaps, interruptions and early answers. Only the "
        "measures of published benchmarks count them; the tables also show what each figure would be with echo.",
    ),
    "same_channels": ("Both sides hold the same", "No measure of these calls means anything."),
    "repeats": (
        "One side repeats the other",
        "It has hardly a word of its own. What it repeats is no answer, and no figure counts it.",
    ),
    "mixed": ("One side holds both", "Nobody can separate its own speech from the other's: no measure means anything."),
    "offset": ("Sides misplaced", "One side is heard on the other before it speaks: every latency is wrong."),
    "exchanged": ("Sides exchanged?", "If A is the system, every measure describes the wrong side."),
    "out_of_step": ("Sides out of step?", "If they are not on one clock, every latency and overlap is wrong."),
    "paused": ("Recording paused", "What was said then is not known, and is left out of every figure."),
    "silence_left_out": (
        "Silence left out?",
        "A recorder that is started by voice makes answers look quick: latencies were longer.",
    ),
    "wrong_rate": ("Wrong rate in parts", "Speech is too fast or too slow there, and so is every time."),
    "choppy": ("Choppy", "Holes inside words: a detector hears many short turns, or none."),
    "no_speech": ("No speech", "Nothing of that side can be measured."),
    "noise": ("Noise", "Onsets and ends are less certain, and noise may count as speech."),
    "nonstationary": (
        "Non-stationary noise",
        "Talk, music or other sound that changes lies behind: it may count as speech, and answers look early.",
    ),
    "agc": ("Automatic gain", "Noise comes up in pauses and may count as speech: answers look early."),
    "reverberation": ("Reverberation", "Speech ends late, and answers to it look that much earlier."),
    "comfort_noise": ("Comfort noise", "It may count as speech: speech ends late, and answers look early."),
    "noise_gate": ("Noise gate", "Noise that it lets through after speech may count as speech, which ends late."),
    "soft": ("Soft", "Speech begins late and ends early, and parts are lost."),
    "loud": ("Loud", "Noise between words is loud too, and may count as speech."),
    "clipping": ("Clipping", "Levels and echo are measured on a distorted signal."),
    "dropouts": ("Dropouts", "Silence inside speech may count as a pause, and end a turn."),
    "dc": ("Direct current", "Audio with such an offset clips sooner."),
    "telephone": ("Telephone band", "Words that begin or end above 4 kHz seem later or shorter."),
    "dtmf": ("Dialled digits", "No figure counts them."),
    "ringing": ("Ringing", "No figure counts it."),
    "tone": ("Tones", "No figure counts them."),
    "music": ("Music", "It may count as a long turn, or as an interruption."),
}


def line(run: Survey) -> str:
    """The input health of all calls in one line: "1 bad, 2 warn of 60 calls | echo 2, noise 1", "60 calls, all ok"."""
    examined = run.examined
    if not examined:
        return "not examined"
    verdicts = [health.verdict for _, health in examined]
    calls = counted(len(examined), "call") + (" examined" if len(examined) < len(run.scored) else "")
    worse = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in ("bad", "warn") if verdict in verdicts)
    listed = ", ".join(
        f"{KINDS[kind.id][0].lower().rstrip('?')} {len(kind.calls):,}" for kind in health_kinds(examined)
    )
    return " | ".join(filter(None, [f"{worse} of {calls}" if worse else f"{calls}, all ok", listed]))


def panel(run: Survey, page: Callable[[Call], str | None]) -> dict[str, Any]:
    """The values for the panel of the page: each finding with its calls. page: gives the address of a call's page."""
    verdicts = {health.verdict for _, health in run.examined}
    return {
        "verdict": next((verdict for verdict in ("bad", "warn") if verdict in verdicts), "ok"),
        "line": line(run).split(" | ")[0],
        "lines": pooled_text(found) if (found := run.lines) else "",
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
