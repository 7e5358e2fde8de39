"""The clips that the published tables stand on: Debian packages that hold recorded voices, and music.

`python -m benchmarks.voices.packages FOLDER` fetches and unpacks them, on a system with `apt-get` and `dpkg-deb`:
FOLDER/tuning and FOLDER/test then hold a folder for each voice, FOLDER/music/tuning and FOLDER/music/test the tracks.
Which voice and which track a detector is tuned on is fixed here: no speaker is in both sets. Those who say single words
and letters (Ukrainian, German, Greek, Dutch) have too few phrases for a dialogue: they are heard in babble. The English
and the Spanish woman are one person.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

ASTERISK: Final = "usr/share/asterisk/sounds"
LETTERS: Final = "usr/share/klettres"
POTATOES: Final = "usr/share/ktuberling/sounds"


class Source(NamedTuple):
    """Where in a package the clips of a voice lie: `files` is a pattern below the folder `below`."""

    package: str
    below: str
    files: str


TUNING: Final = {
    "english-woman": Source("asterisk-core-sounds-en-g722", f"{ASTERISK}/en_US_f_Allison", "**/*.g722"),
    "french-woman": Source("asterisk-core-sounds-fr-g722", f"{ASTERISK}/fr_CA_f_June", "**/*.g722"),
    "spanish-woman": Source("asterisk-core-sounds-es-g722", f"{ASTERISK}/es_MX_f_Allison", "**/*.g722"),
    "ukrainian": Source("ktuberling-data", f"{POTATOES}/uk", "**/*.*"),
    "german": Source("klettres-data", f"{LETTERS}/de", "**/*.*"),
}
TEST: Final = {
    "italian-man": Source("asterisk-core-sounds-it-g722", f"{ASTERISK}/it_IT_m_Carlo", "**/*.g722"),
    "russian-woman": Source("asterisk-core-sounds-ru-g722", f"{ASTERISK}/ru_RU_f_IvrvoiceRU", "**/*.g722"),
    "greek": Source("ktuberling-data", f"{POTATOES}/el", "**/*.*"),
    "dutch": Source("klettres-data", f"{LETTERS}/nl", "**/*.*"),
}
MUSIC: Final = "asterisk-moh-opsound-g722"
TRACKS: Final = {
    "tuning": ("macroform-cold_day", "manolo_camp-morning_coffee"),
    "test": ("macroform-robot_dity", "macroform-the_simplicity", "reno_project-system"),
}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.voices.packages FOLDER")
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as unpacked:
        for name, voices in (("tuning", TUNING), ("test", TEST)):
            for voice, source in voices.items():
                found = sorted(fetched(source, Path(unpacked)).glob(source.files))
                _copy([path for path in found if path.parent.name != "silence"], folder / name / voice)
            tracks = _unpacked(MUSIC, Path(unpacked)) / "usr/share/asterisk/moh"
            _copy([tracks / f"{track}.g722" for track in TRACKS[name]], folder / "music" / name)
    print(f"clips in {folder}/tuning and {folder}/test, music in {folder}/music")


def fetched(source: Source, folder: Path) -> Path:
    """Fetch the package of a voice; return the folder of its clips. OSError or CalledProcessError if it cannot be."""
    return _unpacked(source.package, folder) / source.below


def _unpacked(package: str, folder: Path) -> Path:
    """The folder of a package's files."""
    out = folder / package
    if not out.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"fetching {package}", file=sys.stderr)
        subprocess.run(["apt-get", "download", "-q", package], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        subprocess.run(["dpkg-deb", "-x", str(next(folder.glob(f"{package}_*.deb"))), str(out)], check=True)
    return out


def _copy(paths: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        (folder / f"{path.parent.name}-{path.name}").write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
