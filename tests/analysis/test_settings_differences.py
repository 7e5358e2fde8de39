"""Which settings differ between the calls of a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers.commands import done
from helpers.made_runs import Manner, drawn_calls, made_run

from fdbcore.analysis.score import score
from fdbcore.analysis.settings_differences import differing_within
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import settings_hash
from fdbcore.types import TurnSettings


def made_by(rate_hz: int, min_silence_ms: int = 200) -> Any:
    vad = {"name": "silero", "version": "1", "settings": {"on": 0.5, "model": {"rate_hz": rate_hz}}}
    return {"turns": asdict(TurnSettings(min_silence_ms=min_silence_ms)), "vad": {"A": vad, "B": vad}}


def test_a_rate_belongs_to_its_call_and_is_no_setting() -> None:
    assert (
        differing_within([])
        == differing_within([made_by(16_000)])
        == differing_within([made_by(16_000), made_by(8_000)])
        == []
    )
    assert differing_within([made_by(16_000), made_by(8_000, 300), made_by(8_000)]) == [
        "turns min_silence_ms: 200 and 300"
    ]


def test_the_page_of_a_run_names_what_differs(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", drawn_calls(3, 1, lambda _: Manner()))
    meta = run / "call0001" / "meta.json"
    written = json.loads(meta.read_text())
    written["settings"]["turns"]["min_silence_ms"] += 100
    meta.write_text(json.dumps(written | {"settings_sha256": settings_hash(written["settings"])}))
    score(Reading(meta.parent))
    done("report", run)
    assert "turns min_silence_ms: 200 and 300" in (run / "index.html").read_text()
