"""The HTML report, read by a parser that knows only HTML, and once by a browser where one is installed."""

import base64
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote

import numpy as np
import pytest
from fakes.browser import BROWSER, dump_dom
from fakes.recordings import META, SAMPLE, drawn_recording, sample_recording
from helpers.documents import document_of

from fdbcore.analysis.score import score
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.reading import Reading
from fdbcore.report.call.page import page, write_report
from fdbcore.report.glossary import EVENTS, EXCLUSIONS, SETTINGS
from fdbcore.types import TurnKind, TurnSettings

HOSTILE: Final = '</script><script>alert("x")</script>&amp;<!--'


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, the text by id, and all visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.by_id: dict[str, str] = {}
        self.text = ""
        self._script: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._script = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is None:
            self.text += data
        else:
            self.by_id[self._script] = self.by_id.get(self._script, "") + data

    def attributes(self, tag: str, name: str) -> list[str]:
        return [value for found, attrs in self.elements if found == tag and (value := attrs.get(name)) is not None]


def read(recording: Reading) -> Page:
    return Page(page(recording, document_of(recording)))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    return sample_recording(tmp_path_factory.mktemp("run") / "sample")


def test_the_file_is_written_beside_the_recording(sample: Reading) -> None:
    path = write_report(sample, document_of(sample))
    assert path == sample.path / "report.html"
    assert path.read_text(encoding="utf-8") == page(sample, document_of(sample))


def test_nothing_is_fetched_but_the_audio(sample: Reading) -> None:
    found = read(sample)
    (policy,) = [attrs["content"] for tag, attrs in found.elements if tag == "meta" and "http-equiv" in attrs]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    for tag, attrs in found.elements:
        for name in ("src", "href"):
            target = attrs.get(name, "#")
            assert target is not None
            assert target.startswith(("#", "data:", "../pages/")) or tag == "audio", (tag, target)


def test_the_data_is_the_document_and_the_levels(sample: Reading) -> None:
    found = read(sample)
    assert json.loads(found.by_id["document"]) == json.loads(json.dumps(document_of(sample)))
    stored = np.frombuffer(base64.b64decode(found.by_id["peaks"]), dtype=np.uint8).reshape(2, -1)
    levels = (stored.T.astype(float) / 255) ** 2 * 32_768
    # half a step of 255 at the square root of the level
    tolerance = 32_768 * (np.sqrt(sample.peaks / 32_768) / 255 + 1 / 510**2)
    assert (np.abs(levels - sample.peaks) <= tolerance + 1e-6).all()


def test_texts_from_files_stay_texts(tmp_path: Path) -> None:
    source = {"files": [{"path": "x"}, {"path": HOSTILE, "sha256": HOSTILE}], "playable_in_browser": False}
    source["sides"] = {side: {"file": 1, "channel": "mono"} for side in "AB"}
    vad = {side: {"name": HOSTILE, HOSTILE: 1.5} for side in "AB"}
    settings = {**META["settings"], "vad": vad}
    recording = drawn_recording(
        tmp_path / "<b>bold",
        "A 0-2 |",
        source=source,
        settings=settings,
        parties={"A": {"kind": HOSTILE, "path": HOSTILE}},
    )
    plain = {
        "files": [{"path": "x"}, {"path": "y", "sha256": "0"}],
        "playable_in_browser": False,
        "sides": source["sides"],
    }
    harmless = drawn_recording(tmp_path / "harmless", "A 0-2 |", source=plain, parties={"A": {"kind": "replay"}})
    found = read(recording)
    tags = [tag for tag, _ in found.elements if tag not in ("dt", "dd", "code")]
    assert tags == [tag for tag, _ in read(harmless).elements if tag not in ("dt", "dd", "code")]
    assert "<b>bold" in found.text
    assert HOSTILE in found.text
    assert json.loads(found.by_id["document"])["recording"]["source"] == source


def test_the_audio_is_linked_by_a_relative_path(sample: Reading) -> None:
    (target,) = read(sample).attributes("audio", "src")
    assert target.startswith("../")
    assert os.path.samefile(sample.path / unquote(target), SAMPLE / "sample.flac")


def test_a_name_of_any_characters_is_a_path_and_nothing_else(tmp_path: Path) -> None:
    playable = tmp_path / "a:b #1?x=%20 ü.wav"
    source = {"files": [{"path": str(playable)}], "playable_in_browser": True}
    (target,) = read(drawn_recording(tmp_path / "call", "A 0-2 |", source=source)).attributes("audio", "src")
    assert not re.search(r"[:#? ]", target)
    assert unquote(target) == f"../{playable.name}"


def test_sides_that_were_exchanged_are_heard_on_the_other_ear(tmp_path: Path) -> None:
    sides = {"A": {"file": 0, "channel": "right"}, "B": {"file": 0, "channel": "left"}}
    for playable, ears in ((True, "A right, B left"), (False, "A left, B right")):
        source = {"files": [{"path": "call.wav"}], "sides": sides, "playable_in_browser": playable}
        found = read(drawn_recording(tmp_path / str(playable), "A 0-2 |", source=source))
        assert found.attributes("audio", "aria-label") == [f"The call: {ears}"]
        assert "A right · B left" in found.text


def test_audio_that_no_browser_plays_is_the_session_s_own(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 |")
    (target,) = read(recording).attributes("audio", "src")
    assert target == "session.wav"
    assert (recording.path / target).is_file()


@pytest.mark.parametrize(
    ("drawing", "sentence"),
    [
        ("A 0-2 4-6 | B 2.5-3.5 6.9-8", "B answered 2 of 2 opportunities; half of the responses came within 0.70 s."),
        ("A 0-2 | B 2.4-5", "B answered 1 of 1 opportunity, after 0.40 s."),
        ("A 0-2 | B 13-15", "B answered none of 1 opportunity."),
        ("A 0-3 |", "A never finished a turn, so there was nothing for B to answer."),
    ],
)
def test_the_session_in_a_sentence(drawing: str, sentence: str, tmp_path: Path) -> None:
    assert sentence in read(drawn_recording(tmp_path / "call", drawing)).text


@pytest.mark.parametrize(
    ("drawing", "tail_s", "last"),
    [
        ("A 0-2 6-8 | B 2.5-5", 3.0, "A's last turn: unanswered, or hung up."),
        ("A 6-8 | B 2.5-5", 3.0, "there was nothing for B to answer. A's last turn: unanswered, or hung up."),
        ("A 0-2 6-8 | B 2.5-5", 0.0, "A's last turn: cut off by the end."),
        ("A 0-2 | B 2.5-5", 3.0, None),
    ],
)
def test_the_tile_of_answers_says_what_became_of_the_last_turn(
    drawing: str, tail_s: float, last: str | None, tmp_path: Path
) -> None:
    text = read(drawn_recording(tmp_path / "call", drawing, tail_s)).text
    assert last in text if last else "A's last turn: " not in text


@pytest.mark.parametrize(("tail_s", "last"), [(3.0, "the call was cut at --max-s"), (0.0, "cut off at --max-s")])
def test_a_call_that_its_time_limit_cut_says_so_of_the_last_turn(tail_s: float, last: str, tmp_path: Path) -> None:
    parties, settings = {"A": {"kind": "scripted"}, "B": {"kind": "moshi"}}, META["settings"] | {"max_s": 8 + tail_s}
    drawing = "A 0-2 6-8 | B 2.5-5"
    found = read(drawn_recording(tmp_path / "call", drawing, tail_s, parties=parties, settings=settings))
    assert f"A's last turn: {last}." in found.text
    assert found.attributes("body", "data-last-turn") == [last]


def test_speech_that_began_with_the_other_s_is_named_beside_those_that_count(tmp_path: Path) -> None:
    """B begins, A 0.1 s later, and both speak for 1.9 s: nobody talks over the other, but it is a moment to hear."""
    found = read(drawn_recording(tmp_path / "call", "A 2.1-4 | B 2-6"))
    text = found.text.replace("\u00a0", " ")
    assert re.search(
        r"A talks over B\s*never\s*with more than 1 s of speech. Not counted: 1 begun together with B.", text
    )
    assert "talk-over 1.9 s" in text


def test_one_moment_of_each_kind_is_heard_first(tmp_path: Path) -> None:
    """Five slow responses, all worse than the one stretch in which both speak, and than the silence of both."""
    slow = [(10 * k, 10 * k + 2, 10 * k + 6, 10 * k + 8) for k in range(5)]
    a = " ".join(f"{start}-{end}" for start, end, *_ in slow)
    b = " ".join(f"{start}-{end}" for *_, start, end in slow)
    found = read(drawn_recording(tmp_path / "call", f"A {a} 54.4-56 | B {b} 50.1-56.5"))
    kinds = [
        text.rstrip("0123456789. s")
        for text in re.findall(r"(slow response|talk-over|both silent) [\d.]+ s", found.text)
    ]
    assert kinds[:2] == ["slow response", "talk-over"]
    assert kinds.count("slow response") >= 5


def test_figures_have_denominators_and_what_chance_would_do(sample: Reading) -> None:
    text = read(sample).text.replace("\u00a0", " ")
    assert "6 of 7" in text
    assert re.search(r"Barge-in yield rate: 1 of 3, within 2 s \(by chance \d\.\d\)", text)
    assert (
        "All 7 opportunities count: responses 6, premature responses 1, no response 0 (B said nothing for 10 s" in text
    )


def test_an_open_line_that_ended_is_a_reason_for_a_missing_answer(tmp_path: Path) -> None:
    """A waits 4 s and goes on; then the line stays open for 1 s: neither of the two silences lasted 10 s."""
    recording = drawn_recording(
        tmp_path / "call", "A 0-2 4-6 10-12 | B 2.5-3.5", 1, settings=META["settings"] | {"line_open": True}
    )
    text = read(recording).text.replace("\u00a0", " ")
    why = "B said nothing for 10 s, or A gave up waiting (after 3 s), or the call ended with the line open"
    assert "B answered 1 of 3 opportunities, after 0.50 s." in text
    assert f"No response: 2: {why}." in text
    assert f"All 3 opportunities count: responses 1, premature responses 0, no response 2 ({why})." in text


def test_warnings_stand_before_everything_else(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-3 |")
    recording.meta |= {"status": "interrupted", "reason": "Ctrl-C"}
    text = read(recording).text
    assert text.index("B never spoke: no speech found, digitally silent.") < text.index("A never finished a turn")
    assert "This recording is interrupted: Ctrl-C." in text


def test_a_session_without_faults_has_no_warning(sample: Reading) -> None:
    assert not any(attrs.get("role") == "alert" for _, attrs in read(sample).elements)


def test_the_worst_moments_link_to_their_times(sample: Reading) -> None:
    worst = document_of(sample)["moments"]
    found = [link for link in read(sample).attributes("a", "href") if not link.startswith("#moments=")]
    assert found == [f"#t={moment['start_s']:g}" for moment in worst]


def test_every_measure_has_its_words_and_its_row(sample: Reading) -> None:
    measures, found = score(sample)["measures"], read(sample)
    assert set(measures) <= set(MEASURES)
    settings = TurnSettings()
    for name in measures:
        assert name in found.text
        assert MEASURES[name].label in found.text
    assert {reason for m in measures.values() for reason in m["excluded"]} <= set(EXCLUSIONS)
    assert set(SETTINGS) == set(settings.__slots__)
    assert set(EVENTS) == set(TurnKind.__args__) - {"speech_start", "speech_end"}  # type: ignore[attr-defined]
    assert "{" not in found.text


def test_a_measure_that_nobody_described_is_shown_by_its_id(sample: Reading) -> None:
    scores = document_of(sample)
    scores["measures"]["of_a_plug_in_ms"] = {**scores["measures"]["response_latency_ms"], "excluded": {"odd": 3}}
    text = Page(page(sample, scores)).text
    assert "of_a_plug_in_ms" in text
    assert "3 odd" in text


def test_censored_events_are_counted_apart(tmp_path: Path) -> None:
    html = page(*(lambda r: (r, document_of(r)))(drawn_recording(tmp_path / "call", "A 0-2 | B 2.4-5")))
    row = re.search(r'<th scope="row">turn<.*?</tr>', html, re.DOTALL)
    assert row is not None
    assert re.findall(r"<td[^>]*>(\d+)<", row[0]) == ["1", "0", "1"]


def test_the_certificate_of_a_live_clock_is_a_table(tmp_path: Path) -> None:
    lateness = {"n": 900, "min_us": 0, "p50_us": 1.25, "p99_us": 83.5, "p99_9_us": 410, "max_us": 2_617}
    timing: dict[str, object] = {"realtime": True, "wake": lateness, "resume": lateness, "late": 3, "missed": 0}
    timing["clock"] = {"name": "tsc", "hardware": None}
    found = read(drawn_recording(tmp_path / "call", "A 0-2 |", timing=timing))
    assert "83.5" in found.text
    assert "2,617.0" in found.text
    assert "On time: none of 500 ticks missed; 3 late by at most 50 ms and made up." in found.text
    assert "virtual clock" not in found.text


def test_optional_facts_may_be_missing(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 | B 2.4-5 | ")
    optional = cast("dict[str, object]", recording.meta)
    for key in ("created", "source", "parties", "versions", "timing", "settings_sha256"):
        del optional[key]
    assert "No timing certificate was recorded." in read(recording).text


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_draws_the_page(sample: Reading, tmp_path: Path) -> None:
    path = write_report(sample, document_of(sample))
    found = Page(dump_dom(f"{path.as_uri()}#t=34.99", tmp_path))
    (html,) = [attrs for tag, attrs in found.elements if tag == "html"]
    assert html.get("data-failed") is None
    assert html.get("data-drawn") == "yes"
    assert "slow response 4.0 s. A has finished, and B takes the floor after a gap of 4.00 s." in found.text
    assert sum("js-fill" in (attrs.get("class") or "") for _, attrs in found.elements) >= 7
    assert "0:26" in found.text
    assert "6 of 7 answered" in re.sub(r"\s+", " ", found.text)


def test_a_wait_that_counts_as_unanswered_is_marked_and_no_other_pause(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 4-6 10-12 | B 13-14")
    content = document_of(recording)
    pauses = {(e["start_s"], e["end_s"]): e.get("unanswered", False) for e in content["events"] if e["kind"] == "pause"}
    assert pauses == {(2, 4): False, (6, 10): True}
    assert content["measures"]["no_response_per_turn"]["count"] == 1


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_draws_an_unanswered_wait_as_a_missing_answer(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", "A 0-2 6-8 | B 13-14")
    path = write_report(recording, document_of(recording))
    found = Page(dump_dom(f"{path.as_uri()}#t=2", tmp_path / "profile"))
    assert "no response 4.0 s. B does not answer within 4.00 s; A goes on by itself." in found.text
    patterns = [attrs for tag, attrs in found.elements if tag == "pattern"]
    assert len(patterns) == 1
