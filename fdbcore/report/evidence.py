"""The basis of a page's numbers, in words: the command, detectors, settings, sources, parties, versions.

Each page shows these facts folded. They are a selection: meta.json of a recording has all of them as they are.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore import clock
from fdbcore.analysis.corpus import Call, Run
from fdbcore.measures.costs import HeldCost
from fdbcore.recording.files import AUDIO, META
from fdbcore.recording.meta import Settings
from fdbcore.recording.versions import installed_versions
from fdbcore.report.format import clock_text, cost_text, counted, vad_text
from fdbcore.report.glossary import SETTINGS
from fdbcore.report.html.values import Cell, Fact
from fdbcore.runtime.redaction import without_secrets
from fdbcore.stats.bootstrap import SEED
from fdbcore.types import SIDES, Side

if TYPE_CHECKING:
    from fdbcore.types.scorecard import ShownItem

Evidence = Mapping[str, Sequence[Fact]]
"""Facts by the title of their part; "" for a part without a title."""

SHA_CHARACTERS: Final = 12
_CHANNELS: Final = {1: "mono", 2: "stereo"}
_WHICH: Final = ("party", "name", "model", "path", "address", "url", "command")
"""Fields of a party's description that say which one it is; the first that there is."""


def of_making(typed: Sequence[str], runs: Mapping[str, Run]) -> dict[str, Any]:
    """The making of figures, as JSON values by title.

    typed: the command after `fdbcore`, if it was one; runs: what was scored.
    """
    made = {
        **({"command": shlex.join(["fdbcore", *without_secrets(typed)])} if typed else {}),
        "date": str(clock.utc_today()),
        **{name: str(text) for name, text in of_versions(installed_versions())},
        "seed": str(SEED),
    }
    return {"": made, **{title: _of_recordings(run, run.settings) for title, run in runs.items() if run.settings}}


def _of_recordings(run: Run, settings: Settings) -> dict[str, str]:
    """The scored audio with a hash over the hashes of all, seeds of the parties, and what found the turns in it."""
    audio, seeds = list[str](), set[str]()
    for recording in (call.recording for call in run.scored):
        replayed = [file.get("sha256") for file in recording.source_files]
        audio += [str(sha256) for sha256 in replayed or [recording.meta.get("sha256s", {}).get(AUDIO)]]
        seeds |= {f"{side} {party['seed']}" for side, party in recording.parties.items() if "seed" in party}
    sha256 = hashlib.sha256("\n".join(sorted(audio)).encode()).hexdigest()
    return {
        "audio": f"{counted(len(audio), 'file')}, SHA-256 {sha256[:SHA_CHARACTERS]}",
        "seeds": ", ".join(sorted(seeds)) or "none",
        "detector": vad_text(settings),
        "settings": ", ".join(f"{name}={value}" for name, value in settings["turns"].items()),
        "hash of the settings": ", ".join(sha256[:SHA_CHARACTERS] for sha256 in run.settings_sha256s),
        **{name: str(text) for name, text in of_versions(run.versions)},
    }


def run_of(cases: Iterable[ShownItem]) -> Run:
    """The recordings of cases as a run, each once; without those that are gone."""
    paths = dict.fromkeys(Path(case.recording) for case in cases if case.recording)
    return Run("", [Call(path.name, path) for path in paths if (path / META).is_file()])


def of_settings(settings: Settings, sha256s: Iterable[str] = ()) -> list[Fact]:
    """The detector, and each setting of the turn detector with its meaning. sha256s: the hashes of all settings."""
    facts: list[Fact] = [("voice activity", vad_text(settings))]
    for name, value in settings["turns"].items():
        known = SETTINGS.get(name, {"name": name.replace("_", " "), "meaning": ""})
        facts.append((known["name"], Cell(f"{value:,} ms", known["meaning"])))
    if settings.get("line_open"):
        facts.append(("line", "taken as open until the end: B could still answer"))
    hashes = ", ".join(sha256[:SHA_CHARACTERS] for sha256 in sha256s)
    return [*facts, *([("hash of the settings", Cell(hashes, is_code=True))] if hashes else [])]


def of_versions(versions: Mapping[str, str | Sequence[str]]) -> list[Fact]:
    """The programs that made the recordings; several versions of one where there are several."""
    named = [f"{name} {each if isinstance(each, str) else ' and '.join(each)}" for name, each in versions.items()]
    return [("made with", ", ".join(named))] if named else []


def of_source(source: Mapping[str, Any]) -> list[Fact]:
    """The files of a recorded call, and which side is where. source: as `meta.json` describes it; may be empty."""
    files: Sequence[Mapping[str, Any]] = source.get("files", ())
    facts: list[Fact] = [("file", Cell(str(file.get("path", "")), _file_text(file), is_code=True)) for file in files]
    sides = source.get("sides", {})
    if sides and len(files) == 1:
        facts.append(("sides", ", ".join(f"{side} {sides[side]['channel']}" for side in SIDES)))
    elif sides:
        names = {side: Path(str(files[sides[side]["file"]].get("path"))).name for side in SIDES}
        facts.append(("sides", ", ".join(f"{side} {names[side]}" for side in SIDES)))
    if offset_ms := source.get("offset_ms"):
        later, by_ms = ("B", offset_ms) if offset_ms > 0 else ("A", -offset_ms)
        facts.append(("beginning", f"{later} begins {by_ms:,} ms later"))
    return facts


def _file_text(file: Mapping[str, Any]) -> str:
    """The kind of audio in a file: "wav, pcm_s16le, 24,000 Hz, stereo, 1:06; content 044bf335805a"."""
    rate_hz, samples, sha256 = file.get("rate_hz"), file.get("samples"), file.get("sha256")
    channels = file.get("channels")
    parts = [file.get("container"), file.get("codec"), f"{rate_hz:,} Hz" if rate_hz else None]
    parts += [_CHANNELS.get(channels, f"{channels} channels") if channels else None]
    parts += [clock_text(samples / rate_hz) if rate_hz and samples else None]
    text = ", ".join(str(part) for part in parts if part)
    content = f"content {sha256[:SHA_CHARACTERS]}" if sha256 else ""
    return "; ".join(filter(None, [text, content, *file.get("notes", ()), file.get("damage")]))


def of_cost(cost: HeldCost | None, recipients: Iterable[str]) -> list[Fact]:
    """The cost of live calls, and what went to whom; nothing if all stayed in one's own network."""
    return [*([("cost", cost_text(cost))] if cost else []), *(("sent", text) for text in recipients)]


def of_parties(parties: Mapping[Side, Mapping[str, Any]]) -> list[Fact]:
    """The party that spoke on each side: its kind, and which one it is."""
    return [(side, _party_text(party)) for side, party in parties.items() if "kind" in party]


def _party_text(party: Mapping[str, Any]) -> str:
    which = next((str(party[key]) for key in _WHICH if isinstance(party.get(key), str)), "")
    kind = "a recording" if party["kind"] == "replay" else str(party["kind"])
    return f"{kind}: {which}" if which else kind
