"""The page of a live call: what was said, how its systems were set, and the stages in the agent's log."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fakes.browser import BROWSER, dump_dom, opened_page
from fakes.recordings import SAMPLE, drawn_recording, sample_recording
from helpers.commands import done
from helpers.documents import document_of
from helpers.schema import validator

from fdbcore.measures.reading import Reading
from fdbcore.recording.kept_transcripts import Transcript, keep_transcript
from fdbcore.report.call.page import page, write_report
from fdbcore.runs.amend import keep_log
from fdbcore.sources.agent_logs import LogFile
from fdbcore.types import Side
from fdbcore.types.words import TimedWord

INSTRUCTIONS = "You are a baker.\nSell bread & be brief."
PARTY = {
    "kind": "openai-realtime",
    "name": "openai-realtime:gpt-realtime-2.1",
    "server": "https://api.openai.com/v1",
    "asked": {"instructions": INSTRUCTIONS, "audio": {"output": {"voice": "marin", "speed": 1.2}}},
    "session": {
        "id": "sess_1",
        "instructions": INSTRUCTIONS,
        "truncation": "auto",
        "prompt": None,
        "audio": {"output": {"voice": "alloy", "speed": 1.2}},
    },
    "differs": [{"setting": "audio.output.voice", "asked": "marin", "confirmed": "alloy"}],
}
META: dict[str, Any] = {
    "created": "2026-11-23T07:00:00Z",
    "outcome": {"kind": "done", "side": None, "reason": None},
    "parties": {"A": {"kind": "clip", "path": "a.wav"}, "B": PARTY},
    "sent_to": {
        "B": [{"takes": "audio", "host": "api.openai.com", "vendor": "openai-realtime", "model": "gpt-realtime"}]
    },
}
WORDS: list[dict[str, Any]] = [
    {"tick": 260, "side": "B", "kind": "transcript", "of": "partner", "text": "<b>Bread</b>, please."},
    {"tick": 300, "side": "B", "kind": "transcript", "of": "self", "text": "How many loaves?", "item": "x"},
    {"tick": 420, "side": "B", "kind": "interrupted", "item": "x", "said_ms": 2000, "heard_ms": 800},
]


def told(recording: Reading, *events: dict[str, Any]) -> Reading:
    with open(recording.path / "events.jsonl", "a") as lines:
        lines.writelines(json.dumps(event) + "\n" for event in events)
    return Reading(recording.path)


@pytest.fixture
def call(tmp_path: Path) -> Reading:
    return told(drawn_recording(tmp_path / "run" / "call", "A 0-2.5 5-6 | B 3.4-4.2", **META), *WORDS)


def text_of(html: str) -> str:
    """The text of a page, without its scripts, in single spaces."""
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_words_of_both_sides_are_in_the_document_and_on_the_page(call: Reading) -> None:
    document = document_of(call)
    validator("replay").validate(json.loads(json.dumps(document)))
    assert [(line["side"], line["start_tick"], line.get("cut")) for line in document["held"]["transcript"]] == [
        ("A", 0, None),
        ("B", 300, {"heard_ms": 800, "said_ms": 2000}),
    ]
    text = text_of(page(call, document))
    assert "0:00 A &lt;b&gt;Bread&lt;/b&gt;, please. as B heard it" in text
    assert "B How many loaves? cut short: 0.80 s heard of the 2.00 s that had come" in text


def transcribed(call: Reading, by: str, text: str, side: Side = "B") -> None:
    keep_transcript(call.path, Transcript(side, (TimedWord(text, 3500, 4100),), by, {}, "en", "0"), {})


def lines_of(call: Reading) -> list[tuple[str, str]]:
    """The class and the text of each line of the dialogue."""
    listed = page(call, document_of(call)).partition('<ol class="transcript')[2].partition("</ol>")[0]
    found = re.findall(r"<li(?: class=\"(\w+)\")?>(.*?)</li>", listed)
    return [(css, text_of(html).strip()) for css, html in found]


def test_of_words_that_are_known_in_several_ways_one_is_shown(call: Reading) -> None:
    assert [css for css, _ in lines_of(call)] == ["", ""]
    transcribed(call, "self-reported", "How many loaves?")
    assert len(lines_of(call)) == 2, "what a transcript takes from the party's own words stands there already"
    transcribed(call, "whisper:base", "Any loafs?")
    transcribed(call, "whisper:base", "Bread please", "A")
    shown = {re.sub(r"^\S+ ", "", text): css for css, text in lines_of(call)}
    assert shown == {
        "A Bread please as whisper:base heard it": "",
        "A &lt;b&gt;Bread&lt;/b&gt;, please. as B heard it": "other",
        "B How many loaves? cut short: 0.80 s heard of the 2.00 s that had come": "",
        "B Any loafs? as whisper:base heard it": "other",
    }


def test_the_other_words_are_shown_on_request(tmp_path: Path) -> None:
    line = {"tick": 3000, "side": "B", "kind": "transcript", "of": "self", "text": "Hi.", "start_ms": 20_000}
    recording = told(sample_recording(tmp_path / "run" / "sample", **META), line)
    transcribed(recording, "whisper:base", "High.")
    path = write_report(recording, document_of(recording))
    with opened_page() as (shown, complaints):
        shown.goto(path.as_uri())
        shown.wait_for_selector("html[data-drawn]")
        other = shown.get_by_text("High.")
        assert not other.is_visible()
        shown.get_by_label("also: B as whisper:base heard it").press("Space")
        assert other.is_visible()
        assert not complaints


def test_a_page_without_words_has_none_of_them(call: Reading) -> None:
    run = call.path.parent
    for asked in (["report", str(run)], ["report", str(run), "--call", "call"]):
        done(*asked)
        html = (call.path / "report.html").read_text()
        assert "How many loaves?" in html
        done(*asked, "--no-words")
        html = (call.path / "report.html").read_text()
        assert "What was said" not in html
        assert "loaves" not in html


def test_a_click_on_a_line_plays_from_there(tmp_path: Path) -> None:
    line = {"tick": 3000, "side": "B", "kind": "transcript", "of": "self", "text": "Hi.", "start_ms": 20_000}
    recording = told(sample_recording(tmp_path / "run" / "sample", **META), line)
    path = write_report(recording, document_of(recording))
    with opened_page() as (shown, complaints):
        shown.goto(path.as_uri())
        shown.wait_for_selector("html[data-drawn]")
        shown.click("text=Hi.")
        while (
            at_s := shown.evaluate("document.getElementById('audio').currentTime")
        ) < 19:  # the page allows no `eval`
            shown.wait_for_timeout(20)
        assert at_s < 20
        assert shown.inner_text("#detail").startswith("0:20.00")
        assert complaints == []


def test_what_was_asked_for_stands_beside_what_was_confirmed(call: Reading) -> None:
    html = page(call, document_of(call))
    section = html[html.index('id="settings-title"') :]
    text = text_of(section[: section.index("</section>")])
    assert "audio.output.voice marin alloy not as asked for" in text
    assert "audio.output.speed 1.2 1.2" in text
    assert "What else the server chose setting confirmed truncation auto" in text
    assert "You are a baker. Sell bread &amp; be brief." in text
    assert "sess_1" not in text
    assert "prompt" not in text
    assert re.search(r"audio of side A to OpenAI \(api.openai.com\): gpt-realtime, ends in \d+ days", text)


def test_recorded_files_have_no_settings_of_a_system(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 | B 3-4")
    assert "settings-title" not in page(recording, document_of(recording))


BAR = re.compile(r'<path d="M([-\d.]+),([\d.]+)V[\d.]+H([-\d.]+)V[^>]*fill-opacity: ([\d.]+)')
STAGES_MS = (1220, 1600, 600, 580, 0)
"""Of the sample's slowest answer: 30, 40, 15 and 15 % of 4 s, with the 20 ms before B is heard (its README)."""


@pytest.fixture
def recording(tmp_path: Path) -> Reading:
    reading = sample_recording(tmp_path / "call")
    assert keep_log(reading, LogFile(SAMPLE / "agent.jsonl"))["refused"] is None
    return reading


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_draws_the_stages_of_an_answer_where_they_are(recording: Reading, tmp_path: Path) -> None:
    path = write_report(recording, document_of(recording))
    drawn = dump_dom(f"{path.as_uri()}#t=36", tmp_path / "profile")
    bars = [(float(x0), float(y), float(x1), float(opacity)) for x0, y, x1, opacity in BAR.findall(drawn)]
    faint = [bar for bar in bars if bar[3] < 1]
    lengths_px = [x1 - x0 for x0, y, x1, _ in faint if y == faint[0][1]]
    longest = lengths_px.index(max(lengths_px))
    slow_px = lengths_px[longest - 1 : longest + 3]
    assert slow_px == pytest.approx([sum(slow_px) * ms / sum(STAGES_MS) for ms in STAGES_MS[:4]], rel=0.02)
    assert [opacity for *_, opacity in faint][longest - 1 : longest + 3] == pytest.approx([0.2, 0.4, 0.6, 0.8], abs=0.1)


def test_the_table_has_each_answer(recording: Reading) -> None:
    text = " ".join(re.sub(r"<[^>]+>", " ", page(recording, document_of(recording))).split())
    assert " ".join(["0:35", "4,000 ms", *(f"{ms:,} ms" for ms in STAGES_MS)]) in text
