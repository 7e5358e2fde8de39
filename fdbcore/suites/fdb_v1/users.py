"""The users of a run: the samples of a folder, played from their first to their last sound.

A system that says nothing may do the right thing, so its call counts as held.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from fdbcore.errors import InputError
from fdbcore.measures.dialogue import NEVER_TICKS
from fdbcore.runs.plan import users_of
from fdbcore.runtime.address import split_query
from fdbcore.sources.clips import clips_in
from fdbcore.suites.fdb_v1.samples import Version, sample_of
from fdbcore.types import Clip, Material, Problem, SideA, UserLabels

AS_LONG: Final = "tail_s=0"
"""The released outputs are as long as the inputs, which hold the time to answer."""


def side_a(version: Version, data: str) -> SideA:
    """The users in "DIR" or "DIR?SETTINGS" (settings of the clip endpoint), and the samples that cannot be used."""
    path, settings = split_query(data, file=True)
    folder = Path(path).absolute()
    clips: dict[str, Clip] = {}
    labels: dict[str, UserLabels] = {}
    problems: list[Problem] = []
    for clip in clips_in(folder, problems):
        try:
            found = sample_of(version, clip).labels(NEVER_TICKS).labels
            clips[clip.name] = clip
            labels[clip.name] = UserLabels(str(clip.path.parent), [label.to_json() for label in found])
        except InputError as error:
            problems.append(Problem(str(clip.path.parent), str(error).removeprefix(f"{clip.path.parent}: ")))
    if not clips:
        raise InputError(f"{folder}: expected samples of {version}, found none: {problems[0].reason}")
    users = [
        replace(user, may_be_silent=True, labels=labels[user.name] if labels[user.name].labels else None)
        for user in users_of(list(clips.values()), settings or AS_LONG)
    ]
    return SideA(users, material=Material(version, str(folder), {}), problems=problems)
