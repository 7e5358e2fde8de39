"""The input health of a call in words: a line for the screen, and a panel for the page."""

from collections.abc import Iterator
from typing import Any, Final

from fdbcore.measures.health.finding import ECHOES
from fdbcore.measures.placed_lines import line_sentences
from fdbcore.recording.health import Health, HealthFinding
from fdbcore.report.call.document import Document
from fdbcore.report.format import clock_text
from fdbcore.report.terminal import filled
from fdbcore.types import SIDES, ticks_to_s

SHOWN_SPANS: Final = 6
GIVEN: Final = (
    " Only the measures of published benchmarks count these events; the tables also show what each figure would be "
    "with echo."
)

FIGURES: Final = (
    ("level_dbov", "speech {:z.0f} dBov"),
    ("noise_dbov", "background {:z.0f} dBov"),
    ("snr_db", "SNR {:.0f} dB"),
    ("peak_dbov", "peak {:z.0f} dBov"),
)


def health_text(content: Document) -> str:
    """All findings in a few words, such as "echo B->A -38 dB at 120 ms (3 events suspect)"; empty if not examined.

    Good audio is "ok", or "ok otherwise" if there are findings about the conversation, such as a file that ends early.
    """
    health = content["health"]
    if health is None:
        return ""
    found = " | ".join(finding["text"] + _counted(content, finding) for finding in health["findings"])
    ok = _ok(content)
    return (f"{ok} ({found})" if found else ok) if health["verdict"] == "ok" else found


def _ok(content: Document) -> str:
    return "ok otherwise" if content["findings"] else "ok"


def side_lines(health: Health) -> Iterator[tuple[str, str]]:
    """Yields each side and its figures in words."""
    for side in SIDES:
        known = health["sides"][side]
        texts = [text.format(value) for name, text in FIGURES if (value := known.get(name)) is not None]
        spoken = f"{known['speech_s']:.1f} s of speech" if known["speech_s"] else "no speech"
        yield side, ", ".join([spoken, *texts])


def line_texts(content: Document) -> Iterator[tuple[str, str]]:
    """Effects of channels on edges and responses, named "channel of A" and "channel of B", or "channels" if alike."""
    for sides, text in line_sentences(content.get("lines")):
        yield f"channel of {sides}" if len(sides) == 1 else "channels", text


def health_screen(content: Document, columns: int) -> str:
    """The input health of a session that was examined, for a terminal with this many columns."""
    health = content["health"]
    assert health is not None
    lines = [f"health: {health['verdict']}", *(f"{side}  {text}" for side, text in side_lines(health))]
    lines += [f"{name}: {text}" for name, text in line_texts(content)]
    for finding in health["findings"]:
        lines.append(f"{finding['severity']:<5}{finding['text']}{_counted(content, finding)}")
        lines.append(f"     {finding['means']}{_places(finding)}")
    return "\n".join(filled(line, columns, "     ") for line in lines)


def _counted(content: Document, finding: HealthFinding) -> str:
    if finding["id"] not in ECHOES:
        return ""
    count = sum(event.get("suspect", False) for event in content["events"])
    return f" ({count} event{'s' if count != 1 else ''} suspect)"


def _places(finding: HealthFinding) -> str:
    """The first few times at which a finding occurs."""
    times = [clock_text(ticks_to_s(start)) for start, _ in finding["spans"]]
    more = f" and {len(times) - SHOWN_SPANS} more" if len(times) > SHOWN_SPANS else ""
    return f" At {', '.join(times[:SHOWN_SPANS])}{more}." if times else ""


def panel(content: Document) -> dict[str, Any] | None:
    """The values for the panel of the page; None if the input was not examined."""
    health = content["health"]
    if health is None:
        return None
    return {
        "verdict": health["verdict"],
        "state": _ok(content) if health["verdict"] == "ok" else "read this before any number",
        "findings": [_finding(content, finding) for finding in health["findings"]],
        "sides": list(side_lines(health)),
        "lines": list(line_texts(content)),
    }


def _finding(content: Document, finding: HealthFinding) -> dict[str, Any]:
    spans = finding["spans"]
    return {
        "severity": finding["severity"],
        "text": f"{finding['text']}{_counted(content, finding)}",
        "means": f"{finding['means']}{GIVEN if finding['id'] in ECHOES else ''}",
        "starts_s": [ticks_to_s(start) for start, _ in spans[:SHOWN_SPANS]],
        "more": f" and {len(spans) - SHOWN_SPANS} more" if len(spans) > SHOWN_SPANS else "",
    }
