"""What health keeps of the audio in temporary files."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from fakes.disks import full_after

from fdbcore.errors import RecordingError
from fdbcore.measures.health.hearing import LowBand, TickColumn


def test_a_full_folder_of_temporary_files_is_named() -> None:
    low = np.ones(400_000, np.int16)
    where = tempfile.gettempdir()
    with (
        full_after(100_000),
        pytest.raises(RecordingError, match=f"^{where}: temporary files cannot be written: .*TMP"),
    ):
        LowBand().append(low)
    with full_after(100_000), TickColumn(np.float32) as column, pytest.raises(RecordingError, match=f"^{where}: "):
        column.append(np.ones(30_000, np.float32))
        column.read(30_000)
