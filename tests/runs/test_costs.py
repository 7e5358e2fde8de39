"""What live calls cost: from their events and the table of models, by call, system and run; and a limit for it."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes.run_parties import install

from fdbcore.cli.main import main
from fdbcore.measures.costs import Cost, call_cost
from fdbcore.recording.reader import Recording
from fdbcore.runs.budget import Budget

USER = "fake:?speak=10-50&finish=80"
BILLED = "fake:?speak=20-60&model=gpt-live-1"  # 0.05 USD a minute
LIMITED = ("--max-s", 60)  # the longest that the call may be, by which a dry run reckons
FAST = ("--vad", "energy", "--clock", "virtual")


@pytest.fixture(autouse=True)
def _plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))


def run(out: Path, *arguments: object, answer: str = "", trials: int = 1) -> Result:
    command = ["run", "--a", USER, *FAST, "--trials", str(trials), "--out", str(out), *map(str, arguments)]
    return CliRunner().invoke(main, command, input=answer, catch_exceptions=False)


def summary(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return found


def test_a_call_states_what_it_cost_and_who_got_what(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(out, "--system", BILLED)
    assert done.exit_code == 0, done.output
    (case,) = [meta.parent for meta in out.glob("*/meta.json")]
    recording = Recording(case)
    sent = {"takes": "audio", "host": "api.openai.com", "vendor": "openai", "model": "gpt-live-1"}
    assert recording.meta["sent_to"] == {"B": [sent]}
    cost = call_cost(recording)
    assert cost is not None
    assert cost.usd == pytest.approx(0.05)
    assert "the audio of side A goes to OpenAI (api.openai.com)" in done.stderr
    assert "cost: 0.0500 USD (list prices of 2026-11-23)" in done.stdout
    assert summary(out)["cost"]["usd"] == 0.05
    page = (case / "report.html").read_text()
    assert "0.0500 USD (list prices of 2026-11-23)" in page
    assert "audio of side A to OpenAI (api.openai.com): gpt-live-1" in page


def test_costs_are_summed_by_system_and_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    systems = {
        "priced": f"{BILLED}&seconds=120",
        "cut": f"{BILLED}&seconds=due",
        "unknown": BILLED.replace("gpt-live-1", "gpt-nobody-knows"),
        "here": "fake:?speak=20-60",
    }
    done = run(out, *(f"--system={name}={address}" for name, address in systems.items()), trials=2)
    found = summary(out)
    kinds = ("usd", "calls", "unpriced", "incomplete")
    costs = {
        name: [system["cost"][kind] for kind in kinds] for name, system in found["systems"].items() if "cost" in system
    }
    assert costs == {"priced": [0.2, 2, 0, 0], "cut": [0.0, 2, 0, 2], "unknown": [0.0, 2, 2, 0]}
    assert [found["cost"][kind] for kind in kinds] == [0.2, 6, 2, 2]
    told = "cost: 0.20 USD (list prices of 2026-11-23); 2 of 6 calls unpriced; 2 of 6 calls incomplete"
    assert told in " ".join(done.stdout.split())
    with open(out / "calls.csv", newline="") as file:
        rows = {row["name"]: (row["cost_usd"], row["cost_lacks"]) for row in csv.DictReader(file)}
    listed = {
        "cut-1": ("0.0", "incomplete"),
        "here-1": ("", ""),
        "priced-2": ("0.1", ""),
        "unknown-1": ("0.0", "unpriced"),
    }
    assert {name: rows[name] for name in listed} == listed
    index = (out / "index.html").read_text()
    assert "cost 0.20 USD; 2 unpriced; 2 incomplete" in index
    assert ">2 unpriced<" in index


def test_a_failed_attempt_counts_too(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out, "--system", f"s={BILLED}")
    run(out, "--system", f"s={BILLED}", "--again", "all")
    assert summary(out)["cost"] == {"usd": 0.1, "calls": 1, "unpriced": 0, "incomplete": 0, "priced_on": "2026-11-23"}


def test_a_run_without_vendors_says_nothing_of_money(tmp_path: Path) -> None:
    assert "cost" not in run(tmp_path / "run", "--system", "fake:?speak=20-60").stdout
    assert "cost" not in summary(tmp_path / "run")


def test_a_limit_leaves_calls_which_a_higher_one_runs(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(out, "--system", f"s={BILLED}", "--max-cost", 0.12, trials=4)
    assert done.exit_code == 1
    last = " ".join(done.stderr.splitlines()[-1].split())
    assert (
        "0.10 USD spent of --max-cost 0.12, 2 of 4 cases left; with a higher --max-cost or none, run the same" in last
    )
    assert summary(out)["cost"]["usd"] == pytest.approx(0.1)
    done = run(out, "--system", f"s={BILLED}", "--max-cost", 1, trials=4)
    assert done.exit_code == 0
    assert summary(out)["cost"]["usd"] == pytest.approx(0.2)


def test_a_dry_run_says_whether_a_limit_will_hold(tmp_path: Path) -> None:
    def told(limit_usd: float) -> str:
        dry = run(out, "--system", f"s={BILLED}", *LIMITED, "--max-cost", limit_usd, "--dry-run", trials=4)
        return next(line for line in dry.stdout.splitlines() if line.startswith("--max-cost"))

    out = tmp_path / "run"
    assert "--max-cost" not in run(out, "--system", f"s={BILLED}", *LIMITED, "--dry-run", trials=4).stdout
    assert told(0.2) == "--max-cost 0.2: 0.20 USD fits"
    stops = "does not fit: the run would stop after about"
    assert told(0.12) == f"--max-cost 0.12: 0.20 USD {stops} 2 of the 4 calls left"
    assert told(0.01) == f"--max-cost 0.01: 0.20 USD {stops} 1 of the 4 calls left"
    run(out, "--system", f"s={BILLED}", *LIMITED, "--max-cost", 0.12, trials=4)
    assert told(0.16) == f"--max-cost 0.16: 0.20 USD, 0.10 USD spent of it, {stops} 1 of the 2 calls left"


def test_a_session_that_is_billed_by_time_may_count_tokens(tmp_path: Path) -> None:
    """The call takes 0.8 s, at 0.08 USD a minute."""
    out = tmp_path / "run"
    done = run(out, "--system", "fake:?speak=20-60&vendor=grok&model=grok-voice-latest&tokens=500")
    assert done.exit_code == 0
    assert summary(out)["cost"]["usd"] == pytest.approx(0.08 * 0.8 / 60, abs=1e-5)
    assert summary(out)["cost"]["unpriced"] == 0


def test_a_price_that_turns_out_unknown_ends_a_limited_run(tmp_path: Path) -> None:
    done = run(tmp_path / "run", "--system", f"s={BILLED.replace('gpt-live-1', 'tts-1')}", "--max-cost", 9, trials=3)
    assert done.exit_code == 1
    told = " ".join(done.stderr.split())
    assert "s-1 used something without a known price, so --max-cost cannot be kept, 2 of 3 cases left" in told


@pytest.mark.parametrize("system", [BILLED.replace("gpt-live-1", "gpt-nobody-knows"), "pcm_ws://agent.example.com/"])
def test_a_limit_needs_prices(tmp_path: Path, system: str) -> None:
    done = run(tmp_path / "run", "--system", system, "--max-cost", 1)
    assert done.exit_code == 2
    assert "expected systems with a known price, but" in done.stderr
    assert not (tmp_path / "run").exists()


STATED = """
[[model]]
vendor = "openai"
name = "gpt-nobody-knows"
kind = "live"
price = {minutes = 0.1}

[[model]]
vendor = "speech.example.com"
kind = "live"
price = {minutes = 60}
"""


def test_a_price_that_the_user_states_keeps_a_limit_and_stays_with_the_run(tmp_path: Path) -> None:
    out, prices = tmp_path / "run", tmp_path / "mine.toml"
    prices.write_text(STATED)
    system = f"s={BILLED.replace('gpt-live-1', 'gpt-nobody-knows')}"
    stated = ("--system", system, "--price", prices, "--max-cost", 0.25)
    done = run(out, *stated, trials=4)
    assert done.exit_code == 1
    assert "0.20 USD spent of --max-cost 0.25, 2 of 4 cases left" in " ".join(done.stderr.split())
    assert "cost: 0.20 USD\n" in done.stdout, "it is no list price"
    kinds = ("usd", "calls", "unpriced", "priced_on")
    assert [summary(out)["cost"][kind] for kind in kinds] == [0.2, 2, 0, None]
    assert (out / "prices.toml").read_text() == STATED
    case = next(meta.parent for meta in out.glob("s-*/meta.json"))
    cost = call_cost(Recording(case))
    assert cost is not None
    assert cost.usd == pytest.approx(0.1), "later, too"
    (out / "prices.toml").unlink()
    assert call_cost(Recording(case)) == Cost(0.0, 1, unpriced=1)


def test_minutes_of_another_server_may_have_a_price(tmp_path: Path) -> None:
    """It says that it took 60 s, at 1 USD a second."""
    out, prices = tmp_path / "run", tmp_path / "mine.toml"
    prices.write_text(STATED.replace("speech.example.com", "api.openai.com"))
    assert (
        run(out, "--system", "fake:?speak=20-60&vendor=&model=own", "--price", prices, "--max-cost", 9).exit_code == 0
    )
    assert summary(out)["cost"]["usd"] == pytest.approx(60)
    assert (summary(out)["cost"]["unpriced"], summary(out)["cost"]["incomplete"]) == (0, 0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model = 1", "expected tables [[model]], got model"),
        ("[[model]", "expected TOML: "),
        ("", "expected tables [[model]], got nothing"),
        (STATED + "[source]\n", "expected tables [[model]], got model, source"),
        (STATED.replace('kind = "live"', ""), "model 1: expected vendor, kind and price, got vendor, name, price"),
        (
            STATED.replace("live", "lively"),
            "model 1: kind: expected one of live, chat, transcriber, voice, got 'lively'",
        ),
        (STATED.replace("= 60", "= -1"), "model 2: price: minutes: expected a number of at least 0, got -1"),
        (STATED.replace("minutes = 60", "tokens = 60"), "model 2: price: expected settings of audio_in_tokens"),
    ],
)
def test_a_file_of_prices_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    done = run(tmp_path / "run", "--system", BILLED, "--price", tmp_path / "mine.toml")
    assert done.exit_code == 2
    assert f"Error: --price: {tmp_path / 'mine.toml'}: {told}" in done.stderr
    assert not (tmp_path / "run").exists()


def test_what_a_budget_allows() -> None:
    budget = Budget(1.0)
    assert budget.allows(0)
    assert not budget.allows(1), "nothing is known of what a call costs"
    budget.note("a", Cost(0.2, 1))
    assert budget.allows(3)
    assert not budget.allows(4)
    budget.note("b", Cost(0.0, 1, incomplete=1))  # counts as 0.2
    assert budget.allows(2)
    assert not budget.allows(3)
    budget.note("b", Cost(0.7, 1, incomplete=1))
    assert not budget.allows(0)
    budget.note("b", Cost(0.0, 1, unpriced=1))
    assert not budget.allows(0)
    untold = Budget(1.0)
    for name in "abc":
        assert untold.allows(0)
        untold.note(name, Cost(0.0, 1, incomplete=1))
    assert not untold.allows(0)


def test_the_first_calls_are_told_before_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    refused = run(out, "--system", f"s={BILLED}", "--first", 2, trials=5)
    assert refused.exit_code == 2
    assert "expected a terminal to ask on, or --yes" in refused.stderr
    monkeypatch.setattr("fdbcore.cli.run.is_terminal", lambda: True)
    stopped = run(out, "--system", f"s={BILLED}", "--first", 2, answer="n\n", trials=5)
    assert stopped.exit_code == 1
    assert "the other 3, if they are alike: about 0:02 and 0.15 USD" in stopped.stderr
    assert "s-1: 0:01, 0.0500 USD" in stopped.stderr
    assert "3 of 5 cases left" in stopped.stderr
    assert summary(out)["cost"]["calls"] == 2
    ended = run(tmp_path / "ended", "--system", f"s={BILLED}", "--first", 2, answer="", trials=5)
    assert ended.exit_code == 1
    assert "3 of 5 cases left" in ended.stderr, "the end of the input is a no"
    done = run(out, "--system", f"s={BILLED}", "--first", 2, "--yes", trials=5)
    assert done.exit_code == 0, done.output
    assert summary(out)["cost"]["calls"] == 5
