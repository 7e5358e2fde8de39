"""Texts in Markdown: read by the renderer of GitHub, and by one more, they are no markup wherever they stand."""

from __future__ import annotations

import re
from typing import Final

import pytest
from markdown_it import MarkdownIt

from fdbcore.report.markdown import code, escaped
from fdbcore.report.paper.tables import PaperTable

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
