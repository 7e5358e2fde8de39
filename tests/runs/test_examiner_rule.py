"""A call whose examiner is at fault is invalid, and is held again."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run_parties import install

from fdbcore.recording.reader import Recording
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.plan import PlannedSystem, make_plan
from fdbcore.runs.runner import hold_calls
from fdbcore.session.converse import LiveSettings
from fdbcore.types import User

MUTE = """
from pathlib import Path
from fdbcore.endpoints.examiner.brief import read_brief
from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.types import SILENT_FRAME

class Mute(Examiner):
    def open(self, side):
        self._side = side

    def say(self, tick):
        if tick < 2500:
            return SILENT_FRAME
        self.left = "finished"

def mute(address):
    place, _, rule = address.removeprefix("mute:").partition("?rule=")
    return Mute(read_brief(Path(place)), rule=rule)
"""
GOAL = {"goal": "Order coffee.", "sayings": ["Coffee, please."], "met": "", "heard": [["coffee"]], "language": "en"}
BRIEF = {
    "schema": "fdbcore.brief/1", "id": "coffee", "language": "en", "role": "Maya", "background": "",
    "closing": "Goodbye.", "most_turns": 5, "most_s": 60, "goals": [GOAL],
}  # fmt: skip


@pytest.mark.parametrize("rule", ["on", "off"])
def test_an_examiner_that_never_speaks(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    plugin = tmp_path / "mute"
    (plugin / "mute-1.0.dist-info").mkdir(parents=True)
    (plugin / "mute-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mute\nVersion: 1.0\n")
    (plugin / "mute-1.0.dist-info" / "entry_points.txt").write_text("[fdbcore.endpoints]\nmute = mute_party:mute\n")
    (plugin / "mute_party.py").write_text(MUTE)
    monkeypatch.syspath_prepend(str(plugin))
    (tmp_path / "brief.json").write_text(json.dumps(BRIEF))

    settings = LiveSettings(vad="energy", max_s=30.0, realtime=False)
    user = User("", f"mute:{tmp_path / 'brief.json'}?rule={rule}")
    plan = make_plan([PlannedSystem("s", "fake:?speak=20-60")], [user], settings)
    with RunFolder(tmp_path / "run", plan) as folder:
        hold_calls(folder, back_off_s=(0.0,))
        (case,) = plan.cases
        outcome: Any = folder.outcome(case)
    attempts: Any = Recording(tmp_path / "run" / case.name).meta.get("attempts", ())
    if rule == "off":
        assert (outcome["kind"], attempts) == ("done", [])
    else:
        reason = "the examiner never advanced: tick 61, 0.61 s: it said nothing for 24.39 s of silence"
        assert (outcome["kind"], outcome["side"], outcome["reason"]) == ("invalid", "A", reason)
        assert [each["reason"] for each in attempts] == [reason] * 2, "held again twice"
