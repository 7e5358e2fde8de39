"""The examiners of a run: one for each scenario and pacing. Their briefs lie in a folder beside the run."""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, Literal
from urllib.parse import urlencode

from msgspec import Struct, to_builtins

from fdbcore import registry
from fdbcore.endpoints import OPENS, PACINGS, SCRIPTED, Brief, Goal, known_actor
from fdbcore.errors import InputError, MissingExtraError, SettingsError, nearest, told_as
from fdbcore.recording import kept_of_form, part_of, write_json
from fdbcore.runtime import redacted
from fdbcore.suites.staged.scenario_files import read_set
from fdbcore.suites.staged.scenarios import Family, Scenario, builtin_families
from fdbcore.types import Material, Option, Problem, SideA, User

NAME: Final = "staged"
USERS: Final = "users.json"
SCHEMA: Final = "fdbcore.staged_users/1"
BOTH: Final[Mapping[str, Sequence[str]]] = {"both": ("slow", "fast"), "fdb2": ("fdb2-slow", "fdb2-fast")}
"""Names of two pacings at once."""
MOST_NAMED: Final = 12
"""An error names all that could have been asked for, if there are no more."""
_ADDRESSES: Final = ("actor", "transcriber", "voice")
"""The settings of an examiner that say who is started or asked."""
_typed: Final[set[str]] = set()
"""The addresses that `ship` was given. Data of somebody else name no others."""

OPTIONS: Final = (
    Option("--scenarios", "Scenarios: builtin, builtin-ja, or a file.", default="builtin", metavar="SET"),
    Option("--pacing", "How quick the examiner is.", default="slow", choices=(*PACINGS, *BOTH)),
    Option("--opens", "Who opens [default: by pacing].", choices=tuple(OPENS)),
    Option("--family", "Scenarios of this family alone.", several=True, metavar="ID"),
    Option("--scenario", "The scenario of this id alone.", several=True, metavar="ID"),
    Option("--per-family", "So many scenarios of each family, drawn by --examiner-seed.", "count", metavar="N"),
    Option(
        "--examiner", "Who plays the examiner: scripted, llm:CHAT, a live party.", default=SCRIPTED, metavar="ACTOR"
    ),
    Option("--examiner-transcriber", "Who hears the system for it: whisper, ...", metavar="ADDRESS", was="--ears"),
    Option("--attempts", "Try a goal N times, then leave it as unmet.", "count", metavar="N", was="--wordings"),
    Option("--examiner-seed", "Of the examiner's noise and pacing.", kind="integer", default=0, metavar="N"),
    Option("--examiner-seeds", "So many seeds, one after the other.", kind="count", default=1, metavar="K"),
    Option("--examiner-rule", "Faults of the examiner make calls invalid.", default="on", choices=("on", "off")),
)


class ListedExaminer(Struct, frozen=True):
    """An examiner in the list. brief: the name of its file. settings: of its address. most_s: of its sessions."""

    name: str
    brief: str
    settings: dict[str, str | int]
    most_s: float
    columns: dict[str, str]


class ExaminerList(Struct, frozen=True):
    """The examiners of a run. families: those of its own file. left_out: scenarios without an examiner, and why."""

    schema: Literal["fdbcore.staged_users/1"]
    users: list[ListedExaminer]
    families: list[Family] = []
    left_out: dict[str, str] = {}


def ship(folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Write the briefs of the scenarios that `options` ask for, and the list of examiners.

    A scenario whose examiner needs an extra that is not installed, such as a voice of its language, is left out.
    SettingsError for a wrong option, InputError for scenarios that cannot be used, MissingExtraError if such a scenario
    is asked for by name, or if no other one is left.
    """
    pacings = BOTH.get(options["pacing"], (options["pacing"],))
    if options["examiner_transcriber"] is not None:
        with told_as("--examiner-transcriber", "asr"):
            registry.live_transcriber(options["examiner_transcriber"])
    with told_as("--examiner", "actor"):
        known_actor(options["examiner"])
    _typed.update(filter(None, (options["examiner"], options["examiner_transcriber"])))
    show(f"reading {options['scenarios']}")
    users, left_out, found = [], {}, read_set(options["scenarios"])
    missing: dict[frozenset[str], MissingExtraError | None] = {}  # by languages, which decide the voices
    for scenario in _chosen(found.scenarios, options):
        brief = brief_of(scenario, needs_words=options["examiner"] == SCRIPTED)
        write_json(part_of(folder, "briefs", f"{scenario.id}.json"), to_builtins(brief))
        numbers = range(options["examiner_seeds"])
        own = [_user(scenario, pacing, number, options) for pacing in pacings for number in numbers]
        languages = frozenset(scenario.languages)
        if languages not in missing:
            missing[languages] = _missing_extra(_address(folder, own[0]))
        if (error := missing[languages]) is None:
            users += own
        elif scenario.id in options["scenario"]:
            raise error
        else:
            left_out[scenario.id] = str(error)
    if not users:
        raise next(error for error in missing.values() if error)
    write_json(folder / USERS, to_builtins(ExaminerList(SCHEMA, users, list(found.own_families), left_out)))


def _missing_extra(address: str) -> MissingExtraError | None:
    """The error that an extra is missing for the examiner at an address; None if none is."""
    try:
        registry.endpoint(address)
    except MissingExtraError as error:
        return error
    return None


def _address(folder: Path, user: ListedExaminer) -> str:
    """The address of an examiner of the list."""
    return f"examiner:{part_of(folder, 'briefs', user.brief)}?{urlencode(user.settings)}"


def side_a(data: str) -> SideA:
    """The examiners that `ship` has put into a folder. InputError if there are none."""
    folder = Path(data).absolute()
    if (listed := _listed(folder)) is None:
        raise InputError(f"{data}: expected examiners, as a run of --suite {NAME} has them beside it, found none")
    named = {each.settings[name] for each in listed.users for name in _ADDRESSES if name in each.settings}
    if strange := sorted(map(str, named - _typed)):
        raise InputError(
            f"{data}: expected addresses of the examiner in the command, not in the data, got {strange[0]!r}"
        )
    users = [
        User(name=each.name, address=_address(folder, each), length_s=each.most_s, columns=each.columns)
        for each in listed.users
    ]
    texts = {USERS: json.dumps(to_builtins(listed), ensure_ascii=False)}
    warnings = [Problem(id_, f"left out: {reason}") for id_, reason in listed.left_out.items()]
    return SideA(users, material=Material(NAME, str(folder), texts), warnings=warnings)


def left_out_of(run: Path) -> Mapping[str, str]:
    """The scenarios that were asked for and that a run leaves out, by id, with the reason."""
    return (_listed(run) or ExaminerList(SCHEMA, [])).left_out


def _listed(folder: Path) -> ExaminerList | None:
    """The list of examiners in a folder, such as a run keeps it; None if there is none."""
    found: ExaminerList | None = kept_of_form(folder / USERS, SCHEMA, ExaminerList)
    return found


def families_of(run: Path) -> Mapping[str, Family]:
    """The families of the scenarios of a run, by id: those that come with fdbcore, and those of its own file."""
    listed = _listed(run) or ExaminerList(SCHEMA, [])
    return {**builtin_families(), **{family.id: family for family in listed.families}}


def brief_of(scenario: Scenario, needs_words: bool = True) -> Brief:
    """The brief of an examiner for a scenario. InputError if it does not say what A says, but should."""
    if needs_words and not scenario.has_words:
        raise InputError(
            f"{scenario.id}: expected the words of side A (say), found none: the scripted examiner cannot play it, "
            "another one (--examiner) can"
        )
    goals = [
        Goal(each.goal, each.words, each.met, each.heard, language, bool(each.probe), each.unless, each.pairs)
        for each in scenario.goals
        for language in (scenario.language_of(each),)
    ]
    limits = scenario.limits
    return Brief(
        scenario.id, scenario.language, scenario.role, scenario.background, goals, scenario.last_words, limits.turns,
        limits.max_s,
    )  # fmt: skip


def _chosen(scenarios: Sequence[Scenario], options: Mapping[str, Any]) -> list[Scenario]:
    found = list(scenarios)
    for option, field in (("family", "family"), ("scenario", "id")):
        wanted = options[option]
        known = dict.fromkeys(getattr(each, field) for each in found)
        if unknown := [each for each in wanted if each not in known]:
            listed = f"an id of {options['scenarios']} (fdbcore scenarios list shows them)"
            expected = f"one of {', '.join(known)}" if len(known) <= MOST_NAMED else listed
            told = nearest(unknown[0], known) if len(known) > MOST_NAMED else ""
            raise SettingsError(f"--{option}: expected {expected}, got {unknown[0]!r}{told}")
        found = [each for each in found if not wanted or getattr(each, field) in wanted]
    if (most := options["per_family"]) is not None:
        random = Random(options["examiner_seed"])
        by_family: dict[str, list[Scenario]] = {}
        for each in found:
            by_family.setdefault(each.family, []).append(each)
        drawn = {each.id for own in by_family.values() for each in random.sample(own, min(most, len(own)))}
        found = [each for each in found if each.id in drawn]
    return found


def _user(scenario: Scenario, pacing: str, number: int, options: Mapping[str, Any]) -> ListedExaminer:
    """An examiner of the list; all systems meet the same one, by the seed of the scenario. number: of seeds, from 0."""
    seed = zlib.crc32(f"{options['examiner_seed'] + number} {scenario.id}".encode())
    actor = None if options["examiner"] == SCRIPTED else options["examiner"]
    settings = {
        "pacing": pacing,
        "opens": options["opens"],
        "seed": seed,
        "transcriber": options["examiner_transcriber"],
        "actor": actor,
        "wordings": options["attempts"],
    }
    if options["examiner_rule"] == "off":
        settings["rule"] = "off"
    columns = {
        "scenario": scenario.id,
        "family": scenario.family,
        "class": scenario.class_,
        "language": scenario.language,
        "pacing": pacing,
        "examiner": redacted(options["examiner"]),
    }
    name = f"{scenario.id}.{pacing}{f'.seed{number + 1}' if options['examiner_seeds'] > 1 else ''}"
    known = {key: value for key, value in settings.items() if value is not None}
    return ListedExaminer(name, f"{scenario.id}.json", known, scenario.limits.max_s, columns)
