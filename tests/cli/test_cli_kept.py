"""What a run was last given, a comparison and gates, on all of its pages: until its scores change."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from fakes.browser import opened_page
from helpers.commands import done, report
from helpers.corpus import replay
from helpers.made_runs import Manner, drawn_calls, made_run
from helpers.sealed import scored_otherwise
from helpers.voices import voices, write

from fdbcore.recording.files import REPORT, read_json, write_json
from fdbcore.report.comparison import comment

CALLS = 30
GATE = "Each gate"
LISTEN = "Listen to what got worse"


@dataclass(frozen=True)
class Weeks:
    last: Path
    this: Path
    gates: Path


@pytest.fixture
def weeks(tmp_path: Path) -> Weeks:
    """Two runs of 30 calls, in the second of which B cuts off one turn in four, and a gate that says so."""
    made_run(tmp_path / "last", drawn_calls(CALLS, 1, language="en"))
    made_run(tmp_path / "this", drawn_calls(CALLS, 2, lambda number: Manner(premature=0.25), language="en"))
    (tmp_path / "gates.toml").write_text('gates = ["premature_per_turn <= 0.05", "answered_per_turn >= 0.1"]')
    return Weeks(tmp_path / "last", tmp_path / "this", tmp_path / "gates.toml")


def text(path: Path) -> str:
    return " ".join(unescape(re.sub(r"<(style|script)[\s\S]*?</\1>|<[^>]+>", " ", path.read_text())).split())


def is_shown(run: Path) -> tuple[bool, bool]:
    """Whether the page of a run says what was compared, and what gates say; compare.html must have the same parts."""
    index, compare = text(run / "index.html"), run / "compare.html"
    shown = f"{LISTEN} · compared on 20" in index, f"{GATE} · decided on 20" in index
    there = text(compare) if compare.is_file() else ""
    assert (f"{LISTEN} since last" in there, "by gates.toml" in there) == shown
    assert ('href="compare.html"' in (run / "index.html").read_text()) == any(shown)
    return shown


def has_verdicts(run: Path) -> bool:
    calls = sorted(run.glob(f"*/{REPORT}"))
    assert len(calls) == CALLS
    (found,) = {'class="verdict-line' in path.read_text() for path in calls}
    assert ("verdict" in (run / "calls.csv").read_text().splitlines()[0].split(",")) == found
    return found


def test_a_comparison_and_gates_stay_beside_each_other_on_all_pages(weeks: Weeks) -> None:
    report(weeks.this, "--quiet", "--no-audio")
    assert is_shown(weeks.this) == (False, False)
    report(weeks.this, "--baseline", weeks.last, "--quiet", "--no-audio")
    assert is_shown(weeks.this) == (True, False)
    assert report(weeks.this, "--gate", weeks.gates, "--quiet", "--no-audio").exit_code == 1
    assert (is_shown(weeks.this), has_verdicts(weeks.this)) == ((True, True), True)
    name = f"call{7:04}"
    shown = (weeks.this / name / REPORT).read_text()
    for again in ((), ("--baseline", weeks.last), ("--call", name)):
        report(weeks.this, *again, "--quiet", "--no-audio")
        assert (is_shown(weeks.this), has_verdicts(weeks.this)) == ((True, True), True)
    assert (weeks.this / name / REPORT).read_text() == shown


def test_gates_alone_have_no_comparison(weeks: Weeks) -> None:
    report(weeks.this, "--gate", weeks.gates, "--quiet", "--no-audio")
    assert is_shown(weeks.this) == (False, True)


def test_they_go_when_a_call_is_scored_otherwise_or_has_another_column(weeks: Weeks) -> None:
    scores = weeks.this / f"call{3:04}"
    corpus = read_json(weeks.this / "corpus.json")
    corpus["calls"][0]["columns"] = {"language": "de"}
    changes: list[Callable[[], None]] = [
        lambda: scored_otherwise(scores, lambda made: made | {"with_echo": made["quantities"]}),
        lambda: write_json(weeks.this / "corpus.json", corpus),
    ]
    for change in changes:
        report(weeks.this, "--baseline", weeks.last, "--gate", weeks.gates, "--quiet", "--no-audio")
        assert is_shown(weeks.this) == (True, True)
        change()
        report(weeks.this, "--quiet", "--no-audio")
        assert (is_shown(weeks.this), has_verdicts(weeks.this)) == ((False, False), False)
        assert not {"compare.html", "comparison.json", "gates.json"} & {item.name for item in weeks.this.iterdir()}


def test_they_stay_with_a_run_that_is_moved(weeks: Weeks, tmp_path: Path) -> None:
    report(weeks.this, "--baseline", weeks.last, "--gate", weeks.gates, "--quiet", "--no-audio")
    cards = re.findall(r'href="(call\d+/report.html#t=[\d.]+)"', (weeks.this / "compare.html").read_text())
    moved = weeks.this.rename(tmp_path / "elsewhere")
    report(moved, "--quiet", "--no-audio")
    assert is_shown(moved) == (True, True)
    assert re.findall(r'href="(call\d+/report.html#t=[\d.]+)"', (moved / "compare.html").read_text()) == cards
    assert cards


def test_the_moments_stand_above_the_measures_and_counts_link_lists_that_are_there(weeks: Weeks) -> None:
    report(weeks.last, "--quiet", "--no-audio")
    report(weeks.this, "--quiet", "--no-audio")
    report(weeks.this, "--baseline", weeks.last, "--by", "language", "--quiet", "--no-audio")
    html = (weeks.this / "compare.html").read_text()
    assert html.index('class="worst"') < html.index("<table>")
    cells = re.findall(r"<td[^>]*>[^\n]*?</td>", html)
    links = [urlsplit(unescape(link)) for cell in cells for link in re.findall(r'href="([^"]+)"', cell)]
    assert {link.path for link in links} == {"index.html", "../last/index.html"}
    for link in links:
        data = (weeks.this / unquote(link.path)).read_text().partition('id="data">')[2].partition("</script>")[0]
        told = parse_qs(link.fragment)
        assert told["moments"][0] in json.loads(data)["lists"]["titles"]
        assert told["calls"] == ["language=en"]
    assert any(link.fragment.startswith("moments=premature_per_turn&") for link in links)


def test_a_run_is_not_compared_with_itself(weeks: Weeks) -> None:
    refused = report(weeks.this, "--baseline", weeks.this.parent / "last" / ".." / "this")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "expected another run, got the one to compare" in refused.stderr
    assert not (weeks.this / "compare.html").exists()


def test_the_comment_says_how_many_moments_it_leaves_out(
    weeks: Weeks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comment, "MOST_MOMENTS", 3)
    options = ("--baseline", weeks.last, "--gate", weeks.gates, "--no-audio", "--json")
    document = json.loads(report(weeks.this, *options, "--comment", tmp_path / "c.md").stdout)
    (compared,) = document["comparisons"]
    lists = [*document["gates"]["results"], *compared["measures"], *compared["longer"]]
    distinct = {moment["page"] for each in lists for moment in each["worst"]}
    assert len(distinct) > 3
    (listen,) = [line for line in (tmp_path / "c.md").read_text().splitlines() if line.startswith("- **listen**")]
    assert listen.endswith(f"; [and {len(distinct) - 3} more](<this/compare.html>)")


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of eight calls with audio, in the second of which B answers late."""
    folder = tmp_path_factory.mktemp("heard")
    for week, start_s in (("last", 2.3), ("this", 5.3)):
        (folder / week).mkdir()
        for number in range(8):
            drawing = f"A 0.5-2 | B {start_s + 0.02 * number:g}-{start_s + 2:g}"
            write(folder / week / f"call{number}.wav", voices(drawing, 1.0))
    assert "Next" not in replay(folder / "last", out=folder / "run-last").stdout
    other = replay(folder / "last", "--set", "min_silence_ms=400", out=folder / "run-other")
    assert "--baseline OLD\n" in other.stdout  # runs with other settings cannot be compared
    elsewhere = [write(folder / f"elsewhere{n}.wav", voices("A 0.5-2 | B 2.3-4", 1.0)) for n in range(2)]
    unrelated = replay(*elsewhere, out=folder / "run-elsewhere")
    assert "--baseline OLD\n" in unrelated.stdout  # they have no call in common
    second = replay(folder / "this", out=folder / "run-this")
    (told,) = [line for line in second.stdout.splitlines() if line.startswith("Next")]
    arguments = told.partition(": ")[2].split()
    assert arguments == ["fdbcore", "report", str(folder / "run-this"), "--baseline", str(folder / "run-last")]
    assert "--baseline OLD\n" in replay(folder / "last", out=folder / "run-last").stdout  # it is the older one
    done(*arguments[1:], "--quiet")
    return folder / "run-this"


def test_a_moment_that_got_worse_is_played_by_keyboard_and_leads_to_its_second(heard: Path) -> None:
    with opened_page() as (page, complaints):
        page.goto((heard / "index.html").as_uri())
        page.get_by_role("link", name=LISTEN).click()
        play = page.locator(".worst .play").first
        play.focus()
        page.keyboard.press("Enter")
        page.locator(".play[data-playing]").wait_for()
        page.get_by_text(re.compile(r"^call\d 0:02: slow response")).wait_for()
        page.wait_for_timeout(500)
        assert page.evaluate("document.getElementById('audio').currentTime") > 0
        played = page.evaluate("document.getElementById('audio').currentSrc")
        call = page.locator(".worst .where a").first
        name, at = str(call.text_content()).split()
        assert played.startswith((heard.parent / "this" / f"{name}.wav").as_uri())
        address = str(call.get_attribute("href"))
        call.click()
        assert page.url == f"{(heard / name / REPORT).as_uri()}#{address.partition('#')[2]}"
        assert at == "0:02"
        page.go_back()
        page.locator("td a").first.click()
        page.locator("#moments-title", has_text=": 8").wait_for()
        assert complaints == []


def test_a_call_is_sent_with_the_verdict_of_gates_that_the_same_command_decides(heard: Path, tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text('gates = ["response_latency_ms.median <= 100"]')
    sent = report(heard, "--gate", tmp_path / "gates.toml", "--call", "call1", "--embed", code=1)
    assert re.search(r"call1/call1\.html \(\d", sent.stdout.splitlines()[-1])
    html = (heard / "call1" / "call1.html").read_text()
    assert re.search(r'class="verdict-line limit [\w-]+"', html)
    assert "compare.html" not in html
    report(heard, "--embed", code=0)
    page = (heard / "run-this.html").read_text()
    assert "Fail: 1 of 1 gate failed" in page
    assert not re.search(r'href="(?!#|data:)', page)
