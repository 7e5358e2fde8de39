"""The dialogue-act benchmark with models of one's own servers, which each job of a cluster gives another place."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked, Fails
from fakes.own_server import LLAMA_CPP, OLLAMA, VLLM, OwnServer
from fakes.writers import good, steps
from helpers.commands import done
from helpers.talker import TALKER
from helpers.terminal import on_terminal, plain

pytestmark = [NEEDS_OPENAI]


def answer(asked: Asked) -> str:
    """As models write that think aloud and like fences."""
    if asked.wav is not None:
        return "<think>A request.</think>はい、そうしました。"
    text = good(asked) if asked.system else json.dumps(steps())
    return f"<think>JSON is wanted.</think>\n```json\n{text}\n```"


def test_generating_running_and_scoring_go_on_at_another_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    with OwnServer(VLLM, answer) as vllm, OwnServer(OLLAMA, answer) as ollama, OwnServer(LLAMA_CPP, answer) as llama:
        places = [vllm, ollama, llama]
        for n, server in enumerate(places, 1):
            made = ["--model", server.address_of("openai:qwen3"), "-n", n, "--jobs", 1, "--out", tmp_path / "s"]
            assert f"{n} record" in done("dataset", "generate", *made).output
        assert [len(server.asked) for server in places] == [1, 1, 1]
        done("dataset", "speak", tmp_path / "s", "--tts", f"exec:{TALKER}")
        for server in (vllm, ollama):
            run(server, tmp_path)
        assert [texts(server) for server in places] == [3, 0, 0]
        done("score", "--suite", "dialogue-acts", tmp_path / "run", "--out", tmp_path / "out",
             "--annotator", llama.address_of("openai:qwen3"))  # fmt: skip
    lines = (tmp_path / "out" / "annotations.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line) for line in lines]
    assert {reply["text"] for reply in replies if reply["system"] == "o"} == {"はい、そうしました。"}
    assert [len(reply["annotations"]) for reply in replies] == [1] * 6
    assert {asked.key for server in places for asked in server.asked} == {"none"}


def run(server: OwnServer, folder: Path) -> None:
    given: Sequence[object] = ["--data", folder / "s", "--system", f"o={server.address_of('openai-chat:qwen3-omni')}"]
    done("run", "--suite", "dialogue-acts", *given, "--clock", "virtual", "--vad", "energy", "--seed", 1,
         "--out", folder / "run", "--quiet")  # fmt: skip


def texts(server: OwnServer) -> int:
    return sum(asked.wav is not None for asked in server.asked)


class Busy:
    """Refuses the first of each kind of request, and asks for a second of patience."""

    def __init__(self) -> None:
        self.kinds: set[tuple[bool, bool]] = set()

    def __call__(self, asked: Asked) -> str | Fails:
        kind = (asked.wav is not None, bool(asked.system))
        if kind in self.kinds:
            return answer(asked)
        self.kinds.add(kind)
        return Fails(429, "Slow down, please.", retry_after_s=1.0)


def test_a_wait_for_a_busy_server_is_shown_while_it_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model that writes, of the system that replies (in a process of its own), and of the annotator."""
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    with OwnServer(VLLM, Busy()) as server:
        model, system = server.address_of("openai:qwen3"), server.address_of("openai-chat:qwen3-omni")
        made = ["dataset", "generate", "--model", model, "-n", 1, "--out", tmp_path / "s"]
        held = ["run", "--suite", "dialogue-acts", "--data", tmp_path / "s", "--system", f"o={system}", "--vad",
                "energy", "--out", tmp_path / "run"]  # fmt: skip
        judged = ["score", "--suite", "dialogue-acts", tmp_path / "run", "--annotator", model, "--out", tmp_path / "o"]
        for command, name in ((made, "openai:qwen3"), (held, "openai:qwen3-omni"), (judged, "openai:qwen3")):
            _, screen = on_terminal("-m", "fdbcore.cli", *command)
            assert re.search(rf"{name}\b.*: its server is busy \(429\), waiting 1 s", plain(screen))
            if command is made:
                done("dataset", "speak", tmp_path / "s", "--tts", f"exec:{TALKER}")
