"""Requests for a run and a scoring: one form, which the commands and the library fill in."""

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import cleandoc, signature
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct

from fdbcore.errors import SettingsError, told_as
from fdbcore.registry import vad as vad_of
from fdbcore.runs.watch import RunWatch, Watch
from fdbcore.session.vad import DEFAULT_VAD
from fdbcore.types import Option, TurnSettings

Place: TypeAlias = str | os.PathLike[str]
"""A file or folder. Where settings may follow it ("CLIPS?tail_s=5"), a text."""

_KINDS: Final[Mapping[str, tuple[Any, str]]] = {
    "text": (str, "a text"),
    "path": (str | os.PathLike, "a path"),
    "place": (str | os.PathLike, "a path"),
    "count": (int, "a whole number of at least 1"),
    "integer": (int, "a whole number"),
    "positive": (int | float, "a number above 0"),
    "flag": (bool, "true or false"),
}
_OBJECTS: Final[Mapping[str, type]] = {"limits": Mapping, "settings": TurnSettings}
"""Fields that are no text, as on the command line, but objects."""
VAD_HELP: Final = "Voice activity detector: silero, energy, webrtc, MODULE:CLASS."
Fields = ParamSpec("Fields")
Request = TypeVar("Request")
Result = TypeVar("Result")


@runtime_checkable
class OnDisk(Protocol):
    """A `Run`, or another thing with a folder."""

    @property
    def path(self) -> Path:
        """Its folder."""


class _OfSystems(Struct, frozen=True):
    systems: str | Sequence[str]


class RunRequest(_OfSystems, frozen=True, kw_only=True):
    """Calls to hold with `systems`, side B: addresses, or NAME=ADDRESS, which take turns.

    Side A is given in one of three ways. a: the address of any party. clips: recorded users, in folders or lists of
    files. suite: the name of a benchmark, whose users come from `data` ("DIR" or "DIR?SETTINGS") or from the data that
    it ships, which are put into OUT-users. suite_options: values of the options of the benchmark by name, also of its
    scoring. tools: a Python file of functions, a JSON file, either perhaps with "?SETTINGS", or the address of another
    world (docs/systems.md). clock: "virtual" leaves compute time out; None takes it where neither the benchmark nor any
    system depends on timing. jobs: "auto" measures this machine for two minutes if that has not been done. limits:
    {system: calls at a time}. seed: decides the latencies of tools, too. out: by default a new folder; the same request
    with that of a run that was stopped resumes it, and holds no case again except those that `again` names. first: so
    many cases are held, then the watcher is asked whether to go on. score: by the benchmark, if it does so, into
    OUT-scores. watch: is told how the run goes on. typed: as of `ScoreRequest`.
    """

    a: str | None = None
    clips: Place | Sequence[Place] = ()
    suite: str | None = None
    data: Place | None = None
    suite_options: Mapping[str, Any] = {}
    tools: Place | None = None
    lines: Sequence[str] = ()
    trials: int = 1
    clock: Literal["real", "virtual"] | None = None
    max_s: float = 600.0
    jobs: int | Literal["auto"] = 1
    limits: Mapping[str, int] = {}
    engine: str | None = None
    again: Literal["failed", "invalid", "all"] | None = None
    seed: int | None = None
    vad: str = DEFAULT_VAD
    settings: TurnSettings = TurnSettings()
    max_usd: float | None = None
    first: int | None = None
    local_only: bool = False
    score: bool = True
    out: Place | None = None
    watch: RunWatch | None = None
    typed: Sequence[str] = ()


RUN_OPTIONS: Final[Mapping[str, Option]] = {
    "systems": Option("--system", "Side B: a system, or NAME=ADDRESS.", "text", None, "ADDRESS", True, True),
    "a": Option("--a", "Side A: any party; with some suites, who plays users.", metavar="ADDRESS"),
    "clips": Option("--clips", "Side A: recorded users.", "place", several=True, metavar="PATH"),
    "suite": Option("--suite", "Side A: the users of a benchmark", metavar="NAME"),
    "data": Option("--data", "With --suite: its data (DIR?tail_s=30: settings).", "place", metavar="DIR"),
    "tools": Option("--tools", "What systems may call (.py, .json, or a world).", "place", metavar="FILE"),
    "lines": Option("--line", "What B hears A over: telephone, noise:20, ...", several=True, metavar="LINE"),
    "trials": Option("--trials", "How often each case is run.", "count", 1, "N"),
    "clock": Option("--clock", "virtual: in lockstep, as fast as systems compute.", choices=("real", "virtual")),
    "max_s": Option("--max-s", "Longest call, in seconds.", "positive", 600.0, "S"),
    "jobs": Option("--jobs", "Calls at a time; auto: all held on time.", "count", 1, "N|auto", choices=("auto",)),
    "limits": Option("--limit", "Calls at a time with a system.", several=True, metavar="SYSTEM=N"),
    "engine": Option("--engine", "Hold the calls on this Ray cluster.", metavar="ray[://HOST:PORT]"),
    "again": Option("--again", "Rerun cases that ended so.", choices=("failed", "invalid", "all")),
    "seed": Option("--seed", "Of the order of the cases (default: random).", "integer", metavar="N"),
    "vad": Option("--vad", VAD_HELP, default=DEFAULT_VAD, metavar="NAME"),
    "settings": Option("--set", "Change a setting of the turn detector.", several=True, metavar="KEY=MS"),
    "out": Option("--out", "Folder of the run, also to continue it (default: a new folder).", "path", metavar="DIR"),
    "max_usd": Option("--max-cost", "Begin no call that would cost more in all.", "positive", metavar="USD"),
    "first": Option("--first", "Run N cases, tell their cost, and ask.", "count", metavar="N"),
    "local_only": Option("--local-only", "Refuse what would leave this network.", "flag"),
    "score": Option("--no-score", "Do not score by the benchmark at the end.", "flag"),
}
"""Options of `fdbcore run`, by the fields of a request; the library names them so in its errors, too."""


class _OfRuns(Struct, frozen=True):
    runs: OnDisk | Place | Sequence[OnDisk | Place]


class ScoreRequest(_OfRuns, frozen=True, kw_only=True):
    """Runs, or files of replies, to score by the measures of a benchmark; () for the replies that it ships.

    suite: its name; by default that of the first run. options: values of its options of scoring by name. vads,
    sensitivity: about the turn-taking of the calls, as `fdbcore.score` says of a run. watch: is told how it goes on.
    typed: the command after `fdbcore`, for the pages.
    """

    suite: str | None = None
    options: Mapping[str, Any] = {}
    vads: Sequence[str] = ()
    sensitivity: bool = False
    jobs: int | None = None
    engine: str | None = None
    figures: Place | None = None
    out: Place | None = None
    watch: Watch | None = None
    typed: Sequence[str] = ()

    @property
    def paths(self) -> list[Path]:
        """The folders and files of what is scored. SettingsError for what is neither a run nor a path."""
        several = self.runs if isinstance(self.runs, Sequence) and not isinstance(self.runs, str) else [self.runs]
        return [path_of(each) for each in several]


SCORE_OPTIONS: Final[Mapping[str, Option]] = {
    "suite": Option("--suite", "Score by the measures of a benchmark", metavar="NAME"),
    "sensitivity": Option("--sensitivity", "Score under many settings, and by another detector.", "flag"),
    "vads": Option("--vad", "Tell what moves with this detector.", several=True, metavar="NAME"),
    "jobs": Option("--jobs", "Processes; with --suite, requests at a time.", "count", metavar="N"),
    "engine": Option("--engine", "Work on this Ray cluster.", metavar="ray[://HOST:PORT]"),
    "figures": Option("--figures", "With --suite: write figures (SVG) for a paper.", "path", metavar="DIR"),
    "out": Option(
        "--out", "Folder of the results (default: RUN; with --suite: fdbcore-scores).", "path", metavar="DIR"
    ),
}
"""Options of `fdbcore score`, by the fields of a request."""


def path_of(run: OnDisk | Place) -> Path:
    """The folder of a run. SettingsError for what is neither a run nor a path."""
    if not isinstance(run, str | os.PathLike | OnDisk):
        raise SettingsError(f"runs: expected runs or paths, got {run!r}")
    return Path(run) if isinstance(run, str | os.PathLike) else run.path


def check_vads(names: Iterable[str]) -> None:
    """SettingsError for an unknown voice activity detector."""
    for name in names:
        with told_as("--vad", "vad"):
            vad_of(name)


def checked(options: Mapping[str, Option], request: Struct) -> None:
    """SettingsError for a value of a request that its option does not take."""
    for name, option in options.items():
        value = getattr(request, name)
        if (kind := _OBJECTS.get(name)) is not None and not isinstance(value, kind):
            raise SettingsError(f"{name}: expected a {kind.__name__}, got {value!r}")
        if kind is not None or (value is None and option.unset is None):
            continue
        taken = _taken(option, value)
        if option.flag == "--vad":
            check_vads(taken if option.several else [taken])


def asked_by(
    make: Callable[Fields, Request], options: Mapping[str, Option]
) -> Callable[[Callable[[Request], Result]], Callable[Fields, Result]]:
    """Makes a function of a request a function of the fields of the request, whose help says what each is."""
    told = "\n".join(f"{name} ({option.flag}): {option.help}" for name, option in options.items())

    def decorate(work: Callable[[Request], Result]) -> Callable[Fields, Result]:
        @wraps(work)
        def of_fields(*fields: Fields.args, **named: Fields.kwargs) -> Result:
            return work(make(*fields, **named))

        taken = signature(make)
        setattr(of_fields, "__signature__", taken)  # noqa: B010
        of_fields.__doc__ = "\n\n".join([cleandoc(work.__doc__ or ""), cleandoc(make.__doc__ or ""), told])
        of_fields.__annotations__ = {name: each.annotation for name, each in taken.parameters.items()}
        return of_fields

    return decorate


def option_values(options: Sequence[Option], given: Mapping[str, Any], of: str) -> dict[str, Any]:
    """The values of options by name: those that are given, else those of options that are not.

    of: whose options they are. SettingsError for an unknown option, or a value of another kind.
    """
    known = {option.name: option for option in options}
    for option in options:
        earlier = option.was.lstrip("-").replace("-", "_")
        if earlier in given:
            warnings.warn(f"{earlier} is called {option.name} now", FutureWarning, stacklevel=4)
            given = {option.name: given[earlier], **{name: given[name] for name in given if name != earlier}}
    if unknown := sorted(given.keys() - known.keys()):
        raise SettingsError(f"{of}: {unknown[0]}: expected one of its options ({', '.join(known) or 'none'})")
    values = {name: given.get(name) for name in known}
    return {name: known[name].unset if each is None else _taken(known[name], each) for name, each in values.items()}


def _taken(option: Option, given: Any) -> Any:  # noqa: ANN401
    """A value as it is passed on. SettingsError if it is of another kind than that of the option."""
    if option.several:
        one = replace(option, several=False)
        is_one = isinstance(given, str | os.PathLike) or not isinstance(given, Iterable)
        return tuple(_taken(one, each) for each in ([given] if is_one else given))
    kind, expected = _KINDS[option.kind]
    fits = isinstance(given, kind) and isinstance(given, bool) == (kind is bool)
    if option.kind in ("count", "positive"):
        fits = fits and 0 < given < math.inf
    if option.choices:
        fits = given in option.choices or (fits and kind is not str)
        expected = f"one of {', '.join(option.choices)}" if kind is str else f"{expected}, or {option.choices[0]}"
    if not fits:
        raise SettingsError(f"{option.flag}: expected {expected}, got {given!r}")
    return Path(given) if option.kind == "path" else given
