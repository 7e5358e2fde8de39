"""The calls whose turns are annotated: of runs, of single recordings, and of audio, which is replayed first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fdbcore.analysis.corpus import Call, Run
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Transcriber
from fdbcore.recording.run import is_recorded
from fdbcore.runs.replay_jobs import ReplayResult, ReplaySettings
from fdbcore.runs.replay_many import ReplayProgress, replay_corpus
from fdbcore.sources.calls import NamedInput, named_calls
from fdbcore.sources.clips import fit_for_a_folder
from fdbcore.sources.names import Oddities
from fdbcore.suites.dialogue_acts.turns.spoken import ASIDE, SpokenTurn, spoken_turns
from fdbcore.suites.dialogue_acts.turns.words import TurnText, texts
from fdbcore.types import SIDES, TICKS_PER_S, Problem, Side

RECORDINGS: Final = "recordings"
"""Where in the results folder the replays of audio are."""


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn of a call with its words. number: among the turns of its side, from 1."""

    turn: SpokenTurn
    number: int
    words: TurnText


@dataclass(frozen=True, slots=True)
class CallTurns:
    """The turns of a call in their order.

    user: the name of the recorded user, or else of the call. asides: how many stretches of speech took no floor.
    """

    system: str
    call: str
    user: str
    path: Path
    length_s: float
    turns: Sequence[SaidTurn]
    asides: dict[Side, int]

    def of(self, side: Side) -> list[SaidTurn]:
        """The turns of a side."""
        return [each for each in self.turns if each.turn.side == side]


def turns_of_calls(
    paths: Sequence[Path],
    transcriber: Transcriber | None,
    language: str,
    out: Path,
    show: Callable[[str], None],
) -> tuple[list[CallTurns], list[Problem]]:
    """The turns of all calls that can be read, and what is missing.

    paths: runs, recordings, and audio files or folders of them, which are replayed into `out`. InputError if there is
    no call.
    """
    found: list[CallTurns] = []
    problems: list[Problem] = []
    for path in paths:
        run = Run(path if is_recorded(path) else _replayed(path, out, show))
        trials = {call.columns.get("trial", "1") for call in run.calls}
        for number, call in enumerate(run.calls, 1):
            show(f"{path}: turns of {number} of {len(run.calls)} calls")
            try:
                if call.unscored is not None:
                    raise InputError(call.unscored)
                found.append(_turns(call, path, len(trials) > 1, transcriber, language))
                problems += _without_words(found[-1])
            except SettingsError:
                raise
            except FdbError as error:
                problems.append(Problem(str(call.path), str(error).removeprefix(f"{call.path}: ")))
    if not found:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected calls, found none{why}")
    return found, problems


def _replayed(path: Path, out: Path, show: Callable[[str], None]) -> Path:
    """The run into which audio is replayed. What was replayed before is kept."""
    if not path.exists():
        raise InputError(f"{path}: expected a run, a recording or audio, got no such file")
    oddities = Oddities()
    calls = named_calls(NamedInput([path]), oddities)
    settings = ReplaySettings(out / RECORDINGS / fit_for_a_folder(path.stem), None, {})

    def watch(progress: ReplayProgress, ended: ReplayResult | None) -> None:
        show(f"{path}: {progress.ended} of {progress.calls} calls replayed")

    replay_corpus(calls, settings, min(len(os.sched_getaffinity(0)), len(calls)), oddities, watch)
    return settings.run_path


def _turns(call: Call, path: Path, several_trials: bool, transcriber: Transcriber | None, language: str) -> CallTurns:
    reading = call.recording
    spoken = spoken_turns(reading)
    said = sorted(
        (each for side in SIDES for each in _said(reading, side, spoken, transcriber, language)),
        key=lambda each: (each.turn.start_tick, each.turn.side),
    )
    system = call.columns.get("system") or path.resolve().stem
    asides: dict[Side, int] = {side: sum(turn.side == side and turn.part == ASIDE for turn in spoken) for side in SIDES}
    return CallTurns(
        f"{system}#{call.columns['trial']}" if several_trials else system,
        call.name,
        call.columns.get("clip") or call.name,
        call.path,
        reading.n_ticks / TICKS_PER_S,
        said,
        asides,
    )


def _said(
    reading: Reading, side: Side, spoken: Sequence[SpokenTurn], transcriber: Transcriber | None, language: str
) -> Iterator[SaidTurn]:
    own = [turn for turn in spoken if turn.side == side]
    held = [turn for turn in own if turn.part != ASIDE]
    words = texts(reading, side, own, held, transcriber, language)
    for number, (turn, text) in enumerate(zip(held, words, strict=True), 1):
        yield SaidTurn(turn, number, text)


def _without_words(call: CallTurns) -> Iterator[Problem]:
    """A problem for each side that has turns whose words nobody knows."""
    for side in SIDES:
        if count := sum(each.words.text is None for each in call.of(side)):
            reason = (
                f"expected the words of {side}, got none of {count} of its {len(call.of(side))} turns: --asr hears them"
            )
            yield Problem(str(call.path), reason)
