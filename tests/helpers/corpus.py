"""A corpus of calls whose answers are known, replayed."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result
from helpers.commands import command
from helpers.voices import voices, write


@dataclass(frozen=True)
class Built:
    """A call with the answers that it was built to have: their latencies, and how many turns B cut off or left."""

    drawing: str
    latencies_ms: tuple[float, ...]
    cut_off: int = 0
    unanswered: int = 0
    tail_s: float = 2.5
    swapped: bool = False

    @property
    def turns(self) -> int:
        return len(self.latencies_ms) + self.cut_off + self.unanswered


BUILT = {
    "quick": Built("A 0.5-2 5-6.5 | B 2.3-4.6 6.9-9", (300, 400)),
    "slow": Built("A 0.5-2 7-8.5 | B 3.9-6.5 9.6-11", (1900, 1100), swapped=True),
    "early": Built("A 0.5-3 | B 2.4-5", (), cut_off=1),
    "mute": Built("A 0.5-2 | B 14-15", (), unanswered=1),
    "mixed": Built("A 0.5-2 5-7 | B 2.5-4.6 6.3-9", (500,), cut_off=1),
}


ROWS = "file,language,agent_channel\n" + "".join(
    f"{name}.wav,{language},{'left' if BUILT[name].swapped else 'right'}\n"
    for name, language in zip(BUILT, ("en", "de", "en", "de", "fr"), strict=True)
)


def build(folder: Path) -> Path:
    folder.mkdir()
    for name, built in BUILT.items():
        samples = voices(built.drawing, built.tail_s)
        write(folder / f"{name}.wav", samples[:, ::-1].copy() if built.swapped else samples)
    return folder


def replay(*arguments: object, out: Path, code: int | None = None) -> Result:
    """On one process, unless the arguments say otherwise."""
    return command("replay", "--vad", "energy", "--jobs", 1, "--out", out, *arguments, code=code)


@dataclass(frozen=True)
class Ran:
    run: Path
    calls: Path
    result: Result


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The corpus, with a file that is no audio, one that breaks off, and a row too many."""
    path = tmp_path_factory.mktemp("corpus")
    calls = build(path / "calls")
    (calls / "junk.wav").write_bytes(b"no audio at all" * 99)
    broken = write(calls / "broken.wav", voices(BUILT["quick"].drawing))
    broken.write_bytes(broken.read_bytes()[:-64_000])
    (path / "calls.csv").write_text(ROWS + "gone.wav,en,right\n")
    return Ran(path / "run", calls, replay(calls, "--meta", path / "calls.csv", "--jobs", 2, out=path / "run"))
