"""The HTML report of one recorded session: one file that needs no network, with the audio linked beside it."""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import MissingExtraError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.recording import REPORT, Recording, write_text
from fdbcore.report import certificate, figures, health, marks, sections
from fdbcore.report.audio import audio_url
from fdbcore.report.document import document
from fdbcore.report.screen import last_turn
from fdbcore.report.shell import shell, static
from fdbcore.report.words import ears, title
from fdbcore.types import TurnSettings

SOURCES: Final = "script-src 'unsafe-inline'; img-src data: blob:; media-src 'self' file:"
SCRIPTS: Final = ("data.js", "events.js", "drawing.js", "timeline.js", "overview.js", "curve.js", "main.js")
FULL_SCALE: Final = 32_768


def write_report(
    recording: Recording, scores: Mapping[str, Any], audio: bool = True, silent: str | None = None
) -> Path:
    """Write report.html into the recording's folder and return its path. `scores`: as `score` returns them.

    audio: False for a page without audio, and without a link to it or its place. silent: why there is none to hear,
    where there should be. Raises RecordingError if it cannot be written.
    """
    path = recording.path / REPORT
    write_text(path, page(recording, scores, audio, silent))
    return path


def page(recording: Recording, scores: Mapping[str, Any], audio: bool = True, silent: str | None = None) -> str:
    """The whole page. Every text that comes from a file is escaped."""
    content = document(recording, scores)
    if not audio:
        content |= {part: _without_places(content[part]) for part in ("recording", "held", "labels")}
    if silent is not None:
        audio = False
        content["warnings"] = [f"no audio: {silent}", *content["warnings"]]
    settings = sections.turn_settings(content)
    heard = ears(recording)
    url = escape(audio_url(recording, recording.path)) if audio else ""
    findings, numbers = (
        _scored(content, settings, Dialogue.of(recording)) if content["unscored"] is None else _unscored(content)
    )
    body = Template(static("report.html")).substitute(
        header=f"{sections.header(recording)}\n{certificate.header(content)}",
        warnings=sections.warnings(content),
        health=health.panel(content),
        findings=findings,
        timeline="" if recording.n_ticks else "hidden",
        player=f'src="{url}"' if audio else "hidden",
        audio=url,
        ears=escape(json.dumps(heard)),
        heard=escape(", ".join(f"{side} {ear}" for side, ear in heard.items())),
        marks=marks.section(content["marks"]),
        numbers=numbers,
        timing=certificate.section(content),
        evidence=sections.evidence(content),
        glossary=sections.glossary(settings),
        footer=sections.footer(content),
        document=embedded_json(content),
        peaks=embedded_peaks(recording.peaks),
        plotly=_plotly_script(),
        script="\n".join(static(name) for name in SCRIPTS),
    )
    return shell(body, f"{title(recording)} – fdbcore", "", SOURCES)


def _without_places(value: Any) -> Any:  # noqa: ANN401
    """A JSON value with the names of files instead of their paths, and without what else tells which they are."""
    if isinstance(value, list):
        return [_without_places(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_places(each) for key, each in value.items() if key not in ("sha256", "modified_ns")}
    places = {key: Path(each).name for key, each in kept.items() if key in ("path", "source") and isinstance(each, str)}
    return kept | places


def _scored(content: Mapping[str, Any], settings: TurnSettings, dialogue: Dialogue) -> tuple[str, str]:
    """What stands above the timeline, and what below it."""
    measures = content["measures"]
    findings = Template(static("findings.html")).substitute(
        lead=figures.lead(measures, content["findings"]),
        figures=figures.figures(measures, settings, last_turn(dialogue)),
        moments=sections.moments(content["moments"], bool(content["findings"])),
    )
    numbers = Template(static("numbers.html")).substitute(
        curve=sections.curve(measures, settings),
        intervals=sections.intervals(measures),
        measures=sections.measures(measures, settings),
        events=sections.events(content["events"], settings),
    )
    return findings, numbers


def _unscored(content: Mapping[str, Any]) -> tuple[str, str]:
    reason = content["unscored"]
    return f'<p class="lead">Not scored. {escape(reason[:1].upper() + reason[1:])}.</p>', ""


def embedded_json(value: object) -> str:
    """JSON for a script element: nothing in it can end the element or open a comment."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def embedded_peaks(peaks: npt.NDArray[np.uint16]) -> str:
    """Base64 of a byte a tick, first all of A, then all of B: 255 x the square root of the share of full scale.

    peaks: uint16 (n_ticks, 2). The root shows soft speech beside loud speech.
    """
    companded = np.round(255 * np.sqrt(np.minimum(peaks, FULL_SCALE) / FULL_SCALE)).astype(np.uint8)
    return base64.b64encode(companded.T.tobytes()).decode("ascii")


def _plotly_script() -> str:
    """The script of the installed plotly; importing the package to find it would take longer than the report."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("plotly: expected it for the report, but it is not installed (pip install plotly)")
    return (Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
