"""Moments that can be listened to on the page of a run: cards, with audio, a drawing of the speech, and words."""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.gate_moments import GateMoment
from fdbcore.analysis.survey import CLIP_TICKS, CallMoment, around, clip_ticks
from fdbcore.errors import FdbError
from fdbcore.recording.files import REPORT
from fdbcore.report.call.audio import CLIP_TYPE, CallAudio, call_audio, clip
from fdbcore.report.format import clock_text
from fdbcore.report.html.values import PageParts
from fdbcore.sources.recorded import changed_source
from fdbcore.types import SIDES, ticks_to_s

Played: TypeAlias = tuple[str, float, float]
"""The address of audio, and the start and end (s) to play."""


@dataclass(slots=True)
class ClipCounts:
    """Counts of clips on a page: the moments listed, how many are audible, and the calls without audio, with why."""

    moments: int = 0
    audible: int = 0
    silent: dict[str, str] = field(default_factory=dict)


class Sounds:
    """Finds the audio and the pages of calls and moments, as far as the page may show them. folder: of the page."""

    def __init__(self, folder: Path, shown: PageParts, heard: ClipCounts) -> None:
        self.words = shown.words
        self.heard = heard
        self._folder = folder
        self._shown = shown
        self._known: dict[str, CallAudio] = {}

    def _audio(self, call: Call) -> CallAudio:
        if call.name not in self._known:
            alone = self._shown.embed  # its clips are cut from the source
            known = CallAudio(changed_source(call.recording)) if alone else call_audio(call.recording, self._folder)
            self._known[call.name] = known
            if known.silent is not None:
                self.heard.silent[call.name] = known.silent
        return self._known[call.name]

    def silent(self, call: Call) -> str | None:
        """The reason why a call has no audio; None if it has, or if the page shows no audio."""
        return self._audio(call).silent if self._shown.audio else None

    def of_call(self, call: Call) -> str | None:
        """The address of the audio of a whole call; None if it has none, or if the page is sent without it."""
        return self._audio(call).address if self._shown.audio and not self._shown.embed else None

    def of_moment(self, found: CallMoment) -> Played | None:
        """The address of the audio of a moment, and the start and end (s) to play; None if there is no audio.

        It is a part of the call's own audio, or on a page that contains its audio a clip.
        """
        self.heard.moments += 1
        played = None if not self._shown.audio or self.silent(found.call) else self._played(found)
        self.heard.audible += played is not None
        return played

    def _played(self, found: CallMoment) -> Played | None:
        start, end = clip_ticks(found.moment, found.n_ticks)
        if not self._shown.embed:
            address = self._audio(found.call).address
            return None if address is None else (address, ticks_to_s(start), ticks_to_s(end))
        try:
            cut = base64.b64encode(clip(found.call.recording, start, end)).decode("ascii")
        except FdbError as error:
            self.heard.silent[found.call.name] = why = str(error)
            self._known[found.call.name] = CallAudio(why)
            return None
        return f"data:{CLIP_TYPE};base64,{cut}", 0.0, ticks_to_s(end - start)

    def place(self, path: Path) -> str:
        """The way to a folder from where the command runs, or only its name if the page shows no audio."""
        return os.path.relpath(path) if self._shown.audio else path.resolve().name

    def page_of(self, call: Call) -> str | None:
        """The address of the page of a call; None if there is none, or if this page is sent without it."""
        has_page = not self._shown.embed and (call.path / REPORT).is_file()
        return quote(Path(os.path.relpath(call.path / REPORT, self._folder)).as_posix()) if has_page else None

    def page_at(self, call: Call, start_s: float) -> str | None:
        """The address of a second in the page of its call."""
        page = self.page_of(call)
        return page and f"{page}#t={start_s:g}"


def card(found: CallMoment, sounds: Sounds) -> dict[str, Any]:
    """The values of a card for a moment."""
    said = [(side, said) for side, said in found.said.items() if said] if sounds.words else []
    start_s, played = ticks_to_s(found.moment.start_tick), sounds.of_moment(found)
    return _card(found.call, start_s, found.moment.text, sounds, played) | {"strip": _strip(found), "said": said}


def named_card(call: Call, named: GateMoment, sounds: Sounds) -> dict[str, Any]:
    """The values of a card for what a document names: a moment of a call, or else the whole call."""
    played = None
    with suppress(FdbError):  # the page of a comparison may outlive a recording
        reading = call.recording
        for moment in reading.moments_of_any_length:
            if (ticks_to_s(moment.start_tick), moment.text) == (named["start_s"], named["text"]):
                return card(around(call, reading, moment), sounds)
        if address := sounds.of_call(call):
            played = (address, named["start_s"], ticks_to_s(reading.n_ticks))
    return _card(call, named["start_s"], named["text"], sounds, played)


def _card(call: Call, start_s: float, text: str, sounds: Sounds, played: Played | None) -> dict[str, Any]:
    return {
        "text": text,
        "call": call.name,
        "at": clock_text(start_s),
        "page": sounds.page_at(call, start_s),
        "played": played,
        "silent": sounds.silent(call),
        "strip": "",
        "said": [],
        "beside": "",
    }


def _strip(found: CallMoment) -> str:
    """A drawing of who speaks in the ten seconds around a moment, A above B; the moment itself is marked."""
    start, end = clip_ticks(found.moment, found.n_ticks)
    scale = 1000 / CLIP_TICKS
    first, last = max(found.moment.start_tick, start), min(found.moment.end_tick, end)
    mark = f'x="{(first - start) * scale:g}" width="{(last - first) * scale:g}" height="26"'
    parts = [f'<rect class="marked" {mark}/>']
    for y, side in zip((2, 14), SIDES, strict=True):
        parts += [
            f'<rect class="{side.lower()}" x="{(s - start) * scale:g}" width="{(e - s) * scale:g}" y="{y}" height="9"/>'
            for s, e in found.speech[side]
        ]
    parts.append(f'<rect class="frame" {mark}/>')
    box = f'viewBox="0 0 {(end - start) * scale:g} 26" preserveAspectRatio="none"'
    return f'<svg class="strip" {box} aria-hidden="true">{"".join(parts)}</svg>'
