"""The compiled core, named module by module: a forgotten source fails the build instead of shipping without it."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = (
    *(
        "align",
        "bank",
        "decoded",
        "echo",
        "floor",
        "fourier",
        "hearing",
        "jitter",
        "level",
        "pacer",
        "packets",
        "pcm",
        "resample",
        "silero",
    ),
    *("speech", "transit", "turns"),
)
HEADERS = {
    "fourier": ["fdbcore/_ext/fourier.h", "fdbcore/_ext/fourier_kernel.h"],
    "hearing": ["fdbcore/_ext/dot.h"],
    "resample": ["fdbcore/_ext/dot.h"],
    "silero": ["fdbcore/_ext/silero.h", "fdbcore/_ext/silero_kernel.h"],
}
DEBUG = os.environ.get("FDBCORE_DEBUG") == "1"  # with bounds checks and symbols, for hunting a crash

# No FMA contraction and no fast-math: a float result must be the same in every build of the same source.
COMPILE_ARGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-std=gnu11"]

extensions = [
    Extension(
        f"fdbcore._ext.{name}",
        [f"fdbcore/_ext/{name}.pyx"],
        depends=HEADERS.get(name, []),
        include_dirs=["fdbcore/_ext"],
        extra_compile_args=[*COMPILE_ARGS, "-g" if DEBUG else "-g0"],
    )
    for name in CORE
]

setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        extensions,
        build_dir="build/cython",
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "initializedcheck": DEBUG,
            "cdivision": True,
            "embedsignature": True,
            # Methods hold their object where there is no GIL; what several threads may share is as with it.
            "freethreading_compatible": True,
            "auto_pickle": False,
            "autotestdict": False,
        },
    ),
)
