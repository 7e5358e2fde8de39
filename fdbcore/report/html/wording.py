"""Says the texts of a page in another language: pages are made in English, and each text is looked up as a whole.

A table has an English text for each text of that language. `{name}` in both stands for any words, which stay as they
are; `{#name}` for a number; `{+name}` for words that are looked up, too; a `{name}` in “quotes” ends with these.
`<bdi>NAME</bdi>` is a name. The first text that fits counts, and each sentence of several is looked up by itself. What
the table does not have stays English, such as names.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape, unescape
from typing import Final

from fdbcore.runtime.toml_values import shipped_toml

ATTRIBUTES: Final = "aria-label|title|placeholder|data-label|data-found|data-linked|data-listen|label"
"""Attributes of a tag that people read or hear."""
QUOTED: Final = re.compile(r"<(?:bdi|code)\b|<(?!html\b)[^>]*\s(?:lang=\"|translate=\"no\")")
"""Beginnings of elements that hold names, or what somebody has said: these stay as they are."""

_TOKEN: Final = re.compile(r"(<(script|style)\b.*?</\2>|<[^>]+>)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(rf'(\s(?:{ATTRIBUTES}))="([^"]*)"')
_PLACE: Final = re.compile(r"\{([+#]?)(\w+)\}")
_WORDS: Final = {"": ".+?", "+": ".+?", "#": r"[−-]?\d(?:[\d.,]*\d)?"}
_QUOTED_NAME: Final = "[^”]+"
_NAME: Final = re.compile(r"[\w-]+")
_END: Final = re.compile(r"(?<=[.?:]) | · ")
"""Between two texts that stand in one."""
_VOID: Final = ("br", "meta", "link", "input", "img", "hr")


class Wording:
    """The texts of pages in a language, as a BCP 47 tag. words: by their English; see the module."""

    def __init__(self, language: str, words: Mapping[str, str]) -> None:
        self.language = language
        self._exact = {english: own for english, own in words.items() if not _PLACE.search(english)}
        self._forms = [_Form(english, own) for english, own in words.items() if _PLACE.search(english)]
        self._known: dict[str, str | None] = {}

    def text(self, english: str) -> str:
        """A text in this language; what is not known stays as it is, sentence by sentence."""
        english = " ".join(english.split())
        if english in self._exact:
            return self._exact[english]
        for cut in _END.finditer(english):
            if (first := self._whole(english[: cut.start()])) is not None:
                return first + ("" if first.endswith("。") else cut[0]) + self.text(english[cut.end() :])
        whole = self._whole(english)
        return english if whole is None else whole

    def name(self, name: str) -> str:
        """A name, which stays as it is unless the table has `<bdi>NAME</bdi>`."""
        return self._exact.get(f"<bdi>{name}</bdi>", name)

    def html(self, page: str) -> str:
        """HTML of ours with its texts in this language."""
        return "".join(self._tokens(page)) if self._exact or self._forms else page

    def _tokens(self, page: str) -> Iterator[str]:
        quoted: list[str] = []  # the names of open elements, from one that is quoted on
        for number, token in enumerate(_TOKEN.split(page)):
            if number % 3 == 2:  # the name of a script or style
                continue
            if number % 3 == 0:
                yield self.name(token) if quoted else self._node(token)
                continue
            if token.startswith(("<script", "<style", "<!")):
                yield token
                continue
            name = (_NAME.search(token) or [""])[0]
            if token.startswith("</"):
                if quoted:
                    quoted.pop()
            elif (quoted or QUOTED.match(token)) and name not in _VOID and not token.endswith("/>"):
                quoted.append(name)
            if name == "html" and not token.startswith("</"):
                token = re.sub(r'lang="[^"]*"', f'lang="{self.language}"', token)
            yield _ATTRIBUTE.sub(lambda found: f'{found[1]}="{escape(self.text(unescape(found[2])))}"', token)

    def _node(self, token: str) -> str:
        """The text between two tags, with the spaces around it."""
        inner = token.strip()
        if not inner:
            return token
        return token.replace(inner, escape(self.text(unescape(inner)), quote=False), 1)

    def _whole(self, english: str) -> str | None:
        if english not in self._known:
            forms = (form.said(english, self) for form in self._forms)
            self._known[english] = self._exact.get(english) or next((said for said in forms if said is not None), None)
        return self._known[english]


class _Form:
    """A text with places for words."""

    def __init__(self, english: str, own: str) -> None:
        parts = _PLACE.split(english)  # literal, sign, name, literal, ...
        self._literals = parts[::3]
        named = zip(parts[::3], parts[1::3], parts[2::3], map(re.escape, parts[3::3]), strict=False)
        self._pattern = re.compile(
            re.escape(parts[0])
            + "".join(
                f"(?P<{name}>{_QUOTED_NAME if before.endswith('“') else _WORDS[sign]}){after}"
                for before, sign, name, after in named
            ),
            re.DOTALL,
        )
        self._looked_up = {name for sign, name in _PLACE.findall(english) if sign == "+"}
        self._own = own

    def said(self, english: str, wording: Wording) -> str | None:
        """The text in the other language; None if this is another text."""
        if not all(part in english for part in self._literals) or not (found := self._pattern.fullmatch(english)):
            return None
        words = {
            name: wording.text(part) if name in self._looked_up else part for name, part in found.groupdict().items()
        }
        return _PLACE.sub(lambda place: words[place[2]], self._own)


@cache
def words_of_pages(language: str) -> Mapping[str, str]:
    """The words of all pages, in a language that is not English."""
    return shipped_toml("fdbcore.report", f"static/page.{language}.toml")
