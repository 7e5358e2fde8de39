"""The samples of a folder: the users of a run, played from their first to their last sound, and outputs beside them.

A system that says nothing may do the right thing, so its call counts as held.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from fdbcore.audio.decode import AudioFile
from fdbcore.errors import FdbError, InputError
from fdbcore.measures.reading import Reading
from fdbcore.runs.plan import users_of
from fdbcore.runtime.address import query_of, split_query
from fdbcore.sources.clips import clips_in
from fdbcore.sources.sessions import SessionInput
from fdbcore.sources.word_files import chunks_in
from fdbcore.suites.fdb_v1.samples import UserSample, Version, sample_of, says_task
from fdbcore.types import (
    SAMPLE_RATE_HZ,
    SIDES,
    TICKS_PER_S,
    Clip,
    Material,
    Problem,
    Side,
    SideA,
    User,
    UserLabels,
)

AS_LONG: Final = "tail_s=0"
"""The released outputs are as long as the inputs, which hold the time to answer."""
SHORT_S: Final = 0.5
"""An output that ends so much before its input is as long as it: systems send whole frames."""
AFTER_S: Final = 1.0
"""How much of the audio after the last label is needed: the least in which a system can take over."""
MISSING: Final = "what is measured is missing"


def side_a(version: Version, data: str) -> SideA:
    """The users in "DIR" or "DIR?SETTINGS" (settings of the clip endpoint), and the samples that cannot be used."""
    path, settings = split_query(data, file=True)
    folder = Path(path).absolute()
    problems: list[Problem] = []
    found = samples_in(version, folder, problems, "channel" in query_of(settings))
    if not found:
        raise InputError(f"{folder}: expected samples of {version}, found none: {problems[0].reason}")
    users = []
    for (clip, sample), user in zip(found, users_of([clip for clip, _ in found], settings or AS_LONG), strict=True):
        try:
            users.append(replace(user, may_be_silent=True, labels=_labels(clip, sample, user)))
        except InputError as error:
            problems.append(Problem(str(clip.path.parent), str(error)))
    if not users:
        raise InputError(f"{problems[0].where}: {problems[0].reason}")
    return SideA(users, material=Material(version, str(folder), {}), problems=problems)


def _labels(clip: Clip, sample: UserSample, user: User) -> UserLabels | None:
    """The labels of a sample, if there are any. InputError if none begins before its call ends."""
    if user.length_s is not None:
        sample.within(round(user.length_s * TICKS_PER_S))
    labels = [label.to_json() for label in sample.labels]
    return UserLabels(str(clip.path.parent), labels) if labels else None


def samples_in(
    version: Version,
    folder: Path,
    problems: list[Problem],
    has_channel: bool = False,
    but: Collection[Path] = (),
) -> list[tuple[Clip, UserSample]]:
    """The samples in a folder that can be played, or scored if outputs lie beside them; why others cannot is added to
    `problems`.

    has_channel: it is known which channel of a file is the user's. but: the files of users that are not wanted. Errors
    as of `clips_in`.
    """
    found = []
    for clip in (each for each in clips_in(folder, problems, partial(says_task, version)) if each.path not in but):
        try:
            sample = sample_of(version, clip)
            _check_user(clip, sample, has_channel)
            found.append((clip, sample))
        except FdbError as error:
            problems.append(Problem(str(clip.path.parent), str(error).removeprefix(f"{clip.path.parent}: ")))
    problems[:] = dict.fromkeys(problems)  # a clean sample has the labels of its overlapped one, and their faults
    return found


def _check_user(clip: Clip, sample: UserSample, has_channel: bool) -> None:
    """InputError if the user of a sample cannot be played, or its file is cut off before what is measured has ended.

    has_channel: it is known which channel of a file is the user's.
    """
    length_s, damage = _heard_through(clip.path, has_channel)
    if damage and (not sample.spans or length_s < _needed_s(sample, length_s)):
        raise InputError(f"{clip.path.name}: {damage}: {MISSING}")


def _needed_s(sample: UserSample, otherwise_s: float) -> float:
    """How much of the audio of a sample is needed; otherwise_s: where nothing is labelled."""
    return max((end_s + AFTER_S for _, end_s in sample.spans), default=otherwise_s)


def session_of(clip: Clip, sample: UserSample) -> tuple[SessionInput, str]:
    """The user and the output beside it; and why words beside them cannot be read, "" if they can or there are none.

    InputError if there is no output, or if it has the voices of more than one side.
    """
    output = clip.path.with_name(clip.path.name.replace("input", "output"))
    if not output.is_file():
        raise InputError(f"expected {output.name} beside {clip.path.name}, found none")
    _heard_through(output)
    words: dict[Side, Path] = {}
    problems = []
    for side, audio in zip(SIDES, (clip.path, output), strict=True):
        if (beside := audio.with_suffix(".json")).is_file():
            try:
                chunks_in(beside)
                words[side] = beside
            except FdbError as error:
                problems.append(f"{str(error).removeprefix(f'{beside.parent}/')}: no words, all else is scored")
    given = (str(clip.path.parent), sample.labels) if sample.labels else None
    return SessionInput(clip.name, clip.path, output, words=words, labels=given), "; ".join(problems)


def _heard_through(path: Path, has_channel: bool = False) -> tuple[float, str | None]:
    """The length of a file in s, and what is missing at its end. InputError for channels that differ, if nobody said
    which of them is the side's own.
    """
    with AudioFile(path) as file:
        differ = [np.any(block != block[:, :1]) for block in file.blocks()]
        if any(differ) and not has_channel:
            raise InputError(
                f"expected one channel, got {file.channels} that differ: keep that of the "
                f"{'user' if 'input' in path.name else 'system'} alone: {path.name}"
            )
        return file.samples / file.rate_hz, file.damage


def _damages(reading: Reading) -> str:
    """What is missing at the end of the files of a call, "" if nothing is."""
    user = reading.parties.get("A", {}).get("file")
    played = [f"{user['path']}: {user['damage']}"] if isinstance(user, Mapping) and user.get("damage") else []
    return "; ".join(each.removeprefix(f"{Path(each).parent}/") for each in [*reading.damages, *played])


def shortfall(sample: UserSample, reading: Reading) -> tuple[str, bool]:
    """What is missing at the end of the audio of either side, "" if nothing is; and whether the sample can be scored.

    It cannot where the output, or the live call, ends before its input does and less than AFTER_S after the last label,
    or where nothing is labelled.
    """
    played = reading.parties.get("A", {}).get("samples", 0) / SAMPLE_RATE_HZ
    user_s, system_s = max(reading.length_s("A"), played), reading.length_s("B")
    damage = _damages(reading)
    if user_s - system_s <= SHORT_S:
        return damage, True
    outcome = reading.outcome
    ended = f"{outcome['kind']}: {outcome['reason']}" if outcome and outcome["reason"] else ""
    told = f"expected {'a call' if outcome else 'an output'} as long as its input, {user_s:.2f} s, got {system_s:.2f} s"
    told += f" ({'; '.join(why)})" if (why := [each for each in (ended, damage) if each]) else ""
    if system_s < min(_needed_s(sample, user_s), user_s - SHORT_S):
        return f"{told}: {MISSING}", False
    return f"{told}: what is missing counts as silence", True
