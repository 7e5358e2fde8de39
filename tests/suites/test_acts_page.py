"""The report of scored replies: read by a parser that knows only HTML, and once by a browser where one is installed."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

import pytest
from fakes.browser import opened_page
from helpers.acts_document import PAPER, as_item, make_document, make_item, systems_of
from helpers.commands import done

from fdbcore._version import __version__
from fdbcore.recording.files import write_text
from fdbcore.report.scorecard.page import page as scorecard_page
from fdbcore.report.svg.text import without_controls
from fdbcore.suites.dialogue_acts.page.phrases import mean, sayer, span
from fdbcore.suites.dialogue_acts.page.picture import picture, style
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.suites.dialogue_acts.scoring.document import PUBLISHED
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES, condition_of
from fdbcore.suites.dialogue_acts.suite import SUITE

if TYPE_CHECKING:
    from playwright.sync_api import Page as BrowserPage

HOSTILE: Final = '</script><script>alert("x")</script>&amp;\'"><img src=x onerror=alert(1)><!--\u202eשלום\x00\ud800'
BYTES_PER_ITEM: Final = 1500


NAMES_OF_PARTS: Final = {"missing": "insertion", "redundant": "deletion", "swapped": "substitution"}
UNIFORM: Final = "uniform WED\xa0↓"
NAMES: Final = {
    "wed": "WED\xa0↓",
    "insertion": "missing\xa0↓",
    "deletion": "redundant\xa0↓",
    "substitution": "swapped\xa0↓",
    "wlcs": "WLCS\xa0↑",
    "recall": "recall\xa0↑",
    "f1": "F1\xa0↑",
}


def page(document: dict[str, Any]) -> str:
    return scorecard_page(SUITE.card(document), SUITE)


def leads(document: dict[str, Any]) -> list[str]:
    return list(SUITE.card(document).statements)


def write_report(document: dict[str, Any], path: Path) -> Path:
    """As `fdbcore score --suite` writes it."""
    write_text(path, without_controls(page(document)))
    return path


class Page(HTMLParser):
    """What a browser sees: elements, visible text, scripts, and the cells of each table row by their label.

    Cells of the table of uniform weights have its title before their label.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.rows: list[dict[str, str]] = []
        self.text = ""
        self._hidden = False
        self._cell: str | None = None
        self._title = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, given))
        self._hidden = tag in ("script", "style")
        if tag == "script":
            self.scripts.append("")
        if tag in ("h2", "h3", "h4"):
            self._title = ""
        if tag == "tr":
            self.rows.append({})
        if tag in ("td", "th") and self.rows:
            named = given.get("data-label") or "label"
            self._cell = f"uniform {named}" if self._title == "uniform" and named in NAMES.values() else named
            self.rows[-1][self._cell] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden = False
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._hidden and self.elements[-1][0] == "script":
            self.scripts[-1] += data
        elif not self._hidden:
            self.text += data
            if self.elements and self.elements[-1][0] == "h4":
                self._title += data.strip()
            if self._cell is not None:
                self.rows[-1][self._cell] += f"{data} "

    def system(self, name: str) -> dict[str, str]:
        """The cells of a system in all tables of systems."""
        known = {*NAMES.values(), UNIFORM}
        rows = [cells for cells in self.rows if known & {*cells} and cells["label"].startswith(f"{name} ")]
        return {label: text for cells in reversed(rows) for label, text in cells.items()}

    @property
    def items(self) -> list[dict[str, Any]]:
        """The list of items, unpacked."""
        return unpacked(self.scripts[0])

    @property
    def pictures(self) -> list[str]:
        """The drawings of the items, unpacked."""
        return [picture for chunk in self.scripts[1:-1] for picture in unpacked(chunk)]


def unpacked(script: str) -> list[Any]:
    found: list[Any] = json.loads(zlib.decompress(base64.b64decode(script)))
    return found


def numbers(text: str) -> list[str]:
    return re.findall(r"−?\d+\.\d+", text)


def test_it_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    document = make_document(n=3)
    path = write_report(document, tmp_path / "deep" / "report.html")
    assert f"fdbcore {__version__} · fdbcore.dialogue_acts/2" in page(document)
    assert path == tmp_path / "deep" / "report.html"
    assert path.read_text(encoding="utf-8") == page(document)


def test_nothing_is_fetched() -> None:
    found = Page(page(make_document(n=3)))
    (policy,) = [attrs["content"] for tag, attrs in found.elements if tag == "meta" and "http-equiv" in attrs]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    links = [value for tag, attrs in found.elements for name, value in attrs.items() if name in ("src", "href")]
    assert all(link is not None and link.startswith(("data:", "#")) for link in links)


def test_the_table_shows_the_figures_of_the_document() -> None:
    document = make_document(n=12)
    found = Page(page(document))
    for row in systems_of(document):
        shown = found.system(row["system"])
        assert shown["n"].split()[0] == str(row["n"])
        for name in MEASURES:
            summary = row["measures"][name]
            expected = [mean(summary["value"])]
            if name in ("wed", "wlcs"):
                expected += [*map(mean, summary["ci95"] or ()), mean(summary["sd"])]
            assert numbers(shown[NAMES[name]]) == expected


def test_uniform_weights_stand_beside_as_a_control() -> None:
    document = make_document(n=12)
    for row in document["rows"][:2]:
        row["measures"]["uniform_wed"]["value"] = 0.987
    shown = [cells[UNIFORM] for cells in Page(page(document)).rows if UNIFORM in cells]
    assert [numbers(cell)[:1] == ["0.987"] for cell in shown] == [True] * 2 + [False] * (len(shown) - 2)


def test_the_comparisons_are_those_of_the_document() -> None:
    document = make_document(("a", "b", "c"), n=60)
    found = [cells for cells in Page(page(document)).rows if "minimum detectable effect" in cells]
    expected = sorted(document["differences"], key=lambda c: ("wed", "wlcs", "f1").index(c["measure"]))
    assert [cells["difference"].strip() for cells in found] == [mean(c["difference"]) for c in expected]
    assert [cells["95 % interval"].strip() for cells in found] == [span(c["ci95"]) for c in expected]
    # a WED below 0 is for `a`, and so are the others above 0
    verdicts = [
        "cannot" if c["p_corrected"] > 0.05 else c["a"] if (c["difference"] > 0) == (c["measure"] != "wed") else c["b"]
        for c in expected
    ]
    assert [cells["verdict"].split()[0] for cells in found] == verdicts
    assert {"cannot", "a"} <= set(verdicts)


def lead(**changed: Any) -> str:
    """The statement on two systems whose WED differs as given."""
    document = make_document(("one", "two"), n=10)
    wed = {"difference": -0.2, "ci95": [-0.3, -0.1], "p_corrected": 0.01, "detectable": 0.09} | changed
    for row in document["rows"]:
        row["measures"]["wed"]["value"] = {"one": 0.3, "two": 0.5}.get(row["system"], 0.9)
    document["differences"] = [c | wed for c in document["differences"] if c["measure"] == "wed"]
    text, said_last = leads(document)
    assert said_last.startswith("The acts of replies are judged here, not their truth")
    return text


def test_the_first_sentence_says_which_is_better_and_by_how_much() -> None:
    assert lead() == (
        "“one” answers better than “two”: its distance from the reference replies (WED) is lower by 0.200 "
        "(95 % interval 0.100 to 0.300, n = 10)."
    )


def test_the_first_sentence_says_where_it_cannot_be_told_and_what_could_be_seen() -> None:
    text = lead(ci95=[-0.5, 0.1], p_corrected=0.3)
    assert text.startswith("Nobody can tell from 10 records whether “one” or “two” answers better. The first is nearer")
    assert "0.200 (95 % interval −0.100 to 0.500, n = 10)" in text
    assert "With 10 records, a true difference of 0.090 is found four times in five." in text
    assert "But corrected for the 1 comparison made here, p is 0.300." in lead(p_corrected=0.3)


def test_words_and_reasons_stand_beside_the_acts() -> None:
    document = make_document(("one",), n=2)
    item = document["items"][0]
    first, second = item["response"]["steps"][:2]
    first |= {"rationale": "<頼みに答えている>", "words": "<はい>"}
    second |= {"words": "言っていない", "is_quote": False}
    card = SUITE.card(document)
    shown = card.views.picture(card.cases[0])
    assert "Which words each act stands for, and why" in shown
    assert f"<b>{first['act']} " in shown
    assert '<q lang="ja-JP">&lt;はい&gt;</q>' in shown
    assert "&lt;頼みに答えている&gt;" in shown
    assert "言っていない" not in shown
    assert shown.count("what the annotator quotes is not in the reply") == 1


def test_a_weighted_lcs_that_prefers_the_other_is_told() -> None:
    document = make_document(("one", "two"), n=10)
    for comparison in document["differences"]:
        comparison |= {"difference": -0.2, "ci95": [-0.3, -0.1], "p_corrected": 0.01}
    for row in document["rows"]:
        row["measures"]["wed"]["value"] = {"one": 0.3, "two": 0.5}.get(row["system"], 0.9)
    assert "By weighted LCS alone, “two” is ahead of “one” by 0.200" in leads(document)[0]
    assert "chance" not in leads(document)[0]
    for comparison in document["differences"]:
        comparison |= {"p_corrected": 0.4} if comparison["measure"] == "wlcs" else {}
    assert "by 0.200 (95 % interval 0.100 to 0.300, n = 10), which may be chance. That measure" in leads(document)[0]


def test_of_many_replies_the_page_has_those_to_the_first_records(monkeypatch: pytest.MonkeyPatch) -> None:
    document = make_document(("one", "two"), n=10)
    assert "scores.json" not in page(document)
    each = len(document["items"]) // 10
    monkeypatch.setattr("fdbcore.report.scorecard.cases.MOST", 4 * each + 1)
    html = page(document)
    assert f"The results of the first 4 of 10 cases, {4 * each} in all; all {10 * each} are in scores.json" in html
    rows = unpacked(Page(html).scripts[0])
    assert len({row["id"] for row in rows}) == 4
    assert [row["number"] for row in rows] == list(range(4 * each))


def test_systems_that_share_no_record_are_told_apart_by_nothing() -> None:
    """And the page is there: all of it."""
    nothing = {"n": 0, "difference": None, "ci95": None, "p": None, "p_corrected": None, "detectable": None}
    document = make_document(("one", "two"), n=4)
    document["differences"] = [c | nothing for c in document["differences"]]
    assert "But no record is scored both for it and for “two”, so they cannot be compared." in leads(document)[0]
    assert "so they cannot be compared" in page(document)


def test_of_systems_at_the_same_distance_none_has_the_least() -> None:
    nothing = {"n": 0, "difference": None, "ci95": None, "p": None, "p_corrected": None, "detectable": None}
    document = make_document(("one", "two"), n=4)
    document["differences"] = [c | nothing for c in document["differences"]]
    for row in document["rows"]:
        if row["group"] == "system":
            row["measures"]["wed"] = {"value": 1.0, "sd": 0.0, "ci95": None}
    assert leads(document)[0] == (
        "“one” and “two” are at the same least distance (WED). But no record is scored both for “one” and for “two”, "
        "so they cannot be compared."
    )


def test_each_annotator_has_a_statement_and_a_table_of_its_own() -> None:
    one, other = make_document(n=8), make_document(n=8, seed=2)
    for part in ("rows", "differences", "items", "diagnosis"):
        name = "annotator" if part in ("items", "diagnosis") else "condition"
        one[part] += [entry | {name: entry[name].replace("authored", "other")} for entry in other[part]]
    one["sets"][0]["annotators"].append("other")
    statements = leads(one)
    assert [text.split(":")[0] for text in statements] == [
        "On smoke, annotated by authored",
        "On smoke, annotated by other",
        "The acts of replies are judged here, not their truth",
    ]
    tables = [cells["label"].split()[0] for cells in Page(page(one)).rows if UNIFORM in cells]
    assert sorted(tables) == sorted(2 * ["good", "terse", "ceiling", "always", "most", "best", "shuffled"])


def test_turns_of_recorded_users_are_called_turns() -> None:
    text = lead(ci95=[-0.5, 0.1], p_corrected=0.3, clusters=8)
    assert text.startswith("Nobody can tell from 10 turns whether “one” or “two” answers better.")
    assert "With 10 turns, a true difference of 0.090 is found four times in five." in text


def test_intervals_are_called_what_they_are() -> None:
    assert "95% expanded percentile bootstrap (wider by Student&#39;s t) over records" in page(make_document(n=2))


def test_one_system_is_set_beside_its_ceiling_and_baselines() -> None:
    document = make_document(("only",), n=5)
    html = page(document)
    assert "“only” is at a mean distance (WED) of" in html
    assert "For comparison: ceiling " in html
    assert "There are no two systems to compare." in html


def test_what_is_not_there_is_said() -> None:
    document = make_document(n=2) | {"differences": [], "diagnosis": [], "cases": [], "items": []}
    html = page(document)
    for text in ("There are no two systems to compare.", "There is nothing to diagnose."):
        assert text in html
    for text in ("Telling cases", "Every result"):
        assert text in page(make_document(n=2))
        assert text not in html
    assert page(make_document(n=2) | {"cases": []}).count('id="acts-dots"') == 1, "what pictures refer to is there once"
    assert page(make_document(n=2)).count('id="acts-dots"') == 1
    assert "Nothing was scored." in page(document | {"rows": [], "sets": []})


def test_a_row_without_scores_has_no_figures() -> None:
    document = make_document(("one", "two"), n=2)
    for row in document["rows"]:
        if row["system"] == "two":
            row |= {"n": 0, "note": "2 unscored (in no mean)"}
            row["measures"] = {name: {"value": None} for name in MEASURES}
    document["differences"] = [
        c | {"p": None, "p_corrected": None, "ci95": None, "detectable": None} for c in document["differences"]
    ]
    shown = Page(page(document)).system("two")
    assert numbers(shown[NAMES["wed"]]) == []
    assert "2 unscored" in shown["label"]


def test_warnings_and_problems_come_before_any_figure() -> None:
    document = make_document(n=2) | {
        "warnings": ["Two records are too few."],
        "problems": [{"where": "replies.jsonl, line 3 (r9)", "reason": "expected JSON"}],
    }
    text = Page(page(document)).text
    assert text.index("Two records are too few.") < text.index("left out: 1") < text.index("distance")
    assert "replies.jsonl, line 3 (r9) expected JSON" in text


def test_the_published_table_is_marked_as_the_papers() -> None:
    measures = {"wlcs": {"value": 0.662, "sd": 0.36}, "wed": {"value": 0.549, "sd": 0.353}}
    measures |= {name: {"value": 0.111} for name in ("deletion", "insertion", "substitution")}
    document = make_document(n=2)
    assert "Table 1 of the paper" not in page(document)
    printed = {"condition": f"{PUBLISHED}x", "group": "published", "system": "y", "n": None, "measures": measures}
    html = page(document | {"rows": [*document["rows"], printed]})
    assert "as printed, not measured here" in html
    row, *_ = (cells for cells in Page(html).rows if cells.get("label", "").startswith("y "))
    assert "such scores cannot be compared with the paper" in html
    assert numbers(row[NAMES["wed"]]) == ["0.549", "0.353"]


def hostile_document() -> dict[str, Any]:
    texts: dict[str, Any] = {
        name: HOSTILE for name in ("set", "id", "topic", "system", "annotator", "background", "user")
    }
    document = make_document((HOSTILE, "other"), n=2)
    document["items"] = [make_item(*PAPER[0], reference_text=HOSTILE, response_text=HOSTILE, **texts)]
    document["cases"] = [{"case": "insertion", "item": 0}]
    document["sets"][0] |= {"name": HOSTILE, "generators": [HOSTILE], "locale": HOSTILE, "topics": {HOSTILE: 2}}
    document["sets"][0]["annotators"] = document["settings"]["annotators"] = [HOSTILE]
    for part in ("rows", "differences", "diagnosis"):
        for entry in document[part]:
            names = {"condition": condition_of(HOSTILE, HOSTILE), "set": HOSTILE, "annotator": HOSTILE}
            entry |= {name: text for name, text in names.items() if name in entry}
    return document | {"warnings": [HOSTILE], "problems": [{"where": HOSTILE, "reason": HOSTILE}]}


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    plain, path = make_document(n=2), write_report(hostile_document(), tmp_path / "report.html")
    found = Page(path.read_text(encoding="utf-8"))
    assert len(found.scripts) == len(Page(page(plain)).scripts)
    assert not [tag for tag, attrs in found.elements if tag == "img" or "onerror" in attrs]
    visible = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd").replace("\u202e", "\ufffd")
    assert found.text.count(visible) > 10
    for html in found.pictures + [item["bar"] for item in found.items]:
        root = ElementTree.fromstring(f"<div>{html}</div>")
        assert not [tag for tag in root.iter() if tag.tag.endswith(("script", "img"))]


def test_every_item_has_its_picture_and_what_it_is_found_by() -> None:
    document = make_document(n=150)
    found = Page(page(document))
    assert len(found.pictures) == len(found.items) == len(document["items"])
    for item, row, drawn in zip(document["items"], found.items, found.pictures, strict=True):
        name = "ceiling" if item["kind"] == "ceiling" else item["system"]
        assert (row["id"], row["system"]) == (item["id"], name)
        assert row["values"]["wed"] == item["scores"]["wed"]
        assert item["user"] == row["text"]
        assert item["reference"]["text"].lower() in row["words"]
        missing = {
            item["reference"]["steps"][s["reference_index"]]["act"]
            for s in item["path"]
            if s["operation"] == "insertion"
        }
        assert {tag for tag in row["tags"] if tag.startswith("missing\t")} == {
            f"missing\t{act}" for act in (missing and {"", *missing})
        }
        assert item["kind"] == "ceiling" or f"The reply of {name}" in drawn


def test_many_items_make_no_heavy_page() -> None:
    document = make_document(("a", "b"), n=500)
    assert len(page(document).encode()) < 200_000 + BYTES_PER_ITEM * len(document["items"])


def test_a_part_of_the_distance_is_rounded_once(tmp_path: Path) -> None:
    done("score", "--suite", "dialogue-acts", "--out", tmp_path / "S")
    found = Page((tmp_path / "S" / "report.html").read_text(encoding="utf-8"))
    *_, wrong = found.text.split("What goes wrong")
    totals = {part: re.findall(rf"{part.title()}\s+(\d\.\d+)", wrong) for part in NAMES_OF_PARTS}
    for number, system in enumerate(("good", "terse")):
        for part, measure in NAMES_OF_PARTS.items():
            assert numbers(found.system(system)[NAMES[measure]])[0] == totals[part][number], (system, part)


def overflowing(browser: BrowserPage, pictures: list[str]) -> list[str]:
    """Texts of pictures whose box is not within their picture."""
    browser.set_content(f"<style>{style()}</style>{''.join(pictures)}")
    found: list[str] = browser.evaluate(
        """() => [...document.querySelectorAll("svg.picture")].flatMap((svg) => {
          const room = svg.viewBox.baseVal;
          return [...svg.querySelectorAll("text")].filter((text) => {
            const box = text.getBBox();
            return box.x < 0 || box.y < 0 || box.x + box.width > room.width || box.y + box.height > room.height;
          }).map((text) => text.textContent);
        })"""
    )
    return found


def test_no_text_goes_beyond_its_picture(browser_page: tuple[BrowserPage, list[str]]) -> None:
    draw = random.Random(7)

    def acts() -> list[tuple[str, float]]:
        weights = [draw.random() for _ in range(draw.randint(2, 7))]
        return [(draw.choice(ACTS), weight / sum(weights)) for weight in weights]

    pictures = [picture(as_item(make_item(acts(), acts()))) for _ in range(600)]
    pictures += [picture(as_item(make_item(acts(), acts())), say=sayer("ja")) for _ in range(200)]
    assert sum("missing +" in one and "redundant +" in one and "swapped" in one for one in pictures) > 100
    assert overflowing(browser_page[0], pictures) == []


@pytest.fixture(scope="module")
def browser_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrowserPage, list[str]]]:
    with opened_page() as found:
        yield found


def opened(browser: BrowserPage, document: dict[str, Any], folder: Path) -> None:
    browser.goto(write_report(document, folder / "report.html").as_uri())
    browser.wait_for_selector("html[data-drawn]")


def shown_scores(browser: BrowserPage) -> list[str]:
    return browser.locator(".item summary .value").all_inner_texts()


def test_a_browser_sorts_narrows_and_opens_the_items(
    browser_page: tuple[BrowserPage, list[str]], tmp_path: Path
) -> None:
    browser, complaints = browser_page
    document = make_document(n=20)
    items = document["items"]
    opened(browser, document, tmp_path)
    by_wed = sorted((item["scores"]["wed"] for item in items), reverse=True)
    worst = [float(text) for text in shown_scores(browser)]
    assert worst == pytest.approx(by_wed[: len(worst)], abs=0.00051)
    browser.click("#more")
    assert len(shown_scores(browser)) == len(items)
    browser.select_option("[name=order]", label="best first (WED)")
    assert [float(text) for text in shown_scores(browser)][:9] == pytest.approx(by_wed[::-1][:9], abs=0.00051)

    browser.select_option("[name=system]", "terse")
    browser.select_option("[name=subset]", "timer")
    assert browser.inner_text("#count").startswith("4 of 60 ")
    browser.select_option("[name=subset]", "")
    act = next(act for act in ACTS if any(act in missing(item) for item in items if item["system"] == "terse"))
    browser.select_option("[name=tag]", f"missing\t{act}")
    expected = [item for item in items if item["system"] == "terse" and act in missing(item)]
    assert browser.inner_text("#count").startswith(f"{len(expected)} of 60 ")

    browser.locator(".item summary").first.click()
    browser.wait_for_selector(".opened svg.picture")
    nearest = min(expected, key=lambda item: item["scores"]["wed"])
    assert nearest["response"]["text"] in browser.inner_html(".opened")
    address = browser.url
    browser.fill("[name=text]", "no such text")
    assert browser.inner_text("#count").startswith("0 of 60 ")

    browser.goto("about:blank")
    browser.goto(address)
    browser.wait_for_selector(".opened svg.picture")
    assert shown_scores(browser) == [mean(nearest["scores"]["wed"])]
    assert complaints == []


def missing(item: dict[str, Any]) -> list[str]:
    return [
        item["reference"]["steps"][step["reference_index"]]["act"]
        for step in item["path"]
        if step["operation"] == "insertion"
    ]


def test_a_browser_runs_nothing_that_a_text_says(browser_page: tuple[BrowserPage, list[str]], tmp_path: Path) -> None:
    browser, complaints = browser_page
    opened(browser, hostile_document(), tmp_path)
    browser.locator(".item summary").first.click()
    browser.wait_for_selector(".opened svg.picture")
    assert browser.locator("img").count() == 0
    assert complaints == []


def test_a_phone_needs_no_sideways_scrolling(browser_page: tuple[BrowserPage, list[str]], tmp_path: Path) -> None:
    browser, _ = browser_page
    browser.set_viewport_size({"width": 390, "height": 844})
    opened(browser, make_document(("a", "b", "c"), n=5), tmp_path)
    browser.locator(".item summary").first.click()
    browser.wait_for_selector(".opened svg.picture")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
