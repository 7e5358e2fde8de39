"""Debian's Python, NumPy and the core for aarch64 in a folder: `make aarch64`.

Nothing of it is installed: an emulator runs it from the folder. It needs apt, a cross compiler and pip.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
LIBRARIES = ("libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1")
PYTHON = (("python", "minimal"), ("libpython", "minimal"), ("libpython", "stdlib"), ("libpython", "dev"))


def compile_flags() -> list[str]:
    """Those of setup.py."""
    assigned = {
        target.id: node.value
        for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: list[str] = ast.literal_eval(assigned["COMPILE_ARGS"])
    return found


def debian_python() -> str:
    """The version, such as 3.11, of the Python of this release of Debian."""
    command = ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def fetch_python(folder: Path, version: str) -> None:
    """Unpack Debian's Python for aarch64, from the sources of packages of this machine, into `folder`/root."""
    state, packages = folder / "apt", folder / "packages"
    for path in (state / "lists" / "partial", state / "archives" / "partial", packages):
        path.mkdir(parents=True, exist_ok=True)
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Acquire::Languages": "none",
        "Dir::State": state,
        "Dir::State::status": "/dev/null",
        "Dir::Cache": state,
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "--quiet=2", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    python = [f"{name}{version}-{part}" for name, part in PYTHON]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", *LIBRARIES, *python], cwd=packages, check=True, stderr=subprocess.DEVNULL)
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(folder / "root")], check=True)


def fetch_numpy(folder: Path, version: str) -> None:
    """Unpack NumPy's wheel for aarch64 into `folder`/site."""
    platforms = ["manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    command += ["--python-version", version, "--only-binary", ":all:", "--no-deps", "--target", str(folder / "site")]
    subprocess.run([*command, *(f"--platform={name}" for name in platforms), "numpy"], check=True)


def compile_core(folder: Path, into: Path, modules: Iterable[str], flags: Iterable[str]) -> None:
    """Compile modules of the core, as setup.py has translated them to C, for the Python in `folder`."""
    (headers,) = (folder / "root" / "usr" / "include").glob("python3*")
    includes = [ROOT / "fdbcore" / "_ext", headers, headers.parent]
    command = [COMPILER, "-shared", "-fPIC", "-g0", "-DNDEBUG", *flags, *(f"-I{path}" for path in includes)]

    def compile_one(module: str) -> None:
        source = ROOT / "build" / "cython" / "fdbcore" / "_ext" / f"{module}.c"
        made = into / "fdbcore" / "_ext" / f"{module}.so"
        subprocess.run([*command, str(source), "-o", str(made)], check=True, stderr=subprocess.DEVNULL)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, modules))


def copy_package(into: Path) -> None:
    """Copy what is not compiled of the package."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "fdbcore", into / "fdbcore", ignore=ignored, dirs_exist_ok=True)


def python_there(folder: Path) -> list[str]:
    """The command that starts it."""
    (python,) = (folder / "root" / "usr" / "bin").glob("python3.*")
    return [EMULATOR, "-L", str(folder / "root"), str(python), "-B"]


def set_up(folder: Path) -> None:
    """Do all of it."""
    version = debian_python()
    shutil.rmtree(folder, ignore_errors=True)
    fetch_python(folder, version)
    fetch_numpy(folder, version)
    translate = [sys.executable, "setup.py", "--quiet", "--version"]
    subprocess.run(translate, cwd=ROOT, check=True)
    copy_package(folder / "core")
    modules = [path.stem for path in (ROOT / "fdbcore" / "_ext").glob("*.pyx")]
    compile_core(folder, folder / "core", modules, compile_flags())


if __name__ == "__main__":
    set_up(Path(sys.argv[1]).resolve())
