"""Models are fetched from an index of ours over HTTP, by the pip that users have."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fakes.package_index import PackageIndex, wheel

from fdbcore.cli.main import main
from fdbcore.errors import MissingExtraError
from fdbcore.models import packaged
from fdbcore.models.packaged import ready, verify
from fdbcore.runs import selftest

VOICE = {"voice/__init__.py": b"x = 1\n", "voice/data/model.onnx": bytes(3000), "other.py": b""}
HALVES = ({"one/model.bin.part1": b"abc", "one/config.json": b"{}"}, {"two/model.bin.part2": b"def"})
WHEELS = (wheel("a-voice", "1.2", VOICE), wheel("half-one", "1.0", HALVES[0]), wheel("half-two", "1.0", HALVES[1]))
KEPT = {
    "voice": {
        "__init__.py": b"x = 1\n",
        "data/model.onnx": bytes(3000),
        "licences/a-voice/LICENSE": b"Do as you like.\n",
    },
    "hears": {
        "model.bin": b"abcdef",
        "config.json": b"{}",
        "licences/half-one/LICENSE": b"Do as you like.\n",
        "licences/half-two/LICENSE": b"Do as you like.\n",
    },
}
PARTS = {"voice": (("a-voice", "voice"),), "hears": (("half-one", "one"), ("half-two", "two"))}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entry(name: str) -> str:
    """A model of the catalogue; its digest is what `sha256sum` prints of its files, hashed."""
    lines = "".join(f"{sha256(data)}  {path}\n" for path, data in sorted(KEPT[name].items()))
    text = f'[[model]]\nname = "{name}"\nwhat = "a {name}"\nversion = "1"\nlicence = "MIT"\npublisher = "us"\n'
    text += f'source = "here"\nbytes = 1\ndigest = "{sha256(lines.encode())}"\n'
    for package, root in PARTS[name]:
        file, data = next(each for each in WHEELS if each[0].startswith(package.replace("-", "_")))
        text += f'[[model.package]]\nname = "{package}"\nversion = "{file.split("-")[1]}"\nfile = "{file}"\n'
        text += f'bytes = {len(data)}\nsha256 = "{sha256(data)}"\nroot = "{root}"\nkeep = "*"\n'
    return text


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """An index that has all wheels, a catalogue of them, and an empty cache in tmp_path / "models"."""
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("FDBCORE_MODELS", str(tmp_path / "models"))
    catalogue = tmp_path / "packages.toml"
    catalogue.write_text(entry("voice") + entry("hears"))
    monkeypatch.setattr(packaged, "CATALOGUE", catalogue)
    with PackageIndex() as running:
        running.wheels.update(WHEELS)
        monkeypatch.setenv("PIP_INDEX_URL", running.url)
        yield running


def models(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["models", *arguments])


def kept(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    del found["files.json"]
    return found


def test_models_are_fetched_once_without_what_they_depend_on(index: PackageIndex, tmp_path: Path) -> None:
    result = models("get", "local")
    assert (result.exit_code, result.stderr) == (0, "")
    assert kept(tmp_path / "models" / "voice-1") == KEPT["voice"]
    assert kept(tmp_path / "models" / "hears-1") == KEPT["hears"]
    assert not list((tmp_path / "models" / "fetched").glob("*.whl"))
    assert {path.split("/")[2] for path in index.asked if "simple" in path} == {"a-voice", "half-one", "half-two"}
    index.asked.clear()
    assert models("get", "voice", "hears").exit_code == 0
    assert index.asked == []
    verify("hears")


def test_the_list_says_what_is_there(index: PackageIndex, tmp_path: Path) -> None:
    models("get", "voice")
    listed = models("list").stdout
    assert f"ready: {tmp_path / 'models' / 'voice-1'}" in listed
    assert f"found none: {tmp_path / 'models' / 'hears-1'}" in listed
    assert f"a-voice 1.2, sha256 {sha256(WHEELS[0][1])}" in listed


def test_what_has_arrived_is_not_fetched_again(index: PackageIndex) -> None:
    last = index.wheels.pop(WHEELS[2][0])
    assert models("get", "hears").exit_code == 1
    index.wheels[WHEELS[2][0]] = last
    index.asked.clear()
    assert models("get", "hears").exit_code == 0
    assert not [path for path in index.asked if "half_one" in path or "half-one" in path]


def test_what_a_kill_left_is_removed(index: PackageIndex, tmp_path: Path) -> None:
    for left in (".voice-x", "fetched/voice-x"):
        (tmp_path / "models" / left).mkdir(parents=True)
    assert models("get", "voice").exit_code == 0
    found = {path.name for path in (tmp_path / "models").rglob("*") if path.parent.name in ("models", "fetched")}
    assert found == {"fetched", "voice.lock", "voice-1"}


def test_other_content_is_refused(index: PackageIndex, tmp_path: Path) -> None:
    index.wheels[WHEELS[0][0]] = wheel("a-voice", "1.2", {**VOICE, "voice/__init__.py": b"x = 2\n"})[1]
    result = models("get", "voice")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert f"expected the SHA-256 {sha256(WHEELS[0][1])}, got another" in result.stderr
    assert not (tmp_path / "models" / "voice-1").exists()


def test_without_a_network_the_message_says_what_to_do_and_that_works(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PackageIndex() as gone:
        pass
    monkeypatch.setenv("PIP_INDEX_URL", gone.url)
    monkeypatch.setenv("PIP_RETRIES", "1")
    result = models("get", "voice")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "onnection refused" in result.stderr
    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER fdbcore models get voice" in result.stderr
    (tmp_path / WHEELS[0][0]).write_bytes(WHEELS[0][1])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert models("get", "voice").exit_code == 0
    assert ready("voice").folder == tmp_path / "models" / "voice-1"


def test_a_changed_model_is_not_used_and_is_fetched_anew(index: PackageIndex) -> None:
    with pytest.raises(MissingExtraError, match=r"^voice: expected the model in .*, found none: fdbcore models get"):
        ready("voice")
    models("get", "voice")
    path = ready("voice").folder / "data/model.onnx"
    path.write_bytes(b"cut")
    with pytest.raises(MissingExtraError, match=r"found that data/model.onnx was changed: fdbcore models get voice"):
        ready("voice")
    models("get", "voice")
    verify("voice")


def test_a_copy_with_other_times_is_taken_if_its_bytes_are_right(index: PackageIndex) -> None:
    models("get", "voice")
    folder = ready("voice").folder
    for path in KEPT["voice"]:
        os.utime(folder / path, (1, 1))
    index.wheels.clear()
    assert ready("voice").folder == folder
    times = [file["mtime_ns"] for file in json.loads((folder / "files.json").read_text())["files"].values()]
    assert times == [10**9] * 3
    (folder / "__init__.py").write_bytes(b"x = 2\n")
    with pytest.raises(MissingExtraError, match=r"found that __init__.py was changed: fdbcore models get voice"):
        ready("voice")


def test_the_doctor_reads_every_byte(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "timing_selftest", lambda: {"passed": True})
    models("get", "voice")
    doctor = CliRunner().invoke(main, ["doctor", "--json"])
    assert (doctor.exit_code, json.loads(doctor.stdout)["models"]) == (0, {"voice": {"whole": True}})
    path = ready("voice").folder / "data/model.onnx"
    state = path.stat()
    path.write_bytes(bytes(2999) + b"x")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    ready("voice")
    doctor = CliRunner().invoke(main, ["doctor", "--json"])
    assert doctor.exit_code == 1
    told = json.loads(doctor.stdout)["models"]["voice"]["why_not"]
    assert "expected the SHA-256" in told
    assert told.endswith("remove the folder, and run: fdbcore models get voice")


@pytest.mark.parametrize("command", ["doctor scripted:caller", "run --a scripted:caller --system echo --dry-run"])
def test_a_party_without_its_voice_is_one_line(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FDBCORE_MODELS", str(tmp_path))
    result = CliRunner().invoke(main, command.split())
    expected = (
        f"hibari: expected the model in {tmp_path / 'hibari-0.2.1'}, found none: fdbcore models get hibari (14 MB)"
    )
    assert (result.exit_code, result.stderr) == (1, f"fdbcore {command.split()[0]}: {expected}\n")


def test_an_unknown_name_is_wrong_usage(index: PackageIndex) -> None:
    result = models("get", "voic")
    assert result.exit_code == 2
    assert "expected voice, hears, got 'voic'; perhaps voice" in result.stderr
    assert index.asked == []


def test_the_cache_is_where_other_caches_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FDBCORE_MODELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert packaged.home() == tmp_path / "fdbcore" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert packaged.home() == tmp_path / ".cache" / "fdbcore" / "models"
