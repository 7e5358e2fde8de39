"""The HTML report of one call: it needs no network, and links the audio and what all pages of its run share.

A page that can be sent alone contains its script, its style and the audio of the whole call.
"""

import base64
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np

from fdbcore.analysis.call_verdicts import CallVerdict
from fdbcore.errors import AudioError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.moments import one_of_each_kind_first
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import REPORT, write_pieces, write_text
from fdbcore.recording.others import keep_others
from fdbcore.recording.places import with_changed
from fdbcore.recording.reader import Recording
from fdbcore.report import agent_logs
from fdbcore.report.call import certificate, health, sections, system_settings, tools, transcript
from fdbcore.report.call.audio import audio_url, webm
from fdbcore.report.call.document import Document
from fdbcore.report.call.moment_lists import MomentList, moment_lists, titles
from fdbcore.report.call.screen import in_words, last_turn
from fdbcore.report.call.shared import PAGES, script, share, shared_names, style
from fdbcore.report.comparison import limits
from fdbcore.report.format import ears, length_text, origins, title, vad_text
from fdbcore.report.glossary import terms
from fdbcore.report.groups.detectors import detector_table
from fdbcore.report.html.templates import INDEX, render_pieces
from fdbcore.report.html.values import Links
from fdbcore.types import TurnSettings, clock_text, ticks_to_s
from fdbcore.types.remarks import NO_REMARKS, CallRemarks

FULL_SCALE: Final = 32_768
PIECE_BYTES: Final = 3 << 15  # base64 codes three bytes at a time

MOST_BYTES: Final = 20_000_000
"""The size that most mail servers take, with what else a message needs."""

BIT_RATES: Final = (32_000, 24_000, 16_000)
"""Of both sides together, in Opus. Speech stays clear at the last one, and becomes dull below it."""

_BASE64: Final = 4 / 3


class ScoredIn(NamedTuple):
    """A folder beside a scorecard, with the pages of calls that it scores. scorecard: the address there of the call's
    entry in it."""

    folder: Path
    scorecard: str


@dataclass(frozen=True, slots=True)
class CallPage:
    """Parts that the page of a call shows beside its document.

    audio: False for a page without audio and without the paths of files. words: False for one without what was said.
    silent: why there is no audio, if there should be some. is_in_run: whether index.html will link the page, if there
    is none yet. sound: the audio as WebM, for a page that contains all that it needs. verdict: what gates say of the
    call. remarks: what a suite says of it. scored_in: where a page stands that does not stand in the folder of its
    recording. lists: those of its moments; None: they are made. columns: what the run's table says of the call.
    """

    audio: bool = True
    words: bool = True
    silent: str | None = None
    is_in_run: bool = False
    sound: bytes | None = None
    verdict: CallVerdict | None = None
    remarks: CallRemarks = NO_REMARKS
    scored_in: ScoredIn | None = None
    lists: Mapping[str, MomentList] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


def write_report(reading: Reading, content: Document, shown: CallPage = CallPage()) -> Path:
    """Write report.html into the folder of the recording and return its path. content: its document.

    What it shares with other pages is written into the folder `pages` of the run, if it is not there. Raises
    RecordingError if the page cannot be written.
    """
    share(reading.path.parent)
    path = reading.path / REPORT
    write_pieces(path, pieces(reading, content, shown))
    return path


def page(reading: Reading, content: Document, shown: CallPage = CallPage()) -> str:
    """The whole page."""
    return "".join(pieces(reading, content, shown))


def pieces(reading: Reading, content: Document, shown: CallPage = CallPage()) -> Iterator[str]:
    """The page in pieces: that of a day would be a text of 50 million characters."""
    if not shown.audio or shown.sound is not None:
        content = _with_parts(content, _without_places, "recording", "held", "labels", "marks")
    if not shown.words:
        content = _with_parts({**content, "transcript": []}, _without_words, "recording", "held")
    if shown.silent is not None:
        content = {**content, "warnings": [f"no audio: {shown.silent}", *content["warnings"]]}
    is_linked = shown.audio and shown.silent is None and shown.sound is None
    settings = sections.turn_settings(content)
    heard, (shared_script, shared_style) = ears(reading), shared_names()
    folder, scorecard = shown.scored_in or (reading.path, "")
    is_scored = content["unscored"] is None
    lists = shown.lists
    if lists is None:
        lists = moment_lists(reading) if is_scored else {}
    link, dialogue = Links(titles(lists).keys()), transcript.section(content, shown.remarks.rows)
    scored = _scored(content, settings, reading.dialogue, link, shown.verdict) if is_scored else {}
    return render_pieces(
        "report.html",
        content=content,
        title=title(reading),
        length=length_text(reading),
        left_out=[span.brief for span in reading.left_out],
        origins=origins(reading),
        vad=vad_text(reading.meta["settings"]),
        created=str(reading.meta.get("created") or "")[:10],
        is_run_linked=shown.sound is None
        and not scorecard
        and (shown.is_in_run or (reading.path.parent / INDEX).is_file()),
        scorecard=scorecard,
        columns=[(name, value) for name, value in shown.columns.items() if value],
        verdict=limits.sentence(shown.verdict) if shown.verdict else None,
        warnings=sections.warnings(content),
        health=health.panel(content),
        has_timeline=bool(reading.n_ticks),
        audio=audio_url(reading, folder) if is_linked else "",
        sound=None if shown.sound is None else base64.b64encode(shown.sound).decode("ascii"),
        silent=shown.silent,
        ears=heard,
        heard=", ".join(f"{side} {ear}" for side, ear in heard.items()),
        marks=agent_logs.section(content["marks"], link) if content["marks"] else None,
        remarks=shown.remarks,
        remark_rows=[asdict(row) for row in shown.remarks.rows],
        dialogue=dialogue,
        other_words=transcript.others(dialogue),
        tools=tools.section(content),
        settings=system_settings.section(content),
        outcome=certificate.outcome_text(content),
        timing=certificate.section(content),
        evidence=sections.evidence(content),
        terms=terms(settings),
        peaks=peak_pieces(reading),
        lists=lists,
        listened=one_of_each_kind_first(reading.moments) if is_scored else [],
        last_turn=last_turn(reading.dialogue) if is_scored else "",
        shared_script=f"../{PAGES}/{shared_script}",
        shared_style=f"../{PAGES}/{shared_style}",
        script=script,
        style=style,
        **scored,
    )


def _with_parts(content: Document, change: Callable[[Any], Any], *names: str) -> Document:
    """A document with the parts of these names changed."""
    return cast("Document", {name: change(part) if name in names else part for name, part in content.items()})


def _without_places(value: Any) -> Any:  # noqa: ANN401
    """A JSON value with names of files instead of paths, and without hashes and times that identify the files."""
    kept = _without(value, ("sha256", "modified_ns"))
    return with_changed(kept, lambda place: Path(place).name, ("path", "source"), ())


def _without_words(value: Any) -> Any:  # noqa: ANN401
    """A JSON value without transcripts and without the texts of scripts."""
    return _without(value, ("transcript", "say"))


def _without(value: Any, names: Collection[str]) -> Any:  # noqa: ANN401
    """A JSON value without what stands under these names, wherever that is."""
    if isinstance(value, list):
        return [_without(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _without(each, names) for key, each in value.items() if key not in names}


def _scored(
    content: Document, settings: TurnSettings, dialogue: Dialogue, link: Links, verdict: CallVerdict | None
) -> dict[str, Any]:
    """The values that a page needs only if the call is scored."""
    measures = content["measures"]
    told = in_words(measures, dialogue, link)
    never = [f"{found['name']}. " for found in content["findings"] if found["id"] in ("never_spoke", "fell_silent")]
    return {
        "lead": "".join([*never, *told.lines("call lead").values()]),
        "figures": [
            tile.figure._replace(limits=limits.of_call(verdict, tile.gated)) for tile in told.tiles("call tile")
        ],
        "curve": sections.curve(measures, settings),
        "intervals": sections.intervals(measures),
        "measures": sections.measures(measures, settings, link),
        "detectors": detector_table(content["detectors"], measures) if "detectors" in content else None,
        "events": sections.events(content["events"], settings),
    }


def peak_pieces(recording: Recording) -> Iterator[str]:
    """The peaks as base64, in pieces: one byte per tick, first all of A, then all of B.

    A byte is 255 times the square root of the peak's share of full scale; the root makes soft speech visible beside
    loud speech.
    """
    shares = np.minimum(np.arange(1 << 16), FULL_SCALE) / FULL_SCALE
    byte_of = np.round(255 * np.sqrt(shares)).astype(np.uint8)
    peaks = recording.peaks.T.flat
    for start in range(0, len(peaks), PIECE_BYTES):
        yield base64.b64encode(byte_of[peaks[start : start + PIECE_BYTES]].tobytes()).decode("ascii")


def write_alone(reading: Reading, content: Document, shown: CallPage = CallPage()) -> tuple[Path, int]:
    """Write the page of a recording with all that it needs, NAME/NAME.html; return its path and the bit rate.

    The bit rate is the highest with which the page stays below MOST_BYTES. Raises AudioError if there is none, or if
    the audio cannot be read, SettingsError if a page of somebody else stands there, and RecordingError if it cannot be
    written. The caller must check that the source has not changed.
    """
    keep_others(path := reading.path / f"{reading.name}.html")
    seconds = ticks_to_s(reading.n_ticks)
    room = MOST_BYTES - len(page(reading, content, replace(shown, sound=b"")).encode())
    for bit_rate in BIT_RATES:
        if seconds * bit_rate / 8 * _BASE64 <= room and len(sound := webm(reading, bit_rate)) * _BASE64 <= room:
            write_text(path, page(reading, content, replace(shown, sound=sound)))
            return path, bit_rate
    most_s = max(room, 0) * 8 / _BASE64 / BIT_RATES[-1]
    raise AudioError(
        f"{reading.name}: expected at most {clock_text(most_s)} of audio in a page of {MOST_BYTES / 1e6:g} MB, got "
        f"{clock_text(seconds)}: send report.html with the folder `pages` and the audio"
    )
