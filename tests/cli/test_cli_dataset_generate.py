"""`fdbcore dataset generate` as a user meets it: what it prints and leaves; killed, stopped, and wrongly asked."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_GEMINI, NEEDS_OPENAI, Asked, Fails, FakeModelServer, Refuses
from fakes.writers import good
from helpers.commands import command, started
from helpers.patience import PATIENCE_S, wait_until

pytestmark = [NEEDS_OPENAI, NEEDS_GEMINI]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    monkeypatch.setenv("GEMINI_API_KEY", FakeGemini.KEY)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)


def words(server: FakeModelServer, out: Path, *more: object, model: str = "openai:writer") -> list[str]:
    given = ["dataset", "generate", "--model", server.address_of(model), "--out", str(out)]
    return given + list(map(str, more))


def generate(*arguments: str) -> Result:
    return command(*list(arguments))


def held_back(release: threading.Event, first: int) -> Callable[[Asked], str]:
    """What writes good records; from this one on, once they are released."""

    def answer(asked: Asked) -> str:
        if asked.number >= first:
            release.wait(PATIENCE_S)
        return good(asked)

    return answer


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    assert any(text in line for line in iter(process.stderr.readline, ""))


def everything_in(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize(("vendor", "fake"), [("gemini", FakeGemini), ("openai", FakeOpenAI)])
def test_a_set_with_either_vendor(tmp_path: Path, vendor: str, fake: type[FakeModelServer]) -> None:
    (tmp_path / "topics.txt").write_text("timer\t三分\nweather\t明日\n", encoding="utf-8")
    with fake(
        lambda asked: Refuses("SAFETY" if vendor == "gemini" else "refusal") if asked.seed == 2 else good(asked)
    ) as server:
        more = ("-n", 4, "--topics", tmp_path / "topics.txt", "--price", "2,10", "--jobs", 2)
        result = generate(*words(server, tmp_path / "set", *more, model=f"{vendor}:writer"))
    assert result.exit_code == 1, "fewer than were asked for"
    assert result.stderr.splitlines()[-1] == "fdbcore dataset generate: 3 of the 4 records that were asked for"
    assert "3 records, 1 dropped" in result.stdout
    assert "dropped set-timer-002: " in result.stdout
    assert "300 tokens in, 60 out, 0.0012 USD" in result.stdout  # 300 * 2 + 60 * 10 = 1200 millionths
    assert result.stdout.splitlines()[-1] == str(tmp_path / "set" / "records.jsonl")
    lines = (tmp_path / "set" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["set-timer-001", "set-weather-001", "set-weather-002"]
    told = json.loads((tmp_path / "set" / "generate.json").read_text(encoding="utf-8"))
    assert told["cost"]["usd"] == pytest.approx(0.0012)
    assert told["model"]["name"] == f"{vendor}:writer"
    assert fake.KEY not in everything_in(tmp_path / "set") + result.output


def test_a_start_that_failed_leaves_nothing_and_locks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(good, models=["writer"]) as server:
        wrong = generate(*words(server, tmp_path / "set", "-n", 2, model="openai:writter"))
        assert (wrong.exit_code, wrong.stdout) == (1, "")
        assert "has no such model" in wrong.stderr
        assert not (tmp_path / "set").exists()
        (tmp_path / "set").mkdir()
        started_before = {"schema": "fdbcore.generate/1", "settings": {"model": "openai:writter"}, "n": 9}
        (tmp_path / "set" / "generate.json").write_text(json.dumps(started_before), encoding="utf-8")
        (tmp_path / "set" / "replies.jsonl").touch()
        assert generate(*words(server, tmp_path / "set", "-n", 2, model="openai:writer")).exit_code == 0
    told = json.loads((tmp_path / "set" / "generate.json").read_text(encoding="utf-8"))
    assert (told["settings"]["model"], told["n"]) == ("openai:writer", 2)


def test_killed_it_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    release = threading.Event()
    with FakeOpenAI(held_back(release, 5)) as server:
        command = words(server, tmp_path / "killed" / "set", "-n", 10, "--jobs", 2)
        process = started(*command)
        wait_until(lambda: len(server.asked) == 7)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        release.set()
        assert not (tmp_path / "killed" / "set" / "records.jsonl").exists()
        result = generate(*command)
        counted = Counter(asked.seed for asked in server.asked)
        generate(*words(server, tmp_path / "whole" / "set", "-n", 10))
    assert result.exit_code == 0
    assert counted.total() == 12  # two were on their way
    for name in ("records.jsonl", "dropped.jsonl"):
        assert (tmp_path / "killed" / "set" / name).read_bytes() == (tmp_path / "whole" / "set" / name).read_bytes()


def test_ctrl_c_keeps_also_what_is_on_its_way(tmp_path: Path) -> None:
    release = threading.Event()
    with FakeOpenAI(held_back(release, 2)) as server:
        command = words(server, tmp_path / "set", "-n", 10, "--jobs", 2)
        process = started(*command)
        wait_until(lambda: len(server.asked) == 4)
        wait_for_line(process, "2 of 10")  # the first two are counted
        time.sleep(0.2)  # now it waits for the third
        os.killpg(process.pid, signal.SIGINT)
        wait_for_line(process, "finishing")
        release.set()
        _, err = process.communicate()
        assert process.returncode == 130, err
        assert "run the same command again to continue" in err
        # The two on their way; a third may begin while the command has been told, and has not yet stopped the others.
        assert 4 <= len((tmp_path / "set" / "replies.jsonl").read_text().splitlines()) < 10
        assert len((tmp_path / "set" / "records.jsonl").read_text(encoding="utf-8").splitlines()) >= 2
        assert generate(*command).exit_code == 0
        assert len(server.asked) == 10


def test_ctrl_c_twice_leaves_at_once(tmp_path: Path) -> None:
    release = threading.Event()
    with FakeOpenAI(held_back(release, 0)) as server:
        process = started(*words(server, tmp_path / "set", "-n", 10, "--jobs", 2))
        wait_until(lambda: len(server.asked) == 2)
        os.killpg(process.pid, signal.SIGINT)
        wait_for_line(process, "finishing")
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
        release.set()


def test_a_wrong_key_is_one_line_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "sk-proj-anotherOne9876543210zyxwvut"
    monkeypatch.setenv("OPENAI_API_KEY", wrong)
    with FakeOpenAI(good) as server:
        result = generate(*words(server, tmp_path / "set", "-n", 2))
    assert result.exit_code == 1
    first, second = result.stderr.splitlines()[-2:]  # what goes slowly on a busy host may be told before
    assert first.startswith("fdbcore dataset generate: openai:writer: ")
    assert "does not take the key in OPENAI_API_KEY" in first
    assert second.endswith(": once this is mended, run the same command again to continue")
    shown = result.output + everything_in(tmp_path)
    assert not any(wrong[start : start + 6] in shown for start in range(len(wrong) - 5))


def test_a_set_without_a_record_names_no_file(tmp_path: Path) -> None:
    with FakeOpenAI(lambda _: Refuses("refusal")) as server:
        result = generate(*words(server, tmp_path / "set", "-n", 1))
    assert (result.exit_code, "0 records, 1 dropped" in result.stdout) == (1, True)
    assert "records.jsonl" not in result.stdout


def test_a_missing_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with FakeOpenAI(good) as server:
        result = generate(*words(server, tmp_path / "set", "-n", 2))
    assert result.exit_code == 2
    assert "expected a key in OPENAI_API_KEY" in result.stderr
    assert not (tmp_path / "set").exists()


def test_the_key_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={FakeOpenAI.KEY}\n")
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    with FakeOpenAI(good) as server:
        command = [sys.executable, "-m", "fdbcore.cli", *words(server, Path("set"), "-n", 1)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0
    assert done.stderr.startswith("set-timer-001: 1 of 1: 1 record, 0 dropped")
    assert FakeOpenAI.KEY not in done.stdout + done.stderr + everything_in(tmp_path / "set")


def test_what_is_left_is_named_and_is_no_success(tmp_path: Path) -> None:
    with FakeOpenAI(
        lambda asked: Fails(503, "Busy.", retry_after_s=0.01) if asked.seed == 1 else good(asked)
    ) as server:
        result = generate(*words(server, tmp_path / "set", "-n", 3, "--jobs", 1))
    assert result.exit_code == 1
    assert "Busy." in result.stderr
    assert "2 records, 0 dropped, 1 left" in result.stdout


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    with FakeOpenAI(good) as server:
        result = generate(*words(server, tmp_path / "set", "-n", 1, "--quiet"))
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--price", "3"), "--price 3: expected IN,OUT"),
        (("--price", "nan,1"), "--price nan,1: expected IN,OUT"),
        (("--prompts", "nowhere"), "--prompts nowhere: expected a folder"),
        (("--topics", "nowhere"), "nowhere: expected a file of topics"),
        (("--locale", "fr-FR", "--topics", __file__), "locale fr-FR"),
        (("--model", "oracle:x"), "expected one of gemini, local, openai"),
        (("--model", "openai:"), "no name"),
        (("--model", "openai:x?base_url=ftp://x"), "expected http"),
        (("--model", "openai:x?rate=3"), "expected settings of base_url, key_variable, got 'rate'"),
    ],
)
def test_what_is_wrongly_asked_is_told_before_anything_is_done(
    tmp_path: Path, more: tuple[str, ...], told: str
) -> None:
    with FakeOpenAI(good) as server:
        result = generate(*words(server, tmp_path / "set", "-n", 1, *more))
        assert server.asked == []
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert not (tmp_path / "set").exists()


def test_another_seed_is_refused(tmp_path: Path) -> None:
    with FakeOpenAI(good) as server:
        generate(*words(server, tmp_path / "set", "-n", 1))
        result = generate(*words(server, tmp_path / "set", "-n", 1, "--seed", 5))
        assert len(server.asked) == 1
    assert result.exit_code == 2
    assert "seed 0 there, 5 here" in " ".join(result.stderr.split())
