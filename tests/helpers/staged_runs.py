"""Small runs of staged dialogues, the scenario that they hold, and marks of a judge."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from fakes import staff
from fakes.fake_chat import KEY, FakeChat, Heard
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Asked
from helpers.commands import command

from fdbcore.audio.wav import WavWriter
from fdbcore.models.packaged import packaged, why_not
from fdbcore.types import SAMPLE_RATE_HZ

NEEDS_VOICE: Final = pytest.mark.skipif(
    why_not(packaged("hibari")) is not None, reason="needs a voice: fdbcore models get hibari"
)

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


def beeps(folder: Path) -> str:
    """The address of a system that answers each time, half a second after the examiner, with a second of sound."""
    with WavWriter(folder / "beep.wav", channels=1) as wav:
        wav.write(np.where(np.arange(SAMPLE_RATE_HZ) // 40 % 2, 3000, -3000).astype(np.int16))
    line = '[[line]]\nclip = "beep.wav"\nafter = "other_end"\ndelay_s = 0.5\nor_after_s = 60.0\n'
    (folder / "beeps.toml").write_text("tail_s = 20.0\n" + 9 * line)
    return f"scripted:{folder / 'beeps.toml'}"


def hold(folder: Path, *more: object, scenarios: str = MUG, code: int | None = 0) -> Path:
    """A run on scenarios, in the folder "run" of `folder`. code: the exit code that it must have."""
    (folder / "mug.toml").write_text(scenarios)
    how = ("--clock", "virtual", "--vad", "energy", "--no-score", "--quiet", "--out", folder / "run")
    command("run", "--suite", "staged", "--scenarios", folder / "mug.toml", *how, *more, code=code)
    return folder / "run"


def beeping_run(folder: Path) -> Path:
    """A run of the slow and of the fast examiner with a system that beeps."""
    return hold(folder, "--pacing", "both", "--system", f"beeps={beeps(folder)}")


@contextmanager
def staff_at_work(folder: Path, heard: Heard = staff.transcript) -> Iterator[str]:
    """While parties `staff:` are known, also to processes: the address of a transcriber of what they say."""
    plugin = staff.install(folder / "plugin")
    with pytest.MonkeyPatch.context() as patch, FakeChat(heard=heard) as hearing:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("PYTHONPATH", f"{plugin}:{Path(staff.__file__).parents[1]}")
        patch.setattr(sys, "path", [*sys.path, str(plugin)])
        yield f"openai:whisper-1?{hearing.settings}"


def hold_staff(
    out: Path, pacing: str, systems: Mapping[str, str], *more: str, scenarios: Iterable[str] = (staff.CORRECTION,)
) -> Path:
    """A run with systems by their names and settings, of which none may fail but one that never answers."""
    how = ("--pacing", pacing, "--clock", "virtual", "--no-score", "--quiet", "--out", out, *more)
    named = (part for name in scenarios for part in ("--scenario", name))
    asked = (part for name, settings in systems.items() for part in ("--system", f"{name}=staff:?{settings}"))
    told = command("run", "--suite", "staged", *how, *named, *asked).output
    assert not [line for line in told.splitlines() if line and "never-answers" not in line], told
    return out


def judge_at(server: FakeOpenAI, name: str) -> str:
    """The address of a judge whose key is in JUDGE_KEY."""
    return f"openai:{name}?base_url={server.base_url}&key_variable=JUDGE_KEY"


def marks(asked: Asked, mark: int = 4) -> str:
    """The same mark for each event, with a reason that quotes what one of the dialogues says."""
    given = {
        f"{name}{end}": value
        for name in ("turn_taking", "instruction_following")
        for end, value in (("", mark), ("_reason", "“mug”"))
    }
    return json.dumps({"events": [{"event": each["event"], **given} for each in json.loads(asked.user)["events"]]})
