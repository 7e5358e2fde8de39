"""The plan of a run: which conversations are held, and in which order."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar, cast

from fdbcore.audio.decode import AudioFile
from fdbcore.errors import SettingsError
from fdbcore.protocols import Endpoint, Suite
from fdbcore.registry import endpoint
from fdbcore.runtime.address import split_query
from fdbcore.runtime.redaction import redacted
from fdbcore.session.converse import LiveSettings
from fdbcore.sources.clips import clips_in, why_unreadable
from fdbcore.types import Clip, Material, SideA, User

if TYPE_CHECKING:
    from fdbcore.recording.run_types import Decisions, PlannedCase, PlannedClip, PlannedSuite

Item = TypeVar("Item")

_MOST_NAME_CHARACTERS: Final = 120


class PlannedSystem(NamedTuple):
    """A system under test: its name in this run, and its whole address, which may hold secrets."""

    name: str
    address: str

    @classmethod
    def of(cls, text: str) -> Self:
        """From NAME=ADDRESS, or from ADDRESS, which is then the name too, without its secrets.

        An address begins with its scheme: an "=" before any ":" and "?" ends a name. SettingsError for a wrong one.
        """
        name, sign, address = text.partition("=")
        if not sign or ":" in name or "?" in name:
            return cls(redacted(text), text)
        if not re.fullmatch(r"[\w.-]+", name) or not address:
            raise SettingsError(f"expected NAME=ADDRESS, the name of letters, digits and _.-, got {redacted(text)!r}")
        return cls(name, address)


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation to hold; `name` is that of its folder in the run."""

    name: str
    user: User
    system: PlannedSystem = field(repr=False)
    trial: int

    def to_json(self) -> PlannedCase:
        """What may be written down."""
        clip = None if self.user.clip is None else cast("PlannedClip", self.user.clip.to_json())
        return {"name": self.name, "system": self.system.name, "trial": self.trial, "clip": clip}


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All cases of a run in their order, and what decided them: JSON values without secrets.

    at_once: how many conversations each server holds at once, by `server` of its address, where that is known.
    material: of the benchmark that the run is for, if it is for one.
    """

    cases: Sequence[Case]
    decided_by: Decisions
    settings: LiveSettings
    at_once: Mapping[str, int]
    material: Material | None = None

    @property
    def systems(self) -> list[str]:
        """Their names, in the order given."""
        return list(self.decided_by["systems"])

    def expected_s(self, case: Case) -> float:
        """About how long a case lasts; at most, where it is open when it ends."""
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
) -> RunPlan:
    """Each user with each system, `trials` times.

    The systems take turns in a random order that is balanced (each is first, second, ... equally often), and one trial
    is over before the next begins: a run that is stopped early has lost nothing but cases. limits: for systems by name,
    instead of what their endpoints declare as `calls_at_once`. Nothing is contacted. Raises SettingsError: a party that
    is unknown or cannot follow the clock, a system named twice.
    """
    if not systems or not users:
        raise SettingsError(f"expected systems and users, got {len(systems)} and {len(users)}")
    _refuse_doubles([system.name for system in systems])
    _refuse_doubles([user.name for user in users], 'name clips in a list: {"path": ..., "name": ...}')
    parties = {system.name: _party(system.address, settings.realtime) for system in systems}
    rng = random.Random(seed)
    orders = _balanced_orders(systems, rng)
    cases = [
        Case(_case_name(user, system, trial, len(systems), trials), user, system, trial)
        for trial in range(1, trials + 1)
        for user in rng.sample(users, len(users))
        for system in next(orders)
    ]
    _refuse_doubles([case.name for case in cases])
    decided_by: Decisions = {
        "systems": {name: dict(party.describe()) for name, party in parties.items()},
        "a": _told_once([_of_a(user, settings.realtime) for user in users]),
        "trials": trials,
        "seed": seed,
        "clock": "real" if settings.realtime else "virtual",
        "max_s": settings.max_s,
        "vad": settings.vad,
        "turns": asdict(settings.turns),
    }
    if material is not None:
        decided_by["suite"] = cast("PlannedSuite", material.to_json())
    return RunPlan(cases, decided_by, settings, _at_once(systems, parties, limits or {}), material)


def side_a_of(suite: Suite, data: str | None, out: Path, show: Callable[[str], None] = lambda text: None) -> SideA:
    """Who talks to the systems in a run of a benchmark: those of `data`, or of what it ships, put beside the run.

    show: told what is going on. InputError and SettingsError as `Suite.ship` and `Suite.side_a` raise them.
    """
    if data is None:
        shipped = shipped_in(out)
        suite.ship(shipped, show)
        data = str(shipped)
    return suite.side_a(data)


def shipped_in(out: Path) -> Path:
    """The folder, beside a run, of the data that ship with its benchmark."""
    return out.with_name(f"{out.name}-users")


def prompted(systems: Sequence[PlannedSystem], side_a: SideA) -> list[PlannedSystem]:
    """The systems; those that take prompts are told what side A has for them, unless their addresses say otherwise."""
    if not side_a.prompts:
        return list(systems)
    from fdbcore.endpoints.one_shot import with_defaults

    return [system._replace(address=with_defaults(system.address, side_a.prompts)) for system in systems]


def recorded_users(clips: str) -> list[User]:
    """The users that `clips_in` finds in "PATH" or "PATH?SETTINGS", with settings of the clip endpoint for all.

    Raises InputError where there are none, and for settings that are wrong.
    """
    path, settings = split_query(clips, file=True)
    return users_of(clips_in(path), settings)


def users_of(clips: Sequence[Clip], settings: str) -> list[User]:
    """A user for each of several clips, with these settings of the clip endpoint; InputError if they are wrong."""
    tail_s = float(endpoint(clips[0].address + settings).describe()["tail_s"])
    return [_user(clip, settings, tail_s) for clip in clips]


def server(address: str) -> str:
    """The address of the server that all addresses with other settings share."""
    return address.partition("?")[0]


def _party(address: str, realtime: bool) -> Endpoint:
    party = endpoint(address)
    if not realtime and party.clocking in ("burst", "realtime"):
        raise SettingsError(f"{redacted(address)}: a virtual clock cannot drive a party that follows {party.clocking}")
    return party


def _at_once(
    systems: Sequence[PlannedSystem], parties: Mapping[str, Endpoint], limits: Mapping[str, int]
) -> dict[str, int]:
    """The least limit that a server's systems have."""
    if unknown := limits.keys() - parties.keys():
        raise SettingsError(f"limit: expected the name of a system, {', '.join(parties)}, got {min(unknown)}")
    at_once: dict[str, int] = {}
    for system in systems:
        limit = limits.get(system.name, parties[system.name].calls_at_once)
        if limit is not None:
            at_once[server(system.address)] = min(limit, at_once.get(server(system.address), limit))
    return at_once


def _balanced_orders(items: Sequence[Item], rng: random.Random) -> Iterator[list[Item]]:
    """Orders without end: random Latin squares, so that in n of them each of n items has each place once."""
    while True:
        row = rng.sample(items, len(items))
        for first in rng.sample(range(len(items)), len(items)):
            yield row[first:] + row[:first]


def _case_name(user: User, system: PlannedSystem, trial: int, n_systems: int, n_trials: int) -> str:
    """Whatever tells the case from the others of its run, fit for a folder."""
    parts = [user.name]
    if n_systems > 1 or not user.name:
        parts.append(system.name)
    if n_trials > 1:
        parts.append(str(trial))
    name = "-".join(filter(None, (re.sub(r"[^\w.+-]+", "-", part).strip("-.") for part in parts)))
    return name[-_MOST_NAME_CHARACTERS:].lstrip("-.") or "call"


def _refuse_doubles(names: Sequence[str], remedy: str = "name systems by --system NAME=ADDRESS") -> None:
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise SettingsError(f"expected different names, got {name} {count} times: {remedy}")


def _user(clip: Clip, settings: str, tail_s: float) -> User:
    address = clip.address + settings
    if (problem := why_unreadable(clip.path)) is not None:
        return User(clip.name, address, clip, 0.0, problem)
    with AudioFile(clip.path) as file:
        return User(clip.name, address, clip, None if file.stated_s is None else file.stated_s + tail_s)


def _of_a(user: User, realtime: bool) -> dict[str, Any]:
    """What decides the plan of one that talks to the systems; the file of a clip is told with its cases."""
    described = dict(_party(user.address, realtime).describe())
    return {name: value for name, value in described.items() if name != "path"} if user.clip else described


def _told_once(described: Sequence[dict[str, Any]]) -> dict[str, Any] | list[dict[str, Any]]:
    """What all users have in common, or all that there is where they differ."""
    different = list({json.dumps(values, sort_keys=True): values for values in described}.values())
    return described[0] if len(different) == 1 else different
