"""What health keeps of the audio in temporary files."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from fakes.disks import full_after

from fdbcore.errors import RecordingError
from fdbcore.measures.health.hearing import LowBand, TickColumn


def test_a_full_folder_of_temporary_files_is_named() -> None:
    told = f"^{tempfile.gettempdir()}: temporary files cannot be written: .*TMPDIR"
    low, column = LowBand(), TickColumn(np.float32)
    with full_after(100_000):
        with pytest.raises(RecordingError, match=told):
            low.append(np.ones(400_000, np.int16))
        low.close()
        with column:
            column.append(np.ones(25_001, np.float32))
            with pytest.raises(RecordingError, match=told):
                column.read(25_001)
