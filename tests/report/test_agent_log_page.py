"""The agent's log on the page of its call: each answer with its stages, in the picture and in the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.browser import BROWSER, dump_dom
from fakes.recordings import SAMPLE, sample_recording
from helpers.documents import document_of

from fdbcore.measures.reading import Reading
from fdbcore.report.call.page import page, write_report
from fdbcore.runs.amend import keep_log
from fdbcore.sources.agent_logs import LogFile

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
