"""The HTML report of one call: one file that needs no network, and links the audio."""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import MissingExtraError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import REPORT, write_text
from fdbcore.report.call import agent_log as marks
from fdbcore.report.call import certificate, health, sections, tools
from fdbcore.report.call import key_figures as figures
from fdbcore.report.call.audio import audio_url
from fdbcore.report.call.screen import last_turn
from fdbcore.report.format import ears, length_text, origins, title, vad_text
from fdbcore.report.glossary import terms
from fdbcore.report.html.templates import INDEX, render
from fdbcore.types import TurnSettings

if TYPE_CHECKING:
    from fdbcore.report.call.document_types import Document

SCRIPTS: Final = ("data.js", "events.js", "drawing.js", "timeline.js", "overview.js", "curve.js", "main.js")
FULL_SCALE: Final = 32_768


def write_report(reading: Reading, content: Document, audio: bool = True, silent: str | None = None) -> Path:
    """Write report.html into the folder of the recording and return its path. content: its document.

    audio: False for a page without audio and without the paths of files. silent: why there is no audio, if there should
    be some. Raises RecordingError if the page cannot be written.
    """
    path = reading.path / REPORT
    write_text(path, page(reading, content, audio, silent))
    return path


def page(reading: Reading, content: Document, audio: bool = True, silent: str | None = None) -> str:
    """The whole page."""
    if not audio:
        content = {
            **content,
            "recording": _without_places(content["recording"]),
            "held": _without_places(content["held"]),
            "labels": _without_places(content["labels"]),
            "marks": _without_places(content["marks"]),
        }
    if silent is not None:
        audio = False
        content = {**content, "warnings": [f"no audio: {silent}", *content["warnings"]]}
    settings = sections.turn_settings(content)
    heard = ears(reading)
    scored = _scored(content, settings, reading.dialogue) if content["unscored"] is None else {}
    return render(
        "report.html",
        content=content,
        title=title(reading),
        length=length_text(reading),
        left_out=[span.brief for span in reading.left_out],
        origins=origins(reading),
        vad=vad_text(reading.meta["settings"]),
        created=str(reading.meta.get("created") or "")[:10],
        is_run_linked=(reading.path.parent / INDEX).is_file(),
        warnings=sections.warnings(content),
        health=health.panel(content),
        has_timeline=bool(reading.n_ticks),
        audio=audio_url(reading, reading.path) if audio else "",
        ears=heard,
        heard=", ".join(f"{side} {ear}" for side, ear in heard.items()),
        marks=marks.section(content["marks"]) if content["marks"] else None,
        tools=tools.section(content),
        outcome=certificate.outcome_text(content),
        timing=certificate.section(content),
        evidence=sections.evidence(content),
        terms=terms(settings),
        peaks=embedded_peaks(reading.peaks),
        plotly=_plotly_script(),
        scripts=SCRIPTS,
        **scored,
    )


def _without_places(value: Any) -> Any:  # noqa: ANN401
    """A JSON value with names of files instead of paths, and without hashes and times that identify the files."""
    if isinstance(value, list):
        return [_without_places(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_places(each) for key, each in value.items() if key not in ("sha256", "modified_ns")}
    places = {key: Path(each).name for key, each in kept.items() if key in ("path", "source") and isinstance(each, str)}
    return kept | places


def _scored(content: Document, settings: TurnSettings, dialogue: Dialogue) -> dict[str, Any]:
    """The values that a page needs only if the call is scored."""
    measures = content["measures"]
    return {
        "lead": figures.lead(measures, content["findings"]),
        "figures": figures.figures(measures, settings, last_turn(dialogue)),
        "curve": sections.curve(measures, settings),
        "intervals": sections.intervals(measures),
        "measures": sections.measures(measures, settings),
        "events": sections.events(content["events"], settings),
    }


def embedded_peaks(peaks: npt.NDArray[np.uint16]) -> str:
    """The peaks as base64, one byte per tick, first all of A, then all of B.

    A byte is 255 times the square root of the peak's share of full scale; the root makes soft speech visible beside
    loud speech. peaks: uint16 (n_ticks, 2).
    """
    companded = np.round(255 * np.sqrt(np.minimum(peaks, FULL_SCALE) / FULL_SCALE)).astype(np.uint8)
    return base64.b64encode(companded.T.tobytes()).decode("ascii")


def _plotly_script() -> str:
    """The script of the installed plotly package. It is found without an import, which would take seconds."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("plotly: expected it for the report, but it is not installed (pip install plotly)")
    return (Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
