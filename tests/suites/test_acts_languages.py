"""The page in Japanese: no English sentence is left but names and quoted text, whatever the document has."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers.acts_document import make_document
from helpers.commands import done, refused
from suites.test_acts_page import unpacked

from fdbcore.report.html.wording import ATTRIBUTES, words_of_pages
from fdbcore.report.scorecard.page import page as scorecard_page
from fdbcore.suites.dialogue_acts.page.phrases import page_words, sayer
from fdbcore.suites.dialogue_acts.suite import SUITE

NAMES = set(
    "Question Check Answer Inform Request Suggestion Commissive ChkQ Ans Inf Req Sug Com "  # acts
    "WED WLCS LCS SD Holm fdbcore USD token JavaScript scores json dialogue acts insertion deletion substitution "
    "smoke good terse authored alarm calendar messages timer weather "  # what the document calls its own
    "id openai judge ja JP lapse ms txt annotator whole call line https".split()
)


class Texts(HTMLParser):
    """The texts of a page, and those of attributes that people read; not those of elements in another language."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._quoted: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._quoted or tag in ("script", "style", "bdi") or (tag not in ("html",) and "lang" in given):
            if tag not in ("br", "meta", "link", "input"):
                self._quoted.append(tag)
            return
        self.found += [value for name, value in given.items() if name in ATTRIBUTES.split("|") and value]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        return

    def handle_endtag(self, tag: str) -> None:
        if self._quoted:
            self._quoted.pop()

    def handle_data(self, data: str) -> None:
        if not self._quoted and data.strip():
            self.found.append(data.strip())


def english(html: str) -> Iterator[str]:
    """The texts with English words that are no names."""
    for text in Texts(html).found:
        if [word for word in re.findall(r"[A-Za-z]{2,}", re.sub(r"\{\w+\}", "", text)) if word not in NAMES]:
            yield text


def rich_document() -> dict[str, Any]:
    """A document in Japanese with everything that a page may say."""
    document = make_document(("good", "terse"), n=12)
    document["page_language"] = "ja"
    document["settings"] |= {"repeats": 2, "family": 3, "power": 0.8, "sd_ddof": 1, "as_given": True, "merged": True}
    document["settings"]["annotated_with"] = [
        {
            "set": "smoke", "annotator": "openai:judge", "locale": "ja-JP", "acts": "12", "rules": "34", "answers": 24,
            "refusals": 0, "tokens_in": 2400, "tokens_out": 480, "usd": usd, "models": {"judge": 24},
            "server": "https://id", "sdk": "openai 2",
        }
        for usd in (None, 0.25)
    ]  # fmt: skip
    document["judging"] = {
        "repeats": 1, "requests": 24, "counts": {"text_in_tokens": 9.0}, "usd": 0.0, "unpriced": 0, "priced_on": None,
        "stopped": None, "judge": "openai:judge", "temperatures": [None],
    }  # fmt: skip
    for right, row in enumerate(document["rows"][:2], 5):
        row["measures"]["content"] = {"value": 100 * right / 11, "ci95": (10.0, 90.0), "n": 11}
        row["counts"] |= {"right": right, "content_unscored": 1}
    document["warnings"] = [
        "smoke: 12 records are too few for a ranking. Two systems must be 0.13 apart in WLCS for a test to tell them "
        "apart (two-sided 5%, power 80%); to tell 0.05 it takes about 380.",
        "smoke: no ceiling: nobody has annotated the reference texts",
        "responses: the words of 2 of 8 acts are not in their reply, and are not shown",
        "responses: in 3 of 9 annotations an act follows itself; such steps were merged",
    ]
    document["problems"] = [{"where": "f, line 3", "reason": "no response of terse"}]
    first, second = document["items"][:2]
    first["response"]["verdict"] = {"right": True, "reason": "よい。"}
    first["response"]["steps"][0] |= {"words": "はい", "rationale": "理由。"}
    second["response"]["verdict"] = {"right": None, "reason": "不明。"}
    second["response"]["steps"][0] |= {"words": "違う", "is_quote": False}
    second["response"]["live"] = {
        "call": "", "start_s": 1.0, "end_s": 2.0, "after_s": 0.5,
        "apart": [{"part": "before", "start_s": 0.1, "end_s": 0.2, "text": "はい"},
                  {"part": "aside", "start_s": 3.1, "end_s": 3.2, "text": None}],
    }  # fmt: skip
    return document


def test_no_english_sentence_is_left_on_the_japanese_page() -> None:
    document = rich_document()
    html = scorecard_page(SUITE.card(document), SUITE)
    assert '<html lang="ja">' in html
    scripts = re.findall(r'<script type="text/plain"[^>]*>([^<]*)</script>', html)
    listed, *chunks = map(unpacked, scripts)
    pictures = [picture for chunk in chunks for picture in chunk]
    assert len(pictures) == len(document["items"])
    left = [text for part in (html, *pictures, *(each["bar"] for each in listed)) for text in english(part)]
    assert left == []
    assert "返答の対話行為は適切か" in html
    assert "行為とは別に、判定者 openai:judge が内容を正しいとした返答" in html
    assert "内容（判定者による）" in "".join(pictures)
    assert "距離（WED）" in "".join(pictures)


@pytest.mark.parametrize(
    ("english_text", "japanese"),
    [
        (
            "gem (12 records, ja-JP), gpt (9 records, ja-JP), x (1 record, en-US)",
            "gem（12 件、ja-JP）、gpt（9 件、ja-JP）、x（1 件、en-US）",
        ),
        (
            "The judge j finds the content right, beside the acts, in 2 of 3 replies of “a” (66.7 %); in 0 of 1 reply "
            "of “b” (0.0 %, 2 unscored); in no reply of “c”, as it gave no verdict, 3 unscored.",
            "行為とは別に、判定者 j が内容を正しいとした返答: “a” 3 件中 2 件（66.7 %）、"
            "“b” 1 件中 0 件（0.0 %、未採点 2 件）、“c”はなし（判定がなく、未採点 3 件）。",
        ),
        (
            "“a” and “b” are at the same least distance (WED). But no record is scored both for “a” and for “b”, so "
            "they cannot be compared.",
            "“a”と“b”の距離（WED）が同じで、いちばん小さい。"
            "ただし、“a”と“b”の両方を採点した項目がないので、比べられません。",
        ),
        (
            "Nobody can tell from 4 turns whether “a” or “b” answers better.",
            "4 回のターンからは、“a”と“b”のどちらの返答が良いかは言えません。",
        ),
        (
            "Shares of acts are not compared between systems: only with good replies (--references) are they.",
            "行為の割合はシステムの間では比べません。比べるのは、正解応答（--references）があるときだけです。",
        ),
        (
            "Its interval is in table.csv and scores.json: it resamples calls, those with one recorded user together.",
            "区間は table.csv と scores.json にあり、通話を単位とし、"
            "同じユーザーの録音による通話をまとめて再標本します。",
        ),
        ("content right ↑", "内容が正しい ↑"),
        ("ceiling gem, annotated by x", "上限 gem、注釈者 x"),
        (
            "“a” and “b” do not differ: on each of 60 records both are at the same distance (WED) from the reference "
            "replies. So these records do not show how great a difference would be found.",
            "“a”と“b”に差はありません。60 件のどれでも、正解応答からの距離（WED）が同じです。"
            "そのため、どのくらいの差なら見つかるかは、この項目からは分かりません。",
        ),
        (
            "By its verdicts, “a” is right more often than “b” (12.5 points, 95 % interval 3.0 to 22.0, 60 records, "
            "p (Holm) 0.012).",
            "判定では、“a”の方が“b”より正しいことが多い"
            "（12.5 ポイント、95 % 区間 3.0 ～ 22.0、60 件、p（Holm）0.012）。",
        ),
    ],
)
def test_what_no_single_page_says_is_japanese_too(english_text: str, japanese: str) -> None:
    assert sayer("ja")(english_text) == japanese


def test_the_english_page_is_full_of_english() -> None:
    document = rich_document()
    del document["page_language"]
    assert len(list(english(scorecard_page(SUITE.card(document), SUITE)))) > 100


def test_each_text_keeps_its_places_in_japanese() -> None:
    own = page_words("ja")
    assert own is not None
    for english_text, japanese in {**words_of_pages("ja"), **own.words}.items():
        places = [set(re.findall(r"\{[+#]?(\w+)\}", text)) for text in (english_text, japanese)]
        assert places[1] <= places[0], english_text


def test_the_command_writes_a_japanese_page_and_knows_no_other_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["score", "--suite", "dialogue-acts", "--out", "OUT", "--published"]
    assert "--page-language: expected en or ja, got de" in refused(*arguments, "--page-language", "de")
    done(*arguments, "--page-language", "ja")
    html = Path("OUT/report.html").read_text(encoding="utf-8")
    told = [text for text in english(html) if re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", text)]
    assert told == []
    assert json.loads(Path("OUT/scores.json").read_text(encoding="utf-8"))["page_language"] == "ja"
