"""What `fdbcore run` says before it begins: what goes to whom, which models end, what the calls will cost."""

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI
from helpers.commands import command
from scipy.io import wavfile

from fdbcore import clock
from fdbcore.runs import selftest
from fdbcore.runs.estimates import expected_usd
from fdbcore.types.usage import Service

OPENAI = Service("audio", "api.openai.com", "openai", "gpt-realtime-2.1")


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    monkeypatch.setattr(clock, "utc_today", lambda: date(2026, 11, 23))


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A user who is silent for a minute."""
    wavfile.write(tmp_path / "user.wav", 8000, np.zeros(60 * 8000, np.int16))
    return tmp_path / "user.wav"


def run(*arguments: str, code: int | None = None) -> Result:
    return command("run", *arguments, code=code)


def test_a_realtime_call_of_a_minute_costs_what_the_vendor_charges() -> None:
    """600 tokens heard at 32 USD a million, and 30 s at 20 tokens said at 64."""
    assert expected_usd([OPENAI], 60.0) == pytest.approx((600 * 32 + 600 * 64) / 1e6)
    assert expected_usd([OPENAI._replace(model="gpt-live-1")], 60.0) == pytest.approx(0.05)
    assert expected_usd([OPENAI._replace(model="unheard-of")], 60.0) is None
    assert expected_usd([Service("audio", "agent.example.com")], 60.0) is None
    assert expected_usd([Service("audio", "127.0.0.1")], 60.0) == 0


@NEEDS_OPENAI
def test_a_dry_run_says_what_it_will_cost_and_what_goes_where(clips: Path) -> None:
    done = run(
        *("--system", "openai-chat:gpt-realtime-mini", "--system", "mine=pcm_wss://agent.example.com/talk"),
        *("--system", "here=echo", "--clips", f"{clips}?tail_s=0", "--dry-run"),
        code=0,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    usd = {line[0]: line[-1] for line in lines[1:5]}
    assert usd == {"openai-chat:gpt-realtime-mini": "0.02", "mine": "unpriced", "here": "0.00", "all": "unpriced"}
    assert "the audio of side A goes to OpenAI (api.openai.com)" in done.stdout
    assert "the audio of side A goes to agent.example.com" in done.stdout
    assert "gpt-realtime-mini ends in 58 days (2027-01-20)" in done.stdout
    assert "list prices of 2026-11-23; a model hears the whole call" in done.stdout


@NEEDS_OPENAI
def test_a_dry_run_says_the_same_as_json(clips: Path) -> None:
    done = run("--system", "openai-chat:gpt-realtime-mini", "--clips", f"{clips}?tail_s=0", "--dry-run", "--json")
    costs = json.loads(done.stdout)
    assert costs["recipients"] == ["the audio of side A goes to OpenAI (api.openai.com)"]
    assert costs["endings"] == ["gpt-realtime-mini ends in 58 days (2027-01-20)"]
    assert costs["systems"]["all"]["usd"] == pytest.approx((600 * 10 + 600 * 20) / 1e6)


def test_a_run_that_stays_here_says_nothing_of_money(clips: Path) -> None:
    done = run("--system", "echo", "--clips", str(clips), "--dry-run", "--local-only", code=0)
    assert "USD" not in done.stdout
    assert "goes to" not in done.stdout


@pytest.mark.parametrize("dry", [["--dry-run"], []])
@pytest.mark.parametrize(
    ("system", "host"), [("pcm_ws://8.8.8.8:1/talk", "8.8.8.8"), ("far:whips://example.org/whip/b", "example.org")]
)
def test_local_only_refuses_what_would_leave(
    clips: Path, tmp_path: Path, system: str, host: str, dry: list[str]
) -> None:
    out = tmp_path / "out"
    done = run("--system", system, "--clips", str(clips), "--local-only", "--out", str(out), *dry, code=2)
    assert done.stderr.splitlines()[-1].endswith(
        f"expected nothing to leave this machine or its network, but the audio of side A goes to {host}"
    )
    assert not out.exists()


def test_what_the_user_is_sent_is_told_too(clips: Path) -> None:
    done = run("--a", "pcm_ws://caller.example.com/", "--system", "echo", "--dry-run")
    assert "the audio of side B goes to caller.example.com" in done.stdout


def test_who_joins_is_not_known(clips: Path) -> None:
    done = run("--system", "webrtc://0.0.0.0:8790", "--clips", str(clips), "--dry-run")
    assert "the audio of side A goes to whoever joins at 0.0.0.0" in done.stdout


@NEEDS_OPENAI
def test_a_script_may_be_spoken_by_a_vendor(tmp_path: Path) -> None:
    script = tmp_path / "caller.toml"
    script.write_text('voice = "openai-tts:tts-1?voice=nova"\n[[line]]\nsay = "Hello?"\nat_s = 0.5\n')
    done = run("--a", f"scripted:{script}", "--system", "echo", "--dry-run")
    assert "words of the call go to OpenAI (api.openai.com)" in done.stdout, done.output
    assert "tts-1 ends in 44 days (2027-01-06)" in done.stdout


@NEEDS_OPENAI
def test_the_doctor_looks_models_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "timing_selftest", lambda: {"passed": True})
    monkeypatch.setattr(selftest, "verdict", lambda found: "on time")
    with FakeOpenAI([], models=["gpt-4o"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        fine = command("doctor", "openai-chat:gpt-4o")
        gone = command("doctor", "openai-chat:gpt-4o-audio-preview", "--json")
        assert server.asked == []
    assert fine.exit_code == 0
    assert "openai-chat:gpt-4o: ready in" in fine.stdout
    (probe,) = json.loads(gone.stdout)["systems"].values()
    assert gone.exit_code == 1
    assert "has no such model" in probe["why_not"]
