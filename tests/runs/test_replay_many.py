"""How far a replay of many calls is."""

from __future__ import annotations

from fdbcore.clock import now_ns
from fdbcore.recording.run import DONE
from fdbcore.runs.replay_jobs import ReplayResult
from fdbcore.runs.replay_many import ReplayProgress


def test_calls_that_cannot_be_read_tell_nothing_of_the_time_left() -> None:
    began_ns, progress, made_ns = now_ns(), ReplayProgress(10, failed=4), now_ns()
    assert (progress.ended, progress.calls_per_s, progress.left_s) == (4, 0.0, None)
    progress.add(ReplayResult(4, DONE, None, None, audio_s=60.0))
    assert progress.ended == 5
    least_s, left_s, most_s = (now_ns() - made_ns) / 1e9, progress.left_s, (now_ns() - began_ns) / 1e9
    # One was replayed since the beginning, so the other five take five times what it took.
    assert left_s is not None
    assert 5.0 * least_s - 1e-6 <= left_s <= 5.0 * most_s + 1e-6
