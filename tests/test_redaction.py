"""Nothing that may be a secret is shown or written down."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from threading import Event

import pytest
from fakes.parties import Speaker

from fdbcore.cases import System
from fdbcore.live import LiveSettings, converse
from fdbcore.redaction import redacted, without_secrets
from fdbcore.registry import endpoint
from fdbcore.report.html import write_report
from fdbcore.score import score

SECRET = "hush"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("moshi://localhost:8998", "moshi://localhost:8998"),
        ("pcm_ws://me:hush@h:1/x?token=hush&rate=hush#top", "pcm_ws://***@h:1/x?token=***&rate=***#top"),
        ("exec:bot --api-key hush --n 3", "exec:bot --api-key *** --n 3"),
        ("exec:bot --api-key=hush -p hush -n 3", "exec:bot --api-key=*** -p *** -n 3"),
        ("exec:bot --password 'hush hush' x", "exec:bot --password *** x"),
        ("exec:bot TOKEN=hush my_key=hush", "exec:bot TOKEN=*** my_key=***"),
        ("exec:curl -H 'Authorization: Bearer hush' x", "exec:curl -H 'Authorization: Bearer ***' x"),
        ("exec:bot https://u:hush@host/?key=hush", "exec:bot https://***@host/?key=***"),
        ("exec:bot --top-p 0.9 --port 80", "exec:bot --top-p 0.9 --port 80"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_the_words_of_a_command_one_by_one() -> None:
    words = ["sh", "-c", "bot --token hush https://u:hush@host/?key=hush", "-p", "hush", "--name", "x"]
    hidden = ["sh", "-c", "bot --token *** https://***@host/?key=***", "-p", "***", "--name", "x"]
    assert without_secrets(words) == hidden


ECHO = "import sys\nwhile frame := sys.stdin.buffer.read(960): sys.stdout.buffer.write(frame)\n"


def test_no_secret_of_a_command_is_in_what_a_call_leaves_behind(tmp_path: Path) -> None:
    quotes = "print('cannot reach', sys.argv[1], file=sys.stderr)"
    words = [sys.executable, "-c", f"{ECHO}{quotes}", "https://u:hush@host/?key=hush", "-p", SECRET]
    address = f"exec:{shlex.join(words)}"
    settings = LiveSettings(vad="energy", max_s=0.5, realtime=False)
    recording = converse(Speaker([True] * 20), endpoint(address), tmp_path / "call", settings, {}, Event())
    write_report(recording, score(recording))
    written = {path.name: path.read_bytes() for path in (tmp_path / "call").rglob("*") if path.is_file()}
    assert {"meta.json", "report.html"} < written.keys()
    assert [name for name, content in written.items() if SECRET.encode() in content] == []
    assert SECRET not in json.dumps(dict(endpoint(f"far:{address}").describe()))
    assert SECRET not in System.of(address).name
