"""What a recording holds is read once: how often a command opens each of its files."""

from pathlib import Path

from fakes.recordings import SAMPLE
from helpers.reads import reads
from helpers.voices import voices, write

META_PASSES = 5
"""The calls of a run are listed, read for its tables, shown each on its page, and asked for their settings; then the
page of the run looks for their audio."""

ACTIVITY_PASSES = 5
"""Values per tick are read when they are needed, as they are not kept: of a day they take more memory than all else.
Once they are read to be hashed, as are events and turns: meta.json has the hashes."""


def test_a_replay_reads_back_what_it_has_recorded_once(tmp_path: Path) -> None:
    command = ["replay", str(SAMPLE / "sample.flac"), "--vad", "energy", "--out", "run"]
    found = reads(command, tmp_path, tmp_path / "hook")
    parts = ("meta.json", "events.jsonl", "derived/health.json", "derived/turns.json")
    assert found.pop("run/sample/derived/activity.npz") <= ACTIVITY_PASSES
    # Once more as all but meta.json are read to be hashed, and once more to bind the figures to meta.json and health.
    assert found == {f"run/sample/{part}": 3 if "health" in part else 2 for part in parts}


def test_a_run_is_read_once_to_be_scored_once_for_its_tables_and_once_for_its_pages(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    write(tmp_path / "calls" / "call.wav", voices("A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9", 2.5))
    (tmp_path / "calls.csv").write_text("file,language\ncall.wav,en\n")
    command = ["replay", "calls", "--vad", "energy", "--meta", "calls.csv", "--quiet", "--out", "run"]
    made = {Path(path).name: n for path, n in reads(command, tmp_path, tmp_path / "made").items()}
    # Once more each to see whether the call is whole, and whether its figures are of these very files: what is hashed
    # for that is read again. Activity: its moments, once more for the table of facts.
    assert made.pop("meta.json") <= META_PASSES + 3
    assert made.pop("activity.npz") <= ACTIVITY_PASSES + 5
    times = {
        "quantities.json": 6,  # twice for the table of facts
        "scores.json": 6,
        "events.jsonl": 5,
        "health.json": 11,
        "turns.json": 7,
    }
    assert made == times
    assert (
        reads(["report", "run", "--quiet"], tmp_path, tmp_path / "told") == {}
    )  # its table of facts and its pages hold
    (tmp_path / "run" / "facts.parquet").unlink()
    again = reads(["report", "run", "--quiet"], tmp_path, tmp_path / "again")
    told = {Path(path).name: n for path, n in again.items()}
    assert told.pop("meta.json") <= META_PASSES
    assert told.pop("activity.npz") <= ACTIVITY_PASSES + 1
    of_figures = {"quantities.json": 4, "scores.json": 4, "health.json": 6, "turns.json": 4}
    assert told == dict.fromkeys(made, 2) | of_figures
