"""The playing of recordings to systems: who plays them, with which tools, and when a call is over."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import UNSET, Meta, Struct, structs, to_builtins

from fdbcore.analysis import what_decides
from fdbcore.errors import InputError, SettingsError
from fdbcore.recording import FAILED, PlannedRun, outcome_in, part_of, read_json, write_bytes, write_json
from fdbcore.report import counted
from fdbcore.runs import users_of
from fdbcore.runtime import Setting, query_of, split_query, values
from fdbcore.session import SILENT
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.folder import import_folder
from fdbcore.suites.fdb_v3.scenarios import (
    SMOKE,
    RecordedScenarioEntry,
    RecordedScenarioFile,
    by_record,
    counts_of,
    look_at,
)
from fdbcore.suites.fdb_v3.world import KIND, fdb_v3_world
from fdbcore.types import TICKS_PER_S, CallEnd, Clip, Material, Problem, SideA, User

RECORDINGS: Final = "recordings.json"
"""The file of recorded scenarios that a run plays, which it keeps."""
LEFT_OUT: Final = "left_out.json"
"""The file, if there is any, of the records that a run cannot play, and why."""
SET: Final = "fdb3.json"
"""The name of such a file in a folder."""

PLAYING: Final = (
    Setting("quiet_s", "both silent for so long after an answer, no call pending: the call is over", float, 10.0,
            unit="s", least=0.5, most=600),
    Setting("most_s", "from the user's end: the call is over", float, 30.0, unit="s", least=1, most=600),
    Setting("ends", "quiet: as these say; file: with the recording and its tail, as the release cuts it, even if the "
            "system hangs up before", default="quiet", choices=("quiet", "file")),
    Setting("prompt", "whether parties that take prompts get ours", default="ours", choices=("ours", "none")),
)  # fmt: skip
CLIP_SETTINGS: Final = ("channel", "level_dbov", "tail_s", "noise_dbov", "seed")
WORLD_SETTINGS: Final = ("latency", "timeout_s", "faults")
CLIP_DEFAULTS: Final = {"channel": "mean", "tail_s": "30"}
"""A mono mix, as the release has it; time enough for 30 s after the user's end, whatever the room tone is."""


class V3Played(Struct, frozen=True):
    """A run's way of playing its recordings."""

    run: str
    clock: str
    vad: str
    max_s: float
    ends: Annotated[
        dict[str, float] | None, Meta(description="quiet_s, most_s; null: calls last as long as the recording and tail")
    ]
    user: Annotated[dict[str, Any], Meta(description="how a recording is played: channel, level_dbov, tail_s, ...")]
    tools: Annotated[dict[str, Any], Meta(description="their settings: list, latency, timeout_s, faults")]


def ship(folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Put the smoke set into a folder, with its recordings: the folder may move."""
    content = read_json(SMOKE)
    for name in (record["audio"]["path"] for record in content["record"]):
        write_bytes(part_of(folder, name), (SMOKE.parent / name).read_bytes())
    write_json(folder / SET, content)


def side_a(data: str) -> SideA:
    """The recordings in "PLACE" or "PLACE?SETTINGS"; a person may play them, who is shown what to ask for.

    PLACE: "smoke", a file of recorded scenarios, its folder, or a released folder. SETTINGS: those of PLAYING, of the
    clip endpoint, and of the world. InputError if there are no recordings.
    """
    place, query = split_query(data, file=True)
    given = query_of(query)
    own = [each.name for each in PLAYING]
    known = (*own, *CLIP_SETTINGS, *WORLD_SETTINGS)
    if unknown := [name for name in given if name not in known]:
        raise SettingsError(f"{KIND}: expected settings of {', '.join(known)}, got {unknown[0]!r}")
    clip = {name: value for name, value in given.items() if name in CLIP_SETTINGS}
    world = {name: value for name, value in given.items() if name in WORLD_SETTINGS}
    how = values(KIND, {name: value for name, value in given.items() if name in own}, PLAYING)
    address = f"{KIND}:?{urlencode(world)}" if world else f"{KIND}:"
    fdb_v3_world(address)  # wrong settings are told before anything is read
    found, base, problems = recordings_at(SMOKE if place == "smoke" else Path(place).absolute())
    clips = [Clip(record.id, base / record.audio.path, record.domain, {"id": record.id}) for record in found.record]
    users = users_of(clips, urlencode({**CLIP_DEFAULTS, **clip}))
    ends = None if how["ends"] == "file" else CallEnd(how["quiet_s"], how["most_s"])
    texts = {RECORDINGS: json.dumps(to_builtins(found), ensure_ascii=False)}
    if problems:
        texts[LEFT_OUT] = json.dumps([each._asdict() for each in problems], ensure_ascii=False)
    recorded = SideA(
        [_with_columns(user, record, ends) for user, record in zip(users, found.record, strict=True)],
        material=Material(KIND, str(base), texts),
        problems=problems,
        world=address,
        ends=ends,
        outlasts_b=ends is None,
        instructions=instructions() if how["prompt"] == "ours" else None,
    )
    return replace(recorded, played_by=partial(played_by, recorded))


def _with_columns(user: User, record: RecordedScenarioEntry, ends: CallEnd | None) -> User:
    """The user with what the tables of a run show of its recording; it is expected to end by `ends`."""
    columns = {
        "record": record.id,
        "scenario": record.scenario,
        "speaker": record.speaker,
        "domain": record.domain,
        "difficulty": record.difficulty,
        "disfluency": " ".join(record.disfluencies),
    }
    length_s = user.length_s
    if ends is not None and length_s is not None and record.user_end_tick is not UNSET:
        length_s = min(length_s, record.user_end_tick / TICKS_PER_S + ends.most_s)
    return replace(user, columns=columns, length_s=length_s)


def instructions() -> str:
    """Instructions for systems that take them and whose addresses set none."""
    return (files("fdbcore.suites.fdb_v3") / "data" / "agent.en.txt").read_text(encoding="utf-8").strip()


def recordings_at(place: Path) -> tuple[RecordedScenarioFile, Path, list[Problem]]:
    """The recorded scenarios at a place, the folder that their paths start from, and what was left out.

    place: a file of recorded scenarios, a folder with one that is called SET, or a released folder. InputError if there
    is none that can be used.
    """
    if place.is_dir() and not (place / SET).is_file():
        imported = import_folder(place, place / SET, lambda text: None)
        if not imported.records:
            raise InputError(f"{place}: expected recordings that can be used, got none: {imported.problems[0]}")
        return imported.file(), place, imported.left_out(place)
    if not place.exists():
        raise InputError(f"{place}: expected a file of recorded scenarios, or a folder of recordings: there is none")
    path = place / SET if place.is_dir() else place
    found, faults = look_at(path)
    if found is None:
        raise InputError(f"{faults[0].where}: {faults[0].reason}")
    kept: list[RecordedScenarioEntry] = []
    problems: list[Problem] = []
    for record, faults in by_record(found, path):
        if faults:
            where = f"{path}: {record.id}"
            problems.append(Problem(where, f"left out: {'; '.join(_within(where, each) for each in faults)}"))
        else:
            kept.append(record)
    if not kept:
        why = f"none that can be used: {problems[0].where}: {problems[0].reason}" if problems else "none"
        raise InputError(f"{path}: expected recordings, got {why}")
    card = structs.replace(found.card, **counts_of(kept))
    return structs.replace(found, card=card, record=kept), path.parent, problems


def _within(record: str, fault: Problem) -> str:
    """A fault without the place of its record."""
    return ": ".join(filter(None, [fault.where.removeprefix(record).removeprefix(": "), fault.reason]))


def left_out_of(run: Path) -> list[Problem]:
    """The records that a run could not play, and why."""
    path = run / LEFT_OUT
    return [Problem(**each) for each in read_json(path)] if path.is_file() else []


def playing_of(run: Path, planned: PlannedRun) -> V3Played:
    """A run's way of playing its recordings, as its plan says."""
    plan = planned["plan"]
    user = plan["a"][0] if isinstance(plan["a"], list) else plan["a"]
    tools = {name: value for name, value in plan.get("tools", {}).items() if name != "functions"}
    name = run.resolve().name
    return V3Played(name, plan["clock"], plan["vad"], plan["max_s"], plan.get("ends"), user, tools)


def why_silent(run: Path, cases: Sequence[V3Case]) -> Iterator[str]:
    """A line for each reason why calls of a system are silent, where there is more to say than that they are."""
    ends = ((case.system, outcome_in(case.path)) for case in cases if case.path is not None)
    reasons = Counter((system, end["reason"]) for system, end in ends if end is not None and end["kind"] == FAILED)
    for (system, reason), count in reasons.items():
        if reason != SILENT:
            yield f"{run.name}: {system}: {counted(count, 'call')}: {reason}"


def namesakes(systems: Mapping[Path, Mapping[str, Any]]) -> list[str]:
    """A line for each name that several runs have for systems that differ in `what_decides`.

    systems: of each run, as its plan describes them.
    """
    found: dict[str, dict[str, Path]] = {}
    for run, own in systems.items():
        for name, described in own.items():
            found.setdefault(name, {}).setdefault(json.dumps(what_decides(described), sort_keys=True), run)
    return [
        f"{name}: systems of this name differ, and are scored as one: {', '.join(map(str, different.values()))} "
        "(name them apart by --system NAME=ADDRESS)"
        for name, different in found.items()
        if len(different) > 1
    ]


def played_by(side_a: SideA, address: str) -> SideA:
    """The same scenarios with the party at an address in place of the recordings; a page shows what to ask for."""
    assert side_a.material is not None
    records = msgspec.json.decode(side_a.material.texts[RECORDINGS], type=RecordedScenarioFile).record
    place, query = split_query(address)
    users = [
        replace(user, address=_showing(place, query, task_of(record)), clip=None, length_s=None, problem=None)
        for user, record in zip(side_a.users, records, strict=True)
    ]
    return replace(side_a, users=users, outlasts_b=False)


def _showing(place: str, query: str, text: str) -> str:
    if place.partition(":")[0] != "webrtc":
        return f"{place}?{query}" if query else place
    scheme = place if ":" in place else f"{place}:"
    return f"{scheme}?{urlencode({**query_of(query), 'shows': text})}"


def task_of(record: RecordedScenarioEntry) -> str:
    """The task for a person: the request as the recording has it, and how it is to be acted."""
    lines = [
        record.title,
        f"Say this, as you would say it: {record.script}",
        record.acting_notes,
        "Then only listen, and hang up when you have your answer.",
    ]
    return "\n".join(filter(None, lines))
