"""The self-test passes where the harness adds what it states, and fails where something else does."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import Result
from fakes.loopback import free_port
from fakes.run_parties import install
from helpers.commands import command
from scipy.io import wavfile

from fdbcore.endpoints.webrtc.mirror import Mirrored
from fdbcore.runs.selftest import drift_ppm, reflect_clicks, timing_selftest, verdict

if TYPE_CHECKING:
    from fdbcore.endpoints.webrtc.rtp import RtpPacket

HIDDEN_DELAY_S = 0.02


class Unsteady(Mirrored):
    """Past the middle, holds every other packet between two clicks back for 25 ms, as jitter does: the delay rises."""

    _reflected = 0

    def _reflect(self, packet: "RtpPacket", arrival_ns: int) -> None:
        self._reflected += 1
        if self._reflected > 130 and self._reflected % 20 in (6, 8, 10, 12):
            asyncio.get_running_loop().call_later(0.025, super()._reflect, packet, arrival_ns)
        else:
            super()._reflect(packet, arrival_ns)


class Late(Mirrored):
    """Holds each packet back for 20 ms that no leg states."""

    def _reflect(self, packet: "RtpPacket", arrival_ns: int) -> None:
        asyncio.get_running_loop().call_later(HIDDEN_DELAY_S, super()._reflect, packet, arrival_ns)


def test_one_late_click_is_no_drift() -> None:
    at_s = np.arange(15) * 0.2
    steady = np.full(15, 22.5)
    for late in range(15):
        assert drift_ppm(at_s, steady + 12 * (np.arange(15) == late)) == pytest.approx(0)
    assert drift_ppm(at_s, steady + 0.3 * at_s) == pytest.approx(300)
    assert drift_ppm(at_s[:1], steady[:1]) == 0


@pytest.mark.live
def test_clicks_come_back_as_late_as_is_stated() -> None:
    found = timing_selftest(1.0)
    assert found["clicks"] == 5
    assert found["returned"] >= 4  # a machine that is busy enough may swallow one
    assert abs(found["delay_ms"] - found["stated_ms"]) < 3
    assert found["wire"]["n"] >= 100
    assert "timing self-test" in verdict(found)


@pytest.mark.live
def test_each_click_is_held_against_the_delay_of_its_own_time() -> None:
    found = reflect_clicks(2.0, Unsteady("webrtc"))
    assert found["jitter_ms"] > 8  # the delay has risen on the way
    assert abs(found["error_ms"]) < 3


@pytest.mark.live
def test_a_delay_that_is_not_stated_is_found() -> None:
    found = reflect_clicks(1.0, Late("webrtc"))
    assert found["error_ms"] == pytest.approx(1000 * HIDDEN_DELAY_S, abs=4)
    assert found["passed"] is False
    assert "FAILED" in verdict(found)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_the_doctor_says_how_to_grant_a_priority_that_was_refused() -> None:
    refusing = ["prlimit", "--rtprio=0", *(["setpriv", "--bounding-set=-sys_nice"] if os.geteuid() == 0 else [])]
    command = [*refusing, sys.executable, "-m", "fdbcore.cli", "doctor"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert "real-time priority refused: Operation not permitted" in told
    assert "'USER - rtprio 50' in /etc/security/limits.conf" in told


def doctor(*arguments: str, code: int | None = None) -> Result:
    return command("doctor", *arguments, code=code)


def test_doctor_probes_each_system() -> None:
    done = doctor("--json", "echo", "pcm_ws://127.0.0.1:9/?token=secret-value")
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == 1
    assert found["systems"]["echo"]["ready"]
    (other,) = (probe for name, probe in found["systems"].items() if name != "echo")
    assert not other["ready"]
    assert "cannot connect" in other["why_not"]
    assert "secret-value" not in done.stdout + done.stderr


def test_doctor_tells_what_fails_at_the_far_end(tmp_path: Path) -> None:
    wavfile.write(clip := tmp_path / "clip.wav", 8000, np.zeros(800, np.int16))
    done = doctor("--json", "far:echo", "far:moshi://127.0.0.1:9", "far:exec:false", f"clip:{clip}")
    found: dict[str, Any] = json.loads(done.stdout)["systems"]
    assert done.exit_code == 1
    assert [probe["ready"] for probe in found.values()] == [True, False, False, True]
    assert "cannot be reached" in found["far:moshi://127.0.0.1:9"]["why_not"]
    assert "exited with code 1" in found["far:exec:false"]["why_not"]


def test_what_the_far_end_prints_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = install(tmp_path / "plugin")
    monkeypatch.syspath_prepend(plugin)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(plugin), str(Path(__file__).parents[1])]))
    prints = "far:fake:?prints=200000"  # more than a pipe holds
    done = doctor("--json", prints, f"{prints}&open_error=refused")
    fine, refused = json.loads(done.stdout)["systems"].values()
    assert fine["ready"]
    assert refused == {"ready": False, "why_not": "fake: refused with 401"}


def test_doctor_says_what_it_waits_for_and_names_a_system_once() -> None:
    port = free_port()
    nobody, away = f"webrtc://127.0.0.1:{port}?join_s=0.5", "moshi://127.0.0.1:9"
    done = doctor(nobody, away, code=1)
    assert f"{nobody}: waiting for a peer; side B: join within 0.5 s at http://127.0.0.1:{port}" in done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "moshi" in line]
    assert line.count(away) == 1


def test_doctor_refuses_an_unknown_system_in_one_line() -> None:
    done = doctor("nothing", code=2)
    assert "expected one of" in done.stderr.splitlines()[-1]


def test_without_the_extra_the_self_test_says_that_it_was_not_done(tmp_path: Path) -> None:
    (tmp_path / "aiortc.py").write_text("raise ImportError('no aiortc', name='aiortc')")
    code = "from fdbcore.runs.selftest import *; found = timing_selftest(); print(found['passed'], verdict(found))"
    path = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=path)
    assert done.stdout.startswith("None timing self-test: not done: ")
    assert "pip install 'fdbcore[live]'" in done.stdout
