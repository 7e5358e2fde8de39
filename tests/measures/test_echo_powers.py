"""Echoes of loudspeakers over codecs: what is reported is what was said, interruptions within the echo included."""

from pathlib import Path

import numpy as np
import pytest
from helpers.on_lines import clean_dialogue

from benchmarks.voices import detectors, files
from benchmarks.voices.dialogues import Dialogue
from benchmarks.voices.healths import health_of
from benchmarks.voices.lines import Delay, Line, Material, echo
from benchmarks.voices.scoring import Tally
from fdbcore.measures.echo_free import echo_free_activity
from fdbcore.types import SIDES


@pytest.fixture(scope="module")
def clean() -> Dialogue:
    return clean_dialogue()


@pytest.mark.parametrize(
    "line",
    [echo(14, 400, Delay(250), "gsm"), echo(16, 450, Delay(350), "gsm"), echo(18, 300, Delay(100, 340, 20), "gsm")],
    ids=lambda line: line.name,
)
def test_an_echo_is_left_out_and_what_is_said_in_it_is_not(line: Line, clean: Dialogue, tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    files.write(path, line.audio(clean, Material({}, []), 1), line.encoding)
    active = detectors.ours("silero")(path)
    suspect = health_of(path, active, "silero")["suspect"]
    reported = echo_free_activity((active[:, 0], active[:, 1]), {side: suspect[side] for side in SIDES})
    bare, told = Tally(), Tally()
    bare.add_dialogue(clean.spans[40], active)
    told.add_dialogue(clean.spans[40], np.stack(reported, axis=1))
    before, after = ({name: value or 0 for name, value in each.figures().items()} for each in (bare, told))
    assert before["unit_f1"] < 0.75
    assert (after["interruptions"], after["interruption_recall"]) == (4, 1)
    assert after["unit_f1"] >= 0.95
    assert after["transfer_f1"] >= 0.85
