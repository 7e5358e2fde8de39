"""The core on emulated processors, and in many threads: each of its kernels gives the bits that it gives here alone."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers import core_bits as program
from helpers.core_bits import core_bits
from helpers.on_aarch64 import EMULATOR, compile_core, compile_flags, python_there

from fdbcore.sources.clips import read_clip
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "benchmarks" / "sample" / "sample.flac"
PROGRAM = Path(program.__file__)
START, TICKS = 20 * SAMPLE_RATE_HZ, 600  # an interruption, and pauses
OLD = "Nehalem"  # of 2008: without AVX, AVX2, AVX-512 and FMA
# What a user sets for the processor here: OPENBLAS_CORETYPE=Haswell ends NumPy's import on an older one.
OF_THIS_PROCESSOR = ("OPENBLAS_", "NPY_", "GLIBC_TUNABLES")

AARCH64 = ROOT / "build" / "aarch64"
needs_aarch64 = pytest.mark.skipif(
    not (AARCH64 / "core").is_dir() or shutil.which(EMULATOR) is None, reason=f"needs {EMULATOR} and make aarch64"
)

# As Debian's Python for aarch64 has it.
NUMPY_ALONE = """
import runpy, sys
class NumpyAlone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "fdbcore", "numpy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NumpyAlone())
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def audio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audio") / "audio.npy"
    sides = [read_clip(SAMPLE, side)[0] for side in ("left", "right")]
    np.save(path, np.array([side[START : START + TICKS * FRAME_SAMPLES] for side in sides]))
    return path


@pytest.fixture(scope="module")
def here(audio: Path) -> dict[str, str]:
    return core_bits(np.load(audio))


def there(command: list[str], audio: Path, *python_path: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_PROCESSOR)}
    if python_path:
        environment["PYTHONPATH"] = os.pathsep.join(map(str, python_path))
    told = subprocess.run(
        [*command, str(PROGRAM), str(audio)], stdout=subprocess.PIPE, check=True, cwd=audio.parent, env=environment
    )
    found: dict[str, str] = json.loads(told.stdout)
    return found


def test_digests_tell_one_sample_from_another(audio: Path, here: dict[str, str]) -> None:
    sides = np.load(audio)
    assert core_bits(sides) == here
    sides[:, 5_000:6_000] //= 2
    other = core_bits(sides)
    assert {name for name in here if other[name] == here[name]} == {"align", "pacer", "turns"}


def test_many_threads_beside_each_other_give_the_same_bits(audio: Path, here: dict[str, str]) -> None:
    """They change places as often as Python lets them, and where the core has released the GIL they run together."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(core_bits, [np.load(audio) for _ in range(16)])) == [here] * 16
    finally:
        sys.setswitchinterval(usual)


def test_numpy_alone_is_enough(audio: Path, here: dict[str, str]) -> None:
    assert there([sys.executable, "-c", NUMPY_ALONE], audio) == here


@pytest.mark.emulated
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="needs an emulator: apt-get install qemu-user")
def test_a_processor_without_wide_vectors_gives_the_same_bits(audio: Path, here: dict[str, str]) -> None:
    assert there(["qemu-x86_64", "-cpu", OLD, sys.executable], audio) == here


@pytest.mark.emulated
@needs_aarch64
def test_aarch64_gives_the_same_bits(audio: Path, here: dict[str, str]) -> None:
    assert there(python_there(AARCH64), audio, AARCH64 / "core", AARCH64 / "site") == here


@pytest.mark.emulated
@needs_aarch64
def test_aarch64_would_give_others_if_products_and_sums_were_fused(
    audio: Path, here: dict[str, str], tmp_path: Path
) -> None:
    """What gcc does there if nothing forbids it."""
    shutil.copytree(AARCH64 / "core", tmp_path, dirs_exist_ok=True)
    fused = [flag for flag in compile_flags() if not flag.startswith("-ffp-contract")]
    assert len(fused) < len(compile_flags())
    compile_core(AARCH64, tmp_path, ["bank", "resample", "silero"], fused)
    found = there(python_there(AARCH64), audio, tmp_path, AARCH64 / "site")
    assert {name for name in here if found[name] != here[name]} >= {
        "level",
        "resample",
        "silero 8 kHz",
        "silero 16 kHz",
    }
