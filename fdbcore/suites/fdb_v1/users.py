"""The users of a run: the samples of a folder, played from their first to their last sound.

A system that says nothing may do the right thing, so its call counts as held.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from fdbcore.errors import FdbError, InputError
from fdbcore.runs.plan import users_of
from fdbcore.runtime.address import query_of, split_query
from fdbcore.sources.clips import clips_in
from fdbcore.suites.fdb_v1.outputs import check_user
from fdbcore.suites.fdb_v1.samples import UserSample, Version, sample_of, says_task
from fdbcore.types import TICKS_PER_S, Clip, Material, Problem, SideA, User, UserLabels

AS_LONG: Final = "tail_s=0"
"""The released outputs are as long as the inputs, which hold the time to answer."""


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
    labels = to_builtins(sample.labels)
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
            check_user(clip, sample, has_channel)
            found.append((clip, sample))
        except FdbError as error:
            problems.append(Problem(str(clip.path.parent), str(error).removeprefix(f"{clip.path.parent}: ")))
    problems[:] = dict.fromkeys(problems)  # a clean sample has the labels of its overlapped one, and their faults
    return found
