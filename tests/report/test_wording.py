"""Pages in another language: texts are looked up as wholes, names and what people said stay as they are."""

from __future__ import annotations

import pytest

from fdbcore.report.html.wording import Wording

WORDS = {
    "Systems": "システム",
    "{#n} of {#all} results": "{all} 件中 {n} 件",
    "{name} is {+state}.": "{name} は{state}。",
    "late": "遅い",
    "<bdi>ceiling</bdi>": "上限",
    "ceiling": "天井",
}


@pytest.mark.parametrize(
    ("english", "own"),
    [
        ("Systems", "システム"),
        ("3 of 1,200 results", "1,200 件中 3 件"),
        ("three of 4 results", "three of 4 results"),
        ("late is late. 1 of 2 results", "late は遅い。2 件中 1 件"),
        ("Nobody knows.", "Nobody knows."),
        ("Systems · x is late.", "システム · x は遅い。"),
    ],
)
def test_a_text_is_looked_up_as_a_whole_and_sentence_by_sentence(english: str, own: str) -> None:
    assert Wording("ja", WORDS).text(english) == own


def test_texts_and_attributes_of_a_page_are_looked_up_and_quotes_are_not() -> None:
    page = (
        '<html lang="en"><style>Systems</style><h2 title="Systems">\n Systems </h2><p lang="ja">late<b>late</b></p>'
        "late<bdi>late</bdi><bdi>ceiling</bdi>ceiling<p>a &lt;b&gt; is\n late.<br>late</p>"
        '<option translate="no">late</option>'
        "<script>Systems</script></html>"
    )
    assert Wording("ja", WORDS).html(page) == (
        '<html lang="ja"><style>Systems</style><h2 title="システム">\n システム </h2><p lang="ja">late<b>late</b></p>'
        "遅い<bdi>late</bdi><bdi>上限</bdi>天井<p>a &lt;b&gt; は遅い。<br>遅い</p>"
        '<option translate="no">late</option>'
        "<script>Systems</script></html>"
    )


def test_without_words_a_page_stays_as_it_is() -> None:
    page = '<p title="Systems &amp; more">Systems  of</p>'
    assert Wording("en", {}).html(page) == page
