"""Input health: what is wrong with the audio of a session, before any number is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from fdbcore.measures.health import echo, levels, sides, tones
from fdbcore.measures.health.finding import ECHOES, SEVERITIES, Bools, HealthFinding, runs
from fdbcore.measures.health.hearing import HealthProbe, SideAudio
from fdbcore.measures.health.lines import without_lines
from fdbcore.recording.files import AUDIO, HEALTH, write_json
from fdbcore.recording.reader import Recording
from fdbcore.sources.sessions import SessionInput
from fdbcore.types import SIDES, TICKS_PER_S, Side

__all__ = ["HEALTH_SCHEMA", "HealthProbe", "examine", "keep_health", "listen_again"]

HEALTH_SCHEMA: Final = "fdbcore.health/2"


def examine(
    heard: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], two_files: bool = False, live: bool = False
) -> dict[str, Any]:
    """What is wrong with a session, as JSON values of schema HEALTH_SCHEMA.

    Keys: verdict ("ok", or the worst severity above a note), sides {A, B: figures}, findings, and suspect {A, B}: the
    spans of ticks in which the activity of a side is echo of the other.
    activity: of each side, bool (n_ticks,). two_files: each side has its own. live: the sides are known,
    and lie on one clock.
    """
    active = {side: np.pad(activity[side], (0, heard[side].n_ticks))[: heard[side].n_ticks] for side in SIDES}
    with without_lines(heard) as voices:
        found = echo.find(voices, active, one_clock=live)
        findings = list(sides.echoes(found, active))
        suspect = {side: np.zeros(heard[side].n_ticks, np.bool_) for side in SIDES}
        for number, finding in enumerate(findings):
            if finding.id in ECHOES and finding.side:
                suspect[finding.side] = echo.suspect(found[finding.side], voices) & active[finding.side]
                findings[number] = replace(finding, spans=runs(suspect[finding.side], TICKS_PER_S))
    own = {side: active[side] & ~suspect[side] for side in SIDES}
    alone = {side: heard[side].until_its_end for side in SIDES}
    speech = {side: own[side][: alone[side].n_ticks] for side in SIDES}
    figures = {side: levels.figures(alone[side], speech[side]) for side in SIDES}
    for side in SIDES:
        of_tones = list(tones.checks(side, alone[side]))
        tonal = tones.ticks(of_tones, alone[side].n_ticks)
        of_side = [*levels.checks(side, alone[side], speech[side], tonal, figures[side]), *of_tones]
        findings += [replace(finding, text=f"{side} {finding.text}") for finding in of_side]
    findings += [] if live else sides.exchanged(alone, speech)
    findings += sides.out_of_step(own) if two_files else []
    return {
        "schema": HEALTH_SCHEMA,
        "verdict": _verdict(findings),
        "sides": figures,
        "findings": [finding.to_json() for finding in sorted(findings, key=_weight, reverse=True)],
        "suspect": {side: runs(suspect[side]) for side in SIDES},
    }


def keep_health(recording: Recording, probe: HealthProbe) -> None:
    """Examine what was heard of a recording, and keep it with the recording's derived data."""
    files = (recording.meta.get("source") or {}).get("files", [])
    live = any(party.get("kind") != "replay" for party in (recording.original_meta.get("parties") or {}).values())
    activity = dict(zip(SIDES, recording.activity, strict=True))
    write_json(recording.path / HEALTH, examine(probe.sides(), activity, len(files) == len(SIDES), live))


def listen_again(recording: Recording) -> None:
    """Examine a recording that was made live, by its session.wav; nothing where it has none, or no end."""
    if not (recording.path / AUDIO).is_file() or not recording.meta.get("n_ticks"):
        return
    session = SessionInput(recording.name, recording.path / AUDIO, recording=recording.path)
    with session.open() as source, HealthProbe() as probe:
        for _ in probe.tap(source.blocks()):
            pass
        keep_health(recording, probe)


def _weight(finding: HealthFinding) -> int:
    return SEVERITIES.index(finding.severity)


def _verdict(findings: list[HealthFinding]) -> str:
    worst = max(map(_weight, findings), default=0)
    return SEVERITIES[worst] if worst else "ok"
