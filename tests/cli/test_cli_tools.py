"""`fdbcore run --tools` as a user meets it: a system over a real socket, its recording, its replay and its page."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from fakes.browser import BROWSER, dump_dom
from fakes.pcm_server import Call, PcmServer
from fakes.run_parties import NOISE
from fakes.tool_caller import ToolCaller, calls
from fakes.worlds import install
from helpers.commands import command, printed
from helpers.schema import validator

from fdbcore.audio.wav import wav_bytes
from fdbcore.recording.files import AUDIO, EVENTS, META, REPORT
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import RUN
from fdbcore.types import SAMPLE_RATE_HZ

TOOLS = '''
"""What a shop can do."""


def find(text: str) -> dict:
    """Find an article."""
    return {"articles": [{"id": f"{text}-1", "price": 2.5}]}


def order(article: str, count: int = 1) -> str:
    """Order an article."""
    return f"{count} of {article}"
'''
QUICK = ("--vad", "energy", "--clock", "virtual", "--max-s", "1.5")
SECRET = "hush-hush-hush"


def run(*arguments: object, code: int | None = None) -> Result:
    return command("run", *QUICK, *arguments, code=code)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)
    return path


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "users"
    folder.mkdir()
    pcm = np.tile(NOISE, 60) * np.repeat(np.arange(60) % 30 >= 10, len(NOISE))
    (folder / "one.wav").write_bytes(wav_bytes(pcm.astype(np.int16), SAMPLE_RATE_HZ))
    return folder


def shopper() -> ToolCaller:
    """It finds an article, orders what it has found, and makes two mistakes."""
    return ToolCaller(
        {
            11: [calls("c1", "find", text="tea"), calls("c2", "find", txt=SECRET)],
            16: [calls("c3", "steal", article=SECRET)],
        },
        {"c1": lambda result: calls("c4", "order", article=result["articles"][0]["id"], count=3)},
    )


def test_a_run_with_tools_from_the_socket_to_the_page(
    tmp_path: Path, tools: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    with PcmServer(shopper()) as server:
        system = f"shopper={server.address}"
        given = ("--system", system, "--clips", user, "--tools", f"{tools}?latency=normal", "--seed", 7)
        runs = [run(*given, "--out", tmp_path / name) for name in ("FIRST", "SECOND")]
    assert [each.exit_code for each in runs] == [0, 0], runs[0].output
    assert "tools               4 calls: 2 ok, 1 malformed, 1 unknown" in runs[0].stdout
    first, second = (Recording(tmp_path / name / "one") for name in ("FIRST", "SECOND"))
    for name in (EVENTS, AUDIO):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()
    drawn = [event["latency_ms"] for event in first.events if event.get("stage") == "complete"]
    assert len(drawn) == 4
    assert all(200 <= each <= 800 for each in drawn)
    text = "".join(path.read_text(errors="replace") for path in tmp_path.joinpath("FIRST").rglob("*") if path.is_file())
    assert SECRET not in text

    document = printed("replay", first.path, "--out", tmp_path / "REPLAYED")
    validator("replay").validate(document)
    found = document["held"]["tools"]
    assert [(each["name"], each["status"]) for each in found["calls"]] == [
        ("find", "ok"),
        ("find", "malformed"),
        ("steal", "unknown"),
        ("order", "ok"),
    ]
    assert found["calls"][3]["arguments"] == {"article": "tea-1", "count": 3}
    assert found["calls"][3]["result"] == "3 of tea-1"
    assert found["calls"][2]["arguments"] == {"article": "***"}
    assert found["described"]["latency"] == "normal"

    def of_tools(recording: Recording) -> list[object]:
        return [event for event in recording.events if event["kind"].startswith("tool_")]

    assert of_tools(Recording(tmp_path / "REPLAYED" / "one")) == of_tools(first)
    page = (first.path / REPORT).read_text()
    assert "4 calls: 2 ok, 1 malformed, 1 unknown." in page
    assert "3 of tea-1" in page
    if BROWSER is not None:
        dom = dump_dom((first.path / REPORT).as_uri(), tmp_path / "profile")
        assert 'data-drawn="yes"' in dom
        assert '<li id="legend-tools">' in dom


def test_a_run_goes_on_with_the_same_tools_alone(tmp_path: Path, tools: Path, user: Path) -> None:
    out = tmp_path / "RUN"
    with PcmServer(shopper()) as server:
        given = ("--system", f"shopper={server.address}", "--clips", user, "--seed", 7, "--quiet", "--out", out)
        assert run(*given, "--tools", tools).exit_code == 0
        assert run(*given, "--tools", tools).exit_code == 0
        for others in ((), ("--tools", f"{tools}?latency=slow")):
            assert "holds another run (tools" in run(*given, *others, code=2).stderr
        tools.write_text(TOOLS.replace("2.5", "2.6"))
        refused = run(*given, "--tools", tools)
    assert refused.exit_code == 2
    assert "holds another run (tools sha256: " in refused.stderr
    assert json.loads((out / RUN).read_text())["plan"]["tools"]["kind"] == "file"


def test_tools_that_change_while_a_run_goes_on_end_it(tmp_path: Path, tools: Path, user: Path) -> None:
    class Meddler(ToolCaller):
        async def __call__(self, call: Call) -> None:
            await asyncio.to_thread(tools.write_text, TOOLS + "\n")
            await super().__call__(call)

    with PcmServer(Meddler({})) as server:
        given = ("--system", f"shopper={server.address}", "--clips", user, "--trials", 2, "--tools", tools)
        ended = run(*given, "--quiet", "--out", tmp_path / "RUN")
    assert ended.exit_code == 1
    assert "tools: expected those that the run began with, but they have changed meanwhile" in ended.stderr


@pytest.mark.parametrize(
    ("system", "tools_text", "message"),
    [
        ("echo", "{tools}", "echo: it cannot call tools, but the run has tools"),
        ("pcm_ws://127.0.0.1:1/x", "{tools}s", "tools.pys: expected a Python or a JSON file, got: No such file"),
        (
            "pcm_ws://127.0.0.1:1/x",
            "{tools}?latency=now",
            "Error: --tools: latency: expected instant, fast, normal, slow",
        ),
        ("pcm_ws://127.0.0.1:1/x", "https://example.org/tools.py", "expected a path, got the address"),
    ],
)
def test_tools_that_cannot_be_used_are_one_clear_line(
    tmp_path: Path, tools: Path, user: Path, system: str, tools_text: str, message: str
) -> None:
    given = ("--system", system, "--clips", user, "--tools", tools_text.format(tools=tools))
    assert message in run(*given, "--out", tmp_path / "RUN", code=2).stderr
    assert not (tmp_path / "RUN").exists()


def test_a_suite_brings_a_world_of_its_own(
    tmp_path: Path, tools: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    system = ToolCaller({11: [calls("c1", "add", item="tea"), calls("c2", "basket")]})
    with PcmServer(system) as server:
        given = ("--system", f"shopper={server.address}", "--suite", "shopping", "--data", user, "--quiet")
        ran = run(*given, "--out", tmp_path / "RUN")
        refused = run(*given, "--tools", tools, "--out", tmp_path / "OTHER")
    assert ran.exit_code == 0, ran.output
    assert [each["name"] for each in system.offered][:2] == ["add", "basket"]
    meta = json.loads((tmp_path / "RUN" / "one" / META).read_text())
    assert meta["tools"]["state"] == {"tea": 1}
    ticks = [event["tick"] for event in Recording(tmp_path / "RUN" / "one").events if event["kind"] == "tool_result"]
    assert ticks == [16, 31]
    assert refused.exit_code == 2
    assert "tools: expected none beside a benchmark that has its own" in refused.stderr
