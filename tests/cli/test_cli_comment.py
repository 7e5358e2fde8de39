"""The comment for a pull request: read by a parser of Markdown, as GitHub would, with names that try to be markup."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from helpers.commands import report
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fdbcore.analysis.corpus import Run
from fdbcore.measures.quantities import Share
from fdbcore.report.comparison.comment import MOST_MOMENTS

HOSTILE = "a|b`[x](http:evil)<img>@team#1"
GATES = 'gates = ["premature_per_turn <= baseline + 0.02", "answered_per_turn >= 0.6"]'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 40 calls. In the second B cuts off one turn of four, and is slow in ten calls; one call has a name
    like markup."""
    path = tmp_path_factory.mktemp("comment")
    made_run(path / "old", drawn_calls(40, 1))
    worse = drawn_calls(40, 2, lambda number: Manner(0.8 if number % 4 else 3.0, premature=0.25 if number else 0.9))
    made_run(path / "new", [MadeCall(HOSTILE, worse[0].activity), *worse[1:]])
    (path / "gates.toml").write_text(GATES)
    return path


@pytest.fixture(scope="module")
def compared(folder: Path) -> tuple[dict[str, Any], str]:
    """The document of the comparison, and the comment beside it."""
    options = ("--baseline", folder / "old", "--gate", folder / "gates.toml", "--comment", folder / "comment.md")
    result = report(folder / "new", *options, "--no-audio", "--json", code=1)
    found: dict[str, Any] = json.loads(result.stdout)
    return found, (folder / "comment.md").read_text()


def tokens(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield token
        yield from token.children or ()


def markup(text: str) -> set[str]:
    """Its HTML and images, but for what folds the table."""
    found = {each.content.strip() for each in tokens(text) if each.type in ("html_inline", "html_block", "image")}
    return found - {"<details><summary>All measures</summary>", "</details>"}


def shown(text: str) -> str:
    """What a reader sees of it."""
    return " ".join(token.content for token in tokens(text) if token.type in ("text", "code_inline"))


def test_the_comment_says_in_eleven_lines_what_changed(compared: tuple[dict[str, Any], str]) -> None:
    document, text = compared
    before_table, folded, _ = text.partition("\n<details><summary>All measures</summary>\n\n| ")
    assert folded
    assert len([line for line in before_table.splitlines() if line]) <= 11
    heading, *lines = [line for line in before_table.splitlines() if line]
    assert heading.startswith("### ✕ Fail: 1 of 2 gates failed (")
    assert lines[0].startswith("`new` (40 calls) against `old` (40 calls); ")
    rows = document["comparisons"][0]["measures"]
    worse = [row for row in rows if row["verdict"] == "worse"]
    assert {"premature_per_turn", "answered_per_turn"} <= {row["measure"] for row in worse}
    (told,) = [line for line in lines if line.startswith("- **worse**: ")]
    assert told.count(", was ") == len(worse)
    assert [re.sub(r"\W", "", line.split(":")[0]) for line in lines[1:]][-3:] == [
        "listen",
        "longestbesidethebaselinemaybechance",
        "report",
    ]


def test_the_table_has_every_measure_what_got_worse_first(compared: tuple[dict[str, Any], str]) -> None:
    document, text = compared
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    verdicts = [line.split(" | ")[0].removeprefix("| ")[2:] for line in rows]
    measures = document["comparisons"][0]["measures"]
    assert len(rows) == len(measures)
    assert verdicts.count("worse") == sum(row["verdict"] == "worse" for row in measures)
    assert verdicts[: verdicts.count("worse")] == ["worse"] * verdicts.count("worse")
    cut = next(row for row in measures if row["measure"] == "premature_per_turn")
    (row,) = [line for line in rows if f"({cut['a']['count']} of {cut['a']['n']})" in line]
    assert f"+{100 * cut['value']:.1f} points [" in row
    assert len({line.count(" | ") for line in rows}) == 1


def test_what_to_listen_to_comes_from_calls_that_got_worse(folder: Path, compared: tuple[dict[str, Any], str]) -> None:
    document, _ = compared
    shares = [
        {call.name: call.quantities["premature_per_turn"] for call in Run(folder / run).calls} for run in ("new", "old")
    ]
    rows = document["comparisons"][0]["measures"]
    assert document["comparisons"][0]["paired_by"] == "call name"
    assert all(bool(row["worst"]) <= (row["verdict"] == "worse") for row in rows)
    moments = next(row for row in rows if row["measure"] == "premature_per_turn")["worst"]
    assert len({moment["call"] for moment in moments}) == 5
    for moment in moments:
        now, before = (each.get(moment["call"]) for each in shares)
        assert isinstance(now, Share)
        assert before is None or (isinstance(before, Share) and now.count / now.n > before.count / before.n)
        assert "cut in" in moment["text"]
        assert moment["text"] in (folder / "new" / "compare.html").read_text()


def test_links_lead_to_the_pages_that_are_there(folder: Path, compared: tuple[dict[str, Any], str]) -> None:
    _, text = compared
    links = [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]
    pages = [link.partition("#")[0] for link in links]  # in a name it is %23
    assert pages[-2:] == ["new/compare.html", "new/index.html"]
    moments = [link for link in links[:-2] if link != "new/compare.html"]
    assert links.index("new/compare.html") == MOST_MOMENTS  # what is longest stands behind "and 3 more"
    assert len({*moments}) == len(moments)
    assert all((folder / unquote(page)).is_file() for page in pages)
    assert all(re.search(r"report\.html#t=[\d.]+$", link) for link in moments)


def test_names_are_no_markup(compared: tuple[dict[str, Any], str]) -> None:
    _, text = compared
    assert not markup(text)
    links = [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]
    assert not [link for link in links if link.startswith("http")]
    codes = [token.content for token in tokens(text) if token.type == "code_inline"]
    assert HOSTILE.replace("|", "\N{FULLWIDTH VERTICAL LINE}") in codes
    plain = "".join(token.content for token in tokens(text) if token.type == "text")
    assert "@team" not in plain


def test_what_got_longer_is_no_markup(tmp_path: Path) -> None:
    lang = "en</b></p><h1>✓ All gates passed</h1><img src=x>[approve](https://evil.com) @everyone"
    runs = {"old": drawn_calls(8, 1), "new": drawn_calls(8, 1, lambda number: Manner(4.0))}
    for run, calls in runs.items():
        made_run(tmp_path / run, [MadeCall(call.name, call.activity, {"lang": lang}) for call in calls])
    report(tmp_path / "new", "--baseline", tmp_path / "old", "--by", "lang", "--comment", tmp_path / "c.md", "--quiet")
    text = (tmp_path / "c.md").read_text()
    assert "responses got slower" in text.partition("- **listen**")[0]
    assert not markup(text)
    assert not re.search(r"@everyone|https://evil", shown(text))


@pytest.mark.usefixtures("compared")  # which writes index.html
def test_the_address_of_the_run_stands_before_its_pages(folder: Path) -> None:
    link = "https://ci.example/jobs/7/artifacts/file/new/"
    options = ("--baseline", folder / "old", "--comment", folder / "sub" / "c.md", "--link", link)
    report(folder / "new", *options, "--quiet", code=0)
    text = (folder / "sub" / "c.md").read_text()
    links = [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]
    assert links[-2:] == [f"{link}compare.html", f"{link}index.html"]
    assert len(links) > 2
    assert all(each.startswith(link) for each in links)
    html = (folder / "new" / "compare.html").read_text()
    listen = html.partition("Listen to what got worse since old")[2].partition("</section>")[0]
    assert "<h3>premature responses</h3>" in listen
    assert re.search(r'<p class="lead">Worse: [^.]*premature responses', html)
    assert text.startswith("### ✕ Measures: ")


def test_an_archive_is_linked_once_and_its_pages_are_named(folder: Path) -> None:
    link = "https://github.example/o/r/actions/runs/7#artifacts"
    options = ("--gate", folder / "one.toml", "--comment", folder / "archive.md", "--link", link, "--no-audio")
    (folder / "one.toml").write_text('gates = ["premature_per_turn <= 0.05"]')
    assert report(folder / "new", *options, "--quiet").exit_code == 1
    text = (folder / "archive.md").read_text()
    assert [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"] == [link]
    assert "then open compare.html (comparison) or index.html (all calls)" in " ".join(shown(text).split())
    assert re.search(r"^\| ✕ fail \| .* \| at most 5 % \| ", text, re.MULTILINE)


def test_an_undecided_gate_says_how_many_calls_would_decide_it(folder: Path, tmp_path: Path) -> None:
    few = made_run(tmp_path / "few", drawn_calls(12, 5, lambda number: Manner(premature=0.1)))
    (tmp_path / "gates.toml").write_text('gates = ["premature_per_turn <= 0.13"]')
    assert report(few, "--gate", tmp_path / "gates.toml", "--comment", tmp_path / "c.md", "--quiet").exit_code == 3
    text = (tmp_path / "c.md").read_text()
    assert text.startswith("### ? Undecided: of 1 gate, 1 undecided. Of 12 calls: ")
    assert re.search(r"- \*\*undecided\*\*: .*, at most 13 %: about [\d,]+ calls would decide it", text)


def test_an_error_stands_in_the_comment(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text('gates = ["prematur_per_turn <= 0.13"]')
    assert report(folder / "new", "--gate", tmp_path / "gates.toml", "--comment", tmp_path / "c.md").exit_code == 2
    text = (tmp_path / "c.md").read_text()
    assert text.startswith("### ✕ Nothing could be compared\n\n")
    assert "perhaps premature_per_turn" in shown(text)


@pytest.mark.parametrize("options", [("--comment", "c.md"), ("--baseline", "old", "--link", "https://x/")])
def test_a_comment_needs_something_to_compare_and_a_link_a_comment(folder: Path, options: tuple[str, ...]) -> None:
    assert "expected --" in report(folder / "new", *options, code=2).stderr
