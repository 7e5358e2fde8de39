"""Nothing that may be a secret is shown or written down."""

import base64
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Event
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from fakes.parties import Speaker
from helpers.documents import document_of
from helpers.patience import PATIENCE_S

from fdbcore.cli.main import main
from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.registry import endpoint
from fdbcore.report.call.page import write_report
from fdbcore.runs.plan import PlannedSystem
from fdbcore.runtime.redaction import clean, redacted, secret, without_secrets, without_values
from fdbcore.runtime.traces import without_traces
from fdbcore.session.converse import LiveSettings, converse

SECRET = "hush"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("moshi://localhost:8998", "moshi://localhost:8998"),
        ("pcm_ws://me:hush@h:1/x?token=hush&rate=hush#top", "pcm_ws://***@h:1/x?token=***&rate=hush#top"),
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
    converse(Speaker([True] * 20), endpoint(address), tmp_path / "call", settings, {}, Event())
    recording = Reading(tmp_path / "call")
    write_report(recording, document_of(recording))
    written = {path.name: path.read_bytes() for path in (tmp_path / "call").rglob("*") if path.is_file()}
    assert {"meta.json", "report.html"} < written.keys()
    assert [name for name, content in written.items() if SECRET.encode() in content] == []
    assert SECRET not in json.dumps(dict(endpoint(f"far:{address}").describe()))
    assert SECRET not in PlannedSystem.of(address).name


MARKER = 'mk-8f/3+k"9\\q=Z?7'
"""A secret that each coding writes in another way."""

FORMS = {
    "plain": MARKER,
    "json": json.dumps(MARKER)[1:-1],
    "url": quote(MARKER, safe=""),
    "path": quote(MARKER),
    "base64": base64.b64encode(MARKER.encode()).decode(),
    "base64 of a user's": base64.b64encode(f"me:{MARKER}".encode()).decode(),
    "base64 in the middle": base64.b64encode(f"ab{MARKER}cd".encode()).decode(),
    "url-safe base64": base64.urlsafe_b64encode(MARKER.encode()).decode(),
}


def holds(text: bytes) -> list[str]:
    """The forms of which the inner half stands in `text`; in base64 the ends hold bits of what is beside it."""
    return [name for name, form in FORMS.items() if form[len(form) // 4 : -len(form) // 4].encode() in text]


@pytest.fixture
def _marker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", MARKER)
    assert secret("SOME_VARIABLE") == MARKER


@pytest.mark.usefixtures("_marker")
@pytest.mark.parametrize("form", FORMS)
def test_a_known_secret_is_removed_however_it_is_written(form: str) -> None:
    shown = without_values(f"before {FORMS[form]} after")
    assert holds(shown.encode()) == []
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.usefixtures("_marker")
def test_numbers_are_never_touched_and_texts_at_any_depth_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_NUMBER", "12345678")
    assert secret("SOME_NUMBER") == "12345678"
    document = {"tick": 12345678, "more": [{"text": "at 12345678", MARKER: (1.5, MARKER, None, True)}]}
    assert clean(document) == {"tick": 12345678, "more": [{"text": "at ***", "***": [1.5, "***", None, True]}]}


def test_a_variable_that_holds_a_word_or_a_path_is_no_secret(tmp_path: Path) -> None:
    """Its name alone would make "recording" a secret, and with it the schema of every file."""
    given = {"SORT_KEY": "recording", "TLS_KEY": str(tmp_path), "BOT_KEY": "bot-key-1"}
    code = "from fdbcore.runtime.redaction import without_values; import sys; print(without_values(sys.argv[1]))"
    told = [sys.executable, "-c", code, f"a recording in {tmp_path} with bot-key-1"]
    done = subprocess.run(told, env=os.environ | given, capture_output=True, text=True, check=True)
    assert done.stdout == f"a recording in {tmp_path} with ***\n"


def test_a_secret_too_short_to_be_kept_out_of_texts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FDBCORE_TOKEN", "1234567")
    with pytest.raises(SettingsError, match="FDBCORE_TOKEN: expected a secret of at least 8 characters, got 7"):
        secret("FDBCORE_TOKEN")
    with pytest.raises(SettingsError, match="FDBCORE_TOKEN: expected a secret"):
        endpoint("webrtc:")  # before anything is begun
    monkeypatch.setenv("FDBCORE_TOKEN", " ")
    assert secret("FDBCORE_TOKEN") == ""


PRINTS = """
import os
import click
from fdbcore.runtime.redaction import write_no_secrets
write_no_secrets()
for err in (False, True):
    click.echo("a " + os.environ["BOT_API_KEY"] + " b", err=err)
print("c", os.environ["BOT_API_KEY"])
"""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_nothing_that_is_printed_holds_a_secret_in_any_encoding(encoding: str) -> None:
    """In ASCII click writes bytes, past the text stream, if it can."""
    environment = os.environ | {"BOT_API_KEY": "quite-a-secret", "PYTHONIOENCODING": encoding}
    ran = subprocess.run([sys.executable, "-c", PRINTS], env=environment, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("a *** b\nc ***\n", "a *** b\n")


def test_the_process_of_a_far_party_prints_no_secret() -> None:
    environment = os.environ | {"BOT_API_KEY": "quite-a-secret"}
    command = [sys.executable, "-m", "fdbcore.runs.far", "clip:quite-a-secret.wav", "whip://127.0.0.1:1/whip/b"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "found none at '***.wav'" in ran.stderr
    assert "quite-a-secret" not in ran.stdout + ran.stderr


def test_no_secret_is_in_what_scores_of_replies_leave_behind(tmp_path: Path) -> None:
    reply: dict[str, object] = {"id": "timer-02", "system": "bot", "text": "It is quite-a-secret."}
    reply |= {"annotations": [{"annotator": "me", "repeat": 1, "steps": [{"act": "Answer", "importance": 1.0}]}]}
    replies = tmp_path / "replies.jsonl"
    replies.write_text(json.dumps(reply) + "\n")
    command = [sys.executable, "-m", "fdbcore.cli", "score", "--suite", "dialogue-acts", str(replies)]
    environment = os.environ | {"BOT_API_KEY": "quite-a-secret"}
    subprocess.run([*command, "--out", str(tmp_path / "OUT")], env=environment, capture_output=True)
    written = {path.name: path.read_text() for path in (tmp_path / "OUT").iterdir()}
    assert {"scores.json", "report.html"} < written.keys()
    assert "It is ***." in written["scores.json"]
    assert [name for name, text in written.items() if "quite-a-secret" in text] == []


KEY = "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv"
HALF = KEY[:17]
SHOWN = {
    "half": HALF,
    "the last eight": KEY[-8:],
    "without three": f"{KEY[:12]}...{KEY[15:]}",
    "masked": f"{KEY[:3]}***{KEY[-2:]}",
    "capitals": KEY.upper(),
    "half in small letters": HALF.lower(),
    "hex": KEY.encode().hex(),
    "half in hex": KEY[10:24].encode().hex(":"),
    "backwards": KEY[::-1],
    "base64 of half": base64.b64encode(f"me:{HALF}".encode()).decode(),
    "entities": "".join(f"&#{ord(letter)};" for letter in HALF),
    "hex entities": "".join(f"&#x{ord(letter):x}" for letter in HALF),
    "URL": "".join(f"%{ord(letter):02X}" for letter in HALF),
    "JSON": "".join(f"\\u{ord(letter):04x}" for letter in HALF),
    "spaced": " ".join(KEY),
}


@pytest.mark.parametrize("form", SHOWN)
def test_a_server_shows_no_part_of_the_key_that_it_got(form: str) -> None:
    told = without_traces(f"bad key <{SHOWN[form]}> given", [KEY])
    assert set(told.removeprefix("bad key ").removesuffix(" given")) <= {*"… "}


def test_ordinary_texts_lose_no_word() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_cli_*.py"))
    text = text.replace("***", "")
    assert without_traces(text, [KEY[8:], "AIzaSyD3m0Qx8vR2kLpW7nTz", "7b2e19c04fd84a1e9c3a55d0e6f1a2b3"]) == text


LONG = """
from fdbcore.runtime.redaction import redacted
for unit in ("key", "?", "?a", "://", "key='", "Authorization: "):
    redacted("--" + unit * 200_000)
"""


def test_a_line_takes_a_time_in_proportion_to_its_length() -> None:
    """With the square of it, these would take an hour; they take a second."""
    subprocess.run([sys.executable, "-c", LONG], check=True, timeout=PATIENCE_S)


QUOTES = """
import json, os, sys, base64, urllib.parse
for n in range(60):
    sys.stdout.buffer.write(sys.stdin.buffer.read(960))
    sys.stdout.buffer.flush()
key = os.environ["BOT_API_KEY"]
for text in (key, json.dumps({"k": key}), urllib.parse.quote(key), base64.b64encode(f"me:{key}".encode()).decode()):
    print("refused:", text, file=sys.stderr)
print("the key is", key, file=sys.stderr)
sys.exit(3)
"""


def test_no_artefact_and_no_screen_of_a_run_holds_a_secret_that_its_system_quotes(tmp_path: Path) -> None:
    """A whole run: a command that fails with the key in each form, its tables and pages, and an export."""
    (tmp_path / "bot.py").write_text(QUOTES)
    run = ["run", "--a", "scripted:caller", "--system", f"bot=exec:{sys.executable} bot.py", "--vad", "energy"]
    commands = [
        [*run, "--max-s", "2", "--out", "RUN", "--json"],
        ["report", "RUN"],
        ["export", "RUN", "--format", "json", "--out", "OUT"],
        ["doctor", "exec:sh -c 'echo $BOT_API_KEY >&2; exit 3'"],
    ]
    environment = os.environ | {"BOT_API_KEY": MARKER}
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "fdbcore.cli", *command],
            cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert b"Traceback" not in done.stderr
        assert holds(done.stdout + done.stderr) == [], command
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"meta.json", "events.jsonl", "report.html", "calls.csv"} <= {path.name for path in files}
    quoted = b"".join(content for path, content in files.items() if path.name == "events.jsonl")
    assert quoted.count(b"refused: ") == 4
    assert quoted.count(b"***") >= 5
    assert [(path.name, found) for path, content in files.items() if (found := holds(content))] == []


def test_an_error_on_the_screen_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", MARKER)
    secret("SOME_VARIABLE")
    result = CliRunner().invoke(main, ["replay", f"/nowhere/{MARKER}.wav"])
    assert result.exit_code == 2
    assert "/nowhere/***.wav" in result.output
    assert holds(result.output.encode()) == []
