"""Settings of all tests. Tests that need hours or environments of their own run by a flag alone: `--fuzz`, `--outside`,
`--nemo`, `--emulated`. Property tests are bounded in the ordinary run, and long with `--fuzz`.
"""

import datetime
import inspect
import ipaddress
import os
import signal
import ssl
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("test", max_examples=100, deadline=None, derandomize=True, suppress_health_check=CHECKS)
settings.register_profile("fuzz", max_examples=500, deadline=None, suppress_health_check=CHECKS)

FLAGS = {
    "fuzz": "only the long runs of property tests (make fuzz)",
    "outside": "only tests with a server of others in an environment of its own (make outside)",
    "nemo": "only tests with NeMo in an environment of its own (make nemo)",
    "emulated": "only tests of the core on emulated processors (make aarch64)",
}
"""Marks of tests that run by a flag of the same name alone: any `-m` that is typed would replace a default one."""

SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").split())
"""Tests that took a processor for four seconds or more beside others: `make test` leaves them to `make test-all`."""

# In the background of a shell Ctrl-C is ignored, also by what is started there; a handler of our own is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Screens are as wide as where there is no terminal, whatever the width is of the one that the tests are started from.
os.environ.pop("COLUMNS", None)

# Tests run beside each other, and so do the processes that they start: threads of the linear algebra would only wait
# for each other in a loop. numpy counts them as it is loaded, so this holds for processes that begin from here on.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

MUCH_TAKEN = 0.05
"""Share of the time: from here on, no test of real time can tell what has failed. With 20 busy processes on two
processors it was 0.06 to 0.08, and a quarter of the tests with servers of others failed."""

PAGES = "test_docs.py"


class OthersTookTime(Exception):
    """A test of real time failed while others took some of the processors' time: `make test-all` runs it once more."""


class Watch(threading.Thread):
    """Measures whether there is real time: it wakes each 10 ms, and the kernel counts how long it waits to go on."""

    def __init__(self) -> None:
        super().__init__(name="watch", daemon=True)
        self._ended = threading.Event()
        self.taken_share = 0.0
        """Of the processors' time by the host, or of its own time by others: the larger one."""
        self.told = ""

    def run(self) -> None:
        from fdbcore.runtime.machine import Processors, cause_of_missed_ticks

        before, began_s = Processors.now(), time.monotonic()
        while not self._ended.wait(0.01):
            pass
        found, lasted_s = Processors.now().since(before), max(1.0, time.monotonic() - began_s)  # less is noise
        self.taken_share = max(found["steal_share"] or 0.0, (found["waited_ms"] or 0.0) / 1000 / lasted_s)
        self.told = cause_of_missed_ticks(found)

    def end(self) -> None:
        """What it found is known from here on."""
        self._ended.set()
        self.join()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Each flag stands for the mark of its name."""
    for mark, chooses in FLAGS.items():
        parser.addoption(f"--{mark}", action="store_true", help=chooses)


def pytest_configure(config: pytest.Config) -> None:
    """The marks of the flags, and how long property tests run."""
    for mark, chooses in FLAGS.items():
        config.addinivalue_line("markers", f"{mark}: runs with --{mark} alone: {chooses.removeprefix('only ')}")
    settings.load_profile("fuzz" if config.getoption("--fuzz") else "test")


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a flag, tests that need none; with flags, those that need no other. The commands of the pages come first:
    they take longest, and would be what all wait for at the end.
    """
    given = {mark for mark in FLAGS if config.getoption(f"--{mark}")}
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker("slow")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        needed = {mark.name for mark in item.iter_markers()} & FLAGS.keys()
        (kept if needed <= given and bool(needed) == bool(given) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = sorted(kept, key=lambda item: item.path.name != PAGES)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Variables that a test sets, as by a `.env`, end with it. A test of real time that fails says what the machine
    had; it is run again where others took some of that, and skipped where they took much in the last run, too.
    """
    with patch.dict(os.environ):
        return (yield from _explained(item))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine is held on the loop of the network."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    from fdbcore.runtime.network import await_result

    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    await_result(pyfuncitem.obj(**given), 300)
    return True


def _explained(item: pytest.Item) -> Generator[None, Any, Any]:
    if not any(item.get_closest_marker(mark) for mark in ("live", "outside")):
        return (yield)
    from fdbcore.runtime.machine import NOTED_STEAL

    watch = Watch()
    watch.start()
    try:
        return (yield)
    except Exception as error:
        watch.end()
        is_last = getattr(item, "execution_count", 1) > (item.config.getoption("reruns", None) or 0)
        if watch.taken_share >= MUCH_TAKEN and is_last:
            pytest.skip(f"{watch.told}; it failed with {error!r}")
        if watch.taken_share >= NOTED_STEAL:
            raise OthersTookTime(watch.told) from error
        error.add_note(f"Why, as far as the kernel reports it: {watch.told}.")
        raise
    finally:
        watch.end()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate of 127.0.0.1, with its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """A server's, with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
