"""Input health in words: a line for the screen, and a panel for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from textwrap import fill
from typing import Any, Final

from fdbcore.health.findings import ECHOES
from fdbcore.report.words import clock_text
from fdbcore.types import SIDES, ticks_to_s

SHOWN_SPANS: Final = 6
GIVEN: Final = (
    " No figure counts these events, but those by the rules of published benchmarks; the tables say beside it what "
    "each would be with echo."
)

FIGURES: Final = (
    ("level_dbov", "speech {:z.0f} dBov"),
    ("noise_dbov", "background {:z.0f} dBov"),
    ("snr_db", "SNR {:.0f} dB"),
    ("peak_dbov", "peak {:z.0f} dBov"),
)


def health_text(content: Mapping[str, Any]) -> str:
    """All findings in a few words, such as "echo B->A -38 dB at 120 ms (3 events suspect)"; empty if not examined."""
    health = content["health"]
    if health is None:
        return ""
    found = " | ".join(finding["text"] + _counted(content, finding) for finding in health["findings"])
    return (f"ok ({found})" if found else "ok") if health["verdict"] == "ok" else found


def side_lines(health: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each side with its figures in words."""
    for side in SIDES:
        known = health["sides"][side]
        texts = [text.format(known[name]) for name, text in FIGURES if known[name] is not None]
        spoken = f"{known['speech_s']:.1f} s of speech" if known["speech_s"] else "no speech"
        yield side, ", ".join([spoken, *texts])


def health_screen(content: Mapping[str, Any], columns: int) -> str:
    """Everything about the input of one session, for a terminal of that width."""
    health = content["health"]
    lines = [f"health: {health['verdict']}", *(f"{side}  {text}" for side, text in side_lines(health))]
    for finding in health["findings"]:
        lines.append(f"{finding['severity']:<5}{finding['text']}{_counted(content, finding)}")
        lines.append(f"     {finding['means']}{_places(finding)}")
    return "\n".join(fill(line, columns, subsequent_indent="     ", break_on_hyphens=False) for line in lines)


def _counted(content: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    if finding["id"] not in ECHOES:
        return ""
    count = sum(event.get("suspect", False) for event in content["events"])
    return f" ({count} event{'s' if count != 1 else ''} suspect)"


def _places(finding: Mapping[str, Any]) -> str:
    """Where it is found, the first few times."""
    times = [clock_text(ticks_to_s(start)) for start, _ in finding["spans"]]
    more = f" and {len(times) - SHOWN_SPANS} more" if len(times) > SHOWN_SPANS else ""
    return f" At {', '.join(times[:SHOWN_SPANS])}{more}." if times else ""


def panel(content: Mapping[str, Any]) -> str:
    """What is wrong with the input, the worst first; one line if nothing is. HTML."""
    health = content["health"]
    if health is None:
        return ""
    findings = "".join(_finding(content, finding) for finding in health["findings"])
    listed = f'<ul class="findings">{findings}</ul>' if findings else ""
    state = "ok" if health["verdict"] == "ok" else "read this before any number"
    sides = "".join(f'<dt class="side-{side.lower()}">{side}</dt><dd>{text}</dd>' for side, text in side_lines(health))
    return (
        f'<section class="health {health["verdict"]}" aria-labelledby="health-title">'
        f'<h2 id="health-title">Input health: {state}</h2>{listed}<dl class="facts-list">{sides}</dl></section>'
    )


def _finding(content: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    given = GIVEN if finding["id"] in ECHOES else ""
    return (
        f'<li class="{finding["severity"]}"><b>{finding["severity"]}</b>'
        f"<span><strong>{escape(finding['text'] + _counted(content, finding))}</strong>"
        f'<span class="meaning">{escape(finding["means"])}{given}{_links(finding)}</span></span></li>'
    )


def _links(finding: Mapping[str, Any]) -> str:
    starts_s = [ticks_to_s(start) for start, _ in finding["spans"]]
    links = [f'<a href="#t={start_s:g}">{clock_text(start_s)}</a>' for start_s in starts_s[:SHOWN_SPANS]]
    more = f" and {len(starts_s) - SHOWN_SPANS} more" if len(starts_s) > SHOWN_SPANS else ""
    return f" At {', '.join(links)}{more}." if links else ""
