"""Numbers and settings as a reader wants them; shared by the screen and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.recording import AUDIO, Recording
from fdbcore.types import SIDES, Side, other_side, ticks_to_s
from fdbcore.types import clock_text as clock_text

NONE: Final = "–"
NOT_CORRECTED: Final = (
    "Each interval is 95 % by itself, as if it were the only one; p is corrected for all of them, so an interval can "
    "exclude 0 although p, being corrected, is not significant."
)
EARS: Final = {"A": "left", "B": "right"}  # of session.wav
ITEMS_FOR_P90: Final = 10  # with fewer, "nine in ten" is the largest by another name
DECIMALS: Final = {"ms": 0, "s": 2, "1/min": 1, "s/min": 1}
UNITS: Final = {"share": "%", "1/min": "per min", "s/min": "s per min"}


def counted(n: int, noun: str) -> str:
    """ "1 call", "1,200 calls", "2 opportunities"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def by_chance(share: Mapping[str, Any]) -> str:
    """How many of a share's items would be counted by chance: " (by chance 1.7)"; empty where that is not known."""
    return f" (by chance {share['by_chance'] * share['n']:.1f})" if share.get("by_chance") is not None else ""


def long_onsets(measures: Mapping[str, Mapping[str, Any]], side: Side) -> int:
    """How often a side began to speak over the other for more than `short`: also where the other stopped at once, and
    so not where they began together, or the other was just ending."""
    x, y = side.lower(), other_side(side).lower()
    at_once = measures[f"{y}_stopped_at_once_per_long_{x}_onset"]["count"]
    return int(measures[f"{y}_stopped_within_2s_per_long_{x}_onset"]["n"] + at_once)


def length_text(recording: Recording) -> str:
    """The recording's length as "1:06"."""
    return clock_text(ticks_to_s(recording.n_ticks))


def seconds_text(ms: float | None) -> str:
    """Milliseconds as seconds: "0.82 s"."""
    return NONE if ms is None else f"{ms / 1000:.2f} s"


def duration_text(seconds: float) -> str:
    """Milliseconds below 1 s, then seconds: "20 ms", "12.50 s"."""
    return f"{1000 * seconds:.4g} ms" if abs(seconds) < 1 else f"{seconds:,.2f} s"


def number_text(value: float | None, unit: str) -> str:
    """A value in its unit, without the unit; shares in per cent."""
    if value is None:
        return NONE
    return f"{100 * value:.0f}" if unit == "share" else f"{value:.{DECIMALS.get(unit, 2)}f}"


def title(recording: Recording) -> str:
    """What a reader knows the session by: the name of its file, or of the case where there is no such one."""
    files = _source(recording).get("files", [])
    named = len(files) == 1 and "held" not in recording.meta
    return Path(files[0]["path"]).name if named else recording.name


def origins(recording: Recording) -> dict[str, str]:
    """Who is on each side: the kind of a party; or else where it comes from: a channel ("left"), or a file."""
    parties = recording.as_held.get("parties") or {}
    kinds: dict[str, str] = {side: str(parties.get(side, {}).get("kind", "replay")) for side in SIDES}
    if set(kinds.values()) != {"replay"}:
        return kinds
    source = _source(recording)
    files, sides = source.get("files", []), source.get("sides", {})
    if len(files) == len(SIDES):
        return {side: Path(files[sides[side]["file"]]["path"]).name for side in SIDES}
    return _channels(recording)


def ears(recording: Recording) -> dict[str, str]:
    """On which ear each side is heard in the report's audio: the source's channels, or those of session.wav."""
    return _channels(recording) if plays_source(recording) else dict(EARS)


def _channels(recording: Recording) -> dict[str, str]:
    sides = _source(recording).get("sides", {})
    return {side: sides[side]["channel"] for side in SIDES} if sides else dict(EARS)


def plays_source(recording: Recording) -> bool:
    """Whether the source itself plays as the session, so that the recording has no audio of its own."""
    return not (recording.path / AUDIO).is_file()


def _source(recording: Recording) -> Mapping[str, Any]:
    return recording.meta.get("source") or {}


def vad_text(settings: Mapping[str, Any]) -> str:
    """Name and version of the voice activity detector, of each side where they differ."""
    named = [" ".join(str(vad[key]) for key in ("name", "version") if key in vad) for vad in _vads(settings)]
    return " / ".join(dict.fromkeys(named))


def vad_bias_text(settings: Mapping[str, Any]) -> str:
    """The stated bias of the detector, such as "onset +10 ms, FTO -10 ms"; empty if it states none."""
    stated = []
    for vad in _vads(settings):
        bias = vad.get("bias_ms") or {}
        stated.append(", ".join(f"{name.replace('fto', 'FTO')} {value:+g} ms" for name, value in bias.items()))
    return " / ".join(filter(None, dict.fromkeys(stated)))


def _vads(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [settings["vad"][side] for side in SIDES]
