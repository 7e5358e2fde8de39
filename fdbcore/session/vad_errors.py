"""Errors of detectors of one's own, told in one line."""

import traceback
from pathlib import Path
from typing import NoReturn

from fdbcore.errors import FdbError, VadError
from fdbcore.types import TICKS_PER_S


def blame(name: str, error: Exception, tick: int | None = None) -> NoReturn:
    """Raise what the detector `name` raised, in `tick` or as it was made: a VadError that says where.

    Errors of fdbcore are raised as they are.
    """
    if isinstance(error, FdbError):
        raise error
    last = traceback.extract_tb(error.__traceback__)[-1]
    when = "as it was made" if tick is None else f"at tick {tick} ({tick / TICKS_PER_S:.2f} s)"
    told = " ".join(f"{type(error).__name__}: {error}".split())
    where = f"{Path(last.filename).name}, line {last.lineno}"
    raise VadError(f"vad: {name} failed {when}: {told} ({where})") from error
