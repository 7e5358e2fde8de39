"""What lies in the folder of a sample beside its user: whether an output can be scored, and its words can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from fdbcore.audio.decode import AudioFile
from fdbcore.errors import FdbError, InputError
from fdbcore.measures.dialogue import NEVER_TICKS
from fdbcore.measures.reading import Reading
from fdbcore.sources.sessions import SessionInput
from fdbcore.sources.word_files import chunks_in
from fdbcore.suites.fdb_v1.samples import UserSample
from fdbcore.types import Clip, Side

SHORT_S: Final = 0.5
"""An output that ends so much before its input is as long as it: systems send whole frames."""
AFTER_S: Final = 1.0
"""How much of the output after the last label is needed: the least in which a system can take over."""


def session_of(clip: Clip, sample: UserSample) -> tuple[SessionInput, str]:
    """The user and the output beside it; and why the output's words cannot be read, "" if they can or there are none.

    InputError if there is no output, or if a file has the voices of more than one side.
    """
    output = clip.path.with_name(clip.path.name.replace("input", "output"))
    if not output.is_file():
        raise InputError(f"expected {output.name} beside {clip.path.name}, found none")
    for file in (clip.path, output):
        _refuse_several_voices(file)
    beside = output.with_suffix(".json")
    words: dict[Side, Path] = {}
    problem = ""
    if beside.is_file():
        try:
            chunks_in(beside)
            words = {"B": beside}
        except FdbError as error:
            problem = f"{str(error).removeprefix(f'{beside.parent}/')}: no words, all else is scored"
    labels = sample.labels(NEVER_TICKS).labels
    given = (str(clip.path.parent), labels) if labels else None
    return SessionInput(clip.name, clip.path, output, words=words, labels=given), problem


def _refuse_several_voices(path: Path) -> None:
    """InputError for a file whose channels differ: which of them is the side's own, it does not say."""
    with AudioFile(path) as file:
        if file.channels > 1 and any(np.any(block != block[:, :1]) for block in file.blocks()):
            raise InputError(
                f"expected one channel, got {file.channels} that differ: keep that of the "
                f"{'user' if 'input' in path.name else 'system'} alone: {path.name}"
            )


def shortfall(sample: UserSample, reading: Reading) -> tuple[str, bool]:
    """What is missing at the end of the audio of either side, "" if nothing is; and whether the sample can be scored.

    It cannot where the output ends before its input does and less than AFTER_S after the last label, or where nothing
    is labelled.
    """
    user_s, system_s = reading.length_s("A"), reading.length_s("B")
    damages = "; ".join(each.removeprefix(f"{Path(each).parent}/") for each in reading.damages)
    if user_s - system_s <= SHORT_S:
        return damages, True
    needed_s = max((end_s + AFTER_S for _, end_s in sample.spans), default=user_s)
    told = f"expected an output as long as its input, {user_s:.2f} s, got {system_s:.2f} s"
    told += f" ({damages})" if damages else ""
    if system_s < min(needed_s, user_s - SHORT_S):
        return f"{told}: what is measured is missing", False
    return f"{told}: what is missing counts as silence", True
