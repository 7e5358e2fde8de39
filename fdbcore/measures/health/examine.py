"""Examines the audio of a session before anything is measured: runs all checks and stores their findings."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from fdbcore.measures.health import clock, echo, levels, repeated, sides, silences, surroundings, tones, trend, voices
from fdbcore.measures.health.echo_powers import echo_ticks
from fdbcore.measures.health.finding import ECHOES, SEVERITIES, Bools, in_session, runs
from fdbcore.measures.health.hum import without_hum
from fdbcore.measures.health.limits import limits_of
from fdbcore.measures.health.probe import HealthProbe, SideAudio
from fdbcore.measures.health.side_sound import figures as side_figures
from fdbcore.recording.files import AUDIO, HEALTH, HEALTH_SCHEMA, write_json
from fdbcore.recording.health import Health, HealthFinding
from fdbcore.recording.left_out import NO_END, heard_spans, kept_spans, kept_ticks
from fdbcore.recording.meta import left_out_of
from fdbcore.recording.reader import Recording
from fdbcore.sources.sessions import CallInput
from fdbcore.types import SIDES, TICKS_PER_S, Side, Span

__all__ = ["HealthProbe", "examine", "keep_health", "listen_again"]

UNKNOWN_VADS: Final[Mapping[Side, str]] = {}
HOLD_BOTH: Final = ("same_channels", "mixed")
"""The ids of findings that say that a side holds both voices."""


def examine(
    heard: Mapping[Side, SideAudio],
    activity: Mapping[Side, Bools],
    two_files: bool = False,
    live: bool = False,
    kept: Sequence[Span] = ((0, NO_END),),
    vads: Mapping[Side, str] = UNKNOWN_VADS,
) -> Health:
    """The input health of a session, as JSON values of schema HEALTH_SCHEMA.

    Keys: verdict ("ok", or the worst severity above "note"), sides {A, B: figures}, findings, and suspect {A, B}: the
    spans of ticks in which the activity of a side is echo of the other side, or a tone. activity: bool (n_ticks,) per
    side. two_files: each side has its own file. live: the sides are known, and share one clock. kept: the spans of the
    session that were heard, one after the other; the result has spans of ticks of the session. vads: the names of the
    detectors that decided the activity, as some are moved by what moves no other.
    """
    active = {side: _fitted(activity[side], heard[side].n_ticks) for side in SIDES}
    unpadded = {side: heard[side].until_its_end for side in SIDES}
    of_tones = {side: list(tones.checks(side, unpadded[side], kept)) for side in SIDES}
    tonal = {side: tones.ticks(of_tones[side], heard[side].n_ticks) for side in SIDES}
    repeats = {side: repeated.repeats_of(unpadded[side]) for side in SIDES}
    loops = {
        side: loop for side in SIDES if (loop := repeated.loop_of(side, unpadded[side], repeats[side])) is not None
    }
    own = {side: active[side] & ~_within(loops, side, heard[side].n_ticks) for side in SIDES}
    findings, suspect = _of_both(heard, own, tonal, two_files, live)
    findings += loops.values()
    suspect = {side: suspect[side] | (active[side] & ~own[side]) for side in SIDES}
    speech = {side: (active[side] & ~suspect[side])[: unpadded[side].n_ticks] for side in SIDES}
    spoken = {side: voices.units_of(unpadded[side], speech[side]) for side in SIDES}
    figures = {side: side_figures(unpadded[side], speech[side]) for side in SIDES}
    for side in SIDES:
        figures[side]["pitch_hz"] = voices.pitch_hz(spoken[side])
    not_its_own = {finding["side"] for finding in findings if finding["id"] != "out_of_step"}
    for side in SIDES:
        heard_by = unpadded[side], speech[side]
        limits = limits_of(vads.get(side, ""))
        is_explained = bool(not_its_own & {side, None}) or any(finding["id"] == "music" for finding in of_tones[side])
        of_side = [
            *levels.checks(side, *heard_by, tonal[side][: unpadded[side].n_ticks], figures[side], limits),
            *surroundings.checks(side, *heard_by, figures[side], is_explained, limits),
            *of_tones[side],
        ]
        findings += [{**finding, "text": f"{side} {finding['text']}"} for finding in of_side]
    if not live:
        has_two_voices = not any(finding["id"] in HOLD_BOTH for finding in findings)
        findings += [*sides.exchanged(unpadded, speech), *sides.half_duplex(unpadded, speech)]
        findings += clock.pauses(unpadded, speech)
        findings += repeated.recorded_twice(repeats)
        findings += voices.checks(spoken) if has_two_voices else ()
    findings = [{**finding, "spans": in_session(finding["spans"], kept)} for finding in findings]
    findings.sort(key=lambda finding: SEVERITIES.index(finding["severity"]), reverse=True)
    worst = findings[0]["severity"] if findings else "note"
    return {
        "schema": HEALTH_SCHEMA,
        "verdict": "ok" if worst == "note" else worst,
        "sides": {"A": figures["A"], "B": figures["B"]},
        "findings": findings,
        "suspect": {
            "A": in_session(runs(suspect["A"]), kept),
            "B": in_session(runs(suspect["B"]), kept),
        },
    }


def _of_both(
    heard: Mapping[Side, SideAudio],
    active: Mapping[Side, Bools],
    tonal: Mapping[Side, Bools],
    two_files: bool,
    live: bool,
) -> tuple[list[HealthFinding], dict[Side, Bools]]:
    """Findings on what one side has of the other, and on sides out of step; and the ticks of each side that are echo
    or, unless it is a party of a live call, tones: such a party may be a machine that says what it says in tones."""
    suspect = {side: np.zeros(heard[side].n_ticks, np.bool_) for side in SIDES}
    with without_hum(heard) as clear:
        far = not live and echo.hears_far(clear, active)
        found = echo.find(clear, active, one_clock=live, far=far)
        findings = list(sides.echoes(found, active))
        echoes = {side: found[side] for f in findings if (side := f["side"]) and f["id"] in ECHOES}
        suspect |= echo_ticks(echoes, clear, active)
        for number, finding in enumerate(findings):
            if (side := finding["side"]) in echoes:
                if finding["id"] == "repeats":  # nothing of it is its own, explained or not
                    suspect[side] |= active[side] & echo.beside(found[side], active)
                findings[number] = {**finding, "spans": runs(suspect[side], TICKS_PER_S)}
        for side in () if live else SIDES:
            suspect[side] |= tones.unspoken(tonal[side], active[side] & ~suspect[side])
        spoken = {side: active[side] & ~suspect[side] for side in SIDES}
        is_told = any(finding["id"] in (*HOLD_BOTH, "offset") for finding in findings)
        if not (live or is_told):
            out_of_step = list(clock.out_of_step(clear, spoken, two_files, far))
            findings += out_of_step or trend.later_and_later(spoken)
            findings += silences.cut_short(spoken)
    return findings, suspect


def _within(loops: Mapping[Side, HealthFinding], side: Side, n_ticks: int) -> Bools:
    """The ticks of the loop of a side, bool (n_ticks,)."""
    ticks = np.zeros(n_ticks, np.bool_)
    for start, end in loops[side]["spans"] if side in loops else ():
        ticks[start:end] = True
    return ticks


def _fitted(activity: Bools, n_ticks: int) -> Bools:
    """The activity, as long as the audio: silent where it is shorter."""
    return activity if len(activity) == n_ticks else np.pad(activity[:n_ticks], (0, max(n_ticks - len(activity), 0)))


def keep_health(recording: Recording, probe: HealthProbe) -> None:
    """Examine the audio that a probe heard, and store the result with the recording's derived data."""
    write_json(recording.path / HEALTH, _examined(recording, probe))


def listen_again(recording: Recording) -> Health | None:
    """The input health of a live recording by its session.wav; None if it has none, or if it was never completed."""
    if not (recording.path / AUDIO).is_file() or not recording.meta.get("n_ticks"):
        return None
    session = CallInput(recording.name, recording.path / AUDIO, recording=recording.path)
    with session.open() as source, HealthProbe() as probe:
        for _ in probe.tap(source.blocks()):
            pass
        return _examined(recording, probe)


def _examined(recording: Recording, probe: HealthProbe) -> Health:
    live = "held" in recording.meta or any(party.get("kind") != "replay" for party in recording.parties.values())
    two_files = len(recording.source_files) == len(SIDES)
    activity = dict(zip(SIDES, recording.activity, strict=True))
    left_out = left_out_of(recording.meta)  # by the user, as what else is left out rests on this
    heard = heard_spans(kept_spans(left_out, recording.n_ticks), recording.n_ticks)
    if left_out:
        activity = {side: track[kept_ticks(heard, len(track))] for side, track in activity.items()}
    vads = {side: str(recording.meta["settings"]["vad"][side]["name"]) for side in SIDES}
    return examine(probe.sides(), activity, two_files, live, heard, vads)
