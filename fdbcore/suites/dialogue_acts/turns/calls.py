"""The calls whose turns are annotated: of runs, of single recordings, and of audio, which is replayed first."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from fdbcore.analysis import Call, Run
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.protocols import Transcriber
from fdbcore.recording import is_recorded, one_call, part_of
from fdbcore.runs import replay_into
from fdbcore.runtime import whole_of
from fdbcore.sources import NamedInput, Oddities, fit_for_a_folder, named_calls, real_path, session_names
from fdbcore.suites.dialogue_acts.models.asking import ScoringJob
from fdbcore.suites.dialogue_acts.records import Step
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, Part, spoken_turns, texts
from fdbcore.types import SIDES, TICKS_PER_S, Problem, Side

RECORDINGS: Final = "recordings"
"""The folder of the results folder with the replays of audio."""


class TurnActs(Struct, frozen=True):
    """The acts of a turn as one annotator labels them."""

    annotator: str
    repeat: int
    steps: Sequence[Step]


class Turn(Struct, frozen=True):
    """A turn of a side."""

    side: Side
    number: Annotated[int, Meta(description="among the turns of its side in the call, from 1")]
    part: Annotated[
        Part, Meta(description="before the other side's first turn, the first after one of them, or a further one")
    ]
    after: Annotated[int, Meta(description="how many turns of the other side had begun before it")]
    start_s: float
    end_s: float
    text: Annotated[str | None, Meta(description="null if its words are not known")]
    words_by: Annotated[str, Meta(description='"told" by the party itself, or the transcriber that heard them')]
    acts: Sequence[TurnActs] = ()


class CallTurns(Struct, frozen=True):
    """A call with its turns, in their order."""

    system: Annotated[str, Meta(description="unique with the call")]
    call: str
    user: Annotated[str, Meta(description="the name of the recorded user, or else of the call")]
    path: str
    length_s: float
    turns: Sequence[Turn]
    asides: Annotated[dict[Side, int], Meta(description="stretches of speech that took no floor; they have no acts")]
    trial: int = 1

    def of(self, side: Side) -> list[Turn]:
        """The turns of a side."""
        return [each for each in self.turns if each.side == side]


def turns_of_calls(paths: Sequence[Path], job: ScoringJob, language: str) -> tuple[list[CallTurns], list[Problem]]:
    """The turns of all calls that can be read, and what is missing.

    paths: runs, recordings, and audio files or folders of them, which are replayed into the results folder. A system of
    several inputs that have a call of one name is a system of each: "x (run-1)" and "x (run-2)". InputError if there is
    no call, SettingsError if a call is given twice.
    """
    calls = list(_named_calls(paths, job))
    given = Counter(real_path(call.path) for call, _ in calls)
    if again := [path for path, count in given.items() if count > 1]:
        raise SettingsError(f"{again[0]}: expected each call once, got it {given[again[0]]} times")
    found: list[CallTurns] = []
    problems: list[Problem] = []
    for number, (call, system) in enumerate(calls, 1):
        job.show(f"turns of {number} of {len(calls)} calls")
        try:
            if call.unscored is not None:
                raise InputError(call.unscored)
            with one_call(call.path):
                found.append(_turns(call, system, job.transcriber, language))
            problems += _without_words(found[-1])
        except SettingsError:
            raise
        except FdbError as error:
            problems.append(Problem(str(call.path), str(error).removeprefix(f"{call.path}: ")))
    if not found:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected calls, found none{why}")
    return found, problems


def _named_calls(paths: Sequence[Path], job: ScoringJob) -> Iterator[tuple[Call, str]]:
    """The calls of all inputs with the names of their systems: what a call says, else its input's name.

    An input has the name of its file or folder, with folders in front where several have it.
    """
    real = [real_path(path) for path in paths]
    inputs = session_names([(path.parent, path.name if path.is_dir() else path.stem) for path in real])
    calls = []
    for path, name in zip(paths, inputs, strict=True):
        into = part_of(job.out, RECORDINGS, fit_for_a_folder(name))
        run = Run(path if is_recorded(path) else _replayed(path, into, job.show))
        calls += [(call, name, call.columns.get("system") or name) for call in run.calls]
    counts = Counter((system, call.name) for call, _, system in calls)
    shared = {system for (system, _), count in counts.items() if count > 1}
    yield from ((call, f"{system} ({name})" if system in shared else system) for call, name, system in calls)


def _replayed(path: Path, run_path: Path, show: Callable[[str], None]) -> Path:
    """The run into which audio is replayed. What was replayed before is kept."""
    if not path.exists():
        raise InputError(f"{path}: expected a run, a recording or audio, got no such file")
    oddities = Oddities()
    replay_into(run_path, named_calls(NamedInput([path]), oddities), oddities, path, show)
    return run_path


def user_of(call: Call) -> str:
    """The name of the recorded user of a call, or else of the call."""
    return call.columns.get("clip") or call.name


def _turns(call: Call, system: str, transcriber: Transcriber | None, language: str) -> CallTurns:
    reading = call.recording
    spoken = spoken_turns(reading)
    said: list[Turn] = []
    asides: dict[Side, int] = {}
    for side in SIDES:
        own = [turn for turn in spoken if turn.side == side]
        held = [turn for turn in own if turn.part != ASIDE]
        asides[side] = len(own) - len(held)
        words_by, words = texts(reading, side, own, held, transcriber, language)
        said += [
            Turn(side, turn.number, turn.part, turn.after, turn.start_s, turn.end_s, text, words_by)
            for turn, text in zip(held, words, strict=True)
        ]
    said.sort(key=lambda each: (each.start_s, each.side))
    trial, length_s = whole_of(call.columns.get("trial") or "1"), reading.n_ticks / TICKS_PER_S
    return CallTurns(system, call.name, user_of(call), str(call.path), length_s, said, asides, trial)


def _without_words(call: CallTurns) -> Iterator[Problem]:
    """A problem for each side that has turns whose words nobody knows."""
    for side in SIDES:
        if count := sum(each.text is None for each in call.of(side)):
            missing = f"got none of {count} of its {len(call.of(side))} turns"
            reason = f"expected the words of {side}, {missing}: --transcriber hears them"
            yield Problem(call.path, reason)
