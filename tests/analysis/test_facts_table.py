"""The table of a run says what the files of its calls say, bit for bit; a stale or damaged one is not believed."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.corpus import Ran, ran
from helpers.sealed import scored_otherwise

from fdbcore.analysis.comparison import compare
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.facts import FACTS
from fdbcore.analysis.facts_table import READ_FILES, TABLE, FactsTable
from fdbcore.analysis.kept import _scores_sha256 as scores_sha256
from fdbcore.analysis.rows import call_rows, event_rows
from fdbcore.analysis.survey import survey
from fdbcore.recording.files import HEALTH, META, QUANTITIES
from fdbcore.recording.reader import Recording
from fdbcore.report.html.templates import INDEX
from fdbcore.report.run.page import write_index
from fdbcore.runs.pages import summary_of, write_results
from fdbcore.runs.run_scores import score
from fdbcore.runtime.executor import ThisProcess

__all__ = ["ran"]

pytest.importorskip("pyarrow")


@pytest.fixture
def run(ran: Ran, tmp_path: Path) -> Path:
    """The run with the table that its replay wrote."""
    return Path(shutil.copytree(ran.run, tmp_path / "run"))


def said(run: Run) -> dict[str, Any]:
    """All that is said of a run, as JSON."""
    found = survey(run)
    values = {
        "calls": call_rows(run),
        "events": event_rows(run),
        "summary": summary_of(found),
        "score": score(run, by="language", jobs=1, out=run.path.parent / "out"),
        "compared": compare(run, by="language"),
        "sha256": scores_sha256(run),
        "page": write_index(found).read_text(),
        "worst": [repr(each) for worst in found.worst.values() for each in worst],
    }
    return {what: json.dumps(each, default=repr) for what, each in values.items()}


def by_files(path: Path) -> dict[str, Any]:
    """The same without the table."""
    (path / TABLE).rename(path.parent / TABLE)
    try:
        run = Run(path)
        assert not any(call.is_in_table for call in run.calls)
        return said(run)
    finally:
        (path.parent / TABLE).rename(path / TABLE)


def test_all_that_is_said_is_the_same_with_and_without_the_table(run: Path) -> None:
    kept = Run(run)
    assert [call.name for call in kept.calls if not call.is_in_table] == ["junk"]
    assert said(kept) == by_files(run)


def test_figures_of_calls_in_the_table_read_none_of_their_files(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept, read = Run(run), set[str]()
    real = Path.open

    def noted(path: Path, *of: Any, **given: Any) -> Any:
        read.add(str(path.relative_to(run)) if path.is_relative_to(run) else "")
        return real(path, *of, **given)

    monkeypatch.setattr(Path, "open", noted)  # by read_text and read_bytes, too
    score(kept, by="language", jobs=1, out=tmp_path / "out")
    compare(kept, by="language")
    assert not [path for path in read if path.endswith((META, QUANTITIES, HEALTH))]
    (run / TABLE).unlink()
    compare(Run(run), by="language")
    assert {f"mixed/{part}" for part in (META, QUANTITIES, HEALTH)} <= read


def renewed(path: Path, part: str, change: Callable[[Any], Any]) -> None:
    (path / part).write_text(json.dumps(change(json.loads((path / part).read_text()))))


def slower(quantities: Any) -> Any:
    quantities["quantities"]["response_latency_ms"]["values"] = [1234.5]
    return quantities


@pytest.mark.parametrize("part", sorted({*READ_FILES, "gone"}))
def test_a_call_of_which_a_file_has_changed_is_read_again(run: Path, part: str) -> None:
    call = run / "mixed"
    if part == QUANTITIES:
        scored_otherwise(call, slower)
    elif part == "gone":
        shutil.rmtree(call)
    else:
        stat = (call / part).stat() if (call / part).is_file() else None
        (call / part).parent.mkdir(exist_ok=True)
        (call / part).touch()
        os.utime(call / part, ns=(1, stat.st_mtime_ns + 1 if stat else 1))
    kept = Run(run)
    assert {call.name for call in kept.calls if not call.is_in_table} == {"junk", "mixed"}
    if part in (QUANTITIES, "gone"):
        assert said(kept) == by_files(run)
        assert ("1234.5" in said(kept)["calls"]) == (part == QUANTITIES)


def test_only_changed_calls_are_read_again_and_rows_of_calls_that_are_gone_go(run: Path) -> None:
    before = (run / TABLE).stat().st_ino
    write_results(Run(run), executor=ThisProcess())
    assert (run / TABLE).stat().st_ino == before, "nothing had changed"
    scored_otherwise(run / "mixed", slower)
    renewed(run, "corpus.json", lambda corpus: corpus | {"calls": [c for c in corpus["calls"] if c["name"] != "mute"]})
    shown: list[tuple[str, int, int]] = []
    write_results(Run(run), executor=ThisProcess(), on_call=lambda *of: shown.append(of))
    assert [of for of in shown if of[0] == "facts"] == [("facts", 1, 2), ("facts", 2, 2)]  # mixed, and junk as always
    table = FactsTable(run)
    assert len(table) == 5
    assert table.number(run / "mute") is None
    assert said(Run(run)) == by_files(run)


def test_pages_of_calls_are_written_again_only_if_what_they_show_has_changed(run: Path) -> None:
    write_results(Run(run), executor=ThisProcess())  # the audio is elsewhere for the copy of a run
    pages = {path: path.stat().st_mtime_ns for path in run.glob("*/report.html")}
    scored_otherwise(run / "mixed", slower)
    (run / "quick/report.html").write_text("another page")
    (run / "slow/report.html").unlink()
    lists = {path.name: path.read_bytes() for path in (run / "pages").glob("*.js")}
    write_results(Run(run), executor=ThisProcess())
    assert {path.parent.name for path in pages if path.stat().st_mtime_ns != pages[path]} == {"mixed", "quick", "slow"}
    assert {path.name: path.read_bytes() for path in (run / "pages").glob("*.js")} == lists


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_table_is_not_believed_and_is_written_again(run: Path, seed: int) -> None:
    random, data = np.random.default_rng(seed), bytearray((run / TABLE).read_bytes())
    if seed == 0:
        data = data[: len(data) // 2]
    else:  # somewhere in its columns
        at = int(random.integers(4, int(len(data) * 0.8)))
        data[at] ^= 1 << int(random.integers(8))
    (run / TABLE).write_bytes(data)
    assert said(Run(run)) == by_files(run)
    (run / TABLE).write_bytes(b"PAR1")
    write_results(Run(run), executor=ThisProcess())
    assert [call.name for call in Run(run).calls if not call.is_in_table] == ["junk"]


def test_no_damage_to_what_describes_the_table_ends_a_command(run: Path) -> None:
    """Names, versions and places stand at its end; a name that is no UTF-8 was a traceback."""
    whole, rows = (run / TABLE).read_bytes(), len(FactsTable(run))
    described = int.from_bytes(whole[-8:-4], "little")  # the bytes of the footer (Parquet's "File Format")
    for at in range(len(whole) - 8 - described, len(whole), described // 300):
        (run / TABLE).write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        assert len(FactsTable(run)) in (0, rows)


def test_calls_made_before_a_time_are_taken_as_they_are_in_the_table(run: Path) -> None:
    scored_otherwise(run / "mixed", slower)
    created = Recording(run / "mixed").meta["created"]
    for since, is_read_again in ((created, True), (created[:-1] + "~", False), ("", True)):
        (mixed,) = (call for call in Run(run, since=since).calls if call.name == "mixed")
        assert (mixed.fact(FACTS[0])["status"], mixed.is_in_table) == ("complete", not is_read_again)
        assert (mixed.quantities["response_latency_ms"].values == [1234.5]) == is_read_again  # type: ignore[union-attr]


def test_a_table_of_another_version_is_not_used(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fdbcore.analysis.facts_table.__version__", "0.0.9")
    assert not any(call.is_in_table for call in Run(run).calls)


def test_without_pyarrow_there_is_no_table_and_all_is_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = said(Run(run))
    monkeypatch.setattr("fdbcore.analysis.facts_table.has_tables", lambda: False)
    monkeypatch.setattr("fdbcore.runs.pages.has_tables", lambda: False)
    assert said(Run(run)) == expected
    (run / TABLE).unlink()
    write_results(Run(run), executor=ThisProcess())
    assert not (run / TABLE).exists()
    assert (run / INDEX).is_file()
