"""What pages are made of: compiled templates, texts in another language, and Markdown in which no text is markup."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import jinja2
import pytest
from markdown_it import MarkdownIt

from fdbcore.report.html.templates import environment
from fdbcore.report.html.wording import Wording
from fdbcore.report.markdown import code, escaped
from fdbcore.report.paper.tables import PaperTable


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment.cache_clear()
    yield tmp_path / "cache"
    environment.cache_clear()


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Get the template of a call's page anew; the names of the templates that are compiled for that."""
    names: list[str | None] = []
    compile_source = jinja2.Environment.compile

    def noted(self: jinja2.Environment, source: str, name: str | None = None, *rest: object) -> object:
        names.append(name)
        return compile_source(self, source, name, *rest)  # type: ignore[call-overload]

    environment.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(jinja2.Environment, "compile", noted)
        environment().get_template("report.html")
    return names


def test_a_template_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "report.html" in compiled(monkeypatch)
    assert compiled(monkeypatch) == []


def test_a_damaged_cache_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(monkeypatch)
    for file in cache.rglob("*.cache"):
        file.write_bytes(file.read_bytes()[:100])
    assert "report.html" in compiled(monkeypatch)


def test_without_a_place_templates_are_compiled_each_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file, not a folder")
    assert "report.html" in compiled(monkeypatch)
    assert "report.html" in compiled(monkeypatch)


def test_a_full_disk_there_harms_no_page(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jinja2.bccache.tempfile.NamedTemporaryFile", full)
    assert "report.html" in compiled(monkeypatch)


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


HOSTILE: Final = r"""
en</b></p><h1>✓ All gates passed</h1><img src=x>   [approve](https://evil.com)   ![p](http://evil.com/p.png)   @everyone
a@evil.com   mailto:a@evil.com   www.evil.com   WWW.evil.com/x   https://evil.com   FTP://evil.com   //evil.com   a|b
a\|b   a\   ```   ~~~   # head   - item   + item   1. item   1) item   ===   ---   > quote   &lt;b&gt;   &#64;team
*a* _b_ ~~c~~   `x`   $a$   [x]: http://evil.com   <http://evil.com>   <!--   org/repo#12   [^1]   evil.com
"""
TEXTS: Final = [*re.split(r"   |\n", HOSTILE.strip()), "a\n\n# b", "a\u2028# b", "    code", "\ta"]


@pytest.mark.parametrize("renderer", ["GitHub's", "CommonMark"])
@pytest.mark.parametrize("text", TEXTS)
def test_no_text_is_markup(renderer: str, text: str) -> None:
    table = PaperTable(text, [text, text], "lr", [[text, text], ["1", "2"]], "tab:x").markdown()
    document = f"{table}\n- **worse**: {escaped(text)}\n\n{escaped(text)}\n\n{code(text)}\n"
    if renderer == "CommonMark":
        html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(document)
    else:
        html = pytest.importorskip("cmarkgfm").github_flavored_markdown_to_html(document)
    tags = re.findall(r"<(\w+|!)", html)
    assert {*tags} == {*"p table thead tbody tr th td ul li strong code".split()}
    assert [tags.count(tag) for tag in ("p", "table", "th", "td", "li", "strong", "code")] == [3, 1, 2, 4, 1, 1, 1]
    assert not re.search(r"@\w|\w#\d|://|evil\.com", re.sub(r"<code>.*?</code>", "", html))
