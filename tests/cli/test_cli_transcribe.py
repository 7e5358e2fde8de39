"""`fdbcore transcribe`, as a user calls it: what it prints, what it stores, and what the pages show."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fakes.fake_transcriptions import KEY, FakeTranscriptions, Word, spoken
from helpers.commands import command, done
from helpers.schema import validator
from helpers.voices import write

from fdbcore.recording.kept_transcripts import transcripts

A = [Word("one", 1.0, 1.4), Word("two", 1.5, 1.9), Word("five", 6.0, 6.5)]
B = [Word("three", 3.0, 3.5), Word("four", 3.6, 4.0)]


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTranscriptions]:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeTranscriptions() as running:
        yield running


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name in ("x", "y"):
        write(tmp_path / "calls" / f"{name}.wav", np.stack([spoken(A, 9.0), spoken(B, 9.0)], axis=1))
    path = tmp_path / "RUN"
    done("replay", tmp_path / "calls", "--vad", "energy", "--jobs", 1, "--out", path, "--quiet")
    return path


def test_both_sides_of_all_calls_are_written_once(run: Path, listener: FakeTranscriptions) -> None:
    listener.invents = [Word("zero", 0.0, 0.01)]
    address = listener.address_of("whisper-1")
    first = command("transcribe", run, "--transcriber", address, "--language", "en")
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.splitlines() == [
        "x: A 4 words, 1 of them where the side was silent; B 3 words, 1 of them where the side was silent",
        "y: A 4 words, 1 of them where the side was silent; B 3 words, 1 of them where the side was silent",
        "2 calls: 14 words, 4 of them where the side was silent",
    ]
    asked = len(listener.asked)
    again = command("transcribe", run / "x", run / "y", "--transcriber", address, "--language", "en")
    assert again.stdout.count("(transcribed before)") == 4
    assert len(listener.asked) == asked
    assert command("transcribe", run, "--transcriber", address, "--language", "en", "--quiet").output == ""


def test_the_page_has_a_line_for_each_stretch_of_speech(run: Path, listener: FakeTranscriptions) -> None:
    assert "What was said" not in (run / "x" / "report.html").read_text()
    listener.invents = [Word("zero", 0.0, 0.01)]
    command("transcribe", run / "x", "--transcriber", listener.address_of("whisper-1"))
    page = (run / "x" / "report.html").read_text()
    assert "What was said" in page
    assert "one two<" in page
    assert page.count("as openai:whisper-1 heard it") == 5
    assert page.count("A was silent here: most likely nobody said this") == 1
    assert "What was said" not in (run / "y" / "report.html").read_text()
    command("report", run, "--call", "x", "--no-words")
    page = (run / "x" / "report.html").read_text()
    assert "What was said" not in page
    assert "one two" not in page


def test_a_failure_is_one_line_and_the_other_calls_go_on(
    run: Path, listener: FakeTranscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = listener.address_of("whisper-1")
    (run / "x" / "meta.json").write_text("{")
    failed = command("transcribe", run, "--transcriber", address, code=1)
    (line,) = failed.stderr.splitlines()
    assert line.startswith(f"fdbcore transcribe: x: {run}/x/meta.json: expected JSON")
    assert failed.stdout.splitlines() == ["y: A 3 words; B 2 words"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-9876543210")
    refused = command("transcribe", run / "y", "--transcriber", address, "--language", "de")
    assert (refused.exit_code, refused.stdout) == (1, "")
    (line,) = refused.stderr.splitlines()
    assert line.startswith("fdbcore transcribe: y: openai:whisper-1: http://127.0.0.1")
    assert "does not take the key in OPENAI_API_KEY" in line
    assert "9876543210" not in line


def test_a_transcriber_that_cannot_do_it_is_wrong_usage(
    run: Path, listener: FakeTranscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*arguments: object) -> str:
        result = command("transcribe", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        return result.stderr.splitlines()[-1]

    without = told(run, "--transcriber", listener.address_of("gpt-4o-transcribe"))
    assert without.startswith("Error: openai:gpt-4o-transcribe gives no word times: response_format 'verbose_json' is")
    assert told(run, "--transcriber", "moonshine") == (
        "Error: --transcriber: expected one of known-text, nemo, openai, self-reported, whisper, words, got 'moonshine'"
    )
    assert told(run, "--transcriber", "whisper:huge").startswith(
        "Error: --transcriber: whisper: expected the size base"
    )
    assert "expected a folder: there is none" in told(run, "--transcriber", "words:nowhere")
    assert "no such folder" in told(run / "nothing", "--transcriber", listener.address_of("whisper-1"))
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "expected a key in OPENAI_API_KEY" in told(run, "--transcriber", listener.address_of("whisper-1"))


def chunks(words: list[Word], *more: object) -> str:
    told = [{"text": word.text, "timestamp": [word.start_s, word.end_s]} for word in words]
    return json.dumps({"text": " ".join(word.text for word in words), "chunks": [*told, *more]})


def test_the_words_of_full_duplex_bench_v2(tmp_path: Path) -> None:
    """A.wav and B.wav with A.json and B.json beside them; B's track begins 500 ms after A's."""
    folder = tmp_path / "Daily.ordering.001"
    for side, words in (("A", A), ("B", B)):
        write(folder / f"{side}.wav", spoken(words, 9.0))
    (folder / "A.json").write_text(chunks([*A, Word("ghost", 8.0, 8.2)]))
    (folder / "B.json").write_text(chunks(B, {"text": "cut", "timestamp": [5.0, None]}))
    run = tmp_path / "RUN"
    sides = ["-a", folder / "A.wav", "-b", folder / "B.wav", "--offset-ms", 500]
    done("replay", *sides, "--vad", "energy", "--out", run, "--quiet")
    result = done("transcribe", run, "--transcriber", "words")
    name, _, told = result.stdout.strip().partition(": ")
    assert told == "A 4 words, 1 of them where the side was silent; B 2 words, 1 more without times"
    (b,) = transcripts(run / name, "B")
    assert [(word.text, word.start_ms, word.end_ms) for word in b.words] == [
        ("three", 3500, 4000),
        ("four", 4100, 4500),
    ]
    assert (b.untimed, Path(b.described["file"]).name) == (1, "B.json")
    validator("words").validate(json.loads((run / name / "derived/words_B.json").read_text()))

    other = tmp_path / "words" / name
    other.mkdir(parents=True)
    (other / "A.json").write_text(chunks(A[:1]))
    missing = command("transcribe", run, "--transcriber", f"words:{other.parent}", code=1)
    assert missing.stderr.strip().endswith(f"expected the words of side B in {other}/B.json, found no such file")
    (other / "B.json").write_text(json.dumps({"words": []}))
    assert (
        "expected words as chunks with text and timestamp"
        in command("transcribe", run, "--transcriber", f"words:{other.parent}").stderr
    )
    (other / "B.json").write_text(chunks(B[:1]))
    assert command("transcribe", run, "--transcriber", f"words:{other.parent}").stdout.endswith(
        "A 1 word (transcribed before); B 1 word\n"
    )


def test_what_is_left_is_told_with_its_price(
    run: Path, listener: FakeTranscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each side the pieces are sent, with half a second of silence before and after its speech."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    told = command("transcribe", run, "--transcriber", "openai:whisper-1", "--dry-run").stdout.strip()
    left, _, price = told.partition(", ")
    assert left == "2 of 2 calls left: 0:17 of audio"  # A 1 to 6.5 s, B 3 to 4 s, twice
    usd = 0.006 / 60 * 2 * ((6.5 - 1.0 + 1.0) + (4.0 - 3.0 + 1.0))
    assert price.startswith(f"{usd:.4f} USD at most at list prices of 20")
    assert listener.asked == []
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    address = listener.address_of("whisper-1")
    command("transcribe", run / "x", "--transcriber", address)
    told = command("transcribe", run, "--transcriber", address, "--dry-run").stdout
    assert told.startswith("1 of 2 calls left: 0:09 of audio, 0.00 USD")  # a server on this machine


def test_no_call_begins_beyond_the_limit(
    run: Path, listener: FakeTranscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = listener.address_of("whisper-1")
    monkeypatch.setattr("fdbcore.runs.estimates.expected_usd", lambda services, seconds: seconds / 100)
    stopped = command("transcribe", run, "--transcriber", address, "--max-cost", "0.1")
    assert (stopped.exit_code, stopped.stdout) == (1, "x: A 3 words; B 2 words\n")
    left = r"fdbcore transcribe: 1 call left: 0\.085\d USD spent of --max-cost 0\.1\n"
    assert re.fullmatch(left, stopped.stderr)
    asked = len(listener.asked)
    done("transcribe", run, "--transcriber", address, "--max-cost", "0.1")
    assert len(listener.asked) == 2 * asked


def test_a_limit_needs_a_price(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OTHER_KEY", KEY)
    address = "openai:whisper-9?base_url=https://speech.example/v1&key_variable=OTHER_KEY"
    refused = command("transcribe", run, "--transcriber", address, "--max-cost", 1, code=2)
    assert "--max-cost: expected a transcriber whose price is known, got speech.example" in refused.stderr


def test_a_limit_takes_a_price_that_the_user_states(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OTHER_KEY", KEY)
    address = "openai:whisper-9?base_url=https://speech.example/v1&key_variable=OTHER_KEY"
    prices = tmp_path / "mine.toml"
    prices.write_text('[[model]]\nvendor = "speech.example"\nkind = "transcriber"\nprice = {minutes = 60}\n')
    told = command("transcribe", run, "--transcriber", address, "--price", prices, "--max-cost", 1, "--dry-run")
    assert told.stdout == "2 of 2 calls left: 0:17 of audio, 17.08 USD at most\n"


def test_a_call_without_a_file_for_each_side_has_no_words_beside_it(run: Path) -> None:
    result = command("transcribe", run / "x", "--transcriber", "words", code=1)
    assert result.stderr.strip().endswith("give words:FOLDER, with FOLDER/x/A.json")


def test_words_change_no_other_number_of_a_call(run: Path, listener: FakeTranscriptions) -> None:
    def scores() -> tuple[str, str]:
        command("score", run, "--quiet")
        return (run / "x" / "derived/scores.json").read_text(), (run / "x" / "derived/quantities.json").read_text()

    before = scores()
    command("transcribe", run, "--transcriber", listener.address_of("whisper-1"))
    assert scores() == before
