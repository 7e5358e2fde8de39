"""The calls whose turns are annotated: of runs, of single recordings, and of audio, which is replayed first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fdbcore.analysis.corpus import Call, Run
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording.files import part_of
from fdbcore.recording.form import one_call
from fdbcore.recording.run import is_recorded
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings
from fdbcore.runs.replay_many import ReplayProgress, replay_corpus
from fdbcore.runtime.executor import Workers
from fdbcore.runtime.numbers import whole_of
from fdbcore.sources.calls import NamedInput, named_calls
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.names import Oddities, real_path, session_names
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, SpokenTurn, spoken_turns, texts
from fdbcore.types import SIDES, TICKS_PER_S, Problem, Side

RECORDINGS: Final = "recordings"
"""Where in the results folder the replays of audio are."""


@dataclass(frozen=True, slots=True)
class CallTurns:
    """The turns of a call in their order.

    system: unique with `call` in a document. user: the name of the recorded user, or else of the call. asides: how many
    stretches of speech took no floor.
    """

    system: str
    call: str
    user: str
    trial: int
    path: Path
    length_s: float
    turns: Sequence[SpokenTurn]
    asides: dict[Side, int]

    def of(self, side: Side) -> list[SpokenTurn]:
        """The turns of a side."""
        return [each for each in self.turns if each.side == side]


def turns_of_calls(
    paths: Sequence[Path],
    transcriber: Transcriber | None,
    language: str,
    out: Path,
    show: Callable[[str], None],
) -> tuple[list[CallTurns], list[Problem]]:
    """The turns of all calls that can be read, and what is missing.

    paths: runs, recordings, and audio files or folders of them, which are replayed into `out`. A system of several
    inputs that have a call of one name is a system of each: "x (run-1)" and "x (run-2)". InputError if there is no
    call, SettingsError if a call is given twice.
    """
    names = _input_names(paths)
    runs = [
        Run(path if is_recorded(path) else _replayed(path, part_of(out, RECORDINGS, fit_for_a_folder(name)), show))
        for path, name in zip(paths, names, strict=True)
    ]
    calls = [
        _Named(call, name, call.columns.get("system") or name)
        for run, name in zip(runs, names, strict=True)
        for call in run.calls
    ]
    _refuse_twice([real_path(each.call.path) for each in calls])
    found: list[CallTurns] = []
    problems: list[Problem] = []
    for number, each in enumerate(_told_apart(calls), 1):
        show(f"turns of {number} of {len(calls)} calls")
        try:
            if each.call.unscored is not None:
                raise InputError(each.call.unscored)
            with one_call(each.call.path):
                found.append(_turns(each.call, each.system, transcriber, language))
            problems += _without_words(found[-1])
        except SettingsError:
            raise
        except FdbError as error:
            problems.append(Problem(str(each.call.path), str(error).removeprefix(f"{each.call.path}: ")))
    if not found:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected calls, found none{why}")
    return found, problems


@dataclass(frozen=True, slots=True)
class _Named:
    """A call, the name of the input that has it, and of its system: what the call says, else the input's name."""

    call: Call
    of: str
    system: str


def _input_names(paths: Sequence[Path]) -> list[str]:
    """A name for each input: that of its file or folder, with folders in front where several have it."""
    real = (real_path(path) for path in paths)
    return session_names([(path.parent, path.name if path.is_dir() else path.stem) for path in real])


def _refuse_twice(paths: Sequence[Path]) -> None:
    again = next((path for path, count in Counter(paths).items() if count > 1), None)
    if again is not None:
        raise SettingsError(f"{again}: expected each call once, got it {paths.count(again)} times")


def _told_apart(calls: Sequence[_Named]) -> list[_Named]:
    """The calls, with the names of their inputs in those of systems that have calls of one name in several inputs."""
    counts = Counter((each.system, each.call.name) for each in calls)
    shared = {system for (system, _), count in counts.items() if count > 1}
    return [replace(each, system=f"{each.system} ({each.of})") if each.system in shared else each for each in calls]


def _replayed(path: Path, run_path: Path, show: Callable[[str], None]) -> Path:
    """The run into which audio is replayed. What was replayed before is kept."""
    if not path.exists():
        raise InputError(f"{path}: expected a run, a recording or audio, got no such file")
    oddities = Oddities()
    calls = named_calls(NamedInput([path]), oddities)
    settings = ReplaySettings(run_path, None, {})

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{path}: {progress.ended} of {progress.calls} calls replayed")

    replay_corpus(calls, settings, Workers(), oddities, watch)
    return run_path


def user_of(call: Call) -> str:
    """The name of the recorded user of a call, or else of the call."""
    return call.columns.get("clip") or call.name


def _turns(call: Call, system: str, transcriber: Transcriber | None, language: str) -> CallTurns:
    reading = call.recording
    spoken = spoken_turns(reading)
    said = sorted(
        (each for side in SIDES for each in _said(reading, side, spoken, transcriber, language)),
        key=lambda each: (each.start_tick, each.side),
    )
    asides: dict[Side, int] = {side: sum(turn.side == side and turn.part == ASIDE for turn in spoken) for side in SIDES}
    trial = whole_of(call.columns.get("trial") or "1")
    return CallTurns(system, call.name, user_of(call), trial, call.path, reading.n_ticks / TICKS_PER_S, said, asides)


def _said(
    reading: Reading, side: Side, spoken: Sequence[SpokenTurn], transcriber: Transcriber | None, language: str
) -> Iterator[SpokenTurn]:
    own = [turn for turn in spoken if turn.side == side]
    held = [turn for turn in own if turn.part != ASIDE]
    words_by, words = texts(reading, side, own, held, transcriber, language)
    for turn, text in zip(held, words, strict=True):
        yield replace(turn, text=text, words_by=words_by)


def _without_words(call: CallTurns) -> Iterator[Problem]:
    """A problem for each side that has turns whose words nobody knows."""
    for side in SIDES:
        if count := sum(each.text is None for each in call.of(side)):
            reason = (
                f"expected the words of {side}, got none of {count} of its {len(call.of(side))} turns: --asr hears them"
            )
            yield Problem(str(call.path), reason)
