"""Plans a run: which conversations to hold, and in which order."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple, Self, TypeVar, cast
from urllib.parse import urlencode

from fdbcore.audio.decode import AudioFile
from fdbcore.errors import SettingsError, told_as
from fdbcore.lines.line import line_at
from fdbcore.protocols import CLEAN, Endpoint
from fdbcore.protocols.suite import Suite
from fdbcore.recording.meta import PlannedCase, PlannedClip
from fdbcore.recording.run import Decisions, PlannedSuite, is_planned
from fdbcore.registry import INSTRUCTED, endpoint, world, worlds
from fdbcore.runs.tools import PlannedTools, opened_tools
from fdbcore.runtime.address import query_of, split_query
from fdbcore.runtime.redaction import redacted
from fdbcore.session.converse import LiveSettings
from fdbcore.sources.clips import clips_in, why_unreadable
from fdbcore.sources.names import file_name
from fdbcore.types import Clip, Material, SideA, User
from fdbcore.types.usage import Service

Item = TypeVar("Item")


class PlannedSystem(NamedTuple):
    """A system under test: its name in this run, and its whole address, which may hold secrets."""

    name: str
    address: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse NAME=ADDRESS, or ADDRESS, whose text without secrets is then also the name.

        An address begins with its scheme, so an "=" before the first ":" or "?" ends a name. SettingsError for a wrong
        name or an empty address.
        """
        name, sign, address = text.partition("=")
        if not sign or ":" in name or "?" in name:
            return cls(redacted(text), text)
        if not re.fullmatch(r"[\w.-]+", name) or not address:
            raise SettingsError(f"expected NAME=ADDRESS, the name of letters, digits and _.-, got {redacted(text)!r}")
        return cls(name, address)


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation to hold. name: the name of its folder in the run. trial: counts from 1. line: the address of
    what it goes over; None if no lines were asked for."""

    name: str
    user: User
    system: PlannedSystem = field(repr=False)
    trial: int
    line: str | None = None

    @property
    def addresses(self) -> tuple[str, str]:
        """The whole addresses of sides A and B, which may hold secrets."""
        return self.user.address, self.system.address

    def to_json(self) -> PlannedCase:
        """The case as JSON values without secrets: the system's name, but no address."""
        clip = None if self.user.clip is None else cast("PlannedClip", self.user.clip.to_json())
        planned: PlannedCase = {"name": self.name, "system": self.system.name, "trial": self.trial, "clip": clip}
        if self.user.labels is not None:
            planned["labels"] = {"source": self.user.labels.source, "labels": [*map(dict, self.user.labels.labels)]}
        if self.user.may_be_silent:
            planned["may_be_silent"] = True
        columns = {**self.user.columns, **({"line": self.line} if self.line is not None else {})}
        return {**planned, "columns": columns} if columns else planned


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All cases of a run in their order.

    decided_by: what decided them, as JSON values without secrets. at_once: how many conversations a server holds at
    once, by `server` of its address; servers without a known limit are left out. material: what the benchmark needs to
    score the run, if there is one. tools: what the systems may call, if there is anything. services: the servers that
    get audio or words of the parties of each side, by the name of the system, those of all users under "". n_left_out:
    items of the benchmark's data that cannot be used.
    """

    cases: Sequence[Case]
    decided_by: Decisions
    settings: LiveSettings
    at_once: Mapping[str, int]
    material: Material | None = None
    tools: PlannedTools | None = None
    services: Mapping[str, Sequence[Service]] = field(default_factory=dict)
    n_left_out: int = 0

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the order given."""
        return list(self.decided_by["systems"])

    def services_of(self, case: Case) -> Sequence[Service]:
        """The servers that get audio or words of a case."""
        return [*self.services.get("", ()), *self.services.get(case.system.name, ())]

    def expected_s(self, case: Case) -> float:
        """The length of a case, about, in seconds; its limit if nothing else is known."""
        length_s = case.user.length_s
        return self.settings.max_s if length_s is None else min(length_s, self.settings.max_s)


def make_plan(
    systems: Sequence[PlannedSystem],
    users: Sequence[User],
    settings: LiveSettings,
    *,
    trials: int = 1,
    seed: int = 0,
    limits: Mapping[str, int] | None = None,
    material: Material | None = None,
    world: str | None = None,
    lines: Sequence[str] = (),
) -> RunPlan:
    """Plan each user with each system over each line, `trials` times.

    The systems take turns in a balanced random order: each is first, second, ... equally often, over each line. One
    trial ends before the next begins. So a run that is stopped early is still balanced, only smaller. limits: calls at
    a time by system name, in place of the `calls_at_once` of their endpoints. world: the address of what answers tool
    calls; it is opened to see the tools. lines: addresses of what the calls go over; without any, each side hears what
    the other says. No party is contacted. SettingsError if a party is unknown or cannot follow the clock, if a system
    is named twice or cannot call tools although there are some, or if the tools cannot be used, or a line.
    """
    if not systems or not users:
        raise SettingsError(f"expected systems and users, got {len(systems)} and {len(users)}")
    _refuse_doubles([system.name for system in systems])
    _refuse_doubles([user.name for user in users], 'name clips in a list: {"path": ..., "name": ...}')
    parties = {system.name: _party(system.address, settings.realtime) for system in systems}
    described_lines = [_described_line(line) for line in lines]
    over: Sequence[str | None] = [*lines] or [None]
    _refuse_doubles([str(line) for line in over], "name each line once")
    rng = random.Random(seed)
    orders = _balanced_orders([(system, line) for system in systems for line in over], rng)
    differing = _Differing(len(systems) > 1, len(over) > 1, trials > 1)
    cases = [
        Case(_case_name(user, system, line, trial, differing), user, system, trial, line)
        for trial in range(1, trials + 1)
        for user in rng.sample(users, len(users))
        for system, line in next(orders)
    ]
    _refuse_doubles([case.name for case in cases])
    of_users = [_party(user.address, settings.realtime) for user in users]
    decided_by: Decisions = {
        "systems": {name: dict(party.describe()) for name, party in parties.items()},
        "a": _side_a_json(users, of_users),
        "trials": trials,
        "seed": seed,
        "clock": "real" if settings.realtime else "virtual",
        "max_s": settings.max_s,
        "vad": settings.vad,
        "turns": asdict(settings.turns),
    }
    if settings.ends is not None:
        decided_by["ends"] = settings.ends._asdict()
    if lines:
        decided_by["lines"] = described_lines
    if material is not None:
        decided_by["suite"] = cast("PlannedSuite", material.to_json())
    tools = None
    if world is not None:
        tools = PlannedTools(world, _offered(world, systems, parties))
        decided_by["tools"] = dict(tools.described)
    services = {name: tuple(party.services()) for name, party in parties.items()}
    services[""] = tuple(dict.fromkeys(service for party in of_users for service in party.services()))
    return RunPlan(cases, decided_by, settings, _at_once(systems, parties, limits or {}), material, tools, services)


def side_a_of(
    suite: Suite,
    data: str | None,
    out: Path,
    options: Mapping[str, Any],
    show: Callable[[str], None],
) -> SideA:
    """The users in a run of a benchmark: those in `data`, or in the data that the suite ships.

    Shipped data are put beside the run. options: values of the suite's `options.run` by name. show: called with the
    current step. InputError and SettingsError as `Suite.ship` and `Suite.side_a` raise them.
    """
    if data is None:
        shipped = shipped_in(out)
        suite.ship(shipped, options, show)
        data = str(shipped)
    return suite.side_a(data)


def shipped_in(out: Path) -> Path:
    """The folder beside a run for the data that its benchmark ships."""
    return out.with_name(f"{out.name}-users")


def scores_beside(run: Path) -> Path:
    """The folder of the scores that a run gets from its benchmark once its calls have ended."""
    return run.with_name(f"{run.name}-scores")


@contextmanager
def unless_refused(out: Path) -> Iterator[None]:
    """In the `with` block, a run in `out` is planned. If it then is none, what its benchmark shipped is removed again.

    What was there before stays.
    """
    shipped = shipped_in(out)
    was_there = shipped.exists()
    try:
        yield
    finally:
        if not (was_there or is_planned(out)):
            rmtree(shipped, ignore_errors=True)


def prompted(systems: Sequence[PlannedSystem], side_a: SideA) -> list[PlannedSystem]:
    """The systems, with the prompts of side A in the addresses of those that take prompts and do not set their own."""
    told = list(systems)
    if side_a.prompts:
        from fdbcore.endpoints.one_shot import with_defaults

        told = [system._replace(address=with_defaults(system.address, side_a.prompts)) for system in told]
    if side_a.instructions:
        told = [system._replace(address=_instructed(system.address, side_a.instructions)) for system in told]
    return told


def clock_of(wanted: str | None, systems: Sequence[PlannedSystem], side_a: SideA) -> str:
    """The clock that a user wants; None: virtual where timing neither is scored nor decides any reply, else real."""
    if wanted is not None:
        return wanted
    from fdbcore.endpoints.one_shot import replies_once

    return "virtual" if side_a.untimed and all(replies_once(system.address) for system in systems) else "real"


def _instructed(address: str, instructions: str) -> str:
    place, query = split_query(address)
    if address.partition(":")[0] not in INSTRUCTED:
        return address
    return f"{place}?{urlencode({'instructions': instructions, **query_of(query)})}"


def world_of(side_a: SideA, tools: str | None) -> str | None:
    """The address of what answers tool calls: that of side A, or `tools` ("FILE", "FILE?SETTINGS", or an address).

    SettingsError if there are both, or if there is no such file, or for its wrong settings.
    """
    if tools is None:
        return side_a.world
    if side_a.world is not None:
        raise SettingsError("tools: expected none beside a benchmark that has its own")
    kind, colon, _ = tools.partition(":")
    address = tools if colon and kind in worlds() else f"file:{tools}"
    with told_as("tools", address.partition(":")[0]):
        world(address)
    return address


def recorded_users(clips: str) -> list[User]:
    """The users that `clips_in` finds in "PATH" or "PATH?SETTINGS". The settings are those of the clip endpoint.

    InputError if there are none, or if the settings are wrong.
    """
    path, settings = split_query(clips, file=True)
    return users_of(clips_in(path), settings)


def users_of(clips: Sequence[Clip], settings: str) -> list[User]:
    """A user for each clip, with these settings of the clip endpoint; InputError if the settings are wrong."""
    tail_s = float(endpoint(clips[0].address + settings).describe()["tail_s"])
    users = []
    for clip in clips:
        address = clip.address + settings
        if (problem := why_unreadable(clip.path)) is not None:
            users.append(User(clip.name, address, clip, 0.0, problem))
            continue
        with AudioFile(clip.path) as file:
            length_s = None if file.stated_s is None else file.stated_s + tail_s
        users.append(User(clip.name, address, clip, length_s))
    return users


def server(address: str) -> str:
    """An address without its settings: addresses that differ only in settings lead to the same server."""
    return address.partition("?")[0]


def _party(address: str, realtime: bool) -> Endpoint:
    party = endpoint(address)
    if not realtime and party.clocking in ("burst", "realtime"):
        raise SettingsError(f"{redacted(address)}: a virtual clock cannot drive a party that follows {party.clocking}")
    return party


def _offered(world: str, systems: Sequence[PlannedSystem], parties: Mapping[str, Endpoint]) -> Mapping[str, Any]:
    """The description of the tools. SettingsError if a system cannot call them."""
    with opened_tools(world) as opened:
        for system in systems:
            try:
                parties[system.name].take_tools(opened.tools)
            except SettingsError as error:
                raise SettingsError(f"{redacted(system.address)}: {error}, but the run has tools") from None
        return opened.describe()


def _at_once(
    systems: Sequence[PlannedSystem], parties: Mapping[str, Endpoint], limits: Mapping[str, int]
) -> dict[str, int]:
    """For each server the least limit of its systems."""
    if unknown := limits.keys() - parties.keys():
        raise SettingsError(f"--limit: expected the name of a system, {', '.join(parties)}, got {min(unknown)}")
    at_once: dict[str, int] = {}
    for system in systems:
        limit = limits.get(system.name, parties[system.name].calls_at_once)
        if limit is not None:
            at_once[server(system.address)] = min(limit, at_once.get(server(system.address), limit))
    return at_once


def _balanced_orders(items: Sequence[Item], rng: random.Random) -> Iterator[list[Item]]:
    """Endless orders of the items, from random Latin squares: in n orders, each of n items has each place once."""
    while True:
        row = rng.sample(items, len(items))
        for first in rng.sample(range(len(items)), len(items)):
            yield row[first:] + row[:first]


def _described_line(address: str) -> dict[str, Any]:
    """The description of a line before its calls. SettingsError if there is none at the address."""
    with told_as("--line", "line"):
        line = line_at(address)
    return {"name": CLEAN} if line is None else {k: v for k, v in line.describe().items() if k != "seed"}


class _Differing(NamedTuple):
    """The differences between the cases of a run, beside their users."""

    systems: bool
    lines: bool
    trials: bool


def _case_name(user: User, system: PlannedSystem, line: str | None, trial: int, differing: _Differing) -> str:
    """A name for the case's folder, from whatever makes it differ from the other cases of its run."""
    parts = [user.name]
    if differing.systems or not user.name:
        parts.append(system.name)
    if differing.lines:
        parts.append(str(line))
    if differing.trials:
        parts.append(str(trial))
    name = "-".join(filter(None, (re.sub(r"[^\w.+-]+", "-", part).strip("-.") for part in parts)))
    return file_name(name) or "call"


def _refuse_doubles(names: Sequence[str], remedy: str = "name systems by --system NAME=ADDRESS") -> None:
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise SettingsError(f"expected different names, got {name} {count} times: {remedy}")


def _side_a_json(users: Sequence[User], parties: Sequence[Endpoint]) -> dict[str, Any] | list[dict[str, Any]]:
    """Side A as the plan has it: the description that all users share, or the list of different ones."""
    different: dict[str, dict[str, Any]] = {}
    for user, party in zip(users, parties, strict=True):
        described = dict(party.describe())
        if user.clip:
            described.pop("path", None)  # the cases name the clips
        different.setdefault(json.dumps(described, sort_keys=True), described)
    first, *others = different.values()
    return [first, *others] if others else first
