"""The names, options and commands that benchmarks add to the command line."""

import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal

import click

from fdbcore import registry
from fdbcore.errors import FdbError
from fdbcore.protocols.suite import Command, Console, Suite
from fdbcore.runtime.numbers import whole_of
from fdbcore.types import Option

from . import options
from .endings import one_line
from .lazy import LazyCommands
from .options import DONE, FAILED, INTERRUPTED
from .status import Status

_TYPES: Final[Mapping[str, Any]] = {
    "text": str,
    "path": options.FILE,
    "place": str,
    "count": options.Whole(1),
    "integer": options.Whole(),
    "positive": options.Number(0, min_open=True),
    "flag": bool,
}


class SuiteName(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click alone
    """A parameter that is the name of a benchmark; its value is the benchmark's `Suite`."""

    name = "suite"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Suite:  # noqa: ANN401
        """The benchmark with that name."""
        try:
            return registry.suite(value) if isinstance(value, str) else value
        except (FdbError, ImportError) as error:
            self.fail(str(error), param, ctx)


def every_suite() -> list[Suite]:
    """All benchmarks that can be imported; prints a line for one that cannot, and continues."""
    found = []
    for name in registry.suites():
        try:
            found.append(registry.suite(name))
        except ImportError as error:
            click.echo(f"fdbcore: suite {name}: {error}", err=True)
    return found


class SuiteCommand(click.Command):
    """A command that takes the options of benchmarks. --help shows those of the one in --suite.

    suite_options: the attribute of `SuiteOptions` that lists the options.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401
        suite_options: Literal["run", "score", "agree"],
        **settings: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **settings)
        self._suite_options = suite_options
        if suite_options != "agree":
            self.epilog = f"The options of a benchmark: fdbcore {self.name} --suite NAME --help"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for --suite first, since it decides which options there are; then parse all of them."""
        words = [word for arg in args for word in arg.split("=", 1)]
        named = [name for word, name in pairwise(words) if word == "--suite" and name in registry.suites()]
        suites = [suite for suite in every_suite() if not named or suite.name == named[-1]]
        added = {option.name: option for suite in suites for option in self._added(suite)}
        is_hidden = (
            not named and self._suite_options != "agree"
        )  # of agree, no --suite has to say whose labels these are
        ctx.meta[__name__] = [parameter(option, hidden=is_hidden) for option in added.values()]
        return super().parse_args(ctx, [self._renamed(word, suites) for word in args])

    def _renamed(self, word: str, suites: Sequence[Suite]) -> str:
        """A word of the command; an earlier name of an option becomes that of today, which is told."""
        flag, sign, value = word.partition("=")
        for option in (option for suite in suites for option in self._of(suite) if option.was and flag == option.was):
            if self.name == "run" and option.flag == "--vad":  # of `run` it decides how calls are held
                raise click.UsageError(f"{flag}: expected fdbcore score {option.flag}, once the calls are held")
            click.echo(f"fdbcore {self.name}: {flag} is called {option.flag} now", err=True)
            return f"{option.flag}{sign}{value}"
        return word

    def _of(self, suite: Suite) -> Sequence[Option]:
        """The options of a benchmark for the command."""
        of_suite: Sequence[Option] = getattr(suite.options, self._suite_options)
        if self._suite_options != "run":
            return of_suite
        return [*of_suite, *suite.options.data, *(suite.options.score if suite.scores_runs else ())]

    def _added(self, suite: Suite) -> Sequence[Option]:
        own = {flag for param in self.params for flag in param.opts}
        return [option for option in self._of(suite) if option.flag not in own]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters of the command, then those of benchmarks, then --help."""
        *own, last = super().get_params(ctx)  # the last is --help
        return [*own, *ctx.meta[__name__], last]


def of_request(asked: Mapping[str, Option]) -> list[click.Parameter]:
    """The options of the fields of a request, by the names of the fields."""
    return [parameter(option, name) for name, option in asked.items()]


def parameter(option: Option, name: str = "", hidden: bool = False) -> click.Parameter:
    """The click parameter for an option. name: of its value."""
    kind: Any = _TYPES[option.kind]
    if not option.flag.startswith("-"):
        count = -1 if option.several else 1
        metavar = f"{option.flag}..." if option.several else option.flag
        return click.Argument([option.name], type=kind, metavar=metavar, nargs=count, required=option.required)
    help_text, callback = option.help, options.each_named if option.kind == "place" else None
    if option.flag == "--suite":
        kind, help_text = SuiteName(), f"{help_text}: {', '.join(registry.suites())}."
    elif option.choices and option.kind == "text":
        kind = click.Choice(option.choices)
    elif option.choices:
        kind, callback = str, _number_or_word
    return click.Option(
        [option.flag, name or option.name],
        type=kind,
        help=f"{help_text} May be repeated." if option.several else help_text,
        metavar=option.metavar,
        multiple=option.several,
        required=option.required,
        is_flag=option.kind == "flag",
        callback=callback,
        hidden=hidden,
        **({} if option.required else {"default": option.unset}),  # a default, even None, would count as given
        show_default=option.kind != "flag" and option.default is not None,
    )


def _number_or_word(context: click.Context, parameter: click.Parameter, value: int | str) -> int | str:
    """A number, or the text as it is: the library refuses what is neither."""
    with suppress(ValueError):
        return whole_of(str(value))
    return value


def given(context: click.Context, names: Sequence[str]) -> list[str]:
    """The flags of those parameters in `names` that the user gave."""
    return [
        param.opts[0]
        for param in context.command.get_params(context)
        if param.name in names
        and context.get_parameter_source(str(param.name)) is not click.core.ParameterSource.DEFAULT
    ]


def suite_options(context: click.Context) -> list[str]:
    """The names of the options that benchmarks added to the command."""
    return [str(param.name) for param in context.meta[__name__]]


class SuiteCommands(LazyCommands):
    """A group of the benchmarks' commands: those whose `Command.group` is the name of this one.

    If several benchmarks have one of the same name, --suite decides, or else who knows what the arguments name.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands of all benchmarks."""
        return list(dict.fromkeys(command.name for _, command in self._commands(ctx)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with that name, of the first benchmark that has it."""
        return next((_command(command) for command in self._commands_named(ctx, cmd_name).values()), None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name. Raises UsageError if several have it, and it cannot be told which."""
        found = self._commands_named(ctx, args[0])
        if len(found) < 2:
            return super().resolve_command(ctx, args)
        if "--help" in args or len(args) == 1:
            return args[0], _command(_together(list(found.values()))), args[1:]
        named = _arguments(args[1:], [option for command in found.values() for option in command.options])
        knowing = [name for name, command in found.items() if any(map(command.reads, named))]
        if not any(each.exists() for each in named):
            knowing = knowing or list(found)[:1]  # its command says what is missing
        if len(knowing) != 1:
            known = "none of them knows" if not knowing else f"{' and '.join(knowing)} know"
            raise click.UsageError(
                f"{args[0]}: expected --suite, one of {', '.join(found)}: {known} {', '.join(map(str, named))}", ctx
            )
        return args[0], _command(found[knowing[0]]), args[1:]

    def _commands_named(self, ctx: click.Context, name: str) -> dict[str, Command]:
        return {suite: command for suite, command in self._commands(ctx) if command.name == name}

    def _commands(self, ctx: click.Context) -> Iterator[tuple[str, Command]]:
        """The commands of this group, each with the name of its benchmark: of all, or of that in --suite."""
        named: Suite | None = ctx.params.get("suite")
        for suite in [named] if named else every_suite():
            yield from ((suite.name, command) for command in suite.commands if command.group == self.name)


def _arguments(words: Sequence[str], known: Sequence[Option]) -> list[Path]:
    """The words that are neither options nor their values."""
    valued = {option.flag for option in known if option.kind != "flag"}
    return [Path(word) for before, word in pairwise(["", *words]) if not word.startswith("-") and before not in valued]


def _together(commands: Sequence[Command]) -> Command:
    """A command for the help of several of one name: all their texts."""
    return replace(commands[0], help="\n\n".join(inspect.cleandoc(command.help) for command in commands))


def _command(command: Command) -> click.Command:
    def callback(quiet: bool, **values: Any) -> None:  # noqa: ANN401
        name = f"fdbcore {command.group} {command.name}"
        with one_line(name, "run the same command again to continue", command.failed), Status(quiet) as show:
            done = command.do(values, _Console(name, quiet, show))
        sys.exit(DONE if done else FAILED)

    parameters = [parameter(option) for option in command.options]
    return options.quiet(click.Command(command.name, params=parameters, callback=callback, help=command.help))


class _Console(Console):
    """The console of a benchmark's command: standard output and error, and a status on a terminal."""

    def __init__(self, name: str, quiet: bool, show: Callable[[str], None]) -> None:
        self._name, self._quiet, self._show = name, quiet, show

    def show(self, text: str) -> None:
        self._show(text)

    def note(self, text: str) -> None:
        if not (self._quiet or sys.stderr.isatty()):
            click.echo(text, err=True)

    def complain(self, text: str) -> None:
        self._show("")
        click.echo(f"{self._name}: {text}", err=True)

    def say(self, text: str) -> None:
        self._show("")
        if not self._quiet:
            click.echo(text)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        pressed = 0

        def interrupt(number: int, frame: FrameType | None) -> None:
            nonlocal pressed
            pressed += 1
            if pressed > 1:
                os._exit(INTERRUPTED)  # a normal exit would wait for the threads that wait for answers
            # Not by click, which may be in the middle of a line: a stream cannot be entered twice.
            os.write(2, b"\nfinishing the open requests; press Ctrl-C again to leave now\n")
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _group(name: str, short_help: str, text: str) -> click.Command:
    help_text = "Benchmark of the command, if several have one of that name."
    params = [click.Option(["--suite"], type=SuiteName(), metavar="NAME", help=help_text)]
    return SuiteCommands(name, params=params, short_help=short_help, help=text, callback=lambda suite: None)


acts = _group(
    "acts",
    "Check the acts that replies are labelled with.",
    """Check a file of dialogue acts: their names, definitions and colours, and what swapping them costs.

    Example (needs such a file): fdbcore acts validate acts.toml""",
)
dataset = _group(
    "dataset",
    "Make the data of a benchmark.",
    """Make the data of a benchmark: records, and the speech of their users.

    Example: fdbcore dataset speak SET""",
)
scenarios = _group(
    "scenarios",
    "List, show, check and import scenarios.",
    """List, show, check and import scenarios: what a person wants of a system, goal by goal.

    Example: fdbcore scenarios validate builtin""",
)
