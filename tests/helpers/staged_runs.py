"""A small run of staged dialogues, and the scenario that it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner

from fdbcore.audio.wav import WavWriter
from fdbcore.cli.main import main
from fdbcore.types import SAMPLE_RATE_HZ

MUG = """
schema = "fdbcore.scenarios/1"

[[scenario]]
id = "daily.ordering.90"
family = "daily"
class = "ordering"
title = "A mug"
language = "en"
role = "Ada, who buys a mug."
background = "Ada pays in cash."

[[scenario.goal]]
goal = "Buy a mug."
say = "Hello, I would like to buy a blue mug, please, if you have one."
rephrase = ["Do you have a mug in blue for me?"]
probe = "So what did you note?"
met = "The system confirms a mug."
heard = [["mug"]]

[[scenario.goal]]
goal = "Ask for its price."
say = "And what does that one cost, all in all?"
rephrase = ["Could you tell me the price of it?"]
probe = "How much is it?"
met = "The system names a price."
heard = [["dollars", "euros"]]
"""


def beeping_run(folder: Path) -> Path:
    """A run: a system that answers each time, half a second after the examiner, with a second of sound."""
    with WavWriter(folder / "beep.wav", channels=1) as wav:
        wav.write(np.where(np.arange(SAMPLE_RATE_HZ) // 40 % 2, 3000, -3000).astype(np.int16))
    line = '[[line]]\nclip = "beep.wav"\nafter = "other_end"\ndelay_s = 0.5\nor_after_s = 60.0\n'
    (folder / "beeps.toml").write_text("tail_s = 20.0\n" + 8 * line)
    (folder / "mug.toml").write_text(MUG)
    arguments = [
        "run", "--suite", "staged", "--scenarios", folder / "mug.toml", "--pacing", "both",
        "--system", f"beeps=scripted:{folder / 'beeps.toml'}", "--clock", "virtual", "--vad", "energy",
        "--no-score", "--out", folder / "run",
    ]  # fmt: skip
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return folder / "run"
